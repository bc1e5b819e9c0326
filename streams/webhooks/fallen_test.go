package webhooks_test

import (
	"context"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/feed"
	"svc/domain/subscription"
	"svc/projections/livetest"
	"svc/streams/webhooks"
)

// brittle are secrets that fall over for one subscription, for a while.
type brittle struct {
	real  webhooks.Secrets
	of    atomic.Pointer[string]
	falls atomic.Int32 // how often still
}

func (b *brittle) Secrets(ctx context.Context, s subscription.State, now time.Time) ([]string, error) {
	if of := b.of.Load(); of != nil && s.ID == *of && b.falls.Add(-1) >= 0 {
		panic("nothing can be signed")
	}
	return b.real.Secrets(ctx, s, now)
}

func TestAnAttemptThatFallsOverIsOneThatFailed(t *testing.T) {
	t.Parallel()
	told, secrets := &livetest.Lines{}, &brittle{}
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
	require.Contains(t, told.String(), "fallen_test.go", "the stack is in the log")
}

// Whatever part of the work on a subscription falls over, it is begun again.
func TestAWorkerThatFallsOverGoesOn(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{"loading": ".(*worker).load(", "reading": ".(*worker).accept(", "dispatching": ".(*worker).take("} {
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
			require.Equal(t, 2, strings.Count(told.String(), "is begun again"), told.String())
			require.Contains(t, told.String(), "fallen_test.go", "the stack is in the log")
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
	require.Contains(t, told.String(), "fallen_test.go", "the stack is in the log")
	require.NotContains(t, told.String(), "is begun again")
}
