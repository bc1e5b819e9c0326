package webhooks_test

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/subscription"
	"svc/eventstore"
	"svc/projections"
	"svc/streams/webhooks"
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

	rc.setAnswer(func(got) int { return http.StatusFound })
	ids = h.emit("k", 2)
	d = h.awaitStatus(sub.ID, ids[0], subscription.Dead)
	require.Len(t, d.Attempts, 4)
	require.Equal(t, "answered 302: redirects are not followed", d.Attempts[0].Error)
	require.True(t, d.NextAttemptAt.IsZero())
	for _, g := range rc.seen()[3:] {
		require.Equal(t, ids[0], g.header.Get("webhook-id"), "the same for every attempt")
	}

	rc.setAnswer(nil)
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

func TestAfterARestartNothingIsMissingAndNothingIsSentAgain(t *testing.T) {
	t.Parallel()
	h, rc := open(t), receive(t, nil)
	sub, _ := h.subscribe(rc.URL, func(t *subscription.Terms) { t.OrderKey = "payload.key" })
	ids := h.emit("a", upTo(50)...)
	h.awaitStatus(sub.ID, ids[49], subscription.Succeeded)
	h.stop()
	ids = h.emit("b", upTo(50)...)
	h.start()
	h.awaitStatus(sub.ID, ids[49], subscription.Succeeded)
	require.Equal(t, upTo(50), rc.numbers("a"))
	require.Equal(t, upTo(50), rc.numbers("b"))
	require.Len(t, rc.seen(), 100)
	h.await("all are recorded", func() bool { return h.waiting(sub.ID) == 0 })

	h.stop()
	require.NoError(t, h.opts.Cursors.Delete(t.Context(), sub.ID)) // as a crash may leave it
	h.start()
	ids = h.emit("c", 1)
	h.awaitStatus(sub.ID, ids[0], subscription.Succeeded)
	require.Len(t, rc.seen(), 101, "what was looked at again was known")
}

func (h *fixture) waiting(sub string) (n int) {
	h.t.Helper()
	require.NoError(h.t, h.models.View(func(r projections.Reader) (err error) {
		n, err = projections.Deliveries{}.Waiting(r, sub)
		return err
	}))
	return n
}

