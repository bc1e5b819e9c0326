package nodes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain/activity"
)

// What one node erases all nodes forget, and all of them go on.
func TestEveryNodeForgetsWhatIsErased(t *testing.T) {
	t.Parallel()
	one, other := nodetest.StartPair(t)
	p := nodetest.NewOwnedWorkspace(t, one)
	there := nodetest.Workspace{Service: other, ID: p.ID, Path: p.Path, Auth: p.Auth.Clone()}
	p.EmitMany(t, "order.paid", 150)
	p.RecordInteraction(t, activity.ByEndpoint, "c1", "s1", "u1")
	require.Equal(t, 150, there.Search(t, `{"query":{"term":{"type":"order.paid"}}}`).Size)

	body := `{"retention":0,"workspaceMaxEvents":-1,"workspaceIds":["` + p.ID + `"]}`
	got := there.As(nodetest.AsInternal).Do(t, 200, "POST", "/sys/cleanup/indices", body)
	require.EqualValues(t, 151, got.JSON(t)["expiredEvents"].(map[string]any)["total"])
	for _, at := range []nodetest.Workspace{p, there} {
		at.Auth.Set("X-Svc-Min-Seq", got.Header.Get("X-Svc-Seq"))
		require.Zero(t, at.Search(t, `{"query":{"term":{"type":"order.paid"}}}`).Size)
		require.Empty(t, at.ListEvents(t, "types=order.*").Result.Events)
		require.Equal(t, nodetest.UsageTotals(0, 0, 0, 0, 0, 0), at.Usage(t, "")["total"])
		report, err := at.Service.Node.Models().Verify(t.Context(), nil)
		require.NoError(t, err)
		require.True(t, report.OK, "%+v", report)
	}
	p.EmitMany(t, "order.paid", 2)
	require.Equal(t, 2, there.Search(t, `{"query":{"term":{"type":"order.paid"}}}`).Size)
}
