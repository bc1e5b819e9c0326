package runs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/eventstore"
)

// startsSoon holds that events start automations in a workspace, whatever others do.
func startsSoon(t *testing.T, p nodetest.Workspace) {
	t.Helper()
	made, _ := p.Emit(t, `{"type":"quick"}`)
	p.AwaitEvents(t, 1, nodetest.Executed, "payload.trigger.id="+made[0].ID)
}

func TestNobodyHoldsUpTheTriggersOfOthers(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "RATE_LIMIT_DISABLED=yes")
	other := w.NewWorkspace(t).AddAutomations(t, `quick: {when: {events: [quick]}, do: []}`)
	t.Run("by having much under way", func(t *testing.T) {
		t.Parallel()
		g := nodetest.NewBlockingServer(t)
		p := w.NewWorkspace(t).AddAutomations(t, `
slow: {when: {events: [slow]}, do: [{fetch: {url: '`+g.URL+`'}}]}
quick: {when: {events: [quick]}, do: []}`)
		for range 3 {
			p.Emit(t, nodetest.RepeatText(100, `{"type":"slow"}`))
		}
		g.AwaitRequests(t, 200, "/")
		startsSoon(t, other)
		made, _ := p.Emit(t, `{"type":"quick"}`)
		g.Release()
		p.AwaitEvents(t, 1, nodetest.Executed, "payload.trigger.id="+made[0].ID)
		p.AwaitEvents(t, 300, nodetest.Executed, "payload.slug=slow")
		startsSoon(t, p)
		p.AwaitEvents(t, 300, "runtime.interactions.triggered", "payload.automation=slow")
	})
	t.Run("by waits that are costly to ask", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: {when: {events: [begin]}, do: [{wait: {oneOf: [{event: e, cancelTriggers: true, filters: {payload.x: {$regex: 'a{1000}a{1000}a{1000}a{1000}b'}}}], timeout: 600}}]}
cheap: {when: {events: [begin]}, do: [{wait: {oneOf: [{event: e, cancelTriggers: true, filters: {payload.x: {$regex: '^b'}}}], timeout: 600}}]}
hears: {when: {events: [e]}, do: []}`)
		p.Emit(t, nodetest.RepeatText(3, `{"type":"begin"}`))
		p.AwaitEvents(t, 6, "runtime.waits.pending", "")
		p.Emit(t, `{"type":"e","payload":{"x":"`+strings.Repeat("a", 90_000)+`"}}`)
		startsSoon(t, other)
		p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=hears")
		p.Emit(t, `{"type":"e","payload":{"x":"b"}}`)
		p.AwaitEvents(t, 3, nodetest.Executed, "payload.slug=cheap")
		p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=hears")
	})
	t.Run("by an event that nobody can read", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
hears: {when: {events: ['e.*']}, do: []}
fails: {when: {events: [error]}, do: [], output: '{{payload.details.eventType}}'}
t: [{set x: 1}, {repeat: {until: 501, do: [{set x: {a: '{{x}}'}}]}}, {emit: {event: e.deep, payload: '{{x}}'}}]`)
		refused := p.RunTest(t, 500, `{}`)
		require.Equal(t, `"InvalidEventError"`, refused.AwaitEvents(t, 1, "error")[0].At("error"))
		recordsRaw(t, p, "e.deep", strings.Repeat(`{"a":`, 1000)+"1"+strings.Repeat("}", 1000))
		p.Emit(t, `{"type":"e.plain"}`)
		p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=hears")
		startsSoon(t, other)
		p.AwaitEvents(t, 1, "error", "payload.details.eventType=e.deep")
		require.Contains(t, []string{p.AwaitEvents(t, 2, nodetest.Executed, "payload.slug=fails")[0].At("output"), p.AwaitEvents(t, 2, nodetest.Executed, "payload.slug=fails")[1].At("output")}, `"e.deep"`)
	})
	t.Run("by many waits that end at once", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: {when: {events: [begin]}, do: [{repeat: {until: 900, batch: {size: 900}, do: [{wait: {oneOf: [{event: e}], timeout: 600}}]}}]}`)
		made, _ := p.Emit(t, `{"type":"begin"}`)
		p.AwaitEvents(t, 900, "runtime.waits.pending", "")
		p.Do(t, http.StatusOK, "POST", p.Path+"/runs/"+made[0].Source["correlationId"].(string)+"/cancel", "")
		require.Equal(t, nodetest.Cancelled, p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=t")[0].At("error", "error"))
		startsSoon(t, other)
	})
	t.Run("by too many waits that cancel triggers", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{repeat: {until: 1001, batch: {size: 1001}, do: [{wait: {oneOf: [{event: e, cancelTriggers: true}], timeout: 1}}]}}]`)
		p.RunTest(t, 500, `{}`)
		require.Equal(t, `1000`, p.AwaitEvents(t, 1, "error", "")[0].At("details", "limit"))
		startsSoon(t, other)
	})
}

