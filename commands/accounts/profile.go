package accounts

import (
	"context"
	"encoding/json"

	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

// Patch changes the fields that are not nil. Users may change the first five of their own
// account; the others need a super admin.
type Patch struct {
	FirstName, LastName, Photo, Language *string
	Meta                                 *map[string]json.RawMessage

	Email    *string
	Status   *user.Status
	Groups   *[]string
	Password *string // in clear
	MFA      *string // none
}

// privileged returns the first field that needs a super admin.
func (p Patch) privileged() string {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"email", p.Email != nil}, {"status", p.Status != nil}, {"groups", p.Groups != nil},
		{"password", p.Password != nil}, {"mfa", p.MFA != nil},
	} {
		if f.set {
			return f.name
		}
	}
	return ""
}

// Actor is the user who changes an account.
type Actor struct {
	UserID    string
	SessionID string // "" when it is none
	Super     bool
}

// Patch changes an account: one's own, or as a super admin any.
func (a *Accounts) Patch(ctx context.Context, by Actor, userID string, p Patch) (Account, error) {
	if field := p.privileged(); !by.Super && field != "" {
		return Account{}, domain.Refuse(domain.CodePermissionDenied, "only a super admin may change %s", field).With("field", field)
	}
	if !by.Super && by.UserID != userID {
		return Account{}, domain.Refuse(domain.CodePermissionDenied, "only a super admin may change another account")
	}
	cmd, err := a.patch(ctx, p)
	if err != nil {
		return Account{}, err
	}
	var s user.State
	switch {
	case p.Password != nil:
		s, err = a.setPassword(ctx, by, userID, cmd)
	default:
		s, err = a.change(ctx, userID, cmd)
	}
	if err != nil {
		return Account{}, err
	}
	if p.Status != nil && s.Status != user.Validated {
		err = a.o.Sessions.EndAll(ctx, userID, "", session.CauseDeactivated)
	}
	return a.accountOf(s), err
}

// patch turns p into a command.
func (a *Accounts) patch(ctx context.Context, p Patch) (user.Change, error) {
	cmd := user.Change{
		FirstName: p.FirstName, LastName: p.LastName, Photo: p.Photo, Language: p.Language, Meta: p.Meta,
		Email: p.Email, Status: p.Status, Groups: p.Groups,
	}
	if p.MFA != nil {
		if *p.MFA != user.MFANone {
			return cmd, domain.Invalid(domain.FieldError{Field: "mfa", Message: "can only be set to none"})
		}
		cmd.DropTOTP = true
	}
	if p.Password == nil {
		return cmd, nil
	}
	if err := a.o.Settings().checkPassword(*p.Password); err != nil {
		return cmd, err
	}
	hash, err := a.hasher.hash(ctx, operator, *p.Password)
	cmd.Password = &hash
	return cmd, err
}

// setPassword runs a command with a new password and ends the sessions of the account, except
// the session of a super admin who changes their own.
func (a *Accounts) setPassword(ctx context.Context, by Actor, userID string, cmd user.Change) (user.State, error) {
	s, err := a.loadExisting(ctx, userID)
	if err != nil {
		return s, err
	}
	if _, err := user.Decider.Decide(s, cmd); err != nil {
		return s, err
	}
	except := ""
	if by.UserID == userID {
		except = by.SessionID
	}
	return a.changeAndEndSessions(ctx, userID, except, session.CausePassword, cmd)
}

// PatchSelf changes the account of a session; a visitor gets an account.
func (a *Accounts) PatchSelf(ctx context.Context, by sessions.Session, p Patch) (Account, error) {
	if err := a.Materialise(ctx, by); err != nil {
		return Account{}, err
	}
	return a.Patch(ctx, Actor{UserID: by.UserID, SessionID: by.ID}, by.UserID, p)
}

// MergeMeta sets keys of the meta data of a session's user, null removes one, and returns the
// result.
func (a *Accounts) MergeMeta(ctx context.Context, by sessions.Session, values map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if err := a.Materialise(ctx, by); err != nil {
		return nil, err
	}
	s, err := a.change(ctx, by.UserID, user.MergeMeta{Values: values})
	return s.Meta, err
}

// DeleteMeta removes a key of the meta data of a session's user, and returns
// what is left.
func (a *Accounts) DeleteMeta(ctx context.Context, by sessions.Session, key string) (map[string]json.RawMessage, error) {
	return a.MergeMeta(ctx, by, map[string]json.RawMessage{key: json.RawMessage("null")})
}

// DeleteSelf deletes the account of a session. A user with a password must send it.
func (a *Accounts) DeleteSelf(ctx context.Context, by sessions.Session, currentPassword string) error {
	s, err := a.load(ctx, by.UserID)
	if err != nil {
		return err
	}
	if s.Credentials.Password != "" {
		if s, err = a.checkCurrentPassword(ctx, by.UserID, currentPassword); err != nil {
			return err
		}
	}
	if err := checkMFA(s, by); err != nil {
		return err
	}
	return a.delete(ctx, by.UserID)
}

// delete deletes an account and ends its sessions. Its access tokens are void without it.
func (a *Accounts) delete(ctx context.Context, userID string) error {
	if _, err := a.change(ctx, userID, user.Delete{}); err != nil {
		return err
	}
	return a.o.Sessions.EndAll(ctx, userID, "", session.CauseDeleted)
}

// Invitation is an account that a super admin creates for somebody. Without a password a mail
// invites them to choose one.
type Invitation struct {
	Email, FirstName, LastName, Language, Password string
	Groups                                         []string
}

// Invite creates a valid account. Its address is not proven, so it is no super admin before its
// owner has followed a link.
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
		a.enqueue(ctx, a.mailInvitation(s.ID))
	}
	return a.accountOf(s), nil
}

// DeleteUser deletes an account, for a super admin.
func (a *Accounts) DeleteUser(ctx context.Context, userID string) error {
	if _, err := a.loadExisting(ctx, userID); err != nil {
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

// EndSessions ends all sessions of a user, for a super admin.
func (a *Accounts) EndSessions(ctx context.Context, userID string) error {
	return a.o.Sessions.EndAll(ctx, userID, "", session.CauseRevoked)
}

// Logout ends a session. Ending it twice does nothing.
func (a *Accounts) Logout(ctx context.Context, by sessions.Session) error {
	_, err := a.o.Sessions.End(ctx, by.UserID, by.ID, session.CauseLogout)
	return err
}
