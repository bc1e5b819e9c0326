package input_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/value"
)

// tester is a test, a benchmark or a random try.
type tester interface {
	require.TestingT
	Helper()
}

// parse reads JSON.
func parse(t tester, text string) *value.Object {
	t.Helper()
	v, err := value.ParseJSON(text)
	require.NoError(t, err, text)
	o, ok := v.(*value.Object)
	require.True(t, ok, text)
	return o
}

// compile reads the fields of a document that speak of its input.
func compile(t tester, fields string) *input.Shape {
	t.Helper()
	doc := value.NewObject("slug", "t", "name", "t", "do", []any{})
	given := parse(t, fields)
	for _, key := range given.Keys() {
		doc.Set(key, given.At(key))
	}
	a, _ := automation.Parse(doc, automation.Rules{})
	require.NotNil(t, a)
	return input.Compile(a)
}

// faultLines returns what is wrong as lines: the error of a schema that is none, or
// field: message of every fault.
func faultLines(t tester, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	raised, ok := errors.AsType[*automation.Error](err)
	require.True(t, ok)
	if raised.Name != automation.InvalidArguments {
		return []string{fmt.Sprintf("%s %s: %s", raised.Name, value.Text(raised.Details.At("field")), raised.Message)}
	}
	require.Equal(t, "Invalid arguments", raised.Message)
	faults, _ := raised.Details.At("errors").([]any)
	require.NotEmpty(t, faults)
	var lines []string
	for _, fault := range faults {
		o, _ := fault.(*value.Object)
		require.Equal(t, []string{"field", "message", "keyword", "schemaPath", "params"}, o.Keys())
		lines = append(lines, value.Text(o.At("field"))+": "+value.Text(o.At("message")))
	}
	return lines
}

func TestInputsAreChecked(t *testing.T) {
	t.Parallel()
	const (
		digits = `{"validateArguments": true, "arguments": {"z": {"type": "string", "pattern": "^\\d+$"}}}`
		needed = `{"validateArguments": true, "arguments": {"a": {"required": true}, "b": {"required": false}, "o": {"type": "object", "required": ["k"], "properties": {"k": {}}}}}`
		both   = `{"validateArguments": true, "arguments": {"a": {"type": "string"}}, "schemas": [{"payload": {"required": ["b"]}}]}`
		items  = `{"validateArguments": true, "schemas": [{"payload": {"properties": {"body": {"properties": {"items": {"items": {"properties": {"name": {"type": "string"}}}}}}}}}]}`
		closed = `{"validateArguments": true, "schemas": [{"payload": {"properties": {"body": {}}, "additionalProperties": false}}]}`
	)
	tests := []struct {
		name, fields, in string
		want             []string
	}{
		{"what fits is taken", digits, `{"z": "12"}`, nil},
		{"a pattern is told", digits, `{"z": "x"}`, []string{`z: must match the pattern ^\d+$`}},
		{"nothing is coerced", digits, `{"z": 12}`, []string{"z: expected string, got number"}},
		{"what is not declared is taken", digits, `{"y": 1}`, nil},
		{"a field of arguments is not required by itself", digits, `{}`, nil},
		{"required: true requires a field, a list its members", needed, `{"o": {}}`, []string{"a: is required", "o.k: is required"}},
		{"null is there", needed, `{"a": null}`, nil},
		{"with both, schemas validate", both, `{"a": 1}`, []string{"b: is required"}},
		{"a path leads to an item", items, `{"body": {"items": [{"name": 1}, {"name": "n"}]}}`, []string{"body.items[0].name: expected string, got number"}},
		{"odd keys are quoted", closed, `{"body": 1, "a b": 2}`, []string{`["a b"]: unknown field`}},
		{"the answer is no part of the input", closed, `{"body": 1, "$http": {}}`, nil},
		{"who does not validate takes everything", `{"arguments": {"z": {"type": "string", "required": true}}}`, `{"z": 1}`, nil},
		{"without schemas everything fits", `{"validateArguments": true}`, `{"z": 1}`, nil},
		{"a branch without a payload takes everything", `{"validateArguments": true, "schemas": [{}]}`, `{"z": 1}`, nil},
		{"outputs are never enforced", `{"validateArguments": true, "schemas": [{"output": {"type": "nonsense"}}]}`, `{}`, nil},
		{"a query is text", `{"validateArguments": true, "arguments": {"query": {"properties": {"n": {"type": "integer"}}}}}`, `{"query": {"n": "2"}}`, []string{"query.n: expected integer, got string"}},
		{
			"editors' keywords say nothing",
			`{"validateArguments": true, "arguments": {"z": {"title": "Z", "description": "d", "ui:widget": "x", "ui:options": {"a": 1}, "event": true, "secret": true, "redact": true, "type": "string"}}}`,
			`{"z": "x"}`, nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, faultLines(t, compile(t, test.fields).Check(parse(t, test.in))))
		})
	}
}

