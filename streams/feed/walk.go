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

// lane goes through the entries of one log, of one workspace.
type lane struct {
	log         domain.Log
	workspaceID string
	down        bool
	low, high   uint64 // the sequences of the range, both included
	lists       []*list
	whole       bool // nothing is left out: the one list is of everything
	last        uint64
	passed      bool   // last is of an entry that was taken
	before      uint64 // upwards: the entry before the first
}

// list is one list of the index, read in pieces.
type list struct {
	among projections.Among
	next  uint64 // where the next piece begins
	ended bool
	queue []projections.FeedEntry
}

// lane returns the entries of a log that the walk goes through.
func (w *walker) lane(rd projections.Reader, log domain.Log) (*lane, error) {
	l := &lane{log: log, workspaceID: w.r.WorkspaceID, down: w.r.Descending, low: following(w.r.After.Of(log)), high: ^uint64(0)}
	if w.r.Until != nil {
		l.high = w.r.Until.Of(log)
	}
	if err := l.within(rd, w.r.Filter); err != nil {
		return nil, err
	}
	among := w.among()
	if l.whole = among == nil; l.whole {
		among = []projections.Among{{}}
	}
	for _, a := range among {
		begin := l.low
		if l.down {
			begin = l.high
		}
		l.lists = append(l.lists, &list{among: a, next: begin, ended: l.low > l.high})
	}
	if l.whole && !l.down {
		var err error
		l.before, err = projections.FeedOf(log).Last(rd, l.workspaceID, l.low-1)
		return l, err
	}
	return l, nil
}

// following is the sequence after one. Nothing follows the last that there can be,
// which only somebody names who made a position up.
func following(seq uint64) uint64 { return max(seq, seq+1) }

// within narrows the range to the times that are asked for.
func (l *lane) within(rd projections.Reader, f *Filter) error {
	if f == nil {
		return nil
	}
	index := projections.FeedOf(l.log)
	if !f.After.IsZero() {
		last, err := index.Before(rd, l.workspaceID, f.After, true)
		if err != nil {
			return err
		}
		l.low = max(l.low, last+1)
	}
	if !f.Before.IsZero() {
		last, err := index.Before(rd, l.workspaceID, f.Before, false)
		if err != nil {
			return err
		}
		l.high = min(l.high, last)
	}
	return nil
}

// fill reads further where a list has run out.
func (l *lane) fill(rd projections.Reader) error {
	for _, list := range l.lists {
		if len(list.queue) > 0 || list.ended {
			continue
		}
		list.ended = true
		err := projections.FeedOf(l.log).List(rd, l.workspaceID, list.among, list.next, l.down, func(e projections.FeedEntry) bool {
			if e.Seq < l.low || e.Seq > l.high {
				return false
			}
			if len(list.queue) == lookAhead {
				list.ended, list.next = false, e.Seq
				return false
			}
			e.Signature = append([]byte(nil), e.Signature...)
			list.queue = append(list.queue, e)
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// first returns the list with the next entry; nil when there is none.
func (l *lane) first() *list {
	var first *list
	for _, list := range l.lists {
		if len(list.queue) == 0 {
			continue
		}
		if first == nil || list.queue[0].Seq < first.queue[0].Seq != l.down {
			first = list
		}
	}
	return first
}

func (l *lane) empty() bool { return l.first() == nil }

func (l *lane) head() projections.FeedEntry { return l.first().queue[0] }

// take returns the next entry and goes behind it.
func (l *lane) take() projections.FeedEntry {
	list := l.first()
	e := list.queue[0]
	list.queue = list.queue[1:]
	l.last, l.passed = e.Seq, true
	return e
}

// beside returns the entry that precedes, in time, what is taken from the other lane;
// known is false when that cannot be told from here.
func (l *lane) beside(down bool) (seq uint64, known bool) {
	switch {
	case !l.whole:
		return 0, false
	case !down && l.passed:
		return l.last, true
	case !down:
		return l.before, true
	case !l.empty():
		return l.head().Seq, true
	}
	return 0, l.low == 1 // downwards, and nothing is left: there is nothing before
}

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
