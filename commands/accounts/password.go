package accounts

import (
	"context"

	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

// ChangePassword replaces the password of whoever knows it, and ends their other
// sessions.
func (a *Accounts) ChangePassword(ctx context.Context, by sessions.Session, current, next string) error {
	if err := a.o.Settings().checkPassword(next); err != nil {
		return err
	}
	s, err := a.confirmed(ctx, by.UserID, current)
	if err != nil {
		return err
	}
	hash, err := a.hasher.hash(ctx, by.UserID, next)
	if err != nil {
		return err
	}
	_, err = a.putOut(ctx, s.ID, by.ID, session.CausePassword, user.ChangePassword{Was: s.Credentials.Password, Password: hash})
	return err
}

// confirmed returns a user who knows their password.
func (a *Accounts) confirmed(ctx context.Context, userID, password string) (user.State, error) {
	s, err := a.look(ctx, userID)
	if err != nil {
		return s, err
	}
	right, err := a.hasher.matches(ctx, userID, password, s.Credentials.Password)
	if err == nil && !right {
		err = domain.Refuse(domain.CodeInvalidCredentials, "the current password is wrong")
	}
	return s, err
}

// putOut runs a command that ends what an account let in before, one session
// excepted. Sessions end before it, so that a failure leaves nothing open, and
// after it, for those that were opened in between.
func (a *Accounts) putOut(ctx context.Context, userID, except, cause string, cmd user.Command) (user.State, error) {
	if err := a.o.Sessions.EndAll(ctx, userID, except, cause); err != nil {
		return user.State{}, err
	}
	s, err := a.change(ctx, userID, cmd)
	if err != nil {
		return s, err
	}
	return s, a.o.Sessions.EndAll(ctx, userID, except, cause)
}

// RequestReset sends a mail to choose a new password, if there is a local
// account with this address. Nobody learns whether there is: the answer is the
// same, and comes before anything is looked up.
func (a *Accounts) RequestReset(ctx context.Context, email, ip string) error {
	if err := a.mayReset(); err != nil {
		return err
	}
	email, err := address(email)
	if err != nil {
		return err
	}
	a.post(ctx, a.mailReset(email, ip))
	return nil
}

// Reset sets the password of whoever got the token in a mail, and ends all
// sessions.
func (a *Accounts) Reset(ctx context.Context, token, password, ip string) error {
	set := a.o.Settings()
	if err := a.mayReset(); err != nil {
		return err
	}
	if err := set.checkPassword(password); err != nil {
		return err
	}
	link, err := a.open(ctx, purposeReset, token)
	if err != nil {
		return err
	}
	s, err := a.look(ctx, link.UserID)
	if err != nil {
		return err
	}
	cmd := user.ResetPassword{Email: link.Email, Was: link.Was, IP: ip, Validate: set.validates()}
	if _, err := user.Decider.Decide(s, cmd); err != nil {
		return unknownToken()
	}
	if cmd.Password, err = a.hasher.hash(ctx, shareOf(ip), password); err != nil {
		return err
	}
	if _, err := a.putOut(ctx, link.UserID, "", session.CausePassword, cmd); err != nil {
		return err
	}
	a.spent(ctx, purposeReset, token)
	return nil
}

func (a *Accounts) mayReset() error {
	if a.o.Settings().DisableSignin {
		return domain.Refuse(domain.CodePermissionDenied, "signing in with a password is switched off")
	}
	return nil
}

// address returns an address as it is kept, or refuses what is none.
func address(email string) (string, error) {
	if email = user.NormalEmail(email); !user.IsEmail(email) {
		return "", domain.Invalid(domain.FieldError{Field: "email", Message: "must be a mail address"})
	}
	return email, nil
}
