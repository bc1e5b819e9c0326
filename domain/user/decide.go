package user

import (
	"maps"
	"slices"

	"svc/domain"
)

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Look:
		return nil, nil
	case SignUp:
		return signUp(s, c)
	case Create:
		return create(s, c)
	case nil:
		return nil, domain.Refuse(domain.CodeInternal, "user: no command")
	}
	if _, deleting := cmd.(Delete); !s.Exists() {
		if deleting {
			return nil, nil
		}
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such user").With("resource", "user")
	}
	return decideExisting(s, cmd)
}

func decideExisting(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Change:
		return change(s, c)
	case MergeMeta:
		return mergeMeta(s, c)
	case Delete:
		return []domain.Event{Deleted{UserID: s.ID}}, nil
	case ChangePassword:
		return changePassword(s, c)
	case ResetPassword:
		return resetPassword(s, c)
	case ProveEmail:
		return proveEmail(s, c)
	case Claim:
		return claim(s, c)
	case Link:
		return link(s, c)
	case OfferTOTP:
		return offerTOTP(s, c)
	case ConfirmTOTP:
		return confirmTOTP(s, c)
	case DropTOTP:
		return updated(s, withoutTOTP(s))
	case ResealTOTP:
		return resealTOTP(s, c)
	case UseCode:
		return useCode(s, c)
	default:
		return nil, domain.Refuse(domain.CodeInternal, "user: unknown command %T", cmd)
	}
}

func signUp(s State, c SignUp) ([]domain.Event, error) {
	if s.ID != "" {
		return nil, nil
	}
	email := NormalEmail(c.Email)
	next, err := tidy(State{User: User{
		ID: c.ID, Email: email, FirstName: c.FirstName, LastName: c.LastName, Language: c.Language, Status: c.Status,
		AuthData: map[string]Identity{Local: {ID: c.ID, Email: email}},
	}, Credentials: Credentials{Password: c.Password}})
	if err := join(err, required("email", email), required("firstName", c.FirstName), required("lastName", c.LastName)); err != nil {
		return nil, err
	}
	return []domain.Event{SignedUp{User: next.User, IP: c.IP, Credentials: next.Credentials}}, nil
}

func create(s State, c Create) ([]domain.Event, error) {
	if s.ID != "" {
		return nil, nil
	}
	email := NormalEmail(c.Email)
	if c.Identity.ID == "" {
		c.Identity.ID = c.ID
	}
	if c.Provider == Local {
		c.Identity.Email = email
	}
	next, err := tidy(State{User: User{
		ID: c.ID, Email: email, FirstName: c.FirstName, LastName: c.LastName, Photo: c.Photo, Language: c.Language,
		Status: c.Status, Groups: c.Groups, AuthData: map[string]Identity{c.Provider: c.Identity},
	}, Credentials: Credentials{EmailProven: c.EmailProven, EmailVouched: !c.EmailProven && email != "", Password: c.Password}})
	if err != nil {
		return nil, err
	}
	return []domain.Event{Created{User: next.User, Credentials: next.Credentials}}, nil
}

func change(s State, c Change) ([]domain.Event, error) {
	next := s
	if c.DropTOTP {
		next = withoutTOTP(next)
	}
	set(&next.FirstName, c.FirstName)
	set(&next.LastName, c.LastName)
	set(&next.Photo, c.Photo)
	set(&next.Language, c.Language)
	set(&next.Meta, c.Meta)
	set(&next.Status, c.Status)
	set(&next.Groups, c.Groups)
	if c.Email != nil {
		next = withEmail(next, NormalEmail(*c.Email))
	}
	// Only super admins change these two, and both say that the address is right.
	if c.Email != nil || c.Status != nil && *c.Status == Validated {
		next.Credentials.EmailVouched = !next.Credentials.EmailProven && next.Email != ""
	}
	if c.Password != nil {
		next = withPassword(next, *c.Password)
	}
	return updated(s, next)
}

func mergeMeta(s State, c MergeMeta) ([]domain.Event, error) {
	next := s
	next.Meta = maps.Clone(s.Meta)
	for key, value := range c.Values {
		if len(value) == 0 || string(value) == "null" {
			delete(next.Meta, key)
		} else {
			next.Meta[key] = value
		}
	}
	return updated(s, next)
}

// withEmail returns s with another address, which nobody has shown to own yet.
func withEmail(s State, email string) State {
	if email == s.Email {
		return s
	}
	s.Email, s.Credentials.EmailProven = email, false
	if own, ok := s.AuthData[Local]; ok {
		own.Email = email
		s = withIdentity(s, Local, own)
	}
	return s
}

// withPassword returns s as a local account with this password.
func withPassword(s State, hash string) State {
	s.Credentials.Password = hash
	return withIdentity(s, Local, Identity{ID: s.ID, Email: s.Email})
}

func withIdentity(s State, provider string, identity Identity) State {
	s.AuthData = maps.Clone(s.AuthData)
	if s.AuthData == nil {
		s.AuthData = map[string]Identity{}
	}
	s.AuthData[provider] = identity
	return s
}

// disowned returns s as somebody may have it who shows for the first time to
// own its address. Whoever made the account before had shown nothing: their
// password, second factor and identities must not open what is now another's.
func disowned(s State) State {
	s = withoutTOTP(s)
	s.Credentials.Password = ""
	s.AuthData = maps.Clone(s.AuthData)
	maps.DeleteFunc(s.AuthData, func(provider string, _ Identity) bool { return provider != Local })
	return s
}

// updated returns the fact that s became next, or nothing when it is the same.
func updated(s, next State) ([]domain.Event, error) {
	next, err := tidy(next)
	if err != nil || domain.Same(s, next) {
		return nil, err
	}
	return []domain.Event{Updated{User: next.User, Credentials: next.Credentials}}, nil
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// tidy returns s in the one form in which it is stored, or every fault it has.
func tidy(s State) (State, error) {
	var err error
	s.Meta, err = canonical(s.Meta)
	s.Groups = distinct(s.Groups)
	if s.AuthData == nil {
		s.AuthData = map[string]Identity{}
	}
	if s.MFA == "" {
		s.MFA = MFANone
	}
	return s, join(err, validate(s))
}

// distinct returns groups without repetitions, in order, and never nil.
func distinct(groups []string) []string {
	kept := make([]string, 0, len(groups))
	for _, g := range groups {
		if !slices.Contains(kept, g) {
			kept = append(kept, g)
		}
	}
	return kept
}
