package commands_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

func openStore(t *testing.T) *jetstream.Store {
	t.Helper()
	return livetest.Store(t, jetstream.Options{})
}

func newWorkspaces(t *testing.T, store eventstore.Store, snapshots commands.Snapshots) commands.Workspaces {
	t.Helper()
	e, err := commands.NewEngine(commands.EngineOptions{Store: store, Snapshots: snapshots, Host: domain.Host{Service: "test", Replica: "n1"}})
	require.NoError(t, err)
	return commands.Workspaces{Engine: e}
}

func rename(name string) *document.Map {
	return document.MapOf(document.Pair{Key: "name", Value: name})
}

func TestCreateRecordsWhoAskedAndWhere(t *testing.T) {
	store := openStore(t)
	ws := newWorkspaces(t, store.Log, nil)
	req := &commands.Request{Meta: domain.Meta{UserID: "u1", CorrelationID: "c1", TraceID: "t1"}}
	got, err := ws.Create(commands.WithRequest(t.Context(), req), workspace.Settings{Name: "Shop"})
	require.NoError(t, err)
	require.Len(t, got.State.ID, 7)
	require.Equal(t, domain.At(domain.State, got.Seq+1), req.Position(), "its slug was taken with it")

	events, err := store.Log.Load(t.Context(), workspace.Stream(got.State.ID), 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, domain.Meta{UserID: "u1", CorrelationID: "c1", TraceID: "t1", Host: domain.Host{Service: "test", Replica: "n1"}}, events[0].Meta)
	require.Equal(t, workspace.Created{
		Workspace: workspace.Snapshot{ID: got.State.ID, Settings: got.State.Settings}, Security: got.State.Security, Shares: got.State.Shares,
	}, events[0].Data)
	require.Equal(t, []access.Share{access.OwnedBy("u1")}, got.State.Shares, "whoever asks owns it")
}

func TestARefusalIsGivenOnTheLatestStateOnly(t *testing.T) {
	store := openStore(t)
	here, there := newWorkspaces(t, store.Log, nil), newWorkspaces(t, store.Log, nil)
	made, err := here.Create(t.Context(), workspace.Settings{Name: "a"})
	require.NoError(t, err)

	renamed, err := there.Update(t.Context(), made.State.ID, rename("b"), "")
	require.NoError(t, err)
	// here still remembers "a": "no change" would be wrong.
	again, err := here.Update(t.Context(), made.State.ID, rename("a"), commands.ETag(renamed.State.Revision))
	require.NoError(t, err)
	require.True(t, again.Changed)
	require.Equal(t, "a", again.State.Settings.Name)
}

func TestAStaleTagIsRefused(t *testing.T) {
	ws := newWorkspaces(t, openStore(t).Log, nil)
	made, err := ws.Create(t.Context(), workspace.Settings{Name: "a"})
	require.NoError(t, err)
	_, err = ws.Update(t.Context(), made.State.ID, rename("b"), commands.ETag(made.State.Revision))
	require.NoError(t, err)
	_, err = ws.Update(t.Context(), made.State.ID, rename("c"), commands.ETag(made.State.Revision))
	require.Equal(t, domain.CodeConflict, domain.CodeOf(err))
	_, err = ws.Update(t.Context(), made.State.ID, rename("c"), "*")
	require.NoError(t, err)
}

