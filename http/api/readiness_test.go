package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/api"
	"svc/http/api/system"
	"svc/http/gateway"
)

// works and fails are checks.
func works(context.Context) error { return nil }
func fails(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

// table is a small set of checks, one of which fails with err.
func table(err error) []system.Check {
	return []system.Check{
		{Service: "api-gateway", Module: "database", Driver: "badger", Check: works},
		{Service: "api-gateway", Module: "broker", Driver: "nats-jetstream", Check: works},
		{Service: "events", Module: "broker", Driver: "nats-jetstream", Check: works},
		{Service: "events", Module: "eventsStorage", Driver: "badger", Check: fails(err)},
	}
}

func TestReadinessOverHTTP(t *testing.T) {
	var fault error
	h := open(t, func(d *api.Handlers) {
		d.System.Checks = table(nil)
		d.System.Checks[3].Check = func(context.Context) error { return fault }
	})
	own := `"api-gateway":{"status":"ready","modulesReady":[{"module":"database","driver":"badger"},{"module":"broker","driver":"nats-jetstream"}]}`
	idle := func(service string) string {
		return `"` + service + `":{"status":"ready","url":"` + h.url + `/v2/` + service + `","response":{"status":"ready","modulesReady":[]}}`
	}
	events := `"events":{"status":"ready","url":"` + h.url + `/v2/events","response":{"status":"ready","modulesReady":[{"module":"broker","driver":"nats-jetstream"},{"module":"eventsStorage","driver":"badger"}]}}`

	got := h.do("GET", "/v2/readiness", key(internalKey))
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.JSONEq(t, `{"status":"ready","services":{`+strings.Join([]string{own, idle("runtime"), events, idle("workspaces")}, ",")+`}}`, got.body)

	got = h.do("GET", "/v2/readiness?services=crawler,searchengine", as("root"))
	require.Equal(t, http.StatusOK, got.status)
	require.JSONEq(t, `{"status":"ready","services":{`+idle("searchengine")+`,`+idle("crawler")+`}}`, got.body)

	fault = &system.Fault{Name: "WriteFailed", Err: errors.New("disk below DISK_MIN_FREE_MB")}
	got = h.do("GET", "/v2/readiness?services=events&services=api-gateway", as("root"))
	require.Equal(t, http.StatusBadRequest, got.status)
	require.JSONEq(t, `{"status":"error","services":{`+own+`,"events":{"status":"error","url":"`+h.url+`/v2/events",
		"response":{"status":"error","modulesReady":[{"module":"broker","driver":"nats-jetstream"}]},
		"errors":[{"error":"WriteFailed","module":"eventsStorage","driver":"badger","message":"disk below DISK_MIN_FREE_MB"}]}}}`, got.body)

	alone := h.do("GET", "/v2/events/readiness", key(internalKey))
	require.Equal(t, http.StatusBadRequest, alone.status)
	require.JSONEq(t, `{"status":"error","modulesReady":[{"module":"broker","driver":"nats-jetstream"}],
		"errors":[{"error":"WriteFailed","module":"eventsStorage","driver":"badger","message":"disk below DISK_MIN_FREE_MB"}]}`, alone.body)
}

// stopped is a read model that gets nowhere.
type stopped struct{}

func (stopped) Reach(ctx context.Context, _ domain.Position) error { return errors.New("stopped") }
func (stopped) Fresh(ctx context.Context) error                    { return errors.New("stopped") }

// The report must come exactly when something is wrong, however busy it is.
func TestReadinessDoesNotNeedWhatItTests(t *testing.T) {
	h := openWithGateway(t, func(o *gateway.Options) {
		o.ReadModel = stopped{}
		o.Settings = func() gateway.Settings {
			return gateway.Settings{InternalKey: internalKey, MaxConcurrent: 1, RateLimits: map[gateway.RateClass]int64{gateway.RateRequests: 1}}
		}
	}, func(d *api.Handlers) { d.System.Checks = table(errors.New("stopped")) })
	seq := with("x-svc-min-seq", domain.Position{State: 99}.Token())
	for range 2 {
		got := h.do("GET", "/v2/readiness", key(internalKey), seq)
		require.Equal(t, http.StatusBadRequest, got.status, got.body)
		require.Contains(t, got.body, `"message":"stopped"`)
		require.NotContains(t, got.body, "Unreachable")
		require.Equal(t, http.StatusBadRequest, h.do("GET", "/v2/events/readiness", key(internalKey), seq).status)
	}
}

// services answers in place of the network.
type services func(*http.Request) (*http.Response, error)

func (s services) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func responds(status int, text string) services {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
}

// ask calls GET /v2/readiness of routes built from h, without a gateway.
func ask(h system.Handlers, query string) (status int, report string) {
	return requestReadiness(api.Routes(api.Handlers{System: &h}), query)
}

func requestReadiness(routes []gateway.Route, query string) (status int, report string) {
	for _, rt := range routes {
		if rt.Path == "/readiness" {
			w := httptest.NewRecorder()
			rt.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v2/readiness?"+query, nil))
			return w.Code, w.Body.String()
		}
	}
	panic("no such route")
}

func systemHandlers() system.Handlers {
	return system.Handlers{
		Metrics: http.NotFoundHandler(), Now: time.Now, InternalURL: "http://me:hunter2@svc.internal/v2/", InternalKey: func() string { return internalKey },
		Transport: responds(http.StatusOK, `{"status":"ready"}`),
	}
}

func TestAServiceThatCannotBeAskedIsAnError(t *testing.T) {
	tests := map[string]struct {
		transport services
		message   string
	}{
		"refused":         {func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }, "connection refused"},
		"another status":  {responds(http.StatusUnauthorized, `{"error":"invalid_credentials"}`), "answered 401"},
		"a redirect":      {responds(http.StatusFound, ``), "answered 302"},
		"not a report":    {responds(http.StatusOK, `<html>`), "answered with something else than a report"},
		"another body":    {responds(http.StatusBadRequest, `{"error":"invalid_parameter"}`), "answered with something else than a report"},
		"a contradiction": {responds(http.StatusOK, `{"status":"error","modulesReady":[]}`), "answered with something else than a report"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := systemHandlers()
			d.Transport = test.transport
			status, report := ask(d, "services=events")
			require.Equal(t, http.StatusBadRequest, status)
			require.JSONEq(t, `{"status":"error","services":{"events":{"status":"error","url":"http://svc.internal/v2/events",
				"errors":[{"error":"Unreachable","module":"events","driver":"http","message":"`+test.message+`"}]}}}`, report)
		})
	}
}

