package jetstream_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/feed"
	"svc/eventstore/jetstream"
)

func TestAGuestHearsWhatThePassIsFor(t *testing.T) {
	c := newClub(t, nil)
	require.False(t, c.HasClients())
	nc, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_1", Workspaces: []string{"w1", "a b"}, Types: []string{"workspaces.bulkPush.*", "error"}}).shows())
	require.True(t, c.HasClients())
	push, odd, failures := hears(t, nc, "svc.activity.w1.workspaces.bulkPush.>"), hears(t, nc, "svc.activity.a%20b.error"), hears(t, nc, "svc.activity.w1.error")
	require.NoError(t, c.Publish(t.Context(), []*feed.Event{
		happened("w1", "workspaces.bulkPush.progress", 1), happened("w2", "workspaces.bulkPush.progress", 2), happened("w1", "workspaces.updated", 3),
		happened("a b", "error", 4), happened("w1", "error", 5), happened("w1", "workspaces.bulkPush.completed", 6),
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

func TestAGuestHearsNothingElse(t *testing.T) {
	c := newClub(t, nil)
	some := c.member(t, jetstream.Grant{User: "nu_1", Workspaces: []string{"w1"}, Types: []string{"workspaces.*.started", "a.b"}})
	one := c.member(t, jetstream.Grant{User: "nu_2", Workspaces: []string{"w1"}})
	other, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_3"}).shows())
	everything := hears(t, other, "svc.activity.>")
	for who, tries := range map[*guest][]string{
		&some: {"svc.activity.w1.>", "svc.activity.w1.workspaces.>", "svc.activity.w1.workspaces.a.b.started", "svc.activity.w1.a.*", "svc.activity.w1.*.b", "svc.activity.w2.a.b"},
		&one: {
			"svc.activity.w2.>", "svc.activity.*.workspaces.updated", "svc.activity.>", "svc.>", ">", "*.*.*.>", "svc.state.w1.>", "$JS.API.>", "$SYS.>", "$SYS.REQ.USER.INFO",
			"_INBOX.>", "_INBOX." + publicOf(some.seed) + ".>", "svc.activity.w1.> x", "svc.activity.W1.>", "svc.data.>",
		},
	} {
		for _, subject := range tries {
			nc, complaints := c.connect(t, who.shows())
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
			require.NoError(t, c.Publish(t.Context(), []*feed.Event{happened("w1", "workspaces.x.started", 1), happened("w2", "a.b", 2), happened("w1", "a.b", 3)}))
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
	c := newClub(t, nil)
	w1, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_1", Workspaces: []string{"w1"}}).shows())
	own := hears(t, w1, "svc.activity.w1.>")
	everybody, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_2"}).shows())
	all := hears(t, everybody, "svc.activity.>")
	odd := []string{
		"*", ">", "", ".", "..", " ", "a b", "w1.", ".w1", "w1.x", "w1 ", "W1", "w1.*", "w1.>", "a.*.b", "a.>", "$SYS.x", "\r\nMSG svc.activity.w1.x 1 0\r\n\r\n",
		"\x00", "\xff", "é", strings.Repeat("n", 10<<10), strings.Repeat(".", 10<<10), strings.Repeat("* ", 5<<10),
	}
	for i, name := range odd {
		at := uint64(2 * i)
		require.NoError(t, c.Publish(t.Context(), []*feed.Event{happened(name, "a", at+1), happened("w1", name, at+2)}), "%q", name)
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

func TestAGuestCannotSayAnything(t *testing.T) {
	t.Parallel()
	c := newClub(t, nil)
	all := jetstream.Grant{User: "nu_1"}
	listening, _ := c.connect(t, c.member(t, all).shows())
	everything := hears(t, listening, "svc.activity.>")
	for _, subject := range []string{"svc.activity.w1.error", "svc.state.w1.x", "$JS.API.INFO", "$SYS.REQ.SERVER.PING", "_INBOX.x", "x"} {
		nc, complaints := c.connect(t, c.member(t, all).shows())
		require.NoError(t, nc.Publish(subject, []byte("forged")))
		require.NoError(t, nc.Flush())
		require.ErrorIs(t, receive(t, complaints), nats.ErrPermissionViolation, subject)
	}
	nc, _ := c.connect(t, c.member(t, all).shows())
	_, err := nc.Request("$JS.API.INFO", nil, time.Second)
	require.Error(t, err)
	require.NoError(t, nc.PublishMsg(&nats.Msg{Subject: "x", Header: nats.Header{"Nats-Trace-Dest": {"svc.activity.w1.error"}}}))
	require.NoError(t, nc.Flush())
	require.ErrorIs(t, nc.Publish("x", make([]byte, 3<<20)), nats.ErrMaxPayload)
	require.NoError(t, c.Publish(t.Context(), []*feed.Event{happened("w1", "error", 1)}))
	require.Equal(t, "w1-error-1", next(t, everything).Header.Get(nats.MsgIdHdr), "and nothing before it")
}

func TestAGuestHasSoManySubscriptions(t *testing.T) {
	c := newClub(t, nil)
	nc, complaints := c.connect(t, c.member(t, jetstream.Grant{User: "nu_1"}).shows())
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
	c := newClub(t, nil)
	who := c.member(t, jetstream.Grant{User: "nu_1", Workspaces: []string{"w1"}})
	got := make(chan *nats.Msg, 100)
	for range 2 {
		nc, complaints := c.connect(t, who.shows())
		for _, queue := range []string{"nu_1", "nu_1.workers"} {
			_, err := nc.ChanQueueSubscribe("svc.activity.w1.>", queue, got)
			require.NoError(t, err)
		}
		require.NoError(t, nc.Flush())
		require.Empty(t, complaints)
	}
	require.NoError(t, c.Publish(t.Context(), []*feed.Event{happened("w1", "a", 1), happened("w1", "b", 2)}))
	for range 4 { // each group once
		next(t, got)
	}
	require.Empty(t, got)
}

// One who does not read is cut off; nobody else waits for them.
func TestASlowGuestIsCutOff(t *testing.T) {
	t.Parallel()
	c := newClub(t, nil)
	who := c.member(t, jetstream.Grant{User: "nu_1"})
	fast, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_2"}).shows())
	everything := hears(t, fast, "svc.activity.>")
	stuck := stall(t, c, who)
	big := happened("w1", "big", 1)
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

func TestAnEventThatIsTooLargeIsToldWithoutItsPayload(t *testing.T) {
	c := newClub(t, nil)
	nc, _ := c.connect(t, c.member(t, jetstream.Grant{User: "nu_1"}).shows())
	everything := hears(t, nc, "svc.activity.>")
	big := happened("w1", "big", 1)
	big.Payload = json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)
	require.NoError(t, c.Publish(t.Context(), []*feed.Event{big}))
	var told map[string]any
	require.NoError(t, json.Unmarshal(next(t, everything).Data, &told))
	require.Equal(t, []any{big.ID, true, map[string]any{}}, []any{told["id"], told["stripped"], told["payload"]})
}
