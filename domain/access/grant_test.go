package access_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/domaintest"
)

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

func chief(t require.TestingT, rules string, shares ...access.Share) *access.Workspace {
	doc := parse(t, rules)
	doc.Authorizations.Roles["chief"] = access.Role{}
	doc.Authorizations.Roles["idle"] = access.Role{}
	return workspace(t, doc, append(family(), append(shares, role("sam", "chief"))...)...)
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
			err := chief(t, chiefs).For(tt.who).CheckShare(tt.share)
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
	free := chief(t, `[`+mine+`,`+granted+`,`+denied+`]`).For(sam)
	require.NoError(t, free.CheckShare(role("u", "agent")), "everyone is denied, agents too")
	bound := chief(t, `[`+mine+`,`+denied+`,`+granted+`]`).For(sam)
	requireNotHeld(t, bound.CheckShare(role("u", "agent")), "read", "files")
	above := chief(t, `[`+denied+`,`+mine+`,`+granted+`]`).For(sam)
	require.NoError(t, above.CheckShare(role("u", "agent")), "neither is denied")
}

// What is shared with a role comes with it.
func TestARoleBringsWhatIsSharedWithIt(t *testing.T) {
	idle := access.Target{Role: "idle"}
	require.NoError(t, chief(t, chiefs, policies(idle, "update")).For(sam).CheckShare(role("u", "idle")))
	requireNotHeld(t, chief(t, chiefs, policies(idle, "delete")).For(sam).CheckShare(role("u", "idle")), "delete", "workspaces")
}

func TestOnlyOwnersChangeOwners(t *testing.T) {
	w := chief(t, chiefs)
	for _, who := range []access.Principal{ann, root} {
		require.NoError(t, w.For(who).CheckUnshare(access.OwnedBy("bob")))
	}
	require.Error(t, w.For(access.Principal{Workspace: here}).CheckUnshare(access.OwnedBy("bob")), "the workspace itself is none")
	require.NoError(t, w.For(ann).CheckUnshare(access.OwnedBy("ann")), "oneself")
	gone := chief(t, chiefs, access.OwnedBy("sam"))
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
		doc, shares, giver := someDocument(t), someShares(t), somebody(t)
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
