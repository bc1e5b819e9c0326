// Package seal encrypts secrets, so that they cannot be read without the master
// keys of the platform: AES-256-GCM under the active one, while the others still
// open what they sealed.
//
// A sealed text says under which key, so that keys can be replaced one after the
// other; and it opens only for the purpose it was sealed for, so that one secret
// cannot be put in the place of another.
package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"svc/commands"
	"svc/eventstore"
)

// MasterKey is one key of SECRETS_MASTER_KEYS.
type MasterKey struct {
	KID    string
	Key    []byte // 32 bytes
	Active bool   // seals; exactly one does
}

// Format implements fmt.Formatter: a key is shown by its name only.
func (m MasterKey) Format(s fmt.State, _ rune) { fmt.Fprint(s, "master key ", m.KID) }

// MarshalText implements encoding.TextMarshaler, for logs and JSON: as Format.
func (m MasterKey) MarshalText() ([]byte, error) { return fmt.Append(nil, m), nil }

// Box seals and opens. All methods are safe for concurrent use.
type Box struct {
	active *sealer
	all    map[string]*sealer
}

// sealer is one master key at work. The key itself seals nothing: each use has
// a key of its own, derived from it.
type sealer struct {
	kid  string
	key  []byte
	aead cipher.AEAD // takes care of the nonce
}

// ErrUnknownKey says that a text was sealed under a master key that is not
// among the given ones.
var ErrUnknownKey = errors.New("seal: sealed under a master key that is not given")

// ErrDamaged says that a text does not open: it was changed, sealed for another
// purpose, or under another key of the same name.
var ErrDamaged = errors.New("seal: the sealed text does not open")

// New returns a Box with these keys.
func New(keys []MasterKey) (*Box, error) {
	b := &Box{all: map[string]*sealer{}}
	for _, k := range keys {
		if k.KID == "" || len(k.KID) > 255 || len(k.Key) != keySize {
			return nil, fmt.Errorf("seal: master key %q must have a name and %d bytes", k.KID, keySize)
		}
		if b.all[k.KID] != nil {
			return nil, fmt.Errorf("seal: master key %s is given twice", k.KID)
		}
		s, err := newSealer(k)
		if err != nil {
			return nil, fmt.Errorf("seal: master key %s: %w", k.KID, err)
		}
		b.all[k.KID] = s
		if k.Active && b.active != nil {
			return nil, fmt.Errorf("seal: master keys %s and %s are both active", b.active.kid, k.KID)
		}
		if k.Active {
			b.active = s
		}
	}
	if b.active == nil {
		return nil, errors.New("seal: no master key is active")
	}
	return b, nil
}

const (
	keySize = 32
	format  = 1 // the first byte of a sealed text
)

func newSealer(k MasterKey) (*sealer, error) {
	s := &sealer{kid: k.KID, key: append([]byte(nil), k.Key...)}
	block, err := aes.NewCipher(s.derive("seal", keySize))
	if err != nil {
		return nil, err
	}
	s.aead, err = cipher.NewGCMWithRandomNonce(block)
	return s, err
}

// derive returns a key for one use of the master key.
func (s *sealer) derive(use string, size int) []byte {
	key, err := hkdf.Key(sha256.New, s.key, nil, "svc/"+use, size)
	if err != nil {
		panic("seal: " + err.Error()) // only for a size that nobody asks for
	}
	return key
}

// Seal returns plain sealed for a purpose under the active key.
func (b *Box) Seal(plain []byte, purpose string) ([]byte, error) {
	head := append([]byte{format, byte(len(b.active.kid))}, b.active.kid...)
	return b.active.aead.Seal(head, nil, plain, bound(head, purpose)), nil
}

// Open returns what was sealed for this purpose. It fails with ErrUnknownKey or
// ErrDamaged; neither tells anything of the content.
func (b *Box) Open(sealed []byte, purpose string) ([]byte, error) {
	kid, head, body, err := parse(sealed)
	if err != nil {
		return nil, err
	}
	s := b.all[kid]
	if s == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknownKey, kid)
	}
	plain, err := s.aead.Open(nil, nil, body, bound(head, purpose))
	if err != nil {
		return nil, fmt.Errorf("%w under master key %s", ErrDamaged, kid)
	}
	return plain, nil
}

// Current reports whether a text is sealed under the active key. One that is
// not should be sealed again, so that its key can be dropped.
func (b *Box) Current(sealed []byte) bool {
	kid, _, _, err := parse(sealed)
	return err == nil && kid == b.active.kid
}

// Derive returns a 32-byte key for a purpose of its own, such as signing
// cookies: the same on every node with the same active key.
func (b *Box) Derive(purpose string) []byte { return b.active.derive("derive/"+purpose, keySize) }

// CheckValue returns a text by which the key with this kid is known again, and
// from which it cannot be found. It is empty for a kid that is not given.
func (b *Box) CheckValue(kid string) string {
	s := b.all[kid]
	if s == nil {
		return ""
	}
	return hex.EncodeToString(s.derive("check", 16))
}

// bound is what a sealed text is tied to besides its content.
func bound(head []byte, purpose string) []byte { return append(head[:len(head):len(head)], purpose...) }

