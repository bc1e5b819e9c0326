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
	s := nodetest.NewIdentified(t).Start(t)
	p := nodetest.OwnedPlace(t, s)
	w := p.Plug(t, "", p.Me)
	ready := nodetest.Inner(w.Hears(), "ready")
	id := ready["socketId"].(string)
	require.NotEmpty(t, id)

	w.Says(`{"emit":{"type":"tick","payload":{"n":1}},"ref":"a"}`)
	var ack, event map[string]any
	for ack == nil || event == nil {
		frame := w.Hears()
		if got := nodetest.Inner(frame, "ack"); got != nil {
			ack = got
		}
		if got := nodetest.Inner(frame, "event"); got != nil {
			event = got
		}
	}
	require.Equal(t, "a", ack["ref"])
	require.Equal(t, ack["id"], event["id"])
	require.Equal(t, ack["seq"], event["seq"])
	require.Equal(t, id, nodetest.Inner(event, "source")["socketId"])
	require.Equal(t, []string{"tick"}, s.Emitted(t, p.ID))

	w.Says(`{"filters":{"types":"tock","payload.n":2}}`)
	w.Says(`{"emit":{"type":"a/b"},"ref":7}`)
	refused := nodetest.Inner(w.Hears(), "error")
	require.Equal(t, "validation_failed", refused["code"])
	require.InDelta(t, 7, refused["ref"], 0)
	p.Emits(t, `{"type":"tock","payload":{"n":1}},{"type":"tick","payload":{"n":2}},{"type":"tock","payload":{"n":2}}`)
	event = nodetest.Inner(w.Hears(), "event")
	require.Equal(t, "tock", event["type"])
	require.Equal(t, map[string]any{"n": 2.0}, event["payload"])

	w.Says(`{"filters":{"types":"tick","fromSeq":"` + ready["seq"].(string) + `"}}`)
	require.Equal(t, map[string]any{"n": 1.0}, nodetest.Inner(w.Hears(), "event")["payload"])
	require.Equal(t, map[string]any{"n": 2.0}, nodetest.Inner(w.Hears(), "event")["payload"])

	for frame, code := range map[string]string{
		`{`: "invalid_request", `[]`: "invalid_request", `{"nonsense":1}`: "invalid_request", `{}`: "invalid_request",
		`{"filters":{"nonsense":1}}`: "invalid_parameter", `{"filters":{"fromSeq":"x"}}`: "invalid_parameter", `{"emit":{"type":"workspaces.created"}}`: "validation_failed",
	} {
		w.Says(frame)
		require.Equal(t, code, nodetest.Inner(w.Hears(), "error")["code"], frame)
	}

	// The same session takes its socket over; another does not.
	again := p.Plug(t, "?socketId="+id, p.Me)
	require.Equal(t, id, nodetest.Inner(again.Hears(), "ready")["socketId"])
	other := p.Plug(t, "?socketId="+id, s.Person(t, "mallory"))
	require.Equal(t, websocket.StatusCode(4403), other.Ends())

	// What is for one socket reaches that one only.
	w.Says(`{"filters":{"types":"only"}}`)
	again.Says(`{"filters":{"types":"only,end"}}`)
	w.Says(`{"emit":{"type":"only","target":{"currentSocket":true}},"ref":"b"}`)
	frames := w.Hears()
	maps.Copy(frames, w.Hears()) // whichever comes first
	require.Contains(t, frames, "ack")
	require.Equal(t, "only", nodetest.Inner(frames, "event")["type"])
}

func TestACredentialInTheFirstFrame(t *testing.T) {
	t.Parallel()
	s := nodetest.NewIdentified(t).Start(t)
	p := nodetest.OwnedPlace(t, s)
	token := strings.TrimPrefix(p.Me.Get("Authorization"), "Bearer ")
	w := p.Plug(t, "", nil)
	w.Says(`{"auth":{"token":"` + token + `"}}`)
	require.Contains(t, w.Hears(), "ready")
	p.Emits(t, `{"type":"tick"}`)
	require.Equal(t, "tick", nodetest.Inner(w.Hears(), "event")["type"])

	bad := p.Plug(t, "", nil)
	bad.Says(`{"auth":{"token":"nonsense"}}`)
	require.Equal(t, "invalid_token", nodetest.Inner(bad.Hears(), "error")["code"])
	require.Equal(t, websocket.StatusCode(4401), bad.Ends())

	w = p.Plug(t, "", p.Me)
	require.Contains(t, w.Hears(), "ready")
	w.Says(`{"emit":{"type":"x","payload":{"a":"` + strings.Repeat("x", 1<<20) + `"}}}`)
	require.Equal(t, websocket.StatusMessageTooBig, w.Ends())

	w = p.Plug(t, "", p.Me)
	require.Contains(t, w.Hears(), "ready")
	s.Must(t, "POST", "/v2/logout", p.Me, "")
	require.Equal(t, websocket.StatusCode(4401), w.Ends())
}

func TestSocketsEndWithTheService(t *testing.T) {
	t.Parallel()
	s := nodetest.NewIdentified(t).Start(t)
	p := nodetest.OwnedPlace(t, s)
	w := p.Plug(t, "", p.Me)
	require.Contains(t, w.Hears(), "ready")
	ended := make(chan websocket.StatusCode, 1)
	go func() { ended <- w.Ends() }()
	s.Stop(t)
	require.Equal(t, websocket.StatusGoingAway, <-ended)
}
