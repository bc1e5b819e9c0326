package fulltext

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"svc/domain/knowledge"
)

// BM25, and the weights of fields.
const (
	k1             = 1.2
	b              = 0.75
	weightStems    = 1
	weightWords    = 0.5
	weightTitle    = 2   // where a base sets none
	weightHeadings = 1.5 // where a base sets none
)

// skipAfter is how many blocks of a term a walk over terms reads before it seeks the next one.
const skipAfter = 64

// Query is what is searched for in a base. The zero value of every field but Parsed is good.
type Query struct {
	Parsed

	// Match reports whether a document may be read and passes the filters. It is called once for each document with
	// a chunk that matches, before ranking. nil: all do.
	Match func(id string) (bool, error)
	// Each is called with each document that is counted in Total, in no order; nil: none is.
	Each func(id string) error

	From, Limit int     // results to return, from a place on
	ByChunk     bool    // a result is a chunk, not a document
	Passages    int     // of a document; default 1
	Boosts      *Boosts // nil: twice as much in titles, half as much again in headings
	Synonyms    [][]string
	Fuzzy       bool // also words that are spelt a little differently
	Highlight   bool
}

// Boosts are how much more than in the text a word counts. With 0 it is not looked for there.
type Boosts struct{ Title, Headings float64 }

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

// Search finds chunks and documents of a base. The order depends on nothing but the query and the documents. All of them
// are counted, however many they are; ctx limits how long that takes.
func Search(ctx context.Context, r Reader, base string, q Query) (Result, error) {
	x, err := newSearch(ctx, r, base, q)
	if err != nil {
		return Result{}, err
	}
	defer analysers.Put(x.analyser)
	found, err := x.score()
	if err != nil {
		return Result{}, err
	}
	return x.rank(found)
}

// Bound returns which passages of a base have what a query demands: each +word, and no -word. Other words do not count.
func Bound(ctx context.Context, r Reader, base string, q Query) (has func(id string, n int) bool, err error) {
	q.clauses = slices.DeleteFunc(slices.Clone(q.clauses), func(c clause) bool { return c.occurs == should })
	x, err := newSearch(ctx, r, base, q)
	if err != nil {
		return nil, err
	}
	defer analysers.Put(x.analyser)
	f := found{}
	required, excluded, err := x.addClauses(f)
	if err != nil {
		return nil, err
	}
	type passage struct {
		id string
		n  int
	}
	// With +words those are listed that have them, without those that have a -word: few, as a rule.
	listed, isAllowed := map[passage]bool{}, required != 0
	document, id := uint32(math.MaxUint32), ""
	err = x.visitRuns(f, func(of uint32, n int, _ uint32, s *scores, i int) (err error) {
		if of != document {
			document = of
			if id, err = x.id(of); err != nil {
				return err
			}
		}
		if matches := s.mask[i]&required == required && s.mask[i]&excluded == 0; matches == isAllowed {
			listed[passage{id, n}] = true
		}
		return nil
	})
	return func(id string, n int) bool { return listed[passage{id, n}] == isAllowed }, err
}

func newSearch(ctx context.Context, r Reader, base string, q Query) (*search, error) {
	s, err := readSums(r, base)
	if err != nil {
		return nil, err
	}
	q.Passages = max(q.Passages, 1)
	if q.Boosts == nil {
		q.Boosts = &Boosts{Title: weightTitle, Headings: weightHeadings}
	}
	return &search{Query: q, ctx: ctx, r: r, base: base, sums: s, languages: s.languages(), analyser: analysers.Get().(*analyser), marks: newMarks()}, nil
}

