package webhooks_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/subscription"
	"svc/eventstore"
)

func TestAnEventIsDeliveredSignedAndRecorded(t *testing.T) {
	t.Parallel()
	h, rc := open(t), receive(t, nil)
	before := h.emit("past", 1)
	sub, secret := h.subscribe(rc.URL + "/hook?token=1")
	ids := h.emit("k", 7)
	d := h.awaitStatus(sub.ID, ids[0], subscription.Succeeded)
	require.Len(t, d.Attempts, 1)
	require.Equal(t, http.StatusNoContent, d.Attempts[0].Status)
	all := rc.seen()
	require.Len(t, all, 1, "what came before the subscription is not sent")
	require.Empty(t, h.delivery(sub.ID, before[0]).ID)
	g := all[0]
	require.NoError(t, verify(t, g, secret))
	require.Equal(t, ids[0], g.header.Get("webhook-id"))
	require.Equal(t, ids[0], g.ID)
	require.Equal(t, "orders.paid", g.Type)
	require.Equal(t, "k", g.header.Get("X-Correlation-Id"))
	require.Regexp(t, `^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$`, g.header.Get("Traceparent"))
	require.Equal(t, "svc-webhooks", g.header.Get("User-Agent"))
	require.Equal(t, "application/json; charset=utf-8", g.header.Get("Content-Type"))
	shown, _, err := h.feed.Get(t.Context(), "w1", ids[0])
	require.NoError(t, err)
	require.JSONEq(t, string(shown.JSON()), string(g.body))
}

func TestBothSecretsSignDuringARotation(t *testing.T) {
	t.Parallel()
	h, rc := open(t), receive(t, nil)
	sub, first := h.subscribe(rc.URL)
	_, second, err := h.subs.Rotate(t.Context(), "w1", sub.ID, "", time.Hour)
	require.NoError(t, err)
	h.awaitStatus(sub.ID, h.emit("k", 1)[0], subscription.Succeeded)
	_, third, err := h.subs.Rotate(t.Context(), "w1", sub.ID, "", 0)
	require.NoError(t, err)
	h.awaitStatus(sub.ID, h.emit("k", 2)[0], subscription.Succeeded)
	all := rc.seen()
	require.NoError(t, verify(t, all[0], first))
	require.NoError(t, verify(t, all[0], second))
	require.Error(t, verify(t, all[0], third))
	require.NoError(t, verify(t, all[1], third))
	require.Error(t, verify(t, all[1], second), "the overlap was over at once")
}

func TestAFailingDeliveryIsTriedAgainUntilItIsDead(t *testing.T) {
	t.Parallel()
	h := open(t)
	var calls atomic.Int32
	rc := receive(t, func(got) int {
		if calls.Add(1) < 3 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	sub, _ := h.subscribe(rc.URL)
	ids := h.emit("k", 1)
	d := h.awaitStatus(sub.ID, ids[0], subscription.Succeeded)
	require.Len(t, d.Attempts, 3)
	require.Equal(t, 500, d.Attempts[0].Status)
	require.Equal(t, "answered 500", d.Attempts[0].Error)
	require.Equal(t, "said Internal Server Error", d.Attempts[0].ResponseBody)
	require.GreaterOrEqual(t, d.Attempts[2].At.Sub(d.Attempts[1].At), 50*time.Millisecond, "as the schedule says")

	rc.become(func(got) int { return http.StatusFound })
	ids = h.emit("k", 2)
	d = h.awaitStatus(sub.ID, ids[0], subscription.Dead)
	require.Len(t, d.Attempts, 4)
	require.Equal(t, "answered 302: redirects are not followed", d.Attempts[0].Error)
	require.True(t, d.NextAttemptAt.IsZero())
	for _, g := range rc.seen()[3:] {
		require.Equal(t, ids[0], g.header.Get("webhook-id"), "the same for every attempt")
	}

	rc.become(nil)
	_, err := h.hooks.Redeliver(t.Context(), d)
	require.NoError(t, err)
	d = h.awaitStatus(sub.ID, ids[0], subscription.Succeeded)
	require.Len(t, d.Attempts, 5)
}

func TestWhatFailsHoldsBackItsKeyOnly(t *testing.T) {
	t.Parallel()
	h := open(t)
	var bad atomic.Bool
	bad.Store(true)
	rc := receive(t, func(g got) int {
		if g.Payload.Key == "bad" && g.Payload.N == 0 && bad.Load() {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	h.stop()
	h.opts.Schedule = []time.Duration{50 * time.Millisecond, time.Hour}
	h.start()
	sub, _ := h.subscribe(rc.URL, func(t *subscription.Terms) { t.OrderKey = "payload.key" })
	ids := h.emit("bad", upTo(20)...)
	h.emit("good", upTo(200)...)
	h.await("all of the other key", func() bool { return len(rc.numbers("good")) == 200 })
	require.Equal(t, upTo(200), rc.numbers("good"), "in order")
	require.Equal(t, []int{0}, rc.numbers("bad"), "the rest waits behind the first")
	waiting := h.awaitStatus(sub.ID, ids[19], subscription.Pending)
	require.Empty(t, waiting.Attempts)

	first := h.delivery(sub.ID, ids[0])
	h.await("its second failure", func() bool { first = h.delivery(sub.ID, ids[0]); return len(first.Attempts) == 2 })
	bad.Store(false)
	_, err := h.hooks.Redeliver(t.Context(), first)
	require.NoError(t, err)
	h.awaitStatus(sub.ID, ids[19], subscription.Succeeded)
	require.Equal(t, upTo(20), rc.numbers("bad"), "in order")
}

func TestEventsWithoutTheKeyHaveNoOrder(t *testing.T) {
	t.Parallel()
	h := open(t)
	release := make(chan struct{})
	defer close(release)
	rc := receive(t, func(g got) int {
		if g.Payload.N == 0 {
			<-release
		}
		return http.StatusOK
	})
	h.subscribe(rc.URL, func(t *subscription.Terms) { t.OrderKey = "payload.nowhere" })
	h.emit("k", upTo(5)...)
	h.await("the others overtake", func() bool { return len(rc.numbers("k")) == 5 })
}

func TestWhatIsNotAskedForIsNotSent(t *testing.T) {
	t.Parallel()
	h, rc := open(t), receive(t, nil)
	h.subscribe(rc.URL, func(t *subscription.Terms) {
		t.Types, t.Filters = []string{"orders.paid", "workspaces.subscriptions.*"}, map[string]any{"payload.key": []any{"a", "b*"}, "appInstanceDepth": -1.0}
	})
	no := false
	_, err := h.store.Log.Append(t.Context(), eventstore.Commit{Stream: domain.StreamID{Scope: "w1"}, Facts: []eventstore.Fact{{
		ID: "01J00000000000000000000000", Event: domain.Unknown{Name: "orders.paid", Body: []byte(`{"key":"a","n":9}`)}, Options: domain.EventOptions{Persist: &no},
	}}})
	require.NoError(t, err)
	h.emit("c", 1)
	h.emit("a", 2)
	h.emit("bcd", 3)
	h.await("those that match", func() bool { return len(rc.seen()) >= 2 })
	require.Equal(t, []int{2}, rc.numbers("a"))
	require.Equal(t, []int{3}, rc.numbers("bcd"))
	require.Len(t, rc.seen(), 2)
}
