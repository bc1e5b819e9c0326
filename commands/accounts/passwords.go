package accounts

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"runtime"

	"github.com/alexedwards/argon2id"

	"svc/commands/fair"
	"svc/domain/user"
)

// Hashing is what one argon2id hash costs.
type Hashing struct {
	Memory      uint32 // KiB; default 19456
	Iterations  uint32 // default 2
	Parallelism uint8  // default 1
}

// hasher hashes and compares passwords, no more at once than there are
// processors: each takes all of one, and much memory. Clients take turns, and one has
// half of the places at most: who sends many bad passwords waits for itself. Of one client
// the last password is tried first, so that a flood does not hold up who comes from the
// same IP.
type hasher struct {
	params *argon2id.Params
	places *fair.Places
	nobody string // the hash of a password that nobody has

	compare func(password, hash string) (bool, error)
}

func newHasher(h Hashing) (*hasher, error) {
	places := runtime.GOMAXPROCS(0)
	made := &hasher{places: fair.NewestFirst(places, max(1, places/2)), compare: argon2id.ComparePasswordAndHash, params: &argon2id.Params{
		Memory: cmp.Or(h.Memory, 19456), Iterations: cmp.Or(h.Iterations, 2), Parallelism: cmp.Or(h.Parallelism, 1), SaltLength: 16, KeyLength: 32,
	}}
	var err error
	made.nobody, err = argon2id.CreateHash(randomText(), made.params)
	return made, err
}

// operator is the share of what super admins and the host ask for.
const operator = "operator"

// shareOf names who takes turns with others: the client with an IP. The half of an IPv6
// address that a client picks by itself does not make it another client.
func shareOf(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if prefix, perr := addr.Prefix(64); err == nil && perr == nil && addr.Is6() {
		return prefix.String()
	}
	return ip
}

// share names who takes turns with others. Who signed in there before takes turns alone.
func (in Login) share() string {
	if in.Known {
		return "known " + user.NormalEmail(in.Email)
	}
	return shareOf(in.IP)
}

// hash returns the hash of a password.
func (h *hasher) hash(ctx context.Context, share, password string) (hash string, err error) {
	if err := h.enter(ctx, share); err != nil {
		return "", err
	}
	defer h.places.Leave(share)
	return argon2id.CreateHash(password, h.params)
}

// matches reports whether hash is that of password. Without a hash it takes as
// long and is false, so that nobody learns from the time who has an account.
func (h *hasher) matches(ctx context.Context, share, password, hash string) (bool, error) {
	if err := h.enter(ctx, share); err != nil {
		return false, err
	}
	defer h.places.Leave(share)
	same, err := h.compare(password, cmp.Or(hash, h.nobody))
	return same && hash != "", err
}

func (h *hasher) enter(ctx context.Context, share string) error {
	if err := h.places.Enter(ctx, share); err != nil {
		return fmt.Errorf("wait to hash a password: %w", err)
	}
	return nil
}
