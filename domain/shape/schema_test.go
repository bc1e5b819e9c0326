package shape_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/document"
	"svc/domain/shape"
	"svc/domain/value"
)

// accepts is as much of JSON Schema as the schemas use.
func accepts(t *testing.T, root, schema *document.Map, v any) bool {
	t.Helper()
	for keyword, operand := range schema.All() {
		if !accepted(t, root, schema, keyword, operand, v) {
			return false
		}
	}
	return true
}

func accepted(t *testing.T, root, schema *document.Map, keyword string, operand, v any) bool {
	t.Helper()
	sub, _ := operand.(*document.Map)
	of, _ := operand.([]any)
	bound, _ := operand.(float64)
	word, _ := operand.(string)
	s, isText := v.(string)
	n, isNumber := v.(float64)
	items, _ := v.([]any)
	m, isMap := v.(*document.Map)
	switch keyword {
	case "type":
		return operand == value.TypeName(value.From(v)) || slices.Contains(of, any(value.TypeName(value.From(v))))
	case "enum":
		return slices.ContainsFunc(of, func(item any) bool { return document.Equal(item, v) })
	case "pattern":
		return !isText || regexp.MustCompile(word).MatchString(s)
	case "minLength":
		return !isText || utf8.RuneCountInString(s) >= int(bound)
	case "maxLength":
		return !isText || utf8.RuneCountInString(s) <= int(bound)
	case "minimum":
		return !isNumber || n >= bound
	case "maximum":
		return !isNumber || n <= bound
	case "multipleOf":
		return !isNumber || bound == 1 && n == float64(int64(n))
	case "required":
		return !isMap || !slices.ContainsFunc(of, func(name any) bool { _, ok := m.Get(name.(string)); return !ok })
	case "maxProperties":
		return m.Len() <= int(bound)
	case "propertyNames":
		return !slices.ContainsFunc(m.Keys(), func(key string) bool { return !accepts(t, root, sub, key) })
	case "anyOf":
		return slices.ContainsFunc(of, func(item any) bool { return accepts(t, root, item.(*document.Map), v) })
	case "items":
		return !slices.ContainsFunc(items, func(item any) bool { return !accepts(t, root, sub, item) })
	case "properties":
		return !slices.ContainsFunc(m.Keys(), func(key string) bool {
			known, ok := sub.Get(key)
			member, _ := m.Get(key)
			return ok && !accepts(t, root, known.(*document.Map), member)
		})
	case "additionalProperties":
		return !slices.ContainsFunc(others(schema, m), func(member any) bool { return operand == false || !accepts(t, root, sub, member) })
	case "$ref":
		defs, _ := root.Get("$defs")
		found, ok := defs.(*document.Map).Get(strings.TrimPrefix(word, "#/$defs/"))
		require.True(t, ok, word)
		return accepts(t, root, found.(*document.Map), v)
	case "$schema", "$id", "$defs", "title", "description", "default", "readOnly", "examples", "x-functions", "x-modules":
		return true
	}
	require.Fail(t, "a keyword that the test does not know", keyword)
	return false
}

// others returns the members of m that a schema has no properties for.
func others(schema, m *document.Map) []any {
	properties, _ := schema.Get("properties")
	known, _ := properties.(*document.Map)
	var all []any
	for key, v := range m.All() {
		if _, ok := known.Get(key); !ok {
			all = append(all, v)
		}
	}
	return all
}

var sorts = []string{"index", "security", "automation", "page", "block", "import", "knowledgeBase"}

func TestEverySchemaIsCompleteAndItsExamplesPass(t *testing.T) {
	t.Parallel()
	for _, name := range sorts {
		schema, ok := shape.Schema(name)
		require.True(t, ok, name)
		require.Equal(t, "https://json-schema.org/draft/2020-12/schema", schema.Text("$schema"))
		require.Equal(t, "/v2/schemas/"+name, schema.Text("$id"))
		require.NotEmpty(t, schema.Text("title"), name)
		require.NotEmpty(t, schema.Text("description"), name)
		_, err := document.JSON(schema)
		require.NoError(t, err)
		examples, _ := schema.Get("examples")
		require.NotEmpty(t, examples, name)
		for _, example := range examples.([]any) {
			require.True(t, accepts(t, schema, schema, example), name)
			if name == "automation" {
				_, faults := automation.Parse(example, automation.Rules{})
				require.Empty(t, faults)
				continue
			}
			text, err := document.JSON(example)
			require.NoError(t, err)
			require.Empty(t, check(t, name, string(text)), name)
		}
	}
	_, ok := shape.Schema("knowledge")
	require.False(t, ok)
}

// What a schema says of the names of fields, the check says too: a document of
// all properties has no unknown field, and one more is unknown to both.
func TestASchemaHasTheFieldsOfItsTable(t *testing.T) {
	t.Parallel()
	for _, name := range slices.DeleteFunc(slices.Clone(sorts), func(name string) bool { return name == "automation" }) {
		schema, _ := shape.Schema(name)
		require.Greater(t, sameFields(t, name, schema, func(v any) any { return v }), 3, name)
	}
}

// sameFields compares the closed objects of a schema with the check, which sees
// them where wrap puts them. It returns how many properties it has seen.
func sameFields(t *testing.T, name string, schema *document.Map, wrap func(any) any) int {
	t.Helper()
	properties, _ := schema.Get("properties")
	fields, _ := properties.(*document.Map)
	closed, _ := schema.Get("additionalProperties")
	seen := 0
	if fields.Len() > 0 && closed == false {
		whole := document.MapOf(document.Pair{Key: "no such field", Value: true})
		for key := range fields.All() {
			whole.Set(key, document.MapOf())
			seen++
		}
		text, err := document.JSON(wrap(whole))
		require.NoError(t, err)
		unknown := []string{}
		for _, f := range check(t, name, string(text)) {
			if strings.HasPrefix(f.Message, "unknown field") {
				unknown = append(unknown, f.Field)
				known := strings.Split(strings.TrimPrefix(f.Message, "unknown field; known are "), ", ")
				require.Equal(t, settable(fields), known, "%s: %s", name, text)
			}
		}
		require.Len(t, unknown, 1, "%s: %s", name, text)
		require.True(t, strings.HasSuffix(unknown[0], `["no such field"]`), unknown[0])
	}
	for key, v := range fields.All() {
		seen += sameFields(t, name, v.(*document.Map), func(v any) any { return wrap(document.MapOf(document.Pair{Key: key, Value: v})) })
	}
	if items, ok := schema.Get("items"); ok {
		seen += sameFields(t, name, items.(*document.Map), func(v any) any { return wrap([]any{v}) })
	}
	if values, ok := closed.(*document.Map); ok {
		seen += sameFields(t, name, values, func(v any) any { return wrap(document.MapOf(document.Pair{Key: "en", Value: v})) })
	}
	return seen
}

// settable lists the properties that the service does not set.
func settable(fields *document.Map) []string {
	var names []string
	for key, v := range fields.All() {
		if readOnly, _ := v.(*document.Map).Get("readOnly"); readOnly != true {
			names = append(names, key)
		}
	}
	return names
}

// Every field of an editor has a text.
func TestFieldsAreDescribed(t *testing.T) {
	t.Parallel()
	for _, name := range sorts {
		schema, _ := shape.Schema(name)
		properties, _ := schema.Get("properties")
		for key, v := range properties.(*document.Map).All() {
			if name != "automation" {
				require.NotEmpty(t, v.(*document.Map).Text("description"), "%s.%s", name, key)
			}
		}
	}
}
