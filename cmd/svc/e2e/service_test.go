//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a state is waited for. A busy machine takes long, and a state that
// never comes fails the test all the same.
const patience = time.Minute

// adminPassword is the password of admin@localhost.
const adminPassword = "correct horse battery staple"

// binaryPath is the service as it ships: SVC_BINARY, which make sets, or one that is built
// once.
var binaryPath = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("SVC_BINARY"); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "svc-e2e")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "svc")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "svc/cmd/svc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build svc: %w: %s", err, said)
	}
	return path, nil
})

// service is the binary with data of its own.
type service struct {
	base string // its address, such as http://127.0.0.1:3001
	dir  string
	env  []string
	cmd  *exec.Cmd
	done chan error
}

// startService starts a service with fresh data. It ends with the test. Most tests use
// sharedService instead.
func startService(t *testing.T, env ...string) *service {
	t.Helper()
	return startServiceAt(t, fmt.Sprintf("http://127.0.0.1:%d", freePort(t)), env...)
}

// startServiceAt is startService at an address that others have to know before. Browsers keep
// the cookies of localhost and 127.0.0.1 apart, but not those of two ports.
func startServiceAt(t *testing.T, base string, env ...string) *service {
	t.Helper()
	s, err := newService(t.TempDir(), base, env...)
	require.NoError(t, err)
	require.NoError(t, s.start())
	t.Cleanup(func() {
		s.stop(t)
		if t.Failed() {
			t.Logf("the service said:\n%s", s.logTail())
		}
	})
	return s
}

// shared is the service that most tests use, each with people and workspaces of its own.
var shared struct {
	sync.Mutex
	on  *service
	dir string
}

// sharedService is a service for tests that neither stop it nor change what holds for all.
func sharedService(t *testing.T) *service {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.on == nil {
		dir, err := os.MkdirTemp("", "svc-e2e-shared")
		require.NoError(t, err)
		s, err := newService(dir, fmt.Sprintf("http://127.0.0.1:%d", freePort(t)))
		require.NoError(t, err)
		require.NoError(t, s.start())
		shared.on, shared.dir = s, dir
	}
	return shared.on
}

// stopShared ends the service that was shared.
func stopShared() {
	if shared.on != nil {
		_ = shared.on.cmd.Process.Signal(syscall.SIGTERM)
		<-shared.on.done
		_ = os.RemoveAll(shared.dir)
	}
}

// newService prepares a service that keeps its data in dir. What env says wins.
func newService(dir, base string, env ...string) (*service, error) {
	if _, err := binaryPath(); err != nil {
		return nil, err
	}
	s := &service{base: base, dir: dir}
	s.env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "DATA_DIR=" + filepath.Join(dir, "data"), "ADDR=127.0.0.1", "PORT=" + base[strings.LastIndexByte(base, ':')+1:],
		"API_URL=" + base + "/v2", "NODE_NAME=e2e", "LOG_LEVEL=warn", "ADMIN_PASSWORD=" + adminPassword, "ACCOUNT_VALIDATION_METHOD=auto",
		"DISABLE_RATE_LIMIT=yes", "EGRESS_ALLOW_PRIVATE=yes", "DISK_MIN_FREE_MB=1", "BADGER_MEMTABLE_MB=16", "JWKS_ALG=ES256", "JWKS_KTY=EC",
		"UPLOADS_FORBIDDEN_MIMETYPES=video/*",
	}, env...)
	return s, nil
}

// onOwnHost returns the path of an address on a sub-domain of localhost, where pages are, and whether it is one of this
// service.
func (s *service) onOwnHost(address string) (path string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasSuffix(u.Hostname(), ".localhost") || !strings.HasSuffix(s.base, ":"+u.Port()) {
		return "", false
	}
	return u.RequestURI(), true
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start runs the binary until stop, and waits until it is ready.
func (s *service) start() error {
	path, err := binaryPath()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(path, "serve")
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.dir, s.env, log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.done = make(chan error, 1)
	go func() { s.done <- s.cmd.Wait() }()
	deadline := time.Now().Add(patience)
	for {
		res, err := http.Get(s.base + "/readyz")
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("the service ended: %w: %s", err, s.logTail())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the service did not become ready: %s", s.logTail())
		}
	}
}

