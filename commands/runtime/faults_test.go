package runtime_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/contexts"
	"svc/commands/egress"
	"svc/commands/fetch"
	"svc/commands/references"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/feed"
	"svc/eventstore"
)

// withPanickingRegistry makes the registry of workspaces panic.
func withPanickingRegistry(_ *testRuntime, o *runtime.Options) {
	o.Registry = noSecrets{known: func() { panic("a fault of ours") }}
}

const falls = `[{"set":{"name":"global.x","value":1}},{"set":{"name":"y","value":"{{global.workspacesRegistry}}"}}]`

func TestATreeThatFallsOverIsRecordedAndEndsNothingElse(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": falls}, withPanickingRegistry)
	out, err := h.waitEnd(h.Launch(h.eventStart()))
	require.NoError(t, err)
	require.Equal(t, automation.InternalFault, out.Err.Name)
	require.NotContains(t, out.Err.Message, "fault of ours")
	require.Equal(t, []string{"runtime.trees.started", "runtime.automations.executed a", "error"}, h.types())
	require.JSONEq(t, `{"x":1}`, h.contextJSON("global"), "what it wrote before")
	told, err := h.failureOf()
	require.NoError(t, err)
	require.Contains(t, told, automation.InternalFault)

	s := h.eventStart()
	s.Program = h.programSet.Program("a")
	_, err = h.waitEnd(h.Launch(s))
	require.NoError(t, err, "its lane is free again")
}

func TestATreeThatFallsOverAfterAWaitStandsNowhere(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":0.01}},{"set":{"name":"y","value":"{{global.workspacesRegistry}}"}}]`}, withPanickingRegistry)
	out, err := h.waitEnd(h.Launch(h.eventStart()))
	require.NoError(t, err)
	_, stands, err := h.parked.Get(t.Context(), "w1", out.ExecutionID)
	require.NoError(t, err)
	require.False(t, stands)
}

func TestATreeWhoseFallCannotBeRecordedBreaksOff(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": falls}, withPanickingRegistry)
	h.store.refuse(func(c []eventstore.Commit) bool { return containsEvent(c, activity.Executed{}.EventType()) })
	_, err := h.waitEnd(h.Launch(h.eventStart()))
	require.ErrorIs(t, err, eventstore.ErrUnavailable, "who started it counts that as an attempt")
}

func TestAnInstructionThatFallsOverRaises(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"try":{"do":[{"createUserTopic":{"topic":"x","userIds":["u1"]}}],"catch":[{"set":{"name":"got","value":"{{$error.name}}"}}]}}]`})
	h.mustRun(h.start()) // nothing makes topics here
	out, err := h.waitEnd(h.Launch(h.eventStart()))
	require.NoError(t, err)
	require.Nil(t, out.Err)
}

func TestAnInterruptedTreeOfAnInstanceIsToldUnderItsName(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[]`})
	require.NoError(t, h.RecordInterrupted(t.Context(), runtime.BrokenRun{
		WorkspaceID: "w1", CorrelationID: "run1", ExecutionID: "01HZZZZZZZZZZZZZZZZZZZZZZZ", Automation: "shop.a", Instance: "shop", StartedAt: time.Now(),
		Trigger: activity.Trigger{Type: activity.ByEndpoint, Value: "shop.a"},
	}))
	require.Equal(t, []string{"runtime.automations.executed shop.a", "shop.error"}, h.types())
}

