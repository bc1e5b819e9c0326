package node_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
)

// A secret is set, used and removed; nobody reads it back, and it is nowhere in
// clear: not in an event, an answer, a log line or a file.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const canary = "CANARY-7f3a9c"
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	editor, admin, stranger := p.as(s.person(t, "editor")), p.as(bearer(s.admin(t))), p.as(s.person(t, "stranger"))
	p.does(t, 200, "POST", p.path+"/permissions", `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
	all := p.path + "/security/secrets"
	var shown strings.Builder
	does := func(who place, status int, method, path, body string, headers ...string) answer {
		t.Helper()
		got := who.does(t, status, method, path, body, headers...)
		shown.Write(got.body)
		return got
	}
	names := func(got answer) (list []string) {
		for _, name := range []string{"api", "db.pass", "svc_limit", "third"} {
			if _, ok := got.json(t)[name]; ok {
				list = append(list, name)
			}
		}
		return list
	}

	require.JSONEq(t, `{}`, string(does(p, 200, "GET", all, "").body))
	made := does(p, 200, "PATCH", all, `{"api":{"value":"`+canary+`-1","description":"for the shop"},"db.pass":{"value":"`+canary+`-2"}}`)
	api := made.json(t)["api"].(map[string]any)
	require.Equal(t, "for the shop", api["description"])
	require.NotEmpty(t, api["createdAt"])
	require.Equal(t, p.userID(t), api["updatedBy"])
	require.NotContains(t, api, "value")
	require.NotContains(t, api, "sealed")
	text, err := s.node.Resolve(t.Context(), p.id, "Bearer {{secret.api}}")
	require.NoError(t, err)
	require.Equal(t, "Bearer "+canary+"-1", text)

	t.Run("who may", func(t *testing.T) {
		does(editor, 403, "GET", all, "")
		does(editor, 403, "PATCH", all, `{"x":{"value":"`+canary+`"}}`)
		require.Equal(t, "workspace_access_denied", does(stranger, 403, "GET", all, "").code(t))
		require.Equal(t, "permission_denied", does(p, 403, "PATCH", all, `{"svc_limit":{"value":"`+canary+`"}}`).code(t), "those of the platform are for super admins")
		does(admin, 200, "PATCH", all, `{"svc_limit":{"value":"`+canary+`-3"}}`)
		require.Equal(t, []string{"api", "db.pass"}, names(does(p, 200, "GET", all, "")))
		require.Equal(t, []string{"api", "db.pass", "svc_limit"}, names(does(admin, 200, "GET", all, "")))
		does(p, 403, "DELETE", all+"/svc_limit", "")
		_, err := s.node.Resolve(t.Context(), p.id, "{{secret.svc_limit}}")
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
			require.NotContains(t, string(got.body), "CANARY", "%.100s", body)
		}
		does(p, http.StatusUnsupportedMediaType, "PATCH", all, "a: {value: "+canary+"}", "Content-Type", yamlType)
	})
	t.Run("replaced and removed", func(t *testing.T) {
		require.Equal(t, []string{"api", "third"}, names(does(p, 200, "PUT", all, `{"api":{"value":"`+canary+`-4"},"third":{"value":"`+canary+`-5"}}`)), "db.pass went")
		require.Equal(t, []string{"api", "svc_limit", "third"}, names(does(admin, 200, "GET", all, "")), "the platform's own stay")
		text, err := s.node.Resolve(t.Context(), p.id, "{{secret.api}}")
		require.NoError(t, err)
		require.Equal(t, canary+"-4", text)
		require.JSONEq(t, `{"name":"third"}`, string(does(p, 200, "DELETE", all+"/third", "").body))
		require.Equal(t, "secret", p.refuses(t, 404, "resource_not_found", "DELETE", all+"/third", "")["resource"])
	})
	for _, path := range []string{p.path, p.path + "/config", p.path + "/security", "/v2/workspaces", "/sys/config"} {
		does(admin, 200, "GET", path, "")
	}
	shown.Write(s.sendAs(t, "GET", p.path, "", http.Header{"Authorization": admin.me["Authorization"], "Accept": {yamlType}}, "").body)
	requireUntold(t, "an answer", shown.String(), "CANARY")
	s.stop(t)

	var told []string
	var events strings.Builder
	for _, log := range domain.Logs() {
		for _, ev := range stored(t, s.dir, log) {
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
	requireUntold(t, "an event", events.String(), "CANARY")
	requireUntold(t, "the log", s.log.String(), "CANARY")
	requireNoSecret(t, s.dir, canary)
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
