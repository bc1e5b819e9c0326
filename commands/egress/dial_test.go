package egress_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
)

// startGreetingServer says hello first, as SSH servers do.
func startGreetingServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "hello\n")
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

func greeting(t *testing.T, conn net.Conn) string {
	t.Helper()
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	return line
}

func TestConnectionsFollowTheRules(t *testing.T) {
	t.Parallel()
	at := startGreetingServer(t)
	e := newEgress(t, egress.Options{})
	for _, scheme := range []string{"https", "ssh"} {
		_, err := e.Dial(t.Context(), scheme, at, false)
		requireRefused(t, err)
		conn, err := e.Dial(t.Context(), scheme, at, true)
		require.NoError(t, err, "the operator chose it")
		require.Equal(t, "hello\n", greeting(t, conn))
	}
	open := newEgress(t, egress.Options{Rules: egress.Rules{AllowHosts: []string{at}}})
	_, err := open.Dial(t.Context(), "ssh", "localhost:1", false)
	requireRefused(t, err)
	_, err = open.Dial(t.Context(), "ssh", "no port", false)
	require.Error(t, err)
}

func TestATunnelThroughTheProxyIsCheckedFirst(t *testing.T) {
	t.Parallel()
	at := startGreetingServer(t)
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
		if strings.HasPrefix(r.Host, "full.") {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		target, err := net.Dial("tcp", at)
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
		_, _ = io.Copy(conn, target)
		_ = conn.Close()
	}))
	t.Cleanup(proxy.Close)
	known := map[string]string{"out.example": "93.184.216.34", "full.example": "93.184.216.34", "in.example": "10.0.0.1"}
	e := newEgress(t, egress.Options{
		HTTPSProxy: strings.Replace(proxy.URL, "http://", "http://me:hunter2@", 1),
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(known[host])}, nil
		},
	})
	conn, err := e.Dial(t.Context(), "https", "out.example:443", false)
	require.NoError(t, err)
	require.Equal(t, "hello\n", greeting(t, conn))
	_, err = e.Dial(t.Context(), "https", "in.example:443", false)
	requireRefused(t, err)
	_, err = e.Dial(t.Context(), "https", "full.example:443", false)
	require.ErrorContains(t, err, "status 503")
	require.NotContains(t, err.Error(), "hunter2")
	require.Equal(t, []string{"CONNECT out.example:443 Basic bWU6aHVudGVyMg==", "CONNECT full.example:443 Basic bWU6aHVudGVyMg=="}, asked)
	conn, err = e.Dial(t.Context(), "ssh", at, true)
	require.NoError(t, err, "a proxy for https is none for ssh")
	require.Equal(t, "hello\n", greeting(t, conn))
}

func TestTheRootsOfTheSettings(t *testing.T) {
	t.Parallel()
	require.Nil(t, newEgress(t, egress.Options{}).Roots(), "the system's alone")
	s := httptest.NewTLSServer(respondWith("hello"))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "roots.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	_, err := s.Certificate().Verify(x509.VerifyOptions{Roots: newEgress(t, egress.Options{ExtraCAFile: file}).Roots()})
	require.NoError(t, err)
}
