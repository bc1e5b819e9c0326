package projections_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/projections"
)

func TestAMomentLastsUntilSomethingChanges(t *testing.T) {
	h := newHouse(t)
	first := create(t, h.log.Log, "a", "one")
	require.NoError(t, h.Reach(bounded(t), first.Position))
	require.NoError(t, h.CaughtUp(bounded(t)))
	still := func() projections.Moment {
		var m projections.Moment
		require.Eventually(t, func() bool { m = h.Moment(); return m != 0 }, patience, time.Millisecond)
		return m
	}
	was := still()
	require.Equal(t, "one", nameOf(t, h.Models, "a"))
	require.Equal(t, was, h.Moment(), "to look changes nothing")

	second := update(t, h.log.Log, "a", "two", first.Seqs[0])
	require.NoError(t, h.Reach(bounded(t), second.Position))
	require.NotEqual(t, was, h.Moment(), "who has waited for a write is not told the moment before it")
	require.Equal(t, "two", nameOf(t, h.Models, "a"))

	was = still()
	_, err := h.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	require.NotEqual(t, was, h.Moment(), "what was rebuilt is looked at anew")
}

func TestAStateOfAWorkspaceTellsOfEachChange(t *testing.T) {
	h := newHouse(t)
	first := create(t, h.log.Log, "a", "one")
	other := create(t, h.log.Log, "b", "one")
	require.NoError(t, h.Reach(bounded(t), other.Position))
	state := func() (s projections.State) {
		require.NoError(t, h.View(func(r projections.Reader) (err error) {
			s, _, err = projections.Workspaces{}.State(r, "a")
			return err
		}))
		return s
	}
	was := state()
	require.Equal(t, first.Seqs[0], was.Seq)
	require.NoError(t, h.Reach(bounded(t), update(t, h.log.Log, "b", "two", other.Seqs[0]).Position))
	require.Equal(t, was, state(), "another workspace is not this one")
	require.NoError(t, h.Reach(bounded(t), update(t, h.log.Log, "a", "two", first.Seqs[0]).Position))
	require.NotEqual(t, was, state())
	require.NoError(t, h.View(func(r projections.Reader) error {
		_, ok, err := projections.Workspaces{}.State(r, "c")
		require.False(t, ok)
		return err
	}))
	was = state()
	_, err := h.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	require.NotEqual(t, was, state())
}
