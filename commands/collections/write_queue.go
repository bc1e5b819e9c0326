package collections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/collection"
	"svc/eventstore"
)

const (
	maxGroup  = 256     // calls that are decided together
	maxWeight = 4 << 20 // bytes of rows that one entry has before no other call is added
	// maxAttempts bounds how often other nodes may be faster.
	maxAttempts = 100
	// patience bounds a turn: it outlives the call that has it.
	patience = time.Minute
)

// writeQueue has the waiting writes of one namespace.
type writeQueue struct {
	waiting []*job // the first one has the turn
}

// job is one write, or other work that must not run concurrently with writes.
type job struct {
	ctx    context.Context // of whoever waits for call
	call   *collection.Call
	userID string
	ids    func(i int) string              // of new rows; nil: whichever
	do     func(ctx context.Context) error // instead of call

	result any
	err    error
	turn   chan struct{} // closed when it is its turn
	done   chan struct{} // closed when another has done it
}

// enqueue waits for the turn of a job and does it together with other waiting jobs, or waits until
// another caller has done it. An abandoned call may still have an effect.
func (c *Collections) enqueue(ctx context.Context, id domain.StreamID, j *job) error {
	j.turn, j.done = make(chan struct{}), make(chan struct{})
	c.addJob(id, j)
	select {
	case <-j.turn:
	case <-j.done:
		return j.err
	case <-ctx.Done():
		c.removeWaiting(id, j)
		return context.Cause(ctx)
	}
	defer c.passTurn(id)
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if j.do != nil {
		c.remove(id, 1)
		return j.do(work)
	}
	c.commitJobs(work, id, c.group(id))
	return j.err
}

func (c *Collections) addJob(id domain.StreamID, j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.queues[id]
	if d == nil {
		d = &writeQueue{}
		c.queues[id] = d
		close(j.turn)
	}
	d.waiting = append(d.waiting, j)
}

// removeWaiting removes a waiting job, and passes its turn on if it had it.
func (c *Collections) removeWaiting(id domain.StreamID, j *job) {
	c.mu.Lock()
	d := c.queues[id]
	i := -1
	if d != nil {
		i = slices.Index(d.waiting, j)
	}
	if i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
	c.mu.Unlock()
	select {
	case <-j.turn:
		if i >= 0 {
			c.passTurn(id)
		}
	default:
	}
}

// passTurn gives the turn to the next waiting job.
func (c *Collections) passTurn(id domain.StreamID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.queues[id]
	if len(d.waiting) == 0 {
		delete(c.queues, id)
		return
	}
	close(d.waiting[0].turn)
}

// group removes the jobs that can be decided together from the queue, and returns them.
func (c *Collections) group(id domain.StreamID) []*job {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, n := c.queues[id], 1
	for n < min(len(d.waiting), maxGroup) {
		if next := d.waiting[n]; next.do != nil || next.call.Alone || d.waiting[0].call.Alone {
			break
		}
		n++
	}
	jobs := slices.Clone(d.waiting[:n])
	d.waiting = slices.Delete(d.waiting, 0, n)
	return jobs
}

// remove removes the first jobs of the queue.
func (c *Collections) remove(id domain.StreamID, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.queues[id]
	d.waiting = slices.Delete(d.waiting, 0, n)
}

// commitJobs commits jobs, as many at a time as fit into one entry, and notifies their callers.
func (c *Collections) commitJobs(ctx context.Context, id domain.StreamID, jobs []*job) {
	for len(jobs) > 0 {
		n, err := recoverPanic(ctx, c, id, jobs[0].call.Function, func() (int, error) { return c.commit(ctx, id, jobs) })
		if errors.Is(err, errPanic) {
			n = len(jobs)
		}
		for _, j := range jobs[:n] {
			if err != nil {
				j.result, j.err = nil, err
			}
			close(j.done)
		}
		jobs = jobs[n:]
	}
}

