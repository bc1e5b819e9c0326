package monitor

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"svc/domain"
	"svc/domain/natsuser"
	"svc/projections"
)

// Admit returns the NATS user with a public key, if it may subscribe. What the log says of the user counts, whatever
// the client has sent.
func Admit(models *projections.Models, publicKey, issuer string) (u projections.NATSUser, err error) {
	u, found, err := models.NATSUser(natsuser.IDOf(publicKey))
	switch {
	case err != nil:
		return u, err
	case !found || u.PublicKey != publicKey || u.Issuer != issuer || u.All != (len(u.Workspaces) == 0):
		return u, fmt.Errorf("there is no NATS user with the key %s", publicKey)
	case !u.LiveAt(time.Now()):
		return u, errors.New("the time of NATS user " + u.ID + " is over")
	}
	return u, nil
}

// Signer signs the JWTs of NATS users with an account key that is derived from the master key, so that each node can
// sign. The account of each user is stored with the user, so a new master key excludes nobody. It implements
// commands.Voucher.
type Signer struct {
	Seed []byte // of the account key, 32 bytes
}

// Vouch implements commands.Voucher.
func (s Signer) Vouch(publicKey, name string, expires time.Time) (text, issuer string, err error) {
	if !nkeys.IsValidPublicUserKey(publicKey) {
		return "", "", domain.Invalid(domain.FieldError{Field: "publicKey", Message: "must be the public key of a NATS user"})
	}
	account, err := nkeys.FromRawSeed(nkeys.PrefixByteAccount, s.Seed)
	if err != nil {
		return "", "", err
	}
	if issuer, err = account.PublicKey(); err != nil {
		return "", "", err
	}
	claims := jwt.NewUserClaims(publicKey)
	claims.Name = name
	claims.Pub.Deny.Add(">")
	if !expires.IsZero() {
		claims.Expires = expires.Unix()
	}
	text, err = claims.Encode(account)
	return text, issuer, err
}
