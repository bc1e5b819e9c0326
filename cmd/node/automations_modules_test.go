package node_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

func TestModulesOfAutomations(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	t.Run("rates are limited over endpoints", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
none: {when: {endpoint: true}, do: [{rateLimit: {name: l, limit: 0, window: 60, break: true}}]}
tries: {when: {endpoint: true}, do: [{try: {do: [{rateLimit: {name: l, limit: 0, window: 60, break: true}}], catch: [{T: '{{$error.error}}'}]}}]}`)
		got := p.calls(t, 429, "GET", "none", "")
		require.Equal(t, "rate_limit_exceeded", got.code(t))
		wait, err := strconv.Atoi(got.Header.Get("Retry-After"))
		require.NoError(t, err)
		require.Positive(t, wait)
		require.LessOrEqual(t, wait, 60)
		require.Equal(t, `"RateLimitExceededError"`, p.calls(t, 200, "GET", "tries", "").r(t))
	})
	t.Run("code runs apart", func(t *testing.T) {
		t.Parallel()
		p := w.place(t)
		p.does(t, 200, "PATCH", p.path, `{"config":{"value":{"functions":{"double":{"code":"return n * 2","parameters":{"n":{"type":"number","required":true}}}}}}}`)
		p.has(t, `
t: [{run: {module: code, function: call, parameters: {name: double, arguments: {n: '{{n}}'}}, onError: continue, output: r}}]
clock: {when: {endpoint: true}, do: [{run: {module: code, function: run, parameters: {code: 'const a = Date.now(); for (let i = 0; i < 1e5; i++); return [a === Date.now(), typeof require, typeof fetch, typeof process, typeof setTimeout]'}, output: r}}]}`)
		require.Equal(t, "4", p.tries(t, 200, `{"n":2}`).r(t))
		require.Contains(t, p.tries(t, 200, `{"n":"x"}`).r(t), `"error":`)
		require.JSONEq(t, `[true,"undefined","undefined","undefined","undefined"]`, p.calls(t, 200, "GET", "clock", "").r(t))
	})
	t.Run("rows", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{run: {module: collections, function: create, parameters: {collection: c, data: {n: 1}}, output: made}}, {run: {module: collections, function: findMany, parameters: {collection: c}, output: rows}}, {T: ['{{made.acknowledged}}', '{{rows.length}}', '{{rows[0].n}}']}]
empty: {when: {endpoint: true}, do: [{run: {module: collections, function: deleteMany, parameters: {collection: c, query: {}}, onError: continue, output: r}}], output: ['{{r.error}}', '{{r.details.reason}}']}
declare: {when: {endpoint: true}, do: [{run: {module: collections, function: updateSchema, parameters: {collection: u, properties: {k: {type: string}}, uniques: [[k]]}}}]}
unique: {when: {endpoint: true}, do: [{run: {module: collections, function: create, parameters: {collection: u, data: {k: same}}, onError: continue, output: r}}], output: '{{r.details.reason}}{{r.acknowledged}}'}`)
		require.JSONEq(t, `[true,1,1]`, p.tries(t, 200, `{}`).r(t))
		require.JSONEq(t, `["CollectionError","empty_query"]`, string(p.calls(t, 200, "GET", "empty", "").body))
		p.calls(t, 200, "GET", "declare", "")
		var g errgroup.Group
		answers := make([]string, 2)
		for i := range answers {
			g.Go(func() error {
				got, err := w.request(t.Context(), http.MethodGet, p.path+"/webhooks/unique", p.me, "")
				answers[i] = string(got.body)
				return err
			})
		}
		require.NoError(t, g.Wait())
		require.ElementsMatch(t, []string{"unique", "true"}, answers)
		p.awaits(t, 1, "workspaces.collections.updated", "")
	})
	t.Run("topics and tokens", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{createUserTopic: {topic: news, userIds: [u1], output: a}}, {createUserTopic: {topic: news}}, {joinUserTopic: {topic: news}}, {joinUserTopic: {topic: other, userIds: [u2]}}, {auth: {output: j}}, {T: ['{{a}}', '{% {{j.jwt}} exists %}']}]
nope: {when: {endpoint: true}, do: [{joinUserTopic: {topic: nope, create: false}}]}
who: {when: {endpoint: true}, do: [{auth: {workspace: true, output: j}}, {fetch: {url: '{{global.apiUrl}}/workspaces/{{workspaceId}}/webhooks/asked', headers: {authorization: 'Bearer {{j.jwt}}'}, output: r}}]}
asked: {when: {endpoint: true}, do: [], output: '{{run.authenticatedWorkspaceId}}'}`)
		got := p.tries(t, 200, `{}`)
		require.JSONEq(t, `[true,true]`, got.r(t))
		p.awaits(t, 2, "events.userTopics.created", "")
		p.awaits(t, 2, "events.userTopics.joined", "")
		require.Equal(t, "InvalidInstructionError", p.calls(t, 400, "GET", "nope", "").json(t)["details"].(map[string]any)["name"])
		require.Equal(t, `"`+p.id+`"`, p.calls(t, 200, "GET", "who", "").r(t))
	})
	t.Run("what is saved is checked", func(t *testing.T) {
		t.Parallel()
		p := w.place(t)
		for _, doc := range []string{
			`"when":{"schedules":["0 */5 * * * *"]},"do":[]`, `"when":{"schedules":["nonsense"]},"do":[]`, `"when":{"endpoint":"a/:"},"do":[]`,
			`"do":[{"set":{"name":"a"}}]`, `"do":[{"wait":{"nope":1}}]`, `"do":[{"repeat":{"on":5,"do":[]}}]`, `"do":[{"break":{"scope":"repeat"}}]`,
			`"do":[{"conditions":{"1 <":[]}}]`, `"do":[{"a":{},"b":{}}]`,
			`"labels":["x"],"do":[]`, `"arguments":{"a":{"type":"nope"}},"do":[]`,
		} {
			details := p.refuses(t, 422, "validation_failed", "POST", p.path+"/automations", `{"name":"x",`+doc+`}`)
			require.NotEmpty(t, details["errors"].([]any)[0].(map[string]any)["field"], doc)
		}
	})
	t.Run("throttles delay and never fail", func(t *testing.T) {
		t.Parallel()
		slow := newWorkshop(t, "RATE_LIMIT_EMITS=50", "RATE_LIMIT_EMITS_BURST=5")
		p := slow.place(t).has(t, `t: [{repeat: {until: 15, do: [{emit: {event: e}}]}}]`)
		got := p.tries(t, 200, `{}`)
		require.Len(t, got.events(t, "e"), 15)
	})
}
