package webhooks

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/commands"
	"svc/domain"
	"svc/domain/subscription"
	"svc/eventstore"
	"svc/projections"
)

// Test delivers an event that says so to a subscription: once, at once, whether or not
// it is disabled. What came of it is recorded, and does not count for its health.
func (h *Webhooks) Test(ctx context.Context, sub subscription.State) (subscription.Delivery, error) {
	id := ulid.Make().String()
	at, err := h.append(ctx, sub.WorkspaceID, eventstore.Fact{ID: id, Event: subscription.Tested{SubscriptionID: sub.ID}})
	if err != nil {
		return subscription.Delivery{}, err
	}
	if err := h.models.Reach(ctx, at); err != nil {
		return subscription.Delivery{}, commands.Refused(err)
	}
	e, ok, err := h.feed.Get(ctx, sub.WorkspaceID, id)
	if err == nil && !ok {
		err = domain.Refuse(domain.CodeConflict, "the event was erased before it was sent")
	}
	if err != nil {
		return subscription.Delivery{}, err
	}
	d := deliveryOf(sub, e, "", h.now().UTC().Truncate(time.Millisecond))
	d = d.Tried(h.sender.send(ctx, sub, e), nil)
	if d.Lane = ""; d.Status == subscription.Dead {
		d.Status = subscription.Failed // nobody waits for it
	}
	_, err = h.append(ctx, sub.WorkspaceID, fact(subscription.Record{Delivery: d}))
	return d, err
}

// Redeliver has an event delivered once more, as soon as its subscription is served.
func (h *Webhooks) Redeliver(ctx context.Context, rec projections.DeliveryRecord) (subscription.Delivery, error) {
	d := rec.Again(h.now().UTC().Truncate(time.Millisecond))
	_, err := h.append(ctx, rec.WorkspaceID, fact(subscription.Record{Delivery: d, Asked: true}))
	return d, err
}

// append records activity events that the request of ctx causes, and returns where.
func (h *Webhooks) append(ctx context.Context, workspaceID string, facts ...eventstore.Fact) (domain.Position, error) {
	asked := commands.RequestFrom(ctx)
	meta := asked.Meta
	if meta.Host == (domain.Host{}) {
		meta.Host = h.host
	}
	receipt, err := h.store.Append(ctx, eventstore.Commit{Stream: domain.StreamID{Scope: workspaceID}, Meta: meta, Facts: facts})
	if err != nil {
		return domain.Position{}, commands.Refused(err)
	}
	asked.Saw(receipt.Position)
	return receipt.Position, nil
}
