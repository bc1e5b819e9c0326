package monitor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/natsuser"
	"svc/domain/operation"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
	"svc/streams/feed"
	"svc/streams/monitor"
)

const patience = time.Minute

// recordingPublisher is an outside that hears everything, and may be deaf for a while.
type recordingPublisher struct {
	mu        sync.Mutex
	deaf      int // so many times
	empty     bool
	published []string
	checked   int
}

var errDeaf = errors.New("deaf")

// HasClients implements monitor.Clients.
func (e *recordingPublisher) HasClients() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.empty
}

// Publish implements monitor.Clients.
func (e *recordingPublisher) Publish(_ context.Context, events []*feed.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.deaf > 0 {
		e.deaf--
		return errDeaf
	}
	for _, ev := range events {
		e.published = append(e.published, ev.ID)
	}
	return nil
}

// DisconnectRevoked implements monitor.Clients.
func (e *recordingPublisher) DisconnectRevoked() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.checked++
	return nil
}

func (e *recordingPublisher) set(change func(*recordingPublisher)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(e)
}

func (e *recordingPublisher) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.published...)
}

func (e *recordingPublisher) checks() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.checked
}

// fixture is a log that is monitored.
type fixture struct {
	t     *testing.T
	store *jetstream.Store
	ear   *recordingPublisher
}

func open(t *testing.T) *fixture {
	t.Helper()
	store, models := livetest.Open(t)
	quiet := slog.New(slog.DiscardHandler)
	events, err := feed.New(feed.Options{Models: models, Store: store.Log, Payloads: store.Payloads, Broadcast: store.Broadcast("live"), Log: quiet})
	require.NoError(t, err)
	h := &fixture{t, store, &recordingPublisher{}}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = events.Run(ctx) })
	h.emit("w1", "before", nil)
	livetest.Fresh(t, models)
	require.Eventually(t, func() bool { return events.Position().Activity > 0 }, patience, time.Millisecond)
	running.Go(func() {
		if err := (monitor.Monitor{Feed: events, Clients: h.ear, Pause: time.Millisecond, Log: quiet}).Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	require.Eventually(t, func() bool { return h.ear.checks() > 0 }, patience, time.Millisecond)
	return h
}

// emit records an event and returns its id.
func (h *fixture) emit(workspaceID, name string, target *domain.Target) string {
	h.t.Helper()
	return h.record(domain.StreamID{Scope: workspaceID}, eventstore.Fact{Event: domain.Unknown{Name: name, Body: json.RawMessage(`{}`)}, Target: target})
}

func (h *fixture) record(at domain.StreamID, fact eventstore.Fact) string {
	h.t.Helper()
	fact.ID = ulid.Make().String()
	_, err := h.store.Log.Append(h.t.Context(), eventstore.Commit{Stream: at, Facts: []eventstore.Fact{fact}})
	require.NoError(h.t, err)
	return fact.ID
}

// requirePublished waits until everything in want was heard, and nothing else.
func (h *fixture) requirePublished(want []string) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return len(h.ear.all()) >= len(want) }, patience, time.Millisecond)
	require.Equal(h.t, want, h.ear.all())
}

func TestWhatHappensFromNowOnIsTold(t *testing.T) {
	t.Parallel()
	h := open(t)
	var want []string
	for i := range 50 {
		want = append(want, h.emit(fmt.Sprintf("w%d", i%3), "happened", nil))
	}
	h.emit("w1", "secret", &domain.Target{SessionID: "s1", CurrentSocket: true})
	want = append(want, h.emit("w1", "happened", &domain.Target{UserID: "u1"}))
	h.requirePublished(want)
}

// Others hear what happens, and how far something is: never what the state is.
func TestStateStaysInside(t *testing.T) {
	t.Parallel()
	h := open(t)
	state := func(ev domain.Event) string {
		return h.record(operation.Stream("w1", "op_"+ev.EventType()), eventstore.Fact{Event: ev})
	}
	want := []string{h.emit("w1", "happened", nil)}
	h.record(natsuser.Stream("nu_1"), eventstore.Fact{Event: natsuser.Created{User: natsuser.User{ID: "nu_1"}}})
	state(operation.Started{})
	for _, ev := range []domain.Event{
		operation.Progress{}, operation.BulkPushStarted{}, operation.BulkPushProgress{}, operation.BulkPushCompleted{},
		operation.BulkImportStarted{}, operation.BulkImportProgress{}, operation.BulkImportCompleted{},
	} {
		want = append(want, state(ev))
	}
	state(operation.Ended{})
	h.requirePublished(append(want, h.emit("w1", "happened", nil)))
}

func TestWhatCouldNotBeToldIsToldLater(t *testing.T) {
	t.Parallel()
	h := open(t)
	var want []string
	for i := range 60 {
		if i%20 == 10 {
			h.ear.set(func(e *recordingPublisher) { e.deaf = 3 })
		}
		want = append(want, h.emit("w1", "happened", nil))
	}
	h.requirePublished(want)
}

func TestNobodyIsToldWhenNobodyListens(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.ear.set(func(e *recordingPublisher) { e.empty = true })
	h.emit("w1", natsuser.Deleted{}.EventType(), nil) // anybody can emit that
	h.emit("w1", "happened", nil)
	h.record(natsuser.Stream("nu_1"), eventstore.Fact{Event: natsuser.Deleted{User: natsuser.User{ID: "nu_1"}}})
	require.Eventually(t, func() bool { return h.ear.checks() == 2 }, patience, time.Millisecond, "once in the beginning, once for who was shut out")
	h.ear.set(func(e *recordingPublisher) { e.empty = false })
	h.requirePublished([]string{h.emit("w1", "heard", nil)})
	require.Equal(t, 2, h.ear.checks())
}
