package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/commands/knowledge"
	"svc/commands/llm"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/activity"
	"svc/domain/document"
	"svc/domain/kbdocument"
	chunks "svc/domain/knowledge"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/projections/livetest"
	"svc/streams/search"
)

// fixture is a workspace with a knowledge base that can be searched.
type fixture struct {
	*search.Searcher
	t      testing.TB
	store  *jetstream.Store
	models *projections.Models
	blobs  map[string][]byte // all are there before the index reads them
	last   map[domain.StreamID]uint64
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, blobs: map[string][]byte{}, last: map[domain.StreamID]uint64{}}
	f.store, f.models = livetest.Open(t)
	dir := filepath.Join(t.TempDir(), "search")
	index, err := projections.NewSearchIndex(projections.SearchIndexOptions{
		Models: f.models, Log: slog.New(slog.DiscardHandler),
		Passages: func(_ context.Context, hash string) ([]byte, error) { return f.blobs[hash], nil },
		Open: func() (*projections.DB, error) {
			return projections.OpenDB(projections.DBOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, index.Close()) })
	f.Searcher, err = search.New(search.Options{
		Models: f.models, Index: index, Embedder: &llm.Models{}, Used: func(context.Context, string, activity.Usage) {}, Now: time.Now,
		Settings: func(context.Context, string, projections.Item) (*document.Map, error) {
			return document.Knowledge.Complete(document.MapOf(document.Pair{Key: "slug", Value: "faq"})), nil
		},
	})
	require.NoError(t, err)
	base := []byte(`{"slug":"faq","name":"FAQ"}`)
	f.append(workspace.Stream("w"), workspace.Created{Workspace: workspace.Snapshot{ID: "w", Settings: workspace.Settings{Name: "W", Slug: "w"}}},
		workspace.KnowledgeBaseCreated{Entry: workspace.Entry{Path: "knowledge/faq", ID: "kb_1", Hash: workspace.HashOf(base), Body: base}})
	return f
}

func (f *fixture) append(stream domain.StreamID, events ...domain.Event) {
	f.t.Helper()
	facts := make([]eventstore.Fact, len(events))
	for i, ev := range events {
		facts[i] = eventstore.Fact{ID: ulid.Make().String(), Event: ev}
	}
	done, err := f.store.Log.Append(f.t.Context(), eventstore.Commit{Stream: stream, Expected: f.last[stream], Facts: facts})
	require.NoError(f.t, err)
	f.last[stream] = done.Seqs[len(done.Seqs)-1]
}

// put adds a document with tags, or replaces them.
func (f *fixture) put(id, text string, tags ...string) {
	f.t.Helper()
	list, _ := chunks.Chunking{Size: 1500}.Divide(text, "en", nil)
	body, err := json.Marshal(kbdocument.Passages{Chunks: list})
	require.NoError(f.t, err)
	hash := workspace.HashOf(body)
	f.blobs[hash] = body
	f.append(kbdocument.Stream("w", id), kbdocument.Updated{Document: kbdocument.State{
		ID: id, BaseID: "kb_1", Fields: kbdocument.Fields{Name: id, Tags: tags}, Revision: 1,
		Extract: &kbdocument.Extract{Revision: 1, Chunks: hash, Count: len(list), Language: "en"},
	}})
}

// rightsOf returns the rights of somebody who may read the documents with a tag.
func rightsOf(t testing.TB, tag string) *access.Rights {
	t.Helper()
	var security access.Security
	require.NoError(t, json.Unmarshal([]byte(`{"authorizations":{"roles":{"editor":{}},"rules":[{"action":"read","subject":"documents","conditions":{"tags":"`+tag+`"}}]}}`), &security))
	policy, err := access.Compile("w", security)
	require.NoError(t, err)
	return (&access.Workspace{Policy: policy}).For(access.Principal{UserID: "u"})
}

// find returns the ids of what somebody finds.
func (f *fixture) find(rights *access.Rights, query string) (ids []string) {
	f.t.Helper()
	limit := 100
	answer, err := f.Search(f.t.Context(), knowledge.SearchRequest{WorkspaceID: "w", Bases: []string{"faq"}, Rights: rights, SearchQuery: knowledge.SearchQuery{Query: query, Limit: &limit}})
	require.NoError(f.t, err)
	for _, r := range answer.Results {
		ids = append(ids, r.Document.ID)
	}
	require.Equal(f.t, len(ids), min(limit, answer.Total))
	return ids
}

// A search that takes too long is refused as such, also one by words alone.
func TestASearchEndsInTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put("doc_1", "Some words")
	livetest.Fresh(t, f.models)
	require.Equal(t, []string{"doc_1"}, f.find(nil, "words"))
	for _, query := range []string{"words", "wor*", "nothing", `"some words"`} {
		ctx, cancel := context.WithTimeout(t.Context(), 0) // less than a search may take
		_, err := f.Search(ctx, knowledge.SearchRequest{WorkspaceID: "w", Bases: []string{"faq"}, SearchQuery: knowledge.SearchQuery{Query: query}})
		cancel()
		require.Equal(t, domain.CodeGatewayTimeout, domain.CodeOf(err), "%s: %v", query, err)
	}
}

// Who may read which document is decided again after a change of the document, of the rules and of the caller, and of
// nothing else.
func TestWhoMayReadIsDecidedOnce(t *testing.T) { //nolint:paralleltest // it counts allocations
	f := newFixture(t)
	const count = 400
	for i := range count {
		f.put(fmt.Sprintf("doc_%03d", i), fmt.Sprintf("The words of number %d", i), []string{"a", "b"}[i%2])
	}
	livetest.Fresh(t, f.models)
	a, b := rightsOf(t, "a"), rightsOf(t, "b")
	limit := 1
	cost := func(fresh bool) float64 {
		rights := a
		return testing.AllocsPerRun(3, func() {
			if fresh {
				rights = rightsOf(t, "a")
			}
			answer, err := f.Search(t.Context(), knowledge.SearchRequest{WorkspaceID: "w", Bases: []string{"faq"}, Rights: rights, SearchQuery: knowledge.SearchQuery{Query: "words", Limit: &limit}})
			require.NoError(t, err)
			require.Equal(t, count/2, answer.Total)
		})
	}
	first, again := cost(true), cost(false)
	require.Greater(t, first-again, 20.0*count, "allocations of a search: %.0f, and %.0f when it is known who may read what", first, again)

	require.Equal(t, []string{"doc_007"}, f.find(b, "+words +7"))
	require.Empty(t, f.find(a, "+words +7"))
	f.put("doc_007", "The words of number 7", "a")
	livetest.Fresh(t, f.models)
	require.Equal(t, []string{"doc_007"}, f.find(a, "+words +7"))
	require.Empty(t, f.find(b, "+words +7"))
	f.append(kbdocument.Stream("w", "doc_007"), kbdocument.Removed{})
	livetest.Fresh(t, f.models)
	require.Empty(t, f.find(a, "+words +7"))
	require.Equal(t, []string{"doc_008"}, f.find(a, "+words +8"))
	require.Empty(t, f.find(rightsOf(t, "c"), "words"))
}
