package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"
	"unicode/utf8"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/feed"
	"svc/domain/timestamps"
	"svc/eventstore"
	"svc/projections"
)

type (
	// Event is that of the domain: who reads the feed needs no other name for it.
	Event = feed.Event
	// Filter is that of the domain, too.
	Filter = feed.Filter
	// PathFilter is that of the domain, too.
	PathFilter = feed.PathFilter
)

// Store is what the feed needs of the log.
type Store interface {
	Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error)
	// Scan returns the events of the next n messages from one sequence on, up or down to another, and where to continue.
	Scan(ctx context.Context, log domain.Log, from, to uint64, n int) (events []domain.Recorded, next uint64, more bool, err error)
	Info(ctx context.Context, log domain.Log) (eventstore.Info, error)
	// Last returns the last sequence that a log had when it was called, or a later one.
	Last(ctx context.Context, log domain.Log) (uint64, error)
	// Since returns the sequence before which every event is older than a time.
	Since(ctx context.Context, log domain.Log, at time.Time) (uint64, error)
	// Known is how far the logs reach as far as this node has seen.
	Known() domain.Position
}

// Payloads keeps payload and output of executions. It is a *jetstream.Payloads.
type Payloads interface {
	// Get returns those of the event with an id and a sequence; ok is false when they were erased.
	Get(ctx context.Context, workspaceID, eventID string, seq uint64) (body []byte, ok bool, err error)
}

// Options configure a Feed. Models, Store and Payloads are required.
type Options struct {
	Models *projections.Models
	Store  Store
	// Payloads are those of executions.
	Payloads Payloads
	// MaxLen is how many characters the payload of an event may have; larger ones
	// of the platform are shown cut. Default: any number.
	MaxLen func() int
	// Broadcast carries events that are not kept; without it there are none.
	Broadcast Broadcast
	Log       *slog.Logger
}

// Feed reads events. All methods are safe for concurrent use.
type Feed struct {
	models        *projections.Models
	store         Store
	payloads      Payloads
	maxLen        func() int
	broadcast     Broadcast
	stopListening func() // ends listening to the broadcast
	log           *slog.Logger
	hub           *hub
}

// New returns a feed. Live events reach it while Run does.
func New(o Options) (*Feed, error) {
	f := &Feed{models: o.Models, store: o.Store, payloads: o.Payloads, maxLen: o.MaxLen, broadcast: o.Broadcast, log: cmp.Or(o.Log, slog.Default())}
	if f.maxLen == nil {
		f.maxLen = func() int { return 0 }
	}
	f.hub = newHub(f)
	f.models.SetListener(f.hub.receive)
	f.hub.setPosition(f.models.Position())
	if f.broadcast == nil {
		return f, nil
	}
	var err error
	f.stopListening, err = f.broadcast.Listen(f.receiveBroadcast)
	return f, err
}

// Run passes live events on until ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	if f.stopListening != nil {
		defer f.stopListening()
	}
	return f.hub.run(ctx)
}

// Position returns how far live events are: everything up to it was passed on.
func (f *Feed) Position() domain.Position { return f.hub.position() }

// Now returns where "now" is for a reader who comes: what this node has seen written
// is before it, whether it was passed on yet or not.
func (f *Feed) Now() domain.Position { return f.Position().Max(f.store.Known()) }

// Get returns one event of a workspace.
func (f *Feed) Get(ctx context.Context, workspaceID, eventID string) (*Event, bool, error) {
	p, found, err := f.locate(workspaceID, eventID)
	if err != nil || !found {
		return nil, false, err
	}
	events, err := f.readEvents(ctx, []location{p}, Whole)
	if err != nil || len(events) == 0 {
		return nil, false, err
	}
	return events[0], true, nil
}

// locate returns where an event is.
func (f *Feed) locate(workspaceID, eventID string) (p location, found bool, err error) {
	r := f.models.Reader()
	defer r.Close()
	for _, log := range domain.Logs() {
		index := projections.FeedOf(log)
		seq, group, ok, err := index.ByID(r, workspaceID, eventID)
		if err != nil {
			return p, false, err
		}
		if !ok {
			continue
		}
		p = location{workspaceID: workspaceID, log: log}
		if p.FeedEntry, found, err = index.Get(r, workspaceID, seq, group); err != nil || !found {
			return p, found, err
		}
		p.at, err = positionOf(r, workspaceID, log, p.FeedEntry)
		return p, true, err
	}
	return p, false, nil
}

