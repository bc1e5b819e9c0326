package knowledge_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// newWorkspace returns a new workspace of the owner of a service.
func newWorkspace(t *testing.T, s *nodetest.OwnedService, name string) nodetest.Workspace {
	t.Helper()
	id := s.Must(t, "POST", "/v2/workspaces", s.Owner, `{"name":"`+name+`"}`)["id"].(string)
	return nodetest.Workspace{Service: s.Service, Path: "/v2/workspaces/" + id, ID: id, Auth: s.Owner}
}

// Agents are content: they are saved, published, shared, exported and imported.
func TestAgents(t *testing.T) {
	t.Parallel()
	s := nodetest.SharedService(t)
	p := newWorkspace(t, s, "Agents")
	all := p.Path + "/agents"
	one := all + "/helper"
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","slug":"faq"}`)

	made := p.Do(t, 201, "POST", all, `{"name":"Helper","instructions":"You help.","labels":["mcp"],"knowledge":[{"base":"faq","topK":6},{"base":"gone"}],`+
		`"tools":[{"automation":"refund","arguments":{"currency":"EUR"}}],"public":true,"published":true}`)
	agent := made.JSON(t)
	t.Run("one is shown with its defaults and warnings", func(t *testing.T) {
		require.Regexp(t, `^agt_[0-9A-Z]{26}$`, agent["id"])
		require.Equal(t, []any{0.2, 1000.0, map[string]any{"messages": 20.0}, false, nil}, []any{agent["temperature"], agent["maxTokens"], agent["memory"], agent["public"], agent["published"]})
		require.Equal(t, map[string]any{"steps": 10.0, "toolCalls": 20.0, "seconds": 120.0, "tokens": 50000.0}, agent["limits"])
		require.Equal(t, map[string]any{"base": "faq", "topK": 6.0, "when": "tool", "access": "caller"}, agent["knowledge"].([]any)[0])
		require.Contains(t, fmt.Sprint(agent["warnings"]), `"gone"`)
		require.Contains(t, fmt.Sprint(agent["warnings"]), `refund`)
		require.Len(t, p.DryRun(t, "PATCH", one, `{"knowledge":[{"base":"faq"}]}`)["warnings"], 1)
		text := p.Do(t, 200, "GET", one, "", "Accept", nodetest.YAMLType)
		require.Equal(t, "slug: helper\nname: Helper\nlabels:\n  - mcp\ninstructions: You help.\nknowledge:\n  - base: faq\n  - base: gone\ntools:\n  - automation: refund\n    arguments:\n      currency: EUR\n", string(text.Body))
		got := p.Do(t, 200, "GET", one, "")
		back := p.Do(t, 200, "PATCH", one, string(got.Body), "If-Match", got.Header.Get("ETag"))
		require.Equal(t, got.Header.Get("ETag"), back.Header.Get("ETag"), "what was read can be written back")
		shown := p.Do(t, 200, "GET", p.Path, "").JSON(t)["agents"].(map[string]any)["helper"]
		require.NotContains(t, shown, "instructions")
	})
	t.Run("faults are told with their fields", func(t *testing.T) {
		p.RequireRefusal(t, 400, "missing_parameter", "POST", all, `{"name":"x"}`)
		p.RequireRefusal(t, 400, "invalid_request", "POST", all, `{"name":"x","instructions":"x","nope":1}`)
		p.RequireRefusal(t, 409, "resource_already_exists", "POST", all, `{"name":"x","instructions":"x","slug":"helper"}`)
		for field, body := range map[string]string{
			"slug":                               `"slug":"A b"`,
			"temperature":                        `"temperature":3`,
			"memory.messages":                    `"memory":{"messages":201}`,
			"limits.steps":                       `"limits":{"steps":0}`,
			"knowledge[0].filters":               `"knowledge":[{"base":"faq","filters":{"nope":1}}]`,
			"knowledge[0].when":                  `"knowledge":[{"base":"faq","when":"never"}]`,
			"tools[0]":                           `"tools":[{"name":"x"}]`,
			"tools[1].name":                      `"tools":[{"automation":"a/b"},{"automation":"a b"}]`,
			"tools[0].mcp.headers.authorization": `"tools":[{"mcp":{"url":"https://example.com/","headers":{"authorization":"Bearer abc"}}}]`,
		} {
			require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"name":"x","instructions":"x",`+body+`}`)), `"`+field+`"`, body)
		}
	})
	t.Run("publishing freezes the draft", func(t *testing.T) {
		published := p.Do(t, 200, "POST", one+"/publish", "").JSON(t)["published"].(map[string]any)
		require.Equal(t, []any{1.0, true}, []any{published["number"], published["current"]})
		p.Do(t, 200, "POST", one+"/publish", "")
		require.Contains(t, string(p.Do(t, 200, "GET", one, "", "Accept", nodetest.YAMLType).Body), "\npublished: true\n")
		current := func() any {
			return p.Do(t, 200, "GET", one, "").JSON(t)["published"].(map[string]any)["current"]
		}
		p.Do(t, 200, "PATCH", one, `{"instructions":"You help more."}`)
		require.Equal(t, false, current())
		require.NotContains(t, string(p.Do(t, 200, "GET", one, "", "Accept", nodetest.YAMLType).Body), "published")
		p.Do(t, 200, "PATCH", one, `{"instructions":"You help."}`)
		require.Equal(t, true, current(), "it is what is published again")
		renamed := p.Do(t, 200, "PATCH", one, `{"slug":"aide"}`).JSON(t)
		require.Equal(t, []any{agent["id"], true}, []any{renamed["id"], renamed["published"].(map[string]any)["current"]})
		p.Do(t, 200, "PATCH", all+"/aide", `{"slug":"helper"}`)
		require.Equal(t, []any{"helper"}, nodetest.Fields(p.Do(t, 200, "GET", all+"?published=true", "").List(t), "slug"))
		require.Empty(t, p.Do(t, 200, "GET", all+"?published=false", "").List(t))
		require.NotContains(t, p.Do(t, 200, "POST", one+"/unpublish", "").JSON(t), "published")
		require.Equal(t, 2.0, p.Do(t, 200, "POST", one+"/publish", "").JSON(t)["published"].(map[string]any)["number"])
	})
	t.Run("is content", func(t *testing.T) {
		p.Do(t, 200, "PATCH", one, `{"instructions":"Worse."}`)
		history := p.Do(t, 200, "GET", p.Path+"/history?limit=1", "").List(t)[0]
		require.Equal(t, "workspaces.agents.updated", history["type"])
		p.Do(t, 200, "POST", p.Path+"/undo", nodetest.UndoBody(history["seq"].(string)))
		require.Equal(t, "You help.", p.Do(t, 200, "GET", one, "").JSON(t)["instructions"])
		p.Do(t, 200, "POST", p.Path+"/writeLock", `{"reason":"by hand"}`)
		p.RequireRefusal(t, 423, "resource_locked", "PATCH", one, `{"name":"x"}`)
		p.RequireRefusal(t, 423, "resource_locked", "POST", one+"/unpublish", "")
		p.Do(t, 200, "DELETE", p.Path+"/writeLock", "")
	})
	t.Run("is shared", func(t *testing.T) {
		nobody, friend := p.As(nil), p.As(s.NewUser(t, "friend"))
		nobody.RequireRefusal(t, 401, "missing_token", "GET", one, "")
		friend.RequireRefusal(t, 403, "workspace_access_denied", "GET", one, "")
		friend.RequireRefusal(t, 403, "workspace_access_denied", "PATCH", one, `{"name":"x"}`)
		friend.RequireRefusal(t, 403, "workspace_access_denied", "GET", one+"/permissions", "")
		p.RequireRefusal(t, 422, "validation_failed", "POST", one+"/permissions", `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
		p.RequireRefusal(t, 422, "validation_failed", "POST", one+"/permissions", `{"target":{"email":"friend@example.org"},"permissions":{"policies":{"manage_permissions":true}}}`)
		p.Do(t, 200, "POST", one+"/permissions", `{"target":{"public":true},"permissions":{"policies":{"execute":true}}}`)
		require.Contains(t, string(p.Do(t, 200, "GET", one, "", "Accept", nodetest.YAMLType).Body), "\npublic: true\npublished: true\n", "it is still what is published")
		p.Do(t, 200, "POST", one+"/permissions", `{"target":{"email":"friend@example.org"},"permissions":{"policies":{"read":true,"update":true}}}`)
		require.Equal(t, "Helper", friend.Do(t, 200, "GET", one, "").JSON(t)["name"])
		require.Equal(t, []any{"helper"}, nodetest.Fields(friend.Do(t, 200, "GET", all, "").List(t), "slug"))
		friend.Do(t, 200, "PATCH", one, `{"description":"By a friend"}`)
		friend.RequireRefusal(t, 403, "permission_denied", "DELETE", one, "")
		require.Equal(t, "faq", friend.RequireRefusal(t, 403, "permission_denied", "PATCH", one, `{"knowledge":[{"base":"faq","access":"agent"}]}`)["knowledgeBase"], "they may not read the documents")
		require.Len(t, p.Do(t, 200, "GET", one+"/permissions", "").JSON(t)["result"], 2)
		target := p.Do(t, 200, "GET", one+"/permissions", "").JSON(t)["result"].([]any)[1].(map[string]any)["target"].(map[string]any)["id"].(string)
		p.Do(t, 200, "DELETE", one+"/permissions/"+target, "")
		p.Do(t, 200, "DELETE", one+"/permissions/*", "")
		friend.RequireRefusal(t, 403, "workspace_access_denied", "GET", one, "")
		p.Do(t, 200, "PATCH", one, `{"knowledge":[{"base":"faq","access":"agent"}],"description":null}`)
	})
	t.Run("goes through archives byte for byte", func(t *testing.T) {
		p.Do(t, 200, "POST", one+"/publish", "")
		zip := p.Do(t, 200, "GET", p.Path+"/export", "").Body
		to := newWorkspace(t, s, "Elsewhere")
		require.Equal(t, http.StatusOK, s.Upload(t, to.Path+"/import", s.Owner, string(zip), false).StatusCode)
		there := to.Do(t, 200, "GET", to.Path+"/agents/helper", "").JSON(t)
		require.Equal(t, []any{1.0, true}, []any{there["published"].(map[string]any)["number"], there["published"].(map[string]any)["current"]})
		require.NotEqual(t, agent["id"], there["id"])
		file := unzip(t, zip)["agents/helper.yml"]
		require.Contains(t, file, "published: true")
		require.Equal(t, file, unzip(t, to.Do(t, 200, "GET", to.Path+"/export", "").Body)["agents/helper.yml"])
	})
	t.Run("events tell of each change", func(t *testing.T) {
		p.Do(t, 200, "DELETE", one, "")
		told := p.ListEvents(t, "types=workspaces.agents.*&limit=100").Result.Events
		slices.Reverse(told)
		types := strings.ReplaceAll(strings.Join(nodetest.TypesOf(told), " "), "workspaces.agents.", "")
		require.Equal(t, "created published updated updated updated updated unpublished published updated permissions.shared permissions.shared updated permissions.deleted permissions.deleted updated published deleted", types)
		require.Equal(t, "You help.", told[0].Payload["agent"].(map[string]any)["instructions"])
		require.Equal(t, map[string]any{"slug": "helper", "number": 1.0}, told[1].Payload)
		require.Equal(t, "helper", told[4].Payload["oldSlug"])
		require.Equal(t, map[string]any{"slug": "helper"}, told[len(told)-1].Payload)
	})
}

