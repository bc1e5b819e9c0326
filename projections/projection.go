package projections

import (
	"crypto/sha256"
	"encoding/hex"

	"svc/domain"
)

// Projection turns the events of one log into keys and values. Apply must
// depend on the events and on what it stored itself, and on nothing else, so
// that a rebuilt model is byte-equal to the live one.
type Projection interface {
	// Name names the read model and its shape, as in "workspaces.1". A changed
	// shape takes a new number, which is a rebuild at the next start.
	Name() string
	// Log is the one log that Apply sees.
	Log() domain.Log
	// Apply changes the read model by one event. Events it does not know change
	// nothing. An error stops the log; it is not tried again on other events.
	Apply(tx Tx, ev domain.Recorded) error
}

// Repeatable is a Projection whose Apply may be repeated after its writes were kept up to
// some key, in the order of keys: the outcome is the same. One event may change more in it
// than fits into one transaction.
type Repeatable interface {
	Projection
	Repeatable()
}

// Table lists every read model.
func Table() []Projection {
	return []Projection{
		Workspaces{},
		Content{},
		History{},
		Secrets{},
		Versions{},
		Operations{},
		Apps{},
		Files{},
		Sessions{},
		Access{},
		APIKeys{},
		NATSUsers{},
		Users{},
		AccessTokens{},
		Keyring{},
		Subscriptions{},
		Topics{},
		Deliveries{},
		FeedOf(domain.State),
		FeedOf(domain.Activity),
		Usage{},
		Runs{},
		Schedules{},
		Instances{},
		Problems{},
	}
}

// fingerprint names the shape of a whole generation. Its own number is that of
// the key layout.
func fingerprint(projections []Projection) string {
	h := sha256.New()
	h.Write([]byte("layout.1\n"))
	for _, p := range projections {
		h.Write([]byte(p.Name() + " " + string(p.Log()) + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
