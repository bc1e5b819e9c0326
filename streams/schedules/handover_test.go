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

	"svc/domain/activity"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/streams"
)

// ofW1 is the share that w1 belongs to where there are several nodes.
func ofW1() string { return strconv.Itoa(streams.Share("w1", 16)) }

// always lets a node look after everything, as one of several.
func always(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }

// loses lets a node look after everything until the test takes w1 from it for good, and
// waits until it has given that up.
func (n *node) loses() (take func()) {
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

// stays checks something again and again for a while.
func (h *house) stays(d time.Duration, check func()) {
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
	h.registers("w1", 1)
	h.clock.set(at(5, 0))
	h.begins(1)
	n.asked.Store(0)
	n.runtime.Leave()
	require.Eventually(t, func() bool { return n.asked.Load() >= 4 }, patience, tick, "it is tried again and again")
	n.paces.set(false)
	n.runtime.Return("p2")
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
	h.registers("w1", 1)
	h.clock.set(at(5, 0))
	require.Eventually(t, func() bool { return len(h.executions("w1")) >= 1 }, patience, tick)
	h.stays(2*time.Second, func() { require.Len(t, h.executions("w1"), 1) }) // longer than a pause
	require.True(t, log.lost.Load())
	require.Len(t, h.events("w1", "one"), 1)
}

func TestATreeThatHasNotBegunIsLeftToWhoeverTakesTheShareOver(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"))
	a, b := h.first, h.node()
	take := a.loses()
	b.hold = always
	a.paces.change(func() { a.paces.queue = true })
	a.fire()
	h.registers("w1", 1)
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
	h.stays(2*time.Second, func() { require.Len(t, h.executions("w1"), 2) }) // longer than it takes to notice
	require.Len(t, h.firings("w1"), 2)
}

// overtaken is a log on which firings are on their way when nobody waits for them any more.
type overtaken struct {
	*jetstream.Log
	underWay chan []eventstore.Commit
}

func (o *overtaken) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
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
	take := a.loses()
	log := &overtaken{Log: h.store.Log, underWay: make(chan []eventstore.Commit, 1)}
	a.log = log
	a.fire()
	h.registers("w1", 1)
	h.clock.set(at(5, 0))
	late := <-log.underWay
	take()
	b.hold = always
	b.paces.set(true)
	b.keeps = &noted{Bucket: h.memory, saved: func() { // it has looked what fired before it
		_, err := h.store.Log.Append(context.Background(), late...)
		assert.NoError(t, err)
		assert.NoError(t, b.models.Fresh(context.Background()))
	}}
	b.fire()
	h.begins(1)
	b.shut()
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
	h.registers("w1", 1)
	const key = "share/1/0"
	require.Eventually(t, func() bool {
		_, _, err := h.memory.Get(t.Context(), key)
		return err == nil
	}, patience, tick)
	left, _, err := h.memory.Get(t.Context(), key)
	require.NoError(t, err)
	h.clock.set(at(5, 0))
	h.begins(1)
	n.shut()
	_, err = h.memory.Put(t.Context(), key, left) // as if the node had been killed
	require.NoError(t, err)
	n.restart()
	n.fire()
	h.begins(2)
	h.stays(6*time.Second, func() { require.Equal(t, 2, h.started()) }) // longer than another node is left it
	require.Len(t, h.firings("w1"), 1)
}
