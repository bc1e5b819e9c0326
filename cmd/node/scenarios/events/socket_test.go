package events_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestEventsOverAWebSocket(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	w := p.OpenWebSocket(t, "", p.Auth)
	ready := nodetest.ObjectAt(w.Receive(), "ready")
	id := ready["socketId"].(string)
	require.NotEmpty(t, id)

	w.Send(`{"emit":{"type":"tick","payload":{"n":1}},"ref":"a"}`)
	var ack, event map[string]any
	for ack == nil || event == nil {
		frame := w.Receive()
		if got := nodetest.ObjectAt(frame, "ack"); got != nil {
			ack = got
		}
		if got := nodetest.ObjectAt(frame, "event"); got != nil {
			event = got
		}
	}
	require.Equal(t, "a", ack["ref"])
	require.Equal(t, ack["id"], event["id"])
	require.Equal(t, ack["seq"], event["seq"])
	require.Equal(t, id, nodetest.ObjectAt(event, "source")["socketId"])
	require.Equal(t, []string{"tick"}, s.EmittedTypes(t, p.ID))

	w.Send(`{"filters":{"types":"tock","payload.n":2}}`)
	w.Send(`{"emit":{"type":"a/b"},"ref":7}`)
	refused := nodetest.ObjectAt(w.Receive(), "error")
	require.Equal(t, "validation_failed", refused["code"])
	require.InDelta(t, 7, refused["ref"], 0)
	p.Emit(t, `{"type":"tock","payload":{"n":1}},{"type":"tick","payload":{"n":2}},{"type":"tock","payload":{"n":2}}`)
	event = nodetest.ObjectAt(w.Receive(), "event")
	require.Equal(t, "tock", event["type"])
	require.Equal(t, map[string]any{"n": 2.0}, event["payload"])

	w.Send(`{"filters":{"types":"tick","fromSeq":"` + ready["seq"].(string) + `"}}`)
	require.Equal(t, map[string]any{"n": 1.0}, nodetest.ObjectAt(w.Receive(), "event")["payload"])
	require.Equal(t, map[string]any{"n": 2.0}, nodetest.ObjectAt(w.Receive(), "event")["payload"])

	for frame, code := range map[string]string{
		`{`: "invalid_request", `[]`: "invalid_request", `{"nonsense":1}`: "invalid_request", `{}`: "invalid_request",
		`{"filters":{"nonsense":1}}`: "invalid_parameter", `{"filters":{"fromSeq":"x"}}`: "invalid_parameter", `{"emit":{"type":"workspaces.created"}}`: "validation_failed",
	} {
		w.Send(frame)
		require.Equal(t, code, nodetest.ObjectAt(w.Receive(), "error")["code"], frame)
	}

	// The same session takes its socket over; another does not.
	again := p.OpenWebSocket(t, "?socketId="+id, p.Auth)
	require.Equal(t, id, nodetest.ObjectAt(again.Receive(), "ready")["socketId"])
	other := p.OpenWebSocket(t, "?socketId="+id, s.NewUser(t, "mallory"))
	require.Equal(t, websocket.StatusCode(4403), other.AwaitClose())

	// What is for one socket reaches that one only.
	w.Send(`{"filters":{"types":"only"}}`)
	again.Send(`{"filters":{"types":"only,end"}}`)
	w.Send(`{"emit":{"type":"only","target":{"currentSocket":true}},"ref":"b"}`)
	frames := w.Receive()
	maps.Copy(frames, w.Receive()) // whichever comes first
	require.Contains(t, frames, "ack")
	require.Equal(t, "only", nodetest.ObjectAt(frames, "event")["type"])
}

func TestACredentialInTheFirstFrame(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	token := strings.TrimPrefix(p.Auth.Get("Authorization"), "Bearer ")
	w := p.OpenWebSocket(t, "", nil)
	w.Send(`{"auth":{"token":"` + token + `"}}`)
	require.Contains(t, w.Receive(), "ready")
	p.Emit(t, `{"type":"tick"}`)
	require.Equal(t, "tick", nodetest.ObjectAt(w.Receive(), "event")["type"])

	bad := p.OpenWebSocket(t, "", nil)
	bad.Send(`{"auth":{"token":"nonsense"}}`)
	require.Equal(t, "invalid_token", nodetest.ObjectAt(bad.Receive(), "error")["code"])
	require.Equal(t, websocket.StatusCode(4401), bad.AwaitClose())

	w = p.OpenWebSocket(t, "", p.Auth)
	require.Contains(t, w.Receive(), "ready")
	w.Send(`{"emit":{"type":"x","payload":{"a":"` + strings.Repeat("x", 1<<20) + `"}}}`)
	require.Equal(t, websocket.StatusMessageTooBig, w.AwaitClose())

	w = p.OpenWebSocket(t, "", p.Auth)
	require.Contains(t, w.Receive(), "ready")
	s.Must(t, "POST", "/v2/logout", p.Auth, "")
	require.Equal(t, websocket.StatusCode(4401), w.AwaitClose())
}

func TestSocketsEndWithTheService(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	w := p.OpenWebSocket(t, "", p.Auth)
	require.Contains(t, w.Receive(), "ready")
	ended := make(chan websocket.StatusCode, 1)
	go func() { ended <- w.AwaitClose() }()
	s.Stop(t)
	require.Equal(t, websocket.StatusGoingAway, <-ended)
}
