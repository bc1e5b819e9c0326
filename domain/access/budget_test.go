package access_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/access"
	"svc/domain/domaintest"
)

// costly is a condition that takes about all the steps of a decision on a text
// of some thousand characters which does not match.
func costly(field string) map[string]any {
	return map[string]any{field: map[string]any{"$regex": "(x+x+)+y"}}
}

// long is such a text. What it costs is just within the steps of a decision.
var long = strings.Repeat("x", 5000)

// soon is several times what one decision may take.
const soon = domaintest.RaceSlowdown * 20 * time.Millisecond

// effortOf returns the smallest effort of some attempts.
func effortOf(t *testing.T, work func()) time.Duration {
	t.Helper()
	best := time.Hour
	for range 10 {
		best = min(best, domaintest.MeasureEffort(t, work))
	}
	return best
}

// hostile is a document of 500 costly rules, each about everything.
func hostile(inverted bool, roles ...string) access.Security {
	doc := access.Security{Authorizations: access.Authorizations{Roles: map[string]access.Role{}}}
	for i := range 500 {
		field := "description"
		if i%2 == 0 {
			field = "name"
		}
		r := access.Rule{
			Action: access.Word("manage"), Subject: access.List(repeated("all", 100)...), Conditions: costly(field),
			Role: access.List(roles...),
		}
		if len(roles) == 0 {
			r.Role = access.Words{}
		}
		if inverted {
			r.Inverted = new(true)
		}
		doc.Authorizations.Rules = append(doc.Authorizations.Rules, r)
	}
	for _, name := range roles {
		doc.Authorizations.Roles[name] = access.Role{}
	}
	return doc
}

func repeated(word string, n int) []string {
	return strings.Fields(strings.Repeat(word+" ", n))
}

// However many rules there are, a decision costs no more than one rule may.
func TestOneDecisionHasOneBudget(t *testing.T) {
	for _, inverted := range []bool{false, true} {
		w := workspace(t, hostile(inverted))
		w.Self = access.Fields{"name": long, "description": long}
		r := w.For(sam)
		page := with("pages", here, map[string]any{"name": long, "description": long})
		for name, work := range map[string]func(){
			"Allows":  func() { r.Allows("update", "workspaces", nil) },
			"fields":  func() { r.Allows("update", "pages", page, "a", "b", "c", "d", "e", "f") },
			"May":     func() { r.May("update", "pages", page, "a", "b", "c", "d", "e", "f") },
			"Filter":  func() { r.Filter("read", "pages")(page) },
			"Could":   func() { r.Could("read", "pages") },
			"Refusal": func() { _ = r.Refusal("read", "pages") },
			"Any":     func() { r.Any() },
			"all":     func() { r.Allows("read", "workspaces", nil); _ = r.Refusal("read", "workspaces"); r.Any() },
		} {
			require.Less(t, effortOf(t, work), soon, name)
		}
	}
}

// hundred is a document of 100 roles that are costly to judge, and rules that
// name all of them.
func hundred() access.Security {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("role-%03d", i))
	}
	doc := hostile(false, names...)
	for _, name := range names {
		doc.Authorizations.Roles[name] = access.Role{Auth: map[string]access.RoleAuth{
			"corp": {Conditions: costly("authData.name")}, "lab": {},
		}}
	}
	return doc
}

func TestFindingRolesHasOneBudget(t *testing.T) {
	w := workspace(t, hundred())
	who := access.Principal{UserID: "u", AuthData: map[string]map[string]any{"corp": {"name": long}}}
	require.Empty(t, w.For(who).Roles())
	require.Less(t, effortOf(t, func() { w.For(who) }), soon)

	who.AuthData["lab"] = nil
	require.Len(t, w.For(who).Roles(), 100)
	require.Less(t, effortOf(t, func() { w.For(who) }), soon, "with all the roles")

	doc := hundred()
	for i := range doc.Authorizations.Rules {
		doc.Authorizations.Rules[i].Role = access.List(repeated("role-000", 100)...)
	}
	role := doc.Authorizations.Roles["role-000"]
	role.Auth = maps.Clone(role.Auth)
	delete(role.Auth, "lab")
	doc.Authorizations.Roles["role-000"] = role
	w = workspace(t, doc)
	require.Len(t, w.For(who).Roles(), 99)
	require.Less(t, effortOf(t, func() { w.For(who) }), soon, "with all but the one that matters")
}

