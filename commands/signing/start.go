package signing

import (
	"context"
	"fmt"

	"svc/domain"
	"svc/domain/keyring"
)

// EnsureStarted makes the first keys. Every node asks for it at start; the log
// lets one of them make them. It replaces keys that are for another algorithm
// than JWKS_ALG, and fails when this node cannot open the keys that sign now and
// next.
func (k *Keys) EnsureStarted(ctx context.Context) error {
	ring, err := k.ring(ctx)
	if err == nil && !ring.Started() {
		ring, err = k.start(ctx)
	}
	if err == nil {
		ring, err = k.fit(ctx, ring)
	}
	if err != nil {
		return fmt.Errorf("make the signing keys: %w", err)
	}
	for _, key := range []keyring.Key{ring.Signing(), ring.Next()} {
		if _, err := k.open(ctx, key.JWK); err != nil {
			return err
		}
	}
	return nil
}

func (k *Keys) start(ctx context.Context) (keyring.State, error) {
	ring, _, err := k.change(ctx, keyring.State{}, 2, func(fresh []keyring.JWK) keyring.Command {
		return keyring.Start{Signing: fresh[0], Next: fresh[1], Now: k.now()}
	})
	return ring, err
}

// fit replaces keys that JWKS_ALG cannot use: first the next one, which has never
// signed, then the signing one by it.
func (k *Keys) fit(ctx context.Context, ring keyring.State) (_ keyring.State, err error) {
	if next := ring.Next().JWK; next.Alg != k.alg.name {
		ring, err = k.revoke(ctx, ring, next.KID)
		if domain.CodeOf(err) == domain.CodeNotFound {
			ring, err = k.ring(ctx) // another node was faster
		}
	}
	if err == nil && ring.Signing().JWK.Alg != k.alg.name {
		ring, _, err = k.rotate(ctx, ring)
	}
	return ring, err
}
