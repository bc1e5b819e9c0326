package gittest

import (
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// gate counts what is going on. Unlike a sync.WaitGroup it may be waited for
// while more begins.
type gate struct {
	mu    sync.Mutex
	count int
	empty chan struct{} // closed when count is 0; nil: nobody asked
}

func (g *gate) acquire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count++
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.count--; g.count == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

func (g *gate) wait() {
	g.mu.Lock()
	if g.count == 0 {
		g.mu.Unlock()
		return
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	<-empty
}

// Direction is which way bytes go.
type Direction int

// The directions of a Proxy.
const (
	Up   Direction = iota // to the server
	Down                  // to the client
)

// Proxy passes connections on to a server, and cuts them.
type Proxy struct {
	Address string

	target  string
	mu      sync.Mutex
	passed  [2]int // bytes since the last Arm
	limit   [2]int // -1: none
	cuts    int    // since the last Arm
	most    int    // cuts after which the network is well again; 0: never
	conns   []net.Conn
	running sync.WaitGroup
}

// NewProxy starts a proxy that ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{Address: listener.Addr().String(), target: target, limit: [2]int{-1, -1}}
	p.running.Go(func() { p.accept(listener) })
	t.Cleanup(func() {
		_ = listener.Close() // accept ends with it
		p.cut()
		p.running.Wait()
	})
	return p
}

// Arm begins to count anew; after so many bytes in a direction every connection
// is cut, now and later. -1 cuts none.
func (p *Proxy) Arm(d Direction, after int) { p.Disturb(d, after, 0) }

// Disturb is Arm, but after so many cuts the network is well again.
func (p *Proxy) Disturb(d Direction, after, cuts int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passed, p.limit, p.cuts, p.most = [2]int{}, [2]int{-1, -1}, 0, cuts
	p.limit[d] = after
}

// Cuts returns how often connections were cut since Arm.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// Passed returns the bytes since Arm.
func (p *Proxy) Passed(d Direction) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed[d]
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.running.Go(func() { p.pass(server, client, Up) })
		p.running.Go(func() { p.pass(client, server, Down) })
	}
}

func (p *Proxy) pass(to, from net.Conn, d Direction) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		allowed, cut := p.count(d, n)
		if _, failed := to.Write(buffer[:allowed]); failed != nil {
			return
		}
		if cut {
			p.cut()
		}
		if cut || err != nil {
			return
		}
	}
}

// count returns how many of n bytes may pass.
func (p *Proxy) count(d Direction, n int) (allowed int, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	allowed = n
	if limit := p.limit[d]; limit >= 0 && p.passed[d]+n > limit {
		allowed, cut = max(0, limit-p.passed[d]), true
		if p.cuts++; p.cuts == p.most {
			p.limit[d] = -1
		}
	}
	p.passed[d] += allowed
	return allowed, cut
}

func (p *Proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close() // both ends notice
	}
	p.conns = nil
}

// Silent returns the address of a server that accepts connections and says
// nothing.
func Silent(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var running sync.WaitGroup
	var held []net.Conn
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			held = append(held, conn)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close() // the loop ends with it
		running.Wait()
		for _, conn := range held {
			_ = conn.Close()
		}
	})
	return listener.Addr().String()
}
