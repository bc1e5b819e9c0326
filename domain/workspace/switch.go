package workspace

import (
	"encoding/json"
	"slices"

	"svc/domain"
	"svc/domain/access"
	"svc/domain/document"
)

// Stage puts documents down that a later command takes up by name: an import
// too large for one event. Nothing shows them until then.
type Stage struct {
	Name    string
	More    bool // it adds to what is put down under the name
	Entries []Entry
}

// Replace switches the content to what an import or a restoration brought, in
// one step.
type Replace struct {
	Switch
	// Lock, when set, is taken and given back in the same step; Epoch, when set,
	// is that of the lock that the operation holds.
	Lock  *TakeLock
	Epoch uint64
	// Sync is what a pull says about its repository.
	Sync *Integration
	// One of them says why.
	Import  *Import
	Restore *Restore
}

func (Stage) workspaceCommand()   {}
func (Replace) workspaceCommand() {}

// Switch is what changes of the content.
type Switch struct {
	Settings *Settings       `json:"settings,omitempty"` // nil: they stay
	OldSlug  string          `json:"oldSlug,omitempty"`
	Security *SecurityChange `json:"security,omitempty"` // nil: it stays
	Entries  []Entry         `json:"entries,omitempty"`
	Stage    string          `json:"stage,omitempty"` // what was staged under this name belongs to it
	Deleted  []string        `json:"deleted,omitempty"`
}

func (s Switch) delta() Delta {
	return Delta{Settings: s.Settings, Security: s.Security, Entries: s.Entries, Stage: s.Stage, Deleted: s.Deleted}
}

func (s Switch) empty() bool {
	return s.Settings == nil && s.Security == nil && len(s.Entries) == 0 && s.Stage == "" && len(s.Deleted) == 0
}

// Import is what an import tells about itself.
type Import struct {
	Workspace    Named            `json:"workspace"`
	Files        []string         `json:"files"`
	FilesCount   int              `json:"filesCount"`
	Deleted      []string         `json:"deleted"`
	DeletedCount int              `json:"deletedCount"`
	Version      *ImportedVersion `json:"version,omitempty"`
	Errors       []any            `json:"errors"`
	Warnings     []any            `json:"warnings"`
	PublishedApp string           `json:"publishedAppSlug,omitempty"`
	OperationID  string           `json:"operationId"`
	Truncated    bool             `json:"truncated,omitempty"`
}

// Named is a workspace, as other workspaces and events name it.
type Named struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// ImportedVersion is the version that an import brought.
type ImportedVersion struct {
	Name       string         `json:"name"`
	Repository *RepositoryRef `json:"repository,omitempty"`
}

// Restore is what a restoration tells about itself.
type Restore struct {
	From    From     `json:"from"`
	Files   []string `json:"files"`
	Deleted []string `json:"deleted"`
	// Counts are told when the lists are cut.
	Truncated    bool `json:"truncated,omitempty"`
	FilesCount   int  `json:"filesCount,omitempty"`
	DeletedCount int  `json:"deletedCount,omitempty"`
}

// From is the moment that was restored, or the change that was undone.
type From struct {
	Seq     string `json:"seq,omitempty"`
	At      string `json:"at,omitempty"`
	Version string `json:"version,omitempty"`
	Undo    string `json:"undo,omitempty"`
}

type (
	// Staged says that documents were put down for a later step.
	Staged struct {
		Name    string  `json:"name"`
		Entries []Entry `json:"entries"`
	}
	// Imported says that an import switched the content, or that it found nothing
	// to change.
	Imported struct {
		Import Import       `json:"import"`
		Switch Switch       `json:"switch,omitzero"`
		Sync   *Integration `json:"sync,omitempty"`
	}
	// Restored says that an earlier content was put back.
	Restored struct {
		Restore Restore `json:"restore"`
		Switch  Switch  `json:"switch"`
	}
)

// EventType implements domain.Event.
func (Staged) EventType() string { return "workspaces.staged" }

// EventType implements domain.Event.
func (Imported) EventType() string { return "workspaces.imported" }

// EventType implements domain.Event.
func (Restored) EventType() string { return "workspaces.restored" }

