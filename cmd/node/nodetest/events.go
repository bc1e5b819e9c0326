package nodetest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/feed"
	"svc/eventstore"
	"svc/projections/livetest"
)

// Event is an event as the API shows it.
type Event struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	CreatedAt string         `json:"createdAt"`
	Seq       string         `json:"seq"`
	Size      int            `json:"size"`
	Payload   map[string]any `json:"payload"`
	Source    map[string]any `json:"source"`
	Target    map[string]any `json:"target"`
	Options   map[string]any `json:"options"`
}

// Emit sends events and returns them as they were answered.
func (p Workspace) Emit(t *testing.T, events string, headers ...string) (made []Event, got Answer) {
	t.Helper()
	got = p.Do(t, http.StatusCreated, "POST", p.Path+"/events", `{"events":[`+events+`]}`, headers...)
	require.NoError(t, json.Unmarshal(got.Body, &made), "%s", got.Body)
	return made, got
}

// Activity returns the activity events of a workspace.
func (s *Service) Activity(t *testing.T, workspaceID string) (events []domain.Recorded) {
	t.Helper()
	for _, ev := range livetest.Activity(t, s.Node.Store().Log) {
		if ev.Stream.Scope == workspaceID {
			events = append(events, ev)
		}
	}
	return events
}

// EmittedTypes lists the types of the events that users emitted in a workspace.
func (s *Service) EmittedTypes(t *testing.T, workspaceID string) (types []string) {
	t.Helper()
	for _, ev := range s.Activity(t, workspaceID) {
		if ev.Meta.ServiceTopic == "topic:runtime:emit" {
			types = append(types, ev.Data.EventType())
		}
	}
	return types
}

// EventPage is a page of events.
type EventPage struct {
	Result struct {
		Events []Event `json:"events"`
		Cursor string  `json:"cursor"`
	} `json:"result"`
}

// ListEvents asks for a page of events.
func (p Workspace) ListEvents(t *testing.T, query string) (page EventPage) {
	t.Helper()
	got := p.Do(t, http.StatusOK, "GET", p.Path+"/events?"+query, "")
	require.NoError(t, json.Unmarshal(got.Body, &page), "%s", got.Body)
	return page
}

// TypesOf lists the types of events.
func TypesOf(events []Event) (all []string) {
	for _, e := range events {
		all = append(all, e.Type)
	}
	return all
}

// EmitMany emits n events of a type, with their number in the payload.
func (p Workspace) EmitMany(t *testing.T, name string, n int) (ids []string) {
	t.Helper()
	for from := 0; from < n; from += 100 {
		var batch []string
		for i := from; i < min(n, from+100); i++ {
			batch = append(batch, fmt.Sprintf(`{"type":%q,"payload":{"n":%d}}`, name, i))
		}
		made, _ := p.Emit(t, strings.Join(batch, ","))
		for _, e := range made {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// Follow opens a stream of events.
func (p Workspace) Follow(t *testing.T, path string, headers ...string) io.ReadCloser {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Service.Base+path, nil)
	require.NoError(t, err)
	req.Header = p.Auth.Clone()
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := p.Service.Client.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	return res.Body
}

// Frame is one event of a stream.
type Frame struct{ ID, Event, Data string }

// ReadFrames reads frames until n came, or the stream ends; 0: until it ends.
func ReadFrames(stream io.ReadCloser, n int) (got []Frame, text string) {
	defer stream.Close()
	var now Frame
	lines := bufio.NewScanner(stream)
	for (n == 0 || len(got) < n) && lines.Scan() {
		text += lines.Text() + "\n"
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			now.ID = value
		case "event":
			now.Event = value
		case "data":
			now.Data = value
			got = append(got, now)
		}
	}
	return got, text
}

// SearchResult is the answer to a search.
type SearchResult struct {
	Size      int                        `json:"size"`
	Documents []Event                    `json:"documents"`
	Aggs      map[string]json.RawMessage `json:"aggs"`
}

// Search sends a search and returns the answer.
func (p Workspace) Search(t *testing.T, body string) (found SearchResult) {
	t.Helper()
	got := p.Do(t, http.StatusOK, "POST", p.Path+"/search", body)
	require.NoError(t, json.Unmarshal(got.Body, &found), "%s", got.Body)
	return found
}

// WebSocket is a WebSocket of a test.
type WebSocket struct {
	t    *testing.T
	Conn *websocket.Conn
	ctx  context.Context
}

// OpenWebSocket opens a WebSocket of events.
func (p Workspace) OpenWebSocket(t *testing.T, query string, h http.Header) WebSocket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(p.Service.Base, "http")+p.Path+"/events/ws"+query, &websocket.DialOptions{HTTPHeader: h, HTTPClient: p.Service.Client})
	require.NoError(t, err)
	if res.Body != nil {
		_ = res.Body.Close()
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return WebSocket{t, conn, ctx}
}

