package projections_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/projections"
)

// longLog returns a fixture that has followed a log that is long enough to be built in bulk, and stops it.
func longLog(t *testing.T) (h *fixture, at domain.Position) {
	t.Helper()
	h = newFixture(t)
	allocateInBatches(t, h.log.Log, 1200)
	first := create(t, h.log.Log, "a", "one")
	at = edit(t, h.log.Log, "a", update(t, h.log.Log, "a", "two", first.Seqs[0]).Seqs[0]).Max(appendActivity(t, h.log.Log).Position)
	require.NoError(t, h.Reach(bounded(t), at))
	h.stop()
	return h, at
}

// edit changes automations and settings of a workspace whose last event is at a sequence.
func edit(t *testing.T, s eventstore.Store, id string, last uint64) (at domain.Position) {
	t.Helper()
	for i := range 150 {
		name := fmt.Sprintf("d%02d", i%20)
		body := fmt.Appendf(nil, `{"slug":%q,"name":"Change %d <&>","when":{"events":["e%d"]},"do":[{"emit":{"event":"e%d"}},{"call-%d":{}}]}`, name, i, i%7, i%5, i%3)
		entry := workspace.Entry{Path: "automations/" + name, Hash: workspace.HashOf(body), Checksum: "sha256:" + workspace.HashOf(body), Body: body}
		var ev domain.Event = workspace.AutomationUpdated{Entry: entry}
		switch {
		case i < 20:
			ev = workspace.AutomationCreated{Entry: entry}
		case i%10 == 9:
			settings := workspace.Settings{Name: fmt.Sprintf("Edit %d", i), Labels: []string{"x<y"}, Description: document.InEveryLanguage(name)}
			ev = workspace.Updated{Workspace: workspace.Snapshot{ID: id, Settings: settings}}
		case i >= 140:
			ev = workspace.AutomationDeleted{Slug: name}
		}
		r := add(t, s, workspace.Stream(id), last, ev)
		last, at = r.Seqs[0], r.Position
	}
	return at
}

// allocateInBatches is allocateBlocks with a hundred workspaces in one append.
func allocateInBatches(t *testing.T, s eventstore.Store, n int) {
	t.Helper()
	for range n / 100 {
		var commits []eventstore.Commit
		for range 100 {
			id := ulid.Make().String()
			commits = append(commits, eventstore.Commit{
				Stream: workspace.Stream(id), Meta: domain.Meta{UserID: "u1"},
				Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: workspace.Created{Workspace: snapshot(id, "filler")}}},
			})
		}
		_, err := s.Append(context.WithoutCancel(t.Context()), commits...)
		require.NoError(t, err)
	}
}

// contents are the hashes of all read models.
func contents(t *testing.T, m *projections.Models) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for _, p := range projections.Table() {
		sum, err := m.Hash(p)
		require.NoError(t, err)
		sums[p.Name()] = sum
	}
	return sums
}

func TestReadModelsThatHaveNothingAreBuiltInBulk(t *testing.T) {
	h, at := longLog(t)
	want := contents(t, h.Models)
	require.Equal(t, uint32(1), h.Health().Generation, "it was followed")

	db, _ := openDB(t, t.TempDir())
	told := make(watch, 1)
	heard := make(chan domain.Position, 10)
	m, err := projections.New(projections.Options{DB: db, Store: h.log.Log, Log: slog.New(told)})
	require.NoError(t, err)
	m.SetListener(func(log domain.Log, events []domain.Recorded) {
		if len(events) > 0 {
			heard <- domain.At(log, events[len(events)-1].Seq)
		}
	})
	run(t, m)
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.Equal(t, uint32(2), m.Health().Generation, "it was built beside the empty ones")
	require.Equal(t, at, m.Position())
	require.Equal(t, want, contents(t, m))
	requireTrue(t, m)
	requireOneGeneration(t, &fixture{Models: m, told: told})

	more := create(t, h.log.Log, "later", "one").Position
	require.NoError(t, m.Reach(bounded(t), more))
	require.Equal(t, more, <-heard, "listeners get what came after it")
}

func TestANodeSaysHowFarItHasComeWithItsReadModels(t *testing.T) {
	h, at := longLog(t)
	db, _ := openDB(t, t.TempDir())
	var said bytes.Buffer
	var clock atomic.Int64
	m, stop := start(t, projections.Options{
		DB: db, Store: h.log.Log, Log: slog.New(slog.NewTextHandler(&said, nil)),
		Now: func() time.Time { return time.Unix(10*clock.Add(1), 0) },
	})
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.Equal(t, at, m.Position())
	stop()
	var done, total, lines uint64
	for line := range strings.Lines(said.String()) {
		if _, counts, ok := strings.Cut(line, "read models are being built"); ok {
			before := done
			_, err := fmt.Sscanf(strings.TrimSpace(counts), "\" generation=2 messages=%d of=%d", &done, &total)
			require.NoError(t, err, "%s", line)
			require.Less(t, before, done)
			lines++
		}
	}
	require.Positive(t, lines)
	require.Equal(t, total, done, "all of both logs")
}