// Payload implements domain.Shown.
func (e Imported) Payload() any { return e.Import }

// Payload implements domain.Shown.
func (e Restored) Payload() any { return e.Restore }

// stage refuses to add to what somebody else has put down anew meanwhile: half of
// an import would be taken for the whole.
func stage(s State, c Stage) ([]domain.Event, error) {
	if c.More && s.Stage != c.Name {
		return nil, superseded()
	}
	all := c.Entries
	if c.More {
		all = slices.Concat(s.Staged, all)
	}
	instances := 0
	for _, e := range all {
		if isInstance(e.Path) {
			instances++
		}
	}
	switch { // what a step cannot take is not put down either
	case len(all) > MaxDocuments+1: // the index
		return nil, exceeds("documents", MaxDocuments)
	case instances > MaxInstances:
		return nil, exceeds("app instances", MaxInstances)
	}
	return []domain.Event{Staged{c.Name, c.Entries}}, nil
}

func superseded() error {
	return domain.Refuse(domain.CodeConflict, "another import of this workspace came first: start it again").Reason(Superseded)
}

// Superseded is the reason of a refusal by which what was staged is lost: it can
// be staged again.
const Superseded = "superseded"

func replace(s State, c Replace) ([]domain.Event, error) {
	if c.Epoch != 0 {
		if err := s.heldAt(c.Epoch); err != nil {
			return nil, err
		}
	}
	if c.Switch.Stage != "" && s.Stage != c.Switch.Stage {
		return nil, superseded()
	}
	entries := c.Entries
	if c.Switch.Stage != "" {
		entries = append(slices.Clone(s.Staged), entries...)
	}
	if err := s.roomFor(entries, c.Deleted); err != nil {
		return nil, err
	}
	if c.Settings != nil {
		if err := c.Settings.validate(); err != nil {
			return nil, err
		}
	}
	if c.Security != nil {
		c.Security.Security.Authentication.ClientID = ClientID(s.ID)
		if err := c.Security.Security.Validate(s.Shares); err != nil {
			return nil, err
		}
	}
	if c.Restore != nil {
		if c.empty() {
			return nil, nil
		}
		return []domain.Event{Restored{*c.Restore, c.Switch}}, nil
	}
	imported := Imported{*c.Import, c.Switch, c.Sync}
	if c.Lock == nil {
		return append([]domain.Event{imported}, s.resolved(c.Epoch)...), nil
	}
	events, err := takeLock(s, *c.Lock)
	if err != nil {
		return nil, err
	}
	locked := events[len(events)-1].(Locked)
	return append(events, imported, Unlocked{Reason: locked.Reason, Epoch: locked.Epoch, Cause: "completed"}), nil
}

// resolved is how the lock of an import that ends well goes.
func (s State) resolved(epoch uint64) []domain.Event {
	switch {
	case epoch == 0 || s.Lock.ofRun():
		return nil
	case s.Conflict != nil:
		return []domain.Event{s.unlock("resolved")}
	}
	return []domain.Event{s.unlock("completed")}
}

// staged keeps what was put down, until it is taken up or put down anew under
// another name.
func (s State) staged(e Staged) State {
	if s.Stage != e.Name {
		s.Stage, s.Staged = e.Name, nil
	}
	s.Staged = slices.Clone(s.Staged)
	for _, entry := range e.Entries {
		entry.Body, entry.About, entry.Review = nil, nil, nil // decisions need the rest
		s.Staged = append(s.Staged, entry)
	}
	return s
}

// SecurityChange is a new security document: as rules read it, and as it was
// written, whose order of keys is content.
type SecurityChange struct {
	Security access.Security `json:"security"`
	Source   *document.Map   `json:"source,omitempty"`
}

// ReadSecurity returns what rules read in a security document whose shape was
// checked.
func ReadSecurity(doc *document.Map) (s access.Security, err error) {
	body, err := document.JSON(doc)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return s, domain.Refuse(domain.CodeInvalidRequest, "the security document has values of another type")
	}
	return s, nil
}

// Document returns the document as files have it.
func (c SecurityChange) Document() *document.Map {
	if c.Source != nil {
		return document.Security.Canonical(c.Source)
	}
	return securityDocument(c.Security)
}
