package projections

import (
	"encoding/json"
	"errors"
	"fmt"

	"svc/domain"
	"svc/domain/apikey"
)

// APIKeys is the read model of API keys. A request is admitted with one look.
//
//	h{hash}                  JSON
//	k{id}                    hash
//	w{workspaceId}\x00{id}   nothing
type APIKeys struct{}

// APIKey is a key as it is known: never its value.
type APIKey struct {
	apikey.State
	CreatedAt string `json:"createdAt"`
	CreatedBy string `json:"createdBy"`
	UpdatedAt string `json:"updatedAt"`
	UpdatedBy string `json:"updatedBy"`
}

// Name implements Projection.
func (APIKeys) Name() string { return "apikeys.2" }

// Log implements Projection.
func (APIKeys) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (k APIKeys) Apply(tx Tx, ev domain.Recorded) error {
	switch ev.Data.(type) {
	case apikey.Created:
		made := APIKey{CreatedAt: stamp(ev.At), CreatedBy: ev.Meta.UserID}
		made.State = apikey.Decider.Evolve(made.State, ev.Data)
		if err := tx.Set(keyKey(made.ID), []byte(made.Hash)); err != nil {
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
	hash, ok, err := tx.Get(keyKey(id))
	if err != nil {
		return have, err
	}
	value, there, err := tx.Get(keyHashKey(string(hash)))
	if err != nil {
		return have, err
	}
	if !ok || !there {
		return have, fmt.Errorf("API key %s was never created", id)
	}
	return ParseAPIKey(value)
}

func (APIKeys) put(tx Tx, ev domain.Recorded, key APIKey) error {
	key.UpdatedAt, key.UpdatedBy = stamp(ev.At), ev.Meta.UserID
	body, err := json.Marshal(key)
	if err != nil {
		return err
	}
	return tx.Set(keyHashKey(key.Hash), body)
}

// Get returns the key with this id.
func (k APIKeys) Get(r Reader, id string) (key APIKey, ok bool, err error) {
	hash, ok, err := r.Get(k, keyKey(id))
	if err != nil || !ok {
		return key, false, err
	}
	return k.ByHash(r, string(hash))
}

// ByHash returns the key whose value has this hash.
func (k APIKeys) ByHash(r Reader, hash string) (key APIKey, ok bool, err error) {
	value, ok, err := k.Stored(r, hash)
	if err != nil || !ok {
		return key, false, err
	}
	key, err = ParseAPIKey(value)
	return key, err == nil, err
}

// Stored is ByHash for whoever may have made something of the same bytes before.
func (k APIKeys) Stored(r Reader, hash string) (value []byte, ok bool, err error) {
	return r.Get(k, keyHashKey(hash))
}

// ParseAPIKey reads what Stored returned.
func ParseAPIKey(value []byte) (key APIKey, err error) { return key, json.Unmarshal(value, &key) }

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
