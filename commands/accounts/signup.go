package accounts

import (
	"cmp"
	"context"

	"svc/domain"
	"svc/domain/user"
)

// SignUp is what somebody tells who wants a local account.
type SignUp struct {
	Email, Password, FirstName, LastName, Language string
	IP                                             string
}

// SignUp makes a local account and tells how it becomes valid. An address that
// is used is refused as one that exists already.
func (a *Accounts) SignUp(ctx context.Context, in SignUp) (made Account, validation string, err error) {
	set := a.o.Settings()
	if set.DisableSignup {
		return Account{}, "", domain.Refuse(domain.CodePermissionDenied, "making an account with a password is switched off")
	}
	validation = cmp.Or(set.Validation, ValidationManual)
	cmd := user.SignUp{
		ID: newID(ctx, "user"), Email: in.Email, FirstName: in.FirstName, LastName: in.LastName, Language: in.Language,
		Status: user.Pending, IP: in.IP,
	}
	if validation == ValidationAuto {
		cmd.Status = user.Validated
	}
	if cmd.Password, err = a.newPassword(ctx, shareOf(in.IP), in.Password, cmd); err != nil {
		return Account{}, "", err
	}
	s, err := a.change(ctx, cmd.ID, cmd)
	if err != nil {
		return Account{}, "", err
	}
	if validation == ValidationEmail {
		a.post(ctx, a.mailConfirmation(s.Email))
	}
	return a.shown(s), validation, nil
}

// newPassword returns the hash of a password for the account that cmd makes. It
// names every fault of both before it begins the work.
func (a *Accounts) newPassword(ctx context.Context, share, password string, cmd user.Command) (hash string, err error) {
	_, fault := user.Decider.Decide(user.State{}, cmd)
	if err := merge(fault, a.o.Settings().checkPassword(password)); err != nil {
		return "", err
	}
	return a.hasher.hash(ctx, share, password)
}
