package webhooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/feed"
	"svc/domain/subscription"
	"svc/eventstore"
	"svc/projections"
	"svc/projections/livetest"
	"svc/streams"
	"svc/streams/webhooks"
)

// record returns a subscription as it is now, and how its receiver does.
func (h *fixture) record(id string) (rec projections.SubscriptionRecord, health subscription.Health) {
	h.t.Helper()
	require.NoError(h.t, h.models.View(func(r projections.Reader) error {
		var err error
		if rec, _, err = (projections.Subscriptions{}).Get(r, "w1", id); err != nil {
			return err
		}
		last, err := projections.Deliveries{}.Health(r, id)
		health = last.Since(rec.ClosedAt)
		return err
	}))
	return rec, health
}

// clock is a clock that a test moves.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) move(d time.Duration) { c.ahead.Add(int64(d)) }

// Whatever a receiver does wrong is in the delivery log.
func TestFaultsOfReceiversAreTold(t *testing.T) {
	t.Parallel()
	hanging := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hanging }))
	t.Cleanup(hang.Close)
	t.Cleanup(func() { close(hanging) })
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	chatty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write(bytes.Repeat([]byte("é\xff"), 40_000))
	}))
	t.Cleanup(chatty.Close)
	h := open(t, func(o *webhooks.Options) {
		client := *o.Client
		client.Timeout = 5 * time.Second
		o.Client, o.Schedule = &client, nil
	})
	for url, want := range map[string]string{
		hang.URL: "no answer within 5s", untrusted.URL: "certificate", closed.URL: "connection refused", chatty.URL: "answered 502",
	} {
		sub, _ := h.subscribe(url + "/?secret=CANARY")
		d := h.awaitStatus(sub.ID, h.emit("k", 1)[0], subscription.Dead)
		require.Contains(t, d.Attempts[0].Error, want)
		require.NotContains(t, d.Attempts[0].Error, "CANARY")
		if url == chatty.URL {
			require.LessOrEqual(t, len(d.Attempts[0].ResponseBody), 2<<10)
			require.True(t, strings.HasPrefix(d.Attempts[0].ResponseBody, "é\uFFFDé"))
		}
	}
}

// An answer may take many times its size in a record. However many there are, they fit.
func TestWhatReceiversAnswerFitsIntoTheLog(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *webhooks.Options) { o.Schedule, o.Probe = make([]time.Duration, 7), time.Nanosecond })
	nasty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write(bytes.Repeat([]byte{1}, 1024))
	}))
	t.Cleanup(nasty.Close)
	h.stop()
	sub, _ := h.subscribe(nasty.URL)
	ids := h.emit("k", upTo(60)...)
	h.start()
	h.awaitStatus(sub.ID, ids[59], subscription.Dead)
	d := h.delivery(sub.ID, ids[0])
	for range 3 {
		_, err := h.hooks.Redeliver(t.Context(), d)
		require.NoError(t, err)
		asked := d.Last
		h.await("it is dead again", func() bool {
			d = h.delivery(sub.ID, ids[0])
			return d.Last > asked && d.Status == subscription.Dead
		})
	}
	require.Len(t, d.Attempts, 20)
}

// The rules are asked again at the moment of connecting: a name may have changed its
// mind since the subscription was made.
func TestAddressesInsideAreRefusedWhenDialled(t *testing.T) {
	t.Parallel()
	rc := receive(t, nil)
	strict, err := egress.New(egress.Options{})
	require.NoError(t, err)
	t.Cleanup(strict.Close)
	h := open(t, func(o *webhooks.Options) { o.Client, o.Schedule = strict.Client(10*time.Second), nil })
	sub, _ := h.subscribe(strings.Replace(rc.URL, "127.0.0.1", "localhost", 1))
	d := h.awaitStatus(sub.ID, h.emit("k", 1)[0], subscription.Dead)
	require.Contains(t, d.Attempts[0].Error, "its address is not public")
	require.NotContains(t, d.Attempts[0].Error, "127.0.0.1", "where a name leads inside is not told")
	require.Empty(t, rc.seen())
}

