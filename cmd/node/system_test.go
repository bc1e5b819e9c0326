package node_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/workspace"
	"svc/eventstore"
)

func TestTheSystemEndpoints(t *testing.T) {
	s := nodetest.NewService(t).Start(t)
	id, _ := s.CreateWorkspace(t, "seen in metrics")
	s.Get(t, "/v2/workspaces/"+id, nodetest.As("root"))

	t.Run("the index names the service", func(t *testing.T) {
		got := s.Get(t, "/", nil)
		require.Equal(t, http.StatusOK, got.StatusCode)
		require.Equal(t, "ok", got.JSON(t)["status"])
		require.Equal(t, "svc", got.JSON(t)["name"])
		require.Equal(t, "1.2.3", got.JSON(t)["version"])
	})
	t.Run("probes say yes", func(t *testing.T) {
		require.JSONEq(t, `{"status":"ready"}`, string(s.Get(t, "/readyz", nil).Body))
		require.JSONEq(t, `{"healthy":true}`, string(s.Get(t, "/healthz", nil).Body))
		require.JSONEq(t, `{"healthy":true}`, string(s.Get(t, "/sys/healthcheck", nil).Body))
	})
	t.Run("readiness wants a key", func(t *testing.T) { requireInternalKey(t, s, "/v2/readiness") })
	t.Run("metrics want a key", func(t *testing.T) { requireInternalKey(t, s, "/metrics") })
	t.Run("settings want a key", func(t *testing.T) { requireInternalKey(t, s, "/sys/config") })
	t.Run("metrics", func(t *testing.T) { showsMetrics(t, s, id) })
	t.Run("settings", func(t *testing.T) { masksSecrets(t, s) })
	t.Run("logging", func(t *testing.T) { changesLevel(t, s) })
	t.Run("unknown things are errors of ours", func(t *testing.T) {
		require.Equal(t, http.StatusNotFound, s.Get(t, "/nowhere", nil).StatusCode)
		got := s.Call(t, http.MethodDelete, "/readyz", nil, "")
		require.Equal(t, http.StatusMethodNotAllowed, got.StatusCode)
		require.Equal(t, "GET, HEAD, OPTIONS", got.Header.Get("Allow"))
	})
}

func requireInternalKey(t *testing.T, s *nodetest.Service, path string) {
	t.Helper()
	got := s.Get(t, path, nil)
	require.Equal(t, http.StatusUnauthorized, got.StatusCode)
	require.Equal(t, "missing_token", got.Code(t))
	got = s.Get(t, path, http.Header{"X-Svc-Api-Key": {nodetest.InternalKey + "x"}})
	require.Equal(t, http.StatusUnauthorized, got.StatusCode)
	require.Contains(t, []string{"invalid_credentials", "invalid_token"}, got.Code(t))
	got = s.Get(t, path, nodetest.As("member"))
	require.Equal(t, http.StatusForbidden, got.StatusCode)
}

func showsMetrics(t *testing.T, s *nodetest.Service, id string) {
	for _, h := range []http.Header{nodetest.AsInternal, {"Authorization": {"Bearer " + nodetest.InternalKey}}} {
		got := s.Get(t, "/metrics", h)
		require.Equal(t, http.StatusOK, got.StatusCode)
		text := string(got.Body)
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
		require.NotContains(t, text, nodetest.InternalKey)
	}
	require.Equal(t, http.StatusUnauthorized, s.Get(t, "/sys/config", http.Header{"Authorization": {"Bearer " + nodetest.InternalKey}}).StatusCode,
		"the key is a bearer token for metrics only")
}

func masksSecrets(t *testing.T, s *nodetest.Service) {
	got := s.Get(t, "/sys/config", nodetest.AsInternal)
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.NotContains(t, string(got.Body), nodetest.InternalKey)
	var report struct {
		Settings []struct {
			Name, Value, Source string
			Secret              bool
		}
	}
	require.NoError(t, json.Unmarshal(got.Body, &report))
	seen := map[string]string{}
	for _, e := range report.Settings {
		seen[e.Name] = e.Value + " " + e.Source
	}
	require.Equal(t, "********"+nodetest.InternalKey[len(nodetest.InternalKey)-4:]+" env", seen["INTERNAL_API_KEY"])
	require.Equal(t, "******** generated", seen["SECRETS_MASTER_KEYS"])
	require.Equal(t, "n1 env", seen["NODE_NAME"])
}

func changesLevel(t *testing.T, s *nodetest.Service) {
	got := s.Call(t, http.MethodPut, "/sys/logging", nodetest.AsInternal, `{"level":"error"}`)
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.JSONEq(t, `{"level":"error"}`, string(got.Body))
	require.Equal(t, slog.LevelError, s.Level.Level())
	before := s.Log.String()
	s.Get(t, "/nowhere", nil)
	require.Equal(t, before, s.Log.String(), "requests are not logged any more")

	got = s.Call(t, http.MethodPut, "/sys/logging", nodetest.AsInternal, `{"level":"loud"}`)
	require.Equal(t, http.StatusUnprocessableEntity, got.StatusCode)
	require.Equal(t, slog.LevelError, s.Level.Level())
	s.Call(t, http.MethodPut, "/sys/logging", nodetest.AsInternal, `{"level":"debug"}`)
	got = s.Get(t, "/nowhere", nil)
	require.Contains(t, s.Log.String(), got.Header.Get("X-Correlation-Id"))
}

