package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// journal keeps the events of a tree, in order. Those that nobody waits for are
// gathered, and are appended together with the next one that somebody does. What could
// not be appended stays, in front of everything that comes later.
type journal struct {
	rt           *Runtime
	workspaceID  string
	beforeAppend func(context.Context) error // what comes before each append

	appendMu   sync.Mutex     // held while appending: what is gathered later is appended later
	background sync.WaitGroup // appends that nobody waits for yet

	mu           sync.Mutex
	inDoubt      []batch   // that are being appended, could not be, or perhaps were
	inDoubtSince time.Time // when the first of them was appended first
	commits      []eventstore.Commit
	payloads     []payload
	unstored     map[string][]byte // of payloads, by event: those that are not on disk
	unanswered   map[string]bool   // events of instructions that have no answer yet
}

// batch is what is appended at once. It is repeated as it is: whether it is on the log
// already is told by its ids, all of them together.
type batch []eventstore.Commit

// payload is what an execution was given and gave, kept apart from its event.
type payload struct {
	eventID string
	body    []byte
}

// executionPayload is the form in which payloads are kept.
type executionPayload struct {
	Payload json.RawMessage `json:"payload,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
	Logs    []string        `json:"logs,omitempty"`
}

// add gathers events of one source.
func (j *journal) add(meta domain.Meta, facts ...eventstore.Fact) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.commits = append(j.commits, eventstore.Commit{Stream: domain.StreamID{Scope: j.workspaceID}, Meta: meta, Facts: facts})
}

// addPayload gathers what is kept apart from its event.
func (j *journal) addPayload(p payload) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.payloads = append(j.payloads, p)
	if j.unstored == nil {
		j.unstored = map[string][]byte{}
	}
	j.unstored[p.eventID] = p.body
}

// record gathers one event under a new id.
func (j *journal) record(meta domain.Meta, ev domain.Event) {
	j.add(meta, eventstore.Fact{ID: j.rt.NewID(), Event: ev})
}

// buffered reports how many events are not appended yet.
func (j *journal) buffered() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.commits)
}

// appendInBackground appends what is gathered without anybody waiting for it. What fails is
// tried again with the next append, which tells.
func (j *journal) appendInBackground(ctx context.Context) {
	j.background.Go(func() { _, _ = j.append(ctx) })
}

// append keeps what is gathered, with more behind it. When it returns nil all of it is
// on disk, and everything that was gathered before.
func (j *journal) append(ctx context.Context, more ...eventstore.Commit) (receipt eventstore.Receipt, err error) {
	j.appendMu.Lock()
	defer j.appendMu.Unlock()
	if err := j.beforeAppend(ctx); err != nil {
		return receipt, err
	}
	j.mu.Lock()
	if len(j.inDoubt) > 0 && j.rt.Now().Sub(j.inDoubtSince) > maxInDoubt {
		j.mu.Unlock()
		return receipt, errInDoubt
	}
	batches, payloads := append(j.inDoubt, splitBatches(append(j.commits, more...))...), j.payloads
	if len(j.inDoubt) == 0 {
		j.inDoubtSince = j.rt.Now()
	}
	j.inDoubt, j.commits, j.payloads = batches, nil, nil
	j.mu.Unlock()
	var beside sync.WaitGroup
	if len(payloads) > 0 {
		beside.Go(func() { j.storePayloads(ctx, payloads) })
	}
	defer beside.Wait()
	for len(batches) > 0 {
		b := batches[0]
		receipt, err = j.rt.Store.Append(ctx, b...)
		switch {
		case err != nil && (errors.Is(err, eventstore.ErrUnavailable) || ctx.Err() != nil):
			return receipt, err
		case err != nil && len(b) > 1: // one of them is refused for good, and not the others
			batches = append(singleBatches(b), batches[1:]...)
			continue
		}
		batches = batches[1:]
		j.setInDoubt(batches)
		if err != nil && len(batches) == 0 && len(more) > 0 {
			return receipt, err // who wanted more is told
		}
		if err != nil {
			j.rt.Log.ErrorContext(ctx, "what happened in a run cannot be recorded", "workspace", j.workspaceID, "type", b[0].Facts[0].Event.EventType(), "err", err)
		}
	}
	return receipt, nil
}

// singleBatches divides a batch into those of single commits.
func singleBatches(b batch) (each []batch) {
	for i := range b {
		each = append(each, b[i:i+1:i+1])
	}
	return each
}

// setInDoubt notes what is still to be appended.
func (j *journal) setInDoubt(batches []batch) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.inDoubt, j.inDoubtSince = batches, j.rt.Now()
}

// setUnanswered notes that the instruction that emits an event has no answer yet, or that it has one.
func (j *journal) setUnanswered(id string, open bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unanswered == nil {
		j.unanswered = map[string]bool{}
	}
	if open {
		j.unanswered[id] = true
	} else {
		delete(j.unanswered, id)
	}
}

// maxInDoubt is for how long it may be unknown whether something was appended. The log
// knows ids again for two minutes; appended after that it could be there twice. The tree
// breaks off instead: who finds out what became of it reads the log.
const maxInDoubt = 90 * time.Second

var errInDoubt = fmt.Errorf("%w: for too long it is unknown whether what happened was recorded", eventstore.ErrUnavailable)

// maxBatchEvents is how many events the log takes at once, and maxBatchBytes about how large they are
// together: nobody else appends meanwhile.
const (
	maxBatchEvents = 1000
	maxBatchBytes  = 4 << 20
)

// splitBatches divides commits into what is appended at once.
func splitBatches(commits []eventstore.Commit) (batches []batch) {
	first, facts, bytes := 0, 0, 0
	for i, c := range commits {
		size := commitSize(c)
		if i > first && (facts+len(c.Facts) > maxBatchEvents || bytes+size > maxBatchBytes) {
			batches = append(batches, commits[first:i:i])
			first, facts, bytes = i, 0, 0
		}
		facts, bytes = facts+len(c.Facts), bytes+size
	}
	if facts > 0 {
		batches = append(batches, commits[first:])
	}
	return batches
}

// commitSize is how large a commit can be: of what has a text of any length it is about that.
func commitSize(c eventstore.Commit) (bytes int) {
	for _, f := range c.Facts {
		switch ev := f.Event.(type) {
		case domain.Unknown:
			bytes += len(ev.Body)
		case activity.WaitPending:
			bytes += len(ev.Wait)
		case activity.FetchFailed:
			bytes += len(ev.Request) + len(ev.Response) + len(ev.Error)
		case activity.CollectionUpdated:
			bytes += len(ev.Properties) + len(ev.Indexes) + len(ev.Uniques)
		}
		bytes += defaultEventBytes
	}
	return bytes
}

// defaultEventBytes is what an event weighs whose payload is not looked at.
const defaultEventBytes = 2 << 10

// How often what is kept apart is tried to be kept, and the pause in between.
const (
	payloadAttempts   = 5
	payloadRetryPause = 200 * time.Millisecond
)

// storePayloads keeps payloads. A tree is not the worse for one that could not be kept: its
// event tells all that happens because of it, and it goes in time anyway.
func (j *journal) storePayloads(ctx context.Context, payloads []payload) {
	for _, p := range payloads {
		err := j.rt.Payloads.Put(ctx, j.workspaceID, p.eventID, p.body)
		for attempt := 1; err != nil && attempt < payloadAttempts && commands.Sleep(ctx, payloadRetryPause) == nil; attempt++ {
			err = j.rt.Payloads.Put(ctx, j.workspaceID, p.eventID, p.body)
		}
		if err != nil {
			j.rt.Log.ErrorContext(ctx, "what an execution was given and gave was not kept", "workspace", j.workspaceID, "eventId", p.eventID, "err", err)
		}
		j.mu.Lock()
		delete(j.unstored, p.eventID)
		j.mu.Unlock()
	}
}

// storeAndUnpark keeps all that is left, and tells whether everything is kept.
func (j *journal) close(ctx context.Context) error {
	j.background.Wait()
	_, err := j.append(ctx)
	return err
}

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
