package node

import (
	"context"
	"slices"
	"time"

	"svc/commands/subscriptions"
	"svc/domain/operation"
	"svc/eventstore/jetstream"
	"svc/http/api"
	"svc/projections"
	"svc/streams"
	"svc/streams/webhooks"
)

// webhooksLease is for how long a share of the subscriptions stays its node's without
// a word of it: after a node dies others wait that long before they deliver.
const webhooksLease = 15 * time.Second

// openWebhooks lets people subscribe to events, and delivers them on a node that has
// this role. Tests, redeliveries and replays can be asked for on every node.
func (n *Node) openWebhooks(ctx context.Context) error {
	cursors, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "WEBHOOKS"})
	if err != nil {
		return err
	}
	n.subscriptions = &subscriptions.Subscriptions{
		Engine: n.engine, Vault: n.places.vault, Known: subscribed{n.models}, Addresses: n.egress, Now: time.Now,
	}
	c := n.config().Hooks
	o := webhooks.Options{
		Models: n.models, Feed: n.feed, Store: n.store.Log, Secrets: n.subscriptions, Disable: n.subscriptions,
		Client: n.egress.Client(c.Timeout), Cursors: cursors, Replays: n.operations, Fresh: n.everything,
		Schedule: c.RetrySchedule, DisableAfter: c.DisableAfter, Host: n.host("webhooks"), Log: n.log,
	}
	if !n.store.Alone() {
		leases, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "WEBHOOKS_LEASES"})
		if err != nil {
			return err
		}
		o.Hold = func(ctx context.Context, name string, work func(context.Context) error) error {
			return streams.Lease{Bucket: leases, Name: name, TTL: webhooksLease, Log: n.log}.Hold(ctx, work)
		}
	}
	n.webhooks = webhooks.New(o)
	n.operations.Settle(operation.Replay, n.webhooks.Settle)
	if slices.Contains(n.config().Core.Roles, "webhooks") {
		n.workUnderLeases("webhooks", n.webhooks.Run)
	}
	return nil
}

func (n *Node) subscriptionsDeps() api.SubscriptionsDeps {
	return api.SubscriptionsDeps{Commands: n.subscriptions, Webhooks: n.webhooks}
}

// everything waits until the read models have what any node has written. Unlike for a
// request, it is a failure when the broker does not tell: who takes deliveries over
// must know which of them were made.
func (n *Node) everything(ctx context.Context) error {
	if err := n.store.Log.Refresh(ctx); err != nil {
		return err
	}
	return n.models.Fresh(ctx)
}

// subscribed counts subscriptions. It implements subscriptions.Known.
type subscribed struct{ models *projections.Models }

// Count implements subscriptions.Known.
func (s subscribed) Count(_ context.Context, workspaceID string) (count int, err error) {
	err = s.models.View(func(r projections.Reader) error {
		count, err = projections.Subscriptions{}.Count(r, workspaceID)
		return err
	})
	return count, err
}
