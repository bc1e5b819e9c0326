package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

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