// A wait that is not over keeps the events that it is for from starting anything else.
func TestTheWaitsOfAnInterruptedTreeAreOver(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"all":[{"c":{}},{"wait":{"timeout":600}}]}]`, "c": `[{"wait":{"timeout":600}}]`})
	run := h.Launch(h.eventStart())
	<-run.Parked()
	require.Eventually(t, func() bool { _, waits, _ := h.parkedState(); return len(waits) == 2 }, patience, tick)
	treeID, waits, _ := h.parkedState()
	h.BreakOffAll()
	_, err := h.waitEnd(run)
	require.ErrorIs(t, err, runtime.ErrAway)
	broken := runtime.BrokenRun{WorkspaceID: "w1", CorrelationID: "run1", ExecutionID: treeID, Automation: "a", StartedAt: time.Now()}
	require.NoError(t, h.RecordInterrupted(t.Context(), broken))
	require.ElementsMatch(t, waits, h.expired())
	require.Equal(t, []string{"runtime.automations.executed a", "error"}, h.types()[len(h.types())-2:])
	_, stands, err := h.parked.Get(t.Context(), "w1", treeID)
	require.NoError(t, err)
	require.False(t, stands)
}

// Of a wait that ended it was told how.
func TestAWaitThatEndedBeforeItsTreeWasInterruptedEndsOnce(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, documents{"a": `[{"wait":{"timeout":0.05}},{"emit":{"event":"on"}},{"set":{"name":"y","value":"{{global.workspacesRegistry}}"}},{"wait":{"timeout":600}}]`}, func(_ *testRuntime, o *runtime.Options) {
		o.Registry = noSecrets{known: func() { <-gate }}
	})
	run := h.Launch(h.eventStart())
	require.Eventually(t, func() bool { return slices.Contains(h.types(), "on") }, patience, tick)
	h.BreakOffAll()
	close(gate)
	_, err := h.waitEnd(run)
	require.ErrorIs(t, err, runtime.ErrAway)
	treeID, waits, _ := h.parkedState()
	require.Equal(t, waits, h.expired())
	require.NoError(t, h.RecordInterrupted(t.Context(), runtime.BrokenRun{WorkspaceID: "w1", CorrelationID: "run1", ExecutionID: treeID, Automation: "a", StartedAt: time.Now()}))
	require.Equal(t, waits, h.expired())
}

// expired are the waits whose time is over, as the log tells it.
func (h *testRuntime) expired() (ids []string) {
	for _, ev := range h.events() {
		if over, is := ev.Event.(activity.WaitExpired); is {
			ids = append(ids, over.ID)
		}
	}
	return ids
}

// failingContexts is a memory that cannot be written to, once.
type failingContexts struct {
	runtime.Contexts
	failed atomic.Bool
}

// Append implements runtime.Contexts.
func (f *failingContexts) Append(ctx context.Context, id string, changes []contexts.Change) error {
	if f.failed.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: a hiccup", eventstore.ErrUnavailable)
	}
	return f.Contexts.Append(ctx, id, changes)
}

// What was written before is in what could not be kept: no try of the automation makes
// good for that.
func TestATreeWhoseWritesAreNotKeptBreaksOff(t *testing.T) {
	t.Parallel()
	var f *failingContexts
	h := open(t, documents{"a": `[
		{"set":{"name":"user.paid","value":true}},
		{"try":{"do":[{"set":{"name":"global.a","value":"{{big}}"}},{"set":{"name":"session.b","value":"{{big}}"}},{"set":{"name":"run.c","value":"{{big}}"}}]}}
	]`}, func(_ *testRuntime, o *runtime.Options) {
		f = &failingContexts{Contexts: o.Contexts}
		o.Contexts = f
	})
	s := h.start()
	s.Input.Set("big", strings.Repeat("x", 450_000))
	_, err := h.waitEnd(h.Launch(s))
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.True(t, f.failed.Load())
	require.NotContains(t, h.types(), activity.Executed{}.EventType(), "it is not over")
}

// The event is in what is appended next: an automation that emitted it again would emit it
// twice.
func TestATreeThatDoesNotKnowWhetherItsEventIsRecordedBreaksOff(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"try":{"do":[{"emit":{"event":"e"}}],"catch":[{"emit":{"event":"caught"}}]}}]`})
	once := onceTrue()
	h.store.refuse(func(c []eventstore.Commit) bool { return containsEvent(c, "e") && once() })
	_, err := h.waitEnd(h.Launch(h.eventStart()))
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.Zero(t, executed(h, "a"), "it is not over")
	h.mustRun(h.eventStart()) // begun anew
	require.Contains(t, h.types(), "e")
	require.NotContains(t, h.types(), "caught", "it may be there")
}

