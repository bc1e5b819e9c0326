// Package apikey holds the rules of the keys that programs use in one workspace.
// Only a hash of a key is ever known here.
package apikey

import (
	"time"

	"svc/domain"
	"svc/domain/access"
)

// Decider is the rule of API keys.
var Decider = domain.Decider[State, Command]{Kind: "apiKey", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of a key of a workspace.
func Stream(workspaceID, id string) domain.StreamID { return Decider.Stream(workspaceID, id) }

// Prefix begins every API key, so that one that is sent as another credential is known.
const Prefix = "sk_"

// SubjectType is what a key is for. There is no other.
const SubjectType = "workspaces"

// Terms are the settings of an API key.
type Terms struct {
	Name      string           `json:"name"`
	Rules     []access.KeyRule `json:"rules"`
	ExpiresAt time.Time        `json:"expiresAt,omitzero"` // zero: never
	Disabled  bool             `json:"disabled,omitempty"`
}

// State is an API key. The zero State is one that does not exist.
type State struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspaceId"`
	Terms
	Last4   string `json:"last4"`
	Hash    string `json:"hash"` // SHA-256 of the key, in hex
	Deleted bool   `json:"deleted,omitempty"`
}

// Command is what can be asked of an API key.
type Command interface{ apiKeyCommand() }

type (
	// Create makes a key. An id is used once: creating it again does nothing.
	Create struct {
		ID, WorkspaceID, Hash, Last4 string
		Terms                        Terms
		Now                          time.Time
	}
	// Change replaces the terms of a key; its value stays.
	Change struct {
		Terms Terms
		Now   time.Time
	}
	// Delete ends a key.
	Delete struct{}
)

func (Create) apiKeyCommand() {}
func (Change) apiKeyCommand() {}
func (Delete) apiKeyCommand() {}

// Summary is what the catalogue shows of a key.
type Summary struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Last4       string           `json:"last4"`
	SubjectType string           `json:"subjectType"`
	SubjectID   string           `json:"subjectId"`
	Rules       []access.KeyRule `json:"rules,omitempty"`
}

type (
	// Created says that a key was made.
	Created struct {
		Summary
		ExpiresAt time.Time `json:"expiresAt,omitzero"`
		Disabled  bool      `json:"disabled,omitempty"`
		Hash      string    `json:"hash"`
	}
	// Updated says that its terms changed, and what they are now.
	Updated struct {
		Summary
		ExpiresAt time.Time `json:"expiresAt,omitzero"`
		Disabled  bool      `json:"disabled,omitempty"`
	}
	// Deleted says that a key does not count any more.
	Deleted struct{ Summary }
)

// EventType implements domain.Event.
func (Created) EventType() string { return "apikeys.created" }

// EventType implements domain.Event.
func (Updated) EventType() string { return "apikeys.updated" }

// EventType implements domain.Event.
func (Deleted) EventType() string { return "apikeys.deleted" }

// Payload implements domain.PayloadEvent: everything but the hash.
func (e Created) Payload() any { return e.Summary }

func decide(s State, cmd Command) ([]domain.Event, error) {
	if c, ok := cmd.(Create); ok {
		return create(s, c)
	}
	if s.ID == "" || s.Deleted {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such API key").With("resource", "apiKey")
	}
	switch c := cmd.(type) {
	case Change:
		return change(s, c)
	case Delete:
		return []domain.Event{Deleted{s.summary(s.Terms)}}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "API key: unknown command %T", cmd)
	}
}

func create(s State, c Create) ([]domain.Event, error) {
	if s.ID != "" {
		return nil, nil
	}
	if err := c.Terms.validate(c.Now); err != nil {
		return nil, err
	}
	made := State{ID: c.ID, WorkspaceID: c.WorkspaceID, Last4: c.Last4}
	return []domain.Event{Created{made.summary(c.Terms), c.Terms.ExpiresAt, c.Terms.Disabled, c.Hash}}, nil
}

func change(s State, c Change) ([]domain.Event, error) {
	if domain.Same(s.Terms, c.Terms) {
		return nil, nil
	}
	if err := c.Terms.validate(c.Now); err != nil {
		return nil, err
	}
	return []domain.Event{Updated{s.summary(c.Terms), c.Terms.ExpiresAt, c.Terms.Disabled}}, nil
}

func (s State) summary(t Terms) Summary {
	return Summary{ID: s.ID, Name: t.Name, Last4: s.Last4, SubjectType: SubjectType, SubjectID: s.WorkspaceID, Rules: t.Rules}
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Created:
		return State{
			ID: e.ID, WorkspaceID: e.SubjectID, Last4: e.Last4, Hash: e.Hash,
			Terms: Terms{Name: e.Name, Rules: e.Rules, ExpiresAt: e.ExpiresAt, Disabled: e.Disabled},
		}
	case Updated:
		s.Terms = Terms{Name: e.Name, Rules: e.Rules, ExpiresAt: e.ExpiresAt, Disabled: e.Disabled}
	case Deleted:
		s.Deleted = true
	}
	return s
}

func (t Terms) validate(now time.Time) error {
	var errs []domain.FieldError
	if !domain.IsTitle(t.Name, 100) {
		errs = append(errs, domain.FieldError{Field: "name", Message: "must be 1 to 100 characters without control characters"})
	}
	if len(t.Rules) == 0 {
		errs = append(errs, domain.FieldError{Field: "rules", Message: "must have at least one rule: a key can do what they say and nothing else"})
	}
	if !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now) {
		errs = append(errs, domain.FieldError{Field: "expiresAt", Message: "must be in the future"})
	}
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}
