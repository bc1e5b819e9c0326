// Package livetest opens a real log with real read models that follow it, for
// tests of what stands on both.
package livetest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/catalog"
	"svc/eventstore/jetstream"
	"svc/projections"
)

// patience bounds every wait.
const patience = 30 * time.Second

// Open returns a store and its read models. Both end with the test.
func Open(tb testing.TB) (*jetstream.Store, *projections.Models) {
	tb.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store, err := jetstream.Open(tb.Context(), jetstream.Options{Dir: tb.TempDir(), Events: catalog.Events(), Log: quiet})
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(tb, store.Close(ctx))
	})
	db, err := projections.OpenDB(projections.DBOptions{Dir: tb.TempDir(), MemtableMB: 4, BlockCacheMB: 4, Log: quiet})
	require.NoError(tb, err)
	models, err := projections.New(projections.Options{DB: db, Store: store, Known: store.Known, Log: quiet})
	require.NoError(tb, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = models.Run(ctx) }) // its end is the test's
	tb.Cleanup(func() {
		stop()
		running.Wait()
		require.NoError(tb, db.Close())
	})
	return store, models
}

// Fresh waits until the read models have what is in the log now.
func Fresh(tb testing.TB, models *projections.Models) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(tb, models.Fresh(ctx))
}
