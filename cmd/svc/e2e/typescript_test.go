//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The TypeScript client, as its tarball has it, compiles in a strict project and does in Node what docs/clients.md says:
// over a network that loses answers, with a service that is busy, and over a restart.
func TestTheTypeScriptClient(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir, s := t.TempDir(), startService(t)
	execute := func(name string, arguments ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, arguments...)
		c.Dir = dir
		said, err := c.CombinedOutput()
		require.NoError(t, err, "%s %s:\n%s", name, strings.Join(arguments, " "), said)
		return string(said)
	}
	execute("make", "--no-print-directory", "-C", root, "clients", "CLIENTS="+dir)
	tarballs, err := filepath.Glob(filepath.Join(dir, "svc-client-*.tgz"))
	require.NoError(t, err)
	require.Len(t, tarballs, 1)
	program, err := os.ReadFile("testdata/client.ts")
	require.NoError(t, err)
	for name, text := range map[string]string{"package.json": `{"private": true, "type": "module"}`, "program.ts": string(program)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	execute("npm", "install", "--offline", "--no-audit", "--no-fund", tarballs[0])
	require.NotContains(t, execute("npm", "ls", "--all"), "UNMET")
	modules := filepath.Join(root, "http/console/web/node_modules")
	execute(filepath.Join(modules, ".bin/tsc"), "--strict", "--target", "ES2022", "--module", "NodeNext", "--typeRoots", filepath.Join(modules, "@types"), "--types", "node", "program.ts")

	ada := s.person(t, "Ada")
	network := newLossyNetwork(t, s)
	c := exec.CommandContext(t.Context(), "node", "program.js", network.URL, ada.token)
	c.Dir = dir
	said, err := c.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "everything works")
}

// lossyNetwork leads to a service. The program under test tells it what goes wrong next, below /network/.
type lossyNetwork struct {
	*httptest.Server
	t     *testing.T
	s     *service
	proxy *httputil.ReverseProxy

	mu   sync.Mutex
	next string // what goes wrong with the next request: lose, busy
	sent int    // requests since the last order
}

func newLossyNetwork(t *testing.T, s *service) *lossyNetwork {
	t.Helper()
	to, err := url.Parse(s.base)
	require.NoError(t, err)
	n := &lossyNetwork{t: t, s: s, proxy: &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		FlushInterval: -1, // events, as they come
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	return n
}

// ServeHTTP implements http.Handler.
func (n *lossyNetwork) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if order, ok := strings.CutPrefix(r.URL.Path, "/network/"); ok {
		n.obey(w, order)
		return
	}
	n.mu.Lock()
	fault := n.next
	n.next = ""
	n.sent++
	n.mu.Unlock()
	switch fault {
	case "lose": // after the service did what it was asked for
		n.proxy.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case "busy":
		w.Header().Set("Retry-After", "1")
		http.Error(w, "not JSON", http.StatusServiceUnavailable)
	default:
		n.proxy.ServeHTTP(w, r)
	}
}

// obey does what the program asks for.
func (n *lossyNetwork) obey(w http.ResponseWriter, order string) {
	switch order {
	case "sent":
		n.mu.Lock()
		defer n.mu.Unlock()
		_, _ = fmt.Fprint(w, n.sent)
	case "restart":
		n.s.stop(n.t)
		if err := n.s.start(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "done")
	default:
		n.mu.Lock()
		defer n.mu.Unlock()
		n.next, n.sent = order, 0
	}
}
