package oidc

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/op"

	protocol "github.com/zitadel/oidc/v3/pkg/oidc"

	"svc/commands/sessions"
	"svc/http/gateway"
)

// authorize handles GET /oidc/auth: straight back with a code for who is signed
// in, to the page for everybody else. As long as it is not known whom the browser
// may be sent back to, a fault is a page; then it is the client's to show.
func (s *Service) authorize(r *http.Request) (any, error) {
	if err := limitAddress(r); err != nil {
		return s.failed(r, err)
	}
	ctx, query := r.Context(), r.URL.Query()
	client, ok, err := s.client(ctx, query.Get("client_id"))
	if err != nil {
		return nil, err
	}
	redirect := query.Get("redirect_uri")
	if len(query["client_id"]) > 1 || len(query["redirect_uri"]) > 1 || !ok || !client.allows(redirect) {
		return s.stopped(r, http.StatusBadRequest, wrongClient), nil
	}
	a, f := readAsked(client, query)
	if f == nil {
		f, err = s.readHint(ctx, &a, query.Get("id_token_hint"))
	}
	if err != nil {
		return nil, err
	}
	if f != nil {
		return s.refuse(a, *f), nil
	}
	return s.answer(r, client, a)
}

// answer finds out whether anybody must be asked anything.
func (s *Service) answer(r *http.Request, client Client, a asked) (any, error) {
	session, ok, err := s.viewer(r)
	if err != nil {
		return nil, err
	}
	missing := "login_required"
	if ok = ok && s.satisfies(session, a); ok {
		missing = "consent_required"
		if ok, err = s.consented(r.Context(), client, session.UserID, a); err != nil {
			return nil, err
		}
	}
	switch {
	case ok:
		return s.sendCode(r.Context(), a, session)
	case a.silent:
		return s.refuse(a, fault{missing, "somebody must be asked on a page"}), nil
	}
	return s.begin(r, a)
}

// begin remembers what was asked and sends the browser to the page.
func (s *Service) begin(r *http.Request, a asked) (any, error) {
	secret, cookie := knownBrowser(r)
	it := interaction{asked: a, ID: newSecret(), Browser: digest(secret)}
	if err := s.keep(r.Context(), it); err != nil {
		return nil, err
	}
	return gateway.Redirect(s.path("/oidc/interaction/", it.ID)).WithCookie(cookie), nil
}

func (s *Service) keep(ctx context.Context, it interaction) error {
	return put(ctx, s.o.Store, keyInteraction+it.ID, it, interactionLifetime)
}

// sendCode sends the browser back with a code for a session.
func (s *Service) sendCode(ctx context.Context, a asked, session sessions.Session) (any, error) {
	code, err := s.emit(ctx, keyCode, grant{
		ClientID: a.ClientID, RedirectURI: a.RedirectURI, Nonce: a.Nonce, Challenge: a.Challenge, Scopes: a.Scopes,
		UserID: session.UserID, SessionID: session.ID,
	}, codeLifetime)
	if err != nil {
		return nil, err
	}
	return s.back(a, url.Values{"code": {code}}), nil
}

// viewer is the session of the browser, if its cookie names one that somebody
// signed in to. Access tokens, visitors, and who still owes a second factor sign
// in first.
func (s *Service) viewer(r *http.Request) (sessions.Session, bool, error) {
	cookie, err := r.Cookie(gateway.CookieName)
	if err != nil || cookie.Value == "" {
		return sessions.Session{}, false, nil
	}
	userID, id, ok := s.o.Who(r.Context(), cookie.Value)
	if !ok {
		return sessions.Session{}, false, nil
	}
	session, ok, err := s.o.Sessions.Get(r.Context(), userID, id)
	return session, ok && !session.Anonymous && !session.MFAPending, err
}

// satisfies reports whether a session is what was asked for: of the right
// person, and young enough.
func (s *Service) satisfies(session sessions.Session, a asked) bool {
	if a.Subject != "" && a.Subject != session.UserID {
		return false
	}
	return a.MaxAge == nil || s.o.Now().Sub(session.CreatedAt) < time.Duration(*a.MaxAge)*time.Second
}

// maxMaxAge keeps max_age a duration.
const maxMaxAge = 10 * 365 * 24 * 3600

