package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/throttle"
)

// at returns a throttle where everything has one pace.
func at(perSecond, burst float64) *throttle.Throttle {
	return &throttle.Throttle{Rate: func(string, throttle.What) throttle.Rate { return throttle.Rate{PerSecond: perSecond, Burst: burst} }}
}

func TestABurstGoesAtOnceAndTheRestAtItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := at(10, 5)
		for range 5 {
			waited, err := th.Wait(t.Context(), "w", throttle.Emits, 1)
			require.NoError(t, err)
			require.Zero(t, waited)
		}
		for range 20 {
			waited, err := th.Wait(t.Context(), "w", throttle.Emits, 1)
			require.NoError(t, err)
			require.InDelta(t, 100*time.Millisecond, waited, float64(time.Millisecond))
		}
		waited, err := th.Wait(t.Context(), "other", throttle.Emits, 5)
		require.NoError(t, err)
		require.Zero(t, waited, "workspaces do not slow each other")
		waited, err = th.Wait(t.Context(), "w", throttle.Fetches, 5)
		require.NoError(t, err)
		require.Zero(t, waited, "nor do things")
	})
}

func TestARestFillsTheBucketUpToItsBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := at(10, 5)
		for range 3 {
			began := time.Now()
			for range 6 {
				_, err := th.Wait(t.Context(), "w", throttle.Emits, 1)
				require.NoError(t, err)
			}
			require.InDelta(t, 100*time.Millisecond, time.Since(began), float64(time.Millisecond))
			<-time.After(time.Hour)
		}
	})
}

func TestMoreThanABurstIsPaidForByWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := at(100, 50)
		waited, err := th.Wait(t.Context(), "w", throttle.Repeats, 500)
		require.NoError(t, err)
		require.Zero(t, waited)
		waited, err = th.Wait(t.Context(), "w", throttle.Repeats, 500)
		require.NoError(t, err)
		require.InDelta(t, 5*time.Second, waited, float64(10*time.Millisecond))
	})
}

func TestThoseWhoWaitAreServedInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := at(1, 1)
		var mu sync.Mutex
		var served []int
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				_, err := th.Wait(t.Context(), "w", throttle.Executions, 1+i%3)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					served = append(served, i)
				}
			})
			synctest.Wait() // it stands in line
		}
		all.Wait()
		require.IsIncreasing(t, served)
		require.Len(t, served, 20)
	})
}

func TestOneThatGivesUpTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := at(1, 10)
		_, err := th.Wait(t.Context(), "w", throttle.Emits, 10)
		require.NoError(t, err)
		gone := errors.New("cancelled")
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		for range 2 { // the first in line, and one behind
			go func() {
				_, err := th.Wait(ctx, "w", throttle.Emits, 10)
				ended <- err
			}()
			synctest.Wait()
		}
		<-time.After(5 * time.Second)
		cancel(gone)
		require.ErrorIs(t, <-ended, gone)
		require.ErrorIs(t, <-ended, gone)
		waited, err := th.Wait(t.Context(), "w", throttle.Emits, 5)
		require.NoError(t, err)
		require.Zero(t, waited, "what flowed in meanwhile is there")
	})
}

func TestZeroSwitchesOff(t *testing.T) {
	for _, rate := range []throttle.Rate{{}, {PerSecond: 0, Burst: 5}, {PerSecond: 5, Burst: 0}, {PerSecond: -1, Burst: 5}} {
		th := at(rate.PerSecond, rate.Burst)
		for range 1000 {
			waited, err := th.Wait(t.Context(), "w", throttle.Emits, 1000)
			require.NoError(t, err)
			require.Zero(t, waited)
		}
		require.Zero(t, th.Len())
	}
}

func TestAnotherRateCountsForThoseWhoWaitAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		rate := throttle.Rate{PerSecond: 0.001, Burst: 1}
		th := &throttle.Throttle{Rate: func(string, throttle.What) throttle.Rate {
			mu.Lock()
			defer mu.Unlock()
			return rate
		}}
		_, err := th.Wait(t.Context(), "w", throttle.Emits, 1)
		require.NoError(t, err)
		time.AfterFunc(10*time.Second, func() {
			mu.Lock()
			defer mu.Unlock()
			rate = throttle.Rate{}
		})
		waited, err := th.Wait(t.Context(), "w", throttle.Emits, 1)
		require.NoError(t, err)
		require.Less(t, waited, 12*time.Second)
	})
}

func TestFullBucketsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := at(1, 100)
		for i := range 1000 {
			_, err := th.Wait(t.Context(), fmt.Sprint("w", i), throttle.Emits, 1)
			require.NoError(t, err)
		}
		_, err := th.Wait(t.Context(), "busy", throttle.Emits, 1000)
		require.NoError(t, err)
		<-time.After(2 * time.Minute)
		_, err = th.Wait(t.Context(), "w0", throttle.Emits, 1)
		require.NoError(t, err)
		require.Equal(t, 2, th.Len(), "the busy one and the new one")
	})
}

func TestSuperAdminsOverrideRates(t *testing.T) {
	secrets := map[string]string{
		"svc_ratelimit_automations": "7", "svc_ratelimit_emits_burst": " 9 ", "svc_ratelimit_fetchs": "many",
		"svc_ratelimit_repeats": "0", "svc_ratelimit_repeats_burst": "-1",
	}
	rates := throttle.Rates{
		Executions: throttle.Rate{PerSecond: 100, Burst: 400}, Emits: throttle.Rate{PerSecond: 30, Burst: 100},
		Fetches: throttle.Rate{PerSecond: 50, Burst: 200}, Repeats: throttle.Rate{PerSecond: 1000, Burst: 4000},
	}
	got := rates.Overridden(func(name string) string { return secrets[name] })
	require.Equal(t, throttle.Rate{PerSecond: 7, Burst: 400}, got.Of(throttle.Executions))
	require.Equal(t, throttle.Rate{PerSecond: 30, Burst: 9}, got.Of(throttle.Emits))
	require.Equal(t, throttle.Rate{PerSecond: 50, Burst: 200}, got.Of(throttle.Fetches))
	require.Equal(t, throttle.Rate{PerSecond: 0, Burst: 4000}, got.Of(throttle.Repeats))
	secrets["svc_ratelimit_disabled"] = "true"
	got = rates.Overridden(func(name string) string { return secrets[name] })
	require.Equal(t, throttle.Rate{}, got.Of(throttle.Executions))
	require.Equal(t, throttle.Rate{}, got.Of(99))
}

func BenchmarkWait(b *testing.B) {
	th := at(1e12, 1e12)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := th.Wait(b.Context(), "w", throttle.Emits, 1); err != nil {
				b.Error(err)
			}
		}
	})
}
