package oidc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"svc/commands/accounts"
	"svc/domain"
	"svc/http/gateway"
)

// Provider is an identity provider of AUTH_PROVIDERS_CONFIG.
type Provider struct {
	Slug    string
	Name    string // on its button; empty: the slug
	Icon    string
	Domains []string // of mail addresses that sign in there; lower case

	// The names of the claims with name and mail address of a user.
	FirstNameClaim, LastNameClaim, EmailClaim string

	ClientID     string
	ClientSecret string
	Issuer       string // discovered, unless the endpoints are given
	AuthURL      string
	TokenURL     string
	JWKSURL      string
	Scopes       []string
	Exchange     bool // its tokens are accepted at POST /v2/login/token-exchange
}

func (p Provider) name() string { return cmp.Or(p.Name, p.Slug) }

// reservedSlugs are the platform's own kinds of identities.
var reservedSlugs = []string{"svc", "anonymous", "apiKey"}

var slugPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// providerEntry is a provider as the setting has it.
type providerEntry struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Icon    string   `json:"icon"`
	Domains []string `json:"domains"`
	Mapping struct {
		FirstName string `json:"firstName"`
		LastName  string `json:"lastName"`
		Email     string `json:"email"`
	} `json:"attributesMapping"`
	Config struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		Issuer       string `json:"issuer"`
		AuthURL      string `json:"authorization_endpoint"`
		TokenURL     string `json:"token_endpoint"`
		JWKSURL      string `json:"jwks_uri"`
		Scopes       string `json:"scopes"`
		Exchange     bool   `json:"allowTokenExchange"`
	} `json:"config"`
}

