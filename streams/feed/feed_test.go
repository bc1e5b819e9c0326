package feed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	domainfeed "svc/domain/feed"
	"svc/domain/session"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
	"svc/streams/feed"
)

const patience = time.Minute

// fixture is a log with its read models and a feed.
type fixture struct {
	t      testing.TB
	store  *jetstream.Store
	models *projections.Models
	feed   *feed.Feed
}

func open(t testing.TB) *fixture {
	store, models := livetest.Open(t)
	made, err := feed.New(feed.Options{Models: models, Store: store.Log, Payloads: store.Payloads, Broadcast: store.Broadcast("live")})
	require.NoError(t, err)
	h := &fixture{t, store, models, made}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = made.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return h
}

// emit records an activity event and returns its id.
func (h *fixture) emit(workspaceID, name string, payload any) string {
	body, err := json.Marshal(payload)
	require.NoError(h.t, err)
	id := ulid.Make().String()
	_, err = h.store.Log.Append(h.t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: workspaceID},
		Meta:   domain.Meta{CorrelationID: "c-" + name, UserID: "u1"},
		Facts:  []eventstore.Fact{{ID: id, Event: domain.Unknown{Name: name, Body: body}}},
	})
	require.NoError(h.t, err)
	return id
}

// fact records a fact about an aggregate of its own.
func (h *fixture) fact(workspaceID string) string {
	id := ulid.Make().String()
	_, err := h.store.Log.Append(h.t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: workspaceID, Kind: "session", ID: id}, Facts: []eventstore.Fact{{ID: id, Event: session.Ended{SessionID: id, UserID: "x"}}},
	})
	require.NoError(h.t, err)
	return id
}

func (h *fixture) walk(r feed.Range) (ids []string, events []*feed.Event) {
	require.NoError(h.t, h.feed.Walk(h.t.Context(), r, func(e *feed.Event) (bool, error) {
		ids, events = append(ids, e.ID), append(events, e)
		return true, nil
	}))
	return ids, events
}

func TestTheFeedIsBothLogsInOrder(t *testing.T) {
	h := open(t)
	var want []string
	for i := range 90 {
		switch i % 3 {
		case 0:
			want = append(want, h.fact("w1"))
		case 1:
			want = append(want, h.emit("w1", fmt.Sprintf("t%d", i%2), map[string]any{"n": i}))
		default:
			h.emit("w2", "other", nil)
		}
	}
	livetest.Fresh(t, h.models)
	up, events := h.walk(feed.Range{WorkspaceID: "w1"})
	require.Equal(t, want, up)
	down, events2 := h.walk(feed.Range{WorkspaceID: "w1", Descending: true})
	slices.Reverse(down)
	require.Equal(t, want, down)
	slices.Reverse(events2)
	for i := range events {
		require.Equal(t, events[i].Seq, events2[i].Seq, "an event has one position, whichever way it is found")
		rest, _ := h.walk(feed.Range{WorkspaceID: "w1", After: events[i].Seq})
		require.Equal(t, want[i+1:], append([]string{}, rest...))
		until := feed.PositionBefore(events[i])
		older, _ := h.walk(feed.Range{WorkspaceID: "w1", Until: &until})
		require.Len(t, older, i)
	}
	one, found, err := h.feed.Get(t.Context(), "w1", want[7])
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, events[7].Seq, one.Seq)
	all, _ := h.walk(feed.Range{})
	require.Len(t, all, 90)
	allDown, _ := h.walk(feed.Range{Descending: true})
	slices.Reverse(allDown)
	require.Equal(t, all, allDown)
}

