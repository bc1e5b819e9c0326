package triggers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/feed"
	"svc/eventstore"
	"svc/streams"
	live "svc/streams/feed"
)

// History knows which trees were started before, from the read models.
type History interface {
	// Begun returns the status of the tree that an event starts for an automation.
	Begun(ctx context.Context, workspaceID, correlationID, eventID, automation string) (streams.TreeStatus, error)
	// Suppressed reports whether an event was awaited by a run that keeps it from starting anything else.
	Suppressed(e *feed.Event) (bool, error)
	// Orphans visits the wanted trees of some workspaces that did not end and whose node is gone. A tree that cannot
	// be read does not stop it.
	Orphans(ctx context.Context, of func(workspaceID string) bool, wanted Wanted, visit func(Orphan)) error
	// Strays visits the trees of all workspaces that this process started and does not run any more: the platform
	// interrupted them.
	Strays(ctx context.Context, wanted Wanted, visit func(Orphan)) error
}

// Wanted reports whether an orphaned tree, by its first execution, is to be handled.
type Wanted func(executionID string) bool

// Options configure Triggers. All are required but those with a default.
type Options struct {
	Feed     *live.Feed
	Programs *programs.Library
	Runtime  *runtime.Runtime
	History  History
	Cursors  eventstore.Bucket // positions in the feed
	// Caller returns the caller of what an event starts.
	Caller func(ctx context.Context, e *feed.Event) (runtime.Caller, error)
	// Identify returns the caller for an actor in a workspace.
	Identify func(ctx context.Context, workspaceID string, actor domain.Actor) (runtime.Caller, error)
	// Audience returns the workspace that publishes or published an app, and the workspaces that may have instances
	// of it, also nested ones.
	Audience func(appSlug string) (publisher string, users []string, err error)
	// MayListen reports whether a workspace may have listeners to events of the platform, after what Saved waits for.
	MayListen func(workspaceID string) (bool, error)
	// Fresh waits until the read models have what any node has written.
	Fresh func(context.Context) error
	// Saved waits until the read models contain what any node has saved in workspaces.
	Saved func(context.Context) error
	// Position is how far the read models are.
	Position func() domain.Position
	// Hold runs work under a lease; nil: there is only one node.
	Hold func(ctx context.Context, name string, work func(context.Context) error) error
	// MaxDepth and MaxAttempts come from the settings.
	MaxDepth, MaxAttempts func() int

	LookEvery time.Duration    // how often orphaned trees are searched; default 15 seconds
	Now       func() time.Time // default time.Now
	Log       *slog.Logger     // default slog.Default
}

// Triggers starts automations.
type Triggers struct {
	Options

	trees         streams.TreeRestarter
	shares        int
	startPosition domain.Position // the position of the feed when the process started
	resuming      chan struct{}   // limits how many trees are resumed at once
	appLookups    chan struct{}   // limits in how many workspaces listeners to an app event are looked up at once
}

// New returns Triggers. Nothing is started before Run.
func New(o Options) (*Triggers, error) {
	if o.Feed == nil || o.Programs == nil || o.Runtime == nil || o.History == nil || o.Cursors == nil || o.Caller == nil || o.Identify == nil || o.Audience == nil || o.MayListen == nil || o.Fresh == nil || o.Saved == nil || o.Position == nil {
		return nil, errors.New("triggers: an option is missing")
	}
	if o.LookEvery == 0 {
		o.LookEvery = orphanInterval
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	t := &Triggers{
		Options: o, shares: streams.Partitions, resuming: make(chan struct{}, maxResuming), appLookups: make(chan struct{}, maxAppLookups),
		trees: streams.TreeRestarter{Runtime: o.Runtime, LoadStatus: o.History.Begun, Fresh: o.Fresh, MaxAttempts: o.MaxAttempts, Log: o.Log},
	}
	if o.Hold == nil {
		t.shares = 1
		t.Hold = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	}
	return t, nil
}

// InitCursors stores a cursor at the current position for partitions that have none. It is called before any event
// can be recorded. While the log is unavailable, no event is recorded either: the cursor is stored later.
func (t *Triggers) InitCursors(ctx context.Context) error {
	t.startPosition = t.Position()
	for number := range t.shares {
		_, err := t.initCursor(ctx, number)
		if errors.Is(err, eventstore.ErrUnavailable) {
			t.Log.WarnContext(ctx, "the cursors of triggers could not be stored yet", "err", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// initCursor returns the cursor of a partition, and stores it if there is none.
func (t *Triggers) initCursor(ctx context.Context, number int) (at domain.Position, err error) {
	at, found, err := t.loadCursor(ctx, number)
	if err == nil && !found {
		_, err = t.Cursors.Create(ctx, streams.PartitionKey(t.shares, number), []byte(at.Token()))
		if errors.Is(err, eventstore.ErrConflict) { // another node was faster
			at, _, err = t.loadCursor(ctx, number)
		}
	}
	if err != nil {
		return at, fmt.Errorf("read the cursor of triggers: %w", err)
	}
	return at, nil
}

// loadCursor returns the cursor of a partition, or where it begins, and whether it is stored.
func (t *Triggers) loadCursor(ctx context.Context, number int) (at domain.Position, found bool, err error) {
	at, ever, found, err := streams.LoadCursor(ctx, t.Cursors, t.shares, number, func(value []byte) (domain.Position, error) {
		return domain.ParsePosition(string(value))
	})
	if err == nil && !ever {
		at = t.startPosition
	}
	return at, found, err
}

// Run starts automations until ctx ends.
func (t *Triggers) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for number := range t.shares {
		s := newPartition(t, number)
		all.Go(func() { s.serve(ctx) })
	}
	all.Wait()
	return nil
}

// HandleOwnOrphans handles the trees of this process that the platform interrupted, until ctx ends. Every node that
// runs trees needs it: no other node does that while this one is alive.
func (t *Triggers) HandleOwnOrphans(ctx context.Context) error {
	own := newPartition(t, t.shares) // it holds no partition and reads no feed
	newOrphanHandler(own, t.History.Strays).handleLoop(ctx)
	own.workers.Wait()
	return nil
}

// isOwn reports whether a workspace belongs to a partition.
func (t *Triggers) isOwn(number int, workspaceID string) bool {
	return streams.PartitionOf(workspaceID, t.shares) == number
}
