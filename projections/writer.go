package projections

import (
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
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
	scopes  []scope
	at      checkpoint
	key     []byte // of the checkpoint
	metrics *metrics
	now     func() time.Time
	// bulk takes what is applied, up to a flush. It is nil for the live generation.
	bulk *bulk
	// audit takes note of events and of gaps, which are then no fault. It is nil
	// but for a verification.
	audit *LogReport
}

// scope is a projection with the place of its keys.
type scope struct {
	Projection
	area []byte
}

func (m *Models) newWriter(gen *generation, log domain.Log, at checkpoint) *writer {
	w := &writer{db: m.db, gen: gen, log: log, at: at, key: gen.checkpointKey(log), metrics: m.metrics, now: m.opts.Now}
	for _, p := range m.opts.Projections {
		if p.Log() == log {
			w.scopes = append(w.scopes, scope{p, gen.areas[p.Name()]})
		}
	}
	return w
}

// apply applies events, leaving out those that were applied before. When it
// fails, everything before the event at fault has been applied.
func (w *writer) apply(events []domain.Recorded) error {
	if w.bulk != nil {
		return w.collect(events)
	}
	for len(events) > 0 && events[0].Seq <= w.at.Seq {
		events = events[1:]
	}
	if len(events) > 0 && w.at.Ahead > 0 {
		if err := w.applyApart(events[0]); err != nil {
			return err
		}
		events = events[1:]
	}
	for len(events) > 0 {
		n := cut(events)
		if err := w.applySplit(events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

// cut returns how many of events make one transaction.
func cut(events []domain.Recorded) int {
	size := 0
	for i, ev := range events {
		if size += ev.Size; i > 0 && (i == maxBatchEvents || size > maxBatchBytes) {
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
		return w.applyApart(events[0])
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

// commit applies events and moves the checkpoint, all or nothing. When it fails
// on one of them, n is how many come before it.
func (w *writer) commit(events []domain.Recorded) (n int, err error) {
	started := w.now()
	txn := w.db.NewTransaction(true)
	defer txn.Discard()
	at, count := w.at, 0
	for i, ev := range events {
		if ev.Seq <= at.Seq {
			continue
		}
		if err := w.applyOne(stored{txn}, at, ev); err != nil {
			return i, err
		}
		at.Seq, at.EventID = ev.Seq, ev.ID
		count++
	}
	if count == 0 {
		return 0, nil
	}
	if err := w.moveTo(txn, at); err != nil {
		return 0, err
	}
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

// applyApart applies one event with a transaction for each projection. The
// checkpoint tells how many have done so, so that each applies it once.
func (w *writer) applyApart(ev domain.Recorded) error {
	counts, err := w.check(w.at, ev)
	if err != nil || !counts {
		return err
	}
	for i := w.at.Ahead; i < len(w.scopes); i++ {
		at := w.at
		at.Ahead = i + 1
		if at.Ahead == len(w.scopes) {
			at = checkpoint{Identity: at.Identity, Seq: ev.Seq, EventID: ev.ID}
		}
		if err := w.applyAlone(w.scopes[i], ev, at); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) applyAlone(s scope, ev domain.Recorded, at checkpoint) error {
	txn := w.db.NewTransaction(true)
	defer txn.Discard()
	err := s.safely(stored{txn}, ev)
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
func (w *writer) applyInParts(s scope, ev domain.Recorded, at checkpoint) error {
	parts := newBulk(w.db)
	parts.partial = true // others were written before
	if err := s.safely(parts, ev); err != nil {
		return err
	}
	if err := parts.flush(); err != nil {
		return err
	}
	txn := w.db.NewTransaction(true)
	defer txn.Discard()
	return w.moveTo(txn, at)
}

// applyOne hands ev, which follows at, to every projection of the log.
func (w *writer) applyOne(to keys, at checkpoint, ev domain.Recorded) error {
	counts, err := w.check(at, ev)
	if err != nil || !counts {
		return err
	}
	for _, s := range w.scopes {
		if err := s.safely(to, ev); err != nil {
			return err
		}
	}
	return nil
}

// check tells whether ev, which follows at, is to be applied, or is a fault.
func (w *writer) check(at checkpoint, ev domain.Recorded) (counts bool, err error) {
	if w.log == domain.State && ev.Seq != at.Seq+1 {
		if err := w.gap(at.Seq+1, ev.Seq-1); err != nil {
			return false, err
		}
	}
	if w.audit != nil {
		w.audit.count(ev.Seq)
	}
	switch e := ev.Data.(type) {
	case domain.Void:
		return false, nil // it takes a place in the log, but never counted
	case domain.Unknown:
		if w.log == domain.State {
			return false, &Fault{Kind: FaultUnknown, Log: w.log, From: ev.Seq, To: ev.Seq,
				Message: fmt.Sprintf("this version does not know the event type %q", e.Name)}
		}
	}
	return true, nil
}

// gap deals with sequences that STATE should hold and does not.
func (w *writer) gap(from, to uint64) error {
	if w.audit == nil {
		return gap(w.log, from, to)
	}
	w.audit.missing(from, to)
	return nil
}

// safely applies ev and makes a fault of an error and of a panic alike.
func (s scope) safely(to keys, ev domain.Recorded) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.fault(ev, fmt.Errorf("panic: %v", r))
		}
	}()
	if err := s.Apply(Tx{to, s.area}, ev); err != nil {
		return s.fault(ev, err)
	}
	return nil
}

func (s scope) fault(ev domain.Recorded, err error) error {
	return &Fault{Kind: FaultApply, Log: ev.Log, Projection: s.Name(), From: ev.Seq, To: ev.Seq, Message: err.Error(), Err: err}
}

// settle accounts for the end of the log, which is known to have reached last
// before it said that nothing is pending. What STATE did not deliver is missing;
// what ACTIVITY did not deliver was purged.
func (w *writer) settle(last uint64) error {
	if w.at.Seq >= last {
		return nil
	}
	if w.log == domain.State {
		if err := w.gap(w.at.Seq+1, last); err != nil {
			return err
		}
	}
	end := checkpoint{Identity: w.at.Identity, Seq: last}
	if w.bulk != nil {
		w.at = end
		return nil
	}
	txn := w.db.NewTransaction(true)
	defer txn.Discard()
	return w.moveTo(txn, end)
}
