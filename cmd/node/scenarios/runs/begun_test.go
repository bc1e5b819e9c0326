package runs_test

import (
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// A tree whose node may have gone in its first moments is begun again, and that counts
// before it does anything: one that ends the process at once is not begun for ever.
func TestATreeThatMayHaveBegunIsCountedBeforeItBegins(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `pure: {when: {events: [go]}, do: [{set x: 1}], output: '{{run.attempt}}'}`)
	p.Emit(t, `{"type":"go"}`)
	p.AwaitEvents(t, 1, nodetest.Executed, "")
	require.Zero(t, nodetest.CountOf(w.ActivityTypes(t, p.ID), "runtime.trees.started"), "one that ends at once is told of at its end")
	w.Stop(t)
	all := w.Env
	w.Env = append(slices.Clone(all), "ROLES=webhooks")
	w.Start(t)
	p.Emit(t, `{"type":"go"}`) // nobody begins what it starts
	w.Stop(t)
	w.Env = all
	w.Start(t)
	require.Equal(t, "1", p.AwaitEvents(t, 2, nodetest.Executed, "")[1].At("output"))
	require.Equal(t, 1, nodetest.CountOf(w.ActivityTypes(t, p.ID), "runtime.trees.started"))
}

// What tells that a tree was interrupted is as deep as the tree was: what listens to it
// comes to an end.
func TestAnInterruptedTreeTellsHowDeepItWas(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes")
	s.Lease = nodetest.ShortLease
	p := nodetest.StartOwnedService(t, s).NewWorkspace(t)
	_, err := s.Node.Store().Log.Append(t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: p.ID}, Meta: domain.Meta{CorrelationID: "r1", ExecutionID: "x1", AutomationSlug: "deep", AutomationDepth: 7},
		Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: activity.TreeStarted{
			ExecutionID: "x1", Automation: "deep", Trigger: byEndpoint, Attempt: 1, Replica: "gone", StartedAt: domain.FormatTime(time.Now()),
		}}},
	})
	require.NoError(t, err)
	for _, e := range []nodetest.Event{p.AwaitEvents(t, 1, "error", "")[0], p.AwaitEvents(t, 1, nodetest.Executed, "")[0]} {
		require.InDelta(t, 7, e.Source["automationDepth"], 0)
	}
}
