package node

import (
	"context"
	"errors"
	"time"

	"svc/commands"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/feed"
	live "svc/streams/feed"
)

// errCame ends the reading of somebody who waits for one event.
var errCame = errors.New("the event came")

// awaitPause is the wait before the feed is read again after a fault of ours.
const awaitPause = time.Second

// awaitEvent returns the first event of a workspace that is awaited and fits, nil when
// there is none in time. A fault of ours is none of who waits: it is tried again.
func (n *Node) awaitEvent(ctx context.Context, workspaceID string, w runtime.Awaited, fits func(*feed.Event) bool) (*feed.Event, error) {
	one := &awaiting{node: n, workspaceID: workspaceID, Awaited: w, fits: fits}
	for {
		came, err := one.look(ctx)
		if err == nil || ctx.Err() != nil {
			return came, err
		}
		n.log.WarnContext(ctx, "an event that is awaited could not be looked for", "workspace", workspaceID, "err", err)
		if err := commands.Sleep(ctx, awaitPause); err != nil {
			return nil, err
		}
	}
}

// awaiting is somebody who waits for one event.
type awaiting struct {
	runtime.Awaited
	node        *Node
	workspaceID string
	fits        func(*feed.Event) bool
	came        *feed.Event
}

// look waits for the event until the time is over. Then it looks once more, at what is
// recorded by then: the event may have come in time and not be read yet, or nobody was
// there to wait for it.
func (a *awaiting) look(ctx context.Context) (*feed.Event, error) {
	after, err := a.node.feed.Resolve(ctx, a.workspaceID, a.After)
	if err != nil {
		return nil, err
	}
	a.After = after
	within, cancel := context.WithDeadline(ctx, a.Before)
	defer cancel()
	err = a.follow(within)
	if errors.Is(err, errCame) {
		return a.came, nil
	}
	if ctx.Err() != nil || !errors.Is(within.Err(), context.DeadlineExceeded) {
		return nil, err
	}
	if err := a.node.everything(ctx); err != nil {
		return nil, err
	}
	err = a.node.feed.Walk(ctx, live.Range{WorkspaceID: a.workspaceID, After: a.After, Filter: a.filter()}, func(e *feed.Event) (bool, error) {
		return !a.take(e), nil
	})
	return a.came, err
}

// sureEvery is how often who waits notes how far they have read.
const sureEvery = 30 * time.Second

// follow reads the events as they come, until ctx ends or one is taken.
func (a *awaiting) follow(ctx context.Context) error {
	var before domain.Position // where the feed was at the last tick: it has been read since
	return a.node.feed.Follow(ctx, live.Following{
		WorkspaceID: a.workspaceID, After: a.After, Filter: a.filter(),
		Ready:     func(at domain.Position) { a.After = a.After.Max(at) },
		TickEvery: sureEvery, Tick: func() error {
			a.After, before = a.After.Max(before), a.node.feed.Position()
			return nil
		},
	}, func(d live.Delivery) error {
		for _, e := range d.Events {
			if a.take(e) {
				return errCame
			}
		}
		return nil
	})
}

func (a *awaiting) filter() *live.Filter { return &live.Filter{Types: a.Types} }

// take takes an event that fits and came in time, and reports whether it is one.
func (a *awaiting) take(e *feed.Event) bool {
	if !e.At.Before(a.Before) || !a.fits(e) {
		return false
	}
	a.came = e
	return true
}
