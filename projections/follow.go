package projections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
	"svc/eventstore"
)

// Bounds of the pause before a log that did not answer is tried again.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Run follows the logs until ctx ends, which is no error. A log that cannot be
// followed further stops and shows in Health; the other goes on.
func (m *Models) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, f := range m.logs {
		running.Go(func() { m.follow(ctx, f) })
	}
	running.Go(func() { m.sweepLoop(ctx) })
	running.Wait()
	return nil
}

// follow keeps one log going: it starts over when the generation was replaced
// or the store failed, and waits for either when it stopped.
func (m *Models) follow(ctx context.Context, f *follower) {
	pause := firstPause
	for ctx.Err() == nil {
		attempt, cancel := f.begin(ctx)
		before := f.applied.Load()
		err := m.attempt(attempt, f)
		if f.applied.Load() != before {
			pause = firstPause
		}
		m.settleAttempt(attempt, f, err, pause)
		cancel()
		pause = min(2*pause, lastPause)
	}
}

// begin returns the context of one attempt, which restart ends.
func (f *follower) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	attempt, cancel := context.WithCancel(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancel = cancel
	return attempt, cancel
}

func (f *follower) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cancel != nil {
		f.cancel()
	}
}

// settleAttempt does what an attempt that ended with err asks for, and returns
// when the next one is due.
func (m *Models) settleAttempt(ctx context.Context, f *follower, err error, pause time.Duration) {
	if ctx.Err() != nil {
		return // the end, or another generation
	}
	if stale, ok := errors.AsType[*staleError](err); ok {
		if err = m.startOver(ctx, stale); err == nil || ctx.Err() != nil {
			return
		}
	}
	fault, ok := errors.AsType[*Fault](err)
	if !ok {
		fault = &Fault{Kind: FaultStore, Log: f.log, From: f.applied.Load(), To: f.applied.Load(), Message: fmt.Sprint(err), Err: err}
	}
	f.stop(fault)
	m.opts.Log.Error("read models stopped", "log", f.log, "kind", fault.Kind, "from", fault.From, "to", fault.To, "err", fault)
	var again <-chan time.Time
	if !fault.stops() {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-ctx.Done():
	case <-again:
	}
}

// startOver replaces the live generation, which does not belong to the logs, by
// an empty one.
func (m *Models) startOver(ctx context.Context, stale *staleError) error {
	release, err := m.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if m.live.Load() != stale.gen {
		return nil // the other log came first
	}
	m.opts.Log.Warn("read models are rebuilt", "why", stale.why)
	if err := m.snapshots.clear(); err != nil {
		return err
	}
	return m.installEmpty()
}

// hold stops all writing to the live generation.
func (m *Models) hold(ctx context.Context) (release func(), err error) {
	var held []semaphore
	release = func() {
		for _, gate := range held {
			gate.release()
		}
	}
	for _, f := range m.logs {
		if err := f.gate.acquire(ctx); err != nil {
			release()
			return nil, err
		}
		held = append(held, f.gate)
	}
	return release, nil
}

// attempt follows one log of the live generation as long as it goes well.
func (m *Models) attempt(ctx context.Context, f *follower) error {
	w, info, err := m.resume(ctx, f)
	if err != nil {
		return err
	}
	f.advance(w.at.Seq, info.Last-w.at.Seq)
	return m.read(ctx, f.log, w.at.Seq+1, func(b eventstore.Batch) (more bool, err error) {
		return true, m.handle(ctx, f, w, b, info.Last)
	})
}

// handle applies one batch to the live generation.
func (m *Models) handle(ctx context.Context, f *follower, w *writer, b eventstore.Batch, last uint64) error {
	if err := f.gate.acquire(ctx); err != nil {
		return err
	}
	defer f.gate.release()
	if m.live.Load() != w.gen {
		return errors.New("the generation was replaced") // and ctx has ended
	}
	var err error
	f.move(func() {
		err = w.apply(b.Events)
		if err == nil && b.Pending == 0 {
			err = w.settle(last)
		}
		f.advance(w.at.Seq, b.Pending)
	})
	if err != nil {
		return err
	}
	f.well(b.Pending == 0)
	if tap := m.tap.Load(); tap != nil {
		(*tap)(f.log, b.Events)
	}
	return nil
}

