package automations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// orderApp asks for approval of orders above a limit of its config.
const orderApp = `
order: {when: {endpoint: true}, do: [
  {conditions: {'{{body.amount}} > {{config.approvalLimit}}': [
    {emit: {event: approval.requested, payload: {amount: '{{body.amount}}'}, output: asked}},
    {wait: {oneOf: [{event: approval.given, filters: {type: approval.given}}, {event: approval.refused}], timeout: 20, output: word}},
    {conditions: {'{{word.type}} == "approval.given"': [{set verdict: approved}], default: [{set verdict: rejected}]}}],
   default: [{set verdict: unasked}]}}], output: {verdict: '{{verdict}}', asked: '{{asked.type}}', word: '{{word.type}}', slug: '{{run.automationSlug}}', trigger: '{{run.trigger}}', currency: '{{config.currency}}'}}
limit: {when: {endpoint: true}, do: [], output: {currency: '{{config.currency}}'}}
raise: {when: {endpoint: true}, do: [{set config.approvalLimit: '{{body.to}}'}], output: '{{config.approvalLimit}}'}`

// orderConfig is the schema of the config of orderApp.
const orderConfig = `{"config":{"schema":{"approvalLimit":{"type":"number","required":true},"currency":{"type":"localized:string"},
	"rates":{"type":"object","properties":{"day":{"type":"integer"}}},"token":{"type":"string","secret":true}},"value":{"currency":"EUR"}}}`

func TestInstalledApps(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	app := w.NewWorkspace(t).AddAutomations(t, orderApp)
	app.Do(t, 200, "PATCH", app.Path, orderConfig)
	app.PublishApp(t, "orders")
	t.Run("a config is checked against the schema of the app", func(t *testing.T) { checkedConfig(t, w, app) })
	t.Run("automations of an app see local names", func(t *testing.T) { localNames(t, w) })
	t.Run("its publication reaches who listens", func(t *testing.T) { checkPublications(t, w) })
	t.Run("a version is no name", func(t *testing.T) { versionsAsNames(t, w) })
	t.Run("visitors do not speak for it", func(t *testing.T) { visitorsEmit(t, w) })
	t.Run("built-in apps are everywhere", func(t *testing.T) { builtInApps(t, w) })
	t.Run("it reaches what the documentation says", func(t *testing.T) { reach(t, w) })
}

