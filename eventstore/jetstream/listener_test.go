package jetstream_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
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

func TestAClientReceivesWhatItsGrantAllows(t *testing.T) {
	c := newListenerFixture(t, nil)
	require.False(t, c.HasClients())
	nc, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_1", Workspaces: []string{"w1", "a b"}, Types: []string{"workspaces.bulkPush.*", "error"}}).credentialsOption())
	require.True(t, c.HasClients())
	push, odd, failures := subscribe(t, nc, "svc.activity.w1.workspaces.bulkPush.>"), subscribe(t, nc, "svc.activity.a%20b.error"), subscribe(t, nc, "svc.activity.w1.error")
	require.NoError(t, c.Publish(t.Context(), []*feed.Event{
		newEvent("w1", "workspaces.bulkPush.progress", 1), newEvent("w2", "workspaces.bulkPush.progress", 2), newEvent("w1", "workspaces.updated", 3),
		newEvent("a b", "error", 4), newEvent("w1", "error", 5), newEvent("w1", "workspaces.bulkPush.completed", 6),
	}))
	first := next(t, push)
	require.Equal(t, "svc.activity.w1.workspaces.bulkPush.progress", first.Subject)
	require.Equal(t, "w1-workspaces.bulkPush.progress-1", first.Header.Get(nats.MsgIdHdr))
	require.Equal(t, domain.Position{Activity: 1}.Token(), first.Header.Get("Svc-Seq"))
	var told struct{ ID, Type, Seq string }
	require.NoError(t, json.Unmarshal(first.Data, &told))
	require.Equal(t, []string{"w1-workspaces.bulkPush.progress-1", "workspaces.bulkPush.progress", first.Header.Get("Svc-Seq")}, []string{told.ID, told.Type, told.Seq})
	require.Equal(t, "svc.activity.w1.workspaces.bulkPush.completed", next(t, push).Subject)
	require.Equal(t, "svc.activity.a%20b.error", next(t, odd).Subject)
	next(t, failures)
	require.Empty(t, push)
}

func TestAClientReceivesNothingElse(t *testing.T) {
	c := newListenerFixture(t, nil)
	some := c.member(t, jetstream.Grant{User: "nu_1", Workspaces: []string{"w1"}, Types: []string{"workspaces.*.started", "a.b"}})
	one := c.member(t, jetstream.Grant{User: "nu_2", Workspaces: []string{"w1"}})
	other, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_3"}).credentialsOption())
	everything := subscribe(t, other, "svc.activity.>")
	for who, tries := range map[*testClient][]string{
		&some: {"svc.activity.w1.>", "svc.activity.w1.workspaces.>", "svc.activity.w1.workspaces.a.b.started", "svc.activity.w1.a.*", "svc.activity.w1.*.b", "svc.activity.w2.a.b"},
		&one: {
			"svc.activity.w2.>", "svc.activity.*.workspaces.updated", "svc.activity.>", "svc.>", ">", "*.*.*.>", "svc.state.w1.>", "$JS.API.>", "$SYS.>", "$SYS.REQ.USER.INFO",
			"_INBOX.>", "_INBOX." + publicOf(some.seed) + ".>", "svc.activity.w1.> x", "svc.activity.W1.>", "svc.data.>",
		},
	} {
		for _, subject := range tries {
			nc, complaints := c.connect(t, who.credentialsOption())
			got := make(chan *nats.Msg, 100)
			var err error
			if name, queue, found := strings.Cut(subject, " "); found {
				_, err = nc.ChanQueueSubscribe(name, queue, got)
			} else {
				_, err = nc.ChanSubscribe(subject, got)
			}
			require.NoError(t, err)
			require.NoError(t, nc.Flush())
			require.ErrorIs(t, receive(t, complaints), nats.ErrPermissionViolation, subject)
			require.NoError(t, c.Publish(t.Context(), []*feed.Event{newEvent("w1", "workspaces.x.started", 1), newEvent("w2", "a.b", 2), newEvent("w1", "a.b", 3)}))
			for range 3 {
				next(t, everything)
			}
			require.NoError(t, nc.Flush())
			require.Empty(t, got, subject)
			nc.Close()
		}
	}
}

