package projections_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/projections"
)

func TestAWriterReadsItsOwnWrites(t *testing.T) {
	h := newFixture(t)
	ctx := bounded(t)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			id := fmt.Sprintf("w%d", w)
			r := create(t, h.log.Log, id, "0")
			for i := 1; i <= 40; i++ {
				if err := h.Reach(ctx, r.Position); err != nil {
					t.Error(err)
					return
				}
				if got := nameOf(t, h.Models, id); got != fmt.Sprint(i-1) {
					t.Errorf("read %q, wrote %d", got, i-1)
				}
				r = update(t, h.log.Log, id, fmt.Sprint(i), r.Seqs[0])
			}
		})
	}
	writers.Wait()
	require.NoError(t, h.Fresh(ctx))
	require.Equal(t, h.log.Log.Known(), h.Position())
	require.Equal(t, 8, listKey(t, h.Models))
}

func TestTheLastUpdatedIsListedFirst(t *testing.T) {
	h := newFixture(t)
	a := create(t, h.log.Log, "a", "a")
	create(t, h.log.Log, "b", "b")
	last := update(t, h.log.Log, "a", "a2", a.Seqs[0])
	require.NoError(t, h.Reach(bounded(t), last.Position))
	var seqs []uint64
	require.NoError(t, h.View(func(r projections.Reader) error {
		return projections.Workspaces{}.List(r, false, func(d projections.Record) bool {
			seqs = append(seqs, d.Revision)
			return true
		})
	}))
	require.Equal(t, []uint64{2, 1}, seqs, "a was changed once, b never")
}

func TestADocumentIsServedAsStored(t *testing.T) {
	h := newFixture(t)
	first := create(t, h.log.Log, "a", "one")
	second := update(t, h.log.Log, "a", "two", first.Seqs[0])
	require.NoError(t, h.Reach(bounded(t), second.Position))
	made, _, err := h.log.Log.Read(t.Context(), domain.State, 1)
	require.NoError(t, err)
	changed, _, err := h.log.Log.Read(t.Context(), domain.State, 2)
	require.NoError(t, err)
	require.NoError(t, h.View(func(r projections.Reader) error {
		doc, ok, err := projections.Workspaces{}.Get(r, "a")
		require.True(t, ok)
		require.EqualValues(t, 2, doc.Revision)
		const form = "2006-01-02T15:04:05.000Z"
		require.JSONEq(t, fmt.Sprintf(`{"id":"a","name":"two","labels":[],"dirty":true,"contentRevision":2,"createdAt":%q,"createdBy":"u1","updatedAt":%q,"updatedBy":"u1"}`,
			made.At.UTC().Format(form), changed.At.UTC().Format(form)), string(doc.JSON))
		return err
	}))
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	h := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.Reach(ctx, domain.Position{State: 1}), context.Canceled)
	require.NoError(t, h.Reach(ctx, domain.Position{}), "nothing to wait for")
}

func TestEmptyLogsAreCaughtUp(t *testing.T) {
	h := newFixture(t)
	require.NoError(t, h.CaughtUp(bounded(t)))
	require.True(t, h.Health().OK())
}

func TestMetricsTellTheLag(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	at := allocateBlocks(t, log.Log, 3)
	m, err := projections.New(projections.Options{DB: db, Store: log.Log, Known: log.Log.Known, Metrics: reg})
	require.NoError(t, err)
	require.Equal(t, uint64(3), m.Health().Logs[0].Lag)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = m.Run(ctx) })
	require.NoError(t, m.Reach(bounded(t), at))
	require.Zero(t, m.Health().Logs[0].Lag)
	cancel()
	running.Wait()
	n, err := testutil.GatherAndCount(reg)
	require.NoError(t, err)
	require.Equal(t, 7, n, "two lags, one counter, two histograms, two counts of a build")
}

var _ eventstore.Store = faulty{}

var (
	states     = counter{name: "states.1", log: domain.State}
	activities = counter{name: "activities.1", log: domain.Activity}
)

