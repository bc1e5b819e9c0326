package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"svc/domain"
	"svc/http/gateway"
)

// series lists the counts of the request histogram by their labels.
func (w *world) series() map[string]uint64 {
	w.t.Helper()
	families, err := w.metrics.Gather()
	require.NoError(w.t, err)
	counts := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			counts[f.GetName()+" "+strings.Join(labels, " ")] = m.GetHistogram().GetSampleCount()
		}
	}
	return counts
}

func TestRequestsAreMeasuredByTemplate(t *testing.T) {
	w := serve(t, table(gateway.Versioned, "GET", "/workspaces/{workspaceId}/pages/{slug:.+}")...)
	for _, path := range []string{"/v2/workspaces/a/pages/x", "/v2/workspaces/b/pages/y/z", "/nothing/" + strings.Repeat("x", 50), "/other"} {
		w.do("GET", path, "")
	}
	w.do("BREW", "/v2/workspaces/a/pages/x", "")
	counts := w.series()
	require.EqualValues(t, 2, counts["http_request_duration_seconds GET /v2/workspaces/{workspaceId}/pages/{slug} 200"])
	require.EqualValues(t, 2, counts["http_request_duration_seconds GET unmatched 404"])
	require.EqualValues(t, 1, counts["http_request_duration_seconds other unmatched 405"])
	require.Contains(t, counts, "http_requests_in_flight ")
}

func TestTwoGatewaysCannotShareNames(t *testing.T) {
	w := serve(t, get("/x", 1))
	_, err := gateway.New(gateway.Options{Routes: []gateway.Route{get("/x", 1)}, Metrics: w.metrics})
	require.Error(t, err)
}

func TestOneLinePerRequest(t *testing.T) {
	probe := get("/healthz", 1)
	probe.Probe = true
	w := serve(t, get("/files/{id}", 1), probe)
	a := w.do("GET", "/files/f1?token=s3cret&shareToken=s3cret&x=1&code=s3cret", "", "Authorization", "Bearer ann")
	w.do("GET", "/healthz", "")
	w.do("DELETE", "/files/at:s3cret", "")
	w.do("DELETE", "/files/at%3As3cret", "")
	key := get("/keys/{idOrValue}", 1)
	key.SecretPath = true
	hidden := serve(t, key)
	hidden.do("GET", "/keys/s3cret", "")
	require.Contains(t, hidden.log.String(), `"path":"/keys/{idOrValue}"`)
	lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
	require.Len(t, lines, 3, "a probe is quiet")
	for _, want := range []string{`"msg":"request answered"`, `"level":"INFO"`, `"method":"GET"`, `"route":"/files/{id}"`, `"status":200`, `"bytes":1`,
		`"path":"/files/f1?token=***&shareToken=***&x=1&code=***"`, `"durationMs":0`, `"userId":"u1"`, `"correlationId":"` + a.header.Get("X-Correlation-Id") + `"`} {
		require.Contains(t, lines[0], want)
	}
	require.NotContains(t, w.log.String(), "s3cret")

	loud := start(t, gateway.Options{Routes: []gateway.Route{probe}, Settings: func() gateway.Settings { return gateway.Settings{HealthLogs: true} }})
	loud.do("GET", "/healthz", "")
	require.Contains(t, loud.log.String(), "/healthz")
}

