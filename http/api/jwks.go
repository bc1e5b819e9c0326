package api

import (
	"net/http"
	"time"

	"svc/domain"
	"svc/domain/keyring"
	"svc/http/gateway"
)

// shownSigningKey is a signing key as GET /sys/jwks lists it.
type shownSigningKey struct {
	KID       string        `json:"kid"`
	State     keyring.Stage `json:"state"`
	CreatedAt string        `json:"createdAt"`
	RotatesAt string        `json:"rotatesAt"`
	ExpiresAt string        `json:"expiresAt"`
}

// listSigningKeys handles GET /sys/jwks.
func listSigningKeys(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		keys, err := d.SigningKeys.List(r.Context())
		shown := make([]shownSigningKey, len(keys))
		for i, k := range keys {
			shown[i] = shownSigningKey{k.KID, k.State, timestamp(k.CreatedAt), timestamp(k.RotatesAt), timestamp(k.ExpiresAt)}
		}
		return wholeList(r, shown, err)
	}
}

// timestamp is a time as answers have it.
func timestamp(t time.Time) string { return t.UTC().Format(domain.Timestamp) }

// keyChange is the answer to a rotation.
type keyChange struct {
	Created []string `json:"created"`
	Deleted []string `json:"deleted"`
}

// rotateSigningKeys handles POST /sys/jwks/rotate.
func rotateSigningKeys(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		created, deleted, err := d.SigningKeys.Rotate(r.Context())
		if err != nil {
			return nil, err
		}
		return keyChange{append([]string{}, created...), append([]string{}, deleted...)}, nil
	}
}

// revokeSigningKey handles DELETE /sys/jwks/{kid}.
func revokeSigningKey(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		kid := gateway.Var(r, "kid")
		if err := d.SigningKeys.Revoke(r.Context(), kid); err != nil {
			return nil, err
		}
		return map[string]string{"kid": kid}, nil
	}
}
