package accounts

import (
	"cmp"
	"context"
	"time"

	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/user"
)

// LoginResult is a session with a token for it.
type LoginResult struct {
	UserID    string
	SessionID string
	Token     string // JWT
	Expires   time.Time
	Session   sessions.Session
}

// OwnClient is the client of tokens that a person got for themselves, by a login
// and not by an application.
const OwnClient = "svc"

// Login signs in and returns a token for the session, with all scopes.
func (a *Accounts) Login(ctx context.Context, in Login) (LoginResult, error) {
	opened, err := a.SignIn(ctx, in)
	if err != nil {
		return LoginResult{}, err
	}
	return a.Issue(ctx, opened, Scopes)
}

// Issue returns a token for a session, good for as long as tokens and the
// session last.
func (a *Accounts) Issue(ctx context.Context, s sessions.Session, scope string) (LoginResult, error) {
	now := a.o.Now().UTC()
	expires := s.Expires
	if longest := a.o.Settings().TokenMaxAge; longest > 0 && now.Add(longest).Before(expires) {
		expires = now.Add(longest)
	}
	token, err := a.o.Signer.Sign(ctx, signing.Claims{
		SessionID: s.ID, Subject: s.UserID, IssuedAt: now, ExpiresAt: expires, Scope: scope, ClientID: cmp.Or(s.ClientID, OwnClient),
	})
	if err != nil {
		return LoginResult{}, err
	}
	return LoginResult{UserID: s.UserID, SessionID: s.ID, Token: token, Expires: expires.Truncate(time.Second), Session: s}, nil
}

// opened records that a session was opened.
func (a *Accounts) opened(ctx context.Context, s sessions.Session, email string) error {
	return a.o.Engine.Record(ctx, domain.Platform, user.LoginSucceeded{
		ID: s.UserID, Email: email, IP: s.IP, Provider: s.Provider,
		Session: user.OpenedSession{ID: s.ID, Expires: domain.FormatTime(s.Expires)},
	})
}