// Whatever workspaces and types are called, it is told under a subject of its own
// workspace: nobody of another one hears it.
func TestOddNamesReachNobodyElse(t *testing.T) {
	c := newListenerFixture(t, nil)
	w1, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_1", Workspaces: []string{"w1"}}).credentialsOption())
	own := subscribe(t, w1, "svc.activity.w1.>")
	everybody, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_2"}).credentialsOption())
	all := subscribe(t, everybody, "svc.activity.>")
	odd := []string{
		"*", ">", "", ".", "..", " ", "a b", "w1.", ".w1", "w1.x", "w1 ", "W1", "w1.*", "w1.>", "a.*.b", "a.>", "$SYS.x", "\r\nMSG svc.activity.w1.x 1 0\r\n\r\n",
		"\x00", "\xff", "é", strings.Repeat("n", 10<<10), strings.Repeat(".", 10<<10), strings.Repeat("* ", 5<<10),
	}
	for i, name := range odd {
		at := uint64(2 * i)
		require.NoError(t, c.Publish(t.Context(), []*feed.Event{newEvent(name, "a", at+1), newEvent("w1", name, at+2)}), "%q", name)
		for _, want := range []uint64{at + 1, at + 2} {
			m := next(t, all)
			require.Equal(t, domain.Position{Activity: want}.Token(), m.Header.Get("Svc-Seq"))
			require.Regexp(t, `^svc\.activity(\.[A-Za-z0-9_%-]+){2,}$`, m.Subject)
			require.Less(t, len(m.Subject), 2000)
		}
		m := next(t, own)
		require.True(t, strings.HasPrefix(m.Subject, "svc.activity.w1."), m.Subject)
		require.Equal(t, domain.Position{Activity: at + 2}.Token(), m.Header.Get("Svc-Seq"), "what happened in %q is told to w1", name)
	}
	require.Empty(t, own)
}

func TestAClientCannotPublish(t *testing.T) {
	t.Parallel()
	c := newListenerFixture(t, nil)
	all := jetstream.Grant{User: "nu_1"}
	listening, _ := c.connect(t, c.member(t, all).credentialsOption())
	everything := subscribe(t, listening, "svc.activity.>")
	for _, subject := range []string{"svc.activity.w1.error", "svc.state.w1.x", "$JS.API.INFO", "$SYS.REQ.SERVER.PING", "_INBOX.x", "x"} {
		nc, complaints := c.connect(t, c.member(t, all).credentialsOption())
		require.NoError(t, nc.Publish(subject, []byte("forged")))
		require.NoError(t, nc.Flush())
		require.ErrorIs(t, receive(t, complaints), nats.ErrPermissionViolation, subject)
	}
	nc, _ := c.connect(t, c.member(t, all).credentialsOption())
	_, err := nc.Request("$JS.API.INFO", nil, time.Second)
	require.Error(t, err)
	require.NoError(t, nc.PublishMsg(&nats.Msg{Subject: "x", Header: nats.Header{"Nats-Trace-Dest": {"svc.activity.w1.error"}}}))
	require.NoError(t, nc.Flush())
	require.ErrorIs(t, nc.Publish("x", make([]byte, 3<<20)), nats.ErrMaxPayload)
	require.NoError(t, c.Publish(t.Context(), []*feed.Event{newEvent("w1", "error", 1)}))
	require.Equal(t, "w1-error-1", next(t, everything).Header.Get(nats.MsgIdHdr), "and nothing before it")
}

func TestTheSubscriptionsOfAClientAreLimited(t *testing.T) {
	c := newListenerFixture(t, nil)
	nc, complaints := c.connect(t, c.member(t, jetstream.Grant{User: "nu_1"}).credentialsOption())
	for range 1000 {
		_, err := nc.SubscribeSync("svc.activity.w1.a")
		require.NoError(t, err)
	}
	require.NoError(t, nc.Flush())
	require.Empty(t, complaints)
	_, err := nc.SubscribeSync("svc.activity.w1.a")
	require.NoError(t, err, "the client does not know yet")
	require.ErrorIs(t, receive(t, complaints), nats.ErrMaxSubscriptionsExceeded)
}

