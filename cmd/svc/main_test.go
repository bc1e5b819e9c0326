package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/settings"
	"svc/projections/livetest"
)

// The test binary is also the program: with this variable set it is svc.
const programVariable = "SVC_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" || len(os.Args) == 2 && children[os.Args[1]] != nil {
		main()
		return
	}
	os.Exit(m.Run())
}

// The secrets of every run. None of them may be printed.
const (
	internalKey = "k7Qm2ZxVt9LbRw4Jd8NcPf3HgYs6TuAe"
	masterKey   = "c41f8a2e93d705b6e8217fa4d0593bc6127e4f98ab35d06c71e2840fb9635ad1"
	smtpPass    = "Zq8-mail-password"
)

// cliEnv is where commands run: a data directory, a port and settings.
type cliEnv struct {
	dir  string
	port int
	env  []string
}

func newCLIEnv(t *testing.T, env ...string) *cliEnv {
	t.Helper()
	p := &cliEnv{dir: filepath.Join(t.TempDir(), "data"), port: livetest.Ports(1)[0]}
	p.env = append([]string{
		"DATA_DIR=" + p.dir, "ADDR=127.0.0.1", fmt.Sprintf("PORT=%d", p.port), "NODE_NAME=n1", "LOG_FORMAT=json", "DISK_MIN_FREE_MB=1",
		"BADGER_MEMTABLE_MB=16", "BADGER_BLOCK_CACHE_MB=1", "INTERNAL_API_KEY=" + internalKey,
		livetest.Patient,
		`SECRETS_MASTER_KEYS=[{"kid":"k1","key":"` + masterKey + `","active":true}]`,
	}, env...)
	return p
}

// outcome is what a command left behind.
type outcome struct {
	code     int
	out, err string
}

// run runs a command in this process, as main does.
func (p *cliEnv) run(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, log bytes.Buffer
	err := run(t.Context(), args, environment{source: settings.Source{Environ: p.env, Hostname: "test"}, out: &out, log: &log})
	got := outcome{out: out.String()}
	if err != nil {
		printError(&log, err)
		got.code = exitCode(err)
	}
	got.err = log.String()
	got.isClean(t)
	return got
}

// isClean asks that nobody sees a secret or a stack.
func (o outcome) isClean(t *testing.T) {
	t.Helper()
	for _, text := range []string{o.out, o.err} {
		for _, secret := range []string{internalKey, masterKey, smtpPass, "goroutine ", "panic", ".go:"} {
			require.NotContains(t, text, secret)
		}
	}
}

// lines are the lines of a text.
func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// childProcess is svc as a process of its own.
type childProcess struct {
	*cliEnv
	cmd *exec.Cmd
	out *livetest.Lines // what is for the terminal
	log *livetest.Lines
}

// program prepares svc as a process.
func (p *cliEnv) program(args ...string) *childProcess {
	pr := &childProcess{cliEnv: p, cmd: exec.Command(os.Args[0], args...), out: new(livetest.Lines), log: new(livetest.Lines)}
	pr.cmd.Env = append([]string{programVariable + "=yes", "PATH=" + os.Getenv("PATH"), "HOME=" + p.dir}, p.env...)
	pr.cmd.Stdout, pr.cmd.Stderr = pr.out, pr.log
	pr.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return pr
}

// serve starts the service as a process and waits until it is ready.
func (p *cliEnv) serve(t *testing.T) *childProcess {
	t.Helper()
	pr := p.launch(t)
	p.awaitReady(t)
	return pr
}

func (p *cliEnv) launch(t *testing.T) *childProcess {
	t.Helper()
	pr := p.program("serve")
	require.NoError(t, pr.cmd.Start())
	t.Cleanup(func() {
		_ = pr.cmd.Process.Kill() // most have ended long before
		_ = pr.cmd.Wait()
		outcome{err: pr.log.String()}.isClean(t)
		if t.Failed() {
			t.Logf("log of the service:\n%s", pr.log)
		}
	})
	return pr
}

func (p *cliEnv) awaitReady(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, _, err := p.get(t.Context(), "/readyz")
		return err == nil && status == http.StatusOK
	}, time.Minute, 5*time.Millisecond, "the service must become ready")
}

// signal sends a signal and returns the exit code.
func (pr *childProcess) signal(t *testing.T, s os.Signal) int {
	t.Helper()
	require.NoError(t, pr.cmd.Process.Signal(s))
	err := pr.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	require.NoError(t, err)
	return 0
}

// awaitLog waits until the log of the process has a text.
func (pr *childProcess) awaitLog(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(pr.log.String(), text) }, time.Minute, 5*time.Millisecond, "%q must be logged", text)
}

var plainHTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}

// get asks the service, with the internal key where one is needed.
func (p *cliEnv) get(ctx context.Context, path string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", p.port, path), http.NoBody)
	if err != nil {
		return 0, "", err
	}
	if path != "/readyz" {
		req.Header.Set("X-Svc-Api-Key", internalKey)
	}
	resp, err := plainHTTP.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}
