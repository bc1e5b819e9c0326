package input_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/automation"
	"svc/domain/value"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	const (
		arguments = `{"arguments": {"p": {"type": "string", "secret": true}, "o": {"type": "object", "properties": {"q": {"type": "string", "secret": true}, "r": {"type": "string"}}}, "l": {"type": "array", "items": {"type": "string", "secret": true}}}}`
		branches  = `{"arguments": {"p": {"type": "string", "secret": true}}, "schemas": [
			{"conditions": {"method": "post"}, "payload": {"properties": {"body": {"properties": {"k": {"type": "string", "secret": true}}}}}},
			{"conditions": {"method": "put"}, "payload": {"properties": {"body": {"properties": {"m": {"type": "string", "secret": true}}}}}}]}`
	)
	tests := []struct {
		name, fields, in string
		want             []string
	}{
		{"marked arguments", arguments, `{"p": "hunter22", "o": {"q": " deep ", "r": "open"}}`, []string{"hunter22", "deep"}},
		{"not through items", arguments, `{"l": ["a"]}`, nil},
		{"only strings", arguments, `{"p": 5, "o": {"q": {"x": "y"}}}`, nil},
		{"an object where a string belongs", arguments, `{"p": {"p": "x"}, "o": "q"}`, nil},
		{"not empty ones", arguments, `{"p": "", "o": {"q": "  "}}`, nil},
		{"absent ones are none", arguments, `{}`, nil},
		{"those of arguments and of the chosen branch", branches, `{"method": "PUT", "p": "pp", "body": {"k": "kk", "m": "mm"}}`, []string{"pp", "mm"}},
		{"those of arguments when no branch is chosen", branches, `{"p": "pp", "body": {"k": "kk"}}`, []string{"pp"}},
		{"validating or not", `{"validateArguments": true, "arguments": {"p": {"type": "string", "secret": true}}}`, `{"p": "x"}`, []string{"x"}},
		{"a schema that does not compile still marks", `{"validateArguments": true, "arguments": {"p": {"type": "string", "secret": true, "pattern": "("}}}`, `{"p": "x"}`, []string{"x"}},
		{"a marker that is not true is none", `{"arguments": {"p": {"type": "string", "secret": "yes"}, "q": true}}`, `{"p": "x"}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := compile(t, test.fields).Secrets(parse(t, test.in))
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

// A secret that is too long is refused by the name of its field; the others are secrets
// nevertheless.
func TestSecretsAreOfABoundedLength(t *testing.T) {
	t.Parallel()
	shape := compile(t, `{"arguments": {"p": {"type": "string", "secret": true}, "body": {"type": "object", "properties": {"a/b": {"type": "string", "secret": true}}}}}`)
	in := value.NewObject("p", "hunter22", "body", value.NewObject("a/b", "  "+strings.Repeat("x", 64<<10)+" "))
	got, err := shape.Secrets(in)
	require.NoError(t, err)
	require.Len(t, got, 2)

	in.At("body").(*value.Object).Set("a/b", strings.Repeat("x", 64<<10+1))
	got, err = shape.Secrets(in)
	require.Equal(t, []string{"hunter22"}, got)
	raised := automation.ErrorOf(err)
	require.Equal(t, "InvalidArgumentsError", raised.Name)
	require.JSONEq(t, `{"errors":[{"field":"body[\"a/b\"]","message":"a secret is at most 65536 bytes long","keyword":"secret","schemaPath":"#/properties/body/properties/a~1b/secret","params":{"limit":65536}}]}`, value.JSON(raised.Details, ""))
}

func TestRedaction(t *testing.T) {
	t.Parallel()
	const (
		arguments = `{"arguments": {"a": {"redact": true}, "o": {"properties": {"b": {"redact": true}}}, "l": {"items": {"properties": {"c": {"redact": true}}}}}}`
		branches  = `{"arguments": {"a": {"redact": true}}, "schemas": [{"conditions": {"k": 1}, "payload": {"properties": {"b": {"redact": true}}}}]}`
	)
	tests := []struct{ name, fields, in, want string }{
		{"marked values", arguments, `{"z":1,"a":{"x":1},"o":{"b":null,"c":2}}`, `{"z":1,"a":"REDACTED","o":{"b":"REDACTED","c":2}}`},
		{"in items too", arguments, `{"l":[{"c":1,"d":2},3]}`, `{"l":[{"c":"REDACTED","d":2},3]}`},
		{"absent ones stay absent", arguments, `{"o":{"c":2}}`, `{"o":{"c":2}}`},
		{"what has another form stays", arguments, `{"o":[1],"l":{"c":1}}`, `{"o":[1],"l":{"c":1}}`},
		{"arguments and the chosen branch", branches, `{"k":"1","a":1,"b":2}`, `{"k":"1","a":"REDACTED","b":"REDACTED"}`},
		{"not those of another branch", branches, `{"a":1,"b":2}`, `{"a":"REDACTED","b":2}`},
		{"a whole payload", `{"schemas": [{"payload": {"redact": true}}]}`, `{"a":1,"b":{"c":2}}`, `{"a":"REDACTED","b":"REDACTED"}`},
		{"what is secret is not redacted here", `{"arguments": {"p": {"type": "string", "secret": true}}}`, `{"p":"x"}`, `{"p":"x"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := parse(t, test.in)
			require.Equal(t, test.want, value.JSON(compile(t, test.fields).Redacted(in), ""))
			require.Equal(t, test.in, value.JSON(in, ""), "the input is as it was")
		})
	}
}

