package node_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/cmd/node"
	"svc/projections/livetest"
)

// Every start that fails says in one line what is wrong and what to do, and
// leaves neither a goroutine nor a lock nor a listener behind.
func TestAStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	busy := taken.Addr().(*net.TCPAddr).Port
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("no certificate"), 0o600))
	nobody := livetest.Ports(1)[0]
	keys := []string{"SECRETS_MASTER_KEYS=" + masterKeys}
	tests := map[string]struct {
		env  []string
		want []string
	}{
		"a busy port":              {[]string{fmt.Sprintf("PORT=%d", busy)}, []string{fmt.Sprintf("port %d is in use", busy), "set PORT"}},
		"a foreign address":        {[]string{"ADDR=192.0.2.1"}, []string{"cannot listen on 192.0.2.1:", "ADDR"}},
		"a file as data directory": {[]string{"DATA_DIR=" + file}, []string{"data directory", file, "DATA_DIR"}},
		"a directory below a file": {[]string{"DATA_DIR=" + filepath.Join(file, "data")}, []string{"data directory", "DATA_DIR"}},
		"a place without writing":  {[]string{"DATA_DIR=/proc/svc"}, []string{"data directory", "/proc/svc", "DATA_DIR"}},
		"a bad certificate":        {[]string{"TLS_CERT_FILE=" + file, "TLS_KEY_FILE=" + file}, []string{"TLS_CERT_FILE"}},
		"a missing certificate":    {[]string{"TLS_CERT_FILE=/missing.pem", "TLS_KEY_FILE=/missing.key"}, []string{"TLS_CERT_FILE", "/missing.pem"}},
		"an unreachable broker": {append(keys, fmt.Sprintf("NATS_URL=nats://svc:hunter2@127.0.0.1:%d", nobody), "STREAM_REPLICAS=1"),
			[]string{"cannot reach the broker", fmt.Sprintf("127.0.0.1:%d", nobody)}},
		"a bad authority of the broker": {append(keys, fmt.Sprintf("NATS_URL=tls://127.0.0.1:%d", nobody), "NATS_TLS_CA_FILE="+file), []string{file, "NATS_TLS_CA_FILE"}},
		"missing credentials":           {append(keys, fmt.Sprintf("NATS_URL=nats://127.0.0.1:%d", nobody), "NATS_CREDS=/missing.creds"), []string{"NATS_CREDS", "no such file"}},
		"a bad collector":               {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://[::1"}, []string{"OTEL_EXPORTER_OTLP_ENDPOINT"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), forgotten)
			s := newService(t, test.env...)
			err := s.tryOpen(t)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "\n", "one line")
			require.NotContains(t, err.Error(), "hunter2")
			require.NotContains(t, s.log.String(), "hunter2")
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
			s.env = append(s.env, "PORT="+s.port(), "ADDR=127.0.0.1", "DATA_DIR="+s.dir, "TLS_CERT_FILE=", "TLS_KEY_FILE=",
				"NATS_URL=", "NATS_TLS_CA_FILE=", "NATS_CREDS=", "STREAM_REPLICAS=", "OTEL_EXPORTER_OTLP_ENDPOINT=")
			require.NoError(t, s.tryOpen(t), "what was taken was given back")
			require.NoError(t, s.node.Close(t.Context()))
		})
	}
}

func TestASecondNodeIsKeptOutOfTheDirectory(t *testing.T) {
	s := newService(t).start(t)
	s.await(t, "/readyz", http.StatusOK)
	second := newService(t, "DATA_DIR="+s.dir)
	err := second.open(t)
	require.ErrorIs(t, err, node.ErrDirInUse)
	require.ErrorContains(t, err, fmt.Sprintf("%s is held by process %d", s.dir, os.Getpid()))
	require.NotContains(t, err.Error(), "\n")
	require.Equal(t, http.StatusOK, s.get(t, "/readyz", nil).StatusCode, "the first is not disturbed")
	s.stop(t)
	second.start(t)
	second.await(t, "/readyz", http.StatusOK)
}

// certificate makes a self-signed pair for the given names.
func certificate(t *testing.T, names ...string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "svc test"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(cert, certPEM, 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	pool = x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(certPEM))
	return cert, key, pool
}

// The certificate is for the public name only, as they mostly are: the service
// still finds itself on localhost.
func TestHTTPSIsServedDirectly(t *testing.T) {
	cert, key, pool := certificate(t, "svc.example.com")
	s := newService(t, "TLS_CERT_FILE="+cert, "TLS_KEY_FILE="+key)
	s.base = strings.Replace(s.base, "http://", "https://", 1)
	s.client.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "svc.example.com"}}
	s.start(t)
	s.await(t, "/readyz", http.StatusOK)

	got := s.get(t, "/", nil)
	require.Equal(t, 2, got.ProtoMajor)
	require.Equal(t, "max-age=31536000", got.Header.Get("Strict-Transport-Security"))
	require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
	s.create(t, "over TLS")
	report := s.get(t, "/v2/readiness", asInternal)
	require.Equal(t, http.StatusOK, report.StatusCode, "%s", report.body)

	old := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "svc.example.com", MaxVersion: tls.VersionTLS11}}
	defer old.CloseIdleConnections()
	_, err := (&http.Client{Transport: old}).Get(s.base) //nolint:noctx,bodyclose // it must not answer
	require.Error(t, err)
}

func TestPlainHTTPHasNoHSTS(t *testing.T) {
	s := newService(t).start(t)
	require.Empty(t, s.get(t, "/", nil).Header.Get("Strict-Transport-Security"))
}
