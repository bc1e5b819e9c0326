package schedules_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
	"svc/streams"
)

// stuck is an automation that comes to its end only while emits are not slow.
func stuck(slug string) workspace.Entry {
	return doc(slug, `"when":{"schedules":["*/5 * * * *"]},"do":[{"emit":{"event":"one"}},{"emit":{"event":"two"}}],"output":{"attempt":"{{run.attempt}}"}`)
}

// begun returns how often the trees of w1 were begun that did not end.
func (h *fixture) begun() (attempts []int) {
	require.NoError(h.t, h.first.models.View(func(r projections.Reader) error {
		return projections.Runs{}.Unfinished(r, func(tree projections.UnfinishedTree) bool {
			attempts = append(attempts, tree.Attempt)
			return true
		})
	}))
	return attempts
}

// started is how often trees are on the log as begun.
func (h *fixture) started() (n int) {
	h.t.Helper()
	for _, ev := range livetest.Activity(h.t, h.store.Log) {
		if _, is := ev.Data.(activity.TreeStarted); is {
			n++
		}
	}
	return n
}

func (h *fixture) awaitStart(attempt int) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		all := h.begun()
		return len(all) == 1 && all[0] == attempt
	}, patience, tick)
}

// fireStuck opens a fixture whose first node fires a schedule at 10:05. Its automation does not end
// until the node is told to go on.
func fireStuck(t *testing.T) (h *fixture, n *node, at func(minute, second int) time.Time) {
	t.Helper()
	h, at = clocked(t, 1, stuck("tick"))
	n = h.first
	n.paces.set(true)
	n.fire()
	h.awaitScheduled("w1", 1)
	h.clock.set(at(5, 0))
	return h, n, at
}

func TestWhatFiredAndDidNotEndIsBegunAgain(t *testing.T) {
	t.Parallel()
	h, n, at := fireStuck(t)
	h.awaitStart(1)
	n.stopNode()
	n.restart()
	n.fire()
	h.awaitStart(2)
	n.stopNode()
	n.paces.set(false)
	h.clock.set(at(6, 0))
	n.restart()
	n.fire()
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 1 }, patience, tick)
	require.Len(t, h.firings("w1"), 1)
	require.Len(t, h.events("w1", "runtime.interactions.triggered"), 1)
	n.stopNode()
	n.restart()
	n.fire()
	h.clock.set(at(10, 0))
	h.awaitFirings("w1", 2)
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 2 }, patience, tick)
}

// Whoever looks after waits goes on with it, from there.
func TestWhatOnceStoodInAWaitIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, doc("tick", `"when":{"schedules":["*/5 * * * *"]},"do":[{"wait":{"timeout":0.01}},{"emit":{"event":"one"}},{"emit":{"event":"two"}}]`))
	n := h.first
	n.paces.set(true)
	n.fire()
	h.awaitScheduled("w1", 1)
	h.clock.set(at(5, 0))
	require.Eventually(t, func() bool { return len(h.events("w1", "one")) == 1 }, patience, tick)
	n.stopNode()
	n.restart()
	n.fire()
	h.clock.set(at(10, 0))
	require.Eventually(t, func() bool { return len(h.events("w1", "one")) == 2 }, patience, tick)
	require.Equal(t, []int{1, 1}, h.begun())
}

func TestWhatIsInterruptedTooOftenIsToldAndLeft(t *testing.T) {
	t.Parallel()
	h, n, _ := fireStuck(t)
	for attempt := 1; attempt <= 3; attempt++ {
		h.awaitStart(attempt)
		n.stopNode()
		n.restart()
		n.fire()
	}
	require.Eventually(t, func() bool { return len(h.events("w1", "error")) == 1 }, patience, tick)
	told, ok := h.events("w1", "error")[0].Data.(activity.Failure)
	require.True(t, ok)
	require.Equal(t, "ExecutionInterruptedError", told.Error)
}

