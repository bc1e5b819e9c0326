package process_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"svc/cmd/process"
	"svc/cmd/settings"
)

// spanCollector answers the first exports as it is told, and takes the others.
type spanCollector struct {
	*httptest.Server
	exports atomic.Int64
	names   chan string // of the spans that were taken
}

func newSpanCollector(t *testing.T, first ...func(http.ResponseWriter)) *spanCollector {
	t.Helper()
	c := &spanCollector{names: make(chan string, 10)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := int(c.exports.Add(1)); n <= len(first) {
			first[n-1](w)
			return
		}
		body, err := io.ReadAll(r.Body)
		var data spans.TracesData
		if err != nil || proto.Unmarshal(body, &data) != nil || r.Header.Get("Content-Type") != "application/x-protobuf" || r.URL.Path != "/v1/traces" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.names <- data.ResourceSpans[0].ScopeSpans[0].Spans[0].Name
	}))
	t.Cleanup(c.Close)
	return c
}

// export sends one span, and returns what was reported.
func (c *spanCollector) export(t *testing.T, name string) error {
	t.Helper()
	provider, err := process.NewTracing(t.Context(), settings.Obs{OTLPEndpoint: c.URL, TracesSampler: "always_on", ServiceName: "svc"}, "1")
	require.NoError(t, err)
	_, span := provider.Tracer("test").Start(t.Context(), name)
	span.End()
	reported := make(chan error, 1)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reported <- err }))
	require.NoError(t, provider.Shutdown(context.Background()))
	select {
	case err := <-reported:
		return err
	default:
		return nil
	}
}

func TestSpansAreSentAgainWhenTheCollectorIsBusy(t *testing.T) {
	c := newSpanCollector(t, func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}, func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) })
	require.NoError(t, c.export(t, "again"))
	require.EqualValues(t, 3, c.exports.Load())
	require.Equal(t, "again", <-c.names)
}

func TestSpansThatTheCollectorRefusesAreReported(t *testing.T) {
	c := newSpanCollector(t, func(w http.ResponseWriter) { http.Error(w, "wrong tenant", http.StatusForbidden) })
	require.ErrorContains(t, c.export(t, "refused"), "403 Forbidden: \"wrong tenant")
	require.EqualValues(t, 1, c.exports.Load(), "trying again does not help")
}

func TestSpansOfALostCollectorAreReported(t *testing.T) {
	c := newSpanCollector(t)
	c.Close()
	require.ErrorContains(t, c.export(t, "lost"), "connection refused")
}
