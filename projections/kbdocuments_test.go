package projections_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/kbdocument"
	"svc/projections"
)

// Pages have the documents in the order of their last change, whatever happens to them.
func TestPagesOfDocuments(t *testing.T) {
	t.Parallel()
	f := newSearchFixture(t)
	now := time.Now()
	put := func(id, sourceID string, expiresAt time.Time) {
		s := kbdocument.State{ID: id, BaseID: "kb_1", Revision: 1, Fields: kbdocument.Fields{Name: id, ExpiresAt: expiresAt}, Job: &kbdocument.Job{Generation: 1}, Generation: 1}
		s.Source, s.SourceID = kbdocument.Text, sourceID
		if sourceID != "" {
			s.Source = kbdocument.Crawl
		}
		f.record(id, kbdocument.Updated{Document: s})
	}
	page := func(s projections.KBSelection, newestFirst bool, offset, limit int) (ids []string, total int) {
		require.NoError(t, f.Models.Latest(bounded(t)))
		rd := f.Models.Reader()
		defer rd.Close()
		docs, total, err := projections.KBDocuments{}.SelectPage(rd, "w1", "kb_1", s, now, newestFirst, offset, limit)
		require.NoError(t, err)
		for _, d := range docs {
			ids = append(ids, d.ID)
		}
		return ids, total
	}
	requirePage := func(want []string, total int, s projections.KBSelection) {
		t.Helper()
		ids, all := page(s, true, 0, 10)
		require.Equal(t, want, ids)
		require.Equal(t, total, all)
	}
	for _, id := range []string{"c", "a", "b"} {
		put(id, "", time.Time{})
	}
	put("s", "site", time.Time{})
	put("gone", "", now.Add(-time.Hour))
	requirePage([]string{"s", "b", "a", "c"}, 4, projections.KBSelection{})
	requirePage([]string{"s"}, 1, projections.KBSelection{SourceID: "site"})
	requirePage(nil, 0, projections.KBSelection{SourceID: "sit"})
	requirePage([]string{"s", "b", "a", "c"}, 4, projections.KBSelection{Status: kbdocument.Pending})

	t.Log("a change of its fields moves a document, work of the pipeline does not")
	put("c", "", time.Time{})
	f.record("a", kbdocument.Begun{Generation: 1, Attempt: 1, At: now})
	requirePage([]string{"c", "s", "b", "a"}, 4, projections.KBSelection{})
	requirePage([]string{"a"}, 1, projections.KBSelection{Status: kbdocument.Processing})
	requirePage([]string{"c", "s", "b"}, 3, projections.KBSelection{Status: kbdocument.Pending})
	f.record("s", kbdocument.Removed{})
	requirePage(nil, 0, projections.KBSelection{SourceID: "site"})
	requirePage([]string{"c", "b", "a"}, 3, projections.KBSelection{})

	ids, total := page(projections.KBSelection{}, false, 1, 1)
	require.Equal(t, []string{"b"}, ids)
	require.Equal(t, 3, total)
	ids, _ = page(projections.KBSelection{}, true, 3, 5)
	require.Empty(t, ids)
}

// The number of jobs is that of the documents that the pipeline has work with: without any it does not look for them.
func TestTheQueueOfDocuments(t *testing.T) {
	t.Parallel()
	f := newSearchFixture(t)
	now := time.Now()
	requireQueue := func(want ...string) {
		t.Helper()
		require.NoError(t, f.Models.Latest(bounded(t)))
		rd := f.Models.Reader()
		defer rd.Close()
		jobs, _, err := projections.KBDocuments{}.Queue(rd, now.Add(time.Hour), 10, func(string) bool { return true })
		require.NoError(t, err)
		var ids []string
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
		require.Equal(t, want, ids)
		n, err := projections.KBDocuments{}.Jobs(rd)
		require.NoError(t, err)
		require.Equal(t, len(want), n)
	}
	requireQueue()
	job := kbdocument.State{BaseID: "kb_1", Revision: 1, Job: &kbdocument.Job{Generation: 1}, Generation: 1}
	for _, id := range []string{"a", "b", "c"} {
		job.ID = id
		f.record(id, kbdocument.Updated{Document: job})
	}
	requireQueue("a", "b", "c")
	f.record("a", kbdocument.Begun{Generation: 1, Attempt: 1, At: now})
	f.record("a", kbdocument.Postponed{Generation: 1, Until: now.Add(time.Minute)})
	requireQueue("b", "c", "a")
	f.record("a", kbdocument.ReadyEvent{Generation: 1, Extract: &kbdocument.Extract{Revision: 1, Chunks: "none"}})
	f.record("b", kbdocument.Removed{})
	requireQueue("c")
	f.record("a", kbdocument.EmbeddingQueued{Set: "m@8"})
	requireQueue("c", "a")
	f.record("c", kbdocument.Updated{Document: kbdocument.State{ID: "c", BaseID: "kb_1", Revision: 2, Generation: 1}})
	f.record("a", kbdocument.Embedded{Vectors: kbdocument.Vectors{Set: "m@8"}})
	requireQueue()
}

// What a page reads does not grow with the base.
func TestWhatAPageOfDocumentsReadsDoesNotGrowWithTheBase(t *testing.T) { //nolint:paralleltest // it counts allocations
	cost := func(documents int) float64 {
		f := newSearchFixture(t)
		for i := range documents {
			id := fmt.Sprintf("doc_%04d", i)
			f.record(id, kbdocument.Updated{Document: kbdocument.State{ID: id, BaseID: "kb_1", Fields: kbdocument.Fields{Name: id}, Revision: 1}})
		}
		require.NoError(t, f.Models.Latest(bounded(t)))
		rd := f.Models.Reader()
		defer rd.Close()
		return testing.AllocsPerRun(20, func() {
			for _, s := range []projections.KBSelection{{}, {Status: kbdocument.Ready}} {
				docs, total, err := projections.KBDocuments{}.SelectPage(rd, "w1", "kb_1", s, time.Now(), true, 0, 20)
				require.NoError(t, err)
				require.Len(t, docs, 20)
				require.Equal(t, documents, total)
			}
		})
	}
	small, large := cost(25), cost(1000)
	require.Less(t, large, 1.5*small, "allocations of a page: %.0f with 25 documents, %.0f with 1000", small, large)
}
