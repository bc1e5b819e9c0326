package accounts

import (
	"net/http"
	"regexp"
	"time"

	"svc/commands/accounts"
	"svc/domain"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// accessTokenResponse is an access token as it is answered.
type accessTokenResponse struct {
	OldID      string `json:"_id"` // the same as id
	ID         string `json:"id"`
	Name       string `json:"name"`
	ExpiresAt  string `json:"expiresAt"`
	UserID     string `json:"userId"`
	CreatedAt  string `json:"createdAt"`
	LastUsedAt string `json:"lastUsedAt,omitempty"`
	Token      string `json:"token,omitempty"` // once
}

// Replayable implements gateway.Replayable: a repeat does not see the value.
func (t accessTokenResponse) Replayable() any {
	t.Token = ""
	return t
}

func toAccessTokenResponse(id, userID, name string, expires, created time.Time) accessTokenResponse {
	return accessTokenResponse{
		OldID: id, ID: id, Name: name, UserID: userID,
		ExpiresAt: expires.UTC().Format(domain.Timestamp), CreatedAt: created.UTC().Format(domain.Timestamp),
	}
}

// ListAccessTokens handles GET /v2/user/accessTokens.
func (h *Handlers) ListAccessTokens(r *http.Request) (any, error) {
	tokens, err := projections.Read(h.ReadModel, projections.AccessTokens{}.Of, gateway.CallerFrom(r.Context()).UserID)
	if err != nil {
		return nil, err
	}
	items := []accessTokenResponse{}
	for _, t := range tokens {
		item := toAccessTokenResponse(t.ID, t.UserID, t.Name, t.ExpiresAt, t.CreatedAt)
		if item.LastUsedAt, err = handler.LastUsed(r.Context(), h.LastUsed, t.ID); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return handler.ListAll(r, items, nil)
}

// CreateAccessToken handles POST /v2/user/accessTokens.
func (h *Handlers) CreateAccessToken(r *http.Request) (any, error) {
	var in struct {
		Name      *string `json:"name"`
		ExpiresAt *string `json:"expiresAt"`
	}
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if err := handler.RequireFields(handler.Text("name", in.Name), handler.Text("expiresAt", in.ExpiresAt)); err != nil {
		return nil, err
	}
	by, err := h.callerSession(r)
	if err != nil {
		return nil, err
	}
	made, err := h.Accounts.CreateAccessToken(r.Context(), by, *in.Name, *in.ExpiresAt)
	if err != nil {
		return nil, err
	}
	return gateway.Created(h.createdTokenResponse(r, made), handler.Location(r, made.ID)), nil
}

// createdTokenResponse is a new token as a list shows it now, with its value.
func (h *Handlers) createdTokenResponse(r *http.Request, made accounts.AccessToken) accessTokenResponse {
	handler.AwaitVisible(r.Context(), h.ReadModel)
	found, ok, err := projections.Find(h.ReadModel, projections.AccessTokens{}.ByHash, domain.HashSecret(made.Token))
	if err == nil && ok { // else with our own time: the write has happened
		made.CreatedAt = found.CreatedAt
	}
	response := toAccessTokenResponse(made.ID, made.UserID, made.Name, made.ExpiresAt, made.CreatedAt)
	response.Token = made.Token
	return response
}

// tokenNameForm is the id of an access token, or its value.
var tokenNameForm = regexp.MustCompile(`^(tok_[0-9a-f]{24}|at:[0-9a-f]{24}[0-9A-Za-z_-]{43})$`)

// DeleteAccessToken handles DELETE /v2/user/accessTokens/{idOrToken}.
func (h *Handlers) DeleteAccessToken(r *http.Request) (any, error) {
	name := gateway.Var(r, "idOrToken")
	if !tokenNameForm.MatchString(name) { // not repeated in the answer: it may be part of one
		return nil, domain.Refuse(domain.CodeNotFound, "there is no such access token").With("resource", "accessToken")
	}
	id, err := h.Accounts.DeleteAccessToken(r.Context(), gateway.CallerFrom(r.Context()).UserID, name)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return handler.IDResponse(id), nil
}
