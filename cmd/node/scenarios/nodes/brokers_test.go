package nodes_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
)

func TestAnExternalBroker(t *testing.T) {
	address := strings.Replace(nodetest.StartBroker(t).ClientURL(), "nats://", "nats://svc:hunter2@", 1)
	env := []string{"NATS_URL=" + address, "STREAM_REPLICAS=1", "SECRETS_MASTER_KEYS=" + nodetest.MasterKeys, "READINESS_CACHE_TTL_MS=0"}
	first := nodetest.NewService(t, append(env, "NODE_NAME=first")...).Start(t)
	first.Await(t, "/readyz", http.StatusOK)
	require.Contains(t, first.Log.String(), "sync_interval: always", "the warning is loud")
	require.Contains(t, first.Log.String(), `"level":"WARN"`)
	second := nodetest.NewService(t, append(env, "NODE_NAME=second")...).Start(t)
	seesWrites(t, first, second)
	require.Equal(t, http.StatusOK, first.Get(t, "/v2/readiness", nodetest.AsInternal).StatusCode)
	for _, s := range []*nodetest.Service{first, second} {
		require.NotContains(t, s.Log.String(), "hunter2")
		require.NotContains(t, string(s.Get(t, "/sys/config", nodetest.AsInternal).Body), "hunter2")
		require.NotContains(t, string(s.Get(t, "/sys/config", nodetest.AsInternal).Body), nodetest.MasterKey)
	}
	connection, err := nats.Connect(address)
	require.NoError(t, err)
	defer connection.Close()
	broker, err := jetstream.New(connection)
	require.NoError(t, err)
	crawling := first.Get(t, "/v2/readiness?services=crawler", nodetest.AsInternal)
	require.Equal(t, http.StatusOK, crawling.StatusCode, "%s", crawling.Body)
	require.NoError(t, broker.DeleteKeyValue(t.Context(), "CRAWL_PAGES"))
	crawling = first.Get(t, "/v2/readiness?services=crawler", nodetest.AsInternal)
	require.Equal(t, http.StatusBadRequest, crawling.StatusCode, "a bucket of the crawler is gone")
	require.Contains(t, string(crawling.Body), `"module":"queue"`)
	first.Stop(t)
	nodetest.RequireNoSecret(t, first.Dir, "hunter2", nodetest.MasterKey, nodetest.InternalKey)
}

// seesWrites writes on one node and reads on the other, both ways.
func seesWrites(t *testing.T, one, other *nodetest.Service) {
	t.Helper()
	id, made := one.CreateWorkspace(t, "shared")
	got := other.Get(t, "/v2/workspaces/"+id, nodetest.As("root", "X-Svc-Min-Seq", made.Header.Get("X-Svc-Seq")))
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
	require.JSONEq(t, string(made.Body), string(got.Body))
	for i := range 40 {
		writer, reader := one, other
		if i%2 == 1 {
			writer, reader = other, one
		}
		text := fmt.Sprintf("edition %d", i)
		changed := writer.Call(t, http.MethodPatch, "/v2/workspaces/"+id, nodetest.As("root"), `{"description":"`+text+`"}`)
		require.Equal(t, http.StatusOK, changed.StatusCode, "%s", changed.Body)
		require.Equal(t, text, reader.Get(t, "/v2/workspaces/"+id, nodetest.As("root")).JSON(t)["description"], "on any node, without any header")
	}
}

func TestAClusterOfEmbeddedBrokers(t *testing.T) {
	nodes := nodetest.StartCluster(t, func(int) []string { return nil })
	seesWrites(t, nodes[0], nodes[1])
	seesWrites(t, nodes[1], nodes[2])
	report := nodes[2].Get(t, "/v2/readiness", nodetest.AsInternal)
	require.Equal(t, http.StatusOK, report.StatusCode, "%s", report.Body)

	nodes[0].Stop(t)
	var id string
	key := nodetest.As("root")
	key.Set("Idempotency-Key", "two of three")
	require.Eventually(t, func() bool { // while leaders are elected a write may be asked to come again
		made := nodes[1].Call(t, http.MethodPost, "/v2/workspaces", key, `{"name":"two of three"}`)
		id, _ = made.JSON(t)["id"].(string)
		return made.StatusCode == http.StatusCreated
	}, 60*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool { // a reader that lost its broker needs a moment to find another
		got := nodes[2].Get(t, "/v2/workspaces/"+id, nodetest.As("root"))
		return got.StatusCode == http.StatusOK || got.Code(t) != "service_unavailable"
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, "two of three", nodes[2].Get(t, "/v2/workspaces/"+id, nodetest.As("root")).JSON(t)["name"])
	nodes[0].Start(t)
	nodes[0].Await(t, "/readyz", http.StatusOK)
	require.Equal(t, "two of three", nodes[0].Get(t, "/v2/workspaces/"+id, nodetest.As("root")).JSON(t)["name"])
	info, err := nodes[0].Node.Store().Log.Info(t.Context(), domain.State)
	require.NoError(t, err)
	require.True(t, info.Contiguous())
}
