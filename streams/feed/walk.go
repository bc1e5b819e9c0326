package feed

import (
	"context"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/feed"
	"svc/projections"
)

// Range is a part of the feed.
type Range struct {
	WorkspaceID string           // "": of all workspaces
	After       domain.Position  // what comes after it
	Until       *domain.Position // up to and with it; nil: everything
	Descending  bool             // the last first
	Filter      *Filter          // nil: all
	Need        Need             // how much of the events is looked at
	// Stop, when set, is asked before the index is gone through further, which may take
	// long where few events match; true ends the walk.
	Stop func() bool
	// Between, when set, is called about as often, from the beginning on; an error ends
	// the walk.
	Between func() error
}

// Need is how much of events somebody looks at: the less, the faster they are found.
type Need int

// What is needed.
const (
	Whole   Need = iota // all there is
	Logged              // what the log has: not what executions were given and gave
	Indexed             // ids, types, times, workspaces and correlation ids
)

// Bounds of one look at the index, and of one read of the log. The first read is
// small: most who ask want a page; and so are those of large events.
const (
	firstRead = 64
	fullRead  = 400
	leastRead = 16
	readBytes = 4 << 20
	lookAhead = 256
	looks     = 8192 // entries that one look at the index goes through
)

// readSize returns how many events to read at once where so many had so many bytes.
func readSize(events, bytes int) int {
	if bytes == 0 {
		return fullRead
	}
	return max(leastRead, min(fullRead, events*readBytes/bytes))
}

// Walk visits the stored events of a range, in order, until visit returns false or
// fails.
func (f *Feed) Walk(ctx context.Context, r Range, visit func(*Event) (more bool, err error)) error {
	w := f.walker(r)
	for size := firstRead; ; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if r.Between != nil {
			if err := r.Between(); err != nil {
				return err
			}
		}
		places, more, err := w.next(ctx, size)
		if err != nil {
			return err
		}
		events, err := f.events(ctx, r, places)
		if err != nil {
			return err
		}
		bytes := 0
		for i, e := range events {
			events[i] = nil // what was made of it to look into it need not wait for the others
			bytes += len(e.Payload)
			if !r.Filter.Match(e) {
				continue
			}
			if again, err := visit(e); err != nil || !again {
				return err
			}
		}
		if !more || r.Stop != nil && r.Stop() {
			return nil
		}
		size = readSize(len(events), bytes)
	}
}

// events returns the events at places as a walk visits them.
func (f *Feed) events(ctx context.Context, r Range, places []place) ([]*Event, error) {
	if r.Need != Indexed || r.WorkspaceID == "" {
		return f.read(ctx, places, r.Need)
	}
	events := make([]*Event, len(places))
	for i, p := range places {
		source := feed.Source{WorkspaceID: p.workspaceID, Meta: domain.Meta{CorrelationID: p.Correlation}}
		events[i] = &Event{ID: p.ID, Type: p.Type, At: p.At, Seq: p.at, Log: p.log, Source: source}
	}
	return events, nil
}

// place is where an event is.
type place struct {
	projections.FeedEntry
	workspaceID string
	log         domain.Log
	at          domain.Position  // up to and with it, within its workspace
	event       *domain.Recorded // when it was read already
}

// walker goes through the places of a range.
type walker struct {
	feed  *Feed
	r     Range
	lanes []*lane // one for each log
	reels []*reel // the same for all workspaces
	ready bool
}

func (f *Feed) walker(r Range) *walker { return &walker{feed: f, r: r} }

// next returns up to size places of events that may match; more is false when there
// are no others.
func (w *walker) next(ctx context.Context, size int) (places []place, more bool, err error) {
	if w.r.WorkspaceID == "" {
		return w.nextOfAll(ctx, size)
	}
	err = w.feed.models.View(func(rd projections.Reader) error {
		if !w.ready {
			if err := w.begin(rd); err != nil {
				return err
			}
		}
		for seen := 0; len(places) < size && seen < looks; seen++ {
			p, ok, err := w.merge(rd)
			if err != nil || !ok {
				more = false
				return err
			}
			more = true
			if w.may(p.FeedEntry) {
				places = append(places, p)
			}
		}
		return nil
	})
	return places, more, err
}

