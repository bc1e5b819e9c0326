package runs_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// givesUp is the time of an answer in tests of answers that take too long: longer than a busy
// disk takes for all the others.
const givesUp = "GATEWAY_REQUEST_TIMEOUT_SECONDS=10"

// withSameKey returns the workspace with an Idempotency-Key that all calls share.
func withSameKey(p nodetest.Workspace) nodetest.Workspace {
	me := p.Auth.Clone()
	me.Set("Idempotency-Key", p.ID)
	return p.As(me)
}

// ranOnce requires that an endpoint was called once, however often that was asked for.
func ranOnce(t *testing.T, p nodetest.Workspace) {
	t.Helper()
	called, err := p.FindEvents(t.Context(), "types="+url.QueryEscape("runtime.webhooks.triggered"))
	require.NoError(t, err)
	require.Len(t, called, 1)
}

// isReplayed repeats a call of t until the first one has its answer.
func isReplayed(t *testing.T, p nodetest.Workspace, want string) {
	t.Helper()
	var got nodetest.Answer
	require.Eventually(t, func() bool {
		var err error
		got, err = p.Service.Request(t.Context(), http.MethodPost, p.Path+"/webhooks/t", p.Auth, "")
		return err == nil && got.StatusCode != http.StatusGatewayTimeout
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
	require.Equal(t, "true", got.Header.Get("Idempotency-Replayed"))
	require.Equal(t, want, string(got.Body))
}

// A call that is repeated under its Idempotency-Key is not run again, whatever became of
// its first caller.
func TestARepeatedCallIsNotRunAgain(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, givesUp)
	t.Run("sent piece by piece", func(t *testing.T) {
		t.Parallel()
		for output, last := range map[string]string{`{done: 1}`: `{"done":1}`, `{}`: `{"i":"<"}`} {
			p := withSameKey(w.NewWorkspace(t).AddAutomations(t, `t: {when: {endpoint: true}, do: [{set $http.chunk: {i: '<'}}], output: `+output+`}`))
			first := p.Service.SendAs(t, "POST", p.Path+"/webhooks/t", "", p.Auth, "")
			require.Equal(t, "text/event-stream", first.Header.Get("Content-Type"))
			isReplayed(t, p, last)
			ranOnce(t, p)
		}
	})
	t.Run("failed piece by piece", func(t *testing.T) {
		t.Parallel()
		p := withSameKey(w.NewWorkspace(t).AddAutomations(t, `t: {when: {endpoint: true}, do: [{set $http.chunk: 1}, {set $http.status: 201}]}`))
		for range 2 {
			got := p.Service.SendAs(t, "POST", p.Path+"/webhooks/t", "", p.Auth, "")
			require.Contains(t, string(got.Body), `data: {"error":"internal_error"`, "failures keep nothing")
			require.Contains(t, string(got.Body), "InvalidInstructionError")
		}
		nested := p.Service.SendAs(t, "POST", strings.Replace(p.Path, "/v2/", "/v3/", 1)+"/webhooks/t", "", p.Auth, "")
		require.Contains(t, string(nested.Body), `data: {"error":{"code":"internal_error"`)
	})
	t.Run("too large to be kept", func(t *testing.T) {
		t.Parallel()
		p := withSameKey(w.NewWorkspace(t).AddAutomations(t, `t: {when: {endpoint: true}, do: [], output: '{{body}}'}`))
		large := strings.Repeat("x", 600<<10)
		first := p.CallEndpoint(t, 200, "POST", "t", large, "Content-Type", "text/plain")
		details := p.CallEndpoint(t, 409, "POST", "t", large, "Content-Type", "text/plain").JSON(t)["details"]
		require.Equal(t, map[string]any{"reason": "not_recorded", "correlationId": first.Correlation()}, details)
		ranOnce(t, p)
	})
	const waits = `t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: go}], timeout: 60}}], output: done}`
	t.Run("past its time", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, waits)
		for range 2 {
			withSameKey(p).CallEndpoint(t, 504, "POST", "t", "")
		}
		p.Emit(t, `{"type":"go"}`)
		isReplayed(t, withSameKey(p), "done")
		ranOnce(t, p)
	})
	t.Run("left by its caller", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `t: {when: {endpoint: true}, do: [{set $http.chunk: 1}, {wait: {oneOf: [{event: go}], timeout: 60}}, {set $http.chunk: 2}, {set $http.chunk: 3}]}`)
		disconnectAfter(t, withSameKey(p), "t", "data: 1\n")
		withSameKey(p).CallEndpoint(t, 504, "POST", "t", "")
		p.Emit(t, `{"type":"go"}`)
		isReplayed(t, withSameKey(p), "3")
		ranOnce(t, p)
	})
}

// disconnectAfter calls an endpoint, and disconnects after a line.
func disconnectAfter(t *testing.T, p nodetest.Workspace, path, line string) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Service.Base+p.Path+"/webhooks/"+path, http.NoBody)
	require.NoError(t, err)
	req.Header = p.Auth.Clone()
	res, err := p.Service.Client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	got, err := bufio.NewReader(res.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, line, got)
}

// What a node left is gone on with elsewhere: a repeated call does not begin it again.
func TestARepeatedCallIsNotRunAgainAfterAStop(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, givesUp)
	p := w.NewWorkspace(t).AddAutomations(t, `t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: go}], timeout: 60}}, {emit: {event: done}}]}`)
	first := withSameKey(p).CallEndpoint(t, 504, "POST", "t", "")
	w.Restart(t, nil)
	details := withSameKey(p).RequireRefusal(t, 409, "resource_conflict", "POST", p.Path+"/webhooks/t", "")
	require.Equal(t, map[string]any{"reason": "not_recorded", "correlationId": first.Correlation()}, details)
	p.Emit(t, `{"type":"go"}`)
	p.AwaitEvents(t, 1, "done", "")
	ranOnce(t, p)
}

// Who sends to a caller who was given up goes on.
func TestChunksForNobodyGoNowhere(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, givesUp)
	p := w.NewWorkspace(t).AddAutomations(t, `
t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: go}], timeout: 60}}, {set $http.chunk: 1}, {set $http.chunk: 2}, {emit: {event: done}}]}`)
	p.CallEndpoint(t, 504, "POST", "t", "")
	p.Emit(t, `{"type":"go"}`)
	p.AwaitEvents(t, 1, "done", "")
}
