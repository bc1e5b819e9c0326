// Package user holds the rules of an account: who it is, how it shows that it is
// them, and what of it may be changed. Passwords arrive hashed and TOTP secrets
// sealed: nothing here could give either away.
package user

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"svc/domain"
)

// Decider is the rule of the user aggregate.
var Decider = domain.Decider[State, Command]{Kind: "user", Version: 2, Decide: decide, Evolve: evolve}

// Stream returns the stream of the user with this id. Users belong to the
// platform, not to a workspace.
func Stream(id string) domain.StreamID { return Decider.Stream(domain.Platform, id) }

// Status says whether an account may sign in.
type Status string

// The states of an account.
const (
	Pending     Status = "pending"     // not confirmed yet
	Validated   Status = "validated"   // may sign in
	Deactivated Status = "deactivated" // may not sign in any more
)

// The second factors.
const (
	MFANone = "none"
	MFATOTP = "totp"
)

// The providers of identities that are the platform's own.
const (
	Local     = "svc"       // a password kept here
	Anonymous = "anonymous" // a visitor
)

// Identity is how a provider knows a user.
type Identity struct {
	ID    string `json:"id"`
	Email string `json:"email,omitempty"` // as the provider tells it
}

// User is what may be shown of an account.
type User struct {
	ID        string                     `json:"id"`
	Email     string                     `json:"email,omitempty"` // lower case; "" for visitors
	FirstName string                     `json:"firstName"`
	LastName  string                     `json:"lastName"`
	Photo     string                     `json:"photo,omitempty"`
	Language  string                     `json:"language,omitempty"`
	Status    Status                     `json:"status"`
	Meta      map[string]json.RawMessage `json:"meta"`
	AuthData  map[string]Identity        `json:"authData"` // by provider
	MFA       string                     `json:"mfa"`
	Groups    []string                   `json:"groups"`
}

// Credentials are the part of an account that is never shown.
type Credentials struct {
	EmailProven  bool   `json:"emailProven,omitempty"`  // somebody showed to own the address
	EmailVouched bool   `json:"emailVouched,omitempty"` // not proven, but a super admin set the address or validated the account
	Password     string `json:"password,omitempty"`     // argon2id text; "": none
	TOTP         []byte `json:"totp,omitempty"`         // sealed secret
	OfferedTOTP  []byte `json:"offeredTotp,omitempty"`  // sealed secret that awaits its first code
	TOTPStep     int64  `json:"totpStep,omitempty"`     // of the last code that was accepted
}

// IsEmailValid reports whether the address of the account may give roles, be
// shared with, and be compared in rules: its owner proved it, or a super admin
// vouches for it. An address that somebody only typed at sign-up does not count.
// Being a super admin takes proof: see User.Super.
func (c Credentials) IsEmailValid() bool { return c.EmailProven || c.EmailVouched }

// Fingerprint names the password without telling it, nor its hash: what was
// issued for one password can be refused after another took its place.
func (c Credentials) Fingerprint() string {
	sum := sha256.Sum256([]byte(c.Password))
	return hex.EncodeToString(sum[:8])
}

// State is an account. The zero State is one that does not exist.
type State struct {
	User
	Credentials Credentials `json:"credentials"`
	Deleted     bool        `json:"deleted,omitempty"`
}

// Exists reports whether there is such an account.
func (s State) Exists() bool { return s.ID != "" && !s.Deleted }

// Super reports whether u is a super admin: a validated account that showed to
// own one of the addresses in admins, in whatever case those are written.
func (u User) Super(emailProven bool, admins []string) bool {
	return u.Status == Validated && emailProven && u.Email != "" &&
		slices.ContainsFunc(admins, func(admin string) bool { return NormalEmail(admin) == u.Email })
}

// NormalEmail returns the form in which addresses are kept and compared.
func NormalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case SignedUp:
		return State{User: e.User, Credentials: e.Credentials}
	case Created:
		// Only operators, providers that verify addresses and super admins make
		// accounts for others; events of before EmailVouched existed do not say so.
		e.Credentials.EmailVouched = !e.Credentials.EmailProven && e.User.Email != ""
		return State{User: e.User, Credentials: e.Credentials}
	case Updated:
		return replaced(s, e.User, e.Credentials)
	case PasswordReset:
		return replaced(s, e.User, e.Credentials)
	case CodeAccepted:
		s.Credentials.TOTPStep = e.Step
	case Deleted:
		return State{User: User{ID: s.ID}, Deleted: true}
	}
	return s
}

// replaced returns s with another account in its place. Whoever ended the pending
// state of an account without a proof of its address was a super admin: events of
// before EmailVouched existed do not say so.
func replaced(s State, u User, c Credentials) State {
	if u.Email == s.Email && !c.EmailProven {
		c.EmailVouched = c.EmailVouched || s.Credentials.EmailVouched || s.Status == Pending && u.Status == Validated
	}
	return State{User: u, Credentials: c}
}

