//go:build fault

package fault

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"svc/cmd/node/nodetest"
)

// The test binary is also the processes that the tests kill: roles says what
// each does instead of running tests.
var roles = map[string]func() error{
	"store-writer": writeToStore,
	"serve":        nodetest.Serve,
}

const roleVariable = "FAULT_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](); err != nil {
		fmt.Fprintln(os.Stderr, "fault:", err)
		os.Exit(1)
	}
}

// full reports whether the long profile was asked for.
func full() bool { return os.Getenv("FAULT_PROFILE") == "full" }

// cycles returns how often a test repeats itself: quick times in CI.
func cycles(quick, long int) int {
	if n, err := strconv.Atoi(os.Getenv("FAULT_CYCLES")); err == nil {
		return n
	}
	if full() {
		return long
	}
	return quick
}

// report prints the one JSON line of a fault test.
func report(t *testing.T, name string, facts map[string]any) {
	t.Helper()
	facts["fault"], facts["ok"] = name, !t.Failed()
	line, err := json.Marshal(facts)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
}
