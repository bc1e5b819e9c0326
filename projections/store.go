package projections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
)

// Tx gives a Projection access to its own keys in the generation that is written. It sees the
// writes of earlier events of the same batch. It is valid during Apply only.
type Tx struct {
	keys   keys
	area   []byte
	shared *shared // nil: nothing
	begins bool    // no event of the message was applied before
	room   *txnRoom
}

// keys is a transaction or a bulk, which a generation is written to.
type keys interface {
	get(key []byte) (value []byte, ok bool, err error)
	set(key, value []byte) error
	delete(key []byte) error
	iterate(area []byte, s Span, visit func(key, value []byte) (more bool, err error)) error
}

// Get returns the value of key; ok is false when there is none. The value
// belongs to the caller.
func (tx Tx) Get(key []byte) (value []byte, ok bool, err error) {
	return tx.keys.get(tx.room.lookupKey(tx.area, key))
}

// getShared is Get for a caller that does not change the value: it may be shared with others.
func (tx Tx) getShared(key []byte) (value []byte, ok bool, err error) {
	if b, isBulk := tx.keys.(*bulk); isBulk {
		return b.find(tx.room.lookupKey(tx.area, key))
	}
	return tx.Get(key)
}

// getOfMessage is Get for a key that only the events of one message write. Most messages are applied as a whole, and it is not
// looked for then.
func (tx Tx) getOfMessage(key []byte) (value []byte, err error) {
	if !tx.begins {
		value, _, err = tx.Get(key)
	}
	return value, err
}

// Set stores value under key. Value must not change afterwards. The changes of one event in one
// projection must stay below 1 MiB, without values over 1 MiB: those are in the value log.
func (tx Tx) Set(key, value []byte) error {
	return tx.keys.set(tx.room.join(tx.area, key), value)
}

// Delete removes key. Removing what is not there is no error.
func (tx Tx) Delete(key []byte) error {
	return tx.keys.delete(tx.room.join(tx.area, key))
}

// Iterate visits the keys of s in order until visit returns false. Visit must
// not write, nor iterate again.
func (tx Tx) Iterate(s Span, visit func(key, value []byte) (more bool, err error)) error {
	return tx.keys.iterate(tx.area, s, visit)
}

// Span selects keys to iterate over. The zero Span is all of them, ascending.
type Span struct {
	Prefix   []byte // only keys that start so
	From     []byte // the first key to visit, or the nearest one after it in the order of visit; default the end
	Reverse  bool   // descending
	KeysOnly bool   // the value handed to visit is nil
}

// txnKeys is the keys of a transaction.
type txnKeys struct {
	txn  *badger.Txn
	room *txnRoom
}

func (t txnKeys) get(key []byte) ([]byte, bool, error) { return get(t.txn, key) }
func (t txnKeys) delete(key []byte) error              { return t.txn.Delete(key) }

func (t txnKeys) set(key, value []byte) error {
	e := t.room.entry()
	e.Key, e.Value = key, value
	return t.txn.SetEntry(e)
}

// txnRoom has room for the keys and entries of a transaction, many in one piece. The next transaction of the same
// writer uses it again: Badger has copied them when a commit returns. A nil txnRoom has none.
type txnRoom struct {
	keys    []byte
	entries []badger.Entry
	lookup  []byte // of lookupKey
}

// The size of a piece.
const (
	roomForKeys    = 8 << 10
	roomForEntries = 64
)

// join is join for a key that is used in the transaction only.
func (r *txnRoom) join(area, key []byte) []byte {
	if r == nil {
		return join(area, key)
	}
	if length := len(area) + len(key); cap(r.keys)-len(r.keys) < length {
		r.keys = make([]byte, 0, max(roomForKeys, length))
	}
	from := len(r.keys)
	r.keys = append(append(r.keys, area...), key...)
	return slices.Clip(r.keys[from:])
}

// lookupKey is join for a key that is only looked for: the next one replaces it.
func (r *txnRoom) lookupKey(area, key []byte) []byte {
	if r == nil {
		return join(area, key)
	}
	r.lookup = append(append(r.lookup[:0], area...), key...)
	return r.lookup
}

// entry returns an empty entry.
func (r *txnRoom) entry() *badger.Entry {
	if r == nil {
		return &badger.Entry{}
	}
	if len(r.entries) == cap(r.entries) {
		r.entries = make([]badger.Entry, 0, roomForEntries)
	}
	r.entries = append(r.entries, badger.Entry{})
	return &r.entries[len(r.entries)-1]
}

// reset empties the room for the next transaction.
func (r *txnRoom) reset() {
	clear(r.entries)
	r.keys, r.entries = r.keys[:0], r.entries[:0]
}

func (t txnKeys) iterate(area []byte, s Span, visit func(key, value []byte) (bool, error)) error {
	return iterate(t.txn, area, s, visit)
}

