package oidc

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"svc/domain"
	"svc/http/gateway"
)

// departure is somebody on the way to a provider.
type departure struct {
	Provider    string `json:"provider"`
	Nonce       string `json:"nonce"`
	Verifier    string `json:"verifier"`
	Browser     string `json:"browser"`               // digest of the secret that the browser holds
	ReturnTo    string `json:"returnTo,omitempty"`    // without an interaction
	Interaction string `json:"interaction,omitempty"` // its id
}

// provider finds a provider by its slug.
func (s *Service) provider(slug string) (*relying, bool) {
	i := slices.IndexFunc(s.rps, func(p *relying) bool { return p.Slug == slug })
	if i < 0 {
		return nil, false
	}
	return s.rps[i], true
}

// callbackURL is where providers send people back to.
func (s *Service) callbackURL() string { return s.audience + "/login/callback" }

// login handles GET /v2/login: to a provider, by its name or by the domain of a
// mail address.
func (s *Service) login(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	slug, mail := q.Text("provider"), strings.ToLower(strings.TrimSpace(q.Text("domain")))
	d := departure{ReturnTo: q.Text("redirectUri"), Interaction: q.Text("interaction")}
	if slug == "" && mail == "" {
		q.Required("provider")
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	p, ok := s.provider(slug)
	if slug == "" {
		i := slices.IndexFunc(s.rps, func(p *relying) bool { return slices.Contains(p.Domains, mail) })
		if i < 0 {
			return map[string]string{"provider": "local"}, nil
		}
		p, ok = s.rps[i], true
	}
	if !ok {
		return nil, badParameter("provider", "there is no such provider")
	}
	if err := s.checkWayBack(r, &d); err != nil {
		return nil, err
	}
	return s.depart(r, p, d)
}

func badParameter(name, message string) error {
	return domain.Refuse(domain.CodeInvalidParameter, "%s: %s", name, message).With("parameter", name)
}

// checkWayBack refuses to send anybody to a foreign place afterwards, and to go
// on with an interaction of another browser.
func (s *Service) checkWayBack(r *http.Request, d *departure) error {
	if d.Interaction != "" {
		it, ok, err := get[interaction](r.Context(), s.o.Store, keyInteraction+d.Interaction)
		if err == nil && (!ok || !sameBrowser(r, it.Browser)) {
			err = badParameter("interaction", "it is over, or of another browser")
		}
		d.ReturnTo = ""
		return err
	}
	d.ReturnTo = cmp.Or(d.ReturnTo, s.o.Consoles[0])
	u, err := url.Parse(d.ReturnTo)
	known := func(place string) bool { return below(u, place) }
	if err != nil || u.User != nil || strings.ContainsAny(d.ReturnTo, "\\ ") ||
		!slices.ContainsFunc(s.o.Consoles, known) && (s.o.MayReturn == nil || !s.o.MayReturn(u)) {
		return badParameter("redirectUri", "it is not a place of this platform")
	}
	return nil
}

// depart remembers who leaves, and where for.
func (s *Service) depart(r *http.Request, p *relying, d departure) (any, error) {
	at, err := p.ready(r.Context())
	if err != nil {
		return s.unreachable(r, p, d, err)
	}
	secret, cookie := knownBrowser(r)
	state := newSecret()
	d.Provider, d.Nonce, d.Verifier, d.Browser = p.Slug, newSecret(), oauth2.GenerateVerifier(), digest(secret)
	if err := put(r.Context(), s.o.Store, keyState+digest(state), d, interactionLifetime); err != nil {
		return nil, err
	}
	target := p.config(at, s.callbackURL()).AuthCodeURL(state, oidc.Nonce(d.Nonce), oauth2.S256ChallengeOption(d.Verifier))
	return gateway.Redirect(target).WithCookie(cookie), nil
}

// unreachable is the answer when a provider cannot be asked.
func (s *Service) unreachable(r *http.Request, p *relying, d departure, err error) (any, error) {
	if r.Context().Err() != nil {
		return nil, err
	}
	s.o.Log.WarnContext(r.Context(), "identity provider not reached", "provider", p.Slug,
		"correlationId", gateway.CorrelationID(r.Context()), "err", brief(err))
	if d.Interaction != "" {
		return interaction{ID: d.Interaction}.toProblem(s, "provider_unavailable"), nil
	}
	return nil, domain.Refuse(domain.CodeUnavailable, "%s did not answer, try again later", p.name()).
		With("retryAfter", int((10 * time.Second).Seconds()))
}
