// Package subscription holds the rules of outbound webhooks: where the events of a
// workspace are sent, which of them, and with what they are signed. Secrets are
// known here only sealed.
package subscription

import (
	"time"

	"svc/domain"
)

// Decider is the rule of subscriptions.
var Decider = domain.Decider[State, Command]{Kind: "subscription", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of a subscription of a workspace.
func Stream(workspaceID, id string) domain.StreamID { return Decider.Stream(workspaceID, id) }

// Keys are what deliveries are signed with, sealed with the key of the workspace.
type Keys struct {
	Sealed []byte `json:"sealed"`
	Last4  string `json:"last4"`
	// Previous signs too, until its time is over.
	Previous      []byte    `json:"previous,omitempty"`
	PreviousUntil time.Time `json:"previousUntil,omitzero"`
}

// State is a subscription. The zero State is one that does not exist.
type State struct {
	ID          string `json:"id"`
	WorkspaceID string `json:"workspaceId"`
	Terms
	Reason  string `json:"reason,omitempty"` // why the platform disabled it
	Keys    Keys   `json:"keys"`
	Deleted bool   `json:"deleted,omitempty"`
	Closed  int    `json:"closed,omitempty"` // how often its breaker was closed by hand
}

// Command is what can be asked of a subscription.
type Command interface{ subscriptionCommand() }

type (
	// Create makes a subscription. An id is used once: creating it again does
	// nothing.
	Create struct {
		ID, WorkspaceID string
		Terms           Terms
		Keys            Keys
	}
	// Change merges a patch into the terms. To say that it is not disabled closes its
	// breaker too, which is recorded even when nothing else changes.
	Change struct{ Patch Patch }
	// Rotate signs with another secret from now on, and with the one before until
	// Until as well.
	Rotate struct {
		Sealed []byte
		Last4  string
		Until  time.Time
	}
	// Disable stops a subscription whose receiver has failed for too long. Failures from before somebody enabled it
	// again do not count: Closed is that of the state in which it failed.
	Disable struct {
		Reason string
		Closed int
	}
	// Delete ends a subscription.
	Delete struct{}
)

func (Create) subscriptionCommand()  {}
func (Change) subscriptionCommand()  {}
func (Rotate) subscriptionCommand()  {}
func (Disable) subscriptionCommand() {}
func (Delete) subscriptionCommand()  {}

func decide(s State, cmd Command) ([]domain.Event, error) {
	if c, ok := cmd.(Create); ok {
		return create(s, c)
	}
	if s.ID == "" || s.Deleted {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such subscription").With("resource", "subscription")
	}
	switch c := cmd.(type) {
	case Change:
		return change(s, c.Patch)
	case Rotate:
		s.Keys = Keys{Sealed: c.Sealed, Last4: c.Last4, Previous: s.Keys.Sealed, PreviousUntil: c.Until}
		return []domain.Event{Updated{Subscription: s.shown(), Keys: s.Keys}}, nil
	case Disable:
		if s.Disabled || s.Closed != c.Closed {
			return nil, nil
		}
		s.Disabled, s.Reason = true, c.Reason
		return []domain.Event{Disabled{Subscription: s.shown(), Reason: c.Reason}}, nil
	case Delete:
		return []domain.Event{Deleted{Subscription: s.shown()}}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "subscription: unknown command %T", cmd)
	}
}

func create(s State, c Create) ([]domain.Event, error) {
	if s.ID != "" {
		return nil, nil
	}
	terms := c.Terms.withDefaults()
	if err := terms.Validate(); err != nil {
		return nil, err
	}
	made := State{ID: c.ID, WorkspaceID: c.WorkspaceID, Terms: terms, Keys: c.Keys}
	return []domain.Event{Created{Subscription: made.shown(), WorkspaceID: c.WorkspaceID, Keys: c.Keys}}, nil
}

func change(s State, p Patch) ([]domain.Event, error) {
	terms := p.On(s.Terms)
	closes := p.Disabled != nil && !*p.Disabled
	if domain.Same(s.Terms, terms) && !closes {
		return nil, nil
	}
	if err := terms.Validate(); err != nil {
		return nil, err
	}
	s.Terms = terms
	if p.Disabled != nil {
		s.Reason = ""
	}
	return []domain.Event{Updated{Subscription: s.shown(), Keys: s.Keys, Closes: closes}}, nil
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Created:
		return e.Subscription.on(State{WorkspaceID: e.WorkspaceID, Keys: e.Keys})
	case Updated:
		s.Keys = e.Keys
		if e.Closes {
			s.Closed++
		}
		return e.Subscription.on(s)
	case Disabled:
		return e.Subscription.on(s)
	case Deleted:
		s.Deleted = true
	}
	return s
}
