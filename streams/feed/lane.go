package feed

import (
	"svc/domain"
	"svc/projections"
)

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
