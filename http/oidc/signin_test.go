package oidc_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/http/oidc"
)

func (h *fixture) from() accounts.Client { return accounts.Client{IP: "127.0.0.1"} }

func TestTheSignInPage(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	at := b.begin(byConsole("login_hint", `ada"><b>@example.org`))
	p := b.get(at)
	policy := p.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "style-src 'sha256-", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self' https://console.example"} {
		require.Contains(t, policy, part)
	}
	require.NotContains(t, policy, "unsafe")
	require.Equal(t, "no-store", p.header.Get("Cache-Control"))
	require.Equal(t, "DENY", p.header.Get("X-Frame-Options"))
	require.Equal(t, "same-origin", p.header.Get("Referrer-Policy"))
	require.Contains(t, p.body, `<html lang="en">`)
	require.Contains(t, p.body, `<label for="login">`)
	require.Contains(t, p.body, `autocomplete="username"`)
	require.Contains(t, p.body, `ada&#34;&gt;&lt;b&gt;@example.org`, "the hint is filled in, and is only text")
	require.Contains(t, p.body, console+"sign-up")
	require.NotContains(t, p.body, "can:", "no consent for the console")
	require.NotContains(t, p.body, `role="alert"`)
	require.Contains(t, p.body, p.header.Get("X-Correlation-Id"), "a reference for whoever asks for help")

	hidden := newFixture(t, func(o *oidc.Options, _ *accounts.Settings) { o.DisableSignup = true })
	b = hidden.browser()
	require.NotContains(t, b.get(b.begin(byConsole())).body, "sign-up")
	none := newFixture(t, func(o *oidc.Options, s *accounts.Settings) { o.DisableSignin, s.DisableSignin = true, true })
	b = none.browser()
	at = b.begin(byConsole())
	require.NotContains(t, b.get(at).body, "<form")
	require.Equal(t, http.StatusForbidden, b.signIn(at, adaMail, adaPass).status)
}

func TestWrongPasswordsAreToldAndCounted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	a := byConsole()
	at := b.begin(a)
	h.nextMinute()
	var bodies []string
	for _, email := range []string{adaMail, "nobody@example.org"} {
		p := b.signIn(at, email, "wrong password")
		require.Equal(t, http.StatusUnauthorized, p.status)
		require.Contains(t, p.body, `role="alert"`)
		require.Contains(t, p.body, "<title>Problem: ")
		require.Contains(t, p.body, `value="`+email+`"`)
		require.NotContains(t, p.body, "wrong password")
		body := strings.NewReplacer(email, "", p.header.Get("X-Correlation-Id"), "").Replace(p.body)
		bodies = append(bodies, body)
	}
	require.Equal(t, bodies[0], bodies[1], "whether or not there is such an account")
	require.Equal(t, http.StatusBadRequest, b.signIn(at, adaMail, "").status)
	for range 4 {
		require.Equal(t, http.StatusUnauthorized, b.signIn(at, " ADA@example.org", "wrong password").status)
	}
	p := b.signIn(at, adaMail, adaPass)
	require.Equal(t, http.StatusTooManyRequests, p.status, "also with the right one")
	require.NotEmpty(t, p.header.Get("Retry-After"))
	require.Contains(t, p.body, "Too many tries")
	require.Empty(t, b.cookie("access-token"))
	h.pass(time.Minute)
	require.NotEmpty(t, b.resume(b.signIn(at, adaMail, adaPass), a), "the page is still good")
}

func TestAnAccountThatWaitsIsToldSo(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(_ *oidc.Options, s *accounts.Settings) { s.Validation = accounts.ValidationManual })
	b := h.browser()
	at := b.begin(byConsole())
	require.Contains(t, b.signIn(at, adaMail, "wrong password").body, "not right")
	p := b.signIn(at, adaMail, adaPass)
	require.Equal(t, http.StatusUnauthorized, p.status)
	require.Contains(t, p.body, "waiting for an administrator")
}

// enrol sets up a second factor and returns a maker of codes.
func (h *fixture) enrol(password string) (code func() string) {
	opened, err := h.accounts.SignIn(h.t.Context(), accounts.Login{Email: adaMail, Password: password})
	require.NoError(h.t, err)
	setup, err := h.accounts.OfferMFA(h.t.Context(), opened, password)
	require.NoError(h.t, err)
	code = func() string {
		h.pass(time.Minute) // a code counts once
		text, err := totp.GenerateCode(setup.Secret, h.now())
		require.NoError(h.t, err)
		return text
	}
	require.NoError(h.t, h.accounts.ConfirmMFA(h.t.Context(), opened, code(), "127.0.0.1"))
	return code
}

