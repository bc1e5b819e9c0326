//go:build fault

package fault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/domaintest"
	"svc/domain/value"
)

// fixture is a workspace of a service in which automations run.
type fixture struct {
	*service
	id, path string
}

// newFixture makes a workspace with automations: YAML by slug, as domaintest abbreviates
// it.
func newFixture(t *testing.T, s *service, automations string) *fixture {
	t.Helper()
	id, err := s.create("House")
	require.NoError(t, err)
	h := &fixture{s, id, "/v2/workspaces/" + id}
	all, ok := domaintest.ParseYAML(t, automations).(*value.Object)
	require.True(t, ok)
	for _, slug := range all.Keys() {
		doc := json.RawMessage(value.JSON(domaintest.AutomationOf(slug, all.At(slug)), ""))
		h.do(t, http.StatusCreated, http.MethodPost, "/automations", doc)
	}
	return h
}

// do asks for something in the workspace, and requires how it is answered.
func (h *fixture) do(t *testing.T, status int, method, path string, body any) []byte {
	t.Helper()
	got, answer, err := h.call(method, h.path+path, "", body)
	require.NoError(t, err)
	require.Equal(t, status, got, "%s", answer)
	return answer
}

// emit records one event.
func (h *fixture) emit(t *testing.T, name string, payload map[string]any) {
	t.Helper()
	h.do(t, http.StatusCreated, http.MethodPost, "/events", batchOf(name, payload))
}

func batchOf(name string, payload map[string]any) any {
	return map[string]any{"events": []any{map[string]any{"type": name, "payload": payload}}}
}

// callInBackground calls an endpoint whose answer nobody waits for: it is cut off with the
// service.
func (h *fixture) callInBackground(t *testing.T, endpoint string, body map[string]any) {
	t.Helper()
	var asking sync.WaitGroup
	asking.Go(func() { _, _, _ = h.call(http.MethodPost, h.path+"/webhooks/"+endpoint, "", body) })
	t.Cleanup(asking.Wait)
}

// again kills the service and starts it anew.
func (h *fixture) again(t *testing.T) {
	t.Helper()
	h.kill()
	h.start(t)
}

// seen is an event as its readers see it.
type seen struct {
	ID      string
	Type    string
	Payload map[string]any
	Source  struct{ CorrelationID string }
}

const (
	executed = "runtime.automations.executed"
	waits    = "runtime.waits.pending"
	patience = time.Minute
	moment   = 5 * time.Millisecond
)

// recorded are events of the workspace, oldest first; none when that is not told.
func (h *fixture) recorded(types, query string) []seen {
	status, body, err := h.call(http.MethodGet, h.path+"/events?sort=asc&limit=1000&types="+url.QueryEscape(types)+"&"+query, "", nil)
	var page struct {
		Result struct{ Events []seen }
	}
	if err != nil || status != http.StatusOK || json.Unmarshal(body, &page) != nil {
		return nil
	}
	return page.Result.Events
}

// awaitEvents waits until there are so many events, and returns them.
func (h *fixture) awaitEvents(t *testing.T, n int, types, query string) (found []seen) {
	t.Helper()
	require.Eventually(t, func() bool {
		found = h.recorded(types, query)
		return len(found) >= n
	}, patience, moment, "%d of %s %s", n, types, query)
	require.Len(t, found, n, "%s %s", types, query)
	return found
}

// of is the query for events whose payload has a number.
func of(n int) string { return fmt.Sprintf("payload.n=%d", n) }

// awaitIdle waits until nothing runs in the workspace any more. What was recorded before
// has been looked at by then: a last event of another type goes through behind it.
func (h *fixture) awaitIdle(t *testing.T) {
	t.Helper()
	h.emit(t, "last", nil)
	require.Eventually(t, func() bool { return len(h.recorded(executed, "payload.slug=last")) > 0 }, time.Minute, moment, "what was recorded is looked at")
	h.awaitEndedOrWaiting(t)
}

// awaitEndedOrWaiting waits until every run has ended, or stands in a wait.
func (h *fixture) awaitEndedOrWaiting(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return h.total(h.path+"/runs?limit=1&status=running") == 0 }, time.Minute, moment, "every run ends")
}

// fetchServer is a server that automations send requests to. It counts them by path and query,
// and lets those to /slow wait until it is cleared.
type fetchServer struct {
	*httptest.Server
	cleared chan struct{}

	mu    sync.Mutex
	asked map[string]int
}

func newFetchServer(t *testing.T) *fetchServer {
	t.Helper()
	d := &fetchServer{cleared: make(chan struct{}), asked: map[string]int{}}
	d.Server = httptest.NewServer(d)
	t.Cleanup(func() {
		d.CloseClientConnections()
		d.Close()
	})
	return d
}

// ServeHTTP implements http.Handler.
func (d *fetchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.asked[r.URL.RequestURI()]++
	d.mu.Unlock()
	if r.URL.Path == "/slow" {
		select {
		case <-d.cleared:
		case <-r.Context().Done():
			return
		}
	}
	_, _ = w.Write([]byte("ok"))
}

// count is how many requests there were for a path and query.
func (d *fetchServer) count(uri string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[uri]
}

// awaitRequest waits until a request has come.
func (d *fetchServer) awaitRequest(t *testing.T, uri string) {
	t.Helper()
	require.Eventually(t, func() bool { return d.count(uri) > 0 }, patience, moment, "%s is asked for", uri)
}
