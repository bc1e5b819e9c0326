package node_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/projections/livetest"
)

// gate is a server that lets nobody through before it is opened.
type gate struct {
	*httptest.Server
	mu     sync.Mutex
	asked  map[string]int // by path
	opened chan struct{}
	once   sync.Once
}

func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{asked: map[string]int{}, opened: make(chan struct{})}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	t.Cleanup(g.open)
	return g
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.asked[r.URL.Path]++
	g.mu.Unlock()
	select {
	case <-g.opened:
	case <-r.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
}

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }

// awaits waits until a path was asked for so often.
func (g *gate) awaits(t *testing.T, n int, path string) {
	t.Helper()
	require.Eventually(t, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.asked[path] >= n
	}, 30*time.Second, 10*time.Millisecond, "%d times %s", n, path)
}

// cable is the way from a node to its broker, which can be cut.
type cable struct {
	net.Listener
	to string

	mu    sync.Mutex
	cut   bool
	ends  map[net.Conn]bool
	going sync.WaitGroup
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cable{Listener: l, to: to, ends: map[net.Conn]bool{}}
	c.going.Go(c.serve)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		c.set(true)
		c.going.Wait()
	})
	return c
}

// set cuts the cable, or mends it.
func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	for end := range c.ends {
		if cut {
			_ = end.Close()
		}
	}
}

// serve passes on what comes, until the listener is closed.
func (c *cable) serve() {
	for {
		near, err := c.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.to)
		if err != nil || !c.hold(near, far) {
			_ = near.Close()
			continue
		}
		c.going.Go(func() { c.pass(near, far) })
		c.going.Go(func() { c.pass(far, near) })
	}
}

// hold notes the ends of a connection, unless the cable is cut.
func (c *cable) hold(near, far net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		_ = far.Close()
		return false
	}
	c.ends[near], c.ends[far] = true, true
	return true
}

func (c *cable) pass(from, to net.Conn) {
	_, _ = io.Copy(to, from) // until either is closed
	_, _ = from.Close(), to.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ends, from)
	delete(c.ends, to)
}

// clock is one that a test moves.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// nextMinute moves the clock to just after the next full minute.
func (c *clock) nextMinute() {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += now.Truncate(time.Minute).Add(time.Minute + time.Second).Sub(now)
}

// shortLease is for how long a node that is gone keeps others from what it did.
const shortLease = 4 * time.Second

// newUneasy starts two nodes that soon do without each other, the first one at the end of
// a cable.
func newUneasy(t *testing.T, env ...string) (*cluster, *cable, *clock) {
	t.Helper()
	broker := external(t)
	wire, at := newCable(t, strings.TrimPrefix(broker.ClientURL(), "nats://")), &clock{}
	port := livetest.Ports(1)[0] // the platform has one public address
	shared := append([]string{
		"STREAM_REPLICAS=1", "SECRETS_MASTER_KEYS=" + masterKeys, fmt.Sprintf("API_URL=http://127.0.0.1:%d/v2", port),
		"EGRESS_ALLOW_PRIVATE=yes", "RATE_LIMIT_DISABLED=yes", "PUBLISH_TIMEOUT_MS=10000",
	}, env...)
	begin := func(name, address string) *service {
		s := identified(t, append(shared, "NODE_NAME="+name, "NATS_URL=nats://svc:hunter2@"+address)...)
		s.lease, s.clock = shortLease, at.now
		return s.start(t)
	}
	c := &cluster{one: begin("one", wire.Addr().String()), other: begin("other", wire.to)}
	c.owner = c.one.person(t, "owner")
	return c, wire, at
}

// insists emits so many events of a type, and comes again while the platform asks for that.
func (p place) insists(t *testing.T, name, key string, n int) {
	t.Helper()
	events := strings.TrimSuffix(strings.Repeat(`{"type":"`+name+`","payload":{"n":1}},`, n), ",")
	h := with(p.me, "Idempotency-Key", key)
	require.Eventually(t, func() bool {
		got, err := p.s.request(t.Context(), http.MethodPost, p.path+"/events", h, `{"events":[`+events+`]}`)
		return err == nil && got.StatusCode == http.StatusCreated
	}, 30*time.Second, 50*time.Millisecond)
}

// ours makes a workspace whose events are read by the first node.
func (c *cluster) ours(t *testing.T) (here, there place) {
	t.Helper()
	for range 50 {
		here, there = c.place(t)
		here.has(t, `probe: {when: {events: [probe]}, do: []}`)
		if there.probed(t) == "one" {
			return here, there
		}
	}
	require.FailNow(t, "the first node reads no events")
	return here, there
}

// probed returns which node reads the events of a workspace.
func (p place) probed(t *testing.T) string {
	t.Helper()
	made, _ := p.emits(t, `{"type":"probe"}`)
	return p.awaits(t, 1, executed, "payload.trigger.id="+made[0].ID)[0].node()
}