func TestAnEventDeliveredTwiceCountsOnce(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	twice := faulty{Store: log.Log, deliver: func(_ domain.Log, b eventstore.Batch) eventstore.Batch {
		b.Events = append(b.Events, b.Events...)
		return b
	}}
	m, _ := start(t, projections.Options{DB: db, Store: twice, Projections: []projections.Projection{states, activities}})
	at := allocateBlocks(t, log.Log, 20).Max(appendActivity(t, log.Log).Position)
	require.NoError(t, m.Reach(bounded(t), at))
	require.Equal(t, uint64(20), states.count(t, m))
	require.Equal(t, uint64(1), activities.count(t, m))
}

func TestABatchTooLargeForBadgerIsSplit(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	at := allocateBlocks(t, log.Log, 150)
	big := counter{name: "big.1", log: domain.State, pad: 30 << 10}
	m, _ := start(t, projections.Options{DB: db, Store: log.Log, Projections: []projections.Projection{big}})
	require.NoError(t, m.Reach(bounded(t), at))
	require.Equal(t, uint64(150), big.count(t, m))
}

// Two projections that fit a transaction each, but not together; the second
// fails once, which is where a crash would leave the first one event ahead.
func TestAnEventTooLargeForBadgerIsAppliedByOneProjectionAtATime(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	var broken atomic.Bool
	broken.Store(true)
	a := counter{name: "a.1", log: domain.State, pad: 20 << 10, times: 40}
	b := counter{name: "b.1", log: domain.State, pad: 20 << 10, times: 40, refuse: func(ev domain.Recorded) error {
		if broken.Load() {
			return refuseAt(3, ev)
		}
		return nil
	}}
	o := projections.Options{DB: db, Store: log.Log, Projections: []projections.Projection{a, b}}
	at := allocateBlocks(t, log.Log, 5)
	m, stop := start(t, o)
	require.Equal(t, uint64(3), faultOf(t, m.Reach(bounded(t), at)).From)
	require.Equal(t, []uint64{3, 2}, []uint64{a.count(t, m), b.count(t, m)})
	stop()

	broken.Store(false)
	m, _ = start(t, o)
	require.NoError(t, m.Reach(bounded(t), at))
	require.Equal(t, []uint64{5, 5}, []uint64{a.count(t, m), b.count(t, m)})
	requireTrue(t, m)
}

func TestAnEventTooLargeForOneProjectionStops(t *testing.T) {
	h := newFixture(t, counter{name: "huge.1", log: domain.State, pad: 20 << 10, times: 100})
	fault := faultOf(t, h.Reach(bounded(t), allocateBlocks(t, h.log.Log, 1)))
	require.Equal(t, "huge.1", fault.Projection)
	require.ErrorIs(t, fault, badger.ErrTxnTooBig)
}

func TestAProjectionThatFailsStopsItsLogOnly(t *testing.T) {
	for name, refuse := range map[string]func(domain.Recorded) error{
		"by an error": func(ev domain.Recorded) error { return refuseAt(4, ev) },
		"by a panic": func(ev domain.Recorded) error {
			if refuseAt(4, ev) != nil {
				panic("no")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			log, _ := openLog(t, t.TempDir())
			db, _ := openDB(t, t.TempDir())
			at := allocateBlocks(t, log.Log, 6)
			bad := counter{name: "bad.1", log: domain.State, refuse: refuse}
			m, _ := start(t, projections.Options{DB: db, Store: log.Log, Projections: []projections.Projection{bad, activities}})
			fault := faultOf(t, m.Reach(bounded(t), at))
			require.Equal(t, projections.FaultApply, fault.Kind)
			require.Equal(t, "bad.1", fault.Projection)
			require.Equal(t, []uint64{4, 4}, []uint64{fault.From, fault.To})
			require.Equal(t, uint64(3), bad.count(t, m), "everything before it counts")

			require.NoError(t, m.Reach(bounded(t), appendActivity(t, log.Log).Position))
			require.Equal(t, uint64(1), activities.count(t, m))
			health := m.Health()
			require.False(t, health.OK())
			require.Equal(t, uint64(3), health.Logs[0].Applied)
			require.Equal(t, fault, health.Logs[0].Fault)
			require.Nil(t, health.Logs[1].Fault)
		})
	}
}

func refuseAt(seq uint64, ev domain.Recorded) error {
	if ev.Seq == seq {
		return errors.New("no")
	}
	return nil
}

func faultOf(tb testing.TB, err error) *projections.Fault {
	tb.Helper()
	fault, ok := errors.AsType[*projections.Fault](err)
	require.True(tb, ok, "%v", err)
	return fault
}

