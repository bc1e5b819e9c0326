package projections

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
	"svc/domain/kbdocument"
	"svc/domain/knowledge"
	"svc/projections/fulltext"
	"svc/projections/vectors"
)

// SearchIndex is the index of full text of the documents of knowledge bases, on this node. It is not a read model of a
// log but follows KBDocuments: of each base it knows how many changes it has applied. Passages are blobs, which a log
// does not have and which are deleted when nothing names them, so an index cannot be made of events. And a blob that
// cannot be read stops its own base only.
//
// The store is one of its own, which is opened when the first base has documents:
//
//	i{workspace}/{base}/{generation}\0…   the index (package fulltext)
//	s{workspace}/{base}                   indexState, JSON
//	w{workspace}/{base}                   indexBatch, JSON: it is being written in several transactions
//
// Readers see the store as it was after the last whole batch. All methods are safe for concurrent use.
type SearchIndex struct {
	o SearchIndexOptions

	writing  semaphore // held while something is written
	vectors  vectorCache
	replaced bool // Run has built the indexes again that had the shape before

	sweep chan struct{} // asks Run to delete indexes that no state names

	mu       sync.Mutex
	db       *DB
	view     *indexView      // what readers see
	behind   time.Time       // since when Run is behind the documents; zero: it is not
	building map[string]bool // areas that are being built beside the live ones
	readers  int             // that are reading
	quiet    chan struct{}   // closed when there are none any more; nil: nobody waits for that
}

// SearchIndexOptions configure a SearchIndex. All fields but Log are required.
type SearchIndexOptions struct {
	Open   func() (*DB, error) // opens the store
	Models *Models
	// Passages returns the stored passages or vectors of a document. It fails with ErrNoPassages when there are none.
	Passages func(ctx context.Context, hash string) ([]byte, error)
	// VectorsMemory is how many bytes of vectors are in memory: KNOWLEDGE_VECTORS_MEMORY_MB. 0: none.
	VectorsMemory int64
	Log           *slog.Logger // default slog.Default
}

// ErrNoPassages says that passages are not stored.
var ErrNoPassages = errors.New("projections: the passages are not stored")

// indexShape is the shape of the index. One of the shape before is searched and kept up to date until it is built again
// beside that; any other one is dropped and built from nothing.
const (
	indexShape  = 3
	formerShape = 2
)

const (
	indexStateSpace = 's'
	indexBatchSpace = 'w'
	indexDataSpace  = 'i'
)

// indexState is how far the index of a base is.
type indexState struct {
	Generation int    `json:"generation"`
	Newest     int    `json:"newest,omitempty"` // generation that was begun; 0: this one
	Shape      int    `json:"shape"`
	Source     string `json:"source"`           // the read models that Changes are of
	Changes    uint64 `json:"changes"`          // that were applied
	Building   bool   `json:"building"`         // it was never complete
	Cursor     string `json:"cursor,omitempty"` // the last document that was compared; "": no comparison is under way
	Target     uint64 `json:"target,omitempty"` // Changes after the comparison
	Batch      uint64 `json:"batch"`            // number of the last batch
}

// indexBatch is a batch that is written in several transactions: a crash in between repeats it.
type indexBatch struct {
	State  indexState    `json:"state"` // after it
	Before indexState    `json:"before"`
	Put    []indexedBlob `json:"put,omitempty"`
	Embed  []indexedBlob `json:"embed,omitempty"` // those of which only the vectors are other ones
	Remove []string      `json:"remove,omitempty"`
}

// indexedBlob is what is put into the index of a document.
type indexedBlob struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Language string `json:"language"`
	Hash     string `json:"hash"`

	Vectors map[string]string `json:"vectors,omitempty"` // blobs by set
}

func (b indexedBlob) key() string { return b.Hash + "/" + b.Language }

func toIndexedBlob(d KBDocument) indexedBlob {
	b := indexedBlob{ID: d.ID, Title: d.ShownTitle(), Language: d.ShownLanguage(), Hash: d.Extract.Chunks}
	for _, v := range d.State.Vectors {
		if v.Blob != "" && v.Chunks == d.Extract.Chunks {
			if b.Vectors == nil {
				b.Vectors = map[string]string{}
			}
			b.Vectors[v.Set] = v.Blob
		}
	}
	return b
}

// indexView is a snapshot of the store that several readers share.
type indexView struct {
	txn      *badger.Txn
	users    int
	replaced bool
}

