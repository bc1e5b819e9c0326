package node

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"svc/cmd/process"
	"svc/commands"
	"svc/commands/parked"
	"svc/commands/recording"
	"svc/commands/subscriptions"
	"svc/domain"
	"svc/domain/kbdocument"
	"svc/domain/operation"
	"svc/eventstore/jetstream"
	"svc/streams"
	"svc/streams/cleanup"
	"svc/streams/feed"
	"svc/streams/monitor"
	"svc/streams/webhooks"
)

// eventServices read, deliver and erase events.
type eventServices struct {
	feed          *feed.Feed
	subscriptions *subscriptions.Subscriptions
	webhooks      *webhooks.Webhooks
	cleanup       *cleanup.Jobs
	erasures      *cleanup.Erasures
}

func (n *Node) openFeed(context.Context) (err error) {
	n.events.feed, err = feed.New(feed.Options{
		Models: n.models, Store: n.store.Log, Payloads: n.store.Payloads, MaxLen: n.emitLimit, Broadcast: n.store.Broadcast("live"), Log: n.log,
	})
	if err != nil {
		return err
	}
	n.work("the feed", n.events.feed.Run)
	return nil
}

// emitLimit is how many characters the payload of an event may have.
func (n *Node) emitLimit() int { return n.config().Broker.EmitMaxLen }

// emitter records the events that users emit.
func (n *Node) emitter() commands.Events {
	return commands.Events{
		Engine: n.engine, Now: time.Now, Limit: n.emitLimit,
		Live: func(_ string, ev domain.Recorded) {
			if err := n.events.feed.SendTransient(ev); err != nil {
				n.log.Warn("an event that is not kept did not reach its readers", "type", ev.Data.EventType(), "err", err)
			}
		},
	}
}

// webhooksLease is how long a partition of the subscriptions stays with its node without a
// renewal: after a node dies the others wait that long before they deliver.
const webhooksLease = 15 * time.Second

// openWebhooks opens subscriptions, and delivers events on a node with the role. Tests,
// redeliveries and replays can be requested on every node.
func (n *Node) openWebhooks(ctx context.Context) error {
	cursors, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "WEBHOOKS"})
	if err != nil {
		return err
	}
	hold, err := n.leases(ctx, "WEBHOOKS_LEASES", webhooksLease)
	if err != nil {
		return err
	}
	s, c := &n.events, n.config().Hooks
	s.subscriptions = &subscriptions.Subscriptions{
		Engine: n.engine, Vault: n.workspaces.vault, Count: n.models.SubscriptionCount, Addresses: n.egress, Now: time.Now,
	}
	s.webhooks = webhooks.New(webhooks.Options{
		Models: n.models, Feed: s.feed, Store: n.store.Log, Secrets: s.subscriptions, Disable: s.subscriptions,
		Client: n.egress.Client(c.Timeout), Cursors: cursors, Replays: n.workspaces.operations, Fresh: n.models.Latest, Hold: hold,
		Schedule: c.RetrySchedule, DisableAfter: c.DisableAfter, Host: n.host("webhooks"), Log: n.log,
	})
	n.workspaces.operations.RegisterSettler(operation.Replay, s.webhooks.Settle)
	if slices.Contains(n.config().Core.Roles, "webhooks") {
		n.workUnderLeases("webhooks", s.webhooks.Run)
	}
	return nil
}

// cleanupLease is how long a cleanup stays with its node without a renewal.
const cleanupLease = 15 * time.Second

