package projections

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
	"svc/eventstore"
)

// Report is the outcome of a rebuild.
type Report struct {
	Generation uint32          `json:"generation"` // the one that serves now
	Position   domain.Position `json:"position"`   // the last events that it contained when it became live
	Duration   Duration        `json:"duration"`
}

// Progress receives how far a rebuild or a verification has come: messages
// done, out of a total that grows with the logs. It may be nil.
type Progress func(done, total uint64)

// errSuperseded says that the logs themselves were replaced meanwhile.
var errSuperseded = errors.New("projections: the read models were replaced during the rebuild")

// Rebuild builds the read models again from the beginning of the logs, beside the live ones, and
// replaces those atomically. When it fails, nothing changes. It does not need Run, and clears the
// fault of a log. One rebuild or verification runs at a time; others wait.
func (m *Models) Rebuild(ctx context.Context, progress Progress) (Report, error) {
	if err := m.work.acquire(ctx); err != nil {
		return Report{}, fmt.Errorf("wait to rebuild read models: %w", err)
	}
	defer m.work.release()
	if err := m.db.demandCopy(); err != nil {
		return Report{}, fmt.Errorf("rebuild read models: %w", err)
	}
	started := m.opts.Now()
	old := m.live.Load()
	gen, err := m.claimGeneration(m.opts.Projections)
	if err != nil {
		return Report{}, err
	}
	defer m.releaseGeneration(gen)
	progress, end := m.trackBuild(gen, progress)
	defer end()
	writers, err := m.build(ctx, gen, progress)
	if err != nil {
		return Report{}, fmt.Errorf("rebuild read models: %w", err)
	}
	if err := m.swapIn(ctx, old, gen, writers); err != nil {
		return Report{}, fmt.Errorf("rebuild read models: %w", err)
	}
	r := Report{Generation: gen.num, Position: m.Position(), Duration: Duration(m.opts.Now().Sub(started))}
	m.opts.Log.Info("read models rebuilt", "generation", r.Generation, "state", r.Position.State,
		"activity", r.Position.Activity, "duration", r.Duration)
	return r, nil
}

// build fills gen from the logs. The second pass reads the events that were recorded during the
// first, so that few are left for the swap.
func (m *Models) build(ctx context.Context, gen *generation, progress Progress) ([]*writer, error) {
	meter := newMeter(progress)
	writers := m.newBuilders(gen)
	for range 2 {
		for _, w := range writers {
			if err := m.replay(ctx, w, maxSeq, meter); err != nil {
				return nil, err
			}
		}
	}
	return writers, nil
}

// swapIn brings gen to the position of the live generation, while nothing writes to that one, and
// replaces it.
func (m *Models) swapIn(ctx context.Context, old, gen *generation, writers []*writer) error {
	release, err := m.pauseWriters(ctx)
	if err != nil {
		return err
	}
	defer release()
	if m.live.Load() != old {
		return errSuperseded
	}
	at := map[domain.Log]uint64{}
	for i, w := range writers {
		if err := m.replay(ctx, w, m.logs[i].applied.Load(), newMeter(nil)); err != nil {
			return err
		}
		at[w.log] = w.at.Seq
	}
	return m.install(gen, at)
}

// replay applies the log from the position of w, a builder, up to and including until, or to its end.
func (m *Models) replay(ctx context.Context, w *writer, until uint64, meter *meter) error {
	if w.at.Seq >= until {
		return nil
	}
	info, err := m.opts.Store.Info(ctx, w.log)
	if err != nil {
		return fmt.Errorf("look at %s: %w", w.log, err)
	}
	if w.at.Identity != "" && w.at.Identity != info.Identity {
		return errSuperseded
	}
	w.at.Identity = info.Identity
	last := min(info.Last, until)
	if w.at.Seq >= last {
		return nil
	}
	meter.expect(w.log, info.Messages)
	err = m.read(ctx, w.log, w.at.Seq+1, func(b eventstore.Batch) (more bool, err error) {
		events := eventsUpTo(b.Events, until)
		if err := w.apply(events); err != nil {
			return false, err
		}
		more = b.Pending > 0 && len(events) == len(b.Events) && w.at.Seq < until
		left := min(b.Pending, info.Messages)
		if !more {
			left, err = 0, w.finishAt(last)
		}
		meter.report(w.log, info.Messages-left)
		return more, err
	})
	return cmp.Or(err, w.flush()) // also what came before a fault
}

