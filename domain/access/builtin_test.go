package access_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
)

// everyRight is what each kind of caller may do in a new workspace: sections 4.1
// to 4.3 of the contract in one table. A dot is a right on some objects only.
// The key may read the workspace.
const everyRight = `
                                root ann  eve  rob  sam  visitor key
workspaces create               yes  yes  yes  yes  yes  yes     yes
workspaces read                 yes  yes  yes  yes  -    -       yes
workspaces update               yes  yes  yes  -    -    -       -
workspaces delete               yes  yes  -    -    -    -       -
workspaces manage_permissions   yes  yes  -    -    -    -       -
workspaces manage_security      yes  yes  -    -    -    -       -
workspaces manage_repositories  yes  yes  -    -    -    -       -
workspaces get_usage            yes  yes  yes  -    -    -       -
workspaces aggregate_search     yes  yes  yes  -    -    -       -
automations create              yes  yes  yes  -    -    -       -
automations read                yes  yes  yes  yes  -    -       yes
automations update              yes  yes  yes  -    -    -       -
automations delete              yes  yes  yes  -    -    -       -
automations execute             yes  yes  yes  .    .    .       .
automations test                yes  yes  yes  -    -    -       -
pages create                    yes  yes  yes  -    -    -       -
pages read                      yes  yes  yes  yes  -    -       yes
pages update                    yes  yes  yes  -    -    -       -
pages delete                    yes  yes  yes  -    -    -       -
pages manage_permissions        yes  yes  -    -    -    -       -
apps create                     yes  yes  -    -    -    -       -
apps read                       yes  yes  yes  yes  yes  yes     yes
apps update                     yes  yes  yes  -    -    -       -
apps delete                     yes  yes  -    -    -    -       -
files create                    yes  yes  yes  -    -    -       -
files read                      yes  yes  yes  -    -    -       -
files update                    yes  yes  yes  -    -    -       -
files delete                    yes  yes  yes  -    -    -       -
events create                   yes  yes  yes  yes  yes  yes     yes
events read                     yes  yes  .    .    .    .       -
secrets create                  yes  yes  -    -    -    -       -
secrets read                    yes  yes  -    -    -    -       -
secrets update                  yes  yes  -    -    -    -       -
secrets delete                  yes  yes  -    -    -    -       -
collections create              yes  yes  yes  -    -    -       -
collections read                yes  yes  yes  -    -    -       -
collections update              yes  yes  yes  -    -    -       -
collections delete              yes  yes  yes  -    -    -       -
knowledgeBases create           yes  yes  yes  -    -    -       -
knowledgeBases read             yes  yes  yes  yes  -    -       yes
knowledgeBases update           yes  yes  yes  -    -    -       -
knowledgeBases delete           yes  yes  yes  -    -    -       -
knowledgeBases manage_permissionsyes  yes  -    -    -    -       -
documents create                yes  yes  yes  -    -    -       -
documents read                  yes  yes  yes  -    -    -       -
documents update                yes  yes  yes  -    -    -       -
documents delete                yes  yes  yes  -    -    -       -
agents create                   yes  yes  yes  -    -    -       -
agents read                     yes  yes  yes  yes  -    -       yes
agents update                   yes  yes  yes  -    -    -       -
agents delete                   yes  yes  yes  -    -    -       -
agents execute                  yes  yes  yes  -    -    -       -
agents manage_permissions       yes  yes  -    -    -    -       -
`

func TestRightsInANewWorkspace(t *testing.T) {
	doc := access.Default(here)
	doc.Authorizations.Roles["agent"] = access.Role{}
	w := workspace(t, doc, sampleShares()...)
	caller := access.Principal{Key: key(t, here, grant("read", "workspaces"))}
	names := strings.Fields("root ann eve rob sam visitor key")
	callers := []access.Principal{root, ann, eve, rob, sam, visitor, caller}

	table := strings.Split(everyRight, "\n")[:2]
	for _, subject := range access.Subjects() {
		for _, action := range access.Actions(subject) {
			line := fmt.Sprintf("%-32s", subject+" "+action)
			rules, err := access.ScopeKey(here, []access.KeyGrant{grant(action, subject)})
			require.NoError(t, err)
			for i, p := range callers {
				cell := "-"
				switch r := w.For(p); {
				case r.CheckGrant(rules) == nil:
					cell = "yes"
				case r.Could(action, subject):
					cell = "."
				}
				line += fmt.Sprintf("%-*s", max(5, len(names[i])+1), cell)
			}
			table = append(table, strings.TrimRight(line, " "))
		}
	}
	require.Equal(t, everyRight, strings.Join(table, "\n")+"\n")
}

