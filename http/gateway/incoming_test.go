package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/http/gateway"
)

// rawConnection is a connection on which every byte is ours.
type rawConnection struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (w *world) dial() *rawConnection {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(w.t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	return &rawConnection{w.t, conn, bufio.NewReader(conn)}
}

// send sends text whose lines end as those of HTTP do.
func (c *rawConnection) send(text string) {
	c.t.Helper()
	_, err := io.WriteString(c.conn, strings.ReplaceAll(text, "\n", "\r\n"))
	require.NoError(c.t, err)
}

// receive reads one answer.
func (c *rawConnection) receive() (answer, *http.Response) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.in, nil)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return answer{resp.StatusCode, resp.Header, string(body)}, resp
}

// over asserts that the server has closed the connection.
func (c *rawConnection) over() {
	c.t.Helper()
	_, err := c.in.ReadByte()
	require.ErrorIs(c.t, err, io.EOF)
}

func within(d time.Duration) func() gateway.Settings {
	return func() gateway.Settings { return gateway.Settings{RequestTimeout: d, WriteGrace: time.Millisecond} }
}

// bodies is a table with every way to treat a body.
func bodies() []gateway.Route {
	closed := post("/closed", returns(1, nil))
	closed.Permission, closed.NoScope = gateway.Auth, true
	none := post("/none", returns(1, nil))
	none.Body = gateway.NoBody
	return []gateway.Route{
		decoding(), closed, none, post("/deaf", returns(1, nil)),
		{Method: "POST", Path: "/silent", Permission: gateway.Public, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})},
		{Method: "POST", Path: "/raw", Permission: gateway.Public, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); errors.Is(err, context.DeadlineExceeded) {
				w.WriteHeader(http.StatusGatewayTimeout)
			}
		})},
	}
}

func TestAnAnswerDoesNotWaitForABodyThatNobodyReads(t *testing.T) {
	w := start(t, gateway.Options{Routes: bodies(), Settings: within(time.Hour)})
	var heard []*rawConnection
	for request, status := range map[string]int{
		"POST /unknown": 404, "DELETE /closed": 405, "POST /closed": 401, "POST /none": 200, "POST /deaf": 200, "POST /silent": 200, "OPTIONS /deaf": 204,
	} {
		for _, length := range []string{"Content-Length: 100", "Content-Length: 300000", "Transfer-Encoding: chunked"} {
			c := w.dial()
			c.send(request + " HTTP/1.1\nHost: a\n" + length + "\n\n")
			got, resp := c.receive()
			require.Equal(t, status, got.status, request)
			require.True(t, resp.Close, "%s %s: the connection has no further use", request, length)
			heard = append(heard, c)
		}
	}
	for _, c := range heard {
		c.over()
	}
}

func TestABodyThatDoesNotComeIsATimeout(t *testing.T) {
	w := start(t, gateway.Options{Routes: bodies(), Settings: within(50 * time.Millisecond)})
	for _, path := range []string{"/decode", "/raw"} {
		c := w.dial()
		c.send("POST " + path + " HTTP/1.1\nHost: a\nContent-Length: 100\n\n{")
		got, resp := c.receive()
		require.Equal(t, 504, got.status, got.body)
		require.True(t, resp.Close)
		c.over()
	}
}

func TestABodyThatDripsIsATimeout(t *testing.T) {
	w := start(t, gateway.Options{Routes: bodies(), Settings: within(50 * time.Millisecond)})
	c := w.dial()
	c.send("POST /decode HTTP/1.1\nHost: a\nContent-Length: 100000\n\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := c.conn.Write([]byte(" ")); err != nil {
				return
			}
		}
	}()
	got, _ := c.receive()
	got.requireFailure(t, 504, domain.CodeGatewayTimeout)
	<-done // the server has closed the connection
}

