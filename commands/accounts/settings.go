package accounts

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/user"
)

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
	"webhooks pages:read files:read files:write"

// RoleSuperAdmin is the role of super admins on the whole platform.
const RoleSuperAdmin = "superAdmin"

// Account is a user as the API shows it.
type Account struct {
	user.User
	Role string `json:"role,omitempty"` // RoleSuperAdmin, or none
}

// Shown returns a user with the role that the settings give it.
func (a *Accounts) Shown(u user.User, emailProven bool) Account {
	shown := Account{User: u}
	if u.Super(emailProven, a.o.Settings().SuperAdmins) {
		shown.Role = RoleSuperAdmin
	}
	return shown
}

func (a *Accounts) shown(s user.State) Account { return a.Shown(s.User, s.Credentials.EmailProven) }

// Super reports whether an account is a super admin's.
func (a *Accounts) Super(s user.State) bool { return a.shown(s).Role == RoleSuperAdmin }

// validates reports whether whoever proves an address needs nobody's consent.
func (s Settings) validates() bool {
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

// link returns the address of a page of the console with a token that no server
// gets to see.
func (s Settings) link(page, token string) string {
	return strings.TrimSuffix(s.ConsoleURL, "/") + "/" + page + "#token=" + token
}
