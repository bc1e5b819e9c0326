package access_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
)

func TestADocumentIsReturnedAsItWasSent(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"authorizations":{"roles":{},"rules":[]}}`,
		`{"authorizations":{"roles":{"agent":{}}},"authentication":{"clientId":"c1"}}`,
		`{"authorizations":{"rules":[{"action":"read","subject":"files"}]}}`,
		`{"authorizations":{"rules":[{"action":["read"],"subject":["files"],"role":["editor"]}]}}`,
		`{"authorizations":{"rules":[{"action":["read","update"],"subject":"all","role":"editor","inverted":false,"conditions":{},"fields":["name"],"reason":"why","priority":100}]}}`,
		`{"authorizations":{"roles":{"agent":{"description":"d","auth":{"apiKey":{},"corp":{"conditions":{}},"lab":{"conditions":{"authData.n":{"$gt":1}}}}}}}}`,
	} {
		var doc access.Security
		require.NoError(t, json.Unmarshal([]byte(text), &doc))
		require.NoError(t, doc.Validate(nil), text)
		back, err := json.Marshal(doc)
		require.NoError(t, err)
		require.Equal(t, text, string(back))
	}
}

func TestWordsAreATextOrAListOfTexts(t *testing.T) {
	for _, text := range []string{`null`, `1`, `{}`, `[1]`, `[null]`, `["a",{}]`, `true`} {
		var doc access.Security
		err := json.Unmarshal([]byte(`{"authorizations":{"rules":[{"action":"read","subject":"files","role":`+text+`}]}}`), &doc)
		var wrong *json.UnmarshalTypeError
		require.ErrorAs(t, err, &wrong, text)
		require.Equal(t, "authorizations.rules.role", wrong.Field)
	}
}

func TestBadDocumentsAreNamed(t *testing.T) {
	const file = `{"action":"read","subject":"files"}`
	rule := func(r string) string { return `"rules":[` + file + `,` + file + `,` + r + `]` }
	for name, tt := range map[string]struct{ authorizations, field string }{
		"unknown action":            {rule(`{"action":"fly","subject":"files"}`), "authorizations.rules[2].action"},
		"unknown action in a list":  {rule(`{"action":["read","fly"],"subject":"files"}`), "authorizations.rules[2].action"},
		"action of another subject": {rule(`{"action":"execute","subject":"files"}`), "authorizations.rules[2].action"},
		"action of no subject":      {rule(`{"action":"fly","subject":"all"}`), "authorizations.rules[2].action"},
		"unknown subject":           {rule(`{"action":"read","subject":"planes"}`), "authorizations.rules[2].subject"},
		"unknown subject in a list": {rule(`{"action":"read","subject":["files","planes"]}`), "authorizations.rules[2].subject"},
		"no action":                 {rule(`{"subject":"files"}`), "authorizations.rules[2].action"},
		"an empty list of actions":  {rule(`{"action":[],"subject":"files"}`), "authorizations.rules[2].action"},
		"no subject":                {rule(`{"action":"read"}`), "authorizations.rules[2].subject"},
		"unknown role":              {rule(`{"action":"read","subject":"files","role":"pilot"}`), "authorizations.rules[2].role"},
		"unknown role in a list":    {rule(`{"action":"read","subject":"files","role":["editor","pilot"]}`), "authorizations.rules[2].role"},
		"an empty list of roles":    {rule(`{"action":"read","subject":"files","role":[]}`), "authorizations.rules[2].role"},
		"a rule for owners":         {rule(`{"action":"read","subject":"files","role":"owner"}`), "authorizations.rules[2].role"},
		"a rule for super admins":   {rule(`{"action":"read","subject":"files","role":["editor","superadmin"]}`), "authorizations.rules[2].role"},
		"a low priority":            {rule(`{"action":"read","subject":"files","priority":99}`), "authorizations.rules[2].priority"},
		"no priority that is one":   {rule(`{"action":"read","subject":"files","priority":0}`), "authorizations.rules[2].priority"},
		"a high priority":           {rule(`{"action":"read","subject":"files","priority":1000}`), "authorizations.rules[2].priority"},
		"a bad condition":           {rule(`{"action":"read","subject":"files","conditions":{"a":{"$fly":1}}}`), "authorizations.rules[2].conditions.a.$fly"},
		"a bad condition on scope":  {rule(`{"action":"read","subject":"files","conditions":{"workspaceId":{"$fly":1}}}`), "authorizations.rules[2].conditions.workspaceId.$fly"},
		"fields of a reading rule":  {rule(`{"action":"read","subject":"files","fields":["name"]}`), "authorizations.rules[2].fields"},
		"an empty list of fields":   {rule(`{"action":"update","subject":"files","fields":[]}`), "authorizations.rules[2].fields"},
		"a field within a field":    {rule(`{"action":"update","subject":"files","fields":["name","a.b"]}`), "authorizations.rules[2].fields[1]"},
		"a long reason":             {rule(`{"action":"read","subject":"files","reason":"` + strings.Repeat("x", 1001) + `"}`), "authorizations.rules[2].reason"},
		"a role called owner":       {`"roles":{"owner":{}}`, "authorizations.roles.owner"},
		"a role called Superadmin":  {`"roles":{"SuperAdmin":{}}`, "authorizations.roles.SuperAdmin"},
		"a role without a name":     {`"roles":{"":{}}`, "authorizations.roles."},
		"a role of two lines":       {`"roles":{"a\nb":{}}`, "authorizations.roles.a\nb"},
		"a role with a long story":  {`"roles":{"a":{"description":"` + strings.Repeat("x", 1001) + `"}}`, "authorizations.roles.a.description"},
		"a provider without a name": {`"roles":{"a":{"auth":{"":{}}}}`, "authorizations.roles.a.auth."},
		"conditions on keys":        {`"roles":{"a":{"auth":{"apiKey":{"conditions":{"a":1}}}}}`, "authorizations.roles.a.auth.apiKey"},
		"a bad condition of a role": {`"roles":{"a":{"auth":{"x":{"conditions":{"$a":1}}}}}`, "authorizations.roles.a.auth.x.conditions.$a"},
		"more than 500 rules":       {`"rules":[` + strings.Repeat(file+",", 500) + file + `]`, "authorizations.rules"},
		"more than 100 roles":       {`"roles":{` + numbered(101) + `}`, "authorizations.roles"},
		"a role of 101 providers":   {`"roles":{"a":{"auth":{` + numbered(101) + `}}}`, "authorizations.roles.a.auth"},
		"more than 100 words":       {rule(`{"action":["read"` + strings.Repeat(`,"read"`, 100) + `],"subject":"files"}`), "authorizations.rules[2].action"},
		"all faults are named":      {rule(`{"action":"fly","subject":"files","role":"pilot"}`), "authorizations.rules[2].role"},
	} {
		t.Run(name, func(t *testing.T) {
			var doc access.Security
			require.NoError(t, json.Unmarshal([]byte(`{"authorizations":{`+tt.authorizations+`}}`), &doc))
			requireFault(t, doc.Validate(nil), tt.field)
		})
	}
}

func numbered(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"r%d":{}`, i))
	}
	return strings.Join(all, ",")
}

