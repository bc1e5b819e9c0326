package projections

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
	"svc/eventstore"
)

// Bounds of one Badger transaction.
const (
	maxBatchEvents = 500
	maxBatchBytes  = 4 << 20
)

// writer applies the events of one log to one generation, in order and each one
// once. It is used by one goroutine at a time.
type writer struct {
	db      store
	gen     *generation
	log     domain.Log
	scopes  []targetProjection
	at      checkpoint
	key     []byte // of the checkpoint
	metrics *metrics
	now     func() time.Time
	room    txnRoom
	// bulks buffer the writes of each projection until a flush. They are nil for the live generation.
	bulks []*bulk
	// recent has what the live generation of STATE was asked for; nil: nothing is remembered.
	recent *recentValues
	// audit records events and gaps; a gap is then not a fault. It is set only for a
	// verification.
	audit *LogReport
}

// targetProjection is a projection with the prefix of its keys.
type targetProjection struct {
	Projection
	area []byte
	// watched has its keys in the live generation; nil: nobody reads what is written.
	watched *watchedKeys
}

// watchedKeys are the keys of a projection. They note when a change of them begins.
type watchedKeys struct {
	keys
	moves *atomic.Uint64 // starts and ends of changes: it is odd during a change
}

func (k *watchedKeys) set(key, value []byte) error {
	k.begin()
	return k.keys.set(key, value)
}

func (k *watchedKeys) delete(key []byte) error {
	k.begin()
	return k.keys.delete(key)
}

// begin notes that a change begins, unless one is in progress. Nobody else writes these keys.
func (k *watchedKeys) begin() {
	if k.moves.Load()%2 == 0 {
		k.moves.Add(1)
	}
}

// end notes that the change is over, if there was any.
func (k *watchedKeys) end() {
	if k.moves.Load()%2 == 1 {
		k.moves.Add(1)
	}
}

func (m *Models) newWriter(gen *generation, log domain.Log, at checkpoint) *writer {
	w := &writer{db: m.db, gen: gen, log: log, at: at, key: gen.checkpointKey(log), metrics: m.metrics, now: m.opts.Now}
	for _, p := range gen.projections {
		if area, ok := gen.areas[p.Name()]; ok && p.Log() == log {
			w.scopes = append(w.scopes, targetProjection{p, area, &watchedKeys{moves: m.moves[p.Name()]}})
		}
	}
	if log == domain.State { // events of one workspace read the same keys; those of ACTIVITY mostly read keys of their own
		w.recent = newRecentValues(recentBytes)
	}
	return w
}

// end notes that what was applied can be read.
func (w *writer) end() {
	for _, s := range w.scopes {
		s.watched.end()
	}
}

