package automation_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/value"
)

// accepts is as much of JSON Schema as the schema uses.
func accepts(t *testing.T, root, schema *value.Object, v any) bool {
	t.Helper()
	for _, key := range schema.Keys() {
		if !keyword(t, root, schema, key, v) {
			return false
		}
	}
	return true
}

func keyword(t *testing.T, root, schema *value.Object, key string, v any) bool {
	t.Helper()
	operand := schema.At(key)
	o, isObject := v.(*value.Object)
	n, isNumber := v.(float64)
	s, isText := v.(string)
	switch key {
	case "$ref":
		found, ok := value.Walk(root, strings.Split(strings.TrimPrefix(value.Text(operand), "#/"), "/")...).(*value.Object)
		require.True(t, ok, operand)
		return accepts(t, root, found, v)
	case "type":
		kinds, ok := operand.([]any)
		if !ok {
			kinds = []any{operand}
		}
		return slices.Contains(kinds, any(value.TypeName(v)))
	case "enum":
		list, _ := operand.([]any)
		return slices.ContainsFunc(list, func(item any) bool { return value.StrictEqual(item, v) })
	case "pattern":
		return !isText || regexp.MustCompile(value.Text(operand)).MatchString(s)
	case "minimum", "exclusiveMinimum":
		return !isNumber || n > value.ToNumber(operand) || n == value.ToNumber(operand) && key == "minimum"
	case "maximum":
		return !isNumber || n <= value.ToNumber(operand)
	case "maxProperties":
		return !isObject || float64(o.Len()) <= value.ToNumber(operand)
	case "required":
		list, _ := operand.([]any)
		return !isObject || !slices.ContainsFunc(list, func(name any) bool { _, ok := o.Get(value.Text(name)); return !ok })
	case "anyOf":
		list, _ := operand.([]any)
		return slices.ContainsFunc(list, func(item any) bool {
			sub, ok := item.(*value.Object)
			return ok && accepts(t, root, sub, v)
		})
	case "items":
		sub, _ := operand.(*value.Object)
		list, _ := v.([]any)
		return !slices.ContainsFunc(list, func(item any) bool { return !accepts(t, root, sub, item) })
	case "properties", "additionalProperties":
		return !isObject || members(t, root, schema, o, key)
	case "$schema", "$defs", "title", "description", "default", "readOnly", "examples", "x-functions", "x-modules":
		return true
	}
	require.Fail(t, "a keyword that the test does not know", key)
	return false
}

func members(t *testing.T, root, schema, o *value.Object, key string) bool {
	t.Helper()
	known, _ := schema.At("properties").(*value.Object)
	for _, name := range o.Keys() {
		sub, isKnown := known.At(name).(*value.Object)
		if isKnown != (key == "properties") {
			continue
		}
		if !isKnown {
			var open bool
			if sub, open = schema.At(key).(*value.Object); !open {
				return false
			}
		}
		if !accepts(t, root, sub, o.At(name)) {
			return false
		}
	}
	return true
}

func TestTheSchemaAcceptsWhatTheParserAccepts(t *testing.T) {
	t.Parallel()
	schema := automation.JSONSchema()
	checked := 0
	for _, g := range readGolden(t) {
		if !slices.ContainsFunc(g.faults, func(f string) bool { return !strings.HasPrefix(f, "warning") }) {
			require.True(t, accepts(t, schema, schema, g.doc), g.title)
			checked++
		}
	}
	require.Greater(t, checked, 8)
	example := value.At(schema.At("examples"), "0")
	require.True(t, accepts(t, schema, schema, example))
	_, faults := automation.Parse(example, automation.Rules{})
	require.Empty(t, faults)
}

// Each instruction of the golden documents is judged alone: what the parser
// takes, the schema takes. What is wrong with its shape the schema refuses.
func TestTheSchemaKnowsEveryInstruction(t *testing.T) {
	t.Parallel()
	schema := automation.JSONSchema()
	for _, g := range readGolden(t) {
		do, _ := value.At(g.doc, "do").([]any)
		for _, in := range do {
			doc := value.NewObject("name", "t", "do", []any{in})
			_, faults := automation.Parse(doc, automation.Rules{})
			fine := !slices.ContainsFunc(faults, func(f automation.Fault) bool { return !f.Warning })
			shape := slices.ContainsFunc(faults, func(f automation.Fault) bool {
				return strings.HasPrefix(f.Message, "unknown field") || strings.HasPrefix(f.Message, "unknown parameter") || strings.Contains(f.Message, ", got ") && !f.Warning
			})
			got := accepts(t, schema, schema, doc)
			if fine && !shape { // what is ignored is saved, and editors show it
				require.True(t, got, value.JSON(in, ""))
			}
			if shape {
				require.False(t, got, value.JSON(in, ""))
			}
		}
	}
	for _, name := range automation.Instructions() {
		require.NotNil(t, value.Walk(schema, "$defs", "instruction", "properties", name, "description"), name)
	}
}
