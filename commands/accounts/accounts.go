// Package accounts is everything somebody does to become a user, to stay one and
// to stop being one: signing up and in, passwords, the second factor, mails,
// access tokens, and what super admins do to others.
//
// Whether an address or an identity is somebody's is read from the log, never
// from a read model: a name is taken on every node at once. Secrets enter here
// and leave as hashes and sealed texts.
package accounts

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"svc/commands"
	"svc/commands/seal"
	"svc/commands/sessions"
	"svc/commands/signing"
)

// Signer signs tokens. It is a *signing.Keys.
type Signer interface {
	Sign(ctx context.Context, claims signing.Claims) (token string, err error)
}

// Links keeps the tokens of mails, hashed, for their time. It is a
// *jetstream.Records.
type Links interface {
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	Delete(ctx context.Context, key string) error
}

// Mailer sends a mail. It is a *mail.Sender.
type Mailer interface {
	Send(ctx context.Context, to, subject, text string) error
}

// Options configure Accounts; those without a default are required.
type Options struct {
	Engine   *commands.Engine
	Sessions *sessions.Sessions
	Signer   Signer
	Box      *seal.Box
	Links    Links
	Settings func() Settings // as they are now

	Mailer  Mailer           // default none: no mail is sent
	Hashing Hashing          // default what OWASP recommends
	Now     func() time.Time // default time.Now
	Log     *slog.Logger     // default slog.Default
}

// Accounts are those of the platform. All methods are safe for concurrent use.
type Accounts struct {
	o      Options
	hasher *hasher
	outbox *outbox
}

// New returns the accounts. Close ends what they do in the background.
func New(o Options) (*Accounts, error) {
	if o.Engine == nil || o.Sessions == nil || o.Signer == nil || o.Box == nil || o.Links == nil || o.Settings == nil {
		return nil, errors.New("accounts: Engine, Sessions, Signer, Box, Links and Settings are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	h, err := newHasher(o.Hashing)
	if err != nil {
		return nil, err
	}
	return &Accounts{o: o, hasher: h, outbox: openOutbox(o.Log)}, nil
}

// Close sends the mails that are waiting, until ctx ends, and takes no more.
func (a *Accounts) Close(ctx context.Context) error { return a.outbox.close(ctx) }
