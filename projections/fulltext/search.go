package fulltext

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain/knowledge"
)

// BM25, and the weights of fields that no base sets.
const (
	k1          = 1.2
	b           = 0.75
	weightStems = 1
	weightWords = 0.5
)

const (
	maxExpansions = 200 // terms that a prefix or a misspelt word stands for
	skipAfter     = 64  // blocks of a term that a walk over terms reads before it seeks the next one
)

// Query is what is searched for in a base. The zero value of every field but Parsed is good.
type Query struct {
	Parsed

	// Match reports whether a document may be read and passes the filters. It is called once for each document with
	// a chunk that matches, before ranking. nil: all do.
	Match func(id string) (bool, error)
	// Each is called with each document that is counted in Total, in no order; nil: none is.
	Each func(id string) error

	From, Limit   int     // results to return, from a place on
	ByChunk       bool    // a result is a chunk, not a document
	Passages      int     // of a document; default 1
	TitleBoost    float64 // default 2
	HeadingsBoost float64 // default 1.5
	Synonyms      [][]string
	Fuzzy         bool // also words that are spelt a little differently
	Highlight     bool
}

// Result is what a query found.
type Result struct {
	Total int // documents
	Hits  []Hit
}

// Hit is a document that was found, with its best passages, or one passage of it.
type Hit struct {
	ID        string
	Title     string
	TitleHTML string // "" without a match
	Score     float64
	Passages  []Passage
}

// Passage is a chunk that was found.
type Passage struct {
	knowledge.Chunk

	Score float64
	HTML  string
}

// Search finds chunks and documents of a base. The order depends on nothing but the query and the documents.
func Search(r Reader, base string, q Query) (Result, error) {
	s, err := readSums(r, base)
	if err != nil {
		return Result{}, err
	}
	q.Passages = max(q.Passages, 1)
	q.TitleBoost, q.HeadingsBoost = cmp.Or(q.TitleBoost, 2), cmp.Or(q.HeadingsBoost, 1.5)
	x := &search{Query: q, r: r, base: base, sums: s, languages: s.languages(), analyser: analysers.Get().(*analyser), marks: newMarks()}
	defer analysers.Put(x.analyser)
	found, err := x.score()
	if err != nil {
		return Result{}, err
	}
	return x.rank(found)
}

// search is one call of Search.
type search struct {
	Query
	r         Reader
	base      string
	sums      sums
	languages []string
	analyser  *analyser
	marks     *marks
	postings  []posting // of one term; reused
}

// scores are those of the chunks of a block.
type scores struct {
	score [blockSize]float64
	mask  [blockSize]uint64 // the clauses that a chunk has
}

// found are scores by block.
type found map[uint32]*scores

func (f found) add(number uint32, score float64, clause int) {
	s := f[number/blockSize]
	if s == nil {
		s = &scores{}
		f[number/blockSize] = s
	}
	s.score[number%blockSize] += score
	s.mask[number%blockSize] |= 1 << clause
}

