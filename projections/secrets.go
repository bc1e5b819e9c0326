package projections

import (
	"encoding/json"

	"svc/domain"
	"svc/domain/workspace"
)

// Secrets is the read model of the secrets of workspaces, still sealed.
//
//	s{workspace}\0{name}  SecretRecord
type Secrets struct{}

// SecretRecord is a secret with its history.
type SecretRecord struct {
	workspace.Secret
	CreatedAt string `json:"createdAt"`
	CreatedBy string `json:"createdBy"`
	UpdatedAt string `json:"updatedAt"`
	UpdatedBy string `json:"updatedBy"`
}

// Name implements Projection.
func (Secrets) Name() string { return "secrets.1" }

// Log implements Projection.
func (Secrets) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (Secrets) Apply(tx Tx, ev domain.Recorded) error {
	e, ok := ev.Data.(workspace.SecretsUpdated)
	if !ok {
		return nil
	}
	for _, name := range e.Deleted {
		if err := tx.Delete(scopedKey('s', ev.Stream.ID, []byte(name))); err != nil {
			return err
		}
	}
	for name, secret := range e.Values {
		key := scopedKey('s', ev.Stream.ID, []byte(name))
		at := domain.FormatTime(ev.At)
		rec := SecretRecord{CreatedAt: at, CreatedBy: ev.Meta.UserID}
		if err := getJSON(tx, key, &rec); err != nil {
			return err
		}
		rec.Secret, rec.UpdatedAt, rec.UpdatedBy = secret, at, ev.Meta.UserID
		if err := setJSON(tx, key, rec); err != nil {
			return err
		}
	}
	return nil
}

// List visits the secrets of a workspace by name until visit returns false.
func (s Secrets) List(r Reader, id string, visit func(name string, rec SecretRecord) (more bool)) error {
	prefix := scopedKey('s', id, nil)
	return r.Iterate(s, Span{Prefix: prefix}, func(key, value []byte) (bool, error) {
		var rec SecretRecord
		if err := json.Unmarshal(value, &rec); err != nil {
			return false, err
		}
		return visit(string(key[len(prefix):]), rec), nil
	})
}
