// Package egress is the one way out: every HTTP request that the platform sends
// to an address somebody chose goes through it.
//
// The address is checked after the name was resolved, at the moment of
// connecting and on every hop, so that neither a name that resolves to the
// inside, nor a redirect, nor a name that changes its mind reaches what only
// this machine should reach.
package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Options configure an Egress. The zero value reaches public addresses only,
// directly, and trusts the system's roots.
type Options struct {
	Rules

	ExtraCAFile string   // EXTRA_CA_CERTS_FILE: PEM, added to the system's roots
	HTTPProxy   string   // HTTP_PROXY: for http targets
	HTTPSProxy  string   // HTTPS_PROXY: for https targets
	NoProxy     []string // NO_PROXY: targets that need none

	// Own are addresses of the platform itself, http or https: they are reached
	// whatever the rules say.
	Own []string
	// Names are other addresses that the platform answers at. The rules count for them;
	// a host that begins with * stands for all that have something else in that place.
	Names []string

	// Resolve finds the addresses of a host that a proxy will reach for us. Nil:
	// the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Egress makes clients. It is safe for concurrent use.
type Egress struct {
	rules   atomic.Pointer[ruleset]
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	proxy   func(*url.URL) (*url.URL, error)
	own     own
	roots   *x509.CertPool // nil: the system's
	ways    atomic.Pointer[ways]
}

// The bounds of a request that its caller does not set.
const (
	connectLimit = 10 * time.Second
	maxRedirects = 5
	maxHeaders   = 64 << 10
)

// New returns an Egress. Rules that are no hosts or ranges, proxies that are no
// URLs and certificates that cannot be read are reported at once.
func New(o Options) (*Egress, error) {
	rules, errRules := newRuleset(o.Rules)
	roots, errRoots := readRoots(o.ExtraCAFile)
	own, errOwn := newOwn(o.Own, o.Names)
	errs := errors.Join(errRules, errRoots, errOwn, checkProxy("HTTP_PROXY", o.HTTPProxy), checkProxy("HTTPS_PROXY", o.HTTPSProxy))
	if errs != nil {
		return nil, fmt.Errorf("egress: %w", errs)
	}
	e := &Egress{resolve: o.Resolve, own: own, roots: roots}
	if e.resolve == nil {
		e.resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	e.rules.Store(rules)
	settings := httpproxy.Config{HTTPProxy: o.HTTPProxy, HTTPSProxy: o.HTTPSProxy, NoProxy: strings.Join(o.NoProxy, ",")}
	e.proxy = settings.ProxyFunc()
	e.ways.Store(e.newWays())
	return e, nil
}

// readRoots returns the system's roots with those of a file; nil stands for the
// system's alone.
func readRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read certificates: %s holds none in PEM", file)
	}
	return roots, nil
}

// checkProxy never repeats the URL: it may hold a password.
func checkProxy(name, text string) error {
	if text == "" {
		return nil
	}
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s is not an absolute http or https URL", name)
	}
	return nil
}

// SetRules replaces the rules, as EGRESS_ALLOW_HOSTS and EGRESS_DENY_HOSTS
// change while the node runs. Connections made under the old ones are not used
// again. When a rule cannot be read nothing changes.
func (e *Egress) SetRules(r Rules) error {
	rules, err := newRuleset(r)
	if err != nil {
		return fmt.Errorf("egress: %w", err)
	}
	e.rules.Store(rules)
	e.ways.Swap(e.newWays()).leave()
	return nil
}

// Close closes the connections that nobody uses.
func (e *Egress) Close() { e.ways.Load().leave() }

// Client returns a client whose requests end after timeout, body included; zero
// leaves that to their context. It follows five redirects, each checked like
// the first request, and never from https to http.
func (e *Egress) Client(timeout time.Duration) *http.Client {
	return &http.Client{Transport: transport{e, false}, Timeout: timeout, CheckRedirect: checkRedirect}
}

// ErrRedirects is why a request that was redirected too often failed.
var ErrRedirects = fmt.Errorf("egress: stopped after %d redirects", maxRedirects)

func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return ErrRedirects
	}
	if via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https" {
		return &Refused{Host: r.URL.Host, Why: "a redirect must not leave https"}
	}
	return nil
}

// transport checks a hop before it is sent.
type transport struct {
	*Egress
	trusting bool
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	via, err := t.route(r)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper closes it, also when it fails
		}
		return nil, err
	}
	return via.RoundTrip(r)
}

// route finds the transport for a request that may be sent. A target behind a
// proxy is resolved and checked here, because the connection will not show it.
func (t transport) route(r *http.Request) (http.RoundTripper, error) {
	if r.URL.Scheme != "http" && r.URL.Scheme != "https" {
		return nil, &Refused{Host: r.URL.Host, Why: "only http and https are spoken"}
	}
	host, port := r.URL.Hostname(), r.URL.Port()
	if port == "" {
		port = usualPort[r.URL.Scheme]
	}
	own := t.own.is(host, port)
	named, err := t.rules.Load().name(host, port)
	if err != nil && !own {
		return nil, err
	}
	direct, proxied := t.ways.Load().of(t.trusting)
	proxy, err := t.proxy(r.URL)
	if err != nil || proxy == nil {
		return direct, err
	}
	if own {
		return proxied, nil
	}
	return proxied, t.checkTarget(r.Context(), host, named)
}

func (e *Egress) checkTarget(ctx context.Context, host string, named bool) error {
	addrs, err := e.resolve(ctx, host)
	if err != nil {
		if named {
			return nil // the operator vouches for it, and the proxy knows where it is
		}
		return fmt.Errorf("egress: resolve %s: %w", host, err)
	}
	rules := e.rules.Load()
	for _, addr := range addrs {
		if err := rules.address(host, addr, named); err != nil {
			return err
		}
	}
	return nil
}

// dial connects to a target. Control is asked with the very address that is
// about to be connected to.
func (e *Egress) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if e.own.is(host, port) {
		return (&net.Dialer{Timeout: connectLimit}).DialContext(ctx, network, address)
	}
	rules := e.rules.Load()
	named, err := rules.name(host, port)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: connectLimit, Control: func(_, resolved string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return &Refused{Host: host, Why: "its address cannot be read"}
		}
		return rules.address(host, at.Addr(), named)
	}}
	return d.DialContext(ctx, network, address)
}
