package node

import (
	"context"
	"encoding/json"

	"svc/commands/runtime"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/value"
	"svc/domain/feed"
	"svc/projections"
	"svc/streams/triggers"
)

// runHistory knows what was started before. It implements triggers.History.
type runHistory struct {
	models *projections.Models
	parked runtime.Parked
	// gone reports whether the process that runs a tree is gone.
	gone func(ctx context.Context, process string) (bool, error)
}

// mostTrees bounds how many trees of a run are looked at for one.
const mostTrees = 10_000

// Begun implements triggers.History.
func (h runHistory) Begun(ctx context.Context, e *feed.Event, slug string) (attempts int, over bool, err error) {
	var open []projections.UnfinishedTree
	err = h.models.View(func(r projections.Reader) error {
		attempts, over, err = projections.Runs{}.Ended(r, e.Source.WorkspaceID, e.ID, slug)
		if err == nil && attempts > 0 && !over {
			open, err = projections.Runs{}.Open(r, e.Source.WorkspaceID, e.Source.CorrelationID, mostTrees)
		}
		return err
	})
	for _, t := range open {
		if err == nil && t.Trigger.ID == e.ID && t.Automation == slug {
			_, over, err = h.parked.Get(ctx, t.WorkspaceID, t.ExecutionID)
		}
	}
	return attempts, over, err
}

// Orphans implements triggers.History.
func (h runHistory) Orphans(ctx context.Context, visit func(triggers.Orphan)) error {
	var open []projections.UnfinishedTree
	err := h.models.View(func(r projections.Reader) error {
		return projections.Runs{}.Unfinished(r, func(t projections.UnfinishedTree) bool {
			open = append(open, t)
			return true
		})
	})
	for _, t := range open {
		if err != nil {
			return err
		}
		gone, unknown := h.gone(ctx, t.Replica)
		if unknown != nil {
			return unknown
		}
		if !gone {
			continue
		}
		o := triggers.Orphan{Attempt: t.Attempt, Broken: runtime.Broken{
			WorkspaceID: t.WorkspaceID, CorrelationID: t.CorrelationID, ExecutionID: t.ExecutionID, Automation: t.Automation, Trigger: t.Trigger, StartedAt: t.StartedAt,
		}}
		if _, o.Stands, err = h.parked.Get(ctx, t.WorkspaceID, t.ExecutionID); err == nil {
			visit(o)
		}
	}
	return err
}

// Suppressed implements triggers.History.
func (h runHistory) Suppressed(e *feed.Event) (suppressed bool, err error) {
	at := e.Seq.Activity
	err = h.models.View(func(r projections.Reader) error {
		return projections.Runs{}.Waits(r, e.Source.WorkspaceID, at, func(w projections.CancellingWait) bool {
			pending := w.Seq < at && (w.EndSeq == 0 || w.EndSeq > at) && e.At.Before(w.ExpiresAt)
			suppressed = pending && cancels(w.Wait, e)
			return !suppressed
		})
	})
	return suppressed, err
}

// cancels reports whether a wait is for an event that is to start nothing else.
func cancels(wait json.RawMessage, e *feed.Event) bool {
	params, err := value.ParseJSON(string(wait))
	if err != nil {
		return false
	}
	list, _ := value.At(params, "oneOf").([]any)
	for _, option := range list {
		if value.At(option, "cancelTriggers") != true || !automation.MatchEvent(value.Text(value.At(option, "event")), e.Type) {
			continue
		}
		filters, ok := value.At(option, "filters").(*value.Object)
		if !ok {
			return true
		}
		m, err := expr.CompileMatcher(filters, true)
		if err != nil {
			continue
		}
		whole, err := value.ParseJSON(string(e.JSON()))
		if err != nil {
			continue
		}
		if fits, err := m.Match(whole); err == nil && fits {
			return true
		}
	}
	return false
}
