package triggers

import (
	"context"
	"errors"
	"time"

	"svc/domain"
	"svc/streams"
	live "svc/streams/feed"
)

// errCaughtUp ends the reading of a workspace by itself.
var errCaughtUp = errors.New("the workspace has caught up")

// catchUp reads a workspace by itself, at its own pace, until nothing is left that the
// share has passed over. Then the place where it fell behind is settled.
func (s *share) catchUp(ctx context.Context, id string, after domain.Position, fell *streams.Mark) {
	for ctx.Err() == nil {
		err := s.Feed.Follow(ctx, live.Following{
			WorkspaceID: id, After: after, TickEvery: 50 * time.Millisecond,
			Tick: func() error { return s.rejoin(id, after, fell) },
		}, func(d live.Delivery) error {
			for _, e := range d.Events {
				if err := s.turn(ctx, id); err != nil {
					return err
				}
				begun := s.dispatch(ctx, e)
				s.mu.Lock()
				s.count(id, len(begun))
				s.mu.Unlock()
				s.under.Go(func() {
					s.see(ctx, begun)
					s.mu.Lock()
					s.count(id, -len(begun))
					s.mu.Unlock()
				})
			}
			after = d.At
			return nil
		})
		if errors.Is(err, errCaughtUp) {
			return
		}
		rest(ctx)
	}
}

// turn waits until the workspace may start something more.
func (s *share) turn(ctx context.Context, id string) error {
	for {
		s.mu.Lock()
		p := s.places[id]
		full := p != nil && p.running >= mostOfOne
		s.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// rejoin hands a workspace back to the share once everything that the share has passed
// over is over. What the share has yet to come to, although it was read here, it leaves
// out.
func (s *share) rejoin(id string, at domain.Position, fell *streams.Mark) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[id]
	if p == nil || p.running > 0 || at.Max(p.passed) != at {
		return nil
	}
	p.lagging, p.done = false, at
	s.ledger.Settle(fell)
	return errCaughtUp
}
