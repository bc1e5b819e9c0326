package versioning_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/gitsync/gittest"
	"svc/projections/livetest"
)

const roleVariable = "VERSIONING_ROLE"

// The test binary is also the service: a process that can be killed.
func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "serve" {
		if err := nodetest.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, "serve:", err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	common.end()
	os.Exit(code)
}

// fixture is a service in a process of its own, and its data.
type fixture struct {
	dir  string
	base string
	env  []string
	log  *livetest.Lines
	cmd  *exec.Cmd
	gone chan error
}

// common is the service that tests share which do nothing to the process.
var common sharedServices

type sharedServices struct {
	once sync.Once
	dir  string
	*fixture
	err error
}

// shared returns the common service.
func shared(t *testing.T) *fixture {
	t.Helper()
	common.once.Do(func() {
		common.dir, common.err = os.MkdirTemp("", "versioning")
		if common.err == nil {
			common.fixture = prepare(common.dir)
			common.err = common.start()
		}
	})
	require.NoError(t, common.err)
	return common.fixture
}

func (c *sharedServices) end() {
	if c.fixture != nil && c.cmd != nil {
		_ = c.cmd.Process.Kill()
		<-c.gone
	}
	_ = os.RemoveAll(c.dir)
}

// newFixture starts a service of the test's own.
func newFixture(t *testing.T, env ...string) *fixture {
	t.Helper()
	h := prepare(t.TempDir(), env...)
	require.NoError(t, h.start())
	t.Cleanup(func() { h.end(t) })
	return h
}

// end ends the process, and shows what it said when something went wrong.
func (h *fixture) end(t *testing.T) {
	h.kill()
	if t.Failed() {
		t.Logf("log of the service:\n%s", h.log)
	}
}

func prepare(dir string, env ...string) *fixture {
	port := livetest.Ports(1)[0]
	return &fixture{
		dir: dir, base: fmt.Sprintf("http://127.0.0.1:%d", port), log: new(livetest.Lines),
		env: append(append(os.Environ(),
			roleVariable+"=serve", "DATA_DIR="+filepath.Join(dir, "data"), "ADDR=127.0.0.1", fmt.Sprintf("PORT=%d", port), "NODE_NAME=n1",
			"INTERNAL_API_KEY=k7Qm2ZxVt9LbRw4Jd8NcPf3HgYs6TuAe", "DISK_MIN_FREE_MB=1", "BADGER_MEMTABLE_MB=16", "BADGER_BLOCK_CACHE_MB=1",
			"JWKS_ALG=ES256", "JWKS_KTY=EC", "EGRESS_ALLOW_PRIVATE=yes", "DISABLE_RATE_LIMIT=yes", "GATEWAY_REQUEST_TIMEOUT_SECONDS=120", livetest.Patient), env...),
	}
}

// start starts the process and returns once it serves.
func (h *fixture) start() error {
	h.cmd = exec.Command(os.Args[0])
	h.cmd.Env, h.cmd.Stderr, h.cmd.Stdout = h.env, h.log, h.log
	if err := h.cmd.Start(); err != nil {
		return err
	}
	h.gone = make(chan error, 1)
	go func() { h.gone <- h.cmd.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if answer, err := http.Get(h.base + "/readyz"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case err := <-h.gone:
			return fmt.Errorf("the service ended: %w\n%s", err, h.log)
		case <-ctx.Done():
			return fmt.Errorf("the service does not become ready\n%s", h.log)
		}
	}
}

// kill ends the process at once.
func (h *fixture) kill() {
	if h.cmd != nil {
		_ = h.cmd.Process.Kill()
		<-h.gone
		h.cmd = nil
	}
}

// answer is what the service said.
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

// operationPaths end in what starts an operation.
var operationPaths = regexp.MustCompile(`/(pull|push|versions|resolve)$`)

