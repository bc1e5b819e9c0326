package signing

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"svc/commands"
	"svc/domain/keyring"
	"svc/eventstore"
)

// PrivateKey is a key that signs.
type PrivateKey struct {
	KID    string
	Alg    string
	Signer crypto.Signer // *rsa.PrivateKey or *ecdsa.PrivateKey
}

// Format implements fmt.Formatter: a key is shown by its name only.
func (p PrivateKey) Format(s fmt.State, _ rune) { fmt.Fprint(s, "signing key ", p.KID) }

// MarshalText implements encoding.TextMarshaler, for logs and JSON: as Format.
func (p PrivateKey) MarshalText() ([]byte, error) { return fmt.Append(nil, p), nil }

// Sign returns a token that says c. What c leaves open is filled in: who issues
// it and for whom, from now on and for as long as tokens live.
func (k *Keys) Sign(ctx context.Context, c Claims) (string, error) {
	key, err := k.SigningKey(ctx)
	if err != nil {
		return "", err
	}
	if c.IssuedAt.IsZero() {
		c.IssuedAt = k.o.Now()
	}
	// A token that outlived the longest life would outlive its key.
	if last := c.IssuedAt.Add(k.o.MaxAge); c.ExpiresAt.IsZero() || c.ExpiresAt.After(last) {
		c.ExpiresAt = last
	}
	if c.Audience == nil {
		c.Audience = []string{k.o.Audience}
	}
	c.Issuer = cmp.Or(c.Issuer, k.o.Issuer)
	c.ID = cmp.Or(c.ID, uuid.NewString())
	token := jwt.NewWithClaims(k.alg.method, c.wire())
	token.Header["kid"] = key.KID
	text, err := token.SignedString(key.Signer)
	if err != nil {
		return "", fmt.Errorf("sign a token with key %s: %w", key.KID, err)
	}
	return text, nil
}

// SigningKey returns the key that signs now, for others that sign in the name of
// the platform.
func (k *Keys) SigningKey(ctx context.Context) (PrivateKey, error) {
	set, err := k.started(ctx)
	if err != nil {
		return PrivateKey{}, err
	}
	jwk := set.ring.Signing().JWK
	key, err := k.signerOf(ctx, jwk)
	if !errors.Is(err, eventstore.ErrNoKey) && !errors.Is(err, errOtherAlg) {
		return key, err
	}
	// Its private part is gone because another node has revoked it, or it is for
	// another algorithm because it was replaced a moment ago.
	if set, fault := k.refreshed(ctx); fault == nil && set.ring.Signing().JWK != jwk {
		return k.signerOf(ctx, set.ring.Signing().JWK)
	}
	return key, err
}

var errOtherAlg = errors.New("all nodes need the same settings, and a restart after a change")

// signerOf returns the private part of a key, opened once.
func (k *Keys) signerOf(ctx context.Context, jwk keyring.JWK) (PrivateKey, error) {
	if known := k.signer.Load(); known != nil && known.KID == jwk.KID {
		return *known, nil
	}
	if jwk.Alg != k.alg.name {
		return PrivateKey{}, fmt.Errorf("signing key %s is for %s, and JWKS_ALG is %s: %w", jwk.KID, jwk.Alg, k.alg.name, errOtherAlg)
	}
	k.opening.Lock()
	defer k.opening.Unlock()
	if known := k.signer.Load(); known != nil && known.KID == jwk.KID {
		return *known, nil
	}
	private, err := k.open(ctx, jwk)
	if err != nil {
		return PrivateKey{}, err
	}
	key := PrivateKey{KID: jwk.KID, Alg: jwk.Alg, Signer: private}
	k.signer.Store(&key)
	return key, nil
}

// started returns the key ring. When nothing signs as far as this node knows,
// that may be because it has just been started.
func (k *Keys) started(ctx context.Context) (*keySet, error) {
	set, err := k.current()
	if err != nil || set.ring.Started() {
		return set, err
	}
	if set, err = k.refreshed(ctx); err != nil {
		return nil, err
	}
	if !set.ring.Started() {
		return nil, commands.Refused(errors.New("there are no signing keys yet"))
	}
	return set, nil
}
