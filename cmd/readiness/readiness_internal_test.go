package readiness

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/catalog"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/http/api/system"
	"svc/projections"
)

var quiet = slog.New(slog.DiscardHandler)

// renamed is a read model under another name.
type renamed struct {
	projections.Projection
	name  string
	fault error
}

func (r renamed) Name() string { return r.name }

func (r renamed) Apply(tx projections.Tx, ev domain.Recorded) error {
	if r.fault != nil {
		return r.fault
	}
	return r.Projection.Apply(tx, ev)
}

// held is a store that says how long a log is, and delivers it from its beginning only when it is opened.
type held struct {
	eventstore.Store
	opened chan struct{}
}

func (h held) Subscribe(ctx context.Context, log domain.Log, from uint64, handle func(eventstore.Batch) error) error {
	if from == 1 {
		select {
		case <-h.opened:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return h.Store.Subscribe(ctx, log, from, handle)
}

func TestTheReportTellsWhatIsBeingBuilt(t *testing.T) {
	store, err := jetstream.Open(t.Context(), jetstream.Options{Dir: t.TempDir(), Events: catalog.Events(), Log: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close(context.WithoutCancel(t.Context()))) })
	id := ulid.Make().String()
	_, err = store.Log.Append(t.Context(), eventstore.Commit{Stream: workspace.Stream(id), Facts: []eventstore.Fact{{
		ID: ulid.Make().String(), Event: workspace.Created{Workspace: workspace.Snapshot{ID: id, Settings: workspace.Settings{Name: "one"}}},
	}}})
	require.NoError(t, err)
	db, err := projections.OpenDB(projections.DBOptions{Dir: t.TempDir() + "/readmodels", Log: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })

	open := func(from eventstore.Store, all ...projections.Projection) (p *Probes, stop func()) {
		models, err := projections.New(projections.Options{DB: db, Store: from, Projections: all, Known: store.Log.Known, Log: quiet})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = models.Run(ctx) })
		return &Probes{Options: Options{Store: store, DB: db, Models: models}}, func() { cancel(); running.Wait() }
	}
	faultOf := func(p *Probes) *system.Fault {
		f, _ := errors.AsType[*system.Fault](p.readModels(t.Context()))
		return f
	}

	ready, stop := open(store.Log, projections.Workspaces{}, projections.Secrets{})
	require.NoError(t, ready.Models.CaughtUp(t.Context()))
	require.NoError(t, ready.readModels(t.Context()))
	stop()

	from := held{store.Log, make(chan struct{})}
	building, stop := open(from, projections.Workspaces{}, renamed{Projection: projections.Secrets{}, name: "secrets.99"})
	require.Eventually(t, func() bool {
		f := faultOf(building)
		return f != nil && f.Name == "Building" && f.Error() == "building secrets.99: 0 of 1 events"
	}, time.Minute, time.Millisecond)
	close(from.opened)
	require.NoError(t, building.Models.CaughtUp(t.Context()))
	require.NoError(t, building.readModels(t.Context()))
	stop()

	refused, stop := open(store.Log, projections.Workspaces{}, renamed{projections.Secrets{}, "secrets.100", errors.New("not today")})
	require.Error(t, refused.Models.CaughtUp(t.Context()))
	require.Equal(t, "Stopped", faultOf(refused).Name)
	require.ErrorContains(t, faultOf(refused), "secrets.100 cannot be read: ")
	require.ErrorContains(t, faultOf(refused), "not today")
	stop()
}