// future is an event of a later version.
type future struct{}

func (future) EventType() string { return "workspaces.teleported" }

func TestAnUnknownStateEventStops(t *testing.T) {
	h := newFixture(t)
	allocateBlocks(t, h.log.Log, 2)
	at := add(t, h.log.Log, workspace.Stream("w9"), 0, future{}).Position
	fault := faultOf(t, h.Reach(bounded(t), at))
	require.Equal(t, projections.FaultUnknown, fault.Kind)
	require.Equal(t, uint64(3), fault.From)
	require.Contains(t, fault.Message, "workspaces.teleported")
}

func TestAnUnknownActivityEventIsAUsersOwn(t *testing.T) {
	h := newFixture(t, activities)
	at := add(t, h.log.Log, domain.StreamID{Scope: "w1"}, 0, future{}).Position
	require.NoError(t, h.Reach(bounded(t), at))
	require.Equal(t, uint64(1), activities.count(t, h.Models))
}

func TestAVoidEventTakesItsPlaceAndDoesNotCount(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	at := allocateBlocks(t, log.Log, 3)
	void := faulty{Store: log.Log, deliver: func(_ domain.Log, b eventstore.Batch) eventstore.Batch {
		for i := range b.Events {
			if b.Events[i].Seq == 2 {
				b.Events[i].Data = domain.Void{Name: "workspaces.created"}
			}
		}
		return b
	}}
	m, _ := start(t, projections.Options{DB: db, Store: void, Projections: []projections.Projection{states}})
	require.NoError(t, m.Reach(bounded(t), at))
	require.Equal(t, uint64(2), states.count(t, m))
}

func TestAGapStopsAndIsNamed(t *testing.T) {
	tests := map[string]struct {
		lost     func(domain.Recorded) bool
		info     func(eventstore.Info) eventstore.Info
		from, to uint64
		applied  uint64
	}{
		"in the middle":    {lost: func(ev domain.Recorded) bool { return ev.Seq == 3 || ev.Seq == 4 }, from: 3, to: 4, applied: 2},
		"at the beginning": {lost: func(ev domain.Recorded) bool { return ev.Seq == 1 }, from: 1, to: 1},
		"at the end":       {lost: func(ev domain.Recorded) bool { return ev.Seq > 4 }, from: 5, to: 6, applied: 4},
		"as the log itself says": {
			lost: func(domain.Recorded) bool { return false },
			info: func(i eventstore.Info) eventstore.Info { i.First = 3; return i }, from: 1, to: 2,
		},
		"in a log that is short of messages": {
			lost: func(ev domain.Recorded) bool { return ev.Seq == 2 },
			info: func(i eventstore.Info) eventstore.Info { i.Messages--; return i }, from: 2, to: 2,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			log, _ := openLog(t, t.TempDir())
			db, _ := openDB(t, t.TempDir())
			at := allocateBlocks(t, log.Log, 6)
			lossy := faulty{Store: log.Log, deliver: without(func(ev domain.Recorded) bool { return ev.Log == domain.State && tt.lost(ev) })}
			lossy.info = func(l domain.Log, i eventstore.Info) (eventstore.Info, error) {
				if l == domain.State && tt.info != nil {
					i = tt.info(i)
				}
				return i, nil
			}
			m, _ := start(t, projections.Options{DB: db, Store: lossy})
			fault := faultOf(t, m.Reach(bounded(t), at))
			require.Equal(t, projections.FaultGap, fault.Kind)
			require.Equal(t, []uint64{tt.from, tt.to}, []uint64{fault.From, fault.To})
			require.Equal(t, tt.applied, m.Position().State)
		})
	}
}

func TestAGapBehindTheCheckpointIsFoundAtTheStart(t *testing.T) {
	h := newFixture(t)
	require.NoError(t, h.Reach(bounded(t), allocateBlocks(t, h.log.Log, 5)))
	h.stop()
	lossy := faulty{Store: h.log.Log, deliver: without(func(ev domain.Recorded) bool { return ev.Seq == 2 })}
	lossy.info = func(l domain.Log, i eventstore.Info) (eventstore.Info, error) {
		if l == domain.State {
			i.Messages--
		}
		return i, nil
	}
	m, _ := start(t, projections.Options{DB: h.db, Store: lossy})
	fault := faultOf(t, m.CaughtUp(bounded(t)))
	require.Equal(t, []uint64{2, 2}, []uint64{fault.From, fault.To})
	require.Equal(t, 5, listKey(t, m), "what was applied is still served")
}

