package api

import (
	"net/http"

	"github.com/google/uuid"

	"svc/commands/sessions"
	"svc/domain"
	"svc/http/gateway"
)

// shownSession is a session as it is answered.
type shownSession struct {
	ID         string `json:"id"`
	CreatedAt  string `json:"createdAt"`
	LastSeenAt string `json:"lastSeenAt"`
	Expires    string `json:"expires"`
	IP         string `json:"ip"`
	UserAgent  string `json:"userAgent"`
	Provider   string `json:"provider"`
	ClientID   string `json:"clientId,omitempty"`
	MFA        bool   `json:"mfa"`
	Current    bool   `json:"current"` // the caller's own
}

// showSessions shows the live sessions of a user, the last seen first.
func showSessions(live []sessions.Session, caller gateway.Caller) []shownSession {
	shown := []shownSession{}
	for _, s := range live {
		shown = append(shown, shownSession{
			ID: s.ID, CreatedAt: s.CreatedAt.UTC().Format(domain.Timestamp), LastSeenAt: s.LastSeenAt.UTC().Format(domain.Timestamp),
			Expires: s.Expires.UTC().Format(domain.Timestamp), IP: s.IP, UserAgent: s.UserAgent, Provider: s.Provider, ClientID: s.ClientID,
			MFA: s.MFA, Current: s.ID == caller.SessionID,
		})
	}
	return shown
}

// listSessions handles GET /v2/user/sessions.
func listSessions(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		caller := gateway.CallerFrom(r.Context())
		live, err := d.Accounts.SessionsOf(r.Context(), caller.UserID)
		return wholeList(r, showSessions(live, caller), err)
	}
}

// endSession handles DELETE /v2/user/sessions/{id}.
func endSession(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		id, caller := gateway.Var(r, "id"), gateway.CallerFrom(r.Context())
		if uuid.Validate(id) != nil {
			return nil, domain.Refuse(domain.CodeNotFound, "there is no such session").With("resource", "session").With("id", id)
		}
		if err := d.Accounts.EndSession(r.Context(), caller.UserID, id); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		if id == caller.SessionID {
			return signedOut(r, idOf(id)), nil
		}
		return idOf(id), nil
	}
}

// listUserSessions handles GET /v2/users/{userId}/sessions.
func listUserSessions(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		live, err := sessionsOf(d, r)
		return wholeList(r, showSessions(live, gateway.CallerFrom(r.Context())), err)
	}
}

// endUserSessions handles DELETE /v2/users/{userId}/sessions.
func endUserSessions(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		if _, err := sessionsOf(d, r); err != nil {
			return nil, err
		}
		id := gateway.Var(r, "userId")
		if err := d.Accounts.EndSessions(r.Context(), id); err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return idOf(id), nil
	}
}

// sessionsOf returns the live sessions of the user in the path. A visitor has
// sessions without having an account.
func sessionsOf(d Deps, r *http.Request) (live []sessions.Session, err error) {
	id := gateway.Var(r, "userId")
	if !userIDForm.MatchString(id) {
		return nil, noUser(id)
	}
	if live, err = d.Accounts.SessionsOf(r.Context(), id); err == nil && len(live) == 0 {
		_, err = findUser(d, id, "")
	}
	return live, err
}
