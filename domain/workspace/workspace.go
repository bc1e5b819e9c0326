// Package workspace holds the rules of a workspace: its settings today, its
// content, write lock and sync state as they come, all in one aggregate so that
// they can never disagree.
package workspace

import (
	"slices"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/access"
)

// Decider is the rule of the workspace aggregate.
var Decider = domain.Decider[State, Command]{Kind: "workspace", Version: 2, Decide: decide, Evolve: evolve}

// Stream returns the stream of the workspace with this id. A workspace is its
// own scope.
func Stream(id string) domain.StreamID { return Decider.Stream(id, id) }

// Settings are what an owner may set of a workspace.
type Settings struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Photo       string   `json:"photo,omitempty"`
	Labels      []string `json:"labels,omitempty"`
}

// State is a workspace. The zero State is one that does not exist.
type State struct {
	ID       string          `json:"id"`
	Settings Settings        `json:"settings"`
	Security access.Security `json:"security,omitzero"`
	Shares   []access.Share  `json:"shares,omitempty"` // one for each target

	// Revisions count the changes of each object that has an ETag.
	Revision         uint64 `json:"revision"` // of the settings
	SecurityRevision uint64 `json:"securityRevision"`
}

// Command is what can be asked of a workspace.
type Command interface{ workspaceCommand() }

type (
	// Create makes the workspace ID, owned by Owner. Creating the platform
	// workspace twice does nothing, so that every node may ask for it at start.
	Create struct {
		ID       string
		Owner    string // "": nobody owns it
		Settings Settings
	}
	// Update replaces the settings named by its non-nil fields.
	Update struct {
		Name        *string
		Description *string
		Photo       *string
		Labels      *[]string
	}
)

func (Create) workspaceCommand() {}
func (Update) workspaceCommand() {}

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Create:
		return create(s, c)
	case Update:
		return update(s, c)
	case Secure:
		return secure(s, c)
	case Share:
		return share(s, c)
	case Unshare:
		return unshare(s, c)
	default:
		return nil, domain.Refuse(domain.CodeInternal, "workspace: unknown command %T", cmd)
	}
}

func create(s State, c Create) ([]domain.Event, error) {
	switch {
	case s.ID == domain.Platform:
		return nil, nil
	case s.ID != "":
		return nil, domain.Refuse(domain.CodeAlreadyExists, "workspace %s exists already", c.ID).
			With("field", "id").With("value", c.ID)
	}
	if err := c.Settings.validate(); err != nil {
		return nil, err
	}
	made := Created{Workspace: Snapshot{ID: c.ID, Settings: c.Settings}, Security: access.Default(c.ID)}
	made.Security.Authentication.ClientID = ClientID(c.ID)
	if c.Owner != "" {
		made.Shares = []access.Share{access.OwnedBy(c.Owner)}
	}
	return []domain.Event{made}, nil
}

func update(s State, c Update) ([]domain.Event, error) {
	if s.ID == "" {
		return nil, noWorkspace()
	}
	next := s.Settings
	set(&next.Name, c.Name)
	set(&next.Description, c.Description)
	set(&next.Photo, c.Photo)
	set(&next.Labels, c.Labels)
	if next.equal(s.Settings) {
		return nil, nil
	}
	if err := next.validate(); err != nil {
		return nil, err
	}
	return []domain.Event{Updated{Workspace: Snapshot{ID: s.ID, Settings: next}}}, nil
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Created:
		return State{
			ID: e.Workspace.ID, Settings: e.Workspace.Settings, Security: e.Security, Shares: e.Shares,
			Revision: 1, SecurityRevision: 1,
		}
	case Updated:
		s.Settings = e.Workspace.Settings
		s.Revision++
	case Secured:
		s.Security = e.Security
		s.SecurityRevision++
	case Shared:
		s.Shares = access.PutShare(s.Shares, access.Share{Target: e.Target, Permissions: e.Permissions})
	case Unshared:
		s.Shares = access.DropShare(s.Shares, e.Target.String())
	}
	return s
}

func (a Settings) equal(b Settings) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Photo == b.Photo && slices.Equal(a.Labels, b.Labels)
}

// validate lists every setting that the contract does not allow.
func (a Settings) validate() error {
	var errs []domain.FieldError
	if a.Name == "" || !domain.IsLine(a.Name, 60) {
		errs = append(errs, domain.FieldError{Field: "name", Message: "must be 1 to 60 characters without control characters"})
	}
	if !utf8.ValidString(a.Description) || utf8.RuneCountInString(a.Description) > maxDescription {
		errs = append(errs, domain.FieldError{Field: "description", Message: "must be at most 10000 characters of UTF-8"})
	}
	if a.Photo != "" && !domain.IsPicture(a.Photo) {
		errs = append(errs, domain.FieldError{Field: "photo", Message: "must be an http or https URL or a path that begins with /, of at most 2048 characters"})
	}
	for _, l := range a.Labels {
		if !isLabel(l) {
			errs = append(errs, domain.FieldError{Field: "labels", Message: "a label is 2 to 60 characters of 0-9 A-Z a-z . _ : -"})
			break
		}
	}
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// maxDescription is the longest description, in characters.
const maxDescription = 10000

func isLabel(s string) bool {
	if len(s) < 2 || len(s) > 60 {
		return false
	}
	for _, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && r != '.' && r != '_' && r != ':' && r != '-' {
			return false
		}
	}
	return true
}
