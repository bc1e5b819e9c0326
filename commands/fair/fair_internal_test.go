package fair

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// line lets the named workspaces enter, one after the other as they came, and returns in
// which order they got a place.
func line(t *testing.T, p *Slots, ctxs map[string]context.Context, workspaces ...string) *[]string {
	t.Helper()
	var order []string
	for _, id := range workspaces {
		ctx := ctxs[id]
		if ctx == nil {
			ctx = t.Context()
		}
		go func() {
			if p.Acquire(ctx, id) == nil {
				order = append(order, id) // one at a time has the place
				p.Release(id)
			}
		}()
		synctest.Wait()
	}
	return &order
}

func requireIdle(t *testing.T, p *Slots, places int) {
	t.Helper()
	require.Equal(t, places, p.free)
	require.Empty(t, p.used)
	require.Empty(t, p.waiting)
	require.Empty(t, p.next)
}

func TestWorkspacesTakeTheirTurnsOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1, 1)
		require.NoError(t, p.Acquire(t.Context(), "first"))
		order := line(t, p, nil, "busy", "busy", "busy", "busy", "calm", "other")
		p.Release("first")
		synctest.Wait()
		require.Equal(t, []string{"busy", "calm", "other", "busy", "busy", "busy"}, *order)
		requireIdle(t, p, 1)
	})
}

func TestOfOneWorkspaceTheLastMayBeTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewestFirst(1, 1)
		require.NoError(t, p.Acquire(t.Context(), "first"))
		var order []int
		for i := range 4 {
			go func() {
				if p.Acquire(t.Context(), []string{"busy", "busy", "calm", "busy"}[i]) == nil {
					order = append(order, i)
					p.Release([]string{"busy", "busy", "calm", "busy"}[i])
				}
			}()
			synctest.Wait()
		}
		p.Release("first")
		synctest.Wait()
		require.Equal(t, []int{3, 2, 1, 0}, order, "the workspaces still take turns")
		requireIdle(t, p, 1)
	})
}

func TestAWorkspaceHoldsNoMoreThanItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(4, 2)
		for range 2 {
			require.NoError(t, p.Acquire(t.Context(), "busy"))
		}
		order := line(t, p, nil, "busy", "calm")
		require.Equal(t, []string{"calm"}, *order, "there is always a place for somebody else")
		p.Release("busy")
		synctest.Wait()
		require.Equal(t, []string{"calm", "busy"}, *order)
		p.Release("busy")
		requireIdle(t, p, 4)
	})
}

func TestAPlaceIsNotHandedToWhoHasItsShareAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(3, 2)
		for _, id := range []string{"busy", "busy", "calm"} {
			require.NoError(t, p.Acquire(t.Context(), id))
		}
		order := line(t, p, nil, "busy", "other")
		p.Release("calm")
		synctest.Wait()
		require.Equal(t, []string{"other"}, *order)
		for range 2 {
			p.Release("busy")
		}
		synctest.Wait()
		require.Equal(t, []string{"other", "busy"}, *order)
		requireIdle(t, p, 3)
	})
}

func TestWhoWaitsNoLongerLeavesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(1, 1)
		require.NoError(t, p.Acquire(t.Context(), "first"))
		ctx, cancel := context.WithCancel(t.Context())
		order := line(t, p, map[string]context.Context{"gone": ctx}, "gone", "busy", "gone", "calm")
		cancel()
		synctest.Wait()
		p.Release("first")
		synctest.Wait()
		require.Equal(t, []string{"busy", "calm"}, *order)
		requireIdle(t, p, 1)
	})
}

func TestAPlaceThatWasHandedToWhoLeftGoesToTheNext(t *testing.T) {
	p := New(1, 1)
	require.NoError(t, p.Acquire(t.Context(), "first"))
	turn := make(chan struct{})
	p.waiting["gone"], p.next = []chan struct{}{turn}, []string{"gone"}
	p.Release("first") // handed over, while its ctx ends
	p.cancel("gone", turn)
	requireIdle(t, p, 1)
}
