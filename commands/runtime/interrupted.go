package runtime

import (
	"context"
	"encoding/json"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/eventstore"
)

// Broken is a tree that began on a node that is gone, and is not begun again.
type Broken struct {
	WorkspaceID   string
	CorrelationID string
	ExecutionID   string // of its first execution
	Automation    string
	Trigger       activity.Trigger
	StartedAt     time.Time
	Depth         int    // of its first execution; 0: it is not known
	Instance      string // that its automation is of; "": of none
}

// Interrupted records that a tree was interrupted, and forgets where it stood, if it did.
// Repeated, it records nothing more.
func (r *Runtime) Interrupted(ctx context.Context, b Broken) error {
	return r.broke(ctx, b, activity.Failure{Error: automation.ExecutionInterrupt, Message: "the node that ran the automation stopped"})
}

// broke records that a tree did not come to its end, and why.
func (r *Runtime) broke(ctx context.Context, b Broken, failure activity.Failure) error {
	failure.Details = map[string]any{"automation": b.Automation, "executionId": b.ExecutionID}
	trigger, err := json.Marshal(b.Trigger)
	if err != nil {
		return err
	}
	meta := domain.Meta{
		CorrelationID: b.CorrelationID, AutomationSlug: b.Automation, AutomationDepth: max(b.Depth, 1), ExecutionID: b.ExecutionID, AppInstance: b.Instance, Host: r.Host,
	}
	if err := r.endWaits(ctx, b, meta); err != nil {
		return err
	}
	_, err = r.Store.Append(ctx, eventstore.Commit{
		Stream: domain.StreamID{Scope: b.WorkspaceID}, Meta: meta, Facts: []eventstore.Fact{
			{ID: derived(b.ExecutionID, "interrupted"), Event: activity.Executed{
				Slug: b.Automation, ExecutionID: b.ExecutionID, Trigger: trigger, StartedAt: stamp(b.StartedAt),
				Duration: r.Now().Sub(b.StartedAt).Milliseconds(), Error: &failure,
			}},
			{ID: derived(b.ExecutionID, "error"), Event: ofInstance(b.Instance, failure)},
		},
	})
	if err != nil {
		return err
	}
	return r.Parked.Drop(ctx, b.WorkspaceID, b.ExecutionID)
}

// endWaits records that the waits are over in which a tree stood that is not gone on with,
// those of the executions that it called too: nothing else tells of their end.
func (r *Runtime) endWaits(ctx context.Context, b Broken, meta domain.Meta) error {
	if r.Recorded == nil {
		return nil
	}
	state, _, err := r.Parked.Get(ctx, b.WorkspaceID, b.ExecutionID)
	waits, _ := Waiting(state)
	for i := 0; i < len(waits) && err == nil; i++ {
		over := derived(waits[i], "over")
		var there bool
		if there, err = r.Recorded(ctx, b.WorkspaceID, substitutes(over)...); err != nil || there {
			continue
		}
		err = r.appendAgain(ctx, eventstore.Commit{
			Stream: domain.StreamID{Scope: b.WorkspaceID}, Meta: meta, Facts: []eventstore.Fact{{ID: over, Event: activity.WaitExpired{ID: waits[i]}}},
		})
	}
	return err
}