// Who shares a base shares its documents, too.
func TestSharedKnowledge(t *testing.T) {
	t.Parallel()
	s := nodetest.SharedService(t)
	p := newWorkspace(t, s, "Shared")
	nobody, guest := p.As(nil), p.As(s.NewUser(t, "guest"))
	one := p.Path + "/knowledgeBases/faq"
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","slug":"faq"}`)
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"Other","slug":"other"}`)
	id := p.Do(t, 201, "POST", one+"/documents?wait=30", `{"text":"Within 30 days."}`).JSON(t)["id"].(string)

	refused := func(who nodetest.Workspace, status int, code string) {
		t.Helper()
		for _, path := range []string{"", "/documents", "/documents/" + id, "/documents/" + id + "/content", "/permissions"} {
			who.RequireRefusal(t, status, code, "GET", one+path, "")
		}
		who.RequireRefusal(t, status, code, "POST", one+"/documents", `{"text":"x"}`)
		who.RequireRefusal(t, status, code, "GET", one+"/search?q=days", "")
		for _, path := range []string{one, p.Path + "/knowledgeBases"} {
			who.RequireRefusal(t, status, code, "POST", path+"/search", `{"query":"days"}`)
			who.RequireRefusal(t, status, code, "POST", path+"/ask", `{"question":"When?"}`)
		}
	}
	refused(nobody, 401, "missing_token")
	refused(guest, 403, "workspace_access_denied")
	p.RequireRefusal(t, 422, "validation_failed", "POST", one+"/permissions", `{"target":{"public":true},"permissions":{"policies":{"create":true}}}`)

	p.Do(t, 200, "POST", one+"/permissions", `{"target":{"email":"guest@example.org"},"permissions":{"policies":{"read":true}}}`)
	require.Equal(t, "FAQ", guest.Do(t, 200, "GET", one, "").JSON(t)["name"])
	require.Equal(t, "1", guest.Do(t, 200, "GET", one+"/documents", "").Header.Get("X-Total-Count"))
	require.Equal(t, "Within 30 days.", string(guest.Do(t, 200, "GET", one+"/documents/"+id+"/content", "").Body))
	guest.RequireRefusal(t, 403, "permission_denied", "POST", one+"/documents", `{"text":"x"}`)
	for _, path := range []string{one, p.Path + "/knowledgeBases"} {
		require.EqualValues(t, 1, guest.Do(t, 200, "POST", path+"/search", `{"query":"*"}`).JSON(t)["total"])
	}
	guest.RequireRefusal(t, 403, "permission_denied", "PATCH", one, `{"name":"x"}`)
	guest.RequireRefusal(t, 403, "workspace_access_denied", "GET", p.Path+"/knowledgeBases/other/documents", "")
	guest.RequireRefusal(t, 403, "workspace_access_denied", "GET", p.Path, "")

	p.Do(t, 200, "POST", one+"/permissions", `{"target":{"email":"guest@example.org"},"permissions":{"policies":{"update":true}}}`)
	mine := guest.Do(t, 201, "POST", one+"/documents", `{"text":"x"}`).JSON(t)["id"].(string)
	guest.Do(t, 200, "PATCH", one+"/documents/"+mine, `{"title":"Mine"}`)
	guest.Do(t, 200, "DELETE", one+"/documents/"+mine, "")

	p.Do(t, 200, "POST", one+"/permissions", `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
	require.Equal(t, "Within 30 days.", string(nobody.Do(t, 200, "GET", one+"/documents/"+id+"/content", "").Body))
	require.NotContains(t, string(p.Do(t, 200, "GET", one, "", "Accept", nodetest.YAMLType).Body), "public", "it is no content")
	require.EqualValues(t, 1, nobody.Do(t, 200, "GET", one+"/search?q=days", "").JSON(t)["total"])
	for _, path := range []string{one, p.Path + "/knowledgeBases"} {
		require.EqualValues(t, 1, nobody.Do(t, 200, "POST", path+"/search", `{"query":"days"}`).JSON(t)["total"])
		require.Equal(t, "no_model", nobody.RequireRefusal(t, 409, "resource_conflict", "POST", path+"/ask", `{"question":"days"}`)["reason"])
	}
	nobody.RequireRefusal(t, 401, "missing_token", "POST", p.Path+"/knowledgeBases/other/search", `{"query":"days"}`)
	nobody.RequireRefusal(t, 401, "missing_token", "POST", one+"/documents", `{"text":"x"}`)
	p.Do(t, 200, "DELETE", one+"/permissions/*", "")
	nobody.RequireRefusal(t, 401, "missing_token", "GET", one+"/documents", "")
	nobody.RequireRefusal(t, 401, "missing_token", "POST", one+"/search", `{"query":"days"}`)

	told := p.ListEvents(t, "types=workspaces.knowledgeBases.permissions.*&limit=100").Result.Events
	slices.Reverse(told)
	require.Equal(t, "shared shared shared deleted", strings.ReplaceAll(strings.Join(nodetest.TypesOf(told), " "), "workspaces.knowledgeBases.permissions.", ""))
	require.Equal(t, map[string]any{"policies": map[string]any{"read": true}}, told[0].Payload["permissions"])
}

