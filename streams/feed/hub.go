package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/feed"
	"svc/projections"
)

// hub passes live events on to topics, in the order of the feed. There is one for
// each node, however many readers it has.
type hub struct {
	feed *Feed
	wake chan struct{} // events were queued

	mu          sync.Mutex
	queued      [2][]domain.Recorded // not passed on yet; by log
	received    [2]uint64
	published   [2]uint64
	moved       chan struct{} // closed and replaced when received moves
	topics      map[topicName]*topic
	latestStale bool // events that did not pass: latest is not right any more

	// latest are the last sequences of workspaces in each log. Only run uses them.
	latest map[string][2]uint64
}

// The rhythm of the hub.
const (
	hubPause = time.Millisecond // between two rounds, so that what comes together goes together
	hubWait  = 2 * time.Second  // for the other log, which may be slower
)

// hubQueue is how many events may wait to be passed on.
const hubQueue = 50_000

// maxLatest is of how many workspaces the hub knows where they are.
const maxLatest = 10_000

func newHub(f *Feed) *hub {
	return &hub{feed: f, wake: make(chan struct{}, 1), moved: make(chan struct{}), topics: map[topicName]*topic{}, latest: map[string][2]uint64{}}
}

func indexOf(log domain.Log) int {
	if log == domain.State {
		return 0
	}
	return 1
}

// setPosition notes that what is up to a position is of the past.
func (h *hub) setPosition(at domain.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, log := range domain.Logs() {
		h.received[i], h.published[i] = max(h.received[i], at.Of(log)), max(h.published[i], at.Of(log))
	}
}

func (h *hub) position() domain.Position {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at()
}

func (h *hub) at() domain.Position {
	return domain.Position{State: h.published[0], Activity: h.published[1]}
}

// receive is the Tap of the read models.
func (h *hub) receive(log domain.Log, events []domain.Recorded) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := indexOf(log)
	for len(events) > 0 && events[0].Seq <= h.received[i] {
		events = events[1:] // a log that is read again
	}
	if len(events) == 0 {
		return
	}
	h.received[i] = events[len(events)-1].Seq
	close(h.moved)
	h.moved = make(chan struct{})
	if len(h.topics) == 0 && len(h.queued[0])+len(h.queued[1]) == 0 {
		h.published[i], h.latestStale = h.received[i], true // nobody listens
		return
	}
	if len(h.queued[i]) == 0 {
		h.queued[i] = slices.Clip(events) // nobody changes them
	} else {
		h.queued[i] = append(h.queued[i], events...)
	}
	if len(h.queued[i]) > hubQueue {
		h.overflow()
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// overflow gives up what is queued: whoever follows begins again, from the index. The
// caller holds the mutex.
func (h *hub) overflow() {
	h.queued = [2][]domain.Recorded{}
	h.published, h.latestStale = h.received, true
	for _, t := range h.topics {
		t.restartReaders()
		t.wakeReaders() // there may be no next round
	}
}

// run passes on queued events until ctx ends.
func (h *hub) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
		}
		for h.publishRound(ctx) && ctx.Err() == nil {
		}
		select {
		case <-ctx.Done():
		case <-time.After(hubPause):
		}
	}
}

// publishRound passes on what is safe to pass on; false when nothing is left. An event is
// safe once the other log was seen up to what it held when the event was there
// already: nothing earlier can come then.
func (h *hub) publishRound(ctx context.Context) (more bool) {
	h.mu.Lock()
	ready := [2]int{len(h.queued[0]), len(h.queued[1])}
	h.mu.Unlock()
	if ready[0]+ready[1] == 0 {
		return false
	}
	for i, log := range domain.Logs() {
		if ready[1-i] > 0 {
			h.awaitLog(ctx, i, log)
		}
	}
	h.mu.Lock()
	events := h.nextQueued(ready)
	if h.latestStale || len(h.latest) > maxLatest {
		clear(h.latest)
		h.latestStale = false
	}
	h.mu.Unlock()
	h.publish(ctx, events)
	return true
}

// awaitLog waits until the events of a log were received up to where it is now. It does not wait for ever:
// order is worth less than going on, and no reader misses anything either way.
func (h *hub) awaitLog(ctx context.Context, i int, log domain.Log) {
	ctx, cancel := context.WithTimeout(ctx, hubWait)
	defer cancel()
	last, err := h.feed.store.Last(ctx, log)
	if err != nil {
		return
	}
	for {
		h.mu.Lock()
		reached, moved := h.received[i] >= last, h.moved
		h.mu.Unlock()
		if reached {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-moved:
		}
	}
}

