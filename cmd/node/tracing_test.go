package node_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
)

// collector takes spans as an OpenTelemetry collector does.
type collector struct {
	*httptest.Server
	status atomic.Int64

	mu     sync.Mutex
	bodies []byte
	paths  []string
	header http.Header
}

func newCollector(t *testing.T) *collector {
	c := new(collector)
	c.status.Store(http.StatusOK)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies, c.paths, c.header = append(c.bodies, body...), append(c.paths, r.URL.Path), r.Header
		w.WriteHeader(int(c.status.Load()))
	}))
	t.Cleanup(c.Close)
	return c
}

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
)

func TestSpansReachTheCollector(t *testing.T) {
	c := newCollector(t)
	s := nodetest.NewService(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-tenant=blue", "OTEL_SERVICE_NAME=svc-under-test",
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment=testing").Start(t)
	id, _ := s.CreateWorkspace(t, "traced")
	got := s.Call(t, http.MethodPatch, "/v2/workspaces/"+id, nodetest.As("root", "Traceparent", "00-"+traceID+"-"+spanID+"-01"), `{"name":"again"}`)
	require.Equal(t, http.StatusOK, got.StatusCode)
	answered := strings.Split(got.Header.Get("Traceparent"), "-")
	require.Equal(t, traceID, answered[1], "the caller's trace goes on")
	require.NotEqual(t, spanID, answered[2])
	s.Stop(t) // sends what is kept

	c.mu.Lock()
	defer c.mu.Unlock()
	require.Equal(t, "/v1/traces", c.paths[0])
	require.Equal(t, "blue", c.header.Get("X-Tenant"))
	for _, want := range []string{"PATCH /v2/workspaces/{workspaceId}", "svc-under-test", "deployment.environment", "testing", "service.version", "1.2.3",
		got.Header.Get("X-Correlation-Id"), fromHex(t, traceID), fromHex(t, spanID), fromHex(t, answered[2])} {
		require.True(t, bytes.Contains(c.bodies, []byte(want)), "%q was not sent", want)
	}
	require.False(t, bytes.Contains(c.bodies, []byte("/v2/workspaces/"+id)), "spans are named by the template")
	require.False(t, bytes.Contains(c.bodies, []byte(nodetest.TokenOf("root"))))

	state := nodetest.StoredEvents(t, s.Dir, domain.State)
	require.Equal(t, traceID, state[len(state)-1].Meta.TraceID, "events belong to the trace too")
}

func fromHex(t *testing.T, text string) string {
	t.Helper()
	b, err := hex.DecodeString(text)
	require.NoError(t, err)
	return string(b)
}

// A collector that is gone must neither fail nor delay the end of the service.
func TestALostCollectorDisturbsNobody(t *testing.T) {
	c := newCollector(t)
	c.status.Store(http.StatusInternalServerError)
	s := nodetest.NewService(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_TRACES_SAMPLER=always_on").Start(t)
	require.Equal(t, http.StatusOK, s.Get(t, "/", nil).StatusCode)
	c.Close()
	s.CreateWorkspace(t, "untraced")
	s.Stop(t)
}

// The exporter's own library reads the environment; ours does not listen to it.
func TestWithoutAnEndpointNothingIsSent(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL)
	t.Setenv("OTEL_TRACES_SAMPLER", "always_on")
	s := nodetest.NewService(t).Start(t)
	got := s.Get(t, "/", http.Header{"Traceparent": {"00-" + traceID + "-" + spanID + "-01"}})
	require.Contains(t, got.Header.Get("Traceparent"), traceID, "a trace is continued all the same")
	require.Len(t, s.Get(t, "/", nil).Header.Get("Traceparent"), 55)
	s.Stop(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Empty(t, c.paths)
}
