package jetstream

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"svc/domain/catalog"
)

// counterFixture is a store whose clock the test moves.
type counterFixture struct {
	*Store
	dir string
	now time.Time
}

func newTally(t *testing.T) *counterFixture {
	t.Helper()
	c := &counterFixture{dir: filepath.Join(t.TempDir(), "log"), now: time.Date(2026, 1, 1, 12, 30, 0, 0, time.UTC)}
	c.open(t)
	t.Cleanup(func() { c.close(t) })
	return c
}

func (c *counterFixture) open(t *testing.T) {
	t.Helper()
	var err error
	c.Store, err = Open(t.Context(), Options{
		Dir: c.dir, Events: catalog.Events(), Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return c.now },
	})
	require.NoError(t, err)
}

func (c *counterFixture) close(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(t, c.Close(ctx))
}

func (c *counterFixture) addTo(t *testing.T, key string, window time.Duration, n int64) int64 {
	t.Helper()
	total, err := c.Counters.AddDurable(t.Context(), key, window, n)
	require.NoError(t, err)
	return total
}

// storedHours lists the hours of the counters that are kept, one for each.
func (c *counterFixture) storedHours(t *testing.T) (hours []string) {
	t.Helper()
	info, err := c.conn.subjectsInfo(t.Context(), streamLimits, limitsRoot+">")
	require.NoError(t, err)
	for subject := range info.State.Subjects {
		hours = append(hours, subject[len(limitsRoot):len(limitsRoot)+4])
	}
	slices.Sort(hours)
	return hours
}

func TestKeptCountersOutliveTheBroker(t *testing.T) {
	t.Parallel()
	c := newTally(t)
	require.EqualValues(t, 2, c.addTo(t, "sent a.b *>", time.Hour, 2))
	require.EqualValues(t, 5, c.addTo(t, "sent a.b *>", time.Hour, 3))
	require.GreaterOrEqual(t, c.conn.gate(streamLimits).durable.Load(), uint64(2), "what was counted is on disk")
	require.EqualValues(t, 4, c.addTo(t, "sent a.b *>", time.Hour, -1))
	require.EqualValues(t, 7, c.addTo(t, "of the year", maxDurableWindow, 7))

	c.close(t)
	c.open(t)
	require.EqualValues(t, 4, c.addTo(t, "sent a.b *>", time.Hour, 0))
	c.close(t)
	require.NoError(t, os.Remove(filepath.Join(c.dir, cleanMark))) // as if it had been killed
	c.open(t)
	require.EqualValues(t, 5, c.addTo(t, "sent a.b *>", time.Hour, 1))
	require.EqualValues(t, 7, c.addTo(t, "of the year", maxDurableWindow, 0))

	c.now = c.now.Add(30 * time.Minute)
	require.EqualValues(t, 0, c.addTo(t, "sent a.b *>", time.Hour, 0), "the next window is empty")
	require.EqualValues(t, 7, c.addTo(t, "of the year", maxDurableWindow, 0))
}

func TestACounterNeedsAWindow(t *testing.T) {
	t.Parallel()
	c := newTally(t)
	for _, window := range []time.Duration{0, -time.Second, maxDurableWindow + 1} {
		_, err := c.Counters.AddDurable(t.Context(), "k", window, 1)
		require.ErrorIs(t, err, errNoWindow)
	}
	_, err := c.Counters.Add(t.Context(), "k", 0, 1)
	require.ErrorIs(t, err, errNoWindow)
}

func TestWhatIsOverIsSwept(t *testing.T) {
	t.Parallel()
	c := newTally(t)
	begun := c.now
	c.addTo(t, "a", time.Minute, 1)
	c.addTo(t, "b", 30*time.Minute, 1) // until 13:00, which is the end of the same hour
	c.addTo(t, "c", time.Hour, 1)
	c.addTo(t, "d", 24*time.Hour, 1)
	c.addTo(t, "e", maxDurableWindow, 1)
	all := c.storedHours(t)
	require.Len(t, all, 5)
	steps := []struct {
		at   time.Duration
		want []string
	}{
		{29 * time.Minute, all}, {30 * time.Minute, all}, {39 * time.Minute, all}, {40 * time.Minute, all[3:]}, {40 * time.Minute, all[3:]},
		{11 * time.Hour, all[3:]}, {13 * time.Hour, all[4:]},
	}
	for _, step := range steps {
		require.NoError(t, c.Counters.Sweep(t.Context(), begun.Add(step.at)))
		require.Equal(t, step.want, c.storedHours(t), "after %s", step.at)
	}
	c.addTo(t, "late", time.Minute, 1)
	require.Len(t, c.storedHours(t), 2)
	require.NoError(t, c.Counters.Sweep(t.Context(), begun.Add(time.Hour)))
	require.Equal(t, all[4:], c.storedHours(t), "a clock that was set back begins anew, and erases nothing else")
	require.NoError(t, c.Counters.Sweep(t.Context(), begun.Add(maxDurableWindow)))
	require.Empty(t, c.storedHours(t))
}

// What two nodes sweep, or sweep while they count, is swept.
func TestSweepsDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	c := newTally(t)
	c.Counters.sweptHour.Store(int64(c.now.Sub(time.Unix(0, 0)) / time.Hour)) // not a year, which takes so long that nobody counts meanwhile
	for range 20 {
		c.addTo(t, "old", time.Minute, 1)
		c.now = c.now.Add(time.Hour)
	}
	var working sync.WaitGroup
	for range 3 {
		working.Go(func() {
			if err := c.Counters.Sweep(t.Context(), c.now.Add(-time.Minute)); err != nil {
				t.Error(err)
			}
		})
		working.Go(func() {
			for range 50 {
				if _, err := c.Counters.AddDurable(t.Context(), "new", time.Minute, 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	working.Wait()
	require.Len(t, c.storedHours(t), 1)
	require.EqualValues(t, 150, c.addTo(t, "new", time.Minute, 0))
}

// The broker refuses what would make sweeping needless.
func TestACounterCannotExpireByItself(t *testing.T) {
	t.Parallel()
	c := newTally(t)
	_, err := c.conn.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "OTHER", Subjects: []string{"other.>"}, AllowMsgCounter: true, AllowMsgTTL: true,
	})
	require.ErrorContains(t, err, "counter stream cannot use message TTLs")
}

// BenchmarkKeptCounter counts uses of a limit.
func BenchmarkKeptCounter(b *testing.B) {
	s, err := Open(b.Context(), Options{Dir: filepath.Join(b.TempDir(), "log"), Events: catalog.Events(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close(context.Background())) }()
	for name, add := range map[string]func(context.Context, string, time.Duration, int64) (int64, error){"kept": s.Counters.AddDurable, "in memory": s.Counters.Add} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := add(b.Context(), "k", time.Hour, 1); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
