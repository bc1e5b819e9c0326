package node_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

// PATCH with a JSON body merges the top-level fields; YAML and PUT replace the whole.
func TestPatchMergesTopLevelFields(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)

	t.Run("the example of the README", func(t *testing.T) {
		p.does(t, 201, "POST", p.path+"/automations", `{"name":"Charge card","slug":"charge","when":{"endpoint":true},"do":[],"output":{"paid":true}}`)
		p.calls(t, 200, "POST", "charge", `{}`)
		changed := p.does(t, 200, "PATCH", p.path+"/automations/charge", `{"name":"Charge","do":[]}`).json(t)
		require.Equal(t, "Charge", changed["name"])
		require.Equal(t, map[string]any{"endpoint": true}, changed["when"])
		require.Equal(t, map[string]any{"paid": true}, changed["output"])
		p.calls(t, 200, "POST", "charge", `{}`)
	})
	t.Run("automations", func(t *testing.T) {
		at := p.path + "/automations/a"
		made := p.does(t, 201, "POST", p.path+"/automations", `{"name":"A","slug":"a","labels":["one"],"description":"x","do":[{"comment":"hi"}]}`)
		one := p.does(t, 200, "PATCH", at, `{"description":null,"labels":["two"]}`)
		doc := one.json(t)
		require.NotContains(t, doc, "description")
		require.Equal(t, []any{"two"}, doc["labels"])
		require.Equal(t, []any{map[string]any{"comment": "hi"}}, doc["do"])
		require.Equal(t, true, doc["validateArguments"])
		require.Equal(t, one.Header.Get("ETag"), p.does(t, 200, "PATCH", at, `{"labels":["two"],"description":null}`).Header.Get("ETag"), "no change, no event")
		require.Equal(t, one.Header.Get("ETag"), p.does(t, 200, "PATCH", at, `{}`).Header.Get("ETag"))
		require.Equal(t, one.Header.Get("ETag"), p.does(t, 200, "PATCH", at, string(one.body)).Header.Get("ETag"), "what was read can be written back")
		require.Equal(t, "stale", p.refuses(t, 409, "resource_conflict", "PATCH", at, `{"description":"y"}`, "If-Match", made.Header.Get("ETag"))["reason"])
		p.refuses(t, 400, "invalid_request", "PATCH", at, `{"bogus":null}`)
		p.refuses(t, 400, "invalid_request", "PATCH", at, `{"bogus":1}`)
		p.refuses(t, 400, "invalid_request", "PATCH", at, `{"name":null}`)
		p.refuses(t, 422, "validation_failed", "PATCH", at, `{"when":{"schedules":["nope"]}}`)
		require.Empty(t, p.does(t, 200, "PATCH", at+"?dryRun=true", `{"description":"dry"}`).json(t)["errors"], "name and do come from what is stored")
		require.Equal(t, doc["labels"], p.does(t, 200, "PATCH", at, `{"slug":"b"}`).json(t)["labels"])
		at = p.path + "/automations/b"
		require.NotContains(t, p.does(t, 200, "PATCH", at, "name: B\ndo: []\n", "Content-Type", yamlType).json(t), "labels", "YAML is the whole document")
		p.does(t, 200, "PATCH", at, `{"labels":["three"]}`)
		require.NotContains(t, p.does(t, 200, "PUT", at, `{"name":"B","do":[]}`).json(t), "labels", "PUT is the whole document")
		require.Equal(t, []any{}, p.does(t, 200, "PATCH", at, `{"do":[]}`).json(t)["do"])
	})
	t.Run("pages", func(t *testing.T) {
		at := p.path + "/pages/home"
		page := p.does(t, 201, "POST", p.path+"/pages", `{"name":"Home","slug":"home","styles":"a{}","blocks":[{"slug":"Header"}]}`).json(t)
		p.does(t, 200, "POST", "/v2/pages/"+page["id"].(string)+"/permissions", `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
		doc := p.does(t, 200, "PATCH", at, `{"name":"Start"}`).json(t)
		require.Equal(t, []any{"Start", "a{}", true}, []any{doc["name"], doc["styles"], doc["public"]})
		require.NotContains(t, p.does(t, 200, "PATCH", at, `{"styles":null}`).json(t), "styles")
		doc = p.does(t, 200, "PUT", at, `{"name":"Start"}`).json(t)
		require.NotContains(t, doc, "blocks")
		require.Equal(t, true, doc["public"], "sharing is no field of the document")
	})
	t.Run("blocks", func(t *testing.T) {
		at := p.path + "/blocks/Hero"
		p.refuses(t, 404, "resource_not_found", "PATCH", at, `{"css":"a{}"}`)
		p.does(t, 201, "PUT", at, `{"name":"Hero","css":"a{}"}`)
		require.JSONEq(t, `{"name":"Big hero","css":"a{}"}`, string(p.does(t, 200, "PATCH", at, `{"name":"Big hero"}`).body))
		require.JSONEq(t, `{"name":"Big hero"}`, string(p.does(t, 200, "PATCH", at, `{"css":null}`).body))
		p.refuses(t, 400, "invalid_request", "PATCH", at, `{"nope":1}`)
		require.Empty(t, p.does(t, 200, "PATCH", at+"?dryRun=true", `{"css":"b{}"}`).json(t)["errors"])
		p.does(t, 200, "PATCH", at, `{"css":"b{}"}`)
		require.JSONEq(t, `{"name":"Whole"}`, string(p.does(t, 200, "PATCH", at, "name: Whole\n", "Content-Type", yamlType).body))
	})
	t.Run("app instances", func(t *testing.T) {
		id := p.does(t, 201, "POST", "/v2/workspaces", `{"name":"App","description":"An app","photo":"https://example.com/a.png"}`).json(t)["id"].(string)
		app := place{s, "/v2/workspaces/" + id, id, p.me}
		app.does(t, 200, "PATCH", app.path, `{"config":{"schema":{"size":{"type":"string"},"key":{"type":"string","secret":true}}}}`)
		app.does(t, 201, "POST", "/v2/apps", `{"workspaceId":"`+app.id+`","slug":"Patched"}`)
		at := p.path + "/apps/one"
		p.does(t, 201, "POST", p.path+"/apps", `{"appSlug":"Patched","slug":"one","labels":["x1"],"config":{"size":"big","key":"CANARY-patched"}}`)
		require.Equal(t, []any{"x1"}, p.does(t, 200, "PATCH", at, `{"disabled":true}`).json(t)["labels"])
		doc := p.does(t, 200, "PUT", at, `{"appSlug":"Patched","config":{"key":"********"}}`).json(t)
		require.NotContains(t, doc, "labels")
		require.NotContains(t, doc, "disabled")
		require.JSONEq(t, `{"key":"********"}`, string(p.does(t, 200, "GET", at+"/config", "").body), "the mask keeps the secret")
		p.refuses(t, 400, "missing_parameter", "PUT", at, `{"config":{}}`)
		require.NotContains(t, p.does(t, 200, "PATCH", at, "appSlug: Patched\n", "Content-Type", yamlType).json(t), "config")
		require.Empty(t, p.does(t, 200, "PUT", at+"?dryRun=true", `{"appSlug":"Patched"}`).json(t)["errors"])
		p.refuses(t, 404, "resource_not_found", "PUT", p.path+"/apps/none", `{"appSlug":"Patched"}`)
	})
	t.Run("fields that are changed at the same time all arrive", func(t *testing.T) {
		p.does(t, 201, "POST", p.path+"/automations", `{"name":"Race","slug":"race","do":[]}`)
		fields := map[string]string{"description": `"d"`, "labels": `["one"]`, "private": `true`, "disabled": `true`, "output": `{"a":1}`}
		var all sync.WaitGroup
		for field, v := range fields {
			all.Go(func() {
				got, err := s.request(t.Context(), "PATCH", p.path+"/automations/race", p.me, `{"`+field+`":`+v+`}`)
				if err != nil || got.StatusCode != http.StatusOK {
					t.Errorf("%s: %v %s", field, err, got.body)
				}
			})
		}
		all.Wait()
		doc := p.does(t, 200, "GET", p.path+"/automations/race", "").json(t)
		for field := range fields {
			require.Contains(t, doc, field)
		}
	})
	s.stop(t)
	updates := 0
	for _, ev := range stored(t, s.dir, domain.State) {
		if ev.Data.EventType() == "workspaces.automations.updated" {
			updates++
		}
	}
	require.Equal(t, 1+5+5, updates)
	requireNoSecret(t, s.dir, "CANARY-patched")
}