func TestWhatActivityPurgedIsNoGap(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	var at []uint64
	for range 5 {
		at = append(at, appendActivity(t, log.Log).Position.Activity)
	}
	purged := faulty{Store: log.Log, deliver: without(func(ev domain.Recorded) bool { return ev.Seq != at[1] })}
	m, _ := start(t, projections.Options{DB: db, Store: purged, Projections: []projections.Projection{activities}})
	require.NoError(t, m.Reach(bounded(t), domain.Position{Activity: at[4]}), "the end of the log is reached all the same")
	require.Equal(t, uint64(1), activities.count(t, m))
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.True(t, m.Health().OK())
}

func TestAStoreThatFailsIsTriedAgain(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	at := allocateBlocks(t, log.Log, 3)
	var asked atomic.Int32
	flaky := faulty{Store: log.Log, info: func(_ domain.Log, i eventstore.Info) (eventstore.Info, error) {
		if asked.Add(1) <= 3 {
			return i, eventstore.ErrUnavailable
		}
		return i, nil
	}}
	m, _ := start(t, projections.Options{DB: db, Store: flaky})
	require.NoError(t, m.Reach(bounded(t), at))
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.True(t, m.Health().OK(), "the fault passed")
}

func TestACrashLosesAndRepeatsNothing(t *testing.T) {
	h := newFixture(t, states, activities)
	for happened := uint64(1); happened <= 5; happened++ {
		at := allocateBlocks(t, h.log.Log, 30).Max(appendActivity(t, h.log.Log).Position)
		require.NoError(t, h.Reach(bounded(t), at))
		crashed := copyDir(t, h.dbDir) // as a kill would leave it: open, not flushed
		allocateBlocks(t, h.log.Log, 10)

		db, closeDB := openDB(t, crashed)
		require.Empty(t, db.Moved())
		m, stop := start(t, projections.Options{DB: db, Store: h.log.Log, Projections: []projections.Projection{states, activities}})
		require.GreaterOrEqual(t, m.Position().State, at.State, "it goes on where it was")
		require.NoError(t, m.Reach(bounded(t), h.log.Log.Known()))
		require.Equal(t, h.log.Log.Known().State, states.count(t, m))
		require.Equal(t, happened, activities.count(t, m))
		stop()
		closeDB()
	}
}

func TestACleanStartGoesOn(t *testing.T) {
	h := newFixture(t)
	create(t, h.log.Log, "a", "one")
	require.NoError(t, h.Fresh(bounded(t)))
	h.closeAll()
	again := openFixture(t, h.logDir, h.dbDir)
	require.Equal(t, "one", nameOf(t, again.Models, "a"), "served before the log is read")
	require.NoError(t, again.CaughtUp(bounded(t)))
	require.Equal(t, uint32(1), again.Health().Generation)
}

func TestAnotherLogMeansARebuild(t *testing.T) {
	h := newFixture(t)
	create(t, h.log.Log, "old", "old")
	require.NoError(t, h.Fresh(bounded(t)))
	h.closeAll()
	require.NoError(t, os.RemoveAll(h.logDir))
	log, closeLog := openLog(t, h.logDir)
	create(t, log.Log, "new", "new")
	closeLog()
	again := openFixture(t, h.logDir, h.dbDir)
	requireRebuilt(t, again)
	require.Empty(t, nameOf(t, again.Models, "old"))
	require.Equal(t, "new", nameOf(t, again.Models, "new"))
}

// A log restored from a backup keeps its identity and is shorter, or goes on
// differently.
func TestARestoredLogMeansARebuild(t *testing.T) {
	tests := map[string]int{"that is behind": 1, "that went another way": 3}
	for name, added := range tests {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			create(t, h.log.Log, "a", "kept")
			require.NoError(t, h.Fresh(bounded(t)))
			h.closeAll()
			backup := copyDir(t, h.logDir)

			h = openFixture(t, h.logDir, h.dbDir)
			require.NoError(t, h.Reach(bounded(t), allocateBlocks(t, h.log.Log, 3)))
			h.closeAll()

			log, closeLog := openLog(t, backup)
			allocateBlocks(t, log.Log, added)
			closeLog()
			restored := openFixture(t, backup, h.dbDir)
			requireRebuilt(t, restored)
			require.Equal(t, "kept", nameOf(t, restored.Models, "a"))
			require.Equal(t, 1+added, listKey(t, restored.Models))
		})
	}
}

