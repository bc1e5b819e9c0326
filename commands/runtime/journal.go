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
	"svc/eventstore"
)

// journal keeps the events of a tree, in order. Those that nobody waits for are
// gathered, and are appended together with the next one that somebody does. What could
// not be appended stays, in front of everything that comes later.
type journal struct {
	rt          *Runtime
	workspaceID string
	first       func(context.Context) error // what comes before each append

	order sync.Mutex     // held while appending: what is gathered later is appended later
	early sync.WaitGroup // appends that nobody waits for yet

	mu       sync.Mutex
	stuck    []batch   // that are being appended, could not be, or perhaps were
	since    time.Time // when the first of them was appended first
	commits  []eventstore.Commit
	payloads []payload
}

// batch is what is appended at once. It is repeated as it is: whether it is on the log
// already is told by its ids, all of them together.
type batch []eventstore.Commit

// payload is what an execution was given and gave, kept apart from its event.
type payload struct {
	eventID string
	body    []byte
}

// given is the form in which payloads are kept.
type given struct {
	Payload json.RawMessage `json:"payload,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
}

// add gathers events of one source.
func (j *journal) add(meta domain.Meta, facts ...eventstore.Fact) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.commits = append(j.commits, eventstore.Commit{Stream: domain.StreamID{Scope: j.workspaceID}, Meta: meta, Facts: facts})
}

// apart gathers what is kept apart from its event.
func (j *journal) apart(p payload) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.payloads = append(j.payloads, p)
}

// record gathers one event under a new id.
func (j *journal) record(meta domain.Meta, ev domain.Event) {
	j.add(meta, eventstore.Fact{ID: j.rt.NewID(), Event: ev})
}

// gathered reports how many events are not appended yet.
func (j *journal) gathered() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.commits)
}

// appendEarly appends what is gathered without anybody waiting for it. What fails is
// tried again with the next append, which tells.
func (j *journal) appendEarly(ctx context.Context) {
	j.early.Go(func() { _, _ = j.append(ctx) })
}

// append keeps what is gathered, with more behind it. When it returns nil all of it is
// on disk, and everything that was gathered before.
func (j *journal) append(ctx context.Context, more ...eventstore.Commit) (receipt eventstore.Receipt, err error) {
	j.order.Lock()
	defer j.order.Unlock()
	if err := j.first(ctx); err != nil {
		return receipt, err
	}
	j.mu.Lock()
	if len(j.stuck) > 0 && j.rt.Now().Sub(j.since) > longestDoubt {
		j.mu.Unlock()
		return receipt, errDoubt
	}
	batches, payloads := append(j.stuck, split(append(j.commits, more...))...), j.payloads
	if len(j.stuck) == 0 {
		j.since = j.rt.Now()
	}
	j.stuck, j.commits, j.payloads = batches, nil, nil
	j.mu.Unlock()
	var beside sync.WaitGroup
	if len(payloads) > 0 {
		beside.Go(func() { j.keepApart(ctx, payloads) })
	}
	defer beside.Wait()
	for len(batches) > 0 {
		last := batches[0]
		if receipt, err = j.rt.Store.Append(ctx, last...); err != nil {
			if len(batches) == 1 && !errors.Is(err, eventstore.ErrUnavailable) && ctx.Err() == nil {
				j.remain(split(last[:len(last)-len(more)])) // it is refused for good: who wanted more is told
			}
			return receipt, err
		}
		batches = batches[1:]
		j.remain(batches)
	}
	return receipt, nil
}

// remain notes what is still to be appended.
func (j *journal) remain(batches []batch) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stuck, j.since = batches, j.rt.Now()
}

// longestDoubt is for how long it may be unknown whether something was appended. The log
// knows ids again for two minutes; appended after that it could be there twice. The tree
// breaks off instead: who finds out what became of it reads the log.
const longestDoubt = 90 * time.Second

var errDoubt = fmt.Errorf("%w: for too long it is unknown whether what happened was recorded", eventstore.ErrUnavailable)

// maxFacts is how many events the log takes at once.
const maxFacts = 1000

// split divides commits into what is appended at once.
func split(commits []eventstore.Commit) (batches []batch) {
	first, facts := 0, 0
	for i, c := range commits {
		if facts+len(c.Facts) > maxFacts {
			batches = append(batches, commits[first:i:i])
			first, facts = i, 0
		}
		facts += len(c.Facts)
	}
	if facts > 0 {
		batches = append(batches, commits[first:])
	}
	return batches
}

// How often what is kept apart is tried to be kept, and the pause in between.
const (
	apartAttempts = 5
	apartPause    = 200 * time.Millisecond
)

// keepApart keeps payloads. A tree is not the worse for one that could not be kept: its
// event tells all that happens because of it, and it goes in time anyway.
func (j *journal) keepApart(ctx context.Context, payloads []payload) {
	for _, p := range payloads {
		err := j.rt.Store.PutPayload(ctx, j.workspaceID, p.eventID, p.body)
		for attempt := 1; err != nil && attempt < apartAttempts && commands.Sleep(ctx, apartPause) == nil; attempt++ {
			err = j.rt.Store.PutPayload(ctx, j.workspaceID, p.eventID, p.body)
		}
		if err != nil {
			j.rt.Log.ErrorContext(ctx, "what an execution was given and gave was not kept", "workspace", j.workspaceID, "eventId", p.eventID, "err", err)
		}
	}
}

// close keeps all that is left, and tells whether everything is kept.
func (j *journal) close(ctx context.Context) error {
	j.early.Wait()
	_, err := j.append(ctx)
	return err
}
