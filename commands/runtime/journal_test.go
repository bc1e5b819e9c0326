package runtime_test

import (
	"context"
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
	h.mustRun(h.eventStart())
	types := h.types()
	require.Equal(t, 70, strings.Count(strings.Join(types, "\n"), "executed c"))
	require.Equal(t, "runtime.automations.executed a", types[len(types)-1])
}

func TestWhatWasGatheredOutlivesAnAppendThatFailed(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":0.01}},{"c":{}},{"try":{"do":[{"set":{"name":"$http.chunk","value":1}}]}}]`, "c": `[]`})
	once := onceTrue()
	h.store.refuse(func(c []eventstore.Commit) bool { return containsEvent(c, activity.Executed{}.EventType()) && once() })
	h.mustRun(h.start())
	require.Contains(t, h.types(), "runtime.automations.executed c")
}

func TestNoChunkLeavesBeforeWhatTriggeredTheTreeIsOnDisk(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"set":{"name":"$http.chunk","value":{"i":1}}}]`})
	h.store.refuse(func([]eventstore.Commit) bool { return true })
	s, sent := h.start(), 0
	s.Facts = []domain.Event{activity.EndpointCalled{AutomationSlug: "a", Method: "GET", Endpoint: "a"}}
	s.HTTP.Send = func(context.Context, []byte) { sent++ }
	_, err := h.waitEnd(h.Launch(s))
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.Zero(t, sent)
}

func TestAnEarlyEventThatFailedIsThereBeforeAChunk(t *testing.T) {
	t.Parallel()
	chunk := `{"set":{"name":"$http.chunk","value":{"i":1}}}`
	h := open(t, documents{"a": `[{"run":{"module":"crypto","function":"randomUUID"}},{"try":{"do":[` + chunk + `]}},` + chunk + `]`})
	once := onceTrue()
	h.store.refuse(func([]eventstore.Commit) bool { return once() })
	s, sent := h.start(), 0
	s.Facts = []domain.Event{activity.EndpointCalled{AutomationSlug: "a", Method: "GET", Endpoint: "a"}}
	s.HTTP.Send = func(context.Context, []byte) {
		sent++
		require.Contains(t, h.types(), activity.EndpointCalled{}.EventType())
		require.Contains(t, h.types(), activity.TreeStarted{}.EventType())
	}
	h.mustRun(s)
	require.NotZero(t, sent)
}

func TestATreeStandsOnceItsStartIsOnTheLog(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":600}}]`})
	h.store.refuse(func([]eventstore.Commit) bool { return true })
	run := h.Launch(h.eventStart())
	_, err := h.waitEnd(run)
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.False(t, closed(run.Parked()))

	h.store.refuse(func([]eventstore.Commit) bool { return false })
	run = h.Launch(h.eventStart())
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

func TestAnEventThatIsRefusedForGoodKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"c":{}},{"try":{"do":[{"emit":{"event":"e"}}],"catch":[{"set":{"name":"global.told","value":"{{$error.error}}"}}]}},{"emit":{"event":"f"}}]`, "c": `[]`})
	h.store.deny(func(c []eventstore.Commit) bool { return containsEvent(c, "e") })
	h.mustRun(h.start())
	require.Equal(t, 1, executed(h, "c"))
	require.Contains(t, h.types(), "f")
	require.NotContains(t, h.types(), "e")
	require.NotEqual(t, `{}`, h.contextJSON("global"), "who emitted it is told")

	h = open(t, documents{"a": `[{"c":{}},{"wait":{"timeout":0.1}},{"emit":{"event":"f"}}]`, "c": `[]`})
	h.store.deny(func(c []eventstore.Commit) bool { return containsEvent(c, activity.WaitPending{}.EventType()) })
	h.mustRun(h.start())
	require.Equal(t, 1, executed(h, "c"), "what was gathered with it is there")
	require.Contains(t, h.types(), "f")
}

// crashes runs a tree that ends with its node while what it did before its wait is on its
// way to the log.
func (h *testRuntime) crashes() (treeID string) {
	h.t.Helper()
	h.store.refuse(func(c []eventstore.Commit) bool { return containsEvent(c, activity.Executed{}.EventType()) })
	s := h.eventStart()
	s.Announce = true
	_, err := h.waitEnd(h.Launch(s))
	require.ErrorIs(h.t, err, eventstore.ErrUnavailable)
	h.store.refuse(func([]eventstore.Commit) bool { return false })
	require.Equal(h.t, []string{"runtime.trees.started"}, h.types())
	treeID, waits, _ := h.parkedState()
	require.Len(h.t, waits, 1)
	return treeID
}

func TestWhatACrashKeptFromTheLogIsToldByWhoGoesOn(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"c":{}},{"wait":{"timeout":0.1}}]`, "c": `[]`})
	treeID := h.crashes()
	_, err := h.waitEnd(h.again(treeID, 2))
	require.NoError(t, err)
	require.Equal(t, []string{
		"runtime.trees.started", "runtime.automations.executed c", "runtime.waits.pending",
		"runtime.trees.started", "runtime.waits.expired", "runtime.automations.executed a",
	}, h.types())
}

