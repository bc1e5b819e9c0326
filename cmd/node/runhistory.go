package node

import (
	"context"
	"time"

	"svc/commands/runtime"
	"svc/projections"
	"svc/streams"
	"svc/streams/triggers"
)

// runHistory knows what was started before. It implements triggers.History.
type runHistory struct {
	models *projections.Models
	parked runtime.Parked
	// process is the one that a tree is begun in now; gone reports whether another one is
	// not there any more, and holds whether a tree runs in this one.
	process func() string
	gone    func(ctx context.Context, process string) (bool, error)
	holds   func(workspaceID, correlationID, executionID string) bool
	// fresh waits until the read models have what any node has written.
	fresh func(context.Context) error
	// longest is how long a tree can run that never stood in a wait.
	longest func() time.Duration

	*suppression
}

// mostTrees bounds how many trees of a run are looked at for one.
const mostTrees = 10_000

// Begun implements triggers.History.
func (h runHistory) Begun(ctx context.Context, workspaceID, correlationID, eventID, slug string) (past streams.Past, err error) {
	var open []projections.UnfinishedTree
	err = h.models.View(func(r projections.Reader) error {
		past.Attempts, past.Over, err = projections.Runs{}.Ended(r, workspaceID, eventID, slug)
		if err == nil && past.Attempts > 0 && !past.Over {
			open, err = projections.Runs{}.Open(r, workspaceID, correlationID, mostTrees)
		}
		return err
	})
	for _, t := range open {
		if err != nil || t.Trigger.ID != eventID || t.Automation != slug {
			continue
		}
		if _, past.Over, err = h.parked.Get(ctx, t.WorkspaceID, t.ExecutionID); err == nil && !past.Over {
			past.Running, err = h.running(ctx, t)
		}
	}
	return past, err
}

// running reports whether a tree that never stood in a wait may still be run by a node that
// is there.
func (h runHistory) running(ctx context.Context, t projections.UnfinishedTree) (bool, error) {
	if t.Replica == h.process() {
		return h.holds(t.WorkspaceID, t.CorrelationID, t.ExecutionID), nil
	}
	if time.Since(t.StartedAt) > h.longest() {
		return false, nil
	}
	gone, err := h.gone(ctx, t.Replica)
	return !gone, err
}

// Orphans implements triggers.History.
func (h runHistory) Orphans(ctx context.Context, wanted triggers.Wanted, visit func(triggers.Orphan)) error {
	known := map[string]bool{} // whether processes are gone
	return h.lost(ctx, func(t projections.UnfinishedTree) (lost bool, err error) {
		if t.Replica == h.process() || !wanted(t.WorkspaceID, t.ExecutionID) {
			return false, nil
		}
		lost, asked := known[t.Replica]
		if !asked {
			lost, err = h.gone(ctx, t.Replica)
			known[t.Replica] = lost
		}
		return lost, err
	}, visit)
}

// Strays implements triggers.History.
func (h runHistory) Strays(ctx context.Context, wanted triggers.Wanted, visit func(triggers.Orphan)) error {
	return h.lost(ctx, func(t projections.UnfinishedTree) (bool, error) {
		return t.Replica == h.process() && !h.holds(t.WorkspaceID, t.CorrelationID, t.ExecutionID) && wanted(t.WorkspaceID, t.ExecutionID), nil
	}, visit)
}

// lost visits the trees that began and did not end of those that are lost. One whose node
// ended it just before it went is none of them: what that has written is waited for.
func (h runHistory) lost(ctx context.Context, lost func(projections.UnfinishedTree) (bool, error), visit func(triggers.Orphan)) error {
	found, err := h.open(lost)
	if err != nil || len(found) == 0 {
		return err
	}
	if err := h.fresh(ctx); err != nil {
		return err
	}
	still, err := h.open(func(t projections.UnfinishedTree) (bool, error) {
		return found[t.ExecutionID].Replica == t.Replica, nil
	})
	if err != nil {
		return err
	}
	for _, t := range still {
		o := triggers.Orphan{Attempt: t.Attempt, Waits: len(t.Waits) > 0, Broken: runtime.Broken{
			WorkspaceID: t.WorkspaceID, CorrelationID: t.CorrelationID, ExecutionID: t.ExecutionID, Automation: t.Automation, Trigger: t.Trigger, StartedAt: t.StartedAt,
		}}
		if _, o.Stands, err = h.parked.Get(ctx, t.WorkspaceID, t.ExecutionID); err != nil {
			return err
		}
		visit(o)
	}
	return nil
}

// open returns the trees that began and did not end, by their first execution, of those
// that are wanted.
func (h runHistory) open(wanted func(projections.UnfinishedTree) (bool, error)) (map[string]projections.UnfinishedTree, error) {
	var all []projections.UnfinishedTree
	err := h.models.View(func(r projections.Reader) error {
		return projections.Runs{}.Unfinished(r, func(t projections.UnfinishedTree) bool {
			all = append(all, t)
			return true
		})
	})
	found := map[string]projections.UnfinishedTree{}
	for _, t := range all {
		if err != nil {
			return nil, err
		}
		var is bool
		if is, err = wanted(t); is {
			found[t.ExecutionID] = t
		}
	}
	return found, err
}