// readAsked reads what a known client asks for. What it returns is good for
// telling the client what is wrong, too.
func readAsked(client Client, query url.Values) (a asked, f *fault) {
	a = asked{
		ClientID: client.ID, RedirectURI: query.Get("redirect_uri"), State: query.Get("state"), Nonce: query.Get("nonce"),
		Challenge: query.Get("code_challenge"), LoginHint: query.Get("login_hint"),
	}
	if f = checkShape(client, query); f != nil {
		return a, f
	}
	if a.Scopes = grantable(client, strings.Fields(query.Get("scope"))); !slices.Contains(a.Scopes, protocol.ScopeOpenID) {
		return a, &fault{"invalid_scope", "the scope must hold openid"}
	}
	if text := query.Get("max_age"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil || n > maxMaxAge {
			return a, badRequest("max_age must be a number of seconds")
		}
		a.MaxAge = protocol.NewMaxAge(uint(n))
	}
	prompts := strings.Fields(query.Get("prompt"))
	var err error
	if a.MaxAge, err = op.ValidateAuthReqPrompt(prompts, a.MaxAge); err != nil {
		return a, faultOf(err)
	}
	if slices.Contains(prompts, protocol.PromptSelectAccount) {
		a.MaxAge = protocol.NewMaxAge(0)
	}
	a.silent = slices.Contains(prompts, protocol.PromptNone)
	a.Consent = slices.Contains(prompts, protocol.PromptConsent) && !client.Trusted
	return a, nil
}

// checkShape refuses what is not the code flow with PKCE S256.
func checkShape(client Client, query url.Values) *fault {
	for name, values := range query {
		if len(values) > 1 {
			return badRequest(shown(name) + " was given twice")
		}
	}
	if query.Get("request") != "" || query.Get("request_uri") != "" {
		return &fault{string(protocol.RequestNotSupported), "request objects are not supported"}
	}
	if err := op.ValidateAuthReqResponseType(publicClient{client: client}, protocol.ResponseType(query.Get("response_type"))); err != nil {
		if query.Get("response_type") != "" {
			return &fault{"unsupported_response_type", "response_type must be code"}
		}
		return faultOf(err)
	}
	if mode := query.Get("response_mode"); mode != "" && mode != string(protocol.ResponseModeQuery) {
		return badRequest("response_mode must be query")
	}
	if query.Get("code_challenge_method") != string(protocol.CodeChallengeMethodS256) || !isChallenge(query.Get("code_challenge")) {
		return badRequest("PKCE is required: a code_challenge of 43 characters with code_challenge_method=S256")
	}
	return nil
}

// isChallenge reports whether text can be a SHA-256 in base64 (RFC 7636).
func isChallenge(text string) bool {
	return len(text) == 43 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// shown is a name that a client chose, fit to be told to it.
func shown(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, name[:min(len(name), 40)])
}

// readHint notes who must sign in.
func (s *Service) readHint(ctx context.Context, a *asked, token string) (*fault, error) {
	if token == "" {
		return nil, nil
	}
	claims, ok, err := s.hint(ctx, token)
	if err != nil {
		return nil, err
	}
	if !ok {
		return badRequest("the id_token_hint is not a token of this provider"), nil
	}
	a.Subject = claims.Subject
	return nil, nil
}

// consent is what somebody let a client do.
type consent struct {
	Scopes []string `json:"scopes"`
}

func consentKey(userID, clientID string) string {
	return keyConsent + userID + "/" + digest(clientID)
}

// consented reports whether the person knows what the client gets. For clients
// of the platform that goes without saying.
func (s *Service) consented(ctx context.Context, client Client, userID string, a asked) (bool, error) {
	if client.Trusted || a.Consent {
		return client.Trusted, nil
	}
	given, ok, err := get[consent](ctx, s.o.Store, consentKey(userID, client.ID))
	if err != nil || !ok {
		return false, err
	}
	return !slices.ContainsFunc(a.Scopes, func(scope string) bool { return !slices.Contains(given.Scopes, scope) }), nil
}

// limitAddress counts a request of somebody who is not known yet.
func limitAddress(r *http.Request) error {
	return gateway.Limit(r.Context(), gateway.RateRequests, "oidc:"+gateway.ClientIP(r).String())
}
