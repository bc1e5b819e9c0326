package projections_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/projections"
)

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
	at := fill(t, log.Log, 20).Max(happen(t, log.Log).Position)
	require.NoError(t, m.Reach(bounded(t), at))
	require.Equal(t, uint64(20), states.count(t, m))
	require.Equal(t, uint64(1), activities.count(t, m))
}

func TestABatchTooLargeForBadgerIsSplit(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	at := fill(t, log.Log, 150)
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
	at := fill(t, log.Log, 5)
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
	h := newHouse(t, counter{name: "huge.1", log: domain.State, pad: 20 << 10, times: 100})
	fault := faultOf(t, h.Reach(bounded(t), fill(t, h.log.Log, 1)))
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
			at := fill(t, log.Log, 6)
			bad := counter{name: "bad.1", log: domain.State, refuse: refuse}
			m, _ := start(t, projections.Options{DB: db, Store: log.Log, Projections: []projections.Projection{bad, activities}})
			fault := faultOf(t, m.Reach(bounded(t), at))
			require.Equal(t, projections.FaultApply, fault.Kind)
			require.Equal(t, "bad.1", fault.Projection)
			require.Equal(t, []uint64{4, 4}, []uint64{fault.From, fault.To})
			require.Equal(t, uint64(3), bad.count(t, m), "everything before it counts")

			require.NoError(t, m.Reach(bounded(t), happen(t, log.Log).Position))
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
	h := newHouse(t)
	fill(t, h.log.Log, 2)
	at := add(t, h.log.Log, workspace.Stream("w9"), 0, future{}).Position
	fault := faultOf(t, h.Reach(bounded(t), at))
	require.Equal(t, projections.FaultUnknown, fault.Kind)
	require.Equal(t, uint64(3), fault.From)
	require.Contains(t, fault.Message, "workspaces.teleported")
}

func TestAnUnknownActivityEventIsAUsersOwn(t *testing.T) {
	h := newHouse(t, activities)
	at := add(t, h.log.Log, domain.StreamID{Scope: "w1"}, 0, future{}).Position
	require.NoError(t, h.Reach(bounded(t), at))
	require.Equal(t, uint64(1), activities.count(t, h.Models))
}

func TestAVoidEventTakesItsPlaceAndDoesNotCount(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	at := fill(t, log.Log, 3)
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
			at := fill(t, log.Log, 6)
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
	h := newHouse(t)
	require.NoError(t, h.Reach(bounded(t), fill(t, h.log.Log, 5)))
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
	require.Equal(t, 5, listed(t, m), "what was applied is still served")
}

func TestWhatActivityPurgedIsNoGap(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	for range 5 {
		happen(t, log.Log)
	}
	purged := faulty{Store: log.Log, deliver: without(func(ev domain.Recorded) bool { return ev.Seq != 2 })}
	m, _ := start(t, projections.Options{DB: db, Store: purged, Projections: []projections.Projection{activities}})
	require.NoError(t, m.Reach(bounded(t), domain.Position{Activity: 5}), "the end of the log is reached all the same")
	require.Equal(t, uint64(1), activities.count(t, m))
	require.NoError(t, m.CaughtUp(bounded(t)))
	require.True(t, m.Health().OK())
}

func TestAStoreThatFailsIsTriedAgain(t *testing.T) {
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	at := fill(t, log.Log, 3)
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
