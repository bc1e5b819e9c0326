package access_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/domaintest"
)

// The workspace of the tests, and another one.
const (
	here  = "aB3dE6g"
	there = "zY9xW8v"
)

// People. ann owns the workspace, eve edits it, rob has the custom role agent,
// sam knows nobody.
var (
	ann     = access.Principal{UserID: "ann", SessionID: "s-ann", Email: "ann@example.com"}
	eve     = access.Principal{UserID: "eve", SessionID: "s-eve"}
	rob     = access.Principal{UserID: "rob", SessionID: "s-rob", Topics: []string{"sales"}}
	joining = access.Principal{UserID: "joe", SessionID: "s-joe", Joined: func() []string { return []string{"sales"} }}
	sam     = access.Principal{UserID: "sam", SessionID: "s-sam"}
	root    = access.Principal{UserID: "root", Super: true}
	nobody  = access.Principal{}
	visitor = access.Principal{SessionID: "s-visitor"}
)

// sampleShares shares the workspace with them.
func sampleShares() []access.Share {
	return []access.Share{access.OwnedBy("ann"), role("eve", "editor"), role("rob", "agent")}
}

func role(user, name string) access.Share {
	return access.Share{Target: access.Target{ID: user}, Permissions: access.Permissions{Role: name}}
}

func policies(target access.Target, names ...string) access.Share {
	s := access.Share{Target: target, Permissions: access.Permissions{Policies: map[string]bool{}}}
	for _, name := range names {
		s.Permissions.Policies[name] = true
	}
	return s
}

// parse reads a security document. The role agent is always there.
func parse(t require.TestingT, rules string) access.Security {
	var doc access.Security
	require.NoError(t, json.Unmarshal([]byte(`{"authorizations": {"roles": {"agent": {}, "clerk": {}}, "rules": `+rules+`}}`), &doc))
	return doc
}

// workspace is the one here, with these rules and shares.
func workspace(t require.TestingT, doc access.Security, shares ...access.Share) *access.Workspace {
	p, err := access.Compile(here, doc)
	require.NoError(t, err)
	return &access.Workspace{Policy: p, Shares: shares}
}

// sharedWorkspace is a workspace with these rules and sampleShares.
func sharedWorkspace(t require.TestingT, rules string) *access.Workspace {
	return workspace(t, parse(t, rules), sampleShares()...)
}

// with is an object of a workspace with more fields.
func with(subject, workspaceID string, fields map[string]any) access.Fields {
	o := access.Fields{}
	for name, value := range fields {
		o[name] = value
	}
	switch subject {
	case "workspaces":
		o["id"] = workspaceID
	case "automations":
		o["runningWorkspaceId"] = workspaceID
	case "events":
		source, ok := o["source"].(map[string]any)
		if !ok {
			source = map[string]any{"serviceTopic": "topic:runtime:emit"}
		}
		source["workspaceId"] = workspaceID
		o["source"] = source
	default:
		o["workspaceId"] = workspaceID
	}
	return o
}

// plain is an object of the workspace here without more fields.
func plain(subject string) access.Fields { return with(subject, here, nil) }

// key is an API key of a workspace with these rules.
func key(t require.TestingT, workspaceID string, grants ...access.KeyGrant) *access.Key {
	rules, err := access.ScopeKey(workspaceID, grants)
	require.NoError(t, err)
	k, err := access.CompileKey("key_1", workspaceID, rules)
	require.NoError(t, err)
	return k
}

func grant(action, subject string) access.KeyGrant {
	return access.KeyGrant{Action: access.Word(action), Subject: access.Word(subject)}
}

// requireFault checks that err is a validation refusal that names a field.
func requireFault(t *testing.T, err error, field string) {
	t.Helper()
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.CodeValidation, refusal.Code)
	var fields []string
	for _, f := range refusal.Details["errors"].([]domain.FieldError) {
		fields = append(fields, f.Field)
	}
	require.Contains(t, fields, field, "%v", err)
}

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
	shares := sampleShares()
	for _, target := range []access.Target{{ID: "sam"}, {Role: "agent"}, {Role: "clerk"}, {Public: true}} {
		if rapid.Bool().Draw(t, "shared") {
			shares = append(shares, policies(target, rapid.SampledFrom([]string{"read", "write", "delete", "manage_permissions"}).Draw(t, "policy")))
		}
	}
	return shares
}

