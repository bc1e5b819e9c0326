package input_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
