package node_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/workspace"
)

// inFlight sends a request that waits at a turnstile, and returns its outcome.
func inFlight(t *testing.T, s *nodetest.Service, user string) <-chan error {
	t.Helper()
	outcome := make(chan error, 1)
	go func() {
		got, err := s.Request(context.WithoutCancel(t.Context()), http.MethodGet, "/v2/workspaces/platform", nodetest.As(user), "")
		if err == nil && got.StatusCode != http.StatusUnauthorized {
			err = errors.New(got.Status)
		}
		outcome <- err
	}()
	return outcome
}

func TestAShutdownLetsRequestsFinish(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), nodetest.KnownLeak)
	s := nodetest.NewService(t).Start(t)
	id, _ := s.CreateWorkspace(t, "kept")
	ts := nodetest.HoldRequests(t, "slow")
	outcome := inFlight(t, s, "slow")
	<-ts.Entered

	s.End()
	address := strings.TrimPrefix(s.Base, "http://")
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, time.Minute, time.Millisecond, "new connections must be refused")
	require.Empty(t, s.Outcome, "the service waits for the request")
	require.Empty(t, outcome)
	require.NoFileExists(t, filepath.Join(s.Dir, "log", "clean"), "the log is still open")

	close(ts.Open)
	require.NoError(t, <-outcome, "the request in flight has its answer")
	require.NoError(t, <-s.Outcome)
	s.Ended = true
	require.FileExists(t, filepath.Join(s.Dir, "log", "clean"))
	require.Contains(t, s.Log.String(), `"msg":"stopped"`)
	require.NotContains(t, s.Log.String(), `"level":"ERROR"`)
	s.Client.CloseIdleConnections()

	s.Start(t)
	require.Equal(t, "kept", s.Get(t, "/v2/workspaces/"+id, nodetest.As("root")).JSON(t)["name"])
	s.Stop(t)
	var names []string
	for _, ev := range nodetest.StoredEvents(t, s.Dir, domain.State) {
		if created, ok := ev.Data.(workspace.Created); ok {
			names = append(names, created.Workspace.Settings.Name)
		}
	}
	require.Equal(t, []string{"Platform", "kept"}, names)
}

func TestARequestThatOutlivesTheGracePeriodIsCutOff(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), nodetest.KnownLeak)
	s := nodetest.NewService(t, "SHUTDOWN_GRACE_SECONDS=0").Start(t)
	ts := nodetest.HoldRequests(t, "stuck")
	outcome := inFlight(t, s, "stuck")
	<-ts.Entered
	s.Stop(t)
	require.Error(t, <-outcome)
	require.FileExists(t, filepath.Join(s.Dir, "log", "clean"), "the log is closed in good order all the same")
	require.Contains(t, s.Log.String(), "cut off")
}

func TestANodeThatNeverServedClosesToo(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), nodetest.KnownLeak)
	s := nodetest.NewService(t)
	require.NoError(t, s.Open(t))
	require.NoError(t, s.Node.Close(t.Context()))
	require.NoError(t, s.Node.Close(t.Context()), "twice is once")
	require.FileExists(t, filepath.Join(s.Dir, "log", "clean"))
	s.Start(t)
	s.Await(t, "/readyz", http.StatusOK)
	s.Stop(t)
}

func TestTheDataDirectoryIsPrivate(t *testing.T) {
	s := nodetest.NewService(t).Start(t)
	for _, name := range []string{"", "keys", "log", "readmodels"} {
		info, err := os.Stat(filepath.Join(s.Dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), name)
	}
}

// A connection that is over HTTP/2 only after the service was told to stop holds it up no
// longer than any other that nobody uses.
func TestAConnectionThatComesWithTheStopHoldsNothingUp(t *testing.T) {
	cert, key, pool := nodetest.Certificate(t, "svc.example.com")
	s := nodetest.NewService(t, "TLS_CERT_FILE="+cert, "TLS_KEY_FILE="+key).Start(t)
	address := strings.TrimPrefix(s.Base, "http://")
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	require.Eventually(t, func() bool { // those before it have been accepted, too
		probe, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool, ServerName: "svc.example.com"})
		if err == nil {
			_ = probe.Close()
		}
		return err == nil
	}, time.Minute, time.Millisecond)
	s.End()
	require.Eventually(t, func() bool {
		probe, err := net.Dial("tcp", address)
		if err == nil {
			_ = probe.Close()
		}
		return err != nil
	}, time.Minute, time.Millisecond)

	late := tls.Client(conn, &tls.Config{RootCAs: pool, ServerName: "svc.example.com", NextProtos: []string{"h2"}})
	require.NoError(t, late.Handshake())
	_, err = late.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, late) // until the service closes it
	require.NoError(t, <-s.Outcome)
	s.Ended = true
	require.False(t, strings.Contains(s.Log.String(), "end of the grace period"), "it was cut off") //nolint:testifylint // the whole log would be printed
}
