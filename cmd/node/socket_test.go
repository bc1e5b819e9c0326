package node_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// wire is a WebSocket of a test.
type wire struct {
	t    *testing.T
	conn *websocket.Conn
	ctx  context.Context
}

// plug opens a WebSocket of events.
func (p place) plug(t *testing.T, query string, h http.Header) wire {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(p.s.base, "http")+p.path+"/events/ws"+query, &websocket.DialOptions{HTTPHeader: h, HTTPClient: p.s.client})
	require.NoError(t, err)
	if res.Body != nil {
		_ = res.Body.Close()
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return wire{t, conn, ctx}
}

func (w wire) says(frame string) {
	w.t.Helper()
	require.NoError(w.t, w.conn.Write(w.ctx, websocket.MessageText, []byte(frame)))
}

// hears returns the next frame.
func (w wire) hears() map[string]any {
	w.t.Helper()
	_, body, err := w.conn.Read(w.ctx)
	require.NoError(w.t, err)
	var frame map[string]any
	require.NoError(w.t, json.Unmarshal(body, &frame))
	return frame
}

// ends returns the code that the connection was closed with.
func (w wire) ends() websocket.StatusCode {
	w.t.Helper()
	for {
		if _, _, err := w.conn.Read(w.ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func inner(frame map[string]any, name string) map[string]any {
	got, _ := frame[name].(map[string]any)
	return got
}

func TestEventsOverAWebSocket(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	w := p.plug(t, "", p.me)
	ready := inner(w.hears(), "ready")
	id := ready["socketId"].(string)
	require.NotEmpty(t, id)

	w.says(`{"emit":{"type":"tick","payload":{"n":1}},"ref":"a"}`)
	var ack, event map[string]any
	for ack == nil || event == nil {
		frame := w.hears()
		if got := inner(frame, "ack"); got != nil {
			ack = got
		}
		if got := inner(frame, "event"); got != nil {
			event = got
		}
	}
	require.Equal(t, "a", ack["ref"])
	require.Equal(t, ack["id"], event["id"])
	require.Equal(t, ack["seq"], event["seq"])
	require.Equal(t, id, inner(event, "source")["socketId"])
	require.Equal(t, []string{"tick"}, s.emitted(t, p.id))

	w.says(`{"filters":{"types":"tock","payload.n":2}}`)
	w.says(`{"emit":{"type":"a/b"},"ref":7}`)
	refused := inner(w.hears(), "error")
	require.Equal(t, "validation_failed", refused["code"])
	require.InDelta(t, 7, refused["ref"], 0)
	p.emits(t, `{"type":"tock","payload":{"n":1}},{"type":"tick","payload":{"n":2}},{"type":"tock","payload":{"n":2}}`)
	event = inner(w.hears(), "event")
	require.Equal(t, "tock", event["type"])
	require.Equal(t, map[string]any{"n": 2.0}, event["payload"])

	w.says(`{"filters":{"types":"tick","fromSeq":"` + ready["seq"].(string) + `"}}`)
	require.Equal(t, map[string]any{"n": 1.0}, inner(w.hears(), "event")["payload"])
	require.Equal(t, map[string]any{"n": 2.0}, inner(w.hears(), "event")["payload"])

	for frame, code := range map[string]string{
		`{`: "invalid_request", `[]`: "invalid_request", `{"nonsense":1}`: "invalid_request", `{}`: "invalid_request",
		`{"filters":{"nonsense":1}}`: "invalid_parameter", `{"filters":{"fromSeq":"x"}}`: "invalid_parameter", `{"emit":{"type":"workspaces.created"}}`: "validation_failed",
	} {
		w.says(frame)
		require.Equal(t, code, inner(w.hears(), "error")["code"], frame)
	}

	// The same session takes its socket over; another does not.
	again := p.plug(t, "?socketId="+id, p.me)
	require.Equal(t, id, inner(again.hears(), "ready")["socketId"])
	other := p.plug(t, "?socketId="+id, s.person(t, "mallory"))
	require.Equal(t, websocket.StatusCode(4403), other.ends())

	// What is for one socket reaches that one only.
	w.says(`{"filters":{"types":"only"}}`)
	again.says(`{"filters":{"types":"only,end"}}`)
	w.says(`{"emit":{"type":"only","target":{"currentSocket":true}},"ref":"b"}`)
	frames := w.hears()
	maps.Copy(frames, w.hears()) // whichever comes first
	require.Contains(t, frames, "ack")
	require.Equal(t, "only", inner(frames, "event")["type"])
}

func TestACredentialInTheFirstFrame(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	token := strings.TrimPrefix(p.me.Get("Authorization"), "Bearer ")
	w := p.plug(t, "", nil)
	w.says(`{"auth":{"token":"` + token + `"}}`)
	require.Contains(t, w.hears(), "ready")
	p.emits(t, `{"type":"tick"}`)
	require.Equal(t, "tick", inner(w.hears(), "event")["type"])

	bad := p.plug(t, "", nil)
	bad.says(`{"auth":{"token":"nonsense"}}`)
	require.Equal(t, "invalid_token", inner(bad.hears(), "error")["code"])
	require.Equal(t, websocket.StatusCode(4401), bad.ends())

	w = p.plug(t, "", p.me)
	require.Contains(t, w.hears(), "ready")
	w.says(`{"emit":{"type":"x","payload":{"a":"` + strings.Repeat("x", 1<<20) + `"}}}`)
	require.Equal(t, websocket.StatusMessageTooBig, w.ends())

	w = p.plug(t, "", p.me)
	require.Contains(t, w.hears(), "ready")
	begun := time.Now()
	s.must(t, "POST", "/v2/logout", p.me, "")
	require.Equal(t, websocket.StatusCode(4401), w.ends())
	require.Less(t, time.Since(begun), 6*time.Second)
}

func TestSocketsEndWithTheService(t *testing.T) {
	t.Parallel()
	s := identified(t).start(t)
	p := ownedPlace(t, s)
	w := p.plug(t, "", p.me)
	require.Contains(t, w.hears(), "ready")
	ended := make(chan websocket.StatusCode, 1)
	go func() { ended <- w.ends() }()
	s.stop(t)
	require.Equal(t, websocket.StatusGoingAway, <-ended)
}
