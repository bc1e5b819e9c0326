package accounts

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/user"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/http/oidc"
	"svc/projections"
)

// loginProviderResponse is an identity provider, as the sign-in page shows it.
type loginProviderResponse struct {
	Slug string `json:"slug"`
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
	Icon string `json:"icon,omitempty"`
}

// loginProvidersResponse is the answer of GET /v2/login/providers.
type loginProvidersResponse struct {
	LocalSignin bool                    `json:"localSignin"`
	LocalSignup bool                    `json:"localSignup"`
	Anonymous   bool                    `json:"anonymous"`
	Providers   []loginProviderResponse `json:"providers"`
}

// ListLoginProviders handles GET /v2/login/providers.
func (h *Handlers) ListLoginProviders(*http.Request) (any, error) {
	response := loginProvidersResponse{Anonymous: true, Providers: []loginProviderResponse{}}
	response.LocalSignin, response.LocalSignup = h.Local()
	for _, p := range h.Providers {
		response.Providers = append(response.Providers, loginProviderResponse{Slug: p.Slug, Type: "oidc", Name: p.Name, Icon: p.Icon})
	}
	return response, nil
}

// lifetime is how long a login asks to last.
type lifetime struct {
	ExpiresAfter *int64 `json:"expiresAfter"` // seconds
}

// maxSeconds is longer than any session lasts.
const maxSeconds = int64(100 * 365 * 24 * time.Hour / time.Second)

// client returns where a login comes from, and how long it asks to last.
func (l lifetime) client(r *http.Request) (accounts.Client, error) {
	from := accounts.Client{IP: clientIP(r), UserAgent: r.UserAgent()}
	if l.ExpiresAfter == nil {
		return from, nil
	}
	if *l.ExpiresAfter < 1 {
		return from, domain.Invalid(domain.FieldError{Field: "expiresAfter", Message: "must be a number of seconds above 0"})
	}
	from.ExpiresAfter = time.Duration(min(*l.ExpiresAfter, maxSeconds)) * time.Second
	return from, nil
}

// clientIP is the address of the client; "" when it has none.
func clientIP(r *http.Request) string {
	if ip := gateway.ClientIP(r); ip.IsValid() {
		return ip.String()
	}
	return ""
}

// LoginAnonymously handles POST /v2/login/anonymous.
func (h *Handlers) LoginAnonymously(r *http.Request) (any, error) {
	var in lifetime
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	from, err := lifetime{in.ExpiresAfter}.client(r)
	if err != nil {
		return nil, err
	}
	done, err := h.Accounts.Anonymous(r.Context(), from)
	if err != nil {
		return nil, err
	}
	return h.signInResponse(r, done), nil
}

// loginRequest is the body of POST /v2/login.
type loginRequest struct {
	Email    *string `json:"email"`
	Password *string `json:"password"`
	TOTP     string  `json:"totp"`

	ExpiresAfter *int64 `json:"expiresAfter"`
}

// Login handles POST /v2/login.
func (h *Handlers) Login(r *http.Request) (any, error) {
	var in loginRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if err := handler.RequireFields(handler.Text("email", in.Email), handler.Text("password", in.Password)); err != nil {
		return nil, err
	}
	from, err := lifetime{in.ExpiresAfter}.client(r)
	if err != nil {
		return nil, err
	}
	email := user.NormalEmail(*in.Email)
	known, err := gateway.LimitLogin(r, email)
	if err != nil {
		return nil, err
	}
	done, err := h.Accounts.Login(r.Context(), accounts.Login{
		Email: *in.Email, Password: *in.Password, TOTP: in.TOTP, Client: from, Known: known,
		LimitCode: func() error { return gateway.LimitAccount(r.Context(), email) },
	})
	if err != nil {
		return nil, err
	}
	return h.signInResponse(r, done).WithCookie(gateway.RememberDevice(r, email)), nil
}

// tokenExchangeRequest is the body of POST /v2/login/token-exchange. Its names are those
// of RFC 8693.
type tokenExchangeRequest struct {
	Provider  *string `json:"provider"`
	Token     *string `json:"subject_token"`
	TokenType string  `json:"subject_token_type"`

	ExpiresAfter *int64 `json:"expiresAfter"`
}

// ExchangeToken handles POST /v2/login/token-exchange.
func (h *Handlers) ExchangeToken(r *http.Request) (any, error) {
	var in tokenExchangeRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if err := handler.RequireFields(handler.Text("provider", in.Provider), handler.Text("subject_token", in.Token)); err != nil {
		return nil, err
	}
	from, err := lifetime{in.ExpiresAfter}.client(r)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(h.Providers, func(p oidc.Provider) bool { return p.Slug == *in.Provider }) {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such provider").With("resource", "provider").With("id", *in.Provider)
	}
	who, err := h.Exchange(r.Context(), *in.Provider, *in.Token, in.TokenType)
	if err != nil {
		return nil, err
	}
	done, err := h.Accounts.LoginWith(r.Context(), who, from)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel) // it may have made an account
	return h.signInResponse(r, done), nil
}