// downReceiver is a receiver that fails until it is said to be up.
func downReceiver(t *testing.T) (*receiver, *atomic.Bool) {
	t.Helper()
	down := new(atomic.Bool)
	down.Store(true)
	return receive(t, func(got) int {
		if down.Load() {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	}), down
}

func TestTheBreakerOpensProbesAndCloses(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *webhooks.Options) { o.Schedule, o.Probe = []time.Duration{time.Millisecond}, time.Hour })
	rc, down := downReceiver(t)
	sub, _ := h.subscribe(rc.URL, func(t *subscription.Terms) { t.OrderKey = "payload.n" })
	h.emit("k", upTo(60)...)
	h.await("ten failures", func() bool { _, health := h.record(sub.ID); return health.Broken() })
	calls := len(rc.seen())
	require.Less(t, calls, 30, "it was not pressed")
	h.stop()
	h.start() // it is still open after a restart
	h.emit("k", 60)
	probed := func() int { return len(rc.seen()) - calls }
	h.await("one probe after a restart", func() bool { return probed() >= 1 })
	require.LessOrEqual(t, probed(), 1)

	down.Store(false)
	no := false
	_, err := h.subs.Change(t.Context(), "w1", sub.ID, subscription.Patch{Disabled: &no})
	require.NoError(t, err)
	h.await("the rest, once it is closed by hand", func() bool { return len(rc.numbers("k")) == 61 })
	h.await("that is recorded", func() bool { _, health := h.record(sub.ID); return !health.Broken() })

	down.Store(true)
	h.emit("k", 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111)
	h.await("it is open again", func() bool { _, health := h.record(sub.ID); return health.Broken() })
	h.stop()
	h.opts.Probe = 20 * time.Millisecond
	h.start()
	calls = len(rc.seen())
	h.await("probes, one after another", func() bool { return probed() >= 3 })
	h.emit("k", 112)
	down.Store(false)
	h.await("one probe that succeeds closes it", func() bool { return len(rc.numbers("k")) == 61+13 })
}

func TestAReceiverThatFailsForDaysIsDisabledAndGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	var c clock
	h := open(t, func(o *webhooks.Options) {
		o.Now, o.DisableAfter, o.Probe = c.now, 5*24*time.Hour, time.Millisecond
		o.Schedule = []time.Duration{time.Hour, time.Hour, time.Hour} // nothing is dead before the clock is moved
	})
	rc, down := downReceiver(t)
	sub, _ := h.subscribe(rc.URL)
	first := h.emit("k", 0)
	h.awaitStatus(sub.ID, first[0], subscription.Failed)
	c.move(6 * 24 * time.Hour)
	h.emit("other", 0)
	h.await("it is disabled", func() bool { rec, _ := h.record(sub.ID); return rec.Disabled })
	rec, _ := h.record(sub.ID)
	require.Contains(t, rec.Reason, "failed since")
	require.Equal(t, []string{sub.ID}, h.failureIDs())
	missed := h.emit("while disabled", 1)
	h.await("it is in the feed", func() bool { _, ok, err := h.feed.Get(t.Context(), "w1", missed[0]); return ok && err == nil })

	require.Empty(t, rc.numbers("while disabled"))

	down.Store(false)
	c.move(2 * time.Hour)
	no := false
	_, err := h.subs.Change(t.Context(), "w1", sub.ID, subscription.Patch{Disabled: &no})
	require.NoError(t, err)
	h.await("it goes on", func() bool { return len(rc.numbers("while disabled")) == 1 && len(rc.numbers("other")) == 1 })
	h.awaitStatus(sub.ID, first[0], subscription.Succeeded)
}

// disabler calls around instead of disabling, which may then disable.
type disabler struct {
	webhooks.Disabler
	around func(disable func() error) error
}

// Disable implements webhooks.Disabler.
func (d disabler) Disable(ctx context.Context, failed subscription.State, reason string) error {
	return d.around(func() error { return d.Disabler.Disable(ctx, failed, reason) })
}

func TestFailuresFromBeforeItWasEnabledDoNotDisableIt(t *testing.T) {
	t.Parallel()
	var c clock
	rc, down := downReceiver(t)
	var h *fixture
	var sub subscription.State
	late := make(chan error, 1)
	no := false
	h = open(t, func(o *webhooks.Options) {
		o.Now, o.DisableAfter, o.Probe = c.now, 5*24*time.Hour, time.Millisecond
		o.Schedule = []time.Duration{time.Hour, time.Hour, time.Hour}
		o.Disable = disabler{o.Disable, func(disable func() error) error {
			if !down.CompareAndSwap(true, false) {
				return nil
			}
			c.move(2 * time.Hour) // somebody enables it while the platform is about to disable it
			_, err := h.subs.Change(context.Background(), "w1", sub.ID, subscription.Patch{Disabled: &no})
			late <- errors.Join(err, disable())
			return nil
		}}
	})
	sub, _ = h.subscribe(rc.URL)
	first := h.emit("k", 0)
	h.awaitStatus(sub.ID, first[0], subscription.Failed)
	c.move(6 * 24 * time.Hour)
	h.emit("other", 0)
	require.NoError(t, <-late)
	now, err := h.subs.Change(t.Context(), "w1", sub.ID, subscription.Patch{URL: &sub.URL})
	require.NoError(t, err)
	require.False(t, now.State.Disabled)
	h.awaitStatus(sub.ID, first[0], subscription.Succeeded)
}

