package accounts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"svc/commands"
	"svc/domain"
	"svc/domain/session"
	"svc/domain/user"
)

// NewAccount is an account that was made for the operator. Password is set when
// it was generated: it is to be shown once and kept nowhere.
type NewAccount struct {
	ID, Email, Password string
}

// FirstStart makes the accounts of the super admins on a platform that has never
// had any, and returns those it made. The first of them always gets the same id:
// of several nodes that start together one makes it, and a platform that ever
// had it is not at its first start any more.
func (a *Accounts) FirstStart(ctx context.Context) (made []NewAccount, err error) {
	set := a.o.Settings()
	if len(set.SuperAdmins) == 0 {
		return nil, nil
	}
	done, err := a.ever(ctx, firstID(0))
	if err != nil || done {
		return nil, err
	}
	if set.AdminPassword != "" && set.checkPassword(set.AdminPassword) != nil {
		return nil, fmt.Errorf("ADMIN_PASSWORD is not a password that PASSWORD_VALIDATION_REGEXP allows")
	}
	for i, email := range set.SuperAdmins {
		one, mine, err := a.makeFirst(ctx, firstID(i), email, set.AdminPassword)
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

// makeFirst makes one account of the first start; false when it is there, or its
// address belongs to another.
func (a *Accounts) makeFirst(ctx context.Context, id, email, password string) (made NewAccount, mine bool, err error) {
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

// ever reports whether there is, or was, a user with this id.
func (a *Accounts) ever(ctx context.Context, id string) (bool, error) {
	done, err := commands.Execute(unrepeated(ctx), a.o.Engine, user.Decider, user.Stream(id), user.Command(user.Look{}))
	return done.State.ID != "" || done.State.Deleted, err
}

// firstID returns the id of the i-th account of the first start.
func firstID(i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "svc first start %d", i))
	return hex.EncodeToString(sum[:12])
}

// Claim gives the account with an address to whoever has the host: it is valid
// and its address proven. A missing one is made, with a generated password; so
// gets one whose address nobody had proven, since a stranger may have made it,
// and any other when newPassword asks for it.
func (a *Accounts) Claim(ctx context.Context, email string, newPassword bool) (NewAccount, error) {
	email, err := address(email)
	if err != nil {
		return NewAccount{}, err
	}
	s, err := a.byEmail(ctx, email)
	if err != nil {
		return NewAccount{}, err
	}
	if !s.Exists() {
		made, mine, err := a.makeFirst(ctx, newID(ctx, "user"), email, "")
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
	_, err = a.putOut(ctx, s.ID, "", session.CausePassword, user.Claim{Password: hash})
	return claimed, err
}
