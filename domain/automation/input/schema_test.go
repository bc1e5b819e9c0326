package input_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain/automation"
	"svc/domain/automation/input"
	"svc/domain/value"
)

func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, test := range schemaTests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			library := oracle(test.schema)
			for _, v := range test.good {
				fits, ok := checkWithLibrary(t, test.schema, v, library)
				require.True(t, ok && fits, v)
			}
			for _, v := range test.bad {
				fits, ok := checkWithLibrary(t, test.schema, v, library)
				require.True(t, ok && !fits, v)
			}
		})
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	tests := []schemaTest{
		{"date", "date", values{`"2024-02-29"`, `5`}, values{`"2023-02-29"`, `"2024-2-9"`, `"24-02-29"`, `"2024-02-29T00:00:00Z"`, `""`}},
		{"time", "time", values{`"13:45:00Z"`, `"13:45:00.123+02:00"`, `"23:59:60Z"`, `"01:29:60+01:30"`, `"13:45:00z"`}, values{`"13:45:00"`, `"24:00:00Z"`, `"13:60:00Z"`, `"12:00:60Z"`, `"1:00:00Z"`, `"13:45:00+2:00"`, `"13:45:00.Z"`}},
		{"date-time", "date-time", values{`"2024-02-29T13:45:00Z"`, `"2024-02-29t13:45:00.5-08:00"`}, values{`"2024-02-29 13:45:00Z"`, `"2024-02-29"`, `"2024-02-30T13:45:00Z"`, `"2024-02-29T13:45:00"`}},
		{"duration", "duration", values{`"P1D"`, `"P4Y"`, `"PT0S"`, `"P3Y6M4DT12H30M5S"`, `"P2W"`, `"PT36H"`}, values{`"P"`, `"PT"`, `"P1DT"`, `"1D"`, `"P1"`, `"PT1D"`, `"P1Y2W"`, `"P2D1Y"`, `"P1H"`}},
		{"uri", "uri", values{`"https://a.b/c?d=e#f"`, `"mailto:a@b.c"`, `"urn:x:y"`, `"http://[::1]:80/"`}, values{`"/a/b"`, `"a b"`, `"//a.b/c"`, `""`, `"http:// x"`, `"http://[zz]/"`, `"http://a.b/{c}"`}},
		{"email", "email", values{`"a@b.c"`, `"a.b+c@d.example"`, `"\"a b\"@c.d"`, `"a@[127.0.0.1]"`, `"a@[IPv6:::1]"`, `"joe@example"`}, values{`"a"`, `"@b.c"`, `".a@b.c"`, `"a.@b.c"`, `"a..b@c.d"`, `"a@"`, `"a b@c.d"`, `"a@b_c.d"`, `"a@[300.0.0.1]"`}},
		{"hostname", "hostname", values{`"a.b.example"`, `"localhost"`, `"a-b.c"`, `"1.a"`}, values{`""`, `"-a.b"`, `"a-.b"`, `"a_b"`, `"a..b"`, `"é.b"`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b"`}},
		{"ipv4", "ipv4", values{`"127.0.0.1"`, `"255.255.255.255"`}, values{`"127.0.0"`, `"256.0.0.1"`, `"01.2.3.4"`, `"::1"`, `"1.2.3.4.5"`}},
		{"ipv6", "ipv6", values{`"::1"`, `"2001:db8::ff"`, `"::ffff:1.2.3.4"`}, values{`"127.0.0.1"`, `"::1%eth0"`, `"12345::"`, `":::"`, `"1::2::3"`}},
		{"uuid", "uuid", values{`"2eb8aa08-aa98-11ea-b4aa-73b441d16380"`, `"2EB8AA08-AA98-11EA-B4AA-73B441D16380"`}, values{`"2eb8aa08aa9811eab4aa73b441d16380"`, `"2eb8aa08-aa98-11ea-b4aa-73b441d1638"`, `"ghb8aa08-aa98-11ea-b4aa-73b441d16380"`}},
		{"regex", "regex", values{`"^a+$"`, `"(a|b)*"`}, values{`"("`, `"(?=a)"`}},
		{"workspaceId", "workspaceId", values{`"aB3_-xy"`, `"platform"`, `5`}, values{`"aB3_-x"`, `"aB3_-xyz"`, `"aB3 xyz"`, `""`, `"Platform"`}},
		{"objectId", "objectId", values{`"0123456789abcdefABCDEF01"`}, values{`"0123456789abcdefABCDEF0"`, `"0123456789abcdefABCDEF012"`, `"g123456789abcdefABCDEF01"`}},
		{"identifier", "identifier", values{`"abc_DEF-1 23"`}, values{`"abc"`, `"abcdefghijk."`, `"0123456789012345678901234567890123456789012345678"`}},
		{"name", "name", values{`"Zoë O'Hara-Ng, Jr."`, `"Li"`}, values{`"L"`, `"R2"`, `"a_b"`, `""`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			schema := `{"format": "` + test.schema + `"}`
			library := oracle(schema)
			for _, v := range test.good {
				fits, ok := checkWithLibrary(t, schema, v, library)
				require.True(t, ok && fits, v)
			}
			if library.Format == nil || test.name == "uri" || test.name == "email" {
				library = nil // a format of ours, or one that it takes too much as
			}
			for _, v := range test.bad {
				fits, ok := checkWithLibrary(t, schema, v, library)
				require.True(t, ok && !fits, v)
			}
		})
	}
}

// largePattern is a schema of which a document may have one.
var largePattern = `{"pattern": "` + strings.Repeat("a{1000}", 60) + `"}`

// brokenSchemas are those of a field that does not compile, and what is told behind
// the name of the field.
var brokenSchemas = []struct{ name, schema, want string }{
	{"a remote reference", `{"$ref": "https://example.com/s.json"}`, `.$ref: $ref must point into the same schema: it begins with #`},
	{"a reference to a file", `{"$ref": "file:///etc/passwd"}`, `.$ref: $ref must point into the same schema: it begins with #`},
	{"a reference that is no text", `{"$ref": 1}`, `.$ref: $ref must point into the same schema: it begins with #`},
	{"a reference to nothing", `{"$ref": "#/$defs/a"}`, `.$ref: there is nothing at #/$defs/a`},
	{"an anchor that is nowhere", `{"items": {"$ref": "#a"}, "enum": [{"$anchor": "a"}]}`, `.items.$ref: there is nothing at #a`},
	{"a reference to what is no schema", `{"$ref": "#/title", "title": "t"}`, `.title: a schema is an object, not string`},
	{"a reference to itself", `{"$ref": "#"}`, `: a reference leads back to itself`},
	{"a circle of references", `{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}`, `: a reference leads back to itself`},
	{"an unknown type", `{"type": "text"}`, `.type: "text" is not a type`},
	{"types that are none", `{"type": ["string", 1]}`, `.type: 1 is not a type`},
	{"a pattern that is none", `{"pattern": "(?=a)"}`, ".pattern: bad regular expression: invalid or unsupported Perl syntax: `(?=`"},
	{"a pattern that is no text", `{"pattern": 1}`, `.pattern: expected a string`},
	{"a pattern of members", `{"patternProperties": {"(": {}}}`, ".patternProperties[\"(\"]: bad regular expression: missing closing ): `(`"},
	{"a limit that is no number", `{"minimum": "1"}`, `.minimum: expected a number`},
	{"a count below zero", `{"maxLength": -1}`, `.maxLength: expected a whole number from 0 on`},
	{"a count that is not whole", `{"contains": {}, "minContains": 1.5}`, `.minContains: expected a whole number from 0 on`},
	{"multiples of nothing", `{"multipleOf": 0}`, `.multipleOf: expected a number above 0`},
	{"a list of schemas that is none", `{"anyOf": {}}`, `.anyOf: expected a list of schemas`},
	{"an empty list of schemas", `{"allOf": []}`, `.allOf: expected a list of schemas`},
	{"a schema in a list", `{"oneOf": [{}, {"type": "x"}]}`, `.oneOf[1].type: "x" is not a type`},
	{"members that are no schemas", `{"properties": {"a": 1}}`, `.properties.a: a schema is an object, not number`},
	{"members that are a list", `{"properties": []}`, `.properties: expected an object of schemas`},
	{"a list of names that is none", `{"required": ["a", 1]}`, `.required: expected a list of names`},
	{"required inside an object", `{"properties": {"a": {"required": true}}}`, `.properties.a.required: expected a list of names`},
	{"an enum that is none", `{"enum": "a"}`, `.enum: expected a list`},
	{"a format that is no text", `{"format": 1}`, `.format: expected a string`},
	{"uniqueItems that is no boolean", `{"uniqueItems": 1}`, `.uniqueItems: expected true or false`},
	{"dependentRequired of what is no list", `{"dependentRequired": {"a": ["b"], "c d": "e"}}`, `.dependentRequired["c d"]: expected a list of names`},
	{"multiples of less than nothing", `{"items": {"multipleOf": -1}}`, `.items.multipleOf: expected a number above 0`},
	{"a broken schema that only a reference leads to", `{"$ref": "#/x/y", "x": {"y": {"multipleOf": 0}}}`, `.x.y.multipleOf: expected a number above 0`},
	{"patterns that are too large together", `{"allOf": [` + largePattern + `, ` + largePattern + `]}`, `.allOf[1].pattern: the regular expressions of the schemas are too large`},
	{"dependentRequired that is none", `{"dependentRequired": ["a"]}`, `.dependentRequired: expected an object of lists of names`},
	{"items of an old draft", `{"items": [{}]}`, `.items: a schema is an object, not array`},
	{"a field that is no schema", `[]`, `: a typed field is an object, not array`},
}

func TestSchemasThatDoNotCompile(t *testing.T) {
	t.Parallel()
	for _, test := range brokenSchemas {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := parse(t, `{"v": 1}`)
			arguments := `"arguments": {"v": ` + test.schema + `}}`
			shape := compile(t, `{"validateArguments": true, `+arguments)
			require.Equal(t, []string{"InvalidInstructionError arguments.v" + test.want}, faultLines(t, shape.Check(in)))
			require.Same(t, in, shape.Redacted(in))
			require.NoError(t, compile(t, "{"+arguments).Check(in), "who does not validate does not mind")
		})
	}
	shape := compile(t, `{"validateArguments": true, "schemas": [{}, {"payload": {"type": 1}}]}`)
	require.Equal(t, []string{"InvalidInstructionError schemas[1].payload.type: 1 is not a type"}, faultLines(t, shape.Check(nil)))
	require.NotSame(t, shape.Check(nil), shape.Check(nil), "who receives it may write into it")
}

