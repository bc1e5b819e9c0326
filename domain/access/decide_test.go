package access_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/access"
)

// Section 4.4: rules in their order, asked for rob, who is an agent, about a
// file called a.txt.
func TestTheLastMatchingRuleWins(t *testing.T) {
	for name, tt := range map[string]struct {
		rules  string
		want   bool
		origin string
	}{
		"no rule denies":                    {`[]`, false, "none"},
		"a rule allows":                     {`[{"action":"read","subject":"files"}]`, true, "authorizations.rules[0]"},
		"a rule for a role one has":         {`[{"action":"read","subject":"files","role":"agent"}]`, true, "authorizations.rules[0]"},
		"a rule for one of one's roles":     {`[{"action":"read","subject":"files","role":["clerk","agent"]}]`, true, "authorizations.rules[0]"},
		"a rule for another role":           {`[{"action":"read","subject":"files","role":["clerk","editor"]}]`, false, "none"},
		"a rule for another action":         {`[{"action":"update","subject":"files"}]`, false, "none"},
		"a rule for another subject":        {`[{"action":"read","subject":"pages"}]`, false, "none"},
		"manage is every action":            {`[{"action":"manage","subject":"files"}]`, true, "authorizations.rules[0]"},
		"all is every subject":              {`[{"action":"read","subject":"all"}]`, true, "authorizations.rules[0]"},
		"manage workspaces is no more":      {`[{"action":"manage","subject":"workspaces"}]`, false, "none"},
		"a later line overrides":            {`[{"action":"read","subject":"files"},{"action":"read","subject":"files","inverted":true}]`, false, "authorizations.rules[1]"},
		"and the other way round":           {`[{"action":"read","subject":"files","inverted":true},{"action":"read","subject":"files"}]`, true, "authorizations.rules[1]"},
		"a later line that does not match":  {`[{"action":"read","subject":"files"},{"action":"read","subject":"files","inverted":true,"conditions":{"name":"b.txt"}}]`, true, "authorizations.rules[0]"},
		"inverted: false allows":            {`[{"action":"read","subject":"files","inverted":false}]`, true, "authorizations.rules[0]"},
		"a priority of its own":             {`[{"action":"read","subject":"files","priority":500},{"action":"read","subject":"files","inverted":true}]`, true, "authorizations.rules[0]"},
		"the same priority: the later line": {`[{"action":"read","subject":"files","priority":101},{"action":"read","subject":"files","inverted":true}]`, false, "authorizations.rules[1]"},
		"a priority below":                  {`[{"action":"read","subject":"files"},{"action":"read","subject":"files","inverted":true,"priority":100}]`, false, "authorizations.rules[1]"},
		"every condition must match":        {`[{"action":"read","subject":"files","conditions":{"name":"a.txt","public":true}}]`, false, "none"},
		"the scope overrides its own name":  {`[{"action":"read","subject":"files","conditions":{"workspaceId":"` + there + `","name":"a.txt"}}]`, true, "authorizations.rules[0]"},
		"but not what is beside it":         {`[{"action":"read","subject":"files","conditions":{"$or":[{"workspaceId":"` + there + `"}]}}]`, false, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			file := with("files", here, map[string]any{"name": "a.txt"})
			r := sharedWorkspace(t, tt.rules).For(rob)
			require.Equal(t, tt.want, r.Allows("read", "files", file))
			d := r.May("read", "files", file)
			require.Equal(t, tt.want, d.Allowed)
			require.Equal(t, tt.origin, d.Origin)
			require.False(t, r.Allows("read", "files", with("files", there, map[string]any{"name": "a.txt"})), "never elsewhere")
		})
	}
}

