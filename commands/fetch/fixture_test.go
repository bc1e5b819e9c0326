package fetch_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/commands/egress"
	"svc/commands/fetch"
	"svc/domain/automation"
	"svc/domain/value"
)

// newClient returns a client that reaches this machine and waits little.
func newClient(t *testing.T, o fetch.Options) *fetch.Client {
	t.Helper()
	if o.Egress == nil {
		o.Egress = newEgress(t, egress.Options{Rules: egress.Rules{AllowPrivate: true}})
	}
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	c, err := fetch.New(o)
	require.NoError(t, err)
	return c
}

func newEgress(t *testing.T, o egress.Options) *egress.Egress {
	t.Helper()
	e, err := egress.New(o)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

// serveTLS serves with a certificate that nobody trusts, and speaks HTTP/2.
func serveTLS(t *testing.T, handle http.Handler) string {
	t.Helper()
	s := httptest.NewUnstartedServer(handle)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// answers serves one answer.
func answers(t *testing.T, status int, contentType, body string) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// params reads the parameters of a fetch, written as JSON in which URL stands
// for an address.
func params(t *testing.T, text, address string) *value.Object {
	t.Helper()
	v, err := value.ParseJSON(strings.ReplaceAll(text, "URL", address))
	require.NoError(t, err, text)
	o, ok := v.(*value.Object)
	require.True(t, ok)
	return o
}

func fetched(t *testing.T, c *fetch.Client, text, address string) (fetch.Result, error) {
	t.Helper()
	return c.Do(t.Context(), fetch.Call{Params: params(t, text, address), WorkspaceID: "w1", CorrelationID: "c1"})
}

// requireRaised checks the name of an error and one of its details.
func requireRaised(t *testing.T, err error, name, key string, want any) {
	t.Helper()
	raised, ok := errors.AsType[*automation.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, name, raised.Name, raised.Message)
	if key != "" {
		require.Equal(t, want, raised.Details.At(key), raised.Message)
	}
}

func requireReason(t *testing.T, err error, reason string) {
	t.Helper()
	requireRaised(t, err, automation.FetchFailed, "reason", reason)
}

// raw serves connections as they are. handle is told how many came before.
func raw(t *testing.T, handle func(n int, conn net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handle(n, conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return "http://" + listener.Addr().String()
}

// reset breaks a connection off without a farewell.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// readHead reads a request up to its body.
func readHead(conn net.Conn) {
	seen := ""
	one := make([]byte, 1)
	for !strings.HasSuffix(seen, "\r\n\r\n") {
		if _, err := conn.Read(one); err != nil {
			return
		}
		seen += string(one)
	}
}

// all reads a stream to its end.
func all(ctx context.Context, s *fetch.Stream) (items []string, err error) {
	for {
		item, ok, err := s.Next(ctx)
		if err != nil || !ok {
			return items, err
		}
		items = append(items, value.JSON(item, ""))
	}
}

func streamOf(t *testing.T, v any) *fetch.Stream {
	t.Helper()
	s, ok := value.At(v, "body").(*fetch.Stream)
	require.True(t, ok, "%s", value.JSON(v, ""))
	return s
}

// No exchange, stream or timer may leave anything behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