// Resolve returns a position in both logs for one that may name a place in one of
// them only, such as that of a write: what the other log had by then is before it too.
func (f *Feed) Resolve(ctx context.Context, workspaceID string, at domain.Position) (domain.Position, error) {
	log := domain.State
	if at.State == 0 {
		log = domain.Activity
	}
	other := otherOf(log)
	if at.Of(log) == 0 || at.Of(other) != 0 {
		return at, nil
	}
	events, err := f.store.Reread(ctx, log, []uint64{at.Of(log)})
	if err != nil {
		return at, err
	}
	r := f.models.Reader()
	defer r.Close()
	var recorded time.Time
	if len(events) > 0 {
		recorded = events[0].At
	} else { // it is erased, or not there yet: the last one before it tells the time
		e, err := projections.FeedOf(log).Near(r, workspaceID, at.Of(log))
		if err != nil {
			return at, err
		}
		recorded = e.At
	}
	beside, err := projections.FeedOf(other).Before(r, workspaceID, recorded, log == domain.Activity)
	return at.Max(domain.At(other, beside)), err
}

// PositionBefore returns the position right before an event: what is up to it is older.
func PositionBefore(e *Event) domain.Position {
	before := e.Seq
	if e.Log == domain.State {
		before.State--
	} else {
		before.Activity--
	}
	return before
}

// BeforeEvent returns the position right before the event with an id.
func (f *Feed) BeforeEvent(ctx context.Context, workspaceID, eventID string) (domain.Position, bool, error) {
	e, ok, err := f.Get(ctx, workspaceID, eventID)
	if err != nil || !ok {
		return domain.Position{}, false, err
	}
	return PositionBefore(e), true, nil
}

// Newest returns how far the logs reach. Nobody was given a position beyond it.
func (f *Feed) Newest(ctx context.Context) (at domain.Position, err error) {
	for _, log := range domain.Logs() {
		info, err := f.store.Info(ctx, log)
		if err != nil {
			return at, err
		}
		at = at.Max(domain.At(log, info.Last))
	}
	return at, nil
}

// Oldest returns the first sequence of the activity that is still there.
func (f *Feed) Oldest(ctx context.Context) (uint64, error) {
	info, err := f.store.Info(ctx, domain.Activity)
	return info.First, err
}

func like(pattern, text string) bool { return feed.Like(pattern, text) }

