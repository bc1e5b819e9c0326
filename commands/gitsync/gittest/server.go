// Package gittest is a real Git server for tests: git's own programs behind HTTPS
// and SSH, the git command line as the other developer, and networks that fail.
// It needs git on the PATH and says so when there is none.
package gittest

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// User and Password are those that a Server lets in.
const (
	User     = "alice"
	Password = "hunter2-swordfish"
)

// caFile is where the certificate of a Server is, for git.
const caFile = "ca.pem"

// Server serves the bare repositories of a directory over HTTPS with a
// certificate of its own.
type Server struct {
	URL string // https://127.0.0.1:port
	CA  string // its certificate, in PEM
	Dir string

	t       testing.TB
	https   *httptest.Server
	mu      sync.Mutex
	seen    []Request
	garbled func(body string) bool
	running gate
}

// Request is what a Server was asked.
type Request struct {
	Method, Path  string
	Authorization string
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, Dir: t.TempDir()}
	backend := &cgi.Handler{
		Path: filepath.Join(git(t, s.Dir, "--exec-path"), "git-http-backend"), Stderr: io.Discard,
		Logger: log.New(io.Discard, "", 0),
		Env:    append(environment(s.Dir), "GIT_PROJECT_ROOT="+s.Dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+User),
	}
	s.https = httptest.NewUnstartedServer(s.record(authenticated(backend)))
	s.https.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that leave are what is tested
	s.https.StartTLS()
	t.Cleanup(s.https.Close)
	s.URL = s.https.URL
	s.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.https.Certificate().Raw}))
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, caFile), []byte(s.CA), 0o600))
	return s
}

func (s *Server) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.running.acquire()
		defer s.running.release()
		s.mu.Lock()
		s.seen = append(s.seen, Request{r.Method, r.URL.Path, r.Header.Get("Authorization")})
		s.mu.Unlock()
		if r.Method == http.MethodPost && s.garbles(r) {
			w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
			_, _ = io.WriteString(w, "000fACK unheard of")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Garble answers the questions that match with something that is not Git.
func (s *Server) Garble(matches func(body string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.garbled = matches
}

func (s *Server) garbles(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.garbled == nil {
		return false
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return err == nil && s.garbled(string(body))
}

func authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		if !ok || user != User || password != Password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you, "+user+" "+password, http.StatusUnauthorized)
			return
		}
		if r.ContentLength > 0 {
			r.ContentLength = -1 // told the length, git-http-backend 2.39 spins for ever on a body that is cut off
		}
		next.ServeHTTP(w, r)
	})
}

// Requests returns what was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request{}, s.seen...)
}

// Wait returns when nothing is being served any more.
func (s *Server) Wait() { s.running.wait() }

// Address is host:port.
func (s *Server) Address() string { return s.https.Listener.Addr().String() }

// Repo is a bare repository of a server.
type Repo struct {
	Path string
	URL  string // over HTTPS

	t testing.TB
}

// Repo makes an empty repository.
func (s *Server) Repo(name string) *Repo {
	s.t.Helper()
	r := &Repo{Path: filepath.Join(s.Dir, name), URL: s.URL + "/" + name, t: s.t}
	git(s.t, s.Dir, "init", "-q", "--bare", "-b", "main", r.Path)
	r.Git("config", "http.receivepack", "true")
	return r
}

// Git runs git in the repository and returns what it prints.
func (r *Repo) Git(args ...string) string { r.t.Helper(); return git(r.t, r.Path, args...) }

// ID returns what a ref is at; "" when there is none.
func (r *Repo) ID(ref string) string {
	r.t.Helper()
	return strings.TrimSpace(r.Git("for-each-ref", "--format=%(objectname)", ref))
}

// Hook writes a hook, as a shell script.
func (r *Repo) Hook(name, script string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.Path, "hooks", name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
}

// Clone is the work tree of the other developer.
type Clone struct {
	Dir string

	t testing.TB
}

// Clone clones the repository, past the network.
func (r *Repo) Clone() *Clone {
	r.t.Helper()
	c := &Clone{Dir: filepath.Join(r.t.TempDir(), "clone"), t: r.t}
	git(r.t, r.Path, "clone", "-q", r.Path, c.Dir)
	return c
}

// CloneAfar clones the repository over HTTPS, as others do.
func (r *Repo) CloneAfar() *Clone {
	r.t.Helper()
	c := &Clone{Dir: filepath.Join(r.t.TempDir(), "clone"), t: r.t}
	url := strings.Replace(r.URL, "https://", "https://"+User+":"+Password+"@", 1)
	git(r.t, r.Path, "clone", "-q", "-c", "http.sslCAInfo="+filepath.Join(filepath.Dir(r.Path), caFile), url, c.Dir)
	return c
}

// Git runs git in the clone and returns what it prints.
func (c *Clone) Git(args ...string) string { c.t.Helper(); return git(c.t, c.Dir, args...) }

// Write writes files: path, text, path, text.
func (c *Clone) Write(pathsAndTexts ...string) {
	c.t.Helper()
	for i := 0; i < len(pathsAndTexts); i += 2 {
		file := filepath.Join(c.Dir, pathsAndTexts[i])
		require.NoError(c.t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(c.t, os.WriteFile(file, []byte(pathsAndTexts[i+1]), 0o600))
	}
}

// Commit commits everything and returns the id.
func (c *Clone) Commit(message string) string {
	c.t.Helper()
	c.Git("add", "-A", ".")
	c.Git("commit", "-q", "--allow-empty", "-m", message)
	return c.Head()
}

// Head is the commit that is checked out.
func (c *Clone) Head() string { c.t.Helper(); return strings.TrimSpace(c.Git("rev-parse", "HEAD")) }

// Push pushes HEAD to a branch, with options such as -f.
func (c *Clone) Push(branch string, options ...string) {
	c.t.Helper()
	c.Git(append(append([]string{"push", "-q"}, options...), "origin", "HEAD:refs/heads/"+branch)...)
}

// git runs the program and fails the test when it fails.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("git")
	require.NoError(t, err, "these tests need git on the PATH")
	cmd := exec.CommandContext(t.Context(), program, args...)
	own := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cmd.Dir, cmd.Env = dir, append(own, environment(dir)...)
	var errText strings.Builder
	cmd.Stderr = &errText
	out, err := cmd.Output()
	require.NoError(t, err, "git %s: %s", strings.Join(args, " "), errText.String())
	return strings.TrimRight(string(out), "\n")
}

// environment keeps the settings of whoever runs the tests out of them.
func environment(home string) []string {
	return []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "HOME=" + home,
		"GIT_AUTHOR_NAME=Other", "GIT_AUTHOR_EMAIL=other@example.com",
		"GIT_COMMITTER_NAME=Other", "GIT_COMMITTER_EMAIL=other@example.com",
		"PATH=" + os.Getenv("PATH"),
	}
}
