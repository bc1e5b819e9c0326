package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// ConsoleClient is the client id of the console.
const ConsoleClient = "svc-console"

// ExternalClient is an entry of OIDC_EXTERNAL_CLIENTS.
type ExternalClient struct {
	ID           string
	RedirectURIs []string
}

// Client is an application that people sign in to. All clients are public:
// they hold no secret, and prove themselves with PKCE.
type Client struct {
	ID           string
	Name         string   // shown on the page; empty: the id
	RedirectURIs []string // taken exactly; on loopback addresses with any port
	Under        []string // URLs: everything below them is a redirect URI too
	Trusted      bool     // of the platform: asks for no consent and gets the cookie
	AllScopes    bool     // gets every scope of the API, whatever it asks for
}

// knownClients are those that the settings name.
func (s *Service) knownClients() (map[string]Client, error) {
	known := map[string]Client{ConsoleClient: {
		ID: ConsoleClient, Name: "the console", Under: s.o.Consoles, Trusted: true, AllScopes: true,
	}}
	var errs []error
	for _, c := range s.o.External {
		// An identity token is for its client. One for a client with the name of the
		// API would pass for an access token.
		if _, twice := known[c.ID]; twice || c.ID == "" || c.ID == s.audience {
			errs = append(errs, fmt.Errorf("client %q: the id is taken or empty", c.ID))
			continue
		}
		known[c.ID] = Client{ID: c.ID, RedirectURIs: c.RedirectURIs}
	}
	return known, errors.Join(errs...)
}

// client finds the client with this id.
func (s *Service) client(ctx context.Context, id string) (Client, bool, error) {
	if c, ok := s.clients[id]; ok || s.o.Workspace == nil || id == "" || id == s.audience {
		return c, ok, nil
	}
	return s.o.Workspace(ctx, id)
}

// name is what the page calls the client.
func (c Client) name() string {
	if c.Name != "" {
		return c.Name
	}
	return c.ID
}

// allows reports whether a code may be sent to uri.
func (c Client) allows(uri string) bool {
	u, ok := absolute(uri)
	return ok && (slices.Contains(c.RedirectURIs, uri) ||
		slices.ContainsFunc(c.RedirectURIs, func(known string) bool { return sameLoopback(u, known) }) ||
		slices.ContainsFunc(c.Under, func(place string) bool { return below(u, place) }))
}

// allowsReturn reports whether somebody who signed out may be sent to uri: to a
// redirect URI, or elsewhere on the site of one. Clients register no others.
func (c Client) allowsReturn(uri string) bool {
	u, ok := absolute(uri)
	return ok && (c.allows(uri) || slices.ContainsFunc(c.RedirectURIs, func(known string) bool {
		k, err := url.Parse(known)
		return err == nil && isWeb(k) && k.Scheme == u.Scheme && strings.EqualFold(k.Host, u.Host)
	}))
}

// absolute parses a URI that somebody can be sent to.
func absolute(uri string) (*url.URL, bool) {
	u, err := url.Parse(uri)
	if err != nil || !u.IsAbs() || u.Fragment != "" || u.User != nil || strings.ContainsAny(uri, "\\ #") {
		return nil, false
	}
	return u, !isWeb(u) || u.Host != "" && u.Opaque == ""
}

func isWeb(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// sameLoopback reports whether u is known but for the port, on an address of
// the machine itself: native clients take what port is free (RFC 8252, 7.3).
func sameLoopback(u *url.URL, known string) bool {
	k, err := url.Parse(known)
	if err != nil || k.Scheme != "http" || u.Scheme != "http" || k.Hostname() != u.Hostname() {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback() && k.EscapedPath() == u.EscapedPath() && k.RawQuery == u.RawQuery
}

// below reports whether u is place or below it.
func below(u *url.URL, place string) bool {
	p, err := url.Parse(place)
	if err != nil || !isWeb(p) || u.Scheme != p.Scheme || !strings.EqualFold(u.Host, p.Host) {
		return false
	}
	at, root := u.EscapedPath(), strings.TrimSuffix(p.EscapedPath(), "/")
	if plain := strings.ToLower(at); strings.Contains(plain, "%2e") || strings.Contains(plain, "%2f") || strings.Contains(plain, "%5c") {
		return false // a path that means another one
	}
	if clean := path.Clean("/" + at); clean != strings.TrimSuffix(at, "/") && at != "" && at != "/" {
		return false
	}
	return at == root || strings.HasPrefix(at, root+"/")
}
