package access_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/access"
)

// The worlds of the properties are small, so that rules and objects meet.
var (
	someNames = rapid.SampledFrom([]string{"a", "b", "svc_a", "rob", "{{user.id}}"})
	somePaths = rapid.SampledFrom([]string{"name", "labels", "meta.owner", "type", "target.userId", "workspaceId", "id"})
	someRoles = []string{"editor", "agent", "clerk"}
	everybody = []access.Principal{root, ann, eve, rob, sam, visitor, nobody}
)

func someCondition(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 2).Draw(t, "entries") {
		name := someNames.Draw(t, "value")
		value := rapid.SampledFrom([]any{
			name, nil, map[string]any{"$ne": name}, map[string]any{"$in": []any{name, "b"}}, map[string]any{"$regex": "^[as]"},
			map[string]any{"$exists": true}, map[string]any{"$not": map[string]any{"$eq": name}},
			map[string]any{"$size": 1.0}, map[string]any{"$in": "{{user.topics}}"}, map[string]any{"$gt": "a"},
		}).Draw(t, "test")
		m[somePaths.Draw(t, "path")] = value
	}
	if depth > 0 && rapid.Bool().Draw(t, "joined") {
		join := rapid.SampledFrom([]string{"$and", "$or", "$nor"}).Draw(t, "join")
		m[join] = []any{someCondition(t, depth-1), someCondition(t, depth-1)}
	}
	return m
}

func someRule(t *rapid.T) access.Rule {
	subject := rapid.SampledFrom(append(access.Subjects(), "all")).Draw(t, "subject")
	actions := []string{"manage", "read"}
	if subject != "all" {
		actions = append(access.Actions(subject), "manage")
	}
	r := access.Rule{
		Action:  access.List(rapid.SliceOfNDistinct(rapid.SampledFrom(actions), 1, 2, rapid.ID).Draw(t, "actions")...),
		Subject: access.Word(subject), Conditions: someCondition(t, 2),
	}
	if rapid.Bool().Draw(t, "bound") {
		r.Role = access.List(rapid.SliceOfNDistinct(rapid.SampledFrom(someRoles), 1, 2, rapid.ID).Draw(t, "roles")...)
	}
	if rapid.Bool().Draw(t, "inverted") {
		r.Inverted = new(true)
	}
	if rapid.Bool().Draw(t, "fielded") && slices.ContainsFunc(r.Action.All(), func(a string) bool { return a == "update" || a == "manage" }) {
		r.Fields = []string{"name"}
	}
	return r
}

func someDocument(t *rapid.T) access.Security {
	return access.Security{Authorizations: access.Authorizations{
		Roles: map[string]access.Role{"agent": {}, "clerk": {Auth: map[string]access.RoleAuth{"corp": {Conditions: someCondition(t, 1)}}}},
		Rules: rapid.SliceOfN(rapid.Custom(someRule), 0, 6).Draw(t, "rules"),
	}}
}

func someShares(t *rapid.T) []access.Share {
	shares := family()
	for _, target := range []access.Target{{ID: "sam"}, {Role: "agent"}, {Role: "clerk"}, {Public: true}} {
		if rapid.Bool().Draw(t, "shared") {
			shares = append(shares, policies(target, rapid.SampledFrom([]string{"read", "write", "delete", "manage_permissions"}).Draw(t, "policy")))
		}
	}
	return shares
}

func somebody(t *rapid.T) access.Principal {
	p := rapid.SampledFrom(everybody).Draw(t, "who")
	if rapid.Bool().Draw(t, "of a provider") {
		p.AuthData = map[string]map[string]any{"corp": {"name": someNames.Draw(t, "auth name")}}
	}
	if rapid.Bool().Draw(t, "with a key") {
		subject := rapid.SampledFrom(access.Subjects()).Draw(t, "key subject")
		action := rapid.SampledFrom(access.Actions(subject)).Draw(t, "key action")
		p.Key = key(t, here, access.KeyGrant{Action: access.Word(action), Subject: access.Word(subject), Conditions: someCondition(t, 1)})
	}
	return p
}

// question is one that can be asked.
type question struct {
	action, subject string
	object          access.Object
	fields          []string
}

func (q question) of(r *access.Rights) bool {
	return r.Allows(q.action, q.subject, q.object, q.fields...)
}

func someQuestion(t *rapid.T) question {
	q := question{subject: rapid.SampledFrom(access.Subjects()).Draw(t, "asked subject")}
	q.action = rapid.SampledFrom(access.Actions(q.subject)).Draw(t, "asked action")
	where := rapid.SampledFrom([]string{here, here, here, there}).Draw(t, "where")
	name := func() string { return someNames.Draw(t, "name") }
	object := with(q.subject, where, map[string]any{
		"name": name(), "labels": []any{name()}, "meta": []any{map[string]any{"owner": name()}},
		"type":   rapid.SampledFrom([]string{"a", "apikeys.created", "runtime.contexts.updated"}).Draw(t, "type"),
		"target": map[string]any{"userId": name()},
	})
	q.object = object
	if q.subject == "pages" && rapid.Bool().Draw(t, "page shared") {
		q.object = access.Shared{Object: object, Shares: append(someShares(t)[3:], role("sam", "clerk"))}
	}
	if q.action == "update" {
		q.fields = rapid.SliceOfN(rapid.SampledFrom([]string{"name", "labels"}), 0, 2).Draw(t, "fields")
	}
	return q
}

