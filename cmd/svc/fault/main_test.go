//go:build fault

package fault

import (
	"fmt"
	"os"
	"testing"

	"svc/cmd/node/nodetest"
	"svc/commands/extract"
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
	if len(os.Args) == 2 && os.Args[1] == "extract" { // a service under test reads a page with this program
		if extract.Main(os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		return
	}
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](); err != nil {
		fmt.Fprintln(os.Stderr, "fault:", err)
		os.Exit(1)
	}
}
