//go:build fault

package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

// service is a child process that serves, and its data.
type service struct {
	dir  string
	port int
	env  []string
	cmd  *exec.Cmd
	log  *os.File
}

func newService(t *testing.T, env ...string) *service {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	s := &service{dir: t.TempDir(), port: port, env: env, log: log}
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("log of the service:\n%s", text[max(0, len(text)-8000):])
		}
		_ = log.Close()
	})
	return s
}

// start runs the service and waits until it is ready.
func (s *service) start(t *testing.T) {
	t.Helper()
	s.launch(t)
	s.awaitReady(t)
}

func (s *service) launch(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(os.Args[0])
	s.cmd.Env = append(os.Environ(), append([]string{
		roleVariable + "=serve", "DATA_DIR=" + s.dir, "ADDR=127.0.0.1", fmt.Sprintf("PORT=%d", s.port),
		"DISABLE_RATE_LIMIT=yes", "DISK_MIN_FREE_MB=1", "MAX_CONCURRENT_REQUESTS=1000", "SHUTDOWN_GRACE_SECONDS=5",
	}, s.env...)...)
	s.cmd.Stderr, s.cmd.Stdout = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, s.cmd.Start())
}

func (s *service) awaitReady(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, _, err := s.call(http.MethodGet, "/readyz", "", nil)
		return err == nil && status == http.StatusOK
	}, time.Minute, 5*time.Millisecond, "the service must become ready")
}

// kill ends the process with SIGKILL.
func (s *service) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// stop ends the process in good order.
func (s *service) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.cmd.Wait())
	s.cmd = nil
}

// client has no memory of connections to a process that was killed.
var client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Second}}

// ask sends a request as the user tester. Whoever asks closes the answer.
func (s *service) ask(method, path, key string, body any) (*http.Response, error) {
	var r io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path), r)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer tester")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return client.Do(req)
}

// call is ask for the whole of the answer, and decodes nothing.
func (s *service) call(method, path, key string, body any) (status int, answer []byte, err error) {
	resp, err := s.ask(method, path, key, body)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// total is how many there are of a list; -1 when that is not told.
func (s *service) total(path string) int {
	resp, err := s.ask(http.MethodGet, path, "", nil)
	if err != nil {
		return -1
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	n, err := strconv.Atoi(resp.Header.Get("X-Total-Count"))
	if err != nil {
		return -1
	}
	return n
}

// openLog opens the log of a service that is stopped, which must have every state.
func (s *service) openLog(t *testing.T) *jetstream.Store {
	t.Helper()
	store, err := jetstream.Open(t.Context(), storeOptions(filepath.Join(s.dir, "log"), jetstream.SyncGroup))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close(context.Background())) })
	info, err := store.Log.Info(t.Context(), domain.State)
	require.NoError(t, err)
	require.True(t, info.Contiguous())
	return store
}

// eachEvent visits every event of a log.
func eachEvent(t *testing.T, store eventstore.Store, log domain.Log, visit func(domain.Recorded)) {
	t.Helper()
	err := store.Subscribe(t.Context(), log, 1, func(b eventstore.Batch) error {
		for _, ev := range b.Events {
			visit(ev)
		}
		if b.Pending == 0 {
			return errCaughtUp
		}
		return nil
	})
	require.ErrorIs(t, err, errCaughtUp)
}

// verify asks the service to compare its read models with a fresh fold.
func (s *service) verify(t *testing.T) {
	t.Helper()
	status, body, err := s.call(http.MethodPost, "/sys/readmodels/verify", "", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", body)
	var report struct{ OK bool }
	require.NoError(t, json.Unmarshal(body, &report))
	require.True(t, report.OK, "%s", body)
}

// create makes a workspace; the error is nil only when it was acknowledged.
func (s *service) create(name string) (id string, err error) {
	status, body, err := s.call(http.MethodPost, "/v2/workspaces", name, map[string]any{"name": name})
	if err != nil {
		return "", err
	}
	if status != http.StatusCreated {
		return "", answered{status, body}
	}
	var w struct{ ID string }
	return w.ID, json.Unmarshal(body, &w)
}

// answered is an answer other than the one that was asked for.
type answered struct {
	status int
	body   []byte
}

// Error implements error.
func (a answered) Error() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// describe sets the description of a workspace.
func (s *service) describe(id, text string) error {
	status, body, err := s.call(http.MethodPatch, "/v2/workspaces/"+id, "", map[string]any{"description": text})
	if err == nil && status != http.StatusOK {
		err = answered{status, body}
	}
	return err
}

// workspaceView is what GET shows of a workspace.
type workspaceView struct{ ID, Name, Description string }

// read returns a workspace as the read model has it.
func (s *service) read(id string) (w workspaceView, err error) {
	status, body, err := s.call(http.MethodGet, "/v2/workspaces/"+id, "", nil)
	if err != nil {
		return w, err
	}
	if status != http.StatusOK {
		return w, answered{status, body}
	}
	return w, json.Unmarshal(body, &w)
}
