package projections_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/projections"
)

func TestARebuildIsNotSeenByReadersOrWriters(t *testing.T) {
	h := newHouse(t)
	require.NoError(t, h.Reach(bounded(t), fill(t, h.log.Log, 50)))
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
			n := listed(t, h.Models)
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
func requireOneGeneration(t *testing.T, h *house) {
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
	at := fill(t, log.Log, 3)
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
	require.NoError(t, m.Reach(bounded(t), fill(t, log.Log, 1)))
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.Equal(t, uint64(4), moody.count(t, m))
}

func TestAnInterruptedRebuildLeavesNothingBehind(t *testing.T) {
	h := newHouse(t)
	require.NoError(t, h.Reach(bounded(t), fill(t, h.log.Log, 20)))
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
	require.Equal(t, 20, listed(t, h.Models))
}

func TestARebuildNeedsNoRun(t *testing.T) {
	h := newHouse(t)
	require.NoError(t, h.Reach(bounded(t), fill(t, h.log.Log, 5)))
	h.stop()
	fill(t, h.log.Log, 5)
	report, err := h.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	require.Equal(t, domain.Position{State: 10}, report.Position)
	require.Equal(t, 10, listed(t, h.Models))
}

// Whatever happened, the models built while it happened and those built
// afterwards are the same bytes.
func TestARebuiltModelIsByteEqual(t *testing.T) {
	h := newHouse(t, projections.Workspaces{}, states, activities)
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
func act(t *testing.T, rt *rapid.T, h *house, round int, seqs map[string]uint64) {
	id := fmt.Sprint(rapid.StringMatching(`[a-e]`).Draw(rt, "id"), round)
	switch {
	case rapid.IntRange(0, 4).Draw(rt, "what") == 0:
		happen(t, h.log.Log)
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
