package fetch_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
	"svc/commands/fetch"
	"svc/domain/automation"
	"svc/domain/value"
)

// listener keeps the headers of the last request.
func listener(t *testing.T) (at string, got func() http.Header) {
	t.Helper()
	var last atomic.Pointer[http.Header]
	at = serve(t, func(_ http.ResponseWriter, r *http.Request) { last.Store(&r.Header) })
	return at, func() http.Header { return *last.Load() }
}

// withCredentials adds tokens and keys that name themselves.
func withCredentials(c fetch.Call) fetch.Call {
	c.Token = func(_ context.Context, kind fetch.TokenKind) (string, error) {
		return map[fetch.TokenKind]string{fetch.SessionToken: "session", fetch.WorkspaceToken: "workspace"}[kind], nil
	}
	c.APIKey = func(_ context.Context, role string) (string, error) {
		if role != "agent" {
			return "", automation.Invalid("unknown role %s", role)
		}
		return "key", nil
	}
	return c
}

func TestCredentialsOfThePlatformGoToThePlatform(t *testing.T) {
	t.Parallel()
	own, ownGot := listener(t)
	other, otherGot := listener(t)
	c := newClient(t, fetch.Options{Egress: newEgress(t, egress.Options{
		Own: []string{own + "/v2"}, Rules: egress.Rules{AllowHosts: []string{strings.TrimPrefix(other, "http://")}, AllowPrivate: true},
	})})
	for name, tt := range map[string]struct{ params, authorization, key string }{
		"nothing":                  {`{"url":"URL/x"}`, "Bearer session", ""},
		"an authorization":         {`{"url":"URL/x","headers":{"authorization":"mine"}}`, "mine", ""},
		"a cookie":                 {`{"url":"URL/x","headers":{"Cookie":"a=b"}}`, "", ""},
		"an API key":               {`{"url":"URL/x","headers":{"x-svc-api-key":"mine"}}`, "", "mine"},
		"the key of a role":        {`{"url":"URL/x","svcApiKey":{"name":"agent"}}`, "", "key"},
		"basic":                    {`{"url":"URL/x","auth":{"basic":{"user":"me","password":1}}}`, "Basic bWU6MQ==", ""},
		"the workspace":            {`{"url":"URL/x","auth":{"svc":{"forwardWorkspaceAuth":true}}}`, "Bearer workspace", ""},
		"the workspace, not":       {`{"url":"URL/x","auth":{"svc":{"forwardWorkspaceAuth":false}}}`, "Bearer session", ""},
		"empty forms of an editor": {`{"url":"URL/x","auth":{"basic":{"user":"","password":""},"oauth2":{"tokenUrl":"","scope":null},"awsv4":{}},"svcApiKey":{"name":""}}`, "Bearer session", ""},
		"one of several forms":     {`{"url":"URL/x","auth":{"basic":{"user":"me","password":1},"oauth2":{"tokenUrl":""}}}`, "Basic bWU6MQ==", ""},
		"the workspace and a key":  {`{"url":"URL/x","auth":{"svc":{"forwardWorkspaceAuth":true}},"svcApiKey":{"name":"agent"}}`, "Bearer workspace", "key"},
	} {
		_, err := c.Do(t.Context(), withCredentials(fetch.Call{Params: params(t, tt.params, own)}))
		require.NoError(t, err, name)
		require.Equal(t, tt.authorization, ownGot().Get("Authorization"), name)
		require.Equal(t, tt.key, ownGot().Get("X-Svc-Api-Key"), name)
	}
	for _, text := range []string{
		`{"url":"URL/x"}`, `{"url":"URL/x","svcApiKey":{"name":"agent"}}`, `{"url":"URL/x","auth":{"svc":{"forwardWorkspaceAuth":true}}}`,
	} {
		_, err := c.Do(t.Context(), withCredentials(fetch.Call{Params: params(t, text, other)}))
		require.NoError(t, err)
		require.Empty(t, otherGot().Get("Authorization"), text)
		require.Empty(t, otherGot().Get("X-Svc-Api-Key"), text)
	}
	_, err := c.Do(t.Context(), withCredentials(fetch.Call{Params: params(t, `{"url":"URL/x","svcApiKey":{"name":"nobody"}}`, own)}))
	requireRaised(t, err, automation.InvalidInstruction, "", nil)
	_, err = c.Do(t.Context(), fetch.Call{Params: params(t, `{"url":"URL/x","svcApiKey":{"name":"agent"}}`, own)})
	requireRaised(t, err, automation.InvalidInstruction, "", nil)
	_, err = c.Do(t.Context(), fetch.Call{Params: params(t, `{"url":"URL/x"}`, own)})
	require.NoError(t, err, "without tokens it is a request of nobody")
	require.Empty(t, ownGot().Get("Authorization"))
	_, err = c.Do(t.Context(), fetch.Call{
		Params: params(t, `{"url":"URL"}`, strings.Replace(own, "http://", "http://me:pw@", 1)), Token: withCredentials(fetch.Call{}).Token,
	})
	require.NoError(t, err)
	require.Equal(t, "Basic bWU6cHc=", ownGot().Get("Authorization"), "that of the address")
	broken := errors.New("no keys")
	_, err = c.Do(t.Context(), fetch.Call{
		Params: params(t, `{"url":"URL"}`, own), Token: func(context.Context, fetch.TokenKind) (string, error) { return "", broken },
	})
	require.ErrorIs(t, err, broken)
}