func TestANodeThatWasKilledFiresNothingTwice(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"), every("tock", "*/7 * * * *"))
	h.first.fire()
	h.awaitScheduled("w1", 2)
	const key = "share/1/0"
	require.Eventually(t, func() bool {
		_, _, err := h.memory.Get(t.Context(), key)
		return err == nil
	}, patience, tick)
	left, _, err := h.memory.Get(t.Context(), key)
	require.NoError(t, err)
	h.clock.set(at(5, 0))
	h.awaitFirings("w1", 1)
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 1 }, patience, tick)
	h.first.stopNode()
	_, err = h.memory.Put(t.Context(), key, left) // as if nothing had been saved since
	require.NoError(t, err)
	h.clock.set(at(8, 0))
	h.first.restart()
	h.first.fire()
	require.Equal(t, fired{"tock", "*/7 * * * *", domain.FormatTime(at(7, 0)), true}, h.awaitFirings("w1", 2)[1])
	h.clock.set(at(10, 0))
	require.Equal(t, fired{"tick", "*/5 * * * *", domain.FormatTime(at(10, 0)), false}, h.awaitFirings("w1", 3)[2])
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 3 }, patience, tick)
}

// failingLog is a log whose parts fail while a test says so.
type failingLog struct {
	*jetstream.Log
	noAppend, noRead atomic.Bool
}

func (s *failingLog) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	if s.noAppend.Load() {
		return eventstore.Receipt{}, eventstore.ErrUnavailable
	}
	return s.Log.Append(ctx, commits...)
}

func (s *failingLog) Read(ctx context.Context, log domain.Log, seq uint64) (domain.Recorded, bool, error) {
	if s.noRead.Load() {
		return domain.Recorded{}, false, eventstore.ErrUnavailable
	}
	return s.Log.Read(ctx, log, seq)
}

func TestACrashBetweenAFiringAndItsTreeLosesNeither(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"))
	log := &failingLog{Log: h.store.Log}
	h.first.log = log
	h.first.fire()
	h.awaitScheduled("w1", 1)
	log.noRead.Store(true)
	h.clock.set(at(5, 0))
	h.awaitFirings("w1", 1)
	h.first.stopNode()
	require.Empty(t, h.executions("w1"))
	log.noRead.Store(false)
	h.first.restart()
	h.first.fire()
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 1 }, patience, tick)
	require.Len(t, h.firings("w1"), 1)
	require.Equal(t, 1, h.started(), "that it begins counts before it does: it may be what ended the node")
}

func TestALogThatTakesNothingDelaysAFiring(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"))
	log := &failingLog{Log: h.store.Log}
	h.first.log = log
	h.first.fire()
	h.awaitScheduled("w1", 1)
	log.noAppend.Store(true)
	h.clock.set(at(5, 0))
	require.Never(t, func() bool { return len(h.firings("w1")) > 0 }, 300*time.Millisecond, tick)
	h.first.stopNode() // before it could
	log.noAppend.Store(false)
	h.first.restart()
	h.first.fire()
	require.Equal(t, []fired{{"tick", "*/5 * * * *", domain.FormatTime(at(5, 0)), true}}, h.awaitFirings("w1", 1))
	log.noAppend.Store(true)
	h.clock.set(at(10, 0))
	require.Never(t, func() bool { return len(h.firings("w1")) > 1 }, 300*time.Millisecond, tick)
	log.noAppend.Store(false)
	require.Equal(t, fired{"tick", "*/5 * * * *", domain.FormatTime(at(10, 0)), false}, h.awaitFirings("w1", 2)[1])
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 2 }, patience, tick)
}

func TestAnotherNodeTakesOverWhereOneStopped(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "* * * * *"))
	leases := h.bucket("LEASES")
	hold := func(ctx context.Context, name string, work func(context.Context) error) error {
		return streams.Lease{Bucket: leases, Name: name, TTL: 300 * time.Millisecond, Log: quiet}.Hold(ctx, work)
	}
	second := h.node()
	h.first.hold, second.hold = hold, hold
	h.first.fire()
	second.fire()
	h.awaitScheduled("w1", 1)
	h.clock.set(at(2, 0))
	h.awaitFirings("w1", 1)
	h.first.stopNode()
	h.clock.set(at(3, 0))
	h.awaitFirings("w1", 2)
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 2 }, patience, tick)
	livetest.Fresh(t, h.first.models)
	require.Len(t, h.firings("w1"), 2)
	require.Len(t, h.awaitScheduled("w1", 1), 1)
}