// failureIDs lists the subscriptions that an error event of the workspace is about.
func (h *fixture) failureIDs() (ids []string) {
	h.t.Helper()
	ctx, done := context.WithTimeout(h.t.Context(), patience)
	defer done()
	require.NoError(h.t, h.store.Log.Subscribe(ctx, domain.Activity, 1, func(b eventstore.Batch) error {
		for _, ev := range b.Events {
			if f, ok := ev.Data.(activity.Failure); ok {
				ids = append(ids, f.Details["subscriptionId"].(string))
				done()
			}
		}
		return nil
	}))
	return ids
}

func TestADeadReceiverDoesNotSlowAnother(t *testing.T) {
	t.Parallel()
	hanging := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hanging }))
	t.Cleanup(hang.Close)
	t.Cleanup(func() { close(hanging) })
	h := open(t, func(o *webhooks.Options) {
		client := *o.Client
		client.Timeout = time.Hour // one that had to wait for those who hang would wait for ever
		o.Client = &client
	})
	none := func(t *subscription.Terms) { t.OrderKey = "payload.nothing" }
	for range subscription.Most - 1 {
		h.subscribe(hang.URL, none)
	}
	rc := receive(t, nil)
	h.subscribe(rc.URL, none)
	h.emit("k", upTo(500)...)
	h.await("all of the one that works", func() bool { return len(rc.seen()) == 500 })
}

func TestADeletedSubscriptionStopsAtOnce(t *testing.T) {
	t.Parallel()
	h, rc := open(t), receive(t, nil)
	sub, _ := h.subscribe(rc.URL)
	h.awaitStatus(sub.ID, h.emit("k", 1)[0], subscription.Succeeded)
	require.NoError(t, h.subs.Delete(t.Context(), "w1", sub.ID))
	other, _ := h.subscribe(rc.URL + "/other")
	ids := h.emit("k", 2)
	h.awaitStatus(other.ID, ids[0], subscription.Succeeded)
	require.Empty(t, h.delivery(sub.ID, ids[0]).ID)
}

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
func (h *fixture) crash() {
	gone := errors.New("the process is gone")
	h.opts.Store.(*flaky).fault.Store(&gone)
	h.stop()
	h.opts.Store = &flaky{Store: h.store.Log}
	h.start()
}

// openFlaky is a fixture whose store can fail.
func openFlaky(t *testing.T, changes ...func(*webhooks.Options)) *fixture {
	return open(t, append(changes, func(o *webhooks.Options) { o.Store = &flaky{Store: o.Store} })...)
}

// emitMany is emit of more than fits into one commit.
func (h *fixture) emitMany(key string, n int) (ids []string) {
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
	other := &fixture{t: t, store: h.store, models: h.models, feed: h.feed, subs: h.subs, opts: h.opts}
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
	h.start() // so that the fixture can be closed
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
	h.await("the attempt must be running", func() bool { return len(rc.seen()) == 1 })
	h.end()
	close(answer)
	h.running.Wait()
	h.start()
	h.awaitStatus(sub.ID, first, subscription.Succeeded)
	require.Len(t, rc.seen(), 1)

	hanging := make(chan struct{})
	t.Cleanup(func() { close(hanging) })
	rc.setAnswer(func(got) int { <-hanging; return http.StatusOK })
	second := h.emit("k", 2)[0]
	h.await("the attempt must be running", func() bool { return len(rc.seen()) == 2 })
	began := time.Now()
	h.stop()
	require.Less(t, time.Since(began), 50*time.Second, "a receiver that hangs holds no node up for long")
	rc.setAnswer(nil)
	h.start()
	h.awaitStatus(sub.ID, second, subscription.Succeeded)
	require.Equal(t, []int{1, 2}, rc.numbers("k"))
	require.Len(t, rc.seen(), 3)
}

// panickingSecrets are secrets that fall over for one subscription, for a while.
type panickingSecrets struct {
	real  webhooks.Secrets
	of    atomic.Pointer[string]
	falls atomic.Int32 // how often still
}

