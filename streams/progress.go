package streams

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/eventstore"
)

// ProgressTracker knows the position in the feed up to which everything is processed, although events are not
// processed in order. Its owner guards it with a lock.
type ProgressTracker struct {
	At domain.Position
	// Moved, when set, gets a token when At is to be saved. It has a buffer of one.
	Moved chan struct{}

	marks []*ProgressMark // in the order of the feed; the first is not done, and no two neighbours are done
	saved time.Time
	dirty bool // At is not saved
	moved bool // because of a mark with effects
}

// ProgressMark is a position in the feed.
type ProgressMark struct {
	At         domain.Position
	Done       bool
	HasEffects bool // the event there started something
}

// Add adds a mark after all others. The tracker owns it from then on.
func (l *ProgressTracker) Add(m *ProgressMark) {
	if n := len(l.marks); m.Done && n > 0 && l.marks[n-1].Done {
		l.marks[n-1] = mergeMarks(l.marks[n-1], m)
		return
	}
	l.marks = append(l.marks, m)
	l.advance()
}

// mergeMarks returns one mark for two neighbours that are done.
func mergeMarks(first, second *ProgressMark) *ProgressMark {
	return &ProgressMark{At: first.At.Max(second.At), Done: true, HasEffects: first.HasEffects || second.HasEffects}
}

// MarkDone records that the events of marks are processed.
func (l *ProgressTracker) MarkDone(marks ...*ProgressMark) {
	for _, m := range marks {
		m.Done = true
	}
	l.advance()
	for _, m := range marks {
		if l.At.Max(m.At) != l.At { // most are behind the position now
			l.merge(m)
		}
	}
}

// merge merges a mark that is done with its neighbours that are.
func (l *ProgressTracker) merge(m *ProgressMark) {
	i := slices.Index(l.marks, m)
	if i < 0 {
		return
	}
	if next := i + 1; next < len(l.marks) && l.marks[next].Done {
		l.marks[i] = mergeMarks(l.marks[i], l.marks[next])
		l.marks = slices.Delete(l.marks, next, next+1)
	}
	if i > 0 && l.marks[i-1].Done {
		l.marks[i-1] = mergeMarks(l.marks[i-1], l.marks[i])
		l.marks = slices.Delete(l.marks, i, i+1)
	}
}

func (l *ProgressTracker) advance() {
	n := 0
	for ; n < len(l.marks) && l.marks[n].Done; n++ {
		l.At = l.At.Max(l.marks[n].At)
		l.dirty, l.moved = true, l.moved || l.marks[n].HasEffects
	}
	clear(l.marks[:n])
	l.marks = l.marks[n:]
	if n > 0 {
		Notify(l.Moved)
	}
}

// Notify notifies the reader of a channel with a buffer of one.
func Notify(ready chan<- struct{}) {
	select {
	case ready <- struct{}{}:
	default:
	}
}

// idleSaveInterval is how often a position is saved that moved without effects. After a crash the events since then
// are only read again.
const idleSaveInterval = 5 * time.Second

// TakeUnsaved returns the position when it should be saved now.
func (l *ProgressTracker) TakeUnsaved(now time.Time, ending bool) (domain.Position, bool) {
	if !l.dirty || !l.moved && !ending && now.Sub(l.saved) < idleSaveInterval {
		return l.At, false
	}
	l.dirty, l.moved, l.saved = false, false, now
	return l.At, true
}

// MarkUnsaved records that the position could not be saved.
func (l *ProgressTracker) MarkUnsaved() { l.dirty, l.moved = true, true }

// IsUnsaved reports whether the position is not saved.
func (l *ProgressTracker) IsUnsaved() bool { return l.dirty }

// SaveProgress calls save an interval after each token of moved, and again as long as it reports that something is
// unsaved, until ctx ends. While nothing moves it does nothing.
func SaveProgress(ctx context.Context, moved <-chan struct{}, interval time.Duration, save func() (unsaved bool)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-moved:
		}
		for unsaved := true; unsaved; unsaved = save() {
			if commands.Sleep(ctx, interval) != nil {
				return
			}
		}
	}
}

// Partitions is the number of partitions of workspaces when there are several nodes. A single node has one partition.
const Partitions = 16

// PartitionKey is the key of the cursor of a partition, of so many partitions.
func PartitionKey(shares, number int) string { return fmt.Sprintf("share/%d/%d", shares, number) }

// position is how far a partition was processed.
type position[T any] interface {
	Min(other T) T // the earlier one
	Max(other T) T // the later one
}

// LoadCursor returns how far a partition was processed, if it ever was, and whether a cursor of this very partition
// is stored. A node that was alone before, or is not alone any more, used another number of partitions. What all of
// those have processed is processed here too, so the later position counts.
func LoadCursor[T position[T]](ctx context.Context, c eventstore.Bucket, shares, number int, read func([]byte) (T, error)) (at T, ever, found bool, err error) {
	at, found, err = readCursor(ctx, c, PartitionKey(shares, number), read)
	if err != nil {
		return at, false, false, err
	}
	division := Partitions
	if shares == Partitions {
		division = 1
	}
	other, some, all, err := loadAllCursors(ctx, c, division, read)
	switch {
	case err != nil:
		return at, false, false, err
	case !found:
		return other, some, false, nil
	case all:
		at = at.Max(other)
	}
	return at, true, true, nil
}

// loadAllCursors returns how far all stored cursors of so many partitions are, and whether some or all partitions
// have one.
func loadAllCursors[T position[T]](ctx context.Context, c eventstore.Bucket, shares int, read func([]byte) (T, error)) (at T, some, all bool, err error) {
	all = true
	for number := range shares {
		one, ok, err := readCursor(ctx, c, PartitionKey(shares, number), read)
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

func readCursor[T any](ctx context.Context, c eventstore.Bucket, key string, read func([]byte) (T, error)) (at T, ok bool, err error) {
	value, _, err := c.Get(ctx, key)
	if errors.Is(err, eventstore.ErrNoKey) {
		return at, false, nil
	}
	if err == nil {
		at, err = read(value)
	}
	return at, err == nil, err
}

// PartitionOf returns the partition of a name, of so many partitions.
func PartitionOf(name string, shares int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return int(h.Sum32() % uint32(shares))
}
