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
			require.Contains(t, counts, fmt.Sprintf("building %d read models: %d of %d events", len(projections.Table()), done, total))
			require.NoError(t, err, "%s", line)
			require.LessOrEqual(t, before, done)
			lines++
		}
	}
	require.Positive(t, lines)
	require.Equal(t, total, done, "all of both logs")
}

func TestABuildSaysHowLongItTakes(t *testing.T) {
	for want, b := range map[string]projections.Build{
		"building a.1: 0 of 0 events":                                     {ReadModels: []string{"a.1"}},
		"building a.1, b.2: 0 of 900 events":                              {ReadModels: []string{"a.1", "b.2"}, Total: 900},
		"building a.1: 300 of 900 events (33 %), about 20s left":          {ReadModels: []string{"a.1"}, Done: 300, Total: 900, Elapsed: projections.Duration(10 * time.Second)},
		"building a.1: 900 of 900 events (100 %), about 1s left":          {ReadModels: []string{"a.1"}, Done: 900, Total: 900, Elapsed: projections.Duration(10 * time.Second)},
		"building 6 read models: 1 of 7 events (14 %), about 1h0m0s left": {ReadModels: make([]string, 6), Done: 1, Total: 7, Elapsed: projections.Duration(10 * time.Minute)},
	} {
		require.Equal(t, want, b.String())
	}
}

// gate is a store that delivers nothing after a sequence of STATE, to those who read it from its beginning, until it is opened.
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
		if log == domain.State && from == 1 && len(b.Events) > 0 && b.Events[len(b.Events)-1].Seq > g.after {
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
	large := counter{name: "large.1", log: domain.State, pad: 40 << 10} // more than is held in memory
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

// watched is a counter that tells how often it was given an event.
func watched(name string, applied *atomic.Uint64, pad int) counter {
	return counter{name: name, log: domain.State, pad: pad, refuse: func(domain.Recorded) error {
		applied.Add(1)
		return nil
	}}
}

// renamedLog returns a log, the store of read models that have followed it, and the same read models of which two have another
// name; applied counts what the others are given from then on.
func renamedLog(t *testing.T) (log eventstore.Store, known func() domain.Position, dir string, at domain.Position, next counter, all []projections.Projection, applied *atomic.Uint64) {
	t.Helper()
	dir = t.TempDir()
	store, _ := openLog(t, t.TempDir())
	db, closeDB := openDB(t, dir)
	applied = &atomic.Uint64{}
	kept := watched("kept.1", applied, 0)
	before := append(projections.Table(), kept, counter{name: "large.1", log: domain.State}, counter{name: "activities.1", log: domain.Activity})
	m, stop := start(t, projections.Options{DB: db, Store: store.Log, Projections: before})
	allocateInBatches(t, store.Log, 1200)
	first := create(t, store.Log, "a", "one")
	at = edit(t, store.Log, "a", first.Seqs[0]).Max(appendActivity(t, store.Log).Position)
	require.NoError(t, m.Reach(bounded(t), at))
	require.Equal(t, at.State, kept.count(t, m))
	stop()
	closeDB()
	applied.Store(0)
	next = counter{name: "large.2", log: domain.State, pad: 40 << 10} // more than is held in memory
	all = append(projections.Table(), kept, next, counter{name: "activities.2", log: domain.Activity})
	return store.Log, store.Log.Known, dir, at, next, all, applied
}

func TestOnlyReadModelsWithAnotherNameAreBuilt(t *testing.T) {
	log, known, dir, at, next, all, applied := renamedLog(t)
	kept := all[len(all)-3].(counter)
	db, closeDB := openDB(t, dir)
	held := newGate(log, 700)
	m, stop := start(t, projections.Options{DB: db, Store: held, Projections: all, Known: known})
	<-held.reached

	// The others are read, and follow the log.
	requests := projections.RequestReads{Models: m}
	require.NoError(t, requests.Fresh(bounded(t)))
	require.Equal(t, at, m.Position())
	require.Equal(t, at.State, kept.count(t, m))
	more := create(t, log, "b", "later").Position.Max(at)
	require.NoError(t, requests.Reach(bounded(t), more))
	require.Equal(t, "later", nameOf(t, m, "b"))
	require.Equal(t, more.State, kept.count(t, m))
	require.Equal(t, uint64(1), applied.Load(), "they get what is new only")

	// Those that are built refuse to be read, and whoever needs everything waits.
	err := m.View(func(r projections.Reader) error {
		_, _, err := r.Get(next, []byte("n"))
		return err
	})
	require.Equal(t, domain.CodeUnavailable, domain.CodeOf(err))
	err = m.View(func(r projections.Reader) error {
		return r.Iterate(next, projections.Span{}, func(_, _ []byte) (bool, error) { return true, nil })
	})
	require.Equal(t, domain.CodeUnavailable, domain.CodeOf(err))
	require.Equal(t, []string{"large.2", "activities.2"}, m.Health().Missing)
	require.False(t, m.Health().OK())
	require.Equal(t, []string{"large.2", "activities.2"}, m.Health().Build.ReadModels)
	require.GreaterOrEqual(t, m.Health().Build.Total, at.State)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, m.CaughtUp(ended), context.Canceled)
	require.ErrorIs(t, m.Latest(ended), context.Canceled)

	close(held.opened)
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.True(t, m.Health().OK())
	require.Eventually(t, func() bool { return m.Health().Build == nil }, patience, time.Millisecond)
	require.Equal(t, uint32(1), m.Health().Generation)
	require.Equal(t, more.State, next.count(t, m))
	require.Equal(t, uint64(1), applied.Load())
	requireTrue(t, m)
	last := create(t, log, "c", "last").Position
	require.NoError(t, m.Reach(bounded(t), last))
	require.Equal(t, last.State, next.count(t, m))
	want := contents(t, m)
	stop()
	closeDB()

	// They are found again, and a rebuild brings all of them together.
	db, _ = openDB(t, dir)
	told := make(watch, 1)
	m, _ = start(t, projections.Options{DB: db, Store: log, Projections: all, Known: known, Log: slog.New(told)})
	require.Empty(t, m.Health().Missing)
	require.NoError(t, m.Fresh(bounded(t)))
	require.Equal(t, last.State, next.count(t, m))
	require.Equal(t, want, contents(t, m))
	_, err = m.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	requireOneGeneration(t, &fixture{Models: m, told: told})
	require.Equal(t, last.State, next.count(t, m))
	require.Equal(t, want, contents(t, m))
}