func TestNothingMarkedIsNotCopied(t *testing.T) {
	shape := compile(t, `{"validateArguments": true, "arguments": {"a": {"type": "string"}}}`)
	in := parse(t, `{"a": "b", "headers": {"x": "y"}}`)
	require.Same(t, in, shape.Redacted(in))
	require.Same(t, in, shape.Recorded(in))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		shape.Recorded(in)
		_, _ = shape.Secrets(in)
		shape.RedactedOutput(in)
	}))
	require.Nil(t, shape.Recorded(nil))
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	const marked = `{"schemas": [{"output": {"properties": {"a": {"redact": true}}}}, {"output": {"properties": {"b": {"properties": {"c": {"redact": true}}}}}}]}`
	tests := []struct{ name, fields, out, want string }{
		{"what any branch marks", marked, `{"a":1,"b":{"c":2,"d":3}}`, `{"a":"REDACTED","b":{"c":"REDACTED","d":3}}`},
		{"a scalar has no members", marked, `5`, `5`},
		{"a whole output", `{"schemas": [{"output": {"redact": true}}]}`, `[1]`, `"REDACTED"`},
		{"a list of outputs", `{"schemas": [{"output": {"items": {"redact": true}}}]}`, `[1,{}]`, `["REDACTED","REDACTED"]`},
		{"payloads do not mark outputs", `{"schemas": [{"payload": {"properties": {"a": {"redact": true}}}}]}`, `{"a":1}`, `{"a":1}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, err := value.ParseJSON(test.out)
			require.NoError(t, err)
			require.Equal(t, test.want, value.JSON(compile(t, test.fields).RedactedOutput(out), ""))
			require.Equal(t, test.out, value.JSON(out, ""), "the output is as it was")
		})
	}
	require.Equal(t, value.Undefined, compile(t, marked).RedactedOutput(value.Undefined))
}

func TestRecorded(t *testing.T) {
	t.Parallel()
	const marked = `{"arguments": {"headers": {"properties": {"x-key": {"redact": true}}}, "body": {"redact": true}}}`
	tests := []struct{ name, fields, in, want string }{
		{"an endpoint's", `{}`, `{"method":"POST","headers":{"a":"b","authorization":"Bearer x"},"body":{},"rawBody":"{}","$http":{}}`, `{"method":"POST","headers":{"a":"b"},"body":{}}`},
		{"with what is marked", marked, `{"headers":{"x-key":"k","Authorization":"x"},"body":{"p":1},"rawBody":"p=1"}`, `{"headers":{"x-key":"REDACTED"},"body":"REDACTED"}`},
		{"headers that are none", `{}`, `{"headers":"authorization"}`, `{"headers":"authorization"}`},
		{"only at the root", `{}`, `{"body":{"rawBody":1,"headers":{"authorization":1}}}`, `{"body":{"rawBody":1,"headers":{"authorization":1}}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := parse(t, test.in)
			require.Equal(t, test.want, value.JSON(compile(t, test.fields).Recorded(in), ""))
			require.Equal(t, test.in, value.JSON(in, ""), "the input is as it was")
		})
	}
}
