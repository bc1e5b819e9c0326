package node

import (
	"context"
	"log/slog"
	"time"

	"svc/commands/operations"
	"svc/eventstore/jetstream"
	"svc/http/api"
	"svc/projections"
	"svc/streams"
)

// operationLease is for how long an operation stays its node's without a word of
// it. It is renewed three times as often.
const operationLease = 15 * time.Second

func (n *Node) openOperations(ctx context.Context) error {
	bucket, err := n.store.Buckets.Open(ctx, jetstream.BucketConfig{Name: "OPERATIONS", TTL: operationLease})
	if err != nil {
		return err
	}
	n.operations = &operations.Runner{
		Engine: n.engine, Workspaces: n.places.workspaces, Leases: leases{bucket, n.log}, Blobs: n.store.Blobs, Log: n.log,
		Timeout: func() time.Duration { return n.config().Workspaces.OperationTimeout },
	}
	n.closeWith("operations", n.operations.Close)
	return nil
}

func (n *Node) operationsDeps() api.OperationsDeps {
	return api.OperationsDeps{
		Runner: n.operations, Events: n.store.Log, Keeps: func() time.Duration { return n.config().Workspaces.OperationsRetention },
	}
}

// leases are those of operations.
type leases struct {
	bucket *jetstream.Bucket
	log    *slog.Logger
}

// Hold implements operations.Leases. Unlike other leases, one that is lost is not
// taken again.
func (l leases) Hold(ctx context.Context, name string, work func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	outcome := func() error { return context.Cause(ctx) } // it was never had
	_ = streams.Lease{Bucket: l.bucket, Name: name, TTL: operationLease, Log: l.log}.Hold(ctx, func(held context.Context) error {
		defer end(nil)
		err := work(held)
		outcome = func() error { return err }
		return nil
	}) // nil, once ctx has ended
	return outcome()
}

// adoptOperations takes over what nobody is at any more: operations that have not
// ended, and locks that were left behind. Those of other nodes that are well are
// waited for.
func (n *Node) adoptOperations(ctx context.Context) error {
	left, err := n.openEnded()
	if err != nil {
		return err
	}
	for _, ref := range left {
		if n.operations.Runs(ref.ID) {
			continue
		}
		go func() {
			if err := n.operations.Adopt(ctx, ref.WorkspaceID, ref.ID); err != nil && ctx.Err() == nil {
				n.log.Warn("an operation could not be taken over yet", "operation", ref.ID, "workspace", ref.WorkspaceID, "err", err)
			}
		}()
	}
	return nil
}

// openEnded lists the operations that run, and those that hold a lock.
func (n *Node) openEnded() (left []projections.OperationRef, err error) {
	err = n.models.View(func(r projections.Reader) error {
		locking, err := projections.Workspaces{}.Operated(r)
		if err != nil {
			return err
		}
		left, err = projections.Operations{}.Running(r)
		left = append(left, locking...)
		return err
	})
	return left, err
}
