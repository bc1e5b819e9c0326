// Package keyring holds the rules of the keys that sign tokens, public parts
// only.
//
// A key is published as the next one before it signs, signs until it is rotated,
// and verifies what it signed until the last of those tokens has expired. So at
// any time one key signs and one waits; any number are retired. A key that is
// revoked leaves at once, whatever its state, and what it signed is worthless.
package keyring

import (
	"cmp"
	"slices"
	"time"

	"svc/domain"
)

// Decider is the rule of the key ring.
var Decider = domain.Decider[State, Command]{Kind: "keyring", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of the one key ring of the platform.
func Stream() domain.StreamID { return Decider.Stream(domain.Platform, "signing") }

// Stage is where a key is in its life: the `state` of the API.
type Stage string

// The stages, in the order in which a key goes through them.
const (
	Next    Stage = "next"
	Signing Stage = "signing"
	Retired Stage = "retired"
)

func (s Stage) rank() int { return slices.Index([]Stage{Signing, Next, Retired}, s) }

// Key is one key of the ring.
type Key struct {
	JWK       JWK       `json:"jwk"`
	Stage     Stage     `json:"state"`
	CreatedAt time.Time `json:"createdAt"`
	SignsFrom time.Time `json:"signsFrom,omitzero"` // zero for one that waits
	RetiredAt time.Time `json:"retiredAt,omitzero"` // of a retired key
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // of a retired key: when what it signed has expired
}

// State is the key ring: the signing key, the next one, and those retired, the
// last first. The zero State has none of them.
type State struct {
	Keys []Key `json:"keys,omitempty"`
}

// Started reports whether there is a key that signs.
func (s State) Started() bool { return len(s.Keys) > 0 }

// Signing returns the key that signs.
func (s State) Signing() Key { return s.first(Signing) }

// Next returns the key that signs after the signing one.
func (s State) Next() Key { return s.first(Next) }

// Find returns the key with this kid; ok is false when there is none.
func (s State) Find(kid string) (k Key, ok bool) {
	i := slices.IndexFunc(s.Keys, func(k Key) bool { return k.JWK.KID == kid })
	if i < 0 {
		return Key{}, false
	}
	return s.Keys[i], true
}

func (s State) first(stage Stage) Key {
	for _, k := range s.Keys {
		if k.Stage == stage {
			return k
		}
	}
	return Key{}
}

// grace is how long a retired key stays after its tokens have expired: clocks
// differ, and a node may sign for a moment after another one rotated.
const grace = time.Minute

// leavesAt returns when a retired key has to go.
func (k Key) leavesAt() time.Time { return k.ExpiresAt.Add(grace) }

// NextExpiry returns when the first of the retired keys has to go; zero when
// there are none.
func (s State) NextExpiry() (at time.Time) {
	for _, k := range s.Keys {
		if k.Stage == Retired && (at.IsZero() || k.leavesAt().Before(at)) {
			at = k.leavesAt()
		}
	}
	return at
}

// overdue returns the kids of retired keys that have to go at t.
func (s State) overdue(t time.Time) (kids []string) {
	for _, k := range s.Keys {
		if k.Stage == Retired && !t.Before(k.leavesAt()) {
			kids = append(kids, k.JWK.KID)
		}
	}
	return kids
}

func evolve(s State, ev domain.Event) State {
	e, ok := ev.(Updated)
	if !ok {
		return s
	}
	keys := slices.Clone(e.Keys)
	for _, k := range s.Keys {
		same := func(changed Key) bool { return changed.JWK.KID == k.JWK.KID }
		if !slices.Contains(e.Deleted, k.JWK.KID) && !slices.ContainsFunc(e.Keys, same) {
			keys = append(keys, k)
		}
	}
	slices.SortStableFunc(keys, order)
	return State{Keys: keys}
}

// order puts the signing key first, then the next one, then the retired, the
// last of them first.
func order(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Stage.rank(), b.Stage.rank()), b.RetiredAt.Compare(a.RetiredAt), cmp.Compare(a.JWK.KID, b.JWK.KID))
}
