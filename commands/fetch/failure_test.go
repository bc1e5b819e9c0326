package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/egress"
	"svc/commands/fetch"
	"svc/domain/automation"
	"svc/domain/value"
)

func TestNetworkErrorsAreRaisedWithTheirReason(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{})
	secure := serveTLS(t, http.NotFoundHandler())
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	half := func(_ int, conn net.Conn) {
		readHead(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		reset(conn)
	}
	closed := serve(t, silent)
	for name, tt := range map[string]struct{ params, at, reason string }{
		"nobody listens":             {`{"url":"URL"}`, "http://127.0.0.1:1", "connect"},
		"a host that does not exist": {`{"url":"URL"}`, "http://nowhere.invalid", "dns"},
		"a certificate of nobody":    {`{"url":"URL"}`, secure, "tls"},
		"no TLS":                     {`{"url":"URL"}`, strings.Replace(closed, "http:", "https:", 1), "tls"},
		"silence":                    {`{"url":"URL","timeout":0.05}`, closed, "timeout"},
		"silence after a post":       {`{"url":"URL","timeout":0.05,"method":"post","body":"x"}`, closed, "timeout"},
		"an answer that breaks off":  {`{"url":"URL"}`, raw(t, half), "reset"},
		"a body that breaks off":     {`{"url":"URL","method":"post","body":{}}`, raw(t, func(_ int, conn net.Conn) { reset(conn) }), "reset"},
		"what is no HTTP": {`{"url":"URL"}`, raw(t, func(_ int, conn net.Conn) {
			readHead(conn)
			_, _ = io.WriteString(conn, "SSH-2.0\r\n")
			_ = conn.Close()
		}), "reset"},
		"redirects without end": {`{"url":"URL"}`, serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/again", http.StatusFound) }), "redirects"},
		"a redirect to no address": {`{"url":"URL"}`, serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://[::1")
			w.WriteHeader(http.StatusFound)
		}), "redirects"},
		"gzip that is none": {`{"url":"URL"}`, serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "no gzip at all")
		}), "reset"},
		"an answer that drips slowly": {`{"url":"URL","timeout":0.1}`, serve(t, drip), "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := fetched(t, c, tt.params, tt.at)
			requireReason(t, err, tt.reason)
			requireRaised(t, err, automation.FetchFailed, "url", result.Failed.URL)
			require.Equal(t, tt.reason, result.Failed.Reason)
			require.Equal(t, result.Failed.Message, value.Walk(result.Failed.Value(), "error", "message"))
			require.NotContains(t, err.Error(), "127.0.0.1", "where a name leads is not told")
			result, err = fetched(t, c, strings.Replace(tt.params, `{`, `{"emitErrors":false,`, 1), tt.at)
			require.Error(t, err)
			require.Nil(t, result.Failed)
		})
	}
}

// drip answers with one byte after the other, for ever.
func drip(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, "a")
		_ = http.NewResponseController(w).Flush()
		<-tick.C
	}
}

func TestTheRunThatEndsEndsItsFetch(t *testing.T) {
	t.Parallel()
	gone := errors.New("the run was cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	at := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(gone)
		<-r.Context().Done()
	})
	result, err := newClient(t, fetch.Options{}).Do(ctx, fetch.Call{Params: params(t, `{"url":"URL"}`, at)})
	require.ErrorIs(t, err, gone)
	require.Nil(t, result.Failed)
	at = answers(t, http.StatusServiceUnavailable, "", "")
	_, err = newClient(t, fetch.Options{MaxRetries: 3, RetryStatus: []int{503}}).Do(ctx, fetch.Call{Params: params(t, `{"url":"URL"}`, at)})
	require.ErrorIs(t, err, gone)
}

func TestRetries(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		retryAfter string
		statuses   []int
		requests   int
		status     float64
	}{
		"until it is well":                {"", []int{429, 503, 200}, 3, 200},
		"at most three times":             {"", []int{503, 503, 503, 503, 200}, 4, 503},
		"not another status":              {"", []int{500, 200}, 1, 500},
		"when the answer says so":         {"0", []int{503, 200}, 2, 200},
		"after a date that is past":       {"Wed, 21 Oct 2015 07:28:00 GMT", []int{503, 200}, 2, 200},
		"not when it asks for too much":   {"61", []int{503, 200}, 1, 503},
		"not when the date is far":        {"Wed, 21 Oct 2215 07:28:00 GMT", []int{503, 200}, 1, 503},
		"not as long as a number of days": {"99999999", []int{503, 200}, 1, 503},
		"as usual when it says nonsense":  {"soon", []int{503, 200}, 2, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			bodies := make(chan string, 10)
			at := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies <- string(body)
				if tt.retryAfter != "" {
					w.Header().Set("Retry-After", tt.retryAfter)
				}
				w.WriteHeader(tt.statuses[n.Add(1)-1])
				_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
			})
			c := newClient(t, fetch.Options{MaxRetries: 3, RetryStatus: []int{429, 502, 503}})
			result, err := fetched(t, c, `{"url":"URL","method":"post","body":"again","outputMode":"detailed_response"}`, at)
			require.NoError(t, err)
			require.Equal(t, tt.requests, int(n.Load()))
			require.Equal(t, tt.status, value.At(result.Value, "status"))
			for range tt.requests {
				require.Equal(t, "again", <-bodies)
			}
			require.Equal(t, tt.status >= 400, result.Failed != nil)
		})
	}
}