// readyReport is what GET /v2/readiness answers when all is well.
func readyReport(s *nodetest.Service) string {
	internal := strings.Replace(s.Base, "127.0.0.1", "localhost", 1) + "/v2/"
	service := func(name, modules string) string {
		return fmt.Sprintf(`%q:{"status":"ready","url":%q,"response":{"status":"ready","modulesReady":[%s]}}`, name, internal+name, modules)
	}
	const cache, broker, dsul = `{"module":"cache","driver":"nats-kv"}`, `{"module":"broker","driver":"nats-jetstream"}`, `{"module":"dsulStorage","driver":"nats-jetstream"}`
	const permissions, gateway = `{"module":"permissions","driver":"badger"}`, `{"module":"api-gateway","driver":"http"}`
	return `{"status":"ready","services":{` + strings.Join([]string{
		`"api-gateway":{"status":"ready","modulesReady":[{"module":"database","driver":"badger"},{"module":"sessionsRedis","driver":"nats-kv"},` +
			`{"module":"rateLimitsRedis","driver":"nats-kv"},{"module":"broker","driver":"nats-jetstream"},{"module":"jwks","driver":"http"}]}`,
		service("runtime", cache+","+broker+","+permissions+`,{"module":"collections","driver":"badger"},`+dsul+
			`,{"module":"searchengine","driver":"badger"},{"module":"customCode","driver":"sobek"},`+gateway),
		service("events", cache+","+broker+","+permissions+`,{"module":"eventsStorage","driver":"badger"},`+gateway),
		service("workspaces", broker+","+permissions+","+dsul+","+gateway+`,{"module":"keys","driver":"file"}`),
	}, ",") + "}}"
}

// A type that this version does not know stops the read models: nobody may
// guess what it means.
func TestReadinessTurnsRedWhenTheReadModelsStop(t *testing.T) {
	s := nodetest.NewService(t).Start(t)
	s.Await(t, "/readyz", http.StatusOK)
	first := s.Get(t, "/v2/readiness", nodetest.AsInternal)
	require.Equal(t, http.StatusOK, first.StatusCode, "%s", first.Body)
	require.JSONEq(t, readyReport(s), string(first.Body))

	t.Log("the services of knowledge bases are asked when they are named")
	searching := s.Get(t, "/v2/readiness?services=searchengine", nodetest.AsInternal)
	require.Equal(t, http.StatusOK, searching.StatusCode, "%s", searching.Body)
	require.Contains(t, string(searching.Body), `"modulesReady":[{"module":"index","driver":"badger"},{"module":"cache","driver":"nats-kv"},{"module":"documents","driver":"nats-jetstream"},{"module":"api-gateway","driver":"http"}]`)
	crawling := s.Get(t, "/v2/readiness?services=crawler,events", nodetest.AsInternal)
	require.Equal(t, http.StatusOK, crawling.StatusCode, "%s", crawling.Body)
	require.Contains(t, string(crawling.Body), `"modulesReady":[{"module":"index","driver":"badger"},{"module":"cache","driver":"nats-kv"},{"module":"queue","driver":"nats-jetstream"},{"module":"extractor","driver":"process"},{"module":"noProxy","driver":"env"},{"module":"api-gateway","driver":"http"}]`)

	t.Log("times are UTC with milliseconds")
	var keys []map[string]string
	require.NoError(t, json.Unmarshal(s.Get(t, "/sys/jwks", nodetest.AsInternal).Body, &keys))
	for _, key := range keys {
		for _, field := range []string{"createdAt", "rotatesAt", "expiresAt"} {
			require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, key[field], field)
		}
	}

	t.Log("a number beyond the log is a read model that is behind")
	beyond := s.Get(t, "/v2/workspaces/platform", nodetest.As("root", "X-Svc-Min-Seq", "999999999"))
	require.Equal(t, http.StatusServiceUnavailable, beyond.StatusCode, "%s", beyond.Body)
	require.Equal(t, "service_unavailable", beyond.Code(t))
	require.Equal(t, "read_model_behind", beyond.JSON(t)["details"].(map[string]any)["reason"])
	require.Equal(t, "1", beyond.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, s.Get(t, "/v2/workspaces/platform", nodetest.As("root", "X-Svc-Min-Seq", "1")).StatusCode)

	_, err := s.Node.Store().Log.Append(t.Context(), eventstore.Commit{
		Stream: workspace.Stream("w1"), Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: domain.Unknown{Name: "from.the.future", Body: []byte(`{}`)}}},
	})
	require.NoError(t, err)
	s.Await(t, "/readyz", http.StatusServiceUnavailable)
	require.JSONEq(t, `{"status":"error"}`, string(s.Get(t, "/readyz", nil).Body), "no details without a key")
	require.Equal(t, "degraded", s.Get(t, "/", nil).JSON(t)["status"])

	again := s.Get(t, "/v2/readiness", nodetest.AsInternal)
	require.Equal(t, http.StatusOK, again.StatusCode, "the report is kept for its time")
	require.Equal(t, first.Body, again.Body)

	red := s.Get(t, "/v2/readiness?services=api-gateway", nodetest.AsInternal)
	require.Equal(t, http.StatusBadRequest, red.StatusCode, "another choice of services is another report")
	gateway := red.JSON(t)["services"].(map[string]any)["api-gateway"].(map[string]any)
	require.Equal(t, "error", gateway["status"])
	fault := gateway["errors"].([]any)[0].(map[string]any)
	require.Equal(t, "Stopped", fault["error"])
	require.Equal(t, "database", fault["module"])
	require.Contains(t, fault["message"], "from.the.future")
	require.Len(t, gateway["modulesReady"], 4, "the others are well")

	behind := s.Get(t, "/v2/workspaces/platform", nodetest.As("root", "X-Svc-Min-Seq", "1"))
	require.Equal(t, http.StatusServiceUnavailable, behind.StatusCode, "what was written would not be seen")
	require.Equal(t, "read_model_behind", behind.JSON(t)["details"].(map[string]any)["reason"])
	require.Equal(t, "1", behind.Header.Get("Retry-After"))
	require.Equal(t, http.StatusBadRequest, s.Get(t, "/v2/readiness?services=kitchen", nodetest.AsInternal).StatusCode)
}

