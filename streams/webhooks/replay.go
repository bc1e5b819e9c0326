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
	"svc/projections"
	live "svc/streams/feed"
)

// replayRequest is what a replay was asked for, as its record shows it.
type replayRequest struct {
	SubscriptionID string `json:"subscriptionId"`
	subscription.Span
}

// replayed is the result of a replay: so many deliveries were put in line.
type replayed struct {
	Deliveries int `json:"deliveries"`
}

// Bounds of a replay: how many deliveries may wait in line, and how often that is looked
// at.
const (
	replayAhead = 5_000
	replayLook  = 100 * time.Millisecond
)

// Replay has the events of a span delivered to a subscription once more: those that
// it asks for now, with deliveries of their own. It is an operation, which ends when
// all of them are in line; until then it can be cancelled.
func (h *Webhooks) Replay(ctx context.Context, sub subscription.State, span subscription.Span) (*operations.Handle, error) {
	if span.To.IsZero() { // what happens from now on is delivered anyway
		span.To = h.feed.Position()
	}
	var err error
	for _, at := range []*domain.Position{&span.From, &span.To} {
		if *at, err = h.feed.Resolve(ctx, sub.WorkspaceID, *at); err != nil {
			return nil, err
		}
	}
	request := replayRequest{sub.ID, span}
	spec := operations.Spec{Kind: operation.Replay, WorkspaceID: sub.WorkspaceID, Request: request}
	return h.replays.Start(ctx, spec, func(ctx context.Context, run *operations.Run) (any, error) {
		return h.replay(ctx, run, request)
	})
}

// Settle goes on with a replay whose node is gone. What was put in line before is
// there: the id of a delivery follows from its event and the operation.
func (h *Webhooks) Settle(ctx context.Context, run *operations.Run, op operation.State) (any, error) {
	var request replayRequest
	if err := json.Unmarshal(op.Request, &request); err != nil {
		return nil, operations.ErrInterrupted
	}
	return h.replay(ctx, run, request)
}

// replay counts what there is, and puts it in line.
func (h *Webhooks) replay(ctx context.Context, run *operations.Run, request replayRequest) (any, error) {
	p := &player{Webhooks: h, run: run, request: request}
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
	for _, do := range []func(context.Context) error{p.count, p.play} {
		if err := do(ctx); err != nil {
			return nil, unsettled(ctx, err)
		}
	}
	return replayed{p.done}, nil
}

// unsettled leaves a replay that the end of its node broke off to the next one.
func unsettled(ctx context.Context, err error) error {
	if _, told := errors.AsType[*domain.Error](context.Cause(ctx)); ctx.Err() != nil && !told {
		return operations.ErrUnsettled
	}
	return err
}

// player is a replay under way.
type player struct {
	*Webhooks
	run     *operations.Run
	request replayRequest
	sub     subscription.State
	span    live.Range
	total   int
	done    int
	told    time.Time
}

// subscription returns the subscription as it is now.
func (p *player) subscription() (subscription.State, error) {
	var rec projections.SubscriptionRecord
	found := false
	err := p.models.View(func(r projections.Reader) (err error) {
		rec, found, err = projections.Subscriptions{}.Get(r, p.run.WorkspaceID(), p.request.SubscriptionID)
		return err
	})
	if err == nil && !found {
		err = domain.Refuse(domain.CodeNotFound, "there is no such subscription").With("resource", "subscription").With("id", p.request.SubscriptionID)
	}
	return rec.State, err
}

// walk visits the events to be replayed, in order.
func (p *player) walk(ctx context.Context, visit func(*feed.Event) error) error {
	return p.feed.Walk(ctx, p.span, func(e *feed.Event) (bool, error) {
		if !wanted(p.span.Filter, p.sub.ID, e) {
			return true, nil
		}
		return true, visit(e)
	})
}

// count finds out how much there is.
func (p *player) count(ctx context.Context) error {
	err := p.walk(ctx, func(*feed.Event) error {
		p.total++
		return nil
	})
	if err != nil {
		return err
	}
	return p.tell(ctx)
}

// play puts the events in line, a batch at a time and never too many.
func (p *player) play(ctx context.Context) error {
	var batch []subscription.Record
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := p.await(ctx); err != nil {
			return err
		}
		at, err := p.append(ctx, p.sub.WorkspaceID, fact(batch...))
		if err == nil {
			err = p.models.Reach(ctx, at) // so that they count for the next
		}
		if err != nil {
			return err
		}
		batch = nil
		if p.now().Sub(p.told) < time.Second {
			return nil
		}
		return p.tell(ctx)
	}
	err := p.walk(ctx, func(e *feed.Event) error {
		p.done++
		d := deliveryOf(p.sub, e, p.run.ID(), p.now().UTC().Truncate(time.Millisecond))
		if known, err := p.known(d.ID); known || err != nil {
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
	return p.tell(ctx)
}

// known reports whether a delivery was put in line before.
func (p *player) known(id string) (known bool, err error) {
	err = p.models.View(func(r projections.Reader) error {
		_, known, err = projections.Deliveries{}.Get(r, id)
		return err
	})
	return known, err
}

// await waits until there is room in line, for as long as the subscription is there.
func (p *player) await(ctx context.Context) error {
	for {
		waiting := 0
		err := p.models.View(func(r projections.Reader) (err error) {
			waiting, err = projections.Deliveries{}.Waiting(r, p.sub.ID)
			return err
		})
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

// tell records how far the replay is.
func (p *player) tell(ctx context.Context) error {
	p.told = p.now()
	return p.run.Tell(ctx, operation.Advance{Epoch: p.run.Epoch(), Count: operation.Count{Current: p.done, Total: p.total}})
}
