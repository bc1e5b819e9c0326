package projections

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc/domain"
	"svc/domain/accesstoken"
	"svc/domain/apikey"
	"svc/domain/keyring"
	"svc/domain/natsuser"
	"svc/domain/session"
	"svc/domain/user"
)

// Sessions is the read model of sessions that were ended before they expired, until they expire.
//
//	s{id}         nothing
//	x{expires}{id} nothing; to find expired entries
type Sessions struct{}

// Name implements Projection.
func (Sessions) Name() string { return "sessions.1" }

// Log implements Projection.
func (Sessions) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (s Sessions) Apply(tx Tx, ev domain.Recorded) error {
	ended, ok := ev.Data.(session.Ended)
	if !ok || !ended.Expires.After(ev.At) {
		return nil
	}
	if err := s.forget(tx, ev); err != nil {
		return err
	}
	if err := tx.Set(append([]byte{'s'}, ended.SessionID...), nil); err != nil {
		return err
	}
	return tx.Set(sessionExpiry(ended.Expires.UnixMilli(), ended.SessionID), nil)
}

// Expired entries are deleted now and then: a search at each event would make a rebuild slow.
const (
	forgetEvery  = 256 // sequences
	forgetAtOnce = 1000
)

// forget deletes sessions that had expired at the time of ev.
func (Sessions) forget(tx Tx, ev domain.Recorded) error {
	if ev.Seq%forgetEvery != 0 {
		return nil
	}
	var over [][]byte
	end := uint64(ev.At.UnixMilli())
	err := tx.Iterate(Span{Prefix: []byte{'x'}, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		if binary.BigEndian.Uint64(key[1:]) >= end || len(over) == forgetAtOnce {
			return false, nil
		}
		over = append(over, append([]byte(nil), key...))
		return true, nil
	})
	for _, key := range over {
		if err == nil {
			err = tx.Delete(key)
		}
		if err == nil {
			err = tx.Delete(append([]byte{'s'}, key[9:]...))
		}
	}
	return err
}

// Ended reports whether the session with this id was ended before it expired.
func (s Sessions) Ended(r Reader, id string) (bool, error) {
	_, ended, err := r.Get(s, append([]byte{'s'}, id...))
	return ended, err
}

func sessionExpiry(at int64, id string) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{'x'}, uint64(at)), id...)
}

// AccessTokens is the read model of access tokens, without those that were deleted, alone or with
// their user, and those that became void when the account got another owner.
//
//	h{hash}                the token
//	t{id}                  hash
//	u{user}\x00{seq}{id}   hash; seq is the sequence of its first event
//	d{user}                tokens of the user from before this sequence are void
type AccessTokens struct{}

// AccessToken is a token without its value.
type AccessToken struct {
	ID        string    `json:"id"`
	UserID    string    `json:"userId"`
	Name      string    `json:"name"`
	ExpiresAt time.Time `json:"expiresAt"`
	CreatedAt time.Time `json:"createdAt"`
	Hash      string    `json:"hash"` // SHA-256 of the token, in hex
	Seq       uint64    `json:"seq"`
}

// Name implements Projection.
func (AccessTokens) Name() string { return "accessTokens.1" }

// Log implements Projection.
func (AccessTokens) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (p AccessTokens) Apply(tx Tx, ev domain.Recorded) error {
	switch e := ev.Data.(type) {
	case accesstoken.Created:
		return p.create(tx, ev, e)
	case accesstoken.Deleted:
		return p.delete(tx, e.ID)
	case user.Deleted:
		return p.void(tx, ev, e.UserID)
	case user.Updated:
		if e.Disowned {
			return p.void(tx, ev, e.User.ID)
		}
	case user.PasswordReset:
		if e.Disowned {
			return p.void(tx, ev, e.User.ID)
		}
	}
	return nil
}

func (AccessTokens) create(tx Tx, ev domain.Recorded, e accesstoken.Created) error {
	t := AccessToken{ID: e.ID, UserID: e.UserID, Name: e.Name, ExpiresAt: e.Expiry(), CreatedAt: ev.At.UTC(), Hash: e.Hash, Seq: ev.Seq}
	body, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := tx.Set(tokenHashKey(e.Hash), body); err != nil {
		return err
	}
	if err := tx.Set(tokenKey(e.ID), []byte(e.Hash)); err != nil {
		return err
	}
	return tx.Set(tokenOrderKey(t), []byte(e.Hash))
}

// delete removes a token.
func (AccessTokens) delete(tx Tx, id string) error {
	hash, ok, err := tx.Get(tokenKey(id))
	if err != nil || !ok {
		return err
	}
	body, ok, err := tx.Get(tokenHashKey(string(hash)))
	if err != nil || !ok {
		return err
	}
	var t AccessToken
	if err := json.Unmarshal(body, &t); err != nil {
		return err
	}
	for _, key := range [][]byte{tokenHashKey(t.Hash), tokenKey(t.ID), tokenOrderKey(t)} {
		if err == nil {
			err = tx.Delete(key)
		}
	}
	return err
}

