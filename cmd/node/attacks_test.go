package node_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/projections/livetest"
)

// browser follows no redirect by itself and keeps cookies.
type browser struct {
	*http.Client
	t    *testing.T
	base string
}

func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	c := &http.Client{Jar: jar, Timeout: 20 * time.Second, Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(c.CloseIdleConnections)
	return &browser{c, t, base}
}

// send goes to an address, with a form when there is one, and returns where it
// leads and what it shows.
func (b *browser) send(to string, form url.Values, cookies ...*http.Cookie) (location *url.URL, page string) {
	b.t.Helper()
	if strings.HasPrefix(to, "/") {
		to = b.base + to
	}
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, to, http.NoBody)
	if form != nil {
		req, err = http.NewRequestWithContext(b.t.Context(), http.MethodPost, to, strings.NewReader(form.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.base)
	}
	require.NoError(b.t, err)
	for _, c := range cookies {
		req.AddCookie(c)
	}
	resp, err := b.Do(req)
	require.NoError(b.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(b.t, err)
	location, _ = resp.Location() // nil: it leads nowhere
	return location, string(body)
}

const verifier = "a-verifier-that-is-long-enough-for-pkce-0123456789"

// authorization is the address where a client begins.
func authorization(client, redirect, scope string) string {
	sum := sha256.Sum256([]byte(verifier))
	return "/oidc/auth?" + url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "scope": {scope}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode()
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// An application that was given little cannot take the place of the browser and
// get more.
func TestAnApplicationDoesNotBecomeTheUser(t *testing.T) {
	t.Parallel()
	const back = "https://app.example/cb"
	port := livetest.Ports(1)[0]
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	s := nodetest.NewServiceWithAccounts(t, `OIDC_EXTERNAL_CLIENTS=[{"client_id":"app","redirect_uris":["`+back+`"]}]`, fmt.Sprintf("PORT=%d", port), "API_URL="+base+"/v2")
	s.Base = base
	s.Start(t)
	b := newBrowser(t, base)

	at, _ := b.send(authorization("app", back, "openid"), nil)
	require.Contains(t, at.Path, "/oidc/interaction/")
	_, page := b.send(at.String(), nil)
	form := url.Values{"login": {"admin@localhost"}, "password": {nodetest.AdminPassword}}
	for _, field := range hidden.FindAllStringSubmatch(page, -1) {
		form.Set(field[1], field[2])
	}
	on, page := b.send(at.Path+"/login", form)
	require.NotNil(t, on, page)
	for on.Host != "app.example" {
		next, page := b.send(on.String(), nil)
		require.NotNil(t, next, page)
		on = next
	}
	_, answer := b.send("/oidc/token", url.Values{
		"grant_type": {"authorization_code"}, "code": {on.Query().Get("code")}, "code_verifier": {verifier}, "client_id": {"app"}, "redirect_uri": {back},
	})
	var tokens struct {
		Access string `json:"access_token"`
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &tokens))
	narrow := nodetest.Bearer(tokens.Access)
	require.Equal(t, "insufficient_scope", s.Get(t, "/v2/workspaces", narrow).Code(t))
	require.Equal(t, "insufficient_scope", s.Get(t, "/sys/config", narrow).Code(t), "a super admin's, but not for this")
	require.Equal(t, "insufficient_scope", s.Call(t, "POST", "/sys/jwks/rotate", narrow, "").Code(t))

	console := s.Live.Get().Config.HTTP.ConsoleURLs[0]
	own, _ := b.send(authorization("svc-console", console, "openid"), nil)
	require.NotEmpty(t, own.Query().Get("code"), "the browser itself is signed in")
	stranger := newBrowser(t, base)
	to, _ := stranger.send(authorization("svc-console", console, "openid"), nil, &http.Cookie{Name: "access-token", Value: tokens.Access})
	require.Contains(t, to.Path, "/oidc/interaction/", "and the application is not")
	require.Empty(t, to.Query().Get("code"))
}

// Who may share gives away what they have and nothing else, and leaves owners
// alone.
func TestWhoMaySharesDoesNotBecomeTheOwner(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t)
	s.Start(t)
	people, ids := map[string]http.Header{}, map[string]string{}
	for _, name := range []string{"ada", "bob", "carol"} {
		s.Must(t, "POST", "/v2/signup", nil, fmt.Sprintf(`{"email":"%s@example.org","password":"long enough","firstName":"F","lastName":"L"}`, name))
		in := s.Login(t, name+"@example.org", "long enough")
		people[name], ids[name] = nodetest.Bearer(in["token"].(string)), in["userId"].(string)
	}
	path := "/v2/workspaces/" + s.Must(t, "POST", "/v2/workspaces", people["ada"], `{"name":"Shop"}`)["id"].(string)
	share := func(as, whom, permissions string) nodetest.Answer {
		return s.Call(t, "POST", path+"/permissions", people[as], fmt.Sprintf(`{"target":{"id":%q},"permissions":%s}`, ids[whom], permissions))
	}
	require.Equal(t, 200, share("ada", "bob", `{"policies":{"read":true,"manage_permissions":true}}`).StatusCode)
	require.Equal(t, 200, share("ada", "carol", `{"role":"owner"}`).StatusCode)

	for what, permissions := range map[string]string{
		"ownership":  `{"role":"owner"}`,
		"a role":     `{"role":"editor"}`,
		"deletion":   `{"policies":{"read":true,"delete":true}}`,
		"an update":  `{"policies":{"update":true}}`,
		"all of it":  `{"role":"editor","policies":{"delete":true,"manage_permissions":true}}`,
		"the update": `{"policies":{"write":true}}`,
	} {
		require.Equal(t, "permission_denied", share("bob", "bob", permissions).Code(t), what)
	}
	require.Equal(t, "permission_denied", share("bob", "carol", `{"policies":{"read":true}}`).Code(t), "an owner stays one")
	require.Equal(t, "permission_denied", s.Call(t, "DELETE", path+"/permissions/"+ids["carol"], people["bob"], "").Code(t))
	shown := s.Call(t, "POST", path+"/permissions", people["bob"], `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
	require.Equal(t, 200, shown.StatusCode, "what one has may be given: %s", shown.Body)
	require.Equal(t, 200, s.Call(t, "DELETE", path+"/permissions/"+ids["carol"], people["carol"], "").StatusCode, "who owns may leave")

	list := s.Get(t, path+"/permissions", people["ada"])
	require.NotContains(t, string(list.Body), "@example.org", "addresses are nobody's business")
	require.Equal(t, "resource_not_found", s.Get(t, path+"/security/explain?action=read&subject=workspaces&user="+ids["carol"], people["ada"]).Code(t), "who is not in it")
	explained := s.Get(t, path+"/security/explain?action=delete&subject=workspaces&user="+ids["bob"], people["ada"])
	require.Equal(t, false, explained.JSON(t)["allowed"])
}

func TestWhatOnlyTheHostMayAsk(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "TRUSTED_PROXIES=127.0.0.0/8,::1/128")
	s.Start(t)
	body := `{"email":"admin@localhost"}`
	for _, header := range []string{"X-Forwarded-For", "Forwarded", "X-Real-Ip"} {
		h := nodetest.AsInternal.Clone()
		h.Set(header, "127.0.0.1")
		require.Equal(t, "permission_denied", s.Call(t, "POST", "/sys/admins/claim", h, body).Code(t), header)
	}
	require.Equal(t, true, s.Must(t, "POST", "/sys/admins/claim", nodetest.AsInternal, body)["super"])
	require.Equal(t, "permission_denied", s.Call(t, "POST", "/sys/admins/claim", nodetest.Bearer(s.SignInAdmin(t)), body).Code(t))
}

// Another site cannot have a browser sign in, or out.
func TestAnotherSiteDoesNotSignABrowserIn(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t)
	s.Start(t)
	foreign := http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}
	for _, path := range []string{"/v2/login/anonymous", "/v2/login"} {
		got := s.Call(t, "POST", path, foreign, `{}`)
		require.Equal(t, "invalid_token", got.Code(t), path)
		require.Empty(t, got.Header.Get("Set-Cookie"))
	}
	me := nodetest.Bearer(s.SignInAdmin(t))
	require.Equal(t, "validation_failed", s.Call(t, "PATCH", "/v2/user", me, `{"photo":"/oidc/session/end"}`).Code(t))
	picture := http.Header{"Cookie": {"access-token=" + strings.TrimPrefix(me.Get("Authorization"), "Bearer ")}, "Sec-Fetch-Dest": {"image"}}
	got, err := s.Request(t.Context(), "GET", "/oidc/session/end", picture, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, got.StatusCode)
	require.Equal(t, http.StatusOK, s.Get(t, "/v2/me", me).StatusCode)
}

// A query cannot make the service compile more than it should.
func TestAQueryHasBounds(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t)
	s.Start(t)
	me := nodetest.Bearer(s.SignInAdmin(t))
	for _, pattern := range []string{strings.Repeat("(.{1,1000})", 200), "(.{1,1000}){1,500}", "("} {
		got := s.Get(t, "/v2/workspaces?name="+url.QueryEscape(pattern), me)
		require.Equal(t, "invalid_parameter", got.Code(t))
	}
	require.Equal(t, http.StatusOK, s.Get(t, "/v2/workspaces?name="+url.QueryEscape("^plat"), me).StatusCode)
}
