package runtime_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

func TestATreeThatEndsWithManyEventsAtOnceIsRecorded(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"repeat":{"until":70,"do":[{"c":{}}]}}]`, "c": `[]`})
	h.runs(h.evented())
	types := h.types()
	require.Equal(t, 70, strings.Count(strings.Join(types, "\n"), "executed c"))
	require.Equal(t, "runtime.automations.executed a", types[len(types)-1])
}

func TestWhatWasGatheredOutlivesAnAppendThatFailed(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":0.01}},{"c":{}},{"try":{"do":[{"set":{"name":"$http.chunk","value":1}}]}}]`, "c": `[]`})
	once := first()
	h.store.refuse(func(c []eventstore.Commit) bool { return tells(c, activity.Executed{}.EventType()) && once() })
	h.runs(h.start())
	require.Contains(t, h.types(), "runtime.automations.executed c")
}

func TestNoChunkLeavesBeforeWhatTriggeredTheTreeIsOnDisk(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"set":{"name":"$http.chunk","value":{"i":1}}}]`})
	h.store.refuse(func([]eventstore.Commit) bool { return true })
	s, sent := h.start(), 0
	s.Facts = []domain.Event{activity.EndpointCalled{AutomationSlug: "a", Method: "GET", Endpoint: "a"}}
	s.HTTP.Send = func(context.Context, []byte) { sent++ }
	_, err := h.ends(h.Launch(s))
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.Zero(t, sent)
}

func TestAnEarlyEventThatFailedIsThereBeforeAChunk(t *testing.T) {
	t.Parallel()
	chunk := `{"set":{"name":"$http.chunk","value":{"i":1}}}`
	h := open(t, documents{"a": `[{"run":{"module":"crypto","function":"randomUUID"}},{"try":{"do":[` + chunk + `]}},` + chunk + `]`})
	once := first()
	h.store.refuse(func([]eventstore.Commit) bool { return once() })
	s, sent := h.start(), 0
	s.Facts = []domain.Event{activity.EndpointCalled{AutomationSlug: "a", Method: "GET", Endpoint: "a"}}
	s.HTTP.Send = func(context.Context, []byte) {
		sent++
		require.Contains(t, h.types(), activity.EndpointCalled{}.EventType())
		require.Contains(t, h.types(), activity.TreeStarted{}.EventType())
	}
	h.runs(s)
	require.NotZero(t, sent)
}

func TestATreeStandsOnceItsStartIsOnTheLog(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":600}}]`})
	h.store.refuse(func([]eventstore.Commit) bool { return true })
	run := h.Launch(h.evented())
	_, err := h.ends(run)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.False(t, closed(run.Parked()))

	h.store.refuse(func([]eventstore.Commit) bool { return false })
	run = h.Launch(h.evented())
	select {
	case <-run.Parked():
	case <-time.After(patience):
		t.Fatal("the tree does not stand")
	}
	require.Equal(t, []string{activity.TreeStarted{}.EventType(), activity.WaitPending{}.EventType()}, h.types())
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestWhatAnExecutionGaveIsKeptAfterAHiccup(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"break":{}}]`})
	h.store.payloads.Store(2)
	h.runs(h.start())
	i := slices.IndexFunc(h.events(), func(ev eventstore.Fact) bool { return ev.Event.EventType() == (activity.Executed{}).EventType() })
	_, ok, err := h.store.Payloads.Get(t.Context(), "w1", h.events()[i].ID)
	require.NoError(t, err)
	require.True(t, ok)
}

func TestATreeIsNotTheWorseForAPayloadThatCannotBeKept(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[]`})
	h.store.payloads.Store(1000)
	h.runs(h.evented())
	require.Contains(t, h.types(), "runtime.automations.executed a")
}

func TestAnEventThatIsRefusedForGoodKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"c":{}},{"try":{"do":[{"emit":{"event":"e"}}],"catch":[{"set":{"name":"global.told","value":"{{$error.error}}"}}]}},{"emit":{"event":"f"}}]`, "c": `[]`})
	h.store.deny(func(c []eventstore.Commit) bool { return tells(c, "e") })
	h.runs(h.start())
	require.Equal(t, 1, executed(h, "c"))
	require.Contains(t, h.types(), "f")
	require.NotContains(t, h.types(), "e")
	require.NotEqual(t, `{}`, h.holds("global"), "who emitted it is told")

	h = open(t, documents{"a": `[{"c":{}},{"wait":{"timeout":0.1}},{"emit":{"event":"f"}}]`, "c": `[]`})
	h.store.deny(func(c []eventstore.Commit) bool { return tells(c, activity.WaitPending{}.EventType()) })
	h.runs(h.start())
	require.Equal(t, 1, executed(h, "c"), "what was gathered with it is there")
	require.Contains(t, h.types(), "f")
}