// recordsRaw puts an event on the log that no API would take.
func recordsRaw(t *testing.T, p nodetest.Workspace, name, payload string) {
	t.Helper()
	body := json.RawMessage(payload)
	_, err := p.Service.Node.Store().Log.Append(t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: p.ID}, Meta: domain.Meta{CorrelationID: "deep"},
		Facts: []eventstore.Fact{{ID: "01JCZZZZZZZZZZZZZZZZZZZZZZ", Event: domain.Unknown{Name: name, Body: body}}},
	})
	require.NoError(t, err)
}

// An event that was recorded in time is the wait's, although nobody was there to see it.
func TestAnEventInTimeIsNotLostToAWaitAndItsListeners(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.AddAutomations(t, `
t: {do: [{wait: {oneOf: [{event: go, cancelTriggers: true}], timeout: 10, output: w}}, {emit: {event: done, payload: {got: '{{w.type}}'}}}]}
l: {when: {events: [go]}, do: [{emit: {event: listened}}]}`)
	p.Do(t, http.StatusAccepted, "POST", p.Path+"/test/t?async=true", `{"payload":{}}`)
	pending := p.AwaitEvents(t, 1, "runtime.waits.pending", "")[0]
	env := s.Env
	s.Stop(t)
	s.Env = append(slices.Clone(env), "ROLES=webhooks") // it records, and does not run
	s.Start(t)
	p.Emit(t, `{"type":"go"}`)
	s.Stop(t)
	expires, err := time.Parse(time.RFC3339, strings.Trim(pending.At("expiresAt"), `"`))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return time.Now().After(expires) }, time.Minute, 50*time.Millisecond)
	s.Env = env
	s.Start(t)
	p.AwaitEvents(t, 1, "done", "")
	p.AddAutomations(t, `after: {when: {events: [after]}, do: []}`)
	p.Emit(t, `{"type":"after"}`)
	p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=after")
	types := s.ActivityTypes(t, p.ID)
	require.Equal(t, 1, nodetest.CountOf(types, "runtime.waits.fulfilled")+nodetest.CountOf(types, "listened"), "%v", types)
}

func TestManyWaitsGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	const trees = 80
	s := nodetest.NewServiceWithAccounts(t, "RATE_LIMIT_DISABLED=yes").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.AddAutomations(t, `t: {when: {events: [begin]}, do: [{wait: {oneOf: [{event: go, filters: {payload.n: 1}}], timeout: 600, output: w}}, {emit: {event: done, payload: {n: '{{w.payload.n}}'}}}]}`)
	p.Emit(t, nodetest.RepeatText(trees, `{"type":"begin"}`))
	p.AwaitEvents(t, trees, "runtime.waits.pending", "")
	s.Stop(t)
	s.Start(t)
	p.Emit(t, `{"type":"go"},{"type":"go","payload":{"n":1}}`)
	for _, e := range p.AwaitEvents(t, trees, "done", "") {
		require.Equal(t, "1", e.At("n"))
	}
	require.Zero(t, nodetest.CountOf(s.ActivityTypes(t, p.ID), "error"))
}

// What cannot be begun again, because its automation is not there any more, is over.
func TestAnInterruptedTreeOfAnAutomationThatIsGoneIsOver(t *testing.T) {
	t.Parallel()
	g := nodetest.NewBlockingServer(t)
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes")
	s.Lease = nodetest.ShortLease
	s.Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.AddAutomations(t, `t: {when: {events: [begin]}, do: [{fetch: {url: '`+g.URL+`'}}]}`)
	p.Emit(t, `{"type":"begin"}`)
	g.AwaitRequests(t, 1, "/")
	p.AwaitTrees(t, 1)
	p.Do(t, http.StatusOK, "DELETE", p.Path+"/automations/t", "")
	s.Stop(t)
	s.Start(t)
	require.Equal(t, nodetest.Interrupted, p.AwaitEvents(t, 1, nodetest.Executed, "")[0].At("error", "error"))
	require.Equal(t, fmt.Sprintf("%q", "ExecutionInterruptedError"), p.AwaitEvents(t, 1, "error", "")[0].At("error"))
}
