package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/eventstore"
)

// soonEnough is how long an automation may take to start beside the work of others: the
// machine may be busy, and what would hold it up took far longer.
const soonEnough = 10 * time.Second

// startsSoon holds that events start automations in a workspace, whatever others do.
func (p place) startsSoon(t *testing.T) {
	t.Helper()
	began := time.Now()
	made, _ := p.emits(t, `{"type":"quick"}`)
	p.awaits(t, 1, executed, "payload.trigger.id="+made[0].ID)
	require.Less(t, time.Since(began), soonEnough)
}

func many(n int, event string) string {
	return strings.TrimSuffix(strings.Repeat(event+",", n), ",")
}

func TestNobodyHoldsUpTheTriggersOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, "RATE_LIMIT_DISABLED=yes")
	other := w.place(t).has(t, `quick: {when: {events: [quick]}, do: []}`)
	t.Run("by having much under way", func(t *testing.T) {
		t.Parallel()
		g := newGate(t)
		p := w.place(t).has(t, `
slow: {when: {events: [slow]}, do: [{fetch: {url: '`+g.URL+`'}}]}
quick: {when: {events: [quick]}, do: []}`)
		for range 3 {
			p.emits(t, many(100, `{"type":"slow"}`))
		}
		g.awaits(t, 200, "/")
		other.startsSoon(t)
		made, _ := p.emits(t, `{"type":"quick"}`)
		g.open()
		p.awaits(t, 1, executed, "payload.trigger.id="+made[0].ID)
		p.awaits(t, 300, executed, "payload.slug=slow")
		p.startsSoon(t)
		p.awaits(t, 300, "runtime.interactions.triggered", "payload.automation=slow")
	})
	t.Run("by waits that are costly to ask", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: {when: {events: [begin]}, do: [{wait: {oneOf: [{event: e, cancelTriggers: true, filters: {payload.x: {$regex: 'a{1000}a{1000}a{1000}a{1000}b'}}}], timeout: 600}}]}
cheap: {when: {events: [begin]}, do: [{wait: {oneOf: [{event: e, cancelTriggers: true, filters: {payload.x: {$regex: '^b'}}}], timeout: 600}}]}
hears: {when: {events: [e]}, do: []}`)
		p.emits(t, many(3, `{"type":"begin"}`))
		p.awaits(t, 6, "runtime.waits.pending", "")
		p.emits(t, `{"type":"e","payload":{"x":"`+strings.Repeat("a", 90_000)+`"}}`)
		other.startsSoon(t)
		p.awaits(t, 1, executed, "payload.slug=hears")
		p.emits(t, `{"type":"e","payload":{"x":"b"}}`)
		p.awaits(t, 3, executed, "payload.slug=cheap")
		p.awaits(t, 1, executed, "payload.slug=hears")
	})
	t.Run("by an event that nobody can read", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
hears: {when: {events: ['e.*']}, do: []}
fails: {when: {events: [error]}, do: [], output: '{{payload.details.eventType}}'}
t: [{set x: 1}, {repeat: {until: 501, do: [{set x: {a: '{{x}}'}}]}}, {emit: {event: e.deep, payload: '{{x}}'}}]`)
		refused := p.tries(t, 400, `{}`)
		require.Equal(t, `"InvalidEventError"`, refused.awaits(t, 1, "error")[0].at("error"))
		p.recordsRaw(t, "e.deep", strings.Repeat(`{"a":`, 1000)+"1"+strings.Repeat("}", 1000))
		p.emits(t, `{"type":"e.plain"}`)
		p.awaits(t, 1, executed, "payload.slug=hears")
		other.startsSoon(t)
		p.awaits(t, 1, "error", "payload.details.eventType=e.deep")
		require.Contains(t, []string{p.awaits(t, 2, executed, "payload.slug=fails")[0].at("output"), p.awaits(t, 2, executed, "payload.slug=fails")[1].at("output")}, `"e.deep"`)
	})
	t.Run("by many waits that end at once", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: {when: {events: [begin]}, do: [{repeat: {until: 900, batch: {size: 900}, do: [{wait: {oneOf: [{event: e}], timeout: 600}}]}}]}`)
		made, _ := p.emits(t, `{"type":"begin"}`)
		p.awaits(t, 900, "runtime.waits.pending", "")
		p.does(t, http.StatusOK, "POST", p.path+"/runs/"+made[0].Source["correlationId"].(string)+"/cancel", "")
		require.Equal(t, cancelled, p.awaits(t, 1, executed, "payload.slug=t")[0].at("error", "error"))
		other.startsSoon(t)
	})
	t.Run("by too many waits that cancel triggers", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{repeat: {until: 1001, batch: {size: 1001}, do: [{wait: {oneOf: [{event: e, cancelTriggers: true}], timeout: 1}}]}}]`)
		p.tries(t, 400, `{}`)
		require.Equal(t, `1000`, p.awaits(t, 1, "error", "")[0].at("details", "limit"))
		other.startsSoon(t)
	})
}