// loginResponse is the answer to a login.
type loginResponse struct {
	UserID    string `json:"userId"`
	ID        string `json:"id"` // the same
	SessionID string `json:"sessionId"`
	Token     string `json:"token,omitempty"` // once
	Expires   string `json:"expires"`
}

// Replayable implements gateway.Replayable: a repeat does not see the token.
func (l loginResponse) Replayable() any {
	l.Token = ""
	return l
}

// signInResponse is the answer to a login: the token, also as a cookie, and what the
// cookie must come with.
func (h *Handlers) signInResponse(r *http.Request, in accounts.LoginResult) *gateway.Answer {
	return gateway.OK(loginResponse{
		UserID: in.UserID, ID: in.UserID, SessionID: in.SessionID, Token: in.Token, Expires: in.Expires.UTC().Format(domain.Timestamp),
	}).
		With("X-Svc-Session-Id", in.SessionID).
		With("X-Svc-Csrf-Token", h.CSRFToken(in.SessionID)).
		WithCookie(gateway.SessionCookie(r, in.Token, in.Expires.Sub(h.Now())))
}

// signOutResponse is an answer that takes the cookie away.
func signOutResponse(r *http.Request, body any) *gateway.Answer {
	return gateway.OK(body).WithCookie(gateway.SessionCookie(r, "", 0))
}

// VerifyMFA handles POST /v2/login/mfa. Whoever comes with an access token has
// shown enough already: their code is checked, and that is all.
func (h *Handlers) VerifyMFA(r *http.Request) (any, error) {
	var in struct {
		TOTP *string `json:"totp"`
	}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if in.TOTP == nil {
		return nil, handler.MissingField("totp")
	}
	caller := gateway.CallerFrom(r.Context())
	if err := h.limitAttempts(r.Context(), caller.UserID); err != nil {
		return nil, err
	}
	by := sessions.Session{UserID: caller.UserID, ID: caller.SessionID}
	if err := h.Accounts.ShowCode(r.Context(), by, *in.TOTP, clientIP(r)); err != nil {
		return nil, err
	}
	return handler.Success, nil
}

// mfaRequest is the body of POST /v2/user/mfa: a method with the password, or the
// first code.
type mfaRequest struct {
	Method          *string `json:"method"`
	CurrentPassword *string `json:"currentPassword"`
	TOTP            *string `json:"totp"`
}

// mfaResponse is the answer of POST /v2/user/mfa.
type mfaResponse struct {
	Method     string `json:"method"`
	Secret     string `json:"secret,omitempty"`     // once
	OTPAuthURL string `json:"otpauthUrl,omitempty"` // once
	QRImage    string `json:"qrImage,omitempty"`    // once
}

// Replayable implements gateway.Replayable: a repeat does not see the secret.
func (s mfaResponse) Replayable() any { return mfaResponse{Method: s.Method} }

// SetMFA handles POST /v2/user/mfa.
func (h *Handlers) SetMFA(r *http.Request) (any, error) {
	var in mfaRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	by, err := h.callerSession(r)
	if err != nil {
		return nil, err
	}
	if in.TOTP != nil {
		return h.confirmMFA(r, by, in)
	}
	return h.chooseMFA(r, by, in)
}

// confirmMFA makes the offered second factor count, by its first code.
func (h *Handlers) confirmMFA(r *http.Request, by sessions.Session, in mfaRequest) (any, error) {
	if err := handler.RefuseFieldsWith("totp", handler.Text("method", in.Method), handler.Text("currentPassword", in.CurrentPassword)); err != nil {
		return nil, err
	}
	if err := h.limitAttempts(r.Context(), by.UserID); err != nil {
		return nil, err
	}
	if err := h.Accounts.ConfirmMFA(r.Context(), by, *in.TOTP, clientIP(r)); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return mfaResponse{Method: user.MFATOTP}, nil
}

