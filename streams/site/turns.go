package site

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
	bucket eventstore.Bucket // nil: there is only one node
	limit  int               // requests to one host
	expiry time.Duration     // after which a request without an end is lost

	mu    sync.Mutex
	local map[string]*localTurns
	hosts map[string]localHost
}

// localHost is what this node knows of a host.
type localHost struct {
	hostState // when there is only one node
	revision  uint64
	at        time.Time // when the revision was seen for the first time
}

// localTurns are the turns of this node at a host.
type localTurns struct {
	slots chan struct{}
	users int
}

// HostTime is how long what is known of a host is kept.
const HostTime = 2 * time.Hour

// hostState is what all nodes know of a host.
type hostState struct {
	Busy  map[string]bool `json:"busy,omitempty"`  // requests under way
	Pause int64           `json:"pause,omitempty"` // milliseconds for which it is left alone from this revision on
}

func newTurns(b eventstore.Bucket, limit int, expiry time.Duration) *turns {
	return &turns{bucket: b, limit: limit, expiry: expiry, local: map[string]*localTurns{}, hosts: map[string]localHost{}}
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

// acquire waits for a turn at a host, at most for patience; 0: as long as it takes. Done ends the turn: the host is left
// alone for a while.
func (t *turns) acquire(ctx context.Context, host string, patience time.Duration) (done func(pause time.Duration), err error) {
	l, leave := t.join(host)
	release := func() { <-l.slots; leave() }
	id := uuid.NewString()
	err = withPatience(ctx, patience, func(ctx context.Context) error {
		if err := take(ctx, l.slots); err != nil {
			leave()
			return err
		}
		err := t.enter(ctx, host, id)
		if err != nil {
			release()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return func(pause time.Duration) {
		t.leave(ctx, host, id, pause)
		release()
	}, nil
}

// withPatience waits for something, at most for patience; 0: as long as it takes. It fails with a *Fault when that is not
// enough.
func withPatience(ctx context.Context, patience time.Duration, wait func(context.Context) error) error {
	if patience == 0 {
		return wait(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := wait(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return busyFault(0)
	}
	return err
}

func busyFault(again time.Duration) *Fault {
	fault := passingFault(again, "the site is busy with other requests, or has asked for a pause")
	fault.Busy = true
	return fault
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

// enter waits until a request may be sent to a host, and records it. A pause that is longer than ctx is not waited for.
func (t *turns) enter(ctx context.Context, host, id string) error {
	var seen uint64
	for poll := minPoll; ; poll = min(2*poll, maxPoll) {
		state, revision, err := t.load(ctx, host)
		if err != nil {
			return err
		}
		if revision != seen {
			seen, poll = revision, minPoll
		}
		since := t.firstSeen(host, revision)
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
		if end, ok := ctx.Deadline(); ok && wait > time.Until(end) {
			return busyFault(wait)
		}
		if wait <= 0 {
			wait = poll
		}
		if err := commands.Sleep(ctx, min(wait, maxPoll)); err != nil {
			return err
		}
	}
}

// firstSeen returns when this node saw a revision of a host for the first time.
func (t *turns) firstSeen(host string, revision uint64) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, found := t.hosts[host]
	if !found || h.revision != revision {
		h.revision, h.at = revision, time.Now()
		t.keep(host, h)
	}
	return h.at
}

// maxHosts is how many hosts a node knows before it forgets those that nobody has asked for a while.
const maxHosts = 1000

// keep stores what this node knows of a host. t.mu is held.
func (t *turns) keep(host string, h localHost) {
	if _, found := t.hosts[host]; !found && len(t.hosts) >= maxHosts {
		maps.DeleteFunc(t.hosts, func(_ string, h localHost) bool { return len(h.Busy) == 0 && h.at.Before(time.Now().Add(-HostTime)) })
	}
	t.hosts[host] = h
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
	if t.bucket == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		h := t.hosts[host]
		return hostState{maps.Clone(h.Busy), h.Pause}, h.revision, nil
	}
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
	if t.bucket == nil {
		return t.storeLocally(host, s, revision)
	}
	value, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if revision == 0 {
		revision, err = t.bucket.Create(ctx, host, value)
	} else {
		revision, err = t.bucket.Update(ctx, host, value, revision)
	}
	if err == nil {
		t.firstSeen(host, revision)
	}
	return err
}

func (t *turns) storeLocally(host string, s hostState, revision uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hosts[host].revision != revision {
		return eventstore.ErrConflict
	}
	t.keep(host, localHost{s, revision + 1, time.Now()})
	return nil
}
