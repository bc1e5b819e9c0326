package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"svc/commands"
	"svc/commands/operations"
	"svc/domain"
	"svc/domain/feed"
	"svc/domain/operation"
	"svc/domain/subscription"
	live "svc/streams/feed"
)

// replayRequest is the request of a replay, as its operation shows it.
type replayRequest struct {
	SubscriptionID string `json:"subscriptionId"`
	subscription.Span
}

// replayResult is the result of a replay: the number of queued deliveries.
type replayResult struct {
	Deliveries int `json:"deliveries"`
}

// How many deliveries of a replay may be queued, and how often that is checked.
const (
	replayAhead = 5_000
	replayLook  = 100 * time.Millisecond
)

// Replay delivers the events of a span that match a subscription now again, with deliveries of their own. It is an
// operation, which ends when all of them are queued; until then it can be cancelled.
func (h *Webhooks) Replay(ctx context.Context, sub subscription.State, span subscription.Span) (*operations.Handle, error) {
	now := h.feed.Now() // later events are delivered anyway
	if span.To.IsZero() {
		span.To = now
	}
	var err error
	for _, at := range []*domain.Position{&span.From, &span.To} {
		if *at, err = h.feed.Resolve(ctx, sub.WorkspaceID, *at); err != nil {
			return nil, err
		}
	}
	span.To = span.To.Min(now)
	request := replayRequest{sub.ID, span}
	spec := operations.Spec{Kind: operation.Replay, WorkspaceID: sub.WorkspaceID, Request: request}
	return h.replays.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		return h.replay(ctx, run, request)
	})
}

// Settle continues a replay whose node is gone. Queued deliveries are not repeated: the id of a delivery is derived
// from its event and the operation.
func (h *Webhooks) Settle(ctx context.Context, run *operations.Run, op operation.State) (any, error) {
	var request replayRequest
	if err := json.Unmarshal(op.Request, &request); err != nil {
		return nil, operations.ErrInterrupted
	}
	return h.replay(ctx, run, request)
}

// replay counts the events, and queues their deliveries.
func (h *Webhooks) replay(ctx context.Context, run *operations.Run, request replayRequest) (any, error) {
	p := &replayer{Webhooks: h, run: run, request: request}
	err := h.models.Fresh(ctx) // the subscription may be new
	if err == nil {
		err = h.models.Reach(ctx, request.To)
	}
	if err != nil {
		return nil, asUnsettled(ctx, err)
	}
	sub, err := p.subscription()
	if err != nil {
		return nil, err
	}
	filter, err := sub.Filter()
	if err != nil {
		return nil, err
	}
	if filter.After.Before(request.After) {
		filter.After = request.After
	}
	if !request.Before.IsZero() && (filter.Before.IsZero() || request.Before.Before(filter.Before)) {
		filter.Before = request.Before
	}
	p.sub, p.span = sub, live.Range{WorkspaceID: sub.WorkspaceID, After: request.From, Until: &request.To, Filter: filter}
	for _, do := range []func(context.Context) error{p.count, p.enqueueEvents} {
		if err := do(ctx); err != nil {
			return nil, asUnsettled(ctx, err)
		}
	}
	return replayResult{p.done}, nil
}

// asUnsettled leaves a replay that the end of its node interrupted to another node.
func asUnsettled(ctx context.Context, err error) error {
	if _, refused := errors.AsType[*domain.Error](context.Cause(ctx)); ctx.Err() != nil && !refused {
		return operations.ErrUnsettled
	}
	return err
}

// replayer is a running replay.
type replayer struct {
	*Webhooks
	run        *operations.Run
	request    replayRequest
	sub        subscription.State
	span       live.Range
	total      int
	done       int
	recordedAt time.Time
}

// subscription returns the subscription as it is now.
func (p *replayer) subscription() (subscription.State, error) {
	rec, found, err := p.models.Subscription(p.run.WorkspaceID(), p.request.SubscriptionID)
	if err == nil && !found {
		err = domain.Refuse(domain.CodeNotFound, "there is no such subscription").With("resource", "subscription").With("id", p.request.SubscriptionID)
	}
	return rec.State, err
}

// walk visits the events to be replayed, in order.
func (p *replayer) walk(ctx context.Context, visit func(*feed.Event) error) error {
	return p.feed.Walk(ctx, p.span, func(e *feed.Event) (bool, error) {
		if !matches(p.span.Filter, p.sub.ID, e) {
			return true, nil
		}
		return true, visit(e)
	})
}

// count counts the events.
func (p *replayer) count(ctx context.Context) error {
	err := p.walk(ctx, func(*feed.Event) error {
		p.total++
		return nil
	})
	if err != nil {
		return err
	}
	return p.recordProgress(ctx)
}

// enqueueEvents queues the deliveries in batches, and never too many at once.
func (p *replayer) enqueueEvents(ctx context.Context) error {
	var batch []subscription.Record
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := p.waitForCapacity(ctx); err != nil {
			return err
		}
		at, err := p.append(ctx, p.sub.WorkspaceID, attemptedFact(batch...))
		if err == nil {
			err = p.models.Reach(ctx, at) // so that waitForCapacity counts them
		}
		if err != nil {
			return err
		}
		batch = nil
		if p.now().Sub(p.recordedAt) < time.Second {
			return nil
		}
		return p.recordProgress(ctx)
	}
	err := p.walk(ctx, func(e *feed.Event) error {
		p.done++
		d := newDelivery(p.sub, e, p.run.ID(), p.now().UTC().Truncate(time.Millisecond))
		if known, err := p.models.HasDelivery(d.ID); known || err != nil {
			return err
		}
		batch = append(batch, subscription.Record{Delivery: d, Asked: true})
		if len(batch) < subscription.MaxRecords {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	return p.recordProgress(ctx)
}

// waitForCapacity waits until the queue has room, while the subscription exists.
func (p *replayer) waitForCapacity(ctx context.Context) error {
	for {
		waiting, err := p.models.WaitingDeliveries(p.sub.ID)
		if err != nil || waiting < replayAhead {
			return err
		}
		if _, err := p.subscription(); err != nil {
			return err
		}
		if err := commands.Sleep(ctx, replayLook); err != nil {
			return err
		}
	}
}

// recordProgress records the progress of the replay.
func (p *replayer) recordProgress(ctx context.Context) error {
	p.recordedAt = p.now()
	return p.run.Record(ctx, operation.Advance{Epoch: p.run.Epoch(), Count: operation.Count{Current: p.done, Total: p.total}})
}
