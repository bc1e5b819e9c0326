package workspace

import (
	"time"

	"svc/domain"
)

type (
	// Delete deletes the workspace; it can be brought back until a time.
	Delete struct {
		Now   time.Time
		Keeps time.Duration // EVENTS_SCHEDULED_DELETION_DAYS
	}
	// Undelete brings a deleted workspace back.
	Undelete struct {
		Slug string // "": the one it had
		Now  time.Time
	}
)

func (Delete) workspaceCommand()   {}
func (Undelete) workspaceCommand() {}

type (
	// Deleted says that the workspace is gone, and until when it can come back.
	Deleted struct {
		ID              string    `json:"workspaceId"`
		Slug            string    `json:"workspaceSlug"`
		Name            string    `json:"name"`
		DeletedAt       time.Time `json:"deletedAt"`
		RestorableUntil time.Time `json:"restorableUntil"`
	}
	// Undeleted says that it came back, under which slug.
	Undeleted struct {
		ID   string `json:"workspaceId"`
		Slug string `json:"workspaceSlug"`
		Name string `json:"name"`
		// Settings are those with another slug, when it came back under one.
		Settings *Settings `json:"settings,omitempty"`
	}
)

// EventType implements domain.Event.
func (Deleted) EventType() string { return "workspaces.deleted" }

// EventType implements domain.Event.
func (Undeleted) EventType() string { return "workspaces.undeleted" }

func deleteIt(s State, c Delete) ([]domain.Event, error) {
	if s.ID == domain.Platform {
		return nil, domain.Refuse(domain.CodeConflict, "the platform workspace cannot be deleted").Reason("protected")
	}
	return []domain.Event{Deleted{
		ID: s.ID, Slug: s.Settings.Slug, Name: s.Settings.Name,
		DeletedAt: c.Now, RestorableUntil: c.Now.Add(c.Keeps),
	}}, nil
}

func undelete(s State, c Undelete) ([]domain.Event, error) {
	switch {
	case s.ID == "" || s.Deleted != nil && !c.Now.Before(s.Deleted.Until):
		return nil, noWorkspace()
	case s.Deleted == nil:
		return nil, domain.Refuse(domain.CodeConflict, "the workspace is not deleted").Reason("not_deleted")
	}
	ev := Undeleted{ID: s.ID, Slug: s.Settings.Slug, Name: s.Settings.Name}
	if c.Slug != "" && c.Slug != s.Settings.Slug {
		next := s.Settings
		next.Slug, ev.Slug, ev.Settings = c.Slug, c.Slug, &next
	}
	return []domain.Event{ev}, nil
}

// Gone says when a workspace was deleted and until when it can come back.
type Gone struct {
	At    time.Time `json:"at"`
	Until time.Time `json:"until"`
}

// minRunTime is how long a deletion can start automations at least, however soon the
// workspace may be erased.
const minRunTime = time.Hour

// RunsUntil returns until when automations that the deletion triggers can be started.
func (g *Gone) RunsUntil() time.Time {
	if least := g.At.Add(minRunTime); least.After(g.Until) {
		return least
	}
	return g.Until
}
