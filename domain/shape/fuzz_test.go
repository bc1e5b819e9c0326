package shape_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/document"
	"svc/domain/shape"
)

// everything calls all that judges a document.
func everything(v any) {
	doc, _ := v.(*document.Map)
	for _, kind := range []*document.Kind{document.Index, document.Security, document.Page, document.Import} {
		_ = shape.Refusal(shape.Check(kind, doc))
	}
	shape.CheckBlock(doc)
	shape.CheckConfig(v)
	shape.PageEvents(doc)
}

// Whatever a document is, it is judged without a panic.
func FuzzAnyDocumentIsJudged(f *testing.F) {
	for _, name := range sorts {
		schema, _ := shape.Schema(name)
		text, err := document.JSON(schema)
		require.NoError(f, err)
		f.Add(text)
		examples, _ := schema.Get("examples")
		for _, example := range examples.([]any) {
			text, err = document.JSON(example)
			require.NoError(f, err)
			f.Add(text)
		}
	}
	for _, text := range []string{
		`null`, `[]`, `{"blocks":[[[]]],"name":[{}]}`, `{"blocks":{"":{"blocks":{}}}}`, `{"config":{"schema":{"":{"$ref":"#/a~1b/0"}}}}`,
		`{"config":{"schema":{"a":{"$ref":"#"}}}}`, `{"events":{"types":{"":{"schema":{"type":[]}}}}}`, `{"authorizations":{"rules":[{"priority":1e308}]}}`,
		`{"name":{"":"\u0000"},"slug":"\ud800","blocks":[{"slug":".","content":[],"onInit":{}}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := document.ReadJSON(text, document.Usual)
		if err != nil {
			return // what is no document is not judged
		}
		everything(v)
	})
}

// Values that no reader makes are judged without a panic too, and documents stay
// as they are.
func TestAnyValueIsJudged(t *testing.T) {
	t.Parallel()
	everything(1)
	everything((*document.Map)(nil))
	everything(document.MapOf(document.Pair{Key: "name", Value: map[string]any{}}, document.Pair{Key: "blocks", Value: []any{1, (*document.Map)(nil)}}, document.Pair{Key: "slug", Value: "\xff"}))
	rapid.Check(t, func(t *rapid.T) {
		v := anyValue(4).Draw(t, "document")
		before, err := document.JSON(v)
		if err != nil {
			t.Fatal(err)
		}
		everything(v)
		after, err := document.JSON(v)
		if err != nil || string(before) != string(after) {
			t.Fatalf("%s became %s", before, after)
		}
	})
}

// anyValue draws documents whose keys are often those of the tables.
func anyValue(depth int) *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), anyOf), rapid.Map(rapid.Float64Range(-1e6, 1e6), anyOf),
		rapid.Map(rapid.SampledFrom([]string{"", "a", "{{x}}", "a.b", "event", "git", "#/a", "("}), anyOf), rapid.Map(rapid.String(), anyOf),
	)
	if depth == 0 {
		return scalar
	}
	inner := rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth - 1) })
	key := rapid.OneOf(rapid.SampledFrom([]string{
		"name", "slug", "blocks", "config", "schema", "value", "type", "properties", "authorizations", "roles", "rules", "role", "action", "events", "types",
		"onInit", "updateOn", "automation", "redirect", "labels", "secrets", "content", "repositories", "models", "providers", "auth", "$ref", "anyOf", "pagination",
	}), rapid.String())
	mapping := rapid.Custom(func(t *rapid.T) any {
		m := document.MapOf()
		for _, k := range rapid.SliceOfN(key, 0, 5).Draw(t, "keys") {
			m.Set(k, inner.Draw(t, k))
		}
		return m
	})
	return rapid.OneOf(mapping, scalar, rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []any) any { return l }))
}

func anyOf[T any](v T) any { return v }
