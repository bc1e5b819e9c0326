package access_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/domaintest"
)

// Section 4.6 on a workspace.
func TestSharingAWorkspace(t *testing.T) {
	const rules = `[{"action":"read","subject":"files","role":"agent"}]`
	user, agents, public := access.Target{ID: "sam"}, access.Target{Role: "agent"}, access.Target{Public: true}
	for name, tt := range map[string]struct {
		share           access.Share
		who             access.Principal
		action, subject string
		want            bool
	}{
		"a policy grants its action":            {policies(user, "update"), sam, "update", "workspaces", true},
		"and no other":                          {policies(user, "update"), sam, "read", "workspaces", false},
		"write is update":                       {policies(user, "write"), sam, "update", "workspaces", true},
		"manage_permissions":                    {policies(user, "manage_permissions"), sam, "manage_permissions", "workspaces", true},
		"on that object":                        {policies(user, "delete"), sam, "delete", "files", false},
		"to its user":                           {policies(user, "update"), eve, "update", "workspaces", false},
		"a role grants reading":                 {role("sam", "agent"), sam, "read", "workspaces", true},
		"and its rules":                         {role("sam", "agent"), sam, "read", "files", true},
		"and nothing else":                      {role("sam", "agent"), sam, "update", "workspaces", false},
		"a role that is gone grants nothing":    {role("sam", "pilot"), sam, "read", "workspaces", false},
		"superadmin is no role to share":        {role("sam", "superadmin"), sam, "read", "workspaces", false},
		"a share with a role":                   {policies(agents, "get_usage", "delete"), rob, "delete", "workspaces", true},
		"is not for others":                     {policies(agents, "delete"), sam, "delete", "workspaces", false},
		"what no policy can grant is not":       {policies(agents, "get_usage"), rob, "get_usage", "workspaces", false},
		"a public share":                        {policies(public, "read"), nobody, "read", "workspaces", true},
		"reading the workspace opens its pages": {policies(public, "read"), nobody, "read", "pages", true},
		"a share with nobody":                   {policies(access.Target{}, "read"), nobody, "read", "workspaces", false},
		"the public has no role": {
			access.Share{Target: public, Permissions: access.Permissions{Role: "owner"}}, sam, "read", "workspaces", false,
		},
		"nor has it one with a user": {
			access.Share{Target: access.Target{ID: "rob", Public: true}, Permissions: access.Permissions{Role: "owner"}}, sam, "delete", "workspaces", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := workspace(t, parse(t, rules), role("rob", "agent"), tt.share)
			require.Equal(t, tt.want, w.For(tt.who).Allows(tt.action, tt.subject, plain(tt.subject)))
		})
	}
}

// Section 4.6 on a page.
func TestSharingAPage(t *testing.T) {
	user, agents, public := access.Target{ID: "sam"}, access.Target{Role: "agent"}, access.Target{Public: true}
	rules := `[{"action":"update","subject":"pages","role":"clerk","conditions":{"slug":"home"}},
		{"action":"read","subject":"pages","inverted":true,"conditions":{"slug":"hidden"}}]`
	for name, tt := range map[string]struct {
		share  access.Share
		who    access.Principal
		action string
		slug   string
		want   bool
	}{
		"a policy grants its action":              {policies(user, "update"), sam, "update", "x", true},
		"and no other":                            {policies(user, "update"), sam, "read", "x", false},
		"a share with a role":                     {policies(agents, "manage_permissions"), rob, "manage_permissions", "x", true},
		"everyone reads a public page":            {policies(public, "read"), nobody, "read", "x", true},
		"a rule overrides a share":                {policies(public, "read"), nobody, "read", "hidden", false},
		"a role grants reading":                   {role("sam", "clerk"), sam, "read", "x", true},
		"and its rules on the page":               {role("sam", "clerk"), sam, "update", "home", true},
		"where they match":                        {role("sam", "clerk"), sam, "update", "x", false},
		"an owner of the page manages it":         {role("sam", "owner"), sam, "manage_permissions", "hidden", true},
		"who is no stranger keeps what they have": {policies(user, "read"), ann, "delete", "x", true},
		"others do not":                           {role("sam", "owner"), visitor, "read", "x", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := sharedWorkspace(t, rules).For(tt.who)
			page := with("pages", here, map[string]any{"slug": tt.slug})
			shared := access.Shared{Object: page, Shares: []access.Share{tt.share}}
			require.Equal(t, tt.want, r.Allows(tt.action, "pages", shared))
			require.Equal(t, tt.want, r.May(tt.action, "pages", shared).Allowed)
			require.Equal(t, tt.want, r.Filter(tt.action, "pages")(shared))
			require.False(t, sam.UserID == tt.who.UserID && r.Allows(tt.action, "pages", page), "another page is not shared")
			require.False(t, sam.UserID == tt.who.UserID && r.Allows("read", "workspaces", nil), "nor is the workspace")
			elsewhere := access.Shared{Object: with("pages", there, nil), Shares: []access.Share{tt.share}}
			require.False(t, r.Allows(tt.action, "pages", elsewhere), "a page of another workspace is judged there")
		})
	}
}

