package subscription

import "strings"

// Shown is what the catalogue shows of a subscription.
type Shown struct {
	ID string `json:"id"`
	Terms
	Reason      string `json:"disabledReason,omitempty"`
	SecretLast4 string `json:"secretLast4"`
}

func (s State) shown() Shown {
	return Shown{ID: s.ID, Terms: s.Terms, Reason: s.Reason, SecretLast4: s.Keys.Last4}
}

// on returns a state with what is shown of it.
func (s Shown) on(state State) State {
	state.ID, state.Terms, state.Reason = s.ID, s.Terms, s.Reason
	return state
}

type (
	// Created says that a subscription was made. It delivers what happens after it.
	Created struct {
		Subscription Shown  `json:"subscription"`
		WorkspaceID  string `json:"workspaceId"`
		Keys         Keys   `json:"keys"`
	}
	// Updated says that its terms or its secret changed, and what they are now.
	// Closes tells that its breaker was closed by hand.
	Updated struct {
		Subscription Shown `json:"subscription"`
		Keys         Keys  `json:"keys"`
		Closes       bool  `json:"closes,omitempty"`
	}
	// Deleted says that nothing is delivered any more.
	Deleted struct {
		Subscription Shown `json:"subscription"`
	}
	// Disabled says that the platform stopped delivering, and why.
	Disabled struct {
		Subscription Shown  `json:"subscription"`
		Reason       string `json:"reason"`
	}
)

// EventType implements domain.Event.
func (Created) EventType() string { return "workspaces.subscriptions.created" }

// EventType implements domain.Event.
func (Updated) EventType() string { return "workspaces.subscriptions.updated" }

// EventType implements domain.Event.
func (Deleted) EventType() string { return "workspaces.subscriptions.deleted" }

// EventType implements domain.Event.
func (Disabled) EventType() string { return "workspaces.subscriptions.disabled" }

// payload is what the catalogue shows of a change: not the sealed secrets, and of the
// address not what may be a secret of the receiver's, for more people read events than
// manage subscriptions.
type payload struct {
	Subscription Shown  `json:"subscription"`
	Reason       string `json:"reason,omitempty"`
}

func payloadOf(s Shown, reason string) payload {
	s.URL = PublicURL(s.URL)
	return payload{s, reason}
}

// PublicURL is an address without its query.
func PublicURL(address string) string {
	bare, _, _ := strings.Cut(address, "?")
	bare, _, _ = strings.Cut(bare, "#")
	return bare
}

// Payload implements domain.Shown.
func (e Created) Payload() any { return payloadOf(e.Subscription, "") }

// Payload implements domain.Shown.
func (e Updated) Payload() any { return payloadOf(e.Subscription, "") }

// Payload implements domain.Shown.
func (e Deleted) Payload() any { return payloadOf(e.Subscription, "") }

// Payload implements domain.Shown.
func (e Disabled) Payload() any { return payloadOf(e.Subscription, e.Reason) }