// schemaTest is a schema and values that fit it or do not.
type schemaTest struct {
	name, schema string
	good, bad    []string
}

type values = []string

var schemaTests = []schemaTest{
	{"everything", `{}`, values{`1`, `null`, `{"a": []}`}, nil},
	{"a string", `{"type": "string"}`, values{`""`, `"a"`}, values{`1`, `null`, `[]`, `{}`, `true`}},
	{"a number", `{"type": "number"}`, values{`1`, `1.5`, `-0`}, values{`"1"`, `true`, `null`}},
	{"an integer", `{"type": "integer"}`, values{`1`, `2.0`, `1e3`}, values{`1.5`, `"2"`}},
	{"a boolean", `{"type": "boolean"}`, values{`true`, `false`}, values{`0`, `"true"`, `null`}},
	{"an object", `{"type": "object"}`, values{`{}`}, values{`[]`, `"{}"`}},
	{"an array", `{"type": "array"}`, values{`[]`}, values{`{}`, `"[]"`}},
	{"null", `{"type": "null"}`, values{`null`}, values{`0`, `""`, `false`}},
	{"one of several types", `{"type": ["string", "null"]}`, values{`"a"`, `null`}, values{`1`}},
	{"enum", `{"enum": ["a", 1, null, {"k": [1, 2]}]}`, values{`"a"`, `1.0`, `null`, `{"k": [1, 2]}`}, values{`"b"`, `"1"`, `false`, `{"k": [2, 1]}`, `{}`}},
	{"enum of objects whatever the order of keys", `{"enum": [{"a": 1, "b": 2}]}`, values{`{"b": 2, "a": 1}`}, values{`{"a": 1}`}},
	{"const", `{"const": {"a": [1]}}`, values{`{"a": [1]}`}, values{`{"a": 1}`, `null`}},
	{"const null", `{"const": null}`, values{`null`}, values{`0`, `""`}},
	{"minimum", `{"minimum": 2}`, values{`2`, `3`, `"1"`}, values{`1.9`, `-3`}},
	{"maximum", `{"maximum": 2}`, values{`2`, `"3"`}, values{`2.1`}},
	{"exclusive bounds", `{"exclusiveMinimum": 0, "exclusiveMaximum": 1}`, values{`0.5`}, values{`0`, `1`}},
	{"multiples of a decimal", `{"multipleOf": 0.1}`, values{`0.3`, `1`, `0`, `-0.7`, `"x"`}, values{`0.35`}},
	{"multiples of a whole number", `{"multipleOf": 3}`, values{`9`, `-3`, `0`}, values{`10`, `1.5`}},
	{"lengths count characters", `{"minLength": 2, "maxLength": 3}`, values{`"h😀"`, `"héé"`, `1`}, values{`"😀"`, `"abcd"`}},
	{"a pattern may be anywhere", `{"pattern": "b+"}`, values{`"abba"`, `5`}, values{`"aa"`, `""`}},
	{"items", `{"items": {"type": "number"}}`, values{`[]`, `[1, 2]`, `"x"`}, values{`[1, "2"]`}},
	{"prefixItems", `{"prefixItems": [{"type": "number"}, {"type": "string"}]}`, values{`[1, "a", true]`, `[1]`, `[]`}, values{`["a"]`, `[1, 2]`}},
	{"items after prefixItems", `{"prefixItems": [{"type": "number"}], "items": false}`, values{`[1]`, `[]`}, values{`[1, 2]`}},
	{"how many items", `{"minItems": 1, "maxItems": 2}`, values{`[1]`, `[1, 2]`, `{}`}, values{`[]`, `[1, 2, 3]`}},
	{"uniqueItems", `{"uniqueItems": true}`, values{`[1, "1", true, null, [1], {"a": 1}]`, `"aa"`}, values{`[1, 1.0]`, `[{"a": 1, "b": 2}, {"b": 2, "a": 1}]`, `[[1, 2], [1, 2]]`}},
	{"uniqueItems false", `{"uniqueItems": false}`, values{`[1, 1]`}, nil},
	{"contains", `{"contains": {"const": 1}}`, values{`[1]`, `[2, 1]`, `1`}, values{`[]`, `[2]`}},
	{"contains so many", `{"contains": {"const": 1}, "minContains": 2, "maxContains": 3}`, values{`[1, 1]`, `[1, 1, 1, 2]`}, values{`[1]`, `[1, 1, 1, 1]`}},
	{"contains none", `{"contains": {"const": 1}, "minContains": 0}`, values{`[]`, `[2]`}, nil},
	{"properties", `{"properties": {"a": {"type": "number"}, "b": false}}`, values{`{"a": 1, "c": 2}`, `{}`, `[]`}, values{`{"a": "1"}`, `{"b": 1}`}},
	{"required", `{"required": ["a"]}`, values{`{"a": null}`, `[]`}, values{`{}`, `{"b": 1}`}},
	{"patternProperties", `{"patternProperties": {"^n": {"type": "number"}, "x$": {"minimum": 2}}}`, values{`{"n": 1, "nx": 2, "s": "t"}`}, values{`{"n": "1"}`, `{"nx": 1}`}},
	{"additionalProperties false", `{"properties": {"a": {}}, "patternProperties": {"^n": {}}, "additionalProperties": false}`, values{`{"a": 1, "n1": 2}`, `{}`}, values{`{"b": 1}`}},
	{"additionalProperties of a form", `{"properties": {"a": {}}, "additionalProperties": {"type": "number"}}`, values{`{"a": "x", "b": 1}`}, values{`{"b": "x"}`}},
	{"propertyNames", `{"propertyNames": {"maxLength": 2}}`, values{`{"ab": 1}`, `{}`, `"abc"`}, values{`{"abc": 1}`}},
	{"how many members", `{"minProperties": 1, "maxProperties": 1}`, values{`{"a": 1}`, `[]`}, values{`{}`, `{"a": 1, "b": 2}`}},
	{"dependentRequired", `{"dependentRequired": {"a": ["b", "c"]}}`, values{`{}`, `{"b": 1}`, `{"a": 1, "b": 1, "c": 1}`}, values{`{"a": 1, "b": 1}`}},
	{"dependentSchemas", `{"dependentSchemas": {"a": {"required": ["b"]}}}`, values{`{}`, `{"a": 1, "b": 1}`, `1`}, values{`{"a": 1}`}},
	{"allOf", `{"allOf": [{"minimum": 1}, {"maximum": 2}]}`, values{`1`}, values{`0`, `3`}},
	{"anyOf", `{"anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]}`, values{`"ab"`, `null`}, values{`"a"`, `1`}},
	{"oneOf", `{"oneOf": [{"minimum": 5}, {"maximum": 7}, {"const": "x"}]}`, values{`8`, `4`}, values{`6`, `"x"`, `"y"`}},
	{"not", `{"not": {"type": "string"}}`, values{`1`}, values{`"a"`}},
	{"if, then and else", `{"if": {"properties": {"k": {"const": 1}}}, "then": {"required": ["a"]}, "else": {"required": ["b"]}}`, values{`{"k": 1, "a": 1}`, `{"k": 2, "b": 1}`}, values{`{"k": 1, "b": 1}`, `{"k": 2, "a": 1}`}},
	{"if alone", `{"if": {"const": 1}}`, values{`1`, `2`}, nil},
	{"then alone", `{"then": {"const": 1}}`, values{`2`}, nil},
	{"references", `{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b~1c"}, "b/c": {"type": "number"}}}`, values{`1`}, values{`"1"`}},
	{"references beside keywords", `{"$ref": "#/$defs/a", "minimum": 3, "$defs": {"a": {"type": "number"}}}`, values{`3`}, values{`2`, `"a"`}},
	{"references that are percent-encoded", `{"$ref": "#/$defs/a%20b", "$defs": {"a b": {"type": "number"}}}`, values{`1`}, values{`"1"`}},
	{"anchors", `{"$ref": "#here", "$defs": {"a": {"$anchor": "here", "type": "number"}}}`, values{`1`}, values{`"1"`}},
	{"dynamic references", `{"$dynamicRef": "#d", "$defs": {"a": {"$dynamicAnchor": "d", "type": "number"}}}`, values{`1`}, values{`"1"`}},
	{"recursion", `{"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": false}`, values{`{"next": {"next": {}}}`}, values{`{"next": {"nxt": {}}}`, `{"next": 1}`}},
	{"references into lists", `{"items": {"$ref": "#/prefixItems/0"}, "prefixItems": [{"type": "number"}]}`, values{`[1, 2]`}, values{`[1, "2"]`}},
	{"unevaluatedProperties false", `{"properties": {"a": {}}, "anyOf": [{"properties": {"b": {"type": "number"}}}, {"properties": {"c": {}}, "required": ["c"]}], "unevaluatedProperties": false}`, values{`{"a": 1}`, `{"a": 1, "b": 2}`, `{"b": 1, "c": 1}`}, values{`{"d": 1}`, `{"b": "x", "c": 1}`}},
	{"unevaluatedProperties of a form", `{"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": {"type": "number"}}`, values{`{"a": "x", "b": 1}`}, values{`{"b": "x"}`}},
	{"unevaluatedProperties after a reference", `{"$ref": "#/$defs/a", "unevaluatedProperties": false, "$defs": {"a": {"properties": {"a": {}}, "patternProperties": {"^x": {}}}}}`, values{`{"a": 1, "x1": 1}`}, values{`{"b": 1}`}},
	{"unevaluatedProperties after if", `{"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"properties": {"b": {}}}, "else": {"properties": {"c": {}}}, "unevaluatedProperties": false}`, values{`{"a": 1, "b": 1}`, `{"c": 1}`}, values{`{"a": 1, "c": 1}`, `{"b": 1}`}},
	{"unevaluatedProperties after dependentSchemas", `{"properties": {"a": {}}, "dependentSchemas": {"a": {"properties": {"b": {}}}}, "unevaluatedProperties": false}`, values{`{"a": 1, "b": 1}`}, values{`{"b": 1}`}},
	{"unevaluatedProperties and not", `{"not": {"not": {"properties": {"a": {}}}}, "unevaluatedProperties": false}`, values{`{}`}, values{`{"a": 1}`}},
	{"unevaluatedProperties and additionalProperties", `{"allOf": [{"additionalProperties": true}], "unevaluatedProperties": false}`, values{`{"a": 1}`}, nil},
	{"nested unevaluatedProperties", `{"allOf": [{"properties": {"a": {}}, "unevaluatedProperties": {"type": "number"}}], "unevaluatedProperties": false}`, values{`{"a": "x", "b": 1}`}, values{`{"b": "x"}`}},
	{"unevaluatedItems", `{"prefixItems": [{}], "contains": {"const": 7}, "minContains": 0, "unevaluatedItems": false}`, values{`[1]`, `[1, 7]`, `[]`, `{}`}, values{`[1, 2]`}},
	{"unevaluatedItems of a form", `{"allOf": [{"prefixItems": [{}]}], "unevaluatedItems": {"type": "number"}}`, values{`["a", 1]`}, values{`["a", "b"]`}},
	{"unevaluatedItems after items", `{"anyOf": [{"items": {"type": "string"}}, true], "unevaluatedItems": false}`, values{`["a"]`, `[]`}, values{`[1]`}},
	{"localized strings", `{"type": "localized:string"}`, values{`"a"`, `{"en": "a", "fr": "b"}`, `{}`}, values{`1`, `{"en": 1}`, `["a"]`, `null`}},
	{"localized numbers", `{"type": "localized:number"}`, values{`1.5`, `{"en": 1}`}, values{`"1"`, `{"en": "1"}`}},
	{"localized booleans", `{"type": ["localized:boolean", "null"]}`, values{`true`, `{"en": false}`, `null`}, values{`0`, `{"en": null}`}},
	{"unknown keywords", `{"nullable": true, "x": {"y": 1}, "type": "number", "title": "t"}`, values{`1`}, values{`null`}},
	{"an unknown format", `{"format": "colour"}`, values{`"x"`}, nil},
}

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