// A rule that denies with a reason: the refusal says it, also when no object is known yet. Who is not in the workspace learns
// nothing of it.
func TestARefusalSaysTheReasonOfItsRule(t *testing.T) {
	const allow = `{"action":"manage","subject":"files"}`
	for name, tt := range map[string]struct{ rules, ofFile, ofAll string }{
		"for all":              {`[` + allow + `,{"action":"read","subject":"files","inverted":true,"reason":"audit"}]`, "audit", "audit"},
		"for some":             {`[` + allow + `,{"action":"read","subject":"files","inverted":true,"reason":"draft","conditions":{"name":"a.txt"}}]`, "draft", ""},
		"without one":          {`[` + allow + `,{"action":"read","subject":"files","inverted":true}]`, "", ""},
		"of a rule before it":  {`[{"action":"read","subject":"files","inverted":true,"reason":"audit"},{"action":"read","subject":"files","inverted":true}]`, "", ""},
		"of one that allows":   {`[{"action":"update","subject":"files","reason":"clerks"}]`, "", ""},
		"none without a rule":  {`[]`, "", ""},
		"of another's subject": {`[{"action":"read","subject":"pages","inverted":true,"reason":"audit"}]`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := sharedWorkspace(t, tt.rules)
			file := with("files", here, map[string]any{"name": "a.txt"})
			for want, err := range map[*string]error{&tt.ofFile: w.For(rob).Check("read", "files", file), &tt.ofAll: w.For(rob).Refusal("read", "files")} {
				refusal, ok := errors.AsType[*domain.Error](err)
				require.True(t, ok)
				require.Equal(t, domain.CodePermissionDenied, refusal.Code)
				if *want == "" {
					require.Equal(t, "you lack permission to read files", refusal.Message)
					require.NotContains(t, refusal.Details, "ruleReason")
					continue
				}
				require.Equal(t, "you lack permission to read files: "+*want, refusal.Message)
				require.Equal(t, *want, refusal.Details["ruleReason"])
			}
		})
	}
}

func TestNoDocumentRuleBindsOwnersOrSuperAdmins(t *testing.T) {
	w := sharedWorkspace(t, `[{"action":"manage","subject":"all","inverted":true,"priority":999}]`)
	for _, subject := range access.Subjects() {
		for _, action := range access.Actions(subject) {
			require.True(t, w.For(ann).Allows(action, subject, plain(subject)), "owner %s %s", action, subject)
			require.True(t, w.For(root).Allows(action, subject, plain(subject)), "superadmin %s %s", action, subject)
			require.False(t, w.For(eve).Allows(action, subject, plain(subject)), "editor %s %s", action, subject)
		}
	}
}

func TestScopesOfEvents(t *testing.T) {
	w := sharedWorkspace(t, `[{"action":["read","create"],"subject":"events","role":"agent"}]`)
	emitted := event("x", nil)
	native := event("workspaces.updated", map[string]any{"source": map[string]any{"serviceTopic": "workspaces.updated"}})
	require.True(t, w.For(rob).Allows("create", "events", emitted))
	require.True(t, w.For(rob).Allows("read", "events", native))
	require.False(t, w.For(rob).Allows("create", "events", native), "creating is emitting")
	require.False(t, w.For(rob).Allows("read", "events", with("events", there, nil)))
}

func TestScopeOfAutomationsIsWhereTheyRun(t *testing.T) {
	w := sharedWorkspace(t, `[{"action":"execute","subject":"automations","role":"agent","conditions":{"authorizations.action":{"$in":["sell"]}}}]`)
	sell := map[string]any{"authorizations": map[string]any{"action": "sell"}, "workspaceId": there}
	require.True(t, w.For(rob).Allows("execute", "automations", with("automations", here, sell)))
	require.False(t, w.For(rob).Allows("execute", "automations", with("automations", there, sell)))
	require.False(t, w.For(sam).Allows("execute", "automations", with("automations", here, sell)))
}

func TestReservedSecretsAreBeyondDocuments(t *testing.T) {
	w := sharedWorkspace(t, `[{"action":"manage","subject":"secrets"},{"action":"read","subject":"secrets","priority":999,"conditions":{"name":"svc_git"}}]`)
	require.True(t, w.For(sam).Allows("read", "secrets", with("secrets", here, map[string]any{"name": "git"})))
	require.False(t, w.For(sam).Allows("read", "secrets", with("secrets", here, map[string]any{"name": "svc_git"})))
}