func TestOneSpanPerRequest(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	w := start(t, gateway.Options{Tracer: provider.Tracer("test"), Routes: []gateway.Route{
		{Method: "GET", Path: "/things/{id}", Permission: gateway.Public, Surface: gateway.Versioned, Handler: returns(nil, errors.New("EIO"))}}})
	a := w.do("GET", "/v2/things/7", "", "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	require.Len(t, spans.Ended(), 1)
	span := spans.Ended()[0]
	require.Equal(t, "GET /v2/things/{id}", span.Name())
	require.Equal(t, "00f067aa0ba902b7", span.Parent().SpanID().String())
	require.Equal(t, fmt.Sprintf("00-4bf92f3577b34da6a3ce929d0e0e4736-%s-01", span.SpanContext().SpanID()), a.header.Get("Traceparent"))
	require.Equal(t, "Error", span.Status().Code.String())
}

// channelRecorder is an ErrorRecorder that shows what it was told.
type channelRecorder struct{ told chan string }

// RecordFailure implements gateway.ErrorRecorder.
func (l channelRecorder) RecordFailure(ctx context.Context, workspaceID string, err *domain.Error) {
	l.told <- fmt.Sprint(workspaceID, " ", err.Code, " ", gateway.CorrelationID(ctx) != "", " ", ctx.Err())
}

func TestErrorsOfMembersAreRecorded(t *testing.T) {
	l := channelRecorder{make(chan string, 100)}
	route := func(method, action string, err error) gateway.Route {
		return gateway.Route{Method: method, Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Handler: returns(1, err),
			Permission: gateway.Action{Action: action, Subject: "pages", Anyone: true}}
	}
	w := start(t, gateway.Options{Failures: l, Routes: []gateway.Route{
		route("POST", "create", domain.Refuse(domain.CodeValidation, "no")), route("PUT", "update", errors.New("EIO")),
		route("DELETE", "delete", nil), route("GET", "read", domain.Refuse(domain.CodeNotFound, "no")),
		route("PATCH", "update", domain.Refuse(domain.CodeQuota, "no"))}})
	me := []string{"Authorization", "Bearer ann"}
	for _, method := range []string{"GET", "PATCH"} {
		w.do(method, "/v2/workspaces/w1", "", me...) // 404 and 429 are not kept
	}
	w.do("POST", "/v2/workspaces/w1", "")           // nor those of strangers
	w.do("POST", "/v2/workspaces/other", "", me...) // nor where one has no right
	w.do("POST", "/v2/workspaces/w1", "", "Authorization", "Bearer nope")
	w.do("POST", "/v2/workspaces/slug:w1", "", me...)
	require.Equal(t, "w1 validation_failed true <nil>", <-l.told)
	w.do("PUT", "/v2/workspaces/w2", "", me...)
	require.Equal(t, "w2 internal_error true <nil>", <-l.told)
	w.do("DELETE", "/v2/workspaces/w3", "", me...)
	require.Equal(t, "w3 permission_denied true <nil>", <-l.told)
	require.NoError(t, w.gateway.Close(context.Background()))
	require.Empty(t, l.told)
}

// A console breaks off reads that it no longer needs; that is no error of the workspace.
func TestAReadThatWasBrokenOffIsNotRecorded(t *testing.T) {
	l := channelRecorder{make(chan string, 100)}
	reading := make(chan struct{}, 1)
	w := start(t, gateway.Options{Failures: l, Routes: []gateway.Route{{
		Method: "GET", Path: "/workspaces/{workspaceId}", Surface: gateway.Versioned, Permission: gateway.Action{Action: "read", Subject: "pages", Anyone: true},
		Handler: gateway.HandlerFunc(func(r *http.Request) (any, error) {
			reading <- struct{}{}
			<-r.Context().Done()
			return nil, fmt.Errorf("ask the remote: %w", r.Context().Err())
		})}}})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-reading
		leave()
	}()
	r := w.request("GET", "/v2/workspaces/w1", "", "Authorization", "Bearer ann").WithContext(ctx)
	w.gateway.ServeHTTP(httptest.NewRecorder(), r)
	require.NoError(t, w.gateway.Close(context.Background()))
	require.Empty(t, l.told)
}

// panickingRecorder is an ErrorRecorder with a fault of its own.
type panickingRecorder struct{}

// RecordFailure implements gateway.ErrorRecorder.
func (panickingRecorder) RecordFailure(context.Context, string, *domain.Error) { panic("recorder") }

func TestARecorderCannotTakeTheGatewayDown(t *testing.T) {
	w := start(t, gateway.Options{Failures: panickingRecorder{}, Routes: []gateway.Route{{Method: "GET", Path: "/workspaces/{workspaceId}",
		Permission: gateway.Action{Action: "delete", Subject: "pages"}, Handler: http.NotFoundHandler()}}})
	for range 300 {
		w.do("GET", "/workspaces/w1", "", "Authorization", "Bearer ann").requireFailure(t, 403, domain.CodePermissionDenied)
	}
	require.NoError(t, w.gateway.Close(context.Background()))
	require.Contains(t, w.log.String(), "error recorder panicked")
}
