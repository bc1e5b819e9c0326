package triggers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/feed"
	"svc/eventstore"
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
	under  sync.WaitGroup // what was started
}

func newShare(t *Triggers, number int) *share { return &share{Triggers: t, number: number} }

// place is a workspace that has something under way.
type place struct {
	running int
	lagging bool            // it is read by itself
	passed  domain.Position // up to which the share has passed over its events
	done    domain.Position // up to which it was read by itself
}

// behind reports whether an event is at or before a position.
func behind(e *feed.Event, at domain.Position) bool { return e.Number() <= at.Of(e.Log) }

// Bounds of what may be under way: in one workspace, and events that are not over in a
// whole share before reading waits.
const (
	mostOfOne   = 200
	mostOfShare = 5_000
	saveEvery   = 250 * time.Millisecond
	saveWait    = 2 * time.Second
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
	parts.Go(func() { s.adopt(ctx) })
	err = s.Feed.Follow(ctx, live.Following{After: after}, func(d live.Delivery) error { return s.receive(ctx, d) })
	cancel(err)
	parts.Wait()
	s.under.Wait()
	s.saveNow(true)
	return err
}

// load finds out where the share was left. A share that was never looked after begins
// now.
func (s *share) load(ctx context.Context) (domain.Position, error) {
	if err := s.Fresh(ctx); err != nil {
		return domain.Position{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start, s.places, s.ledger = s.Position(), map[string]*place{}, streams.Ledger{}
	value, _, err := s.Cursors.Get(ctx, s.key())
	switch {
	case errors.Is(err, eventstore.ErrNoKey):
		s.ledger.At = s.Feed.Position()
		_, err = s.Cursors.Put(ctx, s.key(), []byte(s.ledger.At.Token()))
	case err == nil:
		err = s.ledger.At.UnmarshalText(value)
	}
	if err != nil {
		return domain.Position{}, fmt.Errorf("read where triggers were left: %w", err)
	}
	return s.ledger.At, nil
}

func (s *share) key() string { return fmt.Sprintf("share/%d/%d", s.shares, s.number) }

// receive takes events over from the feed.
func (s *share) receive(ctx context.Context, d live.Delivery) error {
	for i, e := range d.Events {
		if err := s.room(ctx); err != nil {
			return err
		}
		s.take(ctx, e, d.Places[i])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger.Put(&streams.Mark{At: d.At, Settled: true})
	return nil
}

// room waits while too much is under way.
func (s *share) room(ctx context.Context) error {
	for {
		s.mu.Lock()
		full := s.ledger.Open() >= mostOfShare
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

// take starts what listens to an event, unless its workspace is read by itself.
func (s *share) take(ctx context.Context, e *feed.Event, at domain.Position) {
	id := e.Source.WorkspaceID
	if !s.mine(s.number, id) {
		return
	}
	s.mu.Lock()
	p := s.places[id]
	if p != nil && (p.lagging || e.Options.Persisted() && behind(e, p.done)) {
		p.passed = p.passed.Max(domain.At(e.Log, e.Number()))
		s.mu.Unlock()
		return
	}
	if p != nil && p.running >= mostOfOne && e.Options.Persisted() {
		p.lagging = true
		m := &streams.Mark{At: at, Counts: true}
		s.ledger.Put(m)
		s.mu.Unlock()
		s.under.Go(func() { s.catchUp(ctx, id, live.Behind(e), m) })
		return
	}
	s.mu.Unlock()
	begun := s.dispatch(ctx, e)
	if len(begun) == 0 {
		return
	}
	m := &streams.Mark{At: at, Counts: true}
	s.mu.Lock()
	s.ledger.Put(m)
	s.count(id, len(begun))
	s.mu.Unlock()
	s.under.Go(func() {
		over := s.see(ctx, begun)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count(id, -len(begun))
		if over {
			s.ledger.Settle(m)
		}
	})
}

// count notes how much of a workspace is under way. The caller holds the lock.
func (s *share) count(id string, n int) {
	p := s.places[id]
	if p == nil {
		p = &place{}
		s.places[id] = p
	}
	if p.running += n; p.running == 0 && !p.lagging && p.done.IsZero() {
		delete(s.places, id)
	}
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
	if _, err := s.Cursors.Put(ctx, s.key(), []byte(at.Token())); err != nil {
		s.Log.WarnContext(ctx, "the place of triggers could not be saved", "err", err)
		s.mu.Lock()
		s.ledger.Again()
		s.mu.Unlock()
	}
}