func TestFieldsLimitAnUpdate(t *testing.T) {
	w := sharedWorkspace(t, `[
		{"action":["read","update"],"subject":"files","role":"agent","fields":["name","metadata"]},
		{"action":"update","subject":"files","role":"agent","fields":["metadata"],"inverted":true,"conditions":{"public":true}}
	]`)
	r, file, public := w.For(rob), plain("files"), with("files", here, map[string]any{"public": true})
	require.True(t, r.Allows("update", "files", file), "something may change")
	require.True(t, r.Allows("update", "files", file, "name", "metadata"))
	require.False(t, r.Allows("update", "files", file, "name", "public"))
	require.True(t, r.Allows("update", "files", public), "of the file as such, part may still change")
	require.True(t, r.Allows("update", "files", public, "name"))
	require.False(t, r.Allows("update", "files", public, "name", "metadata"))
	require.True(t, r.Allows("read", "files", file, "public"), "reading is not limited")
	require.False(t, r.May("update", "files", public, "name", "metadata").Allowed)
	require.Equal(t, "authorizations.rules[1]", r.May("update", "files", public, "name", "metadata").Origin)
	require.True(t, r.May("update", "files", public, "name").Allowed)
	require.Equal(t, domain.CodePermissionDenied, domain.CodeOf(r.Check("update", "files", file, "public")))
}

// The last sentence of 4.1.
func TestTheWorkspaceDecidesForAutomationsAndPages(t *testing.T) {
	const reads, updates = `{"action":"read","subject":"workspaces","role":"clerk"}`, `{"action":"update","subject":"workspaces","role":"clerk"}`
	clerk := role("cat", "clerk")
	cat := access.Principal{UserID: "cat"}
	for name, tt := range map[string]struct {
		rules           string
		action, subject string
		want            bool
	}{
		"read by read":                       {reads, "read", "automations", true},
		"create by update":                   {updates, "create", "automations", true},
		"update by update":                   {updates, "update", "pages", true},
		"delete by update":                   {updates, "delete", "pages", true},
		"not update by read":                 {reads, "update", "pages", false},
		"not execute":                        {updates, "test", "automations", false},
		"not manage_permissions":             {updates, "manage_permissions", "pages", false},
		"not files":                          {updates, "update", "files", false},
		"a matching rule decides first":      {updates + `,{"action":"update","subject":"pages","inverted":true}`, "update", "pages", false},
		"a rule on others does not":          {updates + `,{"action":"update","subject":"pages","inverted":true,"conditions":{"slug":"x"}}`, "update", "pages", true},
		"an update of some fields is none":   {`{"action":"update","subject":"workspaces","role":"clerk","fields":["name"]}`, "update", "pages", false},
		"unless it names them":               {`{"action":"update","subject":"workspaces","role":"clerk","fields":["pages"]}`, "update", "pages", true},
		"conditions on the workspace count":  {`{"action":"update","subject":"workspaces","role":"clerk","conditions":{"labels":"core"}}`, "update", "pages", true},
		"and those that do not match do not": {`{"action":"update","subject":"workspaces","role":"clerk","conditions":{"labels":"lab"}}`, "update", "pages", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := workspace(t, parse(t, "["+tt.rules+"]"), clerk)
			w.Self = access.Fields{"id": there, "labels": []string{"core"}}
			r := w.For(cat)
			require.Equal(t, tt.want, r.Allows(tt.action, tt.subject, plain(tt.subject)))
			require.Equal(t, tt.want, r.Filter(tt.action, tt.subject)(plain(tt.subject)))
			require.Equal(t, tt.want, r.Could(tt.action, tt.subject) && r.May(tt.action, tt.subject, plain(tt.subject)).Allowed)
			require.False(t, r.Allows(tt.action, tt.subject, with(tt.subject, there, nil)), "not for what is elsewhere")
			require.False(t, r.Allows(tt.action, tt.subject, nil))
		})
	}
}

