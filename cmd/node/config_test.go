package node_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
)

func TestBlocksAndConfig(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	stranger := p.as(s.person(t, "stranger"))
	blocks, config := p.path+"/blocks", p.path+"/config"

	t.Run("blocks", func(t *testing.T) {
		require.JSONEq(t, `{}`, string(p.does(t, 200, "GET", blocks, "").body))
		made := p.does(t, 201, "PUT", blocks+"/Hero", `{"name":"Hero","blocks":[{"slug":"RichText","content":"Hi"}],"slug":"Hero"}`)
		require.Equal(t, blocks+"/Hero", made.Header.Get("Location"))
		require.JSONEq(t, `{"name":"Hero","blocks":[{"slug":"RichText","content":"Hi"}]}`, string(made.body))
		again := p.does(t, 200, "PUT", blocks+"/Hero", "name: Hero 2\n", "Content-Type", yamlType, "Accept", yamlType)
		require.Equal(t, "name: Hero 2\n", string(again.body))
		require.Equal(t, "stale", p.refuses(t, 409, "resource_conflict", "PUT", blocks+"/Hero", `{}`, "If-Match", made.Header.Get("ETag"))["reason"])
		p.does(t, 201, "PUT", blocks+"/Second%20one", `{"name":"Two"}`, "If-Match", again.Header.Get("ETag"))
		require.JSONEq(t, `{"Hero":{"name":"Hero 2"},"Second one":{"name":"Two"}}`, string(p.does(t, 200, "GET", blocks, "").body))
		require.JSONEq(t, `{"slug":"Second one"}`, string(p.does(t, 200, "DELETE", blocks+"/Second%20one", "").body))
		p.refuses(t, 404, "resource_not_found", "DELETE", blocks+"/Second%20one", "")
		p.refuses(t, 400, "invalid_request", "PUT", blocks+"/Hero", `{"nope":1}`)
		require.Contains(t, faults(p.refuses(t, 400, "invalid_request", "PUT", blocks+"/Hero", "name: x\nnope: 1\n", "Content-Type", yamlType)), `"line":2`)
		p.refuses(t, 400, "invalid_parameter", "PUT", blocks+"/a.b", `{}`)
		require.Len(t, p.does(t, 200, "PUT", blocks+"/Hero?dryRun=true", `{"nope":1}`).json(t)["errors"], 1)
		stranger.refuses(t, 403, "workspace_access_denied", "GET", blocks, "")
		stranger.refuses(t, 403, "workspace_access_denied", "PUT", blocks+"/Hero", `{}`)
	})
	t.Run("config", func(t *testing.T) {
		require.JSONEq(t, `{}`, string(p.does(t, 200, "GET", config, "").body))
		first := p.does(t, 200, "PATCH", config, `{"schema":{"key":{"type":"string","secret":true},"size":{"type":"string"}},"value":{"size":"big","old":1}}`)
		next := p.does(t, 200, "PATCH", config, `{"value":{"size":"small","key":"{{secret.key}}"}}`)
		require.JSONEq(t, `{"schema":{"key":{"type":"string","secret":true},"size":{"type":"string"}},"value":{"size":"small","key":"{{secret.key}}"}}`, string(next.body), "value is replaced as a whole, the rest stays")
		then := p.does(t, 200, "GET", config+"?atSeq="+first.Header.Get("X-Svc-Seq"), "").json(t)
		require.Equal(t, map[string]any{"size": "big", "old": 1.0}, then["value"])
		p.does(t, 200, "PATCH", config, `{"value":{"size":"large","key":"********"}}`)
		require.Equal(t, map[string]any{"size": "large", "key": "{{secret.key}}"}, p.does(t, 200, "GET", config, "").json(t)["value"], "the mask keeps what is there")
		found := p.refuses(t, 422, "validation_failed", "PATCH", config, `{"value":{"key":"CANARY-config"}}`)
		require.Contains(t, faults(found), `"value.key"`)
		require.Contains(t, faults(found), "{{secret.NAME}}")
		p.refuses(t, 422, "validation_failed", "PATCH", p.path, `{"config":{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"CANARY-config"}}}`)
		p.refuses(t, 422, "validation_failed", "POST", "/v2/workspaces", `{"name":"x","config":{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"CANARY-config"}}}`)
		require.Contains(t, faults(p.refuses(t, 400, "invalid_request", "PATCH", config, "nope: 1\n", "Content-Type", yamlType)), `"line":1`)
		p.refuses(t, 400, "invalid_request", "PATCH", config, `{"value":[]}`)
		require.Equal(t, "stale", p.refuses(t, 409, "resource_conflict", "PATCH", config, `{"value":{}}`, "If-Match", first.Header.Get("ETag"))["reason"])
		require.NotContains(t, p.does(t, 200, "PATCH", config, `{"schema":null}`).json(t), "schema")
	})
	t.Run("a dry run refuses what is refused", func(t *testing.T) {
		declared := `{"schema":{"key":{"type":"string","secret":true}},"value":{"key":"CANARY-config"}}`
		for _, at := range []struct{ method, path, body, field string }{
			{"PATCH", config, declared, "value.key"},
			{"PATCH", p.path, `{"config":` + declared + `}`, "config.value.key"},
			{"POST", "/v2/workspaces", `{"name":"x","config":` + declared + `}`, "config.value.key"},
		} {
			got := p.verdict(t, at.method, at.path, at.body)
			require.Len(t, got["errors"], 1)
			require.Equal(t, at.field, got["errors"].([]any)[0].(map[string]any)["field"])
		}
		for path, body := range map[string]string{
			config: `{"value":{"size":"huge"}}`, p.path: `{"name":"Dry"}`,
		} {
			require.Empty(t, p.verdict(t, "PATCH", path, body)["errors"])
		}
		require.Empty(t, p.verdict(t, "POST", "/v2/workspaces", `{"name":"Dry"}`)["errors"])
		rules := `{"authorizations":{"roles":{},"rules":[{"role":"nobody","action":"read","subject":"pages"}]}}`
		require.NotEmpty(t, p.verdict(t, "PUT", p.path+"/security", rules)["errors"])
		p.refuses(t, 422, "validation_failed", "PUT", p.path+"/security", rules)
	})
	t.Run("a literal cannot be called secret where it stands", func(t *testing.T) {
		p.does(t, 200, "PATCH", config, `{"schema":null,"value":{"key":"shown-before"}}`)
		p.refuses(t, 422, "validation_failed", "PATCH", config, `{"schema":{"key":{"type":"string","secret":true}}}`)
	})
	s.stop(t)
	var types []string
	for _, ev := range stored(t, s.dir, domain.State) {
		switch name := ev.Data.EventType(); name {
		case "workspaces.configured", "workspaces.blocks.updated":
			types = append(types, name[strings.LastIndexByte(name, '.')+1:])
		}
	}
	require.Equal(t, []string{"updated", "updated", "updated", "updated", "configured", "configured", "configured", "configured", "configured"}, types)
	requireNoSecret(t, s.dir, "CANARY-config")
}

