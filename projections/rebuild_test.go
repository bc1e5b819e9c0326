package projections_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/projections"
)

func TestARebuildIsNotSeenByReadersOrWriters(t *testing.T) {
	h := newFixture(t)
	require.NoError(t, h.Reach(bounded(t), allocateBlocks(t, h.log.Log, 50)))
	ctx, done := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for w := range 3 {
		busy.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("w%d-%d", w, i)
				r := create(t, h.log.Log, id, "x")
				if err := h.Reach(bounded(t), r.Position); err != nil || nameOf(t, h.Models, id) != "x" {
					t.Error("own write not read", err)
					return
				}
			}
		})
	}
	busy.Go(func() {
		for before := 50; ctx.Err() == nil; {
			n := listKey(t, h.Models)
			if n < before {
				t.Errorf("%d listed after %d", n, before)
				return
			}
			before = n
		}
	})
	for want := range 3 {
		progressed := false
		report, err := h.Rebuild(bounded(t), func(n, total uint64) { progressed = progressed || n > 0 && n <= total })
		require.NoError(t, err)
		require.True(t, progressed)
		require.Equal(t, uint32(want+2), report.Generation)
	}
	done()
	busy.Wait()
	require.NoError(t, h.Fresh(bounded(t)))
	requireTrue(t, h.Models)
	require.True(t, h.Health().OK())
	requireOneGeneration(t, h)
}

// requireOneGeneration waits until Run has dropped what nobody uses: it says so
// in the log.
func requireOneGeneration(t *testing.T, h *fixture) {
	t.Helper()
	for ctx := bounded(t); ; {
		nums, err := h.Generations()
		require.NoError(t, err)
		if len(nums) == 1 && nums[0] == h.Health().Generation {
			return
		}
		select {
		case <-h.told:
		case <-ctx.Done():
			t.Fatalf("generations %v are still there", nums)
		}
	}
}

func TestARebuildRevivesALogThatStopped(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	broken := true
	var mu sync.Mutex
	moody := counter{name: "moody.1", log: domain.State, refuse: func(ev domain.Recorded) error {
		mu.Lock()
		defer mu.Unlock()
		if broken && ev.Seq == 2 {
			return errors.New("not today")
		}
		return nil
	}}
	at := allocateBlocks(t, log.Log, 3)
	m, _ := start(t, projections.Options{DB: db, Store: log.Log, Projections: []projections.Projection{moody}})
	require.NotNil(t, faultOf(t, m.Reach(bounded(t), at)))
	_, err := m.Rebuild(bounded(t), nil)
	require.Equal(t, uint64(2), faultOf(t, err).From, "a rebuild fails where following did")
	require.Equal(t, uint32(1), m.Health().Generation, "and changes nothing")

	mu.Lock()
	broken = false
	mu.Unlock()
	_, err = m.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	require.NoError(t, m.Reach(bounded(t), allocateBlocks(t, log.Log, 1)))
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.Equal(t, uint64(4), moody.count(t, m))
}

func TestAnInterruptedRebuildLeavesNothingBehind(t *testing.T) {
	h := newFixture(t)
	require.NoError(t, h.Reach(bounded(t), allocateBlocks(t, h.log.Log, 20)))
	h.stop()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := h.Rebuild(ctx, func(uint64, uint64) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	nums, err := h.Generations()
	require.NoError(t, err)
	require.Equal(t, []uint32{1, 2}, nums, "nobody was there to drop it")

	h.Models, h.stop = start(t, projections.Options{DB: h.db, Store: h.log.Log, Log: slog.New(h.told)})
	require.NoError(t, h.CaughtUp(bounded(t)))
	requireOneGeneration(t, h)
	require.Equal(t, 20, listKey(t, h.Models))
}

func TestARebuildNeedsNoRun(t *testing.T) {
	h := newFixture(t)
	require.NoError(t, h.Reach(bounded(t), allocateBlocks(t, h.log.Log, 5)))
	h.stop()
	allocateBlocks(t, h.log.Log, 5)
	report, err := h.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	require.Equal(t, domain.Position{State: 10}, report.Position)
	require.Equal(t, 10, listKey(t, h.Models))
}

// Whatever happened, the models built while it happened and those built
// afterwards are the same bytes.
func TestARebuiltModelIsByteEqual(t *testing.T) {
	h := newFixture(t, projections.Workspaces{}, states, activities)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		seqs := map[string]uint64{}
		for range rapid.IntRange(1, 8).Draw(rt, "commands") {
			act(t, rt, h, round, seqs)
		}
		require.NoError(rt, h.Fresh(bounded(t)))
		before := hashes(rt, h.Models)
		v, err := h.Verify(bounded(t), nil)
		require.NoError(rt, err)
		require.True(rt, v.OK, "%+v", v)
		_, err = h.Rebuild(bounded(t), nil)
		require.NoError(rt, err)
		require.Equal(rt, before, hashes(rt, h.Models))
	})
}