// NewSearchIndex returns the index as it was left. Run keeps it up to date.
func NewSearchIndex(o SearchIndexOptions) (*SearchIndex, error) {
	if o.Open == nil || o.Models == nil || o.Passages == nil {
		return nil, errors.New("projections: SearchIndexOptions lack a required field")
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	return &SearchIndex{o: o, writing: newSemaphore(), vectors: vectorCache{limit: o.VectorsMemory}, sweep: make(chan struct{}, 1), building: map[string]bool{}}, nil
}

// Close closes the store. Nothing may use the index any more.
func (x *SearchIndex) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db == nil {
		return nil
	}
	x.view.txn.Discard()
	db := x.db
	x.db, x.view = nil, nil
	return db.Close()
}

// open opens the store if it is not open.
func (x *SearchIndex) open() (store, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db == nil {
		db, err := x.o.Open()
		if err != nil {
			return store{}, fmt.Errorf("open the search index: %w", err)
		}
		x.db, x.view = db, &indexView{txn: db.store().NewTransaction(false)}
	}
	return x.db.store(), nil
}

// publish lets readers see what was written.
func (x *SearchIndex) publish(db store) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.view
	if x.view = (&indexView{txn: db.NewTransaction(false)}); old.users == 0 {
		old.txn.Discard()
	}
	old.replaced = true
}

// read calls fn with what readers see.
func (x *SearchIndex) read(fn func(indexKeys) error) error {
	if _, err := x.open(); err != nil {
		return err
	}
	x.mu.Lock()
	v := x.view
	v.users++
	x.readers++
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.readers--; x.readers == 0 && x.quiet != nil {
			close(x.quiet)
			x.quiet = nil
		}
		if v.users--; v.users == 0 && v.replaced {
			v.txn.Discard()
		}
	}()
	return fn(indexKeys{v.txn})
}

// indexKeys reads the store. It implements fulltext.Reader.
type indexKeys struct{ txn *badger.Txn }

// Get implements fulltext.Reader.
func (k indexKeys) Get(key []byte) ([]byte, bool, error) {
	return get(k.txn, join([]byte{indexDataSpace}, key))
}

// Iterate implements fulltext.Reader.
func (k indexKeys) Iterate(prefix, from []byte, keysOnly bool, visit func(key, value []byte) (bool, error)) error {
	return iterate(k.txn, []byte{indexDataSpace}, Span{Prefix: prefix, From: from, KeysOnly: keysOnly}, visit)
}

func (k indexKeys) json(space byte, name string, into any) (ok bool, err error) {
	value, ok, err := get(k.txn, append([]byte{space}, name...))
	if err != nil || !ok {
		return false, err
	}
	return true, json.Unmarshal(value, into)
}

func (k indexKeys) state(name string) (s indexState, ok bool, err error) {
	ok, err = k.json(indexStateSpace, name, &s)
	return s, ok, err
}

func indexName(workspaceID, baseID string) string { return workspaceID + "/" + baseID }

// isReadable reports whether the index has a shape that can be searched and changed.
func (s indexState) isReadable() bool { return s.Shape == indexShape || s.Shape == formerShape }

// next returns the state of an index that is begun anew.
func (s indexState) next() indexState {
	number := max(s.Generation, s.Newest) + 1
	return indexState{Generation: number, Newest: number, Shape: indexShape, Building: true}
}

// area names the index of a base in its generation.
func (s indexState) area(name string) string { return fmt.Sprintf("%s/%d", name, s.Generation) }

// source names the read models that a reader sees: they are other ones after a rebuild.
func (r Reader) source() (string, error) {
	at, err := readCheckpoint(r.txn, r.gen, domain.State)
	return fmt.Sprintf("%s/%d", at.Identity, r.gen.num), err
}

// isCurrent reports whether the index has all changes of a base.
func (s indexState) isCurrent(source string, changes uint64) bool {
	return s.isReadable() && !s.Building && s.Cursor == "" && s.Source == source && s.Changes >= changes
}

// Search searches a base as the index has it now: see Sync.
func (x *SearchIndex) Search(ctx context.Context, workspaceID, baseID string, q fulltext.Query) (result fulltext.Result, err error) {
	err = x.readBase(workspaceID, baseID, func(k indexKeys, area string) error {
		result, err = fulltext.Search(ctx, k, area, q)
		return err
	})
	return result, err
}

