package workspace

import "svc/domain/access"

// Snapshot is a workspace as its events carry it.
type Snapshot struct {
	ID       string   `json:"id"`
	Settings Settings `json:"settings"`
}

type (
	// Created says that a workspace came into being, with what nobody has
	// changed yet: its security document and its owner.
	Created struct {
		Workspace Snapshot        `json:"workspace"`
		Security  access.Security `json:"security,omitzero"`
		Shares    []access.Share  `json:"shares,omitempty"`
	}
	// Updated says that its settings changed, and what they are now.
	Updated struct {
		Workspace Snapshot `json:"workspace"`
	}
	// Secured says that its security document was replaced.
	Secured struct {
		Security access.Security `json:"security"`
	}
	// Shared says with whom it is shared, and how, from now on.
	Shared struct {
		SubjectID   string             `json:"subjectId"`
		Target      access.Target      `json:"target"`
		Permissions access.Permissions `json:"permissions"`
	}
	// Unshared says that it is shared with somebody no more.
	Unshared struct {
		SubjectID string        `json:"subjectId"`
		Target    access.Target `json:"target"`
	}
)

// EventType implements domain.Event.
func (Created) EventType() string { return "workspaces.created" }

// EventType implements domain.Event.
func (Updated) EventType() string { return "workspaces.updated" }

// EventType implements domain.Event.
func (Secured) EventType() string { return "workspaces.security.updated" }

// EventType implements domain.Event.
func (Shared) EventType() string { return "workspaces.permissions.shared" }

// EventType implements domain.Event.
func (Unshared) EventType() string { return "workspaces.permissions.deleted" }
