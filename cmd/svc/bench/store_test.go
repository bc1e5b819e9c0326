//go:build bench

package bench

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/catalog"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

func openStore(t *testing.T, dir string, sync jetstream.Sync) *jetstream.Store {
	t.Helper()
	store, err := jetstream.Open(t.Context(), jetstream.Options{
		Events: catalog.Events(), Dir: dir, Sync: sync, MaxWait: 20 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return store
}

func closeStore(t *testing.T, store *jetstream.Store) {
	t.Helper()
	require.NoError(t, store.Close(context.Background()))
}

func lastOf(t *testing.T, store *jetstream.Store) uint64 {
	t.Helper()
	info, err := store.Log.Info(t.Context(), domain.State)
	require.NoError(t, err)
	require.True(t, info.Contiguous())
	return info.Last
}

// subject is a workspace that is written to, with what its next commit expects.
type subject struct {
	id       string
	events   int
	expected uint64
}

var description = strings.Repeat("what a workspace is for ", 8)

// next is the commit that follows: a creation, then updates.
func (s *subject) next() eventstore.Commit {
	shown := workspace.Snapshot{ID: s.id, Settings: workspace.Settings{
		Name: "workspace " + s.id, Description: document.InEveryLanguage(fmt.Sprintf("%s%d", description, s.events)), Labels: []string{"bench"},
	}}
	var ev domain.Event = workspace.Updated{Workspace: shown}
	if s.events == 0 {
		ev = workspace.Created{Workspace: shown}
	}
	return eventstore.Commit{
		Stream: workspace.Stream(s.id), Expected: s.expected, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: ev}},
		Meta: domain.Meta{UserID: "u-bench", SessionID: "s-bench", CorrelationID: "c-" + s.id},
	}
}

// append adds one event.
func (s *subject) append(ctx context.Context, store eventstore.Store) error {
	receipt, err := store.Append(ctx, s.next())
	if err != nil {
		return err
	}
	s.events++
	s.expected = receipt.Position.State
	return nil
}

// history is a log that is filled once and then read.
type history struct {
	dir        string // a data directory: the log is in log
	workspaces int
	events     uint64
	made       time.Time // when the last event was written; zero before
	rate       float64   // at which it was filled
}

func newHistory(t *testing.T, events int) *history {
	t.Helper()
	return &history{dir: t.TempDir(), workspaces: 10_000, events: uint64(scaled(events))}
}

func (h *history) log() string { return filepath.Join(h.dir, "log") }

// fill makes the log unless it is there. Only the filling goes without fsync.
func (h *history) fill(t *testing.T) {
	t.Helper()
	if !h.made.IsZero() {
		return
	}
	store := openStore(t, h.log(), jetstream.SyncNever)
	start := time.Now()
	failed := write(t, store, h.workspaces, h.events)
	require.NoError(t, failed)
	h.made = time.Now()
	h.rate = float64(h.events) / h.made.Sub(start).Seconds()
	require.Equal(t, h.events, lastOf(t, store), "sent = stored")
	closeStore(t, store)
	collectGarbage()
	t.Logf("filled a log of %d events at %.0f/s", h.events, h.rate)
}

// write spreads events evenly over workspaces, with many writers.
func write(t *testing.T, store *jetstream.Store, workspaces int, events uint64) error {
	t.Helper()
	writers := min(64, workspaces)
	var sent atomic.Uint64
	var failure atomic.Pointer[error]
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			var mine []*subject
			for i := w; i < workspaces; i += writers {
				mine = append(mine, &subject{id: fmt.Sprintf("w%06d", i)})
			}
			for i := 0; sent.Add(1) <= events; i++ {
				if err := mine[i%len(mine)].append(t.Context(), store.Log); err != nil {
					failure.Store(&err)
					return
				}
			}
		})
	}
	running.Wait()
	if err := failure.Load(); err != nil {
		return *err
	}
	return nil
}
