package webhooks

import (
	"container/heap"
	"strings"
	"time"

	"svc/domain/feed"
	"svc/domain/subscription"
	"svc/streams"
)

// entry is a delivery that is not over.
type entry struct {
	subscription.Delivery
	correlationID string
	event         *feed.Event   // nil: it is read when its turn comes
	lane          *lane         // nil: it has none
	mark          *streams.Mark // its place in the feed, which waits until it is recorded; nil: it is
	due           time.Time
	at            int // in the fronts; -1: it is under way, or behind another
}

// lane holds deliveries that go one after another.
type lane struct{ entries []*entry }

// queue holds the deliveries of a subscription that are not over. It is guarded by
// its worker.
type queue struct {
	open   map[string]*entry // by id
	lanes  map[string]*lane
	fronts fronts
	fresh  int // those that are not recorded: their events are held in memory
	bytes  int // of those events, about
}

func newQueue() *queue { return &queue{open: map[string]*entry{}, lanes: map[string]*lane{}} }

// add puts an entry in line.
func (q *queue) add(e *entry) {
	q.open[e.ID] = e
	e.at = -1
	if e.event != nil {
		q.fresh++
		q.bytes += weight(e.event)
	}
	if e.Lane != "" {
		if e.lane = q.lanes[e.Lane]; e.lane == nil {
			e.lane = &lane{}
			q.lanes[e.Lane] = e.lane
		}
		if e.lane.entries = append(e.lane.entries, e); len(e.lane.entries) > 1 {
			return
		}
	}
	heap.Push(&q.fronts, e)
}

// front returns the entry that is due first, or nil.
func (q *queue) front() *entry {
	if len(q.fronts) == 0 {
		return nil
	}
	return q.fronts[0]
}

// begin takes the first entry out of line: it is under way.
func (q *queue) begin() *entry { return heap.Pop(&q.fronts).(*entry) }

// again puts an entry that was under way back in line.
func (q *queue) again(e *entry, due time.Time) {
	if e.due = due; e.at < 0 {
		heap.Push(&q.fronts, e)
	} else {
		heap.Fix(&q.fronts, e.at)
	}
}

// over removes an entry that was under way; the next of its lane takes its turn.
func (q *queue) over(e *entry) {
	delete(q.open, e.ID)
	q.recorded(e)
	if e.lane == nil {
		return
	}
	e.lane.entries = e.lane.entries[1:]
	if len(e.lane.entries) == 0 {
		delete(q.lanes, e.Lane)
		return
	}
	heap.Push(&q.fronts, e.lane.entries[0])
}

// recorded notes that an entry is known from the log: its event need not be held.
func (q *queue) recorded(e *entry) {
	if e.event != nil {
		q.fresh--
		q.bytes -= weight(e.event)
		e.event = nil
	}
}

// weight is what an event takes in memory, about: it is decoded and encoded too.
func weight(e *feed.Event) int { return 1<<10 + 3*len(e.Payload) }

// fresh returns the entries of a lane that are not recorded, in their order.
func (l *lane) fresh() (list []*entry) {
	for _, e := range l.entries {
		if e.event != nil {
			list = append(list, e)
		}
	}
	return list
}

// fronts are the entries that wait for nothing but their time, the first due first.
type fronts []*entry

func (f fronts) Len() int { return len(f) }
func (f fronts) Less(i, j int) bool {
	if !f[i].due.Equal(f[j].due) {
		return f[i].due.Before(f[j].due)
	}
	return strings.Compare(f[i].Place, f[j].Place) < 0
}
func (f fronts) Swap(i, j int) {
	f[i], f[j] = f[j], f[i]
	f[i].at, f[j].at = i, j
}

// Push implements heap.Interface.
func (f *fronts) Push(x any) {
	e := x.(*entry)
	e.at = len(*f)
	*f = append(*f, e)
}

// Pop implements heap.Interface.
func (f *fronts) Pop() any {
	last := len(*f) - 1
	e := (*f)[last]
	(*f)[last], e.at = nil, -1
	*f = (*f)[:last]
	return e
}
