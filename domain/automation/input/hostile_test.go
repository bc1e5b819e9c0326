package input_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/automation/value"
)

// doubling returns definitions of which each asks for the next one twice.
func doubling(keyword string, levels int) string {
	var defs strings.Builder
	for i := range levels {
		fmt.Fprintf(&defs, `"d%d": {"%s": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}, `, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&defs, `"d%d": {"type": "string"}`, levels)
	return `{"$ref": "#/$defs/d0", "$defs": {` + defs.String() + `}}`
}

// chain returns definitions that lead to each other, one after another.
func chain(length int) string {
	var defs strings.Builder
	for i := range length {
		fmt.Fprintf(&defs, `"d%d": {"$ref": "#/$defs/d%d"}, `, i, i+1)
	}
	return `{"items": {"$ref": "#/$defs/d0"}, "$defs": {` + defs.String() + fmt.Sprintf(`"d%d": {"type": "string"}}}`, length)
}

func nested(open, inner, end string, levels int) string {
	return strings.Repeat(open, levels) + inner + strings.Repeat(end, levels)
}

// What an author or a caller may write ends soon, one way or the other.
func TestHostileSchemasAndInputsAreBounded(t *testing.T) {
	t.Parallel()
	tooLarge := []string{": the input is too large to be checked against this schema"}
	tests := []struct {
		name, schema, in string
		want             []string
	}{
		{"schemas that multiply", doubling("allOf", 40), `"x"`, tooLarge},
		{"forms that multiply with the input", `{"anyOf": [{"properties": {"a": {"$ref": "#"}, "b": false}, "required": ["b"]}, {"properties": {"a": {"$ref": "#"}, "c": false}, "required": ["c"]}]}`, nested(`{"a": `, `1`, `}`, 100), tooLarge},
		{"what no keyword speaks of multiplies", `{"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}], "unevaluatedProperties": false}`, nested(`{"a": `, `1`, `}`, 100), tooLarge},
		{"a long chain", chain(5000), `["x"]`, nil},
		{"a chain that is too long", chain(11000), `["x"]`, tooLarge},
		{"a chain for every item", chain(1000), "[" + strings.Repeat(`"x",`, 10000) + `"x"]`, tooLarge},
		{"deep inputs", `{"properties": {"a": {"$ref": "#"}}}`, nested(`{"a": `, `1`, `}`, 900), nil},
		{"deep schemas", nested(`{"not": `, `{}`, `}`, 60), `1`, []string{"InvalidInstructionError arguments.v" + strings.Repeat(".not", 51) + ": schemas are nested more than 50 deep"}},
		{"patterns that others backtrack in", `{"pattern": "^(a+)+$"}`, `"` + strings.Repeat("a", 50000) + `b"`, []string{"v: must match the pattern ^(a+)+$"}},
		{"large patterns on long texts", `{"pattern": "^([a-y]{0,30}){0,30}[a-z]{0,40}z$"}`, `"` + strings.Repeat("a", 1<<20) + `"`, tooLarge},
		{"many large patterns", `{"allOf": [` + strings.Repeat(`{"pattern": "[a-z]{1000}"},`, 120) + `{}]}`, `1`, []string{"InvalidInstructionError arguments.v.allOf[99].pattern: the regular expressions of the schemas are too large"}},
		{"a pattern that is too long", `{"pattern": "` + strings.Repeat("a", 10001) + `"}`, `1`, []string{"InvalidInstructionError arguments.v.pattern: the regular expression is too long"}},
		{"long lists of different items", `{"uniqueItems": true}`, `[` + numbers(50000) + `]`, nil},
		{"long numbers", `{"multipleOf": 1e-300}`, `1e300`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			shape := compile(t, `{"validateArguments": true, "arguments": {"v": `+test.schema+`}}`)
			in := parse(t, `{"v": `+test.in+`}`)
			require.Equal(t, test.want, told(t, shape.Check(in)))
		})
	}
}

func numbers(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "%d,", i)
	}
	return list.String() + `"end"`
}

func TestFewFaultsAreTold(t *testing.T) {
	t.Parallel()
	shape := compile(t, `{"validateArguments": true, "arguments": {"v": {"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}}`)
	faults := told(t, shape.Check(parse(t, `{"v": [`+strings.Repeat("1,", 1000)+`1]}`)))
	require.Len(t, faults, 50)
	require.Equal(t, []string{"v[0]: must fit one of 2 schemas", "v[0]: expected string, got number", "v[0]: expected null, got number"}, faults[:3])
}

// A long key is in no message more than once, and not whole.
func TestLongKeysAreCut(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 100_000)
	schema := value.NewObject("properties", value.NewObject(key, value.NewObject("required", []any{key, "b"}, "type", "object", "enum", []any{key})))
	a := &automation.Automation{ValidateArguments: true, Schemas: []automation.Schema{{Payload: schema}}}
	shape := input.Compile(a)
	err := shape.Check(value.NewObject(key, &value.Object{}))
	require.Len(t, told(t, err), 3)
	require.Less(t, len(value.JSON(automation.ErrorOf(err).Details, "")), 110_000, "only the allowed values are told whole")
}

func TestPassingFormsLeaveNoFaults(t *testing.T) {
	t.Parallel()
	shape := compile(t, `{"validateArguments": true, "arguments": {"v": {"oneOf": [{"type": "string"}, {"type": "number"}, {"type": "integer"}]}, "w": {"type": "string"}}}`)
	require.Equal(t, []string{"w: expected string, got null"}, told(t, shape.Check(parse(t, `{"v": 1.5, "w": null}`))))
	require.Equal(t, []string{"v: must fit exactly one of 3 schemas"}, told(t, shape.Check(parse(t, `{"v": 1}`))))
}
