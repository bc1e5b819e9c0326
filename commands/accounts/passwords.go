package accounts

import (
	"cmp"
	"context"
	"fmt"
	"runtime"

	"github.com/alexedwards/argon2id"
)

// Hashing is what one argon2id hash costs.
type Hashing struct {
	Memory      uint32 // KiB; default 19456
	Iterations  uint32 // default 2
	Parallelism uint8  // default 1
}

// hasher hashes and compares passwords, no more at once than there are
// processors: each takes all of one, and much memory.
type hasher struct {
	params *argon2id.Params
	slots  chan struct{}
	nobody string // the hash of a password that nobody has

	compare func(password, hash string) (bool, error)
}

func newHasher(h Hashing) (*hasher, error) {
	made := &hasher{slots: make(chan struct{}, runtime.GOMAXPROCS(0)), compare: argon2id.ComparePasswordAndHash, params: &argon2id.Params{
		Memory: cmp.Or(h.Memory, 19456), Iterations: cmp.Or(h.Iterations, 2), Parallelism: cmp.Or(h.Parallelism, 1), SaltLength: 16, KeyLength: 32,
	}}
	var err error
	made.nobody, err = argon2id.CreateHash(randomText(), made.params)
	return made, err
}

// hash returns the hash of a password.
func (h *hasher) hash(ctx context.Context, password string) (hash string, err error) {
	if err := h.acquire(ctx); err != nil {
		return "", err
	}
	defer h.release()
	return argon2id.CreateHash(password, h.params)
}

// matches reports whether hash is that of password. Without a hash it takes as
// long and is false, so that nobody learns from the time who has an account.
func (h *hasher) matches(ctx context.Context, password, hash string) (bool, error) {
	if err := h.acquire(ctx); err != nil {
		return false, err
	}
	defer h.release()
	same, err := h.compare(password, cmp.Or(hash, h.nobody))
	return same && hash != "", err
}

func (h *hasher) acquire(ctx context.Context) error {
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait to hash a password: %w", context.Cause(ctx))
	}
}

func (h *hasher) release() { <-h.slots }