func TestWhatCanBeShared(t *testing.T) {
	p, err := access.Compile(here, parse(t, `[]`))
	require.NoError(t, err)
	for share, field := range map[string]string{
		`{"target":{"id":"u"},"permissions":{"role":"owner"}}`:                                                     "",
		`{"target":{"id":"u"},"permissions":{"role":"agent","policies":{"read":true}}}`:                            "",
		`{"target":{"id":"u"},"permissions":{"policies":{"write":true,"create":false,"manage_permissions":true}}}`: "",
		`{"target":{"role":"agent"},"permissions":{"policies":{"delete":true}}}`:                                   "",
		`{"target":{"role":"editor"},"permissions":{"policies":{"delete":true}}}`:                                  "",
		`{"target":{"public":true},"permissions":{"policies":{"read":true}}}`:                                      "",
		`{"target":{},"permissions":{"role":"owner"}}`:                                                             "target",
		`{"target":{"public":false},"permissions":{"policies":{"read":true}}}`:                                     "target",
		`{"target":{"id":"u","public":true},"permissions":{"role":"owner"}}`:                                       "target",
		`{"target":{"role":"pilot"},"permissions":{"policies":{"read":true}}}`:                                     "target.role",
		`{"target":{"role":"owner"},"permissions":{"policies":{"read":true}}}`:                                     "target.role",
		`{"target":{"role":"agent"},"permissions":{"role":"editor"}}`:                                              "permissions.role",
		`{"target":{"public":true},"permissions":{"role":"editor"}}`:                                               "permissions.role",
		`{"target":{"id":"u"},"permissions":{"role":"pilot"}}`:                                                     "permissions.role",
		`{"target":{"id":"u"},"permissions":{"role":"superadmin"}}`:                                                "permissions.role",
		`{"target":{"id":"u"},"permissions":{}}`:                                                                   "permissions",
		`{"target":{"id":"u"},"permissions":{"policies":{"fly":true}}}`:                                            "permissions.policies.fly",
		`{"target":{"id":"u"},"permissions":{"policies":{"execute":true}}}`:                                        "permissions.policies.execute",
	} {
		var s access.Share
		require.NoError(t, json.Unmarshal([]byte(share), &s))
		err := p.CheckShare("workspaces", s)
		if field == "" {
			require.NoError(t, err, share)
			back, err := json.Marshal(s)
			require.NoError(t, err)
			require.JSONEq(t, share, string(back))
			continue
		}
		requireFault(t, err, field)
	}
}

func TestAListOfSharesHasOneEntryPerTarget(t *testing.T) {
	public := policies(access.Target{Public: true}, "read")
	agents := policies(access.Target{Role: "agent"}, "read")
	shares := access.PutShare(access.PutShare(access.PutShare(nil, access.OwnedBy("ann")), public), agents)
	more := access.PutShare(shares, role("ann", "editor"))
	require.Equal(t, []access.Share{access.OwnedBy("ann"), public, agents}, shares, "the old list stays")
	require.Equal(t, []access.Share{public, agents, role("ann", "editor")}, more)
	require.Equal(t, []access.Share{agents}, access.DropShare(access.DropShare(more, "*"), "ann"))
	require.Equal(t, []access.Share{public}, access.DropShare(access.DropShare(more, "role:agent"), "ann"))
	require.Equal(t, more, access.DropShare(more, "nobody"))
	require.Equal(t, []string{"ann"}, access.Owners(shares))
	require.Empty(t, access.Owners(more))
}

