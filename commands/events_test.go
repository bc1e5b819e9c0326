package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

// emitter records events in store, and notes what live readers get.
func emitter(t *testing.T, store eventstore.Store, live *[]domain.Recorded) commands.Events {
	t.Helper()
	e, err := commands.NewEngine(commands.EngineOptions{Store: store, Host: domain.Host{Service: "test", Replica: "n1"}})
	require.NoError(t, err)
	return commands.Events{
		Engine: e, Now: time.Now, Limit: func() int { return 1000 },
		Live: func(workspaceID string, ev domain.Recorded) {
			require.Equal(t, workspaceID, ev.Stream.Scope)
			*live = append(*live, ev)
		},
	}
}

func emission(eventType, payload string) commands.Emission {
	return commands.Emission{Type: eventType, Payload: json.RawMessage(payload)}
}

func TestABatchIsRecordedAsItIsAnswered(t *testing.T) {
	t.Parallel()
	var live []domain.Recorded
	store := openStore(t)
	events := emitter(t, store.Log, &live)
	req := &commands.Request{Meta: domain.Meta{UserID: "u1", SessionID: "s1", CorrelationID: "c1"}}
	ctx := commands.WithRequest(t.Context(), req)

	odd := commands.Emission{
		Type: "order.shipped", Payload: json.RawMessage(`{"html":"<b>&é"}`),
		Target: &domain.Target{UserID: "u2", CurrentSocket: true}, Options: domain.EventOptions{AggPayload: true},
	}
	got, err := events.Emit(ctx, "w1", []commands.Emission{emission("order.paid", `{ "id": 7 }`), odd, emission("error", `{"error":"e","message":"m"}`)})
	require.NoError(t, err)
	require.Empty(t, live)
	require.Equal(t, livetest.Activity(t, store.Log), got)

	require.Len(t, got, 3)
	require.Equal(t, domain.Position{Activity: got[2].Seq}, req.Position())
	first := got[0]
	require.Equal(t, domain.Unknown{Name: "order.paid", Body: json.RawMessage(`{"id":7}`)}, first.Data)
	require.JSONEq(t, `{"id":7}`, string(first.Body))
	require.Equal(t, domain.Meta{
		UserID: "u1", SessionID: "s1", CorrelationID: "c1", ServiceTopic: "topic:runtime:emit", Host: domain.Host{Service: "test", Replica: "n1"},
	}, first.Meta)
	require.Equal(t, odd.Target, got[1].Target)
	require.Equal(t, odd.Options, got[1].Options)
	require.JSONEq(t, `{"html":"<b>&é"}`, string(got[1].Body))
	require.Equal(t, activity.Failure{Error: "e", Message: "m"}, got[2].Data)
	require.Empty(t, req.Meta.ServiceTopic, "what else the request causes is no emission")
}

func TestARefusedBatchRecordsNothing(t *testing.T) {
	t.Parallel()
	var live []domain.Recorded
	store := openStore(t)
	events := emitter(t, store.Log, &live)
	no := errors.New("no")
	for name, test := range map[string]struct {
		last commands.Emission
		may  func(domain.Recorded) error
	}{
		"not acceptable": {last: emission("*", `{}`)},
		"a native type":  {last: emission("workspaces.created", `{}`)},
		"too large":      {last: emission("big", `{"a":"`+strings.Repeat("x", 1000)+`"}`)},
		"not allowed": {emission("secret", `{}`), func(ev domain.Recorded) error {
			require.Equal(t, "topic:runtime:emit", ev.Meta.ServiceTopic)
			if ev.Data.EventType() == "secret" {
				return no
			}
			return nil
		}},
	} {
		may := []func(domain.Recorded) error{}
		if test.may != nil {
			may = append(may, test.may)
		}
		_, err := events.Emit(t.Context(), "w1", []commands.Emission{emission("fine", `{}`), transientEmission("live"), test.last}, may...)
		require.Error(t, err, name)
	}
	require.Empty(t, livetest.Activity(t, store.Log))
	require.Empty(t, live)
}