// resume returns the writer that continues the live generation, after comparing
// it with the log.
func (m *Models) resume(ctx context.Context, f *follower) (*writer, eventstore.Info, error) {
	// The log is looked at after the checkpoint, so that it cannot seem behind.
	txn, gen := m.snapshot()
	defer txn.Discard()
	at, err := readCheckpoint(txn, gen, f.log)
	if err != nil {
		return nil, eventstore.Info{}, err
	}
	info, err := m.opts.Store.Info(ctx, f.log)
	if err != nil {
		return nil, info, fmt.Errorf("look at %s: %w", f.log, err)
	}
	why, err := at.compare(ctx, m.opts.Store, f.log, info)
	if err != nil {
		return nil, info, err
	}
	if damage := m.opts.Damage(); why != "" && damage != nil {
		// These read models may be all that is left of the missing events.
		return nil, info, &Fault{Kind: FaultGap, Log: f.log, From: info.Last + 1, To: max(at.Seq, info.Last+1), Message: damage.Error(), Err: damage}
	}
	if why != "" {
		return nil, info, &staleError{gen: gen, why: why}
	}
	if f.log == domain.State {
		if err := m.checkState(ctx, info, at.Seq); err != nil {
			return nil, info, err
		}
	}
	at.Identity = info.Identity
	return m.newWriter(gen, f.log, at), info, nil
}

// checkState refuses a STATE with a hole in it, also one behind the checkpoint,
// and readies the snapshots for it, whose history is trusted up to there.
func (m *Models) checkState(ctx context.Context, info eventstore.Info, trusted uint64) error {
	if !info.Contiguous() {
		return m.findGap(ctx, info)
	}
	return m.snapshots.admit(info.Identity, trusted)
}

// findGap names the first range that is missing.
func (m *Models) findGap(ctx context.Context, info eventstore.Info) error {
	if info.First > 1 {
		return gap(domain.State, 1, info.First-1)
	}
	seen, found := uint64(0), error(nil)
	err := m.read(ctx, domain.State, 1, func(b eventstore.Batch) (more bool, err error) {
		for _, ev := range b.Events {
			if ev.Seq > seen+1 {
				found = gap(domain.State, seen+1, ev.Seq-1)
				return false, nil
			}
			seen = max(seen, ev.Seq)
		}
		return b.Pending > 0, nil
	})
	switch {
	case err != nil || found != nil:
		return errors.Join(found, err)
	case seen < info.Last:
		return gap(domain.State, seen+1, info.Last)
	}
	return nil
}

// readAhead is how many batches wait, decoded, while one is being applied.
const readAhead = 2

// read hands the batches of a log to visit, in order, until that returns false
// or fails, or ctx ends. The log is read and decoded meanwhile, on a goroutine
// that has ended when read returns.
func (m *Models) read(ctx context.Context, log domain.Log, from uint64, visit func(eventstore.Batch) (more bool, err error)) error {
	var reading sync.WaitGroup
	defer reading.Wait()
	sub, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan eventstore.Batch, readAhead)
	var ended error
	reading.Go(func() {
		defer close(batches)
		ended = m.opts.Store.Subscribe(sub, log, from, func(b eventstore.Batch) error { return send(sub, batches, b) })
	})
	for b := range batches {
		more, err := visit(gather(b, batches))
		if err != nil || !more {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case ended == nil:
		ended = errors.New("the subscription ended by itself")
	}
	return fmt.Errorf("read %s: %w", log, ended)
}

func send(ctx context.Context, batches chan<- eventstore.Batch, b eventstore.Batch) error {
	select {
	case batches <- b:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// gather adds to b what has come since, so that a log that is behind is applied
// in large transactions however small its batches are.
func gather(b eventstore.Batch, batches <-chan eventstore.Batch) eventstore.Batch {
	size := sizeOf(b.Events)
	for len(b.Events) < maxBatchEvents && size < maxBatchBytes {
		select {
		case next, ok := <-batches:
			if !ok {
				return b
			}
			b.Events, b.Pending = append(b.Events, next.Events...), next.Pending
			size += sizeOf(next.Events)
		default:
			return b
		}
	}
	return b
}

func sizeOf(events []domain.Recorded) (n int) {
	for _, ev := range events {
		n += ev.Size
	}
	return n
}

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

// checkpoint is how far a generation has read one log. It is written in the
// transaction of the events it covers.
type checkpoint struct {
	Identity string `json:"identity"` // of the log; differs when the log was made anew
	Seq      uint64 `json:"seq"`
	EventID  string `json:"eventId,omitempty"` // of the event at Seq; empty when that one was purged unread
	Ahead    int    `json:"ahead,omitempty"`   // how many projections have applied the event after Seq already
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

// staleError says why a generation does not belong to the log it is to follow.
// The answer to it is a rebuild.
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

// live is the stored record of which generation serves.
type live struct {
	Generation  uint32 `json:"generation"`
	Fingerprint string `json:"fingerprint"`
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