func TestARetryWaitsAsLongAsItIsAskedTo(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 1 {
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	began := time.Now()
	// The time of an exchange is not that of the pause before the next.
	_, err := fetched(t, newClient(t, fetch.Options{MaxRetries: 1, RetryStatus: []int{429}}), `{"url":"URL","timeout":4.5}`, at)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), 5*time.Second)
	require.Equal(t, 2, int(n.Load()))
}

func TestAConnectionThatBreaksBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for method, requests := range map[string]int{"get": 3, "head": 3, "put": 3, "delete": 3, "post": 1, "patch": 1} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int32
			at := raw(t, func(i int, conn net.Conn) {
				n.Add(1)
				readHead(conn)
				if i < 2 {
					reset(conn)
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				_ = conn.Close()
			})
			result, err := fetched(t, newClient(t, fetch.Options{MaxRetries: 3}), `{"url":"URL","method":"`+method+`"}`, at)
			require.Equal(t, requests, int(n.Load()))
			if requests == 1 {
				requireReason(t, err, "reset")
				return
			}
			require.NoError(t, err)
			require.Nil(t, result.Failed)
		})
	}
}

func TestAnAnswerThatBreaksOffIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{"in its head": "HTTP/1.1 200 OK\r\nConte", "in its body": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"} {
		var n atomic.Int32
		at := raw(t, func(_ int, conn net.Conn) {
			n.Add(1)
			readHead(conn)
			_, _ = io.WriteString(conn, begin)
			_ = conn.Close()
		})
		_, err := fetched(t, newClient(t, fetch.Options{MaxRetries: 3}), `{"url":"URL"}`, at)
		requireReason(t, err, "reset")
		require.Equal(t, 1, int(n.Load()), name)
	}
}

func TestAddressesThatMustNotBeReached(t *testing.T) {
	t.Parallel()
	inside := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was reached") })
	outside := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside, http.StatusFound) })
	at := strings.Replace(outside, "127.0.0.1", "localhost", 1)
	c := newClient(t, fetch.Options{Egress: newEgress(t, egress.Options{
		Rules: egress.Rules{AllowHosts: []string{strings.TrimPrefix(at, "http://")}, DenyHosts: []string{"forbidden.example"}},
	})})
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(inside, "http://"))
	for address, host := range map[string]string{
		inside: "127.0.0.1", "http://localhost:" + port: "localhost", "http://[::1]:" + port: "::1", "http://169.254.169.254/latest": "169.254.169.254",
		"http://forbidden.example": "forbidden.example", at: "127.0.0.1", "http://10.0.0.1": "10.0.0.1", "http://[::ffff:127.0.0.1]:" + port: "::ffff:127.0.0.1",
	} {
		result, err := fetched(t, c, `{"url":"URL","allowSelfSignedCert":true}`, address)
		requireRaised(t, err, automation.FetchForbidden, "host", host)
		require.Nil(t, result.Failed)
	}
}

func TestANameThatLeadsInsideIsRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t, fetch.Options{Egress: newEgress(t, egress.Options{
		HTTPProxy: "http://127.0.0.1:1",
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
		},
	})})
	_, err := fetched(t, c, `{"url":"http://innocent.example/"}`, "")
	requireRaised(t, err, automation.FetchForbidden, "host", "innocent.example")
}

func TestACertificateOfTheirOwn(t *testing.T) {
	t.Parallel()
	at := serveTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	c := newClient(t, fetch.Options{})
	result, err := fetched(t, c, `{"url":"URL","allowSelfSignedCert":true}`, at)
	require.NoError(t, err)
	require.Equal(t, "HTTP/2.0", result.Value)
	_, err = fetched(t, c, `{"url":"URL"}`, at)
	requireReason(t, err, "tls")
}

func TestALargeBodyToAServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	at := raw(t, func(_ int, conn net.Conn) { t.Cleanup(func() { _ = conn.Close() }) })
	p := params(t, `{"url":"URL","method":"post","timeout":0.1}`, at)
	p.Set("body", string(bytes.Repeat([]byte("a"), 32<<20)))
	_, err := newClient(t, fetch.Options{}).Do(t.Context(), fetch.Call{Params: p})
	requireReason(t, err, "timeout")
}
