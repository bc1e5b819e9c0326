package automations_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestEndpointsOfAutomations(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	t.Run("status and headers", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: {when: {endpoint: true}, do: [{set $http: {status: 401, headers: {a: b, set-cookie: c, x-svc-y: d, connection: e}}}, {set $http.headers.x-z: 5}], output: {k: 1}}
html: {when: {endpoint: true}, do: [{set $http.headers: {Content-Type: text/html}}], output: <b>}
bad: {when: {endpoint: true}, do: [{set $http.status: '{{body.n}}'}]}
text: {when: {endpoint: 'te/xt'}, do: [], output: hi}
zero: {when: {endpoint: true}, do: [], output: 0}
none: {when: {endpoint: true}, do: [], output: '{{x}}'}
list: {when: {endpoint: true}, do: [], output: [1, '{{x}}']}`)
		got := nodetest.Run{Answer: p.Service.SendAs(t, "GET", p.Path+"/webhooks/t", "", p.Auth, ""), Workspace: p} // a 401 of its own
		require.Equal(t, 401, got.StatusCode)
		require.JSONEq(t, `{"k":1}`, string(got.Body))
		require.Equal(t, []string{"b", "5", ""}, []string{got.Header.Get("A"), got.Header.Get("X-Z"), got.Header.Get("X-Svc-Y")})
		require.Empty(t, got.Header.Get("Set-Cookie"))
		require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
		got = p.CallEndpoint(t, 200, "GET", "html", "")
		require.Equal(t, "<b>", string(got.Body))
		require.Equal(t, "text/html", got.Header.Get("Content-Type"))
		require.Equal(t, "sandbox allow-scripts allow-forms", got.Header.Get("Content-Security-Policy"))
		for _, n := range []string{`199`, `600`, `"x"`, `null`, `200.5`} {
			got = p.CallEndpoint(t, 500, "POST", "bad", `{"n":`+n+`}`)
			require.Equal(t, "InvalidInstructionError", got.JSON(t)["details"].(map[string]any)["name"])
		}
		got = p.CallEndpoint(t, 200, "GET", "te/xt/", "")
		require.Equal(t, "hi", string(got.Body))
		require.Equal(t, "text/plain; charset=utf-8", got.Header.Get("Content-Type"))
		for path, body := range map[string]string{"zero": "{}", "none": "{}", "list": "[1,null]"} {
			require.Equal(t, body, string(p.CallEndpoint(t, 200, "DELETE", path, "").Body))
		}
		details := p.RequireRefusal(t, 404, "resource_not_found", "GET", p.Path+"/webhooks/T", "")
		require.Equal(t, map[string]any{"workspaceId": p.ID, "endpoint": "T"}, details)
		nowhere := p.Service.Call(t, "GET", "/v2/workspaces/nowhere/webhooks/T", nil, "")
		require.Equal(t, 404, nowhere.StatusCode)
		require.Equal(t, map[string]any{"workspaceId": "nowhere", "endpoint": "T"}, nowhere.JSON(t)["details"], "nobody learns what there is")
	})
	t.Run("who calls, how and how often", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
who: {when: {endpoint: true}, do: [], output: {ip: '{{run.ip}}'}}
limited: {when: {endpoint: true}, do: [{rateLimit: {name: l, limit: 1, window: 2592000, break: true}}]}`)
		require.JSONEq(t, `{"ip":"127.0.0.1"}`, string(p.CallEndpoint(t, 200, "GET", "who", "").Body))
		p.CallEndpoint(t, 405, "HEAD", "who", "")
		p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=who")
		p.CallEndpoint(t, 200, "GET", "limited", "")
		wait, err := strconv.Atoi(p.CallEndpoint(t, 429, "GET", "limited", "").Header.Get("Retry-After"))
		require.NoError(t, err)
		require.Greater(t, wait, 1)
	})
	t.Run("path parameters", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
one: {when: {endpoint: 'u/:id'}, do: [], output: {one: '{{pathParams}}', at: '{{run.trigger.value}}'}}
me: {when: {endpoint: u/me}, do: [], output: {me: '{{pathParams}}'}}
all: {when: {endpoint: 'f/*p'}, do: [], output: {all: '{{pathParams}}'}}
colon: {when: {endpoint: 'message:stream'}, do: [], output: {colon: 1}}`)
		for path, body := range map[string]string{
			"u/a%2Fb": `{"one":{"id":"a/b"},"at":"u/a%2Fb"}`, "u/me": `{"me":{}}`, "f/a/b": `{"all":{"p":"a/b"}}`, "message:stream": `{"colon":1}`,
			"f/%C3%A9": `{"all":{"p":"é"}}`,
		} {
			require.JSONEq(t, body, string(p.CallEndpoint(t, 200, "GET", path, "").Body), path)
		}
		for _, path := range []string{"u", "u/", "f", "u/a/b", "message:other", "U/me"} {
			p.RequireRefusal(t, 404, "resource_not_found", "GET", p.Path+"/webhooks/"+path, "")
		}
		p.RequireRefusal(t, 409, "resource_already_exists", "POST", p.Path+"/automations", `{"name":"x","do":[],"when":{"endpoint":"u/me"}}`)
		listed := p.AddAutomations(t, `t: [{T: '{{global.endpoints}}'}]`).RunTest(t, 200, `{}`).Result(t)
		require.Contains(t, listed, p.Service.Port()+"/v2/workspaces/"+p.ID+`/webhooks/u/me"`)
	})
	t.Run("what they are given", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
h: {when: {endpoint: true}, do: [], output: '{{headers}}'}
b: {when: {endpoint: true}, do: [], output: {m: '{{method}}', q: '{{query}}', b: '{{body}}', raw: '{{rawBody}}', w: '{{workspaceId}}', s: '{{automationSlug}}'}}`)
		seen := p.CallEndpoint(t, 200, "GET", "h", "", "x-hub-signature", "s", "x-svc-user-id", "u", "cookie", "c", "x-forwarded-for", "1.2.3.4").JSON(t)
		require.Equal(t, "s", seen["x-hub-signature"])
		for _, name := range []string{"x-svc-user-id", "cookie", "host", "x-forwarded-for", "x-correlation-id"} {
			require.NotContains(t, seen, name)
		}
		body := func(media, sent string) string {
			got := p.CallEndpoint(t, 200, "PUT", "b?a=1&b=2&a=3", sent, "Content-Type", media)
			return string(got.Body)
		}
		rest := `,"w":"` + p.ID + `","s":"b"}`
		require.JSONEq(t, `{"m":"PUT","q":{"a":["1","3"],"b":"2"},"b":{"x":[1]},"raw":"{\"x\": [1]}"`+rest, body("application/json", `{"x": [1]}`))
		require.JSONEq(t, `{"m":"PUT","q":{"a":["1","3"],"b":"2"},"b":{"x":["1","2"],"y":"é"},"raw":"x=1&y=%C3%A9&x=2"`+rest, body("application/x-www-form-urlencoded", `x=1&y=%C3%A9&x=2`))
		require.JSONEq(t, `{"m":"PUT","q":{"a":["1","3"],"b":"2"},"b":"t","raw":"t"`+rest, body("text/plain", `t`))
		require.JSONEq(t, `{"m":"PUT","q":{"a":["1","3"],"b":"2"},"b":"AQI=","raw":"\u0001\u0002"`+rest, body("application/octet-stream", "\x01\x02"))
		require.JSONEq(t, `{"m":"PUT","q":{"a":["1","3"],"b":"2"},"b":{},"raw":""`+rest, body("application/json", ``))
		form := "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\nContent-Type: text/plain\r\n\r\nhi\r\n--x--\r\n"
		require.JSONEq(t, `{"m":"PUT","q":{"a":["1","3"],"b":"2"},"b":{"a":"1","f":{"originalname":"n.txt","encoding":"7bit","mimetype":"text/plain","size":2,"base64":"aGk="}}`+rest, body("multipart/form-data; boundary=x", form))
		p.RequireRefusal(t, 400, "invalid_request", "POST", p.Path+"/webhooks/b", `{`)
		p.RequireRefusal(t, 413, "invalid_request", "POST", p.Path+"/webhooks/b", `"`+strings.Repeat("x", 1<<20+1)+`"`)
		require.Empty(t, (nodetest.Run{Answer: p.Send(t, "POST", p.Path+"/webhooks/b", `{`), Workspace: p}).Events(t, nodetest.Executed, "runtime.interactions.triggered"), "nothing ran")
	})
	t.Run("validation", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: {validateArguments: true, arguments: {z: {type: string, pattern: '^\d+$'}}, do: [{emit: {event: ran}}], output: {z: '{{z}}'}}
b: {validateArguments: true, when: {endpoint: true}, schemas: [{conditions: {method: post}, payload: {type: object, properties: {body: {type: object, properties: {n: {type: integer}}}}}}], do: [], output: {n: '{{body.n}}'}}
e: {validateArguments: true, when: {events: [e]}, arguments: {payload: {type: object, properties: {n: {type: integer}}}}, do: []}`)
		got := p.RunTest(t, 400, `{"z":"x"}`)
		require.Equal(t, "invalid_request", got.Code(t))
		details := got.JSON(t)["details"].(map[string]any)
		require.Equal(t, "InvalidArgumentsError", details["name"])
		require.Equal(t, "z", details["errors"].([]any)[0].(map[string]any)["field"])
		require.Empty(t, got.Events(t, nodetest.Executed, "ran"), "nothing ran")
		require.Len(t, got.Failures(t), 1)
		p.RunTest(t, 200, `{"z":"7"}`)
		require.Equal(t, "InvalidArgumentsError", p.CallEndpoint(t, 400, "GET", "b", "").JSON(t)["details"].(map[string]any)["name"])
		require.NotEmpty(t, p.CallEndpoint(t, 400, "POST", "b", `{"n":"2"}`).JSON(t)["details"].(map[string]any)["errors"])
		require.JSONEq(t, `{"n":2}`, string(p.CallEndpoint(t, 200, "POST", "b", `{"n":2}`).Body))
		p.Emit(t, `{"type":"e","payload":{"n":"x"}}`)
		p.AwaitEvents(t, 1, "error", "payload.error=InvalidArgumentsError&source.automationSlug=e")
	})
}

func TestEndpointsThatSendPiecewise(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "WEBHOOKS_SSE_KEEPALIVE=100")
	p := w.NewWorkspace(t).AddAutomations(t, `
done: {when: {endpoint: true}, do: [{set $http.headers.a: b}, {set $http.chunk: {i: 1}}, {set $http.chunk: {i: 1}}], output: {done: 1}}
quiet: {when: {endpoint: true}, do: [{set $http.chunk: {i: 1}}, {child: {$http: '{{$http}}'}}], output: {}}
child: [{set $http.chunk: {i: 2}}]
late: {when: {endpoint: true}, do: [{set $http.chunk: {i: 1}}, {set $http.chunk: {i: 1}}, {set $http.status: 201}]}
alive: {when: {endpoint: true}, do: [{set $http: {chunk: 1, sseKeepAlive: 1}}, {wait: {timeout: 2}}], output: {}}
woken: {when: {endpoint: true}, do: [{set $http.chunk: 1}, {wait: {timeout: 1}}, {set $http.sseKeepAlive: 1}, {wait: {timeout: 1}}], output: {}}
t: [{set $http.status: 200}]`)
	pieces := func(path string) (data []string, h http.Header) {
		t.Helper()
		got := p.Service.SendAs(t, "GET", p.Path+"/webhooks/"+path, "", p.Auth, "")
		require.Equal(t, "text/event-stream", got.Header.Get("Content-Type"))
		require.Equal(t, "no-cache", got.Header.Get("Cache-Control"))
		for frame := range strings.SplitSeq(strings.TrimSuffix(string(got.Body), "\n\n"), "\n\n") {
			data = append(data, strings.TrimPrefix(frame, "data: "))
		}
		return data, got.Header
	}
	done, head := pieces("done")
	require.Equal(t, []string{`{"i":1}`, `{"i":1}`, `{"done":1}`}, done)
	require.Equal(t, "b", head.Get("A"))
	quiet, _ := pieces("quiet")
	require.Equal(t, []string{`{"i":1}`, `{"i":2}`}, quiet)
	failed, _ := pieces("late")
	require.Len(t, failed, 3)
	require.Contains(t, failed[2], `"error":"internal_error"`)
	require.Contains(t, failed[2], "InvalidInstructionError")
	alive, _ := pieces("alive")
	require.Greater(t, len(alive), 1)
	require.JSONEq(t, `{"keepAlive": true}`, alive[1])
	woken, _ := pieces("woken")
	require.Greater(t, len(woken), 1, "also when it is set after the last chunk")
	require.Equal(t, "{}", string(p.RunTest(t, 200, `{}`).Body), "a test has the output alone: chunks are in its record")
}

func TestWhoMayExecute(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
sell: {when: {endpoint: true, events: [sale]}, authorizations: {action: sell}, do: [], output: {sold: 1}}
open: {when: {endpoint: true}, do: [{sell: {output: r}}]}
says: {when: {endpoint: true}, do: [{set session.id: '{{body.session}}'}, {emit: {event: sale}}]}`)
	stranger, agent, nobody := p.As(w.NewUser(t, "stranger")), p.As(w.NewUser(t, "agent")), p.As(nil)
	p.Do(t, 200, "PUT", p.Path+"/security", `{"authorizations":{"roles":{"editor":{},"agent":{}},"rules":[
		{"role":"agent","action":"execute","subject":"automations","conditions":{"authorizations.action":{"$in":["sell"]}}}]}}`)
	p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"email":"agent@example.org"},"permissions":{"role":"agent"}}`)
	denied := map[string]any{"name": "ForbiddenError", "action": "execute", "subject": "automations"}
	require.Equal(t, denied, nobody.RequireRefusal(t, 401, "missing_token", "GET", p.Path+"/webhooks/sell", ""))
	require.Equal(t, denied, stranger.RequireRefusal(t, 403, "permission_denied", "GET", p.Path+"/webhooks/sell", ""))
	require.Equal(t, "1", member(t, p.CallEndpoint(t, 200, "GET", "sell", ""), "sold"))
	require.Equal(t, "1", member(t, agent.CallEndpoint(t, 200, "GET", "sell", ""), "sold"))
	stranger.RequireRefusal(t, 403, "permission_denied", "GET", p.Path+"/webhooks/open", "")
	nobody.RequireRefusal(t, 401, "missing_token", "GET", p.Path+"/webhooks/open", "")
	require.JSONEq(t, `{"r":{"sold":1}}`, string(agent.CallEndpoint(t, 200, "GET", "open", "").Body))
	p.As(nodetest.Bearer("broken")).RequireRefusal(t, 401, "invalid_token", "GET", p.Path+"/webhooks/open", "")
	stranger.RequireRefusal(t, 403, "workspace_access_denied", "POST", p.Path+"/test/sell", `{}`)

	key := func(rules string) nodetest.Workspace {
		made := p.Do(t, 201, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":[`+rules+`]}`).JSON(t)
		return p.As(http.Header{"X-Svc-Api-Key": {made["apiKey"].(string)}})
	}
	key(`{"action":["read"],"subject":"workspaces"}`).RequireRefusal(t, 403, "permission_denied", "GET", p.Path+"/webhooks/sell", "")
	key(`{"action":["execute"],"subject":"automations"}`).CallEndpoint(t, 200, "GET", "sell", "")

	owner := p.CallEndpoint(t, 200, "GET", "sell", "").Header.Get("X-Svc-Session-Id")
	for _, who := range []nodetest.Workspace{stranger, nobody} {
		said := who.CallEndpoint(t, 200, "POST", "says", `{"session":"`+owner+`"}`)
		said.Workspace = p
		refused := said.AwaitEvents(t, 1, "error")[0]
		require.Equal(t, "ForbiddenError", refused.Payload["error"], "a switched identity gains nothing")
		require.Equal(t, "sell", refused.Source["automationSlug"])
	}
	said := p.CallEndpoint(t, 200, "POST", "says", `{"session":"somebody"}`)
	ended := said.AwaitEvents(t, 2, nodetest.Executed)
	require.Equal(t, "somebody", said.Events(t, "sale")[0].Source["sessionId"])
	require.ElementsMatch(t, []string{`"says"`, `"sell"`}, []string{ended[0].At("slug"), ended[1].At("slug")}, "who is the owner stays it")
}

// member is one member of an answer.
func member(t *testing.T, r nodetest.Run, key string) string {
	t.Helper()
	return nodetest.Event{Payload: r.JSON(t)}.At(key)
}