func TestEachAttemptHasAFreshToken(t *testing.T) {
	t.Parallel()
	var tokens atomic.Int32
	seen := make(chan string, 3)
	own := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	c := newClient(t, fetch.Options{Egress: newEgress(t, egress.Options{Own: []string{own}}), MaxRetries: 2, RetryStatus: []int{503}})
	_, err := c.Do(t.Context(), fetch.Call{Params: params(t, `{"url":"URL"}`, own), Token: func(context.Context, fetch.TokenKind) (string, error) {
		return strconv.Itoa(int(tokens.Add(1))), nil
	}})
	require.NoError(t, err)
	require.Equal(t, []string{"Bearer 1", "Bearer 2", "Bearer 3"}, []string{<-seen, <-seen, <-seen})
}

func TestARedirectToAnotherHostTakesNoCredentialsAlong(t *testing.T) {
	t.Parallel()
	target, got := listener(t)
	other := strings.Replace(target, "127.0.0.1", "localhost", 1)
	hop := func(status int, to string) string {
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/back" {
				http.Redirect(w, r, other, status)
				return
			}
			http.Redirect(w, r, to, status)
		})
	}
	c := newClient(t, fetch.Options{})
	const with = `{"url":"URL/?secret=1","method":"post","body":{},"headers":{"authorization":"a","cookie":"b","x-svc-api-key":"c","x-mine":"d"}}`
	for _, status := range []int{301, 302, 303, 307, 308} {
		_, err := fetched(t, c, with, hop(status, other))
		require.NoError(t, err)
		for _, name := range []string{"Authorization", "Cookie", "X-Svc-Api-Key", "Referer"} {
			require.Empty(t, got().Get(name), "%d %s", status, name)
		}
		require.Equal(t, "d", got().Get("X-Mine"))
		require.Equal(t, "svc-runtime", got().Get("User-Agent"))
	}
	_, err := fetched(t, c, with, hop(http.StatusFound, target))
	require.NoError(t, err)
	require.Empty(t, got().Get("Authorization"), "another port is another host")
}