// verdict is the answer to a dry run. The released document tells of none for a
// workspace and its security, so that it is not held to it.
func (p place) verdict(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	got := p.s.sendAs(t, method, path+"?dryRun=true", "application/json", p.me, body)
	require.Equal(t, 200, got.StatusCode, "%s", got.body)
	return got.json(t)
}

// While a workspace is locked none of its content changes; what is no content
// does.
func TestALockKeepsContent(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	p.does(t, 201, "POST", p.path+"/automations", `{"name":"A","slug":"a","do":[]}`)
	page := p.does(t, 201, "POST", p.path+"/pages", `{"name":"P","slug":"p"}`).json(t)["id"].(string)
	p.does(t, 201, "PUT", p.path+"/blocks/B", `{"name":"B"}`)
	friend := p.as(s.person(t, "friend")).userID(t)
	p.does(t, 200, "POST", p.path+"/writeLock", `{"reason":"holidays"}`)
	for _, row := range []struct{ method, path, body string }{
		{"POST", p.path + "/automations", `{"name":"B","do":[]}`},
		{"PATCH", p.path + "/automations/a", `{"name":"B","do":[]}`},
		{"PUT", p.path + "/automations/a", `{"name":"B","do":[]}`},
		{"DELETE", p.path + "/automations/a", ""},
		{"POST", p.path + "/pages", `{"name":"B"}`},
		{"PATCH", p.path + "/pages/p", `{"name":"B"}`},
		{"DELETE", p.path + "/pages/p", ""},
		{"PUT", p.path + "/blocks/B", `{"name":"C"}`},
		{"DELETE", p.path + "/blocks/B", ""},
		{"PATCH", p.path + "/config", `{"value":{"a":1}}`},
		{"POST", "/v2/pages/" + page + "/permissions", `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`},
	} {
		details := p.refuses(t, http.StatusLocked, "resource_locked", row.method, row.path, row.body)
		require.Equal(t, "holidays", details["reason"])
	}
	p.does(t, 200, "PATCH", p.path+"/automations/a?dryRun=true", `{"name":"B","do":[]}`)
	p.does(t, 200, "POST", "/v2/pages/"+page+"/permissions", `{"target":{"id":"`+friend+`"},"permissions":{"policies":{"read":true}}}`)
	p.does(t, 200, "PATCH", p.path+"/security/secrets", `{"k":{"value":"v"}}`)
	p.does(t, 200, "DELETE", p.path+"/writeLock", "")
	p.does(t, 200, "PATCH", p.path+"/automations/a", `{"name":"B","do":[]}`)
}

func TestSchemasAreForEverybody(t *testing.T) {
	t.Parallel()
	s := newService(t).start(t)
	p := place{s: s}
	for _, name := range []string{"index", "security", "automation", "page", "block", "import"} {
		got := p.does(t, 200, "GET", "/v2/schemas/"+name, "")
		require.Equal(t, "/v2/schemas/"+name, got.json(t)["$id"])
		require.Contains(t, got.Header.Get("Cache-Control"), "public")
		p.does(t, 304, "GET", "/v2/schemas/"+name, "", "If-None-Match", got.Header.Get("ETag"))
	}
	require.Equal(t, "schema", p.refuses(t, 404, "resource_not_found", "GET", "/v2/schemas/nope", "")["resource"])
}
