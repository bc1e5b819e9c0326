package user

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"svc/domain"
)

// Command is what can be asked of a user.
type Command interface{ userCommand() }

type (
	// Get changes nothing: it only loads the state.
	Get struct{}
	// SignUp creates an account for its owner.
	SignUp struct {
		ID, Email, FirstName, LastName, Language string
		Password                                 string // hash
		Status                                   Status
		IP                                       string
	}
	// Create makes an account otherwise. An id is used once: creating it again
	// does nothing, also after it was deleted.
	Create struct {
		ID, Email, FirstName, LastName, Photo, Language string
		EmailProven                                     bool
		Groups                                          []string
		Status                                          Status
		Password                                        string   // hash; "": none
		Provider                                        string   // of Identity
		Identity                                        Identity // ID defaults to that of the user
	}
	// Change replaces what its non-nil fields name.
	Change struct {
		FirstName, LastName, Photo, Language *string
		Meta                                 *map[string]json.RawMessage
		Email                                *string
		Status                               *Status
		Groups                               *[]string
		Password                             *string // hash
		DropTOTP                             bool
	}
	// MergeMeta sets keys of the meta data; null removes one.
	MergeMeta struct{ Values map[string]json.RawMessage }
	// Delete ends the account for ever. What belongs to it elsewhere stays.
	Delete struct{}

	// ChangePassword replaces the password whose hash is Was.
	ChangePassword struct{ Was, Password string }
	// ResetPassword sets the password of whoever got a mail at Email, when the
	// password had the fingerprint Was. Validate also ends a pending state.
	ResetPassword struct {
		Email, Was, Password, IP string
		Validate                 bool
	}
	// ProveEmail notes that somebody got a mail at Email. Validate also ends a
	// pending state.
	ProveEmail struct {
		Email    string
		Validate bool
	}
	// Claim gives the account to the operator of the host: it is valid and owns
	// its address. Password, when set, is a new one.
	Claim struct{ Password string }
	// Link adds the identity of a provider that vouches for Email.
	Link struct {
		Provider string
		Identity Identity
		Email    string
	}

	// OfferTOTP keeps a sealed secret until a code confirms it.
	OfferTOTP struct{ Sealed []byte }
	// ConfirmTOTP makes the offered secret count, with the step of its first code.
	ConfirmTOTP struct {
		Sealed []byte
		Step   int64
	}
	// DropTOTP removes the second factor.
	DropTOTP struct{}
	// ResealTOTP replaces sealed secrets by the same ones under another key: Was
	// and Sealed are those of the second factor, or of the offered one.
	ResealTOTP struct{ Was, Sealed []byte }
	// UseCode spends the code of a step. Each step is spent once.
	UseCode struct {
		Step int64
		IP   string
	}
)