// checkWithLibrary checks a value against a schema and returns whether it fits, and false
// when the schema is none. The library must say the same when it can tell.
func checkWithLibrary(t tester, schema, v string, library *jsonschema.Schema) (fits, ok bool) {
	t.Helper()
	shape := compile(t, `{"validateArguments": true, "arguments": {"v": `+schema+`}}`)
	err := shape.Check(parse(t, `{"v": `+v+`}`))
	raised, _ := errors.AsType[*automation.Error](err)
	if raised != nil && raised.Name != automation.InvalidArguments {
		return false, false
	}
	faultLines(t, err)
	if library == nil {
		return err == nil, true
	}
	instance, decodeErr := jsonschema.UnmarshalJSON(strings.NewReader(v))
	require.NoError(t, decodeErr)
	verdict := library.Validate(instance)
	require.Equal(t, verdict == nil, err == nil, "schema %s\nvalue %s\nlibrary: %v\nours: %v", schema, v, verdict, faultLines(t, err))
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
		checkWithLibrary(t, schema, v, library)
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

// Schemas made of all keywords, nested in each other, mean what the library says
// they mean.
func TestRandomSchemasMeanWhatTheyMean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		schema := drawKeywords(r, 3)
		schema.Set("$defs", value.NewObject("x", drawSchema(r, 0)))
		text := value.JSON(schema, "")
		library := oracle(text)
		if library == nil {
			r.Fatalf("the library takes no schema %s", text)
		}
		for range 5 {
			checkWithLibrary(r, text, value.JSON(drawValue(r, 2), ""), library)
		}
	})
}

