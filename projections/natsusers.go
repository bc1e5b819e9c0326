package projections

import (
	"encoding/json"

	"svc/domain"
	"svc/domain/natsuser"
)

// NATSUsers is the read model of the programs of others that may watch events over
// NATS. Those that were removed are not in it.
//
//	{id}  JSON
type NATSUsers struct{}

// NATSUser is a program as it is known.
type NATSUser struct {
	natsuser.User
	CreatedAt string `json:"createdAt"`
	CreatedBy string `json:"createdBy,omitempty"` // "" for the operator on the host
}

// Name implements Projection.
func (NATSUsers) Name() string { return "natsusers.1" }

// Log implements Projection.
func (NATSUsers) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (NATSUsers) Apply(tx Tx, ev domain.Recorded) error {
	switch e := ev.Data.(type) {
	case natsuser.Created:
		body, err := json.Marshal(NATSUser{User: e.User, CreatedAt: stamp(ev.At), CreatedBy: ev.Meta.UserID})
		if err != nil {
			return err
		}
		return tx.Set([]byte(e.ID), body)
	case natsuser.Deleted:
		return tx.Delete([]byte(e.ID))
	}
	return nil
}

// Get returns the user with an id; ok is false when there is none.
func (p NATSUsers) Get(r Reader, id string) (u NATSUser, ok bool, err error) {
	body, ok, err := r.Get(p, []byte(id))
	if err != nil || !ok {
		return u, false, err
	}
	err = json.Unmarshal(body, &u)
	return u, err == nil, err
}

// List returns all users, in the order of their ids.
func (p NATSUsers) List(r Reader) (all []NATSUser, err error) {
	err = r.Iterate(p, Span{}, func(_, value []byte) (bool, error) {
		var u NATSUser
		err := json.Unmarshal(value, &u)
		all = append(all, u)
		return true, err
	})
	return all, err
}