// Roles that users have by themselves.
func TestCustomRolesByProvider(t *testing.T) {
	var doc access.Security
	require.NoError(t, json.Unmarshal([]byte(`{"authorizations": {"roles": {
		"staff": {"auth": {"corp": {"conditions": {"authData.groups": "hr", "authData.email": "{{user.email}}"}}}},
		"guest": {"auth": {"anonymous": {}, "lab": {}}},
		"robot": {"auth": {"apiKey": {}}},
		"plain": {}
	}, "rules": []}}`), &doc))
	w := workspace(t, doc)
	data := func(provider string, fields map[string]any) map[string]map[string]any {
		return map[string]map[string]any{provider: fields}
	}
	hr := map[string]any{"groups": []any{"it", "hr"}, "email": "a@corp"}
	for name, tt := range map[string]struct {
		who  access.Principal
		want []string
	}{
		"conditions on the provider's data":  {access.Principal{UserID: "u", Email: "a@corp", AuthData: data("corp", hr)}, []string{"staff"}},
		"that do not match":                  {access.Principal{UserID: "u", Email: "b@corp", AuthData: data("corp", hr)}, nil},
		"that cannot be resolved":            {access.Principal{UserID: "u", AuthData: data("corp", hr)}, nil},
		"not even by nothing":                {access.Principal{UserID: "u", AuthData: data("corp", map[string]any{"groups": "hr"})}, nil},
		"the same data of another provider":  {access.Principal{UserID: "u", Email: "a@corp", AuthData: data("svc", hr)}, nil},
		"no conditions: all of its users":    {access.Principal{UserID: "u", AuthData: data("lab", nil)}, []string{"guest"}},
		"anonymous users are of a provider":  {access.Principal{UserID: "u", AuthData: data("anonymous", map[string]any{"id": "u"})}, []string{"guest"}},
		"without a credential there is none": {nobody, nil},
		"a role used by name":                {access.Principal{KeyRole: "robot"}, []string{"robot"}},
		"one that is not for that":           {access.Principal{KeyRole: "plain"}, nil},
		"a user is not an automation":        {access.Principal{UserID: "u", AuthData: data("apiKey", nil)}, nil},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, w.For(tt.who).Roles()) })
	}
	require.False(t, w.For(access.Principal{KeyRole: "robot"}).IsMember(), "only sharing comes with reading")
}

// requireNotHeld checks that err refuses to hand on a right, and which.
func requireNotHeld(t *testing.T, err error, action, subject string) {
	t.Helper()
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.CodePermissionDenied, refusal.Code)
	require.Equal(t, map[string]any{"action": action, "subject": subject}, refusal.Details)
}

// chiefs may share; they are more than clerks, and not agents.
const chiefs = `[
	{"action":["read","update","manage_permissions"],"subject":"workspaces","role":"chief"},
	{"action":"manage","subject":"files","role":"chief"},
	{"action":["read","update"],"subject":"apps","role":"chief","conditions":{"public":true}},
	{"action":"read","subject":"secrets","role":"chief","inverted":true},

	{"action":"read","subject":["files","apps"],"role":"clerk","conditions":{"public":true,"createdBy":"{{user.id}}"}},
	{"action":"read","subject":"files","role":"clerk","inverted":true,"conditions":{"secret":true}},
	{"action":"update","subject":"files","role":"clerk","fields":["name"]},
	{"action":["create","delete"],"subject":"pages","role":"clerk"},

	{"action":"read","subject":"secrets","role":"agent"}
]`

func workspaceWithRules(t require.TestingT, rules string, shares ...access.Share) *access.Workspace {
	doc := parse(t, rules)
	doc.Authorizations.Roles["chief"] = access.Role{}
	doc.Authorizations.Roles["idle"] = access.Role{}
	return workspace(t, doc, append(sampleShares(), append(shares, role("sam", "chief"))...)...)
}

