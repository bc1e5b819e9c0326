// Package signing makes, rotates and revokes the keys that sign tokens, and
// signs and verifies with them.
//
// The public parts are the aggregate domain/keyring. The private parts are
// sealed in a bucket: each is stored before the event that adds its key, and
// deleted after the event that removes it, so that a key of the ring can always
// be opened. Tokens are verified with the current ring: a revoked key is invalid
// as soon as this node knows of it.
package signing

import (
	"cmp"
	"context"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"svc/commands"
	"svc/commands/cache"
	"svc/commands/seal"
	"svc/domain"
	"svc/domain/keyring"
	"svc/eventstore"
)

// Options configure Keys; those without a default are required.
type Options struct {
	Engine *commands.Engine
	Bucket eventstore.Bucket
	Box    *seal.Box
	// Current returns the key ring as this node knows it, and the sequence of the
	// event that last changed it. When that is known, the ring may be left out.
	Current func(known uint64) (ring keyring.State, seq uint64, err error)
	// Fresh waits until Current knows of everything that was acknowledged before
	// the call.
	Fresh func(context.Context) error

	Issuer   string
	Audience string
	Alg      string        // JWKS_ALG; default RS256
	Kty      string        // JWKS_KTY; default that of Alg
	Size     int           // JWKS_SIZE, bits of an RSA key; default 2048
	Rotation time.Duration // JWKS_ROTATION_DAYS, the age at which a key stops signing; default 30 days
	MaxAge   time.Duration // ACCESS_TOKENS_MAX_AGE, the longest life of a token; default 30 days

	Now func() time.Time // default time.Now
	Log *slog.Logger     // default slog.Default
}

func (o Options) withDefaults() (Options, error) {
	if o.Engine == nil || o.Bucket == nil || o.Box == nil || o.Current == nil || o.Fresh == nil || o.Issuer == "" || o.Audience == "" {
		return o, errors.New("signing: Engine, Bucket, Box, Current, Fresh, Issuer and Audience are required")
	}
	o.Alg = cmp.Or(o.Alg, "RS256")
	o.Kty = cmp.Or(o.Kty, algorithms[o.Alg].kty)
	o.Size = cmp.Or(o.Size, minSize)
	o.Rotation = cmp.Or(o.Rotation, defaultAge)
	o.MaxAge = cmp.Or(o.MaxAge, defaultAge)
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	return o, nil
}

// Keys are the signing keys of the platform. All methods are safe for concurrent
// use.
type Keys struct {
	o        Options
	alg      algorithm
	parser   *jwt.Parser
	verified *cache.Cache[string, *verified] // by token

	set     atomic.Pointer[keySet]
	signer  atomic.Pointer[PrivateKey]
	opening sync.Mutex // held while a private part is opened
}

const (
	defaultAge = 30 * 24 * time.Hour
	tolerance  = 30 * time.Second // between clocks
	freshLimit = 2 * time.Second  // for the ring to become current
	tidyLimit  = 10 * time.Second // for what is done after the caller has its answer
)

// New returns Keys. Nothing is read or made before the first call of a method.
func New(o Options) (*Keys, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	alg, err := algorithmOf(o.Alg, o.Kty, o.Size)
	if err != nil {
		return nil, err
	}
	k := &Keys{o: o, alg: alg, verified: cache.Weighing(cachedBytes, weigh)}
	k.set.Store(&keySet{})
	k.parser = jwt.NewParser(
		jwt.WithValidMethods([]string{o.Alg}), jwt.WithIssuer(o.Issuer), jwt.WithAudience(o.Audience),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(tolerance), jwt.WithTimeFunc(o.Now), jwt.WithStrictDecoding())
	return k, nil
}

// now returns the time for events.
func (k *Keys) now() time.Time { return k.o.Now().UTC().Truncate(time.Millisecond) }

