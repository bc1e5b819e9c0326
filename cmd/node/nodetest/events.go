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

// ShownEvent is an event as the API shows it.
type ShownEvent struct {
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

// Emits sends events and returns them as they were answered.
func (p Place) Emits(t *testing.T, events string, headers ...string) (made []ShownEvent, got Answer) {
	t.Helper()
	got = p.Does(t, http.StatusCreated, "POST", p.Path+"/events", `{"events":[`+events+`]}`, headers...)
	require.NoError(t, json.Unmarshal(got.Body, &made), "%s", got.Body)
	return made, got
}

// ActivityOf returns what the log has of a workspace that is no state.
func (s *Service) ActivityOf(t *testing.T, workspaceID string) (events []domain.Recorded) {
	t.Helper()
	for _, ev := range livetest.Activity(t, s.Node.Store().Log) {
		if ev.Stream.Scope == workspaceID {
			events = append(events, ev)
		}
	}
	return events
}

// Emitted lists the types of what users emitted in a workspace.
func (s *Service) Emitted(t *testing.T, workspaceID string) (types []string) {
	t.Helper()
	for _, ev := range s.ActivityOf(t, workspaceID) {
		if ev.Meta.ServiceTopic == "topic:runtime:emit" {
			types = append(types, ev.Data.EventType())
		}
	}
	return types
}

// Listed is a page of events.
type Listed struct {
	Result struct {
		Events []ShownEvent `json:"events"`
		Cursor string       `json:"cursor"`
	} `json:"result"`
}

// Lists asks for a page of events.
func (p Place) Lists(t *testing.T, query string) (page Listed) {
	t.Helper()
	got := p.Does(t, http.StatusOK, "GET", p.Path+"/events?"+query, "")
	require.NoError(t, json.Unmarshal(got.Body, &page), "%s", got.Body)
	return page
}

// TypesOf lists the types of events.
func TypesOf(events []ShownEvent) (all []string) {
	for _, e := range events {
		all = append(all, e.Type)
	}
	return all
}

// EmitsMany emits n events of a type, with their number in the payload.
func (p Place) EmitsMany(t *testing.T, name string, n int) (ids []string) {
	t.Helper()
	for from := 0; from < n; from += 100 {
		var batch []string
		for i := from; i < min(n, from+100); i++ {
			batch = append(batch, fmt.Sprintf(`{"type":%q,"payload":{"n":%d}}`, name, i))
		}
		made, _ := p.Emits(t, strings.Join(batch, ","))
		for _, e := range made {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// Follow opens a stream of events.
func (p Place) Follow(t *testing.T, path string, headers ...string) io.ReadCloser {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Service.Base+path, nil)
	require.NoError(t, err)
	req.Header = p.Me.Clone()
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

// Listen reads frames until n came, or the stream ends; 0: until it ends.
func Listen(stream io.ReadCloser, n int) (got []Frame, text string) {
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

// Searched is the answer to a search.
type Searched struct {
	Size      int                        `json:"size"`
	Documents []ShownEvent               `json:"documents"`
	Aggs      map[string]json.RawMessage `json:"aggs"`
}

// Searches sends a search that is answered.
func (p Place) Searches(t *testing.T, body string) (found Searched) {
	t.Helper()
	got := p.Does(t, http.StatusOK, "POST", p.Path+"/search", body)
	require.NoError(t, json.Unmarshal(got.Body, &found), "%s", got.Body)
	return found
}

// Wire is a WebSocket of a test.
type Wire struct {
	t    *testing.T
	Conn *websocket.Conn
	ctx  context.Context
}

// Plug opens a WebSocket of events.
func (p Place) Plug(t *testing.T, query string, h http.Header) Wire {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	conn, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(p.Service.Base, "http")+p.Path+"/events/ws"+query, &websocket.DialOptions{HTTPHeader: h, HTTPClient: p.Service.Client})
	require.NoError(t, err)
	if res.Body != nil {
		_ = res.Body.Close()
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return Wire{t, conn, ctx}
}

// Says sends a frame.
func (w Wire) Says(frame string) {
	w.t.Helper()
	require.NoError(w.t, w.Conn.Write(w.ctx, websocket.MessageText, []byte(frame)))
}

// Hears returns the next frame.
func (w Wire) Hears() map[string]any {
	w.t.Helper()
	_, body, err := w.Conn.Read(w.ctx)
	require.NoError(w.t, err)
	var frame map[string]any
	require.NoError(w.t, json.Unmarshal(body, &frame))
	return frame
}

// Ends returns the code that the connection was closed with.
func (w Wire) Ends() websocket.StatusCode {
	w.t.Helper()
	for {
		if _, _, err := w.Conn.Read(w.ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// Inner is an object inside a frame.
func Inner(frame map[string]any, name string) map[string]any {
	got, _ := frame[name].(map[string]any)
	return got
}

// Interacts records that something made an automation run.
func (p Place) Interacts(t *testing.T, trigger, correlation, session, user string) {
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

// SaysUsage records what an app instance, which is called as its app, says of itself.
func (p Place) SaysUsage(t *testing.T, instance, metrics string) {
	t.Helper()
	_, err := p.Service.Node.Store().Log.Append(t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: p.ID},
		Meta:   domain.Meta{CorrelationID: "c1", AppSlug: instance, AppInstance: instance, ServiceTopic: feed.Emitted},
		Facts:  []eventstore.Fact{{ID: ulid.Make().String(), Event: domain.Unknown{Name: instance + ".usage", Body: json.RawMessage(`{"metrics":` + metrics + `}`)}}},
	})
	require.NoError(t, err)
}

// Used asks for the usage of today, and of the days around.
func (p Place) Used(t *testing.T, more string) map[string]any {
	t.Helper()
	today := time.Now().UTC()
	query := fmt.Sprintf("/usage?afterDate=%s&beforeDate=%s%s", today.AddDate(0, 0, -1).Format(time.DateOnly), today.AddDate(0, 0, 2).Format(time.DateOnly), more)
	return p.Does(t, http.StatusOK, "GET", p.Path+query, "").JSON(t)
}

// Totals is the usage that the API answers with such numbers.
func Totals(all, byHTTP, byEvent, bySchedule, sessions, users float64) map[string]any {
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
