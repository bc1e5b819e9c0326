package automations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestAutomationsFetch(t *testing.T) {
	t.Parallel()
	w, f := nodetest.SharedService(t), nodetest.NewRemoteServer(t)
	fetch := func(t *testing.T, params string) nodetest.Run {
		t.Helper()
		return w.NewWorkspace(t).AddAutomations(t, `t: [{fetch: {url: '`+f.URL+params+`, output: r}}]`).RunTest(t, 200, `{}`)
	}
	t.Run("an error of the server is no error of the run", func(t *testing.T) {
		t.Parallel()
		got := fetch(t, `/bad', headers: {authorization: Bearer xyzzy, x-a: b}, method: Post, body: {x: 1}`)
		require.JSONEq(t, `{"e":1}`, got.Result(t))
		told := got.AwaitEvents(t, 1, "runtime.fetch.failed")[0]
		require.Equal(t, "500", told.At("response", "status"))
		require.Equal(t, `"{\"e\": 1}"`, told.At("response", "body"), "as it came")
		require.Equal(t, `"`+f.URL+`/bad"`, told.At("request", "url"))
		require.NotContains(t, told.At(), "xyzzy")
		require.InDelta(t, 1, told.Source["automationDepth"], 0)
		require.Empty(t, fetch(t, `/bad', emitErrors: false`).Events(t, "runtime.fetch.failed"))
	})
	t.Run("what is refused for now is tried again", func(t *testing.T) {
		t.Parallel()
		got := fetch(t, `/retry'`)
		require.Equal(t, `"ok"`, got.Result(t))
		asked, _ := f.RequestsTo("/retry")
		require.Len(t, asked, 3)
		require.Empty(t, got.Events(t, "runtime.fetch.failed"))
	})
	t.Run("query, body and headers", func(t *testing.T) {
		t.Parallel()
		got := fetch(t, `/q?a=0', query: {a: [1, 2], n: null}, body: {x: 1}, headers: {x-n: null, user-agent: me, x-y: 5}`)
		require.JSONEq(t, `{"ok":true}`, got.Result(t))
		asked, head := f.RequestsTo("/q")
		require.Equal(t, []string{"GET /q?a=0&a=1&a=2"}, asked, "no body is sent")
		require.Equal(t, []string{"svc-runtime", "5", got.Workspace.ID, got.Correlation()}, []string{head.Get("User-Agent"), head.Get("X-Y"), head.Get("X-Svc-Workspace-Id"), head.Get("X-Correlation-Id")})
		require.NotContains(t, head, "X-N")
		require.NotContains(t, head, "Authorization", "only the platform itself gets a token")
		fetch(t, `/form', method: post, headers: {content-type: application/x-www-form-urlencoded}, body: {a: 'x y', b: [1, 2]}`)
		asked, _ = f.RequestsTo("/form")
		require.Equal(t, []string{"POST /form a=x%20y&b=1&b=2"}, asked)
		fetch(t, `/json', method: put, body: {b: 1, a: [x]}`)
		asked, head = f.RequestsTo("/json")
		require.Equal(t, []string{`PUT /json {"b":1,"a":["x"]}`}, asked)
		require.Equal(t, "application/json", head.Get("Content-Type"))
		fetch(t, `/basic', auth: {basic: {user: u, password: p}}`)
		_, head = f.RequestsTo("/basic")
		require.Equal(t, "Basic dTpw", head.Get("Authorization"))
	})
	t.Run("bodies", func(t *testing.T) {
		t.Parallel()
		for params, r := range map[string]string{
			`/text'`: `"plain"`, `/bytes'`: `"AQID"`, `/empty'`: `""`, `/bytes', outputMode: base64`: `"AQID"`,
			`/bytes', outputMode: data_url`: `"data:image/png;base64,AQID"`,
		} {
			require.JSONEq(t, r, fetch(t, params).Result(t), params)
		}
		whole := fetch(t, `/text', outputMode: detailed_response`).Result(t)
		require.Contains(t, whole, `"status":200`)
		require.Contains(t, whole, `"content-type":"text/plain"`)
		require.Contains(t, whole, `"body":"plain"`)
	})
	t.Run("events of a stream", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{fetch: {url: '`+f.URL+`/sse', output: resp}}, {repeat: {on: '{{resp.body}}', do: [{'set r[]': '{{item.chunk.data}}'}, {'set i[]': '{{item.index}}'}, {set last: '{{item.chunk}}'}]}}, {'set r[]': '{{last.event}}{{last.id}}{{last.comment}}{{i}}{{resp.stream}}'}]
s: {when: {endpoint: true}, do: [{fetch: {url: '`+f.URL+`/sse', stream: {event: chunk, payload: {p: 1}, endChunk: {end: true}}, output: whole}}], output: '{{whole.status}}'}`)
		require.JSONEq(t, `[["a"],[{"k":1}],["l1","l2"],"x7hello[\n  0,\n  1,\n  2\n]true"]`, p.RunTest(t, 200, `{}`).Result(t))
		got := p.CallEndpoint(t, 200, "POST", "s", "")
		require.Equal(t, "200", string(got.Body))
		chunks := got.AwaitEvents(t, 4, "chunk")
		require.JSONEq(t, `{"index":1,"chunk":{"data":[{"k":1}]},"additionalPayload":{"p":1}}`, chunks[1].At())
		require.JSONEq(t, `{"end":true}`, chunks[3].At("chunk"))
	})
	t.Run("the platform knows who calls it", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{fetch: {url: '{{global.apiUrl}}/me', output: me}}, {fetch: {url: '{{global.apiUrl}}/workspaces/{{global.workspaceId}}/webhooks/deep', output: d}}, {T: ['{{me.id}}', '{{d}}']}]
deep: {when: {endpoint: true}, do: [], output: {depth: '{{run.depth}}', user: '{{user.id}}', from: '{{run.sourceWorkspaceId}}'}}
loop: {when: {endpoint: true}, do: [{fetch: {url: '{{global.apiUrl}}/workspaces/{{workspaceId}}/webhooks/loop', output: r}}]}`)
		me := p.UserID(t)
		require.JSONEq(t, `["`+me+`",{"depth":2,"user":"`+me+`"}]`, p.RunTest(t, 200, `{}`).Result(t))
		p.CallEndpoint(t, 200, "GET", "loop", "")
		p.AwaitEvents(t, 1, "error", "payload.error=TooManyCallError")
	})
	t.Run("bad output", func(t *testing.T) {
		t.Parallel()
		got := w.NewWorkspace(t).AddAutomations(t, `t: [{fetch: {url: '`+f.URL+`', output: {}}}, {T: on}]`).RunTest(t, 200, `{}`)
		require.Equal(t, `"on"`, got.Result(t))
		require.Equal(t, "InvalidOutputError", got.AwaitEvents(t, 1, "error")[0].Payload["error"])
	})
}

func TestFetchKeepsOutOfPrivateNetworks(t *testing.T) {
	t.Parallel()
	f := nodetest.NewRemoteServer(t)
	w := nodetest.NewOwnedService(t, "EGRESS_ALLOW_PRIVATE=no")
	p := w.NewWorkspace(t).AddAutomations(t, `t: [{try: {do: [{fetch: {url: '{{u}}'}}], catch: [{T: '{{$error.error}}'}]}}]`)
	for _, url := range []string{f.URL, "http://127.0.0.1:1", "http://[::1]:1", "http://169.254.169.254/latest"} {
		require.Equal(t, `"FetchForbiddenError"`, p.RunTest(t, 200, `{"u":"`+url+`"}`).Result(t))
	}
	asked, _ := f.RequestsTo("")
	require.Empty(t, asked)
	open := nodetest.NewOwnedService(t, "EGRESS_ALLOW_PRIVATE=no", "FETCH_ALLOWED_HOSTS=127.0.0.1").NewWorkspace(t).AddAutomations(t, `t: [{fetch: {url: '{{u}}', output: r}}]`)
	require.JSONEq(t, `{"ok":true}`, open.RunTest(t, 200, `{"u":"`+f.URL+`"}`).Result(t))
}
