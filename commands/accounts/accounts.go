// Package accounts handles everything that users do to become users, to stay users and
// to stop being one: signing up and in, passwords, the second factor, mails,
// access tokens, and what super admins do to others.
//
// Whether an address or an identity is somebody's is read from the log, never
// from a read model: a name is taken on every node at once. Secrets enter here
// and leave as hashes and sealed texts.
package accounts

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"svc/commands"
	"svc/commands/seal"
	"svc/commands/sessions"
	"svc/commands/signing"
	"svc/domain"
	"svc/domain/user"
	"svc/eventstore"
)

// Signer signs tokens. It is a *signing.Keys.
type Signer interface {
	Sign(ctx context.Context, claims signing.Claims) (token string, err error)
}

// Links stores the tokens of mails, hashed, until they expire. It is a *jetstream.Records.
type Links interface {
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)
	Delete(ctx context.Context, key string) error
}

// Mailer sends a mail. It is a *mail.Sender.
type Mailer interface {
	Send(ctx context.Context, to, subject, text string) error
}

// Options configure Accounts; those without a default are required.
type Options struct {
	Engine   *commands.Engine
	Sessions *sessions.Sessions
	Signer   Signer
	Box      *seal.Box
	Links    Links
	Settings func() Settings // as they are now

	Mailer  Mailer           // default none: no mail is sent
	Hashing Hashing          // default what OWASP recommends
	Now     func() time.Time // default time.Now
	Log     *slog.Logger     // default slog.Default
}

// Accounts are those of the platform. All methods are safe for concurrent use.
type Accounts struct {
	o      Options
	hasher *hasher
	outbox *outbox
}

