package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"time"
)

// ways are the transports of requests under the same rules. Connections are never shared
// with those of others.
type ways struct {
	direct  *http.Transport // connects to targets
	proxied *http.Transport // connects to the proxies of the settings only

	anyDirect, anyProxied *http.Transport // the same, and ask for no proof of who answers
}

func (e *Egress) newWays() *ways {
	w := &ways{direct: newTransport(e.roots, e.dial), proxied: newTransport(e.roots, (&net.Dialer{Timeout: connectLimit}).DialContext)}
	w.proxied.Proxy = func(r *http.Request) (*url.URL, error) { return e.proxy(r.URL) }
	w.anyDirect, w.anyProxied = w.direct.Clone(), w.proxied.Clone()
	for _, t := range []*http.Transport{w.anyDirect, w.anyProxied} {
		t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} // what allowSelfSignedCert asks for
	}
	return w
}

// of returns the transports of requests that do, or do not, ask for a proof.
func (w *ways) of(trusting bool) (direct, proxied *http.Transport) {
	if trusting {
		return w.anyDirect, w.anyProxied
	}
	return w.direct, w.proxied
}

// leave closes the connections that nobody uses.
func (w *ways) leave() {
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
