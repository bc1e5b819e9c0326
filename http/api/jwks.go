package api

import (
	"net/http"

	"svc/http/gateway"
)

// listSigningKeys handles GET /sys/jwks.
func listSigningKeys(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		keys, err := d.SigningKeys.List(r.Context())
		return wholeList(r, keys, err)
	}
}

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