// reach tries what docs/automations.md says an app can reach.
func reach(t *testing.T, w *nodetest.OwnedService) {
	app := w.NewWorkspace(t).AddAutomations(t, `
show: {when: {endpoint: true}, do: [
  {run: {module: collections, function: findMany, parameters: {collection: c}, output: rows}}, {run: {module: secrets, function: get, parameters: {name: kept}, output: ref}},
  {rateLimit: {name: l, limit: 5, window: 3600, output: rate}},
  {try: {do: [{own: {}}], catch: [{set called: '{{$error.error}}'}]}},
  {fetch: {url: '{{global.apiUrl}}/me', outputMode: detailed_response, output: me}}, {fetch: {url: '{{global.apiUrl}}/workspaces/{{global.workspaceId}}', outputMode: detailed_response, output: inside}},
  {set global.byApp: 1}, {set user.byApp: 2}, {set session.byApp: 3}],
  output: {global: '{{global.x}}', user: '{{user.x}}', email: '{{user.email}}', session: '{{session.x}}', run: '{{run.x}}', socket: '{{socket.x}}', endpoints: '{% isObject({{global.endpoints}}) %}', endpoint: '{% {{global.endpoints.t}} exists %}', secret: '{{secret.k}}', config: '{{config}}', content: '{{$workspace.name}}', rows: '{{rows}}', ref: '{{ref.error}}', rate: '{{rate.remaining}}', called: '{{called}}', me: '{{me.status}}', inside: '{{inside.status}}'}}`)
	app.Do(t, 200, "PATCH", app.Path, `{"name":"The app","config":{"value":{"key":"{{secret.own}}"}}}`)
	app.Do(t, 200, "PATCH", app.Path+"/security/secrets", `{"own":{"value":"of the publisher"},"k":{"value":"app"}}`)
	app.PublishApp(t, "reaching")
	p := w.NewWorkspace(t)
	p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"hidden":1}}}`)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"of the workspace"}}`)
	p.InstallApp(t, "reaching", "a", "").AddAutomations(t, `
own: {do: [], output: 1}
t: {when: {endpoint: true}, do: [
  {set global.x: g}, {set user.x: u}, {set session.x: s}, {set run.x: r}, {set socket.x: k},
  {run: {module: collections, function: create, parameters: {collection: c, data: {n: 1}}}}, {run: {module: secrets, function: set, parameters: {name: kept, value: v}}}, {rateLimit: {name: l, limit: 5, window: 3600}},
  {a.show: {output: r}}], output: {r: '{{r}}', back: ['{{global.byApp}}', '{{user.byApp}}', '{{session.byApp}}']}}`)
	got := p.CallEndpoint(t, 200, "GET", "t", "").JSON(t)
	require.Equal(t, []any{1.0, 2.0, 3.0}, got["back"])
	require.Equal(t, map[string]any{
		"global": "g", "user": "u", "email": "owner@example.org", "session": "s", "run": "r", "socket": "k", "endpoints": true, "endpoint": true,
		"config": map[string]any{"key": "of the publisher"}, "content": "The app", "rows": []any{}, "ref": "not_found", "rate": 4.0,
		"called": "ObjectNotFoundError", "me": 200.0, "inside": 403.0,
	}, got["r"])
}

