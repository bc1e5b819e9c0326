package cleanup_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/kbdocument"
	"svc/domain/subscription"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
	"svc/streams"
	"svc/streams/cleanup"
)

var quiet = slog.New(slog.DiscardHandler)

const day = 24 * time.Hour

// fixture is a log with its read models, and the jobs that clean it.
type fixture struct {
	t      testing.TB
	dir    string
	store  *jetstream.Store
	models *projections.Models
	log    *broken
	jobs   *cleanup.Jobs
	memory *jetstream.Bucket
	now    time.Time
	owners owners
}

// broken is the log, which fails to purge while it is told to.
type broken struct {
	*jetstream.Log
	down  bool
	first func() // happens before what is appended next; nil: nothing
}

// Append implements cleanup.Log.
func (b *broken) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	if first := b.first; first != nil {
		b.first = nil
		first()
	}
	return b.Log.Append(ctx, commits...)
}

var errDown = errors.New("the broker is gone")

// PurgeActivity implements cleanup.Log.
func (b *broken) PurgeActivity(ctx context.Context, workspaceID, eventType string, below uint64) error {
	if b.down {
		return errDown
	}
	return b.Log.PurgeActivity(ctx, workspaceID, eventType, below)
}

// payloads are what is kept apart. Nothing of it has a key.
type payloads struct {
	store  *jetstream.Store
	stands string // the tree that stands in a wait
}

func (p payloads) Strip(ctx context.Context, workspaceID string, before time.Time, dry bool) (count, bytes uint64, err error) {
	found, err := p.store.Payloads.Before(ctx, workspaceID, before)
	if err == nil && !dry {
		err = p.store.Payloads.Purge(ctx, workspaceID, found.Below)
	}
	return found.Count, found.Bytes, err
}

func (payloads) Expire(context.Context, string, bool) (uint64, error) { return 0, nil }

func (p payloads) HasData(ctx context.Context, workspaceID string) (bool, error) {
	return p.store.HasWorkspaceData(ctx, workspaceID)
}

func (p payloads) IsParked(_ context.Context, _, treeID string) (bool, error) {
	return treeID == p.stands, nil
}

func (p payloads) Erase(ctx context.Context, workspaceID string) error {
	return p.store.EraseWorkspaceData(ctx, workspaceID)
}

func open(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	store := livetest.Store(t, jetstream.Options{Dir: dir})
	models := livetest.Models(t, store)
	memory, err := store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "CLEANUP"})
	require.NoError(t, err)
	leases, err := store.Buckets.Open(t.Context(), jetstream.BucketConfig{Name: "CLEANUP_RUNS", TTL: time.Minute})
	require.NoError(t, err)
	engine, err := commands.NewEngine(commands.EngineOptions{Store: store.Log, Log: quiet})
	require.NoError(t, err)
	h := &fixture{t: t, dir: dir, store: store, models: models, log: &broken{Log: store.Log}, memory: memory, now: time.Now(), owners: owners{}}
	h.jobs = &cleanup.Jobs{
		Log: h.log, Data: payloads{store: store}, Blobs: store.Blobs, BlobOwners: h.owners, Notes: memory, Models: models, Logger: quiet,
		Lease: streams.Lease{Bucket: leases, Name: "cleanup", TTL: time.Minute, Log: quiet},
		RemoveDocuments: func(_ context.Context, workspaceID string, base kbdocument.Base, ids []string) error {
			return fmt.Errorf("no document was expected in %s, %s: %v", workspaceID, base.Slug, ids)
		},
		Record: engine.Record, Now: func() time.Time { return h.now }, Terms: func() cleanup.Terms { return keepAll },
	}
	return h
}

// keepAll are terms on which nothing is too old.
var keepAll = cleanup.Terms{Retention: -1, MaxEvents: -1, Executions: -1, DeletionDelay: 30 * day}

// recordActivity records activity events and returns the last of them.
func (h *fixture) recordActivity(workspaceID string, events ...domain.Event) domain.Recorded {
	h.t.Helper()
	return h.recordApart(workspaceID, "", events...)
}