func TestWhatIsWithinTheBoundsIsAccepted(t *testing.T) {
	for _, authorizations := range []string{
		`"rules":[` + strings.Repeat(`{"action":"read","subject":"files"},`, 499) + `{"action":"manage","subject":"all","priority":999}]`,
		`"roles":{` + numbered(100) + `}`,
		`"rules":[{"action":["read","delete"],"subject":["files","events"]}]`,
		`"rules":[{"action":"read","subject":"files","role":"editor"}]`,
		`"rules":[{"action":["read","update"],"subject":"files","fields":["name"]}]`,
	} {
		var doc access.Security
		require.NoError(t, json.Unmarshal([]byte(`{"authorizations":{`+authorizations+`}}`), &doc))
		require.NoError(t, doc.Validate(nil))
	}
}

func TestARoleThatIsAssignedStays(t *testing.T) {
	doc := parse(t, `[]`)
	require.NoError(t, doc.Validate(sampleShares()))
	delete(doc.Authorizations.Roles, "agent")
	err := doc.Validate(sampleShares())
	requireFault(t, err, "authorizations.roles")
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, []string{"rob"}, refusal.Details["users"])
}

func TestARoleThatSomethingIsSharedWithStays(t *testing.T) {
	doc := parse(t, `[]`)
	shares := []access.Share{
		access.OwnedBy("ann"), policies(access.Target{Role: "clerk"}, "read"),
		policies(access.Target{Role: "editor"}, "read"), policies(access.Target{Public: true}, "read"),
	}
	require.NoError(t, doc.Validate(shares))
	delete(doc.Authorizations.Roles, "clerk")
	err := doc.Validate(shares)
	requireFault(t, err, "authorizations.roles")
	require.ErrorContains(t, err, `"clerk"`)
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.NotContains(t, refusal.Details, "users")

	delete(doc.Authorizations.Roles, "agent")
	require.ErrorAs(t, doc.Validate(append(shares, role("rob", "agent"))), &refusal)
	require.Equal(t, []string{"rob"}, refusal.Details["users"])
	require.Len(t, refusal.Details["errors"], 2, "both are said")
}

