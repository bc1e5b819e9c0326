package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"svc/commands/accounts"
)

// relying is our side of a provider: what it takes to send somebody there and
// to know who comes back.
type relying struct {
	Provider
	http *http.Client
	now  func() time.Time

	flight singleflight.Group
	mu     sync.Mutex
	found  *oidc.Provider // nil: not yet
	at     time.Time      // when it was found
}

const (
	discoveryLimit = 10 * time.Second
	discoveryAge   = time.Hour // after which it is asked again
	maxAnswer      = 1 << 20   // bytes of a provider's answer
)

func newRelying(p Provider, client *http.Client, now func() time.Time) *relying {
	limited := *client
	limited.Transport = bounded{client.Transport}
	rp := &relying{Provider: p, http: &limited, now: now}
	if p.AuthURL != "" {
		config := oidc.ProviderConfig{IssuerURL: p.Issuer, AuthURL: p.AuthURL, TokenURL: p.TokenURL, JWKSURL: p.JWKSURL, Algorithms: asymmetric}
		rp.found = config.NewProvider(oidc.ClientContext(context.Background(), rp.http))
	}
	return rp
}

// asymmetric are the algorithms that a provider may sign with. Those with a
// shared secret are not among them, nor none.
var asymmetric = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// bounded reads no more of an answer than a provider may say.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	next := b.next
	if next == nil {
		next = http.DefaultTransport
	}
	answer, err := next.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// errUnreachable is why a provider cannot be used now.
var errUnreachable = errors.New("oidc: the provider did not answer")

// ready returns the provider, discovered when it is first needed and again every
// hour. One that cannot be asked again stays as it was.
func (p *relying) ready(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	known, fresh := p.found, p.AuthURL != "" || p.now().Sub(p.at) < discoveryAge
	p.mu.Unlock()
	if known != nil && fresh {
		return known, nil
	}
	done := p.flight.DoChan("", func() (any, error) { return p.discover() })
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-done:
		if result.Err != nil && known != nil {
			return known, nil
		}
		if result.Err != nil {
			return nil, fmt.Errorf("%w: %w", errUnreachable, result.Err)
		}
		return result.Val.(*oidc.Provider), nil
	}
}

func (p *relying) discover() (*oidc.Provider, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryLimit)
	defer cancel()
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, p.http), p.Issuer)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found, p.at = found, p.now()
	return found, nil
}

// config is our registration with the provider.
func (p *relying) config(at *oidc.Provider, callback string) *oauth2.Config {
	c := &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: at.Endpoint(), RedirectURL: callback, Scopes: p.Scopes}
	if p.ClientSecret == "" {
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return c
}

// verify returns who an identity token is about, when it was signed by the
// provider, for us, and is in force.
func (p *relying) verify(ctx context.Context, at *oidc.Provider, raw string) (*oidc.IDToken, claimSet, error) {
	verifier := at.Verifier(&oidc.Config{ClientID: p.ClientID, SkipIssuerCheck: p.Issuer == "", Now: p.now})
	token, err := verifier.Verify(oidc.ClientContext(ctx, p.http), raw)
	if err != nil {
		return nil, nil, err
	}
	claims := claimSet{}
	if err := token.Claims(&claims); err != nil {
		return nil, nil, fmt.Errorf("read claims: %w", err)
	}
	if token.Subject == "" {
		return nil, nil, errors.New("the token has no subject")
	}
	if party := claims.text("azp"); len(token.Audience) > 1 && party != p.ClientID {
		return nil, nil, errors.New("the token was issued to another client")
	}
	return token, claims, nil
}

// claimSet is what a provider tells of somebody.
type claimSet map[string]json.RawMessage

func (c claimSet) text(name string) string {
	var text string
	_ = json.Unmarshal(c[name], &text) // what is no text is none
	return strings.TrimSpace(text)
}

// yes reads a boolean, which some providers write as a text.
func (c claimSet) yes(name string) bool {
	return slices.Contains([]string{"true", `"true"`}, string(c[name]))
}

// verified reports whether the provider vouches for the address that is taken:
// email_verified speaks of the claim email and of no other.
func (p *relying) verified(c claimSet) bool {
	return c.yes("email_verified") && strings.EqualFold(c.text(p.EmailClaim), c.text("email"))
}

// identity maps claims to what an account has.
func (p *relying) identity(subject string, c claimSet) accounts.Identity {
	return accounts.Identity{
		Provider: p.Slug, Subject: subject,
		Email: c.text(p.EmailClaim), EmailVerified: p.verified(c),
		FirstName: c.text(p.FirstNameClaim), LastName: c.text(p.LastNameClaim),
		Photo: c.text("picture"), Language: c.text("locale"),
	}
}

// complete adds what only the userinfo endpoint tells, when the token lacks the
// address. It must tell of the same person.
func (p *relying) complete(ctx context.Context, at *oidc.Provider, token *oauth2.Token, subject string, claims claimSet) error {
	if claims.text(p.EmailClaim) != "" || at.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := at.UserInfo(oidc.ClientContext(ctx, p.http), oauth2.StaticTokenSource(token))
	if err != nil {
		return err
	}
	more := claimSet{}
	if err := info.Claims(&more); err != nil || info.Subject != subject {
		return errors.New("userinfo is about another subject")
	}
	for name, value := range more {
		if _, told := claims[name]; !told {
			claims[name] = value
		}
	}
	return nil
}
