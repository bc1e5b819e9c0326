package node_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

const (
	interrupted = `"ExecutionInterruptedError"`
	cancelled   = `"ExecutionCancelledError"`
)

// awaitsTrees waits until trees of a workspace have begun so often.
func (p place) awaitsTrees(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return count(p.s.typesOf(t, p.id), "runtime.trees.started") >= n }, 30*time.Second, 20*time.Millisecond)
}

// A node that hears nothing of its broker is gone for the others. What it ran goes on
// there, and not a second time when it is back.
func TestTreesOfANodeThatIsCutOffGoOnElsewhere(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	c, wire, _ := newUneasy(t)
	here, there := c.ours(t)
	here.has(t, `
waits: {when: {events: [waits]}, do: [{set x: '{{payload.x}}'}, {set global.x: '{{payload.x}}'}, {emit: {event: before}}, {wait: {oneOf: [{event: go}], timeout: 600, output: w}}, {emit: {event: done, payload: {x: '{{x}}', g: '{{global.x}}', n: '{{w.payload.n}}', attempt: '{{run.attempt}}'}}}]}
asks: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: go}], timeout: 600, output: w}}, {emit: {event: asked, payload: {n: '{{w.payload.n}}'}}}]}
calls: {when: {endpoint: true}, do: [{set global.called: 1}, {emit: {event: calling}}, {fetch: {url: '`+g.URL+`/endpoint'}}, {emit: {event: called}}]}
works: {when: {events: [works]}, do: [{fetch: {url: '`+g.URL+`/event'}}, {emit: {event: worked}}], output: '{{run.attempt}}'}
well: {when: {endpoint: true}, do: [{emit: {event: well}}], output: '{{global.called}}'}`)
	there.emits(t, `{"type":"waits","payload":{"x":7}},{"type":"works"}`)
	asking, calling := here.background(t, t.Context(), "asks"), here.background(t, t.Context(), "calls")
	there.awaits(t, 2, "runtime.waits.pending", "")
	g.awaits(t, 1, "/endpoint")
	g.awaits(t, 1, "/event")

	wire.set(true)
	there.emits(t, `{"type":"go","payload":{"n":8}}`)
	g.awaits(t, 2, "/event")
	done := there.awaits(t, 1, "done", "")[0]
	require.JSONEq(t, `{"x":7,"g":7,"n":8,"attempt":1}`, done.at())
	require.Equal(t, "other", done.node())
	there.awaits(t, 1, "asked", "")
	there.awaits(t, 1, "error", "payload.error=ExecutionInterruptedError")
	for _, caller := range []<-chan run{asking, calling} {
		require.Equal(t, http.StatusServiceUnavailable, (<-caller).StatusCode, "its tree is not its node's any more")
	}
	require.Equal(t, "other", there.probed(t))

	wire.set(false)
	g.open()
	there.awaits(t, 1, "worked", "")
	require.Eventually(t, func() bool {
		got, err := here.posts(t.Context(), "well", "")
		return err == nil && string(got.body) == "1"
	}, 20*time.Second, 50*time.Millisecond, "it is back, and what was written before is there")
	for _, p := range []place{here, there} {
		require.Equal(t, `"2"`, `"`+p.awaits(t, 1, executed, "payload.slug=works")[0].at("output")+`"`)
		require.Equal(t, interrupted, p.awaits(t, 1, executed, "payload.slug=calls")[0].at("error", "error"))
		p.awaits(t, 1, executed, "payload.slug=waits")
		p.awaits(t, 1, executed, "payload.slug=asks")
		for _, once := range []string{"before", "done", "asked", "calling", "worked"} {
			p.awaits(t, 1, once, "")
		}
		p.awaits(t, 1, "error", "payload.error=ExecutionInterruptedError")
		p.awaits(t, 1, "runtime.interactions.triggered", "payload.automation=works")
		events, err := p.recorded(t.Context(), "types=called")
		require.NoError(t, err)
		require.Empty(t, events)
	}
}

// A node that was suspended is gone for the others, however well it is when it wakes up:
// what it ran goes on there, and not here, too.
func TestTreesOfANodeThatWasSuspendedGoOnOnce(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	c, wire, _ := newUneasy(t)
	here, there := c.ours(t)
	here.has(t, `works: {when: {events: [works]}, do: [{fetch: {url: '`+g.URL+`/event'}}, {emit: {event: worked}}], output: '{{run.attempt}}'}`)
	there.emits(t, `{"type":"works"}`)
	g.awaits(t, 1, "/event")
	forgetLife(t, wire.to, "one")
	g.awaits(t, 2, "/event")
	g.open()
	require.Equal(t, "2", there.awaits(t, 1, executed, "payload.slug=works")[0].at("output"))
	for _, p := range []place{here, there} {
		p.awaits(t, 1, "worked", "")
	}
}

// forgetLife forgets the last signs of life of a node, as happens to one that was
// suspended.
func forgetLife(t *testing.T, address, name string) {
	t.Helper()
	nc, err := nats.Connect("nats://svc:hunter2@" + address)
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	processes, err := js.KeyValue(t.Context(), "PROCESSES")
	require.NoError(t, err)
	keys, err := processes.Keys(t.Context())
	require.NoError(t, err)
	for _, key := range keys {
		if strings.HasPrefix(key, name+".") {
			require.NoError(t, processes.Purge(t.Context(), key))
		}
	}
}

