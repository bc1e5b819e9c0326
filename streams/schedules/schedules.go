package schedules

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/content"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/document"
	"svc/eventstore"
	"svc/projections"
	"svc/streams"
)

type (
	// Log keeps what fired. It is a *jetstream.Log.
	Log interface {
		Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error)
		Read(ctx context.Context, log domain.Log, seq uint64) (ev domain.Recorded, ok bool, err error)
		Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error)
	}
	// Memory knows what is registered, and how far shares were looked after. It is a
	// *jetstream.Bucket.
	Memory interface {
		Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
		Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
		List(ctx context.Context, prefix string) ([][]byte, error)
	}
)

// Options configure Schedules. All are required but those with a default.
type Options struct {
	Store    Log
	Memory   Memory
	Models   *projections.Models
	Programs *programs.Library
	Runtime  *runtime.Runtime
	// Document returns a document of a workspace.
	Document func(ctx context.Context, workspaceID string, ref content.Ref) (*document.Map, error)
	Rules    func() automation.Rules
	// Zone is the one that schedules are read in. It may change.
	Zone func() *time.Location
	// MaxAttempts is how often a tree is begun that is interrupted.
	MaxAttempts func() int
	// Begun tells what became of the tree that a firing starts for an automation.
	Begun func(ctx context.Context, workspaceID, correlationID, firingID, automation string) (streams.Past, error)
	// Fresh waits until the read models have what any node has written.
	Fresh func(context.Context) error
	// Hold does work while this node is the one to do it; nil: there is no other.
	Hold func(ctx context.Context, name string, work func(context.Context) error) error
	Host domain.Host

	Now func() time.Time // default time.Now
	Log *slog.Logger     // default slog.Default
}

// Schedules fires automations.
type Schedules struct {
	Options

	trees  streams.Trees
	shares int
}

// New returns Schedules. They fire nothing before Run.
func New(o Options) (*Schedules, error) {
	if o.Store == nil || o.Memory == nil || o.Models == nil || o.Programs == nil || o.Runtime == nil || o.Document == nil ||
		o.Rules == nil || o.Zone == nil || o.MaxAttempts == nil || o.Begun == nil || o.Fresh == nil {
		return nil, errors.New("schedules: an option is missing")
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	o.Now = func() time.Time { return now().Round(0) } // what clocks show, also when they are put back
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Schedules{
		Options: o, shares: slots,
		trees: streams.Trees{Runtime: o.Runtime, Begun: o.Begun, Fresh: o.Fresh, MaxAttempts: o.MaxAttempts, Log: o.Log},
	}
	if o.Hold == nil {
		s.shares = 1
		s.Hold = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	}
	return s, nil
}

// slots is into how many parts workspaces are divided. A node that is alone looks after
// all of them at once.
const slots = streams.Shares

func slotOf(workspaceID string) int { return streams.Share(workspaceID, slots) }

// Run fires what is due until ctx ends.
func (s *Schedules) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for number := range s.shares {
		all.Go(func() { newShare(s, number).serve(ctx) })
	}
	all.Wait()
	return nil
}

// rest waits before something is done again after a fault of ours, or until ctx ends.
func rest(ctx context.Context) { _ = commands.Sleep(ctx, streams.Pause(0)) }