func TestAServiceIsAskedWithTheKeyAndWithoutCredentials(t *testing.T) {
	d := systemHandlers()
	var asked *http.Request
	d.Transport = services(func(r *http.Request) (*http.Response, error) {
		asked = r
		return responds(http.StatusOK, `{"status":"ready"}`)(r)
	})
	status, report := ask(d, "services=events")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"status":"ready","services":{"events":{"status":"ready","url":"http://svc.internal/v2/events","response":{"status":"ready","modulesReady":[]}}}}`, report)
	require.Equal(t, "http://svc.internal/v2/events/readiness", asked.URL.String())
	require.Equal(t, internalKey, asked.Header.Get("X-Svc-Api-Key"))
	require.Empty(t, asked.Header.Get("Authorization"))
}

func TestACheckThatFailsIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		check func(context.Context) error
		word  string
	}{
		"without a name": {fails(errors.New("no")), "CheckFailed"},
		"with a name":    {fails(fmt.Errorf("probe: %w", &system.Fault{Name: "WriteFailed", Err: errors.New("no")})), "WriteFailed"},
		"too late":       {fails(context.DeadlineExceeded), "TimedOut"},
		"with a panic":   {func(context.Context) error { panic("no") }, "Panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			d := systemHandlers()
			d.Checks = []system.Check{{Service: "api-gateway", Module: "database", Driver: "badger", Check: test.check}}
			status, report := ask(d, "services=api-gateway")
			require.Equal(t, http.StatusBadRequest, status)
			require.Contains(t, report, `"error":"`+test.word+`"`)
			require.Contains(t, report, `"modulesReady":[]`)
		})
	}
}

func TestReportsAreKeptForAWhile(t *testing.T) {
	now, runs := today, 0
	d := systemHandlers()
	d.Now = func() time.Time { return now }
	d.ReadinessTTL = 30 * time.Second
	d.Checks = []system.Check{{Service: "api-gateway", Module: "database", Driver: "badger", Check: func(context.Context) error { runs++; return nil }}}
	routes := api.Routes(api.Handlers{System: &d})
	requestReadiness(routes, "services=api-gateway,events")
	requestReadiness(routes, "services=events,api-gateway,events")
	require.Equal(t, 1, runs, "the same set")
	requestReadiness(routes, "services=api-gateway")
	require.Equal(t, 2, runs, "another set")
	now = now.Add(30 * time.Second)
	requestReadiness(routes, "services=api-gateway")
	require.Equal(t, 3, runs, "too old")
	d.ReadinessTTL = 0
	routes = api.Routes(api.Handlers{System: &d})
	requestReadiness(routes, "services=api-gateway")
	requestReadiness(routes, "services=api-gateway")
	require.Equal(t, 5, runs, "nothing is kept")
}

func TestWhoAsksMeanwhileSharesTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		goOn := make(chan struct{})
		d := systemHandlers()
		d.Checks = []system.Check{{Service: "api-gateway", Module: "database", Driver: "badger", Check: func(context.Context) error {
			runs.Add(1)
			<-goOn
			return nil
		}}}
		routes := api.Routes(api.Handlers{System: &d})
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() { requestReadiness(routes, "services=api-gateway") })
		}
		synctest.Wait()
		close(goOn)
		callers.Wait()
		require.EqualValues(t, 1, runs.Load())
	})
}

func TestChecksRunSideBySideForTwoSecondsEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := systemHandlers()
		wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		hang := make(chan struct{})
		for range 3 {
			d.Checks = append(d.Checks, system.Check{Service: "api-gateway", Module: "broker", Driver: "nats-jetstream", Check: wait})
		}
		d.Checks = append(d.Checks, system.Check{Service: "api-gateway", Module: "database", Driver: "badger", Check: func(context.Context) error {
			<-hang // deaf to its context
			return nil
		}})
		began := time.Now()
		status, report := ask(d, "services=api-gateway")
		require.Equal(t, 2*time.Second, time.Since(began))
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, 4, strings.Count(report, `"error":"TimedOut"`), report)
		close(hang)
	})
}