// recordApart is recordActivity; a payload of the first event is stored apart.
func (h *fixture) recordApart(workspaceID, payload string, events ...domain.Event) domain.Recorded {
	h.t.Helper()
	c := eventstore.Commit{Stream: domain.StreamID{Scope: workspaceID}, Meta: domain.Meta{CorrelationID: ulid.Make().String(), UserID: "u1"}}
	for _, ev := range events {
		c.Facts = append(c.Facts, eventstore.Fact{ID: ulid.Make().String(), Event: ev})
	}
	if payload != "" {
		c.Facts[0].Apart = []byte(payload)
	}
	r, err := h.store.Log.Append(h.t.Context(), c)
	require.NoError(h.t, err)
	ev, ok, err := h.store.Log.Read(h.t.Context(), domain.Activity, r.Position.Activity)
	require.NoError(h.t, err)
	require.True(h.t, ok)
	return ev
}

func emitted(name string) domain.Event { return domain.Unknown{Name: name, Body: []byte(`{"a":1}`)} }

func many(n int, ev domain.Event) (all []domain.Event) {
	for range n {
		all = append(all, ev)
	}
	return all
}

// delivered is a record of a delivery of a workspace.
func delivered(workspaceID, id string) domain.Event {
	return subscription.Attempted{Records: []subscription.Record{{
		Delivery: subscription.Delivery{ID: id, SubscriptionID: "sub-" + workspaceID, EventType: "a", Status: subscription.Succeeded, CreatedAt: time.Unix(1_700_000_000, 0)},
		Health:   &subscription.Health{},
	}}}
}

var interaction = activity.Interaction{Automation: "a", Trigger: activity.Trigger{Type: activity.ByEndpoint}}

// exists makes a workspace.
func (h *fixture) exists(id string, events ...domain.Event) {
	h.t.Helper()
	c := eventstore.Commit{Stream: workspace.Stream(id)}
	for _, ev := range append([]domain.Event{workspace.Created{Workspace: workspace.Snapshot{ID: id}}}, events...) {
		c.Facts = append(c.Facts, eventstore.Fact{ID: ulid.Make().String(), Event: ev})
	}
	_, err := h.store.Log.Append(h.t.Context(), c)
	require.NoError(h.t, err)
}

// runIndices runs the indices job.
func (h *fixture) runIndices(t cleanup.Terms) activity.Cleaned {
	h.t.Helper()
	livetest.Fresh(h.t, h.models)
	done, err := h.jobs.Indices(h.t.Context(), t)
	require.NoError(h.t, err)
	return done
}

// known counts the activity events of a workspace that the index has.
func (h *fixture) known(workspaceID string) (n int) {
	h.t.Helper()
	livetest.Fresh(h.t, h.models)
	require.NoError(h.t, h.models.View(func(r projections.Reader) error {
		return projections.FeedOf(domain.Activity).List(r, workspaceID, projections.FeedSelection{}, 0, false, func(projections.FeedEntry) bool {
			n++
			return true
		})
	}))
	return n
}

// activityTypes lists the types of what the log has of a workspace's activity.
func (h *fixture) activityTypes(workspaceID string) (types []string) {
	h.t.Helper()
	for _, ev := range livetest.Activity(h.t, h.store.Log) {
		if ev.Stream.Scope == workspaceID {
			types = append(types, ev.Data.EventType())
		}
	}
	return types
}

// isWhole checks that the read models are what the log makes of them.
func (h *fixture) isWhole() {
	h.t.Helper()
	livetest.Fresh(h.t, h.models)
	report, err := h.models.Verify(h.t.Context(), nil)
	require.NoError(h.t, err)
	require.True(h.t, report.OK, "%+v", report)
	var compared []string
	for _, p := range report.Projections {
		compared = append(compared, p.Name)
	}
	for _, p := range []projections.Projection{projections.FeedOf(domain.State), projections.FeedOf(domain.Activity), projections.Usage{}, projections.Deliveries{}, projections.Runs{}} {
		require.Contains(h.t, compared, p.Name())
	}
}

// state returns the log of states as it lies on the disk: nobody may touch a byte of it.
func (h *fixture) state() map[string][]byte {
	h.t.Helper()
	blocks, err := filepath.Glob(filepath.Join(h.dir, "jetstream", "*", "streams", string(domain.State), "msgs", "*.blk"))
	require.NoError(h.t, err)
	bytes := map[string][]byte{}
	for _, block := range blocks {
		bytes[block], err = os.ReadFile(block)
		require.NoError(h.t, err)
	}
	require.NotEmpty(h.t, bytes)
	return bytes
}
