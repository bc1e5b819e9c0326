package node_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/activity"
)

// What one node erases all nodes forget, and all of them go on.
func TestEveryNodeForgetsWhatIsErased(t *testing.T) {
	t.Parallel()
	one, other := couple(t)
	p := ownedPlace(t, one)
	there := place{s: other, id: p.id, path: p.path, me: p.me.Clone()}
	p.emitsMany(t, "order.paid", 150)
	p.interacts(t, activity.ByEndpoint, "c1", "s1", "u1")
	require.Equal(t, 150, there.searches(t, `{"query":{"term":{"type":"order.paid"}}}`).Size)

	body := `{"retention":0,"workspaceMaxEvents":-1,"workspaceIds":["` + p.id + `"]}`
	got := there.as(asInternal).does(t, 200, "POST", "/sys/cleanup/indices", body)
	require.EqualValues(t, 151, got.json(t)["expiredEvents"].(map[string]any)["total"])
	for _, at := range []place{p, there} {
		at.me.Set("X-Svc-Min-Seq", got.Header.Get("X-Svc-Seq"))
		require.Zero(t, at.searches(t, `{"query":{"term":{"type":"order.paid"}}}`).Size)
		require.Empty(t, at.lists(t, "types=order.*").Result.Events)
		require.Equal(t, totals(0, 0, 0, 0, 0, 0), at.used(t, "")["total"])
		report, err := at.s.node.Models().Verify(t.Context(), nil)
		require.NoError(t, err)
		require.True(t, report.OK, "%+v", report)
	}
	p.emitsMany(t, "order.paid", 2)
	require.Equal(t, 2, there.searches(t, `{"query":{"term":{"type":"order.paid"}}}`).Size)
}
