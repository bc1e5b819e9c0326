package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// journal has the events of a run that are not appended yet, in order. Events that nobody
// waits for are buffered and appended with the next one that somebody waits for. Events that
// could not be appended stay in front of all later ones.
type journal struct {
	rt          *Runtime
	workspaceID string
	secrets     *runSecrets // that are stored before each append

	appendMu   sync.Mutex     // held while appending, so that the order stays
	background sync.WaitGroup // appends that nobody waits for yet

	mu           sync.Mutex
	inDoubt      []batch   // that are being appended, or whose append failed or has an unknown outcome
	inDoubtSince time.Time // when the first of them was sent first
	commits      []eventstore.Commit
	unanswered   map[string]bool // events of instructions that have no answer yet
}

// batch is what is appended at once. It is repeated unchanged: the log recognises it by all
// of its ids together.
type batch []eventstore.Commit

// executionPayload is what is stored apart from the event of an execution.
type executionPayload struct {
	Payload json.RawMessage `json:"payload,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
	Logs    []string        `json:"logs,omitempty"`
}

// encode returns the payload as encoding/json encodes it: input and output are compact JSON already, in which it escapes
// a few characters.
func (p *executionPayload) encode() []byte {
	if len(p.Logs) > 0 || bytes.ContainsAny(p.Payload, "<>&") || bytes.ContainsAny(p.Output, "<>&") {
		encoded, _ := json.Marshal(p) // JSON already, and texts
		return encoded
	}
	o := domain.NewObjectEncoder(make([]byte, 0, len(p.Payload)+len(p.Output)+len(`{"payload":,"output":}`)))
	for _, part := range [...]struct {
		name  string
		value json.RawMessage
	}{{"payload", p.Payload}, {"output", p.Output}} {
		if len(part.value) > 0 {
			o.Encoded(part.name, part.value)
		}
	}
	encoded, _ := o.End()
	return encoded
}

// add buffers events of one source.
func (j *journal) add(meta domain.Meta, facts ...eventstore.Fact) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.commits = append(j.commits, eventstore.Commit{Stream: domain.StreamID{Scope: j.workspaceID}, Meta: meta, Facts: facts})
}

// record buffers one event under a new id.
func (j *journal) record(meta domain.Meta, ev domain.Event) {
	j.add(meta, eventstore.Fact{ID: j.rt.NewID(), Event: ev})
}

// buffered reports how many events are not appended yet.
func (j *journal) buffered() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.commits)
}

// appendInBackground appends the buffered events without waiting for it. An append that fails
// is repeated with the next one, which returns the error.
func (j *journal) appendInBackground(ctx context.Context) {
	j.background.Go(func() { _, _ = j.append(ctx) })
}

// append appends the buffered events, and more behind them. When it returns nil, all of them
// and everything that was buffered before are on disk.
func (j *journal) append(ctx context.Context, more ...eventstore.Commit) (receipt eventstore.Receipt, err error) {
	j.appendMu.Lock()
	defer j.appendMu.Unlock()
	if err := j.secrets.store(ctx); err != nil {
		return receipt, err
	}
	j.mu.Lock()
	if len(j.inDoubt) > 0 && j.rt.Now().Sub(j.inDoubtSince) > maxInDoubt {
		j.mu.Unlock()
		return receipt, errInDoubt
	}
	batches := append(j.inDoubt, splitBatches(append(j.commits, more...))...)
	if len(j.inDoubt) == 0 {
		j.inDoubtSince = j.rt.Now()
	}
	j.inDoubt, j.commits = batches, nil
	j.mu.Unlock()
	for len(batches) > 0 {
		b := batches[0]
		receipt, err = j.rt.Store.Append(ctx, b...)
		switch {
		case err != nil && (errors.Is(err, eventstore.ErrUnavailable) || ctx.Err() != nil):
			return receipt, err
		case err != nil && len(b) > 1: // one of them is refused for good, the others are not
			batches = append(singleBatches(b), batches[1:]...)
			continue
		}
		batches = batches[1:]
		j.setInDoubt(batches)
		if err != nil && len(batches) == 0 && len(more) > 0 {
			return receipt, err // the caller waits for it
		}
		if err != nil {
			j.rt.Log.ErrorContext(ctx, "event of a run was refused", "workspace", j.workspaceID, "type", b[0].Facts[0].Event.EventType(), "err", err)
		}
	}
	return receipt, nil
}

// singleBatches divides a batch into batches of one commit.
func singleBatches(b batch) (each []batch) {
	for i := range b {
		each = append(each, b[i:i+1:i+1])
	}
	return each
}

// setInDoubt sets the batches that are still to be appended.
func (j *journal) setInDoubt(batches []batch) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.inDoubt, j.inDoubtSince = batches, j.rt.Now()
}

// setUnanswered says whether the instruction that emits an event has no answer yet.
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

// maxInDoubt is how long the outcome of an append may be unknown. The log recognises ids for
// two minutes; an append that is repeated later could be stored twice. The run breaks off
// instead, and another node reads the log to find out.
const maxInDoubt = 90 * time.Second

var errInDoubt = fmt.Errorf("%w: for too long it is unknown whether what happened was recorded", eventstore.ErrUnavailable)

// maxBatchEvents is how many events are appended at once, and maxBatchBytes about how large
// they are: other appends wait meanwhile.
const (
	maxBatchEvents = 1000
	maxBatchBytes  = 4 << 20
)

// splitBatches divides commits into batches.
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

// commitSize estimates the size of a commit, mainly from the texts that can have any length.
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
		bytes += defaultEventBytes + len(f.Apart)
	}
	return bytes
}

// defaultEventBytes is the assumed size of an event without these texts.
const defaultEventBytes = 2 << 10

// close appends what is left. When it returns nil, everything is on disk.
func (j *journal) close(ctx context.Context) error {
	j.background.Wait()
	_, err := j.append(ctx)
	return err
}

// unrecordedCommit is a commit that was being appended when the state of the run was stored.
// It is stored with that state: after a crash, the node that resumes the run appends it if it
// is not on the log.
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
	Given   json.RawMessage     `json:"given,omitempty"` // what is stored apart
}

// unrecorded returns the commits that are not known to be on the log, in order. It leaves out
// the start of the run, which the node that resumes it knows, and events of instructions that
// have no answer, which are emitted again.
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
				u.Events = append(u.Events, unrecordedEvent{f.ID, f.Event.EventType(), body, f.Target, f.Options, f.Apart})
			}
			if len(u.Events) > 0 {
				all = append(all, u)
			}
		}
	}
	return all, nil
}

// maxUnrecordedAge is the age from which on unrecorded events are not appended any more: they
// may have been on the log and have been erased since. Events that an operator erased sooner
// are appended again.
const maxUnrecordedAge = 24 * time.Hour

// recordUnrecorded appends the commits that were being appended when the state was stored, and
// that are not on the log.
func (t *run) recordUnrecorded(s parkedRun) error {
	if t.rt.Recorded == nil || t.rt.Now().Sub(s.ParkedAt) > maxUnrecordedAge {
		return nil
	}
	if len(s.Unrecorded) > 0 {
		if err := t.secrets.store(t.ctx); err != nil {
			return err
		}
	}
	for _, u := range s.Unrecorded {
		exists, err := t.rt.Recorded(t.ctx, t.workspaceID(), substituteIDs(u.Events[0].ID)...)
		if err != nil {
			return err
		}
		if exists {
			continue
		}
		c := eventstore.Commit{Stream: domain.StreamID{Scope: t.workspaceID()}, Meta: u.Source}
		for _, e := range u.Events {
			c.Facts = append(c.Facts, eventstore.Fact{ID: e.ID, Event: domain.Unknown{Name: e.Type, Body: e.Body}, Target: e.Target, Options: e.Options, Apart: e.Given})
		}
		if err := t.rt.appendAgain(t.ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// maxVoidIDs is how many ids in a row may be void.
const maxVoidIDs = 5

// substituteIDs returns an id and those that replace it when it is void.
func substituteIDs(id string) []string {
	all := []string{id}
	for len(all) < maxVoidIDs {
		all = append(all, deriveID(all[len(all)-1], "over"))
	}
	return all
}

// appendAgain appends a commit that may have been appended before a crash. It is appended
// alone, since the log would not recognise it together with others. If the crash left its ids
// void, others are derived from them, always the same.
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
