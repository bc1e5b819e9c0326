package projections

import (
	"context"
	"errors"
	"slices"

	"svc/domain"
)

// Reach waits until p is applied to all read models. It fails when ctx ends, and with a *Fault when
// a log that has not come so far has stopped.
func (m *Models) Reach(ctx context.Context, p domain.Position) error {
	if err := m.ReachReadable(ctx, p); err != nil {
		return err
	}
	return m.awaitBuilt(ctx)
}

// ReachReadable is Reach without the read models that are being built: who reads those is refused.
func (m *Models) ReachReadable(ctx context.Context, p domain.Position) error {
	for _, f := range m.logs {
		if err := f.reach(ctx, p.Of(f.log)); err != nil {
			return err
		}
	}
	return nil
}

// awaitBuilt waits until no read model is missing.
func (m *Models) awaitBuilt(ctx context.Context) error {
	isBuilt := func() bool { return len(m.live.Load().missing) == 0 }
	if isBuilt() {
		return nil
	}
	var fault *Fault
	err := m.logs[0].wait(ctx, maxSeq, func() bool {
		fault = m.incomplete.Load()
		return fault.stops() || isBuilt()
	})
	if err == nil && !isBuilt() {
		return fault
	}
	return err
}

// Fresh waits until everything is applied that this node knows to be in the
// logs.
func (m *Models) Fresh(ctx context.Context) error { return m.Reach(ctx, m.opts.Known()) }

// Watch returns a channel that gets a token after Position has changed: one for all changes that nobody has received
// yet. The caller must call stop.
func (m *Models) Watch() (changed <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	for _, f := range m.logs {
		f.watch(ch)
	}
	return ch, func() {
		for _, f := range m.logs {
			f.unwatch(ch)
		}
	}
}

// CaughtUp waits until each log has been read to its end once, by all read models. It fails when ctx
// ends, and with a *Fault when a log stopped before.
func (m *Models) CaughtUp(ctx context.Context) error {
	for _, f := range m.logs {
		if err := f.awaitCaughtUp(ctx); err != nil {
			return err
		}
	}
	return m.awaitBuilt(ctx)
}

// Latest waits until everything is applied that any node has written. It fails when the
// log cannot tell what other nodes wrote: whoever takes work over must know what was done.
func (m *Models) Latest(ctx context.Context) error {
	if err := m.opts.Refresh(ctx); err != nil {
		return err
	}
	return m.Fresh(ctx)
}

// LatestState is Latest for the State log.
func (m *Models) LatestState(ctx context.Context) error {
	if err := m.opts.Refresh(ctx); err != nil {
		return err
	}
	return m.Reach(ctx, domain.At(domain.State, m.opts.Known().State))
}

// Current is Latest as far as it is possible: when the log cannot tell what other nodes
// wrote, it waits for what this node knows of. It does not wait while the read models wait
// for space on the disk: a full disk stops writes, not reads. Nor does it wait for read models
// that are being built, as ReachReadable.
func (m *Models) Current(ctx context.Context) error {
	if err := m.opts.Refresh(ctx); err != nil && ctx.Err() != nil {
		return err
	}
	if ctx.Err() == nil && m.isOutOfSpace() {
		return nil
	}
	return m.ReachReadable(ctx, m.opts.Known())
}

// isOutOfSpace reports whether the read models wait for space on the disk, and have something to read meanwhile.
func (m *Models) isOutOfSpace() bool {
	return slices.ContainsFunc(m.Health().Logs, func(l LogHealth) bool {
		return l.Applied > 0 && l.Fault != nil && errors.Is(l.Fault, ErrNoSpace)
	})
}

// RequestReads are the read models as a request waits for them. It implements
// gateway.ReadModel.
type RequestReads struct{ Models *Models }

// Reach waits until p is applied. A read model that is being built refuses to be read, so that the others answer.
func (r RequestReads) Reach(ctx context.Context, p domain.Position) error {
	return RefuseStopped(r.Models.ReachReadable(ctx, p))
}

// Fresh waits until everything is applied that was written before, on whichever node.
func (r RequestReads) Fresh(ctx context.Context) error { return RefuseStopped(r.Models.Current(ctx)) }

// RefuseStopped turns the fault of read models that have stopped into a refusal. The
// reason of the fault is in the log of the node and in the readiness report.
func RefuseStopped(err error) error {
	if _, stopped := errors.AsType[*Fault](err); stopped {
		return errBehind()
	}
	return err
}

// errBehind refuses a request that needs what a read model does not have yet.
func errBehind() error {
	return domain.Refuse(domain.CodeUnavailable, "the read model is behind").Reason("read_model_behind").With("retryAfter", 1)
}