// search is one call of Search or Bound. Its analyser is to be put back.
type search struct {
	Query
	ctx       context.Context
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
	required, excluded, err := x.addClauses(f)
	if err != nil {
		return nil, err
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

// addClauses adds the scores of all clauses, and returns which of them a chunk must have, and which it must not.
func (x *search) addClauses(f found) (required, excluded uint64, err error) {
	for i, c := range x.clauses {
		switch c.occurs {
		case must:
			required |= 1 << i
		case mustNot:
			excluded |= 1 << i
		}
		if c.isPhrase {
			err = x.addPhrase(f, i, c)
		} else {
			err = x.addWord(f, i, c)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return required, excluded, nil
}

// addWord adds the scores of a word, with its synonyms and what it may stand for.
func (x *search) addWord(f found, clause int, c clause) error {
	word := c.words[0]
	isExcluded := c.occurs == mustNot
	folded := x.analyser.term(word, knowledge.Undetermined).folded
	if c.isPrefix {
		return x.addPrefix(f, clause, isExcluded, folded)
	}
	if err := x.addForms(f, clause, isExcluded, word); err != nil || isExcluded {
		return err
	}
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
		return x.addSimilar(f, clause, folded, most)
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
		for _, field := range x.stemFields() {
			if field.name == fieldStems && (t.isStop || language == knowledge.Undetermined) {
				continue
			}
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

// stemFields are the fields in which the stems of words are looked for, without the language.
func (x *search) stemFields() []weightedField {
	return x.withBoosts(weightedField{fieldStems, weightStems}, fieldTitle, fieldHeadings)
}

// wordFields are the fields in which words are looked for as they are written.
func (x *search) wordFields() []weightedField {
	return x.withBoosts(weightedField{fieldWords, weightWords}, fieldTitleWords, fieldHeadingWords)
}

func (x *search) withBoosts(text weightedField, title, headings string) []weightedField {
	all := []weightedField{text, {title, x.Boosts.Title}, {headings, x.Boosts.Headings}}
	return slices.DeleteFunc(all, func(f weightedField) bool { return f.weight == 0 })
}

// has reports whether some chunk of the base has a field.
func (x *search) has(field string) bool { return x.sums.Fields[field].Chunks > 0 }

// addTerm adds the scores of a term in a field.
func (x *search) addTerm(f found, clause int, isExcluded bool, field, term string, weight float64) error {
	if !x.has(field) || term == "" {
		return nil
	}
	x.postings = x.postings[:0]
	err := x.r.Iterate(termPrefix(x.base, field, term), nil, false, func(key, value []byte) (more bool, err error) {
		x.postings, err = appendPostings(x.postings, binary.BigEndian.Uint32(key[len(key)-4:]), value)
		return true, cmp.Or(err, x.ctx.Err())
	})
	if err != nil {
		return err
	}
	if !isExcluded {
		x.marks.add(field, term)
	}
	x.addPostings(f, clause, field, weight)
	return nil
}

// addPostings adds the scores of the term whose postings were read.
func (x *search) addPostings(f found, clause int, field string, weight float64) {
	sum := x.sums.Fields[field]
	with, all := float64(len(x.postings)), float64(x.sums.Chunks)
	idf := math.Log(1 + (all-with+0.5)/(with+0.5))
	average := float64(sum.Length) / float64(sum.Chunks)
	for _, p := range x.postings {
		count := float64(p.count)
		f.add(p.number, weight*idf*count*(k1+1)/(count+k1*(1-b+b*float64(p.length)/average)), clause)
	}
}

// addPrefix adds the scores of all words of the base that begin with a prefix: they follow each other.
func (x *search) addPrefix(f found, clause int, isExcluded bool, prefix string) error {
	if prefix == "" {
		return nil
	}
	if !isExcluded {
		x.marks.prefixes = append(x.marks.prefixes, prefix)
	}
	for _, field := range x.wordFields() {
		if !x.has(field.name) {
			continue
		}
		var last []byte
		x.postings = x.postings[:0]
		err := x.r.Iterate(append(fieldPrefix(x.base, field.name), prefix...), nil, false, func(key, value []byte) (more bool, err error) {
			term, block := key[:len(key)-4], key[len(key)-4:]
			if !bytes.Equal(term, last) {
				x.addPostings(f, clause, field.name, field.weight)
				last, x.postings = append(last[:0], term...), x.postings[:0]
			}
			x.postings, err = appendPostings(x.postings, binary.BigEndian.Uint32(block), value)
			return true, cmp.Or(err, x.ctx.Err())
		})
		if err != nil {
			return err
		}
		x.addPostings(f, clause, field.name, field.weight)
	}
	return nil
}

// addSimilar adds the scores of all words of the base that come from another one by at most so many edits.
func (x *search) addSimilar(f found, clause int, word string, edits int) error {
	letters := []rune(word)
	for _, field := range x.wordFields() {
		terms, err := x.terms(field.name, func(term string) bool { return term != word && isWithin(letters, []rune(term), edits) })
		if err != nil {
			return err
		}
		for _, term := range terms {
			if err := x.addTerm(f, clause, false, field.name, term, field.weight); err != nil {
				return err
			}
		}
	}
	return nil
}

// terms returns the terms of a field that match, in order.
func (x *search) terms(field string, matches func(term string) bool) (terms []string, err error) {
	area := fieldPrefix(x.base, field)
	for from := area; from != nil; {
		var last []byte
		seen := 0
		start := from
		from = nil
		err := x.r.Iterate(area, start, true, func(key, _ []byte) (bool, error) {
			term := key[len(area) : len(key)-5]
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
			return true, x.ctx.Err()
		})
		if err != nil {
			return nil, err
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
		texts := []string{chunk.Text}
		if x.Boosts.Title != 0 {
			texts = append(texts, d.Title)
		}
		if x.Boosts.Headings != 0 {
			texts = append(texts, chunk.Headings...)
		}
		if slices.ContainsFunc(texts, func(text string) bool { return x.hasPhrase(text, phrase) }) {
			f.add(number32, s.score[i], number)
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
		for _, field := range x.stemFields() {
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
		if err := x.ctx.Err(); err != nil {
			return err
		}
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
	if err := x.ctx.Err(); err != nil {
		return "", err
	}
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
