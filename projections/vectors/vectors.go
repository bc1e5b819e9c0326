// Package vectors is an exact index of vectors in keys and values: the passages of documents of knowledge bases, by their
// meaning. Every vector is compared with the one that is searched for, so results depend on nothing but the vectors.
//
// Vectors are stored with length 1, in blocks of so many passages of a document. They lie beside the index of full text of
// the same base, under the same prefix, and go with it.
package vectors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"svc/domain/kbdocument"
	"svc/projections/fulltext"
)

// Sections of the keys of a base, behind those of package fulltext.
const (
	sectionBlocks  = 20 // set, id, block: vectors
	sectionRecords = 21 // id: record
)

// blockSize is how many passages a block is for.
const blockSize = 256

// Stored is the vectors of one set that the index has of a document.
type Stored struct {
	Blob  string `json:"blob"`
	Count int    `json:"count"` // passages
}

func recordKey(base, id string) []byte {
	return append(append(fulltext.Prefix(base), sectionRecords), id...)
}

func setKey(base, set string) []byte {
	return append(append(append(fulltext.Prefix(base), sectionBlocks), set...), 0)
}

func blockKey(base, set, id string, block int) []byte {
	return binary.BigEndian.AppendUint32(append(append(setKey(base, set), id...), 0), uint32(block))
}

// Sets returns what the index has of a document, by set.
func Sets(r fulltext.Getter, base, id string) (sets map[string]Stored, err error) {
	value, ok, err := r.Get(recordKey(base, id))
	if err != nil || !ok {
		return nil, err
	}
	return sets, json.Unmarshal(value, &sets)
}

// Set is the vectors of a document that are put into the index.
type Set struct {
	Name, Blob string
	kbdocument.StoredVectors
}

// Put replaces all vectors of a document. Without sets it is removed.
func Put(w fulltext.Writer, base, id string, sets []Set) error {
	old, err := Sets(w, base, id)
	if err != nil {
		return err
	}
	for name, stored := range old {
		for block := 0; block*blockSize < stored.Count; block++ {
			if err := w.Delete(blockKey(base, name, id, block)); err != nil {
				return err
			}
		}
	}
	if len(sets) == 0 {
		if old == nil {
			return nil
		}
		return w.Delete(recordKey(base, id))
	}
	records := map[string]Stored{}
	for _, s := range sets {
		records[s.Name] = Stored{s.Blob, len(s.Hashes)}
		for from := 0; from < len(s.Hashes); from += blockSize {
			value := binary.LittleEndian.AppendUint32(nil, uint32(s.Dimensions))
			for i := from; i < min(from+blockSize, len(s.Hashes)); i++ {
				for _, f := range Normalise(s.Vector(i)) {
					value = binary.LittleEndian.AppendUint32(value, math.Float32bits(f))
				}
			}
			if err := w.Set(blockKey(base, s.Name, id, from/blockSize), value); err != nil {
				return err
			}
		}
	}
	value, err := json.Marshal(records)
	if err != nil {
		return err
	}
	return w.Set(recordKey(base, id), value)
}

// Normalise returns a vector with length 1. One that has no direction stays zero.
func Normalise(v []float32) []float32 {
	sum := 0.0
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	unit := make([]float32, len(v))
	if length := math.Sqrt(sum); length > 0 && !math.IsInf(length, 0) && !math.IsNaN(length) {
		for i, f := range v {
			unit[i] = float32(float64(f) / length)
		}
	}
	return unit
}

// Block is vectors of passages of a document that follow each other.
type Block struct {
	ID         string
	First      int // number of the first passage
	Dimensions int
	Values     []float32
}

var errDamaged = errors.New("vectors: the index is damaged")

// Scan visits all vectors of a set, those of a document one after the other, until visit returns false.
func Scan(r fulltext.Reader, base, set string, visit func(Block) (more bool, err error)) error {
	prefix := setKey(base, set)
	return r.Iterate(prefix, nil, false, func(key, value []byte) (bool, error) {
		id, block, ok := cutKey(key[len(prefix):])
		if !ok {
			return false, errDamaged
		}
		b, err := parseBlock(id, block, value)
		if err != nil {
			return false, err
		}
		return visit(b)
	})
}

func parseBlock(id string, block int, value []byte) (b Block, err error) {
	if len(value) < 4 || len(value)%4 != 0 {
		return b, errDamaged
	}
	b = Block{ID: id, First: block * blockSize, Dimensions: int(binary.LittleEndian.Uint32(value)), Values: make([]float32, len(value)/4-1)}
	for i := range b.Values {
		b.Values[i] = math.Float32frombits(binary.LittleEndian.Uint32(value[4*i+4:]))
	}
	return b, nil
}

