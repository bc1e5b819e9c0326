package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain/catalog"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
)

// fill appends n workspaces to the log of a service that is not running.
func (p *cliEnv) fill(t *testing.T, n int) {
	t.Helper()
	store, err := jetstream.Open(t.Context(), jetstream.Options{Dir: filepath.Join(p.dir, "log"), Events: catalog.Events(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	for i := range n {
		id := fmt.Sprintf("w%05d", i)
		_, err := store.Log.Append(t.Context(), eventstore.Commit{Stream: workspace.Stream(id), Facts: []eventstore.Fact{{
			ID: ulid.Make().String(), Event: workspace.Created{Workspace: workspace.Snapshot{ID: id, Settings: workspace.Settings{Name: "name of " + id}}},
		}}})
		require.NoError(t, err)
	}
	require.NoError(t, store.Close(context.Background()))
}

func TestHealthcheck(t *testing.T) {
	p := newCLIEnv(t)
	stopped := p.run(t, "healthcheck")
	require.Equal(t, 1, stopped.code)
	require.Len(t, lines(stopped.err), 1)
	require.Contains(t, stopped.err, "svc: not healthy: ")
	require.NoDirExists(t, p.dir, "a probe makes nothing")

	pr := p.serve(t)
	require.Equal(t, outcome{out: `{"status":"ready"}` + "\n"}, p.run(t, "healthcheck"))
	require.Equal(t, outcome{out: `{"healthy":true}` + "\n"}, p.run(t, "healthcheck", "--live"))
	require.Zero(t, pr.signal(t, syscall.SIGTERM))
	require.Equal(t, 1, p.run(t, "healthcheck").code)
}

// A service that is alive and not ready, and one that sends elsewhere.
func TestHealthcheckBelievesOnlyAYes(t *testing.T) {
	key := "kE3vW9qZ7tR1yU5iO8pA2sD4fG6hJ0kL"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"status":"ready"}`) }))
	defer elsewhere.Close()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			return
		}
		if r.Header.Get("x-svc-api-key") == key && r.URL.String() == "/v2/readiness?services=api-gateway" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintln(w, `{"status":"error","services":{"api-gateway":{"status":"error","errors":[{"error":"Building","module":"database","driver":"badger","message":"building a.1: 3 of 9 events"}]}}}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, `{"status":"error"}`)
	}))
	defer service.Close()
	p := newCLIEnv(t, "INTERNAL_API_URL="+service.URL+"/v2", "INTERNAL_API_KEY="+key)
	got := p.run(t, "healthcheck")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, `503 Service Unavailable: {"status":"error"}; database: building a.1: 3 of 9 events`)
	require.Equal(t, 1, p.run(t, "healthcheck", "--live").code)
}

func TestUpkeepWithoutAService(t *testing.T) {
	p := newCLIEnv(t)
	p.fill(t, 20)
	got := p.run(t, "rebuild")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `^rebuilt in .+: generation \d+ serves, at STATE 20 and ACTIVITY 0\n$`, got.out)
	var report projections.Report
	require.NoError(t, json.Unmarshal([]byte(p.run(t, "rebuild", "--json").out), &report))
	require.EqualValues(t, 20, report.Position.State)

	got = p.run(t, "verify")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `(?m)^log STATE +20 events, 1 to 20, 0 gaps$`, got.out)
	require.Regexp(t, `(?m)^read model workspaces\S* +\d+ keys, equal$`, got.out)
	require.Regexp(t, `(?m)^ok in `, got.out)
	var verified projections.VerifyReport
	require.NoError(t, json.Unmarshal([]byte(p.run(t, "verify", "--json").out), &verified))
	require.True(t, verified.OK)
	require.FileExists(t, filepath.Join(p.dir, "log", "clean"), "the log is left in good order")
}