func TestTheSecondFactorIsAskedForInASecondStep(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	code := h.enrol(adaPass)
	b := h.browser()
	a := byConsole()
	at := b.begin(a)
	p := b.signIn(at, adaMail, adaPass)
	require.Equal(t, http.StatusFound, p.status)
	require.Equal(t, at, p.header.Get("Location"))
	require.Empty(t, b.cookie("access-token"))
	h.requireAbsent(adaPass)

	p = b.get(at)
	require.Contains(t, p.body, `autocomplete="one-time-code"`)
	require.NotContains(t, p.body, `type="password"`)
	require.NotContains(t, p.body, adaPass)
	require.Contains(t, b.get(at+"?step=password").body, `type="password"`)

	p = b.post(at+"/login", url.Values{"login": {"bob@example.org"}, "totp": {"000000"}})
	require.Equal(t, http.StatusBadRequest, p.status, "the password that waits is Ada's")
	p = b.post(at+"/login", url.Values{"login": {adaMail}, "totp": {"000000"}})
	require.Equal(t, http.StatusUnauthorized, p.status)
	require.Contains(t, p.body, "That code is not right")
	right := code()
	p = b.post(at+"/login", url.Values{"login": {adaMail}, "totp": {right[:3] + " " + right[3:]}})
	require.Equal(t, http.StatusFound, p.status, p.body)
	got := b.tokens(a.redeem(b.resume(p, a)))
	_, claims := h.hintOf(got["id_token"].(string))
	require.Equal(t, []any{"pwd", "otp", "mfa"}, claims["amr"])

	b = h.browser()
	at = b.begin(a)
	p = b.signIn(at, adaMail, adaPass, "totp", code())
	require.Equal(t, http.StatusFound, p.status, "all at once, as the contract has it")
	require.NotEmpty(t, b.resume(p, a))

	b = h.browser()
	at = b.begin(a)
	p = b.post(at+"/login", url.Values{"login": {adaMail}, "totp": {code()}})
	require.Equal(t, http.StatusBadRequest, p.status, "a code alone is nothing")
}

func TestASignInBelongsToItsBrowser(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b, other := h.browser(), h.browser()
	a := byConsole()
	at := b.begin(a)
	other.begin(a) // it has a secret of its own
	for _, p := range []page{other.get(at), other.signIn(at, adaMail, adaPass), h.browser().get(at), b.get("/oidc/interaction/NEVER")} {
		require.Equal(t, http.StatusBadRequest, p.status)
		require.Contains(t, p.body, "This sign-in is over")
	}
	form := url.Values{"login": {adaMail}, "password": {adaPass}}
	require.Equal(t, http.StatusForbidden, b.post(at+"/login", form, "Sec-Fetch-Site", "cross-site").status)
	require.Equal(t, http.StatusForbidden, b.post(at+"/login", form, "Origin", "https://evil.example").status)
	require.Equal(t, http.StatusForbidden, b.post(at+"/login", form, "Origin", "null").status)

	p := b.signIn(at, adaMail, adaPass)
	end := p.header.Get("Location")
	require.Equal(t, http.StatusBadRequest, other.get(end).status, "nor may another take the code")
	require.NotEmpty(t, b.resume(p, a))
	require.Equal(t, http.StatusBadRequest, b.get(end).status, "once")
	require.Equal(t, http.StatusBadRequest, b.signIn(at, adaMail, adaPass).status)
}

func TestASignInEndsAfterTenMinutes(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	a := byConsole()
	at, slow := b.begin(a), b.begin(a)
	require.Equal(t, at, b.get(strings.Replace(at, "interaction", "auth", 1)).header.Get("Location"), "nobody signed in yet")
	code := b.resume(b.signIn(at, adaMail, adaPass), a)
	h.pass(10 * time.Minute)
	require.Equal(t, http.StatusBadRequest, b.get(slow).status)
	b.requireTokenRefusal(a.redeem(code), 400, "invalid_grant")
	p := b.get(byConsole("prompt", "none").path())
	require.NotEmpty(t, p.location(t).Query().Get("code"), "an old code is no theft: the session lives")
}

