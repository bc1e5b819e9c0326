//go:build bench

package bench

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// command is this binary in one of its roles. It does not outlive the test.
func command(t *testing.T, role string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return prepare(t, exec.Command(self), append(env, roleVariable+"="+role)...)
}

func prepare(t *testing.T, c *exec.Cmd, env ...string) *exec.Cmd {
	t.Helper()
	c.Env = append(os.Environ(), env...)
	c.Dir = t.TempDir() // no .env of the developer's
	c.Stderr = os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// server is a child process that answers on a port.
type server struct {
	*exec.Cmd
	port int
	log  string // what it said
}

// launch starts c, which listens on port.
func launch(t *testing.T, c *exec.Cmd, port int) *server {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer log.Close()
	c.Stdout, c.Stderr = log, log
	require.NoError(t, c.Start())
	s := &server{Cmd: c, port: port, log: log.Name()}
	t.Cleanup(func() {
		if s.ProcessState == nil {
			_ = s.Process.Kill()
			_ = s.Wait()
		}
	})
	return s
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// settingsOf are the settings of a service under measurement.
func settingsOf(dir string, port int) []string {
	return []string{
		"DATA_DIR=" + dir, "ADDR=127.0.0.1", fmt.Sprintf("PORT=%d", port), "LOG_LEVEL=warn",
		"DISABLE_RATE_LIMIT=yes", "DISK_MIN_FREE_MB=1", "MAX_CONCURRENT_REQUESTS=1000",
	}
}

// awaitIdle waits until the service has nothing left to do: until it uses less than a twentieth of a core for three
// seconds.
func (s *server) awaitIdle(t *testing.T) {
	t.Helper()
	const still = 3 * time.Second
	for deadline := time.Now().Add(10 * time.Minute); ; {
		cpu := cpuOf(t, s.Process.Pid)
		<-time.After(still)
		if cpuOf(t, s.Process.Pid)-cpu < still/20 {
			return
		}
		require.Less(t, time.Now(), deadline, "the service is never idle")
	}
}

// awaitReady polls path until it answers 200.
func (s *server) awaitReady(t *testing.T, path string) {
	t.Helper()
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	deadline := time.Now().Add(3 * time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path))
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(s.log)
			require.Fail(t, "the service did not become ready", "%s", said[max(0, len(said)-4000):])
		}
		<-tick.C
	}
}

// stop ends the process in good order.
func (s *server) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, s.Process.Signal(syscall.SIGTERM))
	require.NoError(t, s.Wait())
}

// kill ends it at once.
func (s *server) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, s.Process.Kill())
	_ = s.Wait() // killed is an error here
}

// binary is the service as it ships: SVC_BINARY, which make sets, or one that
// is built now.
func binary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("SVC_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "svc")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "svc/cmd/svc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return path
}

// startBinary runs the service on a data directory.
func startBinary(t *testing.T, path, dir string) *server {
	t.Helper()
	port := freePort(t)
	return launch(t, prepare(t, exec.Command(path, "serve"), settingsOf(dir, port)...), port)
}
