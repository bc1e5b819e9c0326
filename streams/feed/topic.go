package feed

import "svc/domain"

// item is an event on its way to live readers.
type item struct {
	event *Event
	at    domain.Position // up to and with it, of all workspaces
}

// Bounds of what a topic holds for readers that are not quite up to date.
const (
	topicEvents = 8192
	topicBytes  = 16 << 20
)

// topic holds the last live events of one workspace, or of all. Its readers come and
// take what is new to them. It is guarded by the hub's mutex.
type topic struct {
	readers int
	items   []item
	first   uint64 // the number of items[0]
	bytes   int
	changed chan struct{} // closed and replaced when something was added
	touched bool          // since the last flush
}

func (t *topic) next() uint64 { return t.first + uint64(len(t.items)) }

// toLogged names the topic of all workspaces for those who need no more of events than
// the log has.
const toLogged = "\x00logged"

// topicOf names the topic of a workspace, or of all.
func topicOf(workspaceID string, need Need) string {
	if workspaceID == "" && need != Whole {
		return toLogged
	}
	return workspaceID
}

// topics are those that an event of a workspace goes to; nil where there is none.
type topics struct{ own, all, logged *topic }

// topicsOf returns the topics of an event. The caller holds the mutex.
func (h *hub) topicsOf(workspaceID string) topics {
	return topics{h.topics[workspaceID], h.topics[""], h.topics[toLogged]}
}

func (t topics) none() bool { return t == topics{} }

// need is how much of an event the readers of all of them need.
func (t topics) need() Need {
	if t.own == nil && t.all == nil {
		return Logged
	}
	return Whole
}

func (t topics) each() (some []*topic) {
	for _, one := range []*topic{t.own, t.all, t.logged} {
		if one != nil {
			some = append(some, one)
		}
	}
	return some
}

// put adds an item to topics. The caller holds the mutex.
func (h *hub) put(to topics, it item) {
	for _, t := range to.each() {
		t.put(it)
	}
}

func (t *topic) put(it item) {
	t.items = append(t.items, it)
	t.bytes += it.weight()
	t.touched = true
	drop := 0
	for ; len(t.items)-drop > topicEvents || t.bytes > topicBytes && drop < len(t.items)-1; drop++ {
		t.bytes -= t.items[drop].weight()
	}
	t.first += uint64(drop)
	t.items = t.items[drop:] // what was dropped is let go when append makes room again
}

// itemOverhead is what an event weighs besides its texts, about.
const itemOverhead = 512

// weight is what an item weighs, about. Who caused an event, and whom it is for, are texts
// of others' choice.
func (it item) weight() int {
	e := it.event
	bytes := len(e.Payload) + len(e.Source.SessionID) + len(e.Source.UserID) + itemOverhead
	if e.Target != nil {
		bytes += len(e.Target.UserID) + len(e.Target.SessionID) + len(e.Target.UserTopic)
	}
	return bytes
}

// breakOff makes every reader of the topic begin again from the index.
func (t *topic) breakOff() {
	t.first = t.next() + 1
	t.items, t.bytes = nil, 0
	t.touched = true
}

// flush wakes the readers of the topics that have something new.
func (h *hub) flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		if t.touched {
			t.touched = false
			close(t.changed)
			t.changed = make(chan struct{})
		}
	}
}

// join returns the topic of a workspace, where the next event will be, and the
// position up to which events are of the past.
func (h *hub) join(name string) (t *topic, next uint64, at domain.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t = h.topics[name]
	if t == nil {
		t = &topic{first: 1, changed: make(chan struct{})}
		h.topics[name] = t
	}
	t.readers++
	return t, t.next(), h.at()
}

func (h *hub) leave(name string, t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.readers--; t.readers == 0 && h.topics[name] == t {
		delete(h.topics, name)
	}
}

// since returns what a reader has not seen from a number on, and a channel that is
// closed when there is more; lost is true when some of it is gone already.
func (h *hub) since(t *topic, from uint64) (items []item, more <-chan struct{}, lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if from < t.first {
		return nil, nil, true
	}
	return t.items[from-t.first : len(t.items) : len(t.items)], t.changed, false
}
