package accounts

import (
	"net/http"

	"github.com/google/uuid"

	"svc/commands/sessions"
	"svc/domain"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// sessionResponse is a session as it is answered.
type sessionResponse struct {
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

// toSessionResponses shows the live sessions of a user, the last seen first.
func toSessionResponses(live []sessions.Session, caller gateway.Caller) []sessionResponse {
	items := []sessionResponse{}
	for _, s := range live {
		items = append(items, sessionResponse{
			ID: s.ID, CreatedAt: s.CreatedAt.UTC().Format(domain.Timestamp), LastSeenAt: s.LastSeenAt.UTC().Format(domain.Timestamp),
			Expires: s.Expires.UTC().Format(domain.Timestamp), IP: s.IP, UserAgent: s.UserAgent, Provider: s.Provider, ClientID: s.ClientID,
			MFA: s.MFA, Current: s.ID == caller.SessionID,
		})
	}
	return items
}

// ListSessions handles GET /v2/user/sessions.
func (h *Handlers) ListSessions(r *http.Request) (any, error) {
	caller := gateway.CallerFrom(r.Context())
	live, err := h.Accounts.SessionsOf(r.Context(), caller.UserID)
	return handler.ListAll(r, toSessionResponses(live, caller), err)
}

// EndSession handles DELETE /v2/user/sessions/{id}.
func (h *Handlers) EndSession(r *http.Request) (any, error) {
	id, caller := gateway.Var(r, "id"), gateway.CallerFrom(r.Context())
	if uuid.Validate(id) != nil {
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such session").With("resource", "session").With("id", id)
	}
	if err := h.Accounts.EndSession(r.Context(), caller.UserID, id); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	if id == caller.SessionID {
		return signOutResponse(r, handler.IDResponse(id)), nil
	}
	return handler.IDResponse(id), nil
}

// ListUserSessions handles GET /v2/users/{userId}/sessions.
func (h *Handlers) ListUserSessions(r *http.Request) (any, error) {
	live, err := h.sessionsOf(r)
	return handler.ListAll(r, toSessionResponses(live, gateway.CallerFrom(r.Context())), err)
}

// EndUserSessions handles DELETE /v2/users/{userId}/sessions.
func (h *Handlers) EndUserSessions(r *http.Request) (any, error) {
	if _, err := h.sessionsOf(r); err != nil {
		return nil, err
	}
	id := gateway.Var(r, "userId")
	if err := h.Accounts.EndSessions(r.Context(), id); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return handler.IDResponse(id), nil
}

// sessionsOf returns the live sessions of the user in the path. A visitor has
// sessions without having an account.
func (h *Handlers) sessionsOf(r *http.Request) (live []sessions.Session, err error) {
	id := gateway.Var(r, "userId")
	if !userIDForm.MatchString(id) {
		return nil, handler.NoUser(id)
	}
	if live, err = h.Accounts.SessionsOf(r.Context(), id); err == nil && len(live) == 0 {
		_, err = handler.FindUser(h.ReadModel, id, "")
	}
	return live, err
}
