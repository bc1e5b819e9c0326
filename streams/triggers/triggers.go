package triggers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/feed"
	"svc/eventstore"
	"svc/streams"
	live "svc/streams/feed"
)

// Cursors keeps places in the feed. It is a *jetstream.Bucket.
type Cursors interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
}

// History knows what was started before. It is filled by the read models.
type History interface {
	// Begun tells what became of the tree that an event starts for an automation.
	Begun(ctx context.Context, workspaceID, correlationID, eventID, automation string) (streams.Past, error)
	// Suppressed reports whether a wait was for an event and keeps it from starting
	// anything else.
	Suppressed(e *feed.Event) (bool, error)
	// Orphans visits the trees of some workspaces that began and did not end on nodes that
	// are gone, of those that are wanted. One that cannot be read keeps it from no other.
	Orphans(ctx context.Context, of func(workspaceID string) bool, wanted Wanted, visit func(Orphan)) error
	// Strays visits those of all workspaces that began on this node since it was started,
	// and that it does not run: they broke off because of the platform.
	Strays(ctx context.Context, wanted Wanted, visit func(Orphan)) error
}

// Wanted reports whether somebody takes care of a tree, by its first execution, if nobody
// runs it.
type Wanted func(executionID string) bool

// Options configure Triggers. All are required but those with a default.
type Options struct {
	Feed     *live.Feed
	Programs *programs.Library
	Runtime  *runtime.Runtime
	History  History
	Cursors  Cursors
	// Caller returns for whom an event starts something.
	Caller func(ctx context.Context, e *feed.Event) (runtime.Caller, error)
	// Identify returns somebody who acts in a workspace.
	Identify func(ctx context.Context, workspaceID string, actor domain.Actor) (runtime.Caller, error)
	// Audience returns who publishes an app, or did, and the workspaces that may have
	// instances of it, in whatever apps those are.
	Audience func(appSlug string) (publisher string, users []string, err error)
	// Fresh waits until the read models have what any node has written.
	Fresh func(context.Context) error
	// Saved waits until the read models have what any node has saved in workspaces.
	Saved func(context.Context) error
	// Position is how far the read models are.
	Position func() domain.Position
	// Hold does work while this node is the one to do it; nil: there is no other.
	Hold func(ctx context.Context, name string, work func(context.Context) error) error
	// MaxDepth and MaxAttempts are those of the settings.
	MaxDepth, MaxAttempts func() int

	LookEvery time.Duration    // how often trees are looked for whose node is gone; default 15 seconds
	Now       func() time.Time // default time.Now
	Log       *slog.Logger     // default slog.Default
}

// Triggers starts automations.
type Triggers struct {
	Options

	trees    streams.Trees
	shares   int
	first    domain.Position // where the feed was when the process began
	resuming chan struct{}   // bounds how many trees are made ready to go on at once
	hearings chan struct{}   // bounds in how many workspaces it is looked at once who hears of an app
}

// New returns Triggers. They start nothing before Run.
func New(o Options) (*Triggers, error) {
	if o.Feed == nil || o.Programs == nil || o.Runtime == nil || o.History == nil || o.Cursors == nil || o.Caller == nil || o.Identify == nil || o.Audience == nil || o.Fresh == nil || o.Saved == nil || o.Position == nil {
		return nil, errors.New("triggers: an option is missing")
	}
	if o.LookEvery == 0 {
		o.LookEvery = lookEvery
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	t := &Triggers{
		Options: o, shares: streams.Shares, resuming: make(chan struct{}, mostResuming), hearings: make(chan struct{}, mostHearings),
		trees: streams.Trees{Runtime: o.Runtime, Begun: o.History.Begun, Fresh: o.Fresh, MaxAttempts: o.MaxAttempts, Log: o.Log},
	}
	if o.Hold == nil {
		t.shares = 1
		t.Hold = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	}
	return t, nil
}

// Begin notes for shares that were never looked after that they begin now. It comes before
// anything can happen that is to start something. Where nothing can be written now, nothing
// happens either: it is noted as soon as that is possible.
func (t *Triggers) Begin(ctx context.Context) error {
	t.first = t.Position()
	for number := range t.shares {
		_, err := t.cursor(ctx, number)
		if errors.Is(err, eventstore.ErrUnavailable) {
			t.Log.WarnContext(ctx, "where triggers begin could not be noted yet", "err", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cursor returns where a share was left, which is kept from then on: where it begins when
// it never was.
func (t *Triggers) cursor(ctx context.Context, number int) (at domain.Position, err error) {
	at, kept, err := t.left(ctx, number)
	if err == nil && !kept {
		_, err = t.Cursors.Create(ctx, streams.ShareKey(t.shares, number), []byte(at.Token()))
		if errors.Is(err, eventstore.ErrConflict) { // another node was faster
			at, _, err = t.left(ctx, number)
		}
	}
	if err != nil {
		return at, fmt.Errorf("read where triggers were left: %w", err)
	}
	return at, nil
}

// left returns where a share was left, or begins, and whether that is kept.
func (t *Triggers) left(ctx context.Context, number int) (at domain.Position, kept bool, err error) {
	at, ever, kept, err := streams.Left(ctx, t.Cursors, t.shares, number, func(value []byte) (domain.Position, error) {
		return domain.ParsePosition(string(value))
	})
	if err == nil && !ever {
		at = t.first
	}
	return at, kept, err
}

// Run starts what is to be started until ctx ends.
func (t *Triggers) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for number := range t.shares {
		s := newShare(t, number)
		all.Go(func() { s.serve(ctx) })
	}
	all.Wait()
	return nil
}

// Tend takes care of trees that began on this node and broke off because of the platform,
// until ctx ends. It is for every node that runs trees: no other one does that while this
// one is there.
func (t *Triggers) Tend(ctx context.Context) error {
	own := newShare(t, t.shares) // of none: it reads nothing
	newAdopter(own, t.History.Strays).adopt(ctx)
	own.under.Wait()
	return nil
}

// mine reports whether a workspace belongs to a share.
func (t *Triggers) mine(number int, workspaceID string) bool {
	return streams.Share(workspaceID, t.shares) == number
}

// rest waits before something is begun again after a fault of ours, or until ctx ends.
func rest(ctx context.Context) { _ = commands.Sleep(ctx, streams.Pause(0)) }
