package runtime

import (
	"context"
	"errors"
	"time"

	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
)

// turn lets the machine run as far as it can, begins what it asks for, and waits until
// there is something to go on with.
func (t *tree) turn() error {
	if t.fault != nil {
		return t.fault
	}
	turn, err := t.advance()
	if err = errors.Join(err, t.fault); err != nil {
		return err
	}
	if t.machine.Done() || len(turn.Ended) > 0 && len(t.begunWaits) == 0 { // that it ended comes later
		t.releaseHeldEmits()
	}
	if t.machine.Done() && !t.heard() {
		if err := t.flush(); err != nil { // who reads that it ended does not begin it again
			return err
		}
	}
	for _, n := range turn.Notices { // before their executions end
		t.log(n.Execution, lineOf(n.Err))
	}
	for _, x := range turn.Ended {
		if x.Err != nil && x.Origin == x.ID {
			t.raise(x)
		}
		t.ended(x)
	}
	for _, n := range turn.Notices {
		t.tell(n.Execution, n.Err)
	}
	for _, s := range turn.Closed {
		closeStream(s)
	}
	for _, r := range turn.Requests {
		if err := t.perform(r); err != nil {
			return err
		}
	}
	if t.machine.Done() {
		return nil
	}
	t.world.bound()
	if err := t.unburden(turn.Yielded); err != nil {
		return err
	}
	if t.ready || turn.Yielded {
		t.ready = false
		t.heed()
		return t.due()
	}
	if len(t.begunWaits) == 0 {
		t.releaseHeldEmits()
	}
	if err := t.keep(); err != nil {
		return err
	}
	return t.await()
}

// breakOff breaks the tree off at the end of its turn, because of a fault of the platform.
// Nil is none.
func (t *tree) breakOff(err error) {
	if t.fault == nil {
		t.fault = err
	}
}

// heed stops a tree that was cancelled while it had no time to listen.
func (t *tree) heed() {
	select {
	case err := <-t.cancelled:
		t.stop(err)
	default:
	}
}

// heard reports whether somebody waits for the answer of the tree, which leaves only once
// everything is on disk, in whatever order.
func (t *tree) heard() bool { return t.start.HTTP != nil && !t.parked }

// stands tells who launched the tree that any node can go on with it.
func (t *tree) stands() {
	if t.run != nil {
		t.run.once.Do(func() { close(t.run.stands) })
	}
	t.start.release()
}

// await waits for an answer, or for the time of something else to come.
func (t *tree) await() error {
	timer := time.NewTimer(t.patience())
	defer timer.Stop()
	var leaving <-chan struct{}
	if t.parked && t.standing() {
		leaving = t.rt.fleet.leaving
	}
	select {
	case <-leaving:
		return ErrClosing
	case a := <-t.answers:
		t.take(a)
	case err := <-t.cancelled:
		t.stop(err)
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	case <-timer.C:
	}
	for more := true; more; {
		select {
		case a := <-t.answers:
			t.take(a)
		default:
			more = false
		}
	}
	return t.due()
}

// due does what is to be done by now.
func (t *tree) due() error {
	if t.late(t.written) {
		if err := t.flush(); err != nil {
			return err
		}
	}
	if t.active >= holdBack {
		t.announce() // it may take long
	}
	return t.overtime()
}

// take hands an answer to the machine.
func (t *tree) take(a answer) {
	t.clock() // as it was until now
	t.moved = true
	t.asked--
	if a.wait {
		t.waiting--
		t.world.refresh()
	}
	if a.then != nil {
		a.Answer = a.then(a.Answer)
	}
	t.hand(a.id, a.Answer)
}

// patience is how long an answer is waited for before something else is due.
func (t *tree) patience() time.Duration {
	wait := time.Hour
	if !t.standing() {
		wait = min(wait, t.settings.MaxActive-t.active)
	}
	if !t.written.IsZero() {
		wait = min(wait, t.written.Sub(t.rt.Now()))
	}
	if !t.ends.IsZero() {
		wait = min(wait, t.ends.Sub(t.rt.Now()))
	}
	return max(wait, 0)
}