var (
	someNames   = rapid.SampledFrom([]string{"a", "b", "aa", "ab"})
	someScalars = rapid.SampledFrom([]any{nil, true, false, 0.0, 1.0, 1.5, 2.0, "", "a", "ab"})
	someTypes   = rapid.SampledFrom([]any{"string", "number", "integer", "boolean", "object", "array", "null"})
	somePattern = rapid.SampledFrom([]string{"a", "^a", "b$", "^$"})
)

func drawValue(r *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 4).Draw(r, "kind")
	if depth == 0 || kind == 0 {
		return someScalars.Draw(r, "scalar")
	}
	size := rapid.IntRange(0, 3).Draw(r, "size")
	if kind < 3 {
		o := &value.Object{}
		for range size {
			o.Set(someNames.Draw(r, "name"), drawValue(r, depth-1))
		}
		return o
	}
	list := []any{}
	for range size {
		list = append(list, drawValue(r, depth-1))
	}
	return list
}

func drawSchema(r *rapid.T, depth int) any {
	if rapid.IntRange(0, 9).Draw(r, "boolean") == 0 {
		return rapid.Bool().Draw(r, "schema")
	}
	return drawKeywords(r, depth)
}

func drawKeywords(r *rapid.T, depth int) *value.Object {
	o := &value.Object{}
	for range rapid.IntRange(1, 4).Draw(r, "keywords") {
		if depth == 0 {
			drawAssertion(r, o)
		} else {
			drawApplicator(r, o, depth-1)
		}
	}
	return o
}