func TestWhatWaitsKeepsItsOrderOverARestart(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *webhooks.Options) { o.Schedule = []time.Duration{time.Hour} })
	rc := receive(t, func(g got) int {
		if g.Payload.N == 0 {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	sub, _ := h.subscribe(rc.URL, func(t *subscription.Terms) { t.OrderKey = "payload.key" })
	ids := h.emit("k", upTo(700)...)
	h.await("the rest waits", func() bool { return h.waiting(sub.ID) == 700 })
	h.stop()
	more := h.emit("k", 700, 701)
	h.start()
	h.awaitStatus(sub.ID, more[1], subscription.Pending)
	rc.setAnswer(nil)
	_, err := h.hooks.Redeliver(t.Context(), h.delivery(sub.ID, ids[0]))
	require.NoError(t, err)
	h.awaitStatus(sub.ID, more[1], subscription.Succeeded)
	require.Equal(t, upTo(702), rc.numbers("k"))
}

func TestATestIsDeliveredOnceAndNotAgain(t *testing.T) {
	t.Parallel()
	h, rc := open(t), receive(t, func(got) int { return http.StatusTeapot })
	sub, secret := h.subscribe(rc.URL, func(t *subscription.Terms) { t.Types, t.Disabled = []string{"*"}, true })
	d, err := h.hooks.Test(t.Context(), sub)
	require.NoError(t, err)
	require.Equal(t, subscription.Failed, d.Status)
	require.True(t, d.NextAttemptAt.IsZero())
	require.Equal(t, http.StatusTeapot, d.Attempts[0].Status)
	all := rc.seen()
	require.Len(t, all, 1)
	require.Equal(t, "webhooks.test", all[0].Type)
	require.Contains(t, string(all[0].body), `"payload":{"subscriptionId":"`+sub.ID+`"}`)
	require.NoError(t, verify(t, all[0], secret))
	require.Equal(t, subscription.Failed, h.awaitStatus(sub.ID, d.EventID, subscription.Failed).Status)
	_, health := h.record(sub.ID)
	require.Zero(t, health, "a test says nothing about it")

	rc.setAnswer(nil)
	no := false
	_, err = h.subs.Change(t.Context(), "w1", sub.ID, subscription.Patch{Disabled: &no})
	require.NoError(t, err)
	d, err = h.hooks.Test(t.Context(), sub)
	require.NoError(t, err)
	require.Equal(t, subscription.Succeeded, d.Status)
	h.awaitStatus(sub.ID, h.emit("k", 1)[0], subscription.Succeeded)
	tests := 0
	for _, g := range rc.seen() {
		if g.Type == "webhooks.test" {
			tests++
		}
	}
	require.Equal(t, 2, tests, "who tests sends it, and nobody else")
}

func TestAReplayDeliversAPartOfThePastOnceMore(t *testing.T) {
	t.Parallel()
	h, rc := open(t), receive(t, nil)
	h.emit("before", 1)
	from := h.feed.Position()
	h.await("the feed has come that far", func() bool { from = h.feed.Position(); return from.Activity >= 1 })
	past := h.emit("past", upTo(250)...)
	h.await("it is in the feed", func() bool { _, ok, err := h.feed.Get(t.Context(), "w1", past[249]); return ok && err == nil })
	last, _, err := h.feed.Get(t.Context(), "w1", past[199])
	require.NoError(t, err)
	sub, _ := h.subscribe(rc.URL, func(t *subscription.Terms) { t.OrderKey = "payload.key" })
	started, err := h.hooks.Replay(t.Context(), sub, subscription.Span{From: from, To: last.Seq})
	require.NoError(t, err)
	end, ended := started.Wait(t.Context(), patience)
	require.True(t, ended)
	require.Equal(t, operation.Succeeded, end.Status)
	require.JSONEq(t, `{"deliveries":200}`, string(end.Result))
	current, total := end.Progress()
	require.Equal(t, []int{200, 200}, []int{current, total})
	h.await("all are delivered", func() bool { return len(rc.numbers("past")) == 200 && h.waiting(sub.ID) == 0 })
	require.Equal(t, upTo(200), rc.numbers("past"), "in order, and no more")
	require.Empty(t, rc.numbers("before"))
	var d projections.DeliveryRecord
	require.NoError(t, h.models.View(func(r projections.Reader) (err error) {
		d, _, err = projections.Deliveries{}.Get(r, subscription.DeliveryID(sub.ID, past[0], started.ID()))
		return err
	}))
	require.Equal(t, started.ID(), d.Replay)
	require.Equal(t, past[0], d.EventID)
	require.Equal(t, past[0], rc.seen()[0].header.Get("webhook-id"))

	t.Run("by time, and by another who takes it over", func(t *testing.T) {
		started, err := h.hooks.Replay(t.Context(), sub, subscription.Span{After: last.Time()})
		require.NoError(t, err)
		end, ended := started.Wait(t.Context(), patience)
		require.True(t, ended)
		require.Equal(t, operation.Succeeded, end.Status)
	})
	t.Run("a subscription that is gone", func(t *testing.T) {
		gone := sub
		gone.ID = "sub_gone"
		started, err := h.hooks.Replay(t.Context(), gone, subscription.Span{From: from})
		require.NoError(t, err)
		end, ended := started.Wait(t.Context(), patience)
		require.True(t, ended)
		require.Equal(t, domain.CodeNotFound, end.Failure.Code)
	})
}

func TestAReplayThatWaitsForItsReceiverCanBeCancelled(t *testing.T) {
	t.Parallel()
	h, rc := open(t, func(o *webhooks.Options) { o.Schedule = []time.Duration{time.Hour} }), receive(t, func(got) int { return http.StatusInternalServerError })
	for range 7 {
		h.emit("past", upTo(900)...) // the replay begins before the feed has passed on the last of them
	}
	sub, _ := h.subscribe(rc.URL)
	started, err := h.hooks.Replay(t.Context(), sub, subscription.Span{After: time.Now().Add(-time.Hour)})
	require.NoError(t, err)
	h.await("it has put in line what may wait", func() bool { return h.waiting(sub.ID) >= 5000 })
	_, err = h.ops.Cancel(t.Context(), "w1", started.ID())
	require.NoError(t, err)
	end, ended := started.Wait(t.Context(), patience)
	require.True(t, ended)
	require.Equal(t, operation.Cancelled, end.Status)
	require.Less(t, h.waiting(sub.ID), 6300)
}

func TestAReplayIsTakenOverWhereItWas(t *testing.T) {
	t.Parallel()
	h, rc := open(t), receive(t, nil)
	h.ops.RegisterSettler(operation.Replay, h.hooks.Settle)
	past := h.emit("past", upTo(30)...)
	h.await("it is in the feed", func() bool { _, ok, err := h.feed.Get(t.Context(), "w1", past[29]); return ok && err == nil })
	sub, _ := h.subscribe(rc.URL)
	request, err := json.Marshal(map[string]any{"subscriptionId": sub.ID, "toSeq": h.feed.Position()})
	require.NoError(t, err)
	_, err = commands.Execute(t.Context(), h.subs.Engine, operation.Decider, operation.Stream("w1", "op_left"), operation.Command(operation.Start{
		About: operation.About{ID: "op_left", Kind: operation.Replay, WorkspaceID: "w1", Request: request, Under: true},
	}))
	require.NoError(t, err)
	require.NoError(t, h.ops.Adopt(t.Context(), "w1", "op_left"))
	op, err := h.ops.Get(t.Context(), "w1", "op_left")
	require.NoError(t, err)
	require.Equal(t, operation.Succeeded, op.Status, "%v", op.Failure)
	h.await("all are delivered", func() bool { return len(rc.numbers("past")) == 30 })
}
