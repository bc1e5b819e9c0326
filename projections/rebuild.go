package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"svc/domain"
	"svc/eventstore"
)

// Report is the outcome of a rebuild.
type Report struct {
	Generation uint32          `json:"generation"` // the one that serves now
	Position   domain.Position `json:"position"`   // what it held when it took over
	Duration   Duration        `json:"duration"`
}

// Progress is told how far a rebuild or a verification has come: sequences
// done, out of a total that grows with the logs. It may be nil.
type Progress func(done, total uint64)

// errSuperseded says that the logs themselves were replaced meanwhile.
var errSuperseded = errors.New("projections: the read models were replaced during the rebuild")

// Rebuild builds the read models anew from the beginning of the logs, beside
// those that serve and follow, and puts them in their place at once: no reader
// sees half of either. When it fails, everything stays as it was. It needs no
// Run, and revives a log that had stopped. One rebuild or verification runs at a
// time; others wait.
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
	gen, err := m.claim()
	if err != nil {
		return Report{}, err
	}
	defer m.disclaim(gen)
	writers, err := m.build(ctx, gen, progress)
	if err != nil {
		return Report{}, fmt.Errorf("rebuild read models: %w", err)
	}
	if err := m.takeOver(ctx, old, gen, writers); err != nil {
		return Report{}, fmt.Errorf("rebuild read models: %w", err)
	}
	r := Report{Generation: gen.num, Position: m.Position(), Duration: Duration(m.opts.Now().Sub(started))}
	m.opts.Log.Info("read models rebuilt", "generation", r.Generation, "state", r.Position.State,
		"activity", r.Position.Activity, "duration", r.Duration)
	return r, nil
}

// build fills gen from the logs. The second pass reads what came during the
// first, so that little is left for the moment of the swap.
func (m *Models) build(ctx context.Context, gen *generation, progress Progress) ([]*writer, error) {
	meter := newMeter(progress)
	var writers []*writer
	for _, f := range m.logs {
		writers = append(writers, m.newBuilder(gen, f.log, checkpoint{}))
	}
	for range 2 {
		for _, w := range writers {
			if err := m.replay(ctx, w, never, meter); err != nil {
				return nil, err
			}
		}
	}
	return writers, nil
}

// takeOver brings gen to where the live generation is, while that one is held
// still, and puts it in its place.
func (m *Models) takeOver(ctx context.Context, old, gen *generation, writers []*writer) error {
	release, err := m.hold(ctx)
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

// replay applies the log from where w, a builder, is up to and with until, or
// to its end.
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
	meter.expect(w.log, last)
	err = m.read(ctx, w.log, w.at.Seq+1, func(b eventstore.Batch) (more bool, err error) {
		events := upTo(b.Events, until)
		if err := w.apply(events); err != nil {
			return false, err
		}
		more = b.Pending > 0 && len(events) == len(b.Events) && w.at.Seq < until
		if !more {
			err = w.settle(last)
		}
		meter.report(w.log, w.at.Seq)
		return more, err
	})
	return cmp.Or(err, w.flush()) // also what came before a fault
}

func upTo(events []domain.Recorded, until uint64) []domain.Recorded {
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

func (t *meter) expect(log domain.Log, last uint64) { t.total[log] = max(t.total[log], last) }

func (t *meter) report(log domain.Log, seq uint64) {
	t.done[log] = seq
	if t.progress == nil {
		return
	}
	var done, total uint64
	for l, n := range t.done {
		done += n
		total += max(n, t.total[l])
	}
	t.progress(done, total)
}