// Reader reads one live generation at one moment, until it is closed.
type Reader struct {
	txn *badger.Txn
	gen *generation
}

// Close ends the use of the reader.
func (r Reader) Close() { r.txn.Discard() }

// Applied returns the sequence up to which the reader sees a log.
func (r Reader) Applied(log domain.Log) (uint64, error) {
	at, err := readCheckpoint(r.txn, r.gen, log)
	return at.Seq, err
}

// Get returns the value that p stored under key; ok is false when there is
// none. The value belongs to the caller.
func (r Reader) Get(p Projection, key []byte) (value []byte, ok bool, err error) {
	area, err := r.gen.area(p)
	if err != nil {
		return nil, false, err
	}
	return get(r.txn, join(area, key))
}

// read is Get for a value that is used at once: it is valid until use returns.
func (r Reader) read(p Projection, key []byte, use func(value []byte) error) (ok bool, err error) {
	area, err := r.gen.area(p)
	if err != nil {
		return false, err
	}
	item, err := find(r.txn, join(area, key))
	if err != nil || item == nil {
		return false, err
	}
	return true, item.Value(use)
}

// Iterate visits the keys of s that p stored, in order, until visit returns
// false. Key and value are valid until visit returns.
func (r Reader) Iterate(p Projection, s Span, visit func(key, value []byte) (more bool, err error)) error {
	area, err := r.gen.area(p)
	if err != nil {
		return err
	}
	return iterate(r.txn, area, s, visit)
}

func get(txn *badger.Txn, key []byte) ([]byte, bool, error) {
	item, err := find(txn, key)
	if err != nil || item == nil {
		return nil, false, err
	}
	value, err := item.ValueCopy(nil)
	return value, err == nil, err
}

// find returns the item of a key, nil when there is none.
func find(txn *badger.Txn, key []byte) (*badger.Item, error) {
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %q: %w", key, err)
	}
	return item, nil
}

// appendPart appends the length of a part of a value, and the part.
func appendPart(value, part []byte) []byte {
	return append(binary.AppendUvarint(value, uint64(len(part))), part...)
}

// cutPart returns the part that a value begins with, and the rest; ok is false when the value is damaged.
func cutPart(value []byte) (part, rest []byte, ok bool) {
	length, n := binary.Uvarint(value)
	if n <= 0 || uint64(len(value)-n) < length {
		return nil, nil, false
	}
	return value[n : n+int(length)], value[n+int(length):], true
}

// iterate visits the keys of a span. Values are not read ahead: Badger begins with a hundred, and
// with a goroutine for each, which takes longer than to read them, however many are visited.
func iterate(txn *badger.Txn, area []byte, s Span, visit func(key, value []byte) (bool, error)) error {
	opts := badger.DefaultIteratorOptions
	opts.Prefix = join(area, s.Prefix)
	opts.Reverse = s.Reverse
	opts.PrefetchValues = false
	it := txn.NewIterator(opts)
	defer it.Close()
	for it.Seek(s.start(area)); it.Valid(); it.Next() {
		more, err := visitItem(it.Item(), len(area), s.KeysOnly, visit)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func visitItem(item *badger.Item, skip int, keysOnly bool, visit func(key, value []byte) (bool, error)) (more bool, err error) {
	key := item.Key()[skip:]
	if keysOnly {
		return visit(key, nil)
	}
	err = item.Value(func(value []byte) error {
		more, err = visit(key, value)
		return err
	})
	return more, err
}

// start returns the key to seek: descending, that is a key after all keys of the span.
func (s Span) start(area []byte) []byte {
	switch {
	case s.From != nil:
		return join(area, s.From)
	case s.Reverse:
		return append(join(area, s.Prefix), bytes.Repeat([]byte{0xff}, 32)...)
	}
	return join(area, s.Prefix)
}

func join(area, key []byte) []byte {
	b := make([]byte, 0, len(area)+len(key)+1)
	return append(append(b, area...), key...)
}

// The key layout of the store:
//
//	m/live                               the live generation, and its fingerprint
//	n{generation}                        the generation exists, or may exist
//	g{generation}c{log}                  checkpoint of a log
//	g{generation}d{projection}\x00{key}  what the projection stored; m/live says in which generation that is
//	m/snapshots                          which log the snapshots are of
//	s{version}{stream}                   aggregate snapshots, which belong to no generation
const (
	numberSpace     = 'n'
	generationSpace = 'g'
	checkpointSpace = 'c'
	dataSpace       = 'd'
	snapshotSpace   = 's'
	liveKey         = "m/live"
	extentKey       = "m/snapshots"
)

// generation is one set of read models. It has only the prefixes of its keys, and is immutable.
type generation struct {
	num         uint32            // of its checkpoints, and of the keys of its read models, but for those that were built later
	projections []Projection      // all of them, in their order
	missing     []Projection      // those that are to be built
	areas       map[string][]byte // key prefix of each other projection, by name
}

func newGeneration(num uint32, projections []Projection) *generation {
	g := &generation{num: num, projections: projections, areas: make(map[string][]byte, len(projections))}
	for _, p := range projections {
		g.areas[p.Name()] = areaOf(num, p)
	}
	return g
}

// areaOf returns the prefix of the keys of p that belong to a generation.
func areaOf(num uint32, p Projection) []byte {
	area := append(dataPrefix(num), p.Name()...)
	return slices.Clip(append(area, 0))
}

// homeOf returns the generation that the keys of an area belong to.
func homeOf(area []byte) uint32 { return binary.BigEndian.Uint32(area[1:]) }

// area returns the prefix of the keys of p. What is not built yet cannot be read.
func (g *generation) area(p Projection) ([]byte, error) {
	area, ok := g.areas[p.Name()]
	if !ok && len(g.missing) > 0 {
		return nil, errBehind()
	}
	return area, nil
}

// with returns g with the read models of another generation, which it does not have.
func (g *generation) with(built *generation) *generation {
	all := &generation{num: g.num, projections: g.projections, areas: maps.Clone(g.areas)}
	maps.Copy(all.areas, built.areas)
	return all
}

// shape is the fingerprint of the read models that g has. With keys of several generations it is one that versions do not
// have that expect them in one.
func (g *generation) shape() string {
	var have []Projection
	apart := ""
	for _, p := range g.projections {
		if area, ok := g.areas[p.Name()]; ok {
			have = append(have, p)
			if homeOf(area) != g.num {
				apart = "+"
			}
		}
	}
	return fingerprint(have) + apart
}

// record returns what is stored of g when it is live.
func (g *generation) record() live {
	l := live{Generation: g.num, Fingerprint: g.shape(), Areas: map[string]uint32{}}
	for name, area := range g.areas {
		l.Areas[name] = homeOf(area)
	}
	return l
}

// namesOf returns the names of read models.
func namesOf(projections []Projection) (names []string) {
	for _, p := range projections {
		names = append(names, p.Name())
	}
	return names
}

func (g *generation) checkpointKey(log domain.Log) []byte {
	return append(append(generationPrefix(g.num), checkpointSpace), log...)
}

func generationPrefix(num uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{generationSpace}, num)
}

func dataPrefix(num uint32) []byte { return append(generationPrefix(num), dataSpace) }

func numberKey(num uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{numberSpace}, num)
}

