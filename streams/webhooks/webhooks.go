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

// Disabler stops subscriptions whose receiver has failed for too long. It is a
// *subscriptions.Subscriptions.
type Disabler interface {
	Disable(ctx context.Context, workspaceID, id, reason string) error
}

// Holder lets one node at a time do something: it runs work while this node holds a
// lease, until ctx ends.
type Holder func(ctx context.Context, name string, work func(context.Context) error) error

// Options configure Webhooks. Those without a default are required.
type Options struct {
	Models  *projections.Models
	Feed    *live.Feed
	Store   Store
	Secrets Secrets
	Disable Disabler
	Client  *http.Client // its timeout is that of one attempt
	Cursors Cursors
	Replays *operations.Runner
	// Hold is for nodes that share subscriptions with others; nil: there are none.
	Hold Holder
	// Fresh waits until the read models have what others wrote; default what is known
	// here.
	Fresh func(context.Context) error

	Schedule     []time.Duration  // waits after failures; then a delivery is dead
	DisableAfter time.Duration    // of failure; default 5 days
	Probe        time.Duration    // between attempts at a broken receiver; default one minute
	Look         time.Duration    // between looks at what was changed or asked for; default 100 ms
	Now          func() time.Time // default time.Now
	Host         domain.Host
	Log          *slog.Logger // default slog.Default

	wanted func(filter *feed.Filter, subscriptionID string, e *feed.Event) bool // default wanted; tests let it fall over
}

// Webhooks delivers events, and takes what people ask for besides: tests,
// redeliveries and replays. All methods are safe for concurrent use.
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
	every        time.Duration
	now          func() time.Time
	host         domain.Host
	log          *slog.Logger
	wanted       func(filter *feed.Filter, subscriptionID string, e *feed.Event) bool

	bulkhead *bulkhead
	changed  chan struct{}  // a partition came to this node
	ending   sync.WaitGroup // workers of subscriptions that are gone
}

// partitions is how many shares there are for the nodes to divide among them.
const partitions = 8

// New returns Webhooks. Nothing is delivered before Run.
func New(o Options) *Webhooks {
	h := &Webhooks{
		models: o.Models, feed: o.Feed, store: o.Store, disabler: o.Disable, cursors: cursors{o.Cursors}, replays: o.Replays, hold: o.Hold, fresh: o.Fresh,
		schedule: o.Schedule, disableAfter: cmp.Or(o.DisableAfter, 5*24*time.Hour), probe: cmp.Or(o.Probe, time.Minute),
		every: cmp.Or(o.Look, 100*time.Millisecond), now: o.Now, host: o.Host, log: cmp.Or(o.Log, slog.Default()), wanted: o.wanted,
		bulkhead: newBulkhead(), changed: make(chan struct{}, 1),
	}
	if h.now == nil {
		h.now = time.Now
	}
	if h.wanted == nil {
		h.wanted = wanted
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
	h.watch(ctx, all)
	parts.Wait()
	h.ending.Wait()
	return nil
}

// watch tells the partitions what was changed and asked for.
func (h *Webhooks) watch(ctx context.Context, all []*partition) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	var seen uint64  // version of the subscriptions
	var asked uint64 // sequence of what was asked for last
	for {
		anew := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.changed:
			anew = true
		}
		if err := h.look(all, anew, &seen, &asked); err != nil {
			h.log.WarnContext(ctx, "subscriptions could not be looked at", "err", err)
		}
	}
}

// look passes on what is new since the last look.
func (h *Webhooks) look(all []*partition, anew bool, seen, asked *uint64) error {
	return h.models.View(func(r projections.Reader) error {
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
				all[n].tend(share)
			}
			*seen = version
		}
		*asked, err = projections.Deliveries{}.Asked(r, *asked, func(d projections.DeliveryRecord) {
			all[partitionOf(d.SubscriptionID)].ask(d)
		})
		return err
	})
}

func partitionOf(subscriptionID string) int { return streams.Share(subscriptionID, partitions) }

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
