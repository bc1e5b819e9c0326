package node

import (
	"context"
	"errors"
	"time"

	"svc/commands"
	"svc/eventstore"
	"svc/eventstore/jetstream"
)

// defaultLease is for how long what is done in shares, and the trees of a node, stay its
// own without a word of it.
const defaultLease = 15 * time.Second

func (n *Node) lease() time.Duration {
	if n.opts.Lease > 0 {
		return n.opts.Lease
	}
	return defaultLease
}

// appear lets the other nodes know that this one is there, before it runs anything. That
// it is there no more they know as soon as nothing runs here.
func (n *Node) appear(ctx context.Context) (err error) {
	n.running.cancelled, err = n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "CANCELS", TTL: cancelsKept})
	if err != nil || n.store.Alone() {
		return err
	}
	if n.running.alive, err = n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "PROCESSES", TTL: n.lease()}); err != nil {
		return err
	}
	signed, err := n.sign(ctx, n.running.process, 0)
	if err != nil {
		return err
	}
	stop, wait := n.begin("signs of life", func(ctx context.Context) error { return n.live(ctx, signed) })
	n.closeWith("signs of life", func(ctx context.Context) error {
		stop()
		wait()
		ctx, cancel := context.WithTimeout(ctx, n.lease()/6)
		defer cancel()
		if err := n.running.alive.Delete(ctx, n.running.runtime.CurrentProcess()); err != nil {
			n.log.DebugContext(ctx, "the other nodes could not be told that this one is gone: they notice", "err", err)
		}
		return nil
	})
	return nil
}

// errForgotten says that the last sign of life is gone: the other nodes take this one for
// lost.
var errForgotten = errors.New("the last sign of life was forgotten")

// sign gives a sign of life that follows the one of a revision, 0: the first of a process.
// It fails with errForgotten when that is gone, as that of a node that was suspended: what
// runs here may go on elsewhere since.
func (n *Node) sign(ctx context.Context, process string, after uint64) (revision uint64, err error) {
	now := []byte(time.Now().UTC().Format(time.RFC3339Nano))
	if after == 0 {
		return n.running.alive.Put(ctx, process, now)
	}
	revision, err = n.running.alive.Update(ctx, process, now, after)
	if !errors.Is(err, eventstore.ErrConflict) && !errors.Is(err, eventstore.ErrNoKey) {
		return revision, err
	}
	_, latest, err := n.running.alive.Get(ctx, process) // an attempt whose answer was lost
	if errors.Is(err, eventstore.ErrNoKey) {
		return 0, errForgotten
	}
	if err != nil {
		return 0, err
	}
	return n.running.alive.Update(ctx, process, now, latest)
}

// live tells the other nodes that this one is there, until ctx ends. When they cannot have
// heard of it for so long that they are about to go on with what runs here, or do so
// already, that is broken off, and this is another process from then on.
func (n *Node) live(ctx context.Context, signed uint64) error {
	process, told := n.running.process, time.Now()
	for {
		wait := n.lease() / 3
		now := time.Now()
		trying, cancel := context.WithTimeout(ctx, n.lease()/6)
		revision, err := n.sign(trying, process, signed)
		cancel()
		switch {
		case err == nil:
			told, signed = now, revision
			if n.running.runtime.CurrentProcess() == "" {
				n.running.runtime.Reopen(process)
				n.log.InfoContext(ctx, "the other nodes know of this one again")
			}
		case ctx.Err() == nil:
			n.log.WarnContext(ctx, "the other nodes could not be told that this one is there", "err", err)
			wait = n.lease() / 12
		}
		if (errors.Is(err, errForgotten) || time.Since(told) >= n.lease()*2/3) && n.running.runtime.CurrentProcess() != "" {
			n.log.ErrorContext(ctx, "the other nodes take this one for lost: what runs here is broken off, and goes on there")
			n.running.runtime.BreakOffAll()
			process, signed = n.processID(), 0
		}
		if err := commands.Sleep(ctx, wait); err != nil {
			return nil //nolint:nilerr // the node stops
		}
	}
}

// processID is an id of this node that it never had before.
func (n *Node) processID() string { return n.config().Core.NodeName + "/" + newID() }

// gone reports whether the process that runs a tree is gone. Where there are no other
// nodes that is every one but this.
func (n *Node) gone(ctx context.Context, process string) (bool, error) {
	if process == n.running.runtime.CurrentProcess() {
		return false, nil
	}
	if n.store.Alone() {
		return true, nil
	}
	_, _, err := n.running.alive.Get(ctx, process)
	if errors.Is(err, eventstore.ErrNoKey) {
		return true, nil
	}
	return false, err
}

// cancelsKept is how long it is known that a run was cancelled: until every tree of it that
// was nobody's at that moment is somebody's again.
const cancelsKept = 24 * time.Hour

// noteCancel keeps that a run was cancelled, for trees of it whose node is gone and that
// nobody has gone on with yet.
func (n *Node) noteCancel(workspaceID, correlationID string) error {
	ctx, cancel := context.WithTimeout(context.Background(), n.config().Broker.PublishTimeout)
	defer cancel()
	_, err := n.running.cancelled.Put(ctx, workspaceID+"/"+correlationID, []byte(time.Now().UTC().Format(time.RFC3339Nano)))
	return err
}

// wasCancelled reports whether a run was cancelled after a time.
func (n *Node) wasCancelled(ctx context.Context, workspaceID, correlationID string, after time.Time) (bool, error) {
	value, _, err := n.running.cancelled.Get(ctx, workspaceID+"/"+correlationID)
	if errors.Is(err, eventstore.ErrNoKey) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	at, err := time.Parse(time.RFC3339Nano, string(value))
	return at.After(after), err
}
