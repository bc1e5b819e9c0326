//go:build fault

package versioning_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"svc/cmd/node/nodetest"
)

// Whoever takes a push to a directory over finds out whether the directory has it,
// and writes it when it has not.
func TestFaultKilledWhileWritingADirectory(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	p := e.workspace("billing")
	p.automation("charge", "charged")
	p.pushTo("disk", "v1")
	p.automation("charge", "charged twice")
	lock, err := os.OpenFile(filepath.Join(e.disk, ".svc-lock"), os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX)) // who writes waits here
	p.ok(202, "POST", "/versions?timeout=0", versionTo("v2", "disk"))
	require.Eventually(t, func() bool { return e.hasFileOpen(lock.Name()) }, time.Minute, 20*time.Millisecond, "it is not about to write")
	e.kill()
	require.NoError(t, lock.Close())
	require.NoError(t, e.start())
	p.awaitIdle(recovery)
	require.Equal(t, "succeeded", p.runs()[0].Status)
	require.Contains(t, e.onDisk("billing/automations/charge.yml"), "charged twice")
	require.Equal(t, "v2", p.workspace()["lastPush"].(map[string]any)["version"])
	require.False(t, p.isDirty())
	require.Equal(t, []string{"billing"}, e.inDisk())
}

// hasFileOpen reports whether the service has a file open.
func (h *fixture) hasFileOpen(name string) bool {
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", h.cmd.Process.Pid))
	return slices.ContainsFunc(open, func(fd string) bool {
		target, err := os.Readlink(fd)
		return err == nil && target == name
	})
}

// Whatever moment the process is killed at, the directory has the old state or the
// new one, and dirty tells which.
func TestFaultKillsWhileWritingADirectory(t *testing.T) {
	t.Parallel()
	e, seed := newPlatformFixture(t), nodetest.Seed()
	t.Logf("FAULT_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	outcomes := map[string]int{}
	for i := range nodetest.Cycles(4, 60) {
		p := e.workspace(fmt.Sprintf("w-%d", i))
		for a := range 20 {
			p.automation(fmt.Sprintf("a-%d", a), "first")
		}
		began := time.Now()
		p.pushTo("disk", "v1")
		about := time.Since(began)
		p.automation("a-3", "second")
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_, _ = e.ask("POST", p.path+"/versions", versionTo("v2", "disk")) // the kill is its answer
		}()
		<-time.NewTimer(time.Duration(rng.Int64N(int64(about)))).C
		e.kill()
		<-gone
		require.NoError(t, e.start())
		p.awaitIdle(recovery)
		version, event := "v2", "second"
		if p.isDirty() {
			version, event = "v1", "first"
		}
		outcomes[version]++
		require.Contains(t, e.onDisk(p.slug+"/automations/a-3.yml"), event)
		require.Equal(t, version, parseImportFile(t, e.onDisk(p.slug+"/.import.yml"), func(name string) string { return e.onDisk(p.slug + "/" + name) }).Version)
		p.pushTo("disk", "v3")
		require.False(t, p.isDirty())
		for _, name := range e.inDisk() {
			require.NotContains(t, name, ".svc-", "nothing is left behind")
		}
	}
	nodetest.Report(t, "directory-kills", map[string]any{"seed": seed, "outcomes": outcomes})
}
