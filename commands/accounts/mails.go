package accounts

import (
	"context"
	"errors"
	"strings"

	"svc/domain"
	"svc/domain/user"
)

// job is a piece of work that nobody waits for.
type job func(ctx context.Context) error

// post queues a job of the request in ctx.
func (a *Accounts) post(ctx context.Context, do job) { a.outbox.post(ctx, do) }

// mailReset records that a mail was asked for, and sends it to whom it is due.
func (a *Accounts) mailReset(email, ip string) job {
	return func(ctx context.Context) error {
		if err := a.o.Engine.Record(ctx, domain.Platform, user.PasswordResetRequested{Email: email, IP: ip}); err != nil {
			return err
		}
		s, err := a.byEmail(ctx, email)
		if err != nil || !isLocal(s) || s.Status == user.Deactivated {
			return err
		}
		return a.mailLink(ctx, purposeReset, s, "Choose a new password",
			"Somebody, hopefully you, asked for a new password for "+s.Email+".\n\n"+
				"Open this address within one hour to choose it:\n\n", "If it was not you, ignore this mail: nothing has changed.\n")
	}
}

// mailConfirmation asks whoever reads the mail of a local account to confirm
// that it is theirs, unless somebody did.
func (a *Accounts) mailConfirmation(email string) job {
	return func(ctx context.Context) error {
		s, err := a.byEmail(ctx, email)
		if err != nil || !isLocal(s) || s.Credentials.EmailProven || s.Status == user.Deactivated {
			return err
		}
		return a.mailLink(ctx, purposeConfirm, s, "Confirm your mail address",
			"Somebody, hopefully you, made an account with the address "+s.Email+".\n\n"+
				"Open this address within one hour to confirm that it is yours:\n\n", "If it was not you, ignore this mail.\n")
	}
}

// mailInvitation sends a link to choose a first password.
func (a *Accounts) mailInvitation(userID string) job {
	return func(ctx context.Context) error {
		s, err := a.look(ctx, userID)
		if err != nil || !s.Exists() {
			return err
		}
		return a.mailLink(ctx, purposeReset, s, "You are invited",
			"An account was made for you with the address "+s.Email+".\n\n"+
				"Open this address within one hour to choose your password:\n\n", "When it is too late, ask for a new password on the sign-in page.\n")
	}
}

// mailLink sends a mail with a new token between two texts. Without mail there
// is no token either.
func (a *Accounts) mailLink(ctx context.Context, purpose string, s user.State, subject, before, after string) error {
	if a.o.Mailer == nil {
		return nil
	}
	token, err := a.issueLink(ctx, purpose, s)
	if err != nil {
		return err
	}
	err = a.o.Mailer.Send(ctx, s.Email, subject, before+a.o.Settings().link(purpose, token)+"\n\n"+after)
	if err != nil && strings.Contains(err.Error(), token) {
		return errors.New("the mail server refused a mail and repeated what is in it") // a token is never logged
	}
	return err
}

func isLocal(s user.State) bool {
	_, local := s.AuthData[user.Local]
	return local
}