func TestFormerReadModelsAreDeleted(t *testing.T) {
	log, known, dir, _, next, all, _ := renamedLog(t)
	db, closeDB := openDB(t, dir)
	told := make(watch, 1)
	m, stop := start(t, projections.Options{DB: db, Store: log, Projections: all, Known: known, Log: slog.New(told)})
	require.NoError(t, m.CaughtUp(bounded(t)))
	former := []projections.Projection{counter{name: "large.1"}, counter{name: "activities.1"}}
	requireNoKeys := func() {
		t.Helper()
		for ctx := bounded(t); projections.HasKeys(m, 1, former...); {
			select {
			case <-told:
			case <-ctx.Done():
				t.Fatal("they are still there")
			}
		}
	}
	requireNoKeys()
	requireTrue(t, m)
	stop()
	closeDB()

	// The version before does not take the others for complete.
	large := counter{name: "large.1", log: domain.State}
	before := append(slices.Clone(all[:len(all)-2]), large, counter{name: "activities.1", log: domain.Activity})
	db, _ = openDB(t, dir)
	m, _ = start(t, projections.Options{DB: db, Store: log, Projections: before, Known: known})
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.Equal(t, m.Position().State, large.count(t, m))
	require.False(t, projections.HasKeys(m, 1, next))
	requireTrue(t, m)
}

func TestABuildOfSomeThatIsInterruptedBeginsAgain(t *testing.T) {
	for name, killed := range map[string]bool{"stopped": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			log, known, dir, at, next, all, applied := renamedLog(t)
			db, closeDB := openDB(t, dir)
			held := newGate(log, 1000)
			_, stop := start(t, projections.Options{DB: db, Store: held, Projections: all, Known: known})
			<-held.reached
			require.Eventually(t, func() bool { return hasKeys(t, db, 2) }, patience, time.Millisecond, "a part of it is written")
			if killed {
				dir = copyStill(t, dir)
			}
			stop()
			closeDB()

			db, _ = openDB(t, dir)
			told := make(watch, 1)
			m, err := projections.New(projections.Options{DB: db, Store: log, Projections: all, Known: known, Log: slog.New(told)})
			require.NoError(t, err)
			require.Equal(t, []string{"large.2", "activities.2"}, m.Health().Missing)
			run(t, m)
			require.NoError(t, m.CaughtUp(bounded(t)))
			require.Equal(t, at.State, next.count(t, m))
			require.Zero(t, applied.Load(), "the others are as they were")
			requireTrue(t, m)
			for ctx := bounded(t); hasKeys(t, db, 2); {
				select {
				case <-told:
				case <-ctx.Done():
					t.Fatal("what was interrupted is still there")
				}
			}
		})
	}
}

