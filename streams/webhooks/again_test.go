package webhooks_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/domain/operation"
	"svc/domain/subscription"
	"svc/projections"
	"svc/streams/webhooks"
)

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

func (h *house) waiting(sub string) (n int) {
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
	rc.become(nil)
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

	rc.become(nil)
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
	numbers := upTo(900)
	var last string
	for range 7 {
		ids := h.emit("past", numbers...)
		last = ids[len(ids)-1]
	}
	h.await("it is in the feed", func() bool { _, ok, err := h.feed.Get(t.Context(), "w1", last); return ok && err == nil })
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
	h.ops.Settle(operation.Replay, h.hooks.Settle)
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
