package feed

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"svc/domain"
	"svc/domain/feed"
	"svc/eventstore"
	"svc/projections"
)

type (
	// Event is that of the domain: who reads the feed needs no other name for it.
	Event = feed.Event
	// Filter is that of the domain, too.
	Filter = feed.Filter
	// PathFilter is that of the domain, too.
	PathFilter = feed.PathFilter
)

// Store is what the feed needs of the log.
type Store interface {
	Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error)
	Info(ctx context.Context, log domain.Log) (eventstore.Info, error)
	// Since returns the sequence before which every event is older than a time.
	Since(ctx context.Context, log domain.Log, at time.Time) (uint64, error)
	// Known is how far the logs reach as far as this node has seen.
	Known() domain.Position
}

// Payloads keeps payload and output of executions. It is a *jetstream.Payloads.
type Payloads interface {
	// Get returns those of an event; ok is false when they were erased.
	Get(ctx context.Context, workspaceID, eventID string) (body []byte, ok bool, err error)
}

// Options configure a Feed. Models, Store and Payloads are required.
type Options struct {
	Models *projections.Models
	Store  Store
	// Payloads are those of executions.
	Payloads Payloads
	// MaxLen is how many characters the payload of an event may have; larger ones
	// of the platform are shown cut. Default: any number.
	MaxLen func() int
	// Broadcast carries events that are not kept; without it there are none.
	Broadcast Broadcast
	Log       *slog.Logger
}

// Feed reads events. All methods are safe for concurrent use.
type Feed struct {
	models    *projections.Models
	store     Store
	payloads  Payloads
	maxLen    func() int
	broadcast Broadcast
	deaf      func() // ends listening to the broadcast
	log       *slog.Logger
	hub       *hub
}

// New returns a feed. Live events reach it while Run does.
func New(o Options) (*Feed, error) {
	f := &Feed{models: o.Models, store: o.Store, payloads: o.Payloads, maxLen: o.MaxLen, broadcast: o.Broadcast, log: cmp.Or(o.Log, slog.Default())}
	if f.maxLen == nil {
		f.maxLen = func() int { return 0 }
	}
	f.hub = newHub(f)
	f.models.Tell(f.hub.tell)
	f.hub.begin(f.models.Position())
	if f.broadcast == nil {
		return f, nil
	}
	var err error
	f.deaf, err = f.broadcast.Listen(f.hear)
	return f, err
}

// Run passes live events on until ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	if f.deaf != nil {
		defer f.deaf()
	}
	return f.hub.run(ctx)
}

// Position returns how far live events are: everything up to it was passed on.
func (f *Feed) Position() domain.Position { return f.hub.position() }

// Now returns where "now" is for a reader who comes: what this node has seen written
// is before it, whether it was passed on yet or not.
func (f *Feed) Now() domain.Position { return f.Position().Max(f.store.Known()) }

// Get returns one event of a workspace.
func (f *Feed) Get(ctx context.Context, workspaceID, eventID string) (*Event, bool, error) {
	p, found, err := f.find(workspaceID, eventID)
	if err != nil || !found {
		return nil, false, err
	}
	events, err := f.read(ctx, []place{p}, Whole)
	if err != nil || len(events) == 0 {
		return nil, false, err
	}
	return events[0], true, nil
}

// find returns where an event is.
func (f *Feed) find(workspaceID, eventID string) (p place, found bool, err error) {
	err = f.models.View(func(r projections.Reader) error {
		for _, log := range domain.Logs() {
			index := projections.FeedOf(log)
			seq, ok, err := index.ByID(r, workspaceID, eventID)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			p = place{workspaceID: workspaceID, log: log}
			if p.FeedEntry, found, err = index.Get(r, workspaceID, seq); err != nil || !found {
				return err
			}
			p.at, err = positionOf(r, workspaceID, log, p.FeedEntry)
			return err
		}
		return nil
	})
	return p, found, err
}
