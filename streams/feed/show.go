package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/feed"
	"svc/domain/timestamps"
	"svc/projections"
)

func like(pattern, text string) bool { return feed.Like(pattern, text) }

// read returns the events at places, in their order. What was erased meanwhile is
// left out.
func (f *Feed) read(ctx context.Context, places []place, need Need) ([]*Event, error) {
	found := map[domain.Log]map[uint64]domain.Recorded{}
	for _, log := range domain.Logs() {
		var seqs []uint64
		for _, p := range places {
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
		found[log] = make(map[uint64]domain.Recorded, len(events))
		for _, ev := range events {
			found[log][ev.Seq] = ev
		}
	}
	shown := make([]*Event, 0, len(places))
	for _, p := range places {
		ev, ok := found[p.log][p.Seq]
		if p.event != nil {
			ev, ok = *p.event, true
		}
		if !ok {
			continue
		}
		e, err := f.show(ctx, ev, need, p.at)
		if err != nil {
			return nil, err
		}
		shown = append(shown, e)
	}
	return shown, nil
}

// show returns an event as readers see it, without what is kept apart unless they need
// all of it.
func (f *Feed) show(ctx context.Context, ev domain.Recorded, need Need, at domain.Position) (*Event, error) {
	if executed, ok := ev.Data.(activity.Executed); ok && executed.Apart && need == Whole {
		return f.showExecuted(ctx, ev, at)
	}
	payload, err := f.payload(ev)
	if err != nil {
		return nil, err
	}
	return feed.Of(ev, at, payload), nil
}

// payload returns what the catalogue shows of an event: what is stored, unless it
// tells what was not known before it was, and cut when it is too large.
func (f *Feed) payload(ev domain.Recorded) (json.RawMessage, error) {
	body := ev.Body
	if _, ok := ev.Data.(domain.Revised); ok {
		shown, err := domain.PayloadOf(ev, f.revision)
		if err != nil {
			return nil, err
		}
		if body, err = json.Marshal(shown); err != nil {
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
	shown, err := domain.PayloadOf(ev, func(string, uint64) (uint64, error) { return 0, nil })
	if err != nil || shown == nil {
		return nil
	}
	payloadTypes.Store(of, reflect.TypeOf(shown))
	return reflect.TypeOf(shown)
}

// revision tells the content revision of a workspace at a sequence.
func (f *Feed) revision(workspaceID string, seq uint64) (at uint64, err error) {
	err = f.models.View(func(r projections.Reader) error {
		at, err = projections.History{}.Revision(r, workspaceID, seq)
		return err
	})
	return at, err
}

// Logs returns what an execution logged, by the id of the event that says how it ended. It is
// nil when that was erased.
func (f *Feed) Logs(ctx context.Context, workspaceID, eventID string) ([]string, error) {
	apart, kept, err := f.payloads.Get(ctx, workspaceID, eventID)
	if err != nil || !kept {
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

// showExecuted puts an execution together with what it was given and gave.
func (f *Feed) showExecuted(ctx context.Context, ev domain.Recorded, at domain.Position) (*Event, error) {
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(ev.Body, &fields); err != nil {
		return nil, fmt.Errorf("%s %d: the payload does not open: %w", ev.Log, ev.Seq, err)
	}
	delete(fields, "apart")
	delete(fields, "logged")
	apart, kept, err := f.payloads.Get(ctx, ev.Stream.Scope, ev.ID)
	if err != nil {
		return nil, err
	}
	if kept {
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
	e.Stripped = !kept
	return e, nil
}
