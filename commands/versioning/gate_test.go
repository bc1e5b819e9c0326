//go:build fault

package versioning_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
)

// gate is where a push or a pull is held at the remote.
type gate struct {
	*gitWorkspace
	dir  string        // of the files that hooks look at
	at   chan struct{} // closed when a fetch has come
	pass chan struct{} // closed when it may go on
	once sync.Once
}

// holdHook holds the requests that call a hook of the repository.
func holdHook(p *gitWorkspace, hook string) *gate {
	p.t.Helper()
	g := &gate{gitWorkspace: p, dir: p.t.TempDir()}
	g.put("hold")
	p.repo.Hook(hook, fmt.Sprintf("cd %q; touch at; while [ -e hold ]; do sleep 0.02; done; no=0; [ ! -e refuse ] || no=1; touch left; exit $no", g.dir))
	return g
}

// fetching holds whoever asks the repository for commits.
func fetching(p *gitWorkspace) *gate {
	p.t.Helper()
	g := &gate{gitWorkspace: p, dir: p.t.TempDir(), at: make(chan struct{}), pass: make(chan struct{})}
	p.server.Garble(func(body string) bool {
		if strings.Contains(body, "want ") {
			g.once.Do(func() { close(g.at) })
			<-g.pass
		}
		return false
	})
	return g
}

func (g *gate) put(name string) {
	g.t.Helper()
	require.NoError(g.t, os.WriteFile(filepath.Join(g.dir, name), nil, 0o600))
}

func (g *gate) remove(name string) {
	g.t.Helper()
	require.NoError(g.t, os.Remove(filepath.Join(g.dir, name)))
}

// reached waits until somebody is held.
func (g *gate) reached() {
	g.t.Helper()
	if g.at == nil {
		g.await("at")
		return
	}
	select {
	case <-g.at:
	case <-time.After(time.Minute):
		require.Fail(g.t, "nobody came")
	}
}

func (g *gate) await(name string) {
	g.t.Helper()
	require.Eventually(g.t, func() bool {
		_, err := os.Stat(filepath.Join(g.dir, name))
		return err == nil
	}, time.Minute, 10*time.Millisecond, "no hook says %s", name)
}

// open lets everybody go on.
func (g *gate) open() {
	g.t.Helper()
	if g.at == nil {
		g.remove("hold")
		g.await("left")
		return
	}
	close(g.pass)
}
