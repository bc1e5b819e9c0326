package collection

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"svc/domain/value"
)

// ChangeKind says what a change does. The numbers are stored.
type ChangeKind byte

// The kinds of changes.
const (
	Created  ChangeKind = iota + 1 // a collection, with its schema and name
	Declared                       // the declaration of its rows
	Renamed                        // its schema and name
	Dropped                        // the collection and its rows
	Put                            // a whole row; replaces the row with its id
	Removed                        // a row
)

// Change is one fact about the collections of a namespace.
type Change struct {
	Kind         ChangeKind
	Collection   uint32       // number of the collection in its namespace
	Schema, Name string       // of Made and Renamed
	Declaration  *Declaration // of Declared
	RowID        string       // of Put and Removed
	Row          []byte       // of Put: as AppendValue wrote it
}

// Info is what is known of a collection besides its rows.
type Info struct {
	Collection   uint32
	Schema, Name string
	Declaration  *Declaration // nil: none
}

// AppendChange appends a change as it is stored.
func AppendChange(b []byte, c Change) []byte {
	b = binary.AppendUvarint(append(b, byte(c.Kind)), uint64(c.Collection))
	switch c.Kind {
	case Created, Renamed:
		return appendText(appendText(b, c.Schema), c.Name)
	case Declared:
		return AppendValue(b, c.Declaration.stored())
	case Put:
		b = binary.AppendUvarint(appendText(b, c.RowID), uint64(len(c.Row)))
		return append(b, c.Row...)
	case Removed:
		return appendText(b, c.RowID)
	}
	return b
}

// DecodeChanges reads what AppendChange wrote, one change after the other. The rows
// of the changes are parts of b.
func DecodeChanges(b []byte) ([]Change, error) {
	d := decoder{b: b}
	var changes []Change
	for len(d.b) > 0 {
		changes = append(changes, d.change())
	}
	if d.failed {
		return nil, errEncoding
	}
	return changes, nil
}

func (d *decoder) change() Change {
	c := Change{Kind: ChangeKind(d.byte()), Collection: uint32(d.uvarint())}
	switch c.Kind {
	case Created, Renamed:
		c.Schema, c.Name = d.text(), d.text()
	case Declared:
		o, _ := d.value(0).(*value.Object)
		declaration, err := reading{}.readDeclaration(o)
		if c.Declaration = declaration; err != nil {
			d.fail()
		}
	case Put:
		c.RowID, c.Row = d.text(), d.bytes()
	case Removed:
		c.RowID = d.text()
	case Dropped:
	default:
		d.fail()
	}
	return c
}

// AppendInfo appends an Info in the format that a read model stores.
func AppendInfo(b []byte, info *Info) []byte {
	b = AppendChange(b, Change{Kind: Created, Collection: info.Collection, Schema: info.Schema, Name: info.Name})
	if info.Declaration != nil {
		b = AppendChange(b, Change{Kind: Declared, Collection: info.Collection, Declaration: info.Declaration})
	}
	return b
}

// DecodeInfo reads what AppendInfo wrote.
func DecodeInfo(b []byte) (*Info, error) {
	changes, err := DecodeChanges(b)
	if err != nil || len(changes) == 0 {
		return nil, errEncoding
	}
	info := &Info{}
	for _, c := range changes {
		info = info.After(c)
	}
	return info, nil
}

// After returns what is known of the collection after a change that is not about
// rows.
func (i *Info) After(c Change) *Info {
	next := *i
	next.Collection = c.Collection
	switch c.Kind {
	case Created, Renamed:
		next.Schema, next.Name = c.Schema, c.Name
	case Declared:
		next.Declaration = c.Declaration
	}
	return &next
}

// ErrGone says that the key of a workspace was destroyed: its data cannot be read any
// more.
var ErrGone = errors.New("collection: the key of the workspace is destroyed")

// ErrUnreadable says that an entry of the log cannot be read: its namespace is as it
// was before until a snapshot follows.
var ErrUnreadable = errors.New("collection: an entry of the log cannot be read")

