package projections_test

import (
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/projections"
)

func TestVerifyingWhatIsRight(t *testing.T) {
	h := newHouse(t, projections.Workspaces{}, states, activities)
	at := fill(t, h.log.Log, 600).Max(happen(t, h.log.Log).Position)
	require.NoError(t, h.Reach(bounded(t), at))
	var last uint64
	v, err := h.Verify(bounded(t), func(done, total uint64) { last = done; require.LessOrEqual(t, done, total) })
	require.NoError(t, err)
	require.True(t, v.OK)
	require.Equal(t, uint64(601), last)
	require.Equal(t, at, v.Position)
	require.Equal(t, []projections.LogReport{
		{Log: domain.State, First: 1, Last: 600, Messages: 600},
		{Log: domain.Activity, First: 1, Last: 1, Messages: 1},
	}, v.Logs)
	require.Equal(t, uint64(2400), v.Projections[0].Keys, "four of each")
	nums, err := h.Generations()
	require.NoError(t, err)
	require.Equal(t, []uint32{1}, nums, "the copy is dropped")
}

func TestVerifyingNamesTheFirstDifference(t *testing.T) {
	key := func(h *house, s string) []byte { return append(slices.Clone(h.Area(projections.Workspaces{})), s...) }
	tests := map[string]struct {
		tamper func(h *house, txn *badger.Txn) error
		diff   string
	}{
		"a changed value":  {func(h *house, txn *badger.Txn) error { return txn.Set(key(h, "db"), []byte("x")) }, `"db"`},
		"a missing key":    {func(h *house, txn *badger.Txn) error { return txn.Delete(key(h, "da")) }, `"da"`},
		"an added key":     {func(h *house, txn *badger.Txn) error { return txn.Set(key(h, "daa"), nil) }, `"daa"`},
		"a key at the end": {func(h *house, txn *badger.Txn) error { return txn.Set(key(h, "z"), nil) }, `"z"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, projections.Workspaces{}, states)
			for _, id := range []string{"a", "b", "c"} {
				create(t, h.log.Log, id, id)
			}
			require.NoError(t, h.Fresh(bounded(t)))
			require.NoError(t, h.db.Badger().Update(func(txn *badger.Txn) error { return tt.tamper(h, txn) }))
			v, err := h.Verify(bounded(t), nil)
			require.NoError(t, err)
			require.False(t, v.OK)
			require.Equal(t, tt.diff, v.Projections[0].FirstDiff)
			require.True(t, v.Projections[1].Equal)

			_, err = h.Rebuild(bounded(t), nil)
			require.NoError(t, err)
			requireTrue(t, h.Models)
		})
	}
}

func TestVerifyingReportsGapsAndFaults(t *testing.T) {
	h := newHouse(t)
	first := create(t, h.log.Log, "a", "one")
	fill(t, h.log.Log, 3)
	update(t, h.log.Log, "a", "two", first.Seqs[0])
	fill(t, h.log.Log, 1)
	require.NoError(t, h.Fresh(bounded(t)))
	h.stop()

	lost := map[string]func(domain.Recorded) bool{
		"what others need": func(ev domain.Recorded) bool { return ev.Seq == 1 },
		"the end":          func(ev domain.Recorded) bool { return ev.Seq == 6 },
	}
	want := map[string]projections.Gap{"what others need": {From: 1, To: 1}, "the end": {From: 6, To: 6}}
	for name, lost := range lost {
		t.Run(name, func(t *testing.T) {
			m, err := projections.New(projections.Options{DB: h.db, Store: faulty{Store: h.log.Log, deliver: without(lost)}, Log: quiet})
			require.NoError(t, err)
			v, err := m.Verify(bounded(t), nil)
			require.NoError(t, err)
			require.False(t, v.OK)
			require.Equal(t, []projections.Gap{want[name]}, v.Logs[0].Gaps)
			require.Equal(t, name == "what others need", v.Fault != nil, "%+v", v)
			require.False(t, v.Projections[0].Equal)
		})
	}
}