// A rule never removes rights unless it is inverted, and never adds any if so.
func TestARuleNeverRemovesRightsUnlessInverted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, shares, who := someDocument(t), someShares(t), somebody(t)
		before := workspace(t, doc, shares...).For(who)
		more, at := someRule(t), rapid.IntRange(0, len(doc.Authorizations.Rules)).Draw(t, "at")
		doc.Authorizations.Rules = slices.Insert(slices.Clone(doc.Authorizations.Rules), at, more)
		after := workspace(t, doc, shares...).For(who)
		for range 10 {
			q := someQuestion(t)
			if had, has := q.of(before), q.of(after); more.Inverted == nil {
				require.True(t, has || !had, "%v: an allowing rule took a right away", q)
			} else {
				require.True(t, had || !has, "%v: a denying rule gave a right", q)
			}
		}
	})
}

// The three answers of the evaluator agree.
func TestFilterAndReasonsEqualTheCheckOfEachItem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := workspace(t, someDocument(t), someShares(t)...).For(somebody(t))
		for range 10 {
			q := someQuestion(t)
			d := r.May(q.action, q.subject, q.object, q.fields...)
			require.Equal(t, q.of(r), d.Allowed)
			require.Equal(t, q.of(r), r.Check(q.action, q.subject, q.object, q.fields...) == nil)
			if len(d.Rules) > 0 {
				last := d.Rules[len(d.Rules)-1]
				require.Equal(t, last.Origin, d.Origin)
				require.Equal(t, last.Rule, *d.Rule)
			}
			allowed := r.Allows(q.action, q.subject, q.object)
			require.Equal(t, allowed, r.Filter(q.action, q.subject)(q.object))
			_, shared := q.object.(access.Shared)
			if id, _ := q.object.Field("workspaceId"); id != there && allowed && !shared {
				require.True(t, elsewhere(q) || r.Could(q.action, q.subject), "%v is allowed", q)
			}
		}
	})
}

// elsewhere reports whether the object is one of another workspace.
func elsewhere(q question) bool {
	for _, o := range []map[string]any{{"id": there}, {"workspaceId": there}, {"runningWorkspaceId": there}} {
		for name, want := range o {
			if got, _ := q.object.Field(name); got == want {
				return true
			}
		}
	}
	source, _ := q.object.Field("source")
	m, _ := source.(map[string]any)
	return m["workspaceId"] == there
}

// The order of shares, of roles, and of rules with priorities of their own does
// not matter.
func TestOrderMattersOnlyWhereItShould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, shares, who := someDocument(t), someShares(t), somebody(t)
		for i := range doc.Authorizations.Rules {
			doc.Authorizations.Rules[i].Priority = new(100 + i)
		}
		one := workspace(t, doc, shares...).For(who)
		doc.Authorizations.Rules = rapid.Permutation(doc.Authorizations.Rules).Draw(t, "order of rules")
		other := workspace(t, doc, rapid.Permutation(shares).Draw(t, "order of shares")...).For(who)
		for range 10 {
			q := someQuestion(t)
			require.Equal(t, q.of(one), q.of(other), "%v", q)
		}
		require.Equal(t, one.Any(), other.Any())
		require.ElementsMatch(t, one.Roles(), other.Roles())
	})
}

// No document takes anything from owners and super admins, or gives it.
func TestOwnersAndSuperAdminsAreNotBoundByDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, shares := someDocument(t), someShares(t)
		who := rapid.SampledFrom([]access.Principal{ann, root}).Draw(t, "who")
		bound := workspace(t, doc, shares...).For(who)
		doc.Authorizations.Rules = nil
		free := workspace(t, doc, shares...).For(who)
		for range 10 {
			q := someQuestion(t)
			require.Equal(t, q.of(free), q.of(bound), "%v", q)
		}
	})
}

// Whatever rules, shares and keys a workspace has, they reach no object of
// another one.
func TestRightsEndAtTheWorkspace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		who := somebody(t)
		r, outside := workspace(t, someDocument(t), someShares(t)...).For(who), access.Outside(who)
		for range 10 {
			if q := someQuestion(t); elsewhere(q) {
				require.Equal(t, q.of(outside), q.of(r), "%v", q)
			}
		}
	})
}

// A key that was granted never does what neither its maker nor everyone may.
func TestAGrantedKeyIsNoMoreThanItsMaker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, maker := workspace(t, someDocument(t), someShares(t)...), somebody(t)
		q := someQuestion(t)
		asked := access.KeyGrant{Action: access.Word(q.action), Subject: access.Word(q.subject), Conditions: someCondition(t, 1)}
		rules, err := access.ScopeKey(here, []access.KeyGrant{asked})
		require.NoError(t, err)
		mine := w.For(maker)
		if mine.CheckGrant(rules) != nil {
			return
		}
		k, err := access.CompileKey("k", here, rules)
		require.NoError(t, err)
		lone := w.For(access.Principal{Key: k})
		for range 10 {
			q.object = someQuestion(t).object
			q.object = with(q.subject, here, access.Fields(fieldsOf(q.object)))
			if q.of(lone) {
				require.True(t, q.of(mine) || q.of(w.For(nobody)), "%v", q)
			}
		}
	})
}

// fieldsOf returns the map behind an object.
func fieldsOf(o access.Object) map[string]any {
	if shared, ok := o.(access.Shared); ok {
		return fieldsOf(shared.Object)
	}
	return o.(access.Fields)
}

// A document says the same after a journey through JSON.
func TestDocumentsSurviveJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := someDocument(t)
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		var back access.Security
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, doc, back)
	})
}