func TestNobodySharesWhatTheyDoNotHold(t *testing.T) {
	to, all, clerks := access.Target{ID: "u"}, access.Target{Public: true}, access.Target{Role: "clerk"}
	manager := access.Principal{Key: key(t, here, grant("read", "workspaces"), grant("manage_permissions", "workspaces"), grant("read", "secrets"))}
	for name, tt := range map[string]struct {
		who             access.Principal
		share           access.Share
		action, subject string // of the refusal; "" for none
	}{
		"an owner makes owners":         {ann, role("u", "owner"), "", ""},
		"a super admin too":             {root, role("u", "owner"), "", ""},
		"the workspace itself does not": {access.Principal{Workspace: here}, role("u", "owner"), "manage", "workspaces"},
		"another workspace does not":    {access.Principal{Workspace: there}, role("u", "owner"), "manage", "workspaces"},
		"nobody else does":              {sam, role("u", "owner"), "manage", "workspaces"},
		"not even for themselves":       {sam, role("sam", "owner"), "manage", "workspaces"},
		"an owner shares any policy":    {ann, policies(all, "delete", "manage_permissions"), "", ""},
		"an owner shares any role":      {ann, role("u", "agent"), "", ""},
		"policies that one holds":       {sam, policies(to, "read", "write", "update", "manage_permissions"), "", ""},
		"with everyone":                 {sam, policies(all, "read"), "", ""},
		"what everyone holds":           {sam, policies(to, "create"), "", ""},
		"a policy that one lacks":       {sam, policies(to, "read", "delete"), "delete", "workspaces"},
		"with a role":                   {sam, policies(clerks, "delete"), "delete", "workspaces"},
		"write is update":               {rob, policies(to, "write"), "update", "workspaces"},
		"a policy that is not granted":  {sam, access.Share{Target: to, Permissions: access.Permissions{Policies: map[string]bool{"delete": false, "read": true}}}, "", ""},
		"a policy that does not exist":  {sam, policies(to, "fly"), "", ""}, // refused as an entry
		"a role that one has":           {sam, role("u", "chief"), "", ""},
		"a role with less":              {sam, role("u", "clerk"), "", ""},
		"a role without rules":          {sam, role("u", "idle"), "", ""},
		"a role with more":              {sam, role("u", "agent"), "read", "secrets"},
		"a role and a policy with more": {sam, access.Share{Target: to, Permissions: access.Permissions{Role: "clerk", Policies: map[string]bool{"delete": true}}}, "delete", "workspaces"},
		"an editor executes":            {sam, role("u", "editor"), "execute", "automations"},
		"an editor may":                 {eve, role("u", "editor"), "", ""},
		"an editor is no clerk":         {eve, role("u", "clerk"), "read", "files"},
		"an API key holds its rules":    {manager, role("u", "agent"), "", ""},
		"and no more":                   {manager, role("u", "clerk"), "read", "files"},
		"and no role":                   {manager, role("u", "owner"), "manage", "workspaces"},
		"a stranger shares nothing":     {visitor, policies(all, "read"), "read", "workspaces"},
		"no role comes without reading": {visitor, role("u", "idle"), "read", "workspaces"},
	} {
		t.Run(name, func(t *testing.T) {
			err := workspaceWithRules(t, chiefs).For(tt.who).CheckShare(tt.share)
			if tt.action == "" {
				require.NoError(t, err)
				return
			}
			requireNotHeld(t, err, tt.action, tt.subject)
		})
	}
}

// A role's rules may stand above a denial that its giver is bound by.
func TestADenialBelowARoleIsNotTheGiversToOverride(t *testing.T) {
	const (
		mine    = `{"action":["read","manage_permissions"],"subject":"workspaces","role":"chief"},{"action":"read","subject":"files","role":"chief"}`
		denied  = `{"action":"read","subject":"files","inverted":true,"conditions":{"secret":true}}`
		granted = `{"action":"read","subject":"files","role":"agent"}`
	)
	free := workspaceWithRules(t, `[`+mine+`,`+granted+`,`+denied+`]`).For(sam)
	require.NoError(t, free.CheckShare(role("u", "agent")), "everyone is denied, agents too")
	bound := workspaceWithRules(t, `[`+mine+`,`+denied+`,`+granted+`]`).For(sam)
	requireNotHeld(t, bound.CheckShare(role("u", "agent")), "read", "files")
	above := workspaceWithRules(t, `[`+denied+`,`+mine+`,`+granted+`]`).For(sam)
	require.NoError(t, above.CheckShare(role("u", "agent")), "neither is denied")
}

// What is shared with a role comes with it.
func TestARoleBringsWhatIsSharedWithIt(t *testing.T) {
	idle := access.Target{Role: "idle"}
	require.NoError(t, workspaceWithRules(t, chiefs, policies(idle, "update")).For(sam).CheckShare(role("u", "idle")))
	requireNotHeld(t, workspaceWithRules(t, chiefs, policies(idle, "delete")).For(sam).CheckShare(role("u", "idle")), "delete", "workspaces")
}