// generations lists the numbers of all generations that may have keys. It reads the list and not
// the keys, because skipping deleted keys takes long.
func generations(txn *badger.Txn) (nums []uint32, err error) {
	err = iterate(txn, []byte{numberSpace}, Span{KeysOnly: true}, func(key, _ []byte) (bool, error) {
		if len(key) == 4 {
			nums = append(nums, binary.BigEndian.Uint32(key))
		}
		return true, nil
	})
	return nums, err
}

// areasOf lists the areas of a generation that have keys.
func areasOf(txn *badger.Txn, num uint32) (areas [][]byte, err error) {
	prefix := dataPrefix(num)
	for from := []byte{}; from != nil; {
		next := []byte(nil)
		err := iterate(txn, prefix, Span{From: from, KeysOnly: true}, func(key, _ []byte) (bool, error) {
			name, _, _ := bytes.Cut(key, []byte{0})
			areas = append(areas, append(join(prefix, name), 0))
			next = append(bytes.Clone(name), 1)
			return false, nil
		})
		if err != nil {
			return nil, err
		}
		from = next
	}
	return areas, nil
}

// dropBatch is the maximal number of keys that one transaction deletes.
const dropBatch = 1000

// dropPrefix deletes every key under prefix, in small transactions, so that
// readers of older snapshots keep what they see and writers are not held up:
// Badger's own DropPrefix stops the world. It stops early when stop says so.
func dropPrefix(db store, prefix []byte, stop func() bool) error {
	for from := prefix; from != nil && !stop(); {
		err := db.Update(func(txn *badger.Txn) (err error) {
			from, err = dropSome(txn, prefix, from)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropSome deletes keys under prefix from from on, and returns where to go on,
// nil at the end.
func dropSome(txn *badger.Txn, prefix, from []byte) (next []byte, err error) {
	keys := someKeys(txn, prefix, from)
	for _, key := range keys {
		if err := txn.Delete(key); err != nil {
			return nil, err
		}
	}
	if len(keys) < dropBatch {
		return nil, nil
	}
	return keys[len(keys)-1], nil
}

func someKeys(txn *badger.Txn, prefix, from []byte) [][]byte {
	opts := badger.DefaultIteratorOptions
	opts.PrefetchValues = false
	opts.Prefix = prefix
	it := txn.NewIterator(opts)
	defer it.Close()
	var keys [][]byte
	for it.Seek(from); it.Valid() && len(keys) < dropBatch; it.Next() {
		keys = append(keys, it.Item().KeyCopy(nil))
	}
	return keys
}