// Send sends a frame.
func (w WebSocket) Send(frame string) {
	w.t.Helper()
	require.NoError(w.t, w.Conn.Write(w.ctx, websocket.MessageText, []byte(frame)))
}

// Receive returns the next frame.
func (w WebSocket) Receive() map[string]any {
	w.t.Helper()
	_, body, err := w.Conn.Read(w.ctx)
	require.NoError(w.t, err)
	var frame map[string]any
	require.NoError(w.t, json.Unmarshal(body, &frame))
	return frame
}

// AwaitClose waits until the connection is closed and returns the code.
func (w WebSocket) AwaitClose() websocket.StatusCode {
	w.t.Helper()
	for {
		if _, _, err := w.Conn.Read(w.ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// ObjectAt returns an object inside a frame.
func ObjectAt(frame map[string]any, name string) map[string]any {
	got, _ := frame[name].(map[string]any)
	return got
}

// RecordInteraction records that something made an automation run.
func (p Workspace) RecordInteraction(t *testing.T, trigger, correlation, session, user string) {
	t.Helper()
	_, err := p.Service.Node.Store().Log.Append(t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: p.ID},
		Meta:   domain.Meta{CorrelationID: correlation, SessionID: session, UserID: user},
		Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: activity.Interaction{
			WorkspaceID: p.ID, Automation: "charge", Trigger: activity.Trigger{Type: trigger, Value: "pay"},
		}}},
	})
	require.NoError(t, err)
}

// RecordUsage records a usage event of an app instance that is called like its app.
func (p Workspace) RecordUsage(t *testing.T, instance, metrics string) {
	t.Helper()
	_, err := p.Service.Node.Store().Log.Append(t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: p.ID},
		Meta:   domain.Meta{CorrelationID: "c1", AppSlug: instance, AppInstance: instance, ServiceTopic: feed.Emitted},
		Facts:  []eventstore.Fact{{ID: ulid.Make().String(), Event: domain.Unknown{Name: instance + ".usage", Body: json.RawMessage(`{"metrics":` + metrics + `}`)}}},
	})
	require.NoError(t, err)
}

// Usage asks for the usage of today, and of the days around.
func (p Workspace) Usage(t *testing.T, more string) map[string]any {
	t.Helper()
	today := time.Now().UTC()
	query := fmt.Sprintf("/usage?afterDate=%s&beforeDate=%s%s", today.AddDate(0, 0, -1).Format(time.DateOnly), today.AddDate(0, 0, 2).Format(time.DateOnly), more)
	return p.Do(t, http.StatusOK, "GET", p.Path+query, "").JSON(t)
}

// UsageTotals returns the totals of the usage as the API shows them.
func UsageTotals(all, byHTTP, byEvent, bySchedule, sessions, users float64) map[string]any {
	return map[string]any{
		"transactions": all, "httpTransactions": byHTTP, "eventTransactions": byEvent, "scheduleTransactions": bySchedule,
		"sessions": sessions, "users": users,
	}
}

// AsMaps is a list of objects.
func AsMaps(v any) (maps []map[string]any) {
	for _, item := range v.([]any) {
		maps = append(maps, item.(map[string]any))
	}
	return maps
}
