package node_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// background calls an endpoint whose answer takes a while, and returns where it comes.
func (p place) background(t *testing.T, ctx context.Context, path string) <-chan run { //nolint:revive // the test is first everywhere
	t.Helper()
	answered := make(chan run, 1)
	go func() { // ends with the answer, at the latest when the service stops
		got, err := p.s.request(ctx, http.MethodPost, p.path+"/webhooks/"+path, p.me, "")
		if err == nil {
			answered <- run{got, p}
		}
		close(answered)
	}()
	return answered
}

// A caller who waits longer than a stop may take is cut off; the run is not, and nothing
// else is kept from closing.
func TestAStopCutsCallersOffAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, "SHUTDOWN_GRACE_SECONDS=1")
	p := w.place(t).has(t, `t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: go}], timeout: 60}}, {emit: {event: done}}]}`)
	answered := p.background(t, t.Context(), "t")
	p.awaits(t, 1, "runtime.waits.pending", "")
	w.restarts(t, nil)
	<-answered
	p.emits(t, `{"type":"go"}`)
	p.awaits(t, 1, "done", "")
}

func TestHowTreesEnd(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, givesUp, "EXECUTION_MAX_ACTIVE_SECONDS=1")
	const waiting = `
t: {when: {endpoint: true}, do: [{try: {do: [{wait: {oneOf: [{event: go}], timeout: 60, output: w}}], catch: [{emit: {event: caught}}], finally: [{emit: {event: finally}}]}}, {child: {output: c}}, {emit: {event: done, payload: {c: '{{c.r}}'}}}], output: '{{c.r}}'}
child: [{T: old}]`
	t.Run("when the caller leaves the run goes on", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, waiting)
		ctx, leave := context.WithCancel(t.Context())
		answered := p.background(t, ctx, "t")
		p.awaits(t, 1, "runtime.waits.pending", "")
		leave()
		<-answered
		p.emits(t, `{"type":"go"}`)
		p.awaits(t, 1, "done", "")
		p.awaits(t, 1, executed, "payload.slug=t")
	})
	t.Run("an answer that takes too long is given up, the run is not", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, waiting)
		got := p.calls(t, 504, "POST", "t", "")
		require.Equal(t, "gateway_timeout", got.code(t))
		p.emits(t, `{"type":"go"}`)
		p.awaits(t, 1, "done", "")
	})
	t.Run("a tree ends on the document it began with", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, waiting)
		answered := p.background(t, t.Context(), "t")
		p.awaits(t, 1, "runtime.waits.pending", "")
		p.does(t, 200, "PATCH", p.path+"/automations/child", `{"name":"child","do":[],"output":{"r":"new"}}`)
		p.does(t, 200, "DELETE", p.path+"/automations/t", "")
		p.emits(t, `{"type":"go"}`)
		got := <-answered
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
		p.awaits(t, 1, "done", "")
		p.refuses(t, 404, "resource_not_found", "POST", p.path+"/webhooks/t", "")
	})
	t.Run("who is active for too long is stopped", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `t: [{try: {do: [{repeat: {until: '{% false %}', do: [{set x: '{{item}}'}]}}], catch: [{emit: {event: caught}}], finally: [{emit: {event: finally}}]}}, {emit: {event: after}}]`)
		got := p.tries(t, 504, `{}`)
		require.Equal(t, "gateway_timeout", got.code(t))
		require.Equal(t, "ExecutionTimeoutError", got.awaits(t, 1, "error")[0].Payload["error"])
		require.Equal(t, []string{"finally"}, typesOf(got.events(t, "caught", "finally", "after")))
	})
	t.Run("a run that is cancelled ends", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, waiting)
		answered := p.background(t, t.Context(), "t")
		correlation := p.awaits(t, 1, "runtime.waits.pending", "")[0].Source["correlationId"].(string)
		stranger := p.as(nil)
		stranger.refuses(t, 401, "missing_token", "POST", p.path+"/runs/"+correlation+"/cancel", "")
		cancelled := p.does(t, 200, "POST", p.path+"/runs/"+correlation+"/cancel", "").json(t)
		require.Equal(t, correlation, cancelled["correlationId"])
		require.InDelta(t, 1, cancelled["cancelled"], 0)
		got := <-answered
		require.Equal(t, http.StatusConflict, got.StatusCode, "%s", got.body)
		require.Equal(t, "resource_conflict", got.code(t))
		got.awaits(t, 1, "finally")
		require.Empty(t, got.events(t, "caught", "done"))
		require.Equal(t, `"ExecutionCancelledError"`, got.awaits(t, 1, executed)[0].at("error", "error"))
	})
	t.Run("a workspace is known by its slug", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `t: {when: {endpoint: true}, do: [], output: '{{global.workspaceId}}'}`)
		slug := p.does(t, 200, "GET", p.path, "").json(t)["slug"].(string)
		require.Equal(t, p.id, string(p.does(t, 200, "GET", "/v2/workspaces/slug:"+slug+"/webhooks/t", "").body))
	})
}

// What was refused is not told again by who looks at the event again after a restart.
func TestARefusedStartIsToldOnce(t *testing.T) {
	t.Parallel()
	g, w := newGate(t), newWorkshop(t)
	p := w.place(t).has(t, `
hold: {when: {events: [hold]}, do: [{fetch: {url: '`+g.URL+`/hold'}}]}
strict: {when: {events: [go]}, validateArguments: true, arguments: {z: {type: string, required: true}}, do: []}
last: {when: {events: [last]}, do: []}`)
	p.emits(t, `{"type":"hold"}`)
	g.awaits(t, 1, "/hold")
	p.emits(t, `{"type":"go"}`)
	p.awaits(t, 1, "error", "")
	w.stop(t)
	w.start(t)
	g.awaits(t, 2, "/hold") // it is read from there again
	p.emits(t, `{"type":"last"}`)
	p.awaits(t, 1, executed, "payload.slug=last")
	p.awaits(t, 1, "error", "")
}
