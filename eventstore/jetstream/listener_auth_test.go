package jetstream_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"svc/eventstore/jetstream"
	"svc/projections/livetest"
)

func TestNobodyElseIsLetIn(t *testing.T) {
	c := newClub(t, nil)
	member := c.member(t, jetstream.Grant{User: "nu_1"})
	elsewhere, err := nkeys.CreateAccount()
	require.NoError(t, err)
	thief := guest{issue(t, c.account, time.Time{}).seed, member.jwt}
	moved := issue(t, elsewhere, time.Time{})
	c.set(moved, jetstream.Grant{User: "nu_2"})
	late := issue(t, c.account, time.Now().Add(-time.Second))
	c.set(late, jetstream.Grant{User: "nu_3"})
	head, tail, _ := strings.Cut(member.jwt, ".")
	bent := guest{member.seed, head + "." + strings.Replace(tail, tail[10:14], "AAAA", 1)}
	reused, err := member.seed.Sign([]byte("another nonce"))
	require.NoError(t, err)
	for name, shown := range map[string]nats.Option{
		"nothing":                  nats.Name("x"),
		"a name and a password":    nats.UserInfo("svc", "svc"),
		"a token":                  nats.Token("svc"),
		"somebody else's JWT":      thief.shows(),
		"an unknown user":          issue(t, c.account, time.Time{}).shows(),
		"another account":          moved.shows(),
		"expired":                  late.shows(),
		"altered":                  bent.shows(),
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
	c.connect(t, member.shows())
}

func TestWhoIsExpelledIsCutOffAtOnce(t *testing.T) {
	c := newClub(t, nil)
	gone, stays := c.member(t, jetstream.Grant{User: "nu_1"}), c.member(t, jetstream.Grant{User: "nu_2"})
	leaving, _ := c.connect(t, gone.shows())
	staying, _ := c.connect(t, stays.shows())
	require.NoError(t, c.DisconnectRevoked())
	require.NoError(t, leaving.Flush())
	c.expel(gone)
	require.NoError(t, c.DisconnectRevoked())
	require.Eventually(t, leaving.IsClosed, 10*time.Second, time.Millisecond)
	require.NoError(t, staying.Flush())
	_, err := nats.Connect(c.url(), gone.shows())
	require.ErrorIs(t, err, nats.ErrAuthorization)
}

func TestAPassRunsOut(t *testing.T) {
	c := newClub(t, nil)
	nc, complaints := c.connect(t, c.member(t, jetstream.Grant{User: "nu_1", Until: time.Now().Add(300 * time.Millisecond)}).shows())
	require.Eventually(t, nc.IsClosed, 10*time.Second, time.Millisecond)
	require.ErrorIs(t, receive(t, complaints), nats.ErrAuthExpired)
}

// Who comes while the service does not know yet who may waits, and is not sent away.
func TestAGuestWaitsUntilItIsKnownWhoMay(t *testing.T) {
	c := newClub(t, nil)
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
		nc, err := nats.Connect(address, member.shows(), nats.Timeout(20*time.Second))
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

	go func() { _, err := nats.Connect(address, member.shows(), nats.Timeout(20*time.Second)); done <- err }()
	<-asked
	require.NoError(t, late.Close(t.Context()), "nobody who waits holds the end up")
	require.Error(t, <-done)
}

func TestAnAddressThatIsTakenIsTold(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, addr := range []string{taken.Addr().String(), "127.0.0.1", "127.0.0.1:x"} {
		_, err := jetstream.Listen(jetstream.ListenerOptions{Addr: addr, Log: slog.New(slog.DiscardHandler)})
		require.Error(t, err, addr)
	}
}