func TestQueueGroupsAreOnesOwn(t *testing.T) {
	c := newListenerFixture(t, nil)
	who := c.member(t, jetstream.Grant{User: "nu_1", Workspaces: []string{"w1"}})
	got := make(chan *nats.Msg, 100)
	for range 2 {
		nc, complaints := c.connect(t, who.credentialsOption())
		for _, queue := range []string{"nu_1", "nu_1.workers"} {
			_, err := nc.ChanQueueSubscribe("svc.activity.w1.>", queue, got)
			require.NoError(t, err)
		}
		require.NoError(t, nc.Flush())
		require.Empty(t, complaints)
	}
	require.NoError(t, c.Publish(t.Context(), []*feed.Event{newEvent("w1", "a", 1), newEvent("w1", "b", 2)}))
	for range 4 { // each group once
		next(t, got)
	}
	require.Empty(t, got)
}

// A client that does not read is disconnected; others do not wait for it.
func TestASlowClientIsDisconnected(t *testing.T) {
	t.Parallel()
	c := newListenerFixture(t, nil)
	who := c.member(t, jetstream.Grant{User: "nu_1"})
	fast, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_2"}).credentialsOption())
	everything := subscribe(t, fast, "svc.activity.>")
	stuck := stall(t, c, who)
	big := newEvent("w1", "big", 1)
	big.Payload = json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	for range 64 {
		require.NoError(t, c.Publish(t.Context(), []*feed.Event{big}))
		next(t, everything)
	}
	require.Eventually(t, func() bool {
		_, err := stuck.Write([]byte("PING\r\n"))
		return err != nil
	}, time.Minute, 10*time.Millisecond)
}

func TestAnEventThatIsTooLargeIsSentWithoutItsPayload(t *testing.T) {
	c := newListenerFixture(t, nil)
	nc, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_1"}).credentialsOption())
	everything := subscribe(t, nc, "svc.activity.>")
	big := newEvent("w1", "big", 1)
	big.Payload = json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)
	require.NoError(t, c.Publish(t.Context(), []*feed.Event{big}))
	var told map[string]any
	require.NoError(t, json.Unmarshal(next(t, everything).Data, &told))
	require.Equal(t, []any{big.ID, true, map[string]any{}}, []any{told["id"], told["stripped"], told["payload"]})
}

func TestOthersAreRefused(t *testing.T) {
	c := newListenerFixture(t, nil)
	member := c.member(t, jetstream.Grant{User: "nu_1"})
	elsewhere, err := nkeys.CreateAccount()
	require.NoError(t, err)
	thief := testClient{issue(t, c.account, time.Time{}).seed, member.jwt}
	moved := issue(t, elsewhere, time.Time{})
	c.set(moved, jetstream.Grant{User: "nu_2"})
	late := issue(t, c.account, time.Now().Add(-time.Second))
	c.set(late, jetstream.Grant{User: "nu_3"})
	head, tail, _ := strings.Cut(member.jwt, ".")
	bent := testClient{member.seed, head + "." + strings.Replace(tail, tail[10:14], "AAAA", 1)}
	reused, err := member.seed.Sign([]byte("another nonce"))
	require.NoError(t, err)
	for name, shown := range map[string]nats.Option{
		"nothing":                  nats.Name("x"),
		"a name and a password":    nats.UserInfo("svc", "svc"),
		"a token":                  nats.Token("svc"),
		"somebody else's JWT":      thief.credentialsOption(),
		"an unknown user":          issue(t, c.account, time.Time{}).credentialsOption(),
		"another account":          moved.credentialsOption(),
		"expired":                  late.credentialsOption(),
		"altered":                  bent.credentialsOption(),
		"no JWT at all":            nats.UserJWT(func() (string, error) { return "x", nil }, member.seed.Sign),
		"the nonce of another day": nats.UserJWT(func() (string, error) { return member.jwt, nil }, func([]byte) ([]byte, error) { return reused, nil }),
		"no signature":             nats.UserJWT(func() (string, error) { return member.jwt, nil }, func([]byte) ([]byte, error) { return nil, nil }),
		"a key without a JWT":      nats.Nkey(publicOf(member.seed), member.seed.Sign),
	} {
		_, err := nats.Connect(c.url(), shown, nats.NoReconnect())
		require.ErrorIs(t, err, nats.ErrAuthorization, name)
	}
	t.Log("nor those who are gone before they are answered")
	for range 200 {
		conn, err := net.Dial("tcp", c.Addr().String())
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "CONNECT {\"jwt\":%q,\"sig\":\"AAAA\"}\r\nPING\r\n", member.jwt)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	require.Contains(t, c.logged(), "a subscriber was not let in")
	require.NotContains(t, c.logged(), member.jwt)
	c.connect(t, member.credentialsOption())
}

