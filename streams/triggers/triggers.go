package triggers

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/feed"
	"svc/streams"
	live "svc/streams/feed"
)

// Cursors keeps places in the feed. It is a *jetstream.Bucket.
type Cursors interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
}

// History knows what was started before. It is filled by the read models.
type History interface {
	// Begun tells how often the tree that an event starts for an automation was begun,
	// and whether that is no business of who reads events any more: it is over, or
	// stands in a wait.
	Begun(ctx context.Context, e *feed.Event, automation string) (attempts int, over bool, err error)
	// Suppressed reports whether a wait was for an event and keeps it from starting
	// anything else.
	Suppressed(e *feed.Event) (bool, error)
	// Orphans visits the trees that began and did not end on nodes that are gone.
	Orphans(ctx context.Context, visit func(Orphan)) error
}

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
	// Fresh waits until the read models have what any node has written.
	Fresh func(context.Context) error
	// Position is how far the read models are.
	Position func() domain.Position
	// Hold does work while this node is the one to do it; nil: there is no other.
	Hold func(ctx context.Context, name string, work func(context.Context) error) error
	// MaxDepth and MaxAttempts are those of the settings.
	MaxDepth, MaxAttempts func() int

	Now func() time.Time // default time.Now
	Log *slog.Logger     // default slog.Default
}

// Triggers starts automations.
type Triggers struct {
	Options

	shares int
}

// New returns Triggers. They start nothing before Run.
func New(o Options) (*Triggers, error) {
	if o.Feed == nil || o.Programs == nil || o.Runtime == nil || o.History == nil || o.Cursors == nil || o.Caller == nil || o.Identify == nil || o.Fresh == nil || o.Position == nil {
		return nil, errors.New("triggers: an option is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	t := &Triggers{Options: o, shares: sharesOfMany}
	if o.Hold == nil {
		t.shares = 1
		t.Hold = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	}
	return t, nil
}

// sharesOfMany is into how many shares workspaces are divided when there are several
// nodes.
const sharesOfMany = 16

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

// mine reports whether a workspace belongs to a share.
func (t *Triggers) mine(number int, workspaceID string) bool {
	return streams.Share(workspaceID, t.shares) == number
}

// pause is the wait before something is begun again after a fault of ours.
const pause = time.Second

// rest waits that long, or until ctx ends.
func rest(ctx context.Context) { _ = commands.Sleep(ctx, pause) }