func TestUpkeepAsksTheServiceThatRuns(t *testing.T) {
	p := newCLIEnv(t)
	p.fill(t, 20)
	pr := p.serve(t)
	got := p.run(t, "rebuild")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `at STATE 2\d and ACTIVITY 0`, got.out, "the platform is the 21st, then come keys and accounts")
	got = p.run(t, "verify")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `(?m)^log STATE +2\d events, 1 to 2\d, 0 gaps$`, got.out)
	status, _, err := p.get(t.Context(), "/readyz")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	pr.awaitLog(t, "/sys/readmodels/verify")

	second := p.run(t, "serve")
	require.Equal(t, 1, second.code)
	require.Contains(t, lines(second.err)[len(lines(second.err))-1], fmt.Sprintf("port %d is in use", p.port))
	elsewhere := newCLIEnv(t, "DATA_DIR="+p.dir)
	second = elsewhere.run(t, "serve")
	require.Equal(t, 1, second.code)
	require.Contains(t, second.err, fmt.Sprintf("svc: the data directory is in use: %s is held by process %d", p.dir, pr.cmd.Process.Pid))

	lost := elsewhere.run(t, "verify") // it holds the directory and does not listen there
	require.Equal(t, 1, lost.code)
	require.Contains(t, lost.err, "INTERNAL_API_URL")

	wrong := newCLIEnv(t, "DATA_DIR="+p.dir, fmt.Sprintf("PORT=%d", p.port), "INTERNAL_API_KEY=x9Wn4YcRk2MdTv7Bg5LqZs8HjPa3FeUt")
	refused := wrong.run(t, "verify")
	require.Equal(t, 1, refused.code)
	require.Contains(t, refused.err, "401")
	require.Len(t, lines(refused.err), 1)
}

// flip changes one letter of a stored name: what was acknowledged is not what
// is there any more.
func (p *cliEnv) flip(t *testing.T, text string) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(p.dir, "log", "jetstream", "$G", "streams", "STATE", "msgs", "*.blk"))
	require.NoError(t, err)
	for _, path := range blocks {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		if at := strings.Index(string(content), text); at >= 0 {
			content[at] ^= 0x01
			require.NoError(t, os.WriteFile(path, content, fs.FileMode(0o600)))
			return
		}
	}
	t.Fatalf("%q is in no block", text)
}

func TestVerifySaysWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		crash     bool
		out, warn string
	}{
		// The index still tells of the event: there is a hole where it was.
		"after a clean stop": {false, "    missing: 11 to 11\n", ""},
		// The blocks are all there is, and are read up to the damage.
		"after a crash": {true, "log STATE     10 events, 1 to 10, 0 gaps\n", "STATE ends at 10 and was on disk up to 20"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newCLIEnv(t)
			p.fill(t, 20)
			require.Zero(t, p.run(t, "verify").code)
			p.flip(t, "name of w00010")
			if test.crash {
				require.NoError(t, os.Remove(filepath.Join(p.dir, "log", "clean")))
			}
			got := p.run(t, "verify")
			require.Equal(t, 1, got.code, "%s%s", got.out, got.err)
			require.Contains(t, got.out, test.out)
			require.Contains(t, got.out, "NOT OK")
			require.Regexp(t, `(?m)^read model workspaces\S* +\d+ keys, DIFFERENT, first at .*w00010`, got.out)
			require.Contains(t, got.err, test.warn)
			require.Equal(t, "svc: the verification found faults", lines(got.err)[len(lines(got.err))-1])

			var report projections.VerifyReport
			asJSON := p.run(t, "verify", "--json")
			require.Equal(t, 1, asJSON.code)
			require.NoError(t, json.Unmarshal([]byte(asJSON.out), &report))
			require.False(t, report.OK)
		})
	}
}

func TestUpkeepOfAnUnusableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	p := newCLIEnv(t, "DATA_DIR="+file)
	for _, command := range []string{"verify", "rebuild", "serve"} {
		got := p.run(t, command)
		require.Equal(t, 1, got.code)
		require.Len(t, lines(got.err), 1, got.err)
		require.Contains(t, got.err, "DATA_DIR")
	}
}

func TestServeOnABusyPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	p := newCLIEnv(t, fmt.Sprintf("PORT=%d", port))
	got := p.run(t, "serve")
	require.Equal(t, 1, got.code)
	require.Equal(t, fmt.Sprintf("svc: port %d is in use: stop what listens there, or set PORT\n", port), got.err)
}