// void invalidates the tokens that a user created before ev.
func (AccessTokens) void(tx Tx, ev domain.Recorded, userID string) error {
	return tx.Set(voidKey(userID), binary.BigEndian.AppendUint64(nil, ev.Seq))
}

// ByHash returns the token whose SHA-256 is hash, in hex; ok is false when there
// is none. The caller checks whether it has expired, and whether its user is active.
func (p AccessTokens) ByHash(r Reader, hash string) (t AccessToken, ok bool, err error) {
	value, ok, err := r.Get(p, tokenHashKey(hash))
	if err != nil || !ok {
		return AccessToken{}, false, err
	}
	if err := json.Unmarshal(value, &t); err != nil {
		return AccessToken{}, false, err
	}
	void, found, err := r.Get(p, voidKey(t.UserID))
	if err != nil || found && t.Seq < binary.BigEndian.Uint64(void) {
		return AccessToken{}, false, err
	}
	return t, true, nil
}

// Of returns the tokens of a user, the newest first, expired ones included.
func (p AccessTokens) Of(r Reader, userID string) (tokens []AccessToken, err error) {
	newestFirst := Span{Prefix: tokensKey(userID), Reverse: true}
	err = r.Iterate(p, newestFirst, func(_, hash []byte) (bool, error) {
		t, ok, err := p.ByHash(r, string(hash))
		if ok {
			tokens = append(tokens, t)
		}
		return true, err
	})
	return tokens, err
}

func tokenHashKey(hash string) []byte { return append([]byte{'h'}, hash...) }

func tokenKey(id string) []byte { return append([]byte{'t'}, id...) }

func voidKey(userID string) []byte { return append([]byte{'d'}, userID...) }

func tokensKey(userID string) []byte { return append(append([]byte{'u'}, userID...), 0) }

func tokenOrderKey(t AccessToken) []byte {
	return append(binary.BigEndian.AppendUint64(tokensKey(t.UserID), t.Seq), t.ID...)
}

// APIKeys is the read model of API keys. A request is authenticated with one read.
//
//	h{hash}                  JSON
//	k{id}                    hash
//	w{workspaceId}\x00{id}   nothing
type APIKeys struct{}

// APIKey is a key without its value.
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
		made := APIKey{CreatedAt: domain.FormatTime(ev.At), CreatedBy: ev.Meta.UserID}
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
	key.UpdatedAt, key.UpdatedBy = domain.FormatTime(ev.At), ev.Meta.UserID
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

// Stored is ByHash without decoding, for callers that cache the decoded value.
func (k APIKeys) Stored(r Reader, hash string) (value []byte, ok bool, err error) {
	return r.Get(k, keyHashKey(hash))
}

// ParseAPIKey decodes what Stored returned.
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

// NATSUsers is the read model of the external programs that may subscribe to events over NATS,
// without deleted ones.
//
//	{id}  JSON
type NATSUsers struct{}

// NATSUser is an external program.
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
		body, err := json.Marshal(NATSUser{User: e.User, CreatedAt: domain.FormatTime(ev.At), CreatedBy: ev.Meta.UserID})
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

// Keyring is the read model of the signing keys: the folded key ring, and apart from it the sequence
// of its last change, which most readers compare only.
//
//	k   JSON
//	s   sequence of the event that last changed it
type Keyring struct{}

var (
	ringKey    = []byte{'k'}
	ringSeqKey = []byte{'s'}
)

// Name implements Projection.
func (Keyring) Name() string { return "keyring.1" }

// Log implements Projection.
func (Keyring) Log() domain.Log { return domain.State }

// Apply implements Projection.
func (Keyring) Apply(tx Tx, ev domain.Recorded) error {
	changed, ok := ev.Data.(keyring.Updated)
	if !ok {
		return nil
	}
	ring, err := parseRing(tx.Get(ringKey))
	if err != nil {
		return err
	}
	body, err := json.Marshal(keyring.Decider.Evolve(ring, changed))
	if err != nil {
		return err
	}
	if err := tx.Set(ringKey, body); err != nil {
		return err
	}
	return tx.Set(ringSeqKey, binary.BigEndian.AppendUint64(nil, ev.Seq))
}

// Keys returns the key ring and the sequence of the event that last changed it:
// 0 before the first. If known is that sequence, the ring is not read, and returned empty.
func (k Keyring) Keys(r Reader, known uint64) (ring keyring.State, seq uint64, err error) {
	value, ok, err := r.Get(k, ringSeqKey)
	if err != nil || !ok {
		return ring, 0, err
	}
	if len(value) != 8 {
		return ring, 0, errHeader
	}
	if seq = binary.BigEndian.Uint64(value); seq == known {
		return ring, seq, nil
	}
	ring, err = parseRing(r.Get(k, ringKey))
	return ring, seq, err
}

// parseRing decodes what Get returned.
func parseRing(value []byte, ok bool, failed error) (ring keyring.State, err error) {
	if failed != nil || !ok {
		return ring, failed
	}
	if err := json.Unmarshal(value, &ring); err != nil {
		return ring, fmt.Errorf("the stored key ring is damaged: %w", err)
	}
	return ring, nil
}
