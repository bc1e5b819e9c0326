package node_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/cmd/node/nodetest"
	"svc/cmd/process"
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
	keys := []string{"SECRETS_MASTER_KEYS=" + nodetest.MasterKeys}
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
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), nodetest.KnownLeak)
			s := nodetest.NewService(t, test.env...)
			err := s.TryOpen(t)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "\n", "one line")
			require.NotContains(t, err.Error(), "hunter2")
			require.NotContains(t, s.Log.String(), "hunter2")
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
			s.Env = append(s.Env, "PORT="+s.Port(), "ADDR=127.0.0.1", "DATA_DIR="+s.Dir, "TLS_CERT_FILE=", "TLS_KEY_FILE=",
				"NATS_URL=", "NATS_TLS_CA_FILE=", "NATS_CREDS=", "STREAM_REPLICAS=", "OTEL_EXPORTER_OTLP_ENDPOINT=")
			require.NoError(t, s.TryOpen(t), "what was taken was given back")
			require.NoError(t, s.Node.Close(t.Context()))
		})
	}
}

func TestASecondNodeIsKeptOutOfTheDirectory(t *testing.T) {
	s := nodetest.NewService(t).Start(t)
	s.Await(t, "/readyz", http.StatusOK)
	second := nodetest.NewService(t, "DATA_DIR="+s.Dir)
	err := second.Open(t)
	require.ErrorIs(t, err, process.ErrDirInUse)
	require.ErrorContains(t, err, fmt.Sprintf("%s is held by process %d", s.Dir, os.Getpid()))
	require.NotContains(t, err.Error(), "\n")
	require.Equal(t, http.StatusOK, s.Get(t, "/readyz", nil).StatusCode, "the first is not disturbed")
	s.Stop(t)
	second.Start(t)
	second.Await(t, "/readyz", http.StatusOK)
}

// The certificate is for the public name only, as they mostly are: the service
// still finds itself on localhost.
func TestHTTPSIsServedDirectly(t *testing.T) {
	cert, key, pool := nodetest.Certificate(t, "svc.example.com")
	s := nodetest.NewService(t, "TLS_CERT_FILE="+cert, "TLS_KEY_FILE="+key)
	s.Base = strings.Replace(s.Base, "http://", "https://", 1)
	s.Client.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "svc.example.com"}}
	s.Start(t)
	s.Await(t, "/readyz", http.StatusOK)

	got := s.Get(t, "/", nil)
	require.Equal(t, 2, got.ProtoMajor)
	require.Equal(t, "max-age=31536000", got.Header.Get("Strict-Transport-Security"))
	require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
	s.CreateWorkspace(t, "over TLS")
	report := s.Get(t, "/v2/readiness", nodetest.AsInternal)
	require.Equal(t, http.StatusOK, report.StatusCode, "%s", report.Body)

	old := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "svc.example.com", MaxVersion: tls.VersionTLS11}}
	defer old.CloseIdleConnections()
	_, err := (&http.Client{Transport: old}).Get(s.Base) //nolint:noctx,bodyclose // it must not answer
	require.Error(t, err)
}

func TestPlainHTTPHasNoHSTS(t *testing.T) {
	s := nodetest.NewService(t).Start(t)
	require.Empty(t, s.Get(t, "/", nil).Header.Get("Strict-Transport-Security"))
}
