// Package monitor publishes events to external NATS clients as they happen, by subject.
package monitor

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/natsuser"
	"svc/domain/operation"
	"svc/streams/feed"
)

// Feed is the source of events. It is a *feed.Feed.
type Feed interface {
	Position() domain.Position
	Follow(ctx context.Context, w feed.Following, deliver func(feed.Delivery) error) error
}

// Clients is the server of external clients. It is a *jetstream.Listener.
type Clients interface {
	// HasClients reports whether anybody is connected.
	HasClients() bool
	// Publish sends events to all clients that may see them.
	Publish(ctx context.Context, events []*feed.Event) error
	// DisconnectRevoked disconnects clients that lost their grant.
	DisconnectRevoked() error
}

// Monitor publishes the events of all nodes to the clients of this node. Each node serves its own clients: nobody
// receives an event twice, and no node depends on another.
type Monitor struct {
	Feed    Feed
	Clients Clients
	Pause   time.Duration // before a retry after a fault; default one second
	Log     *slog.Logger  // default slog.Default
}

// Run publishes events from now on until ctx ends. It never fails: what could not be published is published again.
func (m Monitor) Run(ctx context.Context) error {
	m.Pause = cmp.Or(m.Pause, time.Second)
	m.Log = cmp.Or(m.Log, slog.Default())
	for at := m.Feed.Position(); ; {
		err := m.follow(ctx, &at)
		if ctx.Err() != nil {
			return nil
		}
		m.Log.WarnContext(ctx, "events could not be published to external clients; they are published later", "err", err)
		if err := commands.Sleep(ctx, m.Pause); err != nil {
			return nil
		}
	}
}

// follow publishes the events after a position, and moves the position. Clients whose grant was revoked while nobody
// followed are disconnected first.
func (m Monitor) follow(ctx context.Context, at *domain.Position) error {
	if err := m.Clients.DisconnectRevoked(); err != nil {
		return err
	}
	return m.Feed.Follow(ctx, feed.Following{After: *at}, func(d feed.Delivery) error {
		if err := m.publish(ctx, d.Events); err != nil {
			return err
		}
		*at = d.At
		return nil
	})
}

func (m Monitor) publish(ctx context.Context, events []*feed.Event) error {
	if slices.ContainsFunc(events, revokesAccess) {
		if err := m.Clients.DisconnectRevoked(); err != nil {
			return err
		}
	}
	if !m.Clients.HasClients() {
		return nil
	}
	public := slices.DeleteFunc(slices.Clone(events), isInternal)
	if len(public) == 0 {
		return nil
	}
	return m.Clients.Publish(ctx, public)
}

// progress lists the events on STATE that are published too: they only report the progress of operations.
var progress = map[string]bool{
	operation.Progress{}.EventType():            true,
	operation.BulkImportStarted{}.EventType():   true,
	operation.BulkImportProgress{}.EventType():  true,
	operation.BulkImportCompleted{}.EventType(): true,
	operation.BulkPushStarted{}.EventType():     true,
	operation.BulkPushProgress{}.EventType():    true,
	operation.BulkPushCompleted{}.EventType():   true,
}

// isInternal reports whether an event is not published. Events on STATE are not: they hold documents, security and
// accounts, which need permissions. Nor are events for a single socket.
func isInternal(ev *feed.Event) bool {
	state := ev.Log == domain.State && !progress[ev.Type]
	return state || ev.Target != nil && ev.Target.CurrentSocket
}

// revokesAccess reports whether an event revokes the grant of a client. Only the platform can do so: an event of a
// workspace may have any type.
func revokesAccess(ev *feed.Event) bool {
	return ev.Type == natsuser.Deleted{}.EventType() && ev.Source.WorkspaceID == domain.Platform
}
