// Package signing makes, rotates and revokes the keys that sign tokens, and
// signs and verifies with them.
//
// The public parts are the aggregate domain/keyring. The private parts lie
// sealed in a bucket: each is put there before the event that makes its key
// known, and taken away after the event that ends it, so that a key on the ring
// can always be opened. Whatever is verified is held against the ring as it is
// now: a revoked key is worth nothing from the moment this node knows of it.
package signing

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"svc/commands"
	"svc/commands/cache"
	"svc/commands/seal"
	"svc/domain/keyring"
)

// Bucket keeps the sealed private parts. It is a *jetstream.Bucket.
type Bucket interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, prefix string) ([][]byte, error)
}

// Options configure Keys; those without a default are required.
type Options struct {
	Engine *commands.Engine
	Bucket Bucket
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
	verified *cache.Cache[digest, *verified]

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

// now is the time as it is recorded.
func (k *Keys) now() time.Time { return k.o.Now().UTC().Truncate(time.Millisecond) }