func (t *tree) late(at time.Time) bool { return !at.IsZero() && !t.rt.Now().Before(at) }

// standing reports whether the tree does nothing but wait for events or time.
func (t *tree) standing() bool { return t.asked > 0 && t.waiting == t.asked }

// clock counts the time up that the tree was active.
func (t *tree) clock() {
	now := t.rt.Now()
	if !t.standing() {
		t.active += now.Sub(t.since)
	}
	t.since = now
}

// overtime stops a tree that was active for too long, and one whose last words take
// too long.
func (t *tree) overtime() error {
	t.clock()
	switch {
	case t.late(t.ends):
		t.ends = time.Time{}
		t.halt(t.stopped)
	case t.stopped == nil && t.active >= t.settings.MaxActive:
		t.stop(automation.Raise(automation.ExecutionTimeout, "the automation was active for too long", "seconds", t.settings.MaxActive.Seconds()))
	}
	return nil
}

// stop ends the tree: its finally blocks run, for a while.
func (t *tree) stop(err *automation.Error) {
	if t.stopped == nil {
		t.stopped, t.ends = err, t.rt.Now().Add(lastWords)
		t.halt(err)
	}
}

// soon sees to it that what was written is kept before long.
func (t *tree) soon() {
	if t.written.IsZero() {
		t.written = t.rt.Now().Add(holdBack)
	}
}

// flush keeps what was written to contexts.
func (t *tree) flush() error {
	t.written = time.Time{}
	changes := t.world.take()
	if len(changes) == 0 {
		return nil
	}
	if !t.machine.Done() { // else that it ended follows
		t.announce()
	}
	return t.aside(func() error { return t.rt.Contexts.Append(t.ctx, t.rt.NewID(), changes) })
}

// announce records that the tree has begun, before it does anything that can be seen
// outside. Nobody waits for it.
func (t *tree) announce() {
	if !t.announced && t.executions[t.id] != nil {
		t.started()
		t.journal.appendEarly(t.ctx)
	}
}

// announceNow is announce for who waits until it is on disk.
func (t *tree) announceNow() error {
	t.started()
	if _, err := t.journal.append(t.ctx); err != nil {
		return err
	}
	close(t.run.began)
	return nil
}

// started records that the tree has begun here.
func (t *tree) started() {
	t.announced = true
	root := t.machine.Root()
	e := t.executions[root.ID]
	t.journal.record(t.meta(root), activity.TreeStarted{
		ExecutionID: root.ID, Automation: root.Program.Slug, Trigger: t.shownTrigger(t.start.Trigger), Attempt: t.start.Attempt,
		Replica: t.process, StartedAt: stamp(e.startedAt),
	})
}

// fail records the error that nobody caught, with the source of what raised it.
func (t *tree) fail(root *machine.Execution) {
	x := t.raised[root.Origin]
	if x == nil {
		x = root
	}
	t.tell(x, root.Err)
}

// mostRaised is of how many executions it is known that they raised an error: whoever calls
// one learns of it at once, or when what goes on beside it has ended.
const mostRaised = 1000

// raise notes that an execution raised an error.
func (t *tree) raise(x *machine.Execution) {
	if t.raised == nil || len(t.raised) >= mostRaised {
		t.raised = map[string]*machine.Execution{}
	}
	t.raised[x.ID] = &machine.Execution{ID: x.ID, Program: x.Program, Depth: x.Depth}
}

// close keeps everything that is left, and forgets where the tree once stood.
func (t *tree) close() error {
	if err := t.keepRest(); err != nil || !t.parked {
		return err
	}
	return t.rt.Parked.Drop(t.ctx, t.workspaceID(), t.id)
}

func (t *tree) keepRest() error {
	changes := t.world.take()
	if len(changes) == 0 {
		if t.heard() && !t.announced { // it was over before it reached anybody, or wrote anything
			t.learned.unshared()
		}
		return t.journal.close(t.ctx)
	}
	kept := make(chan error, 1)
	go func() { kept <- t.rt.Contexts.Append(t.ctx, t.rt.NewID(), changes) }() // waited for below
	err := t.journal.close(t.ctx)
	if failed := <-kept; err == nil {
		err = failed
	}
	return err
}
