package schedules_test

import (
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/projections"
)

// events returns the activity of a workspace of a type, as the log has it.
func (h *house) events(workspaceID, eventType string) (all []domain.Recorded) {
	h.t.Helper()
	seqs := h.sequences(workspaceID, eventType)
	if len(seqs) == 0 {
		return nil
	}
	all, err := h.store.Log.Reread(h.t.Context(), domain.Activity, seqs)
	require.NoError(h.t, err)
	return all
}

// sequences returns where the activity of a workspace of a type is.
func (h *house) sequences(workspaceID, eventType string) (seqs []uint64) {
	h.t.Helper()
	among := projections.Among{List: projections.ByType, Text: eventType}
	require.NoError(h.t, h.first.models.View(func(r projections.Reader) error {
		return projections.FeedOf(domain.Activity).List(r, workspaceID, among, 0, false, func(e projections.FeedEntry) bool {
			seqs = append(seqs, e.Seq)
			return true
		})
	}))
	return seqs
}

// fired is what a test asks of a firing.
type fired struct {
	Automation, Cron, At string
	Late                 bool
}

// firings returns what fired in a workspace.
func (h *house) firings(workspaceID string) (all []fired) {
	h.t.Helper()
	for _, ev := range h.events(workspaceID, "runtime.schedules.triggered") {
		e, ok := ev.Data.(activity.ScheduleFired)
		require.True(h.t, ok)
		all = append(all, fired{e.Automation, e.Trigger.Value, e.ScheduledAt, e.Late})
	}
	return all
}

// fires waits until a workspace has fired so much.
func (h *house) fires(workspaceID string, n int) []fired {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return len(h.firings(workspaceID)) >= n }, patience, tick)
	return h.firings(workspaceID)
}

// executions returns the executions of a workspace.
func (h *house) executions(workspaceID string) (all []activity.Executed) {
	h.t.Helper()
	for _, ev := range h.events(workspaceID, "runtime.automations.executed") {
		e, ok := ev.Data.(activity.Executed)
		require.True(h.t, ok)
		all = append(all, e)
	}
	return all
}

// registers waits until a workspace has so many registrations, and returns them.
func (h *house) registers(workspaceID string, n int) (all []activity.Scheduled) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return len(h.sequences(workspaceID, "runtime.schedules.created")) >= n }, patience, tick)
	for _, ev := range h.events(workspaceID, "runtime.schedules.created") {
		e, ok := ev.Data.(activity.Scheduled)
		require.True(h.t, ok)
		all = append(all, e)
	}
	return all
}

func stamp(t time.Time) string { return t.UTC().Format(domain.Timestamp) }
