package node_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/projections/livetest"
)

// external starts a broker as an operator would run one beside the service.
func external(t *testing.T) *server.Server {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, Username: "svc", Password: "hunter2",
	})
	require.NoError(t, err)
	srv.Start()
	require.True(t, srv.ReadyForConnections(20*time.Second))
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	return srv
}

func TestAnExternalBroker(t *testing.T) {
	address := strings.Replace(external(t).ClientURL(), "nats://", "nats://svc:hunter2@", 1)
	env := []string{"NATS_URL=" + address, "STREAM_REPLICAS=1", "SECRETS_MASTER_KEYS=" + masterKeys, "READINESS_CACHE_TTL_MS=0"}
	first := newService(t, append(env, "NODE_NAME=first")...).start(t)
	first.await(t, "/readyz", http.StatusOK)
	require.Contains(t, first.log.String(), "sync_interval: always", "the warning is loud")
	require.Contains(t, first.log.String(), `"level":"WARN"`)
	second := newService(t, append(env, "NODE_NAME=second")...).start(t)
	seesWrites(t, first, second)
	require.Equal(t, http.StatusOK, first.get(t, "/v2/readiness", asInternal).StatusCode)
	for _, s := range []*service{first, second} {
		require.NotContains(t, s.log.String(), "hunter2")
		require.NotContains(t, string(s.get(t, "/sys/config", asInternal).body), "hunter2")
		require.NotContains(t, string(s.get(t, "/sys/config", asInternal).body), masterKey)
	}
	first.stop(t)
	requireNoSecret(t, first.dir, "hunter2", masterKey, internalKey)
}

// seesWrites writes on one node and reads on the other, both ways.
func seesWrites(t *testing.T, one, other *service) {
	t.Helper()
	id, made := one.create(t, "shared")
	got := other.get(t, "/v2/workspaces/"+id, as("root", "X-Svc-Min-Seq", made.Header.Get("X-Svc-Seq")))
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
	require.JSONEq(t, string(made.body), string(got.body))
	for i := range 40 {
		writer, reader := one, other
		if i%2 == 1 {
			writer, reader = other, one
		}
		text := fmt.Sprintf("edition %d", i)
		changed := writer.call(t, http.MethodPatch, "/v2/workspaces/"+id, as("root"), `{"description":"`+text+`"}`)
		require.Equal(t, http.StatusOK, changed.StatusCode, "%s", changed.body)
		require.Equal(t, text, reader.get(t, "/v2/workspaces/"+id, as("root")).json(t)["description"], "on any node, without any header")
	}
}

// joined starts three nodes whose own brokers are joined, in one process. env has the
// settings that differ.
func joined(t *testing.T, env func(i int) []string) []*service {
	t.Helper()
	ports := livetest.Ports(3)
	nodes := make([]*service, 3)
	for i := range nodes {
		var routes []string
		for j, port := range ports {
			if j != i {
				routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
			}
		}
		nodes[i] = newService(t, append(env(i), fmt.Sprintf("NODE_NAME=n%d", i), fmt.Sprintf("NATS_CLUSTER_LISTEN=127.0.0.1:%d", ports[i]),
			"NATS_CLUSTER_ROUTES="+strings.Join(routes, ","), "STREAM_REPLICAS=3", "SECRETS_MASTER_KEYS="+masterKeys, "PUBLISH_TIMEOUT_MS=10000")...)
	}
	var starting sync.WaitGroup
	for _, n := range nodes {
		starting.Go(func() { n.start(t) })
	}
	starting.Wait()
	for _, n := range nodes {
		n.await(t, "/readyz", http.StatusOK)
	}
	return nodes
}

func TestAClusterOfEmbeddedBrokers(t *testing.T) {
	nodes := joined(t, func(int) []string { return nil })
	seesWrites(t, nodes[0], nodes[1])
	seesWrites(t, nodes[1], nodes[2])
	report := nodes[2].get(t, "/v2/readiness", asInternal)
	require.Equal(t, http.StatusOK, report.StatusCode, "%s", report.body)

	nodes[0].stop(t)
	var id string
	key := as("root")
	key.Set("Idempotency-Key", "two of three")
	require.Eventually(t, func() bool { // while leaders are elected a write may be asked to come again
		made := nodes[1].call(t, http.MethodPost, "/v2/workspaces", key, `{"name":"two of three"}`)
		id, _ = made.json(t)["id"].(string)
		return made.StatusCode == http.StatusCreated
	}, 60*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool { // a reader that lost its broker needs a moment to find another
		got := nodes[2].get(t, "/v2/workspaces/"+id, as("root"))
		return got.StatusCode == http.StatusOK || got.code(t) != "service_unavailable"
	}, 30*time.Second, 10*time.Millisecond)
	require.Equal(t, "two of three", nodes[2].get(t, "/v2/workspaces/"+id, as("root")).json(t)["name"])
	nodes[0].start(t)
	nodes[0].await(t, "/readyz", http.StatusOK)
	require.Equal(t, "two of three", nodes[0].get(t, "/v2/workspaces/"+id, as("root")).json(t)["name"])
	info, err := nodes[0].node.Store().Info(t.Context(), domain.State)
	require.NoError(t, err)
	require.True(t, info.Contiguous())
}