func TestExplain(t *testing.T) {
	w := workspace(t, access.Default(here), access.OwnedBy("ann"), role("eve", "editor"))
	d := w.For(eve).May("read", "events", event("apikeys.created", map[string]any{"target": map[string]any{"userId": "eve"}}))
	got, err := json.Marshal(d)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"allowed": false,
		"origin": "authorizations.rules[5]",
		"rule": {"action":"read","subject":"events","role":"editor","inverted":true,"conditions":{"type":{"$regex":"^apikeys\\."}},"priority":105},
		"rules": [
			{"origin":"builtIn:everyone","action":"read","subject":"events","conditions":{"target.userId":"{{user.id}}"}},
			{"origin":"authorizations.rules[4]","action":["read","create"],"subject":"events","role":"editor","priority":104},
			{"origin":"authorizations.rules[5]","action":"read","subject":"events","role":"editor","inverted":true,"conditions":{"type":{"$regex":"^apikeys\\."}},"priority":105}
		]}`, string(got))

	none, err := json.Marshal(w.For(sam).May("delete", "workspaces", nil))
	require.NoError(t, err)
	require.JSONEq(t, `{"allowed":false,"origin":"none","rules":[]}`, string(none))

	for origin, d := range map[string]access.Decision{
		"builtIn:owner":           w.For(ann).May("delete", "pages", plain("pages")),
		"builtIn:superadmin":      w.For(root).May("delete", "pages", plain("pages")),
		"builtIn:editor":          w.For(eve).May("test", "automations", plain("automations")),
		"builtIn:everyone":        w.For(sam).May("create", "workspaces", nil),
		"builtIn:internal":        w.For(root).May("read", "events", event("runtime.contexts.updated", nil)),
		"builtIn:secret":          w.For(ann).May("read", "secrets", with("secrets", here, map[string]any{"name": "svc_x"})),
		"authorizations.rules[0]": w.For(eve).May("read", "automations", plain("automations")),
		"apiKey:key_1":            w.For(access.Principal{Key: key(t, here, grant("read", "secrets"))}).May("read", "secrets", plain("secrets")),
	} {
		require.Equal(t, origin, d.Origin)
		require.Equal(t, d.Rules[len(d.Rules)-1].Origin, d.Origin, "the last one decided")
	}
	shared := workspace(t, access.Security{}, policies(access.Target{Public: true}, "read"))
	require.Equal(t, "share:*", shared.For(nobody).May("read", "pages", plain("pages")).Origin)
}

// "No right at all" and "able to read it but lacking one right".
func TestWhoIsInAWorkspace(t *testing.T) {
	const everyonesFiles = `[{"action":["create","read"],"subject":"files"}]`
	byKey := func(action, subject string) access.Principal {
		return access.Principal{Key: key(t, here, grant(action, subject))}
	}
	bare := func(rules string, shares ...access.Share) *access.Workspace {
		return workspace(t, parse(t, rules), shares...)
	}
	for name, tt := range map[string]struct {
		w    *access.Workspace
		who  access.Principal
		want bool
	}{
		"a super admin":                         {bare(`[]`), root, true},
		"an owner":                              {sharedWorkspace(t, `[]`), ann, true},
		"an editor":                             {sharedWorkspace(t, `[]`), eve, true},
		"a member of a role without rules":      {sharedWorkspace(t, `[]`), rob, true},
		"a stranger":                            {sharedWorkspace(t, `[]`), sam, false},
		"a stranger in a new workspace":         {workspace(t, access.Default(here)), sam, false},
		"a visitor in a new workspace":          {workspace(t, access.Default(here)), visitor, false},
		"rights of everyone do not count":       {bare(everyonesFiles), sam, false},
		"reading the workspace does":            {bare(`[{"action":"read","subject":"workspaces"}]`), sam, true},
		"as does a public share":                {bare(`[]`, policies(access.Target{Public: true}, "read")), nobody, true},
		"but one that does not let read":        {bare(`[]`, policies(access.Target{Public: true}, "delete")), nobody, false},
		"a share with the user counts":          {bare(`[]`, policies(access.Target{ID: "sam"}, "update")), sam, true},
		"one with another user does not":        {bare(`[]`, policies(access.Target{ID: "rob"}, "update")), sam, false},
		"a policy that is false grants nothing": {bare(`[]`, access.Share{Target: access.Target{ID: "sam"}, Permissions: access.Permissions{Policies: map[string]bool{"read": false}}}), sam, false},
		"a key of the workspace":                {bare(`[]`), byKey("create", "files"), true},
		"a key of another":                      {bare(`[]`), access.Principal{Key: key(t, there, grant("read", "workspaces"))}, false},
		"a role that is denied everything":      {sharedWorkspace(t, `[{"action":"manage","subject":"all","inverted":true}]`), rob, false},
		"a role that keeps one right":           {sharedWorkspace(t, `[{"action":"manage","subject":"all","inverted":true},{"action":"read","subject":"files","role":"agent"}]`), rob, true},
		"a key that is denied everything":       {bare(`[{"action":"manage","subject":"all","inverted":true}]`), byKey("read", "files"), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.w.For(tt.who)
			require.Equal(t, tt.want, r.IsMember())
			err := r.Refusal("delete", "workspaces")
			if tt.want {
				require.Equal(t, domain.Refuse(domain.CodePermissionDenied, "you lack permission to delete workspaces").
					With("action", "delete").With("subject", "workspaces"), err)
			} else {
				require.Equal(t, access.OutsideRights(tt.who).Refusal("delete", "workspaces"), err, "as where there is no workspace")
			}
		})
	}
}

func TestOutside(t *testing.T) {
	for _, p := range []access.Principal{nobody, visitor, sam, {UserID: "x", Key: key(t, here, grant("read", "workspaces"))}} {
		r := access.OutsideRights(p)
		require.True(t, r.Allows("create", "workspaces", nil))
		require.True(t, r.Allows("read", "apps", with("apps", here, nil)))
		require.False(t, r.Allows("read", "workspaces", nil))
		require.False(t, r.IsMember())
		require.Empty(t, r.Role())
		require.Equal(t, domain.CodeWorkspaceDenied, domain.CodeOf(r.Check("read", "workspaces", nil)))
		require.False(t, r.Allows("execute", "automations", access.Fields{"runningWorkspaceId": ""}), "there is nothing to execute")
	}
	require.True(t, access.OutsideRights(root).Allows("delete", "workspaces", nil))
	require.True(t, access.OutsideRights(root).IsMember())
}

func TestRoles(t *testing.T) {
	w := sharedWorkspace(t, `[]`)
	owning := root
	owning.UserID = "ann"
	for _, tt := range []struct {
		who  access.Principal
		want []string
	}{
		{ann, []string{"owner"}}, {eve, []string{"editor"}}, {rob, []string{"agent"}}, {sam, nil},
		{root, []string{"superadmin"}}, {owning, []string{"owner", "superadmin"}},
	} {
		require.Equal(t, tt.want, w.For(tt.who).Roles())
	}
	require.Equal(t, "owner", w.For(owning).Role())
	require.Empty(t, w.For(sam).Role())
}

func TestCanListsWhatCouldBeDone(t *testing.T) {
	w := sharedWorkspace(t, `[{"action":["read","delete"],"subject":"files","role":"agent","conditions":{"name":"x"}},{"action":"delete","subject":"files","inverted":true}]`)
	require.Equal(t, []string{"read"}, w.For(rob).Can("files"))
	require.Equal(t, access.Actions("files"), w.For(ann).Can("files"))
	part := sharedWorkspace(t, `[{"action":"update","subject":"files"},{"action":"update","subject":"files","inverted":true,"fields":["name"]}]`)
	require.Equal(t, []string{"update"}, part.For(sam).Can("files"), "all but the name")
	require.Equal(t, []string{"read"}, w.For(rob).Can("pages"))
	require.Empty(t, w.For(rob).Can("planes"))
}

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
			require.Equal(t, tt.want, sharedWorkspace(t, tt.rules).For(rob).Always("update", "pages"))
		})
	}
}

func TestWhoMayAlways(t *testing.T) {
	w := sharedWorkspace(t, `[{"action":"manage","subject":"all","inverted":true,"priority":999}]`)
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
	require.False(t, access.OutsideRights(ann).Always("update", "pages"))

	keyed := sam
	keyed.Key = key(t, here, grant("update", "pages"))
	require.True(t, sharedWorkspace(t, `[]`).For(keyed).Always("update", "pages"))
	require.False(t, w.For(keyed).Always("update", "pages"), "a rule overrides a key")
	keyed.Key = key(t, there, grant("update", "pages"))
	require.False(t, sharedWorkspace(t, `[]`).For(keyed).Always("update", "pages"), "of another workspace")
}

// A page gives who it is shared with a role, and that role's denials with it.
func TestAlwaysCountsTheRolesThatAnObjectGives(t *testing.T) {
	r := sharedWorkspace(t, `[{"action":"update","subject":"pages"},{"action":"update","subject":"pages","inverted":true,"role":"clerk"}]`).For(sam)
	require.True(t, r.Allows("update", "pages", plain("pages")))
	require.False(t, r.Allows("update", "pages", access.Shared{Object: plain("pages"), Shares: []access.Share{role("sam", "clerk")}}))
	require.False(t, r.Always("update", "pages"))
}

// What is always allowed is allowed on every object here.
func TestAlwaysIsNeverMoreThanAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := workspace(t, someDocument(t), someShares(t)...).For(drawPrincipal(t))
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

func TestWhatEventsMustSayForAVisitorToReadThem(t *testing.T) {
	needs, bounded := sharedWorkspace(t, `[]`).For(visitor).Needs("read", "events")
	require.True(t, bounded)
	var paths []string
	for _, alternative := range needs {
		for _, n := range alternative {
			if n.Path != "source.workspaceId" && n.Path != "source.serviceTopic" {
				paths = append(paths, n.Path)
			}
		}
	}
	require.ElementsMatch(t, []string{"source.sessionId", "target.sessionId"}, paths, "nobody else's, and they have no account")
}

func TestEventsThatAreReadWhateverTheySayHaveNoNeeds(t *testing.T) {
	for name, rules := range map[string]string{
		"a type by its beginning": `[{"action":"read","subject":"events","conditions":{"type":{"$regex":"^a"}}}]`,
		"all but one":             `[{"action":"read","subject":"events","conditions":{"type":{"$ne":"a"}}}]`,
		"one of some conditions":  `[{"action":"read","subject":"events","conditions":{"$or":[{"type":"a"},{"type":"b"}]}}]`,
		"a number":                `[{"action":"read","subject":"events","conditions":{"payload.n":1}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			needs, bounded := sharedWorkspace(t, rules).For(visitor).Needs("read", "events")
			require.True(t, !bounded || slices.ContainsFunc(needs, func(n []access.Need) bool {
				return len(n) == 1 && n[0].Path == "source.workspaceId"
			}), "%v", needs)
		})
	}
}

