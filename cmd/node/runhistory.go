package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"svc/commands/runtime"
	"svc/domain"
	"svc/eventstore"
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

// Begun implements triggers.History.
func (h runHistory) Begun(ctx context.Context, workspaceID, _, eventID, slug string) (past streams.TreeStatus, err error) {
	var tree projections.UnfinishedTree
	var open bool
	err = h.models.View(func(r projections.Reader) error {
		past.Attempts, past.Done, err = projections.Runs{}.Ended(r, workspaceID, eventID, slug)
		if err == nil && past.Attempts == 0 && !past.Done { // what was refused began nothing
			_, past.Done, err = projections.FeedOf(domain.Activity).ByID(r, workspaceID, runtime.RefusalID(eventID, slug))
		}
		if err == nil && past.Attempts > 0 && !past.Done {
			tree, open, err = projections.Runs{}.Triggered(r, workspaceID, eventID, slug)
		}
		return err
	})
	if err != nil || !open {
		return past, err
	}
	if _, past.Done, err = h.parked.Get(ctx, workspaceID, tree.ExecutionID); err == nil && !past.Done {
		past.Running, err = h.running(ctx, tree)
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
func (h runHistory) Orphans(ctx context.Context, of func(workspaceID string) bool, wanted triggers.Wanted, visit func(triggers.Orphan)) error {
	found, err := h.open(of, func(t projections.UnfinishedTree) bool { return t.Replica != h.process() && wanted(t.ExecutionID) })
	gone := map[string]bool{} // processes
	for _, t := range found {
		if _, asked := gone[t.Replica]; !asked {
			is, failed := h.gone(ctx, t.Replica)
			gone[t.Replica], err = is && failed == nil, errors.Join(err, failed)
		}
	}
	found = slices.DeleteFunc(found, func(t projections.UnfinishedTree) bool { return !gone[t.Replica] || h.held(t) })
	return errors.Join(err, h.lost(ctx, found, visit))
}

// Strays implements triggers.History.
func (h runHistory) Strays(ctx context.Context, wanted triggers.Wanted, visit func(triggers.Orphan)) error {
	found, err := h.open(func(string) bool { return true }, func(t projections.UnfinishedTree) bool {
		return t.Replica == h.process() && !h.held(t) && wanted(t.ExecutionID)
	})
	return errors.Join(err, h.lost(ctx, found, visit))
}

func (h runHistory) held(t projections.UnfinishedTree) bool {
	return h.holds(t.WorkspaceID, t.CorrelationID, t.ExecutionID)
}

// open returns the trees of some workspaces that began and did not end, of those that are
// wanted.
func (h runHistory) open(of func(workspaceID string) bool, wanted func(projections.UnfinishedTree) bool) (found []projections.UnfinishedTree, err error) {
	err = h.models.View(func(r projections.Reader) error {
		return projections.Runs{}.UnfinishedIn(r, of, func(t projections.UnfinishedTree) bool {
			if wanted(t) {
				found = append(found, t)
			}
			return true
		})
	})
	return found, err
}

// lost visits trees that nobody runs. One whose node ended it just before it went is none
// of them: what that has written is waited for.
func (h runHistory) lost(ctx context.Context, found []projections.UnfinishedTree, visit func(triggers.Orphan)) error {
	if len(found) == 0 {
		return nil
	}
	if err := h.fresh(ctx); err != nil {
		return err
	}
	var faults []error
	for _, t := range found {
		switch o, still, err := h.orphan(ctx, t); {
		case errors.Is(err, eventstore.ErrUnavailable), err != nil && ctx.Err() != nil:
			return err // so it is with all of them
		case err != nil:
			faults = append(faults, err)
		case still:
			visit(o)
		}
	}
	return errors.Join(faults...)
}

// orphan reads what is to be known of a tree to take care of it; still is false when it
// ended since it was found, or goes on elsewhere.
func (h runHistory) orphan(ctx context.Context, t projections.UnfinishedTree) (o triggers.Orphan, still bool, err error) {
	err = h.models.View(func(r projections.Reader) error {
		now, open, err := projections.Runs{}.Refresh(r, t)
		still, t = open && now.ExecutionID == t.ExecutionID && now.Replica == t.Replica, now
		return err
	})
	if err != nil || !still {
		return o, false, err
	}
	state, stands, err := h.parked.Get(ctx, t.WorkspaceID, t.ExecutionID)
	if err != nil {
		return o, false, err
	}
	o = triggers.Orphan{Attempt: t.Attempt, Parked: stands, BrokenRun: runtime.BrokenRun{
		WorkspaceID: t.WorkspaceID, CorrelationID: t.CorrelationID, ExecutionID: t.ExecutionID, Automation: t.Automation, Trigger: t.Trigger, StartedAt: t.StartedAt,
		Depth: t.Event().Source.AutomationDepth, Instance: t.Event().Source.AppInstance,
	}}
	if stands {
		o.OnlyWaits, err = h.waits(t.WorkspaceID, state)
	}
	return o, err == nil, err
}

// waits reports whether a tree did nothing but wait when its state was kept, and nothing
// since: none of its waits is over.
func (h runHistory) waits(workspaceID string, state []byte) (bool, error) {
	ids, only := runtime.ParkedWaits(state)
	err := h.models.View(func(r projections.Reader) (err error) {
		for i := 0; i < len(ids) && only && err == nil; i++ {
			only, err = projections.Runs{}.Pending(r, workspaceID, ids[i])
		}
		return err
	})
	return only, err
}
