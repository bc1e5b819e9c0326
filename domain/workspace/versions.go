package workspace

import (
	"time"

	"svc/domain"
	"svc/domain/document"
)

// Push records that a push succeeded. That a repository has taken the content is
// a fact: it is recorded whatever happened to the workspace meanwhile.
type Push struct {
	Version Version
	// Synced is the revision of the content that was seen to be in a repository
	// outside; 0 for a native version, which says nothing about the outside.
	Synced uint64
}

func (Push) workspaceCommand() {}

// Version is a named state of the content.
type Version struct {
	Name            string             `json:"name"`
	Description     document.Localized `json:"description,omitzero"`
	CreatedAt       time.Time          `json:"createdAt"`
	CreatedBy       string             `json:"createdBy"`
	RepositoryID    string             `json:"repositoryId,omitempty"` // "": native
	ContentRevision uint64             `json:"contentRevision"`
}

// Published says that a version was saved to a repository.
type Published struct {
	Version Version `json:"version"`
	Synced  uint64  `json:"synced,omitempty"`
}

// EventType implements domain.Event.
func (Published) EventType() string { return "workspaces.versions.published" }

func push(c Push) ([]domain.Event, error) { return []domain.Event{Published(c)}, nil }