func TestAReadModelThatCannotBeBuiltIsMissing(t *testing.T) {
	log, known, dir, at, _, all, _ := renamedLog(t)
	db, _ := openDB(t, dir)
	kept := all[len(all)-3].(counter)
	refusing := atomic.Bool{}
	refusing.Store(true)
	all[len(all)-2] = counter{name: "moody.1", log: domain.State, refuse: func(ev domain.Recorded) error {
		if ev.Seq == 900 && refusing.Load() {
			return errors.New("not today")
		}
		return nil
	}}
	m, _ := start(t, projections.Options{DB: db, Store: log, Projections: all, Known: known})
	fault := faultOf(t, m.CaughtUp(bounded(t)))
	require.Equal(t, "moody.1", fault.Projection)
	require.Equal(t, uint64(900), fault.From)
	require.Equal(t, fault, m.Health().Fault)
	require.Equal(t, []string{"moody.1", "activities.2"}, m.Health().Missing)
	require.Equal(t, fault, faultOf(t, m.Reach(bounded(t), at)))

	more := create(t, log, "b", "later").Position
	require.NoError(t, m.ReachReadable(bounded(t), more), "the others go on")
	require.Equal(t, more.State, kept.count(t, m))
	v, err := m.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.False(t, v.OK)
	require.Equal(t, "moody.1", v.Fault.Projection)

	refusing.Store(false)
	v, err = m.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.Nil(t, v.Fault)
	require.False(t, v.OK, "there is nothing to compare")
	_, err = m.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	require.NoError(t, m.Fresh(bounded(t)))
	require.Empty(t, m.Health().Missing)
	require.Nil(t, m.Health().Fault)
	requireTrue(t, m)
}

// A store that does not answer is tried again.
func TestABuildOfSomeThatFailsIsTriedAgain(t *testing.T) {
	log, known, dir, at, next, all, _ := renamedLog(t)
	db, _ := openDB(t, dir)
	var times atomic.Uint64
	failing := faulty{Store: log, info: func(_ domain.Log, i eventstore.Info) (eventstore.Info, error) {
		if times.Add(1) < 8 {
			return i, errors.New("not now")
		}
		return i, nil
	}}
	m, _ := start(t, projections.Options{DB: db, Store: failing, Projections: all, Known: known})
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.Equal(t, at.State, next.count(t, m))
	requireTrue(t, m)
}

// Versions that built all read models when one had another name have not listed them.
func TestTheStoreOfAnEarlierVersionIsRead(t *testing.T) {
	log, known, dir, at, _, all, applied := renamedLog(t)
	db, _ := openDB(t, dir)
	projections.ForgetAreas(t, db)
	before := append(slices.Clone(all[:len(all)-2]), counter{name: "large.1", log: domain.State}, counter{name: "activities.1", log: domain.Activity})
	m, stop := start(t, projections.Options{DB: db, Store: log, Projections: before, Known: known})
	require.Equal(t, at, m.Position())
	require.Empty(t, m.Health().Missing)
	require.NoError(t, m.Fresh(bounded(t)))
	require.Zero(t, applied.Load())
	requireTrue(t, m)
	stop()
	applied.Store(0)
	projections.ForgetAreas(t, db)
	m, err := projections.New(projections.Options{DB: db, Store: log, Projections: all, Known: known, Log: quiet})
	require.NoError(t, err)
	require.Empty(t, m.Health().Missing, "all are built")
	require.Equal(t, domain.Position{}, m.Position())
	run(t, m)
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.Equal(t, at.State, applied.Load())
}

// A store that was left within an event, with read models that are counted, is built again when these are others.
func TestReadModelsWithinAnEventAreBuiltAgain(t *testing.T) {
	log, known, dir, at, next, all, applied := renamedLog(t)
	db, _ := openDB(t, dir)
	projections.LeaveWithin(t, db, domain.State)
	m, _ := start(t, projections.Options{DB: db, Store: log, Projections: all, Known: known})
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.Equal(t, at.State, applied.Load())
	require.Equal(t, at.State, next.count(t, m))
	requireTrue(t, m)
}
