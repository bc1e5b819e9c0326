package knowledge

import (
	"context"
	"errors"
	"sync"
	"time"

	"svc/projections"
	"svc/streams"
)

// dispatcher gives what waits in all partitions of this node to its workers: what somebody waits for first, and no
// workspace more than its share while others wait.
type dispatcher struct {
	pipeline *Pipeline
	wake     chan struct{} // a slot is free, or a partition was added

	mu         sync.Mutex
	partitions map[int]heldPartition // that this node has, by number
	texts      slots                 // of work with texts
	models     slots                 // of work for models, which is mostly waiting
	busy       map[string]bool       // documents that are being processed, by id
	passed     map[string]time.Time  // documents that are not looked at until then
}

// heldPartition is a partition that this node has until ctx ends.
type heldPartition struct {
	ctx context.Context //nolint:containedctx // of the lease
	*partition
}

func newDispatcher(p *Pipeline) *dispatcher {
	return &dispatcher{
		pipeline: p, wake: make(chan struct{}, 1), partitions: map[int]heldPartition{}, texts: newSlots(p.Workers), models: newSlots(p.Workers),
		busy: map[string]bool{}, passed: map[string]time.Time{},
	}
}

// add has the documents of a partition processed, from now on until remove is called.
func (d *dispatcher) add(ctx context.Context, p *partition) (remove func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.partitions[p.number] = heldPartition{ctx, p}
	streams.Notify(d.wake)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.partitions, p.number)
	}
}

// run starts what is due until ctx ends.
func (d *dispatcher) run(ctx context.Context) {
	p := d.pipeline
	moved, stop := p.Models.Watch()
	defer stop()
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		seen := p.Models.Position().State // the queue follows from STATE alone
		next, err := d.startDue()
		if err != nil && ctx.Err() == nil {
			p.Log.WarnContext(ctx, "the queue of documents could not be read and is read again", "err", err)
			streams.PauseAfterFault(ctx)
			next = time.Millisecond
		}
		timer.Reset(next)
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return
			case <-moved:
				again = p.Models.Position().State != seen
			case <-d.wake:
				again = true
			case <-timer.C:
				again = true
			}
		}
	}
}

// startDue starts what is due while slots are free, and returns how long to wait before the next look.
func (d *dispatcher) startDue() (time.Duration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.texts.free == 0 && d.models.free == 0 || len(d.partitions) == 0 {
		return idle, nil
	}
	p := d.pipeline
	now := p.Now()
	r := p.Models.Reader()
	due, next, err := projections.KBDocuments{}.Queue(r, now, 2*p.Workers, func(workspaceID string) bool {
		part, held := d.partitions[p.partitionOf(workspaceID)]
		return held && part.ctx.Err() == nil
	})
	r.Close()
	if err != nil {
		return idle, err
	}
	wait := idle
	if !next.IsZero() {
		wait = min(wait, max(time.Millisecond, next.Sub(now)))
	}
	due = d.waiting(due, now)
	for _, isEmbedding := range []bool{false, true} {
		s := d.slotsOf(isEmbedding)
		var waiting []projections.KBJob
		for _, j := range due {
			if j.Embed == isEmbedding {
				waiting = append(waiting, j)
			}
		}
		for i := s.acquire(waiting); i >= 0; i = s.acquire(waiting) {
			d.start(waiting[i])
			waiting = append(waiting[:i:i], waiting[i+1:]...)
		}
	}
	return wait, nil
}

func (d *dispatcher) slotsOf(isEmbedding bool) *slots {
	if isEmbedding {
		return &d.models
	}
	return &d.texts
}

// waiting returns the jobs that nobody works on.
func (d *dispatcher) waiting(due []projections.KBJob, now time.Time) (list []projections.KBJob) {
	for id, until := range d.passed {
		if now.After(until) {
			delete(d.passed, id)
		}
	}
	for _, j := range due {
		if _, passed := d.passed[j.ID]; !d.busy[j.ID] && !passed {
			list = append(list, j)
		}
	}
	return list
}

// passTime is how long a document is left alone that could not be begun.
const passTime = 30 * time.Second

// start processes a document in the background. It has a slot.
func (d *dispatcher) start(j projections.KBJob) {
	d.busy[j.ID] = true
	p := d.partitions[d.pipeline.partitionOf(j.WorkspaceID)]
	p.workers.Go(func() {
		work := p.process
		if j.Embed {
			work = p.embed
		}
		err := work(p.ctx, j.KBDocumentRef)
		if p.ctx.Err() != nil {
			err = nil // whoever has the partition next goes on at once
		}
		if err != nil && !errors.Is(err, errNoBase) {
			p.Log.WarnContext(p.ctx, "a document could not be processed now", "workspace", j.WorkspaceID, "document", j.ID, "err", err)
		}
		d.end(j, err)
	})
}

// end gives the slot of a job back.
func (d *dispatcher) end(j projections.KBJob, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.busy, j.ID)
	if err != nil {
		d.passed[j.ID] = d.pipeline.Now().Add(passTime)
	}
	d.slotsOf(j.Embed).release(j.WorkspaceID)
	streams.Notify(d.wake)
}

// slots are what documents are processed in, on this node. While several workspaces wait, one of them has at most half
// of the slots.
type slots struct {
	size, free int
	used       map[string]int // by workspace
}

func newSlots(size int) slots { return slots{size: size, free: size, used: map[string]int{}} }

// acquire acquires a slot for the first of the jobs that may have one, in their order, and returns its index; -1: none
// may. The jobs are all that wait for a slot on this node.
func (s *slots) acquire(waiting []projections.KBJob) int {
	if s.free == 0 || len(waiting) == 0 {
		return -1
	}
	alone := true
	for _, j := range waiting {
		alone = alone && j.WorkspaceID == waiting[0].WorkspaceID
	}
	for i, j := range waiting {
		if alone || s.used[j.WorkspaceID] < max(1, s.size/2) {
			s.free--
			s.used[j.WorkspaceID]++
			return i
		}
	}
	return -1
}

func (s *slots) release(workspaceID string) {
	s.free++
	if s.used[workspaceID]--; s.used[workspaceID] == 0 {
		delete(s.used, workspaceID)
	}
}
