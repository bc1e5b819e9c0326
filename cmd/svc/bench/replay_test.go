//go:build bench

package bench

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"svc/cmd/process"
	"svc/domain"
	"svc/eventstore/jetstream"
	"svc/projections"
)

const aimReplay = 0.5

// benchReplay compares a rebuild of the read models with a consumer of the same
// log that does nothing. A start builds them, too, when their names have changed.
func benchReplay(t *testing.T, _ *history) {
	past := newHistory(t, 250_000)
	past.fill(t)
	others := watchOthers(t)
	var ours, start, control series
	for range runs {
		ours = append(ours, replayOnce(t, past, "replay", func(models *projections.Models) error {
			_, err := models.Rebuild(t.Context(), nil)
			return err
		}))
		start = append(start, replayOnce(t, past, "start", func(models *projections.Models) error { return followOnce(t.Context(), models) }))
		control = append(control, consumeOnce(t, past))
	}
	out := line{
		"runs": runs, "others_cores": others(), "ratios": ours.ratios(control), "events": past.events, "workspaces": past.workspaces, "log_mb": megabytes(sizeOf(t, past.log())),
		"fill_per_s": past.rate, "aim": aimReplay, "ratio": ours.ratio(control), "ok": ours.ratio(control) >= aimReplay,
		"ratio_cpu": control.of(sample.cpuEach) / ours.of(sample.cpuEach), "durability": "none: read models are rebuilt, not synced",
		"stored": past.events, "answered": ours.count() + start.count() + control.count(), "sent": uint64(3*runs) * past.events,
	}
	ours.describe(out, "rebuild")
	start.describe(out, "start")
	control.describe(out, "consume")
	out.print(t, "replay")
}

// replayOnce fills read models from nothing, with the pace of collections that the service has.
func replayOnce(t *testing.T, past *history, name string, fill func(*projections.Models) error) sample {
	t.Helper()
	store := openStore(t, past.log(), jetstream.SyncGroup)
	db, err := projections.OpenDB(projections.DBOptions{Dir: t.TempDir() + "/readmodels", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	models, err := projections.New(projections.Options{DB: db, Store: store.Log, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	collectGarbage()
	stop, err := profile(name)
	require.NoError(t, err)
	pacing, stopPacing := context.WithCancel(t.Context())
	var paced sync.WaitGroup
	paced.Go(func() { _ = process.PaceCollections(pacing) })
	cpu, start := ownCPU(t), time.Now()
	err = fill(models)
	s := sample{took: time.Since(start), cpu: ownCPU(t) - cpu, count: int(models.Position().State)}
	stopPacing()
	paced.Wait()
	stop()
	require.NoError(t, err)
	require.Equal(t, past.events, models.Position().State)
	found := 0
	require.NoError(t, models.View(func(r projections.Reader) error {
		return projections.Workspaces{}.List(r, false, func(projections.Record) bool { found++; return true })
	}))
	require.Equal(t, past.workspaces, found, "each workspace is there")
	require.NoError(t, db.Close())
	closeStore(t, store)
	return s
}

// followOnce is a start after the names of the read models have changed: it runs them until they have caught up.
func followOnce(ctx context.Context, models *projections.Models) error {
	running, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() { _ = models.Run(running) }) // it never fails
	err := models.CaughtUp(ctx)
	stop()
	ended.Wait()
	return err
}

// consumeOnce reads the log with the client library's own ordered consumer, over
// the pipe that the store uses too.
func consumeOnce(t *testing.T, past *history) sample {
	t.Helper()
	broker, err := natsserver.NewServer(&natsserver.Options{DontListen: true, StoreDir: past.log(), JetStream: true, NoSigs: true, NoLog: true, MaxControlLine: 8 << 10})
	require.NoError(t, err)
	broker.Start()
	defer func() { broker.Shutdown(); broker.WaitForShutdown() }()
	require.True(t, broker.ReadyForConnections(time.Minute))
	nc, err := nats.Connect("", nats.InProcessServer(broker))
	require.NoError(t, err)
	defer nc.Close()
	js, err := natsjs.New(nc)
	require.NoError(t, err)
	collectGarbage()
	stop, err := profile("consume")
	require.NoError(t, err)
	defer stop()
	cpu, start := ownCPU(t), time.Now()
	c, err := js.OrderedConsumer(t.Context(), string(domain.State), natsjs.OrderedConsumerConfig{})
	require.NoError(t, err)
	n, done := uint64(0), make(chan struct{})
	consume, err := c.Consume(func(natsjs.Msg) {
		if n++; n == past.events {
			close(done)
		}
	}, natsjs.PullMaxMessages(2000))
	require.NoError(t, err)
	defer consume.Stop()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		require.Fail(t, "the log was not delivered")
	}
	return sample{took: time.Since(start), cpu: ownCPU(t) - cpu, count: int(past.events)}
}
