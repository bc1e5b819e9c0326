package triggers

import (
	"context"
	"encoding/json"
	"slices"

	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/feed"
)

// endEvents are the native events that the deleted workspace or instance itself receives.
var endEvents = []string{"workspaces.deleted", "workspaces.apps.uninstalled"}

// programSet returns the program set for an event: the current one, or the one before the event when that deletes
// it.
func (s *partition) programSet(ctx context.Context, e *feed.Event) (*programs.ProgramSet, error) {
	if e.Log == domain.State && slices.Contains(endEvents, e.Type) {
		return s.Programs.ProgramSetBefore(ctx, e.Source.WorkspaceID, e.Number())
	}
	return s.Programs.ProgramSet(ctx, e.Source.WorkspaceID)
}

// wasListening reports whether an automation listened to an event when it was recorded. Events may be read again long
// after.
func (s *partition) wasListening(ctx context.Context, b *startedTree) (bool, error) {
	now := b.start.ProgramSet.Workspace
	if now.Revision <= b.event.Seq.State {
		return true, nil // nothing has changed since
	}
	then, err := s.Programs.ProgramSetBefore(ctx, now.ID, b.event.Seq.State+1)
	if err != nil || then == nil {
		return false, err
	}
	listeners, err := s.listenersTo(then, b.event)
	return slices.ContainsFunc(listeners, func(h listening) bool {
		return slices.ContainsFunc(h.by, func(p *programs.Program) bool { return p.Name == b.start.Program.Name })
	}), err
}

// programSetOfTree is programSet for a tree that was started before. In a deleted workspace only the trees that
// its deletion started continue.
func (s *partition) programSetOfTree(ctx context.Context, workspaceID string, by activity.Trigger) (*programs.ProgramSet, error) {
	programSet, err := s.Programs.ProgramSet(ctx, workspaceID)
	if err == nil && programSet == nil && by.Type == activity.ByEvent && slices.Contains(endEvents, by.Value) {
		return s.Programs.ProgramSetBefore(ctx, workspaceID, 0)
	}
	return programSet, err
}

// listening is an event with its listeners.
type listening struct {
	event *feed.Event
	by    []*programs.Program
}

// listenersTo returns the listeners of an event, and the event as they see it: app instances are notified when their
// workspace is created or deleted.
func (s *partition) listenersTo(programSet *programs.ProgramSet, e *feed.Event) (all []listening, err error) {
	about := programs.Event{Type: e.Type, Instance: instanceOf(e)}
	if programs.IsAboutApp(e.Type) {
		var publisher string
		about.App = appOf(e)
		publisher, _, err = s.Audience(about.App)
		about.OtherPublisher = programSet.Workspace.ID != publisher && programSet.Workspace.ID != domain.Platform
	}
	if by := programSet.Listeners(about); len(by) > 0 {
		all = append(all, listening{e, by})
	}
	for _, about := range programSet.InstanceEvents(e.Type) {
		if by := programSet.Listeners(about); len(by) > 0 {
			all = append(all, listening{eventInInstance(e, about), by})
		}
	}
	return all, err
}

// eventInInstance returns an event about the whole workspace as an app instance sees it: like the event of its own
// installation or removal.
func eventInInstance(e *feed.Event, about programs.Event) *feed.Event {
	payload := map[string]any{"slug": about.Instance}
	if about.Type == "workspaces.apps.installed" {
		payload["appInstance"] = map[string]any{"slug": about.Instance, "appSlug": about.App}
	}
	body, _ := json.Marshal(payload) // texts
	return &feed.Event{
		ID: e.ID, Type: about.Type, At: e.At, Seq: e.Seq, Log: e.Log, Payload: body, Source: e.Source, Options: e.Options, Actor: e.Actor, Hides: e.Hides,
	}
}