// EnsureStarted creates the first keys. Every node calls it at start, and the log lets one of them
// create them. It replaces keys of another algorithm than JWKS_ALG, and fails when this node cannot
// open the current and the next signing key.
func (k *Keys) EnsureStarted(ctx context.Context) error {
	ring, err := k.ring(ctx)
	if err == nil && !ring.Started() {
		ring, err = k.start(ctx)
	}
	if err == nil {
		ring, err = k.replaceUnusable(ctx, ring)
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

// replaceUnusable replaces keys of another algorithm than JWKS_ALG: first the next one, which has
// never signed, then the signing one by it.
func (k *Keys) replaceUnusable(ctx context.Context, ring keyring.State) (_ keyring.State, err error) {
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

// Rotate makes the next key the signing key and creates a new next key. It returns the created and
// deleted kids. When nodes rotate concurrently, only one of them does, and the others return none.
func (k *Keys) Rotate(ctx context.Context) (created, deleted []string, err error) {
	before, err := k.ring(ctx)
	if err != nil {
		return nil, nil, err
	}
	after, changed, err := k.rotate(ctx, before)
	if err != nil || !changed {
		return []string{}, []string{}, err
	}
	k.waitForChange(ctx)
	return missing(after, before), missing(before, after), nil
}

// Revoke drops a key at once: what it signed is refused from now on. The signing
// key is replaced first. An unknown kid is refused.
func (k *Keys) Revoke(ctx context.Context, kid string) error {
	before, err := k.ring(ctx)
	if err != nil {
		return err
	}
	if _, err := k.revoke(ctx, before, kid); err != nil {
		return err
	}
	k.waitForChange(ctx)
	return nil
}

// waitForChange waits until this node has read its own change, so that the caller sees it.
func (k *Keys) waitForChange(ctx context.Context) {
	if _, err := k.refresh(ctx); err != nil {
		k.o.Log.WarnContext(ctx, "a change of the signing keys is not known here yet", "err", err)
	}
}

// Maintain rotates the signing key when it is due, deletes expired retired keys, cleans up stored
// parts, and creates the first keys when that was not possible at start. It returns the time of the
// next work.
func (k *Keys) Maintain(ctx context.Context) (next time.Time, err error) {
	ring, err := k.ring(ctx)
	if err == nil && !ring.Started() {
		ring, err = k.start(ctx)
	}
	if err != nil {
		return time.Time{}, err
	}
	now := k.now()
	if !now.Before(k.rotatesAt(ring)) {
		ring, _, err = k.rotate(ctx, ring)
	} else if at := ring.NextExpiry(); !at.IsZero() && !now.Before(at) {
		ring, _, err = k.change(ctx, ring, 0, func([]keyring.JWK) keyring.Command { return keyring.Expire{Now: now} })
	}
	if err == nil {
		err = k.cleanUp(ctx, ring)
	}
	next = k.rotatesAt(ring)
	if at := ring.NextExpiry(); !at.IsZero() && at.Before(next) {
		next = at
	}
	return next, err
}

// ring loads the key ring. The command expires nothing at the zero time, so it only reads.
func (k *Keys) ring(ctx context.Context) (keyring.State, error) {
	e, err := k.execute(ctx, keyring.Expire{})
	return e.State, err
}

func (k *Keys) rotate(ctx context.Context, before keyring.State) (after keyring.State, changed bool, err error) {
	return k.change(ctx, before, 1, func(fresh []keyring.JWK) keyring.Command {
		return keyring.Rotate{Signing: before.Signing().JWK.KID, New: fresh[0], Now: k.now(), VerifyFor: k.o.MaxAge}
	})
}

func (k *Keys) revoke(ctx context.Context, before keyring.State, kid string) (keyring.State, error) {
	needed := 0 // a retired key leaves no gap, and an unknown one is refused
	if key, ok := before.Find(kid); ok && key.Stage != keyring.Retired {
		needed = 1
	}
	after, _, err := k.change(ctx, before, needed, func(fresh []keyring.JWK) keyring.Command {
		return keyring.Revoke{KID: kid, New: append(fresh, keyring.JWK{})[0], Now: k.now()}
	})
	return after, err
}

// change runs a command that adds n new keys. Their private parts are stored before it, and deleted
// when it did not use them; those of removed keys are deleted after it. While the outcome is unknown
// the new ones stay: they may be on the ring.
func (k *Keys) change(ctx context.Context, before keyring.State, n int, command func(fresh []keyring.JWK) keyring.Command) (keyring.State, bool, error) {
	fresh := make([]keyring.JWK, n)
	for i := range fresh {
		private, public, err := k.alg.generate()
		if err == nil {
			err = k.store(ctx, public.KID, private)
		}
		if err != nil {
			return before, false, err
		}
		fresh[i] = public
	}
	e, err := k.execute(ctx, command(fresh))
	if _, refused := errors.AsType[*domain.Error](err); err != nil && !refused {
		return before, false, err
	}
	for _, public := range fresh {
		if _, used := e.State.Find(public.KID); !used {
			k.drop(ctx, public.KID)
		}
	}
	if err != nil {
		return before, false, err
	}
	k.drop(ctx, missing(before, e.State)...)
	return e.State, e.Changed, nil
}

func (k *Keys) execute(ctx context.Context, cmd keyring.Command) (commands.Execution[keyring.State], error) {
	return commands.Execute(ctx, k.o.Engine, keyring.Decider, keyring.Stream(), cmd)
}

// missing returns the kids of a that are not in b.
func missing(a, b keyring.State) []string {
	kids := []string{}
	for _, key := range a.Keys {
		if _, there := b.Find(key.JWK.KID); !there {
			kids = append(kids, key.JWK.KID)
		}
	}
	return kids
}

// part is the stored private part of a key.
type part struct {
	KID       string    `json:"kid"`
	CreatedAt time.Time `json:"createdAt"`
	Sealed    []byte    `json:"sealed"` // PKCS #8
}

const (
	folder    = "jwk"
	orphanAge = time.Hour // after which a part that is on no ring was left behind
)

func storageKey(kid string) string { return folder + "/" + kid }

// purposeOf ties a private part to its key.
func purposeOf(kid string) string { return "signing key " + kid }

// store seals a private part and stores it.
func (k *Keys) store(ctx context.Context, kid string, private crypto.Signer) error {
	plain, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return fmt.Errorf("encode signing key %s: %w", kid, err)
	}
	return k.storePart(ctx, part{KID: kid, CreatedAt: k.now()}, plain)
}

// storePart seals a part with the active master key and stores it.
func (k *Keys) storePart(ctx context.Context, p part, plain []byte) (err error) {
	if p.Sealed, err = k.o.Box.Seal(plain, purposeOf(p.KID)); err != nil {
		return fmt.Errorf("seal signing key %s: %w", p.KID, err)
	}
	body, err := json.Marshal(p)
	if err == nil {
		_, err = k.o.Bucket.Put(ctx, storageKey(p.KID), body)
	}
	return unavailable(fmt.Sprintf("keep signing key %s", p.KID), err)
}

// open returns the private part of a key of the ring, and checks that both belong together.
func (k *Keys) open(ctx context.Context, jwk keyring.JWK) (crypto.Signer, error) {
	body, _, err := k.o.Bucket.Get(ctx, storageKey(jwk.KID))
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

// drop deletes private parts. Failed ones are deleted by cleanUp.
func (k *Keys) drop(ctx context.Context, kids ...string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyLimit)
	defer cancel()
	for _, kid := range kids {
		if err := k.o.Bucket.Delete(ctx, storageKey(kid)); err != nil {
			k.o.Log.WarnContext(ctx, "a private part was not deleted and is tried again later", "kid", kid, "err", err)
		}
	}
}

// cleanUp deletes parts that a crash left behind, and seals those of the ring again that use an old
// master key, so that it can be removed.
func (k *Keys) cleanUp(ctx context.Context, ring keyring.State) error {
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
	return k.storePart(ctx, p, plain)
}

// unavailable wraps err with what was attempted; one of the store becomes a refusal with a
// Retry-After.
func unavailable(attempted string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, eventstore.ErrUnavailable):
		return commands.Refused(fmt.Errorf("%s: %w", attempted, err))
	}
	return fmt.Errorf("%s: %w", attempted, err)
}
