package oidc

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/op"

	protocol "github.com/zitadel/oidc/v3/pkg/oidc"

	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain/session"
	"svc/http/gateway"
)

// tokens is the answer of /oidc/token.
type tokens struct {
	AccessToken  string `json:"access_token"`
	IDToken      string `json:"id_token"`
	RefreshToken string `json:"refresh_token,omitempty"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	Scope        string `json:"scope"`
}

// Replayable implements gateway.Replayable: tokens are shown once.
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
			return badRequest(shown(name) + " was given twice").answer(r.Context()), nil
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

// tokenClient finds out who asks. A client has no secret to show.
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

// redeemCode spends a code. Whoever shows one, it is worth nothing afterwards.
func (s *Service) redeemCode(r *http.Request, client Client, form url.Values) (any, *fault, error) {
	code, verifier := form.Get("code"), form.Get("code_verifier")
	if code == "" || verifier == "" || form.Get("redirect_uri") == "" {
		return nil, badRequest("code, code_verifier and redirect_uri are required"), nil
	}
	g, ok, err := take[grant](r.Context(), s.o.Store, keyCode+digest(code))
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, &faultGrant, s.punish(r.Context(), code)
	}
	challenge := protocol.CodeChallenge{Challenge: g.Challenge, Method: protocol.CodeChallengeMethodS256}
	if g.ClientID != client.ID || g.RedirectURI != form.Get("redirect_uri") ||
		op.AuthorizeCodeChallenge(verifier, &challenge) != nil {
		return nil, &faultGrant, nil
	}
	return s.issue(r, client, g, g.Scopes, code)
}

// redeemRefresh spends a refresh token and gives another in its place.
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
		g, ok, err = take[grant](ctx, s.o.Store, keyRefresh+digest(token))
	}
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, &faultGrant, s.punish(ctx, token)
	}
	if len(scopes) == 0 {
		scopes = g.Scopes
	}
	return s.issue(r, client, g, scopes, "")
}

// punish ends the session of a code or refresh token that is shown again: one of
// the two who had it stole it. One that nobody knows, or whose time is over, ends
// nothing.
func (s *Service) punish(ctx context.Context, secret string) error {
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

// issue makes the tokens of a grant, as long as its session lives.
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
		if t.RefreshToken, err = s.emit(ctx, keyRefresh, g, min(refreshLifetime, opened.Expires.Sub(s.o.Now()))); err != nil {
			return nil, nil, err
		}
	}
	answer := gateway.OK(t).With("Cache-Control", "no-store").With("Pragma", "no-cache")
	if client.Trusted {
		answer.WithCookie(tokenCookie(r, t.AccessToken, t.ExpiresIn))
	}
	return answer, nil, nil
}

// accessToken makes a token for the API that lives as long as tokens do, and no
// longer than its session.
func (s *Service) accessToken(ctx context.Context, of sessions.Session, clientID, scope string) (token string, seconds int, err error) {
	now := s.o.Now().UTC()
	life := min(s.o.TokenLifetime, of.Expires.Sub(now)).Truncate(time.Second)
	token, err = s.o.Keys.Sign(ctx, signing.Claims{
		SessionID: of.ID, Subject: of.UserID, IssuedAt: now, ExpiresAt: now.Add(life), Scope: scope, ClientID: clientID,
	})
	return token, int(life.Seconds()), err
}

// loginCookie signs the browser in, like every login does. Its token is the
// person's own, whichever application they came for.
func (s *Service) loginCookie(r *http.Request, of sessions.Session) (*http.Cookie, error) {
	token, seconds, err := s.accessToken(r.Context(), of, accounts.OwnClient, accounts.Scopes)
	return tokenCookie(r, token, seconds), err
}
