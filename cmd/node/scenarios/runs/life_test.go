package runs_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// A caller who waits longer than a stop may take is cut off; the run is not, and nothing
// else is kept from closing.
func TestAStopCutsCallersOffAndNothingElse(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "SHUTDOWN_GRACE_SECONDS=1")
	p := w.NewWorkspace(t).AddAutomations(t, `t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: go}], timeout: 60}}, {emit: {event: done}}]}`)
	answered := p.CallInBackground(t, t.Context(), "t")
	p.AwaitEvents(t, 1, "runtime.waits.pending", "")
	w.Restart(t, nil)
	<-answered
	p.Emit(t, `{"type":"go"}`)
	p.AwaitEvents(t, 1, "done", "")
}

func TestHowTreesEnd(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, givesUp, "EXECUTION_MAX_ACTIVE_SECONDS=1")
	const waiting = `
t: {when: {endpoint: true}, do: [{try: {do: [{wait: {oneOf: [{event: go}], timeout: 60, output: w}}], catch: [{emit: {event: caught}}], finally: [{emit: {event: finally}}]}}, {child: {output: c}}, {emit: {event: done, payload: {c: '{{c.r}}'}}}], output: '{{c.r}}'}
child: [{T: old}]`
	t.Run("when the caller leaves the run goes on", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, waiting)
		ctx, leave := context.WithCancel(t.Context())
		answered := p.CallInBackground(t, ctx, "t")
		p.AwaitEvents(t, 1, "runtime.waits.pending", "")
		leave()
		<-answered
		p.Emit(t, `{"type":"go"}`)
		p.AwaitEvents(t, 1, "done", "")
		p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=t")
	})
	t.Run("an answer that takes too long is given up, the run is not", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, waiting)
		got := p.CallEndpoint(t, 504, "POST", "t", "")
		require.Equal(t, "gateway_timeout", got.Code(t))
		p.Emit(t, `{"type":"go"}`)
		p.AwaitEvents(t, 1, "done", "")
	})
	t.Run("a tree ends on the document it began with", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, waiting)
		answered := p.CallInBackground(t, t.Context(), "t")
		p.AwaitEvents(t, 1, "runtime.waits.pending", "")
		p.Do(t, 200, "PATCH", p.Path+"/automations/child", `{"name":"child","do":[],"output":{"r":"new"}}`)
		p.Do(t, 200, "DELETE", p.Path+"/automations/t", "")
		p.Emit(t, `{"type":"go"}`)
		got := <-answered
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
		p.AwaitEvents(t, 1, "done", "")
		p.RequireRefusal(t, 404, "resource_not_found", "POST", p.Path+"/webhooks/t", "")
	})
	t.Run("who is active for too long is stopped", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `t: [{try: {do: [{repeat: {until: '{% false %}', do: [{set x: '{{item}}'}]}}], catch: [{emit: {event: caught}}], finally: [{emit: {event: finally}}]}}, {emit: {event: after}}]`)
		got := p.RunTest(t, 504, `{}`)
		require.Equal(t, "gateway_timeout", got.Code(t))
		require.Equal(t, "ExecutionTimeoutError", got.AwaitEvents(t, 1, "error")[0].Payload["error"])
		require.Equal(t, []string{"finally"}, nodetest.TypesOf(got.Events(t, "caught", "finally", "after")))
	})
	t.Run("a run that is cancelled ends", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, waiting)
		answered := p.CallInBackground(t, t.Context(), "t")
		correlation := p.AwaitEvents(t, 1, "runtime.waits.pending", "")[0].Source["correlationId"].(string)
		stranger := p.As(nil)
		stranger.RequireRefusal(t, 401, "missing_token", "POST", p.Path+"/runs/"+correlation+"/cancel", "")
		cancelled := p.Do(t, 200, "POST", p.Path+"/runs/"+correlation+"/cancel", "").JSON(t)
		require.Equal(t, correlation, cancelled["correlationId"])
		require.InDelta(t, 1, cancelled["cancelled"], 0)
		got := <-answered
		require.Equal(t, http.StatusConflict, got.StatusCode, "%s", got.Body)
		require.Equal(t, "resource_conflict", got.Code(t))
		got.AwaitEvents(t, 1, "finally")
		require.Empty(t, got.Events(t, "caught", "done"))
		require.Equal(t, `"ExecutionCancelledError"`, got.AwaitEvents(t, 1, nodetest.Executed)[0].At("error", "error"))
	})
	t.Run("a workspace is known by its slug", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `t: {when: {endpoint: true}, do: [], output: '{{global.workspaceId}}'}`)
		slug := p.Do(t, 200, "GET", p.Path, "").JSON(t)["slug"].(string)
		require.Equal(t, p.ID, string(p.Do(t, 200, "GET", "/v2/workspaces/slug:"+slug+"/webhooks/t", "").Body))
	})
}

// What was refused is not told again by who looks at the event again after a restart.
func TestARefusedStartIsToldOnce(t *testing.T) {
	t.Parallel()
	g, w := nodetest.NewBlockingServer(t), nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
hold: {when: {events: [hold]}, do: [{fetch: {url: '`+g.URL+`/hold'}}]}
strict: {when: {events: [go]}, validateArguments: true, arguments: {z: {type: string, required: true}}, do: []}
last: {when: {events: [last]}, do: []}`)
	p.Emit(t, `{"type":"hold"}`)
	g.AwaitRequests(t, 1, "/hold")
	p.Emit(t, `{"type":"go"}`)
	p.AwaitEvents(t, 1, "error", "")
	w.Stop(t)
	w.Start(t)
	g.AwaitRequests(t, 2, "/hold") // it is read from there again
	p.Emit(t, `{"type":"last"}`)
	p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=last")
	p.AwaitEvents(t, 1, "error", "")
}