// parse takes a sealed text apart: format, length of the kid, kid, body.
func parse(sealed []byte) (kid string, head, body []byte, err error) {
	if len(sealed) < 2 || sealed[0] != format || len(sealed) < 2+int(sealed[1]) {
		return "", nil, nil, fmt.Errorf("%w: it has no head", ErrDamaged)
	}
	size := 2 + int(sealed[1])
	return string(sealed[2:size]), sealed[:size], sealed[size:], nil
}

// resealPause is the wait between two attempts to reseal everything.
const resealPause = time.Minute

// Resealing seals everything under the active master key that is sealed under an old one,
// and then records that the old key may be dropped. It has nothing to do unless the operator
// made another key the active one.
type Resealing struct {
	Box    *Box
	Checks eventstore.Bucket // the check values of the master keys
	// Steps reseal what is stored, in this order. Each one may be repeated.
	Steps []func(context.Context) error
	Log   *slog.Logger
}

// Run reseals everything; what fails is repeated until ctx ends.
func (r Resealing) Run(ctx context.Context) error {
	for {
		err := r.reseal(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		r.Log.Warn("secrets under an old master key are not all sealed anew yet: keep the key", "err", err)
		if commands.Sleep(ctx, resealPause) != nil {
			return nil
		}
	}
}

func (r Resealing) reseal(ctx context.Context) error {
	kids, err := InUse(ctx, r.Checks)
	old := slices.DeleteFunc(kids, func(kid string) bool { return kid == r.Box.active.kid })
	if err != nil || len(old) == 0 {
		return err
	}
	for _, step := range r.Steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	for _, kid := range old {
		if err := r.Box.Forget(ctx, r.Checks, kid); err != nil {
			return err
		}
		r.Log.Info("nothing is sealed under this master key any more: it may be dropped", "kid", kid)
	}
	return nil
}

// checksKey is where the check values of all master keys are, by kid.
const checksKey = "master-keys"

// maxAttempts bounds the races of nodes that start together.
const maxAttempts = 20

// Ensure holds the given keys against the check values in bucket and adds that of
// the active one, under which secrets are sealed from now on. It refuses a key
// that is not the one known by its kid, and the lack of one that is still in use:
// with either, what is stored would not open. It must come before the first Seal.
func (b *Box) Ensure(ctx context.Context, bucket eventstore.Bucket) error {
	return change(ctx, bucket, func(checks map[string]string) error {
		for kid, want := range checks {
			if b.all[kid] == nil {
				return fmt.Errorf("SECRETS_MASTER_KEYS: key %s is missing, and stored secrets are sealed under it; give it besides the others", kid)
			}
			if subtle.ConstantTimeCompare([]byte(b.CheckValue(kid)), []byte(want)) != 1 {
				return fmt.Errorf("SECRETS_MASTER_KEYS: key %s is not the one that stored secrets are sealed under; give the old value, or this one another kid", kid)
			}
		}
		checks[b.active.kid] = b.CheckValue(b.active.kid)
		return nil
	})
}

// Forget notes that nothing is sealed any more under the key with this kid, so
// that a start without it is fine.
func (b *Box) Forget(ctx context.Context, bucket eventstore.Bucket, kid string) error {
	if kid == b.active.kid {
		return fmt.Errorf("seal: master key %s is the active one", kid)
	}
	return change(ctx, bucket, func(checks map[string]string) error {
		delete(checks, kid)
		return nil
	})
}

// InUse returns the kids that stored secrets may be sealed under, in order.
func InUse(ctx context.Context, bucket eventstore.Bucket) ([]string, error) {
	checks, _, err := read(ctx, bucket)
	return slices.Sorted(maps.Keys(checks)), err
}

// change makes one change of the check values, again when another node was
// faster.
func change(ctx context.Context, bucket eventstore.Bucket, edit func(map[string]string) error) error {
	for attempt := 1; ; attempt++ {
		checks, revision, err := read(ctx, bucket)
		if err != nil {
			return err
		}
		before := maps.Clone(checks)
		if err := edit(checks); err != nil || maps.Equal(before, checks) {
			return err
		}
		err = write(ctx, bucket, checks, revision)
		if !errors.Is(err, eventstore.ErrConflict) || attempt == maxAttempts {
			return err
		}
		if err := commands.Backoff(ctx, attempt); err != nil {
			return err
		}
	}
}

// read returns the check values and their revision; 0 when there are none yet.
func read(ctx context.Context, bucket eventstore.Bucket) (checks map[string]string, revision uint64, err error) {
	body, revision, err := bucket.Get(ctx, checksKey)
	if errors.Is(err, eventstore.ErrNoKey) {
		return map[string]string{}, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read check values of master keys: %w", err)
	}
	if err := json.Unmarshal(body, &checks); err != nil || checks == nil {
		return nil, 0, errors.Join(errors.New("the check values of master keys are damaged"), err)
	}
	return checks, revision, nil
}

func write(ctx context.Context, bucket eventstore.Bucket, checks map[string]string, revision uint64) error {
	body, err := json.Marshal(checks)
	if err != nil {
		return err
	}
	if revision == 0 {
		_, err = bucket.Create(ctx, checksKey, body)
	} else {
		_, err = bucket.Update(ctx, checksKey, body, revision)
	}
	if err != nil {
		return fmt.Errorf("write check values of master keys: %w", err)
	}
	return nil
}
