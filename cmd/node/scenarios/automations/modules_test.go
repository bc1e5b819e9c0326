package automations_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"svc/cmd/node/nodetest"
)

func TestModulesOfAutomations(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	t.Run("rates are limited over endpoints", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
none: {when: {endpoint: true}, do: [{rateLimit: {name: l, limit: 0, window: 60, break: true}}]}
tries: {when: {endpoint: true}, do: [{try: {do: [{rateLimit: {name: l, limit: 0, window: 60, break: true}}], catch: [{T: '{{$error.error}}'}]}}]}`)
		got := p.CallEndpoint(t, 429, "GET", "none", "")
		require.Equal(t, "rate_limit_exceeded", got.Code(t))
		wait, err := strconv.Atoi(got.Header.Get("Retry-After"))
		require.NoError(t, err)
		require.Positive(t, wait)
		require.LessOrEqual(t, wait, 60)
		require.Equal(t, `"RateLimitExceededError"`, p.CallEndpoint(t, 200, "GET", "tries", "").Result(t))
	})
	t.Run("code runs apart", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t)
		p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"functions":{"double":{"code":"return n * 2","parameters":{"n":{"type":"number","required":true}}}}}}}`)
		p.AddAutomations(t, `
t: [{run: {module: code, function: call, parameters: {name: double, arguments: {n: '{{n}}'}}, onError: continue, output: r}}]
clock: {when: {endpoint: true}, do: [{run: {module: code, function: run, parameters: {code: 'const a = Date.now(); for (let i = 0; i < 1e5; i++); return [a === Date.now(), typeof require, typeof fetch, typeof process, typeof setTimeout]'}, output: r}}]}`)
		require.Equal(t, "4", p.RunTest(t, 200, `{"n":2}`).Result(t))
		require.Equal(t, "null", p.RunTest(t, 200, `{"n":"x"}`).Result(t), "the type of a parameter makes its form and is not enforced")
		require.JSONEq(t, `[true,"undefined","undefined","undefined","undefined"]`, p.CallEndpoint(t, 200, "GET", "clock", "").Result(t))
	})
	t.Run("rows", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{run: {module: collections, function: create, parameters: {collection: c, data: {n: 1}}, output: made}}, {run: {module: collections, function: findMany, parameters: {collection: c}, output: rows}}, {T: ['{{made.acknowledged}}', '{{rows.length}}', '{{rows[0].n}}']}]
empty: {when: {endpoint: true}, do: [{run: {module: collections, function: deleteMany, parameters: {collection: c, query: {}}, onError: continue, output: r}}], output: ['{{r.error}}', '{{r.details.reason}}']}
declare: {when: {endpoint: true}, do: [{run: {module: collections, function: updateSchema, parameters: {collection: u, properties: {k: {type: string}}, uniques: [[k]]}}}]}
unique: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: u, data: {k: same}}, onError: continue, output: r}}], output: '{{r.details.reason}}{{r.acknowledged}}'}`)
		require.JSONEq(t, `[true,1,1]`, p.RunTest(t, 200, `{}`).Result(t))
		require.JSONEq(t, `["CollectionError","empty_query"]`, string(p.CallEndpoint(t, 200, "GET", "empty", "").Body))
		p.CallEndpoint(t, 200, "GET", "declare", "")
		var g errgroup.Group
		answers := make([]string, 2)
		for i := range answers {
			g.Go(func() error {
				got, err := w.Request(t.Context(), http.MethodGet, p.Path+"/webhooks/unique", p.Auth, "")
				answers[i] = string(got.Body)
				return err
			})
		}
		require.NoError(t, g.Wait())
		require.ElementsMatch(t, []string{"unique", "true"}, answers)
		p.AwaitEvents(t, 1, "workspaces.collections.updated", "")
	})
	t.Run("topics and tokens", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{createUserTopic: {topic: news, userIds: [u1], output: a}}, {createUserTopic: {topic: news}}, {joinUserTopic: {topic: news}}, {joinUserTopic: {topic: other, userIds: [u2]}}, {auth: {output: j}}, {T: ['{{a}}', '{% {{j.jwt}} exists %}']}]
nope: {when: {endpoint: true}, do: [{joinUserTopic: {topic: nope, create: false}}]}
who: {when: {endpoint: true}, do: [{auth: {workspace: true, output: j}}, {fetch: {url: '{{global.apiUrl}}/workspaces/{{workspaceId}}/webhooks/asked', headers: {authorization: 'Bearer {{j.jwt}}'}, output: r}}]}
asked: {when: {endpoint: true}, do: [], output: '{{run.authenticatedWorkspaceId}}'}`)
		got := p.RunTest(t, 200, `{}`)
		require.JSONEq(t, `[true,true]`, got.Result(t))
		p.AwaitEvents(t, 2, "events.userTopics.created", "")
		p.AwaitEvents(t, 2, "events.userTopics.joined", "")
		require.Equal(t, "InvalidInstructionError", p.CallEndpoint(t, 500, "GET", "nope", "").JSON(t)["details"].(map[string]any)["name"])
		require.Equal(t, `"`+p.ID+`"`, p.CallEndpoint(t, 200, "GET", "who", "").Result(t))
	})
	t.Run("what is saved is checked", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t)
		for _, doc := range []string{
			`"when":{"schedules":["0 */5 * * * *"]},"do":[]`, `"when":{"schedules":["nonsense"]},"do":[]`, `"when":{"endpoint":"a/:"},"do":[]`,
			`"do":[{"set":{"name":"a"}}]`, `"do":[{"wait":{"timeout":"1"}}]`, `"do":[{"repeat":{"on":-5,"do":[]}}]`, `"do":[{"run":{"module":"crypto","function":"md6"}}]`, `"do":[{"break":{"scope":"repeat"}}]`,
			`"do":[{"conditions":{"1 <":[]}}]`, `"do":[{"a":{},"b":{}}]`,
			`"labels":["x"],"do":[]`, `"arguments":{"a":{"type":"nope"}},"do":[]`,
		} {
			details := p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/automations", `{"name":"x",`+doc+`}`)
			require.NotEmpty(t, details["errors"].([]any)[0].(map[string]any)["field"], doc)
		}
	})
	t.Run("throttles delay and never fail", func(t *testing.T) {
		t.Parallel()
		slow := nodetest.NewOwnedService(t, "RATE_LIMIT_EMITS=50", "RATE_LIMIT_EMITS_BURST=5")
		p := slow.NewWorkspace(t).AddAutomations(t, `t: [{repeat: {until: 15, do: [{emit: {event: e}}]}}]`)
		got := p.RunTest(t, 200, `{}`)
		require.Len(t, got.Events(t, "e"), 15)
	})
}