func TestOnlyOwnersChangeOwners(t *testing.T) {
	w := workspaceWithRules(t, chiefs)
	for _, who := range []access.Principal{ann, root} {
		require.NoError(t, w.For(who).CheckUnshare(access.OwnedBy("bob")))
	}
	require.Error(t, w.For(access.Principal{Workspace: here}).CheckUnshare(access.OwnedBy("bob")), "the workspace itself is none")
	require.NoError(t, w.For(ann).CheckUnshare(access.OwnedBy("ann")), "oneself")
	gone := workspaceWithRules(t, chiefs, access.OwnedBy("sam"))
	gone.Shares = gone.Shares[:3] // sam is no owner any more, and yet asks
	require.NoError(t, gone.For(sam).CheckUnshare(access.OwnedBy("sam")))
	key := access.Principal{Key: key(t, here, grant("manage", "workspaces"))}
	for _, who := range []access.Principal{sam, eve, visitor, nobody, key, {Workspace: there}} {
		requireNotHeld(t, w.For(who).CheckUnshare(access.OwnedBy("ann")), "manage", "workspaces")
		requireNotHeld(t, w.For(who).CheckUnshare(access.OwnedBy("")), "manage", "workspaces")
		require.NoError(t, w.For(who).CheckUnshare(role("eve", "editor")), "others are not protected")
		require.NoError(t, w.For(who).CheckUnshare(policies(access.Target{Public: true}, "read")))
	}
}

// Who was given a role or policies never does what neither the giver nor
// everyone may.
func TestASharedRightIsNoMoreThanTheGivers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, shares, giver := someDocument(t), someShares(t), drawPrincipal(t)
		given := policies(access.Target{ID: "new"}, rapid.SampledFrom([]string{"read", "write", "delete", "manage_permissions"}).Draw(t, "policy"))
		given.Permissions.Role = rapid.SampledFrom(append(someRoles, "", "owner")).Draw(t, "role")
		mine := workspace(t, doc, shares...).For(giver)
		for _, has := range mine.Roles() {
			if has == given.Permissions.Role {
				return // one may give what one is, with or without one's other roles
			}
		}
		if mine.CheckShare(given) != nil {
			return
		}
		fresh := access.Principal{UserID: "new"}
		without, theirs := workspace(t, doc, shares...).For(fresh), workspace(t, doc, append(shares, given)...).For(fresh)
		for range 10 {
			q := someQuestion(t)
			if q.subject == "pages" || q.subject == "automations" || giver.Super || mine.Role() == "owner" {
				continue // the workspace decides; they share everything
			}
			if q.of(theirs) {
				require.True(t, q.of(mine) || q.of(without), "%v", q)
			}
		}
	})
}

// A proof is one decision: the most expensive ones are given up, as a refusal.
func TestProofsHaveOneBudget(t *testing.T) {
	doc := parse(t, `[]`)
	doc.Authorizations.Roles["chief"] = access.Role{}
	list := func(last int) map[string]any {
		return map[string]any{"a": map[string]any{"$in": append(numbers(900), float64(last))}}
	}
	var asked []access.KeyGrant
	for i := range 500 {
		r := access.Rule{Action: access.Word("manage"), Subject: access.Word("all"), Role: access.Word("chief"), Conditions: list(i)}
		if i%2 == 0 {
			r.Role = access.Word("agent")
		}
		doc.Authorizations.Rules = append(doc.Authorizations.Rules, r)
	}
	for i := range 100 {
		asked = append(asked, access.KeyGrant{Action: access.Word("manage"), Subject: access.Word("all"), Conditions: list(499 - 2*i)})
	}
	var rules []access.KeyRule
	var err error
	effort := domaintest.MeasureEffort(t, func() { rules, err = access.ScopeKey(here, asked) })
	require.NoError(t, err)
	require.Less(t, effort, domaintest.RaceSlowdown*2*time.Second, "nor is each rule compared with each")
	r := workspace(t, doc, role("sam", "chief"), policies(access.Target{ID: "sam"}, "read")).For(sam)
	require.NoError(t, r.CheckGrant(rules[:1]), "one of them is held")
	require.Error(t, r.CheckGrant(rules))
	require.Error(t, r.CheckShare(role("u", "agent")))
	require.Less(t, effortOf(t, func() { _ = r.CheckGrant(rules) }), soon)
	require.Less(t, effortOf(t, func() { _ = r.CheckShare(role("u", "agent")) }), soon)
}

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
