package runtime

import (
	"context"
	"encoding/json"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/feed"
	"svc/eventstore"
)

// BrokenRun is a run whose node is gone and that is not started again.
type BrokenRun struct {
	WorkspaceID   string
	CorrelationID string
	ExecutionID   string // of its first execution
	Automation    string
	Trigger       activity.Trigger
	StartedAt     time.Time
	Depth         int    // of its first execution; 0: it is not known
	Instance      string // that its automation is of; "": of none
}

// RecordInterrupted records that a run was interrupted, and deletes its parked state. A
// repetition records nothing.
func (r *Runtime) RecordInterrupted(ctx context.Context, b BrokenRun) error {
	return r.recordBrokenRun(ctx, b, activity.Failure{Error: automation.ExecutionInterrupt, Message: "the node that ran the automation stopped"})
}

// recordBrokenRun records that a run did not end by itself, and why.
func (r *Runtime) recordBrokenRun(ctx context.Context, b BrokenRun, failure activity.Failure) error {
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
			{ID: deriveID(b.ExecutionID, "interrupted"), Event: activity.Executed{
				Slug: b.Automation, ExecutionID: b.ExecutionID, Trigger: trigger, StartedAt: formatTime(b.StartedAt),
				Duration: r.Now().Sub(b.StartedAt).Milliseconds(), Error: &failure,
			}},
			{ID: deriveID(b.ExecutionID, "error"), Event: prefixEvent(b.Instance, failure)},
		},
	})
	if err != nil {
		return err
	}
	return r.Parked.Drop(ctx, b.WorkspaceID, b.ExecutionID)
}

// endWaits records the end of all waits of a parked run that is not resumed, also those of
// called executions: nothing else records it.
func (r *Runtime) endWaits(ctx context.Context, b BrokenRun, meta domain.Meta) error {
	if r.Recorded == nil {
		return nil
	}
	state, _, err := r.Parked.Get(ctx, b.WorkspaceID, b.ExecutionID)
	waits, _ := ParkedWaits(state)
	for i := 0; i < len(waits) && err == nil; i++ {
		over := deriveID(waits[i], "over")
		var exists bool
		if exists, err = r.Recorded(ctx, b.WorkspaceID, substituteIDs(over)...); err != nil || exists {
			continue
		}
		err = r.appendAgain(ctx, eventstore.Commit{
			Stream: domain.StreamID{Scope: b.WorkspaceID}, Meta: meta, Facts: []eventstore.Fact{{ID: over, Event: activity.WaitExpired{ID: waits[i]}}},
		})
	}
	return err
}

// RecordNotStarted records that an event does not start its listeners, and why. A repetition
// for the same reason records nothing.
func (r *Runtime) RecordNotStarted(ctx context.Context, e *feed.Event, why *automation.Error) error {
	meta := domain.Meta{
		CorrelationID: e.Source.CorrelationID, SessionID: e.Source.SessionID, TraceID: e.Source.TraceID,
		AutomationDepth: e.Source.AutomationDepth + 1, Host: r.Host,
	}
	_, err := r.Store.Append(ctx, eventstore.Commit{
		Stream: domain.StreamID{Scope: e.Source.WorkspaceID}, Meta: meta, Facts: []eventstore.Fact{{
			ID: deriveID(e.ID, "unstarted "+why.Name), Event: activity.Failure{
				Error: why.Name, Message: why.Message, Details: map[string]any{"eventId": e.ID, "eventType": e.Type},
			},
		}},
	})
	return err
}
