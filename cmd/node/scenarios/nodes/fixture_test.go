package nodes_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/projections/livetest"
)

// brokerLink is the way from a node to its broker, which can be cut.
type brokerLink struct {
	net.Listener
	to string

	mu    sync.Mutex
	cut   bool
	ends  map[net.Conn]bool
	going sync.WaitGroup
}

func newBrokerLink(t *testing.T, to string) *brokerLink {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &brokerLink{Listener: l, to: to, ends: map[net.Conn]bool{}}
	c.going.Go(c.serve)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		c.set(true)
		c.going.Wait()
	})
	return c
}

// set cuts the cable, or mends it.
func (c *brokerLink) set(cut bool) {
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
func (c *brokerLink) serve() {
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
func (c *brokerLink) hold(near, far net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		_ = far.Close()
		return false
	}
	c.ends[near], c.ends[far] = true, true
	return true
}

func (c *brokerLink) pass(from, to net.Conn) {
	_, _ = io.Copy(to, from) // until either is closed
	_, _ = from.Close(), to.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ends, from)
	delete(c.ends, to)
}

// newFragileCluster starts two nodes that soon do without each other, the first one at the end of
// a cable.
func newFragileCluster(t *testing.T, env ...string) (*cluster, *brokerLink, *nodetest.Clock) {
	t.Helper()
	broker := nodetest.StartBroker(t)
	wire, at := newBrokerLink(t, strings.TrimPrefix(broker.ClientURL(), "nats://")), &nodetest.Clock{}
	port := livetest.Ports(1)[0] // the platform has one public address
	shared := append([]string{
		"STREAM_REPLICAS=1", "SECRETS_MASTER_KEYS=" + nodetest.MasterKeys, fmt.Sprintf("API_URL=http://127.0.0.1:%d/v2", port),
		"EGRESS_ALLOW_PRIVATE=yes", "RATE_LIMIT_DISABLED=yes", livetest.Patient,
	}, env...)
	begin := func(name, address string) *nodetest.Service {
		s := nodetest.NewServiceWithAccounts(t, append(shared, "NODE_NAME="+name, "NATS_URL=nats://svc:hunter2@"+address)...)
		s.Lease, s.Clock = nodetest.ShortLease, at.Now
		return s.Start(t)
	}
	c := &cluster{one: begin("one", wire.Addr().String()), other: begin("other", wire.to)}
	c.owner = c.one.NewUser(t, "owner")
	return c, wire, at
}

// emitWithRetry emits so many events of a type, and comes again while the platform asks for that.
func emitWithRetry(t *testing.T, p nodetest.Workspace, name, key string, n int) {
	t.Helper()
	events := strings.TrimSuffix(strings.Repeat(`{"type":"`+name+`","payload":{"n":1}},`, n), ",")
	h := nodetest.WithHeader(p.Auth, "Idempotency-Key", key)
	require.Eventually(t, func() bool {
		got, err := p.Service.Request(t.Context(), http.MethodPost, p.Path+"/events", h, `{"events":[`+events+`]}`)
		return err == nil && got.StatusCode == http.StatusCreated
	}, time.Minute, 50*time.Millisecond)
}

// newWorkspaceOfFirst makes a workspace whose events are read by the first node.
func (c *cluster) newWorkspaceOfFirst(t *testing.T) (here, there nodetest.Workspace) {
	t.Helper()
	for range 50 {
		here, there = c.newWorkspace(t)
		here.AddAutomations(t, `probe: {when: {events: [probe]}, do: []}`)
		if findReader(t, there) == "one" {
			return here, there
		}
	}
	require.FailNow(t, "the first node reads no events")
	return here, there
}

// findReader returns which node reads the events of a workspace.
func findReader(t *testing.T, p nodetest.Workspace) string {
	t.Helper()
	made, _ := p.Emit(t, `{"type":"probe"}`)
	return node(p.AwaitEvents(t, 1, nodetest.Executed, "payload.trigger.id="+made[0].ID)[0])
}
