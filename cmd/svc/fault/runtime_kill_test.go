//go:build fault

package fault

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// counting are automations that emit an event, so that what they do can be found again.
// Some of them write to a context before and after that, too: all write to the same list,
// which is not what hundreds a second do.
const counting = `
call: {when: {endpoint: true}, do: [{conditions: {'{{body.n}} % 8 < 2': [{'set global.calls[]': '{{body.n}}'}]}}, {emit: {event: called, payload: {n: '{{body.n}}'}}}, {conditions: {'{{body.n}} % 8 < 2': [{'set global.called[]': '{{body.n}}'}]}}], output: {n: '{{body.n}}'}}
take: {when: {events: [order]}, do: [{conditions: {'{{payload.n}} % 8 < 2': [{'set global.takes[]': '{{payload.n}}'}]}}, {emit: {event: taken, payload: {n: '{{payload.n}}'}}}, {conditions: {'{{payload.n}} % 8 < 2': [{'set global.taken[]': '{{payload.n}}'}]}}]}
look: {when: {endpoint: true}, do: [], output: '{{global}}'}
last: {when: {events: [last]}, do: []}`

// maxAttempts is how often a tree is begun at the most, as the settings have it.
const maxAttempts = 3

// trigger is something that was asked of the service: the call of an endpoint, or an
// event.
type trigger struct {
	n        int
	call     bool
	answered bool
	run      string // the correlation id of the answer
}

// writes is how often what it triggers writes to each list.
func (tr trigger) writes() int {
	if tr.n%8 < 2 {
		return 1
	}
	return 0
}

// triggerClients triggers automations, and knows what it was told.
type triggerClients struct {
	*fixture
	onAnswer func() // after an answer, at once

	mu      sync.Mutex
	sent    []trigger
	refused []string // answers that are none of a service in good health
}

// press triggers automations until the service is gone: as many a second as tickets
// come.
func (c *triggerClients) press(tickets <-chan struct{}) {
	for range tickets {
		if !c.one() {
			return
		}
	}
}

