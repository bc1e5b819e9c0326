// Package fulltext is an index of full text in keys and values: the chunks of documents of knowledge bases, by the
// words that they have.
//
// A chunk has a number in its base, which is never used again. The postings of a term are in blocks: one value for each
// 256 numbers, with the numbers of chunks that have the term, how often they have it, and how long they are. So writing
// a document reads and writes as many values as it has terms, however large the base is. Everything that scores depend on
// are exact sums, so that scores do not depend on the order of writes.
//
// Put and Remove may be repeated after their writes were kept up to some key, in the order of keys: the sums come first
// and tell what was counted, the record of the document comes last and tells what is to be removed.
package fulltext

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"svc/domain/knowledge"
)

// Getter reads single keys of the index.
type Getter interface {
	Get(key []byte) (value []byte, ok bool, err error)
}

// Reader reads keys of the index.
type Reader interface {
	Getter
	// Iterate visits keys that begin with prefix in order, from the key from on (nil: the first), until visit returns
	// false. Key and value are valid until visit returns.
	Iterate(prefix, from []byte, keysOnly bool, visit func(key, value []byte) (more bool, err error)) error
}

// Writer changes keys. It sees its own changes.
type Writer interface {
	Getter
	Set(key, value []byte) error
	Delete(key []byte) error
}

// Document is what is searched of a document.
type Document struct {
	ID     string
	Key    string // what the chunks are known by: a document with another key or title has to be put again
	Title  string
	Chunks []knowledge.Chunk
}

// Sections of the keys of a base, in the order that repeated writes need.
const (
	sectionSums      = 1 // one value: sums
	sectionPostings  = 2 // field, term, block: postings
	sectionDirectory = 3 // block: runs
	sectionChunks    = 4 // number: the chunk
	sectionNumbers   = 5 // number of a document: its id
	sectionDocuments = 6 // id: record
)

// Prefix returns what all keys of a base begin with. The base must not contain a zero byte.
func Prefix(base string) []byte { return append([]byte(base), 0) }

func sectionKey(base string, section byte) []byte { return append(Prefix(base), section) }

func numberedKey(base string, section byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(sectionKey(base, section), number)
}

func recordKey(base, id string) []byte { return append(sectionKey(base, sectionDocuments), id...) }

// fieldPrefix is what the keys of the postings of all terms of a field begin with.
func fieldPrefix(base, field string) []byte {
	return append(append(sectionKey(base, sectionPostings), field...), 0)
}

// termPrefix is what the keys of the postings of a term begin with.
func termPrefix(base, field, term string) []byte {
	return append(append(fieldPrefix(base, field), term...), 0)
}

// Fields of a chunk: words as they are written, folded, and stems by language, as in "s.en".
const (
	fieldWords        = "w"
	fieldTitleWords   = "tw"
	fieldHeadingWords = "hw"
	fieldStems        = "s."
	fieldTitle        = "t."
	fieldHeadings     = "h."
)

// blockSize is how many numbers of chunks a block of postings is for.
const blockSize = 256

// sums are what is known of all chunks of a base.
type sums struct {
	Chunks   int                    `json:"chunks"`
	Next     uint32                 `json:"next"`     // number of a chunk that was not used
	Document uint32                 `json:"document"` // number of a document that was not used
	Fields   map[string]fieldSum    `json:"fields"`
	Seq      uint64                 `json:"seq"`     // of the last change
	Changed  map[string]numbersUsed `json:"changed"` // the documents that it changed
}

// fieldSum is how many chunks have a field, and its length in all of them.
type fieldSum struct {
	Chunks int `json:"chunks"`
	Length int `json:"length"`
}

type numbersUsed struct {
	Document uint32 `json:"document"`
	First    uint32 `json:"first"` // chunk
}

// record is what is known of a document.
type record struct {
	Number uint32 `json:"number"`
	First  uint32 `json:"first"` // number of its first chunk; the others follow
	Chunks int    `json:"chunks"`
	Title  string `json:"title"`
	Key    string `json:"key,omitempty"`
}

