package node_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/domain"
	"svc/domain/workspace"
)

// inFlight sends a request that waits at a turnstile, and returns its outcome.
func inFlight(t *testing.T, s *service, user string) <-chan error {
	t.Helper()
	outcome := make(chan error, 1)
	go func() {
		got, err := s.request(context.WithoutCancel(t.Context()), http.MethodGet, "/v2/workspaces/platform", as(user), "")
		if err == nil && got.StatusCode != http.StatusUnauthorized {
			err = errors.New(got.Status)
		}
		outcome <- err
	}()
	return outcome
}

func TestAShutdownLetsRequestsFinish(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), forgotten)
	s := newService(t).start(t)
	id, _ := s.create(t, "kept")
	ts := hold(t, "slow")
	outcome := inFlight(t, s, "slow")
	<-ts.entered

	s.end()
	address := strings.TrimPrefix(s.base, "http://")
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, 10*time.Second, time.Millisecond, "new connections must be refused")
	require.Empty(t, s.outcome, "the service waits for the request")
	require.Empty(t, outcome)
	require.NoFileExists(t, filepath.Join(s.dir, "log", "clean"), "the log is still open")

	close(ts.open)
	require.NoError(t, <-outcome, "the request in flight has its answer")
	require.NoError(t, <-s.outcome)
	s.ended = true
	require.FileExists(t, filepath.Join(s.dir, "log", "clean"))
	require.Contains(t, s.log.String(), `"msg":"stopped"`)
	require.NotContains(t, s.log.String(), `"level":"ERROR"`)
	s.client.CloseIdleConnections()

	s.start(t)
	require.Equal(t, "kept", s.get(t, "/v2/workspaces/"+id, as("root")).json(t)["name"])
	s.stop(t)
	var names []string
	for _, ev := range stored(t, s.dir, domain.State) {
		if created, ok := ev.Data.(workspace.Created); ok {
			names = append(names, created.Workspace.Settings.Name)
		}
	}
	require.Equal(t, []string{"Platform", "kept"}, names)
}

func TestARequestThatOutlivesTheGracePeriodIsCutOff(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), forgotten)
	s := newService(t, "SHUTDOWN_GRACE_SECONDS=0").start(t)
	ts := hold(t, "stuck")
	outcome := inFlight(t, s, "stuck")
	<-ts.entered
	s.stop(t)
	require.Error(t, <-outcome)
	require.FileExists(t, filepath.Join(s.dir, "log", "clean"), "the log is closed in good order all the same")
	require.Contains(t, s.log.String(), "cut off")
}

func TestANodeThatNeverServedClosesToo(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), forgotten)
	s := newService(t)
	require.NoError(t, s.open(t))
	require.NoError(t, s.node.Close(t.Context()))
	require.NoError(t, s.node.Close(t.Context()), "twice is once")
	require.FileExists(t, filepath.Join(s.dir, "log", "clean"))
	s.start(t)
	s.await(t, "/readyz", http.StatusOK)
	s.stop(t)
}

func TestTheDataDirectoryIsPrivate(t *testing.T) {
	s := newService(t).start(t)
	for _, name := range []string{"", "keys", "log", "readmodels"} {
		info, err := os.Stat(filepath.Join(s.dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), name)
	}
}