func eventsUpTo(events []domain.Recorded, until uint64) []domain.Recorded {
	for i, ev := range events {
		if ev.Seq > until {
			return events[:i]
		}
	}
	return events
}

// meter adds up the progress of several logs.
type meter struct {
	progress    Progress
	done, total map[domain.Log]uint64
}

func newMeter(progress Progress) *meter {
	return &meter{progress: progress, done: map[domain.Log]uint64{}, total: map[domain.Log]uint64{}}
}

// expect says that a log has so many messages.
func (t *meter) expect(log domain.Log, messages uint64) {
	t.total[log] = max(t.total[log], messages)
	t.tell()
}

func (t *meter) report(log domain.Log, messages uint64) {
	t.done[log] = max(t.done[log], messages)
	t.tell()
}

func (t *meter) tell() {
	if t.progress == nil {
		return
	}
	var done, total uint64
	for l, n := range t.total {
		done += t.done[l]
		total += max(t.done[l], n)
	}
	t.progress(done, total)
}

// VerifyReport is the outcome of a verification.
type VerifyReport struct {
	OK          bool               `json:"ok"`
	Position    domain.Position    `json:"position"` // what was compared: the live model as of here
	Projections []ProjectionReport `json:"projections"`
	Logs        []LogReport        `json:"logs"`
	Fault       *Fault             `json:"fault,omitempty"` // what stopped the rebuild, when something did
	Duration    Duration           `json:"duration"`
}

// ProjectionReport compares one live read model with the rebuilt one.
type ProjectionReport struct {
	Name        string `json:"name"`
	Keys        uint64 `json:"keys"`
	LiveHash    string `json:"liveHash"`
	RebuiltHash string `json:"rebuiltHash"`
	Equal       bool   `json:"equal"`
	FirstDiff   string `json:"firstDiff,omitempty"` // the first key that differs, quoted; or that the live one is not built
}

// LogReport is what the verification read of one log.
type LogReport struct {
	Log      domain.Log `json:"log"`
	First    uint64     `json:"first"`
	Last     uint64     `json:"last"`
	Messages uint64     `json:"messages"`
	Gaps     []Gap      `json:"gaps,omitempty"` // of STATE; ACTIVITY may have gaps after a cleanup
}

// Gap is a range of missing sequences.
type Gap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// Verify rebuilds the read models from the logs, beside the live ones and up to their position, and
// compares both byte by byte; and it searches STATE for gaps. Differences are in the report, not in
// the error. Requests are served meanwhile, and the rebuilt copy is dropped in any case.
func (m *Models) Verify(ctx context.Context, progress Progress) (r VerifyReport, err error) {
	if err := m.work.acquire(ctx); err != nil {
		return r, fmt.Errorf("wait to verify read models: %w", err)
	}
	defer m.work.release()
	if err := m.db.demandCopy(); err != nil {
		return r, fmt.Errorf("verify read models: %w", err)
	}
	started := m.opts.Now()
	scratch, err := m.claimGeneration(m.opts.Projections)
	if err != nil {
		return r, err
	}
	defer m.releaseGeneration(scratch)
	defer func() { err = errors.Join(err, m.dropGeneration(scratch.num, func() bool { return false })) }()
	release, err := m.pauseWriters(ctx) // between two events, also of a large one
	if err != nil {
		return r, fmt.Errorf("wait to verify read models: %w", err)
	}
	txn, gen := m.snapshot()
	defer txn.Discard()
	release()
	err = m.buildScratch(ctx, txn, gen, scratch, newMeter(progress), &r)
	if fault, ok := errors.AsType[*Fault](err); ok {
		r.Fault, err = fault, nil
	}
	if err == nil {
		err = m.compare(txn, gen, scratch, &r)
	}
	if err != nil {
		return r, fmt.Errorf("verify read models: %w", err)
	}
	r.Duration = Duration(m.opts.Now().Sub(started))
	r.OK = r.isOK()
	return r, nil
}

