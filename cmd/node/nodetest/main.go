package nodetest

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"svc/commands/sandbox"
)

// KnownLeak ignores a goroutine that the client library leaks when an object was stored before its
// listener has started.
var KnownLeak = goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect")

// Main runs the tests of a package that starts services. Nothing runs on after they have
// stopped.
func Main(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "sandbox" { // the service under test runs code of authors with this program
		if err := sandbox.Main(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(sharedTests{m}, KnownLeak)
}
