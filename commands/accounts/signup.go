package accounts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"svc/commands"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

// SignUp is the request for a local account.
type SignUp struct {
	Email, Password, FirstName, LastName, Language string
	IP                                             string
}

// SignUp creates a local account and returns how it becomes valid. An address in use is refused.
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
		a.enqueue(ctx, a.mailConfirmation(s.Email))
	}
	return a.accountOf(s), validation, nil
}

// newPassword returns the hash of a password for the account that cmd creates. It returns all
// faults of both before it hashes.
func (a *Accounts) newPassword(ctx context.Context, share, password string, cmd user.Command) (hash string, err error) {
	_, fault := user.Decider.Decide(user.State{}, cmd)
	if err := mergeFaults(fault, a.o.Settings().checkPassword(password)); err != nil {
		return "", err
	}
	return a.hasher.hash(ctx, share, password)
}

// RequestValidation sends the confirmation mail again, if an account waits for it. The answer
// does not reveal whether there is one.
func (a *Accounts) RequestValidation(ctx context.Context, email string) error {
	email, err := parseEmail(email)
	if err != nil {
		return err
	}
	a.enqueue(ctx, a.mailConfirmation(email))
	return nil
}

// Validate records that the mail address of an account is proven by the token. The account
// becomes valid, unless a super admin must validate it.
func (a *Accounts) Validate(ctx context.Context, token string) error {
	link, err := a.openLink(ctx, purposeConfirm, token)
	if err != nil {
		return err
	}
	_, err = a.change(ctx, link.UserID, user.ProveEmail{Email: link.Email, Validate: a.o.Settings().validatesByEmail()})
	if domain.CodeOf(err) == domain.CodeNotFound {
		return unknownToken()
	}
	if err != nil {
		return err
	}
	a.deleteLink(ctx, purposeConfirm, token)
	return nil
}

// NewAccount is an account that was created for the operator. A generated Password is shown once
// and stored nowhere.
type NewAccount struct {
	ID, Email, Password string
}

// FirstStart creates the accounts of the super admins at the first start of a platform, and
// returns the new ones. The first one always has the same id: so only one of several nodes that
// start together creates it, and only once ever.
func (a *Accounts) FirstStart(ctx context.Context) (made []NewAccount, err error) {
	set := a.o.Settings()
	if len(set.SuperAdmins) == 0 {
		return nil, nil
	}
	done, err := a.everExisted(ctx, firstID(0))
	if err != nil || done {
		return nil, err
	}
	if set.AdminPassword != "" && set.checkPassword(set.AdminPassword) != nil {
		return nil, fmt.Errorf("ADMIN_PASSWORD is not a password that PASSWORD_VALIDATION_REGEXP allows")
	}
	for i, email := range set.SuperAdmins {
		one, mine, err := a.createAdmin(ctx, firstID(i), email, set.AdminPassword)
		if err != nil {
			return made, fmt.Errorf("make the account of %s: %w", email, err)
		}
		if mine {
			made = append(made, one)
		} else if i == 0 {
			return nil, nil // another node was first
		}
	}
	return made, nil
}

// createAdmin creates one account of the first start; false when it exists, or its address is in
// use.
func (a *Accounts) createAdmin(ctx context.Context, id, email, password string) (made NewAccount, mine bool, err error) {
	made = NewAccount{ID: id, Email: user.NormalEmail(email)}
	if password == "" {
		made.Password = randomPassword()
		password = made.Password
	}
	cmd := user.Create{ID: id, Email: email, EmailProven: true, Status: user.Validated, Provider: user.Local}
	if cmd.Password, err = a.hasher.hash(ctx, operator, password); err != nil {
		return made, false, err
	}
	done, err := commands.ExecuteNaming(ctx, a.o.Engine, user.Decider, user.Stream(id), user.Command(cmd), names)
	if domain.CodeOf(err) == domain.CodeAlreadyExists {
		return made, false, nil
	}
	return made, done.Changed, err
}

// everExisted reports whether a user with this id exists or was deleted.
func (a *Accounts) everExisted(ctx context.Context, id string) (bool, error) {
	done, err := commands.Execute(unrepeated(ctx), a.o.Engine, user.Decider, user.Stream(id), user.Command(user.Get{}))
	return done.State.ID != "" || done.State.Deleted, err
}

// firstID returns the id of the i-th account of the first start.
func firstID(i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "svc first start %d", i))
	return hex.EncodeToString(sum[:12])
}

// Claim gives the account with an address to the operator of the host: it becomes valid and its
// address proven. A missing one is created. It gets a generated password when it is new, when
// its address was not proven, since a stranger may have created it, or with newPassword.
func (a *Accounts) Claim(ctx context.Context, email string, newPassword bool) (NewAccount, error) {
	email, err := parseEmail(email)
	if err != nil {
		return NewAccount{}, err
	}
	s, err := a.byEmail(ctx, email)
	if err != nil {
		return NewAccount{}, err
	}
	if !s.Exists() {
		made, mine, err := a.createAdmin(ctx, newID(ctx, "user"), email, "")
		if err == nil && !mine {
			err = domain.Refuse(domain.CodeConflict, "somebody made an account with this address just now, try again").Reason("stale")
		}
		return made, err
	}
	claimed := NewAccount{ID: s.ID, Email: email}
	if s.Credentials.EmailProven && !newPassword {
		_, err := a.change(ctx, s.ID, user.Claim{})
		return claimed, err
	}
	claimed.Password = randomPassword()
	hash, err := a.hasher.hash(ctx, operator, claimed.Password)
	if err != nil {
		return NewAccount{}, err
	}
	_, err = a.changeAndEndSessions(ctx, s.ID, "", session.CausePassword, user.Claim{Password: hash})
	return claimed, err
}
