// Package natsuser holds the rules of the programs of others that watch events over
// NATS. They show a key; the seed of it is never known here.
package natsuser

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// Decider is the rule of those who watch.
var Decider = domain.Decider[State, Command]{Kind: "natsUser", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of the user with an id.
func Stream(id string) domain.StreamID { return Decider.Stream(domain.Platform, id) }

// IDOf returns the id of the user with a public key: a key has one user, for ever.
func IDOf(publicKey string) string { return "nu_" + domain.HashSecret(publicKey)[:16] }

// Terms are the settings of a NATS user.
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

// Bounds of what one user watches: each workspace and type is a rule that the broker
// holds for each of its connections.
const (
	maxName       = 100
	maxWorkspaces = 200
	maxTypes      = 20
	maxPattern    = 200
)

// publicKey is the form of the public key of a NATS user.
var publicKey = regexp.MustCompile(`^U[A-Z2-7]{55}$`)

func (c Create) validate() error {
	var errs []domain.FieldError
	fault := func(wrong bool, field, message string) {
		if wrong {
			errs = append(errs, domain.FieldError{Field: field, Message: message})
		}
	}
	t := c.Terms
	fault(!publicKey.MatchString(c.PublicKey), "publicKey", "must be the public key of a NATS user")
	fault(!domain.IsTitle(t.Name, maxName), "name", "must be 1 to 100 characters without control characters")
	fault(t.All == (len(t.Workspaces) > 0), "workspaces", "must name at least one workspace, or all must be true, not both")
	fault(len(t.Workspaces) > maxWorkspaces, "workspaces", fmt.Sprintf("must be at most %d", maxWorkspaces))
	fault(len(t.Types) > maxTypes, "types", fmt.Sprintf("must be at most %d", maxTypes))
	fault(!t.ExpiresAt.IsZero() && !t.ExpiresAt.After(c.Now), "expiresAt", "must be in the future")
	for i, pattern := range t.Types {
		fault(!IsPattern(pattern), fmt.Sprintf("types.%d", i), "must be an event type of which whole words may be *, such as workspaces.bulkPush.*")
	}
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// IsPattern reports whether a pattern of event types can be watched. Subjects know
// wildcards for whole words only.
func IsPattern(pattern string) bool {
	if !domain.IsTitle(pattern, maxPattern) {
		return false
	}
	return !slices.ContainsFunc(strings.Split(pattern, "."), func(word string) bool {
		return word == "" || word != "*" && strings.Contains(word, "*")
	})
}
