package access_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
)

// Section 4.5 and spec 2.4: what is asked, and what is stored and shown.
func TestScopeKey(t *testing.T) {
	for asked, stored := range map[string]string{
		`[{"action":"read","subject":"workspaces"},{"action":"create","subject":"files"}]`:           `[{"action":["read"],"subject":"workspaces","conditions":{"id":"aB3dE6g"}},{"action":["create"],"subject":"files","conditions":{"workspaceId":"aB3dE6g"}}]`,
		`[{"action":["read","update"],"subject":["pages","apps"]}]`:                                  `[{"action":["read","update"],"subject":"pages","conditions":{"workspaceId":"aB3dE6g"}},{"action":["read","update"],"subject":"apps","conditions":{"workspaceId":"aB3dE6g"}}]`,
		`[{"action":"manage","subject":"automations"}]`:                                              `[{"action":["manage"],"subject":"automations","conditions":{"runningWorkspaceId":"aB3dE6g"}}]`,
		`[{"action":"read","subject":"files","conditions":{"public":true,"workspaceId":"zY9xW8v"}}]`: `[{"action":["read"],"subject":"files","conditions":{"public":true,"workspaceId":"aB3dE6g"}}]`,
		`[{"action":["create","read"],"subject":"events","conditions":{"type":"x"}}]`: `[{"action":["read"],"subject":"events","conditions":{"type":"x","source.workspaceId":"aB3dE6g"}},
			  {"action":["create"],"subject":"events","conditions":{"type":"x","source.workspaceId":"aB3dE6g","source.serviceTopic":"topic:runtime:emit"}}]`,
		`[{"action":"manage","subject":"events"}]`: `[{"action":["read"],"subject":"events","conditions":{"source.workspaceId":"aB3dE6g"}},
			  {"action":["create"],"subject":"events","conditions":{"source.workspaceId":"aB3dE6g","source.serviceTopic":"topic:runtime:emit"}}]`,
		`[{"action":"read","subject":"secrets"},{"action":"update","subject":"secrets","conditions":{"name":"git"}}]`: `[{"action":["read"],"subject":"secrets","conditions":{"workspaceId":"aB3dE6g","name":{"$not":{"$regex":"^svc_"}}}},
			  {"action":["update"],"subject":"secrets","conditions":{"workspaceId":"aB3dE6g","name":"git"}}]`,
		`[{"action":"read","subject":"files"},{"action":["create","read"],"subject":"files"}]`: `[{"action":["read","create"],"subject":"files","conditions":{"workspaceId":"aB3dE6g"}}]`,
		`[{"action":"get_usage","subject":"all"}]`:                                             `[{"action":["get_usage"],"subject":"workspaces","conditions":{"id":"aB3dE6g"}}]`,
	} {
		var grants []access.KeyGrant
		require.NoError(t, json.Unmarshal([]byte(asked), &grants))
		rules, err := access.ScopeKey(here, grants)
		require.NoError(t, err)
		got, err := json.Marshal(rules)
		require.NoError(t, err)
		require.JSONEq(t, stored, string(got))

		require.NoError(t, json.Unmarshal(got, &grants), "what was answered may be sent again")
		again, err := access.ScopeKey(here, grants)
		require.NoError(t, err)
		require.Equal(t, rules, again)
	}
}

func TestBadKeyRulesAreNamed(t *testing.T) {
	for asked, field := range map[string]string{
		`[]`:                                   "rules",
		`[{"action":"read"}]`:                  "rules[0].subject",
		`[{"subject":"files"}]`:                "rules[0].action",
		`[{"action":"fly","subject":"files"}]`: "rules[0].action",
		`[{"action":"read","subject":"files"},{"action":"read","subject":"planes"}]`:        "rules[1].subject",
		`[{"action":"read","subject":"files","conditions":{"a":{"$fly":1}}}]`:               "rules[0].conditions.a.$fly",
		`[{"action":"read","subject":"files","conditions":{"workspaceId":{"$regex":"("}}}]`: "rules[0].conditions.workspaceId.$regex",
		`[` + repeat(`{"action":"read","subject":"files"}`, 101) + `]`:                      "rules",
	} {
		var grants []access.KeyGrant
		require.NoError(t, json.Unmarshal([]byte(asked), &grants))
		_, err := access.ScopeKey(here, grants)
		requireFault(t, err, field)
	}
	_, err := access.CompileKey("k", here, []access.KeyRule{{Action: []string{"fly"}, Subject: "files"}})
	requireFault(t, err, "rules[0].action")
}

func repeat(item string, n int) string {
	all := item
	for range n - 1 {
		all += "," + item
	}
	return all
}

func TestAKeyHoldsItsRulesAndWhatEveryoneHas(t *testing.T) {
	w := workspace(t, access.Default(here), sampleShares()...)
	k := key(t, here, grant("read", "workspaces"), grant("create", "events"), grant("manage", "secrets"))
	lone := w.For(access.Principal{Key: k})
	require.True(t, lone.Allows("read", "workspaces", nil))
	require.True(t, lone.Allows("read", "pages", plain("pages")), "as the workspace decides")
	require.True(t, lone.Allows("create", "events", event("x", nil)))
	require.False(t, lone.Allows("create", "files", with("files", here, map[string]any{"mimetype": "text/plain"})), "nobody uploads without a rule")
	require.True(t, lone.Allows("read", "secrets", with("secrets", here, map[string]any{"name": "git"})))
	require.False(t, lone.Allows("read", "secrets", with("secrets", here, map[string]any{"name": "svc_git"})))
	require.False(t, lone.Allows("update", "workspaces", nil))
	require.False(t, lone.Allows("read", "files", plain("files")))
	require.False(t, lone.Allows("read", "workspaces", with("workspaces", there, nil)))

	beside := eve
	beside.Key = k
	require.True(t, w.For(beside).Allows("update", "workspaces", nil), "a key adds to the user's rights")
	require.True(t, w.For(beside).Allows("read", "secrets", plain("secrets")))
	require.False(t, w.For(eve).Allows("read", "secrets", plain("secrets")))

	elsewhere, err := access.Compile(there, access.Default(there))
	require.NoError(t, err)
	r := (&access.Workspace{Policy: elsewhere}).For(access.Principal{Key: k})
	require.False(t, r.IsMember(), "its rights end at its workspace")

	denied := sharedWorkspace(t, `[{"action":"read","subject":"workspaces","inverted":true}]`).For(access.Principal{Key: k})
	require.False(t, denied.Allows("read", "workspaces", nil), "a rule for everyone binds the key")
}

