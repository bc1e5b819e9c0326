package oidc

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	protocol "github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"svc/commands"
	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
	"svc/http/gateway"
)

// tokens is the response of /oidc/token.
type tokens struct {
	AccessToken  string `json:"access_token"`
	IDToken      string `json:"id_token"`
	RefreshToken string `json:"refresh_token,omitempty"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	Scope        string `json:"scope"`
}

// Replayable implements gateway.Replayable: tokens are sent once.
func (t tokens) Replayable() any {
	return map[string]any{"token_type": t.TokenType, "expires_in": t.ExpiresIn, "scope": t.Scope}
}

// token handles POST /oidc/token.
func (s *Service) token(r *http.Request) (any, error) {
	if err := limitAddress(r); err != nil {
		return nil, err
	}
	form, err := readForm(r)
	if err != nil {
		return nil, err
	}
	for name, values := range form {
		if len(values) > 1 {
			return badRequest(truncateName(name) + " was given twice").answer(r.Context()), nil
		}
	}
	client, f, err := s.tokenClient(r, form)
	if err != nil {
		return nil, err
	}
	if f == nil {
		var answer any
		if answer, f, err = s.redeem(r, client, form); f == nil {
			return answer, err
		}
	}
	return f.answer(r.Context()), err
}

// tokenClient returns the client of a request. Clients have no secret.
func (s *Service) tokenClient(r *http.Request, form url.Values) (Client, *fault, error) {
	id := form.Get("client_id")
	if name, secret, basic := r.BasicAuth(); basic {
		name, err := url.QueryUnescape(name)
		if err != nil || secret != "" || id != "" && id != name {
			return Client{}, &fault{faultClient.code, "clients are public: they send client_id and no secret"}, nil
		}
		id = name
	}
	client, ok, err := s.client(r.Context(), id)
	if err == nil && !ok {
		return client, &faultClient, nil
	}
	return client, nil, err
}

// redeem answers one of the two kinds of grants.
func (s *Service) redeem(r *http.Request, client Client, form url.Values) (any, *fault, error) {
	switch kind := protocol.GrantType(form.Get("grant_type")); kind {
	case protocol.GrantTypeCode:
		return s.redeemCode(r, client, form)
	case protocol.GrantTypeRefreshToken:
		return s.redeemRefresh(r, client, form)
	case "":
		return nil, badRequest("grant_type is missing"), nil
	default:
		return nil, &fault{string(protocol.UnsupportedGrantType), "grant_type must be authorization_code or refresh_token"}, nil
	}
}

// redeemCode redeems a code. It is invalid afterwards, even when the request fails.
func (s *Service) redeemCode(r *http.Request, client Client, form url.Values) (any, *fault, error) {
	code, verifier := form.Get("code"), form.Get("code_verifier")
	if code == "" || verifier == "" || form.Get("redirect_uri") == "" {
		return nil, badRequest("code, code_verifier and redirect_uri are required"), nil
	}
	g, ok, err := getAndDelete[grant](r.Context(), s.o.Store, keyCode+digest(code))
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, &faultGrant, s.revokeReused(r.Context(), code)
	}
	challenge := protocol.CodeChallenge{Challenge: g.Challenge, Method: protocol.CodeChallengeMethodS256}
	if g.ClientID != client.ID || g.RedirectURI != form.Get("redirect_uri") ||
		op.AuthorizeCodeChallenge(verifier, &challenge) != nil {
		return nil, &faultGrant, nil
	}
	return s.issue(r, client, g, g.Scopes, code)
}

// RedeemCode redeems the code of a client of the platform, and returns the session of the code.
func (s *Service) RedeemCode(ctx context.Context, clientID, code, redirectURI, verifier string) (sessions.Session, error) {
	refused := domain.Refuse(domain.CodeInvalidRequest, "the sign-in has expired: sign in again")
	g, ok, err := getAndDelete[grant](ctx, s.o.Store, keyCode+digest(code))
	if err != nil {
		return sessions.Session{}, err
	}
	challenge := protocol.CodeChallenge{Challenge: g.Challenge, Method: protocol.CodeChallengeMethodS256}
	if !ok || g.ClientID != clientID || g.RedirectURI != redirectURI || op.AuthorizeCodeChallenge(verifier, &challenge) != nil {
		return sessions.Session{}, refused
	}
	opened, ok, err := s.o.Sessions.Get(ctx, g.UserID, g.SessionID)
	if err == nil && !ok {
		err = refused
	}
	return opened, err
}

// redeemRefresh redeems a refresh token and replaces it.
func (s *Service) redeemRefresh(r *http.Request, client Client, form url.Values) (any, *fault, error) {
	ctx, token := r.Context(), form.Get("refresh_token")
	if token == "" {
		return nil, badRequest("refresh_token is required"), nil
	}
	g, ok, err := get[grant](ctx, s.o.Store, keyRefresh+digest(token))
	if err != nil {
		return nil, nil, err
	}
	scopes := strings.Fields(form.Get("scope")) // fewer than before, if any
	if ok && slices.ContainsFunc(scopes, func(scope string) bool { return !slices.Contains(g.Scopes, scope) }) {
		return nil, &fault{"invalid_scope", "a refresh token gives no more than it was given for"}, nil
	}
	if ok && g.ClientID != client.ID {
		return nil, &faultGrant, nil
	}
	if ok {
		g, ok, err = getAndDelete[grant](ctx, s.o.Store, keyRefresh+digest(token))
	}
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, &faultGrant, s.revokeReused(ctx, token)
	}
	if len(scopes) == 0 {
		scopes = g.Scopes
	}
	return s.issue(r, client, g, scopes, "")
}

// revokeReused ends the session of a code or refresh token that is used again, because it was stolen.
// An unknown or expired one ends nothing.
func (s *Service) revokeReused(ctx context.Context, secret string) error {
	from, ok, err := get[origin](ctx, s.o.Store, keyOrigin+digest(secret))
	if err != nil || !ok {
		return err
	}
	ended, err := s.o.Sessions.End(ctx, from.UserID, from.SessionID, session.CauseReuse)
	if ended {
		s.o.Log.WarnContext(ctx, "a code or refresh token was used twice and its session ended",
			"user", from.UserID, "session", from.SessionID, "correlationId", gateway.CorrelationID(ctx))
	}
	return err
}

// issue creates the tokens of a grant, while its session is valid.
func (s *Service) issue(r *http.Request, client Client, g grant, scopes []string, code string) (any, *fault, error) {
	ctx := r.Context()
	opened, ok, err := s.o.Sessions.Get(ctx, g.UserID, g.SessionID)
	if err != nil {
		return nil, nil, err
	}
	if _, known, err := s.o.User(ctx, g.UserID); err != nil || !known || !ok {
		return nil, &faultGrant, err
	}
	t := tokens{TokenType: protocol.BearerToken, Scope: strings.Join(scopes, " ")}
	if t.AccessToken, t.ExpiresIn, err = s.accessToken(ctx, opened, client.ID, t.Scope); err != nil {
		return nil, nil, err
	}
	narrowed := g
	narrowed.Scopes = scopes
	if t.IDToken, err = s.idToken(ctx, client, narrowed, opened, t.AccessToken, code); err != nil {
		return nil, nil, err
	}
	if slices.Contains(g.Scopes, protocol.ScopeOfflineAccess) {
		g.RedirectURI, g.Nonce, g.Challenge = "", "", ""
		if t.RefreshToken, err = s.issueSecret(ctx, keyRefresh, g, min(refreshLifetime, opened.Expires.Sub(s.o.Now()))); err != nil {
			return nil, nil, err
		}
	}
	answer := gateway.OK(t).With("Cache-Control", "no-store").With("Pragma", "no-cache")
	if client.Trusted {
		answer.WithCookie(gateway.SessionCookie(r, t.AccessToken, time.Duration(t.ExpiresIn)*time.Second))
	}
	return answer, nil, nil
}

// accessToken creates a token for the API. It expires with its session at the latest.
func (s *Service) accessToken(ctx context.Context, of sessions.Session, clientID, scope string) (token string, seconds int, err error) {
	now := s.o.Now().UTC()
	life := min(s.o.TokenLifetime, of.Expires.Sub(now)).Truncate(time.Second)
	token, err = s.o.Keys.Sign(ctx, signing.Claims{
		SessionID: of.ID, Subject: of.UserID, IssuedAt: now, ExpiresAt: now.Add(life), Scope: scope, ClientID: clientID,
	})
	return token, int(life.Seconds()), err
}

// loginCookie returns the cookie of a login. Its token is not limited to the client.
func (s *Service) loginCookie(r *http.Request, of sessions.Session) (*http.Cookie, error) {
	token, seconds, err := s.accessToken(r.Context(), of, accounts.OwnClient, accounts.Scopes)
	return gateway.SessionCookie(r, token, time.Duration(seconds)*time.Second), err
}

// claims returns the claims of scopes, under the names of the contract and those of OpenID Connect.
func (p Person) claims(id string, scopes []string) map[string]any {
	claims := map[string]any{"sub": id}
	set := func(value string, names ...string) {
		for _, name := range names {
			if value != "" {
				claims[name] = value
			}
		}
	}
	if slices.Contains(scopes, "profile") {
		set(p.FirstName, "firstName", "given_name")
		set(p.LastName, "lastName", "family_name")
		set(strings.TrimSpace(p.FirstName+" "+p.LastName), "name")
		set(p.Photo, "photo", "picture")
		set(p.Language, "language", "locale")
	}
	if slices.Contains(scopes, "email") && p.Email != "" {
		claims["email"], claims["email_verified"] = p.Email, p.EmailProven
	}
	if slices.Contains(scopes, "settings") {
		claims["mfa"], claims["meta"] = cmp.Or(p.MFA, user.MFANone), map[string]json.RawMessage{}
		if p.Meta != nil {
			claims["meta"] = p.Meta
		}
	}
	return claims
}

// without returns list without one item.
func without(list []string, item string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == item })
}

// userinfo handles GET and POST /oidc/userinfo. The gateway has authenticated the caller; a token
// without a scope claim is not limited.
func (s *Service) userinfo(r *http.Request) (any, error) {
	caller := gateway.CallerFrom(r.Context())
	person, ok, err := s.o.User(r.Context(), caller.UserID)
	if err != nil {
		return nil, err
	}
	if !ok && !caller.Anonymous { // a visitor has no account, and is known by their id alone
		return nil, domain.Refuse(domain.CodeInvalidToken, "the account of this token is gone")
	}
	scopes := caller.Scopes
	if scopes == nil {
		scopes = strings.Fields(accounts.Scopes)
	}
	return person.claims(caller.UserID, scopes), nil
}

// opStorage is the part of zitadel's storage that our functions need. The rest is nil: it is for
// handlers that are not used.
type opStorage struct {
	op.Storage
	keys Keys
	user func(ctx context.Context, id string) (Person, bool, error)
}

// SigningKey implements op.Storage.
func (l opStorage) SigningKey(ctx context.Context) (op.SigningKey, error) {
	key, err := l.keys.SigningKey(ctx)
	return privateKey{key}, err
}

// KeySet implements op.Storage.
func (l opStorage) KeySet(ctx context.Context) ([]op.Key, error) {
	keys, err := l.keys.PublicKeys(ctx)
	all := make([]op.Key, len(keys))
	for i, key := range keys {
		all[i] = publicKey{key}
	}
	return all, err
}

// SetUserinfoFromScopes implements op.Storage; SetUserinfoFromRequest does it.
func (opStorage) SetUserinfoFromScopes(context.Context, *protocol.UserInfo, string, string, []string) error {
	return nil
}

// SetUserinfoFromRequest fills in the claims of an identity token. Those of the
// settings scope may be large, and are left to userinfo.
func (l opStorage) SetUserinfoFromRequest(ctx context.Context, info *protocol.UserInfo, r op.IDTokenRequest, scopes []string) error {
	person, ok, err := l.user(ctx, r.GetSubject())
	if err != nil {
		return err
	}
	if !ok {
		return errNoUser
	}
	for name, value := range person.claims(r.GetSubject(), without(scopes, "settings")) {
		info.AppendClaims(name, value)
	}
	info.Subject = r.GetSubject()
	if request, ok := r.(idTokenRequest); ok {
		info.AppendClaims("sid", request.session.ID)
	}
	return nil
}

// errNoUser says that the account of a token does not exist any more.
var errNoUser = errors.New("oidc: there is no such user")

type privateKey struct{ key signing.PrivateKey }

// SignatureAlgorithm implements op.SigningKey.
func (k privateKey) SignatureAlgorithm() jose.SignatureAlgorithm {
	return jose.SignatureAlgorithm(k.key.Alg)
}

// Key implements op.SigningKey.
func (k privateKey) Key() any { return k.key.Signer }

// ID implements op.SigningKey.
func (k privateKey) ID() string { return k.key.KID }

type publicKey struct{ key signing.PublicKey }

// ID implements op.Key.
func (k publicKey) ID() string { return k.key.KID }

// Algorithm implements op.Key.
func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.SignatureAlgorithm(k.key.Alg) }

// Use implements op.Key.
func (k publicKey) Use() string { return protocol.KeyUseSignature }

// Key implements op.Key.
func (k publicKey) Key() any { return k.key.Key }

// publicClient is a Client for zitadel.
type publicClient struct {
	op.Client // nil: the other methods are not called
	client    Client
}

// GetID implements op.Client.
func (c publicClient) GetID() string { return c.client.ID }

// ResponseTypes implements op.Client: the code flow only.
func (c publicClient) ResponseTypes() []protocol.ResponseType {
	return []protocol.ResponseType{protocol.ResponseTypeCode}
}

// RestrictAdditionalIdTokenScopes implements op.Client: it restricts nothing.
func (c publicClient) RestrictAdditionalIdTokenScopes() func([]string) []string {
	return func(scopes []string) []string { return scopes }
}

// IDTokenUserinfoClaimsAssertion implements op.Client: identity tokens say what
// userinfo says.
func (c publicClient) IDTokenUserinfoClaimsAssertion() bool { return true }

// ClockSkew implements op.Client.
func (c publicClient) ClockSkew() time.Duration { return 0 }

// idTokenRequest is a grant with its session, for the identity token of zitadel. That is for the
// client only, not for the API.
type idTokenRequest struct {
	op.AuthRequest // nil: the other methods are not called
	grant          grant
	session        sessions.Session
}

// GetSubject implements op.IDTokenRequest.
func (r idTokenRequest) GetSubject() string { return r.grant.UserID }

// GetAudience implements op.IDTokenRequest.
func (r idTokenRequest) GetAudience() []string { return []string{r.grant.ClientID} }

// GetClientID implements op.IDTokenRequest.
func (r idTokenRequest) GetClientID() string { return r.grant.ClientID }

// GetScopes implements op.IDTokenRequest.
func (r idTokenRequest) GetScopes() []string { return r.grant.Scopes }

// GetAuthTime implements op.IDTokenRequest.
func (r idTokenRequest) GetAuthTime() time.Time { return r.session.CreatedAt }

// GetNonce implements op.AuthRequest.
func (r idTokenRequest) GetNonce() string { return r.grant.Nonce }

// GetACR implements op.AuthRequest.
func (r idTokenRequest) GetACR() string { return "" }

// GetAMR implements op.IDTokenRequest (RFC 8176).
func (r idTokenRequest) GetAMR() []string {
	var methods []string
	if r.session.Provider == user.Local {
		methods = append(methods, "pwd")
	}
	if r.session.MFA {
		methods = append(methods, "otp", "mfa")
	}
	return methods
}

// idToken makes the identity token that goes with an access token.
func (s *Service) idToken(ctx context.Context, c Client, g grant, session sessions.Session, access, code string) (string, error) {
	storage := opStorage{keys: s.o.Keys, user: s.o.User}
	return op.CreateIDToken(ctx, s.o.Issuer, idTokenRequest{grant: g, session: session}, idTokenLifetime, access, code, storage, publicClient{client: c})
}

// algorithms are the possible values of JWKS_ALG.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "ES256", "ES384"}

// parseHint reads an id_token_hint: its user, client and session. It may have expired, but must have
// been issued here for one client.
func (s *Service) parseHint(ctx context.Context, token string) (claims *protocol.IDTokenClaims, ok bool, err error) {
	if token == "" {
		return nil, false, nil
	}
	var broken error // an error that is not about the token
	keys := keySet{&op.OpenIDKeySet{Storage: opStorage{keys: s.o.Keys}}, &broken}
	verifier := op.NewIDTokenHintVerifier(s.o.Issuer, keys, op.WithSupportedIDTokenHintSigningAlgorithms(algorithms...))
	claims, err = op.VerifyIDTokenHint[*protocol.IDTokenClaims](ctx, token, verifier)
	if broken != nil {
		return nil, false, broken
	}
	if _, expired := errors.AsType[op.IDTokenHintExpiredError](err); err != nil && !expired {
		return nil, false, nil
	}
	return claims, claims.Subject != "" && slices.Equal(claims.Audience, []string{claims.AuthorizedParty}), nil
}

// keySet distinguishes unreadable keys from a wrong signature.
type keySet struct {
	*op.OpenIDKeySet
	broken *error
}

// VerifySignature implements the library's KeySet.
func (k keySet) VerifySignature(ctx context.Context, jws *jose.JSONWebSignature) ([]byte, error) {
	if _, *k.broken = k.Storage.KeySet(ctx); *k.broken != nil {
		return nil, *k.broken
	}
	return k.OpenIDKeySet.VerifySignature(ctx, jws)
}

// The kinds of keys in the store. Secrets are stored as digests.
const (
	keyInteraction = "interaction/"
	keyCode        = "code/"
	keyRefresh     = "refresh/"
	keyOrigin      = "origin/" // the session of a code or refresh token, also after its use
	keyState       = "state/"
	keyConsent     = "consent/"
)

// newSecret returns a random secret.
func newSecret() string { return rand.Text() }

// digest returns the hash of a secret.
func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// put stores v under key.
func put(ctx context.Context, s Store, key string, v any, ttl time.Duration) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := s.Put(ctx, key, value, ttl); err != nil {
		return commands.Refused(fmt.Errorf("remember a sign-in: %w", err))
	}
	return nil
}

// get returns the value under key; false when there is none.
func get[T any](ctx context.Context, s Store, key string) (v T, ok bool, err error) {
	value, ok, err := s.Get(ctx, key)
	return decode[T](value, ok, err)
}

// getAndDelete is get, and deletes the value: only one caller gets it.
func getAndDelete[T any](ctx context.Context, s Store, key string) (v T, ok bool, err error) {
	value, ok, err := s.Consume(ctx, key)
	return decode[T](value, ok, err)
}

func decode[T any](value []byte, ok bool, err error) (v T, _ bool, _ error) {
	if err != nil {
		return v, false, commands.Refused(fmt.Errorf("recall a sign-in: %w", err))
	}
	if !ok {
		return v, false, nil
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return v, false, fmt.Errorf("recall a sign-in: %w", err)
	}
	return v, true, nil
}

// authRequest is a request of a client at /oidc/auth.
type authRequest struct {
	ClientID    string   `json:"clientId"`
	RedirectURI string   `json:"redirectUri"`
	State       string   `json:"state,omitempty"`
	Nonce       string   `json:"nonce,omitempty"`
	Challenge   string   `json:"challenge"`
	Scopes      []string `json:"scopes"`
	LoginHint   string   `json:"loginHint,omitempty"`
	Subject     string   `json:"subject,omitempty"` // who must sign in, by the id_token_hint
	MaxAge      *uint    `json:"maxAge,omitempty"`  // seconds since the sign-in; zero: sign in now
	Consent     bool     `json:"consent,omitempty"` // must be asked for
	Create      bool     `json:"create,omitempty"`  // an account is to be made first
	silent      bool     // no page may be shown
}

// interaction is a running sign-in, from /oidc/auth until it resumes.
type interaction struct {
	authRequest
	ID      string `json:"id"`
	Browser string `json:"browser"` // digest of the secret that the browser holds

	// The user who has signed in; empty before.
	UserID    string `json:"userId,omitempty"`
	SessionID string `json:"sessionId,omitempty"`

	// A correct password, until the code of the second factor is entered. It can be decrypted
	// only with the secret in the cookie of the browser.
	Email  string `json:"email,omitempty"`
	Sealed []byte `json:"sealed,omitempty"`
}

// grant is the stored value of a code or a refresh token.
type grant struct {
	ClientID    string   `json:"clientId"`
	RedirectURI string   `json:"redirectUri,omitempty"`
	Nonce       string   `json:"nonce,omitempty"`
	Challenge   string   `json:"challenge,omitempty"`
	Scopes      []string `json:"scopes"`
	UserID      string   `json:"userId"`
	SessionID   string   `json:"sessionId"`
}

// origin is the session of a code or refresh token.
type origin struct {
	UserID    string `json:"userId"`
	SessionID string `json:"sessionId"`
}

// issueSecret creates a code or a refresh token for g. Its origin is stored first and expires first:
// when only the origin is left, the secret was used.
func (s *Service) issueSecret(ctx context.Context, kind string, g grant, ttl time.Duration) (string, error) {
	secret := newSecret() + newSecret()
	id := digest(secret)
	if err := put(ctx, s.o.Store, keyOrigin+id, origin{g.UserID, g.SessionID}, ttl); err != nil {
		return "", err
	}
	return secret, put(ctx, s.o.Store, kind+id, g, ttl)
}

// fault is an OAuth error.
type fault struct{ code, description string }

// The faults that are named in several places.
var (
	faultGrant  = fault{"invalid_grant", "the code or refresh token is unknown, expired, used, or not this client's"}
	faultClient = fault{"invalid_client", "there is no such client"}
)

func badRequest(description string) *fault { return &fault{"invalid_request", description} }

// faultOf is a fault that the library found.
func faultOf(err error) *fault {
	e := protocol.DefaultToServerError(err, "")
	return &fault{string(e.ErrorType), e.Description}
}

// tokenFault is the answer of /oidc/token to a fault, with the fields of OAuth and those of the API.
type tokenFault struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
	Message     string `json:"message"`
	RequestID   string `json:"requestId"`
}

func (f fault) answer(ctx context.Context) *gateway.Answer {
	status := http.StatusBadRequest
	if f.code == faultClient.code {
		status = http.StatusUnauthorized
	}
	return gateway.Status(status, tokenFault{f.code, f.description, f.description, gateway.CorrelationID(ctx)}).
		With("Cache-Control", "no-store")
}

// redirectToClient sends the browser back to the client.
func (s *Service) redirectToClient(a authRequest, values url.Values) *gateway.Answer {
	if a.State != "" {
		values.Set("state", a.State)
	}
	values.Set("iss", s.o.Issuer) // RFC 9207: against answers of other providers that pretend to be ours
	return gateway.Redirect(withQuery(a.RedirectURI, values)).With("Cache-Control", "no-store")
}

// redirectWithFault sends the browser back to the client with a fault.
func (s *Service) redirectWithFault(a authRequest, f fault) *gateway.Answer {
	return s.redirectToClient(a, url.Values{"error": {f.code}, "error_description": {f.description}})
}

// withQuery adds parameters to a URL that was checked before.
func withQuery(address string, values url.Values) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	query := u.Query()
	for name := range values {
		query.Set(name, values.Get(name))
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// truncateError returns an error for the log: the answer of a provider may be a whole page.
func truncateError(err error) string {
	text := []rune(err.Error())
	return string(text[:min(len(text), 300)])
}
