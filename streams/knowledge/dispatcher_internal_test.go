package knowledge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/projections"
)

// acquireAll acquires slots until none is left for these jobs, and returns the workspaces that got one, in order.
func acquireAll(s *slots, waiting ...string) (got []string) {
	jobs := make([]projections.KBJob, len(waiting))
	for i, workspace := range waiting {
		jobs[i].WorkspaceID = workspace
	}
	for i := s.acquire(jobs); i >= 0; i = s.acquire(jobs) {
		got = append(got, jobs[i].WorkspaceID)
		jobs = append(jobs[:i], jobs[i+1:]...)
	}
	return got
}

func TestAWorkspaceHasHalfOfTheSlotsWhileOthersWait(t *testing.T) {
	t.Parallel()
	s := newSlots(4)
	require.Equal(t, []string{"busy", "busy", "calm", "busy"}, acquireAll(&s, "busy", "busy", "busy", "busy", "calm"))
	require.Equal(t, []string{"busy"}, acquireAll(newUsed(4, "busy", "busy", "busy"), "busy", "busy"), "nobody else waits")
	require.Empty(t, acquireAll(newUsed(1, "busy"), "calm"), "there is no slot")

	s = newSlots(1)
	require.Equal(t, []string{"busy"}, acquireAll(&s, "busy", "calm"), "half of one slot is one")
	s.release("busy")
	require.Empty(t, s.used)
	require.Equal(t, []string{"calm"}, acquireAll(&s, "calm"))
}

// newUsed returns slots of which workspaces have some.
func newUsed(size int, by ...string) *slots {
	s := newSlots(size)
	for _, workspace := range by {
		s.free--
		s.used[workspace]++
	}
	return &s
}
