package feed

import (
	"context"

	"svc/domain"
	"svc/projections"
)

// reel goes through one log as it is, for a walk over all workspaces.
type reel struct {
	log       domain.Log
	low, next uint64 // what is left: upwards from next to high, downwards from next to low
	high      uint64
	ended     bool
	queue     []place
	size      int // how many sequences are read at once
}

// dry reports whether a reel must be read further before it tells what is next.
func (r *reel) dry() bool { return len(r.queue) == 0 && !r.ended }

// nextOfAll is next for a walk over all workspaces: it reads the logs themselves, one
// piece of each at a time, so that whoever waits hears in between.
func (w *walker) nextOfAll(ctx context.Context, size int) (places []place, more bool, err error) {
	if w.reels == nil {
		if err := w.beginAll(ctx); err != nil {
			return nil, false, err
		}
	}
	for len(places) < size {
		for _, r := range w.reels {
			if r.dry() && len(places) > 0 {
				return places, true, nil
			}
			if err := w.wind(ctx, r); err != nil {
				return nil, false, err
			}
			if r.dry() {
				return nil, true, nil
			}
		}
		r, other := w.reels[0], w.reels[1]
		if len(r.queue) == 0 || len(other.queue) > 0 && w.later(r.queue[0].FeedEntry, other.queue[0].FeedEntry) {
			r = other
		}
		if len(r.queue) == 0 {
			return places, false, nil
		}
		places = append(places, r.queue[0])
		r.queue = r.queue[1:]
	}
	return places, true, nil
}

func (w *walker) beginAll(ctx context.Context) error {
	for _, log := range domain.Logs() {
		info, err := w.feed.store.Info(ctx, log)
		if err != nil {
			return err
		}
		r := &reel{log: log, size: firstRead, low: max(following(w.r.After.Of(log)), info.First), high: info.Last}
		if w.r.Until != nil {
			r.high = min(r.high, w.r.Until.Of(log))
		}
		if err := r.within(ctx, w.feed.store, w.r.Filter); err != nil {
			return err
		}
		r.next, r.ended = r.low, r.low > r.high
		if w.r.Descending {
			r.next = r.high
		}
		w.reels = append(w.reels, r)
	}
	return nil
}

// within narrows the range to the times that are asked for.
func (r *reel) within(ctx context.Context, store Store, f *Filter) error {
	if f == nil || r.low > r.high {
		return nil
	}
	if !f.After.IsZero() {
		first, err := store.Since(ctx, r.log, f.After)
		if err != nil {
			return err
		}
		r.low = max(r.low, first)
	}
	if !f.Before.IsZero() {
		end, err := store.Since(ctx, r.log, f.Before)
		if err != nil {
			return err
		}
		r.high = min(r.high, end-1)
	}
	return nil
}

// wind reads a piece further when a reel has run out.
func (w *walker) wind(ctx context.Context, r *reel) error {
	if !r.dry() {
		return nil
	}
	events, err := w.feed.store.Reread(ctx, r.log, w.piece(r))
	if err != nil {
		return err
	}
	bytes := 0
	for _, ev := range events {
		bytes += ev.Size
	}
	r.size = readSize(len(events), bytes)
	return w.feed.models.View(func(rd projections.Reader) error {
		for i := range events {
			p, ok, err := w.placeOf(rd, r.log, &events[i])
			if err != nil {
				return err
			}
			if ok {
				r.queue = append(r.queue, p)
			}
		}
		return nil
	})
}

// piece returns the next sequences of a reel, in the order of the walk.
func (w *walker) piece(r *reel) []uint64 {
	seqs := make([]uint64, 0, r.size)
	for len(seqs) < r.size && !r.ended {
		seqs = append(seqs, r.next)
		if w.r.Descending {
			r.ended = r.next == r.low
			r.next--
		} else {
			r.ended = r.next == r.high
			r.next++
		}
	}
	return seqs
}

// placeOf returns where an event that was read is in the feed of its workspace; ok is
// false when it is not there, or cannot match.
func (w *walker) placeOf(rd projections.Reader, log domain.Log, ev *domain.Recorded) (p place, ok bool, err error) {
	p = place{workspaceID: ev.Stream.Scope, log: log, event: ev}
	if p.FeedEntry, ok, err = projections.FeedOf(log).Get(rd, p.workspaceID, ev.Seq); err != nil || !ok || !w.may(p.FeedEntry) {
		return p, false, err
	}
	p.at, err = positionOf(rd, p.workspaceID, log, p.FeedEntry)
	return p, err == nil, err
}
