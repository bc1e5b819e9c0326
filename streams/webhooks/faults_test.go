package webhooks_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/subscription"
	"svc/eventstore"
	"svc/projections"
	"svc/streams/webhooks"
)

// record returns a subscription as it is now, and how its receiver does.
func (h *house) record(id string) (rec projections.SubscriptionRecord, health subscription.Health) {
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
	h := open(t, func(o *webhooks.Options) { o.Now, o.DisableAfter, o.Probe = c.now, 5*24*time.Hour, time.Millisecond })
	rc, down := downReceiver(t)
	sub, _ := h.subscribe(rc.URL)
	first := h.emit("k", 0)
	h.awaitStatus(sub.ID, first[0], subscription.Failed)
	c.move(6 * 24 * time.Hour)
	h.emit("other", 0)
	h.await("it is disabled", func() bool { rec, _ := h.record(sub.ID); return rec.Disabled })
	rec, _ := h.record(sub.ID)
	require.Contains(t, rec.Reason, "failed since")
	require.Equal(t, []string{sub.ID}, h.told())
	missed := h.emit("while disabled", 1)
	h.await("it is in the feed", func() bool { _, ok, err := h.feed.Get(t.Context(), "w1", missed[0]); return ok && err == nil })

	require.Empty(t, rc.numbers("while disabled"))

	down.Store(false)
	no := false
	_, err := h.subs.Change(t.Context(), "w1", sub.ID, subscription.Patch{Disabled: &no})
	require.NoError(t, err)
	h.await("it goes on", func() bool { return len(rc.numbers("while disabled")) == 1 && len(rc.numbers("other")) == 1 })
	h.awaitStatus(sub.ID, first[0], subscription.Succeeded)
}

// told lists the subscriptions that an error event of the workspace is about.
func (h *house) told() (ids []string) {
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
