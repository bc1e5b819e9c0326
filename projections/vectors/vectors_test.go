package vectors_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain/kbdocument"
	"svc/projections/vectors"
)

// memory is an index in memory.
type memory map[string][]byte

// Get implements fulltext.Getter.
func (m memory) Get(key []byte) ([]byte, bool, error) {
	value, ok := m[string(key)]
	return value, ok, nil
}

// Set implements fulltext.Writer.
func (m memory) Set(key, value []byte) error {
	m[string(key)] = bytes.Clone(value)
	return nil
}

// Delete implements fulltext.Writer.
func (m memory) Delete(key []byte) error {
	delete(m, string(key))
	return nil
}

// Iterate implements fulltext.Reader.
func (m memory) Iterate(prefix, _ []byte, _ bool, visit func(key, value []byte) (bool, error)) error {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !strings.HasPrefix(key, string(prefix)) {
			continue
		}
		if more, err := visit([]byte(key), m[key]); err != nil || !more {
			return err
		}
	}
	return nil
}

func newSet(r *rand.Rand, name string, passages, dimensions int) vectors.Set {
	s := vectors.Set{Name: name, Blob: fmt.Sprint(r.Uint64()), StoredVectors: kbdocument.StoredVectors{Dimensions: dimensions, Hashes: make([][sha256.Size]byte, passages)}}
	for range passages * dimensions {
		s.Values = append(s.Values, r.Float32()-0.5)
	}
	return s
}

func TestTheNearestPassagesAreFoundWhateverWasThereBefore(t *testing.T) {
	t.Parallel()
	const dimensions = 7
	r := rand.New(rand.NewPCG(1, 2))
	index, want := memory{}, map[string]vectors.Set{}
	for i := range 40 {
		id := fmt.Sprintf("doc_%02d", i%25) // some are replaced
		s := newSet(r, "m@7", 1+r.IntN(300), dimensions)
		require.NoError(t, vectors.Put(index, "b/1", id, []vectors.Set{s, newSet(r, "other@3", 2, 3)}))
		want[id] = s
	}
	require.NoError(t, vectors.Put(index, "b/1", "doc_03", nil))
	delete(want, "doc_03")

	query := vectors.Normalise(newSet(r, "", 1, dimensions).Values)
	var all []vectors.Hit
	for id, s := range want {
		for n := range s.Hashes {
			all = append(all, vectors.Hit{ID: id, N: n, Similarity: float64(vectors.Dot(query, vectors.Normalise(s.Vector(n))))})
		}
	}
	slices.SortFunc(all, func(a, b vectors.Hit) int {
		switch {
		case a.Similarity != b.Similarity:
			if a.Similarity > b.Similarity {
				return -1
			}
			return 1
		case a.ID != b.ID:
			return strings.Compare(a.ID, b.ID)
		}
		return a.N - b.N
	})
	asked := map[string]int{}
	ranking := vectors.Ranking{Query: vectors.Query{Vector: query, Limit: 50, Least: -1, Match: func(id string) (bool, error) {
		asked[id]++
		return id != "doc_05", nil
	}}}
	require.NoError(t, vectors.Scan(index, "b/1", "m@7", func(b vectors.Block) (bool, error) { return true, ranking.Add(b) }))
	all = slices.DeleteFunc(all, func(h vectors.Hit) bool { return h.ID == "doc_05" })
	require.Equal(t, all[:50], ranking.Hits())
	require.Equal(t, 23, ranking.Total)
	for id, times := range asked {
		require.Equal(t, 1, times, id)
	}

	var documents []string
	require.NoError(t, vectors.Documents(index, "b/1", "m@7", func(id string, stored vectors.Stored) (bool, error) {
		documents = append(documents, id)
		blocks, err := vectors.Blocks(index, "b/1", "m@7", id, stored)
		values := 0
		for _, b := range blocks {
			values += len(b.Values)
		}
		require.Equal(t, len(want[id].Values), values)
		return true, err
	}))
	require.Len(t, documents, len(want))
	for id := range want {
		require.NoError(t, vectors.Put(index, "b/1", id, nil))
	}
	require.Empty(t, index, "nothing is left behind")
}

func TestStoredVectorsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	s := newSet(rand.New(rand.NewPCG(3, 4)), "m", 5, 9).StoredVectors
	s.Hashes[2] = sha256.Sum256([]byte("passage"))
	got, err := kbdocument.ParseVectors(s.Encode())
	require.NoError(t, err)
	require.Equal(t, s, got)
	for _, damaged := range [][]byte{nil, []byte("vec1"), s.Encode()[:50], append(s.Encode(), 0)} {
		_, err := kbdocument.ParseVectors(damaged)
		require.Error(t, err)
	}
	require.Equal(t, []float32{0, 0}, vectors.Normalise([]float32{0, 0}))
}
