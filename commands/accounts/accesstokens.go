package accounts

import (
	"context"
	"errors"
	"strings"
	"time"

	"svc/commands"
	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/accesstoken"
)

// AccessToken is a new token. Token is returned once; it is empty when a repeated request cannot
// return it again.
type AccessToken struct {
	ID, UserID, Name, Token string
	ExpiresAt, CreatedAt    time.Time
}

// The form of a token: prefix, digits of its id, secret. So a token can be found by its value.
const (
	tokenIDPrefix = "tok_"
	tokenDigits   = 24
)

// CreateAccessToken creates a token of the user of a session, valid until expiresAt. A visitor
// gets an account.
func (a *Accounts) CreateAccessToken(ctx context.Context, by sessions.Session, name, expiresAt string) (AccessToken, error) {
	expires, err := accesstoken.ParseExpiry(expiresAt)
	if err != nil {
		return AccessToken{}, err
	}
	if err := a.Materialise(ctx, by); err != nil {
		return AccessToken{}, err
	}
	digits := newID(ctx, "accessToken")
	value := accesstoken.Prefix + digits + newSecret(ctx, a.o.Box.Derive("access token"), digits)
	cmd := accesstoken.Create{
		ID: tokenIDPrefix + digits, UserID: by.UserID, Name: name, Hash: domain.HashSecret(value), ExpiresAt: expires, Now: a.o.Now(),
	}
	done, err := commands.Execute(ctx, a.o.Engine, accesstoken.Decider, accesstoken.Stream(cmd.ID), accesstoken.Command(cmd))
	if err != nil {
		return AccessToken{}, err
	}
	made := AccessToken{ID: done.State.ID, UserID: done.State.UserID, Name: done.State.Name, ExpiresAt: done.State.ExpiresAt, CreatedAt: cmd.Now.UTC()}
	if done.State.Hash == cmd.Hash {
		made.Token = value
	}
	return made, nil
}

// DeleteAccessToken deletes a token of a user by its id or its value, and returns its id.
func (a *Accounts) DeleteAccessToken(ctx context.Context, userID, idOrToken string) (id string, err error) {
	id, cmd := idOrToken, accesstoken.Delete{UserID: userID}
	if rest, isValue := strings.CutPrefix(idOrToken, accesstoken.Prefix); isValue {
		id, cmd.Hash = tokenIDPrefix+rest[:min(len(rest), tokenDigits)], domain.HashSecret(idOrToken)
	}
	_, err = commands.Execute(ctx, a.o.Engine, accesstoken.Decider, accesstoken.Stream(id), accesstoken.Command(cmd))
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Code == domain.CodeNotFound {
		return "", refusal.With("id", id)
	}
	return id, err
}
