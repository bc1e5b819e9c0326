package input_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/value"
)

// faults are those that saving a document with these fields is refused for.
func faults(t *testing.T, fields string) []automation.Fault {
	t.Helper()
	doc := value.NewObject("slug", "t", "name", "t", "do", []any{})
	given := parse(t, fields)
	for _, key := range given.Keys() {
		doc.Set(key, given.At(key))
	}
	a, known := automation.Parse(doc, automation.Rules{})
	return append(known, input.Faults(a, known)...)
}

// What a run would refuse is refused before, at the same field, wherever it stands and
// whether the document validates or not.
func TestWhatDoesNotCompileIsAFault(t *testing.T) {
	t.Parallel()
	for _, test := range brokenSchemas {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			below, _, _ := strings.Cut(test.want, ": ")
			places := map[string]string{"arguments.v": `{"arguments": {"v": ` + test.schema + `}}`}
			if strings.HasPrefix(test.schema, "{") {
				places["schemas[1].payload"] = `{"schemas": [{}, {"payload": ` + test.schema + `}]}`
				places["schemas[0].output"] = `{"schemas": [{"output": ` + test.schema + `}]}`
				places["schemas[0].payload"] = `{"arguments": {"a": {"required": true}}, "schemas": [{"payload": ` + test.schema + `}]}`
			}
			for at, fields := range places {
				found := faults(t, fields)
				require.Len(t, found, 1, "%s: %v", fields, found)
				require.Equal(t, at+below, found[0].Field)
				require.False(t, found[0].Warning)
				require.NotEmpty(t, found[0].Message)
			}
		})
	}
}

func TestSchemasWithoutAFault(t *testing.T) {
	t.Parallel()
	for _, test := range schemaTests {
		if strings.HasPrefix(test.schema, "{") {
			require.Empty(t, faults(t, `{"arguments": {"v": `+test.schema+`}, "schemas": [{"payload": `+test.schema+`, "output": `+test.schema+`}]}`), test.name)
		}
	}
	for name, schema := range map[string]string{
		"a reference may be written in percent":        `{"$ref": "#/$defs/a%20b%25", "$defs": {"a b%": {"type": "string"}}}`,
		"as a whole":                                   `{"$ref": "#%2F$defs%2Fa", "$defs": {"a": {}}}`,
		"or be one of the name with percents":          `{"$ref": "#/$defs/a%20b", "$defs": {"a%20b": {}}}`,
		"it may lead back through a value":             `{"properties": {"child": {"$ref": "#"}}}`,
		"an argument may be required":                  `{"required": true, "type": "string"}`,
		"what an unknown keyword holds is not read":    `{"ui:options": {"multipleOf": 0}}`,
		"what belongs to another keyword says nothing": `{"minContains": 1, "then": {}, "else": {}}`,
	} {
		require.Empty(t, faults(t, `{"arguments": {"v": `+schema+`}}`), name)
	}
	require.Empty(t, input.Faults(nil, nil))
}

func TestFaultsOfSeveralSchemas(t *testing.T) {
	t.Parallel()
	found := faults(t, `{"arguments": {"a b": {"multipleOf": 0}, "ab": {"multipleOf": 0, "type": "x"}, "a": {"$ref": "#x"}}, "schemas": [{"payload": {"multipleOf": 0}, "output": {"$ref": "#"}}]}`)
	var lines []string
	for _, f := range found {
		require.Equal(t, domain.CodeValidation, f.Code)
		lines = append(lines, f.String())
	}
	require.Equal(t, []string{
		`arguments.ab.type: "x" is not a type: must be one of: string, number, integer, boolean, object, array, null, localized:string, localized:number, localized:boolean`,
		`arguments["a b"].multipleOf: expected a number above 0`,
		`arguments.a.$ref: there is nothing at #x`,
		`schemas[0].payload.multipleOf: expected a number above 0`,
		`schemas[0].output: a reference leads back to itself`,
	}, lines)
}

// The patterns of a run count together: those of the payloads, but not those of
// outputs, which nobody compiles.
func TestPatternsOfADocumentCountTogether(t *testing.T) {
	t.Parallel()
	require.Empty(t, faults(t, `{"arguments": {"v": `+largePattern+`}, "schemas": [{"payload": `+largePattern+`, "output": `+largePattern+`}, {"output": `+largePattern+`}]}`))
	found := faults(t, `{"schemas": [{"payload": `+largePattern+`}, {"payload": `+largePattern+`}]}`)
	require.Len(t, found, 1)
	require.Equal(t, "schemas[1].payload.pattern", found[0].Field)
}