// act does one random thing.
func act(t *testing.T, rt *rapid.T, h *fixture, round int, seqs map[string]uint64) {
	id := fmt.Sprint(rapid.StringMatching(`[a-e]`).Draw(rt, "id"), round)
	switch {
	case rapid.IntRange(0, 4).Draw(rt, "what") == 0:
		appendActivity(t, h.log.Log)
	case seqs[id] == 0:
		seqs[id] = create(t, h.log.Log, id, "new").Seqs[0]
	default:
		s := workspace.Settings{
			Name:        rapid.StringN(1, 60, -1).Draw(rt, "name"),
			Description: document.InEveryLanguage(rapid.String().Draw(rt, "description")),
			Labels:      rapid.SliceOf(rapid.StringMatching(`[a-z]{2,5}`)).Draw(rt, "labels"),
		}
		ev := workspace.Updated{Workspace: workspace.Snapshot{ID: id, Settings: s}}
		seqs[id] = add(t, h.log.Log, workspace.Stream(id), seqs[id], ev).Seqs[0]
	}
}

func hashes(rt *rapid.T, m *projections.Models) (sums []string) {
	for _, p := range []projections.Projection{projections.Workspaces{}, states, activities} {
		sum, err := m.Hash(p)
		require.NoError(rt, err)
		sums = append(sums, sum)
	}
	return sums
}

func TestVerifyingWhatIsRight(t *testing.T) {
	h := newFixture(t, projections.Workspaces{}, states, activities)
	at := allocateBlocks(t, h.log.Log, 600).Max(appendActivity(t, h.log.Log).Position)
	require.NoError(t, h.Reach(bounded(t), at))
	var last uint64
	v, err := h.Verify(bounded(t), func(done, total uint64) { last = done; require.LessOrEqual(t, done, total) })
	require.NoError(t, err)
	require.True(t, v.OK)
	require.Equal(t, uint64(601), last)
	require.Equal(t, at, v.Position)
	require.Equal(t, []projections.LogReport{
		{Log: domain.State, First: 1, Last: 600, Messages: 600},
		{Log: domain.Activity, First: at.Activity, Last: at.Activity, Messages: 1},
	}, v.Logs)
	require.Equal(t, uint64(1800), v.Projections[0].Keys, "three of each")
	nums, err := h.Generations()
	require.NoError(t, err)
	require.Equal(t, []uint32{1}, nums, "the copy is dropped")
}

