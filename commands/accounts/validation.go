package accounts

import (
	"context"

	"svc/domain/user"
)

// RequestValidation sends the mail that proves an address once more, if there is
// an account that waits for it. Nobody learns whether there is.
func (a *Accounts) RequestValidation(ctx context.Context, email string) error {
	email, err := address(email)
	if err != nil {
		return err
	}
	a.post(ctx, a.mailConfirmation(email))
	return nil
}

// Validate notes that whoever has the token reads the mail of an account. That
// ends waiting, unless it is a super admin's consent that is waited for.
func (a *Accounts) Validate(ctx context.Context, token string) error {
	link, err := a.open(ctx, purposeConfirm, token)
	if err != nil {
		return err
	}
	_, err = a.change(ctx, link.UserID, user.ProveEmail{Email: link.Email, Validate: a.o.Settings().validates()})
	if isNotFound(err) {
		return unknownToken()
	}
	if err != nil {
		return err
	}
	a.spent(ctx, purposeConfirm, token)
	return nil
}