// Documents visits the documents that have vectors of a set, in the order of their ids, until visit returns false.
func Documents(r fulltext.Reader, base, set string, visit func(id string, stored Stored) (more bool, err error)) error {
	prefix := recordKey(base, "")
	return r.Iterate(prefix, nil, false, func(key, value []byte) (bool, error) {
		var sets map[string]Stored
		if err := json.Unmarshal(value, &sets); err != nil {
			return false, err
		}
		if stored, ok := sets[set]; ok {
			return visit(string(key[len(prefix):]), stored)
		}
		return true, nil
	})
}

// Blocks returns the vectors of a set of a document.
func Blocks(r fulltext.Getter, base, set, id string, stored Stored) (blocks []Block, err error) {
	for block := 0; block*blockSize < stored.Count; block++ {
		value, ok, err := r.Get(blockKey(base, set, id, block))
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, errDamaged
		}
		b, err := parseBlock(id, block, value)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

func cutKey(key []byte) (id string, block int, ok bool) {
	at := bytes.IndexByte(key, 0)
	if at < 0 || len(key) != at+5 {
		return "", 0, false
	}
	return string(key[:at]), int(binary.BigEndian.Uint32(key[at+1:])), true
}

// Dot returns the sum of the products of two vectors of the same length. The order of its additions is fixed, and no two
// operations are fused: it is the same on every machine.
func Dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	n := len(a) &^ 3
	b = b[:len(a)]
	for i := 0; i < n; i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += float32(x[0] * y[0])
		s1 += float32(x[1] * y[1])
		s2 += float32(x[2] * y[2])
		s3 += float32(x[3] * y[3])
	}
	for i := n; i < len(a); i++ {
		s0 += float32(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// Query is what is searched for.
type Query struct {
	Vector []float32 // of length 1
	// Match reports whether a document counts. It is called once for each that has a passage that is similar enough. nil:
	// all do.
	Match func(id string) (bool, error)
	// MatchPassage reports whether a passage counts. nil: all do.
	MatchPassage func(id string, n int) bool

	Least float64 // similarity of passages
	Limit int     // of hits
}

// Hit is a passage that was found.
type Hit struct {
	ID         string
	N          int     // number of the passage
	Similarity float64 // cosine
}

// Ranking finds the nearest passages of the blocks that are added, in the order of documents and passages.
type Ranking struct {
	Query
	Total  int  // documents
	Unlike bool // there are vectors of another length, which were not compared

	hits    []Hit
	floor   float64 // what is not above it is not among the nearest, once isFull
	isFull  bool
	current string
	counts  bool // the current document does
	asked   bool
}

// Add compares the vectors of a block.
func (r *Ranking) Add(b Block) error {
	if b.Dimensions != len(r.Vector) || b.Dimensions == 0 {
		r.Unlike = true
		return nil
	}
	if b.ID != r.current {
		r.current, r.asked = b.ID, false
	}
	for i := 0; i < len(b.Values)/b.Dimensions; i++ {
		similarity := float64(Dot(r.Vector, b.Values[i*b.Dimensions:(i+1)*b.Dimensions]))
		if similarity < r.Least || r.MatchPassage != nil && !r.MatchPassage(b.ID, b.First+i) {
			continue
		}
		if !r.asked {
			r.asked, r.counts = true, true
			if r.Match != nil {
				var err error
				if r.counts, err = r.Match(b.ID); err != nil {
					return err
				}
			}
			if r.counts {
				r.Total++
			}
		}
		if !r.counts {
			break
		}
		if r.isFull && similarity <= r.floor {
			continue // documents come in the order of their ids: of equals the earlier one counts
		}
		if r.hits = append(r.hits, Hit{b.ID, b.First + i, similarity}); len(r.hits) >= 4*r.Limit+1024 {
			r.hits = r.Hits()
			r.isFull, r.floor = len(r.hits) == r.Limit, r.hits[len(r.hits)-1].Similarity
		}
	}
	return nil
}

// Hits returns the nearest passages, the best first; of equals those of the document with the lower id.
func (r *Ranking) Hits() []Hit {
	slices.SortFunc(r.hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.ID, b.ID), cmp.Compare(a.N, b.N))
	})
	return r.hits[:min(len(r.hits), r.Limit)]
}
