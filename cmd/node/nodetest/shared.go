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

// shared is the service that the scenarios of a package share, from the first use until all tests
// have ended.
var shared struct {
	mu     sync.Mutex
	on     *Service
	dir    string
	people int
}

// SharedService returns the service that the scenarios of this package share, with an owner of its
// own. It is for scenarios that use only their own workspaces, choose no slugs of the platform, and
// neither stop the service nor change anything global.
func SharedService(t *testing.T) *OwnedService {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.on == nil {
		dir, err := os.MkdirTemp("", "shared")
		require.NoError(t, err)
		s := newService(filepath.Join(dir, "data"), append([]string{"EGRESS_ALLOW_PRIVATE=yes"}, accountSettings...)...)
		s.Authenticator = nil
		require.NoError(t, s.open(context.WithoutCancel(t.Context())))
		s.serve()
		shared.on, shared.dir = s, dir
	}
	shared.people++
	w := &OwnedService{Service: shared.on}
	t.Cleanup(func() { w.showLog(t) })
	w.Owner = w.NewUser(t, fmt.Sprintf("owner%d", shared.people))
	t.Cleanup(func() { w.RequireNoCredential(t) })
	return w
}

// stopShared stops the shared service, and removes its data.
func stopShared() error {
	s := shared.on
	if s == nil {
		return nil
	}
	s.Client.CloseIdleConnections()
	s.End()
	return errors.Join(<-s.Outcome, os.RemoveAll(shared.dir))
}

// sharedTests runs tests and then stops the shared service.
type sharedTests struct{ *testing.M }

// Run implements goleak.TestingM.
func (m sharedTests) Run() int {
	code := m.M.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "the shared service did not stop well:", err)
		return 1
	}
	return code
}
