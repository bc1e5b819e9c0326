package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/commands/sandbox"
	"svc/domain/automation"
	"svc/domain/value"
)

// The test binary is also the child, and a parent that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "sandbox" {
		if err := sandbox.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == parentArgument {
		os.Exit(runForEver())
	}
	goleak.VerifyTestMain(m)
}

// parentArgument makes the test binary a service that runs code without end.
const parentArgument = "parent"

func runForEver() int {
	executable, err := os.Executable()
	if err != nil {
		return 1
	}
	s, err := sandbox.New(sandbox.Options{Executable: executable})
	if err != nil {
		return 1
	}
	_, _ = s.Run(context.Background(), sandbox.Job{Code: "for (;;) {}"})
	return 0
}

// open returns a sandbox that ends with the test.
func open(t testing.TB, o sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	var err error
	o.Executable, err = os.Executable()
	require.NoError(t, err)
	s, err := sandbox.New(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// job runs code on arguments, which are JSON.
func job(t testing.TB, code, arguments string) sandbox.Job {
	t.Helper()
	j := sandbox.Job{Code: code, Clock: time.Date(2025, 3, 1, 12, 0, 0, 5e6, time.UTC), Seed: 7}
	if arguments != "" {
		v, err := value.ParseJSON(arguments)
		require.NoError(t, err)
		j.Arguments = v.(*value.Object)
	}
	return j
}

// failure returns the details of a CustomCodeError, and its message.
func failure(t testing.TB, err error) (details, message string) {
	t.Helper()
	var raised *automation.Error
	require.ErrorAs(t, err, &raised)
	require.Equal(t, automation.CustomCodeFailed, raised.Name, raised.Message)
	return value.JSON(raised.Details, ""), raised.Message
}