// Mark is the state of the read model of a namespace.
type Mark struct {
	Seq    uint64 // of its last entry; 0 for none
	Logged int64  // bytes of its entries from the last snapshot on
	Live   int64  // bytes of its rows
}

// NeedsSnapshot reports whether a namespace is due for a snapshot: the log holds several
// times what there is to be read, and not too little.
func (m Mark) NeedsSnapshot() bool { return m.Logged > 1<<20 && m.Logged > 4*m.Live }

// Source is a View that a snapshot can be made of.
type Source interface {
	View
	// Raw visits the rows of a collection as AppendValue wrote them.
	Raw(collection uint32, visit func(id string, row []byte) error) error
}

// Entry is the body of an entry of the log: sealed changes, or where they are.
type Entry struct {
	Sealed []byte // nil when there are parts
	Name   string // of the parts, each of which is sealed
	Parts  int
	Size   int64 // of everything
}

// The forms of an entry. They are stored.
const (
	formWhole byte = iota + 1
	formParts
)

// Append appends the entry as it is stored.
func (e Entry) Append(b []byte) []byte {
	if e.Parts == 0 {
		return append(append(b, formWhole), e.Sealed...)
	}
	b = binary.AppendUvarint(append(b, formParts), uint64(e.Parts))
	return append(binary.AppendUvarint(b, uint64(e.Size)), e.Name...)
}

// ParseEntry reads what Append wrote.
func ParseEntry(body []byte) (Entry, error) {
	d := decoder{b: body}
	var e Entry
	switch d.byte() {
	case formWhole:
		e.Sealed, e.Size = d.b, int64(len(d.b))
	case formParts:
		e.Parts, e.Size = int(d.uvarint()&(1<<31-1)), int64(d.uvarint()&(1<<62-1))
		e.Name = string(d.b)
		if e.Parts == 0 || e.Name == "" {
			d.fail()
		}
	default:
		d.fail()
	}
	if d.failed {
		return Entry{}, errors.Join(ErrUnreadable, errEncoding)
	}
	return e, nil
}

// SnapshotChanges passes all changes that recreate a namespace to hand, in pieces of about
// size bytes. hand must not keep the bytes.
func SnapshotChanges(v Source, size int, hand func(changes []byte) error) error {
	infos, err := v.Infos()
	if err != nil {
		return err
	}
	var b []byte
	flush := func(least int) error {
		if len(b) < least || len(b) == 0 {
			return nil
		}
		err := hand(b)
		b = b[:0]
		return err
	}
	for _, info := range infos {
		b = AppendInfo(b, info)
		err := v.Raw(info.Collection, func(id string, row []byte) error {
			b = AppendChange(b, Change{Kind: Put, Collection: info.Collection, RowID: id, Row: row})
			return flush(size)
		})
		if err != nil {
			return err
		}
	}
	return flush(1)
}

// View is the collections of one namespace at one moment. What it returns must not
// be changed.
type View interface {
	// Infos returns the collections, in no order.
	Infos() ([]*Info, error)
	// Stats returns how many rows a collection has, and how many bytes they are.
	Stats(collection uint32) (rows, bytes int64, err error)
	// Row returns a row, nil when there is none.
	Row(collection uint32, id string) (*value.Object, error)
	// UniqueOwner returns the id of the row with a key of a unique, "" when there is none.
	UniqueOwner(collection uint32, x Index, key []byte) (id string, err error)
	// Rows visits rows until visit returns false: all in the order of their ids, or
	// those whose keys in an index are in one of the ranges, in the order of keys and
	// then of ids. A row with several keys may be visited several times; it is valid
	// until visit returns.
	Rows(collection uint32, ranges []Range, x *Index, visit func(id string, row Row) (more bool, err error)) error
}

// Range is a run of keys of an index: from From on, and before To.
type Range struct{ From, To []byte }

// prefixRange is the range of all keys that begin with a prefix.
func prefixRange(prefix []byte) Range { return Range{prefix, prefixEnd(prefix)} }

// prefixEnd returns the first key behind all that begin with a prefix.
func prefixEnd(prefix []byte) []byte {
	next := bytes.Clone(prefix)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			return next[:i+1]
		}
	}
	return nil // behind everything
}

