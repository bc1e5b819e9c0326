package input_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/automation/value"
)

// closed loads nothing.
type closed struct{}

func (closed) Load(string) (any, error) { return nil, errors.New("a reference stays in its schema") }

// oracle says what a library that passes the tests of JSON Schema says of a value.
// It is nil for a schema that the library does not take.
func oracle(schema string) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(closed{})
	c.AssertFormat()
	if c.AddResource("urn:schema", doc) != nil {
		return nil
	}
	compiled, err := c.Compile("urn:schema")
	if err != nil {
		return nil
	}
	return compiled
}

// agree checks a value against a schema and returns whether it fits, and false
// when the schema is none. The library must say the same when it can tell.
func agree(t tester, schema, v string, library *jsonschema.Schema) (fits, ok bool) {
	t.Helper()
	shape := compile(t, `{"validateArguments": true, "arguments": {"v": `+schema+`}}`)
	err := shape.Check(parse(t, `{"v": `+v+`}`))
	raised, _ := errors.AsType[*automation.Error](err)
	if raised != nil && raised.Name != automation.InvalidArguments {
		return false, false
	}
	told(t, err)
	if library == nil {
		return err == nil, true
	}
	instance, decodeErr := jsonschema.UnmarshalJSON(strings.NewReader(v))
	require.NoError(t, decodeErr)
	verdict := library.Validate(instance)
	require.Equal(t, verdict == nil, err == nil, "schema %s\nvalue %s\nlibrary: %v\nours: %v", schema, v, verdict, told(t, err))
	return err == nil, true
}

// FuzzSchemasMeanWhatTheyMean holds schemas and values against the library.
func FuzzSchemasMeanWhatTheyMean(f *testing.F) {
	for _, test := range schemaTests {
		for _, v := range append(test.good, test.bad...) {
			f.Add(test.schema, v)
		}
	}
	f.Fuzz(func(t *testing.T, schema, v string) {
		if len(schema) > 1000 || len(v) > 1000 {
			return
		}
		o, err := value.ParseJSON(schema)
		field, ok := o.(*value.Object)
		in, inErr := value.ParseJSON(v)
		if _, own := field.At("required").(bool); err != nil || inErr != nil || !ok || own {
			return
		}
		// Both see the numbers and the keys that we see.
		schema, v = value.JSON(field, ""), value.JSON(in, "")
		var library *jsonschema.Schema
		if comparable(schema) {
			library = oracle(schema)
		}
		agree(t, schema, v, library)
	})
}

// comparable reports whether the library may be asked: it takes time without end
// for references that multiply, knows more formats and other drafts, and has
// integers for counts.
func comparable(schema string) bool {
	for _, word := range []string{"$schema", "$id", "$vocabulary", "$recursive", "$dynamic", "format", "e+", "000000000", "\\u"} {
		if strings.Contains(schema, word) {
			return false
		}
	}
	return strings.Count(schema, "$ref") <= 3
}
