package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/subscription"
	"svc/eventstore"
	"svc/streams"
	"svc/streams/webhooks"
)

// flaky is a store that takes nothing more when it is told so.
type flaky struct {
	webhooks.Store
	fault atomic.Pointer[error]
}

// Append implements webhooks.Store.
func (f *flaky) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	if fault := f.fault.Load(); fault != nil {
		return eventstore.Receipt{}, *fault
	}
	return f.Store.Append(ctx, commits...)
}

// crash ends what delivers with nothing recorded of what it was at, and begins again.
func (h *house) crash() {
	gone := errors.New("the process is gone")
	h.opts.Store.(*flaky).fault.Store(&gone)
	h.stop()
	h.opts.Store = &flaky{Store: h.store.Log}
	h.start()
}

// openFlaky is a house whose store can fail.
func openFlaky(t *testing.T, changes ...func(*webhooks.Options)) *house {
	return open(t, append(changes, func(o *webhooks.Options) { o.Store = &flaky{Store: o.Store} })...)
}

// emitMany is emit of more than fits into one commit.
func (h *house) emitMany(key string, n int) (ids []string) {
	h.t.Helper()
	for from := 0; from < n; from += 200 {
		ids = append(ids, h.emit(key, upTo(n)[from:from+200]...)...)
	}
	return ids
}

// Three deliveries in ten fail, and what delivers is gone again and again.
func TestEverythingIsDeliveredInOrderOverCrashes(t *testing.T) {
	t.Parallel()
	h := openFlaky(t, func(o *webhooks.Options) {
		o.Schedule = []time.Duration{time.Millisecond, time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond}
	})
	var mu sync.Mutex
	calls, taken, ids, early := 0, map[string]int{}, map[string]bool{}, []string(nil)
	rc := receive(t, func(g got) int {
		mu.Lock()
		defer mu.Unlock()
		if g.Payload.N > taken[g.Payload.Key] {
			early = append(early, fmt.Sprintf("%s %d while %d was next", g.Payload.Key, g.Payload.N, taken[g.Payload.Key]))
		}
		sum := fnv.New32a()
		_, _ = fmt.Fprint(sum, g.ID, calls)
		if calls++; sum.Sum32()%10 < 3 {
			return http.StatusServiceUnavailable
		}
		if !ids[g.ID] {
			ids[g.ID] = true
			taken[g.Payload.Key]++
		}
		return http.StatusOK
	})
	counts := func() (all, good int) {
		mu.Lock()
		defer mu.Unlock()
		return calls, len(ids)
	}
	sub, _ := h.subscribe(rc.URL, func(t *subscription.Terms) { t.OrderKey = "payload.key" })
	const keys, each, crashes = 10, 60, 5
	for i := range crashes {
		before, _ := counts()
		for key := range keys {
			h.emit(fmt.Sprint(key), upTo(each)[i*each/crashes:(i+1)*each/crashes]...)
		}
		h.await("it is at work", func() bool { now, _ := counts(); return now >= before+60 })
		h.crash()
	}
	h.await("all are delivered", func() bool { _, good := counts(); return good == keys*each })
	h.await("all are recorded", func() bool { return h.waiting(sub.ID) == 0 })
	require.Empty(t, early)
}

// What waits behind a delivery that hangs is recorded when there is too much of it. The
// one that hangs is still the first after a crash.
func TestOneThatHangsIsStillTheFirstAfterACrash(t *testing.T) {
	t.Parallel()
	h := openFlaky(t)
	var taken []int
	var mu sync.Mutex
	release, hangs := make(chan struct{}), atomic.Bool{}
	hangs.Store(true)
	end := sync.OnceFunc(func() { close(release) })
	rc := receive(t, func(g got) int {
		if g.Payload.N == 0 && hangs.Load() {
			<-release
			return http.StatusServiceUnavailable
		}
		mu.Lock()
		defer mu.Unlock()
		taken = append(taken, g.Payload.N)
		return http.StatusOK
	})
	t.Cleanup(end) // before the receiver is closed
	sub, _ := h.subscribe(rc.URL, func(t *subscription.Terms) { t.OrderKey = "payload.key" })
	const total = 2_400 // more than are held in memory
	ids := h.emitMany("k", total)
	h.awaitStatus(sub.ID, ids[1], subscription.Pending)
	hangs.Store(false)
	h.crash()
	end()
	h.awaitStatus(sub.ID, ids[99], subscription.Succeeded)
	mu.Lock()
	defer mu.Unlock()
	taken = slices.Compact(taken) // it may have been taken just before the crash, and be sent again
	require.Equal(t, upTo(100), taken[:100])
}