// findCollection returns the collection of a name, nil when there is none.
func findCollection(v View, schema, name string) (*Info, error) {
	infos, err := v.Infos()
	i := slices.IndexFunc(infos, func(info *Info) bool { return info.Schema == schema && info.Name == name })
	if err != nil || i < 0 {
		return nil, err
	}
	return infos[i], nil
}

// Draft is a View with changes that are not in the log yet. It is used by one
// goroutine.
type Draft struct {
	Changes []Change

	base         View
	infos        map[uint32]*Info // of collections that were changed; nil: dropped
	rows         map[rowKey]*value.Object
	uniqueOwners map[uniqueKey]string // unique keys of changed rows, and the ids of the rows
	// newUniques are the uniques that the base has no keys of: they were declared in the draft.
	newUniques map[uint32]map[uniqueKey]string
	rowBytes   int // bytes of the rows in it
}

// rowKey identifies a row, uniqueKey a key of a unique.
type (
	rowKey struct {
		collection uint32
		id         string
	}
	uniqueKey struct {
		collection uint32
		index, key string
	}
)

// NewDraft returns a draft without changes.
func NewDraft(base View) *Draft {
	return &Draft{base: base}
}

// set sets a key of a map of a draft. Most drafts have one row, and need few of the maps.
func set[K comparable, V any](m *map[K]V, key K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = v
}

// AddDraft adds the changes of a draft that was made on this one.
func (d *Draft) AddDraft(from *Draft) {
	d.Changes = append(d.Changes, from.Changes...)
	for id, info := range from.infos {
		set(&d.infos, id, info)
	}
	for at, row := range from.rows {
		d.release(at)
		set(&d.rows, at, row)
	}
	for at, id := range from.uniqueOwners {
		set(&d.uniqueOwners, at, id)
	}
	if from.newUniques != nil {
		d.newUniques = from.newUniques
	}
	d.rowBytes += from.rowBytes
}

// Reshaped reports whether a declaration changed. Indexes that are new have no keys in
// the base: no query can be answered by them before the draft is applied.
func (d *Draft) Reshaped() bool { return d.newUniques != nil }

// Size returns the number of bytes of the rows in the draft.
func (d *Draft) Size() int { return d.rowBytes }

// Infos implements View.
func (d *Draft) Infos() ([]*Info, error) {
	infos, err := d.base.Infos()
	if err != nil || len(d.infos) == 0 {
		return infos, err
	}
	var all []*Info
	for _, info := range infos {
		if _, changed := d.infos[info.Collection]; !changed {
			all = append(all, info)
		}
	}
	for _, info := range d.infos {
		if info != nil {
			all = append(all, info)
		}
	}
	return all, nil
}

// Stats implements View. It is that of the base: a draft does not count.
func (d *Draft) Stats(collection uint32) (rows, bytes int64, err error) {
	return d.base.Stats(collection)
}

// Row implements View.
func (d *Draft) Row(collection uint32, id string) (*value.Object, error) {
	if row, ok := d.rows[rowKey{collection, id}]; ok {
		return row, nil
	}
	return d.base.Row(collection, id)
}

// storedRow returns a row that must exist, as AppendValue writes it.
func (d *Draft) storedRow(collection uint32, id string) ([]byte, error) {
	if n := len(d.Changes); n > 0 && d.Changes[n-1].Kind == Put && d.Changes[n-1].Collection == collection && d.Changes[n-1].RowID == id {
		return d.Changes[n-1].Row, nil
	}
	row, err := d.Row(collection, id)
	return AppendValue(nil, row), err
}

// UniqueOwner implements View.
func (d *Draft) UniqueOwner(collection uint32, x Index, key []byte) (string, error) {
	if id, ok := d.uniqueOwners[uniqueKey{collection, x.Name, string(key)}]; ok {
		return id, nil
	}
	id, err := "", error(nil)
	if owners, ok := d.newUniques[collection]; ok {
		id = owners[uniqueKey{collection, x.Name, string(key)}]
	} else {
		id, err = d.base.UniqueOwner(collection, x, key)
	}
	if _, changed := d.rows[rowKey{collection, id}]; changed {
		return "", err // the changed row has another key or none
	}
	return id, err
}