// commit decides jobs and appends their changes. It returns how many are done; when it fails, none of
// them is known to have changed anything.
func (c *Collections) commit(ctx context.Context, id domain.StreamID, jobs []*job) (n int, err error) {
	for range maxAttempts {
		var d decision
		err = c.opts.Rows.View(ctx, id, func(v collection.Source, at collection.Mark) error {
			d = c.decide(ctx, id, v, at, jobs)
			return nil
		})
		if err != nil {
			return len(jobs), err
		}
		sure, err := c.recheckFresh(ctx, id, d)
		if err != nil {
			return len(jobs), err
		}
		if !sure {
			continue
		}
		if len(d.changes) == 0 {
			return d.done, nil
		}
		switch err := c.append(ctx, id, d); {
		case err == nil:
			return d.done, nil
		case !errors.Is(err, eventstore.ErrConflict):
			return len(jobs), err
		}
		if err := c.catchUp(ctx, id); err != nil {
			return len(jobs), err
		}
	}
	return len(jobs), fmt.Errorf("%w: other nodes write to %s all the time", eventstore.ErrUnavailable, id)
}

// decision has the changes of jobs.
type decision struct {
	at      collection.Mark
	changes []collection.Change
	done    int  // jobs that are in it
	refused bool // one of them was refused
}

// decide decides jobs one after the other. An abandoned job is dropped: the others wait for it, too.
func (c *Collections) decide(ctx context.Context, id domain.StreamID, v collection.View, at collection.Mark, jobs []*job) decision {
	draft, d := collection.NewDraft(v), decision{at: at}
	for _, j := range jobs {
		if d.done > 0 && draft.Size() > maxWeight {
			break
		}
		own, turn, caller := collection.NewDraft(draft), abandonedCheck(ctx), abandonedCheck(j.ctx)
		j.result, j.err = recoverPanic(ctx, c, id, j.call.Function, func() (any, error) {
			return j.call.Write(own, c.stamp(j), func() error {
				return cmp.Or(caller(), turn())
			})
		})
		if d.done++; j.err != nil {
			j.result, d.refused = nil, true
			continue
		}
		draft.AddDraft(own)
		if own.Reshaped() {
			break // the next job needs the indexes that this one declares
		}
	}
	d.changes = draft.Changes
	return d
}

// stamp returns the ids and times of a job. Each attempt gets the same ids.
func (c *Collections) stamp(j *job) collection.Stamp {
	s := collection.Stamp{Now: c.opts.Now(), UserID: j.userID, NewID: c.opts.NewID}
	if j.ids != nil {
		next := -1
		s.Repeated, s.NewID = true, func() string { next++; return j.ids(next) }
	}
	return s
}

// recheckFresh reports whether a decision without an append, such as a refusal, was made on the last
// entry.
func (c *Collections) recheckFresh(ctx context.Context, id domain.StreamID, d decision) (bool, error) {
	if c.opts.Log.Alone() || !d.refused && len(d.changes) > 0 {
		return true, nil
	}
	last, err := c.opts.Log.Last(ctx, id)
	if err != nil || last == d.at.Seq {
		return true, err
	}
	return false, c.opts.Rows.Reach(ctx, last)
}

// catchUp waits for the entries of other nodes.
func (c *Collections) catchUp(ctx context.Context, id domain.StreamID) error {
	last, err := c.opts.Log.Last(ctx, id)
	if err != nil {
		return err
	}
	return c.opts.Rows.Reach(ctx, last)
}

// append appends a decision and waits until the rows have it.
func (c *Collections) append(ctx context.Context, id domain.StreamID, d decision) error {
	name := c.opts.NewID()
	body, err := c.envelope.pack(ctx, id, name, d.changes)
	if err != nil {
		return err
	}
	seq, err := c.opts.Log.Append(ctx, id, name, d.at.Seq, false, body)
	if err != nil {
		return err
	}
	d.at.Logged += int64(len(body))
	if d.at.NeedsSnapshot() {
		select {
		case c.due <- id:
		default: // the next write says it again
		}
	}
	return c.opts.Rows.Reach(ctx, seq)
}

// errPanic says that a call panicked. The panic is logged.
var errPanic = errors.New("collections: a fault of the platform")

// recoverPanic calls work and turns a panic into an error: a query must not end the work of others.
func recoverPanic[T any](ctx context.Context, c *Collections, id domain.StreamID, function string, work func() (T, error)) (v T, err error) {
	defer commands.Recover(func(panicked *commands.PanicError) {
		c.opts.Logger.ErrorContext(ctx, "a call of collections panicked", "workspace", id.Scope, "function", function, "data", id.String(), "err", panicked)
		err = errPanic
	})
	return work()
}
