package triggers

import (
	"context"
	"errors"
	"time"

	"svc/domain"
	"svc/streams"
	live "svc/streams/feed"
)

// lag is a workspace that is read by itself, at its own pace.
type lag struct {
	mark   *streams.Mark   // the place in the feed where it fell behind
	passed domain.Position // up to which the share has passed over its events
	open   int             // events that were read by themselves and are not over
	back   bool            // it is read with the others again
}

// errCaughtUp ends the reading of a workspace by itself.
var errCaughtUp = errors.New("the workspace has caught up")

// How often it is looked whether a workspace has caught up, and whether there is room
// for more of it.
const (
	rejoinEvery = 50 * time.Millisecond
	roomEvery   = 100 * time.Millisecond
)

// catchUp reads a workspace by itself, at its own pace, until nothing is left that the
// share has passed over.
func (s *share) catchUp(ctx context.Context, p *place, l *lag, after domain.Position) {
	for ctx.Err() == nil {
		err := s.Feed.Follow(ctx, live.Following{
			WorkspaceID: p.id, After: after, Need: live.Logged,
			TickEvery: rejoinEvery, Tick: func() error { return s.rejoin(p, l, after) },
		}, func(d live.Delivery) error {
			if err := s.prepare(ctx, d.Events); err != nil {
				return err
			}
			for _, e := range d.Events {
				if !s.starts(e) {
					continue
				}
				if err := s.room(ctx, p); err != nil {
					return err
				}
				s.mu.Lock()
				s.join(ctx, p, &arrival{event: e, lag: l})
				s.mu.Unlock()
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

// room waits until the workspace may start something more.
func (s *share) room(ctx context.Context, p *place) error {
	for {
		s.mu.Lock()
		full := p.open >= s.most()
		s.mu.Unlock()
		if !full {
			return nil
		}
		look := time.NewTimer(roomEvery)
		select {
		case <-ctx.Done():
			look.Stop()
			return context.Cause(ctx)
		case <-p.freed:
			look.Stop()
		case <-look.C:
		}
	}
}

// rejoin hands a workspace back to the share once everything was read that the share has
// passed over. What the share has yet to come to, although it was read here, it leaves
// out. The place where the workspace fell behind is settled when what was read here is
// over.
func (s *share) rejoin(p *place, l *lag, at domain.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.Max(l.passed) != at || p.open > s.most()/2 {
		return nil
	}
	p.lag, p.done, l.back = nil, at, true
	if l.open == 0 {
		s.ledger.Settle(l.mark)
	}
	s.forget(p)
	return errCaughtUp
}
