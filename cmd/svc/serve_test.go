package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// rewrite replaces a configuration file.
func rewrite(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestSIGHUPAppliesLiveSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "svc.env")
	rewrite(t, file, "LOG_LEVEL=warn\nSHUTDOWN_GRACE_SECONDS=20\n")
	p := newCLIEnv(t, "CONFIG_FILE="+file)
	pr := p.serve(t)
	require.NotContains(t, pr.log.String(), `"msg":"serving"`, "warn is in force")

	rewrite(t, file, "LOG_LEVEL=info\nSHUTDOWN_GRACE_SECONDS=10\n")
	require.NoError(t, pr.cmd.Process.Signal(syscall.SIGHUP))
	pr.awaitLog(t, `"settings reloaded","changed":["LOG_LEVEL"],"needRestart":["SHUTDOWN_GRACE_SECONDS"]`)
	status, body, err := p.get(t.Context(), "/sys/config")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Regexp(t, `"name":"LOG_LEVEL","value":"info","source":"config-file"`, body)
	require.Regexp(t, `"name":"SHUTDOWN_GRACE_SECONDS","value":"20"`, body)
	pr.awaitLog(t, `"path":"/sys/config"`)

	rewrite(t, file, "LOG_LEVEL=loud\nGATEWAY_REQUEST_TIMEOUT_SECONDS=-7\n")
	require.NoError(t, pr.cmd.Process.Signal(syscall.SIGHUP))
	pr.awaitLog(t, "settings not reloaded: the old ones stay in force")
	pr.awaitLog(t, `LOG_LEVEL: got \"loud\"`)
	pr.awaitLog(t, "GATEWAY_REQUEST_TIMEOUT_SECONDS")
	_, body, err = p.get(t.Context(), "/sys/config")
	require.NoError(t, err)
	require.Regexp(t, `"name":"LOG_LEVEL","value":"info"`, body)
	require.Zero(t, pr.signal(t, syscall.SIGTERM))
}

// A hangup that comes too early neither ends the service nor is forgotten.
func TestSIGHUPDuringTheStart(t *testing.T) {
	p := newCLIEnv(t, "INTERNAL_API_KEY=", "SECRETS_MASTER_KEYS=")
	pr := p.launch(t)
	pr.awaitLog(t, "a key lies in the data directory") // told before the log is opened
	require.NoError(t, pr.cmd.Process.Signal(syscall.SIGHUP))
	p.awaitReady(t)
	pr.awaitLog(t, "settings reloaded")
	require.Zero(t, pr.signal(t, syscall.SIGTERM))
}

func TestSignalsEndTheServiceInGoodOrder(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := newCLIEnv(t)
		pr := p.serve(t)
		require.Zero(t, pr.signal(t, s), s.String())
		require.Contains(t, pr.log.String(), `"msg":"stopped"`)
		require.FileExists(t, filepath.Join(p.dir, "log", "clean"))
		for _, line := range lines(pr.log.String()) {
			require.True(t, strings.HasPrefix(line, "{"), "the log is JSON: %s", line)
			require.NotContains(t, line, `"level":"ERROR"`)
		}
	}
}

func TestAKilledServiceStartsAgain(t *testing.T) {
	p := newCLIEnv(t)
	p.fill(t, 50)
	for range 3 {
		pr := p.serve(t)
		require.Equal(t, -1, pr.signal(t, syscall.SIGKILL))
		require.NoFileExists(t, filepath.Join(p.dir, "log", "clean"))
	}
	pr := p.serve(t)
	status, body, err := p.get(t.Context(), "/metrics")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `projection_lag{log="STATE"} 0`)
	got := p.run(t, "verify")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `(?m)^log STATE +(\d+) events, 1 to \d+, 0 gaps$`, got.out)
	require.Zero(t, pr.signal(t, syscall.SIGTERM))
}

// The exit codes of the process itself are those that scripts see.
func TestExitCodesOfTheProcess(t *testing.T) {
	for _, test := range []struct {
		args []string
		env  string
		code int
		want string
	}{
		{[]string{"version"}, "", 0, "svc dev"},
		{[]string{"config", "--check"}, "", 0, ""},
		{[]string{"config", "--check"}, "PORT=high", 2, "svc: bad setting: PORT:"},
		{[]string{"frobnicate"}, "", 2, "svc: usage:"},
		{[]string{"healthcheck"}, "", 1, "svc: not healthy:"},
		{[]string{"serve"}, "DATA_DIR=/proc/svc", 1, "svc: the data directory cannot be made"},
	} {
		pr := newCLIEnv(t, test.env).program(test.args...)
		err := pr.cmd.Run()
		require.Equal(t, test.code, pr.cmd.ProcessState.ExitCode(), "%v: %v", test.args, err)
		require.Contains(t, pr.out.String()+pr.log.String(), test.want)
		outcome{err: pr.log.String()}.isClean(t)
	}
}

// Keys that were made at the first start are the same after the next, and only
// their place is told.
func TestKeysAreMadeOnceAndNeverTold(t *testing.T) {
	p := newCLIEnv(t, "INTERNAL_API_KEY=", "SECRETS_MASTER_KEYS=")
	for range 2 {
		pr := p.serve(t)
		require.Contains(t, pr.log.String(), filepath.Join(p.dir, "keys", "internal-api-key"))
		require.Zero(t, pr.signal(t, syscall.SIGTERM))
		for _, name := range []string{"internal-api-key", "master-keys.json"} {
			path := filepath.Join(p.dir, "keys", name)
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
			key, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, pr.log.String(), strings.TrimSpace(string(key)))
		}
	}
	key, err := os.ReadFile(filepath.Join(p.dir, "keys", "internal-api-key"))
	require.NoError(t, err)
	p.serve(t)
	got := p.run(t, "verify") // reads the key from its file
	require.Zero(t, got.code, got.err)
	require.NotContains(t, got.out+got.err, strings.TrimSpace(string(key)))
}