func readJSON(r Getter, key []byte, into any) (ok bool, err error) {
	value, ok, err := r.Get(key)
	if err != nil || !ok {
		return false, err
	}
	if err := json.Unmarshal(value, into); err != nil {
		return false, fmt.Errorf("fulltext: decode %q: %w", key, err)
	}
	return true, nil
}

func writeJSON(w Writer, key []byte, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.Set(key, value)
}

func readSums(r Getter, base string) (s sums, err error) {
	_, err = readJSON(r, sectionKey(base, sectionSums), &s)
	if s.Fields == nil {
		s.Fields = map[string]fieldSum{}
	}
	return s, err
}

// Put replaces all chunks of a document. Seq is the sequence of the change in the log: a change that was counted is not
// counted again.
func Put(w Writer, base string, seq uint64, d Document) error {
	b := NewBatch(w, base, seq)
	if err := b.Put(d); err != nil {
		return err
	}
	return b.Flush()
}

// Remove removes a document. One that is not there is no error.
func Remove(w Writer, base string, seq uint64, id string) error {
	return Put(w, base, seq, Document{ID: id})
}

// Batch changes documents that belong to one change of the log. Most words are in many documents: their postings are
// read and written once, by Flush.
type Batch struct {
	// Former says that the index was made without the words of titles and headings as they are written: it stays so.
	Former bool

	w    Writer
	base string
	seq  uint64

	sums    *sums // nil: not read yet
	counted bool  // they have changed
	edit    *edit
	changed map[string]bool // documents of the edit
}

// NewBatch returns a batch that has no changes. Seq is as in Put.
func NewBatch(w Writer, base string, seq uint64) *Batch {
	return &Batch{w: w, base: base, seq: seq, changed: map[string]bool{}}
}

// Flush writes what Put and Remove have left to write.
func (b *Batch) Flush() error {
	if b.counted {
		if err := writeJSON(b.w, sectionKey(b.base, sectionSums), b.sums); err != nil {
			return err
		}
	}
	if b.edit != nil {
		if err := b.edit.apply(b.w); err != nil {
			return err
		}
	}
	b.counted, b.edit = false, nil
	clear(b.changed)
	return nil
}

// begin prepares the change of a document. One that was changed before is written first.
func (b *Batch) begin(id string) error {
	if b.changed[id] {
		if err := b.Flush(); err != nil {
			return err
		}
	}
	b.changed[id] = true
	if b.sums == nil {
		s, err := readSums(b.w, b.base)
		if err != nil {
			return err
		}
		b.sums = &s
	}
	if b.edit == nil {
		b.edit = &edit{base: b.base, former: b.Former, blocks: map[string]*blockEdit{}, fresh: map[uint32]bool{}, sums: map[string]fieldSum{}}
	}
	clear(b.edit.sums)
	return nil
}

// Remove removes a document. One that is not there is no error.
func (b *Batch) Remove(id string) error { return b.Put(Document{ID: id}) }

// Put replaces the chunks of a document; without chunks it is removed.
func (b *Batch) Put(d Document) error {
	if err := b.begin(d.ID); err != nil {
		return err
	}
	s, e := b.sums, b.edit
	var old record
	known, err := readJSON(b.w, recordKey(b.base, d.ID), &old)
	if err != nil {
		return err
	}
	if !known && len(d.Chunks) == 0 && s.Seq != b.seq {
		return nil
	}
	a := analysers.Get().(*analyser)
	defer analysers.Put(a)
	if known {
		if err := e.removeOld(b.w, a, old); err != nil {
			return err
		}
	}
	used, counted := s.Changed[d.ID]
	if counted = counted && s.Seq == b.seq; !counted {
		used = numbersUsed{Document: s.Document, First: s.Next}
		if known {
			used.Document = old.Number
		}
	}
	for i, c := range d.Chunks {
		e.chunk(a, used.First+uint32(i), d.Title, c, 1)
	}
	if err := e.findFresh(b.w, used.First, len(d.Chunks)); err != nil {
		return err
	}
	if !counted {
		s.count(b.seq, d, used, known, old, e.sums)
		b.counted = true
	}
	return e.replace(b.w, d, used, known, old)
}