// one triggers one automation, and reports whether that was answered.
func (c *triggerClients) one() bool {
	c.mu.Lock()
	n := len(c.sent)
	c.sent = append(c.sent, trigger{n: n, call: n%2 == 0})
	c.mu.Unlock()
	path, body, want := "/events", batchOf("order", map[string]any{"n": n}), http.StatusCreated
	if n%2 == 0 {
		path, body, want = "/webhooks/call", map[string]any{"n": n}, http.StatusOK
	}
	resp, err := c.ask(http.MethodPost, c.path+path, "", body)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if c.onAnswer != nil {
		c.onAnswer()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if resp.StatusCode != want {
		c.refused = append(c.refused, resp.Status)
		return true
	}
	c.sent[n].answered, c.sent[n].run = true, resp.Header.Get("X-Correlation-Id")
	return true
}

// tickets come at a rate until they are stopped. What was missed is made up for.
func tickets(perSecond int, stop <-chan struct{}) <-chan struct{} {
	out := make(chan struct{})
	go func() { // ends when it is stopped
		defer close(out)
		beat, start := time.NewTicker(10*time.Millisecond), time.Now()
		defer beat.Stop()
		for given := 0; ; {
			for due := int(time.Since(start).Seconds() * float64(perSecond)); given < due; given++ {
				select {
				case out <- struct{}{}:
				case <-stop:
					return
				}
			}
			select {
			case <-beat.C:
			case <-stop:
				return
			}
		}
	}()
	return out
}

// marks are the numbers that automations wrote, and how often.
type marks map[string]map[float64]int

// look reads what was written to the context.
func (h *fixture) look(t *testing.T) marks {
	t.Helper()
	var global map[string]any
	require.NoError(t, json.Unmarshal(h.do(t, http.StatusOK, http.MethodPost, "/webhooks/look", map[string]any{}), &global))
	all := marks{}
	for _, name := range []string{"calls", "called", "takes", "taken"} {
		all[name] = map[float64]int{}
		list, _ := global[name].([]any)
		for _, n := range list {
			all[name][n.(float64)]++
		}
	}
	return all
}

// outcome is what became of the triggers of a crowd.
type outcome struct{ triggers, answered, unanswered, brokenOff, again int }

// stopAndVerify lets the service come to rest, stops it, and requires that everything that was
// answered is there.
func (c *triggerClients) stopAndVerify(t *testing.T) (o outcome) {
	t.Helper()
	c.awaitIdle(t)
	written := c.look(t)
	c.verify(t)
	c.stop(t)
	require.Empty(t, c.refused)
	l := readLedger(t, c.fixture)
	l.check(t, maxAttempts)
	for _, tr := range c.sent {
		if o.triggers++; tr.answered {
			o.answered++
		} else {
			o.unanswered++
		}
		if tr.call {
			c.checkCall(t, tr, l, written)
		} else {
			c.checkOrder(t, tr, l, written)
		}
	}
	o.brokenOff, o.again = l.interrupted()
	return o
}

// checkCall requires of a call that was answered that all it did is there, and of any
// that nothing is there twice.
func (c *triggerClients) checkCall(t *testing.T, tr trigger, l *workspaceLog, written marks) {
	t.Helper()
	found := []int{l.emitted["called"][tr.n], written["calls"][float64(tr.n)], written["called"][float64(tr.n)]}
	if tr.answered {
		require.Equal(t, []int{1, tr.writes(), tr.writes()}, found, "call %d of %s was answered: its event and its writes", tr.n, tr.run)
		tree := l.calls[tr.run+" call"]
		require.NotNil(t, tree, "call %d of %s was answered", tr.n, tr.run)
		require.Empty(t, tree.fault(), "call %d of %s was answered", tr.n, tr.run)
		return
	}
	for _, n := range found {
		require.LessOrEqual(t, n, 1, "call %d was not answered: its event and its writes %v", tr.n, found)
	}
}

// checkOrder requires that an event that was answered is there once, and that one that
// is there was taken: what is begun again may do again what it did.
func (c *triggerClients) checkOrder(t *testing.T, tr trigger, l *workspaceLog, written marks) {
	t.Helper()
	ids := l.orders[tr.n]
	if len(ids) == 0 {
		require.False(t, tr.answered, "event %d was answered", tr.n)
		return
	}
	require.Len(t, ids, 1, "event %d", tr.n)
	tree := l.events[ids[0]]
	require.NotNil(t, tree, "event %d (%s) was taken", tr.n, ids[0])
	require.Contains(t, []string{tree.run, ""}, tr.run, "event %d (%s)", tr.n, ids[0])
	if tree.fault() != "" {
		require.Len(t, tree.attempts, maxAttempts, "event %d (%s)", tr.n, ids[0])
		return
	}
	for what, n := range map[string]int{
		"emitted": l.emitted["taken"][tr.n], "written before": written["takes"][float64(tr.n)], "written last": written["taken"][float64(tr.n)],
	} {
		least := 1
		if what != "emitted" {
			least = tr.writes()
		}
		require.GreaterOrEqual(t, n, least, "event %d (%s), begun %v: %s", tr.n, ids[0], tree.attempts, what)
	}
}

func TestKilledRuntimesLoseNoTrigger(t *testing.T) {
	t.Parallel()
	seed := nodetest.Seed()
	rng := rand.New(rand.NewPCG(seed, 8))
	s := newService(t, "RATE_LIMIT_DISABLED=true", "CONTEXT_GLOBAL_MAX_SIZE=20mb")
	s.start(t)
	c := &triggerClients{fixture: newFixture(t, s, counting)}
	rounds, start, pressed := nodetest.Cycles(6, 60), time.Now(), time.Duration(0)
	kills := rounds
	for range rounds {
		began, stop := time.Now(), make(chan struct{})
		var pressing sync.WaitGroup
		due := tickets(500, stop)
		for range 64 {
			pressing.Go(func() { c.press(due) })
		}
		<-time.After(time.Duration(200+rng.IntN(1300)) * time.Millisecond)
		s.kill()
		close(stop)
		pressing.Wait()
		pressed += time.Since(began)
		if rng.IntN(3) == 0 { // and once more while it finds out what there is to do
			s.launch(t)
			<-time.After(time.Duration(rng.IntN(400)) * time.Millisecond)
			s.kill()
			kills++
		}
		s.start(t)
	}
	o := c.stopAndVerify(t)
	nodetest.Report(t, "runtime-kill", map[string]any{
		"seed": seed, "kills": kills, "triggers": o.triggers, "per_second": int(float64(o.triggers) / pressed.Seconds()), "answered": o.answered,
		"unanswered": o.unanswered, "interrupted": o.brokenOff, "begun_again": o.again, "lost": 0, "doubled": 0, "seconds": int(time.Since(start).Seconds()),
	})
}

func TestWhatWasAnsweredIsRecorded(t *testing.T) {
	t.Parallel()
	s := newService(t, "RATE_LIMIT_DISABLED=true")
	s.start(t)
	c := &triggerClients{fixture: newFixture(t, s, counting)}
	kills, start := nodetest.Cycles(12, 200), time.Now()
	for range kills {
		process := s.cmd.Process
		c.onAnswer = func() { _ = process.Kill() } // by the first that is answered
		var asking sync.WaitGroup
		for range 8 {
			asking.Go(func() { c.one() })
		}
		asking.Wait()
		s.kill()
		s.start(t)
	}
	o := c.stopAndVerify(t)
	require.GreaterOrEqual(t, o.answered, kills)
	nodetest.Report(t, "runtime-answered", map[string]any{
		"kills": kills, "answered": o.answered, "unanswered": o.unanswered, "interrupted": o.brokenOff, "begun_again": o.again, "lost": 0,
		"seconds": int(time.Since(start).Seconds()),
	})
}
