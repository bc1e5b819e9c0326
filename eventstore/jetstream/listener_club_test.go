package jetstream_test

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/feed"
	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

// club is a listener, who is let in, and what it logs.
type club struct {
	*jetstream.Listener
	account nkeys.KeyPair

	mu     sync.Mutex
	passes map[string]jetstream.Grant // by public key
	log    bytes.Buffer
}

// Write implements io.Writer.
func (c *club) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Write(b)
}

func (c *club) logged() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

func (c *club) admit(g jetstream.Client) (jetstream.Grant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pass, ok := c.passes[g.Key]
	if !ok || g.Issuer != publicOf(c.account) {
		return pass, errors.New("unknown")
	}
	return pass, nil
}

func publicOf(k nkeys.KeyPair) string {
	key, _ := k.PublicKey()
	return key
}

func newClub(t *testing.T, serve *tls.Config) *club {
	t.Helper()
	account, err := nkeys.CreateAccount()
	require.NoError(t, err)
	c := &club{account: account, passes: map[string]jetstream.Grant{}}
	c.Listener, err = jetstream.Listen(jetstream.ListenerOptions{
		Addr: fmt.Sprintf("127.0.0.1:%d", livetest.Ports(1)[0]), TLS: serve, Authorize: c.admit, Name: "n1", Log: slog.New(slog.NewTextHandler(c, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(t.Context())) })
	return c
}

// guest is somebody with credentials.
type guest struct {
	seed nkeys.KeyPair
	jwt  string
}

// issue makes credentials.
func issue(t *testing.T, account nkeys.KeyPair, expires time.Time) guest {
	t.Helper()
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	claims := jwt.NewUserClaims(publicOf(user))
	if !expires.IsZero() {
		claims.Expires = expires.Unix()
	}
	text, err := claims.Encode(account)
	require.NoError(t, err)
	return guest{user, text}
}

// member makes credentials that are good for something.
func (c *club) member(t *testing.T, pass jetstream.Grant) guest {
	t.Helper()
	g := issue(t, c.account, time.Time{})
	c.set(g, pass)
	return g
}

func (c *club) set(g guest, pass jetstream.Grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passes[publicOf(g.seed)] = pass
}

func (c *club) expel(g guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.passes, publicOf(g.seed))
}

func (c *club) url() string { return "nats://" + c.Addr().String() }

// shows is what a client shows of its credentials.
func (g guest) shows() nats.Option {
	return nats.UserJWT(func() (string, error) { return g.jwt, nil }, g.seed.Sign)
}

// connect is a client whose complaints are kept.
func (c *club) connect(t *testing.T, options ...nats.Option) (*nats.Conn, <-chan error) {
	t.Helper()
	complaints := make(chan error, 100)
	nc, err := nats.Connect(c.url(), append(options, nats.NoReconnect(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { complaints <- err }))...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc, complaints
}

// hears subscribes, and waits until the server knows.
func hears(t *testing.T, nc *nats.Conn, subject string) <-chan *nats.Msg {
	t.Helper()
	got := make(chan *nats.Msg, 1000)
	_, err := nc.ChanSubscribe(subject, got)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	return got
}

func happened(workspace, eventType string, seq uint64) *feed.Event {
	return &feed.Event{
		ID: fmt.Sprintf("%s-%s-%d", workspace, eventType, seq), Type: eventType, At: time.Now(), Seq: domain.Position{Activity: seq}, Log: domain.Activity,
		Payload: json.RawMessage(`{"n":1}`), Source: feed.Source{WorkspaceID: workspace},
	}
}

// pending is the next message.
func next(t *testing.T, from <-chan *nats.Msg) *nats.Msg {
	t.Helper()
	select {
	case m := <-from:
		return m
	case <-time.After(time.Minute):
		require.FailNow(t, "nothing came")
		return nil
	}
}

func receive(t *testing.T, from <-chan error) error {
	t.Helper()
	select {
	case err := <-from:
		return err
	case <-time.After(time.Minute):
		return errors.New("nothing was said")
	}
}

// stall connects by hand, subscribes, and reads nothing more.
func stall(t *testing.T, c *club, who guest) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", c.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
	info := make([]byte, 4<<10)
	n, err := conn.Read(info)
	require.NoError(t, err)
	var told struct{ Nonce string }
	require.NoError(t, json.Unmarshal(bytes.TrimPrefix(info[:n], []byte("INFO ")), &told))
	sig, err := who.seed.Sign([]byte(told.Nonce))
	require.NoError(t, err)
	connect, err := json.Marshal(map[string]any{"jwt": who.jwt, "sig": base64.RawURLEncoding.EncodeToString(sig), "verbose": false, "protocol": 1, "headers": true})
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "CONNECT %s\r\nSUB svc.activity.> 1\r\nPING\r\n", connect)
	require.NoError(t, err)
	n, err = conn.Read(info)
	require.NoError(t, err)
	require.Contains(t, string(info[:n]), "PONG")
	return conn
}