// ParseProviders reads AUTH_PROVIDERS_CONFIG, in the order of the slugs. Every
// fault is reported at once, and none of them repeats a value: it may be a secret.
func ParseProviders(text []byte) ([]Provider, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	var file struct {
		Providers map[string]json.RawMessage `json:"providers"`
	}
	if err := decodeClosed(text, &file); err != nil {
		return nil, fmt.Errorf("AUTH_PROVIDERS_CONFIG: must be an object with providers: %w", err)
	}
	var all []Provider
	var errs []error
	owners := map[string]string{}
	for _, slug := range slices.Sorted(maps.Keys(file.Providers)) {
		p, faults := parseProvider(slug, file.Providers[slug])
		for _, domain := range p.Domains {
			if other, used := owners[domain]; used {
				faults = append(faults, "domains: "+domain+" is also of "+other)
			}
			owners[domain] = slug
		}
		for _, f := range faults {
			errs = append(errs, fmt.Errorf("AUTH_PROVIDERS_CONFIG: providers.%s.%s", slug, f))
		}
		all = append(all, p)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return all, nil
}

// decodeClosed reads one JSON value without unknown fields. Its errors name
// fields, never values.
func decodeClosed(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s has the wrong type", cmp.Or(wrong.Field, "it"))
	}
	if err != nil && strings.HasPrefix(err.Error(), "json: unknown field ") {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if err != nil || d.More() {
		return errors.New("it is not JSON")
	}
	return nil
}

func parseProvider(slug string, text []byte) (p Provider, faults []string) {
	fault := func(field, message string) { faults = append(faults, field+": "+message) }
	var e providerEntry
	if err := decodeClosed(text, &e); err != nil {
		return p, []string{"entry: " + err.Error()}
	}
	if !slugPattern.MatchString(slug) || slices.Contains(reservedSlugs, slug) {
		fault("slug", "must be letters, digits, - and _, and none of "+strings.Join(reservedSlugs, ", "))
	}
	if e.Type != "oidc" {
		fault("type", "must be oidc")
	}
	c := e.Config
	if c.ClientID == "" {
		fault("config.client_id", "is required")
	}
	for _, f := range []struct{ name, value string }{
		{"issuer", c.Issuer}, {"authorization_endpoint", c.AuthURL}, {"token_endpoint", c.TokenURL}, {"jwks_uri", c.JWKSURL},
	} {
		if u, err := url.Parse(f.value); f.value != "" && (err != nil || !isWeb(u) || u.Host == "" || u.User != nil || u.Fragment != "") {
			fault("config."+f.name, "must be an absolute http or https URL")
		}
	}
	given := len(slices.DeleteFunc([]string{c.AuthURL, c.TokenURL, c.JWKSURL}, func(s string) bool { return s == "" }))
	if given != 3 && (given != 0 || c.Issuer == "") {
		fault("config", "needs the issuer, or authorization_endpoint, token_endpoint and jwks_uri together")
	}
	domains, ok := readDomains(e.Domains)
	if !ok {
		fault("domains", "must be domains such as example.com, each once")
	}
	scopes := strings.Fields(cmp.Or(c.Scopes, "openid email"))
	if !slices.Contains(scopes, "openid") {
		fault("config.scopes", "must hold openid")
	}
	return Provider{
		Slug: slug, Name: e.Name, Icon: e.Icon, Domains: domains,
		FirstNameClaim: cmp.Or(e.Mapping.FirstName, "given_name"), LastNameClaim: cmp.Or(e.Mapping.LastName, "family_name"),
		EmailClaim: cmp.Or(e.Mapping.Email, "email"),
		ClientID:   c.ClientID, ClientSecret: c.ClientSecret, Issuer: c.Issuer,
		AuthURL: c.AuthURL, TokenURL: c.TokenURL, JWKSURL: c.JWKSURL, Scopes: scopes, Exchange: c.Exchange,
	}, faults
}

var domainPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

func readDomains(list []string) (domains []string, ok bool) {
	for _, text := range list {
		domain := strings.ToLower(strings.TrimSpace(text))
		if !domainPattern.MatchString(domain) || slices.Contains(domains, domain) {
			return domains, false
		}
		domains = append(domains, domain)
	}
	return domains, true
}

// relyingParty is our client of a provider: it redirects users there and verifies their identity.
type relyingParty struct {
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
	discoveryAge   = time.Hour // after which it is discovered again
	maxAnswer      = 1 << 20   // bytes of a provider's answer
)

func newRelyingParty(p Provider, client *http.Client, now func() time.Time) *relyingParty {
	limited := *client
	limited.Transport = limitedTransport{client.Transport}
	rp := &relyingParty{Provider: p, http: &limited, now: now}
	if p.AuthURL != "" {
		config := oidc.ProviderConfig{IssuerURL: p.Issuer, AuthURL: p.AuthURL, TokenURL: p.TokenURL, JWKSURL: p.JWKSURL, Algorithms: asymmetric}
		rp.found = config.NewProvider(oidc.ClientContext(context.Background(), rp.http))
	}
	return rp
}

// asymmetric are the algorithms that a provider may sign with: none with a shared secret.
var asymmetric = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// limitedTransport limits the size of the answers of a provider.
type limitedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
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

// errUnreachable says that a provider did not answer.
var errUnreachable = errors.New("oidc: the provider did not answer")

// discovered returns the discovered provider, refreshed every hour. When that fails, the last result
// is used.
func (p *relyingParty) discovered(ctx context.Context) (*oidc.Provider, error) {
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

func (p *relyingParty) discover() (*oidc.Provider, error) {
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

// config returns our registration with the provider.
func (p *relyingParty) config(at *oidc.Provider, callback string) *oauth2.Config {
	c := &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: at.Endpoint(), RedirectURL: callback, Scopes: p.Scopes}
	if p.ClientSecret == "" {
		c.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return c
}

// verify returns the claims of an identity token that was signed by the provider, for us, and is
// valid now.
func (p *relyingParty) verify(ctx context.Context, at *oidc.Provider, raw string) (*oidc.IDToken, claimSet, error) {
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

// claimSet are the claims of a provider.
type claimSet map[string]json.RawMessage

func (c claimSet) text(name string) string {
	var text string
	_ = json.Unmarshal(c[name], &text) // a claim of another type counts as missing
	return strings.TrimSpace(text)
}

// isTrue reads a boolean, which some providers send as a text.
func (c claimSet) isTrue(name string) bool {
	return slices.Contains([]string{"true", `"true"`}, string(c[name]))
}

// verified reports whether the provider has verified the mail address: email_verified is about the
// claim email only.
func (p *relyingParty) verified(c claimSet) bool {
	return c.isTrue("email_verified") && strings.EqualFold(c.text(p.EmailClaim), c.text("email"))
}

// identity maps claims to an identity.
func (p *relyingParty) identity(subject string, c claimSet) accounts.Identity {
	return accounts.Identity{
		Provider: p.Slug, Subject: subject,
		Email: c.text(p.EmailClaim), EmailVerified: p.verified(c),
		FirstName: c.text(p.FirstNameClaim), LastName: c.text(p.LastNameClaim),
		Photo: c.text("picture"), Language: c.text("locale"),
	}
}

// addUserinfo adds claims of the userinfo endpoint, when the token lacks the mail address. The
// subject must be the same.
func (p *relyingParty) addUserinfo(ctx context.Context, at *oidc.Provider, token *oauth2.Token, subject string, claims claimSet) error {
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
		if _, given := claims[name]; !given {
			claims[name] = value
		}
	}
	return nil
}

// providerRequest is stored while a user signs in at a provider.
type providerRequest struct {
	Provider    string `json:"provider"`
	Nonce       string `json:"nonce"`
	Verifier    string `json:"verifier"`
	Browser     string `json:"browser"`               // digest of the secret that the browser holds
	ReturnTo    string `json:"returnTo,omitempty"`    // without an interaction
	Interaction string `json:"interaction,omitempty"` // its id
}

// provider returns a provider by its slug.
func (s *Service) provider(slug string) (*relyingParty, bool) {
	i := slices.IndexFunc(s.rps, func(p *relyingParty) bool { return p.Slug == slug })
	if i < 0 {
		return nil, false
	}
	return s.rps[i], true
}

// callbackURL returns the redirect URI of providers.
func (s *Service) callbackURL() string { return s.audience + "/login/callback" }

// login handles GET /v2/login: to a provider, by its name or by the domain of a
// mail address.
func (s *Service) login(r *http.Request) (any, error) {
	q := gateway.NewQuery(r)
	slug, mail := q.Text("provider"), strings.ToLower(strings.TrimSpace(q.Text("domain")))
	d := providerRequest{ReturnTo: q.Text("redirectUri"), Interaction: q.Text("interaction")}
	if slug == "" && mail == "" {
		q.Required("provider")
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	p, ok := s.provider(slug)
	if slug == "" {
		i := slices.IndexFunc(s.rps, func(p *relyingParty) bool { return slices.Contains(p.Domains, mail) })
		if i < 0 {
			return map[string]string{"provider": "local"}, nil
		}
		p, ok = s.rps[i], true
	}
	if !ok {
		return nil, badParameter("provider", "there is no such provider")
	}
	if err := s.checkReturn(r, &d); err != nil {
		return nil, err
	}
	return s.redirectToProvider(r, p, d)
}

func badParameter(name, message string) error {
	return domain.Refuse(domain.CodeInvalidParameter, "%s: %s", name, message).With("parameter", name)
}

// checkReturn refuses a foreign redirect target, and an interaction of another browser.
func (s *Service) checkReturn(r *http.Request, d *providerRequest) error {
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
	known := func(base string) bool { return isBelow(u, base) }
	if err != nil || u.User != nil || strings.ContainsAny(d.ReturnTo, "\\ ") ||
		!slices.ContainsFunc(s.o.Consoles, known) && (s.o.MayReturn == nil || !s.o.MayReturn(u)) {
		return badParameter("redirectUri", "it is not a place of this platform")
	}
	return nil
}

// redirectToProvider stores the request and redirects to the provider.
func (s *Service) redirectToProvider(r *http.Request, p *relyingParty, d providerRequest) (any, error) {
	at, err := p.discovered(r.Context())
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

// unreachable is the answer when a provider cannot be reached.
func (s *Service) unreachable(r *http.Request, p *relyingParty, d providerRequest, err error) (any, error) {
	if r.Context().Err() != nil {
		return nil, err
	}
	s.o.Log.WarnContext(r.Context(), "identity provider not reached", "provider", p.Slug,
		"correlationId", gateway.CorrelationID(r.Context()), "err", truncateError(err))
	if d.Interaction != "" {
		return interaction{ID: d.Interaction}.toProblem(s, "provider_unavailable"), nil
	}
	return nil, domain.Refuse(domain.CodeUnavailable, "%s did not answer, try again later", p.name()).
		With("retryAfter", int((10 * time.Second).Seconds()))
}

// callback handles GET /v2/login/callback, the redirect from a provider.
func (s *Service) callback(r *http.Request) (any, error) {
	ctx, query := r.Context(), r.URL.Query()
	d, ok, err := getAndDelete[providerRequest](ctx, s.o.Store, keyState+digest(query.Get("state")))
	if err != nil {
		return nil, err
	}
	p, known := s.provider(d.Provider)
	if !ok || !known || !sameBrowser(r, d.Browser) {
		return s.noticePage(r, http.StatusBadRequest, lostReturn), nil
	}
	if code := query.Get("error"); code != "" {
		return s.refuseSignIn(r, d, "provider_denied", fmt.Errorf("the provider answered %s", truncateName(code)))
	}
	who, err := s.identify(ctx, p, d, query)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		problem := "provider_failed"
		if errors.Is(err, errUnreachable) {
			problem = "provider_unavailable"
		}
		return s.refuseSignIn(r, d, problem, err)
	}
	return s.signInIdentity(r, d, who)
}

// identify exchanges the code of a provider for an identity.
func (s *Service) identify(ctx context.Context, p *relyingParty, d providerRequest, query url.Values) (accounts.Identity, error) {
	if iss := query.Get("iss"); iss != "" && p.Issuer != "" && iss != p.Issuer {
		return accounts.Identity{}, errors.New("another provider answered")
	}
	at, err := p.discovered(ctx)
	if err != nil {
		return accounts.Identity{}, err
	}
	token, err := p.config(at, s.callbackURL()).
		Exchange(oidc.ClientContext(ctx, p.http), query.Get("code"), oauth2.VerifierOption(d.Verifier))
	if err != nil {
		return accounts.Identity{}, exchangeError(err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, claims, err := p.verify(ctx, at, raw)
	if err != nil {
		return accounts.Identity{}, fmt.Errorf("verify the identity token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(d.Nonce)) != 1 {
		return accounts.Identity{}, errors.New("the identity token is not of this sign-in")
	}
	if err := p.addUserinfo(ctx, at, token, id.Subject, claims); err != nil {
		return accounts.Identity{}, fmt.Errorf("ask userinfo: %w", err)
	}
	return p.identity(id.Subject, claims), nil
}

// exchangeError returns why a code was not exchanged, without the body of the answer, which may have
// secrets.
func exchangeError(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("exchange the code: %s %s", refused.Response.Status, truncateName(refused.ErrorCode))
	}
	return fmt.Errorf("%w: exchange the code: %w", errUnreachable, err)
}

// signInIdentity opens a session for an identity, and redirects the user.
func (s *Service) signInIdentity(r *http.Request, d providerRequest, who accounts.Identity) (any, error) {
	ctx := r.Context()
	var it interaction
	if d.Interaction != "" {
		found, ok, err := get[interaction](ctx, s.o.Store, keyInteraction+d.Interaction)
		if err != nil {
			return nil, err
		}
		if !ok || !sameBrowser(r, found.Browser) {
			return s.noticePage(r, http.StatusBadRequest, noInteraction), nil
		}
		it = found
	}
	opened, err := s.o.Accounts.SignInWith(ctx, who, clientOf(r, it.ClientID))
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Code != domain.CodeInternal {
		return s.refuseSignIn(r, d, "account_refused", refusal)
	}
	if err != nil {
		return nil, err
	}
	if d.Interaction != "" {
		return s.signedIn(r, it, opened)
	}
	cookie, err := s.loginCookie(r, opened)
	if err != nil {
		return nil, err
	}
	return gateway.Redirect(d.ReturnTo).WithCookie(cookie), nil
}

// refuseSignIn shows why a sign-in failed, on a page where it can be repeated.
func (s *Service) refuseSignIn(r *http.Request, d providerRequest, problem string, why error) (any, error) {
	s.o.Log.WarnContext(r.Context(), "sign-in with a provider failed", "provider", d.Provider, "problem", problem,
		"correlationId", gateway.CorrelationID(r.Context()), "err", truncateError(why))
	if d.Interaction != "" {
		return interaction{ID: d.Interaction}.toProblem(s, problem), nil
	}
	code := "access_denied"
	if problem == "provider_unavailable" {
		code = "temporarily_unavailable"
	}
	return gateway.Redirect(withQuery(d.ReturnTo, url.Values{"error": {code}, "error_description": {problems[problem]}})), nil
}

// The types of tokens that can be exchanged (RFC 8693). Both are an identity token of the provider:
// an access token does not say for whom it was issued.
const (
	typeIDToken = "urn:ietf:params:oauth:token-type:id_token"
	typeJWT     = "urn:ietf:params:oauth:token-type:jwt"
)

// ExchangeToken returns the identity of a token of a provider, for POST /v2/login/token-exchange. It
// refuses an unknown provider or type with validation_failed, a provider that does not allow it with
// permission_denied, and an invalid token with invalid_token.
func (s *Service) ExchangeToken(ctx context.Context, provider, token, kind string) (accounts.Identity, error) {
	var none accounts.Identity
	p, ok := s.provider(provider)
	if !ok {
		return none, domain.Invalid(domain.FieldError{Field: "provider", Message: "there is no such provider"})
	}
	if kind != "" && kind != typeIDToken && kind != typeJWT {
		return none, domain.Invalid(domain.FieldError{Field: "subject_token_type", Message: "must be " + typeIDToken})
	}
	if !p.Exchange {
		return none, domain.Refuse(domain.CodePermissionDenied, "tokens of %s are not exchanged", p.name())
	}
	at, err := p.discovered(ctx)
	if err == nil {
		id, claims, err := p.verify(ctx, at, token)
		if err != nil {
			return none, s.refuseExchange(ctx, p, err)
		}
		return p.identity(id.Subject, claims), nil
	}
	if errors.Is(err, errUnreachable) {
		err = domain.Refuse(domain.CodeUnavailable, "%s did not answer, try again later", p.name()).With("retryAfter", 10)
	}
	return none, err
}

// refuseExchange logs the reason, and returns a refusal without it.
func (s *Service) refuseExchange(ctx context.Context, p *relyingParty, why error) error {
	if ctx.Err() != nil {
		return why
	}
	s.o.Log.WarnContext(ctx, "token of a provider not exchanged", "provider", p.Slug,
		"correlationId", gateway.CorrelationID(ctx), "err", truncateError(why))
	return domain.Refuse(domain.CodeInvalidToken, "the token is not one of %s for this platform, or it has expired", p.name())
}