// apply applies events, except those that were applied before. When it fails, all events before
// the one that failed have been applied, but by a builder, which is of no use then.
func (w *writer) apply(events []domain.Recorded) error {
	if w.bulks != nil {
		return w.collect(events)
	}
	for len(events) > 0 && events[0].Seq <= w.at.Seq {
		events = events[1:]
	}
	if len(events) > 0 && w.at.Ahead > 0 {
		if err := w.applyPerProjection(events[0]); err != nil {
			return err
		}
		events = events[1:]
	}
	for len(events) > 0 {
		n := batchLength(events)
		if err := w.applySplit(events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

// batchLength returns how many of events go into one transaction: whole messages.
func batchLength(events []domain.Recorded) int {
	size := 0
	for i, ev := range events {
		if size += ev.Size; i > 0 && (i >= maxBatchEvents || size > maxBatchBytes) && ev.Group != events[i-1].Group {
			return i
		}
	}
	return len(events)
}

// applySplit applies events in one transaction, or in halves when Badger finds
// that too large, and in the end one projection at a time.
func (w *writer) applySplit(events []domain.Recorded) error {
	n, err := w.commit(events)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, badger.ErrTxnTooBig) && len(events) == 1:
		return w.applyPerProjection(events[0])
	case errors.Is(err, badger.ErrTxnTooBig):
		half := len(events) / 2
		if err := w.applySplit(events[:half]); err != nil {
			return err
		}
		return w.applySplit(events[half:])
	case n > 0:
		if _, again := w.commit(events[:n]); again != nil {
			return again
		}
	}
	return err
}

// commit applies events and moves the checkpoint, all or nothing. When one of them fails, n is
// the number of events before it.
func (w *writer) commit(events []domain.Recorded) (n int, err error) {
	started, committed := w.now(), false
	defer func() {
		if !committed {
			w.recent.clear() // it may have what was not written
		}
	}()
	txn := w.db.NewTransaction(true)
	defer txn.Discard()
	defer w.room.reset()
	var to keys = txnKeys{txn, &w.room}
	if w.recent != nil {
		to = recentKeys{txnKeys{txn, &w.room}, w.recent}
	}
	at, count := w.at, 0
	for i := 0; i < len(events); {
		group := events[i : i+groupLength(events[i:])]
		done, err := w.applyGroup(to, &at, group)
		if err != nil {
			return i + done, err
		}
		i, count = i+len(group), count+done
	}
	if count == 0 {
		return 0, nil
	}
	if err := w.moveTo(txn, at); err != nil {
		return 0, err
	}
	committed = true
	w.metrics.observe(w.log, count, w.now().Sub(started))
	return 0, nil
}

func (w *writer) moveTo(txn *badger.Txn, at checkpoint) error {
	if err := at.write(txn, w.key); err != nil {
		return err
	}
	if err := w.db.commit(txn); err != nil {
		return fmt.Errorf("commit %s at %d: %w", w.log, at.Seq, err)
	}
	w.at = at
	return nil
}

// applyPerProjection applies one event with a transaction for each projection. The checkpoint
// counts the projections that are done, so that each applies the event once.
func (w *writer) applyPerProjection(ev domain.Recorded) error {
	counts, err := w.check(w.at, ev)
	if err != nil || !counts {
		return err
	}
	w.recent.clear() // it is written to without them
	for i := w.at.Ahead; i < len(w.scopes); i++ {
		at := w.at
		at.Ahead = i + 1
		if at.Ahead == len(w.scopes) {
			at = checkpoint{Identity: at.Identity, Seq: ev.Seq, EventID: ev.ID}
		}
		if err := w.applyProjection(w.scopes[i], ev, at); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) applyProjection(s targetProjection, ev domain.Recorded, at checkpoint) error {
	txn := w.db.NewTransaction(true)
	defer txn.Discard()
	_, err := s.applyRecovered(Tx{keys: txnKeys{txn: txn}}, []domain.Recorded{ev}, nil)
	if err == nil {
		err = w.moveTo(txn, at)
	}
	if _, repeatable := s.Projection.(Repeatable); !repeatable || !errors.Is(err, badger.ErrTxnTooBig) {
		return err
	}
	return w.applyInParts(s, ev, at)
}

// applyInParts applies an event that changes more than fits into one transaction, and
// moves the checkpoint when all of it is written.
func (w *writer) applyInParts(s targetProjection, ev domain.Recorded, at checkpoint) error {
	parts := newBulk(w.db, s.Projection, s.area)
	parts.partial, parts.forgot = true, true // the store already has keys
	if _, err := s.applyRecovered(Tx{keys: parts}, []domain.Recorded{ev}, nil); err != nil {
		return err
	}
	if err := parts.flush(); err != nil {
		return err
	}
	txn := w.db.NewTransaction(true)
	defer txn.Discard()
	return w.moveTo(txn, at)
}

// groupLength returns how many of events, from the first on, belong to one message.
func groupLength(events []domain.Recorded) int {
	n := 1
	for n < len(events) && events[n].Group == events[0].Group {
		n++
	}
	return n
}

// applyGroup applies the events of one message that come after at with every projection of the log, and
// moves at. It returns the number of events; when it fails, the number of events of the group before the
// one that failed.
func (w *writer) applyGroup(to keys, at *checkpoint, group []domain.Recorded) (n int, err error) {
	begins := beginsMessage(at.Seq, group)
	counted, n, err := w.countGroup(at, group)
	if err != nil {
		return n, err
	}
	share := make([]shared, len(counted))
	for _, s := range w.scopes {
		tx := Tx{keys: to, begins: begins, room: &w.room}
		if fault, err := s.applyRecovered(tx, counted, share); err != nil {
			return slices.IndexFunc(group, func(ev domain.Recorded) bool { return ev.Seq == fault }), err
		}
	}
	return n, nil
}

// beginsMessage reports whether no event of the message that has a group was applied before, when all up to a sequence were. It
// knows that only of messages that have room for several.
func beginsMessage(applied uint64, group []domain.Recorded) bool {
	return applied+domain.MaxGroup <= groupOf(group[0])
}

// countGroup returns the events of one message that come after at and count, moves at, and returns how many come after it.
// When an event must not be applied, it returns the number of events of the group before that one.
func (w *writer) countGroup(at *checkpoint, group []domain.Recorded) (counted []domain.Recorded, n int, err error) {
	first := 0 // counted is a part of group, or a copy when some between them do not count
	for i := range group {
		ev := &group[i]
		if ev.Seq <= at.Seq {
			continue
		}
		counts, err := w.check(*at, *ev)
		if err != nil {
			return nil, i, err
		}
		if counts && len(counted) == 0 {
			first = i
		}
		switch {
		case !counts:
		case i == first+len(counted):
			counted = group[first : i+1 : i+1]
		default:
			counted = append(counted, *ev)
		}
		at.Seq, at.EventID = ev.Seq, ev.ID
		n++
	}
	return counted, n, nil
}

// check reports whether ev, which follows at, must be applied; an error is a fault.
func (w *writer) check(at checkpoint, ev domain.Recorded) (counts bool, err error) {
	if w.log == domain.State && ev.Seq != at.Seq+1 {
		if err := w.addGap(at.Seq+1, ev.Seq-1); err != nil {
			return false, err
		}
	}
	if w.audit != nil {
		w.audit.countEvent(ev.Seq)
	}
	switch e := ev.Data.(type) {
	case domain.Void:
		return false, nil // a void event has a sequence, but no effect
	case domain.Unknown:
		if w.log == domain.State {
			return false, &Fault{Kind: FaultUnknown, Log: w.log, From: ev.Seq, To: ev.Seq,
				Message: fmt.Sprintf("this version does not know the event type %q", e.Name)}
		}
	}
	return true, nil
}

// addGap handles sequences that are missing in STATE: a fault, or an entry of the audit.
func (w *writer) addGap(from, to uint64) error {
	if w.audit == nil {
		return newGapFault(w.log, from, to)
	}
	w.audit.addGap(from, to)
	return nil
}

// applyRecovered applies events of one message, with what projections share of each. An error and a panic both become a
// fault. It returns the sequence of the event that failed.
func (s targetProjection) applyRecovered(tx Tx, events []domain.Recorded, share []shared) (fault uint64, err error) {
	var at domain.Recorded
	defer func() {
		if r := recover(); r != nil {
			fault, err = at.Seq, s.newFault(at, fmt.Errorf("panic: %v", r))
		}
	}()
	if s.watched != nil {
		s.watched.keys = tx.keys
		tx.keys = s.watched
	}
	tx.area = s.area
	if grouped, ok := s.Projection.(Grouped); ok && len(events) > 0 {
		at = events[0]
		if err := grouped.ApplyGroup(tx, events); err != nil {
			return at.Seq, s.newFault(at, err)
		}
		return 0, nil
	}
	for i := range events {
		at = events[i]
		if share != nil {
			tx.shared = &share[i]
		}
		if err := s.Apply(tx, at); err != nil {
			return at.Seq, s.newFault(at, err)
		}
	}
	return 0, nil
}

func (s targetProjection) newFault(ev domain.Recorded, err error) error {
	return &Fault{Kind: FaultApply, Log: ev.Log, Projection: s.Name(), From: ev.Seq, To: ev.Seq, Message: err.Error(), Err: err}
}

// finishAt handles the end of the log, which had reached last before it reported that nothing is
// pending. Events that STATE did not deliver are missing; events that ACTIVITY did not deliver
// were purged.
func (w *writer) finishAt(last uint64) error {
	if w.at.Seq >= last {
		return nil
	}
	if w.log == domain.State {
		if err := w.addGap(w.at.Seq+1, last); err != nil {
			return err
		}
	}
	end := checkpoint{Identity: w.at.Identity, Seq: last}
	if w.bulks != nil {
		w.at = end
		return nil
	}
	txn := w.db.NewTransaction(true)
	defer txn.Discard()
	return w.moveTo(txn, end)
}

// recentBytes is how much a writer remembers of what it has read, with what that takes besides.
const recentBytes = 16 << 20

// recentValues are the values of keys that a writer has read: most are read again with the next change of their
// workspace. Nobody else writes these keys. When those that were used in a turn take too much, the others are dropped,
// and the next turn begins.
type recentValues struct {
	values      map[string]*recentValue
	turn        int
	size, bound int // of what was used in this turn
}

// cachedValue is the value of a key, or that there is none: most keys that are looked for in vain are written then.
type cachedValue struct {
	value  []byte
	absent bool
}

// recentValue is the value of a key, and the turn in which it was last used.
type recentValue struct {
	cachedValue
	turn int
}

func newRecentValues(bytes int) *recentValues {
	return &recentValues{values: map[string]*recentValue{}, bound: bytes / 2}
}

// get returns what is known of a key.
func (c *recentValues) get(key []byte) (v cachedValue, ok bool) {
	known := c.values[string(key)]
	if known == nil {
		return v, false
	}
	v = known.cachedValue
	c.use(len(key), known, v)
	return v, true
}

// put remembers the value of a key that is not known.
func (c *recentValues) put(key string, v cachedValue) {
	known := &recentValue{turn: c.turn - 1}
	c.values[key] = known
	c.use(len(key), known, v)
}

// update remembers what was written to a key, if the key was read before.
func (c *recentValues) update(key []byte, v cachedValue) {
	if known := c.values[string(key)]; known != nil {
		c.use(len(key), known, v)
	}
}

// use notes that a value was used, and what it is now.
func (c *recentValues) use(key int, known *recentValue, v cachedValue) {
	if known.turn == c.turn {
		c.size -= key + len(known.value) + bulkEntry
	}
	known.cachedValue, known.turn = v, c.turn
	if c.size += key + len(v.value) + bulkEntry; c.size <= c.bound {
		return
	}
	for other, v := range c.values {
		if v.turn != c.turn {
			delete(c.values, other)
		}
	}
	c.turn, c.size = c.turn+1, 0
}

func (c *recentValues) clear() {
	if c != nil {
		c.values, c.size = map[string]*recentValue{}, 0
	}
}

// recentKeys is the keys of a transaction, of which those are remembered that were read.
type recentKeys struct {
	txnKeys
	recent *recentValues
}

func (t recentKeys) get(key []byte) ([]byte, bool, error) {
	if v, ok := t.recent.get(key); ok {
		return bytes.Clone(v.value), !v.absent, nil
	}
	value, ok, err := t.txnKeys.get(key)
	if err == nil {
		t.recent.put(string(key), cachedValue{bytes.Clone(value), !ok})
	}
	return value, ok, err
}

func (t recentKeys) set(key, value []byte) error {
	t.recent.update(key, cachedValue{value: value})
	return t.txnKeys.set(key, value)
}

func (t recentKeys) delete(key []byte) error {
	t.recent.update(key, cachedValue{absent: true})
	return t.txnKeys.delete(key)
}

const (
	bulkBytes = 16 << 20 // changes that the bulks of a log hold before they are written
	keptBytes = 64 << 20 // values that they keep because they are read or replaced again
	bulkEntry = 128      // overhead of an entry besides key and value
)

// bulk holds the changes of one projection in a generation that nobody reads yet. Most events of a workspace read and
// overwrite the same values: those stay in memory, and the others are written when there are many of them. Nothing
// depends on the order of the writes: an unfinished generation is deleted.
type bulk struct {
	db        store
	area      []byte // prefix of the keys
	rewritten string // spaces of keys that are kept: see Rewriting

	fresh   map[string]bulkValue // changes of other keys, which nobody has read
	kept    map[string]*keptValue
	changed []*keptValue // those of kept that are not written yet

	size     int  // of fresh
	keptSize int  // of kept
	partial  bool // something was written
	forgot   bool // keys that are rewritten may be in the store, and not be kept
	room     txnRoom
}

// bulkValue is the last value of a key.
type bulkValue struct {
	value  []byte
	absent bool // there is none
	stored bool // the store may have one
}

// keptValue is the value of a key that was read, or is rewritten.
type keptValue struct {
	bulkValue
	key     string
	changed int // place in the changes of the bulk, from 1 on; 0: it is as in the store
}

// newBulk returns a bulk for the keys of p in an area, which nothing was written to.
func newBulk(db store, p Projection, area []byte) *bulk {
	b := &bulk{db: db, area: area, fresh: map[string]bulkValue{}, kept: map[string]*keptValue{}}
	if r, ok := p.(Rewriting); ok {
		b.rewritten = r.Rewritten()
	}
	return b
}

// isRewritten reports whether a key is kept as soon as it is written.
func (b *bulk) isRewritten(name []byte) bool {
	return len(name) > 0 && strings.IndexByte(b.rewritten, name[0]) >= 0
}

// mayBeStored reports whether the store may have a key of which nothing is known.
func (b *bulk) mayBeStored(name []byte) bool {
	if b.isRewritten(name) {
		return b.forgot
	}
	return b.partial
}

// sizeOf returns what an entry takes.
func sizeOf(key int, value []byte) int { return key + len(value) + bulkEntry }

func (b *bulk) get(key []byte) ([]byte, bool, error) {
	value, ok, err := b.find(key)
	return bytes.Clone(value), ok, err
}

// find is get of a value that is not changed: the bulk has it, too.
func (b *bulk) find(key []byte) ([]byte, bool, error) {
	name := key[len(b.area):]
	if v := b.kept[string(name)]; v != nil {
		return v.value, !v.absent, nil
	}
	if v, ok := b.fresh[string(name)]; ok {
		delete(b.fresh, string(name))
		b.size -= sizeOf(len(name), v.value)
		b.noteChange(b.keep(name, v))
		return v.value, !v.absent, nil
	}
	v := bulkValue{absent: true}
	if b.mayBeStored(name) {
		txn := b.db.NewTransaction(false)
		defer txn.Discard()
		value, ok, err := get(txn, key)
		if err != nil {
			return nil, false, err
		}
		v = bulkValue{value: value, absent: !ok, stored: ok}
	} else if b.isRewritten(name) {
		return nil, false, nil // that is known without keeping it
	}
	b.keep(name, v)
	return v.value, !v.absent, nil
}

// keep keeps the value of a key that is not kept yet.
func (b *bulk) keep(name []byte, v bulkValue) *keptValue {
	kept := &keptValue{bulkValue: v, key: string(name)}
	b.kept[kept.key] = kept
	b.keptSize += sizeOf(len(name), v.value)
	return kept
}

// noteChange notes that a value that is kept must be written.
func (b *bulk) noteChange(v *keptValue) {
	if v.changed == 0 {
		b.changed = append(b.changed, v)
		v.changed = len(b.changed)
	}
}

// forget drops a key that the store does not have.
func (b *bulk) forget(v *keptValue) {
	delete(b.kept, v.key)
	b.keptSize -= sizeOf(len(v.key), v.value)
	if v.changed > 0 {
		last := b.changed[len(b.changed)-1]
		b.changed[v.changed-1], last.changed = last, v.changed
		b.changed = b.changed[:len(b.changed)-1]
	}
}

func (b *bulk) set(key, value []byte) error {
	name := key[len(b.area):]
	if v := b.kept[string(name)]; v != nil {
		b.keptSize += len(value) - len(v.value)
		v.value, v.absent = value, false
		b.noteChange(v)
		return nil
	}
	if b.isRewritten(name) {
		b.noteChange(b.keep(name, bulkValue{value: value, stored: b.forgot}))
		return nil
	}
	b.setFresh(name, bulkValue{value: value, stored: b.partial})
	return nil
}

// setFresh changes a key that is not kept.
func (b *bulk) setFresh(name []byte, v bulkValue) {
	if old, ok := b.fresh[string(name)]; ok {
		v.stored = old.stored
		b.size -= sizeOf(len(name), old.value)
	}
	b.fresh[string(name)] = v
	b.size += sizeOf(len(name), v.value)
}

func (b *bulk) delete(key []byte) error {
	name := key[len(b.area):]
	v := b.kept[string(name)]
	if v == nil && b.isRewritten(name) && b.forgot {
		v = b.keep(name, bulkValue{stored: true})
	}
	if v != nil && v.stored {
		b.keptSize -= len(v.value)
		v.value, v.absent = nil, true
		b.noteChange(v)
		return nil
	}
	if v != nil {
		b.forget(v)
		return nil
	}
	old, ok := b.fresh[string(name)]
	switch {
	case ok && !old.stored:
		delete(b.fresh, string(name))
		b.size -= sizeOf(len(name), old.value)
	case ok || b.mayBeStored(name):
		b.setFresh(name, bulkValue{absent: true, stored: true})
	}
	return nil
}

// iterate writes the changes first: the store has the order of keys.
func (b *bulk) iterate(area []byte, s Span, visit func(key, value []byte) (bool, error)) error {
	if err := b.flush(); err != nil {
		return err
	}
	txn := b.db.NewTransaction(false)
	defer txn.Discard()
	return iterate(txn, area, s, visit)
}

// makeRoom writes the changes of what is not kept, and everything when too much is kept.
func (b *bulk) makeRoom(keptTooMuch bool) error {
	if !keptTooMuch {
		return b.write(false)
	}
	err := b.flush()
	clear(b.kept)
	b.keptSize, b.forgot = 0, true
	return err
}

// flush writes all changes.
func (b *bulk) flush() error { return b.write(true) }

// write writes changes in the order of their keys: of what is not kept, or all of them.
func (b *bulk) write(all bool) error {
	changes := make([]bulkChange, 0, len(b.fresh)+len(b.changed))
	for name, v := range b.fresh {
		changes = append(changes, bulkChange{name, v})
	}
	if all {
		for _, v := range b.changed {
			changes = append(changes, bulkChange{v.key, v.bulkValue})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	slices.SortFunc(changes, func(x, y bulkChange) int { return strings.Compare(x.name, y.name) })
	b.partial = true
	if err := b.store(changes); err != nil {
		return err
	}
	clear(b.fresh)
	b.size = 0
	if all {
		for _, v := range b.changed {
			v.changed, v.stored = 0, !v.absent
		}
		clear(b.changed)
		b.changed = b.changed[:0]
	}
	return nil
}

// bulkChange is a change that is written. The name of a key is what comes after the area.
type bulkChange struct {
	name string
	bulkValue
}

// store writes changes to the store, in as few transactions as can have them.
func (b *bulk) store(changes []bulkChange) error {
	txn := b.db.NewTransaction(true)
	defer func() { txn.Discard() }()
	defer b.room.reset()
	for _, c := range changes {
		key := b.room.join(b.area, []byte(c.name))
		err := c.write(txnKeys{txn, &b.room}, key)
		if errors.Is(err, badger.ErrTxnTooBig) {
			if err = b.db.commit(txn); err == nil {
				b.room.reset()
				txn, key = b.db.NewTransaction(true), b.room.join(b.area, []byte(c.name))
				err = c.write(txnKeys{txn, &b.room}, key)
			}
		}
		if err != nil {
			return fmt.Errorf("write %q: %w", key, err)
		}
	}
	return b.db.commit(txn)
}

func (v bulkValue) write(to txnKeys, key []byte) error {
	if v.absent {
		return to.delete(key)
	}
	return to.set(key, v.value)
}

// newBuilders returns a builder for each log.
func (m *Models) newBuilders(gen *generation) (writers []*writer) {
	for _, f := range m.logs {
		writers = append(writers, m.newBuilder(gen, f.log, checkpoint{}))
	}
	return writers
}

// newBuilder is newWriter for a generation that is not live yet. What it has applied is in the
// store only after a flush.
func (m *Models) newBuilder(gen *generation, log domain.Log, at checkpoint) *writer {
	w := m.newWriter(gen, log, at)
	w.bulks, w.recent = make([]*bulk, len(w.scopes)), nil
	for i := range w.scopes {
		w.scopes[i].watched, w.bulks[i] = nil, newBulk(m.db, w.scopes[i].Projection, w.scopes[i].area)
	}
	return w
}

// collect is apply for a builder: each projection applies all events in one go, and writes to its bulk.
func (w *writer) collect(events []domain.Recorded) error {
	started, at, count := w.now(), w.at, 0
	var groups [][]domain.Recorded
	var shares [][]shared // of the events of each group
	var begins []bool     // whether each group begins a message
	var refused error     // the fault of an earlier event, if there is one, is told instead
	free := make([]shared, len(events))
	for len(events) > 0 && refused == nil {
		group, next := events[:groupLength(events)], at
		counted, n, err := w.countGroup(&next, group)
		if refused = err; err == nil {
			groups, shares, free = append(groups, counted), append(shares, free[:len(counted)]), free[len(counted):]
			begins = append(begins, beginsMessage(at.Seq, group))
			at, events, count = next, events[len(group):], count+n
		}
	}
	err := w.eachProjection(func(i int) error {
		for g, group := range groups {
			b := w.bulks[i]
			if _, err := w.scopes[i].applyRecovered(Tx{keys: b, begins: begins[g], room: &b.room}, group, shares[g]); err != nil {
				return err
			}
			b.room.reset() // it has copied them
		}
		return nil
	})
	if err != nil {
		return err
	}
	w.at = at
	w.metrics.observe(w.log, count, w.now().Sub(started))
	return cmp.Or(refused, w.makeRoom())
}

// makeRoom writes some of what the bulks hold when that is too much.
func (w *writer) makeRoom() error {
	size, kept := 0, 0
	for _, b := range w.bulks {
		size, kept = size+b.size, kept+b.keptSize
	}
	if size <= bulkBytes && kept <= keptBytes {
		return nil
	}
	if err := w.eachProjection(func(i int) error { return w.bulks[i].makeRoom(kept > keptBytes) }); err != nil {
		return fmt.Errorf("write %s up to %d: %w", w.log, w.at.Seq, err)
	}
	return nil
}

// atOnce is how many projections a builder works on at once.
const atOnce = 4

// eachProjection calls do with the number of each projection, several at once. Of several faults it returns the one of the
// first event.
func (w *writer) eachProjection(do func(i int) error) error {
	failed := make([]error, len(w.scopes))
	var next atomic.Int32
	var working sync.WaitGroup
	for range min(atOnce, len(w.scopes)) {
		working.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(failed); i = next.Add(1) - 1 {
				failed[i] = do(int(i))
			}
		})
	}
	working.Wait()
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	if len(failed) == 0 {
		return nil
	}
	return slices.MinFunc(failed, func(a, b error) int { return cmp.Compare(refusedAt(a), refusedAt(b)) })
}

// refusedAt returns the sequence of the event that an error is about, 0 when it is about none.
func refusedAt(err error) uint64 {
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault.From
	}
	return 0
}

// flush writes what a builder has collected to the store, and then its checkpoint.
func (w *writer) flush() error {
	if err := w.eachProjection(func(i int) error { return w.bulks[i].flush() }); err != nil {
		return fmt.Errorf("write %s up to %d: %w", w.log, w.at.Seq, err)
	}
	txn := w.db.NewTransaction(true)
	defer txn.Discard()
	return w.moveTo(txn, w.at)
}

// checkpoint is how far a generation has read one log. It is written in the
// transaction of the events it covers.
type checkpoint struct {
	Identity string `json:"identity"` // of the log; differs when the log was created again
	Seq      uint64 `json:"seq"`
	EventID  string `json:"eventId,omitempty"` // of the event at Seq; empty when it was purged before it was read
	Ahead    int    `json:"ahead,omitempty"`   // number of projections that have applied the event after Seq
}

func readCheckpoint(txn *badger.Txn, g *generation, log domain.Log) (c checkpoint, err error) {
	b, ok, err := get(txn, g.checkpointKey(log))
	if err != nil || !ok {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("decode checkpoint of %s: %w", log, err)
	}
	return c, nil
}

func (c checkpoint) write(txn *badger.Txn, key []byte) error {
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return txn.Set(key, b)
}

// staleError says why a generation does not belong to the log that it should follow. The
// generation must be rebuilt.
type staleError struct {
	gen *generation
	why string
}

func (e *staleError) Error() string { return "projections: read models are stale: " + e.why }

// compare returns why c cannot be continued on the log that info describes, or
// "" when it can.
func (c checkpoint) compare(ctx context.Context, store eventstore.Store, log domain.Log, info eventstore.Info) (why string, err error) {
	switch {
	case c == checkpoint{}:
		return "", nil
	case c.Identity != info.Identity:
		return fmt.Sprintf("%s is another log: %s, not %s", log, info.Identity, c.Identity), nil
	case c.Seq > info.Last:
		return fmt.Sprintf("checkpoint %d is ahead of %s, which ends at %d", c.Seq, log, info.Last), nil
	case c.EventID == "":
		return "", nil
	}
	ev, ok, err := store.Read(ctx, log, c.Seq)
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s at checkpoint %d: %w", log, c.Seq, err)
	case ok && ev.ID != c.EventID:
		return fmt.Sprintf("event %d of %s is %s, not %s", c.Seq, log, ev.ID, c.EventID), nil
	case !ok && log == domain.State:
		return "", &Fault{Kind: FaultGap, Log: log, From: c.Seq, To: c.Seq, Message: "the event at the checkpoint is missing"}
	}
	return "", nil
}

// live is the stored record of the live generation.
type live struct {
	Generation  uint32            `json:"generation"`
	Fingerprint string            `json:"fingerprint"`     // of the read models that are complete
	Areas       map[string]uint32 `json:"areas,omitempty"` // their names, each with the generation that its keys belong to; versions before had all in one
}

func readLive(txn *badger.Txn) (l live, ok bool, err error) {
	b, ok, err := get(txn, []byte(liveKey))
	if err != nil || !ok {
		return l, false, err
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return l, false, errors.Join(errors.New("decode live generation"), err)
	}
	return l, true, nil
}

func (l live) write(txn *badger.Txn) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return txn.Set([]byte(liveKey), b)
}
