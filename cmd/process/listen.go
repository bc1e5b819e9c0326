package process

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"

	"svc/cmd/settings"
)

// Listen binds the address, with TLS when a certificate is set.
func Listen(h settings.HTTP) (net.Listener, error) {
	address := net.JoinHostPort(h.Addr, strconv.Itoa(h.Port))
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is in use: stop what listens there, or set PORT", h.Port)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("this user may not listen on port %d: choose one above 1023 with PORT, or give it the right", h.Port)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (ADDR, PORT): %w", address, err)
	}
	serve, err := ServerTLS(h)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if serve == nil {
		return l, nil
	}
	serve.NextProtos = []string{"h2", "http/1.1"}
	return tls.NewListener(l, serve), nil
}

// ServerTLS returns the TLS settings that this service serves with; nil when no certificate is set.
func ServerTLS(h settings.HTTP) (*tls.Config, error) {
	if h.TLSCertFile == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(h.TLSCertFile, h.TLSKeyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS_CERT_FILE, TLS_KEY_FILE: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
}

// CheckReadable opens a file, if one is given. The error does not show the path: it may be a
// secret.
func CheckReadable(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err
	}
	return errors.Join(err, f.Close())
}

// ClientTLS reads the files of a TLS peer; nil when none is given. Its errors
// name the settings, which begin with prefix.
func ClientTLS(prefix, ca, cert, key string) (*tls.Config, error) {
	if ca == "" && cert == "" {
		return nil, nil
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("%s_CA_FILE: %w", prefix, err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s_CA_FILE: %s holds no certificate in PEM form", prefix, ca)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s_CERT_FILE, %s_KEY_FILE: %w", prefix, prefix, err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return t, nil
}
