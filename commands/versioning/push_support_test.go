package versioning_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// watcher is asked about each request on its way to a Git server. pass lets it
// through.
type watcher func(w http.ResponseWriter, r *http.Request, pass http.Handler)

// gitProxy stands before a Git server: requests can be watched, held and lost there.
type gitProxy struct {
	mu    sync.Mutex
	watch watcher
}

// useProxy puts the repository of a workspace behind a door that is open. The
// workspace has nothing in common with it yet.
func (p *gitWorkspace) useProxy() *gitProxy {
	p.t.Helper()
	target, err := url.Parse(p.repo.URL)
	require.NoError(p.t, err)
	roots := x509.NewCertPool()
	require.True(p.t, roots.AppendCertsFromPEM([]byte(p.ca)))
	pass := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "https", Host: target.Host}) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
		ErrorLog:  log.New(io.Discard, "", 0), FlushInterval: -1,
	}
	d := &gitProxy{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		watch := d.watch
		d.mu.Unlock()
		if watch == nil {
			pass.ServeHTTP(w, r)
			return
		}
		watch(w, r, pass)
	}))
	server.Config.ErrorLog = pass.ErrorLog
	server.StartTLS()
	p.t.Cleanup(server.Close)
	p.repo.URL = server.URL + target.Path
	p.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	p.configure("")
	return d
}

// set says who is asked from now on; nil lets everything through.
func (d *gitProxy) set(watch watcher) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watch = watch
}

// once lets something happen at the first request that matches, and everything
// else through.
func (d *gitProxy) once(matches func(*http.Request) bool, do watcher) {
	var first sync.Once
	d.set(func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		happened := false
		if matches(r) {
			first.Do(func() { happened = true; do(w, r, pass) })
		}
		if !happened {
			pass.ServeHTTP(w, r)
		}
	})
}

// The requests of a push: the refs are listed, then moved.
func listsToSend(r *http.Request) bool   { return r.URL.Query().Get("service") == "git-receive-pack" }
func isReceivePack(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/git-receive-pack") }
func fetches(r *http.Request) bool       { return strings.HasSuffix(r.URL.Path, "/git-upload-pack") }
func listsToFetch(r *http.Request) bool {
	return r.URL.Query().Get("service") == "git-upload-pack"
}

// dropRequest loses a request on its way.
func dropRequest(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body)
	panic(http.ErrAbortHandler)
}

