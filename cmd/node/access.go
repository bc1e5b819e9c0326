package node

import (
	"context"
	"net/url"

	"svc/cmd/settings"
	"svc/domain"
	"svc/http/gateway"
)

// superOnly lets super admins do everything and nobody else anything: what a
// workspace allows whom is decided once there are identities.
type superOnly struct{}

// Authorize implements gateway.Authorizer.
func (superOnly) Authorize(_ context.Context, c gateway.Caller, _ gateway.Permission, _ string) (gateway.Grant, error) {
	if c.Super {
		return gateway.Grant{InWorkspace: true}, nil
	}
	return gateway.Grant{}, domain.Refuse(domain.CodeWorkspaceDenied, "you have no access to this workspace")
}

// origins lists the web origins that may call with credentials.
func origins(h settings.HTTP) []string {
	list := append([]string(nil), h.CORSOrigins...)
	for _, address := range h.ConsoleURLs {
		if u, err := url.Parse(address); err == nil {
			list = append(list, u.Scheme+"://"+u.Host)
		}
	}
	return list
}
