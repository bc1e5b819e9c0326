package egress

import (
	"context"
	"errors"
	"net/url"
)

// Check refuses an address that nothing may be sent to, as a request to it would be
// refused. A host that cannot be found now may be there later: it is not refused.
func (e *Egress) Check(ctx context.Context, u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return &Refused{Host: u.Host, Why: "only http and https are spoken"}
	}
	port := u.Port()
	if port == "" {
		port = usualPort[u.Scheme]
	}
	named, err := e.rules.Load().name(u.Hostname(), port)
	if err != nil {
		return err
	}
	refused, ok := errors.AsType[*Refused](e.checkTarget(ctx, u.Hostname(), named))
	if ok {
		return refused
	}
	return nil
}

// usualPort is the port of an address that names none, by its scheme.
var usualPort = map[string]string{"http": "80", "https": "443"}
