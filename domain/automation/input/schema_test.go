package input_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, test := range schemaTests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			library := oracle(test.schema)
			for _, v := range test.good {
				fits, ok := agree(t, test.schema, v, library)
				require.True(t, ok && fits, v)
			}
			for _, v := range test.bad {
				fits, ok := agree(t, test.schema, v, library)
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
				fits, ok := agree(t, schema, v, library)
				require.True(t, ok && fits, v)
			}
			if library.Format == nil || test.name == "uri" || test.name == "email" {
				library = nil // a format of ours, or one that it takes too much as
			}
			for _, v := range test.bad {
				fits, ok := agree(t, schema, v, library)
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
			require.Equal(t, []string{"InvalidInstructionError arguments.v" + test.want}, told(t, shape.Check(in)))
			require.Same(t, in, shape.Redacted(in))
			require.NoError(t, compile(t, "{"+arguments).Check(in), "who does not validate does not mind")
		})
	}
	shape := compile(t, `{"validateArguments": true, "schemas": [{}, {"payload": {"type": 1}}]}`)
	require.Equal(t, []string{"InvalidInstructionError schemas[1].payload.type: 1 is not a type"}, told(t, shape.Check(nil)))
	require.NotSame(t, shape.Check(nil), shape.Check(nil), "who receives it may write into it")
}
