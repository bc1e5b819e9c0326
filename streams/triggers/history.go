package triggers

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"svc/commands/parked"
	"svc/commands/runtime"
	"svc/domain"
	"svc/eventstore"
	"svc/projections"
	"svc/streams"
)

// RunHistory knows which trees were started before, from the read models. It implements
// History. Every field is required.
type RunHistory struct {
	Models  *projections.Models
	Parked  *parked.Parked
	Runtime *runtime.Runtime
	// IsGone reports whether another process is gone.
	IsGone func(ctx context.Context, process string) (bool, error)
	// MaxActive is how long a tree can run without a wait.
	MaxActive func() time.Duration
	Log       *slog.Logger

	*Suppression
}

// Begun implements History.
func (h RunHistory) Begun(ctx context.Context, workspaceID, _, eventID, slug string) (streams.TreeStatus, error) {
	past, tree, open, err := h.readStatus(workspaceID, eventID, slug)
	if err != nil || !open {
		return past, err
	}
	if _, past.Done, err = h.Parked.Get(ctx, workspaceID, tree.ExecutionID); err == nil && !past.Done {
		past.Running, err = h.isRunning(ctx, tree)
	}
	return past, err
}

// readStatus returns the status of the tree that an event starts for an automation, from the read
// models; open is true when it is unfinished.
func (h RunHistory) readStatus(workspaceID, eventID, slug string) (past streams.TreeStatus, tree projections.UnfinishedTree, open bool, err error) {
	r := h.Models.Reader()
	defer r.Close()
	past.Attempts, past.Done, err = projections.Runs{}.Ended(r, workspaceID, eventID, slug)
	if err == nil && past.Attempts == 0 && !past.Done { // a refusal starts nothing
		_, _, past.Done, err = projections.FeedOf(domain.Activity).ByID(r, workspaceID, runtime.RefusalID(eventID, slug))
	}
	if err == nil && past.Attempts > 0 && !past.Done {
		tree, open, err = projections.Runs{}.Triggered(r, workspaceID, eventID, slug)
	}
	return past, tree, open, err
}

// isRunning reports whether a live node may still run a tree that was never parked.
func (h RunHistory) isRunning(ctx context.Context, t projections.UnfinishedTree) (bool, error) {
	if t.Replica == h.Runtime.CurrentProcess() {
		return h.runsHere(t), nil
	}
	if time.Since(t.StartedAt) > h.MaxActive()+time.Minute {
		return false, nil
	}
	gone, err := h.IsGone(ctx, t.Replica)
	return !gone, err
}

// Orphans implements History.
func (h RunHistory) Orphans(ctx context.Context, of func(workspaceID string) bool, wanted Wanted, visit func(Orphan)) error {
	process := h.Runtime.CurrentProcess()
	found, err := h.Models.UnfinishedTrees(of, func(t projections.UnfinishedTree) bool { return t.Replica != process && wanted(t.ExecutionID) })
	gone := map[string]bool{} // by process
	for _, t := range found {
		if _, asked := gone[t.Replica]; !asked {
			is, failed := h.IsGone(ctx, t.Replica)
			gone[t.Replica], err = is && failed == nil, errors.Join(err, failed)
		}
	}
	found = slices.DeleteFunc(found, func(t projections.UnfinishedTree) bool { return !gone[t.Replica] || h.runsHere(t) })
	return errors.Join(err, h.visitOrphans(ctx, found, visit))
}

// Strays implements History.
func (h RunHistory) Strays(ctx context.Context, wanted Wanted, visit func(Orphan)) error {
	found, err := h.Models.UnfinishedTrees(func(string) bool { return true }, func(t projections.UnfinishedTree) bool {
		return t.Replica == h.Runtime.CurrentProcess() && !h.runsHere(t) && wanted(t.ExecutionID)
	})
	return errors.Join(err, h.visitOrphans(ctx, found, visit))
}

