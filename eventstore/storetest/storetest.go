// Package storetest is the contract of an event store as a test suite. Every
// deployment shape of the store runs it.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/workspace"
	"svc/eventstore"
)

// Run checks the store that open returns. Subtests share one store and use
// aggregates of their own.
func Run(t *testing.T, open func(*testing.T) eventstore.Store) {
	store := open(t)
	tests := map[string]func(*testing.T, eventstore.Store){
		"what is appended is loaded":                     roundTrip,
		"loading goes on after a sequence":               loadAfter,
		"a stale append is refused":                      stale,
		"an append to nothing expects nothing":           fresh,
		"one of many racers wins":                        race,
		"every racer wins in the end":                    retries,
		"a repeated append is recognised as one's own":   repeated,
		"a repeated append is recognised after others":   repeatedLater,
		"another's event is not taken for one's own":     notOwn,
		"a commit over two aggregates is all or nothing": twoAggregates,
		"a repeated commit over two is recognised":       repeatedBatch,
		"several facts of one decision are one commit":   severalFacts,
		"activity needs no expectation":                  activityAppend,
		"repeated activity is stored once":               activityRepeated,
		"streams do not see each other":                  isolation,
		"odd ids and types are kept as they are":         oddNames,
		"a cancelled append is refused":                  cancelled,
		"a subscription sees everything in order":        subscribe,
		"a subscription starts where it is told":         subscribeFrom,
		"a subscription says when it has caught up":      caughtUp,
		"an event too large is refused":                  tooLarge,
		"a long history is loaded whole":                 longHistory,
		"one event is read by its sequence":              readOne,
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) { tests[name](t, store) })
	}
}

// NewID returns a fresh event id.
func NewID() string { return ulid.Make().String() }

var serial atomic.Uint64

// newStream returns the id of an aggregate that does not exist yet.
func newStream() domain.StreamID {
	id := fmt.Sprintf("w%06d%d", serial.Add(1), time.Now().UnixNano())
	return workspace.Stream(id)
}

func created(name string) eventstore.Fact {
	return eventstore.Fact{ID: NewID(), Event: workspace.Created{Workspace: workspace.Snapshot{
		ID: "x", Settings: workspace.Settings{Name: name},
	}}}
}

func commit(id domain.StreamID, expected uint64, facts ...eventstore.Fact) eventstore.Commit {
	return eventstore.Commit{Stream: id, Expected: expected, Meta: domain.Meta{UserID: "u1", CorrelationID: "c1"}, Facts: facts}
}

func names(events []domain.Recorded) []string {
	var out []string
	for _, ev := range events {
		if c, ok := ev.Data.(workspace.Created); ok {
			out = append(out, c.Workspace.Settings.Name)
		} else {
			out = append(out, fmt.Sprintf("%T", ev.Data))
		}
	}
	return out
}

func mustAppend(t *testing.T, s eventstore.Store, commits ...eventstore.Commit) eventstore.Receipt {
	t.Helper()
	r, err := s.Append(t.Context(), commits...)
	require.NoError(t, err)
	return r
}

func mustLoad(t *testing.T, s eventstore.Store, id domain.StreamID) []domain.Recorded {
	t.Helper()
	events, err := s.Load(t.Context(), id, 0)
	require.NoError(t, err)
	return events
}

func roundTrip(t *testing.T, s eventstore.Store) {
	id, fact := newStream(), created("one")
	before := time.Now().Add(-time.Minute)
	r := mustAppend(t, s, commit(id, 0, fact))

	events := mustLoad(t, s, id)
	require.Len(t, events, 1)
	got := events[0]
	require.Equal(t, fact.ID, got.ID)
	require.Equal(t, fact.Event, got.Data)
	require.Equal(t, id, got.Stream)
	require.Equal(t, domain.State, got.Log)
	require.Equal(t, r.Seqs, []uint64{got.Seq})
	require.Equal(t, r.Position, domain.At(domain.State, got.Seq))
	require.Equal(t, "u1", got.Meta.UserID)
	require.Equal(t, "c1", got.Meta.CorrelationID)
	require.WithinRange(t, got.At, before, time.Now().Add(time.Minute))
}

func loadAfter(t *testing.T, s eventstore.Store) {
	id := newStream()
	first := mustAppend(t, s, commit(id, 0, created("a"))).Seqs[0]
	mustAppend(t, s, commit(id, first, created("b")))
	events, err := s.Load(t.Context(), id, first)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, names(events))
}

func stale(t *testing.T, s eventstore.Store) {
	id := newStream()
	first := mustAppend(t, s, commit(id, 0, created("a"))).Seqs[0]
	mustAppend(t, s, commit(id, first, created("b")))
	_, err := s.Append(t.Context(), commit(id, first, created("late")))
	require.ErrorIs(t, err, eventstore.ErrConflict)
	require.Equal(t, []string{"a", "b"}, names(mustLoad(t, s, id)))
}

func fresh(t *testing.T, s eventstore.Store) {
	id := newStream()
	_, err := s.Append(t.Context(), commit(id, 7, created("a")))
	require.ErrorIs(t, err, eventstore.ErrConflict)
	require.Empty(t, mustLoad(t, s, id))
}