// ofW1 is the share that w1 belongs to where there are several nodes.
func ofW1() string { return strconv.Itoa(streams.PartitionOf("w1", 16)) }

// always lets a node look after everything, as one of several.
func always(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }

// holdUntilTaken lets a node look after everything until the test takes w1 from it for good, and
// waits until it has given that up.
func (n *node) holdUntilTaken() (take func()) {
	lost, lose := context.WithCancel(context.Background())
	left := make(chan struct{})
	n.hold = func(ctx context.Context, name string, work func(context.Context) error) error {
		if name != "schedules/"+ofW1() {
			return work(ctx)
		}
		with, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(lost, cancel)()
		_ = work(with)
		close(left)
		<-ctx.Done()
		return nil
	}
	n.t.Cleanup(lose)
	return func() { lose(); <-left }
}

// requireFor checks something again and again for a while.
func (h *fixture) requireFor(d time.Duration, check func()) {
	h.t.Helper()
	over, look := time.NewTimer(d), time.NewTicker(10*tick)
	defer over.Stop()
	defer look.Stop()
	for {
		check()
		select {
		case <-over.C:
			return
		case <-look.C:
		}
	}
}

func TestAnOutageIsNoAttempt(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, stuck("tick"))
	n := h.first
	n.most = 2
	n.paces.set(true)
	n.fire()
	h.awaitScheduled("w1", 1)
	h.clock.set(at(5, 0))
	h.awaitStart(1)
	n.asked.Store(0)
	n.runtime.BreakOffAll()
	require.Eventually(t, func() bool { return n.asked.Load() >= 4 }, patience, tick, "it is tried again and again")
	n.paces.set(false)
	n.runtime.Reopen("p2")
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 1 }, patience, tick)
	require.Equal(t, 2, h.started())
	require.Empty(t, h.events("w1", "error"))
}

// lossy stores what ends a tree and loses the answer, once.
type lossy struct {
	*jetstream.Log
	lost atomic.Bool
}

func (l *lossy) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	r, err := l.Log.Append(ctx, commits...)
	for _, c := range commits {
		for _, f := range c.Facts {
			if _, is := f.Event.(activity.Executed); is && err == nil && l.lost.CompareAndSwap(false, true) {
				return eventstore.Receipt{}, fmt.Errorf("%w: the outcome is unknown", eventstore.ErrUnavailable)
			}
		}
	}
	return r, err
}

func TestATreeThatEndedIsNotBegunAgainWhenTheAnswerIsLost(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, stuck("tick"))
	n := h.first
	log := &lossy{Log: h.store.Log}
	n.journal = log
	n.restart()
	n.fire()
	h.awaitScheduled("w1", 1)
	h.clock.set(at(5, 0))
	require.Eventually(t, func() bool { return len(h.executions("w1")) >= 1 }, patience, tick)
	h.requireFor(2*time.Second, func() { require.Len(t, h.executions("w1"), 1) }) // longer than a pause
	require.True(t, log.lost.Load())
	require.Len(t, h.events("w1", "one"), 1)
}

func TestATreeThatHasNotBegunIsLeftToWhoeverTakesTheShareOver(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"))
	a, b := h.first, h.node()
	take := a.holdUntilTaken()
	b.hold = always
	a.paces.change(func() { a.paces.queue = true })
	a.fire()
	h.awaitScheduled("w1", 1)
	h.clock.set(at(5, 0))
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 1 }, patience, tick)
	a.paces.change(func() { a.paces.queued = 0 })
	h.clock.set(at(10, 0))
	require.Eventually(t, func() (waits bool) {
		a.paces.change(func() { waits = a.paces.queued > 0 })
		return waits
	}, patience, tick)
	take()
	b.fire()
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 2 }, patience, tick)
	a.paces.change(func() { a.paces.queue = false })
	h.requireFor(2*time.Second, func() { require.Len(t, h.executions("w1"), 2) }) // longer than it takes to notice
	require.Len(t, h.firings("w1"), 2)
}