func TestVerifyingNamesTheFirstDifference(t *testing.T) {
	key := func(h *fixture, s string) []byte { return append(slices.Clone(h.Area(projections.Workspaces{})), s...) }
	tests := map[string]struct {
		tamper func(h *fixture, txn *badger.Txn) error
		diff   string
	}{
		"a changed value":  {func(h *fixture, txn *badger.Txn) error { return txn.Set(key(h, "db"), []byte("x")) }, `"db"`},
		"a missing key":    {func(h *fixture, txn *badger.Txn) error { return txn.Delete(key(h, "da")) }, `"da"`},
		"an added key":     {func(h *fixture, txn *badger.Txn) error { return txn.Set(key(h, "daa"), nil) }, `"daa"`},
		"a key at the end": {func(h *fixture, txn *badger.Txn) error { return txn.Set(key(h, "z"), nil) }, `"z"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t, projections.Workspaces{}, states)
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
	h := newFixture(t)
	first := create(t, h.log.Log, "a", "one")
	allocateBlocks(t, h.log.Log, 3)
	update(t, h.log.Log, "a", "two", first.Seqs[0])
	allocateBlocks(t, h.log.Log, 1)
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

func TestSnapshotsBelongToOneLog(t *testing.T) {
	id := workspace.Stream("a")
	h := newFixture(t)
	allocateBlocks(t, h.log.Log, 5)
	require.NoError(t, h.Fresh(bounded(t)))
	require.NoError(t, h.Snapshots().Put(id, 1, 3, []byte("state")))
	requireSnapshot(t, h.Snapshots(), id, 1, 3, "state")
	requireNoSnapshot(t, h.Snapshots(), id, 2)
	h.closeAll()

	again := openFixture(t, h.logDir, h.dbDir)
	require.NoError(t, again.CaughtUp(bounded(t)))
	requireSnapshot(t, again.Snapshots(), id, 1, 3, "state")
	again.closeAll()

	elsewhere := openFixture(t, t.TempDir(), h.dbDir)
	require.NoError(t, elsewhere.CaughtUp(bounded(t)))
	requireNoSnapshot(t, elsewhere.Snapshots(), id, 1)
}

func TestSnapshotsAheadOfTheCheckpointAreDiscarded(t *testing.T) {
	id := workspace.Stream("a")
	h := newFixture(t)
	allocateBlocks(t, h.log.Log, 5)
	require.NoError(t, h.Fresh(bounded(t)))
	require.NoError(t, h.Snapshots().Put(id, 1, 6, []byte("of an event that was lost")))
	h.closeAll()
	again := openFixture(t, h.logDir, h.dbDir)
	require.NoError(t, again.Reach(bounded(t), allocateBlocks(t, again.log.Log, 5)))
	requireNoSnapshot(t, again.Snapshots(), id, 1)
}

func TestSnapshotsAreOfNoUseBeforeTheLogIsKnown(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	m, err := projections.New(projections.Options{DB: db, Store: log.Log, Log: quiet})
	require.NoError(t, err)
	require.NoError(t, m.Snapshots().Put(workspace.Stream("a"), 1, 1, []byte("x")))
	requireNoSnapshot(t, m.Snapshots(), workspace.Stream("a"), 1)
}

func requireSnapshot(t *testing.T, s *projections.Snapshots, id domain.StreamID, version int, seq uint64, state string) {
	t.Helper()
	gotSeq, got, ok := s.Get(id, version)
	require.True(t, ok)
	require.Equal(t, seq, gotSeq)
	require.Equal(t, state, string(got))
}

func requireNoSnapshot(t *testing.T, s *projections.Snapshots, id domain.StreamID, version int) {
	t.Helper()
	_, _, ok := s.Get(id, version)
	require.False(t, ok)
}

// keysProjection puts things in, takes some out, and now and then looks at all of them
// and empties itself: everything that a projection can do.
type keysProjection struct{}

func (keysProjection) Name() string    { return "drawer.1" }
func (keysProjection) Log() domain.Log { return domain.State }

func (keysProjection) Apply(tx projections.Tx, ev domain.Recorded) error {
	put, take := fmt.Appendf(nil, "k%d", ev.Seq%7), fmt.Appendf(nil, "k%d", ev.Seq%5)
	old, _, err := tx.Get(put)
	if err != nil {
		return err
	}
	if err := tx.Set(put, binary.BigEndian.AppendUint64(old, ev.Seq)); err != nil {
		return err
	}
	if err := tx.Delete(take); err != nil || ev.Seq%11 != 0 {
		return err
	}
	return empty(tx, ev.Seq)
}

func empty(tx projections.Tx, seq uint64) error {
	var seen, keys []byte
	err := tx.Iterate(projections.Span{Prefix: []byte("k")}, func(key, value []byte) (bool, error) {
		seen, keys = append(append(seen, key...), value...), append(keys, key[1])
		return true, nil
	})
	for _, key := range keys {
		if err == nil {
			err = tx.Delete([]byte{'k', key})
		}
	}
	if err != nil {
		return err
	}
	return tx.Set(fmt.Appendf(nil, "seen%d", seq), seen)
}

func TestWhatIsBuiltInBulkIsWhatWasFollowed(t *testing.T) {
	large := counter{name: "large.1", log: domain.State, pad: 400 << 10} // more than is held at once
	h := newFixture(t, projections.Workspaces{}, keysProjection{}, large)
	first := create(t, h.log.Log, "a", "one")
	at := update(t, h.log.Log, "a", "two", first.Seqs[0])
	require.NoError(t, h.Reach(bounded(t), allocateBlocks(t, h.log.Log, 100).Max(at.Position)))
	requireTrue(t, h.Models)
	want := map[string]string{}
	for _, p := range []projections.Projection{projections.Workspaces{}, keysProjection{}, large} {
		sum, err := h.Hash(p)
		require.NoError(t, err)
		want[p.Name()] = sum
	}
	_, err := h.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	for _, p := range []projections.Projection{projections.Workspaces{}, keysProjection{}, large} {
		sum, err := h.Hash(p)
		require.NoError(t, err)
		require.Equal(t, want[p.Name()], sum, p.Name())
	}
	requireTrue(t, h.Models)
}