// recordsRaw puts an event on the log that no API would take.
func (p place) recordsRaw(t *testing.T, name, payload string) {
	t.Helper()
	body := json.RawMessage(payload)
	_, err := p.s.node.Store().Append(t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: p.id}, Meta: domain.Meta{CorrelationID: "deep"},
		Facts: []eventstore.Fact{{ID: "01JCZZZZZZZZZZZZZZZZZZZZZZ", Event: domain.Unknown{Name: name, Body: body}}},
	})
	require.NoError(t, err)
}

// An event that was recorded in time is the wait's, although nobody was there to see it.
func TestAnEventInTimeIsNotLostToAWaitAndItsListeners(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	p.has(t, `
t: {do: [{wait: {oneOf: [{event: go, cancelTriggers: true}], timeout: 10, output: w}}, {emit: {event: done, payload: {got: '{{w.type}}'}}}]}
l: {when: {events: [go]}, do: [{emit: {event: listened}}]}`)
	p.does(t, http.StatusAccepted, "POST", p.path+"/test/t?async=true", `{"payload":{}}`)
	pending := p.awaits(t, 1, "runtime.waits.pending", "")[0]
	env := s.env
	s.stop(t)
	s.env = append(slices.Clone(env), "ROLES=webhooks") // it records, and does not run
	s.start(t)
	p.emits(t, `{"type":"go"}`)
	s.stop(t)
	expires, err := time.Parse(time.RFC3339, strings.Trim(pending.at("expiresAt"), `"`))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return time.Now().After(expires) }, 20*time.Second, 50*time.Millisecond)
	s.env = env
	s.start(t)
	p.awaits(t, 1, "done", "")
	p.has(t, `after: {when: {events: [after]}, do: []}`)
	p.emits(t, `{"type":"after"}`)
	p.awaits(t, 1, executed, "payload.slug=after")
	types := s.typesOf(t, p.id)
	require.Equal(t, 1, count(types, "runtime.waits.fulfilled")+count(types, "listened"), "%v", types)
}

func TestManyWaitsGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	const trees = 80
	s := identified(t, "RATE_LIMIT_DISABLED=yes").start(t)
	p := ownedPlace(t, s)
	p.has(t, `t: {when: {events: [begin]}, do: [{wait: {oneOf: [{event: go, filters: {payload.n: 1}}], timeout: 600, output: w}}, {emit: {event: done, payload: {n: '{{w.payload.n}}'}}}]}`)
	p.emits(t, many(trees, `{"type":"begin"}`))
	p.awaits(t, trees, "runtime.waits.pending", "")
	s.stop(t)
	s.start(t)
	p.emits(t, `{"type":"go"},{"type":"go","payload":{"n":1}}`)
	for _, e := range p.awaits(t, trees, "done", "") {
		require.Equal(t, "1", e.at("n"))
	}
	require.Zero(t, count(s.typesOf(t, p.id), "error"))
}

// What cannot be begun again, because its automation is not there any more, is over.
func TestAnInterruptedTreeOfAnAutomationThatIsGoneIsOver(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := identified(t, "EGRESS_ALLOW_PRIVATE=yes")
	s.lease = shortLease
	s.start(t)
	p := ownedPlace(t, s)
	p.has(t, `t: {when: {events: [begin]}, do: [{fetch: {url: '`+g.URL+`'}}]}`)
	p.emits(t, `{"type":"begin"}`)
	g.awaits(t, 1, "/")
	p.awaitsTrees(t, 1)
	p.does(t, http.StatusOK, "DELETE", p.path+"/automations/t", "")
	s.stop(t)
	s.start(t)
	require.Equal(t, interrupted, p.awaits(t, 1, executed, "")[0].at("error", "error"))
	require.Equal(t, fmt.Sprintf("%q", "ExecutionInterruptedError"), p.awaits(t, 1, "error", "")[0].at("error"))
}
