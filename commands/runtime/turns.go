package runtime

import (
	"context"
	"errors"
	"time"

	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
)

// runTurn lets the machine run as far as it can, begins what it asks for, and waits until
// there is something to go on with.
func (t *run) runTurn() error {
	if t.fault != nil {
		return t.fault
	}
	turn, err := t.computeTurn()
	if err = errors.Join(err, t.fault); err != nil {
		return err
	}
	if t.machine.Done() || len(turn.Ended) > 0 && len(t.startedWaits) == 0 { // that it ended comes later
		t.releaseHeldEmits()
	}
	if t.machine.Done() && !t.hasWaitingCaller() {
		if err := t.flushContexts(); err != nil { // who reads that it ended does not begin it again
			return err
		}
	}
	for _, n := range turn.Notices { // before their executions end
		t.addLog(n.Execution, logLine(n.Err))
	}
	for _, x := range turn.Ended {
		if x.Err != nil && x.Origin == x.ID {
			t.noteRaised(x)
		}
		t.recordEnded(x)
	}
	for _, n := range turn.Notices {
		t.recordError(n.Execution, n.Err)
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
	t.world.limitViews()
	if err := t.flushIfFull(turn.Yielded); err != nil {
		return err
	}
	if t.ready || turn.Yielded {
		t.ready = false
		t.pollCancel()
		return t.doDueWork()
	}
	if len(t.startedWaits) == 0 {
		t.releaseHeldEmits()
	}
	if err := t.parkIfDue(); err != nil {
		return err
	}
	return t.awaitAnswer()
}

// breakOff breaks the tree off at the end of its turn, because of a fault of the platform.
// Nil is none.
func (t *run) breakOff(err error) {
	if t.fault == nil {
		t.fault = err
	}
}

// pollCancel stops a tree that was cancelled while it had no time to listen.
func (t *run) pollCancel() {
	select {
	case err := <-t.cancelRequests:
		t.stop(err)
	default:
	}
}

// hasWaitingCaller reports whether somebody waits for the answer of the tree, which leaves only once
// everything is on disk, in whatever order.
func (t *run) hasWaitingCaller() bool { return t.start.HTTP != nil && !t.parked }

// markParked tells who launched the tree that any node can go on with it.
func (t *run) markParked() {
	if t.handle != nil {
		t.handle.once.Do(func() { close(t.handle.parked) })
	}
	t.start.release()
}

// awaitAnswer waits for an answer, or for the time of something else to come.
func (t *run) awaitAnswer() error {
	timer := time.NewTimer(t.untilNextDue())
	defer timer.Stop()
	var leaving <-chan struct{}
	if t.parked && t.onlyWaits() {
		leaving = t.rt.lifecycle.closed
	}
	select {
	case <-leaving:
		return ErrClosing
	case a := <-t.answers:
		t.handleAnswer(a)
	case err := <-t.cancelRequests:
		t.stop(err)
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	case <-timer.C:
	}
	for more := true; more; {
		select {
		case a := <-t.answers:
			t.handleAnswer(a)
		default:
			more = false
		}
	}
	return t.doDueWork()
}

// doDueWork does what is to be done by now.
func (t *run) doDueWork() error {
	if t.isDue(t.flushDue) {
		if err := t.flushContexts(); err != nil {
			return err
		}
	}
	if t.activeTime >= flushDelay {
		t.recordStart() // it may take long
	}
	return t.checkTimeouts()
}

// takeChanges hands an answer to the machine.
func (t *run) handleAnswer(a answer) {
	t.countActiveTime() // as it was until now
	t.movedSincePark = true
	t.openRequests--
	if a.wait {
		t.openWaits--
		t.world.refresh()
	}
	if a.then != nil {
		a.Answer = a.then(a.Answer)
	}
	t.answerMachine(a.id, a.Answer)
}

// untilNextDue is how long an answer is waited for before something else is due.
func (t *run) untilNextDue() time.Duration {
	wait := time.Hour
	if !t.onlyWaits() {
		wait = min(wait, t.settings.MaxActive-t.activeTime)
	}
	if !t.flushDue.IsZero() {
		wait = min(wait, t.flushDue.Sub(t.rt.Now()))
	}
	if !t.stopDeadline.IsZero() {
		wait = min(wait, t.stopDeadline.Sub(t.rt.Now()))
	}
	return max(wait, 0)
}

func (t *run) isDue(at time.Time) bool { return !at.IsZero() && !t.rt.Now().Before(at) }

// parkedRun reports whether the tree does nothing but wait for events or time.
func (t *run) onlyWaits() bool { return t.openRequests > 0 && t.openWaits == t.openRequests }

// countActiveTime counts the time up that the tree was active.
func (t *run) countActiveTime() {
	now := t.rt.Now()
	if !t.onlyWaits() {
		t.activeTime += now.Sub(t.activeSince)
	}
	t.activeSince = now
}

// checkTimeouts stops a tree that was active for too long, and one whose last words take
// too long.
func (t *run) checkTimeouts() error {
	t.countActiveTime()
	switch {
	case t.isDue(t.stopDeadline):
		t.stopDeadline = time.Time{}
		t.stopMachine(t.stopReason)
	case t.stopReason == nil && t.activeTime >= t.settings.MaxActive:
		t.stop(automation.Raise(automation.ExecutionTimeout, "the automation was active for too long", "seconds", t.settings.MaxActive.Seconds()))
	}
	return nil
}

// stop ends the tree: its finally blocks run, for a while.
func (t *run) stop(err *automation.Error) {
	if t.stopReason == nil {
		t.stopReason, t.stopDeadline = err, t.rt.Now().Add(stopGrace)
		t.stopMachine(err)
	}
}

// scheduleFlush sees to it that what was written is kept before long.
func (t *run) scheduleFlush() {
	if t.flushDue.IsZero() {
		t.flushDue = t.rt.Now().Add(flushDelay)
	}
}

// flushContexts keeps what was written to contexts.
func (t *run) flushContexts() error {
	t.flushDue = time.Time{}
	changes := t.world.takeChanges()
	if len(changes) == 0 {
		return nil
	}
	if !t.machine.Done() { // else that it ended follows
		t.recordStart()
	}
	return t.withoutTurnSlot(func() error { return t.rt.Contexts.Append(t.ctx, t.rt.NewID(), changes) })
}

// recordStart records that the tree has begun, before it does anything that can be seen
// outside. Nobody waits for it.
func (t *run) recordStart() {
	if !t.startRecorded && t.executions[t.id] != nil {
		t.addStartEvent()
		t.journal.appendInBackground(t.ctx)
	}
}

// recordStartNow is announce for who waits until it is on disk.
func (t *run) recordStartNow() error {
	t.addStartEvent()
	if _, err := t.journal.append(t.ctx); err != nil {
		return err
	}
	close(t.handle.started)
	return nil
}

// addStartEvent records that the tree has begun here.
func (t *run) addStartEvent() {
	t.startRecorded = true
	root := t.machine.Root()
	e := t.executions[root.ID]
	t.journal.record(t.meta(root), activity.TreeStarted{
		ExecutionID: root.ID, Automation: root.Program.Slug, Trigger: t.redactTrigger(t.start.Trigger), Attempt: t.start.Attempt,
		Replica: t.process, StartedAt: formatTime(e.startedAt),
	})
}

// recordUncaught records the error that nobody caught, with the source of what raised it.
func (t *run) recordUncaught(root *machine.Execution) {
	x := t.raised[root.Origin]
	if x == nil {
		x = root
	}
	t.recordError(x, root.Err)
}

// maxRaised is of how many executions it is known that they raised an error: whoever calls
// one learns of it at once, or when what goes on beside it has ended.
const maxRaised = 1000

// noteRaised notes that an execution raised an error.
func (t *run) noteRaised(x *machine.Execution) {
	if t.raised == nil || len(t.raised) >= maxRaised {
		t.raised = map[string]*machine.Execution{}
	}
	t.raised[x.ID] = &machine.Execution{ID: x.ID, Program: x.Program, Depth: x.Depth}
}

// storeAndUnpark keeps everything that is left, and forgets where the tree once stood.
func (t *run) storeAndUnpark() error {
	if err := t.storeRest(); err != nil || !t.parked {
		return err
	}
	return t.rt.Parked.Drop(t.ctx, t.workspaceID(), t.id)
}

func (t *run) storeRest() error {
	changes := t.world.takeChanges()
	if len(changes) == 0 {
		if t.hasWaitingCaller() && !t.startRecorded { // it was over before it reached anybody, or wrote anything
			t.runSecrets.markStored()
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