func TestNamesShowWhatTheyAre(t *testing.T) {
	for name, ok := range map[string]bool{
		"agent": true, "Agent 2": true, "first-line support": true, "équipe": true, "代理": true, "co-owner": true, "owner2": true, "owners": true,
		" agent": false, "agent ": false, "agent\u00a0": false, "\u3000agent": false, " ": false,
		"age\u200bnt": false, "age\u00adnt": false, "\u202eagent": false, "agent\ufeff": false, "age\u3164nt": false, "age\u2028nt": false,
		"owner": false, "OWNER": false, "o w n e r": false, "own\u2003er": false, "Super Admin": false, "super-admin": false, "\u017fuperadmin": false, "owner\ufe0f": false,
	} {
		doc := access.Security{Authorizations: access.Authorizations{Roles: map[string]access.Role{name: {}}}}
		if ok {
			require.NoError(t, doc.Validate(nil), "%q", name)
			continue
		}
		requireFault(t, doc.Validate(nil), "authorizations.roles."+name)
		doc.Authorizations.Roles = map[string]access.Role{"agent": {Auth: map[string]access.RoleAuth{name: {}}}}
		requireFault(t, doc.Validate(nil), "authorizations.roles.agent.auth."+name)
	}
	doc := access.Security{Authorizations: access.Authorizations{Rules: []access.Rule{{
		Action: access.Word("update"), Subject: access.Word("pages"), Fields: []string{"owner", "ti\u200btle", "title "},
	}}}}
	err := doc.Validate(nil)
	requireFault(t, err, "authorizations.rules[0].fields[1]")
	requireFault(t, err, "authorizations.rules[0].fields[2]")
	require.NotContains(t, err.Error(), "fields[0]", "a field may be called owner")
}

func TestRoleNames(t *testing.T) {
	p, err := access.Compile(here, parse(t, `[]`))
	require.NoError(t, err)
	require.Equal(t, []string{"owner", "editor", "agent", "clerk"}, p.RoleNames())
	p, err = access.Compile(here, access.Default(here))
	require.NoError(t, err)
	require.Equal(t, []string{"owner", "editor"}, p.RoleNames())
}

func TestTheVocabularyIsClosed(t *testing.T) {
	require.Equal(t, []string{"workspaces", "automations", "pages", "apps", "files", "events", "secrets", "collections", "knowledgeBases", "documents", "agents"}, access.Subjects())
	require.Equal(t, []string{"create", "read"}, access.Actions("events"))
	require.Nil(t, access.Actions("all"))
}

func TestAWorkspaceIsOpenWhenOthersThanItsMembersMayReadIt(t *testing.T) {
	const member = `{"target":{"id":"u1"},"permissions":{"role":"owner"}}`
	for name, tt := range map[string]struct {
		authorizations, shares string
		open                   bool
	}{
		"the default":                    {``, member, false},
		"a share for everyone":           {``, member + `,{"target":{"public":true},"permissions":{"policies":{"read":true}}}`, true},
		"a share for a role":             {``, member + `,{"target":{"role":"editor"},"permissions":{"policies":{"read":true}}}`, false},
		"a rule for everyone":            {`"rules":[{"action":"read","subject":["files","workspaces"]}]`, member, true},
		"a rule for everyone on all":     {`"rules":[{"action":"manage","subject":"all"}]`, member, true},
		"a rule for everyone on files":   {`"rules":[{"action":"read","subject":"files"}]`, member, false},
		"a rule that denies":             {`"rules":[{"action":"read","subject":"all","inverted":true}]`, member, false},
		"a rule for a role":              {`"rules":[{"action":"read","subject":"workspaces","role":"editor"}]`, member, false},
		"a role that is given by itself": {`"roles":{"staff":{"auth":{"svc":{}}}}`, member, true},
	} {
		t.Run(name, func(t *testing.T) {
			doc := access.Default("w1")
			if tt.authorizations != "" {
				doc = access.Security{}
				require.NoError(t, json.Unmarshal([]byte(`{"authorizations":{`+tt.authorizations+`}}`), &doc))
			}
			var shares []access.Share
			require.NoError(t, json.Unmarshal([]byte("["+tt.shares+"]"), &shares))
			require.Equal(t, tt.open, doc.IsOpen(shares))
		})
	}
}
