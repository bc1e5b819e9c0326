package node_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/cmd/node"
	"svc/cmd/settings"
	"svc/commands/accounts"
	"svc/commands/sandbox"
	"svc/domain"
	"svc/domain/catalog"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/http/api/apitest"
	"svc/http/gateway"
	"svc/projections/livetest"
)

// Nothing runs on after a node has closed, but for what the client library
// forgets when an object was stored before its listener got to run.
var forgotten = goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect")

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "sandbox" { // the service under test runs code of authors with this program
		if err := sandbox.Main(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, forgotten)
}

// The keys of every service under test. They are searched for where no secret
// may be.
const (
	internalKey = "k7Qm2ZxVt9LbRw4Jd8NcPf3HgYs6TuAe"
	masterKey   = "c41f8a2e93d705b6e8217fa4d0593bc6127e4f98ab35d06c71e2840fb9635ad1"
	masterKeys  = `[{"kid":"k1","key":"` + masterKey + `","active":true}]`
)

// service is a node that serves, and its data.
type service struct {
	node  *node.Node
	live  *settings.Live
	level *slog.LevelVar
	log   *livetest.Lines
	dir   string
	base  string
	env   []string

	known gateway.Authenticator // nil: the platform's own
	lease time.Duration         // 0: as long as usual
	clock func() time.Time      // of schedules; nil: the usual one

	client  *http.Client
	end     context.CancelFunc
	outcome chan error // of Serve
	ended   bool
}

// newService prepares a service on a free port. What env says wins.
func newService(t *testing.T, env ...string) *service {
	t.Helper()
	port := livetest.Ports(1)[0]
	s := &service{dir: filepath.Join(t.TempDir(), "data"), base: fmt.Sprintf("http://127.0.0.1:%d", port), log: new(livetest.Lines), level: new(slog.LevelVar)}
	s.env = append([]string{
		"DATA_DIR=" + s.dir, "ADDR=127.0.0.1", fmt.Sprintf("PORT=%d", port), "NODE_NAME=n1", "INTERNAL_API_KEY=" + internalKey,
		"DISK_MIN_FREE_MB=1", "BADGER_MEMTABLE_MB=16", "BADGER_BLOCK_CACHE_MB=1", "JWKS_ALG=ES256", "JWKS_KTY=EC",
		livetest.Patient,
	}, env...)
	s.known = people{}
	s.client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{}}
	t.Cleanup(func() {
		s.stop(t)
		if t.Failed() {
			t.Logf("log of the service:\n%s", s.log)
		}
	})
	return s
}

func (s *service) source(more ...string) settings.Source {
	return settings.Source{Environ: append(append([]string(nil), s.env...), more...), Hostname: "test"}
}

func (s *service) port() string { return s.base[strings.LastIndexByte(s.base, ':')+1:] }

// open starts the parts and does not serve yet. The settings must be valid.
func (s *service) open(t *testing.T) error {
	t.Helper()
	_, err := settings.Load(s.source())
	require.NoError(t, err)
	return s.tryOpen(t)
}

func (s *service) tryOpen(t *testing.T) error {
	t.Helper()
	loaded, err := settings.Load(s.source())
	if err != nil {
		return err
	}
	s.live = settings.NewLive(loaded)
	s.level.Set(slog.LevelDebug)
	s.node, err = node.Open(t.Context(), node.Options{
		Settings: s.live, Log: node.NewLog(s.log, "json", s.level), Level: s.level, Version: "1.2.3",
		Authenticator: s.known, Hashing: accounts.Hashing{Memory: 64, Iterations: 1}, Lease: s.lease, Clock: s.clock,
	})
	return err
}

// start opens the service and serves.
func (s *service) start(t *testing.T) *service {
	t.Helper()
	require.NoError(t, s.open(t))
	var ctx context.Context
	ctx, s.end = context.WithCancel(context.Background())
	s.outcome, s.ended = make(chan error, 1), false
	go func() { s.outcome <- s.node.Serve(ctx) }()
	return s
}

// stop ends the service in good order.
func (s *service) stop(t *testing.T) {
	t.Helper()
	s.client.CloseIdleConnections()
	if s.end == nil || s.ended {
		return
	}
	s.ended = true
	s.end()
	select {
	case err := <-s.outcome:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		t.Error("the service did not stop")
	}
}

// reload puts other live settings in force, as SIGHUP does.
func (s *service) reload(t *testing.T, env ...string) {
	t.Helper()
	_, _, err := s.live.Reload(s.source(env...))
	require.NoError(t, err)
}

// answer is a response that was read.
type answer struct {
	*http.Response
	body []byte
}