func TestOtherClientsNeedConsent(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	inConsole := byConsole()
	b.code(inConsole)

	a := bySPA("scope", "openid email events:read")
	require.Equal(t, "consent_required", b.get(bySPA("prompt", "none").path()).location(t).Query().Get("error"))
	at := b.begin(a)
	p := b.get(at)
	require.Contains(t, p.body, "Continue to shop")
	require.Contains(t, p.body, adaMail)
	require.Contains(t, p.body, "<li>read events</li>")
	require.NotContains(t, p.body, `type="password"`)
	require.Contains(t, b.get(at+"?step=password").body, `type="password"`)
	got := b.tokens(a.redeem(b.resume(b.post(at+"/login", url.Values{"consent": {"yes"}}), a)))
	require.Equal(t, "openid email events:read", got["scope"])
	cookie, _ := h.hintOf(b.cookie("access-token"))
	require.NotEqual(t, got["access_token"], cookie, "the cookie stays the platform's")

	fewer := bySPA("scope", "openid email")
	require.NotEmpty(t, b.returned(b.get(fewer.path()), fewer), "what was allowed is not asked for again")
	more := bySPA("scope", "openid email settings")
	require.Contains(t, b.get(b.begin(more)).body, "change your account and its access tokens")
	require.Contains(t, b.get(b.begin(bySPA("prompt", "consent", "scope", "openid"))).body, "Continue to shop")

	now := bySPA("prompt", "login", "scope", "openid")
	at = b.begin(now)
	require.Contains(t, b.get(at).body, `type="password"`)
	require.Regexp(t, `step=password`, b.post(at+"/login", url.Values{"consent": {"yes"}}).header.Get("Location"), "a new sign-in is asked for")

	stranger := h.browser()
	at = stranger.begin(a)
	require.Contains(t, stranger.get(at).body, "When you sign in, shop can:")
	require.Regexp(t, `step=password`, stranger.post(at+"/login", url.Values{"consent": {"yes"}}).header.Get("Location"))
}

// signUp fills in the form of a new account.
func (b *browser) signUp(at, email, password string) page {
	b.t.Helper()
	return b.post(at+"/login", url.Values{"create": {"yes"}, "login": {email}, "password": {password}, "firstName": {"Grace"}, "lastName": {"Hopper"}})
}

func TestAnAccountIsMadeOnThePage(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	b := h.browser()
	h.nextMinute()
	a := bySPA("prompt", "create")
	at := b.begin(a)
	p := b.get(at)
	require.Contains(t, p.body, "<h1>Create an account</h1>")
	require.Contains(t, p.body, `autocomplete="new-password"`)
	require.Contains(t, p.body, at+"?step=password")
	require.Contains(t, b.get(at+"?step=password").body, at+"?step=create", "one way to the other")
	require.Contains(t, b.get("/.well-known/openid-configuration").body, `"create"`)

	const email, password = "grace@example.org", "amazing grace 1906"
	require.Equal(t, http.StatusBadRequest, b.post(at+"/login", url.Values{"create": {"yes"}, "login": {email}, "password": {password}}).status)
	p = b.signUp(at, adaMail, password)
	require.Equal(t, http.StatusConflict, p.status)
	require.Contains(t, p.body, "already")
	p = b.signUp(at, "grace", "short")
	require.Equal(t, http.StatusUnprocessableEntity, p.status)
	require.Contains(t, p.body, "The password is not one that may be chosen here")
	require.Contains(t, p.body, "The e-mail address ")
	require.Contains(t, p.body, `value="Grace"`)
	require.NotContains(t, p.body, `"short"`)
	require.Equal(t, http.StatusForbidden, b.post(at+"/login", url.Values{"create": {"yes"}}, "Sec-Fetch-Site", "cross-site").status)
	p = b.signUp(at, email, password)
	require.Equal(t, http.StatusFound, p.status, p.body)
	_, claims := h.hintOf(b.tokens(a.redeem(b.resume(p, a)))["id_token"].(string))
	require.Equal(t, email, claims["email"])
	require.Contains(t, b.get(b.begin(a)).body, "<h1>Create an account</h1>", "whoever is signed in")
	h.requireAbsent(password)

	at = b.begin(a)
	for range 7 { // three were counted before
		b.signUp(at, adaMail, password)
	}
	p = b.signUp(at, "hopper@example.org", password)
	require.Equal(t, http.StatusTooManyRequests, p.status)
	require.Contains(t, p.body, "<h1>Create an account</h1>")
}

func TestAnAccountThatIsMadeOnThePageMayWait(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(_ *oidc.Options, s *accounts.Settings) { s.Validation = accounts.ValidationManual })
	b := h.browser()
	p := b.signUp(b.begin(bySPA("prompt", "create")), "grace@example.org", "amazing grace 1906")
	require.Equal(t, http.StatusOK, p.status)
	require.Contains(t, p.body, "as soon as an administrator has approved it")
	require.Contains(t, p.body, `role="status"`)
	require.Empty(t, b.cookie("access-token"))

	none := newFixture(t, func(o *oidc.Options, _ *accounts.Settings) { o.DisableSignup = true })
	b = none.browser()
	at := b.begin(bySPA("prompt", "create"))
	require.Contains(t, b.get(at).body, "<h1>Sign in</h1>")
	require.Contains(t, b.get(at+"?step=create").body, "<h1>Sign in</h1>")
	require.Equal(t, http.StatusForbidden, b.signUp(at, "grace@example.org", "amazing grace 1906").status)
	require.NotContains(t, b.get("/.well-known/openid-configuration").body, `"create"`)
}