// Bound returns which passages of a base have the words that a query demands; see fulltext.Bound.
func (x *SearchIndex) Bound(ctx context.Context, workspaceID, baseID string, q fulltext.Query) (has func(id string, n int) bool, err error) {
	has = func(string, int) bool { return false } // of a base without an index
	err = x.readBase(workspaceID, baseID, func(k indexKeys, area string) (err error) {
		has, err = fulltext.Bound(ctx, k, area, q)
		return err
	})
	return has, err
}

// Chunks returns chunks of a document from a place on, and how many it has.
func (x *SearchIndex) Chunks(workspaceID, baseID, id string, from, limit int) (chunks []knowledge.Chunk, total int, err error) {
	err = x.readBase(workspaceID, baseID, func(k indexKeys, area string) error {
		chunks, total, err = fulltext.Chunks(k, area, id, from, limit)
		return err
	})
	return chunks, total, err
}

// readBase calls fn with the index of a base, unless there is none.
func (x *SearchIndex) readBase(workspaceID, baseID string, fn func(k indexKeys, area string) error) error {
	r := x.o.Models.Reader()
	changes, err := KBDocuments{}.Changes(r, workspaceID, baseID)
	r.Close()
	if err != nil || changes == 0 {
		return err // the store need not be opened
	}
	name := indexName(workspaceID, baseID)
	return x.read(func(k indexKeys) error {
		s, ok, err := k.state(name)
		if err != nil || !ok {
			return err
		}
		return fn(k, s.area(name))
	})
}

// buildPatience is how long a search waits for the first build of an index.
const buildPatience = 2 * time.Second

// Sync waits until the index of a base has everything that the read models have now. It refuses while the index is
// built from nothing, if that takes long.
func (x *SearchIndex) Sync(ctx context.Context, workspaceID, baseID string) error {
	changes, s, current, err := x.lag(workspaceID, baseID)
	if err != nil || current {
		return err
	}
	wait := ctx
	if s.Building || !s.isReadable() {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, buildPatience)
		defer cancel()
	}
	err = x.update(wait, workspaceID, baseID, changes)
	if ctx.Err() == nil && wait.Err() != nil {
		return domain.Refuse(domain.CodeUnavailable, "the search index is being rebuilt").Reason("index_rebuilding").With("retryAfter", 5)
	}
	return err
}

// lag returns how many changes a base had, and how far its index is.
func (x *SearchIndex) lag(workspaceID, baseID string) (changes uint64, s indexState, current bool, err error) {
	r := x.o.Models.Reader()
	defer r.Close()
	changes, err = KBDocuments{}.Changes(r, workspaceID, baseID)
	if err != nil || changes == 0 {
		return 0, s, true, err
	}
	source, err := r.source()
	if err != nil {
		return 0, s, false, err
	}
	err = x.read(func(k indexKeys) (err error) {
		s, _, err = k.state(indexName(workspaceID, baseID))
		return err
	})
	return changes, s, s.isCurrent(source, changes), err
}

// IndexProgress is how far the index of a base is on this node.
type IndexProgress struct {
	Building bool // from nothing: there is nothing to search yet
	Lag      int  // changes that are not in it
}

// Progress returns how far the index of a base is.
func (x *SearchIndex) Progress(workspaceID, baseID string) (p IndexProgress, err error) {
	changes, s, current, err := x.lag(workspaceID, baseID)
	if err != nil || current {
		return p, err
	}
	return IndexProgress{Building: s.Building || !s.isReadable(), Lag: int(max(1, changes-min(changes, s.Changes)))}, nil
}

// update applies changes of a base until it has had so many. Others may write between two batches.
func (x *SearchIndex) update(ctx context.Context, workspaceID, baseID string, changes uint64) error {
	if err := x.o.Models.CaughtUp(ctx); err != nil { // what is read before is not complete
		return err
	}
	for {
		s, err := x.step(ctx, workspaceID, baseID)
		if err != nil {
			return fmt.Errorf("index of base %s of workspace %s: %w", baseID, workspaceID, err)
		}
		if !s.Building && s.Cursor == "" && s.Changes >= changes {
			return nil
		}
	}
}

// step applies one batch of changes to the live index of a base.
func (x *SearchIndex) step(ctx context.Context, workspaceID, baseID string) (s indexState, err error) {
	err = x.write(ctx, knownBase{workspaceID: workspaceID, baseID: baseID}, func(w *indexWriter) error {
		w.persist = true
		if s, err = w.load(ctx); err == nil {
			s, err = w.advance(ctx, s)
		}
		return err
	})
	return s, err
}

