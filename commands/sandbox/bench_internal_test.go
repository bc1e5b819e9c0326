package sandbox

import "testing"

// What it takes to make an interpreter before any code runs: what it lacks is read when it is
// first used.
func BenchmarkNewInterpreter(b *testing.B) {
	for b.Loop() {
		if _, err := newInterpreter(order{Arguments: []byte("{}")}, func(string) {}); err != nil {
			b.Fatal(err)
		}
	}
}
