package workspaces

import (
	"context"
	"net/http"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/access"
	"svc/domain/accesstoken"
	"svc/domain/apikey"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// Keys changes API keys. It is a commands.APIKeys.
type Keys interface {
	Create(ctx context.Context, workspaceID string, terms apikey.Terms) (made commands.APIKey, value string, err error)
	Change(ctx context.Context, workspaceID, id string, terms apikey.Terms) (commands.APIKey, error)
	Delete(ctx context.Context, workspaceID, id string) (commands.APIKey, error)
}

// apiKeyRequest is the body of POST and PUT …/security/apikeys.
type apiKeyRequest struct {
	Name      *string               `json:"name"`
	Rules     *[]access.KeyGrant    `json:"rules"`
	ExpiresAt handler.Field[string] `json:"expiresAt"`
	Disabled  bool                  `json:"disabled"`
}

// apiKeyResponse is an API key as it is answered.
type apiKeyResponse struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Rules       []access.KeyRule `json:"rules"`
	SubjectType string           `json:"subjectType"`
	SubjectID   string           `json:"subjectId"`
	Last4       string           `json:"last4"`
	Disabled    bool             `json:"disabled,omitempty"`
	ExpiresAt   string           `json:"expiresAt,omitempty"`
	CreatedAt   string           `json:"createdAt"`
	CreatedBy   string           `json:"createdBy,omitempty"`
	UpdatedAt   string           `json:"updatedAt,omitempty"`
	UpdatedBy   string           `json:"updatedBy,omitempty"`
	LastUsedAt  string           `json:"lastUsedAt,omitempty"`
	APIKey      string           `json:"apiKey,omitempty"` // once
}

// Replayable implements gateway.Replayable: a repeat does not see the value.
func (k apiKeyResponse) Replayable() any {
	k.APIKey = ""
	return k
}

// ListAPIKeys handles GET …/security/apikeys.
func (h *Handlers) ListAPIKeys(r *http.Request) (any, error) {
	page, err := handler.OptionalPage(r)
	if err != nil {
		return nil, err
	}
	keys, err := projections.Read(h.ReadModel, projections.APIKeys{}.Of, handler.WorkspaceID(r))
	if err != nil {
		return nil, err
	}
	items := []apiKeyResponse{}
	for _, key := range gateway.PageOf(keys, page) {
		item := toAPIKeyResponse(key)
		if item.LastUsedAt, err = handler.LastUsed(r.Context(), h.LastUsed, key.ID); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return gateway.List(r, items, len(keys), page), nil
}

// CreateAPIKey handles POST …/security/apikeys.
func (h *Handlers) CreateAPIKey(r *http.Request) (any, error) {
	terms, err := readAPIKeyTerms(r)
	if err != nil {
		return nil, err
	}
	made, value, err := h.APIKeys.Create(r.Context(), handler.WorkspaceID(r), terms)
	if err != nil {
		return nil, err
	}
	response := h.savedAPIKeyResponse(r, made)
	response.APIKey = value
	return gateway.Created(response, handler.Location(r, response.ID)), nil
}

// UpdateAPIKey handles PUT …/security/apikeys/{idOrValue}.
func (h *Handlers) UpdateAPIKey(r *http.Request) (any, error) {
	id, err := h.findAPIKey(r)
	if err != nil {
		return nil, err
	}
	terms, err := readAPIKeyTerms(r)
	if err != nil {
		return nil, err
	}
	changed, err := h.APIKeys.Change(r.Context(), handler.WorkspaceID(r), id, terms)
	if err != nil {
		return nil, err
	}
	return h.savedAPIKeyResponse(r, changed), nil
}

// DeleteAPIKey handles DELETE …/security/apikeys/{idOrValue}.
func (h *Handlers) DeleteAPIKey(r *http.Request) (any, error) {
	id, err := h.findAPIKey(r)
	if err != nil {
		return nil, err
	}
	if _, err := h.APIKeys.Delete(r.Context(), handler.WorkspaceID(r), id); err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return map[string]string{"id": id}, nil
}

// readAPIKeyTerms reads what a key is to hold and refuses what its maker does not.
func readAPIKeyTerms(r *http.Request) (terms apikey.Terms, err error) {
	var in apiKeyRequest
	if err := gateway.Decode(r, &in); err != nil {
		return terms, err
	}
	switch {
	case in.Name == nil:
		return terms, handler.MissingField("name")
	case in.Rules == nil:
		return terms, handler.MissingField("rules")
	}
	terms = apikey.Terms{Name: *in.Name, Disabled: in.Disabled}
	if in.ExpiresAt.Value != nil {
		if terms.ExpiresAt, err = accesstoken.ParseExpiry(*in.ExpiresAt.Value); err != nil {
			return terms, err
		}
		terms.ExpiresAt = terms.ExpiresAt.UTC().Truncate(time.Millisecond)
	}
	if err := checkKeyLifetime(gateway.CallerFrom(r.Context()), terms.ExpiresAt); err != nil {
		return terms, err
	}
	if terms.Rules, err = access.ScopeKey(handler.WorkspaceID(r), *in.Rules); err != nil {
		return terms, err
	}
	return terms, gateway.GrantFrom(r.Context()).Rights.CheckGrant(terms.Rules)
}

// checkKeyLifetime refuses to let a key make a key that lasts longer than itself.
func checkKeyLifetime(c gateway.Caller, expires time.Time) error {
	if c.Kind != gateway.KindAPIKey || c.Expires.IsZero() || !expires.IsZero() && !expires.After(c.Expires) {
		return nil
	}
	return domain.Refuse(domain.CodePermissionDenied, "a key cannot make or become one that lasts longer than itself")
}

// findAPIKey returns the id of the key that the path names, by id or by value.
func (h *Handlers) findAPIKey(r *http.Request) (string, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	name := gateway.Var(r, "idOrValue")
	key, ok, err := projections.APIKeys{}.Get(rd, name)
	if err == nil && !ok {
		key, ok, err = projections.APIKeys{}.ByHash(rd, domain.HashSecret(name))
	}
	if err == nil && (!ok || key.WorkspaceID != handler.WorkspaceID(r)) {
		err = domain.Refuse(domain.CodeNotFound, "there is no such API key").With("resource", "apiKey")
	}
	return key.ID, err
}

// savedAPIKeyResponse is the answer to a write: the key as a read would show it now.
func (h *Handlers) savedAPIKeyResponse(r *http.Request, done commands.APIKey) apiKeyResponse {
	handler.AwaitVisible(r.Context(), h.ReadModel)
	key, ok, err := projections.Find(h.ReadModel, projections.APIKeys{}.Get, done.State.ID)
	if err != nil || !ok { // the write has happened: without its times then
		key = projections.APIKey{State: done.State}
	}
	return toAPIKeyResponse(key)
}

func toAPIKeyResponse(k projections.APIKey) apiKeyResponse {
	return apiKeyResponse{
		ID: k.ID, Name: k.Name, Rules: k.Rules, SubjectType: apikey.SubjectType, SubjectID: k.WorkspaceID, Last4: k.Last4,
		Disabled: k.Disabled, CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy, UpdatedAt: k.UpdatedAt, UpdatedBy: k.UpdatedBy,
		ExpiresAt: handler.FormatTime(k.ExpiresAt),
	}
}
