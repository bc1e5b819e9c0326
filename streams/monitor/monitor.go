// Package monitor tells programs of others what happens, as it happens, by subject.
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

// Feed is where events come from. It is a *feed.Feed.
type Feed interface {
	Position() domain.Position
	Follow(ctx context.Context, w feed.Following, deliver func(feed.Delivery) error) error
}

// Outside is where external clients subscribe. It is a *jetstream.Listener.
type Outside interface {
	// HasClients reports whether anybody is connected.
	HasClients() bool
	// Publish sends events to all clients that may see them.
	Publish(ctx context.Context, events []*feed.Event) error
	// DisconnectRevoked disconnects clients that lost their grant.
	DisconnectRevoked() error
}

// Monitor tells those who listen at this node what happens anywhere. Each node does so
// for its own: nobody hears anything twice, and no node depends on another.
type Monitor struct {
	Feed    Feed
	Outside Outside
	Pause   time.Duration // before it goes on after a fault; default one second
	Log     *slog.Logger  // default slog.Default
}

// Run tells what happens from now on until ctx ends. It has nothing to fail with: what
// could not be told is told again.
func (m Monitor) Run(ctx context.Context) error {
	m.Pause = cmp.Or(m.Pause, time.Second)
	m.Log = cmp.Or(m.Log, slog.Default())
	for at := m.Feed.Position(); ; {
		err := m.follow(ctx, &at)
		if ctx.Err() != nil {
			return nil
		}
		m.Log.WarnContext(ctx, "subscribers are told later what happens now", "err", err)
		if err := commands.Sleep(ctx, m.Pause); err != nil {
			return nil
		}
	}
}

// follow tells what comes after a position, and keeps how far it has come. Who was shut
// out while nobody followed is cut off first.
func (m Monitor) follow(ctx context.Context, at *domain.Position) error {
	if err := m.Outside.DisconnectRevoked(); err != nil {
		return err
	}
	return m.Feed.Follow(ctx, feed.Following{After: *at}, func(d feed.Delivery) error {
		if err := m.pass(ctx, d.Events); err != nil {
			return err
		}
		*at = d.At
		return nil
	})
}

func (m Monitor) pass(ctx context.Context, events []*feed.Event) error {
	if slices.ContainsFunc(events, shutsOut) {
		if err := m.Outside.DisconnectRevoked(); err != nil {
			return err
		}
	}
	if !m.Outside.HasClients() {
		return nil
	}
	told := slices.DeleteFunc(slices.Clone(events), inside)
	if len(told) == 0 {
		return nil
	}
	return m.Outside.Publish(ctx, told)
}

// progress lists the events that are kept as state, because operations are folded from
// them, and are still no more than news of how far something is.
var progress = map[string]bool{
	operation.Progress{}.EventType():            true,
	operation.BulkImportStarted{}.EventType():   true,
	operation.BulkImportProgress{}.EventType():  true,
	operation.BulkImportCompleted{}.EventType(): true,
	operation.BulkPushStarted{}.EventType():     true,
	operation.BulkPushProgress{}.EventType():    true,
	operation.BulkPushCompleted{}.EventType():   true,
}

// inside reports whether an event is not for others. State is not: it holds documents,
// security and accounts, which are read with the rights of somebody. Nor is what is for
// one socket only.
func inside(ev *feed.Event) bool {
	state := ev.Log == domain.State && !progress[ev.Type]
	return state || ev.Target != nil && ev.Target.CurrentSocket
}

// shutsOut reports whether an event tells that somebody may not listen any more. Only
// the platform can say so: an event of a workspace may bear any name.
func shutsOut(ev *feed.Event) bool {
	return ev.Type == natsuser.Deleted{}.EventType() && ev.Source.WorkspaceID == domain.Platform
}
