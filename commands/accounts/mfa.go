package accounts

import (
	"context"

	"svc/commands"
	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/user"
)

// ShowCode shows the second factor of a session that was opened without it.
func (a *Accounts) ShowCode(ctx context.Context, by sessions.Session, code, ip string) error {
	s, err := a.look(ctx, by.UserID)
	if err != nil {
		return err
	}
	if s.MFA != user.MFATOTP {
		return domain.Refuse(domain.CodeNotFound, "this account has no second factor").With("resource", "mfa").With("id", by.UserID)
	}
	if err := a.spend(ctx, s, code, ip); err != nil {
		return err
	}
	return a.o.Sessions.Confirm(ctx, by.UserID, by.ID)
}

// spend accepts a code of the second factor of s, once on all nodes.
func (a *Accounts) spend(ctx context.Context, s user.State, code, ip string) error {
	step, err := a.codeOf(ctx, s, s.Credentials.TOTP, code, ip)
	if err != nil {
		return err
	}
	// With new ids each time: a repeated request has no second go at a code.
	spending := unrepeated(ctx)
	_, err = a.change(spending, s.ID, user.UseCode{Step: step, IP: ip})
	commands.RequestFrom(ctx).Saw(commands.RequestFrom(spending).Position())
	if domain.CodeOf(err) == domain.CodeInvalidCredentials {
		return a.wrongCode(ctx, s, ip)
	}
	return err
}

// codeOf returns the step of a code of a sealed secret.
func (a *Accounts) codeOf(ctx context.Context, s user.State, sealed []byte, code, ip string) (step int64, err error) {
	secret, err := a.o.Box.Open(sealed, totpPurpose(s.ID))
	if err != nil {
		return 0, err
	}
	step, ok, err := codeStep(secret, code, a.o.Now())
	if err == nil && !ok {
		err = a.wrongCode(ctx, s, ip)
	}
	return step, err
}

// wrongCode records a wrong code and returns the answer to it.
func (a *Accounts) wrongCode(ctx context.Context, s user.State, ip string) error {
	if err := a.o.Engine.Record(ctx, domain.Platform, user.MFAFailed{Email: s.Email, IP: ip}); err != nil {
		a.o.Log.WarnContext(ctx, "wrong code not recorded", "err", err)
	}
	return wrong()
}

// OfferMFA begins to set up the second factor: it counts with the first code
// (ConfirmMFA). A password is asked for where there is one.
func (a *Accounts) OfferMFA(ctx context.Context, by sessions.Session, currentPassword string) (MFASetup, error) {
	s, err := a.mayChangeMFA(ctx, by, currentPassword)
	if err != nil {
		return MFASetup{}, err
	}
	sealed, err := a.o.Box.Seal(randomBytes(totpSecretSize), totpPurpose(s.ID))
	if err != nil {
		return MFASetup{}, err
	}
	if s, err = a.change(ctx, s.ID, user.OfferTOTP{Sealed: sealed}); err != nil {
		return MFASetup{}, err
	}
	// What was kept is shown: a repeated request is told of the first one's.
	secret, err := a.o.Box.Open(s.Credentials.OfferedTOTP, totpPurpose(s.ID))
	if err != nil {
		return MFASetup{}, err
	}
	return a.o.Settings().describe(secret, s.User)
}

// ConfirmMFA makes the offered second factor count. The session has shown it
// with that.
func (a *Accounts) ConfirmMFA(ctx context.Context, by sessions.Session, code, ip string) error {
	s, err := a.existing(ctx, by.UserID)
	if err != nil {
		return err
	}
	if err := owesCode(s, by); err != nil {
		return err
	}
	offered := s.Credentials.OfferedTOTP
	if len(offered) == 0 {
		return domain.Refuse(domain.CodeNotFound, "no second factor is being set up").With("resource", "mfa").With("id", s.ID)
	}
	step, err := a.codeOf(ctx, s, offered, code, ip)
	if err != nil {
		return err
	}
	if _, err := a.change(ctx, s.ID, user.ConfirmTOTP{Sealed: offered, Step: step}); err != nil {
		return err
	}
	return a.o.Sessions.Confirm(ctx, by.UserID, by.ID)
}

// DropMFA removes the second factor.
func (a *Accounts) DropMFA(ctx context.Context, by sessions.Session, currentPassword string) error {
	s, err := a.mayChangeMFA(ctx, by, currentPassword)
	if err != nil {
		return err
	}
	_, err = a.change(ctx, s.ID, user.DropTOTP{})
	return err
}

// mayChangeMFA returns the user of a session that may change its second factor:
// it has shown the one there is, and the password.
func (a *Accounts) mayChangeMFA(ctx context.Context, by sessions.Session, currentPassword string) (user.State, error) {
	if by.Anonymous {
		return user.State{}, domain.Refuse(domain.CodePermissionDenied, "anonymous users cannot set up a second factor")
	}
	s, err := a.existing(ctx, by.UserID)
	if err != nil {
		return s, err
	}
	if err := owesCode(s, by); err != nil {
		return s, err
	}
	if s.Credentials.Password == "" {
		return s, nil
	}
	return a.confirmed(ctx, s.ID, currentPassword)
}

// owesCode refuses a session that has not shown the second factor there is:
// else whoever has only the password could replace it.
func owesCode(s user.State, by sessions.Session) error {
	if s.MFA == user.MFATOTP && !by.MFA {
		return mfaRequired()
	}
	return nil
}

// ResealAll is Reseal for all users.
func (a *Accounts) ResealAll(ctx context.Context, userIDs func() ([]string, error)) error {
	ids, err := userIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := a.Reseal(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// Reseal seals the second factor of a user under the active master key; false
// when it is already. The old key can be dropped once this was done for all.
func (a *Accounts) Reseal(ctx context.Context, userID string) (changed bool, err error) {
	s, err := a.look(ctx, userID)
	for _, was := range [][]byte{s.Credentials.TOTP, s.Credentials.OfferedTOTP} {
		if err != nil || len(was) == 0 || a.o.Box.Current(was) {
			continue
		}
		var secret, sealed []byte
		if secret, err = a.o.Box.Open(was, totpPurpose(userID)); err == nil {
			sealed, err = a.o.Box.Seal(secret, totpPurpose(userID))
		}
		if err == nil {
			_, err = a.change(ctx, userID, user.ResealTOTP{Was: was, Sealed: sealed})
			changed = err == nil
		}
	}
	return changed, err
}
