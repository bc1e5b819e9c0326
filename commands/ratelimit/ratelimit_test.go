package ratelimit_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/ratelimit"
	"svc/domain/automation"
	"svc/domain/value"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

// clock is a clock that the test moves.
type clock struct{ nanoseconds atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.set(time.Date(2025, 3, 1, 12, 0, 10, 0, time.UTC))
	return c
}

func (c *clock) set(t time.Time)         { c.nanoseconds.Store(t.UnixNano()) }
func (c *clock) now() time.Time          { return time.Unix(0, c.nanoseconds.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.nanoseconds.Add(int64(d)) }

// open returns a limiter on a real counter.
func open(t *testing.T, c *clock) *ratelimit.Limiter {
	t.Helper()
	store := livetest.Store(t, jetstream.Options{Now: c.now})
	return &ratelimit.Limiter{Counter: store.Counters, Now: c.now, Log: slog.New(slog.DiscardHandler)}
}

// secondLimiter is another limiter on the same counter.
func secondLimiter(l *ratelimit.Limiter) *ratelimit.Limiter {
	return &ratelimit.Limiter{Counter: l.Counter, Now: l.Now, Log: l.Log}
}

func use(name string, limit float64, consume int64) ratelimit.Use {
	return ratelimit.Use{Name: name, Limit: limit, Window: time.Minute, Consume: consume, Consumer: value.Undefined}
}

var here = ratelimit.Scope{WorkspaceID: "w1"}

func TestUsesAreCountedInAWindow(t *testing.T) {
	c := newClock()
	l := open(t, c)
	steps := []struct {
		use  ratelimit.Use
		want string
	}{
		{use("l", 2, 1), `{"ok":true,"retryAfter":0,"remaining":1,"limit":2,"window":60}`},
		{use("l", 2, 1), `{"ok":true,"retryAfter":0,"remaining":0,"limit":2,"window":60}`},
		{use("l", 2, 1), `{"ok":false,"retryAfter":50,"remaining":0,"limit":2,"window":60}`},
		{use("l", 2, 0), `{"ok":true,"retryAfter":0,"remaining":0,"limit":2,"window":60}`},
		{use("m", 5, 3), `{"ok":true,"retryAfter":0,"remaining":2,"limit":5,"window":60}`},
		{use("m", 5, 3), `{"ok":false,"retryAfter":50,"remaining":2,"limit":5,"window":60}`},
		{use("m", 5, 2), `{"ok":true,"retryAfter":0,"remaining":0,"limit":5,"window":60}`},
		{use("m", 4, 0), `{"ok":false,"retryAfter":50,"remaining":0,"limit":4,"window":60}`},
		{use("none", 0, 1), `{"ok":false,"retryAfter":50,"remaining":0,"limit":0,"window":60}`},
		{use("half", 1.5, 1), `{"ok":true,"retryAfter":0,"remaining":0,"limit":1.5,"window":60}`},
		{use("half", 1.5, 1), `{"ok":false,"retryAfter":50,"remaining":0,"limit":1.5,"window":60}`},
		{use("fresh", 3, 0), `{"ok":true,"retryAfter":0,"remaining":3,"limit":3,"window":60}`},
		{use("much", 3, 1<<53), `{"ok":false,"retryAfter":50,"remaining":3,"limit":3,"window":60}`},
	}
	for _, step := range steps {
		got, err := l.Consume(t.Context(), here, step.use)
		require.NoError(t, err)
		require.Equal(t, step.want, value.JSON(got, ""), step.use.Name)
	}
	c.advance(time.Minute)
	got, err := l.Consume(t.Context(), here, use("l", 2, 1))
	require.NoError(t, err)
	require.Equal(t, true, got.At("ok"), "the next window is empty")
}

func TestCountersAreApart(t *testing.T) {
	l := open(t, newClock())
	one := use("l", 1, 1)
	alice, empty := one, one
	alice.Consumer, empty.Consumer = "alice", ""
	for _, tt := range []struct {
		scope ratelimit.Scope
		use   ratelimit.Use
	}{
		{here, one}, {ratelimit.Scope{WorkspaceID: "w2"}, one}, {ratelimit.Scope{WorkspaceID: "w1", Instance: "a"}, one},
		{here, use("l2", 1, 1)}, {here, alice}, {here, empty},
	} {
		got, err := l.Consume(t.Context(), tt.scope, tt.use)
		require.NoError(t, err)
		require.Equal(t, true, got.At("ok"))
		require.Equal(t, tt.use.Consumer, got.At("consumer"))
	}
}

func TestBreakIsAnError(t *testing.T) {
	l := open(t, newClock())
	u := use("l", 0, 1)
	u.Break = true
	_, err := l.Consume(t.Context(), here, u)
	raised := automation.ErrorOf(err)
	require.Equal(t, automation.RateLimitExceeded, raised.Name)
	require.JSONEq(t, `{"ok":false,"retryAfter":50,"remaining":0,"limit":0,"window":60}`, value.JSON(raised.Details, ""))
}

// Whatever races, no more than the limit is admitted; and all of it when nobody
// asks for more than one.
func TestRacersNeverGetMoreThanTheLimit(t *testing.T) {
	l := open(t, newClock())
	for name, sizes := range map[string][]int64{"ones": {1}, "all sizes": {1, 7, 3, 40, 2}} {
		t.Run(name, func(t *testing.T) {
			var admitted atomic.Int64
			var all sync.WaitGroup
			for i := range 200 {
				all.Go(func() {
					u := use(name, 60, sizes[i%len(sizes)])
					got, err := l.Consume(t.Context(), here, u)
					if err != nil {
						t.Error(err)
					} else if got.At("ok") == true {
						admitted.Add(u.Consume)
					}
				})
			}
			all.Wait()
			require.LessOrEqual(t, admitted.Load(), int64(60))
			if len(sizes) == 1 {
				require.EqualValues(t, 60, admitted.Load())
			}
			got, err := l.Consume(t.Context(), here, use(name, 60, 0))
			require.NoError(t, err)
			require.InDelta(t, 60-admitted.Load(), got.At("remaining"), 0, "what was refused is not counted")
		})
	}
}

// between is a counter to which something happens between a question and its
// answer, or which does not answer.
type between struct {
	ratelimit.Counter
	do func(n int64) error
}

func (b between) AddDurable(ctx context.Context, key string, window time.Duration, n int64) (int64, error) {
	if err := b.do(n); err != nil {
		return 0, err
	}
	return b.Counter.AddDurable(ctx, key, window, n)
}

func TestWhatIsCountedBackLateIsNotMissingInTheNextWindow(t *testing.T) {
	c := newClock()
	l := open(t, c)
	late := secondLimiter(l)
	late.Counter = between{l.Counter, func(n int64) error {
		if n < 0 {
			c.advance(time.Minute)
		}
		return nil
	}}
	_, err := late.Consume(t.Context(), here, use("l", 1, 1))
	require.NoError(t, err)
	// This is too much, is counted back in the next window, and admitted there.
	got, err := late.Consume(t.Context(), here, use("l", 1, 1))
	require.NoError(t, err)
	require.Equal(t, true, got.At("ok"))
	got, err = l.Consume(t.Context(), here, use("l", 1, 1))
	require.NoError(t, err)
	require.Equal(t, false, got.At("ok"))
}

func TestAUseThatCrossesIntoTheNextWindowCountsThere(t *testing.T) {
	c := newClock()
	l := open(t, c)
	// A use that began a millisecond before the window ended, and was counted after.
	crossing := secondLimiter(l)
	c.set(c.now().Truncate(time.Minute).Add(time.Minute - time.Millisecond))
	_, err := l.Consume(t.Context(), here, use("l", 1, 1))
	require.NoError(t, err)
	var once sync.Once
	crossing.Counter = between{l.Counter, func(int64) error {
		once.Do(func() { c.advance(time.Millisecond) })
		return nil
	}}
	got, err := crossing.Consume(t.Context(), here, use("l", 1, 1))
	require.NoError(t, err)
	require.Equal(t, true, got.At("ok"), "the window that began is empty")
	got, err = l.Consume(t.Context(), here, use("l", 1, 1))
	require.NoError(t, err)
	require.Equal(t, false, got.At("ok"), "it counts there")
}

func TestACounterThatDoesNotAnswerAdmits(t *testing.T) {
	l := open(t, newClock())
	down := secondLimiter(l)
	down.Counter = between{l.Counter, func(int64) error { return errors.New("unreachable") }}
	for range 3 {
		got, err := down.Consume(t.Context(), here, use("l", 1, 1))
		require.NoError(t, err)
		require.JSONEq(t, `{"ok":true,"retryAfter":0,"remaining":0,"limit":1,"window":60}`, value.JSON(got, ""))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("cancelled")
	cancel(gone)
	_, err := down.Consume(ctx, here, use("l", 1, 1))
	require.ErrorIs(t, err, gone)
}

func TestWhatIsNotCountedBackAdmitsLess(t *testing.T) {
	l := open(t, newClock())
	crashing := secondLimiter(l)
	crashing.Counter = between{l.Counter, func(n int64) error {
		if n < 0 {
			return errors.New("gone")
		}
		return nil
	}}
	for range 4 {
		_, err := crashing.Consume(t.Context(), here, use("l", 2, 1))
		require.NoError(t, err)
	}
	got, err := l.Consume(t.Context(), here, use("l", 3, 1))
	require.NoError(t, err)
	require.Equal(t, false, got.At("ok"))
}

// A workspace cannot fill the log with counters: one more than it may have is refused, until
// the windows of others are over.
func TestAWorkspaceHasSoManyCountersAtOnce(t *testing.T) {
	c := newClock()
	l := open(t, c)
	l.Most = 3
	take := func(workspaceID string, consumer any, window time.Duration) error {
		u := use("l", 5, 1)
		u.Consumer, u.Window = consumer, window
		_, err := l.Consume(t.Context(), ratelimit.Scope{WorkspaceID: workspaceID}, u)
		return err
	}
	require.NoError(t, take("w1", "long", time.Hour))
	require.NoError(t, take("w1", "a", time.Minute))
	require.NoError(t, take("w1", "b", time.Minute))
	err := take("w1", "c", time.Minute)
	many, ok := errors.AsType[*automation.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, automation.InvalidInstruction, many.Name)
	require.JSONEq(t, `{"limit":3}`, value.JSON(many.Details, ""))
	require.NoError(t, take("w1", "a", time.Minute), "those that are there go on")
	require.NoError(t, take("w2", "c", time.Minute), "and so do others")

	c.advance(time.Minute)
	require.NoError(t, take("w1", "c", time.Minute))
	require.NoError(t, take("w1", "d", time.Minute))
	require.Error(t, take("w1", "e", time.Minute), "the long one is not over")
	c.advance(time.Hour)
	require.NoError(t, take("w1", "e", time.Hour))
}

func TestParametersAreRead(t *testing.T) {
	tests := map[string]struct {
		params string
		want   ratelimit.Use
	}{
		"the least":         {`{"name": "l", "limit": 2, "window": 60}`, ratelimit.Use{Name: "l", Limit: 2, Window: time.Minute, Consume: 1, Consumer: value.Undefined}},
		"all":               {`{"name": "l", "limit": 0, "window": 0.5, "consumer": "c", "consume": 0, "break": true}`, ratelimit.Use{Name: "l", Window: 500 * time.Millisecond, Consumer: "c", Break: true}},
		"a consumer of 5":   {`{"name": "l", "limit": 1.5, "window": 1, "consumer": 5}`, ratelimit.Use{Name: "l", Limit: 1.5, Window: time.Second, Consume: 1, Consumer: "5"}},
		"nulls are absent":  {`{"name": "l", "limit": 1, "window": 1, "consumer": null, "consume": null, "break": null}`, ratelimit.Use{Name: "l", Limit: 1, Window: time.Second, Consume: 1, Consumer: value.Undefined}},
		"an empty consumer": {`{"name": "l", "limit": 1, "window": 1, "consumer": ""}`, ratelimit.Use{Name: "l", Limit: 1, Window: time.Second, Consume: 1, Consumer: ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := value.ParseJSON(tt.params)
			require.NoError(t, err)
			got, err := ratelimit.Read(v.(*value.Object))
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestBadParametersAreRefused(t *testing.T) {
	tests := map[string]struct{ params, want string }{
		"no name":            {`{"limit": 1, "window": 1}`, "name is a string that is not empty"},
		"an empty name":      {`{"name": "", "limit": 1, "window": 1}`, "name is a string that is not empty"},
		"a name of 1":        {`{"name": 1, "limit": 1, "window": 1}`, "name is a string that is not empty"},
		"no limit":           {`{"name": "l", "window": 1}`, "limit is a number from 0 to 9007199254740992"},
		"a limit below 0":    {`{"name": "l", "limit": -1, "window": 1}`, "limit is a number from 0 to 9007199254740992"},
		"a limit of text":    {`{"name": "l", "limit": "1", "window": 1}`, "limit is a number from 0 to 9007199254740992"},
		"an endless limit":   {`{"name": "l", "limit": 1e300, "window": 1}`, "limit is a number from 0 to 9007199254740992"},
		"no window":          {`{"name": "l", "limit": 1}`, "window is a number of seconds above 0 and up to 31622400"},
		"a window of 0":      {`{"name": "l", "limit": 1, "window": 0}`, "window is a number of seconds above 0 and up to 31622400"},
		"a window of years":  {`{"name": "l", "limit": 1, "window": 1e9}`, "window is a number of seconds above 0 and up to 31622400"},
		"a consume below 0":  {`{"name": "l", "limit": 1, "window": 1, "consume": -1}`, "consume is a whole number from 0 on"},
		"a consume of half":  {`{"name": "l", "limit": 1, "window": 1, "consume": 0.5}`, "consume is a whole number from 0 on"},
		"a consumer in list": {`{"name": "l", "limit": 1, "window": 1, "consumer": []}`, "consumer is a string, not array"},
		"a break of text":    {`{"name": "l", "limit": 1, "window": 1, "break": "yes"}`, "break is true or false, not string"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := value.ParseJSON(tt.params)
			require.NoError(t, err)
			_, err = ratelimit.Read(v.(*value.Object))
			raised := automation.ErrorOf(err)
			require.Equal(t, automation.InvalidInstruction, raised.Name)
			require.Equal(t, tt.want, raised.Message)
		})
	}
}
