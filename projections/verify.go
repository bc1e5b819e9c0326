package projections

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
)

// VerifyReport is the outcome of a verification.
type VerifyReport struct {
	OK          bool               `json:"ok"`
	Position    domain.Position    `json:"position"` // what was compared: the live model as of here
	Projections []ProjectionReport `json:"projections"`
	Logs        []LogReport        `json:"logs"`
	Fault       *Fault             `json:"fault,omitempty"` // what stopped the rebuild, when something did
	Duration    Duration           `json:"duration"`
}

// ProjectionReport compares one live read model with its rebuilt twin.
type ProjectionReport struct {
	Name        string `json:"name"`
	Keys        uint64 `json:"keys"`
	LiveHash    string `json:"liveHash"`
	RebuiltHash string `json:"rebuiltHash"`
	Equal       bool   `json:"equal"`
	FirstDiff   string `json:"firstDiff,omitempty"` // the first key that differs, quoted
}

// LogReport is what the verification read of one log.
type LogReport struct {
	Log      domain.Log `json:"log"`
	First    uint64     `json:"first"`
	Last     uint64     `json:"last"`
	Messages uint64     `json:"messages"`
	Gaps     []Gap      `json:"gaps,omitempty"` // of STATE; ACTIVITY is cleaned up and has them by right
}

// Gap is a range of missing sequences.
type Gap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// Verify rebuilds the read models from the logs, beside the live ones and up to
// exactly where those are now, and compares the two byte by byte; and it reads
// STATE for gaps. Differences are in the report, not in the error. Traffic goes
// on meanwhile, and the rebuilt copy is dropped in any case.
func (m *Models) Verify(ctx context.Context, progress Progress) (r VerifyReport, err error) {
	if err := m.work.acquire(ctx); err != nil {
		return r, fmt.Errorf("wait to verify read models: %w", err)
	}
	defer m.work.release()
	if err := m.db.demandCopy(); err != nil {
		return r, fmt.Errorf("verify read models: %w", err)
	}
	started := m.opts.Now()
	scratch, err := m.claim()
	if err != nil {
		return r, err
	}
	defer m.disclaim(scratch)
	defer func() { err = errors.Join(err, m.drop(scratch.num, func() bool { return false })) }()
	release, err := m.hold(ctx) // between two events, also of a large one
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
	r.OK = r.good()
	return r, nil
}

func (r *VerifyReport) good() bool {
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

// count takes note of one event. One that is applied again, because its
// transaction was split, counts once.
func (l *LogReport) count(seq uint64) {
	if seq <= l.Last {
		return
	}
	if l.Messages == 0 {
		l.First = seq
	}
	l.Last = seq
	l.Messages++
}

// missing takes note of a gap, once.
func (l *LogReport) missing(from, to uint64) {
	if n := len(l.Gaps); n == 0 || l.Gaps[n-1].To < to {
		l.Gaps = append(l.Gaps, Gap{from, to})
	}
}

// compare hashes each projection of gen, as txn sees it, and of scratch.
func (m *Models) compare(txn *badger.Txn, gen, scratch *generation, r *VerifyReport) error {
	rebuilt := m.db.NewTransaction(false)
	defer rebuilt.Discard()
	for _, p := range m.opts.Projections {
		a, b := area{txn, gen.areas[p.Name()]}, area{rebuilt, scratch.areas[p.Name()]}
		pr := ProjectionReport{Name: p.Name()}
		var err error
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

// area is the keys of one projection as one transaction sees them.
type area struct {
	txn    *badger.Txn
	prefix []byte
}

func (a area) hash() (keys uint64, sum string, err error) {
	h := sha256.New()
	err = iterate(a.txn, a.prefix, Span{}, func(key, value []byte) (bool, error) {
		keys++
		hashPart(h, key)
		hashPart(h, value)
		return true, nil
	})
	return keys, hex.EncodeToString(h.Sum(nil)), err
}

// hashPart adds b with its length, so that no two lists of parts are alike.
func hashPart(h hash.Hash, b []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(b)))
	h.Write(n[:])
	h.Write(b)
}

// firstDiff returns the first key on which a and b disagree, quoted.
func firstDiff(a, b area) string {
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

func (a area) iterator() *badger.Iterator {
	opts := badger.DefaultIteratorOptions
	opts.Prefix = a.prefix
	it := a.txn.NewIterator(opts)
	it.Rewind()
	return it
}

func sameValue(a, b *badger.Item) bool {
	va, errA := a.ValueCopy(nil)
	vb, errB := b.ValueCopy(nil)
	return errA == nil && errB == nil && bytes.Equal(va, vb)
}
