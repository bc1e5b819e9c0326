package knowledge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/llm/fakemodel"
)

// A base with a model is searched by meaning, too.
func TestVectors(t *testing.T) {
	t.Parallel()
	fake := fakemodel.New()
	var isDown atomic.Bool
	var others atomic.Int64 // requests for vectors of the second set that are let through
	others.Store(2)
	goOn := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.Contains(string(body), `"dimensions":128`) && others.Add(-1) < 0 {
			select {
			case <-goOn:
			case <-r.Context().Done():
			}
		}
		if isDown.Load() {
			http.Error(w, `{"error":"down"}`, http.StatusInternalServerError)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s := nodetest.NewServiceWithAccounts(t, "LLM_BASE_URL="+server.URL+"/v1", "LLM_API_KEY="+fakemodel.Key, "LLM_EMBEDDING_MODEL="+fakemodel.EmbeddingModel).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	all := p.Path + "/knowledgeBases"
	one := all + "/faq"
	calls := func() int { return fake.Count("/v1/embeddings") }
	put := func(body string) map[string]any {
		t.Helper()
		return p.Send(t, "POST", one+"/documents?wait=30", body).JSON(t)
	}
	find := func(body string) searchAnswer { t.Helper(); return search(t, p, "faq", body) }
	base := func() map[string]any {
		t.Helper()
		return p.Do(t, 200, "GET", one, "").JSON(t)["index"].(map[string]any)
	}

	t.Log("the model must be known")
	require.Contains(t, nodetest.Faults(p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"name":"FAQ","embedding":{"model":"default/nope"}}`)), "embedding.model")
	p.Do(t, 201, "POST", all, `{"name":"FAQ","language":"en","embedding":{"model":"default/fake-embed"}}`)
	require.Equal(t, "ready", base()["vectors"])

	t.Log("documents get vectors after they are ready")
	a := put(`{"key":"a","text":"red green blue","tags":["x"]}`)
	require.Equal(t, []any{"ready", "ready"}, []any{a["status"], a["vectors"]})
	put(`{"key":"b","text":"red green yellow"}`)
	put(`{"key":"c","text":"black white grey","tags":["x"]}`)
	require.Equal(t, "ready", base()["vectors"])
	require.Eventually(t, func() bool {
		used := nodetest.ObjectAt(nodetest.ObjectAt(p.Usage(t, ""), "total"), "custom")
		return used["knowledge.documents.indexed"] == 3.0 && used["tokens.embedding"] == 9.0
	}, time.Minute, 10*time.Millisecond, "documents and their tokens are in the usage")
	made := calls()
	require.Equal(t, true, put(`{"key":"a","text":"red green blue","tags":["x"]}`)["unchanged"])
	p.Do(t, 200, "PATCH", one+"/documents/key:a", `{"title":"Colours"}`)
	p.Do(t, 200, "PATCH", one+"/documents/key:b", `{"tags":["patched"]}`)
	require.Equal(t, []string{"b"}, keysOf(find(`{"query":"red","mode":"text","filters":{"tags":"patched"}}`)))
	require.Equal(t, "ready", p.Do(t, 200, "GET", one+"/documents/key:b", "").JSON(t)["vectors"])
	require.Equal(t, made, calls(), "what has not changed calls no model")

	t.Log("misspelt words are tried when neither words nor meaning find anything")
	misspelt := find(`{"query":"yelow","minSimilarity":0.99}`)
	require.Equal(t, []any{"hybrid", true, []string{"b"}}, []any{misspelt.Mode, misspelt.Fuzzy, keysOf(misspelt)})
	require.Empty(t, find(`{"query":"yelow","minSimilarity":0.99,"fuzzy":false}`).Results)
	misspelt = find(`{"query":"+yelow","mode":"vector","minSimilarity":-1}`)
	require.Equal(t, []any{true, []string{"b"}}, []any{misspelt.Fuzzy, keysOf(misspelt)})

	t.Log("scores of a hybrid search are those of the places in both lists")
	text, vector := find(`{"query":"red blue","mode":"text"}`), find(`{"query":"red blue","mode":"vector"}`)
	require.Equal(t, "vector", vector.Mode)
	require.Equal(t, "a", vector.Results[0].Document.Key)
	require.InDelta(t, vector.Results[0].Score, vector.Results[0].Scores["vector"], 0)
	require.InDelta(t, 2/(1.4142135*1.7320508), vector.Results[0].Score, 1e-5, "the cosine of both vectors")
	hybrid := find(`{"query":"red blue"}`)
	require.Equal(t, "hybrid", hybrid.Mode, "the default, once vectors are ready")
	want := map[string]float64{}
	for _, list := range []searchAnswer{text, vector} {
		for i, r := range list.Results {
			want[r.Document.Key] += 1 / float64(60+i+1)
		}
	}
	require.Len(t, hybrid.Results, len(want))
	for _, r := range hybrid.Results {
		require.InDelta(t, want[r.Document.Key], r.Score, 1e-12, r.Document.Key)
	}
	require.Equal(t, "a", hybrid.Results[0].Document.Key)
	require.InDelta(t, text.Results[0].Score, hybrid.Results[0].Scores["text"], 0)
	require.NotEmpty(t, hybrid.Results[0].Passages[0].HTML)
	weighted := find(`{"query":"red blue","mode":"hybrid","weights":{"text":0,"vector":2}}`)
	require.InDelta(t, 2/61.0, weighted.Results[0].Score, 1e-12)
	require.Equal(t, []string{"a"}, keysOf(find(`{"query":"red blue","mode":"vector","minSimilarity":0.7}`)))
	filtered := find(`{"query":"red blue","mode":"vector","minSimilarity":-1,"filters":{"tags":"x"},"facets":{"tag":{"field":"tags"}}}`)
	require.Equal(t, []string{"a", "c"}, keysOf(filtered))
	require.Equal(t, 2, filtered.Total)
	require.Equal(t, 2, filtered.Facets["tag"].Buckets[0].Count)
	require.Equal(t, []string{"c"}, keysOf(find(`{"query":"red blue","mode":"vector","minSimilarity":-1,"filters":{"tags":"x"},"limit":1,"page":1}`)))
	p.RequireRefusal(t, 422, "validation_failed", "POST", one+"/search", `{"query":"x","weights":{"text":-1}}`)

	t.Log("words that must be there, or must not, hold for what is found by its meaning, too")
	for query, want := range map[string][]string{
		"red -blue": {"b", "c"}, "red +green": {"a", "b"}, "red +green -blue": {"b"}, `red +\"green blue\"`: {"a"}, `red -\"red green\"`: {"c"}, "red +gree*": {"a", "b"},
	} {
		for _, mode := range []string{"vector", "hybrid"} {
			got := find(`{"query":"` + query + `","mode":"` + mode + `","minSimilarity":-1}`)
			require.ElementsMatch(t, want, keysOf(got), "%s, %s", query, mode)
			require.Equal(t, len(want), got.Total, "%s, %s", query, mode)
		}
	}

	t.Log("a rebuild asks no model, and gives the same scores")
	made = calls()
	nodetest.Workspace{Service: s, Auth: nodetest.AsInternal}.Do(t, 200, "POST", "/sys/search/rebuild", "")
	require.Equal(t, vector.Results, find(`{"query":"red blue","mode":"vector"}`).Results)
	require.Equal(t, made+1, calls(), "the query alone")

	t.Log("and so does an index that was lost or damaged")
	hybrid = find(`{"query":"red blue"}`)
	loseIndex(t, p, one+"/search", func() {
		made = calls()
		require.Equal(t, vector.Results, find(`{"query":"red blue","mode":"vector"}`).Results)
		require.Equal(t, hybrid.Results, find(`{"query":"red blue"}`).Results)
		require.Equal(t, made+2, calls(), "the queries alone")
	})

	t.Log("a passage that stays has its vector already")
	long := strings.Repeat("The red door is open. ", 12)
	put(`{"key":"long","text":"# One\n\n` + long + `\n\n# Two\n\nBlue sky."}`)
	p.Do(t, 200, "PATCH", one, `{"chunking":{"size":200,"overlap":0}}`)
	require.Eventually(t, func() bool { return base()["state"] == "ready" && base()["vectors"] == "ready" }, time.Minute, 20*time.Millisecond)
	made = calls()
	changed := put(`{"key":"long","text":"# One\n\n` + long + `\n\n# Two\n\nGreen sky."}`)
	require.Equal(t, "ready", changed["vectors"])
	require.Equal(t, made+1, calls())
	require.Equal(t, 1, lastInputs(fake), "of several passages one is new")

	t.Log("another model makes other vectors, and the former ones are searched until they are complete")
	former := find(`{"query":"red blue","mode":"vector","minSimilarity":-1}`)
	var second [][]string
	id := p.Do(t, 200, "PATCH", one, `{"embedding":{"model":"default/fake-embed","dimensions":128}}`).Header.Get("X-Svc-Operation-Id")
	require.Eventually(t, func() bool { return others.Load() < 0 }, time.Minute, 5*time.Millisecond, "some documents have vectors of both models")
	isNew := false // the second set is searched
	check := func() {
		got := find(`{"query":"red blue"}`)
		require.Equal(t, "hybrid", got.Mode)
		similarity := find(`{"query":"red blue","mode":"vector","minSimilarity":-1}`)
		if isNew = isNew || !slices.Equal(scoresOf(former), scoresOf(similarity)); isNew {
			second = append(second, scoresOf(similarity))
		}
	}
	for range 5 {
		check()
	}
	require.False(t, isNew, "as long as it is not complete, the former set is searched")
	close(goOn)
	require.Equal(t, "succeeded", awaitOperation(t, p, id, check)["status"])
	require.Equal(t, "ready", base()["vectors"])
	now := find(`{"query":"red blue","mode":"vector","minSimilarity":-1}`)
	require.NotEqual(t, scoresOf(former), scoresOf(now), "vectors of two sets can be told apart")
	for _, scores := range second {
		require.Equal(t, scoresOf(now), scores, "all vectors are of one set")
	}
	require.Equal(t, "a", now.Results[0].Document.Key)

	made = calls()
	id = p.Do(t, 200, "PATCH", one, `{"embedding":{"model":"default/fake-embed"}}`).Header.Get("X-Svc-Operation-Id")
	require.Equal(t, "succeeded", awaitOperation(t, p, id)["status"])
	require.Equal(t, []any{made, "ready"}, []any{calls(), base()["vectors"]}, "vectors that are there are taken")

	t.Log("vectors of another length are an error of their document, and no search compares them")
	fake.SetDimensions(32)
	other := put(`{"key":"other","text":"purple brown"}`)
	require.Equal(t, []any{"ready", "error"}, []any{other["status"], other["vectors"]})
	unlike := find(`{"query":"purple red"}`)
	require.Equal(t, []any{"hybrid", []string{"wrong_dimensions"}}, []any{unlike.Mode, unlike.Warnings})
	require.Contains(t, keysOf(unlike), "other", "by its words")
	require.Empty(t, find(`{"query":"purple red","mode":"vector"}`).Results)
	fake.SetDimensions(64)
	require.Empty(t, find(`{"query":"purple red"}`).Warnings)
	require.Equal(t, "a", find(`{"query":"red blue","mode":"vector"}`).Results[0].Document.Key)
	p.Do(t, 202, "POST", one+"/documents/key:other/reindex", "")
	require.Eventually(t, func() bool {
		return p.Do(t, 200, "GET", one+"/documents/key:other", "").JSON(t)["vectors"] == "ready"
	}, time.Minute, 20*time.Millisecond)

	t.Log("without the model documents are found by their words")
	isDown.Store(true)
	down := put(`{"key":"down","text":"orange violet"}`)
	require.Equal(t, []any{"ready", "pending"}, []any{down["status"], down["vectors"]})
	words := find(`{"query":"orange"}`)
	require.Equal(t, []any{"text", []string{"embedding_unavailable"}, []string{"down"}}, []any{words.Mode, words.Warnings, keysOf(words)})
	require.Equal(t, "model_unavailable", p.RequireRefusal(t, 503, "service_unavailable", "POST", one+"/search", `{"query":"orange","mode":"vector"}`)["reason"])

	t.Log("without an embedding there is no search by meaning")
	p.Do(t, 200, "PATCH", one, `{"embedding":null}`)
	require.Equal(t, "none", base()["vectors"])
	require.Equal(t, "text", find(`{"query":"orange"}`).Mode)
	require.Equal(t, "no_embedding", p.RequireRefusal(t, 422, "validation_failed", "POST", one+"/search", `{"query":"orange","mode":"hybrid"}`)["reason"])
}

// scoresOf returns the scores of what was found, by document.
func scoresOf(a searchAnswer) (scores []string) {
	for _, r := range a.Results {
		scores = append(scores, fmt.Sprintf("%s %.9f", r.Document.Key, r.Score))
	}
	return scores
}

func keysOf(a searchAnswer) (keys []string) {
	for _, r := range a.Results {
		keys = append(keys, r.Document.Key)
	}
	return keys
}

// lastInputs returns how many texts the last request for embeddings had.
func lastInputs(fake *fakemodel.Server) int {
	calls := fake.Calls()
	for i := len(calls) - 1; i >= 0; i-- {
		var body struct{ Input []string }
		if calls[i].Path == "/v1/embeddings" && json.Unmarshal(calls[i].Body, &body) == nil {
			return len(body.Input)
		}
	}
	return 0
}
