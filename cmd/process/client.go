package process

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"svc/cmd/settings"
)

// Client returns a client for calls to this service itself, at INTERNAL_API_URL.
// It follows no redirect and uses no proxy: the internal key is for nobody else.
func Client(h settings.HTTP) *http.Client {
	t := SelfTransport(h)
	t.DisableKeepAlives = true
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// SelfTransport trusts the certificate that this service serves with, under
// whatever name it is called: a public certificate does not name localhost, and
// a private one has no known authority.
func SelfTransport(h settings.HTTP) *http.Transport {
	t := &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute}
	own := leafCertificate(h.TLSCertFile)
	if own == nil {
		return t
	}
	t.ForceAttemptHTTP2 = true
	t.TLSClientConfig = &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, // verified below
		VerifyConnection: func(c tls.ConnectionState) error {
			if bytes.Equal(c.PeerCertificates[0].Raw, own) {
				return nil
			}
			between := x509.NewCertPool()
			for _, cert := range c.PeerCertificates[1:] {
				between.AddCert(cert)
			}
			_, err := c.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: c.ServerName, Intermediates: between})
			return err
		},
	}
	return t
}

// leafCertificate returns the first certificate in a file; nil when there is none.
func leafCertificate(file string) []byte {
	if file == "" {
		return nil
	}
	rest, err := os.ReadFile(file)
	for block := new(pem.Block); err == nil && block != nil; {
		if block, rest = pem.Decode(rest); block != nil && block.Type == "CERTIFICATE" {
			return block.Bytes
		}
	}
	return nil
}

// OwnNames returns the addresses of this service besides those of its API. A request that an
// automation sends to one of them has the same token, so that recursion ends. The domains of
// workspaces are not among them: the operator does not decide where they lead.
func OwnNames(h settings.HTTP) []string {
	names := slices.Clone(h.ConsoleURLs)
	for _, text := range []string{h.APIURL, h.InternalAPIURL} {
		u, err := url.Parse(text)
		if err != nil || u.Hostname() != "localhost" {
			continue
		}
		for _, host := range []string{"127.0.0.1", "[::1]"} {
			names = append(names, u.Scheme+"://"+strings.Replace(u.Host, "localhost", host, 1))
		}
	}
	if h.PagesHost == "" {
		return names
	}
	scheme, host, _ := strings.Cut(h.Origin(), "://")
	names = append(names, scheme+"://*"+h.PagesHost)
	if _, port, err := net.SplitHostPort(host); err == nil && !strings.Contains(h.PagesHost, ":") {
		names = append(names, scheme+"://*"+h.PagesHost+":"+port)
	}
	return names
}
