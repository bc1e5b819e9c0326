package runtime

import (
	"context"
	"encoding/json"
	"sync"

	"svc/domain"
	"svc/eventstore"
)

// journal keeps the events of a tree, in order. Those that nobody waits for are
// gathered, and are appended together with the next one that somebody does.
type journal struct {
	rt          *Runtime
	workspaceID string

	order sync.Mutex     // held while appending: what is gathered later is appended later
	early sync.WaitGroup // appends that nobody waits for yet

	mu       sync.Mutex
	commits  []eventstore.Commit
	payloads []payload
	failed   error // of an append that nobody waits for yet
}

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

// appendEarly appends what is gathered without anybody waiting for it.
func (j *journal) appendEarly(ctx context.Context) {
	j.early.Go(func() {
		if _, err := j.append(ctx); err != nil {
			j.mu.Lock()
			j.failed = err
			j.mu.Unlock()
		}
	})
}

// append keeps what is gathered, with more behind it. When it returns nil all of it is
// on disk.
func (j *journal) append(ctx context.Context, more ...eventstore.Commit) (eventstore.Receipt, error) {
	j.order.Lock()
	defer j.order.Unlock()
	j.mu.Lock()
	commits, payloads := append(j.commits, more...), j.payloads
	j.commits, j.payloads = nil, nil
	j.mu.Unlock()
	if len(commits) == 0 {
		return eventstore.Receipt{}, nil
	}
	var beside sync.WaitGroup
	var failed error
	if len(payloads) > 0 {
		beside.Go(func() {
			for _, p := range payloads {
				if err := j.rt.Store.PutPayload(ctx, j.workspaceID, p.eventID, p.body); err != nil {
					failed = err
				}
			}
		})
	}
	receipt, err := j.rt.Store.Append(ctx, commits...)
	beside.Wait()
	if err == nil {
		err = failed
	}
	return receipt, err
}

// close keeps all that is left, and tells whether everything is kept.
func (j *journal) close(ctx context.Context) error {
	j.early.Wait()
	j.mu.Lock()
	failed := j.failed
	j.mu.Unlock()
	if failed != nil {
		return failed
	}
	_, err := j.append(ctx)
	return err
}
