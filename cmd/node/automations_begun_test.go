package node_test

import (
	"slices"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// A tree whose node may have gone in its first moments is begun again, and that counts
// before it does anything: one that ends the process at once is not begun for ever.
func TestATreeThatMayHaveBegunIsCountedBeforeItBegins(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, `pure: {when: {events: [go]}, do: [{set x: 1}], output: '{{run.attempt}}'}`)
	p.emits(t, `{"type":"go"}`)
	p.awaits(t, 1, executed, "")
	require.Zero(t, count(w.typesOf(t, p.id), "runtime.trees.started"), "one that ends at once is told of at its end")
	w.stop(t)
	all := w.env
	w.env = append(slices.Clone(all), "ROLES=webhooks")
	w.start(t)
	p.emits(t, `{"type":"go"}`) // nobody begins what it starts
	w.stop(t)
	w.env = all
	w.start(t)
	require.Equal(t, "1", p.awaits(t, 2, executed, "")[1].at("output"))
	require.Equal(t, 1, count(w.typesOf(t, p.id), "runtime.trees.started"))
}

// What tells that a tree was interrupted is as deep as the tree was: what listens to it
// comes to an end.
func TestAnInterruptedTreeTellsHowDeepItWas(t *testing.T) {
	t.Parallel()
	s := identified(t, "EGRESS_ALLOW_PRIVATE=yes")
	s.lease = shortLease
	p := openWorkshop(t, s).place(t)
	_, err := s.node.Store().Append(t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: p.id}, Meta: domain.Meta{CorrelationID: "r1", ExecutionID: "x1", AutomationSlug: "deep", AutomationDepth: 7},
		Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: activity.TreeStarted{
			ExecutionID: "x1", Automation: "deep", Trigger: byEndpoint, Attempt: 1, Replica: "gone", StartedAt: time.Now().UTC().Format(domain.Timestamp),
		}}},
	})
	require.NoError(t, err)
	for _, e := range []shownEvent{p.awaits(t, 1, "error", "")[0], p.awaits(t, 1, executed, "")[0]} {
		require.InDelta(t, 7, e.Source["automationDepth"], 0)
	}
}