// write calls fn with the one writer of a base, and publishes what it wrote.
func (x *SearchIndex) write(ctx context.Context, b knownBase, fn func(*indexWriter) error) error {
	db, err := x.open()
	if err != nil {
		return err
	}
	if err := x.writing.acquire(ctx); err != nil {
		return err
	}
	defer x.writing.release()
	if err := fn(&indexWriter{x: x, db: db, workspaceID: b.workspaceID, baseID: b.baseID, name: indexName(b.workspaceID, b.baseID)}); err != nil {
		return err
	}
	x.publish(db)
	return nil
}

// indexWriter writes the index of one base.
type indexWriter struct {
	x                         *SearchIndex
	db                        store
	workspaceID, baseID, name string
	persist                   bool          // the state is stored with each batch: this is the live index
	patience                  time.Duration // for those who read, until the batch is written
}

// load returns the state of the live index, after it repeated what a crash interrupted. An index of another shape is
// dropped.
func (w *indexWriter) load(ctx context.Context) (s indexState, err error) {
	txn := w.db.NewTransaction(false)
	defer txn.Discard()
	s, known, err := indexKeys{txn}.state(w.name)
	if err != nil {
		return s, err
	}
	var half indexBatch
	interrupted, err := indexKeys{txn}.json(indexBatchSpace, w.name, &half)
	if err != nil {
		return s, err
	}
	if interrupted && s.isReadable() {
		err := w.write(ctx, half, true)
		if err == nil {
			return half.State, nil
		}
		if !errors.Is(err, ErrNoPassages) {
			return s, err
		}
		w.x.o.Log.Warn("the search index is rebuilt: what was being written is not known any more", "base", w.baseID, "err", err)
		s.Shape = 0
	}
	if known && s.isReadable() {
		return s, nil
	}
	fresh := s.next()
	if err := w.clear(fresh); err != nil {
		return s, err
	}
	return fresh, w.replace(fresh)
}

func (w *indexWriter) setState(txn *badger.Txn, s indexState) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return txn.Set(append([]byte{indexStateSpace}, w.name...), body)
}

// Bounds of a batch.
const (
	batchChunks    = 250  // about
	batchDocuments = 5000 // that are compared
)

// advance applies one batch to the index with a state, and returns its state after it.
func (w *indexWriter) advance(ctx context.Context, s indexState) (indexState, error) {
	r := w.x.o.Models.Reader()
	defer r.Close()
	source, err := r.source()
	if err != nil {
		return s, err
	}
	changes, err := KBDocuments{}.Changes(r, w.workspaceID, w.baseID)
	if err != nil {
		return s, err
	}
	b, err := w.nextBatch(r, s, source, changes)
	if err != nil || b.State == s {
		return s, err
	}
	if err := w.write(ctx, b, false); err != nil {
		return s, err
	}
	return b.State, nil
}

// nextBatch returns what is to be done next with the index that has the state s.
func (w *indexWriter) nextBatch(r Reader, s indexState, source string, changes uint64) (b indexBatch, err error) {
	txn := w.db.NewTransaction(false)
	defer txn.Discard()
	b = indexBatch{State: s, Before: s}
	inOrder := s.Source == source && !s.Building && s.Cursor == "" && s.Changes <= changes
	if inOrder && s.Changes == changes {
		return b, nil
	}
	if inOrder {
		if inOrder, err = w.collectChanges(r, indexKeys{txn}, &b); err != nil {
			return b, err
		}
	}
	if !inOrder {
		if s.Source != source || s.Cursor == "" {
			b.State.Source, b.State.Cursor, b.State.Target = source, "", changes
		}
		if err := w.compare(r, indexKeys{txn}, &b); err != nil {
			return b, err
		}
	}
	b.State.Batch++
	return b, nil
}

// collectChanges adds the next changes of the base to a batch. ok is false when they are not known any more.
func (w *indexWriter) collectChanges(r Reader, k indexKeys, b *indexBatch) (ok bool, err error) {
	ids, ok, err := KBDocuments{}.Changed(r, w.workspaceID, w.baseID, b.State.Changes+1, batchChunks)
	if err != nil || !ok {
		return false, err
	}
	chunks, seen := 0, map[string]bool{}
	for _, id := range ids {
		if chunks >= batchChunks {
			break
		}
		b.State.Changes++
		if seen[id] {
			continue
		}
		seen[id] = true
		d, _, err := KBDocuments{}.Get(r, w.workspaceID, w.baseID, id, time.Time{})
		if err != nil {
			return false, err
		}
		if d.Extract == nil {
			b.Remove = append(b.Remove, id)
			continue
		}
		if err := w.addIfOther(k, d, b, &chunks); err != nil {
			return false, err
		}
	}
	return true, nil
}

