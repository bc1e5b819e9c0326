// Package egress is the one way out: every HTTP request that the platform sends
// to an address that a user chose goes through it.
//
// The address is checked after the name was resolved, at the moment of
// connecting and on every hop, so that neither a name that resolves to the
// inside, nor a redirect, nor a name that changes its mind reaches what only
// this machine should reach.
package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
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
	rules      atomic.Pointer[ruleset]
	resolve    func(ctx context.Context, host string) ([]netip.Addr, error)
	proxy      func(*url.URL) (*url.URL, error)
	own        ownHosts
	roots      *x509.CertPool // nil: the system's
	transports atomic.Pointer[transports]
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
	own, errOwn := newOwnHosts(o.Own, o.Names)
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
	e.transports.Store(e.newTransports())
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
	e.transports.Swap(e.newTransports()).close()
	return nil
}

// Close closes idle connections.
func (e *Egress) Close() { e.transports.Load().close() }

// Client returns a client whose requests end after timeout, body included; zero
// leaves that to their context. It follows five redirects, each checked like
// the first request, and never from https to http.
func (e *Egress) Client(timeout time.Duration) *http.Client {
	return &http.Client{Transport: transport{e, false}, Timeout: timeout, CheckRedirect: checkRedirect}
}

// OperatorClient returns a client for addresses that the operator chose in the settings: the rules do not count for
// them, proxies and certificates do. Its requests end with their context.
func (e *Egress) OperatorClient() *http.Client {
	return &http.Client{Transport: operatorTransport{e}, CheckRedirect: checkRedirect}
}

// WithoutRedirects returns a client that follows no redirect: keys in headers go to the address that they are for, and
// nowhere else.
func WithoutRedirects(c *http.Client) *http.Client {
	direct := *c
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &direct
}

type operatorTransport struct{ *Egress }

// RoundTrip implements http.RoundTripper. Connections of this transport are never those of a guarded request: these take
// it only when they go through a proxy.
func (t operatorTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.transports.Load().proxied.RoundTrip(r)
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
	own := t.own.isHost(host, port)
	named, err := t.rules.Load().name(host, port)
	if err != nil && !own {
		return nil, err
	}
	direct, proxied := t.transports.Load().pair(t.trusting)
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
	if e.own.isHost(host, port) {
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

// transports are the transports of requests under the same rules. Connections are never shared
// with those of others.
type transports struct {
	direct  *http.Transport // connects to targets
	proxied *http.Transport // connects to the proxies of the settings only

	anyDirect, anyProxied *http.Transport // the same, and ask for no proof of who answers
}

func (e *Egress) newTransports() *transports {
	w := &transports{direct: newTransport(e.roots, e.dial), proxied: newTransport(e.roots, (&net.Dialer{Timeout: connectLimit}).DialContext)}
	w.proxied.Proxy = func(r *http.Request) (*url.URL, error) { return e.proxy(r.URL) }
	w.anyDirect, w.anyProxied = w.direct.Clone(), w.proxied.Clone()
	for _, t := range []*http.Transport{w.anyDirect, w.anyProxied} {
		t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} // what allowSelfSignedCert asks for
	}
	return w
}

// pair returns the transports of requests that do, or do not, ask for a proof.
func (w *transports) pair(trusting bool) (direct, proxied *http.Transport) {
	if trusting {
		return w.anyDirect, w.anyProxied
	}
	return w.direct, w.proxied
}

// close closes idle connections.
func (w *transports) close() {
	for _, t := range []*http.Transport{w.direct, w.proxied, w.anyDirect, w.anyProxied} {
		t.CloseIdleConnections()
	}
}

func newTransport(roots *x509.CertPool, dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectLimit,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           200,
		MaxIdleConnsPerHost:    16, // as many as one webhook has under way
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeaders,
	}
}

// Dial connects to the host:port of a target, for protocols that bring their own
// words. The scheme is https, http or ssh: the first two go through the proxy of
// the settings, after the target was resolved and checked, because the connection
// will not show it. exempt skips the rules, for targets that the operator chose.
func (e *Egress) Dial(ctx context.Context, scheme, address string, exempt bool) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("egress: %w", err)
	}
	proxy, err := e.proxy(&url.URL{Scheme: scheme, Host: address})
	if err != nil {
		return nil, fmt.Errorf("egress: %w", err)
	}
	switch {
	case proxy == nil && exempt:
		return (&net.Dialer{Timeout: connectLimit}).DialContext(ctx, "tcp", address)
	case proxy == nil:
		return e.dial(ctx, "tcp", address)
	case !exempt:
		named, err := e.rules.Load().name(host, port)
		if err != nil {
			return nil, err
		}
		if err := e.checkTarget(ctx, host, named); err != nil {
			return nil, err
		}
	}
	return e.tunnel(ctx, proxy, address)
}

// Roots returns the authorities that are trusted: the system's with those of the
// settings. Nil stands for the system's alone.
func (e *Egress) Roots() *x509.CertPool { return e.roots }

// tunnel asks a proxy for a connection to a target.
func (e *Egress) tunnel(ctx context.Context, proxy *url.URL, target string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	port := proxy.Port()
	if port == "" {
		port = usualPort[proxy.Scheme]
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(proxy.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("egress: reach the proxy: %w", err)
	}
	if proxy.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: proxy.Hostname(), RootCAs: e.Roots(), MinVersion: tls.VersionTLS12})
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // what it interrupts reports it
	err = connect(conn, proxy, target)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close() // it is of no use
		return nil, err
	}
	return conn, nil
}

// connect says CONNECT. Nothing the target sends is read: it speaks when it is
// spoken to, or not before the answer ends.
func connect(conn net.Conn, proxy *url.URL, target string) error {
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: target}, Host: target, Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		secret := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		r.Header.Set("Proxy-Authorization", "Basic "+secret)
	}
	if err := r.Write(conn); err != nil {
		return fmt.Errorf("egress: ask the proxy: %w", err)
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(&byteReader{conn}, 16), r)
	if err != nil {
		return fmt.Errorf("egress: ask the proxy: %w", err)
	}
	_ = answer.Body.Close() // it has none
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("egress: the proxy answers with status %d", answer.StatusCode)
	}
	return nil
}

// byteReader reads one byte at a time, so that nothing behind the answer of a
// proxy is taken from the connection.
type byteReader struct{ net.Conn }

// Read implements io.Reader.
func (b *byteReader) Read(p []byte) (int, error) { return b.Conn.Read(p[:min(1, len(p))]) }

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

// RetryAfter reads how long a Retry-After header asks us to wait: seconds, or a date.
func RetryAfter(text string, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(text)
	return max(0, at.Sub(now)), err == nil
}

// usualPort is the port of an address that names none, by its scheme.
var usualPort = map[string]string{"http": "80", "https": "443"}
