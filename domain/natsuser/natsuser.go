// Package natsuser holds the rules of the programs of others that watch events over
// NATS. They show a key; the seed of it is never known here.
package natsuser

import (
	"time"

	"svc/domain"
)

// Decider is the rule of those who watch.
var Decider = domain.Decider[State, Command]{Kind: "natsUser", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of the user with an id.
func Stream(id string) domain.StreamID { return Decider.Stream(domain.Platform, id) }

// IDOf returns the id of the user with a public key: a key has one user, for ever.
func IDOf(publicKey string) string { return "nu_" + domain.HashSecret(publicKey)[:16] }

// Terms are what whoever lets a program in decides.
type Terms struct {
	Name       string    `json:"name"`
	Workspaces []string  `json:"workspaces,omitempty"` // ids
	All        bool      `json:"all,omitempty"`        // instead of Workspaces: all there are and will be
	Types      []string  `json:"types,omitempty"`      // of events; none: all of them
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`   // zero: never
}

// User is a program that may watch.
type User struct {
	ID string `json:"id"`
	Terms
	PublicKey string `json:"publicKey"`
	Issuer    string `json:"issuer"` // the public key of the account that vouches for it
}

// LiveAt reports whether the user may watch at a time.
func (u User) LiveAt(t time.Time) bool { return u.ExpiresAt.IsZero() || t.Before(u.ExpiresAt) }

// State is a user, and whether it was removed. The zero State is one that never was.
type State struct {
	User
	Deleted bool `json:"deleted,omitempty"`
}

// Command is what can be asked of a user.
type Command interface{ natsUserCommand() }

type (
	// Create lets a program in. The same again does nothing.
	Create struct {
		PublicKey, Issuer string
		Terms             Terms
		Now               time.Time
	}
	// Delete shuts it out.
	Delete struct{}
)

func (Create) natsUserCommand() {}
func (Delete) natsUserCommand() {}

type (
	// Created says that a program may watch.
	Created struct{ User }
	// Deleted says that it may not any more.
	Deleted struct{ User }
)

// EventType implements domain.Event.
func (Created) EventType() string { return "nats.users.created" }

// EventType implements domain.Event.
func (Deleted) EventType() string { return "nats.users.deleted" }

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Create:
		return create(s, c)
	case Delete:
		if s.ID == "" || s.Deleted {
			return nil, domain.Refuse(domain.CodeNotFound, "there is no such NATS user").With("resource", "natsUser")
		}
		return []domain.Event{Deleted{s.User}}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "NATS user: unknown command %T", cmd)
	}
}

func create(s State, c Create) ([]domain.Event, error) {
	switch {
	case s.ID != "" && !s.Deleted && domain.Same(s.Terms, c.Terms):
		return nil, nil
	case s.ID != "":
		return nil, domain.Refuse(domain.CodeAlreadyExists, "this key was used before: make another one").With("field", "publicKey")
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	return []domain.Event{Created{User{ID: IDOf(c.PublicKey), Terms: c.Terms, PublicKey: c.PublicKey, Issuer: c.Issuer}}}, nil
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Created:
		return State{User: e.User}
	case Deleted:
		s.Deleted = true
	}
	return s
}