func TestAChangedShapeMeansARebuild(t *testing.T) {
	h := newFixture(t, states)
	require.NoError(t, h.Reach(bounded(t), allocateBlocks(t, h.log.Log, 4)))
	h.closeAll()
	next := counter{name: "states.2", log: domain.State}
	again := openFixture(t, h.logDir, h.dbDir, next)
	requireRebuilt(t, again)
	require.Equal(t, uint64(4), next.count(t, again.Models))
}

func requireRebuilt(t *testing.T, h *fixture) {
	t.Helper()
	require.NoError(t, h.CaughtUp(bounded(t)))
	require.NoError(t, h.Fresh(bounded(t)))
	require.Greater(t, h.Health().Generation, uint32(1))
	require.True(t, h.Health().OK())
	v, err := h.Verify(bounded(t), nil)
	require.NoError(t, err)
	require.True(t, v.OK, "%+v", v)
}

func TestADeletedStoreIsRebuilt(t *testing.T) {
	h := newFixture(t)
	create(t, h.log.Log, "a", "one")
	require.NoError(t, h.Fresh(bounded(t)))
	h.closeAll()
	require.NoError(t, os.RemoveAll(h.dbDir))
	again := openFixture(t, h.logDir, h.dbDir)
	require.NoError(t, again.Fresh(bounded(t)))
	require.Equal(t, "one", nameOf(t, again.Models, "a"))
	require.NoFileExists(t, h.dbDir+".corrupt")
}

func TestAMomentLastsUntilSomethingChanges(t *testing.T) {
	h := newFixture(t)
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

func TestAMomentOfAProjectionLastsWhileOthersChange(t *testing.T) {
	h := newFixture(t)
	first := create(t, h.log.Log, "a", "one")
	require.NoError(t, h.Reach(bounded(t), first.Position))
	rights, records := h.MomentsOf(projections.Access{}).Now(), h.MomentsOf(projections.Workspaces{}).Now()
	require.NotZero(t, rights)
	require.NotZero(t, records)

	second := update(t, h.log.Log, "a", "two", first.Seqs[0])
	require.NoError(t, h.Reach(bounded(t), second.Position))
	require.Equal(t, rights, h.MomentsOf(projections.Access{}).Now(), "a new name changes no rights")
	require.NotEqual(t, records, h.MomentsOf(projections.Workspaces{}).Now())

	shared := workspace.Shared{SubjectID: "a", Target: access.Target{ID: "bob"}}
	third := add(t, h.log.Log, workspace.Stream("a"), second.Seqs[0], shared)
	require.NoError(t, h.Reach(bounded(t), third.Position))
	require.NotEqual(t, rights, h.MomentsOf(projections.Access{}).Now(), "who has waited for a write is not told the moment before it")

	rights = h.MomentsOf(projections.Access{}).Now()
	_, err := h.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	require.NotEqual(t, rights, h.MomentsOf(projections.Access{}).Now(), "what was rebuilt is looked at anew")
	require.Zero(t, h.MomentsOf(counter{name: "unknown"}).Now(), "of what is not there no moment lasts")
}

func TestAWatcherIsToldWhenThePositionChanges(t *testing.T) {
	h := newFixture(t)
	changed, stop := h.Watch()
	first := create(t, h.log.Log, "a", "one")
	await := func(at domain.Position) {
		t.Helper()
		for h.Position().Max(at) != h.Position() {
			select {
			case <-changed:
			case <-bounded(t).Done():
				require.Fail(t, "nobody told of a change")
			}
		}
	}
	await(first.Position)
	second := update(t, h.log.Log, "a", "two", first.Seqs[0])
	await(second.Position)
	stop()
	select {
	case <-changed:
	default:
	}
	third := update(t, h.log.Log, "a", "three", second.Seqs[0])
	require.NoError(t, h.Reach(bounded(t), third.Position))
	require.Empty(t, changed)
}

func TestAStateOfAWorkspaceTellsOfEachChange(t *testing.T) {
	h := newFixture(t)
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