// addIfOther adds a document to a batch unless the index has it as it is.
func (w *indexWriter) addIfOther(k indexKeys, d KBDocument, b *indexBatch, chunks *int) error {
	want := toIndexedBlob(d)
	key, title, ok, err := fulltext.Keys(k, b.Before.area(w.name), d.ID)
	if err != nil {
		return err
	}
	if !ok || key != want.key() || title != want.Title {
		b.Put = append(b.Put, want)
		*chunks += d.Extract.Count
		return nil
	}
	have, err := vectors.Sets(k, b.Before.area(w.name), d.ID)
	if err != nil || maps.EqualFunc(have, want.Vectors, func(stored vectors.Stored, blob string) bool { return stored.Blob == blob }) {
		return err
	}
	b.Embed = append(b.Embed, want)
	*chunks += d.Extract.Count
	return nil
}

// isOver reports whether a document goes better into the next batch than beyond the size of this one: all of the next batch would meet the
// blocks of postings that it begins.
func isOver(d KBDocument, chunks, size int) bool {
	return d.Extract != nil && chunks >= size/2 && chunks+d.Extract.Count > size
}

// compare compares documents of the base with the index, from the cursor on, and adds the differences to a batch.
func (w *indexWriter) compare(r Reader, k indexKeys, b *indexBatch) error {
	after := b.State.Cursor
	from, chunks, compared := after, 0, 0
	size, err := fulltext.BatchSize(k, b.Before.area(w.name), batchChunks)
	if err != nil {
		return err
	}
	var fault error
	searchable := map[string]bool{}
	last, ended := after, true
	err = KBDocuments{}.ListFrom(r, w.workspaceID, w.baseID, from, func(d KBDocument) bool {
		if d.ID <= after {
			return true
		}
		if chunks >= size || compared >= batchDocuments || isOver(d, chunks, size) {
			ended = false
			return false
		}
		last = d.ID
		compared++
		if d.Extract != nil {
			searchable[d.ID] = true
			fault = w.addIfOther(k, d, b, &chunks)
		}
		return fault == nil
	})
	if err = cmp.Or(err, fault); err != nil {
		return err
	}
	err = fulltext.Documents(k, b.Before.area(w.name), from, func(id string) bool {
		if !ended && id > last {
			return false
		}
		if id > after && !searchable[id] {
			b.Remove = append(b.Remove, id)
		}
		return true
	})
	if b.State.Cursor = last; ended {
		b.State.Cursor, b.State.Changes, b.State.Target, b.State.Building = "", b.State.Target, 0, false
	}
	return err
}

// write applies a batch, in one transaction if it fits. A batch that is repeated must be what it was.
func (w *indexWriter) write(ctx context.Context, b indexBatch, repeated bool) error {
	txn := w.db.NewTransaction(false)
	defer txn.Discard()
	buffer := &indexBuffer{keys: indexKeys{txn}, changed: map[string][]byte{}}
	if err := w.fill(ctx, buffer, b, repeated); err != nil {
		return err
	}
	return w.commit(buffer, b)
}

