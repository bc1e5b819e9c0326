package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/sandbox"
)

func TestNoChildIsLeft(t *testing.T) {
	s := open(t, sandbox.Options{})
	_, err := s.Run(t.Context(), job(t, "return 1", ""))
	require.NoError(t, err)
	s.Close()
	require.Empty(t, children(t, "self"))
}

// children returns the processes that a process has started.
func children(t *testing.T, pid string) []string {
	t.Helper()
	var all []string
	lists, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	require.NoError(t, err)
	for _, list := range lists {
		text, _ := os.ReadFile(list) // of a thread that has ended since
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

func TestAServiceThatDiesLeavesNoChild(t *testing.T) {
	service := exec.Command(os.Args[0], parentArgument)
	require.NoError(t, service.Start())
	var started []string
	require.Eventually(t, func() bool {
		started = children(t, strconv.Itoa(service.Process.Pid))
		return len(started) == 1
	}, time.Minute, time.Millisecond)
	require.NoError(t, service.Process.Kill())
	require.Error(t, service.Wait())
	require.Eventually(t, func() bool {
		status, err := os.ReadFile("/proc/" + started[0] + "/status")
		return err != nil || strings.Contains(string(status), "State:\tZ")
	}, time.Minute, time.Millisecond)
}

func TestTheChildHasGivenUpWhatItDoesNotNeed(t *testing.T) {
	s := open(t, sandbox.Options{Warm: -1})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.Run(t.Context(), sandbox.Job{Code: "for (;;) {}", Timeout: 2 * time.Second})
	}()
	seen := ""
	require.Eventually(t, func() bool {
		for _, pid := range children(t, "self") {
			status, _ := os.ReadFile("/proc/" + pid + "/status")
			limits, _ := os.ReadFile("/proc/" + pid + "/limits")
			seen = strings.Join(strings.Fields(string(status)+string(limits)), " ")
			environment, err := os.ReadFile("/proc/" + pid + "/environ")
			if err == nil && strings.Contains(seen, "Seccomp: 2") {
				require.Equal(t, "TZ=UTC\x00GOTRACEBACK=none\x00", string(environment))
				descriptors, _ := filepath.Glob("/proc/" + pid + "/fd/*")
				require.LessOrEqual(t, len(descriptors), 16)
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond, "%s", seen)
	for _, limit := range []string{"NoNewPrivs: 1", "Max file size 0 0", "Max core file size 0 0", "Max open files 16 16", "Max cpu time 7 7"} {
		require.Contains(t, seen, limit)
	}
	<-done
}

func TestAProgramThatIsNoneIsTheOperatorsFault(t *testing.T) {
	for name, o := range map[string]sandbox.Options{
		"missing":         {Executable: "/nowhere"},
		"another program": {Executable: "/bin/true", Args: []string{"x"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sandbox.New(o)
			require.NoError(t, err)
			defer s.Close()
			_, err = s.Run(t.Context(), job(t, "return 1", ""))
			require.ErrorContains(t, err, "start")
			require.NotContains(t, err.Error(), "CustomCode")
		})
	}
	_, err := sandbox.New(sandbox.Options{})
	require.Error(t, err)
	_, err = sandbox.New(sandbox.Options{Executable: "x", Timeout: -1})
	require.Error(t, err)
}