func drawPrincipal(t *rapid.T) access.Principal {
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
		doc, shares, who := someDocument(t), someShares(t), drawPrincipal(t)
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
		r := workspace(t, someDocument(t), someShares(t)...).For(drawPrincipal(t))
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
				require.True(t, isInOtherWorkspace(q) || r.Could(q.action, q.subject), "%v is allowed", q)
			}
		}
	})
}

// isInOtherWorkspace reports whether the object is one of another workspace.
func isInOtherWorkspace(q question) bool {
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
		doc, shares, who := someDocument(t), someShares(t), drawPrincipal(t)
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
		require.Equal(t, one.IsMember(), other.IsMember())
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
		who := drawPrincipal(t)
		r, outside := workspace(t, someDocument(t), someShares(t)...).For(who), access.OutsideRights(who)
		for range 10 {
			if q := someQuestion(t); isInOtherWorkspace(q) {
				require.Equal(t, q.of(outside), q.of(r), "%v", q)
			}
		}
	})
}

// A key that was granted never does what neither its maker nor everyone may.
func TestAGrantedKeyIsNoMoreThanItsMaker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, maker := workspace(t, someDocument(t), someShares(t)...), drawPrincipal(t)
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

// most is far more effort than the evaluator ever takes.
const most = 10 * time.Second

// Whatever the conditions and the object, compiling refuses or succeeds, a
// condition and its opposite never both hold, and all of it ends.
func FuzzConditions(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":1}`, `{"a":[1,2]}`},
		{`{"a.b":{"$in":["x","{{user.topics}}"]}}`, `{"a":[{"b":"x"}]}`},
		{`{"$or":[{"a":{"$not":{"$gt":1,"$lt":3}}},{"$nor":[{"b":null}]}]}`, `{"a":2}`},
		{`{"a":{"$elemMatch":{"b":{"$regex":"^(x+x+)+y","$options":"i"},"c":{"$size":2}}}}`, `{"a":[{"b":"xxxxxxxxx","c":[1,2]}]}`},
		{`{"a":{"$all":["x",{"y":[1]}],"$exists":true,"$ne":null}}`, `{"a":["x",{"y":[1]}]}`},
		{`{"a":"${user.id}-{{session.id}}"}`, `{"a":"rob-s-rob"}`},
		{`{"a":{"$regex":"\\pL{1000}\\pL{1000}"}}`, `{}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, conditions, text string) {
		var c, o map[string]any
		if json.Unmarshal([]byte(conditions), &c) != nil || json.Unmarshal([]byte(text), &o) != nil {
			return
		}
		effort := domaintest.MeasureEffort(t, func() {
			p, err := access.Compile(here, fileRule(c))
			require.Contains(t, []domain.Code{domain.CodeNone, domain.CodeValidation}, domain.CodeOf(err))
			if err != nil {
				return
			}
			object := with("files", here, o)
			holds := (&access.Workspace{Policy: p}).For(rob).Allows("read", "files", object)
			delete(c, "workspaceId") // the scope overrides it
			opposite, err := access.Compile(here, fileRule(map[string]any{"$nor": []any{c}}))
			if err == nil && holds {
				require.False(t, (&access.Workspace{Policy: opposite}).For(rob).Allows("read", "files", object))
			}
		})
		require.Less(t, effort, most)
	})
}

// Whatever the document, it is refused or it can be asked anything; it comes
// back as it was sent, and no document frees a stranger of its bounds.
func FuzzSecurity(f *testing.F) {
	full, err := json.Marshal(access.Default(here))
	require.NoError(f, err)
	f.Add(string(full))
	f.Add(`{"authorizations":{"roles":{"a":{"auth":{"corp":{"conditions":{"authData.x":1}},"apiKey":{}}}},"rules":[{"action":["manage"],"subject":"all","role":["a","editor"],"inverted":true,"fields":["x"],"priority":200}]}}`)
	f.Add(`{"authorizations":{"rules":[{"action":"read","subject":"workspaces","role":null}]}}`)
	f.Add(`{"authorizations":{"rules":[{"action":"read","subject":["files","events"],"conditions":{"$or":[{"a":{"$regex":"a{1000}"}}]}}]},"authentication":{"clientId":"x"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var doc access.Security
		if json.Unmarshal([]byte(text), &doc) != nil {
			return
		}
		var p *access.Policy
		var err error
		effort := domaintest.MeasureEffort(t, func() { p, err = access.Compile(here, doc) })
		require.Contains(t, []domain.Code{domain.CodeNone, domain.CodeValidation}, domain.CodeOf(err))
		require.Equal(t, err == nil, doc.Validate(nil) == nil)
		if err != nil {
			return
		}
		sent, err := json.Marshal(doc)
		require.NoError(t, err)
		var back access.Security
		require.NoError(t, json.Unmarshal(sent, &back))
		again, err := json.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(sent), string(again))

		w := &access.Workspace{Policy: p, Shares: sampleShares()}
		for _, who := range everybody {
			effort += domaintest.MeasureEffort(t, func() {
				r := w.For(who)
				r.IsMember()
				for _, subject := range access.Subjects() {
					for _, action := range access.Actions(subject) {
						object := with(subject, here, map[string]any{"name": "svc_x", "type": "runtime.contexts.updated"})
						allowed := r.Allows(action, subject, object)
						require.Equal(t, allowed, r.May(action, subject, object).Allowed)
						require.Equal(t, allowed, r.Filter(action, subject)(object))
						guarded := subject == "secrets" && !who.Super || subject == "events" && action == "read"
						require.False(t, allowed && guarded)
					}
				}
			})
		}
		require.Less(t, effort, most)
	})
}

