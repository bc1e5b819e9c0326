package feed

import (
	"context"
	"errors"
	"time"

	"svc/domain"
)

// ErrSlow says that a reader was too far behind: it may go on from its position.
var ErrSlow = errors.New("feed: the reader is too far behind")

// Following says what a live reader wants.
type Following struct {
	WorkspaceID string          // "": of all workspaces
	After       domain.Position // what comes after it
	Filter      *Filter
	Need        Need // how much of the events is looked at
	// MaxBehind and MaxBytes bound how far behind a live reader may be before it is
	// sent away with ErrSlow; 0: it may take its time.
	MaxBehind, MaxBytes int
	// Pace is how long a live reader rests after a delivery, so that what comes
	// meanwhile is delivered together.
	Pace time.Duration
	// Tick, when set, is called about every TickEvery once the events are live, never
	// together with a delivery. An error ends the following.
	Tick      func() error
	TickEvery time.Duration
	// ReplayTick, when set, is called like Tick while stored events are read, which may take long where few of them
	// match.
	ReplayTick func() error
	// Ready, when set, is called once, with the position from which on events are
	// live, after the stored ones were delivered.
	Ready func(domain.Position)
	// CurrentFilter, when set, returns the filter for the next delivery.
	CurrentFilter func() *Filter
}

// Delivery is a run of events, and the position that a reader has come to with them.
type Delivery struct {
	Events    []*Event
	At        domain.Position   // in the logs; of all workspaces when those are followed
	Positions []domain.Position // where a reader of all workspaces is with each event; nil for others
}

// replayBatch is how many stored events are delivered together.
const replayBatch = 100

// Follow delivers the stored events after a position and then the live ones as they
// come, in order, without a gap or a repetition, until ctx ends or deliver fails.
func (f *Feed) Follow(ctx context.Context, w Following, deliver func(Delivery) error) error {
	r := &reader{feed: f, Following: w, deliver: deliver, at: w.After}
	for {
		err := r.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.Is(err, errTopicAhead):
			return err
		case w.MaxBehind > 0:
			return ErrSlow
		}
	}
}

// errTopicAhead says that a topic no longer holds what its reader needs next.
var errTopicAhead = errors.New("feed: the topic has gone on")

type reader struct {
	Following
	feed    *Feed
	deliver func(Delivery) error
	at      domain.Position
	ready   bool
}

// follow catches up from the index and then reads the topic for as long as that holds
// what is next.
func (r *reader) follow(ctx context.Context) error {
	name := topicOf(r.WorkspaceID, r.Need)
	t, next, past := r.feed.hub.joinTopic(name)
	defer r.feed.hub.leaveTopic(name, t)
	if err := r.deliverStored(ctx, past); err != nil {
		return err
	}
	r.at = r.at.Max(past)
	if r.Ready != nil && !r.ready {
		r.ready = true
		r.Ready(r.at)
	}
	return r.readLive(ctx, t, next)
}

// readLive reads the topic from a number on.
func (r *reader) readLive(ctx context.Context, t *topic, next uint64) error {
	rest := time.NewTimer(0)
	defer rest.Stop()
	<-rest.C
	var ticks <-chan time.Time
	if r.Tick != nil {
		ticker := time.NewTicker(r.TickEvery)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		items, more, lost := r.feed.hub.since(t, next)
		if lost {
			return errTopicAhead
		}
		next += uint64(len(items))
		if err := r.deliverLive(items); err != nil {
			return err
		}
		var rested <-chan time.Time
		if len(items) > 0 {
			if r.Pace <= 0 {
				continue
			}
			rest.Reset(r.Pace)
			more, rested = nil, rest.C
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-more:
		case <-rested:
		case <-ticks:
			if err := r.Tick(); err != nil {
				return err
			}
		}
	}
}

// deliverStored delivers what is stored after the reader's position, up to a position. Who
// wants to hear meanwhile does not wait for others that match either.
func (r *reader) deliverStored(ctx context.Context, until domain.Position) error {
	if r.at.State >= until.State && r.at.Activity >= until.Activity {
		return nil
	}
	var piece Delivery
	flush := func() error {
		if len(piece.Events) == 0 {
			return nil
		}
		r.at = r.at.Max(piece.At)
		piece.At = r.at
		err := r.deliver(piece)
		piece = Delivery{}
		return err
	}
	stored := Range{WorkspaceID: r.WorkspaceID, After: r.at, Until: &until, Filter: r.filter(), Need: min(r.Need, Logged)}
	if r.ReplayTick != nil {
		ticker := time.NewTicker(r.TickEvery)
		defer ticker.Stop()
		stored.Between = func() error {
			select {
			case <-ticker.C:
			default:
				return nil
			}
			if err := flush(); err != nil {
				return err
			}
			return r.ReplayTick()
		}
	}
	err := r.feed.Walk(ctx, stored, func(e *Event) (bool, error) {
		piece.Events = append(piece.Events, e)
		piece.At = piece.At.Max(r.position(e))
		if r.WorkspaceID == "" {
			piece.Positions = append(piece.Positions, r.at.Max(piece.At))
		}
		if len(piece.Events) < replayBatch {
			return true, nil
		}
		return true, flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// position is how far a reader has come with an event: of all workspaces only its own
// place is sure.
func (r *reader) position(e *Event) domain.Position {
	if r.WorkspaceID == "" {
		return domain.At(e.Log, e.Number())
	}
	return e.Seq
}

func (r *reader) filter() *Filter {
	if r.CurrentFilter != nil {
		return r.CurrentFilter()
	}
	return r.Filter
}

// deliverLive delivers live events.
func (r *reader) deliverLive(items []item) error {
	var piece Delivery
	bytes := 0
	filter := r.filter()
	for i, it := range items {
		e := it.event
		if e.Options.Persisted() && e.Number() <= r.at.Of(e.Log) || !filter.Match(e) {
			continue
		}
		if piece.Events == nil {
			piece.Events = make([]*Event, 0, len(items)-i)
		}
		piece.Events = append(piece.Events, e)
		if r.WorkspaceID == "" {
			piece.Positions = append(piece.Positions, r.at.Max(it.at))
		}
		bytes += len(e.Payload) + itemOverhead
	}
	if r.MaxBehind > 0 && (len(piece.Events) > r.MaxBehind || bytes > r.MaxBytes) {
		return ErrSlow
	}
	if len(items) > 0 {
		r.at = r.at.Max(items[len(items)-1].at)
	}
	if len(piece.Events) == 0 {
		return nil
	}
	piece.At = r.at
	return r.deliver(piece)
}