// drawAssertion adds a keyword without schemas.
func drawAssertion(r *rapid.T, o *value.Object) {
	keyword := rapid.SampledFrom([]string{
		"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
		"minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "required", "dependentRequired",
	}).Draw(r, "assertion")
	small := float64(rapid.IntRange(0, 3).Draw(r, "small"))
	var v any = small
	switch keyword {
	case "type":
		v = someTypes.Draw(r, "type")
	case "enum":
		v = []any{drawValue(r, 1), drawValue(r, 1)}
	case "const":
		v = drawValue(r, 2)
	case "multipleOf":
		v = small/2 + 0.5
	case "pattern":
		v = somePattern.Draw(r, "pattern")
	case "uniqueItems":
		v = small > 0
	case "required":
		v = []any{someNames.Draw(r, "needed")}
	case "dependentRequired":
		v = value.NewObject(someNames.Draw(r, "name"), []any{someNames.Draw(r, "needed")})
	}
	o.Set(keyword, v)
}

// drawApplicator adds a keyword with schemas, or one without.
func drawApplicator(r *rapid.T, o *value.Object, depth int) {
	switch rapid.IntRange(0, 8).Draw(r, "group") {
	case 0, 1:
		drawAssertion(r, o)
	case 2:
		o.Set("$ref", "#/$defs/x")
	case 3:
		keyword := rapid.SampledFrom([]string{"allOf", "anyOf", "oneOf", "prefixItems"}).Draw(r, "list")
		o.Set(keyword, []any{drawSchema(r, depth), drawSchema(r, depth)})
	case 4, 5:
		keyword := rapid.SampledFrom([]string{"properties", "dependentSchemas", "patternProperties"}).Draw(r, "map")
		name := someNames.Draw(r, "name")
		if keyword == "patternProperties" {
			name = somePattern.Draw(r, "pattern")
		}
		o.Set(keyword, value.NewObject(name, drawSchema(r, depth)))
	case 6:
		o.Set("contains", drawSchema(r, depth))
		o.Set(rapid.SampledFrom([]string{"minContains", "maxContains"}).Draw(r, "limit"), float64(rapid.IntRange(0, 2).Draw(r, "count")))
	default:
		keyword := rapid.SampledFrom([]string{
			"items", "additionalProperties", "propertyNames", "not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems",
		}).Draw(r, "schema")
		o.Set(keyword, drawSchema(r, depth))
	}
}

