package runtime_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/runtime"
	"svc/commands/throttle"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/eventstore"
)

const spawns = `[{"repeat":{"until":300,"do":[{"runWorkflow":{"workflow":"c","wait":false}}]}}]`

func TestATreeWaitsForTheTurnsOfThoseThatItStarts(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": spawns, "c": `[]`}, func(h *testRuntime, _ *runtime.Options) {
		h.rate = throttle.Rate{PerSecond: 1e-3, Burst: 5}
	})
	run := h.Launch(h.eventStart())
	require.Eventually(t, func() bool { return executed(h, "c") == 4 }, patience, tick, "one of five is its own")
	require.NotZero(t, h.Cancel("w1", "run1"))
	out, err := h.waitEnd(run)
	require.NoError(t, err)
	require.Equal(t, automation.ExecutionCancelled, out.Err.Name)
}

func TestATreeWaitsWhileTooManyThatItStartedRun(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, documents{"a": spawns, "c": `[{"set":{"name":"y","value":"{{global.workspacesRegistry}}"}}]`}, func(_ *testRuntime, o *runtime.Options) {
		o.Registry = noSecrets{known: func() { <-gate }}
	})
	run := h.Launch(h.eventStart())
	started := func() int { return strings.Count(strings.Join(h.types(), "\n"), activity.TreeStarted{}.EventType()) }
	require.Eventually(t, func() bool { return started() == 101 }, patience, tick, "itself and a hundred")
	require.Never(t, func() bool { return started() > 101 }, 100*time.Millisecond, tick)
	close(gate)
	_, err := h.waitEnd(run)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return executed(h, "c") == 300 }, patience, tick)
}

func TestATreeGoesOnOnceThatItStartedAnotherIsOnDisk(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[{"runWorkflow":{"workflow":"c","wait":false}}]`, "c": `[{"wait":{"timeout":600}}]`})
	h.store.refuse(func(commits []eventstore.Commit) bool {
		begun, is := commits[0].Facts[0].Event.(activity.TreeStarted)
		return is && begun.Automation == "c"
	})
	_, err := h.waitEnd(h.Launch(h.start()))
	require.ErrorIs(t, err, eventstore.ErrUnavailable, "whether it began is not known, and no automation makes good for that")
	require.Zero(t, executed(h, "a"))

	h.store.refuse(func([]eventstore.Commit) bool { return false })
	h.mustRun(h.start())
	begun := 0
	for _, ev := range h.events() {
		if s, is := ev.Event.(activity.TreeStarted); is && s.Automation == "c" {
			begun++
		}
	}
	require.Equal(t, 1, begun)
}

// It begins anew, or is told as interrupted, like everything that does not come to its end
// before the node stops.
func TestATreeThatCannotStartAnotherBecauseTheNodeStopsBreaksOff(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := open(t, documents{
		"a": `[{"set":{"name":"y","value":"{{global.workspacesRegistry}}"}},{"try":{"do":[{"runWorkflow":{"workflow":"c","wait":false}}]}}]`,
		"b": `[{"wait":{"timeout":600}}]`, "c": `[]`,
	}, func(_ *testRuntime, o *runtime.Options) { o.Registry = noSecrets{known: func() { <-gate }} })
	s := h.eventStart()
	s.Program = h.programSet.Program("b")
	waits, run, closed := h.Launch(s), h.Launch(h.eventStart()), make(chan error, 1)
	<-waits.Parked()
	go func() { closed <- h.Close(t.Context()) }()
	_, err := h.waitEnd(waits) // what waits is left as soon as the node stops
	require.ErrorIs(t, err, runtime.ErrClosing)
	close(gate)
	_, err = h.waitEnd(run)
	require.ErrorIs(t, err, runtime.ErrClosing)
	require.Zero(t, executed(h, "a"), "it is not over")
	require.NoError(t, <-closed)
}

func executed(h *testRuntime, slug string) int {
	return strings.Count(strings.Join(h.types(), "\n"), "executed "+slug)
}

func TestATreeThatWaitsForItsTurnIsCancelled(t *testing.T) {
	t.Parallel()
	h := open(t, documents{"a": `[]`}, func(h *testRuntime, _ *runtime.Options) { h.rate = throttle.Rate{PerSecond: 1e-3, Burst: 1} })
	h.mustRun(h.eventStart())
	run := h.Launch(h.eventStart())
	require.Eventually(t, func() bool { return h.Cancel("w1", "run1") == 1 }, patience, tick)
	out, err := h.waitEnd(run)
	require.NoError(t, err)
	require.Equal(t, automation.ExecutionCancelled, out.Err.Name)
	require.Equal(t, 2, executed(h, "a"), "that it was cancelled is recorded")
}