// contract43 is section 4.3 of the contract, as it is written there.
const contract43 = `
| editor | read, update, get_usage, aggregate_search | workspaces | - |
| editor | manage | files | - |
| editor | read, update | pages | - |
| editor | read, update | apps | - |
| editor | read, create | events | - |
| editor | read, ¤inverted: true¤ | events | ¤type: {$regex: "^apikeys\\."}¤ |
| - | create | events | ¤source.serviceTopic: "topic:runtime:emit"¤ |
| - | read | events | ¤source.serviceTopic: "topic:runtime:emit"¤, ¤source.sessionId: "{{session.id}}"¤ |
| editor | manage | documents | - |
`

func TestTheDocumentOfANewWorkspace(t *testing.T) {
	var table strings.Builder
	for _, r := range access.Default(here).Authorizations.Rules {
		action := strings.Join(r.Action.All(), ", ")
		if r.Inverted != nil {
			action += fmt.Sprintf(", ¤inverted: %v¤", *r.Inverted)
		}
		who := "-"
		if !r.Role.IsZero() {
			who = strings.Join(r.Role.All(), ", ")
		}
		fmt.Fprintf(&table, "\n| %s | %s | %s | %s |", who, action, strings.Join(r.Subject.All(), ", "), written(r.Conditions))
	}
	require.Equal(t, contract43, table.String()+"\n")
	require.Equal(t, map[string]access.Role{"editor": {}}, access.Default(here).Authorizations.Roles)
	require.Zero(t, access.Default(domain.Platform), "the platform's starts empty")
}

