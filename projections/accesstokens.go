package projections

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"svc/domain"
	"svc/domain/accesstoken"
	"svc/domain/user"
)

// AccessTokens is the read model of access tokens. It leaves out what was
// deleted, with its user or alone, and what an account lost when it changed
// hands.
//
//	h{hash}                the token
//	t{id}                  hash
//	u{user}\x00{seq}{id}   hash; seq is that of the event that made it
//	d{user}                seq of the event before which nothing of theirs counts
type AccessTokens struct{}

// AccessToken is a token as it is read: everything but its value.
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

// void lets nothing count that a user made before ev.
func (AccessTokens) void(tx Tx, ev domain.Recorded, userID string) error {
	return tx.Set(voidKey(userID), binary.BigEndian.AppendUint64(nil, ev.Seq))
}

// ByHash returns the token whose SHA-256 is hash, in hex; ok is false when there
// is none. Whether it has expired, and whether its user may come in, is for the
// caller to see.
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

// Of returns the tokens of a user, the newest first. Those that have expired are
// among them.
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
