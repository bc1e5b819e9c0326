//go:build fault

package fault

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// left are automations whose trees nobody begins again when they break off: one that
// listens to an event that is not kept, and one that is deleted while it runs.
const left = `
called: {when: {endpoint: true}, do: [
  {emit: {event: live, payload: {n: 1, at: '{{body.at}}'}, options: {persist: false}}},
  {emit: {event: gone, payload: {n: 2, at: '{{body.at}}'}}}]}
live: {when: {events: [live]}, do: [{begun: {payload: '{{payload}}'}}]}
gone: {when: {events: [gone]}, do: [{begun: {payload: '{{payload}}'}}]}
begun: [{fetch: {url: '{{payload.at}}/slow?n={{payload.n}}&attempt={{run.attempt}}'}}]
last: {when: {events: [last]}, do: []}`

// What broke off and cannot be begun again is told of: no run goes on for ever.
func TestRunsThatNobodyBeginsAgainEnd(t *testing.T) {
	t.Parallel()
	const live, gone = 1, 2
	s, d := newService(t, "FETCH_ALLOWED_HOSTS=127.0.0.1"), newFetchServer(t)
	s.start(t)
	h := newFixture(t, s, left)
	start := time.Now()
	h.do(t, http.StatusOK, http.MethodPost, "/webhooks/called", map[string]any{"at": d.URL})
	h.slow(t, d, live, 1)
	h.slow(t, d, gone, 1)
	h.runs(t, 1)
	h.do(t, http.StatusOK, http.MethodDelete, "/automations/gone", nil)
	h.again(t)
	close(d.cleared)
	h.awaitIdle(t)
	h.again(t)
	h.awaitEndedOrWaiting(t)
	for _, n := range []int{live, gone} {
		require.Zero(t, d.count(fmt.Sprintf("/slow?n=%d&attempt=2", n)), "%d is not begun again", n)
	}
	h.verify(t)
	s.stop(t)
	l := readLedger(t, h)
	l.check(t, 1)
	brokenOff, _ := l.interrupted()
	require.Equal(t, 2, brokenOff)
	nodetest.Report(t, "runtime-abandoned", map[string]any{"kills": 2, "interrupted": brokenOff, "lost": 0, "seconds": int(time.Since(start).Seconds())})
}
