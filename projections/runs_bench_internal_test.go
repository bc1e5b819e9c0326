package projections

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
)

// runsBench is the read model of runs by itself, with events of its own times.
type runsBench struct {
	t     testing.TB
	db    *badger.DB
	gen   *generation
	tries *uint32 // generations in the store
	seq   uint64
	log   []domain.Recorded
}

func newRunsBench(t testing.TB) *runsBench {
	t.Helper()
	db, err := badger.Open(badger.DefaultOptions("").WithInMemory(true).WithLogger(nil).WithMemTableSize(8 << 20))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return (&runsBench{db: db, tries: new(uint32)}).fresh(t)
}

// fresh is an empty read model in the same store.
func (b *runsBench) fresh(t testing.TB) *runsBench {
	*b.tries++
	return &runsBench{t: t, db: b.db, tries: b.tries, gen: newGeneration(*b.tries, []Projection{Runs{}})}
}

func (b *runsBench) area() []byte { return b.gen.areas[Runs{}.Name()] }

// begins is when everything of a bench begins; an event takes a second.
var begins = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// record applies events of a run of w1, and returns the sequence of the last.
func (b *runsBench) record(run string, events ...domain.Event) uint64 {
	b.t.Helper()
	for _, ev := range events {
		b.seq++
		b.apply(domain.Recorded{
			Log: domain.Activity, Seq: b.seq, Group: (b.seq + 2) / 3 * 3, At: begins.Add(time.Duration(b.seq) * time.Second), Stream: domain.StreamID{Scope: "w1"},
			Meta: domain.Meta{CorrelationID: run, UserID: "ada", Host: domain.Host{Replica: "n1"}}, Data: ev,
		})
	}
	return b.seq
}

func (b *runsBench) apply(ev domain.Recorded) {
	b.t.Helper()
	b.log = append(b.log, ev)
	b.applyGroup([]domain.Recorded{ev})
}

func (b *runsBench) applyGroup(events []domain.Recorded) {
	b.t.Helper()
	require.NoError(b.t, b.db.Update(func(txn *badger.Txn) error {
		return Runs{}.ApplyGroup(Tx{keys: txnKeys{txn: txn}, area: b.area()}, events)
	}), "%+v", events)
}

func (b *runsBench) drop(to uint64) {
	b.t.Helper()
	b.record("", activity.Dropped{WorkspaceID: "w1", To: to})
}

func (b *runsBench) view(fn func(Reader) error) {
	b.t.Helper()
	require.NoError(b.t, b.db.View(func(txn *badger.Txn) error { return fn(Reader{txn, b.gen}) }))
}

// rows returns everything that is stored.
func (b *runsBench) rows() map[string]string {
	b.t.Helper()
	all := map[string]string{}
	require.NoError(b.t, b.db.View(func(txn *badger.Txn) error {
		return iterate(txn, b.area(), Span{}, func(key, value []byte) (bool, error) {
			all[string(key)] = string(value)
			return true, nil
		})
	}))
	return all
}

func (b *runsBench) run(id string) (run Run) {
	b.t.Helper()
	b.view(func(r Reader) (err error) {
		var ok bool
		run, ok, err = Runs{}.Get(r, "w1", id)
		require.True(b.t, ok || err != nil, "run %s is not known", id)
		return err
	})
	return run
}

func (b *runsBench) listed(q RunsQuery) (runs []ListedRun) {
	b.t.Helper()
	b.view(func(r Reader) error {
		return Runs{}.List(r, "w1", q, func(l ListedRun) bool {
			runs = append(runs, l)
			return true
		})
	})
	return runs
}

func (b *runsBench) countRuns(automation string) map[RunStatus]int {
	b.t.Helper()
	counts := map[RunStatus]int{}
	b.view(func(r Reader) error {
		for _, s := range append(RunStatuses(), "") {
			n, err := Runs{}.Count(r, "w1", automation, s)
			if err != nil {
				return err
			}
			if n > 0 {
				counts[s] = n
			}
		}
		return nil
	})
	return counts
}

func (b *runsBench) unfinished() (trees []UnfinishedTree) {
	b.t.Helper()
	b.view(func(r Reader) error {
		return Runs{}.Unfinished(r, func(t UnfinishedTree) bool {
			t.first = runBegin{}
			trees = append(trees, t)
			return true
		})
	})
	return trees
}

func (b *runsBench) ended(trigger, slug string) (attempts int, ended bool) {
	b.t.Helper()
	b.view(func(r Reader) (err error) {
		attempts, ended, err = Runs{}.Ended(r, "w1", trigger, slug)
		return err
	})
	return attempts, ended
}

// cancellingWait is a wait that cancels triggers, and where it ended.
type cancellingWait struct {
	CancellingWait
	end uint64 // 0: it is pending
}

func (b *runsBench) cancelling(since uint64) map[string]cancellingWait {
	b.t.Helper()
	found := map[string]cancellingWait{}
	b.view(func(r Reader) error {
		return Runs{}.Waits(r, "w1", since, func(id string, end uint64) (bool, error) {
			w, ok, err := Runs{}.Cancelling(r, "w1", id)
			require.True(b.t, ok)
			found[id] = cancellingWait{w, end}
			return true, err
		})
	})
	return found
}

// isWhole requires that what is left of the log makes the same bytes.
func (b *runsBench) isWhole() {
	b.t.Helper()
	var below uint64
	for _, ev := range b.log {
		if gone, ok := ev.Data.(activity.Dropped); ok {
			below = max(below, gone.To+1)
		}
	}
	left := slices.DeleteFunc(slices.Clone(b.log), func(ev domain.Recorded) bool { return ev.Seq < below })
	again := b.fresh(b.t)
	for len(left) > 0 {
		n := groupLength(left)
		again.applyGroup(left[:n])
		left = left[n:]
	}
	require.Equal(b.t, again.rows(), b.rows())
}

// The triggers of tests.
var (
	endpoint = activity.Trigger{Type: activity.ByEndpoint, Value: "pay"}
	called   = activity.Trigger{Type: activity.ByAutomation, Value: "pay"}
)

func byEvent(id string) activity.Trigger {
	return activity.Trigger{Type: activity.ByEvent, Value: "paid", ID: id}
}

func stampAt(second int) string {
	return begins.Add(time.Duration(second) * time.Second).Format(domain.Timestamp)
}

func started(id, slug string, trigger activity.Trigger, second int) activity.TreeStarted {
	return activity.TreeStarted{ExecutionID: id, Automation: slug, Trigger: trigger, Attempt: 1, Replica: "n1", StartedAt: stampAt(second)}
}

// done is the end of the first execution of a tree, after three seconds.
func done(id, slug string, trigger activity.Trigger, second int) activity.Executed {
	body, _ := json.Marshal(trigger)
	return activity.Executed{Slug: slug, ExecutionID: id, Trigger: body, StartedAt: stampAt(second), Duration: 3000}
}

// failing is an execution that failed.
func failing(e activity.Executed, name string) activity.Executed {
	e.Error = &activity.Failure{Error: name, Message: "no"}
	return e
}

// within is an execution that another one called.
func within(e activity.Executed, parent string) activity.Executed {
	e.ParentExecutionID = parent
	return e
}

func recordedAs(e activity.Executed, as any) activity.Executed {
	e.Recorded = as
	return e
}

func pendingWait(id, execution, wait string) activity.WaitPending {
	return activity.WaitPending{ID: id, ExecutionID: execution, ExpiresAt: stampAt(600), Wait: json.RawMessage(wait)}
}

const cancels = `{"oneOf":[{"event":"a"},{"event":"b","cancelTriggers":true}]}`