// AddSearch adds the comparison of the search index.
func (r *VerifyReport) AddSearch(ctx context.Context, x interface {
	Verify(context.Context) (ProjectionReport, error)
}) error {
	report, err := x.Verify(ctx)
	if err != nil {
		return err
	}
	r.Projections = append(r.Projections, report)
	r.OK = r.isOK()
	return nil
}

func (r *VerifyReport) isOK() bool {
	for _, p := range r.Projections {
		if !p.Equal {
			return false
		}
	}
	for _, l := range r.Logs {
		if len(l.Gaps) > 0 {
			return false
		}
	}
	return r.Fault == nil
}

// buildScratch replays each log up to the checkpoint that txn sees of gen.
func (m *Models) buildScratch(ctx context.Context, txn *badger.Txn, gen, scratch *generation, meter *meter, r *VerifyReport) error {
	for _, f := range m.logs {
		at, err := readCheckpoint(txn, gen, f.log)
		if err != nil {
			return err
		}
		r.Position = r.Position.Max(domain.At(f.log, at.Seq))
		r.Logs = append(r.Logs, LogReport{Log: f.log})
		if err := m.replayScratch(ctx, scratch, at, meter, &r.Logs[len(r.Logs)-1]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Models) replayScratch(ctx context.Context, scratch *generation, at checkpoint, meter *meter, l *LogReport) error {
	w := m.newBuilder(scratch, l.Log, checkpoint{Identity: at.Identity})
	w.audit = l
	return m.replay(ctx, w, at.Seq, meter)
}

// countEvent counts one event. An event that is applied again, because its transaction was split, is
// counted once.
func (l *LogReport) countEvent(seq uint64) {
	if seq <= l.Last {
		return
	}
	if l.Messages == 0 {
		l.First = seq
	}
	l.Last = seq
	l.Messages++
}

// addGap records a gap, once.
func (l *LogReport) addGap(from, to uint64) {
	if n := len(l.Gaps); n == 0 || l.Gaps[n-1].To < to {
		l.Gaps = append(l.Gaps, Gap{from, to})
	}
}

// compare hashes each projection of gen, as txn sees it, and of scratch.
func (m *Models) compare(txn *badger.Txn, gen, scratch *generation, r *VerifyReport) error {
	rebuilt := m.db.NewTransaction(false)
	defer rebuilt.Discard()
	for _, p := range m.opts.Projections {
		pr := ProjectionReport{Name: p.Name()}
		area, err := gen.area(p)
		if err != nil {
			pr.FirstDiff = "the beginning: it is not built"
			r.Projections = append(r.Projections, pr)
			continue
		}
		a, b := keyArea{txn, area}, keyArea{rebuilt, scratch.areas[p.Name()]}
		if pr.Keys, pr.LiveHash, err = a.hash(); err != nil {
			return err
		}
		if _, pr.RebuiltHash, err = b.hash(); err != nil {
			return err
		}
		if pr.Equal = pr.LiveHash == pr.RebuiltHash; !pr.Equal {
			pr.FirstDiff = firstDiff(a, b)
		}
		r.Projections = append(r.Projections, pr)
	}
	return nil
}

// keyArea is the keys of one projection as one transaction sees them.
type keyArea struct {
	txn    *badger.Txn
	prefix []byte
}

func (a keyArea) hash() (keys uint64, sum string, err error) {
	h := sha256.New()
	err = iterate(a.txn, a.prefix, Span{}, func(key, value []byte) (bool, error) {
		keys++
		hashPart(h, key)
		hashPart(h, value)
		return true, nil
	})
	return keys, hex.EncodeToString(h.Sum(nil)), err
}

// hashPart adds b with its length, so that different lists of parts have different hashes.
func hashPart(h hash.Hash, b []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(b)))
	h.Write(n[:])
	h.Write(b)
}

// firstDiff returns the first key on which a and b disagree, quoted.
func firstDiff(a, b keyArea) string {
	ia, ib := a.iterator(), b.iterator()
	defer ia.Close()
	defer ib.Close()
	for ; ia.Valid() && ib.Valid(); ia.Next() {
		ka, kb := ia.Item().Key()[len(a.prefix):], ib.Item().Key()[len(b.prefix):]
		if c := bytes.Compare(ka, kb); c != 0 || !sameValue(ia.Item(), ib.Item()) {
			return fmt.Sprintf("%q", smaller(c, ka, kb))
		}
		ib.Next()
	}
	for it, skip := range map[*badger.Iterator]int{ia: len(a.prefix), ib: len(b.prefix)} {
		if it.Valid() {
			return fmt.Sprintf("%q", it.Item().Key()[skip:])
		}
	}
	return ""
}