// A disabled agent is not there but for those who may change it, published or not.
func TestDisabledAgents(t *testing.T) {
	t.Parallel()
	_, env := startModels(t)
	s := nodetest.NewServiceWithAccounts(t, append(env, "RATE_LIMIT_ASK_MODELS=1000")...).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	visitor, one := p.As(s.NewUser(t, "visitor")), p.Path+"/agents/helper"
	p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Helper","instructions":"You help.","labels":["mcp"],"disabled":true}`)
	p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Other","instructions":"You help.","labels":["mcp"]}`)
	p.Do(t, 200, "POST", p.Path+"/agents/other/publish", "")
	for _, slug := range []string{"helper", "other"} {
		p.Do(t, 200, "POST", p.Path+"/agents/"+slug+"/permissions", `{"target":{"email":"visitor@example.org"},"permissions":{"policies":{"execute":true}}}`)
	}
	const hello = `{"text":"say:hello"}`
	offered := func() string {
		t.Helper()
		return string(visitor.Do(t, 200, "POST", p.Path+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Accept", "application/json, text/event-stream").Body)
	}
	visitor.RequireRefusal(t, 404, "resource_not_found", "POST", one+"/messages", hello)
	p.Do(t, 200, "POST", one+"/messages", hello)

	p.Do(t, 200, "PATCH", one, `{"disabled":false}`)
	require.Equal(t, "not_published", visitor.RequireRefusal(t, 409, "resource_conflict", "POST", one+"/messages", hello)["reason"])
	p.Do(t, 200, "POST", one+"/publish", "")
	visitor.Do(t, 200, "POST", one+"/messages", hello)
	require.Contains(t, offered(), "agent_helper")

	disabled := p.Do(t, 200, "PATCH", one, `{"disabled":true}`).JSON(t)
	require.Equal(t, true, disabled["published"].(map[string]any)["current"], "what is published does not change")
	visitor.RequireRefusal(t, 404, "resource_not_found", "POST", one+"/messages", hello)
	visitor.RequireRefusal(t, 404, "resource_not_found", "POST", one+"/messages", `{"text":"x","draft":true}`)
	require.NotContains(t, offered(), "agent_helper")
	p.Do(t, 200, "POST", one+"/messages", hello)

	p.Do(t, 200, "PATCH", one, `{"disabled":false}`)
	visitor.Do(t, 200, "POST", one+"/messages", hello)
	require.Contains(t, offered(), "agent_helper")
}

// What an agent cannot offer to its model is told when it is saved.
func TestFunctionsThatAgentsCannotOffer(t *testing.T) {
	t.Parallel()
	s := nodetest.SharedService(t)
	p := newWorkspace(t, s, "Functions")
	const agent = `{"name":"Helper","instructions":"You help.","tools":[{"automation":"off"}]}`
	addAutomation(t, p, "off", `"disabled":true,`)
	require.Contains(t, fmt.Sprint(p.DryRun(t, "POST", p.Path+"/agents", agent)["warnings"]), `"off" is disabled`)
	require.Contains(t, fmt.Sprint(p.Do(t, 201, "POST", p.Path+"/agents", agent).JSON(t)["warnings"]), `"off" is disabled`)
	problems := func() string {
		t.Helper()
		return string(p.Do(t, 200, "GET", p.Path+"/problems?object=agents/helper", "").Body)
	}
	require.Contains(t, problems(), `tools[0].automation`)
	p.Do(t, 200, "PATCH", p.Path+"/automations/off", `{"disabled":false}`)
	require.Equal(t, `[]`, strings.TrimSpace(problems()))
	require.Empty(t, p.Do(t, 200, "PATCH", p.Path+"/agents/helper", `{"description":"On"}`).JSON(t)["warnings"])

	var tools []string
	for i := range 64 {
		tools = append(tools, fmt.Sprintf(`{"automation":"a-%d"}`, i))
	}
	many := func(when string) string {
		return `{"name":"Many","instructions":"x","knowledge":[{"base":"faq"` + when + `}],"tools":[` + strings.Join(tools, ",") + `]}`
	}
	require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/agents", many(""))), "search_knowledge")
	p.Do(t, 201, "POST", p.Path+"/agents", many(`,"when":"always"`))
}