// Events that share a message have the same positions in a walk over all workspaces as in that of their own.
func TestAWalkOverAllWorkspacesFindsTheEventsOfAMessage(t *testing.T) {
	h := open(t)
	for round := range 6 {
		for _, workspaceID := range []string{"w1", "w2"} {
			var facts []eventstore.Fact
			for i := range 1 + round*3 {
				facts = append(facts, eventstore.Fact{ID: ulid.Make().String(), Event: domain.Unknown{Name: fmt.Sprintf("t%d", i%2), Body: []byte("{}")}})
			}
			_, err := h.store.Log.Append(t.Context(), eventstore.Commit{Stream: domain.StreamID{Scope: workspaceID}, Facts: facts})
			require.NoError(t, err)
			h.fact(workspaceID)
		}
	}
	livetest.Fresh(t, h.models)
	for _, filter := range []*feed.Filter{nil, {Types: []string{"t1"}}} {
		want := map[string]domain.Position{}
		for _, workspaceID := range []string{"w1", "w2"} {
			_, events := h.walk(feed.Range{WorkspaceID: workspaceID, Filter: filter})
			for _, e := range events {
				want[e.ID] = e.Seq
			}
		}
		for _, down := range []bool{false, true} {
			_, events := h.walk(feed.Range{Filter: filter, Descending: down})
			found := map[string]domain.Position{}
			for _, e := range events {
				found[e.ID] = e.Seq
			}
			require.Len(t, events, len(want))
			require.Equal(t, want, found)
		}
	}
}

// latePayloads come some time after their events, as on a busy machine.
type latePayloads struct {
	feed.Payloads
	misses atomic.Int64 // that are left
}

// Get implements feed.Payloads.
func (p *latePayloads) Get(ctx context.Context, workspaceID, eventID string, seq uint64) ([]byte, bool, error) {
	if p.misses.Add(-1) >= 0 {
		return nil, false, nil
	}
	return p.Payloads.Get(ctx, workspaceID, eventID, seq)
}

// A payload is stored after its event: who reads the event at once waits for it.
func TestAPayloadThatIsOnItsWayIsWaitedFor(t *testing.T) {
	t.Parallel()
	store, models := livetest.Open(t)
	late := &latePayloads{Payloads: store.Payloads}
	made, err := feed.New(feed.Options{Models: models, Store: store.Log, Payloads: late})
	require.NoError(t, err)
	id := ulid.Make().String()
	receipt, err := store.Log.Append(t.Context(), eventstore.Commit{Stream: domain.StreamID{Scope: "w1"}, Facts: []eventstore.Fact{{
		ID: id, Event: activity.Executed{Slug: "pay", ExecutionID: "x1", Apart: true, Logged: true}, Apart: []byte(`{"output":"paid","logs":["one"]}`),
	}}})
	require.NoError(t, err)
	livetest.Fresh(t, models)
	late.misses.Store(3)
	e, ok, err := made.Get(t.Context(), "w1", id)
	require.NoError(t, err)
	require.True(t, ok)
	require.False(t, e.Stripped)
	require.Contains(t, string(e.Payload), `"output":"paid"`)
	late.misses.Store(3)
	logs, err := made.Logs(t.Context(), "w1", id, receipt.Seqs[0], e.At)
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, logs)
	late.misses.Store(1)
	logs, err = made.Logs(t.Context(), "w1", id, receipt.Seqs[0], e.At.Add(-time.Minute))
	require.NoError(t, err)
	require.Empty(t, logs, "nothing is on its way a minute later")
}

func TestFiltersUseTheIndex(t *testing.T) {
	h := open(t)
	for i := range 40 {
		h.emit("w1", fmt.Sprintf("order.n%d", i%4), map[string]any{"n": i, "status": []string{"paid", "late"}[i%2], "note": "Grüße an Zoë"})
	}
	h.fact("w1")
	livetest.Fresh(t, h.models)
	for query, want := range map[string]int{
		"types=order.n1": 10, "types=order.*": 40, "types=order.n1,order.n2": 20, "text=grüße zoë": 40, "text=paid": 20, "text=pai*": 20,
		"text=nothing": 0, "payload.status=late": 20, "payload.n=7": 1, "payload.status=l*": 20, "payload.none=": 41,
		"source.correlationId=c-order.n3": 10, "source.userId=u1": 40, "source.userId=u2": 0,
	} {
		f := parse(t, query)
		ids, _ := h.walk(feed.Range{WorkspaceID: "w1", Descending: true, Filter: &f})
		require.Len(t, ids, want, query)
	}
}

