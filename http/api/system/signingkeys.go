package system

import (
	"context"
	"net/http"
	"time"

	"svc/commands/signing"
	"svc/domain"
	"svc/domain/keyring"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// SigningKeys are the keys that sign tokens. It is a *signing.Keys.
type SigningKeys interface {
	List(ctx context.Context) ([]signing.Entry, error)
	Rotate(ctx context.Context) (created, deleted []string, err error)
	Revoke(ctx context.Context, kid string) error
}

// signingKeyResponse is a signing key as GET /sys/jwks lists it.
type signingKeyResponse struct {
	KID       string        `json:"kid"`
	State     keyring.Stage `json:"state"`
	CreatedAt string        `json:"createdAt"`
	RotatesAt string        `json:"rotatesAt"`
	ExpiresAt string        `json:"expiresAt"`
}

// ListSigningKeys handles GET /sys/jwks.
func (h *Handlers) ListSigningKeys(r *http.Request) (any, error) {
	keys, err := h.SigningKeys.List(r.Context())
	items := make([]signingKeyResponse, len(keys))
	for i, k := range keys {
		items[i] = signingKeyResponse{k.KID, k.State, timestamp(k.CreatedAt), timestamp(k.RotatesAt), timestamp(k.ExpiresAt)}
	}
	return handler.ListAll(r, items, err)
}

// timestamp is a time as answers have it.
func timestamp(t time.Time) string { return t.UTC().Format(domain.Timestamp) }

// keyChangeResponse is the answer to a rotation.
type keyChangeResponse struct {
	Created []string `json:"created"`
	Deleted []string `json:"deleted"`
}

// RotateSigningKeys handles POST /sys/jwks/rotate.
func (h *Handlers) RotateSigningKeys(r *http.Request) (any, error) {
	created, deleted, err := h.SigningKeys.Rotate(r.Context())
	if err != nil {
		return nil, err
	}
	return keyChangeResponse{append([]string{}, created...), append([]string{}, deleted...)}, nil
}

// RevokeSigningKey handles DELETE /sys/jwks/{kid}.
func (h *Handlers) RevokeSigningKey(r *http.Request) (any, error) {
	kid := gateway.Var(r, "kid")
	if err := h.SigningKeys.Revoke(r.Context(), kid); err != nil {
		return nil, err
	}
	return map[string]string{"kid": kid}, nil
}
