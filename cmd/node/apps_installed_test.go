package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"
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
	w := newWorkshop(t)
	app := w.place(t).has(t, orderApp)
	app.does(t, 200, "PATCH", app.path, orderConfig)
	app.publishes(t, "orders")
	t.Run("a config is checked against the schema of the app", func(t *testing.T) { checkedConfig(t, w, app) })
}

func checkedConfig(t *testing.T, w *workshop, app place) {
	p := w.place(t)
	refused := func(t *testing.T, method, path, body string) (field, message string) {
		t.Helper()
		first := p.refuses(t, 422, "validation_failed", method, path, body)["errors"].([]any)[0].(map[string]any)
		return first["field"].(string), first["message"].(string)
	}
	raises := func(t *testing.T, method, path, body string) run {
		t.Helper()
		got := p.ask(t, method, p.path+"/webhooks/"+path, body)
		require.GreaterOrEqual(t, got.StatusCode, 400, "%s", got.body)
		return run{got, p}
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
			field, message := refused(t, "POST", p.path+"/apps", `{"appSlug":"orders","slug":"od","config":`+config+`}`)
			require.Equal(t, want, field)
			require.NotContains(t, message, "lots", "a value may be a secret")
			verdict := p.does(t, 200, "POST", p.path+"/apps?dryRun=true", `{"appSlug":"orders","slug":"od","config":`+config+`}`).json(t)
			require.Equal(t, want, verdict["errors"].([]any)[0].(map[string]any)["field"])
		}
		require.Empty(t, p.awaits(t, 0, "workspaces.apps.installed", ""))
		p.does(t, 201, "POST", p.path+"/apps", `{"appSlug":"orders","slug":"od","config":{"approvalLimit":1000,"currency":{"en":"pounds"},"token":"hunter22"}}`)
	})
	t.Run("when it is changed", func(t *testing.T) {
		for path, body := range map[string]string{
			"/apps/od": `{"config":{"approvalLimit":"lots"}}`, "/apps/od/config": `{"approvalLimit":"lots"}`,
		} {
			field, message := refused(t, "PATCH", p.path+path, body)
			require.Equal(t, "config.approvalLimit", field)
			require.Contains(t, message, "number")
		}
		p.does(t, 200, "PATCH", p.path+"/apps/od/config", `{"token":"********","currency":null}`)
		raises(t, "POST", "od.raise", `{"to":"lots"}`).awaits(t, 1, "od.error")
		require.Equal(t, "2000", string(p.calls(t, 200, "POST", "od.raise", `{"to":2000}`).body))
		require.NotContains(t, string(p.does(t, 200, "GET", p.path+"/apps/od", "").body), "hunter22")
	})
	t.Run("and templates when they are resolved", func(t *testing.T) {
		p.does(t, 200, "PATCH", p.path, `{"config":{"value":{"limit":"lots"}}}`)
		p.does(t, 200, "PATCH", p.path+"/apps/od/config", `{"approvalLimit":"{{config.limit}}"}`)
		raises(t, "POST", "od.order", `{"amount":100000}`)
		raised := p.awaits(t, 1, "od.error", "payload.details.field=config.approvalLimit")[0]
		require.Equal(t, "InvalidInstructionError", raised.Payload["error"])
		p.calls(t, 200, "GET", "od.limit", "")
		p.does(t, 200, "PATCH", p.path, `{"config":{"value":{"limit":5}}}`)
		require.Contains(t, string(p.calls(t, 200, "POST", "od.order", `{"amount":4}`).body), `"unasked"`)
	})
	t.Run("an import keeps it and lists it", func(t *testing.T) {
		other := w.place(t)
		got := w.upload(t, other.path+"/import", w.owner, zipOf(t, map[string]string{"index.yml": "name: Imported\n", "imports/od.yml": "appSlug: orders\nconfig:\n  approvalLimit: lots\n  typo: 1\n"}), false)
		require.Equal(t, 200, got.StatusCode, "%s", got.body)
		var told []any
		for _, warning := range got.json(t)["warnings"].([]any) {
			require.Equal(t, "invalid_config", warning.(map[string]any)["err"])
			told = append(told, warning.(map[string]any)["msg"])
		}
		require.Len(t, told, 2)
		require.Contains(t, told[0], "config.approvalLimit: ")
		require.Contains(t, told[1], "config.typo: unknown field")
		require.JSONEq(t, `{"approvalLimit":"lots","typo":1}`, string(other.does(t, 200, "GET", other.path+"/apps/od/config", "").body))
		other.does(t, 200, "PATCH", other.path+"/apps/od/config", `{"approvalLimit":7}`)
		require.Contains(t, string(other.calls(t, 200, "POST", "od.order", `{"amount":4}`).body), `"unasked"`)
	})
	t.Run("what a new version of the app no longer takes raises when it is read", func(t *testing.T) {
		app.does(t, 200, "PATCH", app.path, `{"config":{"schema":{"approvalLimit":{"type":"string"},"additionalProperties":true}}}`)
		app.does(t, 200, "POST", "/v2/apps", `{"workspaceId":"`+app.id+`"}`)
		raises(t, "POST", "od.order", `{"amount":1}`)
		p.does(t, 200, "PATCH", p.path+"/apps/od", `{"labels":["kept"]}`)
		p.does(t, 200, "PATCH", p.path+"/apps/od/config", `{"approvalLimit":"9","typo":1}`)
		require.Contains(t, string(p.calls(t, 200, "POST", "od.order", `{"amount":4}`).body), `"unasked"`)
		app.does(t, 200, "PATCH", app.path, orderConfig)
		app.does(t, 200, "POST", "/v2/apps", `{"workspaceId":"`+app.id+`"}`)
	})
}