// readEvents returns the events at locations, in their order. What was erased meanwhile is
// left out.
func (f *Feed) readEvents(ctx context.Context, locations []location, need Need) ([]*Event, error) {
	found := map[domain.Log]map[uint64]*domain.Recorded{}
	for _, log := range domain.Logs() {
		var seqs []uint64
		for _, p := range locations {
			if p.log == log && p.event == nil {
				seqs = append(seqs, p.Seq)
			}
		}
		if len(seqs) == 0 {
			continue
		}
		events, err := f.store.Reread(ctx, log, seqs)
		if err != nil {
			return nil, err
		}
		found[log] = make(map[uint64]*domain.Recorded, len(events))
		for i := range events {
			found[log][events[i].Seq] = &events[i]
		}
	}
	events := make([]*Event, 0, len(locations))
	for _, p := range locations {
		ev := cmp.Or(p.event, found[p.log][p.Seq])
		if ev == nil {
			continue
		}
		e, err := f.toEvent(ctx, *ev, need, p.at)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// toEvent returns an event as readers see it, without what is kept apart unless they need
// all of it.
func (f *Feed) toEvent(ctx context.Context, ev domain.Recorded, need Need, at domain.Position) (*Event, error) {
	if executed, ok := ev.Data.(activity.Executed); ok && executed.Apart && need == Whole {
		return f.toExecutedEvent(ctx, ev, at)
	}
	payload, err := f.payloadOf(ev)
	if err != nil {
		return nil, err
	}
	return feed.Of(ev, at, payload), nil
}

// payloadOf returns what the catalogue shows of an event: what is stored, unless it
// tells what was not known before it was, and cut when it is too large.
func (f *Feed) payloadOf(ev domain.Recorded) (json.RawMessage, error) {
	body := ev.Body
	if _, ok := ev.Data.(domain.Revised); ok {
		payload, err := domain.PayloadOf(ev, f.revisionAt)
		if err != nil {
			return nil, err
		}
		if body, err = json.Marshal(payload); err != nil {
			return nil, err
		}
	}
	body = timestamps.Normalize(payloadType(ev), body)
	limit := f.maxLen()
	if ev.Log == domain.Activity || limit <= 0 || len(body) <= limit || utf8.RuneCount(body) <= limit {
		return body, nil
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("%s %d: the payload does not open: %w", ev.Log, ev.Seq, err)
	}
	fitting, _ := activity.Fit(fields, limit)
	return json.Marshal(fitting)
}

// payloadTypes are the types of what events show, by those of the events.
var payloadTypes sync.Map

// payloadType returns the type of what an event shows.
func payloadType(ev domain.Recorded) reflect.Type {
	if ev.Data == nil {
		return nil
	}
	of := reflect.TypeOf(ev.Data)
	if known, ok := payloadTypes.Load(of); ok {
		return known.(reflect.Type)
	}
	payload, err := domain.PayloadOf(ev, func(string, uint64) (uint64, error) { return 0, nil })
	if err != nil || payload == nil {
		return nil
	}
	payloadTypes.Store(of, reflect.TypeOf(payload))
	return reflect.TypeOf(payload)
}

// revisionAt tells the content revision of a workspace at a sequence.
func (f *Feed) revisionAt(workspaceID string, seq uint64) (uint64, error) {
	r := f.models.Reader()
	defer r.Close()
	return projections.History{}.Revision(r, workspaceID, seq)
}

// payloadDelay is how long after an event its payload may come: it is stored when the event has its sequence.
const payloadDelay = 5 * time.Second

// payload returns what is kept apart of an event that was stored at a time; found is false when it was erased. Of an
// event of just now it may be on its way: then it is waited for.
func (f *Feed) payload(ctx context.Context, workspaceID, eventID string, seq uint64, at time.Time) (body []byte, found bool, err error) {
	for {
		body, found, err = f.payloads.Get(ctx, workspaceID, eventID, seq)
		age := time.Since(at).Abs() // the clock of the broker may be ahead
		if err != nil || found || age > payloadDelay {
			return body, found, err
		}
		if err := commands.Sleep(ctx, max(time.Millisecond, age/4)); err != nil {
			return nil, false, err
		}
	}
}

// Logs returns what an execution logged, by id, sequence and time of the event that says how it ended. It is
// nil when that was erased.
func (f *Feed) Logs(ctx context.Context, workspaceID, eventID string, seq uint64, at time.Time) ([]string, error) {
	apart, found, err := f.payload(ctx, workspaceID, eventID, seq, at)
	if err != nil || !found {
		return nil, err
	}
	var body struct {
		Logs []string `json:"logs"`
	}
	if err := json.Unmarshal(apart, &body); err != nil {
		return nil, fmt.Errorf("event %s: what is kept apart does not open: %w", eventID, err)
	}
	return body.Logs, nil
}

// toExecutedEvent puts an execution together with what it was given and gave.
func (f *Feed) toExecutedEvent(ctx context.Context, ev domain.Recorded, at domain.Position) (*Event, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(ev.Body, &fields); err != nil {
		return nil, fmt.Errorf("%s %d: the payload does not open: %w", ev.Log, ev.Seq, err)
	}
	delete(fields, "apart")
	delete(fields, "logged")
	apart, found, err := f.payload(ctx, ev.Stream.Scope, ev.ID, ev.Seq, ev.At)
	if err != nil {
		return nil, err
	}
	if found {
		var bodies map[string]json.RawMessage
		if err := json.Unmarshal(apart, &bodies); err != nil {
			return nil, fmt.Errorf("%s %d: what is kept apart does not open: %w", ev.Log, ev.Seq, err)
		}
		for name, body := range bodies {
			fields[name] = body
		}
	}
	payload, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	e := feed.Of(ev, at, payload)
	e.Stripped = !found
	return e, nil
}
