package triggers

import (
	"context"
	"errors"
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
