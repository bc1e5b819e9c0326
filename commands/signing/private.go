package signing

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc/commands"
	"svc/domain/keyring"
	"svc/eventstore"
)

// part is the private part of a key as the bucket keeps it.
type part struct {
	KID       string    `json:"kid"`
	CreatedAt time.Time `json:"createdAt"`
	Sealed    []byte    `json:"sealed"` // PKCS #8
}

const (
	folder    = "jwk"
	orphanAge = time.Hour // after which a part that is on no ring was left behind
)

func placeOf(kid string) string { return folder + "/" + kid }

// purposeOf ties a private part to its key.
func purposeOf(kid string) string { return "signing key " + kid }

// store seals a private part and keeps it.
func (k *Keys) store(ctx context.Context, kid string, private crypto.Signer) error {
	plain, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return fmt.Errorf("encode signing key %s: %w", kid, err)
	}
	return k.keep(ctx, part{KID: kid, CreatedAt: k.now()}, plain)
}

// keep puts a part with this content under the active master key.
func (k *Keys) keep(ctx context.Context, p part, plain []byte) (err error) {
	if p.Sealed, err = k.o.Box.Seal(plain, purposeOf(p.KID)); err != nil {
		return fmt.Errorf("seal signing key %s: %w", p.KID, err)
	}
	body, err := json.Marshal(p)
	if err == nil {
		_, err = k.o.Bucket.Put(ctx, placeOf(p.KID), body)
	}
	return unavailable(fmt.Sprintf("keep signing key %s", p.KID), err)
}

// open returns the private part of a key of the ring. It never returns one that
// is not the other half of k.
func (k *Keys) open(ctx context.Context, jwk keyring.JWK) (crypto.Signer, error) {
	body, _, err := k.o.Bucket.Get(ctx, placeOf(jwk.KID))
	if errors.Is(err, eventstore.ErrNoKey) {
		return nil, fmt.Errorf("the private part of signing key %s is missing: revoke the key, or restore the bucket it was kept in: %w", jwk.KID, err)
	}
	if err != nil {
		return nil, unavailable(fmt.Sprintf("read signing key %s", jwk.KID), err)
	}
	var p part
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, fmt.Errorf("signing key %s is damaged: %w", jwk.KID, err)
	}
	plain, err := k.o.Box.Open(p.Sealed, purposeOf(jwk.KID))
	if err != nil {
		return nil, fmt.Errorf("signing key %s does not open with the keys of SECRETS_MASTER_KEYS: %w", jwk.KID, err)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(plain)
	if err != nil {
		return nil, fmt.Errorf("signing key %s is damaged", jwk.KID) // the cause could show some of it
	}
	private, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("signing key %s does not sign", jwk.KID)
	}
	public, err := encodeJWK(private.Public(), jwk.Alg)
	if err != nil || public != jwk {
		return nil, errors.Join(err, fmt.Errorf("the private part of signing key %s is that of another key", jwk.KID))
	}
	return private, nil
}

// drop takes private parts away. What cannot be taken now is found by tend.
func (k *Keys) drop(ctx context.Context, kids ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyLimit)
	defer cancel()
	for _, kid := range kids {
		if err := k.o.Bucket.Delete(ctx, placeOf(kid)); err != nil {
			k.o.Log.WarnContext(ctx, "a private part was not deleted and is tried again later", "kid", kid, "err", err)
		}
	}
}

// tend takes away parts that a crash left behind, and seals those of the ring
// again that are not under the active master key, so that the old one can go.
func (k *Keys) tend(ctx context.Context, ring keyring.State) error {
	bodies, err := k.o.Bucket.List(ctx, folder)
	if err != nil {
		return unavailable("list signing keys", err)
	}
	for _, body := range bodies {
		var p part
		if err := json.Unmarshal(body, &p); err != nil {
			return fmt.Errorf("a stored signing key is damaged: %w", err)
		}
		_, known := ring.Find(p.KID)
		switch {
		case !known && k.now().Sub(p.CreatedAt) > orphanAge:
			k.drop(ctx, p.KID)
		case known && !k.o.Box.Current(p.Sealed):
			if err := k.reseal(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *Keys) reseal(ctx context.Context, p part) error {
	plain, err := k.o.Box.Open(p.Sealed, purposeOf(p.KID))
	if err != nil {
		return fmt.Errorf("signing key %s does not open with the keys of SECRETS_MASTER_KEYS: %w", p.KID, err)
	}
	return k.keep(ctx, p, plain)
}

// unavailable returns err with what was attempted; one of the store's says when
// to try again.
func unavailable(attempted string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, eventstore.ErrUnavailable):
		return commands.Refused(fmt.Errorf("%s: %w", attempted, err))
	}
	return fmt.Errorf("%s: %w", attempted, err)
}
