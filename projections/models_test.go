package projections_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
	"svc/projections"
)

func TestAWriterReadsItsOwnWrites(t *testing.T) {
	h := newHouse(t)
	ctx := bounded(t)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			id := fmt.Sprintf("w%d", w)
			r := create(t, h.log.Log, id, "0")
			for i := 1; i <= 40; i++ {
				if err := h.Reach(ctx, r.Position); err != nil {
					t.Error(err)
					return
				}
				if got := nameOf(t, h.Models, id); got != fmt.Sprint(i-1) {
					t.Errorf("read %q, wrote %d", got, i-1)
				}
				r = update(t, h.log.Log, id, fmt.Sprint(i), r.Seqs[0])
			}
		})
	}
	writers.Wait()
	require.NoError(t, h.Fresh(ctx))
	require.Equal(t, h.log.Log.Known(), h.Position())
	require.Equal(t, 8, listed(t, h.Models))
}

func TestTheLastUpdatedIsListedFirst(t *testing.T) {
	h := newHouse(t)
	a := create(t, h.log.Log, "a", "a")
	create(t, h.log.Log, "b", "b")
	last := update(t, h.log.Log, "a", "a2", a.Seqs[0])
	require.NoError(t, h.Reach(bounded(t), last.Position))
	var seqs []uint64
	require.NoError(t, h.View(func(r projections.Reader) error {
		return projections.Workspaces{}.List(r, false, func(d projections.Record) bool {
			seqs = append(seqs, d.Revision)
			return true
		})
	}))
	require.Equal(t, []uint64{2, 1}, seqs, "a was changed once, b never")
}

func TestADocumentIsServedAsStored(t *testing.T) {
	h := newHouse(t)
	first := create(t, h.log.Log, "a", "one")
	second := update(t, h.log.Log, "a", "two", first.Seqs[0])
	require.NoError(t, h.Reach(bounded(t), second.Position))
	made, _, err := h.log.Log.Read(t.Context(), domain.State, 1)
	require.NoError(t, err)
	changed, _, err := h.log.Log.Read(t.Context(), domain.State, 2)
	require.NoError(t, err)
	require.NoError(t, h.View(func(r projections.Reader) error {
		doc, ok, err := projections.Workspaces{}.Get(r, "a")
		require.True(t, ok)
		require.EqualValues(t, 2, doc.Revision)
		const form = "2006-01-02T15:04:05.000Z"
		require.JSONEq(t, fmt.Sprintf(`{"id":"a","name":"two","labels":[],"dirty":true,"contentRevision":2,"createdAt":%q,"createdBy":"u1","updatedAt":%q,"updatedBy":"u1"}`,
			made.At.UTC().Format(form), changed.At.UTC().Format(form)), string(doc.JSON))
		return err
	}))
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.Reach(ctx, domain.Position{State: 1}), context.Canceled)
	require.NoError(t, h.Reach(ctx, domain.Position{}), "nothing to wait for")
}

func TestEmptyLogsAreCaughtUp(t *testing.T) {
	h := newHouse(t)
	require.NoError(t, h.CaughtUp(bounded(t)))
	require.True(t, h.Health().OK())
}

func TestMetricsTellTheLag(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	log, _ := openLog(t, t.TempDir())
	db, _ := openDB(t, t.TempDir())
	at := fill(t, log.Log, 3)
	m, err := projections.New(projections.Options{DB: db, Store: log.Log, Known: log.Log.Known, Metrics: reg})
	require.NoError(t, err)
	require.Equal(t, uint64(3), m.Health().Logs[0].Lag)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = m.Run(ctx) })
	require.NoError(t, m.Reach(bounded(t), at))
	require.Zero(t, m.Health().Logs[0].Lag)
	cancel()
	running.Wait()
	n, err := testutil.GatherAndCount(reg)
	require.NoError(t, err)
	require.Equal(t, 5, n, "two lags, one counter, two histograms")
}

var _ eventstore.Store = faulty{}
