package projections_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/kbdocument"
	"svc/domain/knowledge"
	"svc/domain/workspace"
	"svc/projections"
	"svc/projections/fulltext"
)

// searchFixture is a log, the read model of documents, and the index of their texts.
type searchFixture struct {
	*fixture
	*projections.SearchIndex
	t   *testing.T
	dir string

	mu    sync.Mutex
	blobs map[string][]byte
	opens int
	seqs  map[string]uint64

	vectorsMemory int64
	reads         func() error // is called before passages are read; nil: nothing
}

func newSearchFixture(t *testing.T) *searchFixture {
	t.Helper()
	f := &searchFixture{fixture: newFixture(t, projections.KBDocuments{}), t: t, dir: filepath.Join(t.TempDir(), "search"), blobs: map[string][]byte{}, seqs: map[string]uint64{}}
	f.openIndex()
	return f
}

// openIndex opens the index as it is on disk.
func (f *searchFixture) openIndex() {
	f.t.Helper()
	index, err := projections.NewSearchIndex(projections.SearchIndexOptions{
		Models: f.Models, Passages: f.passages, Log: quiet, VectorsMemory: f.vectorsMemory,
		Open: func() (*projections.DB, error) {
			f.opens++
			return projections.OpenDB(projections.DBOptions{Dir: f.dir, Log: slog.New(slog.DiscardHandler)})
		},
	})
	require.NoError(f.t, err)
	f.SearchIndex = index
	f.t.Cleanup(func() { _ = index.Close() })
}

func (f *searchFixture) passages(_ context.Context, hash string) ([]byte, error) {
	if f.reads != nil {
		if err := f.reads(); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	body, ok := f.blobs[hash]
	if !ok {
		return nil, projections.ErrNoPassages
	}
	return body, nil
}

// put adds a document that is ready, or replaces its text.
func (f *searchFixture) put(id, title, text string) {
	f.t.Helper()
	chunks, _ := knowledge.Chunking{Size: 200}.Divide(text, "en", nil)
	body, err := json.Marshal(kbdocument.Passages{Chunks: chunks})
	require.NoError(f.t, err)
	hash := workspace.HashOf(body)
	f.mu.Lock()
	f.blobs[hash] = body
	f.mu.Unlock()
	s := kbdocument.State{
		ID: id, BaseID: "kb_1", Fields: kbdocument.Fields{Name: id, Title: title}, Revision: 1,
		Extract: &kbdocument.Extract{Revision: 1, Chunks: hash, Count: len(chunks), Language: "en"},
	}
	f.record(id, kbdocument.Updated{Document: s})
}

func (f *searchFixture) record(id string, ev domain.Event) {
	f.t.Helper()
	f.seqs[id] = add(f.t, f.log.Log, kbdocument.Stream("w1", id), f.seqs[id], ev).Seqs[0]
}

// find returns the ids and the scores that a query finds, after the index has everything.
func (f *searchFixture) find(query string) (found []string) {
	f.t.Helper()
	require.NoError(f.t, f.Fresh(bounded(f.t)))
	require.NoError(f.t, f.Sync(bounded(f.t), "w1", "kb_1"))
	return f.findNow(query)
}

func (f *searchFixture) findNow(query string) (found []string) {
	f.t.Helper()
	result, err := f.Search(bounded(f.t), "w1", "kb_1", fulltext.Query{Parsed: fulltext.Parse(query), Limit: 100})
	require.NoError(f.t, err)
	for _, h := range result.Hits {
		found = append(found, fmt.Sprintf("%s %.12f", h.ID, h.Score))
	}
	return found
}

// ids returns what a query finds, without scores.
func (f *searchFixture) ids(query string) (ids []string) {
	f.t.Helper()
	for _, one := range f.find(query) {
		ids = append(ids, strings.Fields(one)[0])
	}
	return ids
}

func (f *searchFixture) requireEqual() {
	f.t.Helper()
	report, err := f.SearchIndex.Verify(bounded(f.t))
	require.NoError(f.t, err)
	require.True(f.t, report.Equal, report.FirstDiff)
}

func TestTheSearchIndexFollowsDocuments(t *testing.T) {
	t.Parallel()
	f := newSearchFixture(t)
	require.NoError(t, f.Sync(bounded(t), "w1", "kb_1"))
	require.Zero(t, f.opens, "without documents there is no store")

	f.put("doc_a", "Guide", "The refund of a payment takes a week.")
	f.put("doc_b", "", "A payment by card. "+strings.Repeat("More about cards follows here. ", 30))
	require.Equal(t, []string{"doc_a", "doc_b"}, f.ids("payment refund"))
	f.put("doc_a", "Guide", "Something else.")
	require.Equal(t, []string{"doc_b"}, f.ids("payment refund"))
	f.put("doc_b", "Refunds", "A payment by card. "+strings.Repeat("More about cards follows here. ", 30))
	require.Equal(t, []string{"doc_b"}, f.ids("refund"), "a new title needs no new text")
	f.record("doc_a", kbdocument.Removed{})
	require.Empty(t, f.ids("guide"))
	before := f.find("payment")
	require.Len(t, before, 1)
	f.requireEqual()
	progress, err := f.Progress("w1", "kb_1")
	require.NoError(t, err)
	require.Zero(t, progress)

	t.Log("a passage that cannot be read keeps its document out, and nothing else")
	f.put("doc_c", "", "Lost words about a payment")
	for hash, body := range f.blobs {
		if strings.Contains(string(body), "Lost words") {
			delete(f.blobs, hash)
		}
	}
	f.put("doc_d", "", "Kept words")
	require.Equal(t, []string{"doc_d"}, f.ids("words"))
	f.record("doc_c", kbdocument.Removed{})
	f.record("doc_d", kbdocument.Removed{})
	require.Equal(t, before, f.find("payment"), "the scores do not depend on what was")

	t.Log("what was indexed is there after a restart, and after a loss of the directory")
	require.NoError(t, f.SearchIndex.Close())
	f.openIndex()
	require.Equal(t, before, f.findNow("payment"))
	require.NoError(t, f.SearchIndex.Close())
	require.NoError(t, os.RemoveAll(f.dir))
	f.openIndex()
	require.Equal(t, before, f.find("payment"))
	require.NoError(t, f.SearchIndex.Close())
	tables, err := filepath.Glob(filepath.Join(f.dir, "*"))
	require.NoError(t, err)
	for _, path := range tables {
		require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o600))
	}
	f.openIndex()
	require.Equal(t, before, f.find("payment"))

	t.Log("a rebuild of the index, and one of the read models, change no answer")
	report, err := f.SearchIndex.Rebuild(bounded(t), "")
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{report.Bases, report.Documents})
	require.Equal(t, before, f.findNow("payment"))
	_, err = f.Models.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	f.put("doc_e", "", "Unrelated")
	f.record("doc_e", kbdocument.Removed{})
	require.Equal(t, before, f.find("payment"))
	f.requireEqual()
	require.NoError(t, f.Probe(bounded(t)))
}

