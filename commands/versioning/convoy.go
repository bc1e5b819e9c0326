package versioning

import (
	"context"
	"slices"
	"sync"
	"time"

	"svc/commands/gitsync"
	"svc/domain/workspace"
)

// convoys let pushes that come to one branch of a platform repository at the same
// time go together: each builds on the one before, and one request sends them all.
// What cannot go together goes alone.
type convoys struct {
	mu sync.Mutex
	at map[workspace.Place]*convoy
}

// convoy gathers the pushes to one branch.
type convoy struct {
	coming  int      // have begun, and may still join
	waiting []*rider // in the order in which they came
	last    int      // how many went together the last time
	leading bool     // somebody gathers or sends
	changed chan struct{}
}

// How many go together at most, and for how long those that were there the last
// time are waited for.
const (
	maxRiders = 16
	gathering = 60 * time.Millisecond
)

// rider is one push in a convoy. Each channel is used once.
type rider struct {
	p       *push
	build   chan *job      // closed: go alone
	built   chan structure // what came of it
	intend  chan struct{}  // all have built
	ready   chan bool      // what it is about to send is on the log
	verdict chan verdict
}

// job is what a rider builds on.
type job struct {
	session *gitsync.Session
	refs    gitsync.Refs
}

// structure is what a rider has built.
type structure struct {
	intent workspace.Intent
	err    error
}

// verdict is what became of the request that sent all of them.
type verdict struct {
	unsent  bool // it was not made
	results []gitsync.Result
	err     error
}

func branchOf(at workspace.Place) workspace.Place {
	return workspace.Place{URL: at.URL, Branch: at.Branch}
}

// expect says that a push is about to come; it is forgotten by what is returned,
// unless it has joined.
func (c *convoys) expect(at workspace.Place) (forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.find(at)
	one.coming++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		one.coming--
		one.signal()
	})
}

func (c *convoys) find(at workspace.Place) *convoy {
	at = branchOf(at)
	if c.at == nil {
		c.at = map[workspace.Place]*convoy{}
	}
	if c.at[at] == nil {
		c.at[at] = &convoy{changed: make(chan struct{})}
	}
	return c.at[at]
}

// signal wakes who gathers.
func (c *convoy) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// join adds a push. Somebody leads from then on.
func (c *convoys) join(ctx context.Context, p *push) *rider {
	r := &rider{
		p: p, build: make(chan *job, 1), built: make(chan structure, 1), intend: make(chan struct{}, 1), ready: make(chan bool, 1), verdict: make(chan verdict, 1),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.find(p.place)
	one.waiting = append(one.waiting, r)
	one.signal()
	if !one.leading {
		one.leading = true
		go c.lead(context.WithoutCancel(ctx), one)
	}
	return r
}

// lead sends convoys until nobody waits any more.
func (c *convoys) lead(ctx context.Context, one *convoy) {
	for {
		batch := c.gather(one)
		if batch == nil {
			return
		}
		batch[0].p.v.drive(ctx, batch)
	}
}

// gather waits a moment for those that are about to come. nil: nobody waits.
func (c *convoys) gather(one *convoy) []*rider {
	patience := time.NewTimer(gathering)
	defer patience.Stop()
	for late := false; ; {
		c.mu.Lock()
		n := len(one.waiting)
		if n == 0 {
			one.leading = false
			c.mu.Unlock()
			return nil
		}
		if late || n >= maxRiders || one.coming == 0 && n >= one.last {
			batch := one.waiting[:min(n, maxRiders)]
			one.waiting, one.last = slices.Clone(one.waiting[len(batch):]), len(batch)
			c.mu.Unlock()
			return batch
		}
		changed := one.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-patience.C:
			late = true
		}
	}
}
