package egress

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// own are the addresses of the platform itself.
type own struct {
	origins map[string]bool // scheme://host:port
	hosts   map[string]bool // host:port that are reached whatever the rules say
	others  []family
}

// family is a name of the platform with anything but a dot for its first part.
type family struct{ scheme, suffix, port string }

func newOwn(addresses, names []string) (o own, err error) {
	o = own{origins: map[string]bool{}, hosts: map[string]bool{}}
	for _, text := range addresses {
		err = errors.Join(err, o.add(text, true))
	}
	for _, text := range names {
		err = errors.Join(err, o.add(text, false))
	}
	return o, err
}

func (o *own) add(text string, always bool) error {
	u, err := url.Parse(text)
	if err != nil || usualPort[u.Scheme] == "" || u.Hostname() == "" {
		return fmt.Errorf("%q is no http or https address of the platform", text)
	}
	if suffix, many := strings.CutPrefix(u.Hostname(), "*"); many {
		o.others = append(o.others, family{u.Scheme, strings.ToLower(suffix), portOf(u)})
		return nil
	}
	o.origins[u.Scheme+"://"+hostPort(u)] = true
	if always {
		o.hosts[hostPort(u)] = true
	}
	return nil
}

// is reports whether connections to host and port end at the platform, whatever the
// rules say.
func (o own) is(host, port string) bool { return o.hosts[net.JoinHostPort(canonical(host), port)] }

// has reports whether u is an address of the platform.
func (o own) has(u *url.URL) bool {
	if o.origins[u.Scheme+"://"+hostPort(u)] {
		return true
	}
	return slices.ContainsFunc(o.others, func(f family) bool {
		first, ok := strings.CutSuffix(canonical(u.Hostname()), f.suffix)
		return ok && first != "" && !strings.Contains(first, ".") && u.Scheme == f.scheme && portOf(u) == f.port
	})
}

// hostPort is where a URL leads, with the usual port when it names none.
func hostPort(u *url.URL) string { return net.JoinHostPort(canonical(u.Hostname()), portOf(u)) }

func portOf(u *url.URL) string { return cmp.Or(u.Port(), usualPort[u.Scheme]) }

// Own reports whether u is an address of the platform itself, its scheme
// included: what only the platform may see is not sent to another.
func (e *Egress) Own(u *url.URL) bool { return e.own.has(u) }

// TrustingClient returns a client like Client's that does not verify
// certificates. Its connections are its own: no other request uses them.
func (e *Egress) TrustingClient(timeout time.Duration) *http.Client {
	return &http.Client{Transport: transport{e, true}, Timeout: timeout, CheckRedirect: checkRedirect}
}