func TestARevokedClientIsDisconnectedAtOnce(t *testing.T) {
	c := newListenerFixture(t, nil)
	gone, stays := c.member(t, jetstream.Grant{User: "nu_1"}), c.member(t, jetstream.Grant{User: "nu_2"})
	leaving, _ := c.connect(t, gone.credentialsOption())
	staying, _ := c.connect(t, stays.credentialsOption())
	require.NoError(t, c.DisconnectRevoked())
	require.NoError(t, leaving.Flush())
	c.revoke(gone)
	require.NoError(t, c.DisconnectRevoked())
	require.Eventually(t, leaving.IsClosed, time.Minute, time.Millisecond)
	require.NoError(t, staying.Flush())
	_, err := nats.Connect(c.url(), gone.credentialsOption())
	require.ErrorIs(t, err, nats.ErrAuthorization)
}

func TestAGrantExpires(t *testing.T) {
	c := newListenerFixture(t, nil)
	nc, complaints := c.connect(t, c.member(t, jetstream.Grant{User: "nu_1", Until: time.Now().Add(300 * time.Millisecond)}).credentialsOption())
	require.Eventually(t, nc.IsClosed, time.Minute, time.Millisecond)
	require.ErrorIs(t, receive(t, complaints), nats.ErrAuthExpired)
}