func TestATreeThatDoesNotKnowWhetherAChunkIsRecordedBreaksOff(t *testing.T) {
	t.Parallel()
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("piece")) }))
	t.Cleanup(source.Close)
	h := open(t, documents{"a": `[{"try":{"do":[{"fetch":{"url":"` + source.URL + `","stream":{"event":"e"}}}]}}]`}, func(_ *testRuntime, o *runtime.Options) {
		way, err := egress.New(egress.Options{Rules: egress.Rules{AllowPrivate: true}})
		require.NoError(t, err)
		t.Cleanup(way.Close)
		o.Effects.References = &references.References{}
		o.Effects.Fetch, err = fetch.New(fetch.Options{Egress: way})
		require.NoError(t, err)
	})
	once := onceTrue()
	h.store.refuse(func(c []eventstore.Commit) bool { return containsEvent(c, "e") && once() })
	_, err := h.waitEnd(h.Launch(h.eventStart()))
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.Zero(t, executed(h, "a"), "it is not over")
}

// A tree that goes on after a restart and cannot record that its wait is over breaks off,
// and goes on later. It has not failed.
func TestAHiccupAtTheEndOfAWaitIsNoFailure(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"wait":{"timeout":5}},{"set":{"name":"global.x","value":1}}]`})
	id := runUntilParked(t, h, h.eventStart())
	goesOn := func() (runtime.Outcome, error) {
		return h.waitEnd(h.Resume("w1", id, 1, h.programSet, func(context.Context, domain.Actor) (runtime.Caller, error) {
			return runtime.Caller{}, nil
		}))
	}
	once := onceTrue()
	h.store.refuse(func(c []eventstore.Commit) bool {
		return containsEvent(c, activity.WaitExpired{}.EventType()) && once()
	})
	_, err := goesOn()
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.NotContains(t, h.types(), activity.Executed{}.EventType())
	out, err := goesOn()
	require.NoError(t, err)
	require.Nil(t, out.Err)
}

// What answers an event that nobody waited to be recorded may come before the wait begins.
func TestTheAnswerToAnEventCountsWhereverTheEventIs(t *testing.T) {
	t.Parallel()
	for _, options := range []string{`{"async":true}`, `{"persist":false}`, `{}`} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			var after, now domain.Position
			h := open(t, documents{"a": `[{"emit":{"event":"e","options":` + options + `}},{"wait":{"timeout":0.3}},{"wait":{"oneOf":[{"event":"x"}],"timeout":0.1}}]`}, func(_ *testRuntime, o *runtime.Options) {
				began := time.Now()
				o.Effects.Position = func() domain.Position { // the log grows by an event a millisecond
					return domain.At(domain.Activity, 1000+uint64(time.Since(began).Milliseconds()))
				}
				o.Effects.Live = func(string, domain.Recorded) {}
				o.Effects.Await = func(_ context.Context, _ string, w runtime.Awaited, _ func(*feed.Event) bool) (*feed.Event, error) {
					after, now = w.After, o.Effects.Position()
					return nil, nil
				}
			})
			h.mustRun(h.eventStart())
			require.LessOrEqual(t, after.Activity+290, now.Activity, "what was recorded since the emit counts")
		})
	}
}

func TestATreeOfItsOwnHasNobodyToAnswer(t *testing.T) {
	t.Parallel()
	h := open(t, documents{
		"a": `[{"runWorkflow":{"workflow":"c","wait":false,"parameters":{"$http":"{{$http}}"}}},{"wait":{"timeout":0.2}}]`,
		"c": `[{"set":{"name":"$http.status","value":201}}]`,
	})
	h.mustRun(h.start())
	told, err := h.failureOf()
	require.NoError(t, err)
	require.Contains(t, told, "InvalidInstructionError")
}

// What may be on the log already is appended again only as long as the log would know it.
func TestATreeInDoubtForTooLongBreaksOff(t *testing.T) {
	t.Parallel()
	var ahead, tried atomic.Int64
	h := open(t, documents{"a": `[{"emit":{"event":"e","options":{"async":true}}},{"wait":{"timeout":0.1}}]`}, func(_ *testRuntime, o *runtime.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	h.store.refuse(func(c []eventstore.Commit) bool {
		doubtful := containsEvent(c, "e")
		if doubtful {
			tried.Add(1)
			ahead.Store(int64(2 * time.Minute)) // until anybody tries again
		}
		return doubtful
	})
	_, err := h.waitEnd(h.Launch(h.eventStart()))
	require.ErrorIs(t, err, eventstore.ErrUnavailable)
	require.EqualValues(t, 1, tried.Load())
	require.NotContains(t, h.types(), "e")
}
