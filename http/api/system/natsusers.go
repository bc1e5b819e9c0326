package system

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/accesstoken"
	"svc/domain/natsuser"
	"svc/http/api/handler"
	"svc/http/gateway"
	"svc/projections"
)

// NATSUsers lets programs of others watch events over NATS. It is a commands.NATSUsers.
type NATSUsers interface {
	Create(ctx context.Context, publicKey string, terms natsuser.Terms) (made commands.NATSUser, jwt string, err error)
	Delete(ctx context.Context, id string) (commands.NATSUser, error)
}

// natsUserRequest is the body of POST /sys/nats/users.
type natsUserRequest struct {
	Name       *string  `json:"name"`
	PublicKey  *string  `json:"publicKey"`
	Workspaces []string `json:"workspaces"`
	All        bool     `json:"all"`
	Types      []string `json:"types"`
	ExpiresAt  *string  `json:"expiresAt"`
}

// natsUserResponse is a user as it is answered.
type natsUserResponse struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Workspaces []string `json:"workspaces"`
	All        bool     `json:"all"`
	Types      []string `json:"types"`
	PublicKey  string   `json:"publicKey"`
	ExpiresAt  string   `json:"expiresAt,omitempty"`
	CreatedAt  string   `json:"createdAt,omitempty"`
	CreatedBy  string   `json:"createdBy,omitempty"`
}

// createdNATSUserResponse is the answer of POST /sys/nats/users.
type createdNATSUserResponse struct {
	natsUserResponse
	JWT       string `json:"jwt"`
	Listening bool   `json:"listening"` // whether NATS_LISTEN is set
}

// ListNATSUsers handles GET /sys/nats/users.
func (h *Handlers) ListNATSUsers(r *http.Request) (any, error) {
	rd := h.ReadModel.Reader()
	defer rd.Close()
	all, err := projections.NATSUsers{}.List(rd)
	var items []natsUserResponse
	for _, u := range all {
		items = append(items, toNATSUserResponse(u))
	}
	return handler.ListAll(r, items, err)
}

// CreateNATSUser handles POST /sys/nats/users.
func (h *Handlers) CreateNATSUser(r *http.Request) (any, error) {
	var in natsUserRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	switch {
	case in.PublicKey == nil:
		return nil, handler.MissingField("publicKey")
	case in.Name == nil:
		return nil, handler.MissingField("name")
	}
	terms, err := in.terms(h)
	if err != nil {
		return nil, err
	}
	made, jwt, err := h.NATSUsers.Create(r.Context(), *in.PublicKey, terms)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	created := toNATSUserResponse(projections.NATSUser{User: made.State.User})
	return gateway.Created(createdNATSUserResponse{created, jwt, h.NATSListening}, "/sys/nats/users/"+created.ID), nil
}

// DeleteNATSUser handles DELETE /sys/nats/users/{id}. Those who are connected are cut
// off when this node, and the others, have heard of it.
func (h *Handlers) DeleteNATSUser(r *http.Request) (any, error) {
	done, err := h.NATSUsers.Delete(r.Context(), gateway.Var(r, "id"))
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return map[string]string{"id": done.State.ID}, nil
}

func (in natsUserRequest) terms(h *Handlers) (terms natsuser.Terms, err error) {
	terms = natsuser.Terms{Name: *in.Name, All: in.All, Types: in.Types}
	if in.ExpiresAt != nil {
		if terms.ExpiresAt, err = accesstoken.ParseExpiry(*in.ExpiresAt); err != nil {
			return terms, err
		}
		terms.ExpiresAt = terms.ExpiresAt.UTC().Truncate(time.Second) // what a JWT can say
	}
	rd := h.ReadModel.Reader()
	defer rd.Close()
	for i, name := range in.Workspaces {
		id, err := findLiveWorkspace(rd, name)
		if err != nil {
			return terms, err
		}
		if id == "" {
			return terms, domain.Invalid(domain.FieldError{Field: fmt.Sprintf("workspaces.%d", i), Message: "is not the id or slug of a workspace"})
		}
		terms.Workspaces = append(terms.Workspaces, id)
	}
	return terms, nil
}

// findLiveWorkspace returns the id of the workspace that somebody names by its id, its
// slug, or slug:{slug}; "" when there is none.
func findLiveWorkspace(rd projections.Reader, name string) (string, error) {
	id, err := handler.ResolveWorkspace(rd, name)
	if err != nil {
		return "", err
	}
	rec, found, err := projections.Workspaces{}.Record(rd, id)
	if err != nil || found && rec.Deleted == nil {
		return id, err
	}
	return projections.Workspaces{}.BySlug(rd, name)
}

func toNATSUserResponse(u projections.NATSUser) natsUserResponse {
	return natsUserResponse{
		ID: u.ID, Name: u.Name, Workspaces: append([]string{}, u.Workspaces...), All: u.All, Types: append([]string{}, u.Types...),
		PublicKey: u.PublicKey, ExpiresAt: handler.FormatTime(u.ExpiresAt), CreatedAt: u.CreatedAt, CreatedBy: u.CreatedBy,
	}
}