// count counts a change.
func (s *sums) count(seq uint64, d Document, used numbersUsed, known bool, old record, fields map[string]fieldSum) {
	if s.Seq != seq || s.Changed == nil {
		s.Seq, s.Changed = seq, map[string]numbersUsed{}
	}
	s.Changed[d.ID] = used
	s.Chunks += len(d.Chunks)
	s.Next += uint32(len(d.Chunks))
	if known {
		s.Chunks -= old.Chunks
	} else {
		s.Document++
	}
	for field, n := range fields {
		sum := s.Fields[field]
		sum.Chunks, sum.Length = sum.Chunks+n.Chunks, sum.Length+n.Length
		if s.Fields[field] = sum; sum.Chunks == 0 {
			delete(s.Fields, field)
		}
	}
}

// replace writes the directory, the chunks and the record of a document in place of the old ones.
func (e *edit) replace(w Writer, d Document, used numbersUsed, known bool, old record) error {
	if known {
		if err := e.changeDirectory(w, old.First, old.Chunks, old.Number, false); err != nil {
			return err
		}
	}
	if err := e.changeDirectory(w, used.First, len(d.Chunks), used.Document, true); err != nil {
		return err
	}
	for i := range old.Chunks {
		if err := w.Delete(numberedKey(e.base, sectionChunks, old.First+uint32(i))); err != nil {
			return err
		}
	}
	for i, c := range d.Chunks {
		if err := writeJSON(w, numberedKey(e.base, sectionChunks, used.First+uint32(i)), c); err != nil {
			return err
		}
	}
	if len(d.Chunks) == 0 {
		if !known {
			return nil
		}
		if err := w.Delete(numberedKey(e.base, sectionNumbers, old.Number)); err != nil {
			return err
		}
		return w.Delete(recordKey(e.base, d.ID))
	}
	if err := w.Set(numberedKey(e.base, sectionNumbers, used.Document), []byte(d.ID)); err != nil {
		return err
	}
	return writeJSON(w, recordKey(e.base, d.ID), record{Number: used.Document, First: used.First, Chunks: len(d.Chunks), Title: d.Title, Key: d.Key})
}

// edit collects what changes do to postings.
type edit struct {
	base   string
	former bool                  // see Batch
	blocks map[string]*blockEdit // by key
	fresh  map[uint32]bool       // blocks that had no chunks
	sums   map[string]fieldSum
	counts map[string]int // of the terms of one field of one chunk
}

// blockEdit is what a change does to a block of postings.
type blockEdit struct {
	removed []uint32 // numbers of chunks
	added   []posting
}

// posting is a chunk that has a term.
type posting struct {
	number uint32 // of the chunk
	count  int    // of the term in the field
	length int    // of the field
}

// removeOld removes the postings of a document as it is stored. Chunks that are gone were removed with theirs.
func (e *edit) removeOld(r Getter, a *analyser, old record) error {
	for i := range old.Chunks {
		number := old.First + uint32(i)
		var c knowledge.Chunk
		ok, err := readJSON(r, numberedKey(e.base, sectionChunks, number), &c)
		if err != nil {
			return err
		}
		if ok {
			e.chunk(a, number, old.Title, c, -1)
		}
	}
	return nil
}

// chunk adds the terms of a chunk, or removes them when sign is -1.
func (e *edit) chunk(a *analyser, number uint32, title string, c knowledge.Chunk, sign int) {
	language := c.Language
	e.field(number, fieldWords, sign, func(visit func(string)) { a.words(c.Text, visit) })
	if !e.former {
		e.field(number, fieldTitleWords, sign, func(visit func(string)) { a.words(title, visit) })
		e.field(number, fieldHeadingWords, sign, func(visit func(string)) {
			for _, h := range c.Headings {
				a.words(h, visit)
			}
		})
	}
	if language != knowledge.Undetermined && language != "" {
		e.field(number, fieldStems+language, sign, func(visit func(string)) { a.stems(c.Text, language, false, visit) })
	} else {
		language = knowledge.Undetermined
	}
	e.field(number, fieldTitle+language, sign, func(visit func(string)) { a.stems(title, language, true, visit) })
	e.field(number, fieldHeadings+language, sign, func(visit func(string)) {
		for _, h := range c.Headings {
			a.stems(h, language, true, visit)
		}
	})
}

