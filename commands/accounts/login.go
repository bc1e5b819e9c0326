package accounts

import (
	"context"
	"time"

	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

// Client is where a login comes from, and how long it asks to last.
type Client struct {
	IP, UserAgent, ClientID string

	ExpiresAfter time.Duration // 0: as long as sessions last
}

// Login is what somebody shows to sign in to a local account.
type Login struct {
	Email, Password string
	TOTP            string // a code of the second factor, if at hand
	Client
	// Known says that somebody signed in to this address from the same device or IP before.
	Known bool
	// LimitCode, when set, is asked before a code is tried by who has the right password,
	// and refuses when there were too many.
	LimitCode func() error
}

// SignIn opens a session of a local account. Whatever is wrong, unknown or
// deactivated gets one and the same answer, after the same time; only who has
// the right password is told that the account waits for something.
func (a *Accounts) SignIn(ctx context.Context, in Login) (sessions.Session, error) {
	set := a.o.Settings()
	if set.DisableSignin {
		return sessions.Session{}, domain.Refuse(domain.CodePermissionDenied, "signing in with a password is switched off")
	}
	if err := in.check(); err != nil {
		return sessions.Session{}, err
	}
	s, err := a.byEmail(ctx, in.Email)
	if err != nil {
		return sessions.Session{}, err
	}
	right, err := a.hasher.matches(ctx, in.share(), in.Password, s.Credentials.Password)
	if err != nil {
		return sessions.Session{}, err
	}
	if !right || s.Status == user.Deactivated {
		return sessions.Session{}, a.failed(ctx, user.Local, in.Email, in.IP, wrong())
	}
	if s.Status == user.Pending {
		return sessions.Session{}, a.failed(ctx, user.Local, in.Email, in.IP, set.waiting())
	}
	shown, err := a.shownCode(ctx, s, in)
	if err != nil {
		return sessions.Session{}, err
	}
	return a.admit(ctx, s, sessions.Opening{
		Provider: user.Local, MFA: shown, MFAPending: !shown && set.ForceMFA,
	}, in.Client)
}

// shownCode spends the code of a login, and refuses one that lacks it.
func (a *Accounts) shownCode(ctx context.Context, s user.State, in Login) (shown bool, err error) {
	if s.MFA != user.MFATOTP {
		return false, nil
	}
	if in.TOTP == "" {
		return false, mfaRequired()
	}
	if in.LimitCode != nil {
		if err := in.LimitCode(); err != nil {
			return false, err
		}
	}
	return true, a.spend(ctx, s, in.TOTP, in.IP)
}

// admit opens a session of s and tells so. Who lost the right to it while it
// was being opened is put out again: ending the sessions of an account must not
// miss one.
func (a *Accounts) admit(ctx context.Context, s user.State, o sessions.Opening, from Client) (sessions.Session, error) {
	o.UserID, o.IP, o.UserAgent, o.ClientID, o.Lifetime = s.ID, from.IP, from.UserAgent, from.ClientID, from.ExpiresAfter
	opened, err := a.o.Sessions.Open(ctx, o)
	if err != nil {
		return sessions.Session{}, err
	}
	if o.Anonymous {
		return opened, a.opened(ctx, opened, "")
	}
	now, err := a.look(ctx, s.ID)
	if err == nil && now.Status == user.Validated && now.Credentials.Password == s.Credentials.Password && now.MFA == s.MFA {
		return opened, a.opened(ctx, opened, s.Email)
	}
	if _, endErr := a.o.Sessions.End(ctx, s.ID, opened.ID, session.CauseRevoked); err == nil {
		err = endErr
	}
	if err == nil {
		err = wrong()
	}
	return sessions.Session{}, err
}

// check refuses a lifetime that makes no sense.
func (c Client) check() error {
	if c.ExpiresAfter < 0 {
		return domain.Invalid(domain.FieldError{Field: "expiresAfter", Message: "must be a number of seconds above 0"})
	}
	return nil
}

// failed records that somebody was not let in, and returns why. That it could
// not be recorded is only logged: the caller has its answer already.
func (a *Accounts) failed(ctx context.Context, provider, email, ip string, why error) error {
	told := user.LoginFailed{Email: plausible(email), IP: ip, Provider: provider}
	if err := a.o.Engine.Record(ctx, domain.Platform, told); err != nil {
		a.o.Log.WarnContext(ctx, "failed login not recorded", "err", err)
	}
	return why
}

// plausible returns an address that somebody typed, if it is one. What is not
// might be a password in the wrong field.
func plausible(email string) string {
	if email = user.NormalEmail(email); user.IsEmail(email) {
		return email
	}
	return ""
}

// wrong is the one answer to credentials that do not open anything.
func wrong() *domain.Error {
	return domain.Refuse(domain.CodeInvalidCredentials, "the mail address, the password or the code is wrong")
}

// mfaRequired is the answer to whoever still owes a code.
func mfaRequired() *domain.Error {
	return domain.Refuse(domain.CodeInvalidCredentials, "a code of the second factor is needed").Reason("mfa_required")
}

// waiting is the answer to whoever has the password of a pending account.
func (s Settings) waiting() *domain.Error {
	if s.Validation == ValidationEmail {
		return domain.Refuse(domain.CodeInvalidCredentials, "the mail address must be confirmed first: follow the link in the mail").Reason("email_not_validated")
	}
	return domain.Refuse(domain.CodeInvalidCredentials, "the account must be validated by an administrator first").Reason("manual_validation")
}
