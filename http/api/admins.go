package api

import (
	"net/http"
	"net/netip"

	"svc/domain"
	"svc/http/gateway"
)

// claimBody is the body of POST /sys/admins/claim.
type claimBody struct {
	Email       *string `json:"email"`
	NewPassword bool    `json:"newPassword"`
}

// claimedAdmin is its answer. A repeat does not see the password.
type claimedAdmin struct {
	ID       string `json:"id"`
	Email    string `json:"email"`
	Password string `json:"password,omitempty"`
	Super    bool   `json:"super"`
}

// Replayable implements gateway.Replayable.
func (c claimedAdmin) Replayable() any {
	c.Password = ""
	return c
}

// onHost reports whether a request comes from this machine, and through no
// proxy: what a proxy says of its client is not believed here.
func onHost(r *http.Request) bool {
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
		if r.Header.Get(header) != "" {
			return false
		}
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

// claimAdmin handles POST /sys/admins/claim, for `svc admin claim`. Who asks must
// be on the host: the internal key alone is shared with scrapers and jobs.
func claimAdmin(d Deps) gateway.HandlerFunc {
	return func(r *http.Request) (any, error) {
		if !onHost(r) {
			return nil, domain.Refuse(domain.CodePermissionDenied, "this can be asked on the host itself only")
		}
		var in claimBody
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		if in.Email == nil {
			return nil, missing("email")
		}
		made, super, err := d.Claim(r.Context(), *in.Email, in.NewPassword)
		if err != nil {
			return nil, err
		}
		settle(r.Context(), d.ReadModel)
		return claimedAdmin{made.ID, made.Email, made.Password, super}, nil
	}
}
