package projections_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/kbdocument"
	"svc/domain/workspace"
	"svc/projections"
	"svc/projections/vectors"
)

func TestExpiredDocumentsAreThoseOfTheBase(t *testing.T) {
	t.Parallel()
	f := newSearchFixture(t)
	now := time.Now()
	for i, expiry := range []time.Time{{}, now.Add(-time.Minute), now.Add(time.Hour), now.Add(-time.Hour)} {
		id := fmt.Sprint("doc_", i)
		s := kbdocument.State{ID: id, BaseID: "kb_1", Fields: kbdocument.Fields{Name: id, ExpiresAt: expiry}}
		if i == 3 {
			s.BaseID = "kb_2"
		}
		f.record(id, kbdocument.Added{Document: s})
	}
	require.NoError(t, f.Fresh(bounded(t)))
	expired := func() (ids map[string]bool) {
		require.NoError(t, f.Models.View(func(r projections.Reader) (err error) {
			ids, err = projections.KBDocuments{}.ExpiredIn(r, "w1", "kb_1", now)
			return err
		}))
		return ids
	}
	require.Equal(t, map[string]bool{"doc_1": true}, expired())
	f.record("doc_1", kbdocument.Removed{})
	require.NoError(t, f.Fresh(bounded(t)))
	require.Empty(t, expired())
}

// The vectors of a base that has more than fit into memory are read from the store, with the same result.
func TestVectorsInMemoryAndOnDisk(t *testing.T) {
	t.Parallel()
	f := newSearchFixture(t)
	embed := func(id string, values ...float32) {
		t.Helper()
		require.NoError(t, f.Fresh(bounded(t)))
		require.NoError(t, f.Models.View(func(r projections.Reader) error {
			d, _, err := projections.KBDocuments{}.ByID(r, "w1", id)
			body := kbdocument.StoredVectors{Dimensions: 2, Hashes: [][32]byte{{1}}, Values: values}.Encode()
			hash := workspace.HashOf(body)
			f.mu.Lock()
			f.blobs[hash] = body
			f.mu.Unlock()
			f.record(id, kbdocument.Embedded{Vectors: kbdocument.Vectors{Set: "m@0", Chunks: d.Extract.Chunks, Blob: hash}})
			return err
		}))
	}
	near := func() projections.Nearest {
		t.Helper()
		require.NoError(t, f.Fresh(bounded(t)))
		require.NoError(t, f.Sync(bounded(t), "w1", "kb_1"))
		found, err := f.Nearest(bounded(t), "w1", "kb_1", "m@0", vectors.Query{Vector: []float32{1, 0}, Limit: 10})
		require.NoError(t, err)
		return found
	}
	f.put("doc_1", "", "one")
	f.put("doc_2", "", "two")
	embed("doc_1", 0, 3)
	embed("doc_2", 4, 0)
	onDisk := near()
	require.True(t, onDisk.OnDisk)
	require.Equal(t, []vectors.Hit{{ID: "doc_2", Similarity: 1}, {ID: "doc_1"}}, onDisk.Hits)

	require.NoError(t, f.Close())
	f.vectorsMemory = 1 << 20
	f.openIndex()
	inMemory := near()
	require.False(t, inMemory.OnDisk)
	require.Equal(t, onDisk.Hits, inMemory.Hits)
	embed("doc_1", 5, 0)
	require.Equal(t, []vectors.Hit{{ID: "doc_1", Similarity: 1}, {ID: "doc_2", Similarity: 1}}, near().Hits, "what changed is read again")
	f.record("doc_2", kbdocument.Removed{})
	require.Equal(t, []vectors.Hit{{ID: "doc_1", Similarity: 1}}, near().Hits)
	before := near().Hits
	_, err := f.Rebuild(bounded(t), "")
	require.NoError(t, err)
	require.Equal(t, before, near().Hits)
	f.requireEqual()

	t.Log("vectors that are others than those of the documents are found")
	f.mu.Lock()
	for hash, body := range f.blobs {
		if stored, err := kbdocument.ParseVectors(body); err == nil && stored.Dimensions == 2 {
			f.blobs[hash] = kbdocument.StoredVectors{Dimensions: 2, Hashes: [][32]byte{{1}}, Values: []float32{0, 1}}.Encode()
		}
	}
	f.mu.Unlock()
	report, err := f.SearchIndex.Verify(bounded(t))
	require.NoError(t, err)
	require.False(t, report.Equal)
	require.Contains(t, report.FirstDiff, "vectors of 1 documents")
}