// gate is a store that delivers nothing after a sequence of STATE until it is opened.
type gate struct {
	eventstore.Store
	after   uint64
	reached chan struct{} // closed when it holds events back
	opened  chan struct{}
	once    *sync.Once
}

func newGate(s eventstore.Store, after uint64) gate {
	return gate{Store: s, after: after, reached: make(chan struct{}), opened: make(chan struct{}), once: &sync.Once{}}
}

func (g gate) Subscribe(ctx context.Context, log domain.Log, from uint64, handle func(eventstore.Batch) error) error {
	return g.Store.Subscribe(ctx, log, from, func(b eventstore.Batch) error {
		if log == domain.State && len(b.Events) > 0 && b.Events[len(b.Events)-1].Seq > g.after {
			g.once.Do(func() { close(g.reached) })
			select {
			case <-g.opened:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return handle(b)
	})
}

func TestNobodyReadsWhatIsBuiltInBulk(t *testing.T) {
	h, at := longLog(t)
	want := contents(t, h.Models)
	db, _ := openDB(t, t.TempDir())
	held := newGate(h.log.Log, 700)
	m, _ := start(t, projections.Options{DB: db, Store: held, Log: quiet, Known: h.log.Log.Known})
	<-held.reached
	require.Equal(t, domain.Position{}, m.Position())
	require.Zero(t, listKey(t, m))
	require.False(t, m.Health().OK())
	require.Equal(t, at.State, m.Health().Logs[0].Lag)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, m.Fresh(ended), context.Canceled, "a request waits")
	close(held.opened)
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.Equal(t, want, contents(t, m))
}

// What is stopped, or killed, in the middle of a build begins again from nothing, and leaves nothing behind.
func TestABuildInBulkThatIsInterruptedBeginsAgain(t *testing.T) {
	h, at := longLog(t)
	want := contents(t, h.Models)
	large := counter{name: "large.1", log: domain.State, pad: 60 << 10} // more than is held in memory
	all := append(projections.Table(), large)
	for name, killed := range map[string]bool{"stopped": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db, closeDB := openDB(t, dir)
			held := newGate(h.log.Log, 1000)
			_, stop := start(t, projections.Options{DB: db, Store: held, Log: quiet, Projections: all})
			<-held.reached
			require.Eventually(t, func() bool { return hasKeys(t, db, 2) }, patience, time.Millisecond, "a part of it is written")
			if killed {
				dir = copyStill(t, dir)
			}
			stop()
			require.True(t, hasKeys(t, db, 2))
			closeDB()

			db, _ = openDB(t, dir)
			told := make(watch, 1)
			m, _ := start(t, projections.Options{DB: db, Store: h.log.Log, Log: slog.New(told), Projections: all})
			require.NoError(t, m.CaughtUp(bounded(t)))
			require.Equal(t, at, m.Position())
			require.Equal(t, want, contents(t, m))
			require.Equal(t, at.State, large.count(t, m))
			requireTrue(t, m)
			requireOneGeneration(t, &fixture{Models: m, told: told})
			require.False(t, hasKeys(t, db, 2))
		})
	}
}

// copyStill is copyDir of a store that may still write what it was given: it copies again until no file has come or gone
// meanwhile.
func copyStill(t *testing.T, from string) (to string) {
	t.Helper()
	require.Eventually(t, func() bool {
		to = filepath.Join(t.TempDir(), "copy")
		before, err := os.ReadDir(from)
		require.NoError(t, err)
		if os.CopyFS(to, os.DirFS(from)) != nil {
			return false
		}
		after, err := os.ReadDir(from)
		require.NoError(t, err)
		return slices.EqualFunc(before, after, func(a, b os.DirEntry) bool { return a.Name() == b.Name() })
	}, patience, 10*time.Millisecond)
	return to
}

// hasKeys reports whether the store has keys of a generation.
func hasKeys(t *testing.T, db *projections.DB, generation byte) (has bool) {
	t.Helper()
	require.NoError(t, db.Badger().View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte{'g', 0, 0, 0, generation}})
		defer it.Close()
		it.Rewind()
		has = it.Valid()
		return nil
	}))
	return has
}

func TestALogThatIsRefusedIsFollowedUpToTheFault(t *testing.T) {
	h, at := longLog(t)
	db, _ := openDB(t, t.TempDir())
	moody := counter{name: "moody.1", log: domain.State, refuse: func(ev domain.Recorded) error {
		if ev.Seq == 900 {
			return errors.New("not today")
		}
		return nil
	}}
	m, _ := start(t, projections.Options{DB: db, Store: h.log.Log, Log: quiet, Projections: []projections.Projection{moody, states, activities}})
	require.Equal(t, uint64(900), faultOf(t, m.Reach(bounded(t), at)).From)
	require.NoError(t, m.Reach(bounded(t), domain.Position{State: 899, Activity: at.Activity}), "the other log goes on")
	require.Equal(t, uint64(899), moody.count(t, m))
}
