package access_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/domaintest"
)

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

		w := &access.Workspace{Policy: p, Shares: family()}
		for _, who := range everybody {
			effort += domaintest.MeasureEffort(t, func() {
				r := w.For(who)
				r.Any()
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
	w := workspace(b, access.Default(here), family()[:2]...)
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
	w := workspace(b, access.Default(here), family()[:2]...)
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
	w := workspace(t, access.Default(here), family()[:2]...)
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
