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

// endings are the native events that what they tell the end of hears of.
var endings = []string{"workspaces.deleted", "workspaces.apps.uninstalled"}

// program set returns what can run because of an event: what is now, or what was before the
// event when that tells of an end.
func (s *share) programSet(ctx context.Context, e *feed.Event) (*programs.ProgramSet, error) {
	if e.Log == domain.State && slices.Contains(endings, e.Type) {
		return s.Programs.ProgramSetBefore(ctx, e.Source.WorkspaceID, e.Number())
	}
	return s.Programs.ProgramSet(ctx, e.Source.WorkspaceID)
}

// listened reports whether an automation listened to an event already when that was recorded.
// Who looks at events again does so long after.
func (s *share) listened(ctx context.Context, b *begun) (bool, error) {
	now := b.start.ProgramSet.Workspace
	if now.Revision <= b.event.Seq.State {
		return true, nil // as it is now
	}
	then, err := s.Programs.ProgramSetBefore(ctx, now.ID, b.event.Seq.State+1)
	if err != nil || then == nil {
		return false, err
	}
	told, err := s.hearing(then, b.event)
	return slices.ContainsFunc(told, func(h heard) bool {
		return slices.ContainsFunc(h.by, func(p *programs.Program) bool { return p.Name == b.start.Program.Name })
	}), err
}

// houseOf is program set for a tree that was begun before. Of a workspace that was deleted only
// what its end started goes on.
func (s *share) houseOf(ctx context.Context, workspaceID string, by activity.Trigger) (*programs.ProgramSet, error) {
	programSet, err := s.Programs.ProgramSet(ctx, workspaceID)
	if err == nil && programSet == nil && by.Type == activity.ByEvent && slices.Contains(endings, by.Value) {
		return s.Programs.ProgramSetBefore(ctx, workspaceID, 0)
	}
	return programSet, err
}

// heard is an event, as those who listen to it are told.
type heard struct {
	event *feed.Event
	by    []*programs.Program
}

// hearing returns who hears of an event, and what: app instances hear that they come or go
// with their workspace.
func (s *share) hearing(programSet *programs.ProgramSet, e *feed.Event) (all []heard, err error) {
	about := programs.Event{Type: e.Type, Instance: instanceOf(e)}
	if programs.IsAboutApp(e.Type) {
		var publisher string
		about.App = appOf(e)
		publisher, _, err = s.Audience(about.App)
		about.OtherPublisher = programSet.Workspace.ID != publisher && programSet.Workspace.ID != domain.Platform
	}
	if by := programSet.Listeners(about); len(by) > 0 {
		all = append(all, heard{e, by})
	}
	for _, about := range programSet.InstanceEvents(e.Type) {
		if by := programSet.Listeners(about); len(by) > 0 {
			all = append(all, heard{inInstance(e, about), by})
		}
	}
	return all, err
}

// inInstance is what an app instance is told of an event about the whole workspace: the
// one that is recorded when it comes or goes by itself.
func inInstance(e *feed.Event, about programs.Event) *feed.Event {
	payload := map[string]any{"slug": about.Instance}
	if about.Type == "workspaces.apps.installed" {
		payload["appInstance"] = map[string]any{"slug": about.Instance, "appSlug": about.App}
	}
	body, _ := json.Marshal(payload) // texts
	return &feed.Event{
		ID: e.ID, Type: about.Type, At: e.At, Seq: e.Seq, Log: e.Log, Payload: body, Source: e.Source, Options: e.Options, Actor: e.Actor, Hides: e.Hides,
	}
}
