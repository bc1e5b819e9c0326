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
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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

// removableAt returns when a retired key has to go.
func (k Key) removableAt() time.Time { return k.ExpiresAt.Add(grace) }

// NextExpiry returns when the first of the retired keys has to go; zero when
// there are none.
func (s State) NextExpiry() (at time.Time) {
	for _, k := range s.Keys {
		if k.Stage == Retired && (at.IsZero() || k.removableAt().Before(at)) {
			at = k.removableAt()
		}
	}
	return at
}

// overdue returns the kids of retired keys that have to go at t.
func (s State) overdue(t time.Time) (kids []string) {
	for _, k := range s.Keys {
		if k.Stage == Retired && !t.Before(k.removableAt()) {
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

// JWK is the public part of a key as RFC 7517 writes it. It has no field that a
// private part could hide in, so that none can reach an event.
type JWK struct {
	KID string `json:"kid"` // Thumbprint
	Kty string `json:"kty"` // RSA or EC
	Alg string `json:"alg"`
	Use string `json:"use"` // sig
	N   string `json:"n,omitempty"`
	E   string `json:"e,omitempty"`
	Crv string `json:"crv,omitempty"`
	X   string `json:"x,omitempty"`
	Y   string `json:"y,omitempty"`
}

// Thumbprint returns the name of the key by RFC 7638: two keys never share one.
// It is empty for a key of an unknown type.
func (k JWK) Thumbprint() string {
	var named any
	switch k.Kty { // members in the order of their names, and no others
	case "RSA":
		named = struct {
			E   string `json:"e"`
			Kty string `json:"kty"`
			N   string `json:"n"`
		}{k.E, k.Kty, k.N}
	case "EC":
		named = struct {
			Crv string `json:"crv"`
			Kty string `json:"kty"`
			X   string `json:"x"`
			Y   string `json:"y"`
		}{k.Crv, k.Kty, k.X, k.Y}
	default:
		return ""
	}
	text, err := json.Marshal(named)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// validate refuses a key that cannot be told from others. Keys are made by the
// platform, so that a bad one is its own fault.
func (k JWK) validate() error {
	if k.KID == "" || k.KID != k.Thumbprint() || k.Alg == "" {
		return domain.Refuse(domain.CodeInternal, "keyring: a key needs an algorithm, and its thumbprint as its kid")
	}
	return nil
}

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

// Payload implements domain.PayloadEvent: the catalogue names the keys, and GET
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

// Command is what can be asked of the key ring.
type Command interface{ keyringCommand() }

type (
	// Start makes the first two keys. A ring that has been started is left as
	// it is, so that every node may ask for it at start.
	Start struct {
		Signing, Next JWK
		Now           time.Time
	}
	// Rotate lets the next key sign and adds New as the one after it. Signing is
	// the kid that signs as far as the caller knows: when another one does, the
	// keys have been rotated already and nothing happens. Retired keys whose time
	// is over leave with it.
	Rotate struct {
		Signing   string
		New       JWK
		Now       time.Time
		VerifyFor time.Duration // how long the rotated key goes on to verify
	}
	// Expire drops retired keys whose time is over.
	Expire struct {
		Now time.Time
	}
	// Revoke drops a key at once. New takes the place that this leaves open: when
	// the signing key goes, the next one signs and New is the one after it.
	Revoke struct {
		KID string
		New JWK
		Now time.Time
	}
)

func (Start) keyringCommand()  {}
func (Rotate) keyringCommand() {}
func (Expire) keyringCommand() {}
func (Revoke) keyringCommand() {}

// maxKeys is how many keys a ring may hold: more than one a day for as long as a
// token may live. Every verifier reads them all.
const maxKeys = 4096

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Start:
		return start(s, c)
	case Rotate:
		return rotate(s, c)
	case Expire:
		return expire(s, c)
	case Revoke:
		return revoke(s, c)
	default:
		return nil, domain.Refuse(domain.CodeInternal, "keyring: unknown command %T", cmd)
	}
}

func start(s State, c Start) ([]domain.Event, error) {
	if s.Started() {
		return nil, nil
	}
	if err := s.checkNewKey(c.Signing); err != nil {
		return nil, err
	}
	if err := s.checkNewKey(c.Next); err != nil {
		return nil, err
	}
	if c.Signing.KID == c.Next.KID {
		return nil, domain.Refuse(domain.CodeInternal, "keyring: the next key must be another one")
	}
	keys := []Key{signingKey(Key{JWK: c.Signing, CreatedAt: c.Now}, c.Now), nextKey(c.Next, c.Now)}
	return updated(keys, []string{c.Signing.KID, c.Next.KID}, nil), nil
}

func rotate(s State, c Rotate) ([]domain.Event, error) {
	if !s.Started() {
		return nil, domain.Refuse(domain.CodeConflict, "there are no signing keys yet")
	}
	old := s.Signing()
	if old.JWK.KID != c.Signing {
		return nil, nil
	}
	if err := s.checkNewKey(c.New); err != nil {
		return nil, err
	}
	expired := s.overdue(c.Now)
	if err := s.checkFull(len(expired)); err != nil {
		return nil, err
	}
	old.Stage, old.RetiredAt, old.ExpiresAt = Retired, c.Now, c.Now.Add(c.VerifyFor)
	keys := []Key{old, signingKey(s.Next(), c.Now), nextKey(c.New, c.Now)}
	return updated(keys, []string{c.New.KID}, expired), nil
}

func expire(s State, c Expire) ([]domain.Event, error) {
	kids := s.overdue(c.Now)
	if len(kids) == 0 {
		return nil, nil
	}
	return updated(nil, nil, kids), nil
}

func revoke(s State, c Revoke) ([]domain.Event, error) {
	k, ok := s.Find(c.KID)
	if !ok {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such signing key").With("resource", "jwk").With("id", c.KID)
	}
	removed := []string{c.KID}
	if k.Stage == Retired {
		return updated(nil, nil, removed), nil
	}
	if err := s.checkNewKey(c.New); err != nil {
		return nil, err
	}
	keys := []Key{nextKey(c.New, c.Now)}
	if k.Stage == Signing {
		keys = append(keys, signingKey(s.Next(), c.Now))
	}
	return updated(keys, []string{c.New.KID}, removed), nil
}

// checkNewKey refuses a key that cannot join the ring.
func (s State) checkNewKey(k JWK) error {
	if err := k.validate(); err != nil {
		return err
	}
	if _, known := s.Find(k.KID); known {
		return domain.Refuse(domain.CodeInternal, "keyring: key %s is in the ring already", k.KID)
	}
	return nil
}

// checkFull refuses another key when leaving ones do not make room for it. Revoking
// needs no room: it must always be possible.
func (s State) checkFull(leaving int) error {
	if len(s.Keys)-leaving < maxKeys {
		return nil
	}
	return domain.Refuse(domain.CodeQuota, "there are %d signing keys already: wait until retired ones expire, or revoke some", len(s.Keys)).
		Reason("too_many_keys").With("limit", maxKeys)
}

func nextKey(k JWK, now time.Time) Key { return Key{JWK: k, Stage: Next, CreatedAt: now} }

func signingKey(k Key, now time.Time) Key {
	k.Stage, k.SignsFrom = Signing, now
	return k
}