// An event that is recorded together with the wait behind it is not lost when a crash comes
// first: where the tree stands says that it was emitted.
func TestAnEventThatACrashKeptFromTheLogIsEmittedByWhoGoesOn(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"c":{}},{"emit":{"event":"asked"}},{"wait":{"oneOf":[{"event":"answered","cancelTriggers":true}],"timeout":0.1}}]`, "c": `[]`}, nothingComes)
	treeID := h.crashes()
	_, err := h.waitEnd(h.again(treeID, 2))
	require.NoError(t, err)
	require.Equal(t, []string{
		"runtime.trees.started", "runtime.automations.executed c", "asked", "runtime.waits.pending",
		"runtime.trees.started", "runtime.waits.expired", "runtime.automations.executed a",
	}, h.types())
}

func TestAnEventAndTheWaitForItsAnswerAreRecordedAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do    string
		apart bool
	}{
		"next to each other": {do: `{"emit":{"event":"asked"}},{"wait":{"oneOf":[{"event":"answered","cancelTriggers":true}],"timeout":0.1}}`},
		"variables between":  {do: `{"emit":{"event":"asked"}},{"set":{"name":"x","value":1}},{"set":{"name":"run.x","value":1}},{"delete":{"name":"x"}},{"wait":{"oneOf":[{"event":"answered","cancelTriggers":true}],"timeout":0.1}}`},
		"perhaps":            {do: `{"set":{"name":"yes","value":true}},{"emit":{"event":"asked"}},{"wait":{"oneOf":[{"event":"answered","cancelTriggers":"{{yes}}"}],"timeout":0.1}}`},
		"work between":       {apart: true, do: `{"emit":{"event":"asked"}},{"c":{}},{"wait":{"oneOf":[{"event":"answered","cancelTriggers":true}],"timeout":0.1}}`},
		"nothing cancelled":  {apart: true, do: `{"emit":{"event":"asked"}},{"wait":{"oneOf":[{"event":"answered"}],"timeout":0.1}}`},
		"nobody waited for":  {apart: true, do: `{"emit":{"event":"asked"}},{"wait":{"timeout":0.1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, documents{"a": "[" + c.do + "]", "c": `[]`}, nothingComes)
			together := false
			h.store.refuse(func(batch []eventstore.Commit) bool {
				together = together || containsEvent(batch, "asked") && containsEvent(batch, activity.WaitPending{}.EventType())
				return false
			})
			_, err := h.waitEnd(h.Launch(h.eventStart()))
			require.NoError(t, err)
			require.Contains(t, h.types(), "asked")
			require.Contains(t, h.types(), "runtime.waits.pending")
			require.Equal(t, !c.apart, together)
		})
	}
}

// storedPayload returns the stored payload of the execution of an automation.
func (h *testRuntime) storedPayload(slug string) string {
	h.t.Helper()
	for i, name := range h.types() {
		if name == "runtime.automations.executed "+slug {
			body, _ := h.apart(i)
			return string(body)
		}
	}
	return "it was not executed"
}

func TestAnExecutionThatIsToldAgainHasWhatItWasGivenAndGave(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"c":{"x":1}},{"wait":{"timeout":0.1}}]`, "c": `[{"break":{"payload":{"y":2}}}]`})
	treeID := h.crashes()
	_, err := h.waitEnd(h.again(treeID, 2))
	require.NoError(t, err)
	require.JSONEq(t, `{"payload":{"x":1},"output":{"y":2}}`, h.storedPayload("c"))
}

func TestWhatIsOnTheLogIsNotToldAgain(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"c":{}},{"wait":{"timeout":600}}]`, "c": `[]`})
	s := h.eventStart()
	s.Announce = true
	treeID := runUntilParked(t, h, s)
	h.Now = func() time.Time { return time.Now().Add(time.Hour) } // the wait is over
	out, err := h.waitEnd(h.again(treeID, 1))
	require.NoError(t, err)
	require.Nil(t, out.Err)
	require.Equal(t, []string{
		"runtime.trees.started", "runtime.automations.executed c", "runtime.waits.pending",
		"runtime.trees.started", "runtime.waits.expired", "runtime.automations.executed a",
	}, h.types())
}

func TestWhatMayBeErasedMeanwhileIsNotToldAgain(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"c":{}},{"wait":{"timeout":0.1}}]`, "c": `[]`})
	treeID := h.crashes()
	h.Now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	_, err := h.waitEnd(h.again(treeID, 2))
	require.NoError(t, err)
	require.NotContains(t, h.types(), "runtime.automations.executed c")
}
