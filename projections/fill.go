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
	gen, err := m.claimGeneration(m.opts.Projections)
	if err != nil {
		return err
	}
	defer m.releaseGeneration(gen)
	m.opts.Log.Info("building read models", "generation", gen.num, "state", logs[domain.State].Last, "activity", logs[domain.Activity].Last)
	progress, end := m.trackBuild(gen, m.logProgress(gen))
	defer end()
	meter := newMeter(progress)
	for log, info := range logs {
		meter.expect(log, info.Messages)
	}
	writers := m.newBuilders(gen)
	for _, w := range writers {
		if err := m.replay(ctx, w, logs[w.log].Last, meter); err != nil {
			return err
		}
	}
	if err := m.swapIn(ctx, old, gen, writers); err != nil {
		return err
	}
	m.opts.Log.Info("read models built", "generation", gen.num, "duration", Duration(m.opts.Now().Sub(started)))
	return nil
}

// addMissing builds the read models that the live generation does not have, and tries again when a log or the store did
// not answer.
func (m *Models) addMissing(ctx context.Context) {
	for pause := firstPause; len(m.live.Load().missing) > 0; pause = min(2*pause, lastPause) {
		err := m.buildMissing(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil || errors.Is(err, errSuperseded) {
			continue // all were built, or all are
		}
		fault, ok := errors.AsType[*Fault](err)
		if !ok {
			fault = &Fault{Kind: FaultStore, Message: err.Error(), Err: err}
		}
		m.opts.Log.Error("read models were not built", "which", namesOf(m.live.Load().missing), "err", fault)
		m.incomplete.Store(fault)
		for _, f := range m.logs {
			f.notify()
		}
		if fault.stops() {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// buildMissing builds the read models that the live generation does not have, in a generation of their own, up to where that
// one is, while it is read and follows the logs. Then they belong to it.
func (m *Models) buildMissing(ctx context.Context) error {
	if err := m.work.acquire(ctx); err != nil {
		return err
	}
	defer m.work.release()
	live := m.live.Load()
	if len(live.missing) == 0 {
		return nil
	}
	started := m.opts.Now()
	gen, err := m.claimGeneration(live.missing)
	if err != nil {
		return err
	}
	defer m.releaseGeneration(gen)
	m.opts.Log.Info("building some read models", "generation", gen.num, "which", namesOf(live.missing))
	progress, end := m.trackBuild(gen, m.logProgress(gen))
	defer end()
	meter := newMeter(progress)
	var writers []*writer
	for _, w := range m.newBuilders(gen) {
		if len(w.scopes) > 0 {
			writers = append(writers, w)
		}
	}
	for range 2 { // the second time, few events are left
		if err := m.replayToLive(ctx, writers, meter); err != nil {
			return err
		}
	}
	release, err := m.pauseWriters(ctx)
	if err != nil {
		return err
	}
	defer release()
	if m.live.Load() != live {
		return errSuperseded
	}
	if err := m.replayToLive(ctx, writers, meter); err != nil {
		return err
	}
	at, err := m.positionsBetweenEvents(live)
	if err != nil {
		return err
	}
	for _, w := range writers {
		if w.at.Seq != at[w.log] {
			return newGapFault(w.log, w.at.Seq+1, at[w.log])
		}
	}
	if err := m.install(live.with(gen), at); err != nil {
		return err
	}
	m.opts.Log.Info("some read models built", "generation", gen.num, "duration", Duration(m.opts.Now().Sub(started)))
	return nil
}

// replayToLive brings builders to where the live generation is.
func (m *Models) replayToLive(ctx context.Context, writers []*writer, meter *meter) error {
	position := m.Position()
	for _, w := range writers {
		if err := m.replay(ctx, w, position.Of(w.log), meter); err != nil {
			return err
		}
	}
	return nil
}

// positionsBetweenEvents returns how far the live generation is. It fails when some read models have an event that others do
// not have yet: what is left of that is known by their number.
func (m *Models) positionsBetweenEvents(gen *generation) (map[domain.Log]uint64, error) {
	positions := map[domain.Log]uint64{}
	err := m.db.View(func(txn *badger.Txn) error {
		for _, f := range m.logs {
			at, err := readCheckpoint(txn, gen, f.log)
			if err != nil {
				return err
			}
			if at.Ahead > 0 {
				return fmt.Errorf("%s is within event %d", f.log, at.Seq+1)
			}
			positions[f.log] = at.Seq
		}
		return nil
	})
	return positions, err
}

// trackBuild shows a build of gen in Health until it ends. The progress is passed on to also, which may be nil.
func (m *Models) trackBuild(gen *generation, also Progress) (progress Progress, end func()) {
	started, names := m.opts.Now(), namesOf(gen.projections)
	m.building.Store(&Build{ReadModels: names})
	return func(done, total uint64) {
		m.building.Store(&Build{ReadModels: names, Done: done, Total: total, Elapsed: Duration(m.opts.Now().Sub(started))})
		if also != nil {
			also(done, total)
		}
	}, func() { m.building.Store(nil) }
}

// fillReportEvery is how often a node says how far it has come with its read models.
const fillReportEvery = 10 * time.Second

// logProgress returns a Progress that writes to the log of the node, now and then.
func (m *Models) logProgress(gen *generation) Progress {
	last := m.opts.Now()
	return func(done, total uint64) {
		if now := m.opts.Now(); now.Sub(last) >= fillReportEvery {
			m.opts.Log.Info("read models are being built", "generation", gen.num, "messages", done, "of", total, "progress", m.building.Load())
			last = now
		}
	}
}
