package schedules

import (
	"container/heap"
	"time"

	"svc/domain/automation/cron"
)

// entry is a schedule of an automation, and when it fires next.
type entry struct {
	workspaceID string
	automation  string // its name in the workspace
	times       *cron.Schedule
	since       time.Time // when it was saved: earlier times do not fire
	next        time.Time
	index       int // in the agenda
}

// farFuture is the next time of a schedule that never fires.
var farFuture = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// nextAfter returns the first time of the schedule after t.
func (e *entry) nextAfter(t time.Time, zone *time.Location) time.Time {
	if t.Before(e.since) {
		t = e.since
	}
	if next, ok := e.times.Next(t, zone); ok {
		return next
	}
	return farFuture
}

// lastDue returns the last time of the schedule up to now, not before next. Earlier missed times are skipped. It
// doubles how far it looks back, so that a long downtime takes no longer than a short one.
func (e *entry) lastDue(now time.Time, zone *time.Location) time.Time {
	for back := time.Minute; ; back *= 2 {
		from := now.Add(-back)
		if from.Before(e.next) {
			from = e.next
		}
		at := e.next
		if from.After(at) {
			at = e.nextAfter(from, zone)
		}
		if at.After(now) {
			continue // no time in this span
		}
		for {
			later := e.nextAfter(at, zone)
			if later.After(now) {
				return at
			}
			at = later
		}
	}
}

// agenda is a heap of entries, the one that fires next on top.
type agenda []*entry

// Len implements heap.Interface.
func (a agenda) Len() int { return len(a) }

// Less implements heap.Interface.
func (a agenda) Less(i, j int) bool { return a[i].next.Before(a[j].next) }

// Swap implements heap.Interface.
func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].index, a[j].index = i, j
}

// Push implements heap.Interface.
func (a *agenda) Push(x any) {
	e, _ := x.(*entry)
	e.index = len(*a)
	*a = append(*a, e)
}

// Pop implements heap.Interface.
func (a *agenda) Pop() any {
	list := *a
	e := list[len(list)-1]
	list[len(list)-1] = nil
	*a = list[:len(list)-1]
	return e
}

func (a *agenda) add(e *entry)    { heap.Push(a, e) }
func (a *agenda) remove(e *entry) { heap.Remove(a, e.index) }

// reschedule computes the next times of all entries after t.
func (a *agenda) reschedule(t time.Time, zone *time.Location) {
	for _, e := range *a {
		e.next = e.nextAfter(t, zone)
	}
	heap.Init(a)
}