// fill collects the changes of a batch.
func (w *indexWriter) fill(ctx context.Context, buffer *indexBuffer, b indexBatch, repeated bool) error {
	area := b.Before.area(w.name)
	texts := fulltext.NewBatch(buffer, area, b.State.Batch)
	texts.Former = b.Before.Shape == formerShape
	for _, id := range b.Remove {
		if err := texts.Remove(id); err != nil {
			return err
		}
		if err := vectors.Put(buffer, area, id, nil); err != nil {
			return err
		}
	}
	for _, blob := range slices.Concat(b.Put, b.Embed) {
		if err := w.putVectors(ctx, buffer, area, blob); err != nil {
			return err
		}
	}
	for _, blob := range b.Put {
		w.giveWay(ctx)
		d, err := w.x.load(ctx, blob)
		if errors.Is(err, ErrNoPassages) && !repeated {
			w.reportLost(blob)
			if err := texts.Remove(blob.ID); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := texts.Put(d); err != nil {
			return err
		}
	}
	w.giveWay(ctx)
	return texts.Flush()
}

// putVectors puts the vectors of a document into the index. Those that are lost are reported: the document is found by
// its words.
func (w *indexWriter) putVectors(ctx context.Context, buffer *indexBuffer, area string, blob indexedBlob) error {
	sets, err := w.x.loadVectors(ctx, w.workspaceID, blob)
	if err != nil {
		return err
	}
	return vectors.Put(buffer, area, blob.ID, sets)
}

// loadVectors reads the vectors of a document.
func (x *SearchIndex) loadVectors(ctx context.Context, workspaceID string, blob indexedBlob) (sets []vectors.Set, err error) {
	for _, name := range slices.Sorted(maps.Keys(blob.Vectors)) {
		set := vectors.Set{Name: name, Blob: blob.Vectors[name]}
		body, err := x.o.Passages(ctx, set.Blob)
		if err == nil {
			set.StoredVectors, err = kbdocument.ParseVectors(body)
		}
		if errors.Is(err, ErrNoPassages) {
			x.o.Log.Error("the vectors of a document are lost: it is found by its words until it is indexed again", "workspace", workspaceID, "document", blob.ID, "hash", set.Blob)
		} else if err != nil {
			return nil, fmt.Errorf("vectors of document %s: %w", blob.ID, err)
		}
		sets = append(sets, set) // without vectors it is not compared again and again
	}
	return sets, nil
}

// reportLost reports passages that are lost, unless the document has others by now: it comes again then.
func (w *indexWriter) reportLost(blob indexedBlob) {
	r := w.x.o.Models.Reader()
	defer r.Close()
	d, _, err := KBDocuments{}.Get(r, w.workspaceID, w.baseID, blob.ID, time.Time{})
	if err == nil && d.Extract != nil && d.Extract.Chunks == blob.Hash {
		w.x.o.Log.Error("the passages of a document are lost: it is not found until it is indexed again", "workspace", w.workspaceID, "document", blob.ID, "hash", blob.Hash)
	}
}

// load reads the passages of a document.
func (x *SearchIndex) load(ctx context.Context, blob indexedBlob) (d fulltext.Document, err error) {
	body, err := x.o.Passages(ctx, blob.Hash)
	if err != nil {
		return d, fmt.Errorf("passages of document %s: %w", blob.ID, err)
	}
	passages, err := kbdocument.ParsePassages(body)
	for i := range passages.Chunks {
		passages.Chunks[i].Language = blob.Language
	}
	return fulltext.Document{ID: blob.ID, Key: blob.key(), Title: blob.Title, Chunks: passages.Chunks}, err
}

// commit stores the changes of a batch and the state after it. What does not fit into one transaction is announced
// first: readers do not see it before it is complete, and a crash repeats it.
func (w *indexWriter) commit(buffer *indexBuffer, b indexBatch) error {
	keys := make([]string, 0, len(buffer.changed))
	size := int64(0)
	for key, value := range buffer.changed {
		keys = append(keys, key)
		size += int64(len(key) + len(value) + bulkEntry)
	}
	slices.Sort(keys)
	whole := int64(len(keys)) < w.db.MaxBatchCount()*3/4 && size < w.db.MaxBatchSize()*3/4
	if !whole && w.persist {
		if err := w.announce(b); err != nil {
			return err
		}
	}
	txn := w.db.NewTransaction(true)
	defer func() { txn.Discard() }()
	for _, key := range keys {
		err := buffer.store(txn, key)
		if errors.Is(err, badger.ErrTxnTooBig) {
			if err = w.db.commit(txn); err == nil {
				txn = w.db.NewTransaction(true)
				err = buffer.store(txn, key)
			}
		}
		if err != nil {
			return fmt.Errorf("write the search index: %w", err)
		}
	}
	if w.persist {
		if !whole {
			if err := w.db.commit(txn); err != nil {
				return err
			}
			txn = w.db.NewTransaction(true)
			if err := txn.Delete(append([]byte{indexBatchSpace}, w.name...)); err != nil {
				return err
			}
		}
		if err := w.setState(txn, b.State); err != nil {
			return err
		}
	}
	return w.db.commit(txn)
}

// announce stores what will be written in several transactions.
func (w *indexWriter) announce(b indexBatch) error {
	body, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return w.db.Update(func(txn *badger.Txn) error { return txn.Set(append([]byte{indexBatchSpace}, w.name...), body) })
}

// indexBuffer collects the changes of a batch. It implements fulltext.Writer.
type indexBuffer struct {
	keys    indexKeys
	changed map[string][]byte // nil: deleted
}

// Get implements fulltext.Writer.
func (b *indexBuffer) Get(key []byte) ([]byte, bool, error) {
	if value, ok := b.changed[string(key)]; ok {
		return value, value != nil, nil
	}
	return b.keys.Get(key)
}

// Set implements fulltext.Writer.
func (b *indexBuffer) Set(key, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	b.changed[string(key)] = value
	return nil
}

// Delete implements fulltext.Writer.
func (b *indexBuffer) Delete(key []byte) error {
	b.changed[string(key)] = nil
	return nil
}

func (b *indexBuffer) store(txn *badger.Txn, key string) error {
	value, stored := b.changed[key], join([]byte{indexDataSpace}, []byte(key))
	if value == nil {
		return txn.Delete(stored)
	}
	return txn.Set(stored, value)
}

// Pauses of Run.
const (
	indexPause      = 200 * time.Millisecond // collects changes that come together
	indexFaultPause = 5 * time.Second
)

// Run keeps the index of all bases up to date until ctx ends.
func (x *SearchIndex) Run(ctx context.Context) error {
	moved, stop := x.o.Models.Watch()
	defer stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var seen uint64
	source := ""
	var sweeping sync.WaitGroup
	sweeping.Go(func() { x.sweepLoop(ctx) })
	defer sweeping.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		now, of, err := x.total()
		if err == nil && (now != seen || of != source) {
			if of != source {
				seen = 0 // all of them are compared
				x.requestSweep()
			}
			x.setBehind(true)
			if err = x.updateAll(ctx, seen); err == nil {
				seen, source = now, of
				x.setBehind(false)
				err = x.replaceFormer(ctx)
			}
		}
		pause := indexPause
		if err != nil && ctx.Err() == nil {
			x.o.Log.Warn("the search index is behind", "err", err)
			pause = indexFaultPause
		} else {
			select {
			case <-ctx.Done():
				return nil
			case <-moved:
			}
		}
		timer.Reset(pause)
	}
}

