package node

import (
	"context"
	"errors"
	"slices"

	"svc/domain"
	"svc/eventstore/jetstream"
	"svc/projections"
)

// reads are the read models as a request waits for them: they have what was
// written before it, on whichever node.
type reads struct {
	models *projections.Models
	log    *jetstream.Log
}

// Reach implements gateway.ReadModel.
func (r reads) Reach(ctx context.Context, p domain.Position) error {
	return behind(r.models.Reach(ctx, p))
}

// Fresh implements gateway.ReadModel. A broker that does not tell what other
// nodes wrote is no reason to refuse a read: it goes on with what is known
// here.
func (r reads) Fresh(ctx context.Context) error { return behind(r.fresh(ctx)) }

func (r reads) fresh(ctx context.Context) error {
	if err := r.log.Refresh(ctx); err != nil && ctx.Err() != nil {
		return err
	}
	if ctx.Err() == nil && r.outOfSpace() {
		return nil // what is there is served: a full disk stops writes, not reads
	}
	return r.models.Fresh(ctx)
}

// outOfSpace reports whether the read models wait for room on the disk.
func (r reads) outOfSpace() bool {
	return slices.ContainsFunc(r.models.Health().Logs, func(l projections.LogHealth) bool {
		return l.Fault != nil && errors.Is(l.Fault, projections.ErrNoSpace)
	})
}

// behind tells a reader that read models which have stopped are behind. Why is
// in the log and in the readiness report.
func behind(err error) error {
	if _, stopped := errors.AsType[*projections.Fault](err); stopped {
		return domain.Refuse(domain.CodeUnavailable, "the read model is behind").Reason("read_model_behind").With("retryAfter", 1)
	}
	return err
}