func TestTheTimeOfABodyIsLive(t *testing.T) {
	var timeout atomic.Int64
	timeout.Store(int64(time.Hour))
	w := start(t, gateway.Options{Routes: bodies(), Settings: func() gateway.Settings {
		return gateway.Settings{RequestTimeout: time.Duration(timeout.Load())}
	}})
	require.Equal(t, 200, w.do("POST", "/decode", `{}`).status)
	timeout.Store(int64(20 * time.Millisecond))
	c := w.dial()
	c.send("POST /decode HTTP/1.1\nHost: a\nContent-Length: 2\n\n")
	got, _ := c.receive()
	got.requireFailure(t, 504, domain.CodeGatewayTimeout)
}

func TestAConnectionIsKeptAndMayRunAhead(t *testing.T) {
	w := start(t, gateway.Options{Routes: bodies()})
	c := w.dial()
	one := "Host: a\nContent-Type: application/json\nContent-Length: 12\n\n{\"name\":\"a\"}"
	all := []string{"POST /decode", "POST /closed", "POST /unknown", "POST /none", "POST /deaf", "POST /raw", "POST /silent", "POST /decode"}
	for _, request := range all { // one after another
		c.send(request + " HTTP/1.1\n" + one)
		_, resp := c.receive()
		require.False(t, resp.Close, request)
	}
	for _, request := range all { // all at once
		c.send(request + " HTTP/1.1\n" + one)
	}
	for _, status := range []int{200, 401, 404, 200, 200, 200, 200, 200} {
		got, _ := c.receive()
		require.Equal(t, status, got.status)
	}
}

func TestAClientThatAsksFirstIsNotToldToGoOn(t *testing.T) {
	w := start(t, gateway.Options{Routes: bodies(), Settings: within(time.Hour)})
	c := w.dial()
	c.send("POST /closed HTTP/1.1\nHost: a\nContent-Length: 10\nExpect: 100-continue\n\n")
	got, resp := c.receive()
	require.Equal(t, 401, got.status, "not 100")
	require.True(t, resp.Close)
}

func TestAStreamOutlivesTheDeadlineOfItsBody(t *testing.T) {
	w := start(t, gateway.Options{Settings: within(20 * time.Millisecond), Routes: []gateway.Route{post("/x", func(r *http.Request) (any, error) {
		var in map[string]any
		if err := gateway.Decode(r, &in); err != nil {
			return nil, err
		}
		return gateway.Stream{Serve: func(w http.ResponseWriter, r *http.Request) (any, error) {
			late := time.NewTimer(80 * time.Millisecond)
			defer late.Stop()
			select {
			case <-late.C:
			case <-r.Context().Done():
				w.WriteHeader(500)
			}
			return 1, nil
		}}, nil
	})}})
	require.Equal(t, 200, w.do("POST", "/x", `{}`).status)
}

func TestTheBodyOfAStreamingRouteMayTakeItsTime(t *testing.T) {
	const patience = 300 * time.Millisecond
	w := start(t, gateway.Options{Settings: within(patience), Routes: []gateway.Route{{Method: "POST", Path: "/x", Permission: gateway.Public, Streaming: true,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); err != nil || len(body) != 10 {
				w.WriteHeader(500)
			}
		})}}})
	c := w.dial()
	c.send("POST /x HTTP/1.1\nHost: a\nContent-Length: 10\n\n")
	tick := time.NewTicker(patience / 8)
	defer tick.Stop()
	for range 10 {
		<-tick.C
		c.send("a")
	}
	got, _ := c.receive()
	require.Equal(t, 200, got.status)

	c.send("POST /x HTTP/1.1\nHost: a\nContent-Length: 10\n\na") // and no more
	got, _ = c.receive()
	require.Equal(t, 500, got.status)
}

// A handler that outlives its request must not take what is left for the whole.
func TestABodyIsNotReadOnBehindTheAnswer(t *testing.T) {
	read := make(chan error, 1)
	w := serve(t, gateway.Route{Method: "POST", Path: "/x", Permission: gateway.Public, Streaming: true,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			_, err := io.ReadAll(r.Body)
			read <- err
		})})
	require.Equal(t, 200, w.do("POST", "/x", `{"a":1}`).status)
	require.ErrorIs(t, <-read, context.DeadlineExceeded)
}