func TestARedirectThatComesBackHasLostItsCredentials(t *testing.T) {
	t.Parallel()
	var away string
	seen := make(chan string, 3)
	home := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.URL.Path + r.Header.Get("Authorization")
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/same", http.StatusFound)
		case "/same":
			http.Redirect(w, r, away, http.StatusFound)
		}
	})
	away = serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, home+"/again", http.StatusFound) })
	_, err := fetched(t, newClient(t, fetch.Options{}), `{"url":"URL/","headers":{"authorization":"!"}}`, home)
	require.NoError(t, err)
	require.Equal(t, []string{"/!", "/same!", "/again"}, []string{<-seen, <-seen, <-seen})
}

func TestARedirectMustNotLeaveTLS(t *testing.T) {
	t.Parallel()
	plain, _ := listener(t)
	at := serveTLS(t, http.RedirectHandler(plain, http.StatusFound))
	_, err := fetched(t, newClient(t, fetch.Options{}), `{"url":"URL","allowSelfSignedCert":true}`, at)
	requireRaised(t, err, automation.FetchForbidden, "", nil)
}

// startOAuthServer is an OAuth 2 server that counts its tokens.
func startOAuthServer(t *testing.T, expires string) (at string, count *atomic.Int32) {
	t.Helper()
	count = &atomic.Int32{}
	at = serve(t, func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if r.FormValue("grant_type") != "client_credentials" || id != "me" || secret != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"` + r.FormValue("scope") + strconv.Itoa(int(count.Add(1))) + `","token_type":"bearer"` + expires + `}`))
	})
	return at, count
}

func TestATokenOfAnOAuthServerIsKeptUntilItExpires(t *testing.T) {
	t.Parallel()
	at, got := listener(t)
	server, count := startOAuthServer(t, `,"expires_in":3600`)
	now := time.Now()
	c := newClient(t, fetch.Options{Now: func() time.Time { return now }})
	text := `{"url":"URL","auth":{"oauth2":{"tokenUrl":"` + server + `","clientId":"me","clientSecret":"hunter2","scope":"a b"}}}`
	ask := func(want string, workspace string) {
		t.Helper()
		var granted string
		_, err := c.Do(t.Context(), fetch.Call{Params: params(t, text, at), WorkspaceID: workspace, Granted: func(token string) error { granted = token; return nil }})
		require.NoError(t, err)
		require.Equal(t, want, got().Get("Authorization"))
		require.Equal(t, want, "Bearer "+granted, "also of one that was kept")
	}
	ask("Bearer a b1", "w1")
	ask("Bearer a b1", "w1")
	ask("Bearer a b2", "w2")
	now = now.Add(time.Hour)
	ask("Bearer a b3", "w1")
	require.Equal(t, 3, int(count.Load()))
}

// Whoever cannot hide a token sends none.
func TestATokenThatIsRefusedIsNotSent(t *testing.T) {
	t.Parallel()
	far := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	server, _ := startOAuthServer(t, `,"expires_in":3600`)
	text := `{"url":"URL","auth":{"oauth2":{"tokenUrl":"` + server + `","clientId":"me","clientSecret":"hunter2"}}}`
	full := automation.Invalid("full")
	_, err := newClient(t, fetch.Options{}).Do(t.Context(), fetch.Call{Params: params(t, text, far), WorkspaceID: "w1", Granted: func(string) error { return full }})
	require.ErrorIs(t, err, full)
}

func TestATokenThatIsNotAcceptedIsForgotten(t *testing.T) {
	t.Parallel()
	server, count := startOAuthServer(t, `,"expires_in":3600`)
	at := answers(t, http.StatusUnauthorized, "", "")
	c := newClient(t, fetch.Options{})
	for range 2 {
		_, err := fetched(t, c, `{"url":"URL","auth":{"oauth2":{"tokenUrl":"`+server+`","clientId":"me","clientSecret":"hunter2"}}}`, at)
		require.NoError(t, err)
	}
	require.Equal(t, 2, int(count.Load()))
	ageless, count := startOAuthServer(t, ``)
	for range 2 {
		_, err := fetched(t, c, `{"url":"URL","auth":{"oauth2":{"tokenUrl":"`+ageless+`","clientId":"me","clientSecret":"hunter2"}}}`, answers(t, http.StatusOK, "", ""))
		require.NoError(t, err)
	}
	require.Equal(t, 2, int(count.Load()), "one that does not say when it expires is used once")
}

func TestBadOAuthServers(t *testing.T) {
	t.Parallel()
	at := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("nothing may be sent without a token") })
	server, _ := startOAuthServer(t, ``)
	for tokenURL, reason := range map[string]string{
		server: "oauth2", answers(t, http.StatusOK, "application/json", "{}"): "oauth2", answers(t, http.StatusOK, "application/json", "nope"): "oauth2",
		"http://127.0.0.1:1": "connect", "http://nowhere.invalid/": "dns",
		serve(t, func(_ http.ResponseWriter, r *http.Request) { _ = r.ParseForm(); <-r.Context().Done() }): "timeout",
	} {
		timeout := "60"
		if reason == "timeout" {
			timeout = "0.5"
		}
		result, err := fetched(t, newClient(t, fetch.Options{}),
			`{"url":"URL","timeout":`+timeout+`,"auth":{"oauth2":{"tokenUrl":"`+tokenURL+`","clientId":"me","clientSecret":"wrong"}}}`, at)
		requireReason(t, err, reason)
		require.Equal(t, reason, result.Failed.Reason)
		require.NotContains(t, err.Error(), "wrong")
	}
	strict := newClient(t, fetch.Options{Egress: newEgress(t, egress.Options{})})
	_, err := fetched(t, strict, `{"url":"http://93.184.216.34","auth":{"oauth2":{"tokenUrl":"`+server+`"}}}`, at)
	requireRaised(t, err, automation.FetchForbidden, "host", "127.0.0.1")
}

func TestReferencesToSecretsAreReplacedInWhatIsSentOnly(t *testing.T) {
	t.Parallel()
	var got *http.Request
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		got = r
		w.WriteHeader(http.StatusTeapot)
	})
	resolve := func(_ context.Context, text string) (string, error) {
		if strings.Contains(text, "$secret:bad") {
			return "", errors.New("sealed")
		}
		return strings.ReplaceAll(text, "$secret:k", "hunter2"), nil
	}
	c := newClient(t, fetch.Options{})
	call := fetch.Call{Resolve: resolve, Params: params(t, `{"url":"URL/$secret:k","method":"post","query":{"q":["$secret:k"]},
		"headers":{"x-key":"Bearer $secret:k","content-type":"application/x-www-form-urlencoded"},"body":{"p":"$secret:k"},"auth":{"basic":{"user":"u","password":"$secret:k"}}}`, at)}
	written := value.JSON(call.Params, "")
	result, err := c.Do(t.Context(), call)
	require.NoError(t, err)
	require.Equal(t, "/hunter2?q=hunter2", got.URL.RequestURI())
	require.Equal(t, "Bearer hunter2", got.Header.Get("X-Key"))
	require.Equal(t, url.Values{"p": {"hunter2"}}, got.PostForm)
	_, password, _ := got.BasicAuth()
	require.Equal(t, "hunter2", password)
	told, err := result.Failed.MarshalJSON()
	require.NoError(t, err)
	require.NotContains(t, string(told), "hunter2")
	require.Contains(t, string(told), "Bearer $secret:k")
	require.Equal(t, written, value.JSON(call.Params, ""))
	_, err = c.Do(t.Context(), fetch.Call{Resolve: resolve, Params: params(t, `{"url":"http://127.0.0.1:1/$secret:k"}`, "")})
	requireReason(t, err, "connect")
	require.NotContains(t, automation.ErrorOf(err).Details.At("url"), "hunter2")
	_, err = c.Do(t.Context(), fetch.Call{Resolve: resolve, Params: params(t, `{"url":"URL","body":[{"a":"$secret:bad"}]}`, at)})
	require.ErrorContains(t, err, "sealed")
}
