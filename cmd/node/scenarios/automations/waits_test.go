package automations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// Who waits for what is listed, and a wait can be ended by the event that it is for.
func TestWaitsAreListedAndAnswered(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
ask: {when: {events: [ordered]}, do: [{wait: {oneOf: [{event: approved, filters: {payload.n: 1}}, {event: refused}], timeout: 600, output: w}}, {emit: {event: done, payload: {by: '{{w.type}}', n: '{{w.payload.n}}'}}}]}
nap: {when: {events: [tired]}, do: [{wait: {timeout: 600}}]}`)
	waits := func(n int) (list []map[string]any) {
		t.Helper()
		require.Eventually(t, func() bool {
			list = p.Do(t, 200, "GET", p.Path+"/waits", "").List(t)
			return len(list) == n
		}, time.Minute, 10*time.Millisecond, "%d waits", n)
		return list
	}
	require.Empty(t, waits(0))
	_, sent := p.Emit(t, `{"type":"ordered"}`)
	list := waits(1)
	one := list[0]
	require.Equal(t, "ask", one["automation"])
	require.Equal(t, sent.Header.Get("X-Correlation-Id"), one["correlationId"])
	require.Equal(t, []any{map[string]any{"event": "approved", "filters": map[string]any{"payload.n": 1.0}}, map[string]any{"event": "refused"}}, one["waitsFor"])
	require.Equal(t, p.UserID(t), one["startedBy"])
	require.NotEmpty(t, one["since"])
	require.NotEmpty(t, one["until"])
	p.Emit(t, `{"type":"tired"}`)
	list = waits(2)
	require.Equal(t, []any{}, list[1]["waitsFor"])
	require.Len(t, p.Do(t, 200, "GET", p.Path+"/waits?limit=1&page=1", "").List(t), 1)
	p.RequireRefusal(t, 400, "invalid_parameter", "GET", p.Path+"/waits?limit=0", "")
	p.Anonymous().RequireRefusal(t, 401, "missing_token", "GET", p.Path+"/waits", "")

	answer := p.Path + "/waits/" + one["id"].(string) + "/answer"
	p.RequireRefusal(t, 400, "missing_parameter", "POST", answer, `{}`)
	p.RequireRefusal(t, 400, "invalid_request", "POST", answer, `{"event":"approved","more":1}`)
	p.RequireRefusal(t, 422, "validation_failed", "POST", answer, `{"event":"other"}`)
	p.RequireRefusal(t, 422, "validation_failed", "POST", answer, `{"event":"approved","payload":{"n":2}}`)
	p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/waits/"+list[1]["id"].(string)+"/answer", `{"event":"approved"}`)
	p.RequireRefusal(t, 404, "resource_not_found", "POST", p.Path+"/waits/none/answer", `{"event":"approved"}`)
	p.Anonymous().RequireRefusal(t, 401, "missing_token", "POST", answer, `{"event":"refused"}`)
	done := p.Do(t, 200, "POST", answer, `{"event":"approved","payload":{"n":1}}`).JSON(t)
	require.Equal(t, one["correlationId"], done["correlationId"])
	require.Equal(t, "approved", done["event"].(map[string]any)["type"])
	ended := p.AwaitEvents(t, 1, "done", "")[0]
	require.Equal(t, []string{`"approved"`, `1`}, []string{ended.At("by"), ended.At("n")})
	require.Equal(t, done["event"].(map[string]any)["id"], p.AwaitEvents(t, 1, "approved", "")[0].ID)
	p.AwaitEvents(t, 1, "runtime.waits.fulfilled", "")
	waits(1)
	require.Equal(t, "already_ended", p.RequireRefusal(t, 409, "resource_conflict", "POST", answer, `{"event":"approved","payload":{"n":1}}`)["reason"])

	t.Run("inside an app the names have the prefix", func(t *testing.T) {
		app := w.NewWorkspace(t).AddAutomations(t, `ask: {when: {events: [ordered]}, do: [{wait: {oneOf: [{event: approved}], timeout: 600, output: w}}, {emit: {event: done, payload: {by: '{{w.type}}'}}}]}`)
		app.PublishApp(t, "waiting")
		user := w.NewWorkspace(t)
		user.InstallApp(t, "waiting", "od", "")
		user.Emit(t, `{"type":"od.ordered"}`)
		var found []map[string]any
		require.Eventually(t, func() bool {
			found = user.Do(t, 200, "GET", user.Path+"/waits", "").List(t)
			return len(found) == 1
		}, time.Minute, 10*time.Millisecond)
		require.Equal(t, []any{map[string]any{"event": "od.approved"}}, found[0]["waitsFor"])
		require.Equal(t, "od.ask", found[0]["automation"])
		answer := user.Path + "/waits/" + found[0]["id"].(string) + "/answer"
		user.RequireRefusal(t, 422, "validation_failed", "POST", answer, `{"event":"approved"}`)
		user.Do(t, 200, "POST", answer, `{"event":"od.approved"}`)
		require.Equal(t, `"approved"`, user.AwaitEvents(t, 1, "od.done", "")[0].At("by"))
	})
}