// New returns the accounts. Close ends their background work.
func New(o Options) (*Accounts, error) {
	if o.Engine == nil || o.Sessions == nil || o.Signer == nil || o.Box == nil || o.Links == nil || o.Settings == nil {
		return nil, errors.New("accounts: Engine, Sessions, Signer, Box, Links and Settings are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	h, err := newHasher(o.Hashing)
	if err != nil {
		return nil, err
	}
	return &Accounts{o: o, hasher: h, outbox: openOutbox(o.Log)}, nil
}

// Close sends the queued mails, until ctx ends, and accepts no more.
func (a *Accounts) Close(ctx context.Context) error { return a.outbox.close(ctx) }

// How a new local account becomes valid.
const (
	ValidationAuto   = "auto"   // at once
	ValidationEmail  = "email"  // by the link of a mail
	ValidationManual = "manual" // by a super admin
)

// Settings are those of the accounts.
type Settings struct {
	SuperAdmins     []string       // SUPER_ADMIN_EMAILS
	AdminPassword   string         // ADMIN_PASSWORD; "" has one generated
	PasswordPattern *regexp.Regexp // PASSWORD_VALIDATION_REGEXP, of whole passwords; nil: 8 to 128 characters
	Validation      string         // ACCOUNT_VALIDATION_METHOD; default manual
	DisableSignin   bool
	DisableSignup   bool
	ForceMFA        bool          // MFA_FORCE_LOCAL
	TokenMaxAge     time.Duration // ACCESS_TOKENS_MAX_AGE
	ConsoleURL      string        // the first of CONSOLE_URL: where the links of mails lead
	Issuer          string        // the name of the platform in authenticator apps; default svc
}

// Scopes of the API. A login gets all of them.
const Scopes = "openid profile email offline_access settings workspaces:read workspaces:write events:read events:write " +
	"webhooks pages:read files:read files:write knowledge:read knowledge:write agents"

// RoleSuperAdmin is the role of super admins on the whole platform.
const RoleSuperAdmin = "superAdmin"

// Account is a user as the API shows it.
type Account struct {
	user.User
	Role string `json:"role,omitempty"` // RoleSuperAdmin, or none
}

// AccountOf returns a user with the role that the settings give it.
func (a *Accounts) AccountOf(u user.User, emailProven bool) Account {
	account := Account{User: u}
	if u.Super(emailProven, a.o.Settings().SuperAdmins) {
		account.Role = RoleSuperAdmin
	}
	return account
}

func (a *Accounts) accountOf(s user.State) Account {
	return a.AccountOf(s.User, s.Credentials.EmailProven)
}

// validatesByEmail reports whether a proven address makes an account valid.
func (s Settings) validatesByEmail() bool {
	return s.Validation == ValidationAuto || s.Validation == ValidationEmail
}

// checkPassword refuses a password that may not be chosen.
func (s Settings) checkPassword(password string) error {
	n := utf8.RuneCountInString(password)
	fine := n >= 8 && n <= 128
	if s.PasswordPattern != nil {
		fine = s.PasswordPattern.MatchString(password)
	}
	if !fine {
		return domain.Invalid(domain.FieldError{Field: "password", Message: "is not one that may be chosen here: it is too short, too long or too simple"})
	}
	return nil
}

// link returns the address of a page of the console with the token in its fragment, which is
// not sent to servers.
func (s Settings) link(page, token string) string {
	return strings.TrimSuffix(s.ConsoleURL, "/") + "/" + page + "#token=" + token
}

// The kinds of names that accounts hold. They are the fields that a refusal
// names.
const (
	kindEmail    = "email"
	kindIdentity = "identity"
)

// names lists the unique names of an account: its mail address, and its identities of other
// providers.
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

// load returns the current state of a user; the zero State when there is none.
func (a *Accounts) load(ctx context.Context, id string) (user.State, error) {
	done, err := commands.Execute(unrepeated(ctx), a.o.Engine, user.Decider, user.Stream(id), user.Command(user.Get{}))
	if err != nil || !done.State.Exists() {
		return user.State{}, err
	}
	return done.State, nil
}

// loadExisting is load for a user that must exist.
func (a *Accounts) loadExisting(ctx context.Context, id string) (user.State, error) {
	s, err := a.load(ctx, id)
	if err == nil && !s.Exists() {
		err = domain.Refuse(domain.CodeNotFound, "there is no such user").With("resource", "user").With("id", id)
	}
	return s, err
}

// noUserID is an id that no user has. It is loaded for unknown addresses, so that the time of an
// answer does not reveal which addresses have an account.
const noUserID = "000000000000000000000000"

// byName returns the user with a name; the zero State when there is none.
func (a *Accounts) byName(ctx context.Context, n commands.Name) (user.State, error) {
	holder, err := commands.NameOwner(ctx, a.o.Engine, n)
	if err != nil {
		return user.State{}, err
	}
	id, isUser := strings.CutPrefix(holder, user.Stream("").String())
	if !isUser {
		id = noUserID
	}
	return a.load(ctx, id)
}

func (a *Accounts) byEmail(ctx context.Context, email string) (user.State, error) {
	return a.byName(ctx, commands.Name{Kind: kindEmail, Value: user.NormalEmail(email)})
}

// unrepeated returns ctx without the seed of its request, so that ids are new each time. The ids
// of a seed are counted, and a load must not use up those of later writes.
func unrepeated(ctx context.Context) context.Context {
	return commands.WithRequest(ctx, &commands.Request{Meta: commands.RequestFrom(ctx).Meta})
}

// mergeFaults returns the validation errors among errs as one. Any other error is returned
// first.
func mergeFaults(errs ...error) error {
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

// unavailable turns an unavailable store into a refusal.
func unavailable(err error) error {
	if errors.Is(err, eventstore.ErrUnavailable) {
		return commands.Refused(err)
	}
	return err
}

// newID returns a new id of 24 hex digits. For a repeated request it is the same each time, so
// that the repetition finds what was created before.
func newID(ctx context.Context, kind string) string {
	seed := commands.RequestFrom(ctx).Seed
	if seed == "" {
		return hex.EncodeToString(randomBytes(12))
	}
	sum := sha256.Sum256([]byte(seed + "\x00accounts\x00" + kind))
	return hex.EncodeToString(sum[:12])
}

// newSecret returns 32 random bytes as text. For a repeated request they are derived from its
// seed and the key, and so the same each time.
func newSecret(ctx context.Context, key []byte, kind string) string {
	seed := commands.RequestFrom(ctx).Seed
	if seed == "" {
		return randomText()
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(seed + "\x00" + kind))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// randomText returns 32 random bytes as text that fits in a URL.
func randomText() string { return base64.RawURLEncoding.EncodeToString(randomBytes(32)) }

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return b
}

// passwordAlphabet has no letters and digits that look alike.
const passwordAlphabet = "abcdefghijkmnpqrstuvwxyz23456789"

// randomPassword returns a readable password: 24 letters in groups of six, 120 bits.
func randomPassword() string {
	var text []byte
	for i, b := range randomBytes(24) {
		if i > 0 && i%6 == 0 {
			text = append(text, '-')
		}
		text = append(text, passwordAlphabet[int(b)%len(passwordAlphabet)])
	}
	return string(text)
}
