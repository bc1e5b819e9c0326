package streams

import (
	"time"

	"svc/domain"
)

// Ledger knows up to where in the feed everything is taken care of, although it is
// not taken care of in order. It is guarded by whoever has it.
type Ledger struct {
	At    domain.Position
	marks []*Mark // in the order of the feed
	saved time.Time
	dirty bool // At was not saved
	moved bool // because of something that counts
}

// Mark is a place in the feed.
type Mark struct {
	At      domain.Position
	Settled bool
	Counts  bool // something was done because of what is there
}

// Put adds a place behind all others.
func (l *Ledger) Put(m *Mark) {
	l.marks = append(l.marks, m)
	l.advance()
}

// Settle notes that what is at a place is taken care of.
func (l *Ledger) Settle(m *Mark) {
	m.Settled = true
	l.advance()
}

// Open is how many places are not behind At.
func (l *Ledger) Open() int { return len(l.marks) }

func (l *Ledger) advance() {
	n := 0
	for ; n < len(l.marks) && l.marks[n].Settled; n++ {
		l.At = l.At.Max(l.marks[n].At)
		l.dirty, l.moved = true, l.moved || l.marks[n].Counts
	}
	clear(l.marks[:n])
	l.marks = l.marks[n:]
}

// idleSave is how often a place is saved that moved without anything that counts: what
// lies between is only looked at again.
const idleSave = 5 * time.Second

// Unsaved returns the place when it is time to save it.
func (l *Ledger) Unsaved(now time.Time, ending bool) (domain.Position, bool) {
	if !l.dirty || !l.moved && !ending && now.Sub(l.saved) < idleSave {
		return l.At, false
	}
	l.dirty, l.moved, l.saved = false, false, now
	return l.At, true
}

// Again says that the place could not be saved.
func (l *Ledger) Again() { l.dirty, l.moved = true, true }
