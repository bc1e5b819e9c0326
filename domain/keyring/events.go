package keyring

import "svc/domain"

type (
	// Updated says that keys came, changed their state or left.
	Updated struct {
		Created []string `json:"created"`
		Deleted []string `json:"deleted"`
		Keys    []Key    `json:"keys,omitempty"` // those that came or changed, as they are now
	}
	// RuntimeUpdated tells the runtime what Updated tells the gateway. It is
	// recorded with it and changes nothing.
	RuntimeUpdated struct {
		Created []string `json:"created"`
		Deleted []string `json:"deleted"`
	}
)

// EventType implements domain.Event.
func (Updated) EventType() string { return "gateway.jwks.updated" }

// EventType implements domain.Event.
func (RuntimeUpdated) EventType() string { return "runtime.jwks.updated" }

// Payload implements domain.Shown: the catalogue names the keys, and GET
// /oidc/jwks shows them.
func (u Updated) Payload() any { return RuntimeUpdated{Created: u.Created, Deleted: u.Deleted} }

// updated returns the two events of one change.
func updated(keys []Key, created, deleted []string) []domain.Event {
	if created == nil {
		created = []string{}
	}
	if deleted == nil {
		deleted = []string{}
	}
	return []domain.Event{
		Updated{Created: created, Deleted: deleted, Keys: keys},
		RuntimeUpdated{Created: created, Deleted: deleted},
	}
}
