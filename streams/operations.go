package streams

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"svc/commands"
	"svc/commands/operations"
	"svc/eventstore"
	"svc/projections"
)

// OperationLease is how long an operation stays with its node without a renewal. The lease
// is renewed three times in that time.
const OperationLease = 15 * time.Second

// OperationLeases are the leases of operations. It implements operations.Leases. Unlike
// other leases, one that is lost is not acquired again.
type OperationLeases struct {
	Bucket eventstore.Bucket // drops leases after OperationLease
	Log    *slog.Logger
}

// Hold implements operations.Leases.
func (l OperationLeases) Hold(ctx context.Context, name string, work func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	outcome := func() error { return context.Cause(ctx) } // it was never acquired
	_ = Lease{Bucket: l.Bucket, Name: name, TTL: OperationLease, Log: l.Log}.Hold(ctx, func(held context.Context) error {
		defer end(nil)
		err := work(held)
		outcome = func() error { return err }
		return nil
	}) // nil, once ctx has ended
	return outcome()
}

// OperationMaintenance takes care of operations and write locks whose node is gone. All fields
// are required.
type OperationMaintenance struct {
	Models     *projections.Models
	Operations *operations.Runner
	Workspaces commands.Workspaces
	Log        *slog.Logger
}

// Adopt takes over the operations that have not ended, or hold a lock, and that no node works
// on. It waits in the background for those of nodes that are alive.
func (u OperationMaintenance) Adopt(ctx context.Context) error {
	unfinished, err := u.Models.UnfinishedOperations()
	if err != nil {
		return err
	}
	for _, ref := range unfinished {
		if u.Operations.Runs(ref.ID) {
			continue
		}
		op, ok, err := projections.Find(u.Models, projections.Operations{}.Get, ref.ID)
		if err != nil {
			return err
		}
		if ok && (op.Crawl != nil || op.Reindex != nil) {
			continue // the crawler or the pipeline of documents runs it
		}
		go func() {
			if err := u.Operations.Adopt(ctx, ref.WorkspaceID, ref.ID); err != nil && ctx.Err() == nil {
				u.Log.Warn("an operation could not be taken over yet", "operation", ref.ID, "workspace", ref.WorkspaceID, "err", err)
			}
		}()
	}
	return nil
}

// ExpireLocks records the write locks that have expired, each one once.
func (u OperationMaintenance) ExpireLocks(ctx context.Context) error {
	expired, err := u.Models.ExpiredLocks(time.Now())
	for _, id := range expired {
		_, failed := u.Workspaces.Expire(ctx, id)
		err = errors.Join(err, failed)
	}
	return err
}