// builtInApps finds the built-in apps in the catalogue, and uses them in a workspace that
// comes from elsewhere.
func builtInApps(t *testing.T, w *nodetest.OwnedService) {
	p := w.NewWorkspace(t)
	listed := p.Do(t, 200, "GET", "/v2/apps?text=built&limit=100&labels=built-in", "")
	require.Contains(t, string(p.Do(t, 200, "GET", "/v2/apps?labels=built-in", "").Body), `"slug":"Custom Code"`, "%s", listed.Body)
	detail := p.Do(t, 200, "GET", "/v2/apps/Custom%20Code", "").JSON(t)
	require.Len(t, detail["automations"], 2)
	require.NotContains(t, string(p.Do(t, 200, "GET", "/v2/apps/Collection", "").Body), `"declare"`, "what is private is not shown")
	p.RequireRefusal(t, 403, "permission_denied", "DELETE", "/v2/apps/Collection", "")
	p.Do(t, 200, "PATCH", p.Path, `{"description":"An app","photo":"/a.png"}`)
	p.RequireRefusal(t, 409, "resource_already_exists", "POST", "/v2/apps", `{"workspaceId":"`+p.ID+`","slug":"custom code"}`)
	p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/apps", `{"appSlug":"Custom Code","config":{"functions":{"f":{"code":5}}}}`)

	got := w.Upload(t, p.Path+"/import", w.Owner, nodetest.ZipOf(t, map[string]string{
		"index.yml":         "name: From elsewhere\n",
		"imports/Code.yml":  "appSlug: Custom Code\nappVersion: 3.1.4\nconfig:\n  functions:\n    add: {code: 'return a + (b || 1)', parameters: {a: {type: number}, b: {type: number}}}\n    bad: {code: 'throw new Error(\"no\")'}\n",
		"imports/Books.yml": "appSlug: Collection\nconfig:\n  properties: {title: {type: string}, n: {type: number}}\n  uniques: [[title]]\n",
	}), false)
	require.Equal(t, 200, got.StatusCode, "%s", got.Body)
	require.Empty(t, got.JSON(t)["warnings"])
	p.AddAutomations(t, `
code: {when: {endpoint: true}, do: [
  {Code.run: {function: add, parameters: {a: 2, b: 3}, output: r1}}, {Code.run function: {function: add, args: {a: 4}, output: r2}}, {Code.add: {a: 5, b: 6, output: r3}},
  {try: {do: [{Code.run: {function: bad}}], catch: [{set r4: '{{$error.error}}'}]}}], output: ['{{r1}}', '{{r2}}', '{{r3}}', '{{r4}}']}
rows: {when: {endpoint: true}, do: [
  {Books.insert: {data: {title: a, n: 1}, output: one}}, {Books.insertMany: {data: [{title: b, n: 2}, {title: c, n: 2, extra: 1}], output: many}},
  {Books.find: {query: {n: {$gte: 1}}, options: {sort: {title: -1}, limit: 2, page: 1}, output: found}}, {Books.findOne: {query: {_id: '{{one._id}}'}, output: same}},
  {Books.updateOne: {query: {title: a}, data: {n: 5}, output: u1}}, {Books.updateMany: {query: {title: z}, data: {$set: {n: 9}}, options: {upsert: true}, output: u2}},
  {Books.count: {query: {n: 2}, output: n}}, {Books.distinct: {field: n, output: d}}, {Books.aggregate: {pipeline: [{$group: {_id: '$n', all: {$sum: 1}}}, {$sort: {_id: 1}}], output: g}},
  {try: {do: [{Books.insert: {data: {title: a}}}], catch: [{set twice: '{{$error.details.reason}}'}]}},
  {Books.deleteOne: {query: {title: z}, output: d1}}, {Books.deleteMany: {query: {}, output: d2}}, {Books.findOne: {query: {}, output: none}}],
  output: {one: '{{one.title}}', alias: '{% {{one._id}} == {{one.id}} %}', many: '{{many.length}}', manyIds: '{% {{many[0]._id}} == {{many[0].id}} %}', found: ['{{found[0].title}}', '{{found[1].title}}', '{{found.length}}'], same: '{{same.title}}', u1: '{{u1.modifiedCount}}', u2: '{% {{u2.upsertedId}} exists %}', n: '{{n}}', d: '{{d}}', g: '{{g}}', twice: '{{twice}}', d1: '{{d1.deletedCount}}', d2: '{{d2.deletedCount}}', none: '{{none}}'}}`)
	require.JSONEq(t, `[5,5,11,"CustomCodeError"]`, string(p.CallEndpoint(t, 200, "GET", "code", "").Body))
	want := `{"one":"a","alias":true,"many":2,"manyIds":true,"found":["c","b",2],"same":"a","u1":1,"u2":true,"n":2,"d":[2,5,9],"g":[{"_id":2,"all":2},{"_id":5,"all":1},{"_id":9,"all":1}],"twice":"unique","d1":1,"d2":3}`
	for range 2 {
		ran := p.CallEndpoint(t, 200, "GET", "rows", "")
		require.JSONEq(t, want, string(ran.Body))
	}
	require.Equal(t, "Books", p.AwaitEvents(t, 1, "workspaces.collections.updated", "")[0].Payload["collection"], "declared once, as long as it stays the same")
	p.Do(t, 200, "PATCH", p.Path+"/apps/Books/config", `{"properties":{"title":{"type":"string"},"n":{"type":"number"},"extra":{"type":"number"}}}`)
	p.CallEndpoint(t, 200, "GET", "rows", "")
	p.AwaitEvents(t, 2, "workspaces.collections.updated", "")
	require.Contains(t, string(p.Do(t, 200, "GET", p.Path+"/apps", "").Body), `"slug":"findOne"`)
	require.Empty(t, p.AwaitEvents(t, 0, "apps.published", ""), "no event tells of built-in apps")
}

