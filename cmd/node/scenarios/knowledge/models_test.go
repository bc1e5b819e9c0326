package knowledge_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/llm/fakemodel"
)

// startModels starts a model server, and returns the settings of a service that uses it.
func startModels(t *testing.T) (*fakemodel.Server, []string) {
	t.Helper()
	fake := fakemodel.New()
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	return fake, []string{
		"LLM_BASE_URL=" + server.URL + "/v1", "LLM_API_KEY=" + fakemodel.Key, "LLM_MODEL=" + fakemodel.ChatModel, "LLM_EMBEDDING_MODEL=" + fakemodel.EmbeddingModel,
	}
}

func TestModelsOfWorkspaces(t *testing.T) {
	t.Parallel()
	_, env := startModels(t)
	address := strings.TrimPrefix(env[0], "LLM_BASE_URL=")
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_HOSTS=127.0.0.1").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	editor := p.As(s.NewUser(t, "editor"))
	p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
	list, test := p.Path+"/models", p.Path+"/models/test"

	require.Empty(t, p.Do(t, 200, "GET", list, "").List(t), "there is no provider")
	require.Equal(t, "no_model", p.RequireRefusal(t, 409, "resource_conflict", "POST", test, `{"model":"x"}`)["reason"])

	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","slug":"faq"}`)
	require.Equal(t, "no_model", p.RequireRefusal(t, 409, "resource_conflict", "POST", p.Path+"/knowledgeBases/faq/ask", `{"question":"x"}`)["reason"])
	p.Do(t, 201, "POST", p.Path+"/agents", `{"name":"Early","instructions":"x"}`)
	require.Equal(t, "no_model", p.RequireRefusal(t, 409, "resource_conflict", "POST", p.Path+"/agents/early/messages", `{"text":"x"}`)["reason"])

	provider := func(key string) string {
		return `{"models":{"providers":{"own":{"baseUrl":"` + address + `","apiKey":"` + key + `"}},"defaults":{"chat":"own/fake-chat"}}}`
	}
	faults := nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "PATCH", p.Path, provider("sk-canary-1234")))
	require.Contains(t, faults, "models.providers.own.apiKey")
	require.NotContains(t, faults, "canary")
	editor.RequireRefusal(t, 403, "permission_denied", "PATCH", p.Path, provider("{{secret.LLM}}"))
	const leaky = "https://user:sk-canary-1234@llm.example.com/v1"
	for _, refused := range [][]string{
		{"PATCH", p.Path, `{"models":{"providers":{"own":{"baseUrl":"` + leaky + `"}}}}`, "models.providers.own.baseUrl"},
		{"PATCH", p.Path + "/agents/early", `{"tools":[{"mcp":{"url":"` + leaky + `"}}]}`, "tools[0].mcp.url"},
	} {
		got := p.Send(t, refused[0], refused[1], refused[2])
		require.Equal(t, 422, got.StatusCode, "%s", got.Body)
		require.Contains(t, string(got.Body), refused[3])
		require.NotContains(t, string(got.Body), "canary")
	}
	leaked := s.Upload(t, p.Path+"/import", p.Auth, nodetest.ZipOf(t, map[string]string{
		"index.yml":       "name: Shop\nslug: shop\n",
		"agents/leak.yml": "slug: leak\nname: Leak\ninstructions: x\ntools:\n  - mcp:\n      url: " + leaky + "\n",
	}), false)
	require.Contains(t, string(leaked.Body), "agents/leak.yml")
	require.NotContains(t, string(leaked.Body), "canary")
	p.RequireRefusal(t, 404, "resource_not_found", "GET", p.Path+"/agents/leak", "")

	p.Do(t, 200, "PATCH", p.Path, provider("{{secret.LLM}}"))
	missing := p.Do(t, 200, "GET", list, "").List(t)
	require.Empty(t, missing, "its secret is missing")
	require.Equal(t, "secret_missing", p.RequireRefusal(t, 422, "validation_failed", "POST", test, `{"model":"own/fake-chat"}`)["reason"])
	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"LLM":{"value":"sk-canary-1234"}}`)
	got := p.Do(t, 200, "POST", test, `{"model":"own/fake-chat"}`).JSON(t)
	require.Equal(t, false, got["ok"])
	require.Equal(t, "model_auth_failed", got["error"].(map[string]any)["reason"])
	require.Contains(t, got["error"].(map[string]any)["message"], "REDACTED")

	p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"LLM":{"value":"`+fakemodel.Key+`"}}`)
	models := editor.Do(t, 200, "GET", list, "").List(t)
	require.Equal(t, map[string]any{"id": "fake-chat", "provider": "own", "kind": "chat", "tools": true, "origin": "workspace", "default": true}, models[0])
	require.Equal(t, []any{"fake-chat", "fake-embed"}, nodetest.Fields(models, "id"))
	require.Equal(t, true, editor.Do(t, 200, "POST", test, `{"model":"fake-chat"}`).JSON(t)["ok"])
	got = p.Do(t, 200, "POST", test, `{"model":"own/fake-embed"}`).JSON(t)
	require.Equal(t, 64.0, got["dimensions"])
	p.RequireRefusal(t, 422, "validation_failed", "POST", test, `{"model":"nope"}`)
	p.RequireRefusal(t, 400, "missing_parameter", "POST", test, `{}`)
	p.As(nil).RequireRefusal(t, 401, "missing_token", "GET", list, "")

	faq, agents := p.Path+"/knowledgeBases/faq", p.Path+"/agents"
	require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "PATCH", faq, `{"answer":{"model":"own/nope"}}`)), "answer.model")
	require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "PATCH", faq, `{"answer":{"model":"own/fake-embed"}}`)), "answer.model")
	require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", agents, `{"name":"A","instructions":"x","model":"own/nope"}`)), "model")
	p.Do(t, 200, "PATCH", faq, `{"answer":{"model":"own/fake-chat"}}`)
	p.Do(t, 201, "POST", agents, `{"name":"A","instructions":"x","model":"fake-chat"}`)
	imported := s.Upload(t, p.Path+"/import", p.Auth, nodetest.ZipOf(t, map[string]string{
		"index.yml":           "name: Models\nslug: models\nmodels:\n  providers:\n    own:\n      baseUrl: " + address + "\n      apiKey: '{{secret.LLM}}'\n  defaults:\n    chat: own/fake-chat\n",
		"knowledge/other.yml": "slug: other\nname: Other\nanswer:\n  model: own/gone\n",
		"agents/b.yml":        "slug: b\nname: B\ninstructions: x\nmodel: own/gone\n",
	}), false)
	require.Equal(t, 200, imported.StatusCode, "%s", imported.Body)
	warnings := nodetest.AsMaps(imported.JSON(t)["warnings"])
	require.Equal(t, []any{"model_missing", "model_missing"}, nodetest.Fields(warnings, "err"), "%s", imported.Body)
	p.Do(t, 200, "PATCH", p.Path+"/knowledgeBases/other", `{"name":"What is stored may stay"}`)

	require.Equal(t, "{{secret.LLM}}", nodetest.ObjectAt(nodetest.ObjectAt(nodetest.ObjectAt(p.Do(t, 200, "GET", p.Path, "").JSON(t), "models"), "providers"), "own")["apiKey"])
	nodetest.RequireSecretsHidden(t, p, "sk-canary-1234", fakemodel.Key)
}
