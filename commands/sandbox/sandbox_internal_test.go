package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever the code is, compiling it ends with a program or with what is wrong.
func FuzzCompile(f *testing.F) {
	for _, code := range []string{"return 1", "}); (function() {", "await x", "let a = /[/", "`${", "\n//# sourceMappingURL=/etc/passwd"} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		program, failed := compile(code, []string{"a"})
		if (program == nil) == (failed == nil) {
			t.Fatalf("%q: a program and a failure, or neither", code)
		}
		if failed != nil {
			require.Equal(t, reasonSyntax, failed.Reason)
			require.GreaterOrEqual(t, failed.Line, 0)
		}
	})
}

// What it takes to make an interpreter before any code runs: what it lacks is read when it is
// first used.
func BenchmarkNewInterpreter(b *testing.B) {
	for b.Loop() {
		if _, err := newInterpreter(order{Arguments: []byte("{}")}, func(string) {}); err != nil {
			b.Fatal(err)
		}
	}
}
