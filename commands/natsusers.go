package commands

import (
	"context"
	"time"

	"svc/domain/natsuser"
)

// Voucher signs for the keys of those who watch events over NATS.
type Voucher interface {
	// Vouch returns what the holder of a key shows besides it, and the public key that
	// signed it. It refuses what is no key of a user.
	Vouch(publicKey, name string, expires time.Time) (jwt, issuer string, err error)
}

// NATSUsers lets programs of others watch events over NATS.
type NATSUsers struct {
	Engine  *Engine
	Voucher Voucher
	Now     func() time.Time
}

// NATSUser is a user after a command.
type NATSUser = Execution[natsuser.State]

// Create lets the holder of a key in, and returns what they show besides it. It is no
// secret: without the key it is good for nothing.
func (u NATSUsers) Create(ctx context.Context, publicKey string, terms natsuser.Terms) (made NATSUser, jwt string, err error) {
	jwt, issuer, err := u.Voucher.Vouch(publicKey, terms.Name, terms.ExpiresAt)
	if err != nil {
		return made, "", err
	}
	made, err = u.execute(ctx, natsuser.IDOf(publicKey), natsuser.Create{PublicKey: publicKey, Issuer: issuer, Terms: terms, Now: u.Now()})
	return made, jwt, err
}

// Delete shuts a user out.
func (u NATSUsers) Delete(ctx context.Context, id string) (NATSUser, error) {
	return u.execute(ctx, id, natsuser.Delete{})
}

func (u NATSUsers) execute(ctx context.Context, id string, cmd natsuser.Command) (NATSUser, error) {
	return Execute(ctx, u.Engine, natsuser.Decider, natsuser.Stream(id), cmd)
}
