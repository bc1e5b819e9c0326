package automations_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// What automations sign for AWS is what a service of AWS works out itself, whatever is in
// the address, the headers and the body.
func TestRequestsThatAreSignedForAWS(t *testing.T) {
	t.Parallel()
	const id, secret, mine, wrong = "AKIDCANARY", "aws/CANARY+secret=1", "aws-reference-CANARY", "aws-wrong-CANARY"
	w := nodetest.NewOwnedService(t)
	keys := map[string]string{id: secret, "MINE": mine}
	gateway, storage := newAWSServer(t, "execute-api", "eu-west-3", keys), newAWSServer(t, "s3", "us-east-1", keys)
	p := w.NewWorkspace(t)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"aws":{"value":"`+secret+`"}}`)
	p.AddAutomations(t, `
t: {arguments: {key: {type: string, secret: true}}, do: [{fetch: {url: '{{url}}', method: '{{method}}', query: '{{query}}', headers: '{{headers}}', body: '{{body}}', auth: {awsv4: {accessKeyId: '{% {{id}} or "`+id+`" %}', secretAccessKey: '{% {{key}} or {{secret.aws}} %}', service: '{{service}}', region: '{{region}}'}}, output: r}}]}
mine: {when: {endpoint: true}, arguments: {body: {type: object, properties: {value: {type: string, secret: true}}}}, do: [{run: {module: secrets, function: set, parameters: {name: aws, value: '{{body.value}}'}}}, {run: {module: secrets, function: get, parameters: {name: aws}, output: ref}}, {fetch: {url: '`+gateway.URL+`/mine', auth: {awsv4: {accessKeyId: MINE, secretAccessKey: '{{ref}}', service: execute-api, region: eu-west-3}}, output: r}}]}`)
	asks := func(a *awsServer, path, more string) nodetest.Run {
		t.Helper()
		return p.RunTest(t, 200, fmt.Sprintf(`{"url":%q,"service":%q,"region":%q%s}`, a.URL+path, a.service, a.region, more))
	}
	for _, tc := range []struct{ path, more, line, body string }{
		{"", ``, "GET /", ""},
		{"/a/b", `,"method":"delete"`, "DELETE /a/b", ""},
		{"/a%20b/c:d/é", ``, "GET /a%20b/c:d/%C3%A9", ""},
		{"/q?b=2&a=1&flag", `,"query":{"a":["0","x y"],"é":"/+&="}`, "GET /q?b=2&a=1&flag&a=0&a=x%20y&%C3%A9=%2F%2B%26%3D", ""},
		{"/json", `,"method":"post","body":{"n":1}`, "POST /json", `{"n":1}`},
		{"/text", `,"method":"put","headers":{"content-type":"text/plain","x-amz-meta":"  two   words ","x-other":"1"},"body":"hällo"`, "PUT /text", "hällo"},
		{"/form", `,"method":"patch","headers":{"content-type":"application/x-www-form-urlencoded"},"body":{"a":"x y"}`, "PATCH /form", "a=x%20y"},
	} {
		for _, a := range []*awsServer{gateway, storage} {
			got := asks(a, tc.path, tc.more)
			require.Equal(t, `"admitted"`, got.Result(t), "%s of %s", tc.path, a.service)
			seen := a.seen()
			require.Len(t, seen, 1)
			require.Equal(t, []string{tc.line, tc.body, ""}, []string{seen[0].line, seen[0].body, seen[0].fault})
			require.Empty(t, got.Events(t, "runtime.fetch.failed"))
		}
	}
	gateway.mu.Lock()
	gateway.busy = 1
	gateway.mu.Unlock()
	require.Equal(t, `"admitted"`, asks(gateway, "/again", "").Result(t))
	require.Len(t, gateway.seen(), 2, "what is tried again is signed again")
	require.Equal(t, `"admitted"`, p.CallEndpoint(t, 200, "POST", "mine", `{"value":"`+mine+`"}`).Result(t), "a key that nobody sees")

	for _, more := range []string{`,"key":"` + wrong + `"`, `,"id":"NOBODY"`} {
		got := asks(storage, "/x", more)
		require.Contains(t, got.Result(t), `"fault"`, "what was not admitted is an answer")
		told := got.AwaitEvents(t, 1, "runtime.fetch.failed")[0]
		require.Equal(t, "403", told.At("response", "status"))
		require.Empty(t, told.At("request", "headers", "authorization"), "what was signed is not told")
	}
	nodetest.RequireSecretsHidden(t, p, secret, mine, wrong)
	w.Stop(t)
	nodetest.RequireNoSecret(t, w.Dir, secret, mine, wrong)
}

// issuer gives tokens to whoever shows a client's secret, and counts them. Who shows one
// is told so by its other addresses.
type issuer struct {
	*httptest.Server
	secret string

	mu      sync.Mutex
	expires int // seconds; 0: it does not say
	issued  int
	refused int // answers of /token with this status; 0: none
	revoked bool
	shown   []string // tokens, in the order in which they came
	scopes  []string
}

func newIssuer(t *testing.T, secret string) *issuer {
	t.Helper()
	i := &issuer{secret: secret, expires: 3600}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

// ServeHTTP implements http.Handler.
func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/token" {
		i.issue(w, r)
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	i.shown = append(i.shown, token)
	if i.revoked {
		w.WriteHeader(http.StatusUnauthorized)
	}
	if r.URL.Path == "/echo" {
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, `{"you sent":%q}`, r.Header.Get("Authorization"))
		return
	}
	_, _ = io.WriteString(w, `"welcome"`)
}

// issue gives a token.
func (i *issuer) issue(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if i.refused != 0 || r.Method != http.MethodPost || r.PostFormValue("grant_type") != "client_credentials" || id != "me" || secret != i.secret {
		w.WriteHeader(max(i.refused, http.StatusBadRequest))
		_, _ = fmt.Fprintf(w, `{"error":"invalid_client","error_description":"%s is wrong"}`, secret)
		return
	}
	i.issued++
	i.scopes = append(i.scopes, r.PostFormValue("scope"))
	expires := ""
	if i.expires > 0 {
		expires = `,"expires_in":` + strconv.Itoa(i.expires)
	}
	_, _ = fmt.Fprintf(w, `{"access_token":"%s%d","token_type":"Bearer"%s}`, tokenCanary, i.issued, expires)
}

// tokenCanary is how the tokens of issuers begin.
const tokenCanary = "token-CANARY-"

// now changes what it does, and forgets what it was shown.
func (i *issuer) now(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
	i.shown, i.issued, i.scopes = nil, 0, nil
}

// tokens are those that it was shown.
func (i *issuer) tokens() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.shown...)
}

func TestTokensOfOAuthServers(t *testing.T) {
	t.Parallel()
	const secret, wrong = "client/CANARY+secret", "wrong-CANARY-secret"
	w, is := nodetest.NewOwnedService(t), newIssuer(t, secret)
	has := func() nodetest.Workspace {
		p := w.NewWorkspace(t)
		p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"client":{"value":"`+secret+`"}}`)
		return p.AddAutomations(t, `
t: {do: [{fetch: {url: '`+is.URL+`/{{at}}', auth: {oauth2: {tokenUrl: '`+is.URL+`/token', clientId: me, clientSecret: '{{secret.client}}', scope: '{{scope}}'}}, output: r}}]}
bad: {when: {endpoint: true}, arguments: {body: {type: object, properties: {key: {type: string, secret: true}}}}, do: [{fetch: {url: '`+is.URL+`/x', auth: {oauth2: {tokenUrl: '{{body.url}}', clientId: me, clientSecret: '{{body.key}}'}}, output: r}}]}`)
	}
	p, other := has(), has()
	asks := func(p nodetest.Workspace, payload string) nodetest.Run {
		t.Helper()
		return p.RunTest(t, 200, payload)
	}
	first, second := tokenCanary+"1", tokenCanary+"2"
	for range 3 {
		require.Equal(t, `"welcome"`, asks(p, `{"at":"a","scope":"read write"}`).Result(t))
	}
	require.Equal(t, []string{first, first, first}, is.tokens(), "one is enough until it expires")
	require.Equal(t, []string{"read write"}, is.scopes)
	asks(p, `{"at":"a","scope":"read"}`)
	asks(other, `{"at":"a","scope":"read write"}`)
	require.Equal(t, []string{first, first, first, second, tokenCanary + "3"}, is.tokens(), "for another scope, and another workspace, another one")

	is.now(func() { is.expires = 12 })
	renewed := func() bool {
		asks(p, `{"at":"a","scope":"short"}`)
		shown := is.tokens()
		return shown[len(shown)-1] == second
	}
	require.Eventually(t, renewed, time.Minute, 200*time.Millisecond, "another one is asked for before it expires")
	require.Equal(t, first, is.tokens()[0])
	is.now(func() { is.expires = 5 })
	asks(p, `{"at":"a","scope":"shorter"}`)
	asks(p, `{"at":"a","scope":"shorter"}`)
	require.Equal(t, []string{first, second}, is.tokens(), "one that would expire on its way is not used again")
	is.now(func() { is.expires, is.revoked = 3600, true })
	asks(p, `{"at":"a","scope":"revoked"}`)
	is.mu.Lock()
	is.revoked = false
	is.mu.Unlock()
	require.Equal(t, `"welcome"`, asks(p, `{"at":"a","scope":"revoked"}`).Result(t))
	require.Equal(t, []string{first, second}, is.tokens(), "one that is not accepted is forgotten")

	echoed := asks(p, `{"at":"echo","scope":"echo"}`)
	require.Contains(t, echoed.Result(t), tokenCanary, "who asked is told what came")
	told := echoed.AwaitEvents(t, 1, "runtime.fetch.failed")[0]
	require.Contains(t, told.At("response", "body"), "Bearer REDACTED")

	for url, reason := range map[string]string{
		is.URL + "/token": "oauth2", is.URL + "/none": "oauth2", "http://127.0.0.1:1/token": "connect", "http://nowhere.invalid/token": "dns",
	} {
		is.now(func() {})
		got := p.CallEndpoint(t, 502, "POST", "bad", `{"url":"`+url+`","key":"`+wrong+`"}`)
		require.Equal(t, "upstream_failed", got.Code(t))
		require.Equal(t, map[string]any{"name": "FetchError"}, got.JSON(t)["details"])
		require.Equal(t, `"`+reason+`"`, got.Failures(t)[0].At("details", "reason"), url)
		require.Equal(t, `"`+reason+`"`, got.AwaitEvents(t, 1, "runtime.fetch.failed")[0].At("error", "reason"))
		if reason != "oauth2" {
			require.Empty(t, is.tokens(), "nothing is sent without a token")
		}
		require.NotContains(t, string(got.Body), "CANARY")
	}
	require.Equal(t, "InvalidInstructionError", p.CallEndpoint(t, 500, "POST", "bad", `{"url":"nowhere"}`).JSON(t)["details"].(map[string]any)["name"])
	for _, one := range []nodetest.Workspace{p, other} {
		nodetest.RequireSecretsHidden(t, one, secret, wrong, tokenCanary)
	}
	w.Stop(t)
	nodetest.RequireNoSecret(t, w.Dir, secret, wrong, tokenCanary)
}