// What somebody may read says all that one of the alternatives needs.
func TestWhatIsAllowedSaysWhatIsNeeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, shares, who := someDocument(t), someShares(t), drawPrincipal(t)
		rights := workspace(t, doc, shares...).For(who)
		for range 10 {
			q := someQuestion(t)
			needs, bounded := rights.Needs(q.action, q.subject)
			if q.fields != nil || !bounded || !q.of(rights) {
				continue
			}
			require.True(t, slices.ContainsFunc(needs, func(all []access.Need) bool {
				return !slices.ContainsFunc(all, func(n access.Need) bool { return !hasText(q.object, strings.Split(n.Path, "."), n.Any) })
			}), "%v is allowed, and has none of %v", q, needs)
		}
	})
}

// hasText reports whether a value has one of some texts at a path, or in a list there.
func hasText(v any, path, texts []string) bool {
	if list, ok := v.([]any); ok {
		return slices.ContainsFunc(list, func(item any) bool { return hasText(item, path, texts) })
	}
	if len(path) == 0 {
		text, ok := v.(string)
		return ok && slices.Contains(texts, text)
	}
	switch v := v.(type) {
	case access.Object:
		inner, ok := v.Field(path[0])
		return ok && hasText(inner, path[1:], texts)
	case map[string]any:
		inner, ok := v[path[0]]
		return ok && hasText(inner, path[1:], texts)
	}
	return false
}