func TestBranchesAreChosen(t *testing.T) {
	t.Parallel()
	// Every branch wants a field of its own, so that a fault says which was chosen.
	branches := func(conditions string) string {
		return `{"validateArguments": true, "schemas": [{"conditions": ` + conditions + `, "payload": {"required": ["first"]}}, {"conditions": {"method": "PATCH"}, "payload": {"required": ["second"]}}]}`
	}
	none := []string{": no schema is meant for this input: the conditions of none hold"}
	tests := []struct {
		name, conditions, in string
		want                 []string
	}{
		{"the first that holds", `{"method": "post"}`, `{"method": "POST"}`, []string{"first: is required"}},
		{"else the next", `{"method": "post"}`, `{"method": "PATCH"}`, []string{"second: is required"}},
		{"else the input is refused", `{"method": "post"}`, `{"method": "GET"}`, none},
		{"no conditions hold always", `{}`, `{"method": "PATCH"}`, []string{"first: is required"}},
		{"null is no conditions", `null`, `{}`, []string{"first: is required"}},
		{"all must hold", `{"method": "post", "a": 1}`, `{"method": "POST", "a": 2}`, none},
		{"a number matches its text", `{"a.b": 2}`, `{"a": {"b": "2"}}`, []string{"first: is required"}},
		{"a text matches its number", `{"a.b": "2"}`, `{"a": {"b": 2}}`, []string{"first: is required"}},
		{"a boolean is text too", `{"a": true}`, `{"a": "true"}`, []string{"first: is required"}},
		{"a path goes into lists", `{"a.1": "x"}`, `{"a": ["w", "x"]}`, []string{"first: is required"}},
		{"case counts elsewhere", `{"a": "x"}`, `{"a": "X"}`, none},
		{"a method below the root is as any other", `{"body.method": "x"}`, `{"body": {"method": "X"}}`, none},
		{"an object never matches", `{"a": {"b": 1}}`, `{"a": {"b": 1}}`, none},
		{"an array never matches", `{"a": [1]}`, `{"a": [1]}`, none},
		{"null never matches", `{"a": null}`, `{"a": null}`, none},
		{"an absent value is not the empty text", `{"a": ""}`, `{}`, none},
		{"the empty text is", `{"a": ""}`, `{"a": ""}`, []string{"first: is required"}},
		{"an object in the input is no text", `{"a": "{}"}`, `{"a": {}}`, none},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, faultLines(t, compile(t, branches(test.conditions)).Check(parse(t, test.in))))
		})
	}
}

func TestFaultsSayWhere(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, in, want string }{
		{"a pattern", `{"pattern": "^a"}`, `"x"`, `{"field":"v","message":"must match the pattern ^a","keyword":"pattern","schemaPath":"#/properties/v/pattern","params":{"pattern":"^a"}}`},
		{
			"a reference tells where it leads", `{"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"minLength": 3}}}`, `"x"`,
			`{"field":"v","message":"expected at least 3 characters","keyword":"minLength","schemaPath":"#/properties/v/$defs/a~1b/minLength","params":{"limit":3}}`,
		},
		{"several types", `{"type": ["string", "null"]}`, `1`, `{"field":"v","message":"expected string or null, got number","keyword":"type","schemaPath":"#/properties/v/type","params":{"type":["string","null"]}}`},
		{"an enum", `{"enum": ["a", 1]}`, `2`, `{"field":"v","message":"must be one of: \"a\", 1","keyword":"enum","schemaPath":"#/properties/v/enum","params":{"allowedValues":["a",1]}}`},
		{"a missing member", `{"required": ["a"]}`, `{}`, `{"field":"v.a","message":"is required","keyword":"required","schemaPath":"#/properties/v/required","params":{"missingProperty":"a"}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := compile(t, `{"validateArguments": true, "arguments": {"v": `+test.schema+`}}`).Check(parse(t, `{"v": `+test.in+`}`))
			raised, ok := errors.AsType[*automation.Error](err)
			require.True(t, ok)
			require.Equal(t, "["+test.want+"]", value.JSON(raised.Details.At("errors"), ""))
		})
	}
}

func TestValuesAreCheckedAsTheirJSON(t *testing.T) {
	t.Parallel()
	shape := compile(t, `{"validateArguments": true, "arguments": {
		"b": {"type": "string", "maxLength": 4}, "n": {"type": "null"}, "l": {"items": {"type": ["number", "null"]}}, "s": {"required": true}}}`)
	in := value.NewObject("b", value.Bytes("abc"), "n", math.NaN(), "l", []any{1.0, value.Undefined, math.Inf(1)}, "s", stream{})
	require.NoError(t, shape.Check(in))
	in.Set("b", value.Bytes("abcd"))
	require.Equal(t, []string{"b: expected at most 4 characters"}, faultLines(t, shape.Check(in)))
}

type stream struct{}

func (stream) LiveStream() {}

func TestNoShapeTakesEverything(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]*input.Shape{"nil": nil, "no automation": input.Compile(nil), "no schemas": compile(t, `{}`)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := parse(t, `{"a": "b", "rawBody": "x"}`)
			require.NoError(t, shape.Check(in))
			require.NoError(t, shape.Check(nil))
			secrets, err := shape.Secrets(in)
			require.NoError(t, err)
			require.Empty(t, secrets)
			require.Same(t, in, shape.Redacted(in))
			require.Equal(t, "out", shape.RedactedOutput("out"))
			require.Equal(t, `{"a":"b"}`, value.JSON(shape.Recorded(in), ""))
		})
	}
}