// nextQueued removes the first events of each log from the queues and returns them in the
// order of the feed, with those of the other log that belong between them.
func (h *hub) nextQueued(ready [2]int) []domain.Recorded {
	for i := range h.queued {
		if n := min(ready[i], len(h.queued[i])); n > 0 && len(h.queued[1-i]) == 0 { // there is nothing to merge
			events := h.queued[i][:n:n]
			h.queued[i] = h.queued[i][n:]
			return events
		}
	}
	events := make([]domain.Recorded, 0, min(ready[0], len(h.queued[0]))+min(ready[1], len(h.queued[1])))
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

// publish hands events to the topics that want them.
func (h *hub) publish(ctx context.Context, events []domain.Recorded) {
	for i := range events {
		h.publishEvent(ctx, &events[i])
	}
	h.wakeReaders()
}

// publishEvent hands over one event. Who joins while it is being made ready gets it too:
// an event has passed only once it is in every topic that there is.
func (h *hub) publishEvent(ctx context.Context, ev *domain.Recorded) {
	visible, as := projections.IsVisible(ev.Data), Logged
	var e *Event
	for {
		h.mu.Lock()
		to := h.topicsOf(ev.Stream.Scope)
		if !visible || to.isEmpty() || e != nil && as <= to.need() {
			i := indexOf(ev.Log)
			h.published[i] = max(h.published[i], ev.Seq)
			if e != nil {
				h.addItem(to, item{e, h.at()})
			} else if visible {
				delete(h.latest, ev.Stream.Scope)
			}
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		var err error
		as = to.need()
		if e, err = h.toEvent(ctx, ev, as); err != nil {
			h.feed.log.WarnContext(ctx, "a live event could not be shown; its readers begin again", "log", ev.Log, "seq", ev.Seq, "err", err)
			h.restartReaders(ev.Stream.Scope)
			delete(h.latest, ev.Stream.Scope)
			visible = false
		}
	}
}

// restartReaders has the readers of a workspace, and those of all, begin again from the
// index.
func (h *hub) restartReaders(workspaceID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topicsOf(workspaceID).list() {
		t.restartReaders()
	}
}

// toEvent returns so much of an event as readers need, at its position in its workspace.
func (h *hub) toEvent(ctx context.Context, ev *domain.Recorded, need Need) (*Event, error) {
	other := otherOf(ev.Log)
	i, o := indexOf(ev.Log), indexOf(other)
	latest, known := h.latest[ev.Stream.Scope]
	if !known {
		r := h.feed.models.Reader()
		last, err := projections.FeedOf(other).Last(r, ev.Stream.Scope, h.position().Of(other))
		r.Close()
		if latest[o] = last; err != nil {
			return nil, err
		}
	}
	latest[i] = ev.Seq
	h.latest[ev.Stream.Scope] = latest
	return h.feed.toEvent(ctx, *ev, need, domain.At(ev.Log, ev.Seq).Max(domain.At(other, latest[o])))
}

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

// topicName names the topic of a workspace, or of all when it is empty. Those who need no more of events than the log
// has share one of their own: what is kept apart is read for nobody else.
type topicName struct {
	workspaceID string
	logged      bool
}

func topicOf(workspaceID string, need Need) topicName { return topicName{workspaceID, need != Whole} }

// topics are those that an event of a workspace goes to; nil where there is none.
type topics struct{ own, all, ownLogged, allLogged *topic }

// topicsOf returns the topics of an event. The caller holds the mutex.
func (h *hub) topicsOf(workspaceID string) topics {
	return topics{
		h.topics[topicName{workspaceID, false}], h.topics[topicName{"", false}],
		h.topics[topicName{workspaceID, true}], h.topics[topicName{"", true}],
	}
}

func (t topics) isEmpty() bool { return t == topics{} }

// need is how much of an event the readers of all of them need.
func (t topics) need() Need {
	if t.own == nil && t.all == nil {
		return Logged
	}
	return Whole
}

func (t topics) list() (some []*topic) {
	for _, candidate := range []*topic{t.own, t.all, t.ownLogged, t.allLogged} {
		if candidate != nil {
			some = append(some, candidate)
		}
	}
	return some
}

// addItem adds an item to topics. The caller holds the mutex.
func (h *hub) addItem(to topics, it item) {
	for _, t := range to.list() {
		t.add(it)
	}
}

func (t *topic) add(it item) {
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

// restartReaders makes every reader of the topic begin again from the index.
func (t *topic) restartReaders() {
	t.first = t.next() + 1
	t.items, t.bytes = nil, 0
	t.touched = true
}

// wakeReaders wakes the readers of the topics that have something new.
func (h *hub) wakeReaders() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		if t.touched {
			t.wakeReaders()
		}
	}
}

// wakeReaders wakes the readers of the topic. The caller holds the hub's mutex.
func (t *topic) wakeReaders() {
	t.touched = false
	close(t.changed)
	t.changed = make(chan struct{})
}

// joinTopic returns the topic of a workspace, where the next event will be, and the
// position up to which events are of the past.
func (h *hub) joinTopic(name topicName) (t *topic, next uint64, at domain.Position) {
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

func (h *hub) leaveTopic(name topicName, t *topic) {
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

// Broadcast sends events for live readers to all nodes. It is a jetstream.Broadcast.
type Broadcast interface {
	// Send sends to everyone who listens, this node too.
	Send(body []byte) error
	// Listen calls receive with what is sent, until stop is called.
	Listen(receive func(body []byte)) (stop func(), err error)
}

// transientEvent is an event that is not kept, as it is broadcast.
type transientEvent struct {
	ID          string              `json:"id"`
	Type        string              `json:"type"`
	WorkspaceID string              `json:"workspaceId"`
	At          time.Time           `json:"at"`
	Meta        domain.Meta         `json:"source"`
	Target      *domain.Target      `json:"target,omitempty"`
	Options     domain.EventOptions `json:"options"`
	Payload     json.RawMessage     `json:"payload"`
}

// SendTransient sends an event that is not kept to the live readers of all nodes.
func (f *Feed) SendTransient(ev domain.Recorded) error {
	body, err := json.Marshal(transientEvent{
		ID: ev.ID, Type: ev.Data.EventType(), WorkspaceID: ev.Stream.Scope, At: ev.At, Meta: ev.Meta,
		Target: ev.Target, Options: ev.Options, Payload: ev.Body,
	})
	if err != nil {
		return fmt.Errorf("pass on %s: %w", ev.Data.EventType(), err)
	}
	return f.broadcast.Send(body)
}

// Recorded returns events of one workspace that were just recorded as their readers
// will see them, and those that are not kept where the feed is now.
func (f *Feed) Recorded(ctx context.Context, events ...domain.Recorded) ([]*Event, error) {
	positions, err := f.locateRecorded(events)
	if err != nil { // they are kept all the same, and whoever waits gets the error
		f.log.WarnContext(ctx, "what was recorded has no place in the index yet", "err", err)
		for i, ev := range events {
			positions[i] = domain.At(ev.Log, ev.Seq)
		}
	}
	result := make([]*Event, len(events))
	for i, ev := range events {
		if result[i], err = f.toEvent(ctx, ev, Whole, positions[i]); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// locateRecorded returns where events of one workspace and log that were just recorded are.
func (f *Feed) locateRecorded(events []domain.Recorded) ([]domain.Position, error) {
	positions := make([]domain.Position, len(events))
	var indexes []int
	for i := range events {
		if positions[i] = f.Position(); events[i].Options.Persisted() {
			indexes = append(indexes, i)
		}
	}
	if len(indexes) == 0 {
		return positions, nil
	}
	r := f.models.Reader()
	defer r.Close()
	return positions, fillBesides(indexes, func(i int) (uint64, error) {
		ev := events[i]
		at, err := positionOf(r, ev.Stream.Scope, ev.Log, projections.FeedEntry{Seq: ev.Seq, At: ev.At})
		return at.Of(otherOf(ev.Log)), err
	}, func(i int, beside uint64) {
		positions[i] = domain.At(events[i].Log, events[i].Seq).Max(domain.At(otherOf(events[i].Log), beside))
	})
}

// fillBesides finds what is beside each of some events: between two that have the same
// beside them all have.
func fillBesides(some []int, find func(int) (uint64, error), found func(int, uint64)) error {
	first, last := some[0], some[len(some)-1]
	from, err := find(first)
	if err != nil {
		return err
	}
	to, err := find(last)
	if err != nil {
		return err
	}
	if from == to {
		for _, i := range some {
			found(i, from)
		}
		return nil
	}
	found(first, from)
	found(last, to)
	if len(some) <= 2 {
		return nil
	}
	return fillBesides(some[1:len(some)-1], find, found)
}

// receiveBroadcast takes an event that is not kept from the air.
func (f *Feed) receiveBroadcast(body []byte) {
	var p transientEvent
	if err := json.Unmarshal(body, &p); err != nil {
		f.log.Warn("an event from another node does not open", "err", err)
		return
	}
	ev := domain.Recorded{
		ID: p.ID, Log: domain.Activity, Stream: domain.StreamID{Scope: p.WorkspaceID}, At: p.At, Meta: p.Meta,
		Data: domain.Unknown{Name: p.Type, Body: p.Payload}, Target: p.Target, Options: p.Options, Body: p.Payload,
	}
	h := f.hub
	h.mu.Lock()
	at := h.at()
	e := feed.Of(ev, at, p.Payload)
	h.addItem(h.topicsOf(p.WorkspaceID), item{e, at})
	h.mu.Unlock()
	h.wakeReaders()
}
