package automations_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
)

func TestBlocksAndConfig(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	stranger := p.As(s.NewUser(t, "stranger"))
	blocks, config := p.Path+"/blocks", p.Path+"/config"

	t.Run("blocks", func(t *testing.T) {
		require.JSONEq(t, `{}`, string(p.Do(t, 200, "GET", blocks, "").Body))
		made := p.Do(t, 201, "PUT", blocks+"/Hero", `{"name":"Hero","blocks":[{"slug":"RichText","content":"Hi"}],"slug":"Hero"}`)
		require.Equal(t, blocks+"/Hero", made.Header.Get("Location"))
		require.JSONEq(t, `{"name":"Hero","blocks":[{"slug":"RichText","content":"Hi"}]}`, string(made.Body))
		again := p.Do(t, 200, "PUT", blocks+"/Hero", "name: Hero 2\n", "Content-Type", nodetest.YAMLType, "Accept", nodetest.YAMLType)
		require.Equal(t, "name: Hero 2\n", string(again.Body))
		require.Equal(t, "stale", p.RequireRefusal(t, 409, "resource_conflict", "PUT", blocks+"/Hero", `{}`, "If-Match", made.Header.Get("ETag"))["reason"])
		p.Do(t, 201, "PUT", blocks+"/Second%20one", `{"name":"Two"}`, "If-Match", again.Header.Get("ETag"))
		require.JSONEq(t, `{"Hero":{"name":"Hero 2"},"Second one":{"name":"Two"}}`, string(p.Do(t, 200, "GET", blocks, "").Body))
		require.JSONEq(t, `{"slug":"Second one"}`, string(p.Do(t, 200, "DELETE", blocks+"/Second%20one", "").Body))
		p.RequireRefusal(t, 404, "resource_not_found", "DELETE", blocks+"/Second%20one", "")
		p.RequireRefusal(t, 400, "invalid_request", "PUT", blocks+"/Hero", `{"nope":1}`)
		require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 400, "invalid_request", "PUT", blocks+"/Hero", "name: x\nnope: 1\n", "Content-Type", nodetest.YAMLType)), `"line":2`)
		p.RequireRefusal(t, 400, "invalid_parameter", "PUT", blocks+"/a.b", `{}`)
		require.Len(t, p.Do(t, 200, "PUT", blocks+"/Hero?dryRun=true", `{"nope":1}`).JSON(t)["errors"], 1)
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "GET", blocks, "")
		stranger.RequireRefusal(t, 403, "workspace_access_denied", "PUT", blocks+"/Hero", `{}`)
	})
	t.Run("config", func(t *testing.T) {
		require.JSONEq(t, `{}`, string(p.Do(t, 200, "GET", config, "").Body))
		first := p.Do(t, 200, "PATCH", config, `{"schema":{"key":{"type":"string","secret":true},"size":{"type":"string"}},"value":{"size":"big","old":1}}`)
		next := p.Do(t, 200, "PATCH", config, `{"value":{"size":"small","key":"{{secret.key}}"}}`)
		require.JSONEq(t, `{"schema":{"key":{"type":"string","secret":true},"size":{"type":"string"}},"value":{"size":"small","key":"{{secret.key}}"}}`, string(next.Body), "value is replaced as a whole, the rest stays")
		then := p.Do(t, 200, "GET", config+"?atSeq="+first.Header.Get("X-Svc-Seq"), "").JSON(t)
		require.Equal(t, map[string]any{"size": "big", "old": 1.0}, then["value"])
		p.Do(t, 200, "PATCH", config, `{"value":{"size":"large","key":"********"}}`)
		require.Equal(t, map[string]any{"size": "large", "key": "{{secret.key}}"}, p.Do(t, 200, "GET", config, "").JSON(t)["value"], "the mask keeps what is there")
		found := p.RequireRefusal(t, 422, "validation_failed", "PATCH", config, `{"value":{"key":"CANARY-config"}}`)
		require.Contains(t, nodetest.Faults(found), `"value.key"`)
		require.Contains(t, nodetest.Faults(found), "{{secret.NAME}}")
		p.RequireRefusal(t, 422, "validation_failed", "PATCH", p.Path, `{"config":{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"CANARY-config"}}}`)
		p.RequireRefusal(t, 422, "validation_failed", "POST", "/v2/workspaces", `{"name":"x","config":{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"CANARY-config"}}}`)
		require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 400, "invalid_request", "PATCH", config, "nope: 1\n", "Content-Type", nodetest.YAMLType)), `"line":1`)
		p.RequireRefusal(t, 400, "invalid_request", "PATCH", config, `{"value":[]}`)
		require.Equal(t, "stale", p.RequireRefusal(t, 409, "resource_conflict", "PATCH", config, `{"value":{}}`, "If-Match", first.Header.Get("ETag"))["reason"])
		require.NotContains(t, p.Do(t, 200, "PATCH", config, `{"schema":null}`).JSON(t), "schema")
	})
	t.Run("a dry run refuses what is refused", func(t *testing.T) {
		declared := `{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"CANARY-config"}}`
		for _, at := range []struct{ method, path, body, field string }{
			{"PATCH", config, declared, "value.key"},
			{"PATCH", p.Path, `{"config":` + declared + `}`, "config.value.key"},
			{"POST", "/v2/workspaces", `{"name":"x","config":` + declared + `}`, "config.value.key"},
		} {
			got := p.DryRun(t, at.method, at.path, at.body)
			require.Len(t, got["errors"], 1)
			require.Equal(t, at.field, got["errors"].([]any)[0].(map[string]any)["field"])
		}
		for path, body := range map[string]string{
			config: `{"value":{"size":"huge"}}`, p.Path: `{"name":"Dry"}`,
		} {
			require.Empty(t, p.DryRun(t, "PATCH", path, body)["errors"])
		}
		require.Empty(t, p.DryRun(t, "POST", "/v2/workspaces", `{"name":"Dry"}`)["errors"])
		rules := `{"authorizations":{"roles":{},"rules":[{"role":"nobody","action":"read","subject":"pages"}]}}`
		require.NotEmpty(t, p.DryRun(t, "PUT", p.Path+"/security", rules)["errors"])
		p.RequireRefusal(t, 422, "validation_failed", "PUT", p.Path+"/security", rules)
	})
	t.Run("a literal cannot be called secret where it stands", func(t *testing.T) {
		p.Do(t, 200, "PATCH", config, `{"schema":null,"value":{"key":"shown-before"}}`)
		p.RequireRefusal(t, 422, "validation_failed", "PATCH", config, `{"schema":{"key":{"type":"string","secret":true}}}`)
	})
	s.Stop(t)
	var types []string
	for _, ev := range nodetest.StoredEvents(t, s.Dir, domain.State) {
		switch name := ev.Data.EventType(); name {
		case "workspaces.configured", "workspaces.blocks.updated":
			types = append(types, name[strings.LastIndexByte(name, '.')+1:])
		}
	}
	require.Equal(t, []string{"updated", "updated", "updated", "updated", "configured", "configured", "configured", "configured", "configured"}, types)
	nodetest.RequireNoSecret(t, s.Dir, "CANARY-config")
}

