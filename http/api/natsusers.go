package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/accesstoken"
	"svc/domain/natsuser"
	"svc/http/gateway"
	"svc/projections"
)

// NATSUsers lets programs of others watch events over NATS. It is a commands.NATSUsers.
type NATSUsers interface {
	Create(ctx context.Context, publicKey string, terms natsuser.Terms) (made commands.NATSUser, jwt string, err error)
	Delete(ctx context.Context, id string) (commands.NATSUser, error)
}

// natsUserBody is the body of POST /sys/nats/users.
type natsUserBody struct {
	Name       *string  `json:"name"`
	PublicKey  *string  `json:"publicKey"`
	Workspaces []string `json:"workspaces"`
	All        bool     `json:"all"`
	Types      []string `json:"types"`
	ExpiresAt  *string  `json:"expiresAt"`
}

// shownNATSUser is a user as it is answered.
type shownNATSUser struct {
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

// madeNATSUser is the answer of POST /sys/nats/users.
type madeNATSUser struct {
	shownNATSUser
	JWT       string `json:"jwt"`
	Listening bool   `json:"listening"` // whether NATS_LISTEN is set
}

// listNATSUsers handles GET /sys/nats/users.
func listNATSUsers(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var shown []shownNATSUser
		err := d.ReadModel.View(func(rd projections.Reader) error {
			all, err := projections.NATSUsers{}.List(rd)
			for _, u := range all {
				shown = append(shown, showNATSUser(u))
			}
			return err
		})
		return wholeList(r, shown, err)
	}
}

// createNATSUser handles POST /sys/nats/users.
func createNATSUser(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		var in natsUserBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		switch {
		case in.PublicKey == nil:
			return nil, missing("publicKey")
		case in.Name == nil:
			return nil, missing("name")
		}
		terms, err := in.terms(d)
		if err != nil {
			return nil, err
		}
		made, jwt, err := d.NATSUsers.Create(r.Context(), *in.PublicKey, terms)
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		shown := showNATSUser(projections.NATSUser{User: made.State.User})
		return gateway.Created(madeNATSUser{shown, jwt, d.NATSListening}, "/sys/nats/users/"+shown.ID), nil
	}
}

// deleteNATSUser handles DELETE /sys/nats/users/{id}. Those who are connected are cut
// off when this node, and the others, have heard of it.
func deleteNATSUser(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		done, err := d.NATSUsers.Delete(r.Context(), gateway.Var(r, "id"))
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return map[string]string{"id": done.State.ID}, nil
	}
}

func (in natsUserBody) terms(d Deps) (terms natsuser.Terms, err error) {
	terms = natsuser.Terms{Name: *in.Name, All: in.All, Types: in.Types}
	if in.ExpiresAt != nil {
		if terms.ExpiresAt, err = accesstoken.ParseExpiry(*in.ExpiresAt); err != nil {
			return terms, err
		}
		terms.ExpiresAt = terms.ExpiresAt.UTC().Truncate(time.Second) // what a JWT can say
	}
	err = d.ReadModel.View(func(rd projections.Reader) error {
		for i, name := range in.Workspaces {
			id, err := livingWorkspace(rd, name)
			if err != nil {
				return err
			}
			if id == "" {
				return domain.Invalid(domain.FieldError{Field: fmt.Sprintf("workspaces.%d", i), Message: "is not the id or slug of a workspace"})
			}
			terms.Workspaces = append(terms.Workspaces, id)
		}
		return nil
	})
	return terms, err
}

// livingWorkspace returns the id of the workspace that somebody names by its id, its
// slug, or slug:{slug}; "" when there is none.
func livingWorkspace(rd projections.Reader, name string) (string, error) {
	id, err := namedWorkspace(rd, name)
	if err != nil {
		return "", err
	}
	rec, found, err := projections.Workspaces{}.Record(rd, id)
	if err != nil || found && rec.Deleted == nil {
		return id, err
	}
	return projections.Workspaces{}.BySlug(rd, name)
}

func showNATSUser(u projections.NATSUser) shownNATSUser {
	shown := shownNATSUser{
		ID: u.ID, Name: u.Name, Workspaces: append([]string{}, u.Workspaces...), All: u.All, Types: append([]string{}, u.Types...),
		PublicKey: u.PublicKey, CreatedAt: u.CreatedAt, CreatedBy: u.CreatedBy,
	}
	if !u.ExpiresAt.IsZero() {
		shown.ExpiresAt = u.ExpiresAt.UTC().Format(domain.Timestamp)
	}
	return shown
}