type (
	// SignedUp says that a user created an account.
	SignedUp struct {
		User        User        `json:"user"`
		IP          string      `json:"ip"`
		Credentials Credentials `json:"credentials"`
	}
	// Created says that an account was made otherwise: at the first start, by a
	// super admin, by a provider, or for a visitor who came to own something.
	Created struct {
		User        User        `json:"user"`
		Credentials Credentials `json:"credentials"`
	}
	// Updated says that an account changed, and what it is now. Disowned says
	// that what was opened in its name before does not count any more.
	Updated struct {
		User        User        `json:"user"`
		Credentials Credentials `json:"credentials"`
		Disowned    bool        `json:"disowned,omitempty"`
	}
	// PasswordReset says that whoever reads the mail of an account chose a new
	// password.
	PasswordReset struct {
		Email       string      `json:"email"`
		IP          string      `json:"ip"`
		User        User        `json:"user"`
		Credentials Credentials `json:"credentials"`
		Disowned    bool        `json:"disowned,omitempty"`
	}
	// CodeAccepted says that a code of the second factor was spent.
	CodeAccepted struct {
		UserID string `json:"userId"`
		Email  string `json:"email,omitempty"`
		IP     string `json:"ip"`
		Step   int64  `json:"step"`
	}
	// Deleted says that an account is gone.
	Deleted struct {
		UserID string `json:"userId"`
	}
)

// EventType implements domain.Event.
func (SignedUp) EventType() string { return "gateway.signup.succeeded" }

// EventType implements domain.Event.
func (Created) EventType() string { return "gateway.users.created" }

// EventType implements domain.Event.
func (Updated) EventType() string { return "gateway.users.updated" }

// EventType implements domain.Event.
func (PasswordReset) EventType() string { return "gateway.passwordReset.succeeded" }

// EventType implements domain.Event.
func (CodeAccepted) EventType() string { return "gateway.mfa.succeeded" }

// EventType implements domain.Event.
func (Deleted) EventType() string { return "gateway.users.deleted" }

// The payloads, where they differ from what is folded.
type (
	userPayload struct {
		User User `json:"user"`
	}
	signupPayload struct {
		User User   `json:"user"`
		IP   string `json:"ip"`
	}
	mailPayload struct {
		Email string `json:"email"`
		IP    string `json:"ip"`
	}
)

// Payload implements domain.PayloadEvent: everything but the credentials.
func (e SignedUp) Payload() any { return signupPayload{e.User, e.IP} }

// Payload implements domain.PayloadEvent: everything but the credentials.
func (e Created) Payload() any { return userPayload{e.User} }

// Payload implements domain.PayloadEvent: everything but the credentials.
func (e Updated) Payload() any { return userPayload{e.User} }

// Payload implements domain.PayloadEvent: everything but the credentials.
func (e PasswordReset) Payload() any { return mailPayload{e.Email, e.IP} }

// Payload implements domain.PayloadEvent, without the code.
func (e CodeAccepted) Payload() any { return mailPayload{e.Email, e.IP} }

// Events that are not folded.
type (
	// LoginSucceeded says that a session was opened.
	LoginSucceeded struct {
		ID       string        `json:"id"` // of the user
		Email    string        `json:"email,omitempty"`
		IP       string        `json:"ip"`
		Provider string        `json:"provider"`
		Session  OpenedSession `json:"session"`
	}
	// OpenedSession is the session of a login.
	OpenedSession struct {
		ID      string `json:"id"`
		Expires string `json:"expires"` // UTC with milliseconds
	}
	// LoginFailed says that a login failed.
	LoginFailed struct {
		Email    string `json:"email,omitempty"`
		IP       string `json:"ip"`
		Provider string `json:"provider"`
	}
	// MFAFailed says that a code of the second factor was wrong.
	MFAFailed struct {
		Email string `json:"email,omitempty"`
		IP    string `json:"ip"`
	}
	// PasswordResetRequested says that somebody asked for a mail to choose a new
	// password, whether or not there is such an account.
	PasswordResetRequested struct {
		Email string `json:"email"`
		IP    string `json:"ip"`
	}
)

// EventType implements domain.Event.
func (LoginSucceeded) EventType() string { return "gateway.login.succeeded" }

// EventType implements domain.Event.
func (LoginFailed) EventType() string { return "gateway.login.failed" }

// EventType implements domain.Event.
func (MFAFailed) EventType() string { return "gateway.mfa.failed" }

// EventType implements domain.Event.
func (PasswordResetRequested) EventType() string { return "gateway.passwordReset.requested" }
