package triggers

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"svc/commands/programs"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/feed"
	"svc/streams"
	live "svc/streams/feed"
)

// share is a part of all workspaces, which one node looks after.
type share struct {
	*Triggers

	number int

	mu     sync.Mutex
	ledger streams.Ledger
	start  domain.Position // what is up to it may have been started before
	places map[string]*place
	open   int            // of all places
	under  sync.WaitGroup // what was started
}

func newShare(t *Triggers, number int) *share { return &share{Triggers: t, number: number} }

// behind reports whether an event is at or before a position.
func behind(e *feed.Event, at domain.Position) bool { return e.Number() <= at.Of(e.Log) }

// How often it is saved how far a share is, and for how long that is tried.
const (
	saveEvery = 250 * time.Millisecond
	saveWait  = 2 * time.Second
)

// serve looks after the share whenever it is this node's, until ctx ends.
func (s *share) serve(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.Hold(ctx, "triggers/"+strconv.Itoa(s.number), s.run)
		if ctx.Err() != nil {
			return
		}
		s.Log.WarnContext(ctx, "starting automations stopped and is begun again", "share", s.number, "err", err)
		rest(ctx)
	}
}

// run reads the feed from where the share was left, until ctx ends.
func (s *share) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	after, err := s.load(ctx)
	if err != nil {
		return err
	}
	var parts sync.WaitGroup
	parts.Go(func() { s.save(ctx) })
	parts.Go(func() { newAdopter(s, s.orphans).adopt(ctx) })
	err = s.Feed.Follow(ctx, live.Following{After: after, Need: live.Logged}, func(d live.Delivery) error { return s.receive(ctx, d) })
	cancel(err)
	parts.Wait()
	s.under.Wait()
	s.saveNow(true)
	return err
}

// load finds out where the share was left.
func (s *share) load(ctx context.Context) (domain.Position, error) {
	if err := s.Fresh(ctx); err != nil {
		return domain.Position{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start, s.places, s.open, s.ledger = s.Position(), map[string]*place{}, 0, streams.Ledger{}
	var err error
	s.ledger.At, err = s.cursor(ctx, s.number)
	return s.ledger.At, err
}

// receive takes events over from the feed. It waits for no workspace: what one has to do
// is done beside it.
func (s *share) receive(ctx context.Context, d live.Delivery) error {
	if err := s.prepare(ctx, d.Events); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // who comes next looks at them again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range d.Events {
		switch {
		case !s.starts(e):
		case programs.IsAboutApp(e.Type):
			if err := s.announce(ctx, e, d.Places[i]); err != nil {
				return err
			}
		default:
			s.take(ctx, e, d.Places[i])
		}
	}
	s.ledger.Put(&streams.Mark{At: d.At, Settled: true})
	return nil
}

// starts reports whether an event may start something in a workspace of the share.
func (s *share) starts(e *feed.Event) bool {
	return automation.Triggering(e.Type) && (s.mine(s.number, e.Source.WorkspaceID) || programs.IsAboutApp(e.Type))
}

// prepare waits until everything is known that was saved before events that may start
// something: what listens to them may have been saved on another node just before.
func (s *share) prepare(ctx context.Context, events []*feed.Event) error {
	for slices.ContainsFunc(events, s.starts) {
		err := s.Saved(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.Log.WarnContext(ctx, "what is saved in workspaces is not known yet", "share", s.number, "err", err)
		rest(ctx)
	}
	return nil
}

// save saves where the share is while it moves.
func (s *share) save(ctx context.Context) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.saveNow(false)
		}
	}
}

func (s *share) saveNow(ending bool) {
	s.mu.Lock()
	at, moved := s.ledger.Unsaved(s.Now(), ending)
	s.mu.Unlock()
	if !moved {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveWait)
	defer cancel()
	if _, err := s.Cursors.Put(ctx, streams.ShareKey(s.shares, s.number), []byte(at.Token())); err != nil {
		s.Log.WarnContext(ctx, "the place of triggers could not be saved", "err", err)
		s.mu.Lock()
		s.ledger.Again()
		s.mu.Unlock()
	}
}