func (x *SearchIndex) setBehind(isBehind bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case !isBehind:
		x.behind = time.Time{}
	case x.behind.IsZero():
		x.behind = x.o.Models.opts.Now()
	}
}

// Lag returns for how long the index has been behind the documents.
func (x *SearchIndex) Lag() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.behind.IsZero() {
		return 0
	}
	return x.o.Models.opts.Now().Sub(x.behind)
}

// total returns how many changes all bases had, and in which read models.
func (x *SearchIndex) total() (changes uint64, source string, err error) {
	r := x.o.Models.Reader()
	defer r.Close()
	if changes, err = (KBDocuments{}).AllChanges(r); err != nil || changes == 0 {
		return 0, "", err
	}
	source, err = r.source()
	return changes, source, err
}

// knownBase is a base that has or had documents.
type knownBase struct {
	workspaceID, baseID string
	changes             uint64
}

// bases returns the bases that had a change after the first so many of all changes.
func (x *SearchIndex) bases(since uint64) (all []knownBase, err error) {
	r := x.o.Models.Reader()
	defer r.Close()
	if since > 0 {
		changed, ok, err := KBDocuments{}.ChangedSince(r, since)
		if err != nil {
			return nil, err
		}
		for ref := range changed {
			changes, err := KBDocuments{}.Changes(r, ref.WorkspaceID, ref.ID)
			if err != nil {
				return nil, err
			}
			all = append(all, knownBase{ref.WorkspaceID, ref.ID, changes})
		}
		if ok {
			return all, nil
		}
	}
	err = KBDocuments{}.ChangedBases(r, func(workspaceID, baseID string, changes uint64) bool {
		all = append(all, knownBase{workspaceID, baseID, changes})
		return true
	})
	return all, err
}

