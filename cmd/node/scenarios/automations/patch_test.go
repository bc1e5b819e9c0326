package automations_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
)

// PATCH with a JSON body merges the top-level fields; YAML and PUT replace the whole.
func TestPatchMergesTopLevelFields(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)

	t.Run("the example of the README", func(t *testing.T) {
		p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"Charge card","slug":"charge","when":{"endpoint":true},"do":[],"output":{"paid":true}}`)
		p.CallEndpoint(t, 200, "POST", "charge", `{}`)
		changed := p.Do(t, 200, "PATCH", p.Path+"/automations/charge", `{"name":"Charge","do":[]}`).JSON(t)
		require.Equal(t, "Charge", changed["name"])
		require.Equal(t, map[string]any{"endpoint": true}, changed["when"])
		require.Equal(t, map[string]any{"paid": true}, changed["output"])
		p.CallEndpoint(t, 200, "POST", "charge", `{}`)
	})
	t.Run("automations", func(t *testing.T) {
		at := p.Path + "/automations/a"
		made := p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"A","slug":"a","labels":["one"],"description":"x","do":[{"comment":"hi"}]}`)
		one := p.Do(t, 200, "PATCH", at, `{"description":null,"labels":["two"]}`)
		doc := one.JSON(t)
		require.NotContains(t, doc, "description")
		require.Equal(t, []any{"two"}, doc["labels"])
		require.Equal(t, []any{map[string]any{"comment": "hi"}}, doc["do"])
		require.Equal(t, true, doc["validateArguments"])
		require.Equal(t, one.Header.Get("ETag"), p.Do(t, 200, "PATCH", at, `{"labels":["two"],"description":null}`).Header.Get("ETag"), "no change, no event")
		require.Equal(t, one.Header.Get("ETag"), p.Do(t, 200, "PATCH", at, `{}`).Header.Get("ETag"))
		require.Equal(t, one.Header.Get("ETag"), p.Do(t, 200, "PATCH", at, string(one.Body)).Header.Get("ETag"), "what was read can be written back")
		require.Equal(t, "stale", p.RequireRefusal(t, 409, "resource_conflict", "PATCH", at, `{"description":"y"}`, "If-Match", made.Header.Get("ETag"))["reason"])
		p.RequireRefusal(t, 400, "invalid_request", "PATCH", at, `{"bogus":null}`)
		p.RequireRefusal(t, 400, "invalid_request", "PATCH", at, `{"bogus":1}`)
		p.RequireRefusal(t, 400, "invalid_request", "PATCH", at, `{"name":null}`)
		p.RequireRefusal(t, 422, "validation_failed", "PATCH", at, `{"when":{"schedules":["nope"]}}`)
		require.Empty(t, p.Do(t, 200, "PATCH", at+"?dryRun=true", `{"description":"dry"}`).JSON(t)["errors"], "name and do come from what is stored")
		require.Equal(t, doc["labels"], p.Do(t, 200, "PATCH", at, `{"slug":"b"}`).JSON(t)["labels"])
		at = p.Path + "/automations/b"
		require.NotContains(t, p.Do(t, 200, "PATCH", at, "name: B\ndo: []\n", "Content-Type", nodetest.YAMLType).JSON(t), "labels", "YAML is the whole document")
		p.Do(t, 200, "PATCH", at, `{"labels":["three"]}`)
		require.NotContains(t, p.Do(t, 200, "PUT", at, `{"name":"B","do":[]}`).JSON(t), "labels", "PUT is the whole document")
		require.Equal(t, []any{}, p.Do(t, 200, "PATCH", at, `{"do":[]}`).JSON(t)["do"])
	})
	t.Run("pages", func(t *testing.T) {
		at := p.Path + "/pages/home"
		page := p.Do(t, 201, "POST", p.Path+"/pages", `{"name":"Home","slug":"home","styles":"a{}","blocks":[{"slug":"Header"}]}`).JSON(t)
		p.Do(t, 200, "POST", "/v2/pages/"+page["id"].(string)+"/permissions", `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
		doc := p.Do(t, 200, "PATCH", at, `{"name":"Start"}`).JSON(t)
		require.Equal(t, []any{"Start", "a{}", true}, []any{doc["name"], doc["styles"], doc["public"]})
		require.NotContains(t, p.Do(t, 200, "PATCH", at, `{"styles":null}`).JSON(t), "styles")
		doc = p.Do(t, 200, "PUT", at, `{"name":"Start"}`).JSON(t)
		require.NotContains(t, doc, "blocks")
		require.Equal(t, true, doc["public"], "sharing is no field of the document")
	})
	t.Run("blocks", func(t *testing.T) {
		at := p.Path + "/blocks/Hero"
		p.RequireRefusal(t, 404, "resource_not_found", "PATCH", at, `{"css":"a{}"}`)
		p.Do(t, 201, "PUT", at, `{"name":"Hero","css":"a{}"}`)
		require.JSONEq(t, `{"name":"Big hero","css":"a{}"}`, string(p.Do(t, 200, "PATCH", at, `{"name":"Big hero"}`).Body))
		require.JSONEq(t, `{"name":"Big hero"}`, string(p.Do(t, 200, "PATCH", at, `{"css":null}`).Body))
		p.RequireRefusal(t, 400, "invalid_request", "PATCH", at, `{"nope":1}`)
		require.Empty(t, p.Do(t, 200, "PATCH", at+"?dryRun=true", `{"css":"b{}"}`).JSON(t)["errors"])
		p.Do(t, 200, "PATCH", at, `{"css":"b{}"}`)
		require.JSONEq(t, `{"name":"Whole"}`, string(p.Do(t, 200, "PATCH", at, "name: Whole\n", "Content-Type", nodetest.YAMLType).Body))
	})
	t.Run("app instances", func(t *testing.T) {
		id := p.Do(t, 201, "POST", "/v2/workspaces", `{"name":"App","description":"An app","photo":"https://example.com/a.png"}`).JSON(t)["id"].(string)
		app := nodetest.Workspace{Service: s, Path: "/v2/workspaces/" + id, ID: id, Auth: p.Auth}
		app.Do(t, 200, "PATCH", app.Path, `{"config":{"schema":{"size":{"type":"string"},"key":{"type":"string","secret":true}}}}`)
		app.Do(t, 201, "POST", "/v2/apps", `{"workspaceId":"`+app.ID+`","slug":"Patched"}`)
		at := p.Path + "/apps/one"
		p.Do(t, 201, "POST", p.Path+"/apps", `{"appSlug":"Patched","slug":"one","labels":["x1"],"config":{"size":"big","key":"CANARY-patched"}}`)
		require.Equal(t, []any{"x1"}, p.Do(t, 200, "PATCH", at, `{"disabled":true}`).JSON(t)["labels"])
		doc := p.Do(t, 200, "PUT", at, `{"appSlug":"Patched","config":{"key":"********"}}`).JSON(t)
		require.NotContains(t, doc, "labels")
		require.NotContains(t, doc, "disabled")
		require.JSONEq(t, `{"key":"********"}`, string(p.Do(t, 200, "GET", at+"/config", "").Body), "the mask keeps the secret")
		p.RequireRefusal(t, 400, "missing_parameter", "PUT", at, `{"config":{}}`)
		require.NotContains(t, p.Do(t, 200, "PATCH", at, "appSlug: Patched\n", "Content-Type", nodetest.YAMLType).JSON(t), "config")
		require.Empty(t, p.Do(t, 200, "PUT", at+"?dryRun=true", `{"appSlug":"Patched"}`).JSON(t)["errors"])
		p.RequireRefusal(t, 404, "resource_not_found", "PUT", p.Path+"/apps/none", `{"appSlug":"Patched"}`)
	})
	t.Run("fields that are changed at the same time all arrive", func(t *testing.T) {
		p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"Race","slug":"race","do":[]}`)
		fields := map[string]string{"description": `"d"`, "labels": `["one"]`, "private": `true`, "disabled": `true`, "output": `{"a":1}`}
		var all sync.WaitGroup
		for field, v := range fields {
			all.Go(func() {
				got, err := s.Request(t.Context(), "PATCH", p.Path+"/automations/race", p.Auth, `{"`+field+`":`+v+`}`)
				if err != nil || got.StatusCode != http.StatusOK {
					t.Errorf("%s: %v %s", field, err, got.Body)
				}
			})
		}
		all.Wait()
		doc := p.Do(t, 200, "GET", p.Path+"/automations/race", "").JSON(t)
		for field := range fields {
			require.Contains(t, doc, field)
		}
	})
	s.Stop(t)
	updates := 0
	for _, ev := range nodetest.StoredEvents(t, s.Dir, domain.State) {
		if ev.Data.EventType() == "workspaces.automations.updated" {
			updates++
		}
	}
	require.Equal(t, 1+5+5, updates)
	nodetest.RequireNoSecret(t, s.Dir, "CANARY-patched")
}
