package node_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/workspace"
	"svc/eventstore"
)

func TestTheSystemEndpoints(t *testing.T) {
	s := newService(t).start(t)
	id, _ := s.create(t, "seen in metrics")
	s.get(t, "/v2/workspaces/"+id, as("root"))

	t.Run("the index names the service", func(t *testing.T) {
		got := s.get(t, "/", nil)
		require.Equal(t, http.StatusOK, got.StatusCode)
		require.Equal(t, "ok", got.json(t)["status"])
		require.Equal(t, "svc", got.json(t)["name"])
		require.Equal(t, "1.2.3", got.json(t)["version"])
	})
	t.Run("probes say yes", func(t *testing.T) {
		require.JSONEq(t, `{"status":"ready"}`, string(s.get(t, "/readyz", nil).body))
		require.JSONEq(t, `{"healthy":true}`, string(s.get(t, "/healthz", nil).body))
		require.JSONEq(t, `{"healthy":true}`, string(s.get(t, "/sys/healthcheck", nil).body))
	})
	t.Run("readiness wants a key", func(t *testing.T) { wantsKey(t, s, "/v2/readiness") })
	t.Run("metrics want a key", func(t *testing.T) { wantsKey(t, s, "/metrics") })
	t.Run("settings want a key", func(t *testing.T) { wantsKey(t, s, "/sys/config") })
	t.Run("metrics", func(t *testing.T) { showsMetrics(t, s, id) })
	t.Run("settings", func(t *testing.T) { masksSecrets(t, s) })
	t.Run("logging", func(t *testing.T) { changesLevel(t, s) })
	t.Run("unknown things are errors of ours", func(t *testing.T) {
		require.Equal(t, http.StatusNotFound, s.get(t, "/nowhere", nil).StatusCode)
		got := s.call(t, http.MethodDelete, "/readyz", nil, "")
		require.Equal(t, http.StatusMethodNotAllowed, got.StatusCode)
		require.Equal(t, "GET, HEAD, OPTIONS", got.Header.Get("Allow"))
	})
}

func wantsKey(t *testing.T, s *service, path string) {
	t.Helper()
	got := s.get(t, path, nil)
	require.Equal(t, http.StatusUnauthorized, got.StatusCode)
	require.Equal(t, "missing_token", got.code(t))
	got = s.get(t, path, http.Header{"X-Svc-Api-Key": {internalKey + "x"}})
	require.Equal(t, http.StatusUnauthorized, got.StatusCode)
	require.Contains(t, []string{"invalid_credentials", "invalid_token"}, got.code(t))
	got = s.get(t, path, as("member"))
	require.Equal(t, http.StatusForbidden, got.StatusCode)
}

func showsMetrics(t *testing.T, s *service, id string) {
	for _, h := range []http.Header{asInternal, {"Authorization": {"Bearer " + internalKey}}} {
		got := s.get(t, "/metrics", h)
		require.Equal(t, http.StatusOK, got.StatusCode)
		text := string(got.body)
		for _, want := range []string{
			`svc_append_duration_seconds_count{outcome="ok"} `, `svc_gate_batch_size_count `,
			`projection_lag{log="STATE"} 0`, `projection_lag{log="ACTIVITY"} 0`, `projection_applied_total{log="STATE"} `,
			`http_request_duration_seconds_count{method="GET",route="/v2/workspaces/{workspaceId}",status="200"} 1`,
			`http_request_duration_seconds_count{method="POST",route="/v2/workspaces",status="201"} 1`,
			`http_requests_in_flight 1`, `go_goroutines `, `process_resident_memory_bytes `,
		} {
			require.Contains(t, text, want)
		}
		require.NotContains(t, text, id, "workspaces must not become labels")
		require.NotContains(t, text, internalKey)
	}
	require.Equal(t, http.StatusUnauthorized, s.get(t, "/sys/config", http.Header{"Authorization": {"Bearer " + internalKey}}).StatusCode,
		"the key is a bearer token for metrics only")
}

