package accounts

import (
	"context"
	"encoding/hex"

	"svc/commands/sessions"
	"svc/domain/user"
)

// Anonymous opens a session for a visitor, who gets an id and no account until
// there is something to own.
func (a *Accounts) Anonymous(ctx context.Context, from Client) (LoginResult, error) {
	if err := from.check(); err != nil {
		return LoginResult{}, err
	}
	// Not the id of a repeated request: two visitors must never be one.
	visitor := user.State{User: user.User{ID: hex.EncodeToString(randomBytes(12))}}
	opened, err := a.admit(ctx, visitor, sessions.Opening{Provider: user.Anonymous, Anonymous: true}, from)
	if err != nil {
		return LoginResult{}, err
	}
	return a.Issue(ctx, opened, Scopes)
}

// Materialise makes the account of a visitor who comes to own something. It does
// nothing for anybody else, nor the second time.
func (a *Accounts) Materialise(ctx context.Context, s sessions.Session) error {
	if !s.Anonymous {
		return nil
	}
	_, err := a.change(ctx, s.UserID, user.Create{ID: s.UserID, Status: user.Validated, Provider: user.Anonymous})
	return err
}
