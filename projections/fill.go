package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"svc/domain"
	"svc/eventstore"
)

// minFill is how many messages a log has at least when read models that have nothing of it are filled.
const minFill = 1000

// fill builds read models that have nothing yet, as after a change of their names, in a generation of its own, which
// then replaces gen: that takes a fraction of what following takes. Until then nobody reads any of it, and when it is
// interrupted nothing is left of it. It reports whether that was done; otherwise the logs are to be followed. That is
// so, too, when an event is refused: then what came before it can be read.
func (m *Models) fill(ctx context.Context, gen *generation) (filled bool, err error) {
	if empty, err := m.isEmpty(gen); err != nil || !empty {
		return false, err
	}
	if err := m.work.acquire(ctx); err != nil { // the follower of the other log may be filling it
		return false, err
	}
	defer m.work.release()
	logs, err := m.worthFilling(ctx, gen)
	if err != nil || logs == nil {
		return false, err
	}
	err = m.fillNow(ctx, gen, logs)
	if fault, ok := errors.AsType[*Fault](err); ok {
		m.opts.Log.Warn("read models are followed from the beginning", "why", fault)
		m.unfillable.Store(gen.num)
		return false, nil
	}
	return err == nil, err
}

// worthFilling returns what each log has, nil when gen is not empty or the logs are short.
func (m *Models) worthFilling(ctx context.Context, gen *generation) (logs map[domain.Log]eventstore.Info, err error) {
	if empty, err := m.isEmpty(gen); err != nil || !empty {
		return nil, err
	}
	long := false
	logs = map[domain.Log]eventstore.Info{}
	for _, f := range m.logs {
		info, err := m.opts.Store.Info(ctx, f.log)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", f.log, err)
		}
		logs[f.log], long = info, long || info.Messages >= minFill
	}
	if !long {
		return nil, nil
	}
	return logs, nil
}

// isEmpty reports whether gen is live and has nothing of any log, and whether it may be filled.
func (m *Models) isEmpty(gen *generation) (empty bool, err error) {
	if m.live.Load() != gen || m.unfillable.Load() == gen.num {
		return false, nil
	}
	err = m.db.View(func(txn *badger.Txn) error {
		for _, f := range m.logs {
			at, err := readCheckpoint(txn, gen, f.log)
			if err != nil || at != (checkpoint{}) {
				return err
			}
		}
		empty = true
		return nil
	})
	return empty, err
}

// fillNow is fill up to the ends of the logs. What comes after them is followed: listeners wait for it.
func (m *Models) fillNow(ctx context.Context, old *generation, logs map[domain.Log]eventstore.Info) error {
	started := m.opts.Now()
	if err := m.checkState(ctx, logs[domain.State], 0); err != nil { // snapshots may be later than what the log has kept
		return err
	}
	gen, err := m.claimGeneration()
	if err != nil {
		return err
	}
	defer m.releaseGeneration(gen)
	m.opts.Log.Info("building read models", "generation", gen.num, "state", logs[domain.State].Last, "activity", logs[domain.Activity].Last)
	meter := newMeter(m.logProgress(gen))
	for log, info := range logs {
		meter.expect(log, info.Messages)
	}
	var writers []*writer
	for _, f := range m.logs {
		w := m.newBuilder(gen, f.log, checkpoint{})
		if err := m.replay(ctx, w, logs[f.log].Last, meter); err != nil {
			return err
		}
		writers = append(writers, w)
	}
	if err := m.swapIn(ctx, old, gen, writers); err != nil {
		return err
	}
	m.opts.Log.Info("read models built", "generation", gen.num, "duration", Duration(m.opts.Now().Sub(started)))
	return nil
}

// fillReportEvery is how often a node says how far it has come with its read models.
const fillReportEvery = 10 * time.Second

// logProgress returns a Progress that writes to the log of the node, now and then.
func (m *Models) logProgress(gen *generation) Progress {
	last := m.opts.Now()
	return func(done, total uint64) {
		if now := m.opts.Now(); now.Sub(last) >= fillReportEvery {
			m.opts.Log.Info("read models are being built", "generation", gen.num, "messages", done, "of", total)
			last = now
		}
	}
}