func (b *panickingSecrets) Secrets(ctx context.Context, s subscription.State, now time.Time) ([]string, error) {
	if of := b.of.Load(); of != nil && s.ID == *of && b.falls.Add(-1) >= 0 {
		panic("nothing can be signed")
	}
	return b.real.Secrets(ctx, s, now)
}

func TestAnAttemptThatFallsOverIsOneThatFailed(t *testing.T) {
	t.Parallel()
	told, secrets := &livetest.Lines{}, &panickingSecrets{}
	h := open(t, func(o *webhooks.Options) {
		secrets.real = o.Secrets
		o.Secrets, o.Log = secrets, slog.New(slog.NewTextHandler(told, nil))
	})
	rc, other := receive(t, nil), receive(t, nil)
	sub, _ := h.subscribe(rc.URL)
	secrets.falls.Store(2)
	secrets.of.Store(&sub.ID)
	h.subscribe(other.URL)
	ids := h.emit("k", 1, 2)
	d := h.awaitStatus(sub.ID, ids[1], subscription.Succeeded)
	require.Len(t, d.Attempts, 1)
	d = h.delivery(sub.ID, ids[0])
	require.Len(t, d.Attempts, 3)
	for _, failed := range d.Attempts[:2] {
		require.Contains(t, failed.Error, "a fault of the platform")
	}
	h.await("others are not the worse for it", func() bool { return len(other.numbers("k")) == 2 })
	require.Equal(t, []int{1, 2}, rc.numbers("k"))
	require.Contains(t, told.String(), "nothing can be signed")
	require.Contains(t, told.String(), "faults_test.go", "the stack is in the log")
}

// Whatever part of the work on a subscription falls over, it is begun again.
func TestAWorkerThatFallsOverGoesOn(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{"loading": ".(*worker).load(", "reading": ".(*worker).enqueue(", "dispatching": ".(*worker).nextJobs("} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told, falls := &livetest.Lines{}, atomic.Int32{}
			fall := func() {
				if falls.Load() > 0 && strings.Contains(string(debug.Stack()), in) && falls.Add(-1) >= 0 {
					panic("it fell over")
				}
			}
			h := open(t, func(o *webhooks.Options) {
				o.Log = slog.New(slog.NewTextHandler(told, nil))
				o.Now = func() time.Time { fall(); return time.Now() }
				fresh := o.Models.Fresh
				o.Fresh = func(ctx context.Context) error { fall(); return fresh(ctx) }
			})
			falls.Store(2)
			rc := receive(t, nil)
			sub, _ := h.subscribe(rc.URL)
			ids := h.emit("k", 1, 2, 3)
			require.Len(t, h.awaitStatus(sub.ID, ids[2], subscription.Succeeded).Attempts, 1)
			require.Equal(t, []int{1, 2, 3}, rc.numbers("k"))
			require.LessOrEqual(t, falls.Load(), int32(0))
			require.Equal(t, 2, strings.Count(told.String(), "is restarted"), told.String())
			require.Contains(t, told.String(), "faults_test.go", "the stack is in the log")
		})
	}
}

// What a filter falls over it would fall over again: the subscription goes on without it.
func TestAnEventThatAFilterFallsOverIsNotAskedFor(t *testing.T) {
	t.Parallel()
	told, of := &livetest.Lines{}, atomic.Pointer[string]{}
	h := open(t, func(o *webhooks.Options) {
		o.Log = slog.New(slog.NewTextHandler(told, nil))
		o.Before(func(subscriptionID string, e *feed.Event) {
			if id := of.Load(); id != nil && *id == subscriptionID && strings.Contains(string(e.Payload), `"n":2`) {
				panic("it cannot be looked at")
			}
		})
	})
	rc, other := receive(t, nil), receive(t, nil)
	sub, _ := h.subscribe(rc.URL)
	of.Store(&sub.ID)
	h.subscribe(other.URL)
	ids := h.emit("k", 1, 2, 3)
	h.awaitStatus(sub.ID, ids[2], subscription.Succeeded)
	h.await("others are asked for themselves", func() bool { return len(other.numbers("k")) == 3 })
	h.stop()
	h.start()
	h.awaitStatus(sub.ID, h.emit("k", 4)[0], subscription.Succeeded)
	require.Equal(t, []int{1, 3, 4}, rc.numbers("k"))
	require.Equal(t, 1, strings.Count(told.String(), "level=ERROR"), told.String())
	require.Regexp(t, "subscription="+sub.ID+".* event="+ids[1]+".*it cannot be looked at", told.String())
	require.Contains(t, told.String(), "faults_test.go", "the stack is in the log")
	require.NotContains(t, told.String(), "is begun again")
}