// Rules that come too late to be judged count against the caller.
func TestWhatTheBudgetDoesNotReachCountsAgainstTheCaller(t *testing.T) {
	file := with("files", here, map[string]any{"text": long, "name": "a"})
	read := func(conditions map[string]any) access.Rule {
		return access.Rule{Action: access.Word("read"), Subject: access.Word("files"), Conditions: conditions}
	}
	deny := func(conditions map[string]any) access.Rule {
		r := read(conditions)
		r.Inverted = new(true)
		return r
	}
	cheap, other := map[string]any{"name": "a"}, map[string]any{"name": "b"}
	var spent []access.Rule // all the steps, without a match
	for range 300 {
		spent = append(spent, read(map[string]any{"none": map[string]any{"$in": numbers(5)}}))
	}
	for range 70 {
		spent = append(spent, read(map[string]any{"none": map[string]any{"$in": numbers(800)}}))
	}
	for name, tt := range map[string]struct {
		first []access.Rule
		want  [2]bool // without and with the costly rules after them
	}{
		"an allow does not match": {[]access.Rule{read(cheap)}, [2]bool{true, false}},
		"a deny does":             {[]access.Rule{read(nil), deny(other)}, [2]bool{true, false}},
		"nothing is nothing":      {[]access.Rule{read(other)}, [2]bool{false, false}},
	} {
		for i, more := range [][]access.Rule{nil, spent} {
			doc := access.Security{}
			doc.Authorizations.Rules = append(append(doc.Authorizations.Rules, tt.first...), more...)
			r := workspace(t, doc, access.OwnedBy("ann")).For(sam)
			require.Equal(t, tt.want[i], r.Allows("read", "files", file), name)
			require.Equal(t, tt.want[i], r.May("read", "files", file).Allowed, name)
			require.Equal(t, tt.want[i], r.Filter("read", "files")(file), name)
			require.True(t, workspace(t, doc, access.OwnedBy("ann")).For(ann).Allows("read", "files", file), "owners stand above")
		}
	}
}

func numbers(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = float64(i)
	}
	return list
}

// Of a role that cannot be judged, what it denies binds, and what it allows
// does not.
func TestARoleThatCannotBeJudgedCountsAgainstTheCaller(t *testing.T) {
	doc := parse(t, `[
		{"action":["read","delete"],"subject":"files"},
		{"action":"read","subject":"files","role":"clerk","inverted":true},
		{"action":"update","subject":"files","role":"clerk"}
	]`)
	doc.Authorizations.Roles["clerk"] = access.Role{Auth: map[string]access.RoleAuth{"corp": {Conditions: costly("authData.name")}}}
	w := workspace(t, doc)
	for name, want := range map[string]map[string]bool{
		"y":                       {"read": true, "update": false, "delete": true},
		"xxy":                     {"read": false, "update": true, "delete": true},
		strings.Repeat(long, 100): {"read": false, "update": false, "delete": true},
	} {
		who := access.Principal{UserID: "u", AuthData: map[string]map[string]any{"corp": {"name": name}}}
		for action, allowed := range want {
			require.Equal(t, allowed, w.For(who).Allows(action, "files", plain("files")), "%s with %d characters", action, len(name))
		}
	}
}

// Of many fields, the reasons are those of the refusal.
func TestReasonsAreThoseOfTheDecision(t *testing.T) {
	doc := access.Security{}
	doc.Authorizations.Rules = []access.Rule{
		{Action: access.Word("update"), Subject: access.Word("files")},
		{Action: access.Word("update"), Subject: access.Word("files"), Inverted: new(true), Conditions: costly("text")},
	}
	r := workspace(t, doc).For(sam)
	for length := 1000; length < 12000; length += 500 {
		file := with("files", here, map[string]any{"text": strings.Repeat("x", length)})
		for n := range 6 {
			fields := repeated("name", n)
			require.Equal(t, r.Allows("update", "files", file, fields...), r.May("update", "files", file, fields...).Allowed, "%d fields", n)
		}
	}
}