func TestAnUnchangedUpdateRecordsNothing(t *testing.T) {
	store := openStore(t)
	ws := newWorkspaces(t, store.Log, nil)
	made, err := ws.Create(t.Context(), workspace.Settings{Name: "a"})
	require.NoError(t, err)
	got, err := ws.Update(t.Context(), made.State.ID, rename("a"), "")
	require.NoError(t, err)
	require.False(t, got.Changed)
	events, err := store.Log.Load(t.Context(), workspace.Stream(made.State.ID), 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
}

func TestConcurrentCommandsOnOneAggregateAllCount(t *testing.T) {
	store := openStore(t)
	here, there := newWorkspaces(t, store.Log, nil), newWorkspaces(t, store.Log, nil)
	made, err := here.Create(t.Context(), workspace.Settings{Name: "a"})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i, ws := range []commands.Workspaces{here, there} {
		wg.Go(func() {
			for j := range 25 {
				name := fmt.Sprintf("n%d-%d", i, j)
				_, err := ws.Update(t.Context(), made.State.ID, rename(name), "")
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	events, err := store.Log.Load(t.Context(), workspace.Stream(made.State.ID), 0)
	require.NoError(t, err)
	require.Len(t, events, 51)
}

// lagging is a store whose reads come from a replica that is behind until a time.
type lagging struct {
	eventstore.Store
	until time.Time
	after uint64 // what it has
}

// Load implements eventstore.Store.
func (l *lagging) Load(ctx context.Context, id domain.StreamID, after uint64) ([]domain.Recorded, error) {
	events, err := l.Store.Load(ctx, id, after)
	if time.Now().Before(l.until) {
		events = slices.DeleteFunc(events, func(ev domain.Recorded) bool { return ev.Seq > l.after })
	}
	return events, err
}

func TestAReplicaThatLagsBehindAConflictIsWaitedFor(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	there := newWorkspaces(t, store.Log, nil)
	made, err := there.Create(t.Context(), workspace.Settings{Name: "a"})
	require.NoError(t, err)
	_, err = there.Update(t.Context(), made.State.ID, rename("b"), "")
	require.NoError(t, err)
	behind := &lagging{Store: store.Log, after: made.Seq, until: time.Now().Add(time.Second)}
	_, err = newWorkspaces(t, behind, nil).Update(t.Context(), made.State.ID, rename("c"), "")
	require.NoError(t, err)
	require.False(t, time.Now().Before(behind.until), "it was waited for")
}

func TestARepeatedRequestMeetsItsOwnEvents(t *testing.T) {
	store := openStore(t)
	first, second := newWorkspaces(t, store.Log, nil), newWorkspaces(t, store.Log, nil)
	once := func(ws commands.Workspaces) commands.Workspace {
		ctx := commands.WithRequest(t.Context(), &commands.Request{Seed: "u1/key-1"})
		got, err := ws.Create(ctx, workspace.Settings{Name: "a"})
		require.NoError(t, err)
		return got
	}
	made := once(first)
	require.Equal(t, made.State, once(first).State, "on the node that ran it")
	require.Equal(t, made.State, once(second).State, "on a node that never saw it")

	for i := range 40 { // more than a node remembers
		_, err := first.Update(t.Context(), made.State.ID, rename(fmt.Sprint(i)), "")
		require.NoError(t, err)
	}
	_, err := first.Update(commands.WithRequest(t.Context(), &commands.Request{Seed: "k2"}), made.State.ID, rename("x"), "")
	require.NoError(t, err)
	events, err := store.Log.Load(t.Context(), workspace.Stream(made.State.ID), 0)
	require.NoError(t, err)
	require.Len(t, events, 42)
}

func TestARepeatedCreateWhoseFirstSlugWasTakenMeetsItsOwn(t *testing.T) {
	store := openStore(t)
	ctx := func() context.Context {
		return commands.WithRequest(t.Context(), &commands.Request{Seed: "u1/key-1"})
	}
	elsewhere, err := newWorkspaces(t, openStore(t).Log, nil).Create(ctx(), workspace.Settings{Name: "a"})
	require.NoError(t, err)
	taken := workspace.Settings{Name: "other", Slug: elsewhere.State.Settings.Slug}
	other, err := newWorkspaces(t, store.Log, nil).Create(t.Context(), taken)
	require.NoError(t, err)

	made, err := newWorkspaces(t, store.Log, nil).Create(ctx(), workspace.Settings{Name: "a"})
	require.NoError(t, err)
	require.NotEqual(t, taken.Slug, made.State.Settings.Slug)
	again, err := newWorkspaces(t, store.Log, nil).Create(ctx(), workspace.Settings{Name: "a"})
	require.NoError(t, err)
	require.Equal(t, made.State, again.State)

	_, err = newWorkspaces(t, store.Log, nil).Make(t.Context(), workspace.Create{ID: other.State.ID, Settings: workspace.Settings{Name: "b"}})
	require.Equal(t, domain.CodeAlreadyExists, domain.CodeOf(err), "an id of somebody else is never one's own")
}

func TestThePlatformWorkspaceIsMadeOnce(t *testing.T) {
	store := openStore(t)
	var wg sync.WaitGroup
	for range 4 {
		ws := newWorkspaces(t, store.Log, nil)
		wg.Go(func() {
			if err := ws.EnsurePlatform(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	events, err := store.Log.Load(t.Context(), workspace.Stream(domain.Platform), 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
}

// snapshotMap is a map of snapshots.
type snapshotMap struct {
	mu    sync.Mutex
	seq   uint64
	state []byte
	puts  int
}

func (k *snapshotMap) Get(domain.StreamID, int) (uint64, []byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.seq, k.state, k.puts > 0
}

func (k *snapshotMap) Put(_ domain.StreamID, _ int, seq uint64, state []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seq, k.state, k.puts = seq, state, k.puts+1
	return nil
}

func TestALongHistoryIsSnapshotted(t *testing.T) {
	store, snapshots := openStore(t), &snapshotMap{}
	ws := newWorkspaces(t, store.Log, snapshots)
	made, err := ws.Create(t.Context(), workspace.Settings{Name: "a"})
	require.NoError(t, err)
	for i := range 205 {
		_, err := ws.Update(t.Context(), made.State.ID, rename(fmt.Sprint(i)), "")
		require.NoError(t, err)
	}
	require.Equal(t, 1, snapshots.puts)

	fresh := newWorkspaces(t, store.Log, snapshots)
	got, err := fresh.Update(t.Context(), made.State.ID, rename("204"), "")
	require.NoError(t, err)
	require.False(t, got.Changed, "the snapshot and what followed give the same state")

	snapshots.state = []byte("{broken")
	fresh = newWorkspaces(t, store.Log, snapshots)
	got, err = fresh.Update(t.Context(), made.State.ID, rename("204"), "")
	require.NoError(t, err)
	require.False(t, got.Changed)
}

// partialCommitStore is a store that a power cut left with the first half of a commit.
type partialCommitStore struct {
	eventstore.Store
	ids  []string
	void bool
}

func (h *partialCommitStore) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	h.ids = append(h.ids, commits[0].Facts[0].ID)
	if !h.void {
		return eventstore.Receipt{}, eventstore.ErrUnavailable
	}
	return eventstore.Receipt{Seqs: []uint64{2}, Position: domain.Position{State: 2}}, nil
}

func (h *partialCommitStore) Load(_ context.Context, id domain.StreamID, after uint64) ([]domain.Recorded, error) {
	if !h.void || after >= 1 {
		return nil, nil
	}
	return []domain.Recorded{{ID: h.ids[0], Seq: 1, Stream: id, Data: domain.Void{Name: "workspaces.created"}}}, nil
}

func TestAVoidEventIsNotTakenForSuccess(t *testing.T) {
	store := &partialCommitStore{}
	create := func() (commands.Workspace, error) {
		ctx := commands.WithRequest(t.Context(), &commands.Request{Seed: "key"})
		return newWorkspaces(t, store, nil).Create(ctx, workspace.Settings{Name: "n"})
	}
	_, err := create()
	require.Error(t, err)
	store.void = true
	made, err := create()
	require.NoError(t, err)
	require.Equal(t, "n", made.State.Settings.Name)
	require.Len(t, store.ids, 2)
	require.NotEqual(t, store.ids[0], store.ids[1], "the ids of a void commit are burned")
}

func TestIDsDoNotDependOnWhatElseARequestDoes(t *testing.T) {
	store := openStore(t)
	ws := newWorkspaces(t, store.Log, nil)
	run := func(record bool) commands.Workspace {
		ctx := commands.WithRequest(t.Context(), &commands.Request{Seed: "k"})
		if record {
			require.NoError(t, ws.Engine.Record(ctx, "w1", activity.Failure{Error: "x"}))
		}
		got, err := ws.Create(ctx, workspace.Settings{Name: "a"})
		require.NoError(t, err)
		return got
	}
	require.Equal(t, run(false).State, run(true).State)
}