// An index of the shape before is searched, also what has changed since, until the one of now is complete.
func TestAFormerIndexIsSearchedUntilItIsReplaced(t *testing.T) {
	t.Parallel()
	f := newSearchFixture(t)
	require.NoError(t, f.BeginFormer(bounded(t), "w1", "kb_1"))
	f.put("doc_a", "Inventories", "The refund of a payment takes a week.")
	f.put("doc_b", "Policies", "A payment by card.")
	require.Equal(t, []string{"doc_a", "doc_b"}, f.ids("payment refund"))
	f.put("doc_b", "Policies", "Nothing else.")
	f.put("doc_c", "", "One more payment.")
	f.record("doc_a", kbdocument.Removed{})
	before := f.find("payment policy")
	require.Len(t, before, 2)
	require.Empty(t, f.ids("policies*"), "it has no such words")

	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = f.SearchIndex.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	require.Eventually(t, func() bool {
		require.Equal(t, before, f.findNow("payment policy"))
		return len(f.findNow("policies*")) == 1
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, []string{"doc_b"}, f.ids("policies*"))
	f.requireEqual()

	t.Log("verify replaces it, too")
	other := newSearchFixture(t)
	require.NoError(t, other.BeginFormer(bounded(t), "w1", "kb_1"))
	other.put("doc_a", "Inventories", "The refund of a payment takes a week.")
	require.Equal(t, []string{"doc_a"}, other.ids("week"))
	other.requireEqual()
	require.Equal(t, []string{"doc_a"}, other.ids("inventories*"))
}

// What a rebuild replaced, or left when it was interrupted, is deleted beside the work of others; what is being built is not.
func TestFormerIndexesAreSwept(t *testing.T) {
	t.Parallel()
	f := newSearchFixture(t)
	for i := range 60 { // several batches
		f.put(fmt.Sprintf("doc_%02d", i), "", strings.Repeat(fmt.Sprintf("The payment number %d. ", i), 100))
	}
	before := f.find("payment 3")
	requireAreas := func(want ...string) {
		t.Helper()
		areas, err := f.Areas()
		require.NoError(t, err)
		require.Equal(t, want, areas)
	}

	t.Log("one that is interrupted leaves what it has written, and no answer changes")
	left := 50
	f.reads = func() error {
		if left--; left < 0 {
			return context.Canceled
		}
		return nil
	}
	_, err := f.SearchIndex.Rebuild(bounded(t), "")
	require.ErrorIs(t, err, context.Canceled)
	f.reads = nil
	requireAreas("w1/kb_1/1", "w1/kb_1/2")
	require.Equal(t, before, f.findNow("payment 3"))

	t.Log("the next one does not take over what that left")
	begun, goOn := make(chan struct{}), make(chan struct{})
	f.reads = sync.OnceValue(func() error {
		close(begun)
		<-goOn
		return nil
	})
	rebuilt := make(chan error, 1)
	go func() {
		_, err := f.SearchIndex.Rebuild(bounded(t), "")
		rebuilt <- err
	}()
	<-begun
	swept := make(chan error, 1)
	go func() { swept <- f.Sweep(bounded(t)) }()
	close(goOn)
	require.NoError(t, <-rebuilt)
	require.NoError(t, <-swept)
	require.NoError(t, f.Sweep(bounded(t)))
	requireAreas("w1/kb_1/3")
	require.Equal(t, before, f.findNow("payment 3"))
	f.requireEqual()

	t.Log("and so it is after a restart, without being asked")
	_, err = f.SearchIndex.Rebuild(bounded(t), "kb_1")
	require.NoError(t, err)
	requireAreas("w1/kb_1/3", "w1/kb_1/4")
	require.NoError(t, f.SearchIndex.Close())
	f.openIndex()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = f.SearchIndex.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	awaitOnly := func(area string) {
		require.Eventually(t, func() bool {
			areas, err := f.Areas()
			require.NoError(t, err)
			return len(areas) == 1 && areas[0] == area
		}, time.Minute, 5*time.Millisecond)
	}
	awaitOnly("w1/kb_1/4")
	_, err = f.SearchIndex.Rebuild(bounded(t), "")
	require.NoError(t, err)
	awaitOnly("w1/kb_1/5")
	require.Equal(t, before, f.findNow("payment 3"))
	f.requireEqual()
}

func TestAnInterruptedBatchIsRepeated(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0, 0.1, 0.5, 0.9, 1} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			t.Parallel()
			f := newSearchFixture(t)
			f.put("doc_a", "Guide", strings.Repeat("The refund of a payment takes a week. ", 20))
			f.put("doc_b", "", "A payment by card.")
			f.find("card")
			f.put("doc_a", "Other", strings.Repeat("A refund by card is quick. ", 40))
			f.put("doc_c", "", "One more card.")
			f.record("doc_b", kbdocument.Removed{})
			require.NoError(t, f.Fresh(bounded(t)))
			require.NoError(t, f.Interrupt(bounded(t), "w1", "kb_1", share))
			f.put("doc_a", "Last", "Only this is left of the card.") // the batch is not what the documents are any more
			require.ElementsMatch(t, []string{"doc_a", "doc_c"}, f.ids("card"))
			require.Empty(t, f.ids("week refund payment"))
			f.requireEqual()
		})
	}
}

