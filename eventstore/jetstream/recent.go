package jetstream

import (
	"slices"
	"sync"

	"svc/domain"
)

// Bounds of the events that are remembered.
const (
	recentMessages = 64
	recentBytes    = 4 << 20
)

// recentEvents are the events of the last messages of ACTIVITY: the read models follow them at the moment at which those
// who appended them ask what was stored, and a message is decoded by one of them.
type recentEvents struct {
	mu       sync.Mutex
	messages map[uint64]recentMessage // by the sequence of the message
	order    []uint64
	size     int
}

type recentMessage struct {
	events []domain.Recorded
	size   int
}

// decodeRecent decodes a message at the end of a log.
func (l *Log) decodeRecent(log domain.Log, m storedMessage) ([]domain.Recorded, error) {
	if log != domain.Activity || !l.conn.Alone() {
		return l.decode(log, m)
	}
	if known := l.recent.get(m.seq); known != nil {
		return slices.Clone(known), nil
	}
	events, err := l.decode(log, m)
	if _, _, batchSize := m.batchPosition(); err == nil && batchSize == 0 { // of those it is not known yet whether they count
		l.recent.put(m.seq, len(m.data), events)
	}
	return events, err
}

// put remembers the events of a message.
func (r *recentEvents) put(message uint64, size int, events []domain.Recorded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.messages[message]; known {
		return
	}
	for len(r.order) > 0 && (len(r.order) == recentMessages || r.size+size > recentBytes) {
		r.size -= r.messages[r.order[0]].size
		delete(r.messages, r.order[0])
		r.order = r.order[1:]
	}
	if r.messages == nil {
		r.messages = map[uint64]recentMessage{}
	}
	r.messages[message] = recentMessage{slices.Clone(events), size}
	r.order, r.size = append(r.order, message), r.size+size
}

// get returns the events of a message; nil when they are not remembered. They must not be changed.
func (r *recentEvents) get(message uint64) []domain.Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages[message].events
}

// forget forgets everything: what was purged must not be read any more.
func (r *recentEvents) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages, r.order, r.size = nil, nil, 0
}
