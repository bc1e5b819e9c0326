package feed

import (
	"context"
	"sync"
	"time"

	"svc/domain"
	"svc/projections"
)

// hub passes live events on to topics, in the order of the feed. There is one for
// each node, however many readers it has.
type hub struct {
	feed *Feed
	wake chan struct{} // something was told

	mu     sync.Mutex
	queued [2][]domain.Recorded // told, and not passed on; by log
	told   [2]uint64
	passed [2]uint64
	moved  chan struct{} // closed and replaced when told moves
	topics map[string]*topic
	missed bool // events that did not pass: latest is not right any more

	// latest are the last sequences of workspaces in each log. Only run uses them.
	latest map[string][2]uint64
}

// The rhythm of the hub.
const (
	hubPause = time.Millisecond       // between two rounds, so that what comes together goes together
	hubWait  = 250 * time.Millisecond // for the other log, which may be slower
)

// hubQueue is how many events may wait to be passed on.
const hubQueue = 50_000

// hubPlaces is of how many workspaces the hub knows where they are.
const hubPlaces = 10_000

func newHub(f *Feed) *hub {
	return &hub{feed: f, wake: make(chan struct{}, 1), moved: make(chan struct{}), topics: map[string]*topic{}, latest: map[string][2]uint64{}}
}

func indexOf(log domain.Log) int {
	if log == domain.State {
		return 0
	}
	return 1
}

// begin notes that what is up to a position is of the past.
func (h *hub) begin(at domain.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, log := range domain.Logs() {
		h.told[i], h.passed[i] = max(h.told[i], at.Of(log)), max(h.passed[i], at.Of(log))
	}
}

func (h *hub) position() domain.Position {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at()
}

func (h *hub) at() domain.Position { return domain.Position{State: h.passed[0], Activity: h.passed[1]} }

// tell is the Tap of the read models.
func (h *hub) tell(log domain.Log, events []domain.Recorded) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := indexOf(log)
	for len(events) > 0 && events[0].Seq <= h.told[i] {
		events = events[1:] // a log that is read again
	}
	if len(events) == 0 {
		return
	}
	h.told[i] = events[len(events)-1].Seq
	close(h.moved)
	h.moved = make(chan struct{})
	if len(h.topics) == 0 && len(h.queued[0])+len(h.queued[1]) == 0 {
		h.passed[i], h.missed = h.told[i], true // nobody listens
		return
	}
	h.queued[i] = append(h.queued[i], events...)
	if len(h.queued[i]) > hubQueue {
		h.overflow()
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// overflow gives up what is queued: whoever follows begins again, from the index.
func (h *hub) overflow() {
	h.queued = [2][]domain.Recorded{}
	h.passed, h.missed = h.told, true
	for _, t := range h.topics {
		t.breakOff()
	}
}

// run passes on what is told until ctx ends.
func (h *hub) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
		}
		for h.round(ctx) && ctx.Err() == nil {
		}
		select {
		case <-ctx.Done():
		case <-time.After(hubPause):
		}
	}
}

// round passes on what is safe to pass on; false when nothing is left. An event is
// safe once the other log was seen up to what it held when the event was there
// already: nothing earlier can come then.
func (h *hub) round(ctx context.Context) (more bool) {
	h.mu.Lock()
	ready := [2]int{len(h.queued[0]), len(h.queued[1])}
	h.mu.Unlock()
	if ready[0]+ready[1] == 0 {
		return false
	}
	for i, log := range domain.Logs() {
		if ready[1-i] > 0 {
			h.await(ctx, i, log)
		}
	}
	h.mu.Lock()
	events := h.take(ready)
	if h.missed || len(h.latest) > hubPlaces {
		clear(h.latest)
		h.missed = false
	}
	h.mu.Unlock()
	h.pass(ctx, events)
	return true
}

// await waits until a log was told up to where it is now. It does not wait for ever:
// order is worth less than going on, and no reader misses anything either way.
func (h *hub) await(ctx context.Context, i int, log domain.Log) {
	ctx, cancel := context.WithTimeout(ctx, hubWait)
	defer cancel()
	info, err := h.feed.store.Info(ctx, log)
	if err != nil {
		return
	}
	for {
		h.mu.Lock()
		there, moved := h.told[i] >= info.Last, h.moved
		h.mu.Unlock()
		if there {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-moved:
		}
	}
}

// take removes the first events of each log from the queues and returns them in the
// order of the feed, with those of the other log that belong between them.
func (h *hub) take(ready [2]int) []domain.Recorded {
	var events []domain.Recorded
	for ready[0] > 0 && len(h.queued[0]) > 0 || ready[1] > 0 && len(h.queued[1]) > 0 {
		i := 0
		facts, acts := h.queued[0], h.queued[1]
		if len(facts) == 0 || len(acts) > 0 && facts[0].At.After(acts[0].At) {
			i = 1
		}
		events = append(events, h.queued[i][0])
		h.queued[i] = h.queued[i][1:]
		ready[i]--
	}
	return events
}

// pass hands events to the topics that want them.
func (h *hub) pass(ctx context.Context, events []domain.Recorded) {
	for i := range events {
		h.passOne(ctx, &events[i])
	}
	h.flush()
}

// passOne hands over one event. Who joins while it is being made ready gets it too:
// an event has passed only once it is in every topic that there is.
func (h *hub) passOne(ctx context.Context, ev *domain.Recorded) {
	shown, as := projections.IsShown(ev.Data), Logged
	var e *Event
	for {
		h.mu.Lock()
		to := h.topicsOf(ev.Stream.Scope)
		if !shown || to.none() || e != nil && as <= to.need() {
			i := indexOf(ev.Log)
			h.passed[i] = max(h.passed[i], ev.Seq)
			if e != nil {
				h.put(to, item{e, h.at()})
			} else if shown {
				delete(h.latest, ev.Stream.Scope)
			}
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		var err error
		as = to.need()
		if e, err = h.show(ctx, ev, as); err != nil {
			h.feed.log.WarnContext(ctx, "a live event could not be shown; its readers begin again", "log", ev.Log, "seq", ev.Seq, "err", err)
			h.breakOff(ev.Stream.Scope)
			delete(h.latest, ev.Stream.Scope)
			shown = false
		}
	}
}

// breakOff has the readers of a workspace, and those of all, begin again from the
// index.
func (h *hub) breakOff(workspaceID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topicsOf(workspaceID).each() {
		t.breakOff()
	}
}

// show returns so much of an event as readers need, at its position in its workspace.
func (h *hub) show(ctx context.Context, ev *domain.Recorded, need Need) (*Event, error) {
	other := otherOf(ev.Log)
	i, o := indexOf(ev.Log), indexOf(other)
	latest, known := h.latest[ev.Stream.Scope]
	if !known {
		err := h.feed.models.View(func(r projections.Reader) (err error) {
			latest[o], err = projections.FeedOf(other).Last(r, ev.Stream.Scope, h.position().Of(other))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	latest[i] = ev.Seq
	h.latest[ev.Stream.Scope] = latest
	return h.feed.show(ctx, *ev, need, domain.At(ev.Log, ev.Seq).Max(domain.At(other, latest[o])))
}