func transientEmission(eventType string) commands.Emission {
	return commands.Emission{Type: eventType, Options: domain.EventOptions{Persist: new(false)}}
}

func TestWhatIsNotKeptReachesLiveReadersOnly(t *testing.T) {
	t.Parallel()
	var live []domain.Recorded
	store := openStore(t)
	events := emitter(t, store.Log, &live)
	got, err := events.Emit(t.Context(), "w1", []commands.Emission{transientEmission("typing"), emission("kept", `{}`), transientEmission("moving")})
	require.NoError(t, err)
	require.Len(t, livetest.Activity(t, store.Log), 1)
	require.Equal(t, []uint64{0, livetest.Activity(t, store.Log)[0].Seq, 0}, []uint64{got[0].Seq, got[1].Seq, got[2].Seq})
	require.Equal(t, []domain.Recorded{got[0], got[2]}, live)
	require.Equal(t, "typing", live[0].Data.EventType())
	require.JSONEq(t, `{}`, string(live[0].Body))
	require.NotEmpty(t, live[0].ID)
	require.NotEqual(t, live[0].ID, got[1].ID)

	events.Live = nil
	_, err = events.Emit(t.Context(), "w1", []commands.Emission{transientEmission("typing")})
	require.NoError(t, err, "nobody listens")
	require.Len(t, livetest.Activity(t, store.Log), 1)
}

// A client that repeats its request under the same key meets the events of the first.
func TestARepeatedEmissionMeetsItsOwnEvents(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	events := emitter(t, store.Log, new([]domain.Recorded))
	batch := []commands.Emission{emission("a", `{}`), emission("b", `{}`)}
	emit := func(seed string, batch ...commands.Emission) []domain.Recorded {
		got, err := events.Emit(commands.WithRequest(t.Context(), &commands.Request{Seed: seed}), "w1", batch)
		require.NoError(t, err)
		return got
	}
	first := emit("key", batch...)
	require.Equal(t, first, emit("key", batch...), "also its times")
	require.Len(t, livetest.Activity(t, store.Log), 2)
	require.Equal(t, emit("one", batch[0]), emit("one", batch[0]))
	require.Len(t, livetest.Activity(t, store.Log), 3)
	require.NotEqual(t, first[0].ID, emit("other", batch...)[0].ID)
	require.Len(t, livetest.Activity(t, store.Log), 5)
}

// unreadableLog is a log that takes events and cannot read them back.
type unreadableLog struct{ eventstore.Store }

func (b unreadableLog) Reread(_ context.Context, _ domain.Log, _ []uint64) ([]domain.Recorded, error) {
	return nil, eventstore.ErrUnavailable
}

func TestWhatWasRecordedIsAnsweredEvenIfItCannotBeReadBack(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	events := emitter(t, unreadableLog{store.Log}, new([]domain.Recorded))
	got, err := events.Emit(t.Context(), "w1", []commands.Emission{emission("a", `{}`), emission("b", `{}`)})
	require.NoError(t, err)
	kept := livetest.Activity(t, store.Log)
	for i := range kept {
		require.Equal(t, kept[i].ID, got[i].ID)
		require.Equal(t, kept[i].Seq, got[i].Seq)
		require.Equal(t, kept[i].Body, got[i].Body)
	}
}

func TestTheSubjectOfAnyTypeIsOne(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	events := emitter(t, store.Log, new([]domain.Recorded))
	types := []string{"a..b", ".a", "a.", " a ", "...", " ", "-_", strings.Repeat(".", 200), strings.Repeat("x", 200)}
	var batch []commands.Emission
	for _, name := range types {
		batch = append(batch, emission(name, `{}`))
	}
	_, err := events.Emit(t.Context(), "w1", batch)
	require.NoError(t, err)
	var got []string
	for _, ev := range livetest.Activity(t, store.Log) {
		got = append(got, ev.Data.EventType())
	}
	require.Equal(t, types, got)
}