func (h RunHistory) runsHere(t projections.UnfinishedTree) bool {
	return h.Runtime.IsRunning(t.WorkspaceID, t.CorrelationID, t.ExecutionID)
}

// visitOrphans visits trees that nobody runs. A node may have ended a tree just before it was
// gone, so it waits until the read models contain what that node wrote.
func (h RunHistory) visitOrphans(ctx context.Context, found []projections.UnfinishedTree, visit func(Orphan)) error {
	if len(found) == 0 {
		return nil
	}
	if err := h.Models.Latest(ctx); err != nil {
		return err
	}
	var faults []error
	for _, t := range found {
		switch o, still, err := h.orphan(ctx, t); {
		case errors.Is(err, eventstore.ErrUnavailable), err != nil && ctx.Err() != nil:
			return err // all others would fail, too
		case err != nil:
			faults = append(faults, err)
		case still:
			visit(o)
		}
	}
	return errors.Join(faults...)
}

// orphan reads what is needed to handle a tree; still is false when it has ended since it
// was found, or continues elsewhere.
func (h RunHistory) orphan(ctx context.Context, t projections.UnfinishedTree) (o Orphan, still bool, err error) {
	now, open, err := h.refresh(t)
	still = open && now.ExecutionID == t.ExecutionID && now.Replica == t.Replica
	if err != nil || !still {
		return o, false, err
	}
	t = now
	state, isParked, err := h.Parked.Get(ctx, t.WorkspaceID, t.ExecutionID)
	if err != nil {
		return o, false, err
	}
	o = Orphan{Attempt: t.Attempt, Parked: isParked, BrokenRun: runtime.BrokenRun{
		WorkspaceID: t.WorkspaceID, CorrelationID: t.CorrelationID, ExecutionID: t.ExecutionID, Automation: t.Automation, Trigger: t.Trigger, StartedAt: t.StartedAt,
		Depth: t.Event().Source.AutomationDepth, Instance: t.Event().Source.AppInstance,
	}}
	if isParked {
		o.OnlyWaits, err = h.onlyWaits(t.WorkspaceID, state)
	}
	return o, err == nil, err
}

// refresh reads a tree again.
func (h RunHistory) refresh(t projections.UnfinishedTree) (now projections.UnfinishedTree, open bool, err error) {
	r := h.Models.Reader()
	defer r.Close()
	return projections.Runs{}.Refresh(r, t)
}

// onlyWaits reports whether a tree did nothing but wait when it was parked, and nothing
// since: none of its waits is over.
func (h RunHistory) onlyWaits(workspaceID string, state []byte) (only bool, err error) {
	ids, only := runtime.ParkedWaits(state)
	r := h.Models.Reader()
	defer r.Close()
	for i := 0; i < len(ids) && only && err == nil; i++ {
		only, err = projections.Runs{}.Pending(r, workspaceID, ids[i])
	}
	return only, err
}

// ParkedSweepEvery is how often parked states of trees are searched that have ended.
const ParkedSweepEvery = time.Hour

// minParkedAge is how old a parked state must be to be swept: the tree of a younger one may
// have begun just before.
const minParkedAge = 24 * time.Hour

// SweepParked deletes the parked states of trees that have ended: the node that ended one
// may have stopped before it deleted the state.
func (h RunHistory) SweepParked(ctx context.Context) error {
	before := time.Now().Add(-minParkedAge)
	if err := h.Models.Latest(ctx); err != nil {
		return err
	}
	open := map[string]bool{}
	r := h.Models.Reader()
	err := projections.Runs{}.Unfinished(r, func(t projections.UnfinishedTree) bool {
		open[t.ExecutionID] = true
		return true
	})
	r.Close()
	if err != nil {
		return err
	}
	swept, err := h.Parked.Sweep(ctx, before, func(treeID string) bool { return open[treeID] })
	if swept > 0 {
		h.Log.InfoContext(ctx, "parked states of ended trees were deleted", "trees", swept)
	}
	return err
}
