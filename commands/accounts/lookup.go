package accounts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"svc/commands"
	"svc/domain"
	"svc/domain/user"
	"svc/eventstore"
)

// The kinds of names that accounts hold. They are the fields that a refusal
// names.
const (
	kindEmail    = "email"
	kindIdentity = "identity"
)

// names lists what only this account may have: its address, and the identities
// that other providers gave it. Those of our own are its id.
func names(s user.State) (all []commands.Name) {
	if !s.Exists() {
		return nil
	}
	if s.Email != "" {
		all = append(all, commands.Name{Kind: kindEmail, Value: s.Email})
	}
	for provider, identity := range s.AuthData {
		if provider != user.Local && provider != user.Anonymous {
			all = append(all, identityName(provider, identity.ID))
		}
	}
	slices.SortFunc(all, func(a, b commands.Name) int { return strings.Compare(a.Value, b.Value) })
	return all
}

func identityName(provider, subject string) commands.Name {
	return commands.Name{Kind: kindIdentity, Value: provider + "/" + subject}
}

// change runs a command on a user.
func (a *Accounts) change(ctx context.Context, id string, cmd user.Command) (user.State, error) {
	done, err := commands.ExecuteNaming(ctx, a.o.Engine, user.Decider, user.Stream(id), cmd, names)
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Code == domain.CodeNotFound {
		return done.State, refusal.With("id", id)
	}
	return done.State, err
}

// look returns a user as the log has it now; the zero State when there is none.
func (a *Accounts) look(ctx context.Context, id string) (user.State, error) {
	done, err := commands.Execute(unrepeated(ctx), a.o.Engine, user.Decider, user.Stream(id), user.Command(user.Look{}))
	if err != nil || !done.State.Exists() {
		return user.State{}, err
	}
	return done.State, nil
}

// existing is look for a user that must be there.
func (a *Accounts) existing(ctx context.Context, id string) (user.State, error) {
	s, err := a.look(ctx, id)
	if err == nil && !s.Exists() {
		err = domain.Refuse(domain.CodeNotFound, "there is no such user").With("resource", "user").With("id", id)
	}
	return s, err
}

// nobody is an id that no user has. It is looked up in the place of one, so that
// nobody learns from the time which addresses have an account.
const nobody = "000000000000000000000000"

// byName returns the user who holds a name; the zero State when nobody does.
func (a *Accounts) byName(ctx context.Context, n commands.Name) (user.State, error) {
	holder, err := commands.Holder(ctx, a.o.Engine, n)
	if err != nil {
		return user.State{}, err
	}
	id, held := strings.CutPrefix(holder, user.Stream("").String())
	if !held {
		id = nobody
	}
	return a.look(ctx, id)
}

func (a *Accounts) byEmail(ctx context.Context, email string) (user.State, error) {
	return a.byName(ctx, commands.Name{Kind: kindEmail, Value: user.NormalEmail(email)})
}

// unrepeated returns ctx as that of a request which is not repeated: its ids are
// new each time. A look at the log needs none, and must not use up those of what
// is written later, which are counted.
func unrepeated(ctx context.Context) context.Context {
	return commands.WithRequest(ctx, &commands.Request{Meta: commands.RequestFrom(ctx).Meta})
}

// merge returns the refusals of values among errs as one. An error of another
// kind comes before all.
func merge(errs ...error) error {
	var all []domain.FieldError
	for _, err := range errs {
		refusal, ok := errors.AsType[*domain.Error](err)
		if err != nil && (!ok || refusal.Code != domain.CodeValidation) {
			return err
		}
		if ok {
			all = append(all, refusal.Details["errors"].([]domain.FieldError)...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return domain.Invalid(all...)
}

func isNotFound(err error) bool { return domain.CodeOf(err) == domain.CodeNotFound }

// unavailable tells a caller that the store cannot be reached now.
func unavailable(err error) error {
	if errors.Is(err, eventstore.ErrUnavailable) {
		return commands.Refused(err)
	}
	return err
}
