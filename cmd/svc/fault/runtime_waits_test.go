//go:build fault

package fault

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/activity"
)

// waiting are automations that send a request before and after each of several waits,
// deep in a call and a loop, started by an endpoint and by an event.
const waiting = `
called: {when: {endpoint: true}, do: [{stand: {n: '{{body.n}}', kind: called, at: '{{body.at}}', waits: '{{body.waits}}', output: r}}, {emit: {event: done, payload: {n: '{{body.n}}', r: '{{r}}'}}}]}
heard: {when: {events: [begin]}, do: [{stand: {n: '{{payload.n}}', kind: heard, at: '{{payload.at}}', waits: '{{payload.waits}}', output: r}}, {emit: {event: done, payload: {n: '{{payload.n}}', r: '{{r}}'}}}]}
stand: {do: [
  {set r: []},
  {fetch: {url: '{{at}}/before?n={{n}}'}},
  {repeat: {until: '{{waits}}', do: [
    {wait: {oneOf: [{event: go, filters: {payload.n: '{{n}}', payload.i: '{{$index}}'}}], timeout: 600, output: w}},
    {fetch: {url: '{{at}}/after?n={{n}}&i={{$index}}'}},
    {'set r[]': '{{w.payload.v}}'}]}}], output: '{{r}}'}
nap: {when: {endpoint: true}, do: [{fetch: {url: '{{body.at}}/nap?n={{body.n}}'}}, {wait: {oneOf: [{event: never}], timeout: 2, output: w}}, {emit: {event: woke, payload: {n: '{{body.n}}', w: '{{w}}'}}}]}
sleep: {when: {events: [sleep]}, do: [{fetch: {url: '{{payload.at}}/nap?n={{payload.n}}'}}, {wait: {timeout: 2}}, {emit: {event: woke, payload: {n: '{{payload.n}}'}}}]}
beside: {when: {events: [beside]}, do: [{fetch: {url: '{{payload.at}}/before?n={{payload.n}}'}}, {all: [{wait: {oneOf: [{event: go, filters: {payload.n: '{{payload.n}}'}}], timeout: 600}}, {fetch: {url: '{{payload.at}}/slow?n={{payload.n}}'}}]}, {emit: {event: done, payload: {n: '{{payload.n}}'}}}]}
further: {when: {events: [further]}, do: [{wait: {oneOf: [{event: go}], timeout: 600}}, {emit: {event: went}}, {fetch: {url: '{{payload.at}}/slow?further'}}, {emit: {event: done}}]}
last: {when: {events: [last]}, do: []}`

// A wait goes on after the service was killed, however many there are in a tree and
// however often that happens; what was before it is not repeated. What runs beside it
// is.
func TestWaitsGoOnAfterAKill(t *testing.T) {
	t.Parallel()
	s, d := newService(t, "FETCH_ALLOWED_HOSTS=127.0.0.1", "RATE_LIMIT_DISABLED=true", "EXECUTION_MAX_ATTEMPTS=100"), newFetchServer(t) // who does more than wait is interrupted
	s.start(t)
	h := newFixture(t, s, waiting)
	waitsEach, start := nodetest.Cycles(5, 20), time.Now()
	const called, heard, beside = 1, 2, 3
	for _, n := range []int{called, heard} {
		body := map[string]any{"n": n, "at": d.URL, "waits": waitsEach}
		if n == called {
			h.callInBackground(t, "called", body)
		} else {
			h.emit(t, "begin", body)
		}
	}
	h.emit(t, "beside", map[string]any{"n": beside, "at": d.URL})
	d.awaitRequest(t, fmt.Sprintf("/slow?n=%d", beside))
	for i := range waitsEach {
		h.awaitEvents(t, 2*(i+1)+1, waits, "")
		h.again(t) // as soon as it is told that they wait
		for _, n := range []int{called, heard} {
			h.emit(t, "go", map[string]any{"n": n, "i": i, "v": fmt.Sprintf("%d-%d", n, i)})
		}
	}
	close(d.cleared)
	h.emit(t, "go", map[string]any{"n": beside})
	h.awaitEvents(t, 3, "done", "")
	h.awaitIdle(t)
	for _, n := range []int{called, heard} {
		h.checkWaited(t, d, n, waitsEach, 1)
	}
	require.Equal(t, 1, d.count(fmt.Sprintf("/before?n=%d", beside)), "what was before the wait is not repeated")
	require.Equal(t, waitsEach+1, d.count(fmt.Sprintf("/slow?n=%d", beside)), "what runs beside it is")
	h.verify(t)
	s.stop(t)
	l := readLedger(t, h)
	for id, times := range l.executions {
		require.Equal(t, 1, times, "the end of execution %s", id)
	}
	require.Empty(t, l.failures)
	nodetest.Report(t, "runtime-waits", map[string]any{
		"kills": waitsEach, "waits": 2*waitsEach + 1, "repeated": 0, "lost": 0, "seconds": int(time.Since(start).Seconds()),
	})
}

// checkWaited requires that a tree with several waits did what was before them once, what
// was behind each at most so often, and all of it with the variables that it had.
func (h *fixture) checkWaited(t *testing.T, d *fetchServer, n, waitsEach, most int) {
	t.Helper()
	require.Equal(t, 1, d.count(fmt.Sprintf("/before?n=%d", n)), "what was before the wait is not repeated")
	var want []any
	for i := range waitsEach {
		after := d.count(fmt.Sprintf("/after?n=%d&i=%d", n, i))
		require.True(t, after >= 1 && after <= most, "tree %d after wait %d: %d times", n, i, after)
		want = append(want, fmt.Sprintf("%d-%d", n, i))
	}
	done := h.recorded("done", of(n))
	require.True(t, len(done) >= 1 && len(done) <= most, "tree %d ended: %d times", n, len(done))
	require.Equal(t, want, done[0].Payload["r"], "with the variables that it had")
}

