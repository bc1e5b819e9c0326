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
	firstReadSize   = 64
	maxReadSize     = 400
	minReadSize     = 16
	readBytes       = 4 << 20
	lookAhead       = 256
	maxIndexEntries = 8192 // entries that one look at the index goes through
)

// readSize returns how many events to read at once where so many had so many bytes.
func readSize(events, bytes int) int {
	if bytes == 0 {
		return maxReadSize
	}
	return max(minReadSize, min(maxReadSize, events*readBytes/bytes))
}

// Walk visits the stored events of a range, in order, until visit returns false or
// fails.
func (f *Feed) Walk(ctx context.Context, r Range, visit func(*Event) (more bool, err error)) error {
	w := f.walker(r)
	for size := firstReadSize; ; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if r.Between != nil {
			if err := r.Between(); err != nil {
				return err
			}
		}
		locations, more, err := w.next(ctx, size)
		if err != nil {
			return err
		}
		events, err := f.loadEvents(ctx, r, locations)
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

// loadEvents returns the events at locations as a walk visits them.
func (f *Feed) loadEvents(ctx context.Context, r Range, locations []location) ([]*Event, error) {
	if r.Need != Indexed || r.WorkspaceID == "" {
		return f.readEvents(ctx, locations, r.Need)
	}
	events := make([]*Event, len(locations))
	for i, p := range locations {
		source := feed.Source{WorkspaceID: p.workspaceID, Meta: domain.Meta{CorrelationID: p.Correlation}}
		events[i] = &Event{ID: p.ID, Type: p.Type, At: p.At, Seq: p.at, Log: p.log, Source: source}
	}
	return events, nil
}

// location is where an event is.
type location struct {
	projections.FeedEntry
	workspaceID string
	log         domain.Log
	at          domain.Position  // up to and with it, within its workspace
	event       *domain.Recorded // when it was read already
}

// walker goes through the locations of a range.
type walker struct {
	feed  *Feed
	r     Range
	lanes []*lane      // one for each log
	logs  []*logReader // the same for all workspaces
	ready bool
}

func (f *Feed) walker(r Range) *walker { return &walker{feed: f, r: r} }

// next returns up to size locations of events that may match; more is false when there
// are no others.
func (w *walker) next(ctx context.Context, size int) (locations []location, more bool, err error) {
	if w.r.WorkspaceID == "" {
		return w.nextOfAll(ctx, size)
	}
	rd := w.feed.models.Reader()
	defer rd.Close()
	if !w.ready {
		if err := w.openLanes(rd); err != nil {
			return nil, false, err
		}
	}
	for seen := 0; len(locations) < size && seen < maxIndexEntries; seen++ {
		p, ok, err := w.nextLocation(rd)
		if err != nil || !ok {
			return locations, false, err
		}
		more = true
		if w.mayMatch(p.FeedEntry) {
			locations = append(locations, p)
		}
	}
	return locations, more, nil
}

// openLanes prepares the lanes.
func (w *walker) openLanes(rd projections.Reader) error {
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

// nextLocation returns the next place of both logs.
func (w *walker) nextLocation(rd projections.Reader) (p location, ok bool, err error) {
	for _, l := range w.lanes {
		if err := l.fill(rd); err != nil {
			return p, false, err
		}
	}
	l, other := w.lanes[0], w.lanes[1]
	if l.empty() || !other.empty() && w.comesAfter(l.head(), other.head()) {
		l, other = other, l
	}
	if l.empty() {
		return p, false, nil
	}
	p = location{FeedEntry: l.pop(), workspaceID: w.r.WorkspaceID, log: l.log}
	p.at, err = w.position(rd, p, other)
	return p, err == nil, err
}

// comesAfter reports whether a fact comes after an activity event in the order of the
// walk. Of the same instant the fact is the earlier one.
func (w *walker) comesAfter(fact, act projections.FeedEntry) bool {
	if w.r.Descending {
		return !fact.At.After(act.At)
	}
	return fact.At.After(act.At)
}

// position returns how far a reader has come with an event: what the other log has
// before it is known from the lane beside when that shows all.
func (w *walker) position(rd projections.Reader, p location, other *lane) (domain.Position, error) {
	beside, known := other.lastBefore(w.r.Descending)
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

// mayMatch reports whether an event may match, as far as the index knows.
func (w *walker) mayMatch(e projections.FeedEntry) bool {
	f := w.r.Filter
	if f == nil {
		return true
	}
	if len(f.Types) > 0 && !slices.ContainsFunc(f.Types, func(p string) bool { return like(p, e.Type) }) {
		return false
	}
	return (f.Depth == 0 || e.Depth < f.Depth) && f.May(e.Signature)
}

// indexLists returns selections of the index that hold all that matches; none: everything must
// be looked at.
func (w *walker) indexLists() []projections.FeedSelection {
	f := w.r.Filter
	if f == nil {
		return nil
	}
	for _, known := range indexedPaths {
		for _, p := range f.Paths {
			if p.Path == known.path && areExact(p.Any) {
				return selections(known.list, p.Any)
			}
		}
	}
	if len(f.Types) > 0 && areExact(f.Types) {
		return selections(projections.ByType, f.Types)
	}
	return nil
}

// indexedPaths are the paths by which the index selects events, those with the fewest events first.
var indexedPaths = []struct {
	path string
	list projections.FeedList
}{
	{"source.correlationId", projections.ByCorrelation},
	{"source.userId", projections.ByUser},
	{"source.automationSlug", projections.ByAutomation},
}

// maxLists is how many selections are merged rather than everything read.
const maxLists = 8

// areExact reports whether all texts stand for themselves, and events can be selected by
// them.
func areExact(texts []string) bool {
	return len(texts) <= maxLists && !slices.ContainsFunc(texts, func(s string) bool { return s == "" || strings.Contains(s, "*") })
}

func selections(list projections.FeedList, texts []string) []projections.FeedSelection {
	var all []projections.FeedSelection
	for _, text := range slices.Compact(slices.Sorted(slices.Values(texts))) {
		all = append(all, projections.FeedSelection{List: list, Text: text})
	}
	return all
}

// lane goes through the entries of one log, of one workspace.
type lane struct {
	log         domain.Log
	workspaceID string
	down        bool
	low, high   uint64 // the sequences of the range, both included
	lists       []*indexList
	whole       bool // nothing is left out: the one list is of everything
	last        uint64
	passed      bool   // last is of an entry that was taken
	before      uint64 // upwards: the entry before the first
}

// indexList is the events of one selection of the index, read in pieces.
type indexList struct {
	among projections.FeedSelection
	next  uint64 // where the next piece begins
	ended bool
	queue []projections.FeedEntry
}

// lane returns the entries of a log that the walk goes through.
func (w *walker) lane(rd projections.Reader, log domain.Log) (*lane, error) {
	l := &lane{log: log, workspaceID: w.r.WorkspaceID, down: w.r.Descending, low: nextSeq(w.r.After.Of(log)), high: ^uint64(0)}
	if w.r.Until != nil {
		l.high = w.r.Until.Of(log)
	}
	if err := l.limitToTimes(rd, w.r.Filter); err != nil {
		return nil, err
	}
	among := w.indexLists()
	if l.whole = among == nil; l.whole {
		among = []projections.FeedSelection{{}}
	}
	for _, a := range among {
		begin := l.low
		if l.down {
			begin = l.high
		}
		l.lists = append(l.lists, &indexList{among: a, next: begin, ended: l.low > l.high})
	}
	if l.whole && !l.down {
		var err error
		l.before, err = projections.FeedOf(log).Last(rd, l.workspaceID, l.low-1)
		return l, err
	}
	return l, nil
}

// nextSeq is the sequence after one. Nothing follows the last that there can be,
// which only somebody names who made a position up.
func nextSeq(seq uint64) uint64 { return max(seq, seq+1) }

// limitToTimes narrows the range to the times that are asked for.
func (l *lane) limitToTimes(rd projections.Reader, f *Filter) error {
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

// nextList returns the list with the next entry; nil when there is none.
func (l *lane) nextList() *indexList {
	var first *indexList
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

func (l *lane) empty() bool { return l.nextList() == nil }

func (l *lane) head() projections.FeedEntry { return l.nextList().queue[0] }

// pop returns the next entry and goes behind it.
func (l *lane) pop() projections.FeedEntry {
	list := l.nextList()
	e := list.queue[0]
	list.queue = list.queue[1:]
	l.last, l.passed = e.Seq, true
	return e
}

// lastBefore returns the entry that precedes, in time, what is taken from the other lane;
// known is false when that cannot be told from here.
func (l *lane) lastBefore(down bool) (seq uint64, known bool) {
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

// logReader goes through one log as it is, for a walk over all workspaces.
type logReader struct {
	log       domain.Log
	low, next uint64 // what is left: upwards from next to high, downwards from next to low
	high      uint64
	ended     bool
	queue     []location
	size      int // how many messages are read at once
}

// needsRead reports whether a reel must be read further before it tells what is next.
func (r *logReader) needsRead() bool { return len(r.queue) == 0 && !r.ended }

// nextOfAll is next for a walk over all workspaces: it reads the logs themselves, one
// piece of each at a time, so that whoever waits hears in between.
func (w *walker) nextOfAll(ctx context.Context, size int) (locations []location, more bool, err error) {
	if w.logs == nil {
		if err := w.openLogs(ctx); err != nil {
			return nil, false, err
		}
	}
	for len(locations) < size {
		for _, r := range w.logs {
			if r.needsRead() && len(locations) > 0 {
				return locations, true, nil
			}
			if err := w.readMore(ctx, r); err != nil {
				return nil, false, err
			}
			if r.needsRead() {
				return nil, true, nil
			}
		}
		r, other := w.logs[0], w.logs[1]
		if len(r.queue) == 0 || len(other.queue) > 0 && w.comesAfter(r.queue[0].FeedEntry, other.queue[0].FeedEntry) {
			r = other
		}
		if len(r.queue) == 0 {
			return locations, false, nil
		}
		locations = append(locations, r.queue[0])
		r.queue = r.queue[1:]
	}
	return locations, true, nil
}

func (w *walker) openLogs(ctx context.Context) error {
	for _, log := range domain.Logs() {
		info, err := w.feed.store.Info(ctx, log)
		if err != nil {
			return err
		}
		r := &logReader{log: log, size: firstReadSize, low: max(nextSeq(w.r.After.Of(log)), info.First), high: info.Last}
		if w.r.Until != nil {
			r.high = min(r.high, w.r.Until.Of(log))
		}
		if err := r.limitToTimes(ctx, w.feed.store, w.r.Filter); err != nil {
			return err
		}
		r.next, r.ended = r.low, r.low > r.high
		if w.r.Descending {
			r.next = r.high
		}
		w.logs = append(w.logs, r)
	}
	return nil
}

// limitToTimes narrows the range to the times that are asked for.
func (r *logReader) limitToTimes(ctx context.Context, store Store, f *Filter) error {
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

// readMore reads a piece further when a reel has run out.
func (w *walker) readMore(ctx context.Context, r *logReader) error {
	if !r.needsRead() {
		return nil
	}
	to := r.high
	if w.r.Descending {
		to = r.low
	}
	events, next, more, err := w.feed.store.Scan(ctx, r.log, r.next, to, r.size)
	if err != nil {
		return err
	}
	r.next, r.ended = next, !more
	bytes := 0
	for _, ev := range events {
		bytes += ev.Size
	}
	r.size = readSize(len(events), bytes)
	rd := w.feed.models.Reader()
	defer rd.Close()
	l := locator{rd: rd, log: r.log}
	for i := range events {
		p, ok, err := l.locate(&events[i], w.mayMatch)
		if err != nil {
			return err
		}
		if ok {
			r.queue = append(r.queue, p)
		}
	}
	return nil
}

// locator finds events of one log in the feeds of their workspaces. It reads the index once for the events of a
// group, which follow each other and have the same time.
type locator struct {
	rd  projections.Reader
	log domain.Log

	workspaceID string
	group       uint64
	entries     []projections.FeedEntry // of the group
	beside      *domain.Position        // what the other log has before them; nil: not looked for yet
}

// locate returns where an event that was read is in the feed of its workspace; ok is
// false when it is not there, or cannot match.
func (l *locator) locate(ev *domain.Recorded, mayMatch func(projections.FeedEntry) bool) (p location, ok bool, err error) {
	if l.workspaceID != ev.Stream.Scope || l.group != ev.Group {
		l.workspaceID, l.group, l.beside = ev.Stream.Scope, ev.Group, nil
		if l.entries, err = projections.FeedOf(l.log).Group(l.rd, l.workspaceID, l.group); err != nil {
			return p, false, err
		}
	}
	e, ok := projections.EntryAt(l.entries, ev.Seq)
	if !ok || !mayMatch(e) {
		return p, false, nil
	}
	if l.beside == nil {
		at, err := positionOf(l.rd, l.workspaceID, l.log, e)
		if err != nil {
			return p, false, err
		}
		other := otherOf(l.log)
		beside := domain.At(other, at.Of(other))
		l.beside = &beside
	}
	return location{FeedEntry: e, workspaceID: l.workspaceID, log: l.log, event: ev, at: domain.At(l.log, e.Seq).Max(*l.beside)}, true, nil
}
