package streams

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"svc/domain"
	"svc/eventstore"
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

// Shares is into how many shares workspaces are divided when there are several nodes. One
// that is alone has all of them as one.
const Shares = 16

// ShareKey is where it is kept how far one of so many shares was looked after.
func ShareKey(shares, number int) string { return fmt.Sprintf("share/%d/%d", shares, number) }

// place is how far shares were looked after: what is up to it is taken care of.
type place[T any] interface {
	Min(other T) T // as far as both
	Max(other T) T // as far as one of them
}

// Cursors keeps how far shares were looked after. It is a *jetstream.Bucket.
type Cursors interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
}

// Left finds out how far a share was looked after, if it ever was, and whether that is kept
// for this share itself. Who was alone before, or is not any more, has divided workspaces
// otherwise. What all shares of the other division have behind them is taken care of in
// this one too: so it is as far as either says.
func Left[T place[T]](ctx context.Context, c Cursors, shares, number int, read func([]byte) (T, error)) (at T, ever, kept bool, err error) {
	at, kept, err = leftAt(ctx, c, ShareKey(shares, number), read)
	if err != nil {
		return at, false, false, err
	}
	division := Shares
	if shares == Shares {
		division = 1
	}
	other, some, all, err := leftByAll(ctx, c, division, read)
	switch {
	case err != nil:
		return at, false, false, err
	case !kept:
		return other, some, false, nil
	case all:
		at = at.Max(other)
	}
	return at, true, true, nil
}

// leftByAll finds out how far each share of a division was looked after of those that ever
// were, and whether that is some of them, or all.
func leftByAll[T place[T]](ctx context.Context, c Cursors, shares int, read func([]byte) (T, error)) (at T, some, all bool, err error) {
	all = true
	for number := range shares {
		one, ok, err := leftAt(ctx, c, ShareKey(shares, number), read)
		switch {
		case err != nil:
			return at, false, false, err
		case !ok:
			all = false
		case some:
			at = at.Min(one)
		default:
			at, some = one, true
		}
	}
	return at, some, all, nil
}

func leftAt[T any](ctx context.Context, c Cursors, key string, read func([]byte) (T, error)) (at T, ok bool, err error) {
	value, _, err := c.Get(ctx, key)
	if errors.Is(err, eventstore.ErrNoKey) {
		return at, false, nil
	}
	if err == nil {
		at, err = read(value)
	}
	return at, err == nil, err
}

// Share is the one of so many shares that a name belongs to.
func Share(name string, shares int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return int(h.Sum32() % uint32(shares))
}