// ask asks the service as the user u1. It waits a minute for an operation unless the path says how long.
func (h *fixture) ask(method, path, body string) (answer, error) {
	r, err := http.NewRequest(method, h.base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if q := r.URL.Query(); method == http.MethodPost && operationPaths.MatchString(r.URL.Path) && !q.Has("timeout") {
		q.Set("timeout", "60")
		r.URL.RawQuery = q.Encode()
	}
	r.Header.Set("Authorization", "Bearer u1")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return answer{got, text}, err
}

func (h *fixture) do(t *testing.T, status int, method, path, body string) answer {
	t.Helper()
	got, err := h.ask(method, path, body)
	require.NoError(t, err)
	require.Equal(t, status, got.StatusCode, "%s %s: %s", method, path, got.body)
	return got
}

// gitWorkspace is a workspace with a repository at a Git server.
type gitWorkspace struct {
	*fixture
	t    *testing.T
	id   string
	slug string
	path string
	repo *gittest.Repo
	ca   string

	server *gittest.Server
}

var slugs = struct {
	sync.Mutex
	n int
}{}

// newGitWorkspace makes a workspace whose repository origin is an empty one.
func newGitWorkspace(t *testing.T, h *fixture) *gitWorkspace {
	t.Helper()
	slugs.Lock()
	slugs.n++
	slug := fmt.Sprintf("shop-%d", slugs.n)
	slugs.Unlock()
	server := gittest.New(t)
	p := &gitWorkspace{fixture: h, t: t, slug: slug, repo: server.Repo("shop.git"), ca: server.CA, server: server}
	made := h.do(t, 201, "POST", "/v2/workspaces", fmt.Sprintf(`{"name":"Shop","slug":%q}`, slug)).json(t)
	p.id = made["id"].(string)
	p.path = "/v2/workspaces/" + p.id
	p.configure("")
	return p
}

// configure sets the repository; more is put into it, such as ,"mode":"read-only".
func (p *gitWorkspace) configure(more string) {
	p.t.Helper()
	p.do(p.t, 200, "PATCH", p.path, fmt.Sprintf(`{"repositories":{"origin":{"name":"Origin","config":{"url":%q,"caBundle":%q,"auth":{"user":%q,"password":%q}}%s}}}`,
		p.repo.URL, p.ca, gittest.User, gittest.Password, more))
}

// ok asks and wants a status; the path continues that of the workspace.
func (p *gitWorkspace) ok(status int, method, path, body string) map[string]any {
	p.t.Helper()
	return p.do(p.t, status, method, p.path+path, body).json(p.t)
}

// requireRefusal sends a request that is refused with a reason, and returns the details.
func (p *gitWorkspace) requireRefusal(status int, reason, method, path, body string) map[string]any {
	p.t.Helper()
	got := p.ok(status, method, path, body)
	details, _ := got["details"].(map[string]any)
	require.Equal(p.t, reason, details["reason"], "%v", got)
	return details
}

const toOrigin = `{"repository":"origin"}`

// push pushes a version to origin.
func (p *gitWorkspace) push(name string) map[string]any {
	p.t.Helper()
	return p.ok(201, "POST", "/versions", fmt.Sprintf(`{"name":%q,"repository":{"id":"origin"}}`, name))
}

// pull pulls from origin.
func (p *gitWorkspace) pull() map[string]any {
	p.t.Helper()
	return p.ok(200, "POST", "/pull", toOrigin)
}

// automation saves an automation that emits an event.
func (p *gitWorkspace) automation(slug, event string) {
	p.t.Helper()
	body := fmt.Sprintf(`{"slug":%q,"name":%q,"do":[{"emit":{"event":%q}}]}`, slug, slug, event)
	got, err := p.ask("PUT", p.path+"/automations/"+slug, body)
	require.NoError(p.t, err)
	if got.StatusCode == http.StatusNotFound {
		p.ok(201, "POST", "/automations", body)
		return
	}
	require.Equal(p.t, 200, got.StatusCode, "%s", got.body)
}

// emittedEvent returns the event that an automation emits; "" when there is none.
func (p *gitWorkspace) emittedEvent(slug string) string {
	p.t.Helper()
	got, err := p.ask("GET", p.path+"/automations/"+slug, "")
	require.NoError(p.t, err)
	if got.StatusCode == http.StatusNotFound {
		return ""
	}
	do := got.json(p.t)["do"].([]any)[0].(map[string]any)
	return do["emit"].(map[string]any)["event"].(string)
}

func (p *gitWorkspace) workspace() map[string]any {
	p.t.Helper()
	return p.ok(200, "GET", "", "")
}

func (p *gitWorkspace) isDirty() bool {
	p.t.Helper()
	return p.workspace()["dirty"].(bool)
}

// file is the text of an automation as it is in Git.
func file(slug, event string) string {
	return fmt.Sprintf("slug: %s\nname: %s\ndo:\n  - emit:\n      event: %s\n", slug, slug, event)
}

// own is the intermediate branch.
func (p *gitWorkspace) own() string { return "svc/" + p.slug + "/main" }