func race(t *testing.T, s eventstore.Store) {
	id := newStream()
	var wins, conflicts atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := s.Append(t.Context(), commit(id, 0, created("r")))
			switch {
			case err == nil:
				wins.Add(1)
			case isConflict(err):
				conflicts.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, wins.Load())
	require.EqualValues(t, 7, conflicts.Load())
	require.Len(t, mustLoad(t, s, id), 1)
}

func retries(t *testing.T, s eventstore.Store) {
	id := newStream()
	var wg sync.WaitGroup
	const writers, each = 4, 10
	for range writers {
		wg.Go(func() {
			for range each {
				if err := appendNext(t.Context(), s, id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, mustLoad(t, s, id), writers*each)
}

// appendNext adds one event after whatever is there.
func appendNext(ctx context.Context, s eventstore.Store, id domain.StreamID) error {
	fact := created("n")
	for {
		events, err := s.Load(ctx, id, 0)
		if err != nil {
			return err
		}
		last := uint64(0)
		if len(events) > 0 {
			last = events[len(events)-1].Seq
		}
		if _, err = s.Append(ctx, commit(id, last, fact)); !isConflict(err) {
			return err
		}
	}
}

func repeated(t *testing.T, s eventstore.Store) {
	id, fact := newStream(), created("once")
	first := mustAppend(t, s, commit(id, 0, fact))
	again := mustAppend(t, s, commit(id, 0, fact))
	require.Equal(t, first, again)
	require.Len(t, mustLoad(t, s, id), 1)
}

func repeatedLater(t *testing.T, s eventstore.Store) {
	id, fact := newStream(), created("once")
	first := mustAppend(t, s, commit(id, 0, fact))
	mustAppend(t, s, commit(id, first.Seqs[0], created("other")))
	again := mustAppend(t, s, commit(id, 0, fact))
	require.Equal(t, first, again)
	require.Equal(t, []string{"once", "other"}, names(mustLoad(t, s, id)))
}

func notOwn(t *testing.T, s eventstore.Store) {
	id := newStream()
	mustAppend(t, s, commit(id, 0, created("theirs")))
	_, err := s.Append(t.Context(), commit(id, 0, created("mine")))
	require.ErrorIs(t, err, eventstore.ErrConflict)
}

func twoAggregates(t *testing.T, s eventstore.Store) {
	a, b := newStream(), newStream()
	r := mustAppend(t, s, commit(a, 0, created("a")), commit(b, 0, created("b")))
	require.Len(t, r.Seqs, 2)
	require.Equal(t, []string{"a"}, names(mustLoad(t, s, a)))
	require.Equal(t, []string{"b"}, names(mustLoad(t, s, b)))

	c := newStream()
	_, err := s.Append(t.Context(), commit(c, 0, created("c")), commit(b, 0, created("taken")))
	require.ErrorIs(t, err, eventstore.ErrConflict)
	require.Empty(t, mustLoad(t, s, c), "nothing of a refused commit may be stored")
	require.Equal(t, []string{"b"}, names(mustLoad(t, s, b)))
}

func repeatedBatch(t *testing.T, s eventstore.Store) {
	a, b := newStream(), newStream()
	commits := []eventstore.Commit{commit(a, 0, created("a")), commit(b, 0, created("b"))}
	first := mustAppend(t, s, commits...)
	require.Equal(t, first, mustAppend(t, s, commits...))
	require.Len(t, mustLoad(t, s, a), 1)
}

func severalFacts(t *testing.T, s eventstore.Store) {
	id := newStream()
	r := mustAppend(t, s, commit(id, 0, created("a"), created("b"), created("c")))
	require.Equal(t, []string{"a", "b", "c"}, names(mustLoad(t, s, id)))
	_, err := s.Append(t.Context(), commit(id, r.Seqs[1], created("late")))
	require.ErrorIs(t, err, eventstore.ErrConflict)
	mustAppend(t, s, commit(id, r.Seqs[2], created("d")))
}

func activityAppend(t *testing.T, s eventstore.Store) {
	scope := domain.StreamID{Scope: newStream().ID}
	fact := eventstore.Fact{ID: NewID(), Event: activity.Failure{Error: "x", Message: "y"}}
	r := mustAppend(t, s, eventstore.Commit{Stream: scope, Facts: []eventstore.Fact{fact}})
	require.NotZero(t, r.Position.Activity)
	require.Zero(t, r.Position.State)
	ev, ok, err := s.Read(t.Context(), domain.Activity, r.Position.Activity)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, fact.Event, ev.Data)
	require.Equal(t, scope, ev.Stream)
}

func activityRepeated(t *testing.T, s eventstore.Store) {
	c := eventstore.Commit{
		Stream: domain.StreamID{Scope: newStream().ID},
		Facts:  []eventstore.Fact{{ID: NewID(), Event: activity.Failure{Error: "x"}}},
	}
	require.Equal(t, mustAppend(t, s, c), mustAppend(t, s, c))
}

func isolation(t *testing.T, s eventstore.Store) {
	a := newStream()
	b := domain.StreamID{Scope: a.Scope, Kind: a.Kind, ID: a.ID + "x"}
	c := domain.StreamID{Scope: a.Scope, Kind: "other", ID: a.ID}
	for _, id := range []domain.StreamID{a, b, c} {
		mustAppend(t, s, commit(id, 0, created(id.String())))
	}
	for _, id := range []domain.StreamID{a, b, c} {
		require.Equal(t, []string{id.String()}, names(mustLoad(t, s, id)))
	}
}

func oddNames(t *testing.T, s eventstore.Store) {
	for _, odd := range []string{"a.b", "a b", "*", ">", "$JS", "", "ü", "a\nb", "%2E", strings.Repeat("é", 90)} {
		id := newStream()
		id.ID += odd
		ev := domain.Unknown{Name: "custom." + odd, Body: []byte(`{"a":1}`)}
		mustAppend(t, s, eventstore.Commit{Stream: id, Facts: []eventstore.Fact{{ID: NewID(), Event: ev}}})
		events := mustLoad(t, s, id)
		require.Len(t, events, 1, "%q", odd)
		require.Equal(t, id, events[0].Stream)
		require.Equal(t, ev, events[0].Data)
	}
}

func cancelled(t *testing.T, s eventstore.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	id := newStream()
	_, err := s.Append(ctx, commit(id, 0, created("a")))
	require.Error(t, err)
	require.Empty(t, mustLoad(t, s, id))
}

func longHistory(t *testing.T, s eventstore.Store) {
	const n = 1203
	id, last := newStream(), uint64(0)
	facts := make([]eventstore.Fact, 0, 300)
	for i := range n {
		facts = append(facts, created(fmt.Sprint(i)))
		if len(facts) == cap(facts) || i == n-1 {
			r := mustAppend(t, s, commit(id, last, facts...))
			last, facts = r.Position.State, facts[:0]
		}
	}
	events := mustLoad(t, s, id)
	require.Len(t, events, n)
	require.True(t, slices.IsSortedFunc(events, func(a, b domain.Recorded) int { return int(a.Seq) - int(b.Seq) }))
	require.Equal(t, "0", names(events)[0])
}

func readOne(t *testing.T, s eventstore.Store) {
	fact := created("one")
	r := mustAppend(t, s, commit(newStream(), 0, fact))
	ev, ok, err := s.Read(t.Context(), domain.State, r.Seqs[0])
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, fact.ID, ev.ID)
	_, ok, err = s.Read(t.Context(), domain.State, r.Seqs[0]+1_000_000)
	require.NoError(t, err)
	require.False(t, ok)
}

func tooLarge(t *testing.T, s eventstore.Store) {
	id := newStream()
	_, err := s.Append(t.Context(), commit(id, 0, created(strings.Repeat("x", 2<<20))))
	require.Equal(t, domain.CodeInvalidRequest, domain.CodeOf(err))
	require.Empty(t, mustLoad(t, s, id))
}

var errSeenEnough = errors.New("seen enough")

func isConflict(err error) bool { return errors.Is(err, eventstore.ErrConflict) }

// read subscribes from seq until enough says so, and returns what it saw.
func read(t *testing.T, s eventstore.Store, from uint64, enough func(ev domain.Recorded) bool) []domain.Recorded {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var seen []domain.Recorded
	err := s.Subscribe(ctx, domain.State, from, func(b eventstore.Batch) error {
		for _, ev := range b.Events {
			seen = append(seen, ev)
			if enough(ev) {
				return errSeenEnough
			}
		}
		return nil
	})
	require.ErrorIs(t, err, errSeenEnough)
	return seen
}

func subscribe(t *testing.T, s eventstore.Store) {
	start, err := s.Info(t.Context(), domain.State)
	require.NoError(t, err)
	const writers, each = 4, 50
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			id := newStream()
			for range each {
				if err := appendNext(t.Context(), s, id); err != nil {
					t.Error(err)
				}
			}
		})
	}
	n := 0
	seen := read(t, s, start.Last+1, func(domain.Recorded) bool { n++; return n == writers*each })
	wg.Wait()
	for i, ev := range seen {
		require.Equal(t, start.Last+1+uint64(i), ev.Seq, "no gap, no repetition")
	}
}

func subscribeFrom(t *testing.T, s eventstore.Store) {
	id := newStream()
	r := mustAppend(t, s, commit(id, 0, created("a"), created("b"), created("c")))
	seen := read(t, s, r.Seqs[2], func(domain.Recorded) bool { return true })
	require.Equal(t, r.Seqs[2], seen[0].Seq)
}

func caughtUp(t *testing.T, s eventstore.Store) {
	r := mustAppend(t, s, commit(newStream(), 0, created("a")))
	for _, from := range []uint64{r.Seqs[0], r.Seqs[0] + 1} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := s.Subscribe(ctx, domain.State, from, func(b eventstore.Batch) error {
			if b.Pending == 0 {
				return errSeenEnough
			}
			return nil
		})
		cancel()
		require.ErrorIs(t, err, errSeenEnough)
	}
}
