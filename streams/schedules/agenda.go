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
	since       time.Time // when it was saved: it does not fire for times before
	next        time.Time
	index       int // in the agenda
}

// never is when something fires that does not.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// after returns when the schedule fires first after a time.
func (e *entry) after(t time.Time, zone *time.Location) time.Time {
	if t.Before(e.since) {
		t = e.since
	}
	if next, ok := e.times.Next(t, zone); ok {
		return next
	}
	return never
}

// last returns the last time of the schedule up to now, which is no earlier than next.
// Those before it are passed over: what was missed is made up for once. It looks back
// further and further, so that a long absence takes no longer than a short one.
func (e *entry) last(now time.Time, zone *time.Location) time.Time {
	for back := time.Minute; ; back *= 2 {
		from := now.Add(-back)
		if from.Before(e.next) {
			from = e.next
		}
		at := e.next
		if from.After(at) {
			at = e.after(from, zone)
		}
		if at.After(now) {
			continue // nothing is that near
		}
		for {
			later := e.after(at, zone)
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

// rearrange reckons anew when everything fires after a time.
func (a *agenda) rearrange(t time.Time, zone *time.Location) {
	for _, e := range *a {
		e.next = e.after(t, zone)
	}
	heap.Init(a)
}