// checkPublications publishes an app, and takes it back: its workspace hears of it, and its
// instances wherever they are; no other app does, nor who has it installed.
func checkPublications(t *testing.T, w *nodetest.OwnedService) {
	const listens = `hears: {when: {events: [apps.published, apps.deleted]}, do: [], output: {type: '{{type}}', app: '{{payload.app.slug}}{{payload.appSlug}}', user: '{{user.id}}', source: '{{source}}'}}`
	app := w.NewWorkspace(t).AddAutomations(t, listens)
	app.PublishApp(t, "heard")
	app.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=hears")
	other := w.NewWorkspace(t).AddAutomations(t, listens)
	other.PublishApp(t, "unheard")
	outer := w.NewWorkspace(t).InstallApp(t, "heard", "h", "").AddAutomations(t, listens)
	outer.PublishApp(t, "outerheard")
	p := w.NewWorkspaceOf(t, w.NewUser(t, "installer")).InstallApp(t, "heard", "h", "").InstallApp(t, "unheard", "u", "").InstallApp(t, "outerheard", "o", "").AddAutomations(t, listens)

	app.Do(t, 200, "PATCH", app.Path, `{"labels":["again"]}`)
	app.Do(t, 200, "POST", "/v2/apps", `{"workspaceId":"`+app.ID+`"}`)
	app.AwaitEvents(t, 2, nodetest.Executed, "payload.slug=hears")
	for _, slug := range []string{"h.hears", "o.h.hears"} {
		ended := p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug="+slug)[0]
		require.Contains(t, ended.At("output"), `"app":"heard"`)
		require.Contains(t, ended.At("output"), `"type":"apps.published"`)
		require.NotContains(t, ended.At("output"), app.UserID(t), "nobody hears who published it")
	}
	app.Do(t, 200, "DELETE", "/v2/apps/heard", "")
	app.AwaitEvents(t, 3, nodetest.Executed, "payload.slug=hears")
	require.Contains(t, p.AwaitEvents(t, 2, nodetest.Executed, "payload.slug=h.hears")[1].At("output"), `"type":"apps.deleted"`)
	require.Empty(t, p.AwaitEvents(t, 0, nodetest.Executed, "payload.slug=hears"))
	require.Empty(t, p.AwaitEvents(t, 0, nodetest.Executed, "payload.slug=u.hears"))
	require.Empty(t, p.AwaitEvents(t, 0, nodetest.Executed, "payload.slug=o.hears"))
}

func versionsAsNames(t *testing.T, w *nodetest.OwnedService) {
	app := w.NewWorkspace(t)
	app.Do(t, 200, "PATCH", app.Path, `{"name":"Workspace","description":"An app","photo":"/a.png"}`)
	for _, step := range []struct{ name, want string }{{"1.2.0", "Workspace"}, {"Mailer", "Mailer"}, {"v3", "Mailer"}, {"2.0.0-rc.1", "Mailer"}} {
		got := app.Send(t, "POST", "/v2/apps", `{"workspaceId":"`+app.ID+`","slug":"versioned","name":"`+step.name+`"}`)
		require.Equal(t, step.want, got.JSON(t)["name"], "%s", got.Body)
	}
}

func visitorsEmit(t *testing.T, w *nodetest.OwnedService) {
	p := w.NewWorkspace(t).InstallApp(t, "orders", "od", "")
	usage := `"payload":{"metrics":{"calls":{"value":99,"action":"increment"}}}`
	forged := []string{`"type":"usage",` + usage, `"type":"od.usage",` + usage, `"type":"other.usage",` + usage, `"type":"error","payload":{"error":"E","message":"m"}`, `"type":"od.approval.given"`}
	for _, visitor := range []nodetest.Workspace{p.Anonymous(), p.As(w.NewUser(t, "visitor"))} {
		for _, e := range forged {
			details := visitor.RequireRefusal(t, 403, "permission_denied", "POST", p.Path+"/events", `{"events":[{"type":"fine"},{`+e+`}]}`)
			require.Equal(t, "create", details["action"])
		}
		visitor.Do(t, 201, "POST", p.Path+"/events", `{"events":[{"type":"fine"},{"type":"odd.approval.given"},{"type":"od"}]}`)
	}
	wire := p.OpenWebSocket(t, "", w.NewUser(t, "onlooker"))
	require.Contains(t, wire.Receive(), "ready")
	wire.Send(`{"emit":{"type":"od.approval.given"}}`)
	require.Equal(t, "permission_denied", nodetest.ObjectAt(wire.Receive(), "error")["code"])
	for _, e := range forged {
		p.Do(t, 201, "POST", p.Path+"/events", `{"events":[{`+e+`}]}`)
	}
	require.Equal(t, []any{}, p.Usage(t, "")["apps"], "only the app says how much it was used")
}