// score scores all chunks that match the query.
func (x *search) score() (found, error) {
	f := found{}
	var required, excluded uint64
	for i, c := range x.clauses {
		switch c.occurs {
		case must:
			required |= 1 << i
		case mustNot:
			excluded |= 1 << i
		}
		var err error
		if c.isPhrase {
			err = x.addPhrase(f, i, c)
		} else {
			err = x.addWord(f, i, c)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, s := range f {
		for i, mask := range s.mask {
			if mask&required != required || mask&excluded != 0 {
				s.mask[i] = 0
			}
		}
	}
	return f, nil
}

// addWord adds the scores of a word, with its synonyms and what it may stand for.
func (x *search) addWord(f found, clause int, c clause) error {
	word := c.words[0]
	isExcluded := c.occurs == mustNot
	if c.isPrefix {
		prefix := x.analyser.term(word, knowledge.Undetermined).folded
		return x.addTerms(f, clause, isExcluded, prefix, func(term string) bool { return strings.HasPrefix(term, prefix) })
	}
	if err := x.addForms(f, clause, isExcluded, word); err != nil || isExcluded {
		return err
	}
	folded := x.analyser.term(word, knowledge.Undetermined).folded
	for _, group := range x.Synonyms {
		isIn := func(other string) bool { return fold(strings.ToLower(other)) == folded }
		if !slices.ContainsFunc(group, isIn) {
			continue
		}
		for _, other := range group {
			if isIn(other) {
				continue
			}
			if err := x.addSynonym(f, clause, other); err != nil {
				return err
			}
		}
	}
	if most := maxEdits(folded); x.Fuzzy && most > 0 {
		letters := []rune(folded)
		return x.addTerms(f, clause, false, "", func(term string) bool { return term != folded && isWithin(letters, []rune(term), most) })
	}
	return nil
}

// addSynonym adds the scores of a synonym, which may be several words.
func (x *search) addSynonym(f found, number int, synonym string) error {
	var words []string
	for w := range knowledge.Words(synonym) {
		words = append(words, w.Text)
	}
	switch len(words) {
	case 0:
		return nil
	case 1:
		return x.addForms(f, number, false, words[0])
	}
	return x.addPhrase(f, number, clause{words: words})
}

// addForms adds the scores of a word as it is written, and of its stems in every language of the base.
func (x *search) addForms(f found, clause int, isExcluded bool, word string) error {
	folded := x.analyser.term(word, knowledge.Undetermined).folded
	if err := x.addTerm(f, clause, isExcluded, fieldWords, folded, weightWords); err != nil {
		return err
	}
	for _, language := range x.languages {
		t := x.analyser.term(word, language)
		fields := []weightedField{{fieldStems, weightStems}, {fieldTitle, x.TitleBoost}, {fieldHeadings, x.HeadingsBoost}}
		if t.isStop || language == knowledge.Undetermined {
			fields = fields[1:]
		}
		for _, field := range fields {
			if err := x.addTerm(f, clause, isExcluded, field.name+language, t.stem, field.weight); err != nil {
				return err
			}
		}
	}
	return nil
}

type weightedField struct {
	name   string
	weight float64
}

// addTerm adds the scores of a term in a field.
func (x *search) addTerm(f found, clause int, isExcluded bool, field, term string, weight float64) error {
	sum, ok := x.sums.Fields[field]
	if !ok || term == "" {
		return nil
	}
	x.postings = x.postings[:0]
	err := x.r.Iterate(termPrefix(x.base, field, term), nil, false, func(key, value []byte) (more bool, err error) {
		x.postings, err = appendPostings(x.postings, binary.BigEndian.Uint32(key[len(key)-4:]), value)
		return true, err
	})
	if err != nil {
		return err
	}
	if !isExcluded {
		x.marks.add(field, term)
	}
	with, all := float64(len(x.postings)), float64(x.sums.Chunks)
	idf := math.Log(1 + (all-with+0.5)/(with+0.5))
	average := float64(sum.Length) / float64(sum.Chunks)
	for _, p := range x.postings {
		count := float64(p.count)
		f.add(p.number, weight*idf*count*(k1+1)/(count+k1*(1-b+b*float64(p.length)/average)), clause)
	}
	return nil
}

// addTerms adds the scores of all terms of the base that begin with a prefix and match.
func (x *search) addTerms(f found, clause int, isExcluded bool, prefix string, matches func(term string) bool) error {
	fields := []weightedField{{fieldWords, weightWords}}
	for _, language := range x.languages {
		fields = append(fields, weightedField{fieldTitle + language, x.TitleBoost}, weightedField{fieldHeadings + language, x.HeadingsBoost})
	}
	for _, field := range fields {
		if _, ok := x.sums.Fields[field.name]; !ok {
			continue
		}
		terms, err := x.terms(field.name, prefix, matches)
		if err != nil {
			return err
		}
		for _, term := range terms {
			if err := x.addTerm(f, clause, isExcluded, field.name, term, field.weight); err != nil {
				return err
			}
		}
	}
	return nil
}

// terms returns the first terms of a field that begin with a prefix and match, in order.
func (x *search) terms(field, prefix string, matches func(term string) bool) (terms []string, err error) {
	area := append(append(sectionKey(x.base, sectionPostings), field...), 0)
	skip := len(area)
	area = append(area, prefix...)
	from := area
	for from != nil {
		var last []byte
		seen := 0
		start := from
		from = nil
		err := x.r.Iterate(area, start, true, func(key, _ []byte) (bool, error) {
			term := key[skip : len(key)-5]
			if bytes.Equal(term, last) {
				if seen++; seen < skipAfter {
					return true, nil
				}
				from = append(append(bytes.Clone(key[:len(key)-5]), 0), 0xff, 0xff, 0xff, 0xff, 0xff)
				return false, nil
			}
			last, seen = append(last[:0], term...), 0
			if matches(string(term)) {
				terms = append(terms, string(term))
			}
			return len(terms) < maxExpansions, nil
		})
		if err != nil || len(terms) >= maxExpansions {
			return terms, err
		}
	}
	return terms, nil
}

// addPhrase adds the scores of chunks that have the words of a phrase one after the other: in their text, the title or a
// heading. The postings say which chunks have all of them; their texts say whether they are a phrase.
func (x *search) addPhrase(f found, number int, c clause) error {
	words := found{}
	phrase := make([]string, len(c.words))
	for i, word := range c.words {
		phrase[i] = x.analyser.term(word, knowledge.Undetermined).folded
		if err := x.addForms(words, i, c.occurs == mustNot, word); err != nil {
			return err
		}
	}
	if err := x.addPairs(words, c.occurs == mustNot, phrase); err != nil {
		return err
	}
	all := uint64(1)<<len(c.words) - 1
	return x.visitRuns(words, func(document uint32, n int, number32 uint32, s *scores, i int) error {
		if s.mask[i]&all != all {
			return nil
		}
		chunk, err := readChunk(x.r, x.base, number32)
		if err != nil {
			return err
		}
		d, err := x.document(document)
		if err != nil {
			return err
		}
		for _, text := range append([]string{chunk.Text, d.Title}, chunk.Headings...) {
			if x.hasPhrase(text, phrase) {
				f.add(number32, s.score[i], number)
				break
			}
		}
		return nil
	})
}

// addPairs adds the scores of pairs of characters, by which texts without spaces are indexed.
func (x *search) addPairs(words found, isExcluded bool, phrase []string) error {
	for i := range phrase {
		first := min(i, len(phrase)-2) // the last one is in the pair before
		if first < 0 || !isDense(phrase[first]) || !isDense(phrase[first+1]) {
			continue
		}
		for _, field := range []weightedField{{fieldStems, weightStems}, {fieldTitle, x.TitleBoost}, {fieldHeadings, x.HeadingsBoost}} {
			if err := x.addTerm(words, i, isExcluded, field.name+"cjk", phrase[first]+phrase[first+1], field.weight); err != nil {
				return err
			}
		}
	}
	return nil
}

func isDense(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	return size == len(word) && knowledge.IsDense(r)
}

// hasPhrase reports whether words stand one after the other in a text.
func (x *search) hasPhrase(text string, phrase []string) bool {
	var words []string
	x.analyser.words(text, func(word string) { words = append(words, word) })
	for i := 0; i+len(phrase) <= len(words); i++ {
		if slices.Equal(words[i:i+len(phrase)], phrase) {
			return true
		}
	}
	return false
}

// visitRuns visits chunks with any clause, in order: those of a document follow each other.
func (x *search) visitRuns(f found, visit func(document uint32, n int, number uint32, s *scores, i int) error) error {
	blocks := make([]uint32, 0, len(f))
	for block := range f {
		blocks = append(blocks, block)
	}
	slices.Sort(blocks)
	var runs []run
	for _, block := range blocks {
		value, _, err := x.r.Get(numberedKey(x.base, sectionDirectory, block))
		if err != nil {
			return err
		}
		if runs, err = decodeRuns(runs[:0], value); err != nil {
			return err
		}
		s := f[block]
		for _, r := range runs {
			for i := r.first; i < r.first+r.chunks && i < blockSize; i++ {
				if s.mask[i] == 0 {
					continue
				}
				if err := visit(r.document, r.n+i-r.first, block*blockSize+uint32(i), s, i); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// candidate is a document or a chunk that may be a hit.
type candidate struct {
	document uint32
	score    float64
	chunks   []scoredChunk // the best ones, best first
}

type scoredChunk struct {
	number uint32
	n      int
	score  float64
}

// rank returns the best candidates.
func (x *search) rank(f found) (Result, error) {
	var result Result
	var candidates []candidate
	document, isMatch := uint32(math.MaxUint32), false
	err := x.visitRuns(f, func(of uint32, n int, number uint32, s *scores, i int) (err error) {
		isNew := of != document
		if isNew {
			document = of
			if isMatch, err = x.isCounted(of); err != nil {
				return err
			}
			if isMatch {
				result.Total++
			}
		}
		if !isMatch {
			return nil
		}
		c := scoredChunk{number, n, s.score[i]}
		if isNew || x.ByChunk {
			candidates = append(candidates, candidate{document: of, score: c.score, chunks: []scoredChunk{c}})
			return nil
		}
		last := &candidates[len(candidates)-1]
		last.score = max(last.score, c.score)
		last.addChunk(c, x.Passages)
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	result.Hits, err = x.hits(candidates)
	return result, err
}

// addChunk adds a chunk, which comes after the others in the document, to the best ones.
func (c *candidate) addChunk(chunk scoredChunk, most int) {
	at := len(c.chunks)
	for at > 0 && c.chunks[at-1].score < chunk.score {
		at--
	}
	if at < most {
		c.chunks = slices.Insert(c.chunks, at, chunk)
		c.chunks = c.chunks[:min(len(c.chunks), most)]
	}
}

// isCounted reports whether a document matches, and counts it.
func (x *search) isCounted(number uint32) (bool, error) {
	if x.Match == nil && x.Each == nil {
		return true, nil
	}
	id, err := x.id(number)
	if err != nil {
		return false, err
	}
	if x.Match != nil {
		if ok, err := x.Match(id); err != nil || !ok {
			return false, err
		}
	}
	if x.Each != nil {
		return true, x.Each(id)
	}
	return true, nil
}

func (x *search) id(number uint32) (string, error) {
	id, ok, err := x.r.Get(numberedKey(x.base, sectionNumbers, number))
	if err == nil && !ok {
		err = errDamaged
	}
	return string(id), err
}

func (x *search) document(number uint32) (d record, err error) {
	id, err := x.id(number)
	if err == nil {
		_, err = readJSON(x.r, recordKey(x.base, id), &d)
	}
	return d, err
}

// hits returns the candidates that were asked for, best first; of equals the one with the lower id, then the one that
// comes first in its document.
func (x *search) hits(candidates []candidate) ([]Hit, error) {
	want := x.From + x.Limit
	if want < len(candidates) { // ids are read of those that may be among the best
		all := make([]float64, len(candidates))
		for i, c := range candidates {
			all[i] = c.score
		}
		least := nthLargest(all, want)
		candidates = slices.DeleteFunc(candidates, func(c candidate) bool { return c.score < least })
	}
	ids := map[uint32]string{}
	for _, c := range candidates {
		if _, known := ids[c.document]; !known {
			id, err := x.id(c.document)
			if err != nil {
				return nil, err
			}
			ids[c.document] = id
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(ids[a.document], ids[b.document]), cmp.Compare(a.chunks[0].n, b.chunks[0].n))
	})
	var hits []Hit
	for _, c := range candidates[min(x.From, len(candidates)):min(want, len(candidates))] {
		h, err := x.hit(ids[c.document], c)
		if err != nil {
			return nil, err
		}
		hits = append(hits, h)
	}
	return hits, nil
}

// nthLargest returns the n-th largest number, by a heap of the n largest.
func nthLargest(numbers []float64, n int) float64 {
	if n <= 0 {
		return math.Inf(1)
	}
	heap := make([]float64, 0, n)
	down := func(i int) {
		for {
			least := i
			for _, child := range []int{2*i + 1, 2*i + 2} {
				if child < len(heap) && heap[child] < heap[least] {
					least = child
				}
			}
			if least == i {
				return
			}
			heap[i], heap[least] = heap[least], heap[i]
			i = least
		}
	}
	for _, x := range numbers {
		if len(heap) < n {
			if heap = append(heap, x); len(heap) == n {
				for i := n/2 - 1; i >= 0; i-- {
					down(i)
				}
			}
			continue
		}
		if x > heap[0] {
			heap[0] = x
			down(0)
		}
	}
	return heap[0]
}

// hit reads what is shown of a candidate.
func (x *search) hit(id string, c candidate) (Hit, error) {
	var d record
	if _, err := readJSON(x.r, recordKey(x.base, id), &d); err != nil {
		return Hit{}, err
	}
	h := Hit{ID: id, Title: d.Title, Score: c.score}
	for _, s := range c.chunks {
		chunk, err := readChunk(x.r, x.base, s.number)
		if err != nil {
			return Hit{}, err
		}
		p := Passage{Chunk: chunk, Score: s.score}
		if x.Highlight {
			p.HTML = x.marks.fragments(x.analyser, chunk.Text, chunk.Language)
			h.TitleHTML = cmp.Or(h.TitleHTML, x.marks.title(x.analyser, d.Title, chunk.Language))
		}
		h.Passages = append(h.Passages, p)
	}
	return h, nil
}
