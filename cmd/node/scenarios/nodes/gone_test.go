package nodes_test

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

	"svc/cmd/node/nodetest"
)

// A node that hears nothing of its broker is gone for the others. What it ran goes on
// there, and not a second time when it is back.
func TestTreesOfANodeThatIsCutOffGoOnElsewhere(t *testing.T) {
	t.Parallel()
	g := nodetest.NewBlockingServer(t)
	c, wire, _ := newFragileCluster(t)
	here, there := c.newWorkspaceOfFirst(t)
	here.AddAutomations(t, `
waits: {when: {events: [waits]}, do: [{set x: '{{payload.x}}'}, {set global.x: '{{payload.x}}'}, {emit: {event: before}}, {wait: {oneOf: [{event: go}], timeout: 600, output: w}}, {emit: {event: done, payload: {x: '{{x}}', g: '{{global.x}}', n: '{{w.payload.n}}', attempt: '{{run.attempt}}'}}}]}
asks: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: go}], timeout: 600, output: w}}, {emit: {event: asked, payload: {n: '{{w.payload.n}}'}}}]}
calls: {when: {endpoint: true}, do: [{set global.called: 1}, {emit: {event: calling}}, {fetch: {url: '`+g.URL+`/endpoint'}}, {emit: {event: called}}]}
works: {when: {events: [works]}, do: [{fetch: {url: '`+g.URL+`/event'}}, {emit: {event: worked}}], output: '{{run.attempt}}'}
well: {when: {endpoint: true}, do: [{emit: {event: well}}], output: '{{global.called}}'}`)
	there.Emit(t, `{"type":"waits","payload":{"x":7}},{"type":"works"}`)
	asking, calling := here.CallInBackground(t, t.Context(), "asks"), here.CallInBackground(t, t.Context(), "calls")
	there.AwaitEvents(t, 2, "runtime.waits.pending", "")
	g.AwaitRequests(t, 1, "/endpoint")
	g.AwaitRequests(t, 1, "/event")

	wire.set(true)
	there.Emit(t, `{"type":"go","payload":{"n":8}}`)
	g.AwaitRequests(t, 2, "/event")
	done := there.AwaitEvents(t, 1, "done", "")[0]
	require.JSONEq(t, `{"x":7,"g":7,"n":8,"attempt":1}`, done.At())
	require.Equal(t, "other", node(done))
	there.AwaitEvents(t, 1, "asked", "")
	there.AwaitEvents(t, 1, "error", "payload.error=ExecutionInterruptedError")
	for _, caller := range []<-chan nodetest.Run{asking, calling} {
		require.Equal(t, http.StatusServiceUnavailable, (<-caller).StatusCode, "its tree is not its node's any more")
	}
	require.Equal(t, "other", findReader(t, there))

	wire.set(false)
	g.Release()
	there.AwaitEvents(t, 1, "worked", "")
	require.Eventually(t, func() bool {
		got, err := here.PostEndpoint(t.Context(), "well", "")
		return err == nil && string(got.Body) == "1"
	}, time.Minute, 50*time.Millisecond, "it is back, and what was written before is there")
	for _, p := range []nodetest.Workspace{here, there} {
		require.Equal(t, `"2"`, `"`+p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=works")[0].At("output")+`"`)
		require.Equal(t, nodetest.Interrupted, p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=calls")[0].At("error", "error"))
		p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=waits")
		p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=asks")
		for _, once := range []string{"before", "done", "asked", "calling", "worked"} {
			p.AwaitEvents(t, 1, once, "")
		}
		p.AwaitEvents(t, 1, "error", "payload.error=ExecutionInterruptedError")
		p.AwaitEvents(t, 1, "runtime.interactions.triggered", "payload.automation=works")
		events, err := p.FindEvents(t.Context(), "types=called")
		require.NoError(t, err)
		require.Empty(t, events)
	}
}

// A node that was suspended is gone for the others, however well it is when it wakes up:
// what it ran goes on there, and not here, too.
func TestTreesOfANodeThatWasSuspendedGoOnOnce(t *testing.T) {
	t.Parallel()
	g := nodetest.NewBlockingServer(t)
	c, wire, _ := newFragileCluster(t)
	here, there := c.newWorkspaceOfFirst(t)
	here.AddAutomations(t, `works: {when: {events: [works]}, do: [{fetch: {url: '`+g.URL+`/event'}}, {emit: {event: worked}}], output: '{{run.attempt}}'}`)
	there.Emit(t, `{"type":"works"}`)
	g.AwaitRequests(t, 1, "/event")
	deleteHeartbeats(t, wire.to, "one")
	g.AwaitRequests(t, 2, "/event")
	g.Release()
	require.Equal(t, "2", there.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=works")[0].At("output"))
	for _, p := range []nodetest.Workspace{here, there} {
		p.AwaitEvents(t, 1, "worked", "")
	}
}

// deleteHeartbeats forgets the last signs of life of a node, as happens to one that was
// suspended.
func deleteHeartbeats(t *testing.T, address, name string) {
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
	g := nodetest.NewBlockingServer(t)
	c, _, _ := newFragileCluster(t, "EXECUTION_MAX_ATTEMPTS=1")
	here, there := c.newWorkspaceOfFirst(t)
	here.AddAutomations(t, `
waits: {when: {events: [waits]}, do: [{emit: {event: before}}, {wait: {oneOf: [{event: go}], timeout: 600, output: w}}, {wait: {oneOf: [{event: go}], timeout: 600, output: w}}, {emit: {event: done, payload: {n: '{{w.payload.n}}', attempt: '{{run.attempt}}'}}}]}
works: {when: {events: [works]}, do: [{fetch: {url: '`+g.URL+`/event'}}], output: '{{run.attempt}}'}
stops: {when: {events: [stops]}, do: [{try: {do: [{wait: {oneOf: [{event: never}], timeout: 600}}], finally: [{emit: {event: finally}}]}}]}`)
	here.Emit(t, `{"type":"waits"},{"type":"works"}`)
	made, _ := here.Emit(t, `{"type":"stops"}`)
	here.AwaitEvents(t, 2, "runtime.waits.pending", "")
	g.AwaitRequests(t, 1, "/event")
	trees := nodetest.CountOf(there.Service.ActivityTypes(t, there.ID), "runtime.trees.started")

	c.one.End() // waited for below
	require.Eventually(t, func() bool {
		_, err := c.one.Request(t.Context(), http.MethodGet, "/livez", nil, "")
		return err != nil
	}, time.Minute, time.Millisecond)
	g.Release() // what ends while its node stops has ended
	c.one.Stop(t)
	stopped := made[0].Source["correlationId"].(string)
	require.InDelta(t, 1, there.Do(t, 200, "POST", there.Path+"/runs/"+stopped+"/cancel", "").JSON(t)["cancelled"], 0)
	require.Equal(t, nodetest.Cancelled, runOf(there, stopped).AwaitEvents(t, 1, nodetest.Executed)[0].At("error", "error"), "also while it is nobody's")
	runOf(there, stopped).AwaitEvents(t, 1, "finally")
	there.AwaitTrees(t, trees+2)
	require.Equal(t, "other", findReader(t, there))
	there.Emit(t, `{"type":"go","payload":{"n":1}}`)
	there.AwaitEvents(t, 3, "runtime.waits.pending", "")

	c.one.Start(t)
	c.other.Stop(t)
	here.AwaitTrees(t, trees+3)
	require.Equal(t, "one", findReader(t, here))
	here.Emit(t, `{"type":"go","payload":{"n":2}}`)
	require.JSONEq(t, `{"n":2,"attempt":1}`, here.AwaitEvents(t, 1, "done", "")[0].At())
	here.AwaitEvents(t, 1, "before", "")
	require.Empty(t, here.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=waits")[0].At("error"))
	require.Equal(t, "1", here.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=works")[0].At("output"), "it was begun once")
	here.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=stops")
}

// Who reads events goes in the middle of them: none is lost, and none counts twice.
func TestNoEventIsLostWithItsReader(t *testing.T) {
	t.Parallel()
	for name, goes := range map[string]func(*testing.T, *cluster, *brokerLink){
		"that stops":      func(t *testing.T, c *cluster, _ *brokerLink) { t.Helper(); c.one.Stop(t) },
		"that is cut off": func(_ *testing.T, _ *cluster, wire *brokerLink) { wire.set(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, wire, _ := newFragileCluster(t)
			here, there := c.newWorkspaceOfFirst(t)
			here.AddAutomations(t, `
a: {when: {events: [e]}, do: [{'set global.a[]': '{{payload.n}}'}, {emit: {event: heard}}]}
b: {when: {events: [e]}, do: [], output: '{{run.attempt}}'}`)
			const events, each = 120, 6
			var going sync.WaitGroup
			for n := 0; n < events; n += each {
				if n == events/2 {
					going.Go(func() { goes(t, c, wire) })
				}
				emitWithRetry(t, there, "e", fmt.Sprintf("from %d", n), each)
			}
			going.Wait()
			started := map[string]int{}
			for _, e := range there.AwaitEvents(t, 2*events, nodetest.Executed, "payload.trigger.type=event&payload.trigger.value=e") {
				started[e.At("slug")+e.At("trigger", "id")]++
			}
			require.Len(t, started, 2*events)
			wire.set(false)
			require.Eventually(t, func() bool { return name == "that stops" || c.one.Node.Store().Log.Refresh(t.Context()) == nil }, time.Minute, 50*time.Millisecond)
			require.Equal(t, "other", findReader(t, there))
			there.AwaitEvents(t, 2*events, nodetest.Executed, "payload.trigger.type=event&payload.trigger.value=e")
			there.AwaitEvents(t, 2*events, "runtime.interactions.triggered", "payload.trigger.type=event&payload.trigger.value=e")
		})
	}
}

func TestAScheduleFiresOnceOnTwoNodes(t *testing.T) {
	t.Parallel()
	c, _, at := newFragileCluster(t)
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `tick: {when: {schedules: ['* * * * *']}, do: [{'set global.n[]': '{{run.trigger.id}}'}, {emit: {event: ticked}}]}
read: {when: {endpoint: true}, do: [], output: '{{global.n.length}}'}`)
	there.AwaitEvents(t, 1, "runtime.schedules.created", "")
	for i, n := range []string{"1", "2", "3", "4"} {
		if i == 2 {
			c.one.Stop(t)
		}
		if i == 3 {
			c.one.Start(t)
		}
		at.NextMinute()
		there.AwaitEvents(t, i+1, "ticked", "")
		there.AwaitEvents(t, i+1, nodetest.Executed, "payload.slug=tick")
		there.AwaitEvents(t, i+1, "runtime.schedules.triggered", "")
		require.Equal(t, n, string(there.CallEndpoint(t, 200, "GET", "read", "").Body))
	}
}
