package streams

import (
	"slices"
	"time"

	"svc/domain"
)

// Ledger knows up to where in the feed everything is taken care of, although it is
// not taken care of in order. It is guarded by whoever has it.
type Ledger struct {
	At    domain.Position
	marks []*Mark // in the order of the feed; the first is not settled, and no two settled ones follow each other
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

// Put adds a place behind all others. It is the ledger's from then on.
func (l *Ledger) Put(m *Mark) {
	if n := len(l.marks); m.Settled && n > 0 && l.marks[n-1].Settled {
		l.marks[n-1] = both(l.marks[n-1], m)
		return
	}
	l.marks = append(l.marks, m)
	l.advance()
}

// both is one place for two settled ones that follow each other.
func both(first, second *Mark) *Mark {
	return &Mark{At: first.At.Max(second.At), Settled: true, Counts: first.Counts || second.Counts}
}

// Settle notes that what is at a place is taken care of.
func (l *Ledger) Settle(m *Mark) {
	m.Settled = true
	i := slices.Index(l.marks, m)
	if i < 0 {
		return
	}
	if next := i + 1; next < len(l.marks) && l.marks[next].Settled {
		l.marks[i] = both(l.marks[i], l.marks[next])
		l.marks = slices.Delete(l.marks, next, next+1)
	}
	if i > 0 && l.marks[i-1].Settled {
		l.marks[i-1] = both(l.marks[i-1], l.marks[i])
		l.marks = slices.Delete(l.marks, i, i+1)
	}
	l.advance()
}

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
