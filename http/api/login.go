package api

import (
	"net/http"
	"slices"
	"time"

	"svc/commands/accounts"
	"svc/domain"
	"svc/domain/user"
	"svc/http/gateway"
)

// waysIn is the answer of GET /v2/login/providers.
type waysIn struct {
	LocalSignin bool            `json:"localSignin"`
	LocalSignup bool            `json:"localSignup"`
	Anonymous   bool            `json:"anonymous"`
	Providers   []LoginProvider `json:"providers"`
}

// listLoginProviders handles GET /v2/login/providers.
func listLoginProviders(d Deps) gateway.HandlerFunc {
	return func(*http.Request) (any, error) {
		ways := waysIn{Anonymous: true, Providers: []LoginProvider{}}
		ways.LocalSignin, ways.LocalSignup = d.Local()
		if d.Providers != nil {
			ways.Providers = append(ways.Providers, d.Providers.List()...)
		}
		return ways, nil
	}
}

// lifetime is how long a login asks to last.
type lifetime struct {
	ExpiresAfter *int64 `json:"expiresAfter"` // seconds
}

// longest is longer than any session lasts.
const longest = int64(100 * 365 * 24 * time.Hour / time.Second)

// client returns where a login comes from, and how long it asks to last.
func (l lifetime) client(r *http.Request) (accounts.Client, error) {
	from := accounts.Client{IP: clientIP(r), UserAgent: r.UserAgent()}
	if l.ExpiresAfter == nil {
		return from, nil
	}
	if *l.ExpiresAfter < 1 {
		return from, domain.Invalid(domain.FieldError{Field: "expiresAfter", Message: "must be a number of seconds above 0"})
	}
	from.ExpiresAfter = time.Duration(min(*l.ExpiresAfter, longest)) * time.Second
	return from, nil
}

// clientIP is the address of the client; "" when it has none.
func clientIP(r *http.Request) string {
	if ip := gateway.ClientIP(r); ip.IsValid() {
		return ip.String()
	}
	return ""
}

// loginAnonymously handles POST /v2/login/anonymous.
func loginAnonymously(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in lifetime
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		from, err := lifetime{in.ExpiresAfter}.client(r)
		if err != nil {
			return nil, err
		}
		done, err := d.Accounts.Anonymous(r.Context(), from)
		if err != nil {
			return nil, err
		}
		return signedIn(d, r, done), nil
	}
}

// loginBody is the body of POST /v2/login.
type loginBody struct {
	Email    *string `json:"email"`
	Password *string `json:"password"`
	TOTP     string  `json:"totp"`

	ExpiresAfter *int64 `json:"expiresAfter"`
}

// login handles POST /v2/login.
func login(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in loginBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if err := needed(text{"email", in.Email}, text{"password", in.Password}); err != nil {
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
		done, err := d.Accounts.Login(r.Context(), accounts.Login{
			Email: *in.Email, Password: *in.Password, TOTP: in.TOTP, Client: from, Known: known,
			LimitCode: func() error { return gateway.LimitAccount(r.Context(), email) },
		})
		if err != nil {
			return nil, err
		}
		return signedIn(d, r, done).WithCookie(gateway.RememberDevice(r, email)), nil
	}
}

// exchangeBody is the body of POST /v2/login/token-exchange. Its names are those
// of RFC 8693.
type exchangeBody struct {
	Provider  *string `json:"provider"`
	Token     *string `json:"subject_token"`
	TokenType string  `json:"subject_token_type"`

	ExpiresAfter *int64 `json:"expiresAfter"`
}

// exchangeToken handles POST /v2/login/token-exchange.
func exchangeToken(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in exchangeBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if err := needed(text{"provider", in.Provider}, text{"subject_token", in.Token}); err != nil {
			return nil, err
		}
		from, err := lifetime{in.ExpiresAfter}.client(r)
		if err != nil {
			return nil, err
		}
		if !knownProvider(d, *in.Provider) {
			return nil, domain.Refuse(domain.CodeNotFound, "there is no such provider").With("resource", "provider").With("id", *in.Provider)
		}
		who, err := d.Providers.Exchange(r.Context(), *in.Provider, *in.Token, in.TokenType)
		if err != nil {
			return nil, err
		}
		done, err := d.Accounts.LoginWith(r.Context(), who, from)
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel) // it may have made an account
		return signedIn(d, r, done), nil
	}
}

func knownProvider(d Deps, slug string) bool {
	return d.Providers != nil && slices.ContainsFunc(d.Providers.List(), func(p LoginProvider) bool { return p.Slug == slug })
}

// loginResult is the answer to a login.
type loginResult struct {
	UserID    string `json:"userId"`
	ID        string `json:"id"` // the same
	SessionID string `json:"sessionId"`
	Token     string `json:"token,omitempty"` // once
	Expires   string `json:"expires"`
}

// Replayable implements gateway.Replayable: a repeat does not see the token.
func (l loginResult) Replayable() any {
	l.Token = ""
	return l
}

// signedIn is the answer to a login: the token, also as a cookie, and what the
// cookie must come with.
func signedIn(d Deps, r *http.Request, in accounts.LoginResult) *gateway.Answer {
	cookie := sessionCookie(r, in.Token)
	cookie.MaxAge = max(1, int(in.Expires.Sub(d.Now())/time.Second))
	return gateway.OK(loginResult{
		UserID: in.UserID, ID: in.UserID, SessionID: in.SessionID, Token: in.Token, Expires: in.Expires.UTC().Format(domain.Timestamp),
	}).
		With("X-Svc-Session-Id", in.SessionID).
		With("X-Svc-Csrf-Token", d.CSRFToken(in.SessionID)).
		WithCookie(cookie)
}

// sessionCookie is the cookie of a token.
func sessionCookie(r *http.Request, token string) *http.Cookie {
	return &http.Cookie{
		Name: gateway.CookieName, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: gateway.Secure(r),
	}
}

// signedOut is an answer that takes the cookie away.
func signedOut(r *http.Request, body any) *gateway.Answer {
	cookie := sessionCookie(r, "")
	cookie.MaxAge = -1
	return gateway.OK(body).WithCookie(cookie)
}
