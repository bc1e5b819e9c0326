package gateway

import (
	"context"
	"sync"
	"sync/atomic"
)

// maxIdle is how many goroutines of a crew wait for more to do.
const maxIdle = 32

// crew runs jobs, each on a goroutine of its own for as long as it takes. Those
// who are done wait for the next one: the stack of a new goroutine would have to
// grow under every handler again, which costs more than many a handler.
type crew struct {
	jobs    chan func() // taken by one who waits, or by nobody
	over    context.Context
	idle    atomic.Int32
	members sync.WaitGroup
}

// newCrew returns a crew that keeps nobody waiting once over has ended.
func newCrew(over context.Context) *crew { return &crew{jobs: make(chan func()), over: over} }

// run starts job. It never waits.
func (c *crew) run(job func()) {
	select {
	case c.jobs <- job:
	default:
		c.members.Go(func() { c.work(job) })
	}
}

func (c *crew) work(job func()) {
	for job != nil {
		job()
		job = c.next()
	}
}

// next waits for a job, and returns nil when enough others do, or it is over.
func (c *crew) next() func() {
	defer c.idle.Add(-1)
	if c.idle.Add(1) > maxIdle {
		return nil
	}
	select {
	case job := <-c.jobs:
		return job
	case <-c.over.Done():
		return nil
	}
}

// wait returns when over has ended and every job is done.
func (c *crew) wait() { c.members.Wait() }
