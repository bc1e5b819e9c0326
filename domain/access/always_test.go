package access_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/access"
)

// Asked for rob, who is an agent, about updating pages.
func TestWhatIsAllowedWhateverAnObjectSays(t *testing.T) {
	for name, tt := range map[string]struct {
		rules string
		want  bool
	}{
		"no rule":                              {`[]`, false},
		"a rule for everyone":                  {`[{"action":"update","subject":"pages"}]`, true},
		"a rule for a role one has":            {`[{"action":"update","subject":"pages","role":"agent"}]`, true},
		"a rule for another role":              {`[{"action":"update","subject":"pages","role":"clerk"}]`, false},
		"manage":                               {`[{"action":"manage","subject":"pages"}]`, true},
		"all":                                  {`[{"action":"manage","subject":"all"}]`, true},
		"another action":                       {`[{"action":"read","subject":"pages"}]`, false},
		"another subject":                      {`[{"action":"update","subject":"automations"}]`, false},
		"what the workspace comes with":        {`[{"action":"update","subject":"workspaces"}]`, false},
		"with a condition":                     {`[{"action":"update","subject":"pages","conditions":{"slug":"home"}}]`, false},
		"with one that depends on the caller":  {`[{"action":"update","subject":"pages","conditions":{"createdBy":"{{user.id}}"}}]`, false},
		"with one that the scope overrides":    {`[{"action":"update","subject":"pages","conditions":{"workspaceId":"` + there + `"}}]`, true},
		"of some fields":                       {`[{"action":"update","subject":"pages","fields":["name"]}]`, false},
		"inverted":                             {`[{"action":"update","subject":"pages","inverted":true}]`, false},
		"overridden":                           {`[{"action":"update","subject":"pages"},{"action":"update","subject":"pages","inverted":true}]`, false},
		"overridden for some":                  {`[{"action":"update","subject":"pages"},{"action":"update","subject":"pages","inverted":true,"conditions":{"slug":"home"}}]`, false},
		"overridden for some fields":           {`[{"action":"update","subject":"pages"},{"action":"update","subject":"pages","inverted":true,"fields":["name"]}]`, false},
		"overridden by manage of all":          {`[{"action":"update","subject":"pages"},{"action":"manage","subject":"all","inverted":true}]`, false},
		"overridden for a role one could get":  {`[{"action":"update","subject":"pages"},{"action":"update","subject":"pages","inverted":true,"role":"clerk"}]`, false},
		"overridden by priority":               {`[{"action":"update","subject":"pages","inverted":true,"priority":500},{"action":"update","subject":"pages"}]`, false},
		"overriding":                           {`[{"action":"update","subject":"pages","inverted":true},{"action":"update","subject":"pages"}]`, true},
		"overriding by priority":               {`[{"action":"update","subject":"pages","priority":500},{"action":"update","subject":"pages","inverted":true}]`, true},
		"at the same priority":                 {`[{"action":"update","subject":"pages","inverted":true,"priority":500},{"action":"update","subject":"pages","priority":500}]`, false},
		"another action is denied":             {`[{"action":"update","subject":"pages"},{"action":"delete","subject":"pages","inverted":true}]`, true},
		"with a condition above one without":   {`[{"action":"update","subject":"pages"},{"action":"update","subject":"pages","conditions":{"slug":"home"}}]`, false},
		"with a condition below one without":   {`[{"action":"update","subject":"pages","conditions":{"slug":"home"}},{"action":"update","subject":"pages"}]`, true},
		"one of a list of actions and of many": {`[{"action":["read","update"],"subject":["files","pages"]}]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, ruled(t, tt.rules).For(rob).Always("update", "pages"))
		})
	}
}

func TestWhoMayAlways(t *testing.T) {
	w := ruled(t, `[{"action":"manage","subject":"all","inverted":true,"priority":999}]`)
	for _, subject := range []string{"automations", "pages"} {
		for _, action := range []string{"create", "read", "update", "delete"} {
			require.True(t, w.For(ann).Always(action, subject), "owner %s %s", action, subject)
			require.True(t, w.For(root).Always(action, subject), "superadmin %s %s", action, subject)
			for _, who := range []access.Principal{eve, rob, sam, visitor, nobody} {
				require.False(t, w.For(who).Always(action, subject), "%s %s %s", who.UserID, action, subject)
			}
		}
	}
	require.False(t, w.For(ann).Always("update", "secrets"), "some are reserved")
	require.True(t, w.For(root).Always("read", "events"), "what nobody is ever shown does not count")
	require.False(t, w.For(root).Always("manage", "pages"), "no action")
	require.False(t, w.For(root).Always("update", "nothing"))
	require.False(t, access.Outside(ann).Always("update", "pages"))

	keyed := sam
	keyed.Key = key(t, here, grant("update", "pages"))
	require.True(t, ruled(t, `[]`).For(keyed).Always("update", "pages"))
	require.False(t, w.For(keyed).Always("update", "pages"), "a rule overrides a key")
	keyed.Key = key(t, there, grant("update", "pages"))
	require.False(t, ruled(t, `[]`).For(keyed).Always("update", "pages"), "of another workspace")
}

// A page gives who it is shared with a role, and that role's denials with it.
func TestAlwaysCountsTheRolesThatAnObjectGives(t *testing.T) {
	r := ruled(t, `[{"action":"update","subject":"pages"},{"action":"update","subject":"pages","inverted":true,"role":"clerk"}]`).For(sam)
	require.True(t, r.Allows("update", "pages", plain("pages")))
	require.False(t, r.Allows("update", "pages", access.Shared{Object: plain("pages"), Shares: []access.Share{role("sam", "clerk")}}))
	require.False(t, r.Always("update", "pages"))
}

// What is always allowed is allowed on every object here.
func TestAlwaysIsNeverMoreThanAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := workspace(t, someDocument(t), someShares(t)...).For(somebody(t))
		for range 10 {
			q := someQuestion(t)
			if id, ok := q.object.Field(map[string]string{"workspaces": "id", "automations": "runningWorkspaceId"}[q.subject]); ok && id != here {
				continue
			}
			if id, ok := q.object.Field("workspaceId"); ok && id != here || q.subject == "events" {
				continue
			}
			if r.Always(q.action, q.subject) {
				require.True(t, q.of(r), "%v", q)
			}
		}
	})
}
