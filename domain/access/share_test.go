package access_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/access"
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
			r := ruled(t, rules).For(tt.who)
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
		err := p.CheckShare(s)
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
	require.False(t, w.For(access.Principal{KeyRole: "robot"}).Any(), "only sharing comes with reading")
}