// limits are those of a platform that keeps executions shorter than the rest.
func limits(eventType string) int {
	if eventType == "runtime.automations.executed" {
		return 300
	}
	return 1000
}

func TestAnExecutionThatIsTooLargeIsRecordedWithoutWhatWentInAndOut(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	e, err := commands.NewEngine(commands.EngineOptions{Store: store.Log, Limit: limits})
	require.NoError(t, err)
	small := activity.Executed{Slug: "pay", ExecutionID: "x1", Input: json.RawMessage(`{"n":1e2}`), Output: json.RawMessage(`"é"`), StartedAt: "now"}
	large := small
	large.Output = json.RawMessage(`"` + strings.Repeat("é", 300) + `"`)
	require.NoError(t, e.Record(t.Context(), "w1", small))
	require.NoError(t, e.Record(t.Context(), "w1", large))
	large.Error = &activity.Failure{Error: "Oops", Message: strings.Repeat("m", 5000)}
	require.NoError(t, e.Record(t.Context(), "w1", large))
	events := livetest.Activity(t, store.Log)
	require.Equal(t, small, events[0].Data)
	require.Equal(t, activity.Executed{Slug: "pay", ExecutionID: "x1", StartedAt: "now", Truncated: true}, events[1].Data)
	var shown map[string]any
	require.NoError(t, json.Unmarshal(events[1].Body, &shown))
	require.Contains(t, shown, "payload", "they are null, not absent")
	require.Contains(t, shown, "output")
	failed := events[2].Data.(activity.Executed)
	require.Equal(t, []any{true, "Oops", "pay"}, []any{failed.Truncated, failed.Error.Error, failed.Slug})
	require.LessOrEqual(t, utf8.RuneCount(events[2].Body), 300)
}

func TestAnErrorWithHugeDetailsIsRecordedCut(t *testing.T) {
	t.Parallel()
	store := openStore(t)
	e, err := commands.NewEngine(commands.EngineOptions{Store: store.Log, Limit: limits})
	require.NoError(t, err)
	huge := activity.Failure{Error: "e", Message: "m", Details: map[string]any{"reason": "r", "body": strings.Repeat("x", 2<<20)}}
	require.NoError(t, e.Record(t.Context(), "w1", huge))
	require.NoError(t, e.Record(t.Context(), "w1", activity.Failure{Error: "e", Message: "small"}))
	events := livetest.Activity(t, store.Log)
	cut := events[0].Data.(activity.Failure)
	require.True(t, cut.Truncated)
	require.Equal(t, "r", cut.Details["reason"])
	require.Less(t, len(events[0].Body), 1010)
	require.Equal(t, activity.Failure{Error: "e", Message: "small"}, events[1].Data)
}

// partialBatchLog is a log in which a crash left half of the first batch that came.
type partialBatchLog struct {
	*jetstream.Log
	burned string
}

func (s *partialBatchLog) Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error) {
	if s.burned == "" || s.burned == commits[0].Facts[0].ID {
		s.burned = commits[0].Facts[0].ID
		return eventstore.Receipt{}, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, eventstore.ErrVoidIDs)
	}
	return s.Log.Append(ctx, commits...)
}

// Who repeats a request that a crash cut off is served: the ids of the first attempt
// are lost, the events are not.
func TestABatchThatACrashCutOffIsRecordedUnderOtherIDs(t *testing.T) {
	t.Parallel()
	store := &partialBatchLog{Log: openStore(t).Log}
	events := emitter(t, store, &[]domain.Recorded{})
	emit := func() []domain.Recorded {
		ctx := commands.WithRequest(t.Context(), &commands.Request{Seed: "key"})
		got, err := events.Emit(ctx, "w1", []commands.Emission{emission("a", `{}`), emission("b", `{}`)})
		require.NoError(t, err)
		return got
	}
	first := emit()
	require.NotEqual(t, store.burned, first[0].ID)
	require.Equal(t, first, emit(), "repeated once more it is the same")
	require.Equal(t, first, livetest.Activity(t, store.Log))
}
