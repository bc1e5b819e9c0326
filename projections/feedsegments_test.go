package projections_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
	"svc/projections"
)

// What is selected of thousands of events is the same as when all are looked at, from anywhere and in both directions,
// also after some were erased; and the index is the same when it is built again.
func TestSelectedEventsAreFoundInSegments(t *testing.T) {
	index := projections.FeedOf(domain.Activity)
	h := newFixture(t, index)
	const messages = 2500
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range messages {
		c := eventstore.Commit{
			Stream: domain.StreamID{Scope: fmt.Sprintf("w%d", min(1, n%50))}, // every fiftieth is of another workspace
			Meta:   domain.Meta{UserID: fmt.Sprintf("user%d", rng.IntN(5)), CorrelationID: fmt.Sprintf("correlation%d", n)},
		}
		if n%900 == 70 {
			c.Meta.UserID = "seldom"
		}
		if n < 20 {
			c.Meta.AutomationSlug = "early"
		}
		for range 1 + rng.IntN(7) {
			c.Facts = append(c.Facts, eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: fmt.Sprintf("t%d", rng.IntN(3)), Body: []byte(`{}`)}})
		}
		_, err := h.log.Log.Append(t.Context(), c)
		require.NoError(t, err)
	}
	selections := []projections.FeedSelection{
		{List: projections.ByUser, Text: "seldom"}, {List: projections.ByUser, Text: "user1"}, {List: projections.ByUser, Text: "nobody"},
		{List: projections.ByType, Text: "t1"}, {List: projections.ByAutomation, Text: "early"}, {List: projections.ByCorrelation, Text: "seldom"},
		{List: projections.ByCorrelation, Text: "correlation0"}, {List: projections.ByCorrelation, Text: "correlation1234"}, {List: projections.ByCorrelation, Text: "correlation2499"},
	}
	var all []projections.FeedEntry
	requireSame := func() (small, large int) {
		t.Helper()
		require.NoError(t, h.Reach(bounded(t), h.log.Log.Known()))
		r := h.Reader()
		defer r.Close()
		list := func(among projections.FeedSelection, from uint64, down bool) (found []projections.FeedEntry) {
			require.NoError(t, index.List(r, "w1", among, from, down, func(e projections.FeedEntry) bool {
				e.Signature = nil
				found = append(found, e)
				return true
			}))
			return found
		}
		all = list(projections.FeedSelection{}, 0, false)
		require.NotEmpty(t, all)
		for _, among := range selections {
			for _, from := range []uint64{0, all[0].Seq, all[rng.IntN(len(all))].Seq, all[rng.IntN(len(all))].Seq + 1, all[len(all)-1].Seq, ^uint64(0)} {
				for _, down := range []bool{false, true} {
					var want []projections.FeedEntry
					for _, e := range all {
						text := map[projections.FeedList]string{projections.ByUser: e.User, projections.ByType: e.Type, projections.ByAutomation: e.Automation, projections.ByCorrelation: e.Correlation}[among.List]
						if text == among.Text && (!down && e.Seq >= from || down && e.Seq <= from) {
							want = append(want, e)
						}
					}
					if down {
						slices.Reverse(want)
					}
					require.Equal(t, want, list(among, from, down), "%v from %d, down %t", among, from, down)
				}
			}
		}
		for space, count := range map[string]*int{"sw1": &small, "tw1": &large} {
			require.NoError(t, r.Iterate(index, projections.Span{Prefix: []byte(space)}, func(_, _ []byte) (bool, error) { *count++; return true, nil }))
		}
		return small, large
	}
	small, large := requireSame()
	require.Greater(t, small, len(all)/256, "%d events", len(all))
	require.Positive(t, large)
	report, err := h.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, report.OK, "%+v", report)

	// One that visits less than everything reads less than everything.
	cost := func(among projections.FeedSelection) float64 {
		r := h.Reader()
		defer r.Close()
		return testing.AllocsPerRun(1, func() {
			require.NoError(t, index.List(r, "w1", among, ^uint64(0), true, func(projections.FeedEntry) bool { return true }))
		})
	}
	require.Less(t, cost(projections.FeedSelection{List: projections.ByUser, Text: "seldom"}), cost(projections.FeedSelection{List: projections.ByUser, Text: "user1"})/4)

	for _, gone := range [][2]int{
		{0, 0}, {3, 40}, {700, 701}, {1000, 3500}, {len(all) - 30, len(all) - 20}, {len(all) - 3, len(all) - 1}, {0, 2000},
	} {
		first := all[min(gone[0], len(all)-1)].Seq
		add(t, h.log.Log, domain.StreamID{Scope: "w1"}, 0, activity.Dropped{WorkspaceID: "w1", From: first, To: max(first, all[min(gone[1], len(all)-1)].Seq)})
		requireSame()
	}
	report, err = h.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.True(t, report.OK, "%+v", report)
}
