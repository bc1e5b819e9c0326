package webhooks

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/commands"
	"svc/commands/operations"
	"svc/domain"
	"svc/domain/feed"
	"svc/domain/subscription"
	"svc/eventstore"
	"svc/projections"
	"svc/streams"
	live "svc/streams/feed"
)

// Disabler disables subscriptions whose receiver has failed for too long. It is a *subscriptions.Subscriptions.
type Disabler interface {
	Disable(ctx context.Context, failed subscription.State, reason string) error
}

// Holder runs work while this node holds a lease, until ctx ends.
type Holder func(ctx context.Context, name string, work func(context.Context) error) error

// Options configure Webhooks. Those without a default are required.
type Options struct {
	Models  *projections.Models
	Feed    *live.Feed
	Store   Store
	Secrets Secrets
	Disable Disabler
	Client  *http.Client // its timeout limits one attempt
	Cursors eventstore.Bucket
	Replays *operations.Runner
	// Hold is for several nodes; nil: there is only one.
	Hold Holder
	// Fresh waits until the read models contain what other nodes wrote; default what this node knows.
	Fresh func(context.Context) error

	Schedule     []time.Duration  // waits after failures; then a delivery is dead
	DisableAfter time.Duration    // of failure; default 5 days
	Probe        time.Duration    // between attempts while the breaker is open; default one minute
	PollInterval time.Duration    // between checks for changes and requests, at least; default 100 ms
	Now          func() time.Time // default time.Now
	Host         domain.Host
	Log          *slog.Logger // default slog.Default

	matches func(filter *feed.Filter, subscriptionID string, e *feed.Event) bool // default wanted; tests let it panic
}

// Webhooks delivers events, and handles tests, redeliveries and replays. All methods are safe for concurrent use.
type Webhooks struct {
	models   *projections.Models
	feed     *live.Feed
	store    Store
	disabler Disabler
	sender   *sender
	cursors  cursors
	replays  *operations.Runner
	hold     Holder
	fresh    func(context.Context) error

	schedule     []time.Duration
	disableAfter time.Duration
	probe        time.Duration
	lookInterval time.Duration
	now          func() time.Time
	host         domain.Host
	log          *slog.Logger
	matches      func(filter *feed.Filter, subscriptionID string, e *feed.Event) bool

	bulkhead      *bulkhead
	changed       chan struct{}  // this node acquired a partition
	endingWorkers sync.WaitGroup // workers of subscriptions that are gone
}

// partitions is the number of partitions of all subscriptions.
const partitions = 8

// New returns Webhooks. Nothing is delivered before Run.
func New(o Options) *Webhooks {
	h := &Webhooks{
		models: o.Models, feed: o.Feed, store: o.Store, disabler: o.Disable, cursors: cursors{o.Cursors}, replays: o.Replays, hold: o.Hold, fresh: o.Fresh,
		schedule: o.Schedule, disableAfter: cmp.Or(o.DisableAfter, 5*24*time.Hour), probe: cmp.Or(o.Probe, time.Minute),
		lookInterval: cmp.Or(o.PollInterval, 100*time.Millisecond), now: o.Now, host: o.Host, log: cmp.Or(o.Log, slog.Default()), matches: o.matches,
		bulkhead: newBulkhead(), changed: make(chan struct{}, 1),
	}
	if h.now == nil {
		h.now = time.Now
	}
	if h.matches == nil {
		h.matches = matches
	}
	if h.hold == nil {
		h.hold = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	}
	if h.fresh == nil {
		h.fresh = h.models.Fresh
	}
	h.sender = newSender(o.Client, o.Secrets, h.now)
	return h
}

// Run delivers events until ctx ends.
func (h *Webhooks) Run(ctx context.Context) error {
	if err := h.models.CaughtUp(ctx); err != nil {
		return err
	}
	var parts sync.WaitGroup
	var all []*partition
	for number := range partitions {
		p := newPartition(h, number)
		all = append(all, p)
		parts.Go(func() { p.serve(ctx) })
	}
	h.watchChanges(ctx, all)
	parts.Wait()
	h.endingWorkers.Wait()
	return nil
}

// watchChanges passes changes and requests to the partitions.
func (h *Webhooks) watchChanges(ctx context.Context, all []*partition) {
	moved, stop := h.models.Watch()
	defer stop()
	var seen uint64  // version of the subscriptions
	var asked uint64 // sequence of the last request
	anew := false    // a partition was acquired since they were read
	for again := true; ; {
		if !again {
			select {
			case <-ctx.Done():
				return
			case <-moved:
			case <-h.changed:
				anew = true
			}
		}
		err := h.applyChanges(all, anew, &seen, &asked)
		if err != nil {
			h.log.WarnContext(ctx, "subscriptions could not be read", "err", err)
		}
		again, anew = err != nil, anew && err != nil
		if commands.Sleep(ctx, h.lookInterval) != nil {
			return
		}
	}
}

// applyChanges passes on what is new since the last check.
func (h *Webhooks) applyChanges(all []*partition, anew bool, seen, asked *uint64) error {
	r := h.models.Reader()
	defer r.Close()
	version, err := projections.Subscriptions{}.Version(r)
	if err != nil {
		return err
	}
	if anew || version != *seen {
		list, err := projections.Subscriptions{}.All(r)
		if err != nil {
			return err
		}
		shares := make([][]projections.SubscriptionRecord, partitions)
		for _, rec := range list {
			n := partitionOf(rec.ID)
			shares[n] = append(shares[n], rec)
		}
		for n, share := range shares {
			all[n].syncWorkers(share)
		}
		*seen = version
	}
	*asked, err = projections.Deliveries{}.Asked(r, *asked, func(d projections.DeliveryRecord) {
		all[partitionOf(d.SubscriptionID)].redeliver(d)
	})
	return err
}

func partitionOf(subscriptionID string) int { return streams.PartitionOf(subscriptionID, partitions) }

// Test delivers a test event to a subscription: once, at once, also when it is disabled. The result is recorded, but
// does not count for its health.
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
	d := newDelivery(sub, e, "", h.now().UTC().Truncate(time.Millisecond))
	limit := h.sender.newTimeLimit(ctx)
	defer limit.close()
	d = d.Tried(h.sender.send(limit, sub, &receiver{}, e), nil)
	if d.Lane = ""; d.Status == subscription.Dead {
		d.Status = subscription.Failed // it is not retried
	}
	_, err = h.append(ctx, sub.WorkspaceID, attemptedFact(subscription.Record{Delivery: d}))
	return d, err
}

// Redeliver queues another delivery of an event.
func (h *Webhooks) Redeliver(ctx context.Context, rec projections.DeliveryRecord) (subscription.Delivery, error) {
	d := rec.Again(h.now().UTC().Truncate(time.Millisecond))
	_, err := h.append(ctx, rec.WorkspaceID, attemptedFact(subscription.Record{Delivery: d, Asked: true}))
	return d, err
}

// append appends activity events that the request of ctx causes, and returns their position.
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
