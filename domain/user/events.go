package user

type (
	// SignedUp says that somebody made an account for themselves.
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
	shownUser struct {
		User User `json:"user"`
	}
	shownSignup struct {
		User User   `json:"user"`
		IP   string `json:"ip"`
	}
	shownMail struct {
		Email string `json:"email"`
		IP    string `json:"ip"`
	}
)

// Payload implements domain.Shown: everything but the credentials.
func (e SignedUp) Payload() any { return shownSignup{e.User, e.IP} }

// Payload implements domain.Shown: everything but the credentials.
func (e Created) Payload() any { return shownUser{e.User} }

// Payload implements domain.Shown: everything but the credentials.
func (e Updated) Payload() any { return shownUser{e.User} }

// Payload implements domain.Shown: everything but the credentials.
func (e PasswordReset) Payload() any { return shownMail{e.Email, e.IP} }

// Payload implements domain.Shown: which code it was is nobody's business.
func (e CodeAccepted) Payload() any { return shownMail{e.Email, e.IP} }