// A wait goes on wherever there is a node, however often they come and go: that is no
// attempt.
func TestAWaitGoesOnWhereverThereIsANode(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	c, _, _ := newUneasy(t, "EXECUTION_MAX_ATTEMPTS=1")
	here, there := c.ours(t)
	here.has(t, `
waits: {when: {events: [waits]}, do: [{emit: {event: before}}, {wait: {oneOf: [{event: go}], timeout: 600, output: w}}, {wait: {oneOf: [{event: go}], timeout: 600, output: w}}, {emit: {event: done, payload: {n: '{{w.payload.n}}', attempt: '{{run.attempt}}'}}}]}
works: {when: {events: [works]}, do: [{fetch: {url: '`+g.URL+`/event'}}], output: '{{run.attempt}}'}
stops: {when: {events: [stops]}, do: [{try: {do: [{wait: {oneOf: [{event: never}], timeout: 600}}], finally: [{emit: {event: finally}}]}}]}`)
	here.emits(t, `{"type":"waits"},{"type":"works"}`)
	made, _ := here.emits(t, `{"type":"stops"}`)
	here.awaits(t, 2, "runtime.waits.pending", "")
	g.awaits(t, 1, "/event")
	trees := count(there.s.typesOf(t, there.id), "runtime.trees.started")

	c.one.end() // waited for below
	require.Eventually(t, func() bool {
		_, err := c.one.request(t.Context(), http.MethodGet, "/livez", nil, "")
		return err != nil
	}, 20*time.Second, time.Millisecond)
	g.open() // what ends while its node stops has ended
	c.one.stop(t)
	stopped := made[0].Source["correlationId"].(string)
	require.InDelta(t, 1, there.does(t, 200, "POST", there.path+"/runs/"+stopped+"/cancel", "").json(t)["cancelled"], 0)
	require.Equal(t, cancelled, runOf(there, stopped).awaits(t, 1, executed)[0].at("error", "error"), "also while it is nobody's")
	runOf(there, stopped).awaits(t, 1, "finally")
	there.awaitsTrees(t, trees+2)
	require.Equal(t, "other", there.probed(t))
	there.emits(t, `{"type":"go","payload":{"n":1}}`)
	there.awaits(t, 3, "runtime.waits.pending", "")

	c.one.start(t)
	c.other.stop(t)
	here.awaitsTrees(t, trees+3)
	require.Equal(t, "one", here.probed(t))
	here.emits(t, `{"type":"go","payload":{"n":2}}`)
	require.JSONEq(t, `{"n":2,"attempt":1}`, here.awaits(t, 1, "done", "")[0].at())
	here.awaits(t, 1, "before", "")
	require.Empty(t, here.awaits(t, 1, executed, "payload.slug=waits")[0].at("error"))
	require.Equal(t, "1", here.awaits(t, 1, executed, "payload.slug=works")[0].at("output"), "it was begun once")
	here.awaits(t, 1, executed, "payload.slug=stops")
}

// Who reads events goes in the middle of them: none is lost, and none counts twice.
func TestNoEventIsLostWithItsReader(t *testing.T) {
	t.Parallel()
	for name, goes := range map[string]func(*testing.T, *cluster, *cable){
		"that stops":      func(t *testing.T, c *cluster, _ *cable) { t.Helper(); c.one.stop(t) },
		"that is cut off": func(_ *testing.T, _ *cluster, wire *cable) { wire.set(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, wire, _ := newUneasy(t)
			here, there := c.ours(t)
			here.has(t, `
a: {when: {events: [e]}, do: [{'set global.a[]': '{{payload.n}}'}, {emit: {event: heard}}]}
b: {when: {events: [e]}, do: [], output: '{{run.attempt}}'}`)
			const events, each = 120, 6
			var going sync.WaitGroup
			for n := 0; n < events; n += each {
				if n == events/2 {
					going.Go(func() { goes(t, c, wire) })
				}
				there.insists(t, "e", fmt.Sprintf("from %d", n), each)
			}
			going.Wait()
			started := map[string]int{}
			for _, e := range there.awaits(t, 2*events, executed, "payload.trigger.type=event&payload.trigger.value=e") {
				started[e.at("slug")+e.at("trigger", "id")]++
			}
			require.Len(t, started, 2*events)
			wire.set(false)
			require.Eventually(t, func() bool { return name == "that stops" || c.one.node.Store().Refresh(t.Context()) == nil }, 20*time.Second, 50*time.Millisecond)
			require.Equal(t, "other", there.probed(t))
			there.awaits(t, 2*events, executed, "payload.trigger.type=event&payload.trigger.value=e")
			there.awaits(t, 2*events, "runtime.interactions.triggered", "payload.trigger.type=event&payload.trigger.value=e")
		})
	}
}

func TestAScheduleFiresOnceOnTwoNodes(t *testing.T) {
	t.Parallel()
	c, _, at := newUneasy(t)
	here, there := c.place(t)
	here.has(t, `tick: {when: {schedules: ['* * * * *']}, do: [{'set global.n[]': '{{run.trigger.id}}'}, {emit: {event: ticked}}]}
read: {when: {endpoint: true}, do: [], output: '{{global.n.length}}'}`)
	there.awaits(t, 1, "runtime.schedules.created", "")
	for i, n := range []string{"1", "2", "3", "4"} {
		if i == 2 {
			c.one.stop(t)
		}
		if i == 3 {
			c.one.start(t)
		}
		at.nextMinute()
		there.awaits(t, i+1, "ticked", "")
		there.awaits(t, i+1, executed, "payload.slug=tick")
		there.awaits(t, i+1, "runtime.schedules.triggered", "")
		require.Equal(t, n, string(there.calls(t, 200, "GET", "read", "").body))
	}
}
