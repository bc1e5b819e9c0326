package signing

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

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

// current returns the key ring of this node.
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

// refresh waits until the ring is up to date and returns it.
func (k *Keys) refresh(ctx context.Context) (*keySet, error) {
	ctx, cancel := context.WithTimeout(ctx, freshLimit)
	defer cancel()
	if err := k.o.Fresh(ctx); err != nil {
		return nil, commands.Refused(fmt.Errorf("the key ring is not current: %w", err))
	}
	return k.current()
}

// find returns the key with this kid. An unknown one may be new on another node, so the ring is
// refreshed before it is not found.
func (k *Keys) find(ctx context.Context, kid string) (key PublicKey, ok bool, err error) {
	set, err := k.current()
	if err != nil {
		return key, false, err
	}
	if key, ok = set.public[kid]; ok || len(kid) != kidLength {
		return key, ok, nil
	}
	if set, err = k.refresh(ctx); err != nil {
		return key, false, err
	}
	key, ok = set.public[kid]
	return key, ok, nil
}

// kidLength is the length of a thumbprint: SHA-256 in base64.
const kidLength = 43

// JWKS returns the public parts of all keys as a JSON Web Key Set: the signing
// key first, then the next one, then the retired. It must not be changed.
func (k *Keys) JWKS(ctx context.Context) ([]byte, error) {
	set, err := k.startedRing(ctx)
	if err != nil {
		return nil, err
	}
	return set.jwks, nil
}

// PublicKeys returns all keys that verify, in the order of JWKS.
func (k *Keys) PublicKeys(ctx context.Context) ([]PublicKey, error) {
	set, err := k.startedRing(ctx)
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

// List returns all keys in the order of JWKS. Future times assume that each key signs for its full
// time.
func (k *Keys) List(ctx context.Context) ([]Entry, error) {
	set, err := k.startedRing(ctx)
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

// algorithm is one way to sign.
type algorithm struct {
	name   string
	kty    string
	method jwt.SigningMethod
	curve  elliptic.Curve // of an EC key
	size   int            // bits of an RSA key
}

// algorithms are those of JWKS_ALG.
var algorithms = map[string]algorithm{
	"RS256": {kty: "RSA", method: jwt.SigningMethodRS256},
	"RS384": {kty: "RSA", method: jwt.SigningMethodRS384},
	"RS512": {kty: "RSA", method: jwt.SigningMethodRS512},
	"PS256": {kty: "RSA", method: jwt.SigningMethodPS256},
	"ES256": {kty: "EC", method: jwt.SigningMethodES256, curve: elliptic.P256()},
	"ES384": {kty: "EC", method: jwt.SigningMethodES384, curve: elliptic.P384()},
}

// Bounds of JWKS_SIZE.
const (
	minSize = 2048
	maxSize = 4096
)

// algorithmOf returns the algorithm with this name. It refuses a key type that
// the algorithm cannot use, and RSA keys that are too small or too slow.
func algorithmOf(name, kty string, size int) (algorithm, error) {
	a, ok := algorithms[name]
	if !ok {
		return a, fmt.Errorf("JWKS_ALG: %q is not an algorithm that tokens are signed with", name)
	}
	if a.kty != kty {
		return a, fmt.Errorf("JWKS_KTY: %s needs %s keys, not %q", name, a.kty, kty)
	}
	if kty == "RSA" && (size < minSize || size > maxSize) {
		return a, fmt.Errorf("JWKS_SIZE: an RSA key has %d to %d bits, not %d", minSize, maxSize, size)
	}
	a.name, a.size = name, size
	return a, nil
}

// generate makes a new key.
func (a algorithm) generate() (private crypto.Signer, public keyring.JWK, err error) {
	if a.kty == "EC" {
		private, err = ecdsa.GenerateKey(a.curve, rand.Reader)
	} else {
		private, err = rsa.GenerateKey(rand.Reader, a.size)
	}
	if err != nil {
		return nil, keyring.JWK{}, fmt.Errorf("make a signing key: %w", err)
	}
	public, err = encodeJWK(private.Public(), a.name)
	return private, public, err
}

// encodeJWK returns the public key as a JWK named by its thumbprint.
func encodeJWK(public crypto.PublicKey, alg string) (k keyring.JWK, err error) {
	text, err := json.Marshal(jose.JSONWebKey{Key: public, Algorithm: alg, Use: "sig"})
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return k, fmt.Errorf("encode a public key: %w", err)
	}
	k.KID = k.Thumbprint()
	return k, nil
}

// decodeJWK returns the public key that k names.
func decodeJWK(k keyring.JWK) (crypto.PublicKey, error) {
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	var parsed jose.JSONWebKey
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, fmt.Errorf("decode public key %s: %w", k.KID, err)
	}
	return parsed.Key, nil
}
