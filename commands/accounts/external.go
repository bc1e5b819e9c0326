package accounts

import (
	"context"
	"errors"

	"svc/commands/sessions"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

// Identity is what a provider tells of somebody. The provider's word was checked
// already; EmailVerified is part of it.
type Identity struct {
	Provider, Subject                           string
	Email, FirstName, LastName, Photo, Language string
	EmailVerified                               bool
}

// LoginWith signs in whoever a provider vouches for, and returns a token with
// all scopes.
func (a *Accounts) LoginWith(ctx context.Context, who Identity, from Client) (LoginResult, error) {
	opened, err := a.SignInWith(ctx, who, from)
	if err != nil {
		return LoginResult{}, err
	}
	return a.Issue(ctx, opened, Scopes)
}

// SignInWith opens a session of the user whom the provider knows as this
// subject; else of the one with the address that the provider verified; else of
// a new one.
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
	s, err := a.find(ctx, who)
	if err == nil && s.Status != user.Validated {
		err = wrong()
	}
	if code := domain.CodeOf(err); code == domain.CodeInvalidCredentials || code == domain.CodePermissionDenied {
		return sessions.Session{}, a.failed(ctx, who.Provider, who.Email, from.IP, err)
	}
	if err != nil {
		return sessions.Session{}, err
	}
	return a.admit(ctx, s, sessions.Opening{Provider: who.Provider, MFAPending: s.MFA == user.MFATOTP}, from)
}

// races is how often somebody else may take a name while it is being taken.
const races = 5

// find returns the user that an identity belongs to, and makes it when there is
// none.
func (a *Accounts) find(ctx context.Context, who Identity) (s user.State, err error) {
	for range races {
		s, err = a.byName(ctx, identityName(who.Provider, who.Subject))
		if err != nil || s.Exists() {
			return s, err
		}
		if s, err = a.adopt(ctx, who); domain.CodeOf(err) != domain.CodeAlreadyExists {
			return s, err
		}
	}
	return s, err
}

// adopt links an identity to the account with its address, or makes one. What an
// account held before anybody had shown to own its address is ended: it may have
// been somebody else's.
func (a *Accounts) adopt(ctx context.Context, who Identity) (user.State, error) {
	identity := user.Identity{ID: who.Subject}
	if who.EmailVerified { // roles are given by it: what nobody vouches for is not kept
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
			return a.putOut(ctx, s.ID, "", session.CauseRevoked, link)
		}
	}
	cmd := user.Create{
		ID: newID(ctx, "user"), FirstName: who.FirstName, LastName: who.LastName, Photo: who.Photo, Language: who.Language,
		Status: user.Validated, Provider: who.Provider, Identity: identity,
	}
	if who.EmailVerified {
		cmd.Email, cmd.EmailProven = who.Email, who.Email != ""
	}
	return a.change(ctx, cmd.ID, fitting(cmd))
}

// fitting returns cmd without the details that an account may not have: they are
// not worth refusing somebody for.
func fitting(cmd user.Create) user.Create {
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
