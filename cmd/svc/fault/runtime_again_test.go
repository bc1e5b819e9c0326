//go:build fault

package fault

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain/automation"
)

// slow are automations that send a request whose answer takes as long as the desk
// likes. What is called starts the others as well.
const slow = `
heard: {when: {events: [order]}, do: [{begun: {payload: '{{payload}}'}}]}
called: {when: {endpoint: true}, do: [
  {emit: {event: order, payload: {n: 4, at: '{{body.at}}'}}},
  {runWorkflow: {workflow: begun, wait: false, parameters: {payload: {n: 5, at: '{{body.at}}'}}}},
  {begun: {payload: {n: 3, at: '{{body.at}}'}}}]}
begun: [{fetch: {url: '{{payload.at}}/slow?n={{payload.n}}&attempt={{run.attempt}}'}}, {emit: {event: done, payload: {n: '{{payload.n}}', attempt: '{{run.attempt}}'}}}]
last: {when: {events: [last]}, do: []}`

// What an event triggered and a kill broke off begins again, as often as the settings
// say. What was called does not: who called it has gone with the service. All of it is
// told.
func TestInterruptedRunsBeginAgain(t *testing.T) {
	t.Parallel()
	const tooOften, once, called, emitted, begun = 1, 2, 3, 4, 5
	s, d := newService(t, "FETCH_ALLOWED_HOSTS=127.0.0.1"), newFetchServer(t)
	s.start(t)
	h := newFixture(t, s, slow)
	start := time.Now()
	h.emit(t, "order", map[string]any{"n": tooOften, "at": d.URL})
	for attempt := 1; attempt < maxAttempts; attempt++ {
		h.slow(t, d, tooOften, attempt)
		h.runs(t, 1)
		h.again(t)
	}
	h.emit(t, "order", map[string]any{"n": once, "at": d.URL})
	h.callInBackground(t, "called", map[string]any{"at": d.URL})
	for _, n := range []int{once, called, emitted, begun} {
		h.slow(t, d, n, 1)
	}
	h.slow(t, d, tooOften, maxAttempts)
	h.runs(t, 3) // what was called is one of them, with all that it started
	h.again(t)
	h.slow(t, d, once, 2)
	h.slow(t, d, emitted, 2)
	close(d.cleared)
	h.awaitIdle(t)
	h.awaitEvents(t, 2, "done", "")
	for _, n := range []int{once, emitted} {
		require.EqualValues(t, 2, h.awaitEvents(t, 1, "done", of(n))[0].Payload["attempt"])
	}
	for n, next := range map[int]int{tooOften: maxAttempts + 1, called: 2, begun: 2} {
		require.Zero(t, d.count(fmt.Sprintf("/slow?n=%d&attempt=%d", n, next)), "%d is not begun again", n)
	}
	h.verify(t)
	s.stop(t)
	l := readLedger(t, h)
	l.check(t, maxAttempts)
	require.Equal(t, automation.ExecutionInterrupt, l.events[l.orders[tooOften][0]].fault())
	brokenOff, again := l.interrupted()
	require.Equal(t, []int{3, 3}, []int{brokenOff, again}, "broken off, and begun again")
	nodetest.Report(t, "runtime-again", map[string]any{
		"kills": maxAttempts, "begun_again": again, "interrupted": brokenOff, "lost": 0, "seconds": int(time.Since(start).Seconds()),
	})
}

// slow waits until the request of a tree has come that is begun for the so manieth time.
func (h *fixture) slow(t *testing.T, d *fetchServer, n, attempt int) {
	t.Helper()
	d.awaitRequest(t, fmt.Sprintf("/slow?n=%d&attempt=%d", n, attempt))
}

// runs waits until it is on disk that so many runs began.
func (h *fixture) runs(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return h.total(h.path+"/runs?limit=1&status=running") == n }, patience, moment, "%d runs", n)
}