// A client that connects before the service can authorize it waits, and is not refused.
func TestAClientWaitsUntilAuthorizationIsFresh(t *testing.T) {
	c := newListenerFixture(t, nil)
	asked, known := make(chan struct{}, 10), make(chan struct{}, 1)
	late, err := jetstream.Listen(jetstream.ListenerOptions{
		Addr: fmt.Sprintf("127.0.0.1:%d", livetest.Ports(1)[0]), Authorize: c.admit, Log: slog.New(slog.DiscardHandler),
		WaitFresh: func(ctx context.Context) error {
			asked <- struct{}{}
			select {
			case <-known:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
	})
	require.NoError(t, err)
	member := c.member(t, jetstream.Grant{User: "nu_1"})
	address := "nats://" + late.Addr().String()
	done := make(chan error, 1)
	go func() {
		nc, err := nats.Connect(address, member.credentialsOption(), nats.Timeout(20*time.Second))
		if err == nil {
			nc.Close()
		}
		done <- err
	}()
	<-asked
	require.Empty(t, done)
	known <- struct{}{}
	require.NoError(t, <-done)
	_, err = nats.Connect(address, nats.Token("x"))
	require.ErrorIs(t, err, nats.ErrAuthorization)
	require.Empty(t, asked, "who proves nothing waits for nothing")

	go func() {
		_, err := nats.Connect(address, member.credentialsOption(), nats.Timeout(20*time.Second))
		done <- err
	}()
	<-asked
	require.NoError(t, late.Close(t.Context()), "nobody who waits holds the end up")
	require.Error(t, <-done)
}

func TestAnAddressInUseIsReported(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, addr := range []string{taken.Addr().String(), "127.0.0.1", "127.0.0.1:x"} {
		_, err := jetstream.Listen(jetstream.ListenerOptions{Addr: addr, Log: slog.New(slog.DiscardHandler)})
		require.Error(t, err, addr)
	}
}

// listenerFixture is a listener, which clients are authorized, and what it logs.
type listenerFixture struct {
	*jetstream.Listener
	account nkeys.KeyPair

	mu     sync.Mutex
	grants map[string]jetstream.Grant // by public key
	log    bytes.Buffer
}

// Write implements io.Writer.
func (c *listenerFixture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Write(b)
}

func (c *listenerFixture) logged() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

func (c *listenerFixture) admit(g jetstream.Client) (jetstream.Grant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	grant, ok := c.grants[g.Key]
	if !ok || g.Issuer != publicOf(c.account) {
		return grant, errors.New("unknown")
	}
	return grant, nil
}

func publicOf(k nkeys.KeyPair) string {
	key, _ := k.PublicKey()
	return key
}

func newListenerFixture(t *testing.T, serve *tls.Config) *listenerFixture {
	t.Helper()
	account, err := nkeys.CreateAccount()
	require.NoError(t, err)
	c := &listenerFixture{account: account, grants: map[string]jetstream.Grant{}}
	c.Listener, err = jetstream.Listen(jetstream.ListenerOptions{
		Addr: fmt.Sprintf("127.0.0.1:%d", livetest.Ports(1)[0]), TLS: serve, Authorize: c.admit, Name: "n1", Log: slog.New(slog.NewTextHandler(c, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(t.Context())) })
	return c
}

// testClient has credentials.
type testClient struct {
	seed nkeys.KeyPair
	jwt  string
}

// issue makes credentials.
func issue(t *testing.T, account nkeys.KeyPair, expires time.Time) testClient {
	t.Helper()
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	claims := jwt.NewUserClaims(publicOf(user))
	if !expires.IsZero() {
		claims.Expires = expires.Unix()
	}
	text, err := claims.Encode(account)
	require.NoError(t, err)
	return testClient{user, text}
}

// member makes credentials with a grant.
func (c *listenerFixture) member(t *testing.T, grant jetstream.Grant) testClient {
	t.Helper()
	g := issue(t, c.account, time.Time{})
	c.set(g, grant)
	return g
}

func (c *listenerFixture) set(g testClient, grant jetstream.Grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grants[publicOf(g.seed)] = grant
}

func (c *listenerFixture) revoke(g testClient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.grants, publicOf(g.seed))
}

func (c *listenerFixture) url() string { return "nats://" + c.Addr().String() }

// credentialsOption returns the credentials as an option.
func (g testClient) credentialsOption() nats.Option {
	return nats.UserJWT(func() (string, error) { return g.jwt, nil }, g.seed.Sign)
}

// connect returns a connection and its errors.
func (c *listenerFixture) connect(t *testing.T, options ...nats.Option) (*nats.Conn, <-chan error) {
	t.Helper()
	complaints := make(chan error, 100)
	nc, err := nats.Connect(c.url(), append(options, nats.NoReconnect(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { complaints <- err }))...)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc, complaints
}

// subscribe subscribes, and waits until the server knows.
func subscribe(t *testing.T, nc *nats.Conn, subject string) <-chan *nats.Msg {
	t.Helper()
	got := make(chan *nats.Msg, 1000)
	_, err := nc.ChanSubscribe(subject, got)
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	return got
}

func newEvent(workspace, eventType string, seq uint64) *feed.Event {
	return &feed.Event{
		ID: fmt.Sprintf("%s-%s-%d", workspace, eventType, seq), Type: eventType, At: time.Now(), Seq: domain.Position{Activity: seq}, Log: domain.Activity,
		Payload: json.RawMessage(`{"n":1}`), Source: feed.Source{WorkspaceID: workspace},
	}
}

// next returns the next message.
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
func stall(t *testing.T, c *listenerFixture, who testClient) net.Conn {
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