// What others make up finds nothing, and harms nobody.
func TestForgedQuestionsFindNothing(t *testing.T) {
	h := open(t)
	h.emit("w1", "a", nil)
	h.fact("w1")
	livetest.Fresh(t, h.models)
	last := domain.Position{State: ^uint64(0), Activity: ^uint64(0)}
	for _, workspaceID := range []string{"w1", ""} {
		for _, down := range []bool{false, true} {
			found, _ := h.walk(feed.Range{WorkspaceID: workspaceID, After: last, Descending: down})
			require.Empty(t, found, "nothing follows the last position that there can be")
		}
	}
	for _, text := range []string{"c-a\x00", "c-a\x00\x00\x00", "c-a\x00\x00\x00\x00\x00\x00\x00\x00\x01", "\x00"} {
		found, _ := h.walk(feed.Range{WorkspaceID: "w1", Filter: &feed.Filter{Paths: []feed.PathFilter{{Path: "source.correlationId", Any: []string{text}}}}})
		require.Empty(t, found, "%q ends within a key of the index", text)
	}
}

func TestFollowersMissNothingAndGetNothingTwice(t *testing.T) {
	h := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const total = 800
	done := make(chan struct{})
	var writers, readers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for range total / 4 {
				if w == 0 {
					h.fact("w1")
				} else {
					h.emit("w1", "e", nil)
				}
			}
		})
	}
	go func() { writers.Wait(); close(done) }()
	got := make([][]string, 8)
	for i := range got {
		readers.Go(func() { got[i] = h.followInPieces(ctx, rand.New(rand.NewPCG(1, uint64(i))), total) })
	}
	<-done
	readers.Wait()
	livetest.Fresh(t, h.models)
	want, events := h.walk(feed.Range{WorkspaceID: "w1"})
	require.Len(t, want, total)
	for i := range got {
		require.Equal(t, want, got[i], "reader %d", i)
	}
	last := events[len(events)-1].Seq
	require.Equal(t, h.feed.Position(), last.Max(h.feed.Position()))
}

// followInPieces follows from the beginning, and breaks off and comes back at random.
func (h *fixture) followInPieces(ctx context.Context, random *rand.Rand, total int) (ids []string) {
	enough := errors.New("enough")
	at := domain.Position{}
	for len(ids) < total {
		left := 1 + random.IntN(120)
		err := h.feed.Follow(ctx, feed.Following{WorkspaceID: "w1", After: at}, func(d feed.Delivery) error {
			for _, e := range d.Events {
				ids, at = append(ids, e.ID), e.Seq
				if left--; left == 0 || len(ids) == total {
					return enough
				}
			}
			return nil
		})
		if !errors.Is(err, enough) {
			h.t.Errorf("follow: %v", err)
			return ids
		}
	}
	return ids
}

func TestWhoComesNowGetsNothingThatWasWrittenBefore(t *testing.T) {
	h := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 50 {
		h.emit("w1", "before", nil) // its readers may not have it yet
		ready, got := make(chan domain.Position, 1), make(chan *feed.Event, 10)
		round, leave := context.WithCancel(ctx)
		go func() {
			_ = h.feed.Follow(round, feed.Following{WorkspaceID: "w1", After: h.feed.Now(), Ready: func(p domain.Position) { ready <- p }}, func(d feed.Delivery) error {
				got <- d.Events[0]
				return nil
			})
		}()
		<-ready
		id := h.emit("w1", "after", nil)
		select {
		case e := <-got:
			require.Equal(t, id, e.ID)
		case <-ctx.Done():
			t.Fatal("nothing came")
		}
		leave()
	}
}

func TestWhatIsNotKeptReachesLiveReadersOnly(t *testing.T) {
	h := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ready, got := make(chan domain.Position, 1), make(chan *feed.Event, 1)
	go func() {
		_ = h.feed.Follow(ctx, feed.Following{WorkspaceID: "w1", After: h.feed.Position(), Ready: func(p domain.Position) { ready <- p }}, func(d feed.Delivery) error {
			got <- d.Events[0]
			return nil
		})
	}()
	<-ready
	no := false
	require.NoError(t, h.feed.SendTransient(domain.Recorded{
		ID: "x", Stream: domain.StreamID{Scope: "w1"}, At: time.Now(), Data: domain.Unknown{Name: "tick"}, Body: []byte(`{"a":1}`),
		Options: domain.EventOptions{Persist: &no},
	}))
	select {
	case e := <-got:
		require.Equal(t, "tick", e.Type)
		require.JSONEq(t, `{"a":1}`, string(e.Payload))
	case <-ctx.Done():
		t.Fatal("nothing came")
	}
	ids, _ := h.walk(feed.Range{WorkspaceID: "w1"})
	require.Empty(t, ids)
}

