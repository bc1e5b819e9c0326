// Package livetest opens a real log and real read models that follow it, for tests
// of what stands on them.
package livetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/catalog"
	"svc/eventstore/jetstream"
	"svc/projections"
)

// waitTimeout bounds every wait.
const waitTimeout = time.Minute

// Patient lets a service under test wait for its log on a machine that does much else, too.
const Patient = "PUBLISH_TIMEOUT_MS=60000"

var discardLog = slog.New(slog.DiscardHandler)

// Store opens a store that ends with the test: with the events of the catalogue,
// silently, and in a directory of its own unless o names one.
func Store(tb testing.TB, o jetstream.Options) *jetstream.Store {
	tb.Helper()
	if o.Dir == "" {
		o.Dir = tb.TempDir()
	}
	o.Events, o.Log = catalog.Events(), discardLog
	o.MaxWait = cmp.Or(o.MaxWait, waitTimeout) // on a machine that does much else, too
	store, err := jetstream.Open(tb.Context(), o)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()
		require.NoError(tb, store.Close(ctx))
	})
	return store
}

// Activity returns the events of the ACTIVITY log.
func Activity(tb testing.TB, log *jetstream.Log) (events []domain.Recorded) {
	tb.Helper()
	info, err := log.Info(tb.Context(), domain.Activity)
	require.NoError(tb, err)
	for next, more := info.First, info.Last > 0; more; {
		var part []domain.Recorded
		part, next, more, err = log.Scan(tb.Context(), domain.Activity, next, info.Last, 500)
		require.NoError(tb, err)
		events = append(events, part...)
	}
	return events
}

// Open returns a store and its read models. Both end with the test.
func Open(tb testing.TB) (*jetstream.Store, *projections.Models) {
	tb.Helper()
	store := Store(tb, jetstream.Options{})
	return store, Models(tb, store)
}

// Models opens read models that follow a store until the test ends.
func Models(tb testing.TB, store *jetstream.Store) *projections.Models {
	tb.Helper()
	db, err := projections.OpenDB(projections.DBOptions{Dir: tb.TempDir(), MemtableMB: 4, BlockCacheMB: 4, Log: discardLog})
	require.NoError(tb, err)
	models, err := projections.New(projections.Options{DB: db, Store: store.Log, Known: store.Log.Known, Log: discardLog})
	require.NoError(tb, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := models.Run(ctx); err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		stop()
		running.Wait()
		require.NoError(tb, db.Close())
	})
	return models
}

// Fresh waits until the read models have what is in the log now.
func Fresh(tb testing.TB, models *projections.Models) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	require.NoError(tb, models.Fresh(ctx))
}

// Lines is a log that may be read while it is written.
type Lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String returns what was written so far.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Ports below those that the kernel gives out by itself.
const (
	firstPort = 10_000
	portCount = 20_000
)

var nextPort atomic.Int64

// Ports returns ports that nothing listens on. The kernel gives none of them to anybody who
// asks for any, and no other test of this process gets them.
func Ports(n int) (ports []int) {
	for range portCount {
		if len(ports) == n {
			return ports
		}
		port := firstPort + (os.Getpid()*211+int(nextPort.Add(1)))%portCount
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			ports = append(ports, port)
		}
	}
	panic("no port is free")
}
