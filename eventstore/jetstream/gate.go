package jetstream

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// gate makes the appends to one stream durable in groups. The broker writes a
// message to its block file before it acknowledges it; wait returns once that
// file has been fsynced since. One fsync runs at a time and lets everyone
// through who asked before it began.
//
// The gate never retries a failed fsync: the kernel may have dropped the pages
// and would answer the second call with success. It stays shut until the store
// has reopened the stream.
type gate struct {
	gateOptions
	durable atomic.Uint64 // highest sequence known to be on disk

	coming atomic.Int64  // appends that are on their way and have not joined yet
	settle chan struct{} // told when coming falls to 0

	mu     sync.Mutex
	now    *round // whom the running fsync serves; nil when none runs
	next   *round // whom the next one serves; nil when nobody waits
	err    error  // why the gate is shut
	wake   chan struct{}
	quit   chan struct{}
	ended  chan struct{}
	closed bool

	blocks blockFiles    // owned by run
	took   time.Duration // by the last fsync; owned by run
}

// round is one fsync and those who wait for it.
type round struct {
	done chan struct{}
	last uint64 // highest sequence that asked
	n    int
	err  error
}

// gateOptions describe a gate.
type gateOptions struct {
	dir     string      // the stream's directory with its block files
	top     string      // up to which the names of directories are made durable
	dense   bool        // whether blocks are only ever added, one number after another
	mark    *watermark  // of an event log; nil for other streams. The gate closes it
	observe func(n int) // told how many waited for one fsync
	fail    func(error) // told once when the gate shuts
}

// openGate returns a running gate over the block files below dir. What is there
// already is made durable first, with the directories up to top.
func openGate(o gateOptions) (*gate, error) {
	g := &gate{
		gateOptions: o,
		settle:      make(chan struct{}, 1), wake: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
		blocks: blockFiles{dir: o.dir, dense: o.dense},
	}
	if err := syncTree(filepath.Dir(o.dir), o.top); err != nil {
		return nil, err
	}
	if err := g.blocks.scan(); err != nil {
		return nil, err
	}
	go g.run()
	return g, nil
}

// enter announces an append, so that an fsync about to begin may wait a moment
// for it. Every enter is followed by one leave or one wait.
func (g *gate) enter() { g.coming.Add(1) }

// leave takes back an announcement.
func (g *gate) leave() {
	if g.coming.Add(-1) == 0 {
		select {
		case g.settle <- struct{}{}:
		default:
		}
	}
}

// wait returns when everything up to seq is on disk.
func (g *gate) wait(ctx context.Context, seq uint64) error {
	if g.durable.Load() >= seq {
		g.leave()
		return nil
	}
	r, err := g.join(seq)
	g.leave()
	if err != nil {
		return err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errGateClosed = errors.New("the store is closed")

func (g *gate) join(seq uint64) (*round, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return nil, g.err
	}
	if g.closed {
		return nil, errGateClosed
	}
	if g.now != nil && seq <= g.now.last {
		return g.now, nil // written before that fsync began
	}
	if g.next == nil {
		g.next = &round{done: make(chan struct{})}
		g.wake <- struct{}{} // holds one: run empties it before it takes next
	}
	g.next.last = max(g.next.last, seq)
	g.next.n++
	return g.next, nil
}

func (g *gate) run() {
	defer close(g.ended)
	defer g.blocks.close()
	if g.mark != nil {
		defer g.mark.file.Close()
	}
	var tick <-chan time.Time
	if !g.dense {
		t := time.NewTicker(rewritePeriod)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-tick:
			g.followRewrites()
		case <-g.wake:
			g.gather()
			g.serve()
		case <-g.quit:
			g.serve()
			return
		}
	}
}

// rewritePeriod is how soon blocks that were rewritten are made durable.
const rewritePeriod = time.Second

// followRewrites makes durable what a purge or a compaction wrote, also when
// nobody appends.
func (g *gate) followRewrites() {
	if g.fault() != nil || !g.blocks.changed() {
		return
	}
	if err := g.blocks.sync(); err != nil {
		g.shut(fmt.Errorf("fsync %s: %w", g.dir, err))
	}
}

// fault returns why the gate is shut; nil when it is not.
func (g *gate) fault() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// gather gives appends that are on their way the time of about one fsync to
// join: a larger round costs no more than a small one. A lone writer never
// waits.
func (g *gate) gather() {
	if g.coming.Load() == 0 {
		return
	}
	timer := time.NewTimer(min(max(g.took, gatherMin), gatherMax))
	defer timer.Stop()
	for g.coming.Load() > 0 {
		select {
		case <-timer.C:
			return
		case <-g.settle:
		}
	}
}

const gatherMin, gatherMax = 100 * time.Microsecond, time.Millisecond

// serve runs one fsync for the round that has gathered.
func (g *gate) serve() {
	g.mu.Lock()
	r, err := g.next, g.err
	g.now, g.next = r, nil
	g.mu.Unlock()
	if r == nil {
		return
	}
	if err == nil {
		start := time.Now()
		err = g.blocks.sync()
		g.took = time.Since(start)
	}
	if err == nil && g.mark != nil {
		err = g.mark.set(max(r.last, g.durable.Load()))
	}
	if err != nil {
		g.shut(fmt.Errorf("fsync %s: %w", g.dir, err))
	} else {
		g.advance(r.last)
		g.observe(r.n)
	}
	g.mu.Lock()
	g.now = nil
	g.mu.Unlock()
	r.err = err
	close(r.done)
}

func (g *gate) advance(seq uint64) {
	if seq > g.durable.Load() {
		g.durable.Store(seq)
	}
}

// shut refuses everyone from now on.
func (g *gate) shut(err error) {
	g.mu.Lock()
	first := g.err == nil
	if first {
		g.err = err
	}
	g.mu.Unlock()
	if first {
		g.fail(err)
	}
}

// close serves those who wait and ends the gate.
func (g *gate) close() {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	g.closed = true
	g.mu.Unlock()
	close(g.quit)
	<-g.ended
}