// One question of a request: the rights are there, the object is there.
func BenchmarkAllows(b *testing.B) {
	w := workspace(b, access.Default(here), sampleShares()[:2]...)
	page := plain("pages")
	apikeys := event("apikeys.created", nil)
	for name, ask := range map[string]func() bool{
		"owner":    bench(w.For(ann), "update", "workspaces", nil),
		"editor":   bench(w.For(eve), "update", "pages", page),
		"fallback": bench(w.For(eve), "delete", "pages", page),
		"regex":    bench(w.For(eve), "read", "events", apikeys),
		"stranger": bench(w.For(sam), "read", "events", apikeys),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
		})
	}
}

func bench(r *access.Rights, action, subject string, o access.Object) func() bool {
	return func() bool { return r.Allows(action, subject, o) }
}

// What a request pays once.
func BenchmarkFor(b *testing.B) {
	w := workspace(b, access.Default(here), sampleShares()[:2]...)
	b.ReportAllocs()
	for b.Loop() {
		w.For(eve)
	}
}

// What a change of the document costs.
func BenchmarkCompile(b *testing.B) {
	doc := access.Default(here)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = access.Compile(here, doc)
	}
}

func TestAllowsTakesNoMemory(t *testing.T) {
	w := workspace(t, access.Default(here), sampleShares()[:2]...)
	page, apikeys := access.Object(plain("pages")), access.Object(event("apikeys.created", nil))
	for name, ask := range map[string]func() bool{
		"owner":    bench(w.For(ann), "update", "workspaces", nil),
		"editor":   bench(w.For(eve), "update", "pages", page),
		"fallback": bench(w.For(eve), "delete", "pages", page),
		"regex":    bench(w.For(eve), "read", "events", apikeys),
		"stranger": bench(w.For(sam), "read", "events", apikeys),
	} {
		require.Zero(t, testing.AllocsPerRun(100, func() { ask() }), name)
	}
}

// A new workspace with an owner and an editor: may they, why, and which.
func Example() {
	policy, err := access.Compile("aB3dE6g", access.Default("aB3dE6g"))
	if err != nil {
		return
	}
	editor := access.Share{Target: access.Target{ID: "eve"}, Permissions: access.Permissions{Role: "editor"}}
	w := &access.Workspace{Policy: policy, Shares: []access.Share{access.OwnedBy("ann"), editor}}

	rights := w.For(access.Principal{UserID: "eve"})
	fmt.Println(rights.Allows("update", "workspaces", nil), rights.Check("delete", "workspaces", nil))

	event := access.Fields{"type": "apikeys.created", "source": map[string]any{"workspaceId": "aB3dE6g"}}
	why := rights.May("read", "events", event)
	fmt.Println(why.Allowed, why.Origin)

	readable := rights.Filter("read", "events")
	fmt.Println(readable(event), readable(access.Fields{"type": "hello", "source": event["source"]}))
	// Output:
	// true permission_denied: you lack permission to delete workspaces
	// false authorizations.rules[5]
	// false true
}
