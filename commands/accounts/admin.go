package accounts

import (
	"context"

	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

// Invitation is the account that a super admin makes for somebody. Without a
// password a mail invites them to choose one.
type Invitation struct {
	Email, FirstName, LastName, Language, Password string
	Groups                                         []string
}

// Invite makes a valid account. Its address is not proven by that: it makes no
// super admin until its owner has followed a link.
func (a *Accounts) Invite(ctx context.Context, in Invitation) (Account, error) {
	cmd := user.Create{
		ID: newID(ctx, "user"), Email: in.Email, FirstName: in.FirstName, LastName: in.LastName, Language: in.Language,
		Groups: in.Groups, Status: user.Validated, Provider: user.Local,
	}
	var err error
	switch {
	case in.Password != "":
		cmd.Password, err = a.newPassword(ctx, operator, in.Password, cmd)
	case a.o.Mailer == nil:
		err = domain.Invalid(domain.FieldError{Field: "password", Message: "is needed: this platform does not send mail"})
	}
	if err != nil {
		return Account{}, err
	}
	s, err := a.change(ctx, cmd.ID, cmd)
	if err != nil {
		return Account{}, err
	}
	if in.Password == "" {
		a.post(ctx, a.mailInvitation(s.ID))
	}
	return a.shown(s), nil
}

// DeleteUser ends an account, by a super admin.
func (a *Accounts) DeleteUser(ctx context.Context, userID string) error {
	if _, err := a.existing(ctx, userID); err != nil {
		return err
	}
	return a.delete(ctx, userID)
}

// SessionsOf returns the live sessions of a user, the last seen first.
func (a *Accounts) SessionsOf(ctx context.Context, userID string) ([]sessions.Session, error) {
	return a.o.Sessions.Of(ctx, userID)
}

// EndSession ends one session of a user.
func (a *Accounts) EndSession(ctx context.Context, userID, id string) error {
	ended, err := a.o.Sessions.End(ctx, userID, id, session.CauseRevoked)
	if err == nil && !ended {
		err = domain.Refuse(domain.CodeNotFound, "there is no such session").With("resource", "session").With("id", id)
	}
	return err
}

// EndSessions ends all sessions of a user, by a super admin.
func (a *Accounts) EndSessions(ctx context.Context, userID string) error {
	return a.o.Sessions.EndAll(ctx, userID, "", session.CauseRevoked)
}

// Logout ends a session. Ending it twice does nothing.
func (a *Accounts) Logout(ctx context.Context, by sessions.Session) error {
	_, err := a.o.Sessions.End(ctx, by.UserID, by.ID, session.CauseLogout)
	return err
}
