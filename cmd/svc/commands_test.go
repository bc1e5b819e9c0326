package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	p := newCLIEnv(t)
	got := p.run(t, "version")
	require.Equal(t, "svc dev  "+runtime.Version()+"\n", got.out)
	require.Zero(t, got.code)
	require.NoDirExists(t, p.dir, "nothing is made on disk")

	var report map[string]string
	require.NoError(t, json.Unmarshal([]byte(p.run(t, "version", "--json").out), &report))
	require.Equal(t, map[string]string{"version": "dev", "commit": "", "go": runtime.Version()}, report)
}

func TestConfigShowsWhatIsInForce(t *testing.T) {
	p := newCLIEnv(t, "SMTP_HOST=mail.example.com", "SMTP_USER=svc", "SMTP_PASS="+smtpPass, "EMAIL_FROM=svc@example.com",
		"WORKSPACES_STORAGE_GIT_PLATFORM_main_URL=https://user:"+smtpPass+"@git.example.com/x.git")
	got := p.run(t, "config")
	require.Zero(t, got.code)
	require.Regexp(t, `(?m)^NAME +VALUE +SOURCE +PART$`, got.out)
	require.Regexp(t, `(?m)^NODE_NAME +n1 +env +core$`, got.out)
	require.Regexp(t, `(?m)^INTERNAL_API_KEY +\*{8}TuAe +env +core$`, got.out)
	require.Regexp(t, `(?m)^SECRETS_MASTER_KEYS +\*{8} +env +core$`, got.out)
	require.Regexp(t, `(?m)^SHUTDOWN_GRACE_SECONDS +30 +default +core$`, got.out)
	require.NoDirExists(t, p.dir, "nothing is made on disk")

	var all, changed struct {
		Settings []struct{ Name, Value, Source string }
		Digest   string
	}
	require.NoError(t, json.Unmarshal([]byte(p.run(t, "config", "--json").out), &all))
	require.NoError(t, json.Unmarshal([]byte(p.run(t, "config", "--json", "--changed").out), &changed))
	require.NotEmpty(t, all.Digest)
	require.Greater(t, len(all.Settings), len(changed.Settings))
	for _, e := range changed.Settings {
		require.Equal(t, "env", e.Source, e.Name)
	}
	require.Len(t, changed.Settings, len(p.env))
	require.Len(t, lines(p.run(t, "config", "--changed").out), len(p.env)+1)

	docs := p.run(t, "config", "--docs")
	require.Contains(t, docs.out, "| INTERNAL_API_KEY")
	committed, err := os.ReadFile("../../docs/config.md")
	require.NoError(t, err)
	require.Equal(t, string(committed), docs.out)
}

func TestConfigCheckValidatesAndStartsNothing(t *testing.T) {
	p := newCLIEnv(t)
	got := p.run(t, "config", "--check")
	require.Equal(t, outcome{}, got)
	require.NoDirExists(t, p.dir)

	p.env = append(p.env, "LOG_LEVL=debug")
	got = p.run(t, "config", "--check")
	require.Zero(t, got.code, "an unknown name is a warning")
	require.Contains(t, got.err, "svc: warning:")
	require.Contains(t, got.err, "LOG_LEVEL")
}

// Every fault is told at once, and each on a line of its own.
func TestBadSettingsAreAllTold(t *testing.T) {
	p := newCLIEnv(t, "PORT=high", "LOG_LEVEL=loud", "STREAM_REPLICAS=2", "TLS_CERT_FILE=/cert.pem", "API_URL=nowhere",
		"NATS_CLUSTER_LISTEN=127.0.0.1", "INTERNAL_API_KEY=short-"+smtpPass)
	for _, args := range [][]string{{"config"}, {"config", "--check"}, {"serve"}, {"verify"}, {"rebuild"}, {"healthcheck"}} {
		got := p.run(t, args...)
		require.Equal(t, 2, got.code, "%v", args)
		require.Empty(t, got.out)
		for _, name := range []string{"PORT", "LOG_LEVEL", "STREAM_REPLICAS", "TLS_KEY_FILE", "API_URL", "NATS_CLUSTER_LISTEN", "INTERNAL_API_KEY"} {
			require.Regexp(t, `(?m)^svc: bad setting: `+name+`: .*expected`, got.err)
		}
		for _, line := range lines(got.err) {
			require.True(t, strings.HasPrefix(line, "svc: bad setting: "), line)
		}
		require.NoDirExists(t, p.dir)
	}
}

func TestWhatIsNotUnderstoodIsToldInOneLine(t *testing.T) {
	p := newCLIEnv(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"srve"}, "serve"},
		{[]string{"frobnicate"}, "frobnicate"},
		{[]string{"serve", "now"}, "now"},
		{[]string{"serve", "--port", "80"}, "--port"},
		{[]string{"--frobnicate"}, "--frobnicate"},
		{[]string{"config", "--docs", "--json"}, "--docs"},
		{[]string{"config", "--docs", "--check"}, "--docs"},
		{[]string{"verify", "--json=perhaps"}, "perhaps"},
	} {
		got := p.run(t, test.args...)
		require.Equal(t, 2, got.code, "%v: %s", test.args, got.err)
		require.Empty(t, got.out, "%v", test.args)
		require.Len(t, lines(got.err), 1, "%v: %s", test.args, got.err)
		require.Contains(t, got.err, "svc: usage: ", "%v", test.args)
		require.Contains(t, got.err, test.want)
	}
	require.NoDirExists(t, p.dir)
}

func TestHelpNamesEveryCommand(t *testing.T) {
	p := newCLIEnv(t)
	for _, args := range [][]string{nil, {"--help"}, {"help"}} {
		got := p.run(t, args...)
		require.Zero(t, got.code)
		for _, name := range []string{"serve", "version", "config", "rebuild", "verify", "healthcheck", "completion"} {
			require.Regexp(t, `(?m)^  `+name+` +[A-Z]`, got.out, "%v", args)
		}
	}
	require.Contains(t, p.run(t, "serve", "--help").out, "SIGHUP")
}

// The script is what bash itself understands, and completes by asking svc.
func TestCompletionForBash(t *testing.T) {
	p := newCLIEnv(t)
	script := p.run(t, "completion", "bash")
	require.Zero(t, script.code)
	file := filepath.Join(t.TempDir(), "svc.bash")
	require.NoError(t, os.WriteFile(file, []byte(script.out), 0o600))
	out, err := exec.CommandContext(t.Context(), "bash", "-n", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, out)
	out, err = exec.CommandContext(t.Context(), "bash", "-c", "source "+file+" && complete -p svc").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "__start_svc")

	words := p.run(t, "__complete", "ve")
	require.Regexp(t, `(?m)^verify\t`, words.out)
	require.Regexp(t, `(?m)^version\t`, words.out)
	for _, shell := range []string{"zsh", "fish", "powershell"} {
		require.NotEmpty(t, p.run(t, "completion", shell).out)
	}
}