// field adds or removes the terms of one field of a chunk.
func (e *edit) field(number uint32, field string, sign int, terms func(visit func(term string))) {
	if e.counts == nil {
		e.counts = map[string]int{}
	}
	clear(e.counts)
	length := 0
	terms(func(term string) {
		e.counts[term]++
		length++
	})
	if length == 0 {
		return
	}
	sum := e.sums[field]
	e.sums[field] = fieldSum{sum.Chunks + sign, sum.Length + sign*length}
	key := fieldPrefix(e.base, field)
	prefix := len(key)
	for term, count := range e.counts {
		key = binary.BigEndian.AppendUint32(append(append(key[:prefix], term...), 0), number/blockSize)
		b := e.blocks[string(key)]
		if b == nil {
			b = &blockEdit{}
			e.blocks[string(key)] = b
		}
		if sign > 0 {
			b.added = append(b.added, posting{number, count, length})
		} else {
			b.removed = append(b.removed, number)
		}
	}
}

// findFresh finds the blocks that no other document is in: there is nothing to read of them.
func (e *edit) findFresh(r Getter, first uint32, chunks int) error {
	for block := first / blockSize; chunks > 0 && block <= (first+uint32(chunks)-1)/blockSize; block++ {
		if _, seen := e.fresh[block]; seen {
			continue
		}
		_, taken, err := r.Get(numberedKey(e.base, sectionDirectory, block))
		if err != nil {
			return err
		}
		e.fresh[block] = !taken
	}
	return nil
}

// apply writes the changed blocks.
func (e *edit) apply(w Writer) error {
	var postings []posting
	for _, key := range slices.Sorted(maps.Keys(e.blocks)) { // neighbours are near each other in the store
		b := e.blocks[key]
		block := binary.BigEndian.Uint32([]byte(key[len(key)-4:]))
		var value []byte
		var err error
		if !e.fresh[block] || len(b.removed) > 0 {
			if value, _, err = w.Get([]byte(key)); err != nil {
				return err
			}
		}
		if postings, err = appendPostings(postings[:0], block, value); err != nil {
			return err
		}
		var changed [blockSize]bool
		for _, p := range b.removed {
			changed[p%blockSize] = true
		}
		for _, p := range b.added {
			changed[p.number%blockSize] = true
		}
		postings = slices.DeleteFunc(postings, func(p posting) bool { return changed[p.number%blockSize] })
		if postings = append(postings, b.added...); len(postings) == 0 {
			if err := w.Delete([]byte(key)); err != nil {
				return err
			}
			continue
		}
		slices.SortFunc(postings, func(a, b posting) int { return int(a.number) - int(b.number) })
		if err := w.Set([]byte(key), encodePostings(postings)); err != nil {
			return err
		}
	}
	return nil
}

func encodePostings(postings []posting) []byte {
	b := make([]byte, 0, 4*len(postings))
	for _, p := range postings {
		b = append(b, byte(p.number%blockSize))
		b = binary.AppendUvarint(b, uint64(p.count))
		b = binary.AppendUvarint(b, uint64(p.length))
	}
	return b
}

// appendPostings decodes a block.
func appendPostings(to []posting, block uint32, value []byte) ([]posting, error) {
	for len(value) > 0 {
		number := block*blockSize + uint32(value[0])
		count, n := binary.Uvarint(value[1:])
		if n <= 0 {
			return nil, errDamaged
		}
		length, m := binary.Uvarint(value[1+n:])
		if m <= 0 {
			return nil, errDamaged
		}
		to = append(to, posting{number, int(count), int(length)})
		value = value[1+n+m:]
	}
	return to, nil
}

var errDamaged = fmt.Errorf("fulltext: a block of postings is damaged")

// run is chunks of one document that follow each other within a block.
type run struct {
	first, chunks int // in the block
	document      uint32
	n             int // the place in the document of its first chunk
}

