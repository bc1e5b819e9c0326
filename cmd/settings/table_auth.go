package settings

import (
	"net/url"
	"regexp"
	"slices"
	"time"
)

// Auth is accounts, tokens and identity providers.
type Auth struct {
	RateSignup         int // these rates are per minute; 0 is no limit
	RateAnonymousLogin int
	RateLogin          int
	RatePasswordReset  int
	RateTokenExchange  int

	JWKSAlg             string
	JWKSKty             string
	JWKSSize            int
	JWKSRotation        time.Duration
	AccessTokenMaxAge   time.Duration
	SessionCookieMaxAge time.Duration

	SuperAdminEmails  []string
	AdminPassword     Secret           // "" has one generated at first start
	Providers         Secret           // JSON of AUTH_PROVIDERS_CONFIG with ${VAR} filled in; "" when unset
	ExternalClients   []ExternalClient // public PKCE clients
	PasswordPattern   *regexp.Regexp   // matches whole passwords
	AccountValidation string           // auto, email or manual
	DisableSignin     bool
	DisableSignup     bool
	ForceMFA          bool
}

// ExternalClient is a public OIDC client of OIDC_EXTERNAL_CLIENTS.
type ExternalClient struct {
	ClientID     string   `json:"client_id"`
	RedirectURIs []string `json:"redirect_uris"`
}

func authTable(c *Auth) []Setting {
	return []Setting{
		{Name: "RATE_LIMIT_SIGNUP", Default: "10", Unit: "/min/IP", Meaning: "new accounts", marks: live, value: rate(&c.RateSignup)},
		{Name: "RATE_LIMIT_ANONYMOUS_LOGIN", Default: "60", Unit: "/min/IP", Meaning: "anonymous sessions", marks: live, value: rate(&c.RateAnonymousLogin)},
		{Name: "RATE_LIMIT_LOGIN", Default: "5", Unit: "/min/e-mail", Meaning: "password attempts", marks: live, value: rate(&c.RateLogin)},
		{Name: "RATE_LIMIT_PASSWORD_RESET", Default: "5", Unit: "/min/IP", Meaning: "reset mails", marks: live, value: rate(&c.RatePasswordReset)},
		{Name: "RATE_LIMIT_TOKEN_EXCHANGE", Default: "60", Unit: "/min/IP", Meaning: "token exchanges", marks: live, value: rate(&c.RateTokenExchange)},
		{Name: "JWKS_ALG", Default: "RS256", Unit: "name", Meaning: "also RS384, RS512, PS256, ES256, ES384", value: oneOf(&c.JWKSAlg, "RS256", "RS384", "RS512", "PS256", "ES256", "ES384")},
		{Name: "JWKS_KTY", Default: "RSA", Unit: "RSA, EC", Meaning: "must fit JWKS_ALG", value: oneOf(&c.JWKSKty, "RSA", "EC")},
		{Name: "JWKS_SIZE", Default: "2048", Unit: "bits", Meaning: "2048-4096; ignored for EC", value: number(&c.JWKSSize, 2048, 4096)},
		{Name: "JWKS_ROTATION_DAYS", Default: "30", Unit: "d", Meaning: "age at which a signing key is replaced", value: days(&c.JWKSRotation)},
		{Name: "ACCESS_TOKENS_MAX_AGE", Default: "2592000", Unit: "s", Meaning: "JWT lifetime; rotated keys kept as long", value: seconds(&c.AccessTokenMaxAge, time.Minute, 3650*day)},
		{Name: "SESSION_COOKIES_MAX_AGE", Default: "2592000", Unit: "s", Meaning: "longest life of a session; its cookie lives as long as the token in it", value: seconds(&c.SessionCookieMaxAge, time.Minute, 3650*day)},
		{Name: "SUPER_ADMIN_EMAILS", Default: "admin@localhost", Unit: "list", Meaning: "accounts of administrators (1.1)", marks: live, value: listOf(&c.SuperAdminEmails, "mail addresses", isMail)},
		{Name: "ADMIN_PASSWORD", Default: "generated (1.1)", Unit: "text", Meaning: "password of the accounts made at first start", marks: secret, derive: noDefault, value: secretText(&c.AdminPassword)},
		{Name: "AUTH_PROVIDERS_CONFIG", Default: "-", Unit: "path or JSON", Meaning: "identity providers; `${VAR}` is filled in", marks: document, value: jsonDocument(&c.Providers)},
		{Name: "OIDC_EXTERNAL_CLIENTS", Default: "-", Unit: "JSON", Meaning: "public PKCE clients `{client_id, redirect_uris[]}`", value: externalClients(&c.ExternalClients)},
		{Name: "PASSWORD_VALIDATION_REGEXP", Default: ".{8,128}", Unit: "regexp", Meaning: "what a whole password must match", value: regexpOf(&c.PasswordPattern, true)},
		{Name: "ACCOUNT_VALIDATION_METHOD", Default: "`email` with SMTP_HOST, else `manual`", Unit: "auto, email, manual", Meaning: "how a new account becomes valid", derive: defaultValidation, value: oneOf(&c.AccountValidation, "auto", "email", "manual")},
		{Name: "DISABLE_LOCAL_SIGNIN", Default: "no", Unit: "bool", Meaning: "no sign-in with a password", value: boolean(&c.DisableSignin)},
		{Name: "DISABLE_LOCAL_SIGNUP", Default: "no", Unit: "bool", Meaning: "no new accounts with a password", value: boolean(&c.DisableSignup)},
		{Name: "MFA_FORCE_LOCAL", Default: "no", Unit: "bool", Meaning: "second factor for password accounts", value: boolean(&c.ForceMFA)},
	}
}

func externalClients(p *[]ExternalClient) value {
	return bind(p, "JSON", "a JSON array of {client_id, redirect_uris[]}", func(text string) ([]ExternalClient, error) {
		var clients []ExternalClient
		if decodeJSON(text, &clients) != nil {
			return nil, errBad
		}
		for i, client := range clients {
			same := func(c ExternalClient) bool { return c.ClientID == client.ClientID }
			if client.ClientID == "" || slices.ContainsFunc(clients[:i], same) ||
				len(client.RedirectURIs) == 0 || slices.ContainsFunc(client.RedirectURIs, notRedirect) {
				return nil, errBad
			}
		}
		return clients, nil
	})
}

// notRedirect reports whether text cannot be a redirect URI: those are absolute
// and have no fragment. Native clients use schemes of their own.
func notRedirect(text string) bool {
	u, err := url.Parse(text)
	return err != nil || !u.IsAbs() || u.Fragment != "" || u.User != nil
}
