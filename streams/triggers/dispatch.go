package triggers

import (
	"context"
	"errors"
	"strings"
	"time"

	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/domain/feed"
)

// begun is a tree that an event started.
type begun struct {
	start runtime.Start
	run   *runtime.Running
}

// dispatch starts what listens to an event. What cannot be found out is tried again
// until it can, or ctx ends: no event is passed over.
func (s *share) dispatch(ctx context.Context, e *feed.Event) []*begun {
	if !automation.Triggering(e.Type) {
		return nil
	}
	for ctx.Err() == nil {
		list, err := s.begin(ctx, e)
		if err == nil {
			return list
		}
		s.Log.WarnContext(ctx, "an event could not be looked at for what listens to it", "event", e.ID, "type", e.Type, "err", err)
		rest(ctx)
	}
	return nil
}

// begin starts what listens to an event.
func (s *share) begin(ctx context.Context, e *feed.Event) ([]*begun, error) {
	house, err := s.Programs.House(ctx, e.Source.WorkspaceID)
	if err != nil || house == nil {
		return nil, err
	}
	listeners := house.Listeners(programs.Event{Type: e.Type, Instance: instanceOf(e)})
	if len(listeners) == 0 {
		return nil, nil
	}
	suppressed, err := s.History.Suppressed(e)
	if err != nil || suppressed {
		return nil, err
	}
	caller, err := s.Caller(ctx, e)
	if err != nil {
		return nil, err
	}
	in, err := inputOf(e)
	if err != nil {
		return nil, err
	}
	var list []*begun
	for _, p := range listeners {
		start := s.startOf(house, p, e, caller)
		start.Input = in
		wanted, err := s.due(ctx, e, &start)
		if err != nil {
			return nil, err
		}
		if wanted {
			list = append(list, &begun{start, s.Runtime.Launch(start)})
		}
	}
	return list, nil
}

// instanceOf is the app instance that a native event is about.
func instanceOf(e *feed.Event) string {
	if !strings.HasPrefix(e.Type, "workspaces.apps.") {
		return ""
	}
	for _, v := range e.Values("payload.slug") {
		if slug, ok := v.(string); ok {
			return slug
		}
	}
	return ""
}

// emittedByRun reports whether an automation emitted the event.
func emittedByRun(e *feed.Event) bool {
	return e.Source.ServiceTopic == feed.Emitted && e.Actor != nil
}

// startOf is the tree that an event starts for a listener.
func (s *share) startOf(house *programs.House, p *programs.Program, e *feed.Event, caller runtime.Caller) runtime.Start {
	start := runtime.Start{
		House: house, Program: p, Caller: caller, CorrelationID: e.Source.CorrelationID, Depth: e.Source.AutomationDepth + 1, Attempt: 1,
		Trigger: activity.Trigger{Type: activity.ByEvent, Value: e.Type, ID: e.ID, AppInstanceSlug: p.Place.Instance},
		Meta:    domain.Meta{TraceID: e.Source.TraceID, IP: e.Source.IP, SocketID: e.Source.SocketID},
	}
	if !emittedByRun(e) {
		start.Facts = []domain.Event{activity.Interaction{
			WorkspaceID: house.Workspace.ID, AuthenticatedWorkspaceID: caller.WorkspaceID, Automation: p.Name, Trigger: start.Trigger,
			StartedAt: s.Now().UTC().Format(domain.Timestamp),
		}}
	}
	return start
}

// due reports whether a tree is to be started: not when it was before, too often, or
// when an error that tells of too many calls would make another one.
func (s *share) due(ctx context.Context, e *feed.Event, start *runtime.Start) (bool, error) {
	if start.Depth > s.MaxDepth()+2 && (e.Type == "error" || strings.HasSuffix(e.Type, ".error")) {
		return false, nil
	}
	if !e.Options.Persisted() || !behind(e, s.start) {
		return true, nil
	}
	attempts, over, err := s.History.Begun(ctx, e, start.Program.Name)
	if err != nil || over {
		return false, err
	}
	start.Attempt = attempts + 1
	if start.Attempt > s.MaxAttempts() {
		start.Interrupted = true
	}
	return true, nil
}

// inputOf is what an automation is given that an event started.
func inputOf(e *feed.Event) (*value.Object, error) {
	whole, err := value.ParseJSON(string(e.JSON()))
	if err != nil {
		return nil, err
	}
	in := &value.Object{}
	for _, key := range []string{"id", "type", "source", "payload", "createdAt"} {
		in.Set(key, value.At(whole, key))
	}
	return in, nil
}

// see waits until trees have ended, or stand where they go on after a restart. One that
// broke off because of the platform is begun again. It reports whether all are over.
func (s *share) see(ctx context.Context, list []*begun) bool {
	for _, b := range list {
		for {
			select {
			case <-b.run.Done():
			case <-b.run.Stands():
			case <-ctx.Done():
				return false
			}
			if !isClosed(b.run.Done()) {
				break // any node goes on with it
			}
			_, err := b.run.Outcome()
			if err == nil {
				break
			}
			if ctx.Err() != nil || errors.Is(err, runtime.ErrClosing) {
				return false
			}
			select {
			case <-ctx.Done():
				return false
			case <-time.After(pause):
			}
			b.start.Attempt++
			b.start.Interrupted = b.start.Attempt > s.MaxAttempts()
			b.run = s.Runtime.Launch(b.start)
		}
	}
	return true
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
