package node_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// givesUp is the time of an answer in tests of answers that take too long: longer than a busy
// disk takes for all the others.
const givesUp = "GATEWAY_REQUEST_TIMEOUT_SECONDS=10"

// insisting is the place for who repeats calls: all have the same Idempotency-Key.
func (p place) insisting() place {
	me := p.me.Clone()
	me.Set("Idempotency-Key", p.id)
	return p.as(me)
}

// ranOnce requires that an endpoint was called once, however often that was asked for.
func (p place) ranOnce(t *testing.T) {
	t.Helper()
	called, err := p.recorded(t.Context(), "types="+url.QueryEscape("runtime.webhooks.triggered"))
	require.NoError(t, err)
	require.Len(t, called, 1)
}

// isReplayed repeats a call of t until the first one has its answer.
func (p place) isReplayed(t *testing.T, want string) {
	t.Helper()
	var got answer
	require.Eventually(t, func() bool {
		var err error
		got, err = p.s.request(t.Context(), http.MethodPost, p.path+"/webhooks/t", p.me, "")
		return err == nil && got.StatusCode != http.StatusGatewayTimeout
	}, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
	require.Equal(t, "true", got.Header.Get("Idempotency-Replayed"))
	require.Equal(t, want, string(got.body))
}

// A call that is repeated under its Idempotency-Key is not run again, whatever became of
// its first caller.
func TestARepeatedCallIsNotRunAgain(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, givesUp)
	t.Run("sent piece by piece", func(t *testing.T) {
		t.Parallel()
		for output, last := range map[string]string{`{done: 1}`: `{"done":1}`, `{}`: `{"i":"<"}`} {
			p := w.place(t).has(t, `t: {when: {endpoint: true}, do: [{set $http.chunk: {i: '<'}}], output: `+output+`}`).insisting()
			first := p.s.sendAs(t, "POST", p.path+"/webhooks/t", "", p.me, "")
			require.Equal(t, "text/event-stream", first.Header.Get("Content-Type"))
			p.isReplayed(t, last)
			p.ranOnce(t)
		}
	})
	t.Run("failed piece by piece", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `t: {when: {endpoint: true}, do: [{set $http.chunk: 1}, {set $http.status: 201}]}`).insisting()
		for range 2 {
			got := p.s.sendAs(t, "POST", p.path+"/webhooks/t", "", p.me, "")
			require.Contains(t, string(got.body), `data: {"error":"invalid_request"`, "failures keep nothing")
			require.Contains(t, string(got.body), "InvalidInstructionError")
		}
		nested := p.s.sendAs(t, "POST", strings.Replace(p.path, "/v2/", "/v3/", 1)+"/webhooks/t", "", p.me, "")
		require.Contains(t, string(nested.body), `data: {"error":{"code":"invalid_request"`)
	})
	t.Run("too large to be kept", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `t: {when: {endpoint: true}, do: [], output: '{{body}}'}`).insisting()
		large := strings.Repeat("x", 600<<10)
		first := p.calls(t, 200, "POST", "t", large, "Content-Type", "text/plain")
		details := p.calls(t, 409, "POST", "t", large, "Content-Type", "text/plain").json(t)["details"]
		require.Equal(t, map[string]any{"reason": "not_recorded", "correlationId": first.correlation()}, details)
		p.ranOnce(t)
	})
	const waits = `t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: go}], timeout: 60}}], output: done}`
	t.Run("past its time", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, waits)
		for range 2 {
			p.insisting().calls(t, 504, "POST", "t", "")
		}
		p.emits(t, `{"type":"go"}`)
		p.insisting().isReplayed(t, "done")
		p.ranOnce(t)
	})
	t.Run("left by its caller", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `t: {when: {endpoint: true}, do: [{set $http.chunk: 1}, {wait: {oneOf: [{event: go}], timeout: 60}}, {set $http.chunk: 2}, {set $http.chunk: 3}]}`)
		p.insisting().leavesAfter(t, "t", "data: 1\n")
		p.insisting().calls(t, 504, "POST", "t", "")
		p.emits(t, `{"type":"go"}`)
		p.insisting().isReplayed(t, "3")
		p.ranOnce(t)
	})
}

// leavesAfter calls an endpoint, and leaves once a line came.
func (p place) leavesAfter(t *testing.T, path, line string) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.s.base+p.path+"/webhooks/"+path, http.NoBody)
	require.NoError(t, err)
	req.Header = p.me.Clone()
	res, err := p.s.client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	got, err := bufio.NewReader(res.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, line, got)
}

// What a node left is gone on with elsewhere: a repeated call does not begin it again.
func TestARepeatedCallIsNotRunAgainAfterAStop(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, givesUp)
	p := w.place(t).has(t, `t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: go}], timeout: 60}}, {emit: {event: done}}]}`)
	first := p.insisting().calls(t, 504, "POST", "t", "")
	w.restarts(t, nil)
	details := p.insisting().refuses(t, 409, "resource_conflict", "POST", p.path+"/webhooks/t", "")
	require.Equal(t, map[string]any{"reason": "not_recorded", "correlationId": first.correlation()}, details)
	p.emits(t, `{"type":"go"}`)
	p.awaits(t, 1, "done", "")
	p.ranOnce(t)
}

// Who sends to a caller who was given up goes on.
func TestChunksForNobodyGoNowhere(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, givesUp)
	p := w.place(t).has(t, `
t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: go}], timeout: 60}}, {set $http.chunk: 1}, {set $http.chunk: 2}, {emit: {event: done}}]}`)
	p.calls(t, 504, "POST", "t", "")
	p.emits(t, `{"type":"go"}`)
	p.awaits(t, 1, "done", "")
}
