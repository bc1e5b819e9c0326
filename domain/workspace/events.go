package workspace

import (
	"encoding/json"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
)

// Snapshot is a workspace as its events carry it.
type Snapshot struct {
	ID       string   `json:"id"`
	Settings Settings `json:"settings"`
}

// Document returns the workspace as the API shows it, without secrets.
func (s Snapshot) Document() *document.Map {
	doc := document.MapOf(document.Pair{Key: "id", Value: s.ID})
	s.Settings.Config = HideSecrets(s.Settings.Config)
	for key, v := range s.Settings.Document().All() {
		doc.Set(key, v)
	}
	return doc
}

type (
	// Created says that a workspace came into being, with what nobody has
	// changed yet: its security document and its owner, and content when it was
	// imported or duplicated.
	Created struct {
		Workspace Snapshot        `json:"workspace"`
		Security  access.Security `json:"security,omitzero"`
		Source    *document.Map   `json:"source,omitempty"` // the security document as it was written
		Shares    []access.Share  `json:"shares,omitempty"`
		Entries   []Entry         `json:"entries,omitempty"`
		Stage     string          `json:"stage,omitempty"`
	}
	// Updated says that its settings changed, and what they are now.
	Updated struct {
		Workspace Snapshot `json:"workspace"`
		OldSlug   string   `json:"oldSlug,omitempty"`
		// Aside marks a change of what is no content: hosts, repositories.
		Aside bool `json:"aside,omitempty"`
	}
	// Configured says that nothing but its config changed.
	Configured struct {
		Workspace Snapshot      `json:"workspace"`
		OldConfig *document.Map `json:"oldConfig,omitempty"`
	}
	// BlocksUpdated says that nothing but its blocks changed.
	BlocksUpdated struct {
		Workspace Snapshot `json:"workspace"`
	}
	// EventsUpdated says that nothing but the types of its events changed.
	EventsUpdated struct {
		Workspace Snapshot `json:"workspace"`
	}
	// Duplicated says of which workspace it is a copy.
	Duplicated struct {
		Workspace Snapshot `json:"workspace"`
		From      Named    `json:"fromWorkspace"`
	}
	// Secured says that its security document was replaced.
	Secured struct {
		Security access.Security `json:"security"`
		Source   *document.Map   `json:"source,omitempty"` // as it was written
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
func (Configured) EventType() string { return "workspaces.configured" }

// EventType implements domain.Event.
func (BlocksUpdated) EventType() string { return "workspaces.blocks.updated" }

// EventType implements domain.Event.
func (EventsUpdated) EventType() string { return "workspaces.events.updated" }

// EventType implements domain.Event.
func (Duplicated) EventType() string { return "workspaces.duplicated" }

// EventType implements domain.Event.
func (Secured) EventType() string { return "workspaces.security.updated" }

// EventType implements domain.Event.
func (Shared) EventType() string { return "workspaces.permissions.shared" }

// EventType implements domain.Event.
func (Unshared) EventType() string { return "workspaces.permissions.deleted" }

// fitting returns doc without its mappings and lists when it is too long to be
// told in the payload of an event.
func fitting(doc *document.Map) *document.Map {
	if doc == nil {
		return document.MapOf()
	}
	body, err := document.JSON(doc)
	if err == nil && len(body) <= maxShown {
		return doc
	}
	short := document.MapOf()
	for key, v := range doc.All() {
		switch v.(type) {
		case *document.Map, []any:
		default:
			short.Set(key, v)
		}
	}
	short.Set("truncated", true)
	return short
}

// DeltaOf returns what an event changes; content is false when that is no
// content, which is what versions hold.
func DeltaOf(ev domain.Event) (d Delta, content bool) {
	switch e := ev.(type) {
	case Created:
		return Delta{Settings: &e.Workspace.Settings, Security: &SecurityChange{e.Security, e.Source}, Entries: e.Entries, Stage: e.Stage}, true
	case Updated:
		return Delta{Settings: &e.Workspace.Settings}, !e.Aside
	case Configured:
		return Delta{Settings: &e.Workspace.Settings}, true
	case BlocksUpdated:
		return Delta{Settings: &e.Workspace.Settings}, true
	case EventsUpdated:
		return Delta{Settings: &e.Workspace.Settings}, true
	case Secured:
		return Delta{Security: &SecurityChange{e.Security, e.Source}}, true
	case AutomationCreated:
		return entryDelta(e.Entry), true
	case AutomationUpdated:
		return entryDelta(e.Entry), true
	case PageCreated:
		return entryDelta(e.Entry), true
	case PageUpdated:
		return entryDelta(e.Entry), true
	case Installed:
		return entryDelta(e.Entry), true
	case InstanceConfigured:
		return entryDelta(e.Entry), true
	case AutomationDeleted:
		return Delta{Deleted: []string{"automations/" + e.Slug}}, true
	case PageDeleted:
		return Delta{Deleted: []string{"pages/" + e.Slug}}, true
	case Uninstalled:
		return Delta{Deleted: []string{"imports/" + e.Slug}}, true
	case PageShared:
		return optional(e.Entry)
	case PageUnshared:
		return optional(e.Entry)
	case Imported:
		return e.Switch.delta(), !e.Switch.empty()
	case Restored:
		return e.Switch.delta(), true
	case Undeleted:
		return Delta{Settings: e.Settings}, e.Settings != nil
	}
	return Delta{}, false
}

func entryDelta(e Entry) Delta { return Delta{Entries: []Entry{e}} }

func optional(e *Entry) (Delta, bool) {
	if e == nil {
		return Delta{}, false
	}
	return entryDelta(*e), true
}

// securityDocument returns a document that was never written by anybody.
func securityDocument(s access.Security) *document.Map {
	doc := document.MapOf()
	if body, err := json.Marshal(s); err == nil {
		_ = json.Unmarshal(body, doc) // what was just written is an object
	}
	return document.Security.Canonical(doc)
}
