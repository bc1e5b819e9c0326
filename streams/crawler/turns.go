package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"svc/commands"
	"svc/eventstore"
)

// turns lets so many requests at once be sent to a host, by all nodes together, and leaves the host alone after each.
// No node compares its clock with that of another: pauses and lost nodes are measured from when a revision was seen.
type turns struct {
	bucket eventstore.Bucket
	limit  int           // requests to one host
	expiry time.Duration // after which a request without an end is lost

	node chan struct{} // requests of this node

	mu    sync.Mutex
	local map[string]*localTurns
}

// localTurns are the turns of this node at a host.
type localTurns struct {
	slots chan struct{}
	users int
}

// hostState is what all nodes know of a host.
type hostState struct {
	Busy  map[string]bool `json:"busy,omitempty"`  // requests under way
	Pause int64           `json:"pause,omitempty"` // milliseconds for which it is left alone from this revision on
}

func newTurns(b eventstore.Bucket, limit, node int, expiry time.Duration) *turns {
	return &turns{bucket: b, limit: limit, expiry: expiry, node: make(chan struct{}, node), local: map[string]*localTurns{}}
}

// join returns the turns of this node at a host.
func (t *turns) join(host string) (l *localTurns, leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l = t.local[host]
	if l == nil {
		l = &localTurns{slots: make(chan struct{}, t.limit)}
		t.local[host] = l
	}
	l.users++
	return l, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(t.local, host)
		}
	}
}

// acquire waits for a turn at a host. It implements site.Turn.
func (t *turns) acquire(ctx context.Context, host string) (done func(pause time.Duration), err error) {
	l, leave := t.join(host)
	if err := take(ctx, l.slots); err != nil {
		leave()
		return nil, err
	}
	release := func() { <-l.slots; leave() }
	id := uuid.NewString()
	if err := t.enter(ctx, host, id); err != nil {
		release()
		return nil, err
	}
	if err := take(ctx, t.node); err != nil {
		t.leave(ctx, host, id, 0)
		release()
		return nil, err
	}
	return func(pause time.Duration) {
		<-t.node
		t.leave(ctx, host, id, pause)
		release()
	}, nil
}

func take(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Bounds of the wait for a host that is busy.
const (
	minPoll = 5 * time.Millisecond
	maxPoll = 250 * time.Millisecond
)

// enter waits until a request may be sent to a host, and records it.
func (t *turns) enter(ctx context.Context, host, id string) error {
	var seen uint64
	var since time.Time
	for poll := minPoll; ; poll = min(2*poll, maxPoll) {
		state, revision, err := t.load(ctx, host)
		if err != nil {
			return err
		}
		if revision != seen || since.IsZero() {
			seen, since, poll = revision, time.Now(), minPoll
		}
		if time.Since(since) > t.expiry {
			clear(state.Busy) // their nodes are gone
		}
		wait := time.Duration(state.Pause)*time.Millisecond - time.Since(since)
		if wait <= 0 && len(state.Busy) < t.limit {
			busy := map[string]bool{id: true}
			maps.Copy(busy, state.Busy)
			if err = t.store(ctx, host, hostState{Busy: busy}, revision); err == nil {
				return nil
			}
			if !errors.Is(err, eventstore.ErrConflict) {
				return err
			}
			continue
		}
		if wait <= 0 {
			wait = poll
		}
		if err := commands.Sleep(ctx, min(wait, maxPoll)); err != nil {
			return err
		}
	}
}

// leaveTimeout bounds how long the end of a request is recorded. One that is not recorded expires.
const leaveTimeout = 5 * time.Second

// leave records the end of a request, also when ctx has ended.
func (t *turns) leave(ctx context.Context, host, id string, pause time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	for {
		state, revision, err := t.load(ctx, host)
		if err != nil {
			return
		}
		delete(state.Busy, id)
		state.Pause = max(state.Pause, pause.Milliseconds())
		if err = t.store(ctx, host, state, revision); !errors.Is(err, eventstore.ErrConflict) {
			return
		}
	}
}

func (t *turns) load(ctx context.Context, host string) (s hostState, revision uint64, err error) {
	value, revision, err := t.bucket.Get(ctx, host)
	if errors.Is(err, eventstore.ErrNoKey) {
		return s, 0, nil
	}
	if err != nil {
		return s, 0, err
	}
	if json.Unmarshal(value, &s) != nil {
		s = hostState{} // nobody else writes here
	}
	return s, revision, nil
}

func (t *turns) store(ctx context.Context, host string, s hostState, revision uint64) error {
	value, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if revision == 0 {
		_, err = t.bucket.Create(ctx, host, value)
	} else {
		_, err = t.bucket.Update(ctx, host, value, revision)
	}
	return err
}
