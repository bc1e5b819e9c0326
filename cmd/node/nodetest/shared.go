package nodetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// shared is the service that scenarios of a package share, from the first that asks for it
// until all tests are over.
var shared struct {
	mu     sync.Mutex
	on     *Service
	dir    string
	people int
}

// SharedWorkshop is a workshop on the service that scenarios of this package share, with an
// owner of its own. It is for scenarios that look at their own workspaces only, choose no
// slugs of the platform, and neither stop the service nor change what holds for all.
func SharedWorkshop(t *testing.T) *Workshop {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.on == nil {
		dir, err := os.MkdirTemp("", "shared")
		require.NoError(t, err)
		s := prepare(filepath.Join(dir, "data"), append([]string{"EGRESS_ALLOW_PRIVATE=yes"}, identified...)...)
		s.Known = nil
		require.NoError(t, s.open(context.WithoutCancel(t.Context())))
		s.serve()
		shared.on, shared.dir = s, dir
	}
	shared.people++
	w := &Workshop{Service: shared.on}
	t.Cleanup(func() { w.showLog(t) })
	w.Owner = w.Person(t, fmt.Sprintf("owner%d", shared.people))
	t.Cleanup(func() { w.RequireNoCredential(t) })
	return w
}

// stopShared ends the service that was shared, and removes its data.
func stopShared() error {
	s := shared.on
	if s == nil {
		return nil
	}
	s.Client.CloseIdleConnections()
	s.End()
	return errors.Join(<-s.Outcome, os.RemoveAll(shared.dir))
}

// sharing runs tests and then stops what they shared.
type sharing struct{ *testing.M }

// Run implements goleak.TestingM.
func (m sharing) Run() int {
	code := m.M.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "the shared service did not stop well:", err)
		return 1
	}
	return code
}
