package webhooks

import (
	"time"

	"svc/domain"
)

// ledger knows up to where in the feed everything is taken care of, although it is
// not taken care of in order.
type ledger struct {
	at    domain.Position
	marks []*mark // in the order of the feed
	saved time.Time
	dirty bool // at was not saved
	moved bool // because of a delivery
}

// mark is a place in the feed.
type mark struct {
	at      domain.Position
	settled bool
	counts  bool // it is of a delivery
}

// put adds a place behind all others.
func (l *ledger) put(m *mark) {
	l.marks = append(l.marks, m)
	l.advance()
}

// settle notes that what is at a place is taken care of.
func (l *ledger) settle(m *mark) {
	m.settled = true
	l.advance()
}

func (l *ledger) advance() {
	n := 0
	for ; n < len(l.marks) && l.marks[n].settled; n++ {
		l.at = l.at.Max(l.marks[n].at)
		l.dirty, l.moved = true, l.moved || l.marks[n].counts
	}
	clear(l.marks[:n])
	l.marks = l.marks[n:]
}

// idleSave is how often a place is saved that moved without a delivery: what lies
// between is only looked at again.
const idleSave = 5 * time.Second

// unsaved returns the place when it is time to save it.
func (l *ledger) unsaved(now time.Time, ending bool) (domain.Position, bool) {
	if !l.dirty || !l.moved && !ending && now.Sub(l.saved) < idleSave {
		return l.at, false
	}
	l.dirty, l.moved, l.saved = false, false, now
	return l.at, true
}
