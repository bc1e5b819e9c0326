package triggers

import (
	"context"

	"svc/domain"
	"svc/domain/feed"
	"svc/streams"
	live "svc/streams/feed"
)

// place is a workspace that has something under way. Its events are looked at one after
// the other, beside those of all others: whatever they take, nobody else waits for it.
type place struct {
	id      string
	waiting []*arrival // events whose turn has not come
	busy    bool       // somebody looks at them
	open    int        // events that wait, and trees that are not over
	freed   chan struct{}
	lag     *lag            // how it is read by itself; nil: it is read with the others
	done    domain.Position // up to which it was read by itself
}

// arrival is an event that has come to its workspace.
type arrival struct {
	event *feed.Event
	mark  *streams.Mark // its place in the feed; nil: it was read for lag
	lag   *lag
	left  int // trees that are not over
}

// Bounds of what one workspace may have under way before it is read by itself, and then
// at its own pace: the lower one while a share as a whole has much under way.
const (
	mostOfOne   = 200
	fewOfOne    = 10
	mostOfShare = 5_000
)

// most is what one workspace may have under way. The caller holds the lock.
func (s *share) most() int {
	if s.open >= mostOfShare {
		return fewOfOne
	}
	return mostOfOne
}

// place returns a workspace that has something under way, or is about to. The caller
// holds the lock.
func (s *share) place(id string) *place {
	p := s.places[id]
	if p == nil {
		p = &place{id: id, freed: make(chan struct{}, 1)}
		s.places[id] = p
	}
	return p
}

// take takes an event over for its workspace, unless that is read by itself. The caller
// holds the lock.
func (s *share) take(ctx context.Context, e *feed.Event, at domain.Position) {
	p := s.place(e.Source.WorkspaceID)
	past := !p.done.IsZero() && behind(e, p.done)
	if at.Max(p.done) == at {
		p.done = domain.Position{} // the others are as far
	}
	switch {
	case p.lag != nil:
		if e.Options.Persisted() {
			p.lag.passed = p.lag.passed.Max(domain.At(e.Log, e.Number()))
		}
	case past:
		s.forget(p)
	case p.open < s.most():
		m := &streams.Mark{At: at}
		s.ledger.Put(m)
		s.join(ctx, p, &arrival{event: e, mark: m})
	case !e.Options.Persisted():
		s.Log.WarnContext(ctx, "an event that is not kept starts nothing: too much is under way in its workspace", "workspace", p.id, "type", e.Type)
	default:
		m := &streams.Mark{At: at, Counts: true}
		s.ledger.Put(m)
		l := &lag{mark: m}
		p.lag = l
		s.under.Go(func() { s.catchUp(ctx, p, l, live.Behind(e)) })
	}
}

// join lets an event wait for its turn. The caller holds the lock.
func (s *share) join(ctx context.Context, p *place, a *arrival) {
	p.waiting = append(p.waiting, a)
	if a.lag != nil {
		a.lag.open++
	}
	s.count(p, 1)
	if !p.busy {
		p.busy = true
		s.under.Go(func() { s.work(ctx, p) })
	}
}

// work looks at the events of a workspace until none is left, or ctx ends: who comes next
// looks at the others again.
func (s *share) work(ctx context.Context, p *place) {
	for {
		a := s.next(p)
		if a == nil {
			return
		}
		begun, err := s.dispatch(ctx, a.event)
		if err != nil {
			return
		}
		s.follow(ctx, p, a, begun)
	}
}

// next returns the event of a workspace whose turn it is, nil when there is none.
func (s *share) next(p *place) *arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(p.waiting) == 0 {
		p.busy = false
		s.forget(p)
		return nil
	}
	a := p.waiting[0]
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
	return a
}

// follow sees the trees that an event started to their end.
func (s *share) follow(ctx context.Context, p *place, a *arrival, list []*begun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(p, len(list)-1)
	if a.left = len(list); a.left == 0 {
		s.settle(a)
	} else if a.mark != nil {
		a.mark.Counts = true
	}
	for _, b := range list {
		s.under.Go(func() { s.ended(p, a, s.see(ctx, b)) })
	}
}

// ended notes that nobody looks after a tree any more, because it is over or because the
// share is given up: what is not over is looked at again then.
func (s *share) ended(p *place, a *arrival, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(p, -1)
	s.forget(p)
	if !over {
		return
	}
	if a.left--; a.left == 0 {
		s.settle(a)
	}
}

// settle notes that what an event started is over. The caller holds the lock.
func (s *share) settle(a *arrival) {
	if a.lag == nil {
		s.ledger.Settle(a.mark)
		return
	}
	if a.lag.open--; a.lag.back && a.lag.open == 0 {
		s.ledger.Settle(a.lag.mark)
	}
}

// count notes how much of a workspace is under way. The caller holds the lock.
func (s *share) count(p *place, n int) {
	p.open += n
	s.open += n
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// forget forgets a workspace that has nothing under way. The caller holds the lock.
func (s *share) forget(p *place) {
	if p.open == 0 && !p.busy && p.lag == nil && p.done.IsZero() && s.places[p.id] == p {
		delete(s.places, p.id)
	}
}
