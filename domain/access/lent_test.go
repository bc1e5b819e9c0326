package access_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/access"
)

// What is lent to an automation counts where it is lent. Elsewhere its user is anyone, but
// for the automations that they may execute, and for the key that was sent beside.
func TestRightsThatAreLent(t *testing.T) {
	t.Parallel()
	policy, err := access.Compile(here, access.Security{})
	require.NoError(t, err)
	w := &access.Workspace{Policy: policy, Shares: []access.Share{access.OwnedBy("ann"), {
		Target: access.Target{Public: true}, Permissions: access.Permissions{Policies: map[string]bool{"read": true}},
	}}}
	private := &access.Workspace{Policy: policy, Shares: w.Shares[:1]}
	guarded := access.Fields{"runningWorkspaceId": here, "workspaceId": here, "authorizations": map[string]any{"action": "sell"}}
	event := access.Fields{"source": map[string]any{"workspaceId": here}, "target": map[string]any{"userId": "ann"}}
	page := access.Shared{Object: access.Fields{"workspaceId": here}, Shares: []access.Share{role("ann", "editor")}}
	lent := func(to string) access.Principal { return access.Principal{UserID: "ann", Lent: true, LentTo: to} }
	sent := lent("")
	sent.Key = key(t, here, grant("read", "workspaces"))
	for name, tc := range map[string]struct {
		w               *access.Workspace
		who             access.Principal
		action, subject string
		object          access.Object
		want            bool
	}{
		"all of it where it is lent":           {private, lent(here), "update", "workspaces", nil, true},
		"nothing of it elsewhere":              {private, lent(there), "read", "workspaces", nil, false},
		"nothing of it nowhere":                {private, lent(""), "read", "workspaces", nil, false},
		"what anyone has":                      {w, lent(there), "read", "workspaces", nil, true},
		"to execute":                           {private, lent(there), "execute", "automations", guarded, true},
		"not to test":                          {private, lent(there), "test", "automations", guarded, false},
		"not to change what they may execute":  {private, lent(there), "update", "automations", guarded, false},
		"not to read what is for them":         {private, lent(there), "read", "events", event, false},
		"to read what is for them, at home":    {private, lent(here), "read", "events", event, true},
		"not a page that is shared with them":  {private, lent(there), "read", "pages", page, false},
		"a page that is shared, at home":       {private, lent(here), "read", "pages", page, true},
		"what the key opens that was sent too": {private, sent, "read", "workspaces", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, tc.w.For(tc.who).Allows(tc.action, tc.subject, tc.object))
		})
	}
	require.False(t, private.For(lent(there)).Always("execute", "files"))
	require.False(t, private.For(lent(there)).Could("read", "secrets"))
}
