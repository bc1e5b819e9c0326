package cleanup_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/activity"
	"svc/projections"
	"svc/projections/livetest"
)

// What nobody is shown is erased as well, and the read models forget it.
func TestTreesThatNobodyIsShownAreErased(t *testing.T) {
	t.Parallel()
	h := open(t)
	began := activity.TreeStarted{ExecutionID: "x1", Automation: "pay", Trigger: activity.Trigger{Type: activity.ByEvent, ID: "e1"}, Attempt: 1}
	old := h.happens("w1", began)
	terms := keepAll
	terms.Retention = day
	h.now = old.At.Add(day + 1)
	require.Zero(t, h.cleans(terms).Expired.Total, "no reader loses anything")
	require.Equal(t, []string{"events.dropped"}, h.kept("w1"))
	livetest.Fresh(t, h.models)
	require.NoError(t, h.models.View(func(r projections.Reader) error {
		attempts, ended, err := projections.Runs{}.Ended(r, "w1", "e1", "pay")
		require.Zero(t, attempts)
		require.False(t, ended)
		return err
	}))
	h.isWhole()
}
