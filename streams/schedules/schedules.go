package schedules

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

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
	// Log stores firings. It is a *jetstream.Log.
	Log interface {
		Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error)
		Read(ctx context.Context, log domain.Log, seq uint64) (ev domain.Recorded, ok bool, err error)
		Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error)
	}
)

// Options configure Schedules. All are required but those with a default.
type Options struct {
	Store    Log
	Bucket   eventstore.Bucket // of registrations, and of how far partitions were processed
	Models   *projections.Models
	Programs *programs.Library
	Runtime  *runtime.Runtime
	// Document returns a document of a workspace.
	Document func(ctx context.Context, workspaceID string, ref content.Ref) (*document.Map, error)
	Rules    func() automation.Rules
	// Zone is the time zone of schedules. It may change.
	Zone func() *time.Location
	// MaxAttempts is how often an interrupted tree is started.
	MaxAttempts func() int
	// Begun returns the status of the tree that a firing starts for an automation.
	Begun func(ctx context.Context, workspaceID, correlationID, firingID, automation string) (streams.TreeStatus, error)
	// Fresh waits until the read models contain what any node has written.
	Fresh func(context.Context) error
	// Hold runs work under a lease; nil: there is only one node.
	Hold func(ctx context.Context, name string, work func(context.Context) error) error
	Host domain.Host

	Now func() time.Time // default time.Now
	Log *slog.Logger     // default slog.Default
}

// Schedules fires automations.
type Schedules struct {
	Options

	trees  streams.TreeRestarter
	shares int
}

// New returns Schedules. Nothing fires before Run.
func New(o Options) (*Schedules, error) {
	if o.Store == nil || o.Bucket == nil || o.Models == nil || o.Programs == nil || o.Runtime == nil || o.Document == nil ||
		o.Rules == nil || o.Zone == nil || o.MaxAttempts == nil || o.Begun == nil || o.Fresh == nil {
		return nil, errors.New("schedules: an option is missing")
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	o.Now = func() time.Time { return now().Round(0) } // without the monotonic clock, so that a clock that is put back is seen
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Schedules{
		Options: o, shares: slots,
		trees: streams.TreeRestarter{Runtime: o.Runtime, LoadStatus: o.Begun, Fresh: o.Fresh, MaxAttempts: o.MaxAttempts, Log: o.Log},
	}
	if o.Hold == nil {
		s.shares = 1
		s.Hold = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	}
	return s, nil
}

// slots is the number of partitions. A single node processes all of them at once.
const slots = streams.Partitions

func slotOf(workspaceID string) int { return streams.PartitionOf(workspaceID, slots) }

// Run fires what is due until ctx ends.
func (s *Schedules) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for number := range s.shares {
		all.Go(func() { newPartition(s, number).serve(ctx) })
	}
	all.Wait()
	return nil
}