// The time of a wait that passes while the service is down has passed when it is up.
func TestWaitsThatEndWhileTheServiceIsDown(t *testing.T) {
	t.Parallel()
	s, d := newService(t, "FETCH_ALLOWED_HOSTS=127.0.0.1"), newFetchServer(t)
	s.start(t)
	h := newFixture(t, s, waiting)
	h.callInBackground(t, "nap", map[string]any{"n": 1, "at": d.URL})
	h.emit(t, "sleep", map[string]any{"n": 2, "at": d.URL})
	h.awaitEvents(t, 2, waits, "")
	h.kill()
	<-time.After(2500 * time.Millisecond)
	h.start(t)
	up := time.Now()
	woke := h.awaitEvents(t, 2, "woke", "")
	late := time.Since(up)
	require.Less(t, late, 30*time.Second, "at once")
	for _, e := range woke {
		require.NotContains(t, e.Payload, "w", "nothing came")
	}
	h.awaitEvents(t, 2, "runtime.waits.expired", "")
	h.awaitIdle(t)
	for n := 1; n <= 2; n++ {
		require.Equal(t, 1, d.count(fmt.Sprintf("/nap?n=%d", n)), "what was before the wait is not repeated")
		require.Len(t, h.recorded("woke", of(n)), 1)
	}
	s.stop(t)
	require.Empty(t, readLedger(t, h).failures)
	nodetest.Report(t, "runtime-waits-expired", map[string]any{"waits": 2, "repeated": 0, "milliseconds_late": late.Milliseconds()})
}

// A wait that was told of stands, even when the service is killed at the same moment; and
// an event that was recorded ends it, even when the service is killed before it has.
func TestAWaitThatWasToldOfStands(t *testing.T) {
	t.Parallel()
	s, d := newService(t, "FETCH_ALLOWED_HOSTS=127.0.0.1", "RATE_LIMIT_DISABLED=true"), newFetchServer(t)
	s.start(t)
	h := newFixture(t, s, waiting)
	kills, start := nodetest.Cycles(4, 100), time.Now()
	for n := range kills {
		body := map[string]any{"n": n, "at": d.URL, "waits": 1}
		if n%2 == 0 {
			h.callInBackground(t, "called", body)
		} else {
			h.emit(t, "begin", body)
		}
		d.awaitRequest(t, fmt.Sprintf("/before?n=%d", n))
		h.killOn(t, waits, n+1)
		h.start(t)
	}
	for n := range kills {
		h.emit(t, "go", map[string]any{"n": n, "i": 0, "v": fmt.Sprintf("%d-0", n)})
		if n%2 == 0 {
			h.again(t)
		}
	}
	h.awaitIdle(t)
	require.Eventually(t, func() bool { return h.total(h.path+"/runs?limit=1&status=waiting") == 0 }, patience, moment, "all of them go on")
	for n := range kills {
		h.checkWaited(t, d, n, 1, 2)
	}
	s.stop(t)
	told := 0
	eachEvent(t, s.openLog(t).Log, domain.Activity, func(ev domain.Recorded) {
		if _, ok := ev.Data.(activity.WaitPending); ok {
			told++
		}
	})
	require.Equal(t, kills, told)
	nodetest.Report(t, "runtime-waits-told", map[string]any{
		"kills": kills + (kills+1)/2, "waits": kills, "lost": 0, "repeated": 0, "seconds": int(time.Since(start).Seconds()),
	})
}

// A tree that is killed behind a wait goes on from there: that the wait is over was told,
// and is told once.
func TestTreesThatWentOnGoOnAgain(t *testing.T) {
	t.Parallel()
	s, d := newService(t, "FETCH_ALLOWED_HOSTS=127.0.0.1"), newFetchServer(t)
	s.start(t)
	h := newFixture(t, s, waiting)
	h.emit(t, "further", map[string]any{"at": d.URL})
	h.awaitEvents(t, 1, waits, "")
	h.emit(t, "go", nil)
	const kills = 2 // after each it is begun again, as often as the settings say
	for n := range kills {
		require.Eventually(t, func() bool { return d.count("/slow?further") == n+1 }, patience, moment)
		h.awaitEvents(t, n+1, "went", "")
		h.again(t)
	}
	close(d.cleared)
	h.awaitEvents(t, 1, "done", "")
	h.awaitIdle(t)
	require.Len(t, h.recorded("went", ""), kills+1)
	h.awaitEvents(t, 1, waits, "")
	h.awaitEvents(t, 1, "runtime.waits.fulfilled", "")
	h.awaitEvents(t, 1, executed, "payload.slug=further")
	h.verify(t)
	s.stop(t)
	require.Empty(t, readLedger(t, h).failures)
	nodetest.Report(t, "runtime-waits-behind", map[string]any{"kills": kills, "lost": 0, "told_twice": 0})
}

// killOn kills the service as soon as so many events of a type are told of.
func (h *fixture) killOn(t *testing.T, eventType string, n int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for len(h.recorded(eventType, "")) < n {
		require.True(t, time.Now().Before(deadline), "%d of %s", n, eventType)
	}
	h.kill()
}
