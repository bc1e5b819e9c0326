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

	provider := func(key string) string {
		return `{"models":{"providers":{"own":{"baseUrl":"` + address + `","apiKey":"` + key + `"}},"defaults":{"chat":"own/fake-chat"}}}`
	}
	faults := nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "PATCH", p.Path, provider("sk-canary-1234")))
	require.Contains(t, faults, "models.providers.own.apiKey")
	require.NotContains(t, faults, "canary")
	editor.RequireRefusal(t, 403, "permission_denied", "PATCH", p.Path, provider("{{secret.LLM}}"))

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

	require.Equal(t, "{{secret.LLM}}", nodetest.ObjectAt(nodetest.ObjectAt(nodetest.ObjectAt(p.Do(t, 200, "GET", p.Path, "").JSON(t), "models"), "providers"), "own")["apiKey"])
	nodetest.RequireSecretsHidden(t, p, "sk-canary-1234", fakemodel.Key)
}
