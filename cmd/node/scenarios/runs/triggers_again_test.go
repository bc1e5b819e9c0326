package runs_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// What was recorded while nobody ran automations starts those that listened then, however
// they are now, and none that came later.
func TestNothingStartsForEventsThatAreOlderThanItself(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
always: {when: {events: [e]}, do: []}
enabled: {disabled: true, when: {events: [e]}, do: []}
changed: {when: {events: [other]}, do: []}`)
	var first, second []nodetest.Event
	w.Restart(t, func() {
		first, _ = p.Emit(t, `{"type":"e"}`)
		p.AddAutomations(t, `new: {when: {events: [e]}, do: []}`)
		p.Do(t, http.StatusOK, "PUT", p.Path+"/automations/enabled", `{"name":"enabled","when":{"events":["e"]},"do":[]}`)
		p.Do(t, http.StatusOK, "PUT", p.Path+"/automations/changed", `{"name":"changed","when":{"events":["e"]},"do":[]}`)
		second, _ = p.Emit(t, `{"type":"e"}`)
	})
	p.AwaitEvents(t, 4, nodetest.Executed, "payload.trigger.id="+second[0].ID)
	require.Equal(t, `"always"`, p.AwaitEvents(t, 1, nodetest.Executed, "payload.trigger.id="+first[0].ID)[0].At("slug"))
}

// Every node runs trees, and no other one takes care of those that broke off on a node that
// is there.
func TestANodeWithoutTheRoleTakesCareOfItsTrees(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "ROLES=webhooks")
	s.Lease = 100 * time.Millisecond
	p := nodetest.NewOwnedWorkspace(t, s.Start(t)).AddAutomations(t, `t: {do: [{wait: {timeout: 600}}]}`)
	p.Do(t, http.StatusAccepted, "POST", p.Path+"/test/t?async=true", `{}`)
	p.AwaitTrees(t, 1)
	for _, ev := range s.Activity(t, p.ID) {
		begun, is := ev.Data.(activity.TreeStarted)
		if !is {
			continue
		}
		begun.ExecutionID = ulid.Make().String() // one that it does not run
		_, err := s.Node.Store().Log.Append(t.Context(), eventstore.Commit{
			Stream: domain.StreamID{Scope: p.ID}, Meta: ev.Meta, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: begun}},
		})
		require.NoError(t, err)
	}
	require.Equal(t, nodetest.Interrupted, p.AwaitEvents(t, 1, nodetest.Executed, "")[0].At("error", "error"))
}
