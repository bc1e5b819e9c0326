package keyring

import (
	"time"

	"svc/domain"
)

// Command is what can be asked of the key ring.
type Command interface{ keyringCommand() }

type (
	// Start makes the first two keys. A ring that has been started is left as
	// it is, so that every node may ask for it at start.
	Start struct {
		Signing, Next JWK
		Now           time.Time
	}
	// Rotate lets the next key sign and adds New as the one after it. Signing is
	// the kid that signs as far as the caller knows: when another one does, the
	// keys have been rotated already and nothing happens. Retired keys whose time
	// is over leave with it.
	Rotate struct {
		Signing string
		New     JWK
		Now     time.Time
		Keep    time.Duration // how long the rotated key goes on to verify
	}
	// Expire drops retired keys whose time is over.
	Expire struct {
		Now time.Time
	}
	// Revoke drops a key at once. New takes the place that this leaves open: when
	// the signing key goes, the next one signs and New is the one after it.
	Revoke struct {
		KID string
		New JWK
		Now time.Time
	}
)

func (Start) keyringCommand()  {}
func (Rotate) keyringCommand() {}
func (Expire) keyringCommand() {}
func (Revoke) keyringCommand() {}

// maxKeys is how many keys a ring may hold: more than one a day for as long as a
// token may live. Every verifier reads them all.
const maxKeys = 4096

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Start:
		return start(s, c)
	case Rotate:
		return rotate(s, c)
	case Expire:
		return expire(s, c)
	case Revoke:
		return revoke(s, c)
	default:
		return nil, domain.Refuse(domain.CodeInternal, "keyring: unknown command %T", cmd)
	}
}

func start(s State, c Start) ([]domain.Event, error) {
	if s.Started() {
		return nil, nil
	}
	if err := s.admits(c.Signing); err != nil {
		return nil, err
	}
	if err := s.admits(c.Next); err != nil {
		return nil, err
	}
	if c.Signing.KID == c.Next.KID {
		return nil, domain.Refuse(domain.CodeInternal, "keyring: the next key must be another one")
	}
	keys := []Key{signing(Key{JWK: c.Signing, CreatedAt: c.Now}, c.Now), waiting(c.Next, c.Now)}
	return updated(keys, []string{c.Signing.KID, c.Next.KID}, nil), nil
}

func rotate(s State, c Rotate) ([]domain.Event, error) {
	if !s.Started() {
		return nil, domain.Refuse(domain.CodeConflict, "there are no signing keys yet")
	}
	old := s.Signing()
	if old.JWK.KID != c.Signing {
		return nil, nil
	}
	if err := s.admits(c.New); err != nil {
		return nil, err
	}
	gone := s.overdue(c.Now)
	if err := s.full(len(gone)); err != nil {
		return nil, err
	}
	old.Stage, old.RetiredAt, old.ExpiresAt = Retired, c.Now, c.Now.Add(c.Keep)
	keys := []Key{old, signing(s.Next(), c.Now), waiting(c.New, c.Now)}
	return updated(keys, []string{c.New.KID}, gone), nil
}

func expire(s State, c Expire) ([]domain.Event, error) {
	kids := s.overdue(c.Now)
	if len(kids) == 0 {
		return nil, nil
	}
	return updated(nil, nil, kids), nil
}

func revoke(s State, c Revoke) ([]domain.Event, error) {
	k, ok := s.Find(c.KID)
	if !ok {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such signing key").With("resource", "jwk").With("id", c.KID)
	}
	gone := []string{c.KID}
	if k.Stage == Retired {
		return updated(nil, nil, gone), nil
	}
	if err := s.admits(c.New); err != nil {
		return nil, err
	}
	keys := []Key{waiting(c.New, c.Now)}
	if k.Stage == Signing {
		keys = append(keys, signing(s.Next(), c.Now))
	}
	return updated(keys, []string{c.New.KID}, gone), nil
}

// admits refuses a key that cannot join the ring.
func (s State) admits(k JWK) error {
	if err := k.validate(); err != nil {
		return err
	}
	if _, known := s.Find(k.KID); known {
		return domain.Refuse(domain.CodeInternal, "keyring: key %s is in the ring already", k.KID)
	}
	return nil
}

// full refuses another key when leaving ones do not make room for it. Revoking
// needs no room: it must always be possible.
func (s State) full(leaving int) error {
	if len(s.Keys)-leaving < maxKeys {
		return nil
	}
	return domain.Refuse(domain.CodeQuota, "there are %d signing keys already: wait until retired ones expire, or revoke some", len(s.Keys)).
		Reason("too_many_keys").With("limit", maxKeys)
}

func waiting(k JWK, now time.Time) Key { return Key{JWK: k, Stage: Next, CreatedAt: now} }

func signing(k Key, now time.Time) Key {
	k.Stage, k.SignsFrom = Signing, now
	return k
}