// When nothing can be recorded, deliveries wait: each of them would be made again.
func TestDeliveriesWaitForTheLog(t *testing.T) {
	t.Parallel()
	h := openFlaky(t)
	rc := receive(t, nil)
	sub, _ := h.subscribe(rc.URL, func(t *subscription.Terms) { t.OrderKey = "payload.n" })
	h.awaitStatus(sub.ID, h.emit("first", 1)[0], subscription.Succeeded)
	full := fmt.Errorf("%w: the disk is full", eventstore.ErrUnavailable)
	h.opts.Store.(*flaky).fault.Store(&full)
	ids := h.emitMany("k", 4_000)
	h.await("it has done what it may", func() bool { return len(rc.seen()) > 2_000 })
	require.Never(t, func() bool { return len(rc.seen()) > 3_500 }, 500*time.Millisecond, 20*time.Millisecond)
	h.opts.Store.(*flaky).fault.Store(nil)
	h.awaitStatus(sub.ID, ids[3_999], subscription.Succeeded)
	h.await("all are recorded", func() bool { return h.waiting(sub.ID) == 0 && len(rc.seen()) >= 4_001 })
	require.Len(t, rc.seen(), 4_001, "and none was made twice")
}

// Of two nodes one delivers, and the other when that is gone.
func TestOneNodeDeliversAndAnotherTakesOver(t *testing.T) {
	t.Parallel()
	h := openFlaky(t)
	h.stop()
	leases := h.bucket("LEASES")
	h.opts.Hold = func(ctx context.Context, name string, work func(context.Context) error) error {
		return streams.Lease{Bucket: leases, Name: name, TTL: 3 * time.Second, Log: quiet}.Hold(ctx, work)
	}
	h.start()
	other := &house{t: t, store: h.store, models: h.models, feed: h.feed, subs: h.subs, opts: h.opts}
	other.opts.Store = &flaky{Store: h.store.Log}
	other.start()
	t.Cleanup(other.stop)
	rc := receive(t, nil)
	const subs = 12 // of several partitions
	var ids []string
	for range subs {
		sub, _ := h.subscribe(rc.URL, func(t *subscription.Terms) { t.OrderKey = "payload.key" })
		ids = append(ids, sub.ID)
	}
	first := h.emit("a", upTo(20)...)
	for _, id := range ids {
		h.awaitStatus(id, first[19], subscription.Succeeded)
	}
	require.Len(t, rc.seen(), subs*20, "each was delivered by one of them")
	gone := errors.New("the process is gone")
	h.opts.Store.(*flaky).fault.Store(&gone)
	h.stop()
	h.opts.Store.(*flaky).fault.Store(nil)
	second := h.emit("b", upTo(20)...)
	for _, id := range ids {
		h.awaitStatus(id, second[19], subscription.Succeeded)
	}
	require.Len(t, rc.seen(), subs*40)
	h.start() // so that the house can be closed
}

// What a receiver has taken when a node stops is not sent again by the next one: the
// node hears the answer out, but not for ever.
func TestAttemptsUnderWayAreFinishedWhenANodeStops(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *webhooks.Options) {
		client := *o.Client
		client.Timeout = time.Minute
		o.Client = &client
	})
	answer := make(chan struct{})
	rc := receive(t, func(got) int { <-answer; return http.StatusOK })
	sub, _ := h.subscribe(rc.URL)
	first := h.emit("k", 1)[0]
	h.await("the attempt must be under way", func() bool { return len(rc.seen()) == 1 })
	h.end()
	close(answer)
	h.running.Wait()
	h.start()
	h.awaitStatus(sub.ID, first, subscription.Succeeded)
	require.Len(t, rc.seen(), 1)

	hanging := make(chan struct{})
	t.Cleanup(func() { close(hanging) })
	rc.become(func(got) int { <-hanging; return http.StatusOK })
	second := h.emit("k", 2)[0]
	h.await("the attempt must be under way", func() bool { return len(rc.seen()) == 2 })
	began := time.Now()
	h.stop()
	require.Less(t, time.Since(began), 50*time.Second, "a receiver that hangs holds no node up for long")
	rc.become(nil)
	h.start()
	h.awaitStatus(sub.ID, second, subscription.Succeeded)
	require.Equal(t, []int{1, 2}, rc.numbers("k"))
	require.Len(t, rc.seen(), 3)
}
