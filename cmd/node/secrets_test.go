package node_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/workspace"
)

// A secret is set, used and removed; nobody reads it back, and it is nowhere in
// clear: not in an event, an answer, a log line or a file.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const canary = "CANARY-7f3a9c"
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	editor, admin, stranger := p.As(s.NewUser(t, "editor")), p.As(nodetest.Bearer(s.SignInAdmin(t))), p.As(s.NewUser(t, "stranger"))
	p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
	all := p.Path + "/security/secrets"
	var shown strings.Builder
	does := func(who nodetest.Workspace, status int, method, path, body string, headers ...string) nodetest.Answer {
		t.Helper()
		got := who.Do(t, status, method, path, body, headers...)
		shown.Write(got.Body)
		return got
	}
	names := func(got nodetest.Answer) (list []string) {
		for _, name := range []string{"api", "db.pass", "svc_limit", "third"} {
			if _, ok := got.JSON(t)[name]; ok {
				list = append(list, name)
			}
		}
		return list
	}

	require.JSONEq(t, `{}`, string(does(p, 200, "GET", all, "").Body))
	made := does(p, 200, "PATCH", all, `{"api":{"value":"`+canary+`-1","description":"for the shop"},"db.pass":{"value":"`+canary+`-2"}}`)
	api := made.JSON(t)["api"].(map[string]any)
	require.Equal(t, "for the shop", api["description"])
	require.NotEmpty(t, api["createdAt"])
	require.Equal(t, p.UserID(t), api["updatedBy"])
	require.NotContains(t, api, "value")
	require.NotContains(t, api, "sealed")
	text, err := s.Node.Resolve(t.Context(), p.ID, "Bearer {{secret.api}}")
	require.NoError(t, err)
	require.Equal(t, "Bearer "+canary+"-1", text)

	t.Run("who may", func(t *testing.T) {
		does(editor, 403, "GET", all, "")
		does(editor, 403, "PATCH", all, `{"x":{"value":"`+canary+`"}}`)
		require.Equal(t, "workspace_access_denied", does(stranger, 403, "GET", all, "").Code(t))
		require.Equal(t, "permission_denied", does(p, 403, "PATCH", all, `{"svc_limit":{"value":"`+canary+`"}}`).Code(t), "those of the platform are for super admins")
		does(admin, 200, "PATCH", all, `{"svc_limit":{"value":"`+canary+`-3"}}`)
		require.Equal(t, []string{"api", "db.pass"}, names(does(p, 200, "GET", all, "")))
		require.Equal(t, []string{"api", "db.pass", "svc_limit"}, names(does(admin, 200, "GET", all, "")))
		does(p, 403, "DELETE", all+"/svc_limit", "")
		_, err := s.Node.Resolve(t.Context(), p.ID, "{{secret.svc_limit}}")
		require.Equal(t, domain.CodeValidation, domain.CodeOf(err))
	})
	t.Run("what is no secret", func(t *testing.T) {
		for body, status := range map[string]int{
			`{"a":{"value":""}}`: 422, `{"a b":{"value":"` + canary + `"}}`: 422, `{"a":{"value":"` + strings.Repeat(canary, 6000) + `"}}`: 422,
			`{"a":{"description":"x"}}`: 400, `{"a":"` + canary + `"}`: 400, `{"a":{"value":"x","valeu":"` + canary + `"}}`: 400,
			`{"a":{"value":1}}`: 400, `["` + canary + `"]`: 400, `{"a":{"value":"` + canary + `}`: 400, `{"a":null}`: 400,
			`{"a":{"value":"x","description":"two\nlines"}}`: 422,
		} {
			got := does(p, status, "PATCH", all, body)
			require.NotContains(t, string(got.Body), "CANARY", "%.100s", body)
		}
		does(p, http.StatusUnsupportedMediaType, "PATCH", all, "a: {value: "+canary+"}", "Content-Type", nodetest.YAMLType)
	})
	t.Run("replaced and removed", func(t *testing.T) {
		require.Equal(t, []string{"api", "third"}, names(does(p, 200, "PUT", all, `{"api":{"value":"`+canary+`-4"},"third":{"value":"`+canary+`-5"}}`)), "db.pass went")
		require.Equal(t, []string{"api", "svc_limit", "third"}, names(does(admin, 200, "GET", all, "")), "the platform's own stay")
		text, err := s.Node.Resolve(t.Context(), p.ID, "{{secret.api}}")
		require.NoError(t, err)
		require.Equal(t, canary+"-4", text)
		require.JSONEq(t, `{"name":"third"}`, string(does(p, 200, "DELETE", all+"/third", "").Body))
		require.Equal(t, "secret", p.RequireRefusal(t, 404, "resource_not_found", "DELETE", all+"/third", "")["resource"])
	})
	for _, path := range []string{p.Path, p.Path + "/config", p.Path + "/security", "/v2/workspaces", "/sys/config"} {
		does(admin, 200, "GET", path, "")
	}
	shown.Write(s.SendAs(t, "GET", p.Path, "", http.Header{"Authorization": admin.Auth["Authorization"], "Accept": {nodetest.YAMLType}}, "").Body)
	nodetest.RequireNoSecretIn(t, "an answer", shown.String(), "CANARY")
	s.Stop(t)

	var told []string
	var events strings.Builder
	for _, log := range domain.Logs() {
		for _, ev := range nodetest.StoredEvents(t, s.Dir, log) {
			whole, err := json.Marshal(ev)
			require.NoError(t, err)
			events.Write(whole)
			if changed, ok := ev.Data.(workspace.SecretsUpdated); ok {
				payload, err := json.Marshal(changed.Payload())
				require.NoError(t, err)
				told = append(told, string(payload))
			}
		}
	}
	require.Equal(t, []string{
		`{"created":["api","db.pass"],"updated":[],"deleted":[]}`, `{"created":["svc_limit"],"updated":[],"deleted":[]}`,
		`{"created":["third"],"updated":["api"],"deleted":["db.pass"]}`, `{"created":[],"updated":[],"deleted":["third"]}`,
	}, canonical(t, told))
	nodetest.RequireNoSecretIn(t, "an event", events.String(), "CANARY")
	nodetest.RequireNoSecretIn(t, "the log", s.Log.String(), "CANARY")
	nodetest.RequireNoSecret(t, s.Dir, canary)
}

// canonical returns payloads with their keys in one order.
func canonical(t *testing.T, payloads []string) []string {
	t.Helper()
	for i, text := range payloads {
		var names struct {
			Created []string `json:"created"`
			Updated []string `json:"updated"`
			Deleted []string `json:"deleted"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &names))
		body, err := json.Marshal(names)
		require.NoError(t, err)
		payloads[i] = string(body)
	}
	return payloads
}
