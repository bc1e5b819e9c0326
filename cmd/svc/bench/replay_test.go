//go:build bench

package bench

import (
	"log/slog"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore/jetstream"
	"svc/projections"
)

const aimReplay = 0.5

// benchReplay compares a rebuild of the read models with a consumer of the same
// log that does nothing.
func benchReplay(t *testing.T, _ *history) {
	past := newHistory(t, 250_000)
	past.fill(t)
	others := watchOthers(t)
	var ours, control series
	for range runs {
		ours = append(ours, rebuildOnce(t, past))
		control = append(control, consumeOnce(t, past))
	}
	out := line{
		"runs": runs, "others_cores": others(), "ratios": ours.ratios(control), "events": past.events, "workspaces": past.workspaces, "log_mb": megabytes(sizeOf(t, past.log())),
		"fill_per_s": past.rate, "aim": aimReplay, "ratio": ours.ratio(control), "ok": ours.ratio(control) >= aimReplay,
		"ratio_cpu": control.of(sample.cpuEach) / ours.of(sample.cpuEach), "durability": "none: read models are rebuilt, not synced",
		"stored": past.events, "answered": ours.count() + control.count(), "sent": uint64(2*runs) * past.events,
	}
	ours.describe(out, "rebuild")
	control.describe(out, "consume")
	out.print(t, "replay")
}

// rebuildOnce fills read models from nothing.
func rebuildOnce(t *testing.T, past *history) sample {
	t.Helper()
	store := openStore(t, past.log(), jetstream.SyncGroup)
	db, err := projections.OpenDB(projections.DBOptions{Dir: t.TempDir() + "/readmodels", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	models, err := projections.New(projections.Options{DB: db, Store: store.Log, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	collectGarbage()
	stop, err := profile("replay")
	require.NoError(t, err)
	cpu, start := ownCPU(t), time.Now()
	report, err := models.Rebuild(t.Context(), nil)
	s := sample{took: time.Since(start), cpu: ownCPU(t) - cpu, count: int(report.Position.State)}
	stop()
	require.NoError(t, err)
	require.Equal(t, past.events, report.Position.State)
	found := 0
	require.NoError(t, models.View(func(r projections.Reader) error {
		return projections.Workspaces{}.List(r, false, func(projections.Record) bool { found++; return true })
	}))
	require.Equal(t, past.workspaces, found, "each workspace is there")
	require.NoError(t, db.Close())
	closeStore(t, store)
	return s
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