func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal(a.body, &v), "%s", a.body)
	return v
}

// code is the error code of a refusal.
func (a answer) code(t *testing.T) string {
	t.Helper()
	code, _ := a.json(t)["error"].(string)
	return code
}

// asInternal shows the internal key.
var asInternal = http.Header{"X-Svc-Api-Key": {internalKey}}

// as shows the token of a user.
func as(user string, more ...string) http.Header {
	h := http.Header{"Authorization": {"Bearer " + tokenOf(user)}}
	for i := 0; i < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

// request sends a request and returns whatever came.
func (s *service) request(ctx context.Context, method, path string, h http.Header, body string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for name, values := range h {
		req.Header[name] = values
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := s.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return answer{res, got}, err
}

// call sends a request and holds the answer to the document.
func (s *service) call(t *testing.T, method, path string, h http.Header, body string) answer {
	t.Helper()
	got, err := s.request(t.Context(), method, path, h, body)
	require.NoError(t, err)
	apitest.Validate(t, got.Response, got.body)
	return got
}

func (s *service) get(t *testing.T, path string, h http.Header) answer {
	t.Helper()
	return s.call(t, http.MethodGet, path, h, "")
}

// create makes a workspace as the super admin and returns its id.
func (s *service) create(t *testing.T, name string) (id string, made answer) {
	t.Helper()
	made = s.call(t, http.MethodPost, "/v2/workspaces", as("root"), `{"name":"`+name+`"}`)
	require.Equal(t, http.StatusCreated, made.StatusCode, "%s", made.body)
	return made.json(t)["id"].(string), made
}

// await waits until GET path answers with a status.
func (s *service) await(t *testing.T, path string, status int) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, err := s.request(t.Context(), http.MethodGet, path, asInternal, "")
		return err == nil && got.StatusCode == status
	}, 20*time.Second, 5*time.Millisecond, "%s must answer %d", path, status)
}

// publish lets everybody read a workspace.
func (s *service) publish(t *testing.T, id string) {
	t.Helper()
	got := s.call(t, http.MethodPost, "/v2/workspaces/"+id+"/permissions", as("root"), `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
}

// tokenOf is the credential of a user.
func tokenOf(user string) string { return "tok-3kFv9ZqLx7-" + user }

// people knows everybody by name: root is a super admin.
type people struct{}

// Authenticate implements gateway.Authenticator.
func (people) Authenticate(ctx context.Context, c gateway.Credentials) (gateway.Caller, error) {
	user, ok := strings.CutPrefix(c.Bearer, tokenOf(""))
	if !ok {
		return gateway.Caller{}, domain.Refuse(domain.CodeInvalidToken, "unknown token")
	}
	if gate, ok := slow.Load(user); ok {
		return gateway.Caller{}, gate.(*turnstile).pass(ctx)
	}
	return gateway.Caller{Kind: gateway.KindUser, UserID: user, SessionID: "session-" + user, Super: user == "root"}, nil
}

// slow holds users whose requests wait, each at a turnstile of its own.
var slow sync.Map

type turnstile struct{ entered, open chan struct{} }

// hold makes the requests of user wait.
func hold(t *testing.T, user string) *turnstile {
	ts := &turnstile{make(chan struct{}, 8), make(chan struct{})}
	slow.Store(user, ts)
	t.Cleanup(func() { slow.Delete(user) })
	return ts
}

func (ts *turnstile) pass(ctx context.Context) error {
	ts.entered <- struct{}{}
	select {
	case <-ts.open:
		return domain.Refuse(domain.CodeInvalidToken, "slow, and unknown")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stored returns every event of a log in a data directory that nobody uses.
func stored(t *testing.T, dir string, log domain.Log) (events []domain.Recorded) {
	t.Helper()
	store, err := jetstream.Open(t.Context(), jetstream.Options{Dir: filepath.Join(dir, "log"), Events: catalog.Events(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close(context.Background())) }()
	ctx, done := context.WithCancel(t.Context())
	defer done()
	err = store.Subscribe(ctx, log, 1, func(b eventstore.Batch) error {
		if events = append(events, b.Events...); b.Pending == 0 {
			done()
		}
		return nil
	})
	require.NoError(t, err)
	return events
}

// requireNoSecret searches every file below dir but the keys.
func requireNoSecret(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == "keys" {
				return filepath.SkipDir
			}
			return err
		}
		content, err := os.ReadFile(path)
		for _, secret := range secrets {
			require.False(t, bytes.Contains(content, []byte(secret)), "%q is in %s", secret, path)
		}
		return err
	})
	require.NoError(t, err)
}