// loseAnswer loses the answer to a request that arrived.
func loseAnswer(_ http.ResponseWriter, r *http.Request, pass http.Handler) {
	pass.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// hold stops a request until release; held is closed when it is there.
type hold struct {
	held, freed chan struct{}
	free        func()
}

func newHold(t *testing.T) *hold {
	h := &hold{held: make(chan struct{}), freed: make(chan struct{})}
	h.free = sync.OnceFunc(func() { close(h.freed) })
	t.Cleanup(h.free)
	return h
}

func (h *hold) watch(w http.ResponseWriter, r *http.Request, pass http.Handler) {
	close(h.held)
	select {
	case <-h.freed:
		pass.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

// wait waits until the request is there.
func (h *hold) wait(t *testing.T) {
	t.Helper()
	select {
	case <-h.held:
	case <-time.After(time.Minute):
		require.FailNow(t, "nobody came to the door")
	}
}

// versionTo is the body of a push.
func versionTo(name, repository string) string {
	return `{"name":"` + name + `","repository":{"id":"` + repository + `"}}`
}

// repositoryWith is a change of the repository to one with more in its config, such
// as "branch":"next",
func (p *gitWorkspace) repositoryWith(config string) string {
	return fmt.Sprintf(`{"repositories":{"origin":{"name":"Origin","config":{%s"url":%q,"caBundle":%q,"auth":{"user":%q,"password":%q}}}}}`,
		config, p.repo.URL, p.ca, gittest.User, gittest.Password)
}

// started starts a push without waiting for it and returns its operation.
func (p *gitWorkspace) started(name string) string {
	p.t.Helper()
	got := p.do(p.t, 202, "POST", p.path+"/versions?timeout=0", versionTo(name, "origin"))
	id := got.json(p.t)["operationId"].(string)
	require.Equal(p.t, true, got.json(p.t)["processing"])
	require.NotEmpty(p.t, got.json(p.t)["message"])
	require.Equal(p.t, id, got.Header.Get("X-Svc-Operation-Id"))
	return id
}

// ended waits for the end of an operation and returns it.
func (p *gitWorkspace) ended(id string) map[string]any {
	p.t.Helper()
	p.stream(id) // which ends with it
	var op map[string]any
	require.Eventually(p.t, func() bool { op = p.ok(200, "GET", "/operations/"+id, ""); return op["endedAt"] != nil }, time.Minute, 20*time.Millisecond)
	return op
}

// lastOperation is the newest one.
func (p *gitWorkspace) lastOperation() map[string]any {
	p.t.Helper()
	got := p.do(p.t, 200, "GET", p.path+"/operations?limit=1", "")
	var list []map[string]any
	require.NoError(p.t, json.Unmarshal(got.body, &list))
	require.Len(p.t, list, 1)
	return list[0]
}

// frame is an event of a stream.
type frame struct {
	id, event string
	data      map[string]any
}

// stream reads the events of an operation until its end.
func (p *gitWorkspace) stream(id string) (frames []frame) {
	p.t.Helper()
	return p.streamed(p.t, http.MethodGet, p.path+"/operations/"+id+"/events", "", "")
}

// streamed asks for a stream, after an event if one is named, and reads it until its
// end.
func (h *fixture) streamed(t *testing.T, method, path, body, after string) (frames []frame) {
	t.Helper()
	return h.some(t, method, path, body, after, math.MaxInt)
}

// some is streamed, cut after so many events.
func (h *fixture) some(t *testing.T, method, path, body, after string, count int) (frames []frame) {
	t.Helper()
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	r, err := http.NewRequestWithContext(ctx, method, h.base+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer u1")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	got, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer got.Body.Close()
	require.Equal(t, 200, got.StatusCode)
	require.Equal(t, "text/event-stream", got.Header.Get("Content-Type"))
	var f frame
	lines := bufio.NewScanner(got.Body)
	lines.Buffer(nil, 4<<20)
	for len(frames) < count && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			f.id = value
		case "event":
			f.event = value
		case "data":
			f.data = map[string]any{}
			require.NoError(t, json.Unmarshal([]byte(value), &f.data))
			require.NotContains(t, value, gittest.Password)
			frames = append(frames, f)
		}
	}
	require.NoError(t, lines.Err())
	return frames
}

// progress returns the steps of an operation as its events tell them.
func (p *gitWorkspace) progress(id string) (steps []string) {
	p.t.Helper()
	for _, f := range p.stream(id) {
		if f.event == "workspaces.versions.progress" {
			require.Equal(p.t, id, f.data["operationId"])
			require.NotEmpty(p.t, f.data["message"])
			steps = append(steps, f.data["step"].(string)+" "+f.data["state"].(string))
		}
	}
	return steps
}

// wholePush are the steps of a push that went well.
var wholePush = []string{
	"checkout started", "checkout done", "pull started", "pull done", "write started", "write done",
	"merge started", "merge done", "push started", "push done",
}

// succeeded checks what is left of a push that went well.
func (p *gitWorkspace) succeeded(id string) map[string]any {
	p.t.Helper()
	op := p.ended(id)
	require.Equal(p.t, "succeeded", op["status"], "%v", op)
	require.Nil(p.t, op["error"])
	require.Nil(p.t, p.workspace()["writeLock"])
	return op
}

// requirePushFailure checks what is left of a push that failed in a step: the last events, the
// record, and no lock.
func (p *gitWorkspace) requirePushFailure(reason, step string) map[string]any {
	p.t.Helper()
	op := p.ended(p.lastOperation()["id"].(string))
	failure, _ := op["error"].(map[string]any)
	require.NotNil(p.t, failure, "%v", op)
	details, _ := failure["details"].(map[string]any)
	if reason != "" {
		require.Equal(p.t, reason, details["reason"], "%v", op)
	}
	told := p.progress(op["id"].(string))
	require.Equal(p.t, []string{step + " failed", "error failed"}, told[max(0, len(told)-2):])
	frames := p.stream(op["id"].(string))
	require.Equal(p.t, "workspaces.operations.ended", frames[len(frames)-1].event)
	last := frames[len(frames)-2].data
	require.Equal(p.t, step, last["failedStep"])
	require.Equal(p.t, failure["code"], last["error"].(map[string]any)["code"])
	require.Nil(p.t, p.workspace()["writeLock"])
	p.requirePasswordHidden()
	return op
}

// requirePasswordHidden checks that nothing of what is shown tells the password.
func (p *gitWorkspace) requirePasswordHidden() {
	p.t.Helper()
	for _, path := range []string{"", "/operations", "/versions", "/history?limit=200", "/status"} {
		require.NotContains(p.t, string(p.do(p.t, 200, "GET", p.path+path, "").body), gittest.Password, path)
	}
}

// history returns the types of what happened to the workspace, the oldest first.
func (p *gitWorkspace) history(types string) (list []string) {
	p.t.Helper()
	var entries []map[string]any
	got := p.do(p.t, 200, "GET", p.path+"/history?limit=500&types="+types, "")
	require.NoError(p.t, json.Unmarshal(got.body, &entries))
	for _, e := range entries {
		list = append([]string{e["type"].(string)}, list...)
	}
	return list
}
