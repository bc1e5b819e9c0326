package runtime

import (
	"sync"

	"svc/domain/automation/value"
	"svc/domain/feed"
)

// eventCache holds the last events that waits looked into: an event that many wait for is
// read once.
type eventCache [16]struct {
	sync.Mutex
	event *feed.Event
	value any
	err   error
}

// parse returns an event as automations see it. Nobody may change it.
func (p *eventCache) parse(e *feed.Event) (any, error) {
	last := 0
	if n := len(e.ID); n > 0 {
		last = int(e.ID[n-1])
	}
	slot := &p[last%len(p)]
	slot.Lock()
	defer slot.Unlock()
	if slot.event != e {
		slot.event = e
		slot.value, slot.err = value.ParseJSON(string(e.JSON()))
	}
	return slot.value, slot.err
}