func masksSecrets(t *testing.T, s *service) {
	got := s.get(t, "/sys/config", asInternal)
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.NotContains(t, string(got.body), internalKey)
	var report struct {
		Settings []struct {
			Name, Value, Source string
			Secret              bool
		}
	}
	require.NoError(t, json.Unmarshal(got.body, &report))
	seen := map[string]string{}
	for _, e := range report.Settings {
		seen[e.Name] = e.Value + " " + e.Source
	}
	require.Equal(t, "********"+internalKey[len(internalKey)-4:]+" env", seen["INTERNAL_API_KEY"])
	require.Equal(t, "******** generated", seen["SECRETS_MASTER_KEYS"])
	require.Equal(t, "n1 env", seen["NODE_NAME"])
}

func changesLevel(t *testing.T, s *service) {
	got := s.call(t, http.MethodPut, "/sys/logging", asInternal, `{"level":"error"}`)
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.JSONEq(t, `{"level":"error"}`, string(got.body))
	require.Equal(t, slog.LevelError, s.level.Level())
	before := s.log.String()
	s.get(t, "/nowhere", nil)
	require.Equal(t, before, s.log.String(), "requests are not logged any more")

	got = s.call(t, http.MethodPut, "/sys/logging", asInternal, `{"level":"loud"}`)
	require.Equal(t, http.StatusUnprocessableEntity, got.StatusCode)
	require.Equal(t, slog.LevelError, s.level.Level())
	s.call(t, http.MethodPut, "/sys/logging", asInternal, `{"level":"debug"}`)
	got = s.get(t, "/nowhere", nil)
	require.Contains(t, s.log.String(), got.Header.Get("X-Correlation-Id"))
}

// readyReport is what GET /v2/readiness answers when all is well.
func readyReport(s *service) string {
	internal := strings.Replace(s.base, "127.0.0.1", "localhost", 1) + "/v2/"
	service := func(name, modules string) string {
		return fmt.Sprintf(`%q:{"status":"ready","url":%q,"response":{"status":"ready","modulesReady":[%s]}}`, name, internal+name, modules)
	}
	const cache, broker, dsul = `{"module":"cache","driver":"nats-kv"}`, `{"module":"broker","driver":"nats-jetstream"}`, `{"module":"dsulStorage","driver":"nats-jetstream"}`
	const permissions = `{"module":"permissions","driver":"badger"}`
	return `{"status":"ready","services":{` + strings.Join([]string{
		`"api-gateway":{"status":"ready","modulesReady":[{"module":"database","driver":"badger"},{"module":"sessionsRedis","driver":"nats-kv"},` +
			`{"module":"rateLimitsRedis","driver":"nats-kv"},{"module":"broker","driver":"nats-jetstream"},{"module":"jwks","driver":"http"}]}`,
		service("runtime", cache+","+broker+","+permissions+","+dsul),
		service("events", cache+","+broker+","+permissions+`,{"module":"eventsStorage","driver":"badger"}`),
		service("workspaces", broker+","+permissions+","+dsul+`,{"module":"keys","driver":"file"}`),
	}, ",") + "}}"
}

