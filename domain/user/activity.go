package user

// What is only told, and never folded.
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
	// LoginFailed says that somebody was not let in.
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