func (Get) userCommand()            {}
func (SignUp) userCommand()         {}
func (Create) userCommand()         {}
func (Change) userCommand()         {}
func (MergeMeta) userCommand()      {}
func (Delete) userCommand()         {}
func (ChangePassword) userCommand() {}
func (ResetPassword) userCommand()  {}
func (ProveEmail) userCommand()     {}
func (Claim) userCommand()          {}
func (Link) userCommand()           {}
func (OfferTOTP) userCommand()      {}
func (ConfirmTOTP) userCommand()    {}
func (DropTOTP) userCommand()       {}
func (ResealTOTP) userCommand()     {}
func (UseCode) userCommand()        {}

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Get:
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
	next, err := normalise(State{User: User{
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
	next, err := normalise(State{User: User{
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

// withoutCredentials returns s as somebody may have it who shows for the first time to
// own its address. Whoever made the account before had shown nothing: their
// password, second factor and identities must not open what is now another's.
func withoutCredentials(s State) State {
	s = withoutTOTP(s)
	s.Credentials.Password = ""
	s.AuthData = maps.Clone(s.AuthData)
	maps.DeleteFunc(s.AuthData, func(provider string, _ Identity) bool { return provider != Local })
	return s
}

// updated returns the fact that s became next, or nothing when it is the same.
func updated(s, next State) ([]domain.Event, error) {
	next, err := normalise(next)
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

// normalise returns s in the one form in which it is stored, or every fault it has.
func normalise(s State) (State, error) {
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
	unique := make([]string, 0, len(groups))
	for _, g := range groups {
		if !slices.Contains(unique, g) {
			unique = append(unique, g)
		}
	}
	return unique
}

func changePassword(s State, c ChangePassword) ([]domain.Event, error) {
	if s.Credentials.Password != c.Was {
		return nil, domain.Refuse(domain.CodeInvalidCredentials, "the password was changed meanwhile")
	}
	return updated(s, withPassword(s, c.Password))
}

func resetPassword(s State, c ResetPassword) ([]domain.Event, error) {
	if s.Email == "" || s.Email != c.Email || s.Credentials.Fingerprint() != c.Was || s.Status == Deactivated {
		return nil, spentToken()
	}
	next, disowned := s, !s.Credentials.EmailProven
	if disowned {
		next = withoutCredentials(next)
	}
	next, err := normalise(withProvenEmail(withPassword(next, c.Password), c.Validate))
	if err != nil {
		return nil, err
	}
	return []domain.Event{PasswordReset{Email: s.Email, IP: c.IP, User: next.User, Credentials: next.Credentials, Disowned: disowned}}, nil
}

func proveEmail(s State, c ProveEmail) ([]domain.Event, error) {
	if s.Email == "" || s.Email != c.Email || s.Status == Deactivated {
		return nil, spentToken()
	}
	return updated(s, withProvenEmail(s, c.Validate))
}

// spentToken is the answer to a mail token that does not fit the account any more.
func spentToken() error {
	return domain.Invalid(domain.FieldError{Field: "token", Message: "is unknown, used or expired"})
}

// withProvenEmail returns s with a proven address.
func withProvenEmail(s State, validate bool) State {
	s.Credentials.EmailProven, s.Credentials.EmailVouched = true, false
	if validate && s.Status == Pending {
		s.Status = Validated
	}
	return s
}

func claim(s State, c Claim) ([]domain.Event, error) {
	if s.Email == "" {
		return nil, domain.Refuse(domain.CodeConflict, "an account without a mail address cannot be claimed")
	}
	next, disowned := s, false
	if c.Password != "" {
		disowned = !s.Credentials.EmailProven
		if disowned {
			next = withoutCredentials(next)
		}
		next = withPassword(withoutTOTP(next), c.Password)
	}
	next = withProvenEmail(next, true)
	next.Status = Validated
	return ownershipEvents(s, next, disowned)
}

func link(s State, c Link) ([]domain.Event, error) {
	if s.Email == "" || s.Email != c.Email || s.Status == Deactivated {
		return nil, domain.Refuse(domain.CodeInvalidCredentials, "this account cannot be used")
	}
	if have, ok := s.AuthData[c.Provider]; ok && have.ID != c.Identity.ID {
		return nil, domain.Refuse(domain.CodePermissionDenied, "the account with this mail address belongs to another identity of this provider").
			Reason("identity_conflict")
	}
	next, disowned := s, !s.Credentials.EmailProven
	if disowned {
		next = withoutCredentials(next)
	}
	return ownershipEvents(s, withIdentity(withProvenEmail(next, true), c.Provider, c.Identity), disowned)
}

// ownershipEvents is updated, with the event that the account has a new owner.
func ownershipEvents(s, next State, disowned bool) ([]domain.Event, error) {
	events, err := updated(s, next)
	if len(events) == 1 && disowned {
		e := events[0].(Updated)
		e.Disowned = true
		events[0] = e
	}
	return events, err
}

func offerTOTP(s State, c OfferTOTP) ([]domain.Event, error) {
	next := s
	next.Credentials.OfferedTOTP = c.Sealed
	return updated(s, next)
}

func confirmTOTP(s State, c ConfirmTOTP) ([]domain.Event, error) {
	if len(c.Sealed) == 0 || !bytes.Equal(s.Credentials.OfferedTOTP, c.Sealed) {
		return nil, domain.Refuse(domain.CodeConflict, "another second factor is being set up").Reason("stale")
	}
	next := s
	next.MFA = MFATOTP
	next.Credentials.TOTP, next.Credentials.OfferedTOTP, next.Credentials.TOTPStep = c.Sealed, nil, c.Step
	return updated(s, next)
}

func withoutTOTP(s State) State {
	s.MFA = MFANone
	s.Credentials.TOTP, s.Credentials.OfferedTOTP, s.Credentials.TOTPStep = nil, nil, 0
	return s
}

func resealTOTP(s State, c ResealTOTP) ([]domain.Event, error) {
	next := s
	for _, sealed := range []*[]byte{&next.Credentials.TOTP, &next.Credentials.OfferedTOTP} {
		if len(*sealed) > 0 && bytes.Equal(*sealed, c.Was) {
			*sealed = c.Sealed
		}
	}
	return updated(s, next)
}

func useCode(s State, c UseCode) ([]domain.Event, error) {
	if s.MFA != MFATOTP {
		return nil, domain.Refuse(domain.CodeNotFound, "this account has no second factor").With("resource", "mfa")
	}
	if c.Step <= s.Credentials.TOTPStep {
		return nil, domain.Refuse(domain.CodeInvalidCredentials, "this code was used already")
	}
	return []domain.Event{CodeAccepted{UserID: s.ID, Email: s.Email, IP: c.IP, Step: c.Step}}, nil
}

// The largest values.
const (
	maxName     = 100 // characters
	maxEmail    = 254
	maxMeta     = 64 << 10 // bytes of JSON
	maxGroups   = 100
	maxGroup    = 100
	maxSubject  = 255 // characters of an identity
	maxLanguage = 35
)

// validate lists everything of s that the contract does not allow.
func validate(s State) error {
	var errs []domain.FieldError
	check := func(ok bool, field, message string) {
		if !ok {
			errs = append(errs, domain.FieldError{Field: field, Message: message})
		}
	}
	_, local := s.AuthData[Local]
	check(s.Email == "" && !local || IsEmail(s.Email), "email", "must be a mail address")
	for _, name := range []struct{ field, value string }{{"firstName", s.FirstName}, {"lastName", s.LastName}} {
		check(domain.IsLine(name.value, maxName), name.field, "must be at most 100 characters without control characters")
	}
	check(s.Photo == "" || isPhoto(s.Photo), "photo", "must be an http or https URL of at most 2048 characters, or a picture that was uploaded here")
	check(s.Language == "" || isLanguage(s.Language), "language", "must be a language tag such as en or pt-BR")
	check(slices.Contains([]Status{Pending, Validated, Deactivated}, s.Status), "status", "must be pending, validated or deactivated")
	check(sizeOf(s.Meta) <= maxMeta, "meta", "must be at most 64 KB")
	_, unnamed := s.Meta[""]
	check(!unnamed, "meta", "must have names for its values")
	check(len(s.Groups) <= maxGroups && !slices.ContainsFunc(s.Groups, notGroup), "groups",
		"must be at most 100 names of 1 to 100 characters without control characters")
	for provider, identity := range s.AuthData {
		check(provider != "" && identity.ID != "" && domain.IsLine(identity.ID, maxSubject) && domain.IsLine(identity.Email, maxEmail),
			"authData", "must have an id of at most 255 characters")
	}
	if len(errs) > 0 {
		return domain.Invalid(errs...)
	}
	return nil
}

// required refuses an empty value.
func required(field, value string) error {
	if strings.TrimSpace(value) == "" {
		return domain.Invalid(domain.FieldError{Field: field, Message: "must not be empty"})
	}
	return nil
}

// join returns the refusals among errs as one, each field named once.
func join(errs ...error) error {
	var all []domain.FieldError
	for _, err := range errs {
		refusal, ok := errors.AsType[*domain.Error](err)
		if !ok {
			continue
		}
		for _, f := range refusal.Details["errors"].([]domain.FieldError) {
			if !slices.ContainsFunc(all, func(have domain.FieldError) bool { return have.Field == f.Field }) {
				all = append(all, f)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return domain.Invalid(all...)
}

// IsEmail reports whether s is an address that mail can be sent to, in the
// letters that every mail server takes. What looks alike to people but not to
// machines is refused with that: an address stands for rights.
func IsEmail(s string) bool {
	local, host, found := strings.Cut(s, "@")
	if !found || len(s) > maxEmail || local == "" || len(local) > 64 || host == "" {
		return false
	}
	if strings.ContainsFunc(local, notAtom) || strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, "..") {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, notHost) {
			return false
		}
	}
	return true
}

func notAtom(r rune) bool {
	return !alphanumeric(r) && !strings.ContainsRune(".!#$%&'*+/=?^_`{|}~-", r)
}

func notHost(r rune) bool { return !alphanumeric(r) && r != '-' }

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// isPhoto reports whether s is a picture of the web, or one that was uploaded. No
// other path of this site may be loaded in the name of whoever looks at it.
func isPhoto(s string) bool {
	return domain.IsPicture(s) && (!strings.HasPrefix(s, "/") || strings.HasPrefix(s, "/v2/users/") && !strings.Contains(s, ".."))
}

func notGroup(s string) bool { return !domain.IsTitle(s, maxGroup) }

// isLanguage reports whether s has the form of a BCP 47 tag.
func isLanguage(s string) bool {
	if len(s) > maxLanguage {
		return false
	}
	for i, part := range strings.Split(s, "-") {
		if part == "" || len(part) > 8 || strings.ContainsFunc(part, func(r rune) bool { return !alphanumeric(r) }) {
			return false
		}
		if i == 0 && (len(part) < 2 || strings.ContainsAny(part, "0123456789")) {
			return false
		}
	}
	return true
}

// canonical returns meta in the form in which it is stored, so that what is
// equal compares equal. It is never nil; a null is a key that is not there.
func canonical(meta map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	next := make(map[string]json.RawMessage, len(meta))
	for key, value := range meta {
		body, err := json.Marshal(value)
		if err != nil {
			return meta, domain.Invalid(domain.FieldError{Field: "meta", Message: "must be JSON"})
		}
		if string(body) != "null" {
			next[key] = body
		}
	}
	return next, nil
}

// sizeOf returns how many bytes meta takes.
func sizeOf(meta map[string]json.RawMessage) (n int) {
	for key, value := range meta {
		n += len(key) + len(value)
	}
	return n
}
