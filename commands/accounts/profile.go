package accounts

import (
	"context"
	"encoding/json"

	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

// Patch changes what its non-nil fields name. The first five are everybody's
// own; the others take a super admin.
type Patch struct {
	FirstName, LastName, Photo, Language *string
	Meta                                 *map[string]json.RawMessage

	Email    *string
	Status   *user.Status
	Groups   *[]string
	Password *string // in clear
	MFA      *string // none
}

// privileged returns the first field that takes a super admin.
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

// Actor is whoever changes an account.
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
	return a.shown(s), err
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

// setPassword runs a command with a new password and ends the sessions of the
// account, but that of a super admin who changes their own.
func (a *Accounts) setPassword(ctx context.Context, by Actor, userID string, cmd user.Change) (user.State, error) {
	s, err := a.existing(ctx, userID)
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
	return a.putOut(ctx, userID, except, session.CausePassword, cmd)
}

// PatchSelf changes the account of a session; a visitor gets one with that.
func (a *Accounts) PatchSelf(ctx context.Context, by sessions.Session, p Patch) (Account, error) {
	if err := a.Materialise(ctx, by); err != nil {
		return Account{}, err
	}
	return a.Patch(ctx, Actor{UserID: by.UserID, SessionID: by.ID}, by.UserID, p)
}

// MergeMeta sets keys of the meta data of a session's user, null removes one,
// and returns what there is then.
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

// DeleteSelf ends the account of a session. Who has a password must show it.
func (a *Accounts) DeleteSelf(ctx context.Context, by sessions.Session, currentPassword string) error {
	s, err := a.look(ctx, by.UserID)
	if err != nil {
		return err
	}
	if s.Credentials.Password != "" {
		if s, err = a.confirmed(ctx, by.UserID, currentPassword); err != nil {
			return err
		}
	}
	if err := owesCode(s, by); err != nil {
		return err
	}
	return a.delete(ctx, by.UserID)
}

// delete ends an account and everything that is open in its name. Its access
// tokens go with it: they open nothing without a user.
func (a *Accounts) delete(ctx context.Context, userID string) error {
	if _, err := a.change(ctx, userID, user.Delete{}); err != nil {
		return err
	}
	return a.o.Sessions.EndAll(ctx, userID, "", session.CauseDeleted)
}
