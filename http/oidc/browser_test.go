package oidc_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// browser is a client with cookies that stops at every redirect.
type browser struct {
	t    *testing.T
	h    *fixture
	http *http.Client
}

func (h *fixture) browser() *browser {
	jar, err := cookiejar.New(nil)
	require.NoError(h.t, err)
	return &browser{h.t, h, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// page is an answer, read.
type page struct {
	status int
	header http.Header
	body   string
}

func (p page) location(t *testing.T) *url.URL {
	t.Helper()
	u, err := url.Parse(p.header.Get("Location"))
	require.NoError(t, err)
	return u
}

func (p page) json(t *testing.T) (v map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(p.body), &v), p.body)
	return v
}

func (b *browser) do(r *http.Request) page {
	b.t.Helper()
	answer, err := b.http.Do(r)
	require.NoError(b.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	return page{answer.StatusCode, answer.Header, string(body)}
}

// at makes an address of a path of the fixture.
func (b *browser) at(address string) string {
	if strings.HasPrefix(address, "/") {
		return b.h.url + address
	}
	return address
}

func (b *browser) get(address string, headers ...string) page {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.at(address), nil)
	require.NoError(b.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return b.do(r)
}

func (b *browser) post(address string, form url.Values, headers ...string) page {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.at(address), strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return b.do(r)
}

// cookie returns a cookie of the fixture, or "".
func (b *browser) cookie(name string) string {
	u, err := url.Parse(b.h.url)
	require.NoError(b.t, err)
	for _, c := range b.http.Jar.Cookies(u) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// authQuery is the query of an authorization request, for a client and its PKCE.
type authQuery struct {
	url.Values
	verifier string
}

func newAuthQuery(client, redirect string, more ...string) authQuery {
	verifier := oauth2.GenerateVerifier()
	a := authQuery{url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "scope": {"openid profile email"},
		"state": {"st-1"}, "nonce": {"no-1"}, "code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"},
	}, verifier}
	for i := 0; i < len(more); i += 2 {
		a.Set(more[i], more[i+1])
		if more[i+1] == "" {
			a.Del(more[i])
		}
	}
	return a
}

func byConsole(more ...string) authQuery {
	return newAuthQuery("svc-console", console+"callback", more...)
}
func bySPA(more ...string) authQuery { return newAuthQuery(spa, spaHome, more...) }

func (a authQuery) path() string { return "/oidc/auth?" + a.Encode() }

// begin goes to the page and returns its path.
func (b *browser) begin(a authQuery) string {
	b.t.Helper()
	p := b.get(a.path())
	require.Equal(b.t, http.StatusFound, p.status, p.body)
	require.Regexp(b.t, `^/oidc/interaction/[A-Z2-7]{26}$`, p.header.Get("Location"))
	return p.header.Get("Location")
}

// signIn fills in the form.
func (b *browser) signIn(at, email, password string, more ...string) page {
	b.t.Helper()
	form := url.Values{"login": {email}, "password": {password}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return b.post(at+"/login", form)
}

// code goes through the whole page and returns the code that comes back.
func (b *browser) code(a authQuery) string {
	b.t.Helper()
	p := b.signIn(b.begin(a), adaMail, adaPass)
	require.Equal(b.t, http.StatusFound, p.status, p.body)
	return b.resume(p, a)
}

// resume follows the way back to the client.
func (b *browser) resume(p page, a authQuery) string {
	b.t.Helper()
	require.Regexp(b.t, `^/oidc/auth/`, p.header.Get("Location"))
	return b.returned(b.get(p.header.Get("Location")), a)
}

// returned reads the code of a redirect to the client.
func (b *browser) returned(p page, a authQuery) string {
	b.t.Helper()
	require.Equal(b.t, http.StatusFound, p.status, p.body)
	to := p.location(b.t)
	query := to.Query()
	to.RawQuery = ""
	require.Equal(b.t, a.Get("redirect_uri"), to.String())
	require.Empty(b.t, query.Get("error"), query.Get("error_description"))
	require.Equal(b.t, a.Get("state"), query.Get("state"))
	require.Equal(b.t, b.h.url, query.Get("iss"))
	require.NotEmpty(b.t, query.Get("code"))
	return query.Get("code")
}

// redeem is the exchange of a code.
func (a authQuery) redeem(code string, more ...string) url.Values {
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {a.verifier},
		"client_id": {a.Get("client_id")}, "redirect_uri": {a.Get("redirect_uri")},
	}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return form
}

func refresh(client, token string, more ...string) url.Values {
	form := url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {token}}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return form
}

// tokens exchanges what must work.
func (b *browser) tokens(form url.Values) map[string]any {
	b.t.Helper()
	p := b.post("/oidc/token", form)
	require.Equal(b.t, http.StatusOK, p.status, p.body)
	return p.json(b.t)
}

// requireTokenRefusal sends a request for a token that is refused.
func (b *browser) requireTokenRefusal(form url.Values, status int, code string) {
	b.t.Helper()
	p := b.post("/oidc/token", form)
	require.Equal(b.t, status, p.status, p.body)
	body := p.json(b.t)
	require.Equal(b.t, code, body["error"])
	require.NotEmpty(b.t, body["error_description"])
	require.Equal(b.t, body["error_description"], body["message"])
	require.Equal(b.t, p.header.Get("X-Correlation-Id"), body["requestId"])
	require.Equal(b.t, "no-store", p.header.Get("Cache-Control"))
}