// However a key's rules came to be stored, they end at its workspace.
func TestStoredKeyRulesAreScopedAgain(t *testing.T) {
	k, err := access.CompileKey("k", here, []access.KeyRule{
		{Action: []string{"read"}, Subject: "files"},
		{Action: []string{"read"}, Subject: "pages", Conditions: map[string]any{"workspaceId": there}},
		{Action: []string{"manage"}, Subject: "events"},
	})
	require.NoError(t, err)
	r := sharedWorkspace(t, `[]`).For(access.Principal{Key: k})
	require.True(t, r.Allows("read", "files", plain("files")))
	require.False(t, r.Allows("read", "files", with("files", there, nil)))
	require.True(t, r.Allows("read", "pages", plain("pages")))
	require.False(t, r.Allows("read", "pages", with("pages", there, nil)))
	require.False(t, r.Allows("create", "events", event("x", map[string]any{"source": map[string]any{"serviceTopic": "apikeys.created"}})))
}

func TestNobodyGrantsThroughAKeyWhatTheyDoNotHold(t *testing.T) {
	const rules = `[
		{"action":["read","manage_permissions"],"subject":"workspaces","role":"agent"},
		{"action":"read","subject":"files","role":"agent","conditions":{"public":true}},
		{"action":"update","subject":"files","role":"agent","fields":["name"]},
		{"action":"read","subject":"apps","inverted":true,"conditions":{"slug":"x"}},
		{"action":["read","create"],"subject":"events","role":"agent"},
		{"action":"read","subject":"events","role":"agent","inverted":true,"conditions":{"type":"secret"}},
		{"action":"delete","subject":"files","role":"agent","conditions":{"createdBy":"{{user.id}}"}},
		{"action":"create","subject":"files","role":"agent"},
		{"action":"create","subject":"files","inverted":true,"conditions":{"for":{"$ne":"{{user.id}}"}}}
	]`
	for name, tt := range map[string]struct {
		who   access.Principal
		asked string
		want  bool
	}{
		"what one holds":                      {rob, `{"action":"manage_permissions","subject":"workspaces"}`, true},
		"what one does not hold":              {rob, `{"action":"update","subject":"workspaces"}`, false},
		"part of manage":                      {rob, `{"action":"manage","subject":"workspaces"}`, false},
		"part of all":                         {rob, `{"action":"read","subject":"all"}`, false},
		"one of two actions":                  {rob, `{"action":["read","update"],"subject":"workspaces"}`, false},
		"what one holds on some":              {rob, `{"action":"read","subject":"files"}`, false},
		"with the same condition":             {rob, `{"action":"read","subject":"files","conditions":{"public":true}}`, true},
		"with more conditions":                {rob, `{"action":"read","subject":"files","conditions":{"public":true,"name":"a"}}`, true},
		"with another value":                  {rob, `{"action":"read","subject":"files","conditions":{"public":false}}`, false},
		"an update of some fields":            {rob, `{"action":"update","subject":"files"}`, false},
		"what the workspace decides":          {rob, `{"action":"read","subject":"pages"}`, true},
		"what it does not":                    {rob, `{"action":"update","subject":"pages"}`, false},
		"what everyone is denied":             {rob, `{"action":"read","subject":"apps"}`, true},
		"what one is denied in part":          {rob, `{"action":"read","subject":"events"}`, false},
		"the part that one is not denied":     {rob, `{"action":"create","subject":"events"}`, true},
		"what one has as oneself":             {rob, `{"action":"delete","subject":"files","conditions":{"createdBy":"rob"}}`, false},
		"not even word for word":              {rob, `{"action":"delete","subject":"files","conditions":{"createdBy":"{{user.id}}"}}`, false},
		"what users are denied, but keys not": {rob, `{"action":"create","subject":"files"}`, false},
		"what everyone has on some":           {rob, `{"action":"execute","subject":"automations"}`, false},
		"an owner":                            {ann, `{"action":"manage","subject":["workspaces","automations","pages","files","events","secrets"]}`, true},
		"an owner, all":                       {ann, `{"action":"manage","subject":"all"}`, true},
		"a super admin":                       {root, `{"action":"manage","subject":"all"}`, true},
		"a stranger":                          {sam, `{"action":"read","subject":"workspaces"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var g access.KeyGrant
			require.NoError(t, json.Unmarshal([]byte(tt.asked), &g))
			rules2, err := access.ScopeKey(here, []access.KeyGrant{g})
			require.NoError(t, err)
			err = sharedWorkspace(t, rules).For(tt.who).CheckGrant(rules2)
			if tt.want {
				require.NoError(t, err)
				return
			}
			var refusal *domain.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, domain.CodePermissionDenied, refusal.Code)
			require.Contains(t, refusal.Details, "action")
			require.Contains(t, refusal.Details, "subject")
		})
	}
}
