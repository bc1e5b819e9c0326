package accounts

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"runtime"

	"github.com/alexedwards/argon2id"

	"svc/commands/fair"
	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

// ChangePassword replaces the password of a user who knows it, and ends their other sessions.
func (a *Accounts) ChangePassword(ctx context.Context, by sessions.Session, current, next string) error {
	if err := a.o.Settings().checkPassword(next); err != nil {
		return err
	}
	s, err := a.checkCurrentPassword(ctx, by.UserID, current)
	if err != nil {
		return err
	}
	hash, err := a.hasher.hash(ctx, by.UserID, next)
	if err != nil {
		return err
	}
	_, err = a.changeAndEndSessions(ctx, s.ID, by.ID, session.CausePassword, user.ChangePassword{Was: s.Credentials.Password, Password: hash})
	return err
}

// checkCurrentPassword returns a user, or refuses a wrong password.
func (a *Accounts) checkCurrentPassword(ctx context.Context, userID, password string) (user.State, error) {
	s, err := a.load(ctx, userID)
	if err != nil {
		return s, err
	}
	right, err := a.hasher.matches(ctx, userID, password, s.Credentials.Password)
	if err == nil && !right {
		err = domain.Refuse(domain.CodeInvalidCredentials, "the current password is wrong")
	}
	return s, err
}

// changeAndEndSessions runs a command and ends the sessions of the account, except one. They
// end before it, so that a failure leaves none open, and after it, for those that were opened
// in between.
func (a *Accounts) changeAndEndSessions(ctx context.Context, userID, except, cause string, cmd user.Command) (user.State, error) {
	if err := a.o.Sessions.EndAll(ctx, userID, except, cause); err != nil {
		return user.State{}, err
	}
	s, err := a.change(ctx, userID, cmd)
	if err != nil {
		return s, err
	}
	return s, a.o.Sessions.EndAll(ctx, userID, except, cause)
}

// RequestReset sends a mail to choose a new password, if there is a local account with this
// address. The answer does not reveal whether there is: it is sent before anything is loaded.
func (a *Accounts) RequestReset(ctx context.Context, email, ip string) error {
	if err := a.checkReset(); err != nil {
		return err
	}
	email, err := parseEmail(email)
	if err != nil {
		return err
	}
	a.enqueue(ctx, a.mailReset(email, ip))
	return nil
}

// Reset sets the password of the account of a mailed token, and ends all its sessions.
func (a *Accounts) Reset(ctx context.Context, token, password, ip string) error {
	set := a.o.Settings()
	if err := a.checkReset(); err != nil {
		return err
	}
	if err := set.checkPassword(password); err != nil {
		return err
	}
	link, err := a.openLink(ctx, purposeReset, token)
	if err != nil {
		return err
	}
	s, err := a.load(ctx, link.UserID)
	if err != nil {
		return err
	}
	cmd := user.ResetPassword{Email: link.Email, Was: link.Was, IP: ip, Validate: set.validatesByEmail()}
	if _, err := user.Decider.Decide(s, cmd); err != nil {
		return unknownToken()
	}
	if cmd.Password, err = a.hasher.hash(ctx, shareOf(ip), password); err != nil {
		return err
	}
	if _, err := a.changeAndEndSessions(ctx, link.UserID, "", session.CausePassword, cmd); err != nil {
		return err
	}
	a.deleteLink(ctx, purposeReset, token)
	return nil
}

func (a *Accounts) checkReset() error {
	if a.o.Settings().DisableSignin {
		return domain.Refuse(domain.CodePermissionDenied, "signing in with a password is switched off")
	}
	return nil
}

// parseEmail returns the normal form of a mail address, or refuses it.
func parseEmail(email string) (string, error) {
	if email = user.NormalEmail(email); !user.IsEmail(email) {
		return "", domain.Invalid(domain.FieldError{Field: "email", Message: "must be a mail address"})
	}
	return email, nil
}

// Hashing has the parameters of argon2id.
type Hashing struct {
	Memory      uint32 // KiB; default 19456
	Iterations  uint32 // default 2
	Parallelism uint8  // default 1
}

// hasher hashes and compares passwords, at most one per processor at once, because each needs a
// processor and much memory. Clients share the slots, and one has at most half of them. The
// newest password of a client is checked first, so that a flood does not delay users with the
// same IP for long.
type hasher struct {
	params    *argon2id.Params
	slots     *fair.Slots
	dummyHash string // of a random password

	compare func(password, hash string) (bool, error)
}

func newHasher(h Hashing) (*hasher, error) {
	slots := runtime.GOMAXPROCS(0)
	made := &hasher{slots: fair.NewestFirst(slots, max(1, slots/2)), compare: argon2id.ComparePasswordAndHash, params: &argon2id.Params{
		Memory: cmp.Or(h.Memory, 19456), Iterations: cmp.Or(h.Iterations, 2), Parallelism: cmp.Or(h.Parallelism, 1), SaltLength: 16, KeyLength: 32,
	}}
	var err error
	made.dummyHash, err = argon2id.CreateHash(randomText(), made.params)
	return made, err
}

// operator is the share of super admins and of the host.
const operator = "operator"

// shareOf returns the share of a client: its IP, or the network of an IPv6 address.
func shareOf(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if prefix, perr := addr.Prefix(64); err == nil && perr == nil && addr.Is6() {
		return prefix.String()
	}
	return ip
}

// share returns the share of a login. A known client has a share of its own.
func (in Login) share() string {
	if in.Known {
		return "known " + user.NormalEmail(in.Email)
	}
	return shareOf(in.IP)
}

// hash returns the hash of a password.
func (h *hasher) hash(ctx context.Context, share, password string) (hash string, err error) {
	if err := h.acquireSlot(ctx, share); err != nil {
		return "", err
	}
	defer h.slots.Release(share)
	return argon2id.CreateHash(password, h.params)
}

// matches reports whether hash is that of password. Without a hash it takes as long and is
// false, so that the time does not reveal whether there is an account.
func (h *hasher) matches(ctx context.Context, share, password, hash string) (bool, error) {
	if err := h.acquireSlot(ctx, share); err != nil {
		return false, err
	}
	defer h.slots.Release(share)
	same, err := h.compare(password, cmp.Or(hash, h.dummyHash))
	return same && hash != "", err
}

func (h *hasher) acquireSlot(ctx context.Context, share string) error {
	if err := h.slots.Acquire(ctx, share); err != nil {
		return fmt.Errorf("wait to hash a password: %w", err)
	}
	return nil
}