// chooseMFA offers a second factor, or drops the one there is.
func (h *Handlers) chooseMFA(r *http.Request, by sessions.Session, in mfaRequest) (any, error) {
	if in.Method == nil {
		return nil, handler.MissingField("method")
	}
	if *in.Method != user.MFATOTP && *in.Method != user.MFANone {
		return nil, domain.Invalid(domain.FieldError{Field: "method", Message: "must be totp or none"})
	}
	password, err := h.readCurrentPassword(r, in.CurrentPassword)
	if err != nil {
		return nil, err
	}
	var offer accounts.MFASetup
	if *in.Method == user.MFATOTP {
		offer, err = h.Accounts.OfferMFA(r.Context(), by, password)
	} else {
		offer.Method, err = user.MFANone, h.Accounts.DropMFA(r.Context(), by, password)
	}
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return mfaResponse(offer), nil
}

// meResponse is the answer of GET /v2/me.
type meResponse struct {
	userResponse
	SessionID string   `json:"sessionId"`
	Expires   string   `json:"expires"`
	Scopes    []string `json:"scopes"`
}

// GetMe handles GET /v2/me.
func (h *Handlers) GetMe(r *http.Request) (any, error) {
	caller := gateway.CallerFrom(r.Context())
	found, err := h.callerAccount(caller)
	if err != nil {
		return nil, err
	}
	response := meResponse{found, caller.SessionID, caller.Expires.UTC().Format(domain.Timestamp), caller.Scopes}
	if response.Scopes == nil {
		response.Scopes = strings.Fields(accounts.Scopes)
	}
	if caller.Lent { // what a page of the session shows is not for automations
		return gateway.OK(response), nil
	}
	return gateway.OK(response).With("X-Svc-Csrf-Token", h.CSRFToken(caller.SessionID)), nil
}

// callerAccount is who calls. A visitor who owns nothing yet is shown as the
// account that they would get.
func (h *Handlers) callerAccount(caller gateway.Caller) (userResponse, error) {
	found, err := handler.FindUser(h.ReadModel, caller.UserID, "")
	switch {
	case err == nil:
		return h.toUserResponse(found), nil
	case domain.CodeOf(err) == domain.CodeNotFound && caller.Anonymous:
		return userResponse{Account: accounts.Account{User: user.User{
			ID: caller.UserID, Status: user.Validated, Meta: map[string]json.RawMessage{}, MFA: user.MFANone, Groups: []string{},
			AuthData: map[string]user.Identity{user.Anonymous: {ID: caller.UserID}},
		}}}, nil
	case domain.CodeOf(err) == domain.CodeNotFound: // gone since the request came in
		return userResponse{}, domain.Refuse(domain.CodeInvalidToken, "the account is not in use")
	}
	return userResponse{}, err
}

// Logout handles POST /v2/logout. An access token is no session: it stays.
func (h *Handlers) Logout(r *http.Request) (any, error) {
	caller := gateway.CallerFrom(r.Context())
	if err := h.Accounts.Logout(r.Context(), sessions.Session{UserID: caller.UserID, ID: caller.SessionID}); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return signOutResponse(r, handler.Success), nil
}

// callerSession returns the session of the caller.
func (h *Handlers) callerSession(r *http.Request) (sessions.Session, error) {
	caller := gateway.CallerFrom(r.Context())
	by, live, err := h.Sessions.Get(r.Context(), caller.UserID, caller.SessionID)
	if err == nil && !live {
		err = domain.Refuse(domain.CodeInvalidToken, "the session has ended")
	}
	return by, err
}

// checkSession refuses on an open route whom the gateway refuses on one that
// needs a session.
func checkSession(c gateway.Caller) error {
	switch {
	case c.Kind == gateway.KindNone:
		return gateway.MissingCredential()
	case c.Kind != gateway.KindUser || handler.IsAccessToken(c):
		return domain.Refuse(domain.CodeInsufficientScope, "this needs a user session").Reason("session_required")
	case c.MFAPending:
		return domain.Refuse(domain.CodeInvalidCredentials, "a second factor is required").Reason("mfa_required")
	}
	return nil
}

// limitAttempts counts a try at the password or the code of an account for the
// limit of logins: it must not matter at which door somebody guesses.
func (h *Handlers) limitAttempts(ctx context.Context, userID string) error {
	found, _, err := projections.Find(h.ReadModel, projections.Users{}.Brief, userID)
	if err != nil {
		return err
	}
	return gateway.LimitAccount(ctx, cmp.Or(found.Email, userID))
}

// readCurrentPassword returns the password that the caller shows to confirm what
// they ask for. Who has one must show it; others have nothing to show.
func (h *Handlers) readCurrentPassword(r *http.Request, given *string) (string, error) {
	userID := gateway.CallerFrom(r.Context()).UserID
	found, err := handler.FindUser(h.ReadModel, userID, "")
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && !found.HasPassword {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if given == nil {
		return "", handler.MissingField("currentPassword")
	}
	return *given, h.limitAttempts(r.Context(), userID)
}
