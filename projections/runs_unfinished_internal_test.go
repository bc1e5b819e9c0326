package projections

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/activity"
)

// standsIn reports whether something stands in a wait.
func (b *runsBench) standsIn(wait string) (stands bool) {
	b.t.Helper()
	b.view(func(r Reader) (err error) {
		stands, err = Runs{}.Pending(r, "w1", wait)
		return err
	})
	return stands
}

// However many trees of one run wait, each is found with the same work.
func TestATreeIsFoundWithoutLookingAtTheOthersOfItsRun(t *testing.T) { // allocations are counted: by itself
	work := func(n int, find func(b *runsBench)) float64 {
		b := newRunsBench(t)
		for i := range n {
			id := fmt.Sprintf("x%05d", i)
			b.happens("r1", started(id, "pay", byEvent(id), 0), pendingWait("p"+id, id, `{}`))
		}
		return testing.AllocsPerRun(3, func() { find(b) })
	}
	every := func(b *runsBench) { require.NotEmpty(t, b.unfinished()) }
	require.Less(t, work(1000, every), 6*work(250, every), "of four times as many")
	one := func(b *runsBench) {
		b.view(func(r Reader) error {
			tree, open, err := Runs{}.Triggered(r, "w1", "x00007", "pay")
			require.True(t, open)
			require.Equal(t, "x00007", tree.ExecutionID)
			return err
		})
	}
	require.Less(t, work(1000, one), 1.5*work(250, one))
}

func TestOnlyTreesOfWorkspacesThatAreWantedAreRead(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.happens("r1", started("x1", "pay", endpoint, 0))
	for workspace, found := range map[string]int{"w1": 1, "w2": 0} {
		b.view(func(r Reader) error {
			n := 0
			defer func() { require.Equal(t, found, n) }()
			return Runs{}.UnfinishedIn(r, func(id string) bool { return id == workspace }, func(UnfinishedTree) bool { n++; return true })
		})
	}
}

func TestATreeIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.happens("r1", started("x1", "pay", endpoint, 0), started("x2", "mail", byEvent("e1"), 1))
	var trees []UnfinishedTree
	b.view(func(r Reader) error {
		return Runs{}.Unfinished(r, func(tree UnfinishedTree) bool { trees = append(trees, tree); return true })
	})
	require.Len(t, trees, 2)
	again := started("x3", "mail", byEvent("e1"), 9)
	again.Attempt, again.Replica = 2, "n2"
	b.happens("r1", again, done("x1", "pay", endpoint, 0))
	b.view(func(r Reader) error {
		mail, open, err := Runs{}.Again(r, trees[0])
		require.NoError(t, err)
		require.True(t, open)
		require.Equal(t, []any{"x3", "n2", 2}, []any{mail.ExecutionID, mail.Replica, mail.Attempt})
		_, open, err = Runs{}.Again(r, trees[1])
		require.False(t, open)
		return err
	})
}

// Whether a tree stands in its waits says nothing of the others of its run.
func TestAWaitIsPendingUntilItIsOver(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.happens("r1", started("x1", "pay", endpoint, 0), pendingWait("p1", "x1", `{}`), pendingWait("p2", "x1", cancels))
	b.happens("r1", started("x2", "mail", byEvent("e1"), 1), pendingWait("p3", "x2", cancels))
	require.Equal(t, []bool{true, true, true, false}, []bool{b.standsIn("p1"), b.standsIn("p2"), b.standsIn("p3"), b.standsIn("p4")})
	b.happens("r1", activity.WaitFulfilled{ID: "p1"}, activity.WaitExpired{ID: "p2"})
	require.Equal(t, []bool{false, false, true}, []bool{b.standsIn("p1"), b.standsIn("p2"), b.standsIn("p3")})
	b.happens("r1", done("x2", "mail", byEvent("e1"), 1))
	require.False(t, b.standsIn("p3"), "with the execution that stood in it")
}