func smaller(c int, a, b []byte) []byte {
	if c <= 0 {
		return a
	}
	return b
}

func (a keyArea) iterator() *badger.Iterator {
	opts := badger.DefaultIteratorOptions
	opts.Prefix, opts.PrefetchValues = a.prefix, false
	it := a.txn.NewIterator(opts)
	it.Rewind()
	return it
}

func sameValue(a, b *badger.Item) bool {
	va, errA := a.ValueCopy(nil)
	vb, errB := b.ValueCopy(nil)
	return errA == nil && errB == nil && bytes.Equal(va, vb)
}

// requestSweep asks Run to drop generations that nobody uses. Without Run they stay
// until the next start.
func (m *Models) requestSweep() {
	select {
	case m.sweep <- struct{}{}:
	default: // asked already
	}
}

func (m *Models) sweepLoop(ctx context.Context) {
	m.requestSweep() // for what an earlier process left behind
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.sweep:
		}
		if err := m.sweepOnce(ctx); err != nil {
			m.opts.Log.Warn("old read models were not dropped", "err", err)
		}
	}
}

// sweepOnce drops every generation that is neither live nor being built, and what read models of other names have left
// in the others.
func (m *Models) sweepOnce(ctx context.Context) error {
	var nums []uint32
	err := m.db.View(func(txn *badger.Txn) (err error) {
		nums, err = generations(txn)
		return err
	})
	if err != nil {
		return err
	}
	for _, num := range nums {
		stop := func() bool { return ctx.Err() != nil }
		if !m.isInUse(num) {
			err = m.dropGeneration(num, stop)
		} else {
			err = m.dropFormer(num, stop)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dropFormer deletes the keys of a generation that belong to read models that the live one does not have there.
func (m *Models) dropFormer(num uint32, stop func() bool) error {
	if m.isClaimed(num) {
		return nil // it is being built
	}
	txn, gen := m.snapshot()
	areas, err := areasOf(txn, num)
	txn.Discard()
	if err != nil {
		return err
	}
	for _, area := range areas {
		name := string(area[len(dataPrefix(num)) : len(area)-1])
		if bytes.Equal(gen.areas[name], area) {
			continue
		}
		if err := dropPrefix(m.db, area, stop); err != nil || stop() {
			return err
		}
		m.opts.Log.Info("former read model dropped", "name", name, "generation", num)
	}
	return nil
}

// dropGeneration deletes a generation, and its number once all of it is gone.
func (m *Models) dropGeneration(num uint32, stop func() bool) error {
	if err := dropPrefix(m.db, generationPrefix(num), stop); err != nil || stop() {
		return err
	}
	if err := m.db.Update(func(txn *badger.Txn) error { return txn.Delete(numberKey(num)) }); err != nil {
		return err
	}
	m.opts.Log.Info("read models dropped", "generation", num)
	return nil
}

func (m *Models) isInUse(num uint32) bool {
	if m.isClaimed(num) {
		return true
	}
	gen := m.live.Load() // what was built is live before it is released
	for _, area := range gen.areas {
		if homeOf(area) == num {
			return true
		}
	}
	return gen.num == num
}

func (m *Models) isClaimed(num uint32) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, claimed := m.claimed[num]
	return claimed
}

// claimGeneration returns a new generation of projections that is not swept until it is released. Its number is
// stored before its first key.
func (m *Models) claimGeneration(projections []Projection) (*generation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	num := m.next
	if err := m.db.Update(func(txn *badger.Txn) error { return txn.Set(numberKey(num), nil) }); err != nil {
		return nil, fmt.Errorf("begin generation %d: %w", num, err)
	}
	m.next++
	m.claimed[num] = struct{}{}
	return newGeneration(num, projections), nil
}

// releaseGeneration leaves gen to be swept, unless it became the live one.
func (m *Models) releaseGeneration(gen *generation) {
	m.mu.Lock()
	delete(m.claimed, gen.num)
	m.mu.Unlock()
	m.requestSweep()
}
