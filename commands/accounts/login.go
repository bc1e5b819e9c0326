package accounts

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"time"

	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

// Client is the client of a login, and the requested lifetime of the session.
type Client struct {
	IP, UserAgent, ClientID string

	ExpiresAfter time.Duration // 0: as long as sessions last
}

// Login has the credentials of a local account.
type Login struct {
	Email, Password string
	TOTP            string // a code of the second factor, if given
	Client
	// Known says that somebody signed in to this address from the same device or IP before.
	Known bool
	// LimitCode, when set, is called before a code is checked after the right password, and
	// refuses too many tries.
	LimitCode func() error
}

// SignIn opens a session of a local account. Wrong credentials, unknown and deactivated
// accounts get the same answer after the same time. Only with the right password the answer
// says that the account is pending.
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
		return sessions.Session{}, a.recordFailure(ctx, user.Local, in.Email, in.IP, wrongCredentials())
	}
	if s.Status == user.Pending {
		return sessions.Session{}, a.recordFailure(ctx, user.Local, in.Email, in.IP, set.pendingError())
	}
	hasCode, err := a.checkCode(ctx, s, in)
	if err != nil {
		return sessions.Session{}, err
	}
	return a.openSession(ctx, s, sessions.Opening{
		Provider: user.Local, MFA: hasCode, MFAPending: !hasCode && set.ForceMFA,
	}, in.Client)
}

// checkCode checks the code of a login, if the account has a second factor.
func (a *Accounts) checkCode(ctx context.Context, s user.State, in Login) (codeSent bool, err error) {
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
	return true, a.useCode(ctx, s, in.TOTP, in.IP)
}