// nestedApp has orders as od, listens to what it asks, and answers it.
const nestedApp = `
gives: {when: {events: [od.approval.requested]}, do: [{emit: {event: od.approval.given, output: ev}}], output: ['{{type}}', '{{ev.type}}', '{{run.trigger.value}}']}
listens: {when: {events: [od.error, ping]}, do: [{conditions: {'{{type}} == "ping"': [{set r: pinged}], default: [{set r: '{{type}}'}]}}], output: '{{r}}'}
calls: {when: {endpoint: true}, do: [
  {emit: {event: ping, output: ev}},
  {wait: {oneOf: [{event: runtime.automations.executed, filters: {payload.slug: listens, payload.trigger.value: ping, payload.trigger.id: '{{ev.id}}'}, cancelTriggers: false}], timeout: 20, output: w}},
  {inner: {output: called}}], output: {slug: '{{run.automationSlug}}', input: '{{automationSlug}}', ended: '{{w.payload.slug}}', by: '{{w.payload.trigger.value}}', said: '{{w.payload.output}}', called: '{{called}}', trigger: '{{run.trigger.value}}'}}
inner: {do: [], output: ['{{run.automationSlug}}', '{{run.trigger.value}}']}
takes: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: taken, filters: {type: taken}, cancelTriggers: true}], timeout: 20, output: w}}], output: '{{w.type}}'}
untaken: {when: {events: [taken]}, do: []}`

// localNames tries an app in the workspace itself and one in another app. What is recorded
// has the full names.
func localNames(t *testing.T, w *nodetest.OwnedService) {
	p := w.NewWorkspace(t).InstallApp(t, "orders", "od", `,"config":{"approvalLimit":1000}`).AddAutomations(t, `
gives: {when: {events: [od.approval.requested]}, do: [{emit: {event: od.approval.given}}], output: '{{type}}'}`)
	want := `{"verdict":"approved","asked":"approval.requested","word":"approval.given","slug":"order","trigger":{"type":"endpoint","value":"order"},"currency":"EUR"}`
	got := p.CallEndpoint(t, 200, "POST", "od.order", `{"amount":100000}`)
	require.JSONEq(t, want, string(got.Body))
	asked := got.AwaitEvents(t, 1, "od.approval.requested")[0]
	require.Equal(t, []any{"od", "od.order"}, []any{asked.Source["appInstanceFullSlug"], asked.Source["automationSlug"]})
	require.Equal(t, `"od.approval.requested"`, awaitsEnd(t, got, "gives").At("output"))
	require.Equal(t, "od.approval.given", got.AwaitEvents(t, 1, "runtime.waits.fulfilled")[0].Payload["event"].(map[string]any)["type"])

	nested := w.NewWorkspace(t).InstallApp(t, "orders", "od", `,"config":{"approvalLimit":1000}`).AddAutomations(t, nestedApp)
	nested.PublishApp(t, "nested")
	p.InstallApp(t, "nested", "n", "")
	got = p.CallEndpoint(t, 200, "POST", "n.od.order", `{"amount":100000}`)
	require.JSONEq(t, want, string(got.Body))
	require.JSONEq(t, `["od.approval.requested","od.approval.given","od.approval.requested"]`, awaitsEnd(t, got, "n.gives").At("output"))
	require.Len(t, got.Events(t, "n.od.approval.requested"), 1)
	require.JSONEq(t, `{"slug":"calls","input":"calls","ended":"listens","by":"ping","said":"pinged","called":["inner","calls"],"trigger":"calls"}`,
		string(p.CallEndpoint(t, 200, "GET", "n.calls", "").Body))
	taking := p.CallInBackground(t, t.Context(), "n.takes")
	p.AwaitEvents(t, 1, "runtime.waits.pending", "source.automationSlug=n.takes")
	p.Emit(t, `{"type":"n.taken"}`)
	require.Equal(t, "taken", string((<-taking).Body))
	require.Empty(t, p.AwaitEvents(t, 0, nodetest.Executed, "payload.slug=n.untaken"), "the filter of the wait names the event as the app does")

	p.AddAutomations(t, `t: [{n.calls: {output: r}}]`)
	recorded := p.RunRecorded(t, 200, `{}`)
	require.Contains(t, recorded.Result(t), `"trigger":"t"`)
	replayed := recorded.Replay(t, ``)
	require.Equal(t, "identical", replayed.Status, "%+v", replayed)
}

