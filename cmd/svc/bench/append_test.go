//go:build bench

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/eventstore/jetstream"
)

// Aims of the append: of the rate without fsync, and times that of an fsync for
// each event.
const (
	aimLazy   = 0.6
	aimAlways = 10
)

// appendTime is how long one side of one run writes.
const appendTime = 2 * time.Second

var modes = []jetstream.Sync{jetstream.SyncGroup, jetstream.SyncNever, jetstream.SyncAlways}

// benchAppend compares durable appends with appends that are not, and with an
// fsync for each.
func benchAppend(t *testing.T, _ *history) {
	dir, others := t.TempDir(), watchOthers(t)
	slow := mountSlowDisk(t, time.Millisecond)
	out := line{
		"runs": runs, "durability": "group: fdatasync before the answer, shared by all who wait", "aim_lazy": aimLazy, "aim_always": aimAlways,
		"fsync_ms": fsyncTime(t, dir), "fsync_ms_1ms": fsyncTime(t, slow),
	}
	many := appendAll(t, dir, 64, modes)
	lazy, always := many[jetstream.SyncGroup].ratio(many[jetstream.SyncNever]), many[jetstream.SyncGroup].ratio(many[jetstream.SyncAlways])
	out["writers"], out["ratio_lazy"], out["ratio_always"] = 64, lazy, always
	many[jetstream.SyncGroup].describe(out, "group")
	many[jetstream.SyncNever].describe(out, "lazy")
	many[jetstream.SyncAlways].describe(out, "always")
	out["ratios_lazy"] = many[jetstream.SyncGroup].ratios(many[jetstream.SyncNever])
	out["ratios_always"] = many[jetstream.SyncGroup].ratios(many[jetstream.SyncAlways])
	for _, mode := range modes {
		out["rates_"+string(mode)] = many[mode].rates()
	}
	counts := total(many)
	for _, writers := range []int{1, 16} {
		few := appendAll(t, dir, writers, modes)
		counts += total(few)
		out[fmt.Sprintf("ratio_lazy_%dw", writers)] = few[jetstream.SyncGroup].ratio(few[jetstream.SyncNever])
		out[fmt.Sprintf("ratio_always_%dw", writers)] = few[jetstream.SyncGroup].ratio(few[jetstream.SyncAlways])
		out[fmt.Sprintf("per_s_group_%dw", writers)] = few[jetstream.SyncGroup].of(sample.rate)
	}
	onSlow := appendAll(t, slow, 64, []jetstream.Sync{jetstream.SyncGroup, jetstream.SyncAlways})
	counts += total(onSlow)
	always1ms := onSlow[jetstream.SyncGroup].ratio(onSlow[jetstream.SyncAlways])
	out["ratio_always_1ms"] = always1ms
	out["per_s_group_1ms"] = onSlow[jetstream.SyncGroup].of(sample.rate)
	out["per_s_always_1ms"] = onSlow[jetstream.SyncAlways].of(sample.rate)
	out["ratios_always_1ms"] = onSlow[jetstream.SyncGroup].ratios(onSlow[jetstream.SyncAlways])
	out["fsync_ms_after"], out["others_cores"] = fsyncTime(t, dir), others()
	out["sent"], out["stored"], out["answered"] = counts, counts, counts
	out["ok_lazy"], out["ok_always"], out["ok_always_1ms"] = lazy >= aimLazy, always >= aimAlways, always1ms >= aimAlways
	out["ok"] = lazy >= aimLazy && always >= aimAlways
	out.print(t, "append")
}

func total(all map[jetstream.Sync]series) (n int) {
	for _, s := range all {
		n += s.count()
	}
	return n
}

// appendAll measures every mode in every run, each time in another order: what
// one leaves behind must not always fall on the same next one.
func appendAll(t *testing.T, dir string, writers int, modes []jetstream.Sync) map[jetstream.Sync]series {
	t.Helper()
	all := map[jetstream.Sync]series{}
	for run := range runs {
		for _, mode := range slices.Concat(modes[run%len(modes):], modes[:run%len(modes)]) {
			all[mode] = append(all[mode], appendOnce(t, filepath.Join(dir, "log"), mode, writers))
		}
	}
	return all
}

// appendOnce fills a fresh log for a while. It fails unless every event that
// was sent was answered and is stored.
func appendOnce(t *testing.T, dir string, mode jetstream.Sync, writers int) sample {
	t.Helper()
	store := openStore(t, dir, mode)
	defer os.RemoveAll(dir)
	subjects := make([]*subject, writers)
	for i := range subjects {
		subjects[i] = &subject{id: fmt.Sprintf("w%d", i)}
	}
	appendFor(t, store, subjects, appendTime/8) // warm up
	collectGarbage()
	before := lastOf(t, store)
	s := appendFor(t, store, subjects, min(appendTime, time.Duration(scaled(int(appendTime)))))
	require.Equal(t, before+uint64(s.count), lastOf(t, store), "sent = answered = stored")
	closeStore(t, store)
	return s
}

// appendFor lets one writer for each subject append for so long.
func appendFor(t *testing.T, store *jetstream.Store, subjects []*subject, d time.Duration) sample {
	t.Helper()
	latency := make([][]time.Duration, len(subjects))
	var failure atomic.Pointer[error]
	var running sync.WaitGroup
	cpu, start := ownCPU(t), time.Now()
	for i, subject := range subjects {
		running.Go(func() {
			for began := start; began.Sub(start) < d; {
				if err := subject.append(context.Background(), store.Log); err != nil {
					failure.Store(&err)
					return
				}
				now := time.Now()
				latency[i] = append(latency[i], now.Sub(began))
				began = now
			}
		})
	}
	running.Wait()
	s := sample{took: time.Since(start), cpu: ownCPU(t) - cpu, latency: slices.Concat(latency...)}
	if err := failure.Load(); err != nil {
		require.NoError(t, *err)
	}
	s.count = len(s.latency)
	return s
}