// stop ends the service in good order; start may be called after it.
func (s *service) stop(t *testing.T) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.done:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.done
		t.Error("the service did not stop")
	}
	s.cmd = nil
}

// logTail is the end of what the service logged.
func (s *service) logTail() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(text[max(0, len(text)-4000):])
}

// person is somebody with an account, for what a test needs before and beside the browser.
type person struct {
	s        *service
	id       string
	name     string // first and last
	email    string
	password string
	token    string
}

var people struct {
	sync.Mutex
	count int
}

// person makes an account whose address is proved.
func (s *service) person(t *testing.T, firstName string) *person {
	t.Helper()
	people.Lock()
	people.count++
	n := people.count
	people.Unlock()
	p := &person{s: s, name: firstName + " Doe", email: fmt.Sprintf("%s.%d@example.org", strings.ToLower(firstName), n), password: "long enough to sign in"}
	made := (&person{s: s}).do(t, http.StatusCreated, "POST", "/v2/signup", map[string]any{"email": p.email, "password": p.password, "firstName": firstName, "lastName": "Doe"})
	p.id = made["id"].(string)
	s.admin(t).do(t, http.StatusOK, "PATCH", "/v2/users/"+p.id, map[string]any{"status": "validated"})
	p.signIn(t)
	return p
}

// admin is the super admin.
func (s *service) admin(t *testing.T) *person {
	t.Helper()
	p := &person{s: s, email: "admin@localhost", password: adminPassword}
	p.signIn(t)
	return p
}

// signIn gives the person a session, apart from those of browsers.
func (p *person) signIn(t *testing.T) {
	t.Helper()
	in := (&person{s: p.s}).do(t, http.StatusOK, "POST", "/v2/login", map[string]any{"email": p.email, "password": p.password})
	p.token, p.id = in["token"].(string), in["userId"].(string)
}

// answer is what the API answered.
type answer struct {
	*http.Response
	body []byte
}

// ask sends a request: body is nil, a text (YAML), bytes (a zip) or what becomes JSON.
func (p *person) ask(t *testing.T, method, path string, body any) answer {
	t.Helper()
	got, err := p.send(t.Context(), method, path, body)
	require.NoError(t, err)
	return got
}

// askMeanwhile sends a request whose answer takes a while, and returns where it comes. Nothing
// comes when there is none.
func (p *person) askMeanwhile(t *testing.T, method, path string, body any) <-chan answer {
	t.Helper()
	answered := make(chan answer, 1)
	go func() {
		if got, err := p.send(t.Context(), method, path, body); err == nil {
			answered <- got
		}
	}()
	return answered
}

func (p *person) send(ctx context.Context, method, path string, body any) (answer, error) {
	media, content := "", []byte(nil)
	switch b := body.(type) {
	case nil:
	case string:
		media, content = "application/yaml", []byte(b)
	case []byte:
		media, content = "application/zip", b
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			return answer{}, err
		}
		media, content = "application/json", encoded
	}
	req, err := http.NewRequestWithContext(ctx, method, p.s.base+path, bytes.NewReader(content))
	if err != nil {
		return answer{}, err
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return answer{res, got}, err
}

// do is ask with the status that is expected, and returns the object that came.
func (p *person) do(t *testing.T, status int, method, path string, body any) map[string]any {
	t.Helper()
	got := p.ask(t, method, path, body)
	require.Equal(t, status, got.StatusCode, "%s %s: %s", method, path, got.body)
	var object map[string]any
	_ = json.Unmarshal(got.body, &object) // a list is not asked for
	return object
}

// list returns a list that the API answers with.
func (p *person) list(t *testing.T, path string) (items []map[string]any) {
	t.Helper()
	got := p.ask(t, "GET", path, nil)
	require.Equal(t, http.StatusOK, got.StatusCode, "%s: %s", path, got.body)
	require.NoError(t, json.Unmarshal(got.body, &items), "%s", got.body)
	return items
}

// workspace makes a workspace with automations, given as YAML, and returns its id.
func (p *person) workspace(t *testing.T, name string, automations ...string) string {
	t.Helper()
	id := p.do(t, http.StatusCreated, "POST", "/v2/workspaces", map[string]any{"name": name})["id"].(string)
	for _, text := range automations {
		p.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+id+"/automations", text)
	}
	return id
}
