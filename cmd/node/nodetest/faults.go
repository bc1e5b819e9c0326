package nodetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Cycles returns how often a fault test repeats itself: quick times in CI, long
// times with FAULT_PROFILE=full, or as FAULT_CYCLES says.
func Cycles(quick, long int) int {
	if n, err := strconv.Atoi(os.Getenv("FAULT_CYCLES")); err == nil {
		return n
	}
	if os.Getenv("FAULT_PROFILE") == "full" {
		return long
	}
	return quick
}

// Seed returns the seed of a fault test: FAULT_SEED, or a random one. Its report has it.
func Seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("FAULT_SEED"), 10, 64); err == nil {
		return n
	}
	return rand.Uint64N(1_000_000)
}

// Report prints the one JSON line of a fault test.
func Report(t *testing.T, name string, facts map[string]any) {
	t.Helper()
	facts["fault"], facts["ok"] = name, !t.Failed()
	line, err := json.Marshal(facts)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintln(os.Stdout, string(line))
}
