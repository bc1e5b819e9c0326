// Package accesstoken holds the rules of the long-lived tokens that users make
// for their programs. Only a hash of a token is ever known here.
package accesstoken

import (
	"time"

	"svc/domain"
)

// Decider is the rule of the access token aggregate.
var Decider = domain.Decider[State, Command]{Kind: "accessToken", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of the token with this id.
func Stream(id string) domain.StreamID { return Decider.Stream(domain.Platform, id) }

// Prefix begins every token, and no other credential.
const Prefix = "at:"

// State is an access token. The zero State is one that does not exist.
type State struct {
	ID        string    `json:"id"`
	UserID    string    `json:"userId"`
	Name      string    `json:"name"`
	ExpiresAt time.Time `json:"expiresAt"`
	Hash      string    `json:"hash"` // SHA-256 of the token, in hex
	Deleted   bool      `json:"deleted,omitempty"`
}

// Command is what can be asked of an access token.
type Command interface{ accessTokenCommand() }

type (
	// Create makes a token. An id is used once: creating it again does nothing.
	Create struct {
		ID, UserID, Name, Hash string
		ExpiresAt, Now         time.Time
	}
	// Delete ends a token of UserID. Hash, when set, must be that of the token:
	// it was named by its value.
	Delete struct{ UserID, Hash string }
)

func (Create) accessTokenCommand() {}
func (Delete) accessTokenCommand() {}

type (
	// Created says that a user made a token.
	Created struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		UserID    string `json:"userId"`
		ExpiresAt string `json:"expiresAt"`
		Hash      string `json:"hash"`
	}
	// Deleted says that a token does not count any more.
	Deleted struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		UserID    string `json:"userId"`
		ExpiresAt string `json:"expiresAt,omitempty"`
	}
)

// EventType implements domain.Event.
func (Created) EventType() string { return "gateway.accessTokens.created" }

// EventType implements domain.Event.
func (Deleted) EventType() string { return "gateway.accessTokens.deleted" }

// Payload implements domain.PayloadEvent: everything but the hash.
func (e Created) Payload() any { return Deleted{e.ID, e.Name, e.UserID, e.ExpiresAt} }

// ParseExpiry reads the time at which a token is to end.
func ParseExpiry(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Year() > 9999 || at.UTC().Year() < 0 {
		return time.Time{}, domain.Invalid(domain.FieldError{Field: "expiresAt", Message: "must be a time such as 2030-01-31T12:00:00Z"})
	}
	return at, nil
}

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Create:
		return create(s, c)
	case Delete:
		if s.ID == "" || s.Deleted || s.UserID != c.UserID || c.Hash != "" && s.Hash != c.Hash {
			return nil, domain.Refuse(domain.CodeNotFound, "there is no such access token").With("resource", "accessToken")
		}
		return []domain.Event{Deleted{ID: s.ID, Name: s.Name, UserID: s.UserID, ExpiresAt: s.ExpiresAt.Format(domain.Timestamp)}}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "access token: unknown command %T", cmd)
	}
}

func create(s State, c Create) ([]domain.Event, error) {
	if s.ID != "" {
		return nil, nil
	}
	var errs []domain.FieldError
	if !domain.IsTitle(c.Name, 100) {
		errs = append(errs, domain.FieldError{Field: "name", Message: "must be 1 to 100 characters without control characters"})
	}
	if !c.ExpiresAt.After(c.Now) {
		errs = append(errs, domain.FieldError{Field: "expiresAt", Message: "must be in the future"})
	}
	if len(errs) > 0 {
		return nil, domain.Invalid(errs...)
	}
	return []domain.Event{Created{ID: c.ID, Name: c.Name, UserID: c.UserID, ExpiresAt: domain.FormatTime(c.ExpiresAt), Hash: c.Hash}}, nil
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Created:
		return State{ID: e.ID, UserID: e.UserID, Name: e.Name, ExpiresAt: e.Expiry(), Hash: e.Hash}
	case Deleted:
		s.Deleted = true
	}
	return s
}

// Expiry returns when the token ends. What cannot be read has ended already.
func (e Created) Expiry() time.Time {
	at, err := time.Parse(domain.Timestamp, e.ExpiresAt)
	if err != nil {
		return time.Time{}
	}
	return at
}
