package nodetest

import (
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"svc/commands/extract"
	"svc/commands/sandbox"
)

// KnownLeak ignores a goroutine that the client library leaks when an object was stored before its
// listener has started.
var KnownLeak = goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect")

// RunChild is what the program of a test does when a service under test runs code of authors, or reads files, with it. It reports
// whether this process is such a child, and has then done its work.
func RunChild() bool {
	children := map[string]func(in io.Reader, out io.Writer) error{"sandbox": sandbox.Main, "extract": extract.Main}
	if len(os.Args) != 2 || children[os.Args[1]] == nil {
		return false
	}
	if err := children[os.Args[1]](os.Stdin, os.Stdout); err != nil {
		os.Exit(1)
	}
	return true
}

// Main runs the tests of a package that starts services. Nothing runs on after they have
// stopped.
func Main(m *testing.M) {
	if !RunChild() {
		goleak.VerifyTestMain(sharedTests{m}, KnownLeak)
	}
}
