package nodes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/llm/fakemodel"
)

// Three nodes answer searches alike, also one that went away while it processed documents, and came back. Rows 5 and 61
// of the knowledge contract's conformance list; streams/knowledge tests what a node says that wakes too late.
func TestThreeNodesSearchAlike(t *testing.T) {
	models := httptest.NewServer(fakemodel.New())
	t.Cleanup(models.Close)
	nodes := nodetest.StartCluster(t, func(int) []string {
		return []string{"LLM_BASE_URL=" + models.URL + "/v1", "LLM_API_KEY=" + fakemodel.Key, "LLM_EMBEDDING_MODEL=" + fakemodel.EmbeddingModel}
	})
	root := nodetest.As("root")
	workspace := "/v2/workspaces/" + nodes[0].Must(t, "POST", "/v2/workspaces", root, `{"name":"Shop"}`)["id"].(string)
	faq := workspace + "/knowledgeBases/faq"
	nodes[0].Must(t, "POST", workspace+"/knowledgeBases", root, `{"name":"FAQ","language":"en","embedding":{"model":"default/fake-embed"}}`)
	for i, node := range nodes {
		// The answer of one node says that it is ready: the same session finds it on every other one at once.
		var added map[string]any
		word := fmt.Sprintf("word%d", i)
		require.Eventually(t, func() bool {
			got := node.Call(t, "POST", faq+"/documents?wait=10", root, fmt.Sprintf(`{"key":"%s","text":"The %s is ready.","name":"%s.txt"}`, word, word, word))
			added = got.JSON(t)
			return got.StatusCode < 300 && added["status"] == "ready"
		}, time.Minute, 10*time.Millisecond)
		for j := range nodes {
			var answer nodetest.Answer
			require.Eventually(t, func() bool { // a node that is far behind refuses, with 503
				answer = nodes[(i+j)%len(nodes)].Call(t, "POST", faq+"/search", root, fmt.Sprintf(`{"query":"%s"}`, word))
				return answer.StatusCode != http.StatusServiceUnavailable
			}, time.Minute, 10*time.Millisecond)
			require.Equal(t, http.StatusOK, answer.StatusCode, "%s", answer.Body)
			require.InDelta(t, 1, answer.JSON(t)["total"], 0, "%s", answer.Body)
		}
		deleted := node.Call(t, "POST", faq+"/documents/delete", root, `{"filters":{},"all":true}`)
		require.Equal(t, http.StatusOK, deleted.StatusCode, "%s", deleted.Body)
	}
	const count = 60
	documents := make([]string, count)
	for i := range documents {
		documents[i] = fmt.Sprintf(`{"key":"k%d","text":"Refund number %d. %s"}`, i, i, strings.Repeat("A payment is refunded within thirty days. ", i%7))
	}
	got := nodes[1].Call(t, "POST", faq+"/documents/bulk", root, `{"documents":[`+strings.Join(documents, ",")+`]}`)
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
	nodes[0].Stop(t)
	require.Eventually(t, func() bool {
		got := nodes[1].Get(t, faq, root)
		return got.StatusCode == http.StatusOK && nodetest.ObjectAt(got.JSON(t), "counts")["ready"] == float64(count) && nodetest.ObjectAt(got.JSON(t), "index")["vectors"] == "ready"
	}, 3*time.Minute, 50*time.Millisecond)
	nodes[0].Start(t)
	nodes[0].Await(t, "/readyz", http.StatusOK)

	for _, query := range []string{"payment refund", "number 17", "*", `"thirty days" -payment`} {
		for _, mode := range []string{"text", "vector", "hybrid"} {
			body := fmt.Sprintf(`{"query":%q,"mode":%q,"limit":100}`, query, mode)
			require.EventuallyWithT(t, func(c *assert.CollectT) { // a node that has just come back may have to follow the log still
				var answers []any
				for _, node := range nodes {
					got := node.Call(t, "POST", faq+"/search", root, body)
					require.Equal(c, http.StatusOK, got.StatusCode, "%s", got.Body)
					answer := got.JSON(t)
					answers = append(answers, []any{answer["mode"], answer["total"], answer["results"]})
				}
				require.Equal(c, answers[0], answers[1], "%s, %s", query, mode)
				require.Equal(c, answers[1], answers[2], "%s, %s", query, mode)
			}, time.Minute, 50*time.Millisecond)
		}
	}
}