func written(conditions map[string]any) string {
	var all []string
	for _, name := range []string{"type", "mimetype", "source.serviceTopic", "source.sessionId"} {
		switch value := conditions[name].(type) {
		case string:
			all = append(all, fmt.Sprintf("¤%s: %q¤", name, value))
		case map[string]any:
			all = append(all, fmt.Sprintf("¤%s: {$regex: %q}¤", name, value["$regex"]))
		}
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}

// event is one of the workspace here with a type, and more.
func event(kind string, more map[string]any) access.Fields {
	o := with("events", here, more)
	o["type"] = kind
	return o
}

// Section 4.2, sentence by sentence.
func TestBuiltInRights(t *testing.T) {
	automation := plain("automations")
	locked := with("automations", here, map[string]any{"authorizations": map[string]any{"action": "sell"}})
	native := map[string]any{"serviceTopic": "workspaces.updated", "userId": "sam", "sessionId": "s-sam"}
	emitted := map[string]any{"serviceTopic": "topic:runtime:emit", "userId": "sam"}
	inSession := map[string]any{"serviceTopic": "topic:runtime:emit", "sessionId": "s-visitor"}
	reserved, own := with("secrets", here, map[string]any{"name": "svc_git"}), with("secrets", here, map[string]any{"name": "git"})
	contexts := event("runtime.contexts.updated", map[string]any{"target": map[string]any{"userId": "sam"}})
	to := func(field, value string) access.Fields {
		return event("x", map[string]any{"target": map[string]any{field: value}, "source": map[string]any{}})
	}
	empty := sharedWorkspace(t, `[]`)
	platform, err := access.Compile(domain.Platform, access.Default(domain.Platform))
	require.NoError(t, err)
	onPlatform := &access.Workspace{Policy: platform}
	platformAutomation := with("automations", domain.Platform, nil)

	for name, tt := range map[string]struct {
		w               *access.Workspace
		who             access.Principal
		action, subject string
		object          access.Object
		want            bool
	}{
		"a super admin reads any workspace":                 {empty, root, "read", "workspaces", nil, true},
		"a super admin manages the platform's":              {onPlatform, root, "manage_security", "workspaces", nil, true},
		"a super admin reads reserved secrets":              {empty, root, "read", "secrets", reserved, true},
		"a super admin emits":                               {empty, root, "create", "events", plain("events"), true},
		"an owner deletes":                                  {empty, ann, "delete", "workspaces", nil, true},
		"an owner reads secrets":                            {empty, ann, "read", "secrets", own, true},
		"an owner reads no reserved secrets":                {empty, ann, "read", "secrets", reserved, false},
		"an owner writes no reserved secrets":               {empty, ann, "update", "secrets", reserved, false},
		"an owner reads events":                             {empty, ann, "read", "events", event("x", nil), true},
		"an owner emits":                                    {empty, ann, "create", "events", event("x", nil), true},
		"an owner runs protected automations":               {empty, ann, "execute", "automations", locked, true},
		"an owner here is nobody there":                     {empty, ann, "read", "files", with("files", there, nil), false},
		"an owner has no right on another workspace":        {empty, ann, "read", "workspaces", with("workspaces", there, nil), false},
		"an editor runs protected automations":              {empty, eve, "execute", "automations", locked, true},
		"an editor tests automations":                       {empty, eve, "test", "automations", locked, true},
		"an editor has nothing else without rules":          {empty, eve, "update", "workspaces", nil, false},
		"an editor reads the workspace as it is shared":     {empty, eve, "read", "workspaces", nil, true},
		"anyone creates workspaces":                         {empty, sam, "create", "workspaces", nil, true},
		"anyone reads apps":                                 {empty, nobody, "read", "apps", with("apps", there, nil), true},
		"anyone runs open automations":                      {empty, nobody, "execute", "automations", automation, true},
		"not anyone runs protected automations":             {empty, sam, "execute", "automations", locked, false},
		"nobody runs automations of the platform":           {onPlatform, sam, "execute", "automations", platformAutomation, false},
		"super admins do":                                   {onPlatform, root, "execute", "automations", platformAutomation, true},
		"nobody just tests automations":                     {empty, sam, "test", "automations", automation, false},
		"an automation that runs elsewhere is not meant":    {empty, sam, "execute", "automations", with("automations", there, nil), false},
		"one reads what one emitted":                        {empty, sam, "read", "events", event("x", map[string]any{"source": emitted}), true},
		"others do not":                                     {empty, rob, "read", "events", event("x", map[string]any{"source": emitted}), false},
		"what one caused was not emitted":                   {empty, sam, "read", "events", event("workspaces.updated", map[string]any{"source": native}), false},
		"one reads what one's session emitted":              {empty, visitor, "read", "events", event("x", map[string]any{"source": inSession}), true},
		"one without a session does not":                    {empty, nobody, "read", "events", event("x", map[string]any{"source": map[string]any{"serviceTopic": "topic:runtime:emit"}}), false},
		"one reads what is for oneself":                     {empty, sam, "read", "events", to("userId", "sam"), true},
		"one reads what is for one's session":               {empty, visitor, "read", "events", to("sessionId", "s-visitor"), true},
		"one reads what is for one's topics":                {empty, rob, "read", "events", to("userTopic", "sales"), true},
		"one reads what is for a topic just joined":         {empty, joining, "read", "events", to("userTopic", "sales"), true},
		"one does not read what is for other topics":        {empty, rob, "read", "events", to("userTopic", "board"), false},
		"one does not read what is for others":              {empty, rob, "read", "events", to("userId", "sam"), false},
		"nobody reads contexts, as it is for them":          {empty, sam, "read", "events", contexts, false},
		"nobody reads contexts, owners included":            {empty, ann, "read", "events", contexts, false},
		"nobody reads contexts, super admins included":      {empty, root, "read", "events", contexts, false},
		"only super admins see the platform":                {onPlatform, sam, "read", "workspaces", nil, false},
		"a role-less rule binds everyone":                   {sharedWorkspace(t, `[{"action":"read","subject":"files"}]`), nobody, "read", "files", plain("files"), true},
		"a workspace changes nothing of itself":             {empty, access.Principal{Workspace: here}, "update", "secrets", own, false},
		"a workspace does not read itself":                  {empty, access.Principal{Workspace: here}, "read", "workspaces", nil, false},
		"a workspace executes its automations":              {empty, access.Principal{Workspace: here}, "execute", "automations", access.Fields{"runningWorkspaceId": here, "authorizations": map[string]any{"action": "sell"}}, true},
		"a workspace does not test its automations":         {empty, access.Principal{Workspace: here}, "test", "automations", access.Fields{"runningWorkspaceId": here}, false},
		"a workspace executes nothing guarded of another":   {empty, access.Principal{Workspace: there}, "execute", "automations", access.Fields{"runningWorkspaceId": here, "authorizations": map[string]any{"action": "sell"}}, false},
		"a workspace has no such right in another":          {empty, access.Principal{Workspace: there}, "read", "workspaces", nil, false},
		"an unknown action is nobody's":                     {empty, root, "fly", "workspaces", nil, false},
		"an unknown subject is nobody's":                    {empty, root, "read", "planes", nil, false},
		"manage is asked action by action":                  {empty, root, "manage", "workspaces", nil, false},
		"all is asked subject by subject":                   {empty, root, "read", "all", nil, false},
		"a user without an id is not the user without one":  {workspace(t, access.Security{}, access.OwnedBy("")), nobody, "read", "workspaces", nil, false},
		"the platform can be shared":                        {&access.Workspace{Policy: platform, Shares: []access.Share{role("sam", "editor")}}, sam, "execute", "automations", platformAutomation, true},
		"an object that does not say where it is is denied": {empty, ann, "read", "files", access.Fields{}, false},
		"no object at all is denied":                        {empty, ann, "read", "files", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.w.For(tt.who)
			require.Equal(t, tt.want, r.Allows(tt.action, tt.subject, tt.object))
			require.Equal(t, tt.want, r.May(tt.action, tt.subject, tt.object).Allowed)
			require.Equal(t, tt.want, r.Filter(tt.action, tt.subject)(tt.object))
			require.Equal(t, tt.want, r.Check(tt.action, tt.subject, tt.object) == nil)
		})
	}
}