// awaitsEnd waits until an automation has ended once in the run, and returns how.
func awaitsEnd(t *testing.T, r nodetest.Run, slug string) (ended nodetest.Event) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, e := range r.Events(t, nodetest.Executed) {
			if e.Payload["slug"] == slug {
				ended = e
				return true
			}
		}
		return false
	}, time.Minute, 10*time.Millisecond, slug)
	return ended
}

func checkedConfig(t *testing.T, w *nodetest.OwnedService, app nodetest.Workspace) {
	p := w.NewWorkspace(t)
	refused := func(t *testing.T, method, path, body string) (field, message string) {
		t.Helper()
		first := p.RequireRefusal(t, 422, "validation_failed", method, path, body)["errors"].([]any)[0].(map[string]any)
		return first["field"].(string), first["message"].(string)
	}
	raises := func(t *testing.T, method, path, body string) nodetest.Run {
		t.Helper()
		got := p.Send(t, method, p.Path+"/webhooks/"+path, body)
		require.Equal(t, 500, got.StatusCode, "%s", got.Body)
		return nodetest.Run{Answer: got, Workspace: p}
	}
	t.Run("when it is installed", func(t *testing.T) {
		for config, want := range map[string]string{
			`{"approvalLimit":"lots"}`:         "config.approvalLimit",
			`{"approvalLimit":1,"limit":2}`:    "config.limit",
			`{"rates":{"day":1.5}}`:            "config.rates.day",
			`{"currency":{"en":1}}`:            "config.currency",
			`{"token":5}`:                      "config.token",
			`{"approvalLimit":["{{secret}}"]}`: "config.approvalLimit",
		} {
			field, message := refused(t, "POST", p.Path+"/apps", `{"appSlug":"orders","slug":"od","config":`+config+`}`)
			require.Equal(t, want, field)
			require.NotContains(t, message, "lots", "a value may be a secret")
			verdict := p.Do(t, 200, "POST", p.Path+"/apps?dryRun=true", `{"appSlug":"orders","slug":"od","config":`+config+`}`).JSON(t)
			require.Equal(t, want, verdict["errors"].([]any)[0].(map[string]any)["field"])
		}
		require.Empty(t, p.AwaitEvents(t, 0, "workspaces.apps.installed", ""))
		p.Do(t, 201, "POST", p.Path+"/apps", `{"appSlug":"orders","slug":"od","config":{"approvalLimit":1000,"currency":{"en":"pounds"},"token":"hunter22"}}`)
	})
	t.Run("when it is changed", func(t *testing.T) {
		for path, body := range map[string]string{
			"/apps/od": `{"config":{"approvalLimit":"lots"}}`, "/apps/od/config": `{"approvalLimit":"lots"}`,
		} {
			field, message := refused(t, "PATCH", p.Path+path, body)
			require.Equal(t, "config.approvalLimit", field)
			require.Equal(t, "expected number, got string", message)
		}
		p.Do(t, 200, "PATCH", p.Path+"/apps/od/config", `{"token":"********","currency":null}`)
		raises(t, "POST", "od.raise", `{"to":"lots"}`).AwaitEvents(t, 1, "od.error")
		require.Equal(t, "2000", string(p.CallEndpoint(t, 200, "POST", "od.raise", `{"to":2000}`).Body))
		require.NotContains(t, string(p.Do(t, 200, "GET", p.Path+"/apps/od", "").Body), "hunter22")
	})
	t.Run("and templates when they are resolved", func(t *testing.T) {
		p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"limit":"lots"}}}`)
		p.Do(t, 200, "PATCH", p.Path+"/apps/od/config", `{"approvalLimit":"{{config.limit}}"}`)
		raises(t, "POST", "od.order", `{"amount":100000}`)
		raised := p.AwaitEvents(t, 1, "od.error", "payload.details.field=config.approvalLimit")[0]
		require.Equal(t, "InvalidInstructionError", raised.Payload["error"])
		p.CallEndpoint(t, 200, "GET", "od.limit", "")
		p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"limit":5}}}`)
		require.Contains(t, string(p.CallEndpoint(t, 200, "POST", "od.order", `{"amount":4}`).Body), `"unasked"`)
	})
	t.Run("an import keeps it and lists it", func(t *testing.T) {
		other := w.NewWorkspace(t)
		got := w.Upload(t, other.Path+"/import", w.Owner, nodetest.ZipOf(t, map[string]string{"index.yml": "name: Imported\n", "imports/od.yml": "appSlug: orders\nconfig:\n  approvalLimit: lots\n  typo: 1\n"}), false)
		require.Equal(t, 200, got.StatusCode, "%s", got.Body)
		var told []any
		for _, warning := range got.JSON(t)["warnings"].([]any) {
			require.Equal(t, "invalid_config", warning.(map[string]any)["err"])
			told = append(told, warning.(map[string]any)["msg"])
		}
		require.Len(t, told, 2)
		require.Contains(t, told[0], "config.approvalLimit: ")
		require.Contains(t, told[1], "config.typo: unknown field")
		require.JSONEq(t, `{"approvalLimit":"lots","typo":1}`, string(other.Do(t, 200, "GET", other.Path+"/apps/od/config", "").Body))
		other.Do(t, 200, "PATCH", other.Path+"/apps/od/config", `{"approvalLimit":7}`)
		require.Contains(t, string(other.CallEndpoint(t, 200, "POST", "od.order", `{"amount":4}`).Body), `"unasked"`)
	})
	t.Run("what a new version of the app no longer takes raises when it is read", func(t *testing.T) {
		app.Do(t, 200, "PATCH", app.Path, `{"config":{"schema":{"approvalLimit":{"type":"string"},"additionalProperties":true}}}`)
		app.Do(t, 200, "POST", "/v2/apps", `{"workspaceId":"`+app.ID+`"}`)
		raises(t, "POST", "od.order", `{"amount":1}`)
		p.Do(t, 200, "PATCH", p.Path+"/apps/od", `{"labels":["kept"]}`)
		p.Do(t, 200, "PATCH", p.Path+"/apps/od/config", `{"approvalLimit":"9","typo":1}`)
		require.Contains(t, string(p.CallEndpoint(t, 200, "POST", "od.order", `{"amount":4}`).Body), `"unasked"`)
		app.Do(t, 200, "PATCH", app.Path, orderConfig)
		app.Do(t, 200, "POST", "/v2/apps", `{"workspaceId":"`+app.ID+`"}`)
	})
}
