package workspace

// Snapshot is a workspace as its events carry it.
type Snapshot struct {
	ID       string   `json:"id"`
	Settings Settings `json:"settings"`
}

type (
	// Created says that a workspace came into being.
	Created struct {
		Workspace Snapshot `json:"workspace"`
	}
	// Updated says that its settings changed, and what they are now.
	Updated struct {
		Workspace Snapshot `json:"workspace"`
	}
)

// EventType implements domain.Event.
func (Created) EventType() string { return "workspaces.created" }

// EventType implements domain.Event.
func (Updated) EventType() string { return "workspaces.updated" }