// begin prepares the lanes.
func (w *walker) begin(rd projections.Reader) error {
	w.ready = true
	for _, log := range domain.Logs() {
		l, err := w.lane(rd, log)
		if err != nil {
			return err
		}
		w.lanes = append(w.lanes, l)
	}
	return nil
}

// merge returns the next place of both logs.
func (w *walker) merge(rd projections.Reader) (p place, ok bool, err error) {
	for _, l := range w.lanes {
		if err := l.fill(rd); err != nil {
			return p, false, err
		}
	}
	l, other := w.lanes[0], w.lanes[1]
	if l.empty() || !other.empty() && w.later(l.head(), other.head()) {
		l, other = other, l
	}
	if l.empty() {
		return p, false, nil
	}
	p = place{FeedEntry: l.take(), workspaceID: w.r.WorkspaceID, log: l.log}
	p.at, err = w.position(rd, p, other)
	return p, err == nil, err
}

// later reports whether a fact comes after an activity event in the order of the
// walk. Of the same instant the fact is the earlier one.
func (w *walker) later(fact, act projections.FeedEntry) bool {
	if w.r.Descending {
		return !fact.At.After(act.At)
	}
	return fact.At.After(act.At)
}

// position returns how far a reader has come with an event: what the other log has
// before it is known from the lane beside when that shows all.
func (w *walker) position(rd projections.Reader, p place, other *lane) (domain.Position, error) {
	beside, known := other.beside(w.r.Descending)
	if !known {
		var err error
		beside, err = projections.FeedOf(other.log).Before(rd, p.workspaceID, p.At, p.log == domain.Activity)
		if err != nil {
			return domain.Position{}, err
		}
	}
	return domain.At(p.log, p.Seq).Max(domain.At(other.log, beside)), nil
}

// positionOf is position for an event by itself.
func positionOf(rd projections.Reader, workspaceID string, log domain.Log, e projections.FeedEntry) (domain.Position, error) {
	other := otherOf(log)
	beside, err := projections.FeedOf(other).Before(rd, workspaceID, e.At, log == domain.Activity)
	return domain.At(log, e.Seq).Max(domain.At(other, beside)), err
}

func otherOf(log domain.Log) domain.Log {
	if log == domain.State {
		return domain.Activity
	}
	return domain.State
}

// may reports whether an event may match, as far as the index knows.
func (w *walker) may(e projections.FeedEntry) bool {
	f := w.r.Filter
	if f == nil {
		return true
	}
	if len(f.Types) > 0 && !slices.ContainsFunc(f.Types, func(p string) bool { return like(p, e.Type) }) {
		return false
	}
	return (f.Depth == 0 || e.Depth < f.Depth) && f.May(e.Signature)
}

// among returns lists of the index that hold all that matches; none: everything must
// be looked at.
func (w *walker) among() []projections.Among {
	f := w.r.Filter
	if f == nil {
		return nil
	}
	for _, known := range lists {
		for _, p := range f.Paths {
			if p.Path == known.path && exact(p.Any) {
				return each(known.list, p.Any)
			}
		}
	}
	if len(f.Types) > 0 && exact(f.Types) {
		return each(projections.ByType, f.Types)
	}
	return nil
}

// lists are the paths that the index has lists for, those with the fewest events first.
var lists = []struct {
	path string
	list projections.FeedList
}{
	{"source.correlationId", projections.ByCorrelation},
	{"source.userId", projections.ByUser},
	{"source.automationSlug", projections.ByAutomation},
}

// maxLists is how many lists of the index are merged rather than everything read.
const maxLists = 8

// exact reports whether all texts stand for themselves, and the index has lists for
// them.
func exact(texts []string) bool {
	return len(texts) <= maxLists && !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "*") || !projections.Indexed(s) })
}

func each(list projections.FeedList, texts []string) []projections.Among {
	var all []projections.Among
	for _, text := range slices.Compact(slices.Sorted(slices.Values(texts))) {
		all = append(all, projections.Among{List: list, Text: text})
	}
	return all
}