// counting is a log that counts what is read of it.
type counting struct {
	*jetstream.Log
	read int
}

// Reread implements feed.Store.
func (c *counting) Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error) {
	c.read += len(seqs)
	return c.Log.Reread(ctx, log, seqs)
}

// A walk over all workspaces reads nothing that is of another time.
func TestAWalkOverAllWorkspacesIsBoundedByTime(t *testing.T) {
	h := open(t)
	for range 20 {
		h.emit("w1", "a", nil)
		h.fact("w2")
		h.emit("w2", "b", nil)
	}
	livetest.Fresh(t, h.models)
	log := &counting{Log: h.store.Log}
	bounded, err := feed.New(feed.Options{Models: h.models, Store: log, Payloads: h.store.Payloads})
	require.NoError(t, err)
	h.feed = bounded
	_, all := h.walk(feed.Range{})
	require.Len(t, all, 60)
	for _, filter := range []feed.Filter{
		{After: all[50].Time()}, {Before: all[5].Time()}, {After: all[20].Time(), Before: all[30].Time()}, {After: all[59].Time()}, {Before: all[0].Time()},
		{After: all[30].Time(), Types: []string{"b"}},
	} {
		var want []string
		for _, e := range all {
			if filter.Match(e) {
				want = append(want, e.ID)
			}
		}
		log.read = 0
		up, _ := h.walk(feed.Range{Filter: &filter})
		require.Equal(t, want, up)
		require.Less(t, log.read, 45)
		down, _ := h.walk(feed.Range{Filter: &filter, Descending: true})
		slices.Reverse(down)
		require.Equal(t, want, down)
	}
}

// What the index knows is told without reading the log, and is the same.
func TestAWalkOverTheIndexReadsNothing(t *testing.T) {
	h := open(t)
	for range 10 {
		h.emit("w1", "a", map[string]any{"n": 1})
		h.fact("w1")
	}
	livetest.Fresh(t, h.models)
	_, whole := h.walk(feed.Range{WorkspaceID: "w1"})
	log := &counting{Log: h.store.Log}
	brief, err := feed.New(feed.Options{Models: h.models, Store: log, Payloads: h.store.Payloads})
	require.NoError(t, err)
	h.feed = brief
	_, events := h.walk(feed.Range{WorkspaceID: "w1", Need: feed.Indexed})
	require.Zero(t, log.read)
	require.Len(t, events, 20)
	for i, e := range events {
		for _, path := range []string{"id", "type", "createdAt", "source.workspaceId", "source.correlationId", "seq"} {
			require.Equal(t, whole[i].Values(path), e.Values(path), path)
		}
	}
	filter := feed.Filter{Types: []string{"a"}, After: whole[3].Time()}
	want, _ := h.walk(feed.Range{WorkspaceID: "w1", Filter: &filter, Descending: true})
	got, _ := h.walk(feed.Range{WorkspaceID: "w1", Filter: &filter, Descending: true, Need: feed.Indexed})
	require.Equal(t, want, got)
}

// Who has enough is asked before the index is gone through further.
func TestAWalkStopsWhereItIsAskedTo(t *testing.T) {
	h := open(t)
	for range 70 {
		h.emit("w1", "a", nil)
	}
	livetest.Fresh(t, h.models)
	asked := 0
	some, _ := h.walk(feed.Range{WorkspaceID: "w1", Stop: func() bool { asked++; return true }})
	require.Equal(t, 1, asked)
	require.Less(t, len(some), 70)
	all, _ := h.walk(feed.Range{WorkspaceID: "w1", Stop: func() bool { return false }})
	require.Len(t, all, 70)
	require.Equal(t, all[:len(some)], some)
}

func parse(t *testing.T, query string) domainfeed.Filter {
	values, err := url.ParseQuery(query)
	require.NoError(t, err)
	f, err := domainfeed.ParseFilter(values)
	require.NoError(t, err)
	return f
}
