package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc/domain"
	"svc/eventstore"
)

// Bounds of the pause before a retry when a log does not answer.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Run follows the logs until ctx ends, which is not an error. When one log cannot be followed any
// further, Health reports its fault, and the other one continues.
func (m *Models) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, f := range m.logs {
		running.Go(func() { m.follow(ctx, f) })
	}
	running.Go(func() { m.addMissing(ctx) })
	running.Go(func() { m.sweepLoop(ctx) })
	running.Wait()
	return nil
}

// follow follows one log. It starts again when the generation was replaced or the store failed;
// after any other fault it waits for a new generation.
func (m *Models) follow(ctx context.Context, f *follower) {
	pause := firstPause
	for ctx.Err() == nil {
		attempt, cancel := f.beginAttempt(ctx)
		before := f.applied.Load()
		err := m.followOnce(attempt, f)
		if f.applied.Load() != before {
			pause = firstPause
		}
		m.handleAttemptEnd(attempt, f, err, pause)
		cancel()
		pause = min(2*pause, lastPause)
	}
}

// beginAttempt returns the context of one attempt, which restart cancels.
func (f *follower) beginAttempt(ctx context.Context) (context.Context, context.CancelFunc) {
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

// handleAttemptEnd handles the error of an attempt, and returns when the next attempt may start.
func (m *Models) handleAttemptEnd(ctx context.Context, f *follower, err error, pause time.Duration) {
	if ctx.Err() != nil {
		return // the node stops, or the generation was replaced
	}
	if stale, ok := errors.AsType[*staleError](err); ok {
		if err = m.resetGeneration(ctx, stale); err == nil || ctx.Err() != nil {
			return
		}
	}
	fault, ok := errors.AsType[*Fault](err)
	if !ok {
		fault = &Fault{Kind: FaultStore, Log: f.log, From: f.applied.Load(), To: f.applied.Load(), Message: fmt.Sprint(err), Err: err}
	}
	f.setFault(fault)
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

// resetGeneration replaces the live generation, which does not belong to the logs, by
// an empty one.
func (m *Models) resetGeneration(ctx context.Context, stale *staleError) error {
	release, err := m.pauseWriters(ctx)
	if err != nil {
		return err
	}
	defer release()
	if m.live.Load() != stale.gen {
		return nil // the follower of the other log has replaced it
	}
	m.opts.Log.Warn("read models are rebuilt", "why", stale.why)
	if err := m.snapshots.clear(); err != nil {
		return err
	}
	return m.installEmpty()
}

// pauseWriters waits until nothing writes to the live generation, and keeps it so until release.
func (m *Models) pauseWriters(ctx context.Context) (release func(), err error) {
	var paused []semaphore
	release = func() {
		for _, gate := range paused {
			gate.release()
		}
	}
	for _, f := range m.logs {
		if err := f.gate.acquire(ctx); err != nil {
			release()
			return nil, err
		}
		paused = append(paused, f.gate)
	}
	return release, nil
}

// followOnce follows one log of the live generation until an error.
func (m *Models) followOnce(ctx context.Context, f *follower) error {
	w, info, err := m.openWriter(ctx, f)
	if err != nil {
		return err
	}
	f.advance(w.at.Seq, info.Last-w.at.Seq)
	if filled, err := m.fill(ctx, w.gen); err != nil || filled {
		return err // a filled generation is followed by the next attempt
	}
	return m.read(ctx, f.log, w.at.Seq+1, func(b eventstore.Batch) (more bool, err error) {
		return true, m.applyBatch(ctx, f, w, b, info.Last)
	})
}

// applyBatch applies one batch to the live generation.
func (m *Models) applyBatch(ctx context.Context, f *follower, w *writer, b eventstore.Batch, last uint64) error {
	if err := f.gate.acquire(ctx); err != nil {
		return err
	}
	defer f.gate.release()
	if m.live.Load() != w.gen {
		return errors.New("the generation was replaced") // and ctx has ended
	}
	var err error
	f.change(func() {
		err = w.apply(b.Events)
		if err == nil && b.Pending == 0 {
			err = w.finishAt(last)
		}
		w.end()
		f.advance(w.at.Seq, b.Pending)
	})
	if err != nil {
		return err
	}
	f.clearFault(b.Pending == 0)
	if tap := m.listener.Load(); tap != nil {
		(*tap)(f.log, b.Events)
	}
	return nil
}

// openWriter returns the writer that continues the live generation, after comparing
// it with the log.
func (m *Models) openWriter(ctx context.Context, f *follower) (*writer, eventstore.Info, error) {
	// The checkpoint is read before the log, so that it cannot seem to be ahead of the log.
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

// checkState returns a fault if STATE has a gap, also one before the checkpoint, and opens the
// snapshots for this log, which are trusted up to the checkpoint.
func (m *Models) checkState(ctx context.Context, info eventstore.Info, trusted uint64) error {
	if !info.Contiguous() {
		return m.findGap(ctx, info)
	}
	return m.snapshots.openFor(info.Identity, trusted)
}

// findGap returns the first missing range as a fault.
func (m *Models) findGap(ctx context.Context, info eventstore.Info) error {
	if info.First > 1 {
		return newGapFault(domain.State, 1, info.First-1)
	}
	seen, found := uint64(0), error(nil)
	err := m.read(ctx, domain.State, 1, func(b eventstore.Batch) (more bool, err error) {
		for _, ev := range b.Events {
			if ev.Seq > seen+1 {
				found = newGapFault(domain.State, seen+1, ev.Seq-1)
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
		return newGapFault(domain.State, seen+1, info.Last)
	}
	return nil
}

// readAhead is the number of decoded batches that are buffered while one is applied.
const readAhead = 2

// read calls visit with the batches of a log, in order, until visit returns false or an error, or
// ctx ends. The log is read and decoded in a goroutine, which has ended when read returns.
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
		more, err := visit(joinBatches(b, batches))
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

// joinBatches adds the batches that have arrived since to b, so that a long backlog is applied in
// large transactions even if its batches are small.
func joinBatches(b eventstore.Batch, batches <-chan eventstore.Batch) eventstore.Batch {
	size := totalBytes(b.Events)
	for len(b.Events) < maxBatchEvents && size < maxBatchBytes {
		select {
		case next, ok := <-batches:
			if !ok {
				return b
			}
			b.Events, b.Pending = append(b.Events, next.Events...), next.Pending
			size += totalBytes(next.Events)
		default:
			return b
		}
	}
	return b
}

func totalBytes(events []domain.Recorded) (n int) {
	for _, ev := range events {
		n += ev.Size
	}
	return n
}
