package node

import (
	"net/url"

	"svc/cmd/settings"
)

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
