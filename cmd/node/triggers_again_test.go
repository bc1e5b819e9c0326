package node_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// What was recorded while nobody ran automations starts those that listened then, however
// they are now, and none that came later.
func TestNothingStartsForEventsThatAreOlderThanItself(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, `
always: {when: {events: [e]}, do: []}
enabled: {disabled: true, when: {events: [e]}, do: []}
changed: {when: {events: [other]}, do: []}`)
	var first, second []shownEvent
	w.restarts(t, func() {
		first, _ = p.emits(t, `{"type":"e"}`)
		p.has(t, `new: {when: {events: [e]}, do: []}`)
		p.does(t, http.StatusOK, "PUT", p.path+"/automations/enabled", `{"name":"enabled","when":{"events":["e"]},"do":[]}`)
		p.does(t, http.StatusOK, "PUT", p.path+"/automations/changed", `{"name":"changed","when":{"events":["e"]},"do":[]}`)
		second, _ = p.emits(t, `{"type":"e"}`)
	})
	p.awaits(t, 4, executed, "payload.trigger.id="+second[0].ID)
	require.Equal(t, `"always"`, p.awaits(t, 1, executed, "payload.trigger.id="+first[0].ID)[0].at("slug"))
}

// Every node runs trees, and no other one takes care of those that broke off on a node that
// is there.
func TestANodeWithoutTheRoleTakesCareOfItsTrees(t *testing.T) {
	t.Parallel()
	s := identified(t, "ROLES=webhooks")
	s.lease = 100 * time.Millisecond
	p := ownedPlace(t, s.start(t)).has(t, `t: {do: [{wait: {timeout: 600}}]}`)
	p.does(t, http.StatusAccepted, "POST", p.path+"/test/t?async=true", `{}`)
	p.awaitsTrees(t, 1)
	for _, ev := range s.activityOf(t, p.id) {
		begun, is := ev.Data.(activity.TreeStarted)
		if !is {
			continue
		}
		begun.ExecutionID = ulid.Make().String() // one that it does not run
		_, err := s.node.Store().Append(t.Context(), eventstore.Commit{
			Stream: domain.StreamID{Scope: p.id}, Meta: ev.Meta, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: begun}},
		})
		require.NoError(t, err)
	}
	require.Equal(t, interrupted, p.awaits(t, 1, executed, "")[0].at("error", "error"))
}