// doublingDefinitions returns definitions of which each asks for the next one twice.
func doublingDefinitions(keyword string, levels int) string {
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
		{"schemas that multiply", doublingDefinitions("allOf", 40), `"x"`, tooLarge},
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
			require.Equal(t, test.want, faultLines(t, shape.Check(in)))
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
	faults := faultLines(t, shape.Check(parse(t, `{"v": [`+strings.Repeat("1,", 1000)+`1]}`)))
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
	require.Len(t, faultLines(t, err), 3)
	require.Less(t, len(value.JSON(automation.ErrorOf(err).Details, "")), 110_000, "only the allowed values are told whole")
}

func TestPassingFormsLeaveNoFaults(t *testing.T) {
	t.Parallel()
	shape := compile(t, `{"validateArguments": true, "arguments": {"v": {"oneOf": [{"type": "string"}, {"type": "number"}, {"type": "integer"}]}, "w": {"type": "string"}}}`)
	require.Equal(t, []string{"w: expected string, got null"}, faultLines(t, shape.Check(parse(t, `{"v": 1.5, "w": null}`))))
	require.Equal(t, []string{"v: must fit exactly one of 3 schemas"}, faultLines(t, shape.Check(parse(t, `{"v": 1}`))))
}

const fiveFields = `{"validateArguments": true, "arguments": {
	"id": {"type": "string", "pattern": "^[a-z0-9]+$", "required": true},
	"count": {"type": "integer", "minimum": 0, "required": true},
	"mail": {"type": "string", "format": "email"},
	"kind": {"enum": ["new", "old"]},
	"tags": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 10}}}`

