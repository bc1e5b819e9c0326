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

// writeQueue is where the writes of one namespace wait for their turn.
type writeQueue struct {
	waiting []*job // the first one has the turn
}

// job is one write, or something else that must not happen beside writes.
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

// take does a job when it is its turn, and whatever else can be done with it; or
// waits until another has done it. A call that was given up may still count.
func (c *Collections) take(ctx context.Context, id domain.StreamID, j *job) error {
	j.turn, j.done = make(chan struct{}), make(chan struct{})
	c.join(id, j)
	select {
	case <-j.turn:
	case <-j.done:
		return j.err
	case <-ctx.Done():
		c.leave(id, j)
		return context.Cause(ctx)
	}
	defer c.pass(id)
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if j.do != nil {
		c.remove(id, 1)
		return j.do(work)
	}
	c.together(work, id, c.group(id))
	return j.err
}

func (c *Collections) join(id domain.StreamID, j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.desks[id]
	if d == nil {
		d = &writeQueue{}
		c.desks[id] = d
		close(j.turn)
	}
	d.waiting = append(d.waiting, j)
}

// leave takes a job back that waits, and passes its turn on if it had it.
func (c *Collections) leave(id domain.StreamID, j *job) {
	c.mu.Lock()
	d := c.desks[id]
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
			c.pass(id)
		}
	default:
	}
}

// pass gives the turn to the next who waits.
func (c *Collections) pass(id domain.StreamID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.desks[id]
	if len(d.waiting) == 0 {
		delete(c.desks, id)
		return
	}
	close(d.waiting[0].turn)
}

// group returns the calls that can be decided together, the first one among them.
// They wait no more.
func (c *Collections) group(id domain.StreamID) []*job {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, n := c.desks[id], 1
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

// remove takes the first jobs from those that wait.
func (c *Collections) remove(id domain.StreamID, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.desks[id]
	d.waiting = slices.Delete(d.waiting, 0, n)
}

// together does jobs, as many at a time as one entry should hold, and tells those who
// wait.
func (c *Collections) together(ctx context.Context, id domain.StreamID, jobs []*job) {
	for len(jobs) > 0 {
		n, err := guarded(ctx, c, id, jobs[0].call.Function, func() (int, error) { return c.commit(ctx, id, jobs) })
		if errors.Is(err, errFallen) {
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

// commit decides jobs and appends what they change. It returns how many it has done;
// when it fails, none of them changed anything that is known.
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
		sure, err := c.sure(ctx, id, d)
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

// decision is what jobs change.
type decision struct {
	at      collection.Mark
	changes []collection.Change
	done    int  // jobs that are in it
	refused bool // one of them was refused
}

// decide has jobs decided one on the other. One that nobody waits for any more is given
// up: the others wait for it, too.
func (c *Collections) decide(ctx context.Context, id domain.StreamID, v collection.View, at collection.Mark, jobs []*job) decision {
	draft, d := collection.NewDraft(v), decision{at: at}
	for _, j := range jobs {
		if d.done > 0 && draft.Size() > maxWeight {
			break
		}
		own, turn, caller := collection.NewDraft(draft), waited(ctx), waited(j.ctx)
		j.result, j.err = guarded(ctx, c, id, j.call.Function, func() (any, error) {
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

// stamp is what a job writes into rows. Each attempt draws the same ids when there are any.
func (c *Collections) stamp(j *job) collection.Stamp {
	s := collection.Stamp{Now: c.opts.Now(), UserID: j.userID, NewID: c.opts.NewID}
	if j.ids != nil {
		next := -1
		s.Repeated, s.NewID = true, func() string { next++; return j.ids(next) }
	}
	return s
}

// sure reports whether a decision stands that the log is not asked about: one that
// changes nothing, or refuses something. It must have been made on the last entry.
func (c *Collections) sure(ctx context.Context, id domain.StreamID, d decision) (bool, error) {
	if c.opts.Log.Alone() || !d.refused && len(d.changes) > 0 {
		return true, nil
	}
	last, err := c.opts.Log.Last(ctx, id)
	if err != nil || last == d.at.Seq {
		return true, err
	}
	return false, c.opts.Rows.Reach(ctx, last)
}

// catchUp waits for what another node has appended.
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
		case c.grown <- id:
		default: // the next write says it again
		}
	}
	return c.opts.Rows.Reach(ctx, seq)
}

// errFallen says that a call came upon a fault of ours. What that was is in the log.
var errFallen = errors.New("collections: a fault of the platform")

// guarded does what a call of a function asks for, and turns a panic into an error: queries
// are written by others, and one that we fall over must not end what others do.
func guarded[T any](ctx context.Context, c *Collections, id domain.StreamID, function string, work func() (T, error)) (v T, err error) {
	defer commands.Recover(func(fell *commands.PanicError) {
		c.opts.Logger.ErrorContext(ctx, "a call of collections fell over", "workspace", id.Scope, "function", function, "data", id.String(), "err", fell)
		err = errFallen
	})
	return work()
}