// updateAll brings all bases up to date that had a change after the first so many. A base that cannot be does not keep
// the others back.
func (x *SearchIndex) updateAll(ctx context.Context, since uint64) error {
	if err := x.o.Models.CaughtUp(ctx); err != nil {
		return err
	}
	all, err := x.bases(since)
	if err != nil {
		return err
	}
	var faults []error
	for _, b := range all {
		_, _, current, err := x.lag(b.workspaceID, b.baseID)
		if err == nil && !current {
			err = x.update(ctx, b.workspaceID, b.baseID, b.changes)
		}
		if err != nil {
			faults = append(faults, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(faults...)
}

// Verify compares the index of all bases with their documents.
func (x *SearchIndex) Verify(ctx context.Context) (report ProjectionReport, err error) {
	report = ProjectionReport{Name: "search", Equal: true}
	var live, rebuilt indexDigest
	all, err := x.bases(0)
	if err != nil {
		return report, err
	}
	for _, b := range all {
		have, want, err := x.verifyBase(ctx, b)
		if err != nil {
			return report, err
		}
		live, rebuilt = live.plus(have), rebuilt.plus(want)
		report.Keys += uint64(have.Postings)
		if have != want && report.Equal {
			report.Equal, report.FirstDiff = false, fmt.Sprintf("%q: %d chunks, %d postings, and vectors of %d documents, not %d, %d and %d",
				indexName(b.workspaceID, b.baseID), have.Chunks, have.Postings, have.vectors.Documents, want.Chunks, want.Postings, want.vectors.Documents)
		}
	}
	report.LiveHash, report.RebuiltHash = fmt.Sprintf("%016x", live.Sum+live.vectors.Sum), fmt.Sprintf("%016x", rebuilt.Sum+rebuilt.vectors.Sum)
	return report, nil
}

// indexDigest sums up the index of a base: its full text and its vectors.
type indexDigest struct {
	fulltext.Digest
	vectors vectors.Digest
}

func (d indexDigest) plus(other indexDigest) indexDigest {
	return indexDigest{d.Plus(other.Digest), d.vectors.Plus(other.vectors)}
}

func (x *SearchIndex) verifyBase(ctx context.Context, b knownBase) (have, want indexDigest, err error) {
	if err := x.update(ctx, b.workspaceID, b.baseID, b.changes); err != nil {
		return have, want, err
	}
	if err := x.replaceIfFormer(ctx, b); err != nil {
		return have, want, err
	}
	if err := x.writing.acquire(ctx); err != nil { // documents and index stay at the same change
		return have, want, err
	}
	defer x.writing.release()
	name := indexName(b.workspaceID, b.baseID)
	var ids []string
	err = x.read(func(k indexKeys) error {
		s, ok, err := k.state(name)
		if err != nil || !ok {
			return err
		}
		if have.Digest, err = fulltext.DigestIndex(k, s.area(name)); err == nil {
			have.vectors, err = vectors.DigestIndex(k, s.area(name))
		}
		if err != nil {
			x.o.Log.Error("the search index is damaged", "base", b.baseID, "err", err)
			have.Sum++
		}
		return fulltext.Documents(k, s.area(name), "", func(id string) bool { ids = append(ids, id); return true })
	})
	if err != nil {
		return have, want, err
	}
	r := x.o.Models.Reader()
	defer r.Close()
	var blobs []indexedBlob
	err = KBDocuments{}.List(r, b.workspaceID, b.baseID, time.Time{}, func(d KBDocument) bool {
		if d.Extract != nil {
			blobs = append(blobs, toIndexedBlob(d))
		}
		return true
	})
	for _, blob := range blobs {
		d, err := x.load(ctx, blob)
		if err != nil {
			return have, want, err
		}
		sets, err := x.loadVectors(ctx, b.workspaceID, blob)
		if err != nil {
			return have, want, err
		}
		vectorsOf, err := vectors.DigestOf(blob.ID, sets)
		if err != nil {
			return have, want, err
		}
		want = want.plus(indexDigest{fulltext.DigestOf(d), vectorsOf})
	}
	return have, want, err
}

// Probe writes a document to an index of its own, finds it and removes it, to see that the store works.
func (x *SearchIndex) Probe(ctx context.Context) error {
	db, err := x.open()
	if err != nil {
		return err
	}
	if err := x.writing.acquire(ctx); err != nil {
		return err
	}
	defer x.writing.release()
	area := "probe/" + rand.Text()
	change := func(fn func(*indexBuffer) error) error {
		txn := db.NewTransaction(false)
		defer txn.Discard()
		buffer := &indexBuffer{keys: indexKeys{txn}, changed: map[string][]byte{}}
		if err := fn(buffer); err != nil {
			return err
		}
		return (&indexWriter{db: db}).commit(buffer, indexBatch{})
	}
	d := fulltext.Document{ID: "probe", Chunks: []knowledge.Chunk{{Text: "the needle in the hay", Language: "en"}}}
	if err := change(func(b *indexBuffer) error { return fulltext.Put(b, area, 1, d) }); err != nil {
		return err
	}
	txn := db.NewTransaction(false)
	defer txn.Discard()
	result, err := fulltext.Search(ctx, indexKeys{txn}, area, fulltext.Query{Parsed: fulltext.Parse("needles"), Limit: 1})
	if err == nil && len(result.Hits) != 1 {
		err = errors.New("what was indexed is not found")
	}
	return errors.Join(err, dropPrefix(db, join([]byte{indexDataSpace}, fulltext.Prefix(area)), func() bool { return false }))
}