// Rows implements View. Rows of the draft come in the order of ids when all rows are visited, else at the end,
// whatever their keys are.
func (d *Draft) Rows(collection uint32, ranges []Range, x *Index, visit func(string, Row) (bool, error)) error {
	var own []string
	for at, row := range d.rows {
		if at.collection == collection && row != nil {
			own = append(own, at.id)
		}
	}
	slices.Sort(own)
	stopped := false
	hand := func(id string) (bool, error) {
		more, err := visit(id, Row{whole: d.rows[rowKey{collection, id}]})
		stopped = !more
		own = own[1:]
		return more, err
	}
	err := d.base.Rows(collection, ranges, x, func(id string, row Row) (bool, error) {
		for x == nil && len(own) > 0 && own[0] < id {
			if more, err := hand(own[0]); err != nil || !more {
				return false, err
			}
		}
		if _, changed := d.rows[rowKey{collection, id}]; changed {
			return true, nil
		}
		more, err := visit(id, row)
		stopped = !more
		return more, err
	})
	for err == nil && !stopped && len(own) > 0 {
		_, err = hand(own[0])
	}
	return err
}

// change notes a change that is not about a row.
func (d *Draft) change(info *Info, c Change) *Info {
	d.Changes = append(d.Changes, c)
	next := info.After(c)
	set(&d.infos, c.Collection, next)
	if c.Kind == Dropped {
		d.infos[c.Collection] = nil
	}
	return next
}

// put notes a row, unless it breaks a unique.
func (d *Draft) put(info *Info, id string, row *value.Object, limits Limits) error {
	if !value.FitsWithin(row, 3*limits.MaxRowSize) { // encoded it has a third of that at least
		return withDetail(Refuse(TooLarge, "a row has more than %d bytes", limits.MaxRowSize), "limit", float64(limits.MaxRowSize))
	}
	if tooDeep(row, 0) {
		return Refuse(Validation, "a row is nested more than %d levels deep", maxDepth)
	}
	encoded := AppendValue(nil, row)
	if len(encoded) > limits.MaxRowSize {
		return withDetail(Refuse(TooLarge, "a row has %d bytes, the limit is %d", len(encoded), limits.MaxRowSize), "limit", float64(limits.MaxRowSize))
	}
	at := rowKey{info.Collection, id}
	var owned []uniqueKey
	for _, x := range info.Declaration.All() {
		if !x.Unique {
			continue
		}
		for _, key := range info.Declaration.Keys(x, row) {
			holder, err := d.UniqueOwner(info.Collection, x, key)
			if err != nil {
				return err
			}
			if holder != "" && holder != id {
				return notUnique(info, x.Fields)
			}
			owned = append(owned, uniqueKey{info.Collection, x.Name, string(key)})
		}
	}
	d.release(at)
	set(&d.rows, at, row)
	for _, key := range owned {
		set(&d.uniqueOwners, key, id)
	}
	d.rowBytes += len(encoded)
	d.Changes = append(d.Changes, Change{Kind: Put, Collection: info.Collection, RowID: id, Row: encoded})
	return nil
}

func notUnique(info *Info, fields []string) error {
	refusal := Refuse(NotUnique, "another row of %s has the same %s", info.Name, strings.Join(fields, ", "))
	return withDetail(withDetail(refusal, "collection", info.Name), "fields", value.From(fields))
}

// release removes the unique keys of a row of the draft.
func (d *Draft) release(at rowKey) {
	if _, ok := d.rows[at]; !ok {
		return
	}
	for h, id := range d.uniqueOwners {
		if h.collection == at.collection && id == at.id {
			delete(d.uniqueOwners, h)
		}
	}
}

// remove notes that a row is gone.
func (d *Draft) remove(info *Info, id string) {
	at := rowKey{info.Collection, id}
	d.release(at)
	set(&d.rows, at, nil)
	d.Changes = append(d.Changes, Change{Kind: Removed, Collection: info.Collection, RowID: id})
}
