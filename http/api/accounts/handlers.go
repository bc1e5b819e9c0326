// Package accounts has the handlers of sign-ins, sessions, access tokens and users.
package accounts

import (
	"context"
	"time"

	"svc/commands/accounts"
	"svc/commands/sessions"
	"svc/http/api/handler"
	"svc/http/oidc"
)

// Handlers answer requests about accounts.
type Handlers struct {
	ReadModel handler.ReadModel
	Accounts  *accounts.Accounts
	Sessions  Sessions
	Blobs     Blobs                        // pictures of users
	Local     func() (signin, signup bool) // whether people sign in, and up, with a password
	Providers []oidc.Provider              // of identities
	// Exchange returns who the token of a provider is about. It refuses a token that does
	// not hold with invalid_token, and permission_denied when the provider does not allow it.
	Exchange  func(ctx context.Context, provider, subjectToken, subjectTokenType string) (accounts.Identity, error)
	CSRFToken func(sessionID string) string                           // what a cookie of the session must come with
	LastUsed  func(ctx context.Context, id string) (time.Time, error) // of an access token
	Now       func() time.Time
}

// Sessions finds live sessions. It is a *sessions.Sessions.
type Sessions interface {
	Get(ctx context.Context, userID, id string) (sessions.Session, bool, error)
}

// Blobs stores contents by their name, the SHA-256 in hex. It is a *jetstream.Blobs.
type Blobs interface {
	Put(ctx context.Context, content []byte) (name string, err error)
	Get(ctx context.Context, name string) (content []byte, err error)
}
