package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// unrecorded is what was on its way to the log when a tree was written down, as it is kept with
// the tree. A crash may have come first: whoever goes on with the tree tells it then.
type unrecordedCommit struct {
	Source domain.Meta       `json:"source"`
	Events []unrecordedEvent `json:"events"`
}

type unrecordedEvent struct {
	ID      string              `json:"id"`
	Type    string              `json:"type"`
	Body    json.RawMessage     `json:"body"`
	Target  *domain.Target      `json:"target,omitempty"`
	Options domain.EventOptions `json:"options"`
	Given   json.RawMessage     `json:"given,omitempty"` // what is kept apart from it
}

// unrecorded is what is not known to be on the log, in order. That the tree has begun is known
// to whoever goes on with it, and what an instruction emits that has no answer yet is
// emitted again.
func (j *journal) unrecorded(more ...eventstore.Commit) (all []unrecordedCommit, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range append(j.inDoubt[:len(j.inDoubt):len(j.inDoubt)], j.commits, more) {
		for _, c := range b {
			u := unrecordedCommit{Source: c.Meta}
			for _, f := range c.Facts {
				if _, begins := f.Event.(activity.TreeStarted); begins || j.unanswered[f.ID] {
					continue
				}
				body, err := json.Marshal(f.Event)
				if err != nil {
					return nil, err
				}
				u.Events = append(u.Events, unrecordedEvent{f.ID, f.Event.EventType(), body, f.Target, f.Options, j.unstored[f.ID]})
			}
			if len(u.Events) > 0 {
				all = append(all, u)
			}
		}
	}
	return all, nil
}

// maxUnrecordedAge is after which time nothing is told any more that a crash may have kept from
// the log: what was told may be erased by then. What an operator has erased sooner is told
// again.
const maxUnrecordedAge = 24 * time.Hour

// recordUnrecorded tells what was on its way to the log when the tree was written down, and did not
// get there.
func (t *run) recordUnrecorded(s parkedRun) error {
	if t.rt.Recorded == nil || t.rt.Now().Sub(s.ParkedAt) > maxUnrecordedAge {
		return nil
	}
	if len(s.Unrecorded) > 0 {
		if err := t.storeRunSecrets(t.ctx); err != nil {
			return err
		}
	}
	for _, u := range s.Unrecorded {
		there, err := t.rt.Recorded(t.ctx, t.workspaceID(), substituteIDs(u.Events[0].ID)...)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		c := eventstore.Commit{Stream: domain.StreamID{Scope: t.workspaceID()}, Meta: u.Source}
		for _, e := range u.Events {
			c.Facts = append(c.Facts, eventstore.Fact{ID: e.ID, Event: domain.Unknown{Name: e.Type, Body: e.Body}, Target: e.Target, Options: e.Options})
		}
		if err := t.rt.appendAgain(t.ctx, c); err != nil {
			return err
		}
		for i, e := range u.Events {
			if e.Given != nil {
				t.journal.storePayloads(t.ctx, []payload{{c.Facts[i].ID, e.Given}})
			}
		}
	}
	return nil
}

// maxVoidIDs is how many ids in a row may be void.
const maxVoidIDs = 5

// substituteIDs are an id and those that take its place when it is void.
func substituteIDs(id string) []string {
	all := []string{id}
	for len(all) < maxVoidIDs {
		all = append(all, deriveID(all[len(all)-1], "over"))
	}
	return all
}

// appendAgain appends what may have been appended before a crash, by itself: together with
// anything else the log would not know it again. The crash may have left its ids void: there
// are others then, always the same.
func (r *Runtime) appendAgain(ctx context.Context, c eventstore.Commit) error {
	for attempt := 1; ; attempt++ {
		_, err := r.Store.Append(ctx, c)
		if !errors.Is(err, eventstore.ErrVoidIDs) || attempt == maxVoidIDs {
			return err
		}
		for i := range c.Facts {
			c.Facts[i].ID = deriveID(c.Facts[i].ID, "over")
		}
	}
}
