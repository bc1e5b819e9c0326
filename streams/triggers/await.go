package triggers

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"svc/commands"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/feed"
	live "svc/streams/feed"
)

// Waits finds the events that runs wait for. All fields are required.
type Waits struct {
	Feed *live.Feed
	// Fresh waits until the read models contain what any node has written.
	Fresh func(context.Context) error
	Log   *slog.Logger
}

// errFound ends the reading of a wait.
var errFound = errors.New("the event was found")

// awaitPause is the wait before the feed is read again after a fault of the platform.
const awaitPause = time.Second

// Await returns the first event of a workspace that is awaited and accepted, nil when there
// is none in time. After a fault of the platform it tries again.
func (w Waits) Await(ctx context.Context, workspaceID string, awaited runtime.Awaited, accepts func(*feed.Event) bool) (*feed.Event, error) {
	s := &eventSearch{Awaited: awaited, waits: w, workspaceID: workspaceID, accepts: accepts}
	for {
		found, err := s.search(ctx)
		if err == nil || ctx.Err() != nil {
			return found, err
		}
		w.Log.WarnContext(ctx, "an event that a run waits for could not be searched", "workspace", workspaceID, "err", err)
		if err := commands.Sleep(ctx, awaitPause); err != nil {
			return nil, err
		}
	}
}

// eventSearch searches the event of one wait.
type eventSearch struct {
	runtime.Awaited
	waits       Waits
	workspaceID string
	accepts     func(*feed.Event) bool
	found       *feed.Event
}

// search follows the feed until the time is over. Then it reads once more what is recorded
// by then: the event may have been recorded in time and not be read yet, or no node was there
// to wait for it.
func (s *eventSearch) search(ctx context.Context) (*feed.Event, error) {
	after, err := s.waits.Feed.Resolve(ctx, s.workspaceID, s.After)
	if err != nil {
		return nil, err
	}
	s.After = after
	within, cancel := context.WithDeadline(ctx, s.Before)
	defer cancel()
	err = s.follow(within)
	if errors.Is(err, errFound) {
		return s.found, nil
	}
	if ctx.Err() != nil || !errors.Is(within.Err(), context.DeadlineExceeded) {
		return nil, err
	}
	if err := s.waits.Fresh(ctx); err != nil {
		return nil, err
	}
	err = s.waits.Feed.Walk(ctx, live.Range{WorkspaceID: s.workspaceID, After: s.After, Filter: s.filter()}, func(e *feed.Event) (bool, error) {
		return !s.accept(e), nil
	})
	return s.found, err
}

// positionEvery is how often a wait records how far it has read.
const positionEvery = 30 * time.Second

// follow reads the events as they are recorded, until ctx ends or one is accepted.
func (s *eventSearch) follow(ctx context.Context) error {
	var before domain.Position // of the feed at the last tick: it has been read since
	return s.waits.Feed.Follow(ctx, live.Following{
		WorkspaceID: s.workspaceID, After: s.After, Filter: s.filter(),
		Ready:     func(at domain.Position) { s.After = s.After.Max(at) },
		TickEvery: positionEvery, Tick: func() error {
			s.After, before = s.After.Max(before), s.waits.Feed.Position()
			return nil
		},
	}, func(d live.Delivery) error {
		for _, e := range d.Events {
			if s.accept(e) {
				return errFound
			}
		}
		return nil
	})
}

func (s *eventSearch) filter() *live.Filter { return &live.Filter{Types: s.Types} }

// accept stores an event that is accepted and was recorded in time, and reports whether it
// is one.
func (s *eventSearch) accept(e *feed.Event) bool {
	if !e.At.Before(s.Before) || !s.accepts(e) {
		return false
	}
	s.found = e
	return true
}