// A type that this version does not know stops the read models: nobody may
// guess what it means.
func TestReadinessTurnsRedWhenTheReadModelsStop(t *testing.T) {
	s := newService(t).start(t)
	s.await(t, "/readyz", http.StatusOK)
	first := s.get(t, "/v2/readiness", asInternal)
	require.Equal(t, http.StatusOK, first.StatusCode, "%s", first.body)
	require.JSONEq(t, readyReport(s), string(first.body))

	_, err := s.node.Store().Append(t.Context(), eventstore.Commit{
		Stream: workspace.Stream("w1"), Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: domain.Unknown{Name: "from.the.future", Body: []byte(`{}`)}}},
	})
	require.NoError(t, err)
	s.await(t, "/readyz", http.StatusServiceUnavailable)
	require.JSONEq(t, `{"status":"error"}`, string(s.get(t, "/readyz", nil).body), "no details without a key")
	require.Equal(t, "degraded", s.get(t, "/", nil).json(t)["status"])

	again := s.get(t, "/v2/readiness", asInternal)
	require.Equal(t, http.StatusOK, again.StatusCode, "the report is kept for its time")
	require.Equal(t, first.body, again.body)

	red := s.get(t, "/v2/readiness?services=api-gateway", asInternal)
	require.Equal(t, http.StatusBadRequest, red.StatusCode, "another choice of services is another report")
	gateway := red.json(t)["services"].(map[string]any)["api-gateway"].(map[string]any)
	require.Equal(t, "error", gateway["status"])
	fault := gateway["errors"].([]any)[0].(map[string]any)
	require.Equal(t, "Stopped", fault["error"])
	require.Equal(t, "database", fault["module"])
	require.Contains(t, fault["message"], "from.the.future")
	require.Len(t, gateway["modulesReady"], 4, "the others are well")

	behind := s.get(t, "/v2/workspaces/platform", as("root"))
	require.Equal(t, http.StatusServiceUnavailable, behind.StatusCode, "what was written would not be seen")
	require.Equal(t, "read_model_behind", behind.json(t)["details"].(map[string]any)["reason"])
	require.Equal(t, "1", behind.Header.Get("Retry-After"))
	require.Equal(t, http.StatusBadRequest, s.get(t, "/v2/readiness?services=kitchen", asInternal).StatusCode)
}

// The disk is called low by asking for more than it can have.
func TestALowDiskStopsWritesUntilThereIsSpace(t *testing.T) {
	s := newService(t, "READINESS_CACHE_TTL_MS=0").start(t)
	id, _ := s.create(t, "before")
	s.await(t, "/v2/readiness", http.StatusOK)

	s.reload(t, "DISK_MIN_FREE_MB=1048576")
	s.await(t, "/v2/readiness", http.StatusBadRequest)
	report := s.get(t, "/v2/readiness", asInternal)
	require.Contains(t, string(report.body), "DISK_MIN_FREE_MB")
	require.Contains(t, string(report.body), `"WriteFailed"`)
	start := time.Now()
	refused := s.call(t, http.MethodPost, "/v2/workspaces", as("root"), `{"name":"no"}`)
	require.Less(t, time.Since(start), 2*time.Second)
	require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
	require.Equal(t, "service_unavailable", refused.code(t))
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, s.get(t, "/v2/workspaces/"+id, as("root")).StatusCode, "reads go on")
	require.Equal(t, http.StatusOK, s.get(t, "/healthz", nil).StatusCode)

	s.reload(t, "DISK_MIN_FREE_MB=1")
	s.await(t, "/readyz", http.StatusOK)
	s.create(t, "after")
	require.Equal(t, http.StatusOK, s.get(t, "/v2/readiness", asInternal).StatusCode)
}

func TestAServiceStartsWhenTheDiskIsLow(t *testing.T) {
	s := newService(t, "DISK_MIN_FREE_MB=1048576").start(t)
	s.await(t, "/readyz", http.StatusServiceUnavailable)
	require.Equal(t, http.StatusNotFound, s.get(t, "/v2/workspaces/platform", as("root")).StatusCode, "it could not be made yet")
	s.reload(t, "DISK_MIN_FREE_MB=1") // as if there were space again
	s.await(t, "/readyz", http.StatusOK)
	require.Eventually(t, func() bool {
		return s.get(t, "/v2/workspaces/platform", as("root")).StatusCode == http.StatusOK
	}, 20*time.Second, 20*time.Millisecond, "it is made as soon as writes are possible")
	s.stop(t)
	s.start(t)
	s.await(t, "/readyz", http.StatusServiceUnavailable)
	require.Equal(t, http.StatusOK, s.get(t, "/v2/workspaces/platform", as("root")).StatusCode, "reads go on")
}