// openCleanup opens the jobs that erase old data, and runs them on schedule on a node with
// the role.
func (n *Node) openCleanup(ctx context.Context) error {
	running, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "CLEANUP_RUNS", TTL: cleanupLease})
	if err != nil {
		return err
	}
	notes, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "CLEANUP"})
	if err != nil {
		return err
	}
	s, w := &n.events, n.workspaces
	s.erasures = &cleanup.Erasures{Broadcast: n.store.Broadcast("erased"), Log: n.log}
	s.cleanup = &cleanup.Jobs{
		Log: n.store.Log, Notes: notes, Models: n.models, Blobs: n.store.Blobs, BlobOwners: cleanup.WorkspaceOwners{Workspaces: w.workspaces},
		Data: cleanup.StoredData{
			Store: n.store, Payloads: n.store.Payloads, Keys: w.vault, Erasures: s.erasures,
			Parked:     &parked.Parked{Store: n.store.Data, Vault: w.vault, Log: n.log},
			Recordings: &recording.Store{Data: n.store.Data, Vault: w.vault, Now: time.Now},
		},
		RemoveDocuments: func(ctx context.Context, workspaceID string, base kbdocument.Base, ids []string) error {
			_, err := w.documents.Remove(ctx, workspaceID, base, ids, kbdocument.ByRemoval)
			return err
		},
		Lease:  streams.Lease{Bucket: running, Name: "cleanup", TTL: cleanupLease, Log: n.log},
		Record: n.engine.Record, Terms: n.cleanupTerms, Logger: n.log,
	}
	if slices.Contains(n.config().Core.Roles, "cleanup") {
		n.work("cleanup", cleanup.Schedule{Jobs: s.cleanup, RunTimes: notes, Plan: n.cleanupPlan}.Run)
	}
	return nil
}

func (n *Node) cleanupTerms() cleanup.Terms {
	e := n.config().Events
	return cleanup.Terms{
		Retention: e.Retention, MaxEvents: e.CleanupMaxEvents, Inactivity: e.CleanupInactivity, Executions: e.CleanupExecutions, DeletionDelay: e.DeletionDelay,
		Operations: n.config().Workspaces.OperationsRetention,
	}
}

func (n *Node) cleanupPlan() cleanup.Plan {
	c := n.config()
	return cleanup.Plan{
		Enabled: c.Events.CleanupEnabled, Indices: c.Events.CleanupIndicesCron, Executions: c.Events.CleanupExecutionsCron, Zone: c.Runtime.SchedulesTimezone,
	}
}

// openMonitor opens NATS_LISTEN, where external clients subscribe to events.
func (n *Node) openMonitor(context.Context) error {
	c := n.config()
	if c.Broker.Listen == "" {
		return nil
	}
	serve, err := process.ServerTLS(c.HTTP)
	if err != nil {
		return err
	}
	l, err := jetstream.Listen(jetstream.ListenerOptions{
		Addr: c.Broker.Listen, TLS: serve, WaitFresh: n.models.Current, Name: c.Core.NodeName, Log: n.log,
		Authorize: func(client jetstream.Client) (jetstream.Grant, error) {
			u, err := monitor.Admit(n.models, client.Key, client.Issuer)
			if err != nil {
				return jetstream.Grant{}, err
			}
			return jetstream.Grant{User: u.ID, Workspaces: u.Workspaces, Types: u.Types, Until: u.ExpiresAt}, nil
		},
	})
	if err != nil {
		return fmt.Errorf("NATS_LISTEN: %w", err)
	}
	if serve == nil && isReachable(l.Addr()) {
		n.log.Warn("events leave this host unencrypted: set TLS_CERT_FILE and TLS_KEY_FILE, or let NATS_LISTEN be a loopback address", "address", l.Addr().String())
	}
	n.log.Info("listening for subscribers", "address", l.Addr().String(), "tls", serve != nil)
	n.closeWith("subscribers", l.Close)
	n.work("monitoring", monitor.Monitor{Feed: n.events.feed, Clients: l, Log: n.log}.Run)
	return nil
}

// isReachable reports whether an address can be reached from other hosts.
func isReachable(at net.Addr) bool {
	peer, err := netip.ParseAddrPort(at.String())
	return err != nil || !peer.Addr().Unmap().IsLoopback()
}