// While a workspace is locked none of its content changes; what is no content
// does.
func TestALockKeepsContent(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Do(t, 201, "POST", p.Path+"/automations", `{"name":"A","slug":"a","do":[]}`)
	page := p.Do(t, 201, "POST", p.Path+"/pages", `{"name":"P","slug":"p"}`).JSON(t)["id"].(string)
	p.Do(t, 201, "PUT", p.Path+"/blocks/B", `{"name":"B"}`)
	friend := p.As(s.NewUser(t, "friend")).UserID(t)
	p.Do(t, 200, "POST", p.Path+"/writeLock", `{"reason":"holidays"}`)
	for _, row := range []struct{ method, path, body string }{
		{"POST", p.Path + "/automations", `{"name":"B","do":[]}`},
		{"PATCH", p.Path + "/automations/a", `{"name":"B","do":[]}`},
		{"PUT", p.Path + "/automations/a", `{"name":"B","do":[]}`},
		{"DELETE", p.Path + "/automations/a", ""},
		{"POST", p.Path + "/pages", `{"name":"B"}`},
		{"PATCH", p.Path + "/pages/p", `{"name":"B"}`},
		{"DELETE", p.Path + "/pages/p", ""},
		{"PUT", p.Path + "/blocks/B", `{"name":"C"}`},
		{"DELETE", p.Path + "/blocks/B", ""},
		{"PATCH", p.Path + "/config", `{"value":{"a":1}}`},
		{"POST", "/v2/pages/" + page + "/permissions", `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`},
	} {
		details := p.RequireRefusal(t, http.StatusLocked, "resource_locked", row.method, row.path, row.body)
		require.Equal(t, "holidays", details["reason"])
	}
	p.Do(t, 200, "PATCH", p.Path+"/automations/a?dryRun=true", `{"name":"B","do":[]}`)
	p.Do(t, 200, "POST", "/v2/pages/"+page+"/permissions", `{"target":{"id":"`+friend+`"},"permissions":{"policies":{"read":true}}}`)
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"v"}}`)
	p.Do(t, 200, "DELETE", p.Path+"/writeLock", "")
	p.Do(t, 200, "PATCH", p.Path+"/automations/a", `{"name":"B","do":[]}`)
}

func TestSchemasAreForEverybody(t *testing.T) {
	t.Parallel()
	s := nodetest.NewService(t).Start(t)
	p := nodetest.Workspace{Service: s}
	for _, name := range []string{"index", "security", "automation", "page", "block", "import"} {
		got := p.Do(t, 200, "GET", "/v2/schemas/"+name, "")
		require.Equal(t, "/v2/schemas/"+name, got.JSON(t)["$id"])
		require.Contains(t, got.Header.Get("Cache-Control"), "public")
		p.Do(t, 304, "GET", "/v2/schemas/"+name, "", "If-None-Match", got.Header.Get("ETag"))
	}
	require.Equal(t, "schema", p.RequireRefusal(t, 404, "resource_not_found", "GET", "/v2/schemas/nope", "")["resource"])
}
