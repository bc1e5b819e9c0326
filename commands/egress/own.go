package egress

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// own are the addresses of the platform itself.
type own struct {
	origins map[string]bool // scheme://host:port
	hosts   map[string]bool // host:port
}

func newOwn(addresses []string) (o own, err error) {
	o = own{map[string]bool{}, map[string]bool{}}
	for _, text := range addresses {
		u, parseErr := url.Parse(text)
		if parseErr != nil || usualPort[u.Scheme] == "" || u.Hostname() == "" {
			err = errors.Join(err, fmt.Errorf("%q is no http or https address of the platform", text))
			continue
		}
		o.origins[u.Scheme+"://"+hostPort(u)] = true
		o.hosts[hostPort(u)] = true
	}
	return o, err
}

// is reports whether connections to host and port end at the platform.
func (o own) is(host, port string) bool { return o.hosts[net.JoinHostPort(canonical(host), port)] }

// hostPort is where a URL leads, with the usual port when it names none.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = usualPort[u.Scheme]
	}
	return net.JoinHostPort(canonical(u.Hostname()), port)
}

// Own reports whether u is an address of the platform itself, its scheme
// included: what only the platform may see is not sent to another.
func (e *Egress) Own(u *url.URL) bool { return e.own.origins[u.Scheme+"://"+hostPort(u)] }

// trusting are the transports of requests that ask for no proof of who answers.
type trusting struct {
	anyDirect, anyProxied *http.Transport
}

func newTrusting(direct, proxied *http.Transport) trusting {
	t := trusting{direct.Clone(), proxied.Clone()}
	for _, each := range []*http.Transport{t.anyDirect, t.anyProxied} {
		each.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} // what allowSelfSignedCert asks for
	}
	return t
}

// TrustingClient returns a client like Client's that does not verify
// certificates. Its connections are its own: no other request uses them.
func (e *Egress) TrustingClient(timeout time.Duration) *http.Client {
	return &http.Client{Transport: transport{e, e.anyDirect, e.anyProxied}, Timeout: timeout, CheckRedirect: checkRedirect}
}
