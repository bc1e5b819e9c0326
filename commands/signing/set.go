package signing

import (
	"context"
	"crypto"
	"encoding/json"
	"fmt"
	"time"

	"svc/commands"
	"svc/domain/keyring"
)

// PublicKey is a key that verifies.
type PublicKey struct {
	KID string
	Alg string
	Key crypto.PublicKey // *rsa.PublicKey or *ecdsa.PublicKey
}

// keySet is the key ring at one sequence, ready for use. It is never changed,
// only replaced.
type keySet struct {
	seq    uint64
	ring   keyring.State
	public map[string]PublicKey
	jwks   []byte
}

// current returns the key ring as this node knows it now.
func (k *Keys) current() (*keySet, error) {
	have := k.set.Load()
	ring, seq, err := k.o.Current(have.seq)
	if err != nil {
		return nil, commands.Refused(fmt.Errorf("read the key ring: %w", err))
	}
	if seq == have.seq {
		return have, nil
	}
	next, err := k.prepare(have, ring, seq)
	if err != nil {
		return nil, err
	}
	k.set.Store(next)
	return next, nil
}

// prepare parses what is new in ring.
func (k *Keys) prepare(have *keySet, ring keyring.State, seq uint64) (*keySet, error) {
	next := &keySet{seq: seq, ring: ring, public: make(map[string]PublicKey, len(ring.Keys))}
	published := struct {
		Keys []keyring.JWK `json:"keys"`
	}{Keys: []keyring.JWK{}}
	for _, key := range ring.Keys {
		jwk := key.JWK
		public, known := have.public[jwk.KID] // a kid names one key for ever
		if !known {
			parsed, err := decodeJWK(jwk)
			if err != nil {
				k.o.Log.Error("a key of the ring does not open and is left out", "kid", jwk.KID, "err", err)
				continue
			}
			public = PublicKey{KID: jwk.KID, Alg: jwk.Alg, Key: parsed}
		}
		next.public[jwk.KID] = public
		published.Keys = append(published.Keys, jwk)
	}
	text, err := json.Marshal(published)
	next.jwks = text
	return next, err
}

// refreshed waits until the ring is current and returns it.
func (k *Keys) refreshed(ctx context.Context) (*keySet, error) {
	ctx, cancel := context.WithTimeout(ctx, freshLimit)
	defer cancel()
	if err := k.o.Fresh(ctx); err != nil {
		return nil, commands.Refused(fmt.Errorf("the key ring is not current: %w", err))
	}
	return k.current()
}

// find returns the key with this kid. One that is not known may be of a rotation
// that another node has just made, so the ring is brought up to date before the
// answer is no.
func (k *Keys) find(ctx context.Context, kid string) (key PublicKey, ok bool, err error) {
	set, err := k.current()
	if err != nil {
		return key, false, err
	}
	if key, ok = set.public[kid]; ok || len(kid) != kidLength {
		return key, ok, nil
	}
	if set, err = k.refreshed(ctx); err != nil {
		return key, false, err
	}
	key, ok = set.public[kid]
	return key, ok, nil
}

// kidLength is that of a thumbprint: SHA-256 in base64.
const kidLength = 43

// JWKS returns the public parts of all keys as a JSON Web Key Set: the signing
// key first, then the next one, then the retired. It must not be changed.
func (k *Keys) JWKS(ctx context.Context) ([]byte, error) {
	set, err := k.started(ctx)
	if err != nil {
		return nil, err
	}
	return set.jwks, nil
}

// PublicKeys returns all keys that verify, in the order of JWKS.
func (k *Keys) PublicKeys(ctx context.Context) ([]PublicKey, error) {
	set, err := k.started(ctx)
	if err != nil {
		return nil, err
	}
	keys := make([]PublicKey, 0, len(set.public))
	for _, key := range set.ring.Keys {
		if public, ok := set.public[key.JWK.KID]; ok {
			keys = append(keys, public)
		}
	}
	return keys, nil
}

// Entry is a key as GET /sys/jwks lists it.
type Entry struct {
	KID       string        `json:"kid"`
	State     keyring.Stage `json:"state"`
	CreatedAt time.Time     `json:"createdAt"`
	RotatesAt time.Time     `json:"rotatesAt"` // when it stops signing, or stopped
	ExpiresAt time.Time     `json:"expiresAt"` // when the last token it signed has expired
}

// List returns all keys in the order of JWKS. Times to come are those of an
// undisturbed course: each key signs for its full time.
func (k *Keys) List(ctx context.Context) ([]Entry, error) {
	set, err := k.started(ctx)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(set.ring.Keys))
	ends := k.rotatesAt(set.ring)
	for _, key := range set.ring.Keys {
		e := Entry{KID: key.JWK.KID, State: key.Stage, CreatedAt: key.CreatedAt}
		switch key.Stage {
		case keyring.Signing:
			e.RotatesAt, e.ExpiresAt = ends, ends.Add(k.o.MaxAge)
		case keyring.Next:
			e.RotatesAt = ends.Add(k.o.Rotation)
			e.ExpiresAt = e.RotatesAt.Add(k.o.MaxAge)
		case keyring.Retired:
			e.RotatesAt, e.ExpiresAt = key.RetiredAt, key.ExpiresAt
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// rotatesAt returns when the signing key is due.
func (k *Keys) rotatesAt(ring keyring.State) time.Time {
	return ring.Signing().SignsFrom.Add(k.o.Rotation)
}