// delayedLog is a log on which firings are on their way when nobody waits for them any more.
type delayedLog struct {
	*jetstream.Log
	underWay chan []eventstore.Commit
}

func (o *delayedLog) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	if _, is := commits[0].Facts[0].Event.(activity.ScheduleFired); !is {
		return o.Log.Append(ctx, commits...)
	}
	o.underWay <- commits
	<-ctx.Done()
	return eventstore.Receipt{}, context.Cause(ctx)
}

// noted is a memory that says when a share of w1 is saved first.
type noted struct {
	*jetstream.Bucket
	once  sync.Once
	saved func()
}

func (n *noted) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if key == "share/16/"+ofW1() {
		n.once.Do(n.saved)
	}
	return n.Bucket.Put(ctx, key, value)
}

func TestAFiringThatArrivesAfterItsNodeGaveUpIsBegunByTheNext(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, stuck("tick"))
	a, b := h.first, h.node()
	take := a.holdUntilTaken()
	log := &delayedLog{Log: h.store.Log, underWay: make(chan []eventstore.Commit, 1)}
	a.log = log
	a.fire()
	h.awaitScheduled("w1", 1)
	h.clock.set(at(5, 0))
	late := <-log.underWay
	take()
	b.hold = always
	b.paces.set(true)
	b.bucket = &noted{Bucket: h.memory, saved: func() { // it has looked what fired before it
		_, err := h.store.Log.Append(context.Background(), late...)
		assert.NoError(t, err)
		assert.NoError(t, b.models.Fresh(context.Background()))
	}}
	b.fire()
	h.awaitStart(1)
	b.stopNode()
	b.paces.set(false)
	b.restart()
	b.fire()
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 1 }, patience, tick)
	require.Equal(t, 2, h.started())
	require.Len(t, h.firings("w1"), 1)
	require.Equal(t, late[0].Meta.TraceID, h.events("w1", "runtime.automations.executed")[0].Meta.TraceID)
}

func TestWhatIsBegunAgainIsNotBegunByItsTimeToo(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, stuck("tick"))
	n := h.first
	n.paces.set(true)
	n.fire()
	h.awaitScheduled("w1", 1)
	const key = "share/1/0"
	require.Eventually(t, func() bool {
		_, _, err := h.memory.Get(t.Context(), key)
		return err == nil
	}, patience, tick)
	left, _, err := h.memory.Get(t.Context(), key)
	require.NoError(t, err)
	h.clock.set(at(5, 0))
	h.awaitStart(1)
	n.stopNode()
	_, err = h.memory.Put(t.Context(), key, left) // as if the node had been killed
	require.NoError(t, err)
	n.restart()
	n.fire()
	h.awaitStart(2)
	h.requireFor(6*time.Second, func() { require.Equal(t, 2, h.started()) }) // longer than another node is left it
	require.Len(t, h.firings("w1"), 1)
}

func TestWhatIsLeftGoesOnWhenANodeIsNoLongerAlone(t *testing.T) {
	t.Parallel()
	h, n, at := fireStuck(t)
	h.awaitStart(1)
	n.stopNode()
	n.paces.set(false)

	h.clock.set(at(11, 0))
	n.hold = always
	n.restart()
	n.fire()
	require.Equal(t, fired{"tick", "*/5 * * * *", domain.FormatTime(at(10, 0)), true}, h.awaitFirings("w1", 2)[1], "what was missed is made up for")
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 2 }, patience, tick, "what did not end is begun again")
	n.paces.set(true)
	h.clock.set(at(15, 0))
	h.awaitStart(1)
	n.stopNode()
	n.paces.set(false)

	h.clock.set(at(21, 0))
	n.hold = nil
	n.restart()
	n.fire()
	require.Equal(t, fired{"tick", "*/5 * * * *", domain.FormatTime(at(20, 0)), true}, h.awaitFirings("w1", 4)[3])
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 4 }, patience, tick)
	require.Len(t, h.firings("w1"), 4)
}
