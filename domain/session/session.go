// Package session is the end of a session. A session itself is kept only for
// its time, outside the log; that it ended before is a fact that every node must
// know at once and for ever.
package session

import (
	"time"

	"svc/domain"
)

// Decider is the rule of sessions.
var Decider = domain.Decider[State, End]{Kind: "session", Version: 1, Decide: decide, Evolve: evolve}

// Stream returns the stream of the session with this id.
func Stream(id string) domain.StreamID { return Decider.Stream(domain.Platform, id) }

// The causes of an end.
const (
	CauseLogout      = "logout"      // its user left
	CauseRevoked     = "revoked"     // its user, or a super admin, ended it
	CausePassword    = "password"    // the password changed
	CauseDeactivated = "deactivated" // the account was deactivated
	CauseDeleted     = "deleted"     // the account was deleted
	CauseReuse       = "reuse"       // a code or refresh token was shown twice
)

// State says whether the session has ended.
type State struct {
	Ended bool `json:"ended,omitempty"`
}

// End ends a session before its time, which is told for those who remember it
// no longer than needed.
type End struct {
	SessionID, UserID, Cause string
	Expires                  time.Time
}

// Ended says that a session ended before its time.
type Ended struct {
	SessionID string    `json:"sessionId"`
	UserID    string    `json:"userId"`
	Cause     string    `json:"cause"`
	Expires   time.Time `json:"expires"`
}

// EventType implements domain.Event.
func (Ended) EventType() string { return "gateway.sessions.ended" }

func decide(s State, c End) ([]domain.Event, error) {
	if s.Ended {
		return nil, nil
	}
	return []domain.Event{Ended(c)}, nil
}

func evolve(s State, ev domain.Event) State {
	if _, ok := ev.(Ended); ok {
		s.Ended = true
	}
	return s
}
