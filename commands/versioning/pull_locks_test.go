package versioning_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPull53LocksRunOutButConflicts(t *testing.T) {
	t.Parallel()
	h := newFixture(t, "WORKSPACE_WRITE_LOCK_TIMEOUT_MINUTES=4s", "VERSIONING_OPERATION_TIMEOUT_MINUTES=3s")
	conflicted, _ := newConflict(t, h)
	byHand, asConflict := newGitWorkspace(t, h), newGitWorkspace(t, h)
	asConflict.ok(200, "POST", "/writeLock", `{"reason":"merge_conflict"}`)
	lock := byHand.ok(200, "POST", "/writeLock", `{"reason":"audit"}`)["writeLock"].(map[string]any)
	require.NotEmpty(t, lock["expiresAt"])
	byHand.requireRefusal(423, "audit", "POST", "/pull", toOrigin)
	require.Eventually(t, func() bool { return byHand.locked() == "" }, time.Minute, 100*time.Millisecond)
	byHand.requireRefusal(404, "remote_empty", "POST", "/pull", toOrigin)
	for _, p := range []*gitWorkspace{conflicted, asConflict} {
		require.Equal(t, "merge_conflict", p.locked())
		p.requireRefusal(423, "merge_conflict", "POST", "/push", toOrigin)
	}
	conflicted.ok(200, "POST", "/conflicts/resolve", resolution(charge, useOurs))
	require.Empty(t, conflicted.locked())
	asConflict.ok(200, "DELETE", "/writeLock", "")
	require.Empty(t, asConflict.locked())
}

// Row 54 is that of the operations, which are fenced; here a pull whose node is
// killed while it saves is settled by the next, and leaves nothing half done.
func TestPull54KilledInTheMiddle(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	p, clone := newPushed(t, h)
	pushFromOther(clone, "refund", "refunded")
	p.automation("charge", "charged twice")
	content := p.content()
	begun := filepath.Join(t.TempDir(), "begun")
	p.repo.Hook("pre-receive", "touch "+begun+"; sleep 1")
	p.ok(202, "POST", "/pull?timeout=0", toOrigin)
	require.Eventually(t, func() bool { _, err := os.Stat(begun); return err == nil }, time.Minute, 10*time.Millisecond)
	h.kill()
	require.NoError(t, h.start())
	require.Eventually(t, func() bool { return p.locked() == "" }, time.Minute, 100*time.Millisecond)
	require.Equal(t, content, p.content())
	require.True(t, p.isDirty())
	op := p.last()
	require.Equal(t, "failed", op["status"])
	require.Equal(t, "interrupted", op["error"].(map[string]any)["details"].(map[string]any)["reason"])
	steps, last := p.steps()
	require.Equal(t, "error failed", steps[len(steps)-1])
	require.NotNil(t, last["error"])

	p.repo.Hook("pre-receive", "exit 0")
	require.Equal(t, []any{"automations/refund"}, p.pull()["imported"], "it is safe to repeat")
	require.Equal(t, "charged twice", p.emittedEvent("charge"))
	p.push("v2")
	require.Equal(t, p.onOwn(), p.onMain())
}
