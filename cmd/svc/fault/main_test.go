//go:build fault

package fault

import (
	"fmt"
	"os"
	"testing"

	"svc/cmd/node/nodetest"
)

// The test binary is also the processes that the tests kill: roles says what
// each does instead of running tests.
var roles = map[string]func() error{
	"store-writer": writeToStore,
	"store-purger": purgeAndWrite,
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
