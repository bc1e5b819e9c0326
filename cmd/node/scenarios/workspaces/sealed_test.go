package workspaces_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
)

// Secret settings are nowhere in clear: not in an answer, an event, the log or a
// file.
func TestSecretSettingsOfInstancesAreSealed(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	id := m.mailer()
	m.publish(m.ada, id, "mail")
	const canary, second = "canary-instance-token-1", "canary-instance-token-2"
	path := m.shop(`{"sender":"x","token":"` + canary + `"}`)
	var shown strings.Builder
	config := func(method, at, body string) map[string]any {
		t.Helper()
		got := m.Call(t, method, path+"/apps/post"+at, m.bob, body)
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
		shown.Write(got.Body)
		found := got.JSON(t)
		if inner, ok := found["config"].(map[string]any); ok {
			found = inner
			if value, ok := inner["value"].(map[string]any); ok {
				found = value
			}
		}
		return found
	}
	masked := map[string]any{"sender": "x", "token": "********"}
	require.Equal(t, masked, config("GET", "", ""))
	require.Equal(t, masked, config("GET", "/config", ""))
	require.Equal(t, masked, config("PATCH", "", `{"config":{"sender":"x","token":"********"}}`))
	require.Equal(t, masked, config("PATCH", "", `{"disabled":true}`))
	require.Equal(t, masked, config("PATCH", "/config", `{"token":"`+canary+`"}`), "the same again")
	require.Equal(t, map[string]any{"token": "********"}, config("PATCH", "/config", `{"sender":null}`))
	require.Equal(t, map[string]any{"token": "{{secret.mail}}"}, config("PATCH", "/config", `{"token":"{{secret.mail}}"}`), "where a secret is, is none")
	require.Equal(t, map[string]any{"token": "********"}, config("PATCH", "/config", `{"token":"{{secret.mail}} `+second+`"}`))
	text := m.Get(t, path+"/apps/post", nodetest.WithHeader(m.bob, "Accept", "application/yaml"))
	shown.Write(text.Body)
	require.Equal(t, "slug: post\nappSlug: mail\ndisabled: true\nconfig:\n  token: '********'\n", string(text.Body))
	shown.Write(m.Get(t, path, m.bob).Body)
	require.NotContains(t, config("PATCH", "", `{"config":{"sender":"y"}}`), "token", "left out, it is gone")

	// What was stored before the app called it secret is masked from then on, and
	// sealed by the next change.
	config("PATCH", "/config", `{"pin":"1234"}`)
	m.Must(t, "PATCH", "/v2/workspaces/"+id, m.ada, `{"config":{"schema":{"sender":{"type":"string"},"pin":{"type":"string","secret":true}}}}`)
	m.publish(m.ada, id, "mail")
	require.Equal(t, "********", config("GET", "/config", "")["pin"])
	require.Equal(t, "********", config("PATCH", "/config", `{"pin":"********","sender":"z"}`)["pin"])
	m.Must(t, "DELETE", "/v2/apps/mail", m.ada, "")
	require.Equal(t, map[string]any{"pin": "********", "sender": "zz"}, config("PATCH", "/config", `{"sender":"zz"}`), "also when its app has vanished")

	// Another app does not get what was not meant for it.
	other := m.workspace(m.eve, `{"name":"Thief","description":"d","photo":"/p.png","config":{"schema":{"pin":{"type":"string"},"additionalProperties":true}}}`)
	m.publish(m.eve, other, "thief")
	require.NotContains(t, config("PATCH", "", `{"appSlug":"thief"}`), "pin")
	m.Stop(t)
	installs := 0
	for _, ev := range nodetest.StoredEvents(t, m.Dir, domain.State) {
		body, err := json.Marshal(ev)
		require.NoError(t, err)
		nodetest.RequireNoSecretIn(t, "an event", string(body), canary, second)
		if strings.HasPrefix(ev.Data.EventType(), "workspaces.apps.") {
			installs++
			payload, err := json.Marshal(shownPayload(ev.Data))
			require.NoError(t, err)
			require.NotContains(t, string(payload), "sealed")
		}
	}
	require.Equal(t, 10, installs, "what changed nothing recorded nothing")
	nodetest.RequireNoSecretIn(t, "an answer", shown.String(), canary, second)
	nodetest.RequireNoSecretIn(t, "the log", m.Log.String(), canary, second)
	nodetest.RequireNoSecret(t, m.Dir, canary, second)
}
