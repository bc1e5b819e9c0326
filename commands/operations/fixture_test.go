package operations_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/commands"
	"svc/commands/operations"
	"svc/domain"
	"svc/domain/catalog"
	"svc/domain/operation"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
	"svc/streams"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

// patience bounds every wait of a test.
const patience = time.Minute

// fixture is a log with a workspace.
type fixture struct {
	store *jetstream.Store
	id    string // of the workspace
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	store, err := jetstream.Open(t.Context(), jetstream.Options{Dir: t.TempDir(), Events: catalog.Events(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, store.Close(ctx))
	})
	h := &fixture{store: store}
	made, err := h.workspaces(t).Create(t.Context(), workspace.Settings{Name: "Shop"})
	require.NoError(t, err)
	h.id = made.State.ID
	return h
}

// workspaces are those of a node of its own.
func (h *fixture) workspaces(t *testing.T) commands.Workspaces {
	t.Helper()
	engine, err := commands.NewEngine(commands.EngineOptions{Store: h.store.Log, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return commands.Workspaces{Engine: engine}
}

// node is a runner, what it holds its leases with, and what it logs.
type node struct {
	*operations.Runner
	bucket *bucket
	log    *livetest.Lines
}

// start starts a node.
func (h *fixture) start(t *testing.T) *node {
	t.Helper()
	kept, err := h.store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "OPERATIONS", TTL: time.Minute})
	require.NoError(t, err)
	n := &node{bucket: &bucket{Bucket: kept}, log: new(livetest.Lines)}
	log, ws := slog.New(slog.NewJSONHandler(n.log, nil)), h.workspaces(t)
	n.Runner = &operations.Runner{
		Engine: ws.Engine, Workspaces: ws, Leases: leases{n.bucket, log}, Blobs: h.store.Blobs, PollInterval: 20 * time.Millisecond, Log: log,
	}
	t.Cleanup(func() { n.stop(t) })
	return n
}

// stop ends a node in good order.
func (n *node) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, n.Close(ctx))
}

// bucket keeps leases, and takes no writes when it is down.
type bucket struct {
	*jetstream.Bucket
	down atomic.Bool
}

func (b *bucket) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if b.down.Load() {
		return 0, eventstore.ErrUnavailable
	}
	return b.Bucket.Update(ctx, key, value, revision)
}

// leases are short ones.
type leases struct {
	bucket *bucket
	log    *slog.Logger
}

func (l leases) Hold(ctx context.Context, name string, work func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	failed := func() error { return context.Cause(ctx) }
	err := streams.Lease{Bucket: l.bucket, Name: name, TTL: 3 * time.Second, Log: l.log}.Hold(ctx, func(held context.Context) error {
		defer end(nil)
		err := work(held)
		failed = func() error { return err }
		return nil
	})
	return errors.Join(err, failed())
}

// spec is that of a push.
func (h *fixture) spec() operations.Spec {
	return operations.Spec{Kind: operation.Push, WorkspaceID: h.id, RepositoryID: "origin", Branch: "main", Reason: workspace.PushInProgress, Request: map[string]string{"name": "v1"}, Steps: 2}
}

// as is a context of somebody who sent an Idempotency-Key, or none.
func as(t *testing.T, user, seed string) context.Context {
	return commands.WithRequest(t.Context(), &commands.Request{Meta: domain.Meta{UserID: user, CorrelationID: "c1"}, Seed: seed})
}

// ended waits for the end of an operation.
func ended(t *testing.T, h *operations.Handle) operation.State {
	t.Helper()
	end, ok := h.Wait(t.Context(), patience)
	require.True(t, ok, "it ends")
	return end
}

// lock is the lock of the workspace now.
func (h *fixture) lock(t *testing.T) *workspace.Lock {
	t.Helper()
	now, err := h.workspaces(t).Get(t.Context(), h.id)
	require.NoError(t, err)
	return now.State.Lock
}

// eventNames lists what was recorded of the workspace, or of an operation on it, since
// it was made: types, and what tells them apart.
func (h *fixture) eventNames(t *testing.T, id domain.StreamID) (all []string) {
	t.Helper()
	events, err := h.store.Log.Load(t.Context(), id, 0)
	require.NoError(t, err)
	for _, ev := range events {
		switch e := ev.Data.(type) {
		case workspace.Locked:
			all = append(all, "locked "+e.Reason)
		case workspace.Unlocked:
			all = append(all, "unlocked "+e.Cause)
		case operation.Progress:
			all = append(all, e.Step+" "+string(e.State))
		case operation.Ended:
			all = append(all, "ended "+string(e.Status))
		default:
			all = append(all, ev.Data.EventType())
		}
	}
	return all
}

// reason is the stable sub-code of a failure.
func reason(f *operation.Failure) string {
	if f == nil {
		return ""
	}
	text, _ := f.Details["reason"].(string)
	return text
}

// fields reads a result.
func fields(t *testing.T, result json.RawMessage) (v map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(result, &v), "%s", result)
	return v
}