// The disk is called low by asking for more than it can have.
// With a proxy, what is local must not go through it. Row 65 of the knowledge contract's conformance list.
func TestTheCrawlerIsNotReadyWhenLocalAddressesAreProxied(t *testing.T) {
	s := nodetest.NewService(t, "HTTP_PROXY=http://127.0.0.1:9", "NO_PROXY=").Start(t)
	got := s.Get(t, "/v2/readiness?services=crawler", nodetest.AsInternal)
	require.Equal(t, http.StatusBadRequest, got.StatusCode, "%s", got.Body)
	require.Contains(t, string(got.Body), `"module":"noProxy"`)
}

func TestALowDiskStopsWritesUntilThereIsSpace(t *testing.T) {
	s := nodetest.NewService(t, "READINESS_CACHE_TTL_MS=0", "PUBLISH_TIMEOUT_MS=600000").Start(t) // longer than anybody here waits for an answer
	id, _ := s.CreateWorkspace(t, "before")
	s.Await(t, "/v2/readiness", http.StatusOK)

	s.Reload(t, "DISK_MIN_FREE_MB=1048576")
	s.Await(t, "/v2/readiness", http.StatusBadRequest)
	report := s.Get(t, "/v2/readiness", nodetest.AsInternal)
	require.Contains(t, string(report.Body), "DISK_MIN_FREE_MB")
	require.Contains(t, string(report.Body), `"WriteFailed"`)
	refused := s.Call(t, http.MethodPost, "/v2/workspaces", nodetest.As("root"), `{"name":"no"}`)
	require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
	require.Equal(t, "service_unavailable", refused.Code(t))
	require.NotEmpty(t, refused.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, s.Get(t, "/v2/workspaces/"+id, nodetest.As("root")).StatusCode, "reads go on")
	require.Equal(t, http.StatusOK, s.Get(t, "/healthz", nil).StatusCode)

	s.Reload(t, "DISK_MIN_FREE_MB=1")
	s.Await(t, "/readyz", http.StatusOK)
	s.CreateWorkspace(t, "after")
	require.Equal(t, http.StatusOK, s.Get(t, "/v2/readiness", nodetest.AsInternal).StatusCode)
}

func TestAServiceStartsWhenTheDiskIsLow(t *testing.T) {
	s := nodetest.NewService(t, "DISK_MIN_FREE_MB=1048576", "DISABLED_SERVICES=searchengine,crawler", "ADMIN_PASSWORD="+nodetest.AdminPassword).Start(t)
	s.Await(t, "/readyz", http.StatusServiceUnavailable)
	require.Equal(t, http.StatusNotFound, s.Get(t, "/v2/workspaces/platform", nodetest.As("root")).StatusCode, "it could not be made yet")
	s.Reload(t, "DISK_MIN_FREE_MB=1") // as if there were space again
	s.Await(t, "/readyz", http.StatusOK)
	s.Login(t, "admin@localhost", nodetest.AdminPassword) // at once: ready says that the first accounts are there
	require.Equal(t, http.StatusOK, s.Get(t, "/v2/workspaces/platform", nodetest.As("root")).StatusCode, "it is made as soon as writes are possible")
	left := s.Get(t, "/v2/readiness?services=searchengine,crawler,workspaces", nodetest.AsInternal)
	require.Equal(t, http.StatusOK, left.StatusCode, "%s", left.Body)
	require.Len(t, left.JSON(t)["services"], 1, "what is switched off is left out")
	s.Stop(t)
	s.Start(t)
	s.Await(t, "/readyz", http.StatusServiceUnavailable)
	require.Equal(t, http.StatusOK, s.Get(t, "/v2/workspaces/platform", nodetest.As("root")).StatusCode, "reads go on")
}