// openSession opens a session of s and records it. When the account was changed meanwhile, the
// session is ended again: ending all sessions of an account must not miss one.
func (a *Accounts) openSession(ctx context.Context, s user.State, o sessions.Opening, from Client) (sessions.Session, error) {
	o.UserID, o.IP, o.UserAgent, o.ClientID, o.Lifetime = s.ID, from.IP, from.UserAgent, from.ClientID, from.ExpiresAfter
	opened, err := a.o.Sessions.Open(ctx, o)
	if err != nil {
		return sessions.Session{}, err
	}
	if o.Anonymous {
		return opened, a.recordOpened(ctx, opened, "")
	}
	now, err := a.load(ctx, s.ID)
	if err == nil && now.Status == user.Validated && now.Credentials.Password == s.Credentials.Password && now.MFA == s.MFA {
		return opened, a.recordOpened(ctx, opened, s.Email)
	}
	if _, endErr := a.o.Sessions.End(ctx, s.ID, opened.ID, session.CauseRevoked); err == nil {
		err = endErr
	}
	if err == nil {
		err = wrongCredentials()
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

// recordFailure records a failed login, and returns why. An error of the recording is only
// logged.
func (a *Accounts) recordFailure(ctx context.Context, provider, email, ip string, why error) error {
	event := user.LoginFailed{Email: emailOrEmpty(email), IP: ip, Provider: provider}
	if err := a.o.Engine.Record(ctx, domain.Platform, event); err != nil {
		a.o.Log.WarnContext(ctx, "failed login not recorded", "err", err)
	}
	return why
}

// emailOrEmpty returns the normal form of a mail address; "" for other texts, which might be a
// password in the wrong field.
func emailOrEmpty(email string) string {
	if email = user.NormalEmail(email); user.IsEmail(email) {
		return email
	}
	return ""
}

// wrongCredentials is the error for all wrong credentials.
func wrongCredentials() *domain.Error {
	return domain.Refuse(domain.CodeInvalidCredentials, "the mail address, the password or the code is wrong")
}

// mfaRequired is the error for a missing code.
func mfaRequired() *domain.Error {
	return domain.Refuse(domain.CodeInvalidCredentials, "a code of the second factor is needed").Reason("mfa_required")
}

// pendingError is the error for a pending account with the right password.
func (s Settings) pendingError() *domain.Error {
	if s.Validation == ValidationEmail {
		return domain.Refuse(domain.CodeInvalidCredentials, "the mail address must be confirmed first: follow the link in the mail").Reason("email_not_validated")
	}
	return domain.Refuse(domain.CodeInvalidCredentials, "the account must be validated by an administrator first").Reason("manual_validation")
}

// LoginResult is a session with a token for it.
type LoginResult struct {
	UserID    string
	SessionID string
	Token     string // JWT
	Expires   time.Time
	Session   sessions.Session
}

// OwnClient is the client of tokens of a login without an application.
const OwnClient = "svc"

// Login signs in and returns a token for the session, with all scopes.
func (a *Accounts) Login(ctx context.Context, in Login) (LoginResult, error) {
	opened, err := a.SignIn(ctx, in)
	if err != nil {
		return LoginResult{}, err
	}
	return a.Issue(ctx, opened, Scopes)
}

// Issue returns a token for a session. It expires with the session, or after TokenMaxAge.
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

// recordOpened records that a session was opened.
func (a *Accounts) recordOpened(ctx context.Context, s sessions.Session, email string) error {
	return a.o.Engine.Record(ctx, domain.Platform, user.LoginSucceeded{
		ID: s.UserID, Email: email, IP: s.IP, Provider: s.Provider,
		Session: user.OpenedSession{ID: s.ID, Expires: domain.FormatTime(s.Expires)},
	})
}

// Identity is a verified identity of another provider.
type Identity struct {
	Provider, Subject                           string
	Email, FirstName, LastName, Photo, Language string
	EmailVerified                               bool
}

// LoginWith signs in with the identity of a provider, and returns a token with all scopes.
func (a *Accounts) LoginWith(ctx context.Context, who Identity, from Client) (LoginResult, error) {
	opened, err := a.SignInWith(ctx, who, from)
	if err != nil {
		return LoginResult{}, err
	}
	return a.Issue(ctx, opened, Scopes)
}

// SignInWith opens a session of the user with this identity; else of the one with the address
// that the provider verified; else of a new one.
func (a *Accounts) SignInWith(ctx context.Context, who Identity, from Client) (sessions.Session, error) {
	if who.Provider == "" || who.Provider == user.Local || who.Provider == user.Anonymous || who.Subject == "" {
		return sessions.Session{}, domain.Refuse(domain.CodeInternal, "unknown identity provider %q", who.Provider)
	}
	if err := from.check(); err != nil {
		return sessions.Session{}, err
	}
	if who.Email = user.NormalEmail(who.Email); !user.IsEmail(who.Email) {
		who.Email = ""
	}
	s, err := a.findOrCreate(ctx, who)
	if err == nil && s.Status != user.Validated {
		err = wrongCredentials()
	}
	if code := domain.CodeOf(err); code == domain.CodeInvalidCredentials || code == domain.CodePermissionDenied {
		return sessions.Session{}, a.recordFailure(ctx, who.Provider, who.Email, from.IP, err)
	}
	if err != nil {
		return sessions.Session{}, err
	}
	return a.openSession(ctx, s, sessions.Opening{Provider: who.Provider, MFAPending: s.MFA == user.MFATOTP}, from)
}

// maxRaces is how often a lost race for a name is repeated.
const maxRaces = 5

// findOrCreate returns the user of an identity, or creates one.
func (a *Accounts) findOrCreate(ctx context.Context, who Identity) (s user.State, err error) {
	for range maxRaces {
		s, err = a.byName(ctx, identityName(who.Provider, who.Subject))
		if err != nil || s.Exists() {
			return s, err
		}
		if s, err = a.linkOrCreate(ctx, who); domain.CodeOf(err) != domain.CodeAlreadyExists {
			return s, err
		}
	}
	return s, err
}

// linkOrCreate links an identity to the account with its address, or creates an account. When
// the address was not proven before, all sessions are ended: the account may be of somebody
// else.
func (a *Accounts) linkOrCreate(ctx context.Context, who Identity) (user.State, error) {
	identity := user.Identity{ID: who.Subject}
	if who.EmailVerified { // roles depend on it: an unverified address is not stored
		identity.Email = who.Email
	}
	if who.EmailVerified && who.Email != "" {
		s, err := a.byEmail(ctx, who.Email)
		if err != nil {
			return s, err
		}
		if s.Exists() {
			link := user.Link{Provider: who.Provider, Identity: identity, Email: who.Email}
			if s.Credentials.EmailProven {
				return a.change(ctx, s.ID, link)
			}
			return a.changeAndEndSessions(ctx, s.ID, "", session.CauseRevoked, link)
		}
	}
	cmd := user.Create{
		ID: newID(ctx, "user"), FirstName: who.FirstName, LastName: who.LastName, Photo: who.Photo, Language: who.Language,
		Status: user.Validated, Provider: who.Provider, Identity: identity,
	}
	if who.EmailVerified {
		cmd.Email, cmd.EmailProven = who.Email, who.Email != ""
	}
	return a.change(ctx, cmd.ID, withoutInvalid(cmd))
}

// withoutInvalid returns cmd without invalid details: a login is not refused because of them.
func withoutInvalid(cmd user.Create) user.Create {
	_, err := user.Decider.Decide(user.State{}, cmd)
	refusal, ok := errors.AsType[*domain.Error](err)
	if !ok || refusal.Code != domain.CodeValidation {
		return cmd
	}
	details := map[string]*string{"firstName": &cmd.FirstName, "lastName": &cmd.LastName, "photo": &cmd.Photo, "language": &cmd.Language}
	for _, fault := range refusal.Details["errors"].([]domain.FieldError) {
		if detail := details[fault.Field]; detail != nil {
			*detail = ""
		}
	}
	return cmd
}

// Anonymous opens a session for a visitor, who has an id and no account until Materialise.
func (a *Accounts) Anonymous(ctx context.Context, from Client) (LoginResult, error) {
	if err := from.check(); err != nil {
		return LoginResult{}, err
	}
	// Not the id of a repeated request: two visitors must never be one.
	visitor := user.State{User: user.User{ID: hex.EncodeToString(randomBytes(12))}}
	opened, err := a.openSession(ctx, visitor, sessions.Opening{Provider: user.Anonymous, Anonymous: true}, from)
	if err != nil {
		return LoginResult{}, err
	}
	return a.Issue(ctx, opened, Scopes)
}

// Materialise creates the account of a visitor before they own something. It does nothing for
// others, or when there is one.
func (a *Accounts) Materialise(ctx context.Context, s sessions.Session) error {
	if !s.Anonymous {
		return nil
	}
	_, err := a.change(ctx, s.UserID, user.Create{ID: s.UserID, Status: user.Validated, Provider: user.Anonymous})
	return err
}