const fiveValues = `{"id": "abc123", "count": 3, "mail": "a@example.com", "kind": "new", "tags": ["a", "b"]}`

func BenchmarkCheck(b *testing.B) {
	shape, in := compile(b, fiveFields), parse(b, fiveValues)
	require.NoError(b, shape.Check(in))
	b.ReportAllocs()
	for b.Loop() {
		_ = shape.Check(in)
	}
}

func BenchmarkCheckRefuses(b *testing.B) {
	shape, in := compile(b, fiveFields), parse(b, `{"id": "ABC", "count": "3", "kind": "x"}`)
	require.Error(b, shape.Check(in))
	b.ReportAllocs()
	for b.Loop() {
		_ = shape.Check(in)
	}
}

func BenchmarkNothingMarked(b *testing.B) {
	shape, in := compile(b, fiveFields), parse(b, fiveValues)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = shape.Secrets(in)
		shape.Recorded(in)
		shape.RedactedOutput(in)
	}
}

func BenchmarkMarked(b *testing.B) {
	shape := compile(b, `{"arguments": {"p": {"type": "string", "secret": true}, "q": {"redact": true}}}`)
	in := parse(b, `{"p": "hunter22", "q": {"a": 1}, "r": 1}`)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = shape.Secrets(in)
		shape.Recorded(in)
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		compile(b, fiveFields)
	}
}
