package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc/domain"
	"svc/domain/feed"
	"svc/projections"
)

// Broadcast sends events for live readers to all nodes. It is a jetstream.Broadcast.
type Broadcast interface {
	// Send sends to everyone who listens, this node too.
	Send(body []byte) error
	// Listen calls receive with what is sent, until stop is called.
	Listen(receive func(body []byte)) (stop func(), err error)
}

// passing is an event that is not kept, as it is broadcast.
type passing struct {
	ID          string              `json:"id"`
	Type        string              `json:"type"`
	WorkspaceID string              `json:"workspaceId"`
	At          time.Time           `json:"at"`
	Meta        domain.Meta         `json:"source"`
	Target      *domain.Target      `json:"target,omitempty"`
	Options     domain.EventOptions `json:"options"`
	Payload     json.RawMessage     `json:"payload"`
}

// Pass sends an event that is not kept to the live readers of all nodes.
func (f *Feed) Pass(ev domain.Recorded) error {
	body, err := json.Marshal(passing{
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
	places, err := f.places(events)
	if err != nil { // they are kept all the same, and whoever waits is told so
		f.log.WarnContext(ctx, "what was recorded has no place in the index yet", "err", err)
		for i, ev := range events {
			places[i] = domain.At(ev.Log, ev.Seq)
		}
	}
	shown := make([]*Event, len(events))
	for i, ev := range events {
		if shown[i], err = f.show(ctx, ev, Whole, places[i]); err != nil {
			return nil, err
		}
	}
	return shown, nil
}

// places returns where events of one workspace and log that were just recorded are.
func (f *Feed) places(events []domain.Recorded) ([]domain.Position, error) {
	places := make([]domain.Position, len(events))
	var kept []int
	for i := range events {
		if places[i] = f.Position(); events[i].Options.Persisted() {
			kept = append(kept, i)
		}
	}
	if len(kept) == 0 {
		return places, nil
	}
	return places, f.models.View(func(r projections.Reader) error {
		return besides(kept, func(i int) (uint64, error) {
			ev := events[i]
			at, err := positionOf(r, ev.Stream.Scope, ev.Log, projections.FeedEntry{Seq: ev.Seq, At: ev.At})
			return at.Of(otherOf(ev.Log)), err
		}, func(i int, beside uint64) {
			places[i] = domain.At(events[i].Log, events[i].Seq).Max(domain.At(otherOf(events[i].Log), beside))
		})
	})
}

// besides finds what is beside each of some events: between two that have the same
// beside them all have.
func besides(some []int, find func(int) (uint64, error), found func(int, uint64)) error {
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
	return besides(some[1:len(some)-1], find, found)
}

// hear takes an event that is not kept from the air.
func (f *Feed) hear(body []byte) {
	var p passing
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
	h.put(h.topicsOf(p.WorkspaceID), item{e, at})
	h.mu.Unlock()
	h.flush()
}
