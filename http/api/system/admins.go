package system

import (
	"net/http"
	"net/netip"

	"svc/domain"
	"svc/http/api/handler"
	"svc/http/gateway"
)

// claimRequest is the body of POST /sys/admins/claim.
type claimRequest struct {
	Email       *string `json:"email"`
	NewPassword bool    `json:"newPassword"`
}

// claimResponse is its answer. A repeat does not see the password.
type claimResponse struct {
	ID       string `json:"id"`
	Email    string `json:"email"`
	Password string `json:"password,omitempty"`
	Super    bool   `json:"super"`
}

// Replayable implements gateway.Replayable.
func (c claimResponse) Replayable() any {
	c.Password = ""
	return c
}

// isFromHost reports whether a request comes from this machine, and through no
// proxy: what a proxy says of its client is not believed here.
func isFromHost(r *http.Request) bool {
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

// ClaimAdmin handles POST /sys/admins/claim, for `svc admin claim`. Who asks must
// be on the host: the internal key alone is shared with scrapers and jobs.
func (h *Handlers) ClaimAdmin(r *http.Request) (any, error) {
	if !isFromHost(r) {
		return nil, domain.Refuse(domain.CodePermissionDenied, "this can be asked on the host itself only")
	}
	var in claimRequest
	if err := gateway.Decode(r, &in); err != nil {
		return nil, err
	}
	if in.Email == nil {
		return nil, handler.MissingField("email")
	}
	made, super, err := h.Claim(r.Context(), *in.Email, in.NewPassword)
	if err != nil {
		return nil, err
	}
	handler.AwaitVisible(r.Context(), h.ReadModel)
	return claimResponse{made.ID, made.Email, made.Password, super}, nil
}