// changeDirectory sets or removes which document chunks belong to.
func (e *edit) changeDirectory(w Writer, first uint32, chunks int, document uint32, set bool) error {
	for done := 0; done < chunks; {
		number := first + uint32(done)
		key := numberedKey(e.base, sectionDirectory, number/blockSize)
		value, _, err := w.Get(key)
		if err != nil {
			return err
		}
		runs, err := decodeRuns(nil, value)
		if err != nil {
			return err
		}
		r := run{first: int(number % blockSize), document: document, n: done}
		r.chunks = min(chunks-done, blockSize-r.first)
		runs = slices.DeleteFunc(runs, func(other run) bool { return other.first >= r.first && other.first < r.first+r.chunks })
		if set {
			runs = append(runs, r)
			slices.SortFunc(runs, func(a, b run) int { return a.first - b.first })
		}
		if done += r.chunks; len(runs) == 0 {
			err = w.Delete(key)
		} else {
			err = w.Set(key, encodeRuns(runs))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func encodeRuns(runs []run) (b []byte) {
	for _, r := range runs {
		b = append(b, byte(r.first), byte(r.chunks-1))
		b = binary.AppendUvarint(b, uint64(r.document))
		b = binary.AppendUvarint(b, uint64(r.n))
	}
	return b
}

func decodeRuns(to []run, value []byte) ([]run, error) {
	for len(value) > 2 {
		document, n := binary.Uvarint(value[2:])
		if n <= 0 {
			return nil, errDamaged
		}
		place, m := binary.Uvarint(value[2+n:])
		if m <= 0 {
			return nil, errDamaged
		}
		to = append(to, run{int(value[0]), int(value[1]) + 1, uint32(document), int(place)})
		value = value[2+n+m:]
	}
	return to, nil
}

// Chunks returns chunks of a document from a place on, and how many it has; none when it is not in the index.
func Chunks(r Getter, base, id string, from, limit int) (chunks []knowledge.Chunk, total int, err error) {
	var d record
	if ok, err := readJSON(r, recordKey(base, id), &d); err != nil || !ok {
		return nil, 0, err
	}
	for i := from; i < min(d.Chunks, from+limit); i++ {
		c, err := readChunk(r, base, d.First+uint32(i))
		if err != nil {
			return nil, 0, err
		}
		chunks = append(chunks, c)
	}
	return chunks, d.Chunks, nil
}

func readChunk(r Getter, base string, number uint32) (c knowledge.Chunk, err error) {
	ok, err := readJSON(r, numberedKey(base, sectionChunks, number), &c)
	if err == nil && !ok {
		err = fmt.Errorf("fulltext: chunk %d is missing", number)
	}
	return c, err
}

// Keys returns the key and the title of a document; ok is false when it is not in the index.
func Keys(r Getter, base, id string) (key, title string, ok bool, err error) {
	var d record
	ok, err = readJSON(r, recordKey(base, id), &d)
	return d.Key, d.Title, ok, err
}

// Documents visits the ids of the documents of a base in order, from an id on.
func Documents(r Reader, base, from string, visit func(id string) (more bool)) error {
	prefix := recordKey(base, "")
	return r.Iterate(prefix, recordKey(base, from), true, func(key, _ []byte) (bool, error) {
		return visit(string(key[len(prefix):])), nil
	})
}

// BatchSize returns how many new chunks, about as many as wanted, fill the blocks of postings that the next chunks go to. Who adds so many at
// once writes each block once.
func BatchSize(r Getter, base string, wanted int) (int, error) {
	s, err := readSums(r, base)
	if err != nil {
		return 0, err
	}
	used := int(s.Next % blockSize)
	blocks := max(1, (used+wanted+blockSize/2)/blockSize)
	return blocks*blockSize - used, nil
}

// CountChunks returns how many chunks a base has.
func CountChunks(r Getter, base string) (int, error) {
	s, err := readSums(r, base)
	return s.Chunks, err
}

// languages returns the languages that fields of a base are in, in order.
func (s sums) languages() (all []string) {
	for field := range s.Fields {
		if language, ok := strings.CutPrefix(field, fieldTitle); ok {
			all = append(all, language)
		} else if language, ok := strings.CutPrefix(field, fieldStems); ok {
			all = append(all, language)
		} else if language, ok := strings.CutPrefix(field, fieldHeadings); ok {
			all = append(all, language)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Digest is a sum over postings: of the same documents it is the same, in whatever order they were written.
type Digest struct {
	Chunks   int
	Postings int
	Sum      uint64
}

// add adds the posting of a chunk, whose document and term are in h.
func (d *Digest) add(h fnv64, n, count, length int) {
	h = h.number(uint64(n)).number(uint64(count)<<32 | uint64(length))
	d.Postings++
	d.Sum += uint64(h)
}

// fnv64 is an FNV-1a hash that is not done yet: a hash.Hash of each posting would be most of the cost of a digest.
type fnv64 uint64

const fnvStart fnv64 = 14695981039346656037

func (h fnv64) byte(b byte) fnv64 { return (h ^ fnv64(b)) * 1099511628211 }

// text adds a text and its end.
func (h fnv64) text(s string) fnv64 {
	for i := range len(s) {
		h = h.byte(s[i])
	}
	return h.byte(0)
}

func (h fnv64) number(n uint64) fnv64 {
	for shift := 56; shift >= 0; shift -= 8 {
		h = h.byte(byte(n >> shift))
	}
	return h
}

// Plus returns the digest of the documents of both.
func (d Digest) Plus(other Digest) Digest {
	return Digest{d.Chunks + other.Chunks, d.Postings + other.Postings, d.Sum + other.Sum}
}

// DigestOf returns the digest of a document.
func DigestOf(doc Document) Digest {
	a := analysers.Get().(*analyser)
	defer analysers.Put(a)
	digest := Digest{Chunks: len(doc.Chunks)}
	e := &edit{blocks: map[string]*blockEdit{}, sums: map[string]fieldSum{}}
	prefix := len(sectionKey("", sectionPostings))
	for i, c := range doc.Chunks {
		e.chunk(a, uint32(i), doc.Title, c, 1)
	}
	for key, b := range e.blocks {
		field, term, _ := strings.Cut(key[prefix:len(key)-5], "\x00")
		h := fnvStart.text(field).text(term).text(doc.ID)
		for _, p := range b.added {
			digest.add(h, int(p.number), p.count, p.length)
		}
	}
	return digest
}

// DigestIndex returns the digest of a base as it is stored. It fails when the sums are not those of its postings.
func DigestIndex(r Reader, base string) (digest Digest, err error) {
	s, err := readSums(r, base)
	if err != nil {
		return digest, err
	}
	type place struct {
		id string
		n  int
	}
	places := map[uint32]place{}
	prefix := sectionKey(base, sectionDirectory)
	err = r.Iterate(prefix, nil, false, func(key, value []byte) (bool, error) {
		first := binary.BigEndian.Uint32(key[len(prefix):]) * blockSize
		runs, err := decodeRuns(nil, value)
		for _, one := range runs {
			id, ok, err := r.Get(numberedKey(base, sectionNumbers, one.document))
			if err != nil || !ok {
				return false, cmp.Or(err, errDamaged)
			}
			for i := range one.chunks {
				places[first+uint32(one.first+i)] = place{string(id), one.n + i}
			}
		}
		return true, err
	})
	if err != nil {
		return digest, err
	}
	digest.Chunks = len(places)
	chunks := map[string]map[uint32]int{} // the length of each field of each chunk
	prefix = sectionKey(base, sectionPostings)
	err = r.Iterate(prefix, nil, false, func(key, value []byte) (bool, error) {
		postings, err := appendPostings(nil, binary.BigEndian.Uint32(key[len(key)-4:]), value)
		field, term, _ := strings.Cut(string(key[len(prefix):len(key)-5]), "\x00")
		if chunks[field] == nil {
			chunks[field] = map[uint32]int{}
		}
		h := fnvStart.text(field).text(term)
		for _, p := range postings {
			at, ok := places[p.number]
			if !ok {
				return false, errDamaged
			}
			digest.add(h.text(at.id), at.n, p.count, p.length)
			chunks[field][p.number] = p.length
		}
		return true, err
	})
	if err != nil {
		return digest, err
	}
	have := map[string]fieldSum{}
	for field, lengths := range chunks {
		sum := fieldSum{Chunks: len(lengths)}
		for _, length := range lengths {
			sum.Length += length
		}
		have[field] = sum
	}
	if s.Chunks != digest.Chunks || !maps.Equal(s.Fields, have) {
		return digest, fmt.Errorf("fulltext: the sums of %s are not those of its postings", base)
	}
	return digest, nil
}
