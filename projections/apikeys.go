package projections

import (
	"encoding/json"
	"errors"
	"fmt"

	"svc/domain"
	"svc/domain/apikey"
)

// APIKeys is the read model of API keys.
//
//	k{id}                    JSON
//	h{hash}                  id
//	w{workspaceId}\x00{id}   nothing
type APIKeys struct{}

// APIKey is a key as it is known: never its value.
type APIKey struct {
	apikey.State
	Seq       uint64 `json:"seq"` // of its last event
	CreatedAt string `json:"createdAt"`
	CreatedBy string `json:"createdBy"`
	UpdatedAt string `json:"updatedAt"`
	UpdatedBy string `json:"updatedBy"`
}

// Name implements Projection.
func (APIKeys) Name() string { return "apikeys.1" }

// Log implements Projection.
func (APIKeys) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (k APIKeys) Apply(tx Tx, ev domain.Recorded) error {
	switch ev.Data.(type) {
	case apikey.Created:
		made := APIKey{CreatedAt: ev.At.UTC().Format(timestamp), CreatedBy: ev.Meta.UserID}
		made.State = apikey.Decider.Evolve(made.State, ev.Data)
		if err := tx.Set(keyHashKey(made.Hash), []byte(made.ID)); err != nil {
			return err
		}
		if err := tx.Set(keyOfKey(made.WorkspaceID, made.ID), nil); err != nil {
			return err
		}
		return k.put(tx, ev, made)
	case apikey.Updated:
		have, err := k.find(tx, ev.Stream.ID)
		if err != nil {
			return err
		}
		have.State = apikey.Decider.Evolve(have.State, ev.Data)
		return k.put(tx, ev, have)
	case apikey.Deleted:
		have, err := k.find(tx, ev.Stream.ID)
		if err != nil {
			return err
		}
		return errors.Join(tx.Delete(keyKey(have.ID)), tx.Delete(keyHashKey(have.Hash)), tx.Delete(keyOfKey(have.WorkspaceID, have.ID)))
	}
	return nil
}

func (APIKeys) find(tx Tx, id string) (have APIKey, err error) {
	value, ok, err := tx.Get(keyKey(id))
	if err != nil {
		return have, err
	}
	if !ok {
		return have, fmt.Errorf("API key %s was never created", id)
	}
	return have, json.Unmarshal(value, &have)
}

func (APIKeys) put(tx Tx, ev domain.Recorded, key APIKey) error {
	key.Seq, key.UpdatedAt, key.UpdatedBy = ev.Seq, ev.At.UTC().Format(timestamp), ev.Meta.UserID
	body, err := json.Marshal(key)
	if err != nil {
		return err
	}
	return tx.Set(keyKey(key.ID), body)
}

// Get returns the key with this id.
func (k APIKeys) Get(r Reader, id string) (key APIKey, ok bool, err error) {
	value, ok, err := r.Get(k, keyKey(id))
	if err != nil || !ok {
		return key, false, err
	}
	err = json.Unmarshal(value, &key)
	return key, err == nil, err
}

// ByHash returns the key whose value has this hash.
func (k APIKeys) ByHash(r Reader, hash string) (key APIKey, ok bool, err error) {
	id, ok, err := r.Get(k, keyHashKey(hash))
	if err != nil || !ok {
		return key, false, err
	}
	return k.Get(r, string(id))
}

// Of returns the keys of a workspace, in the order of their ids.
func (k APIKeys) Of(r Reader, workspaceID string) (keys []APIKey, err error) {
	prefix := keyOfKey(workspaceID, "")
	err = r.Iterate(k, Span{Prefix: prefix, KeysOnly: true}, func(at, _ []byte) (bool, error) {
		key, ok, err := k.Get(r, string(at[len(prefix):]))
		if ok {
			keys = append(keys, key)
		}
		return true, err
	})
	return keys, err
}

func keyKey(id string) []byte       { return append([]byte{'k'}, id...) }
func keyHashKey(hash string) []byte { return append([]byte{'h'}, hash...) }

func keyOfKey(workspaceID, id string) []byte {
	return append(append(append([]byte{'w'}, workspaceID...), 0), id...)
}
