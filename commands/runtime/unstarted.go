package runtime

import (
	"context"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/feed"
	"svc/eventstore"
)

// RecordNotStarted records that an event does not start what listens to it, and why. Repeated for
// the same reason, it records nothing more.
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
