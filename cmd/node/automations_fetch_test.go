package node_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// far is a server that automations fetch from. It notes what it is asked.
type far struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // method, path with query, and body
	heads []http.Header
}

func newFar(t *testing.T) *far {
	t.Helper()
	f := &far{}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// ServeHTTP implements http.Handler.
func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.asked = append(f.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
	f.heads = append(f.heads, r.Header.Clone())
	before := len(f.to(r.URL.Path))
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/bad":
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"e": 1}`)
	case "/retry":
		f.retry(w, before)
	case "/sse":
		w.Header().Set("Content-Type", "text/event-stream")
		for _, packet := range []string{"data: a\n", "\ndata: {\"k\"", ":1}\n\n:hello\nevent: x\nid: 7\ndata: l1\ndata: l2"} {
			_, _ = io.WriteString(w, packet)
			_ = http.NewResponseController(w).Flush()
		}
	case "/text":
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "plain")
	case "/bytes":
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write([]byte{1, 2, 3})
	case "/empty":
	default:
		_, _ = io.WriteString(w, `{"ok": true}`)
	}
}

// retry refuses twice before it answers.
func (f *far) retry(w http.ResponseWriter, before int) {
	switch before {
	case 1:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	case 2:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		_, _ = io.WriteString(w, `"ok"`)
	}
}

// to lists what was asked of a path.
func (f *far) to(path string) (asked []string) {
	for _, one := range f.asked {
		if _, at, _ := strings.Cut(one, " "); strings.HasPrefix(at, path) {
			asked = append(asked, one)
		}
	}
	return asked
}

// seen lists what was asked of a path, and with what headers the last time.
func (f *far) seen(path string) ([]string, http.Header) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.asked) - 1; i >= 0; i-- {
		if _, at, _ := strings.Cut(f.asked[i], " "); strings.HasPrefix(at, path) {
			return f.to(path), f.heads[i]
		}
	}
	return nil, nil
}

func TestAutomationsFetch(t *testing.T) {
	t.Parallel()
	w, f := newWorkshop(t), newFar(t)
	fetch := func(t *testing.T, params string) run {
		t.Helper()
		return w.place(t).has(t, `t: [{fetch: {url: '`+f.URL+params+`, output: r}}]`).tries(t, 200, `{}`)
	}
	t.Run("an error of the server is no error of the run", func(t *testing.T) {
		t.Parallel()
		got := fetch(t, `/bad', headers: {authorization: Bearer xyzzy, x-a: b}, method: Post, body: {x: 1}`)
		require.JSONEq(t, `{"e":1}`, got.r(t))
		told := got.awaits(t, 1, "runtime.fetch.failed")[0]
		require.Equal(t, "500", told.at("response", "status"))
		require.Equal(t, `"{\"e\": 1}"`, told.at("response", "body"), "as it came")
		require.Equal(t, `"`+f.URL+`/bad"`, told.at("request", "url"))
		require.NotContains(t, told.at(), "xyzzy")
		require.InDelta(t, 1, told.Source["automationDepth"], 0)
		require.Empty(t, fetch(t, `/bad', emitErrors: false`).events(t, "runtime.fetch.failed"))
	})
	t.Run("what is refused for now is tried again", func(t *testing.T) {
		t.Parallel()
		got := fetch(t, `/retry'`)
		require.Equal(t, `"ok"`, got.r(t))
		asked, _ := f.seen("/retry")
		require.Len(t, asked, 3)
		require.Empty(t, got.events(t, "runtime.fetch.failed"))
	})
	t.Run("query, body and headers", func(t *testing.T) {
		t.Parallel()
		got := fetch(t, `/q?a=0', query: {a: [1, 2], n: null}, body: {x: 1}, headers: {x-n: null, user-agent: me, x-y: 5}`)
		require.JSONEq(t, `{"ok":true}`, got.r(t))
		asked, head := f.seen("/q")
		require.Equal(t, []string{"GET /q?a=0&a=1&a=2"}, asked, "no body is sent")
		require.Equal(t, []string{"svc-runtime", "5", got.p.id, got.correlation()}, []string{head.Get("User-Agent"), head.Get("X-Y"), head.Get("X-Svc-Workspace-Id"), head.Get("X-Correlation-Id")})
		require.NotContains(t, head, "X-N")
		require.NotContains(t, head, "Authorization", "only the platform itself gets a token")
		fetch(t, `/form', method: post, headers: {content-type: application/x-www-form-urlencoded}, body: {a: 'x y', b: [1, 2]}`)
		asked, _ = f.seen("/form")
		require.Equal(t, []string{"POST /form a=x%20y&b=1&b=2"}, asked)
		fetch(t, `/json', method: put, body: {b: 1, a: [x]}`)
		asked, head = f.seen("/json")
		require.Equal(t, []string{`PUT /json {"b":1,"a":["x"]}`}, asked)
		require.Equal(t, "application/json", head.Get("Content-Type"))
		fetch(t, `/basic', auth: {basic: {user: u, password: p}}`)
		_, head = f.seen("/basic")
		require.Equal(t, "Basic dTpw", head.Get("Authorization"))
	})
	t.Run("bodies", func(t *testing.T) {
		t.Parallel()
		for params, r := range map[string]string{
			`/text'`: `"plain"`, `/bytes'`: `"AQID"`, `/empty'`: `""`, `/bytes', outputMode: base64`: `"AQID"`,
			`/bytes', outputMode: data_url`: `"data:image/png;base64,AQID"`,
		} {
			require.JSONEq(t, r, fetch(t, params).r(t), params)
		}
		whole := fetch(t, `/text', outputMode: detailed_response`).r(t)
		require.Contains(t, whole, `"status":200`)
		require.Contains(t, whole, `"content-type":"text/plain"`)
		require.Contains(t, whole, `"body":"plain"`)
	})
	t.Run("events of a stream", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{fetch: {url: '`+f.URL+`/sse', output: resp}}, {repeat: {on: '{{resp.body}}', do: [{'set r[]': '{{item.chunk.data}}'}, {'set i[]': '{{item.index}}'}, {set last: '{{item.chunk}}'}]}}, {'set r[]': '{{last.event}}{{last.id}}{{last.comment}}{{i}}{{resp.stream}}'}]
s: {when: {endpoint: true}, do: [{fetch: {url: '`+f.URL+`/sse', stream: {event: chunk, payload: {p: 1}, endChunk: {end: true}}, output: whole}}], output: '{{whole.status}}'}`)
		require.JSONEq(t, `[["a"],[{"k":1}],["l1","l2"],"x7hello[\n  0,\n  1,\n  2\n]true"]`, p.tries(t, 200, `{}`).r(t))
		got := p.calls(t, 200, "POST", "s", "")
		require.Equal(t, "200", string(got.body))
		chunks := got.awaits(t, 4, "chunk")
		require.JSONEq(t, `{"index":1,"chunk":{"data":[{"k":1}]},"additionalPayload":{"p":1}}`, chunks[1].at())
		require.JSONEq(t, `{"end":true}`, chunks[3].at("chunk"))
	})
	t.Run("the platform knows who calls it", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{fetch: {url: '{{global.apiUrl}}/me', output: me}}, {fetch: {url: '{{global.apiUrl}}/workspaces/{{global.workspaceId}}/webhooks/deep', output: d}}, {T: ['{{me.id}}', '{{d}}']}]
deep: {when: {endpoint: true}, do: [], output: {depth: '{{run.depth}}', user: '{{user.id}}', from: '{{run.sourceWorkspaceId}}'}}
loop: {when: {endpoint: true}, do: [{fetch: {url: '{{global.apiUrl}}/workspaces/{{workspaceId}}/webhooks/loop', output: r}}]}`)
		me := p.userID(t)
		require.JSONEq(t, `["`+me+`",{"depth":2,"user":"`+me+`"}]`, p.tries(t, 200, `{}`).r(t))
		p.calls(t, 200, "GET", "loop", "")
		p.awaits(t, 1, "error", "payload.error=TooManyCallError")
	})
	t.Run("bad output", func(t *testing.T) {
		t.Parallel()
		got := w.place(t).has(t, `t: [{fetch: {url: '`+f.URL+`', output: {}}}, {T: on}]`).tries(t, 200, `{}`)
		require.Equal(t, `"on"`, got.r(t))
		require.Equal(t, "InvalidOutputError", got.awaits(t, 1, "error")[0].Payload["error"])
	})
}

func TestFetchKeepsOutOfPrivateNetworks(t *testing.T) {
	t.Parallel()
	f := newFar(t)
	w := newWorkshop(t, "EGRESS_ALLOW_PRIVATE=no")
	p := w.place(t).has(t, `t: [{try: {do: [{fetch: {url: '{{u}}'}}], catch: [{T: '{{$error.error}}'}]}}]`)
	for _, url := range []string{f.URL, "http://127.0.0.1:1", "http://[::1]:1", "http://169.254.169.254/latest"} {
		require.Equal(t, `"FetchForbiddenError"`, p.tries(t, 200, `{"u":"`+url+`"}`).r(t))
	}
	asked, _ := f.seen("")
	require.Empty(t, asked)
	open := newWorkshop(t, "EGRESS_ALLOW_PRIVATE=no", "FETCH_ALLOWED_HOSTS=127.0.0.1").place(t).has(t, `t: [{fetch: {url: '{{u}}', output: r}}]`)
	require.JSONEq(t, `{"ok":true}`, open.tries(t, 200, `{"u":"`+f.URL+`"}`).r(t))
}