// Batches come and go while others read: they see a document as it was or as it is.
func TestReadersSeeWholeDocuments(t *testing.T) {
	t.Parallel()
	f := newSearchFixture(t)
	text := func(word string) string { return strings.Repeat(word+" stands in every passage of the text. ", 4000) }
	f.put("doc_a", "", text("alpha"))
	all := f.chunks("alpha")
	require.Greater(t, all, 300)
	stop := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			result, err := f.Search(t.Context(), "w1", "kb_1", fulltext.Query{Parsed: fulltext.Parse("alpha gamma"), Limit: 10_000, ByChunk: true})
			if err != nil || len(result.Hits) != all {
				t.Errorf("%d chunks of %d: %v", len(result.Hits), all, err)
				return
			}
		}
	})
	for _, word := range []string{"gamma", "alpha"} {
		f.put("doc_a", "", text(word))
		f.find(word)
	}
	close(stop)
	reading.Wait()
	f.requireEqual()
}

func (f *searchFixture) chunks(query string) int {
	f.t.Helper()
	f.find(query)
	result, err := f.Search(bounded(f.t), "w1", "kb_1", fulltext.Query{Parsed: fulltext.Parse(query), Limit: 10_000, ByChunk: true})
	require.NoError(f.t, err)
	return len(result.Hits)
}

// An index that is further behind than changes are kept compares all documents.
func TestTheSearchIndexComparesWhatItMissed(t *testing.T) {
	t.Parallel()
	f := newSearchFixture(t)
	f.put("doc_a", "", "The first words")
	f.put("doc_b", "", "The second words")
	require.Len(t, f.find("words"), 2)
	dir := copyDir(t, f.dir)
	f.record("doc_a", kbdocument.Removed{})
	for i := range 600 {
		f.put(fmt.Sprintf("doc_%d", i), "", fmt.Sprintf("Number %d has words", i))
	}
	want := f.find("words")
	require.NoError(t, f.SearchIndex.Close())
	f.dir = dir
	f.openIndex()
	_, err := f.Models.Rebuild(bounded(t), nil)
	require.NoError(t, err)
	require.Equal(t, want, f.find("words"))
	f.requireEqual()
}
