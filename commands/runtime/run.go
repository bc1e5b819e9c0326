package runtime

import (
	"context"
	"errors"
	"time"

	"svc/commands"
	"svc/commands/contexts"
	"svc/commands/programs"
	"svc/commands/recording"
	"svc/commands/throttle"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/value"
	"svc/eventstore"
)

// run is one execution tree that runs on this node. It gives the machine its turns and has
// its requests performed. Its parts have one task each, and share the runCore.
type run struct {
	runCore

	executions executions
	secrets    runSecrets
	world      *world
	events     runEvents
	journal    *journal
	recording  runRecording
	lifetime   lifetime
	effects    performer
	turnSlot   turnSlot
	handle     *Handle
	registered int // its place among the runs of its correlation id, owned by the runRegistry

	parked         bool // its state is stored, or was once
	movedSincePark bool // it did more than wait then, or since
}

// runCore is what all parts of a run share.
type runCore struct {
	rt       *Runtime
	id       string // of its first execution
	process  string // that it began in
	start    Start
	settings Settings
	ctx      context.Context // ends when the run does, or is to
	machine  *machine.Machine
}

func (c *runCore) workspaceID() string { return c.start.ProgramSet.Workspace.ID }

// throttle waits until the rate limits of the workspace allow the execution to proceed.
func (c *runCore) throttle(ctx context.Context, e *execution, what throttle.What, n int) error {
	waited, err := c.rt.Throttles.Wait(ctx, c.workspaceID(), what, n)
	e.throttled.Add(int64(waited))
	return err
}

// Limits of a turn, of how long writes are buffered, and of the finally blocks of a stopped
// run.
const (
	turnLength  = recording.TurnLength // instructions
	flushDelay  = time.Second
	stopGrace   = 10 * time.Second
	flushEvents = 64 // buffered events, after which they are appended

	maxChildren = 100 // trees that a run started and that run, after which it waits
)

// execute runs an execution tree until it ends or ctx ends. When it returns without an error,
// all of its events are on the log.
func (r *Runtime) execute(ctx context.Context, s Start, run *Handle) (Outcome, error) {
	defer s.release()
	t, err := r.newRun(ctx, s)
	if err != nil {
		return Outcome{}, err
	}
	defer t.effects.stopEffects()
	t.handle = run
	defer r.runs.add(t)() // before anybody can know of it, and cancel it
	if s.Attempt > 1 {
		if err := t.lifetime.checkCancelled(s.TriggeredAt); err != nil {
			return Outcome{}, err
		}
	}
	if refused := t.startRoot(); refused != nil {
		return t.recordRefusal(refused)
	}
	if s.Announce {
		if err := t.recordStartNow(); err != nil {
			return Outcome{}, err
		}
	}
	return t.runToEnd()
}

// newRun prepares a run.
func (r *Runtime) newRun(ctx context.Context, s Start) (*run, error) {
	secrets, known, err := r.Secrets.Open(ctx, s.ProgramSet.Workspace.ID)
	if err != nil {
		return nil, err
	}
	t := &run{runCore: runCore{rt: r, id: r.NewID(), process: r.CurrentProcess(), start: s, settings: r.Settings(), ctx: ctx}}
	core := &t.runCore
	t.executions = executions{programs: map[*machine.Program]*programs.Program{}, open: map[string]*execution{}}
	t.secrets.runCore, t.secrets.set = core, known.Clone()
	t.lifetime = newLifetime(core)
	t.turnSlot.runCore = core
	t.world = &world{
		runCore: core, executions: &t.executions, runSecrets: &t.secrets, recording: &t.recording, lifetime: &t.lifetime, turnSlot: &t.turnSlot,
		flush: t.flushContexts, userID: s.Caller.UserID, sessionID: s.Caller.SessionID, secretValues: secrets, views: map[contexts.Key]*view{},
	}
	t.journal = &journal{rt: r, workspaceID: core.workspaceID(), secrets: &t.secrets, commits: make([]eventstore.Commit, 0, len(s.Facts)+1)}
	t.recording = runRecording{runCore: core, executions: &t.executions, secrets: &t.secrets, world: t.world}
	t.events = runEvents{
		runCore: core, executions: &t.executions, secrets: &t.secrets, world: t.world, recording: &t.recording, journal: t.journal,
	}
	t.effects = performer{
		runCore: core, executions: &t.executions, secrets: &t.secrets, world: t.world, events: &t.events, journal: t.journal, recording: &t.recording,
		lifetime: &t.lifetime, waits: map[uint64]*pendingWait{}, children: make(chan struct{}, maxChildren),
	}
	if err := t.secrets.load(ctx); err != nil {
		return nil, err
	}
	t.recording.begin()
	t.machine = machine.New(t.machineOptions())
	return t, nil
}

// machineOptions returns the options of the machine.
func (t *run) machineOptions() machine.Options {
	s := t.settings
	var w machine.World = t.world
	if t.recording.Recorder != nil {
		w = recordedWorld{t.world}
	}
	return machine.Options{
		World: w, MaxDepth: s.MaxDepth, LocalLimit: s.Sizes["local"], MaxWait: s.MaxWait, Wait: s.Wait,
		Locale: s.Locale, Zone: s.Zone, Zones: time.LoadLocation,
	}
}

// startRoot starts the first execution of the run. It returns why that is refused, or nil.
func (t *run) startRoot() *automation.Error {
	s := &t.start
	if s.Interrupted {
		return automation.Raise(automation.ExecutionInterrupt, "the automation was interrupted too often", "attempts", float64(s.Attempt-1))
	}
	if err := t.lifetime.endedBeforeStart(); err != nil {
		return automation.ErrorOf(err)
	}
	if s.Depth > t.settings.MaxDepth+1 {
		return automation.Raise(automation.TooManyCalls, "too many automations called each other", "limit", float64(t.settings.MaxDepth))
	}
	if err := t.effects.checkCall(s.Program, s.Input); err != nil {
		return automation.ErrorOf(err)
	}
	e := &execution{trigger: s.Trigger, startedAt: t.rt.Now().Add(-s.throttled)}
	e.throttled.Store(int64(s.throttled))
	if !s.throttlePaid && t.rt.Throttles.Limits(t.workspaceID(), throttle.Executions) {
		ctx, begun := t.lifetime.startContext()
		defer begun()
		if err := t.throttle(ctx, e, throttle.Executions, 1); err != nil {
			return automation.ErrorOf(err)
		}
	}
	t.machine.Start(t.executions.add(t.id, s.Program, e), t.id, s.Depth, s.Input)
	t.recording.recordInput()
	t.events.recordTrigger()
	return nil
}

// RefusalID returns the id of the event that records that a trigger did not start an
// automation. It is always the same, so that a repeated refusal is recorded once.
func RefusalID(triggerID, automation string) string {
	return deriveID(triggerID, "refused "+automation)
}

// recordRefusal records that the run did not start, and why. A run that was started before, or
// cancelled, has ended with that: no node starts it again.
func (t *run) recordRefusal(err *automation.Error) (Outcome, error) {
	x := &machine.Execution{ID: t.id, Program: t.start.Program.Machine(), Depth: t.start.Depth, Input: t.start.Input, Output: value.Undefined, Err: err}
	t.executions.programs[x.Program] = t.start.Program
	if t.secrets.addInput(t.start.Program, x.Input) != nil { // what cannot be redacted is not recorded
		x.Input = &value.Object{}
	}
	t.recording.Recorder = nil // nothing happened that could be replayed
	if t.start.Attempt > 1 || t.start.Interrupted || err.Name == automation.ExecutionCancelled {
		t.executions.open[x.ID] = &execution{trigger: t.start.Trigger, startedAt: t.rt.Now()}
		t.events.recordEnded(x)
	} else {
		x.ID = ""
	}
	id := t.rt.NewID()
	if event := t.start.Trigger.ID; event != "" {
		id = RefusalID(event, t.start.Program.Name)
	}
	t.events.recordErrorAs(id, x, err)
	t.secrets.markStored()
	return Outcome{Output: value.Undefined, Err: t.secrets.redactRaised(err)}, t.journal.close(t.ctx)
}

// runToEnd runs the machine until the run has ended, and stores what is left.
func (t *run) runToEnd() (Outcome, error) {
	root := t.machine.Root()
	err := commands.CatchPanic(func() (err error) {
		for err == nil && !t.machine.Done() {
			err = t.runTurn()
		}
		return err
	})
	t.effects.stopEffects()
	t.effects.effectsWG.Wait()
	if panicked, ok := errors.AsType[*commands.PanicError](err); ok {
		return t.recordPanic(root, panicked)
	}
	if err != nil {
		return Outcome{}, t.secrets.redactError(err)
	}
	if root.Err != nil {
		t.events.recordUncaught(root)
	}
	out := Outcome{Output: root.Output, Err: t.secrets.redactRaised(root.Err), ExecutionID: root.ID}
	t.recording.store(root)
	return out, t.secrets.redactError(t.storeAndUnpark())
}

// recordPanic records that the run ended because of a panic in its own turn. It is not started
// again: it would panic again.
func (t *run) recordPanic(root *machine.Execution, panicked *commands.PanicError) (Outcome, error) {
	t.rt.Log.ErrorContext(t.ctx, "run panicked", "workspace", t.workspaceID(), "automation", root.Program.Slug, "executionId", t.id, "err", panicked)
	failure := automation.ErrorOf(panicked)
	out := Outcome{Output: value.Undefined, Err: failure, ExecutionID: t.id}
	e := t.executions.open[t.id]
	t.effects.releaseHeldEmits()
	if err := errors.Join(t.flushContexts(), t.journal.close(t.ctx)); err != nil || e == nil { // nil: that it ended is recorded
		return out, err
	}
	return out, t.rt.recordBrokenRun(t.ctx, BrokenRun{
		WorkspaceID: t.workspaceID(), CorrelationID: t.start.CorrelationID, ExecutionID: t.id, Automation: root.Program.Slug,
		Trigger: e.trigger, StartedAt: e.startedAt, Depth: t.start.Depth, Instance: root.Program.Instance,
	}, activity.Failure{Error: failure.Name, Message: failure.Message})
}

// perform begins what a branch of the run waits for. An error is the platform's: the run
// cannot continue.
func (t *run) perform(r machine.Request) error {
	t.recording.Ask(r, t.rt.Now())
	t.effects.openRequests++
	if r.Kind != machine.Wait && len(t.effects.startedWaits) == 0 {
		t.effects.releaseHeldEmits()
	}
	e, ok := t.rt.effects[r.Kind]
	if !ok {
		t.effects.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Invalid("there is no instruction %s", r.Name)})
		return nil
	}
	if r.Kind == machine.Wait {
		if err := t.world.extendRun(r.Duration); err != nil {
			return err
		}
	}
	if e.visible {
		if err := t.flushContexts(); err != nil {
			return err
		}
	}
	if e.unjournaled {
		if err := t.secrets.store(t.ctx); err != nil {
			return err
		}
	}
	if !e.internal {
		t.events.recordStart()
	}
	e.perform(&t.effects, r)
	return nil
}

// runTurn runs the machine as far as possible, starts the effects that it requests, and waits
// until it can continue.
func (t *run) runTurn() error {
	if t.lifetime.fault != nil {
		return t.lifetime.fault
	}
	turn, err := t.computeTurn()
	if err = errors.Join(err, t.lifetime.fault); err != nil {
		return err
	}
	if t.machine.Done() || len(turn.Ended) > 0 && len(t.effects.startedWaits) == 0 { // before the end is recorded
		t.effects.releaseHeldEmits()
	}
	if t.machine.Done() && !t.hasWaitingCaller() {
		if err := t.flushContexts(); err != nil { // before the end is recorded: no node starts it again then
			return err
		}
	}
	for _, n := range turn.Notices { // before their executions end
		t.executions.addLog(n.Execution, logLine(n.Err))
	}
	for _, x := range turn.Ended {
		if x.Err != nil && x.Origin == x.ID {
			t.executions.noteRaised(x)
		}
		t.events.recordEnded(x)
	}
	for _, n := range turn.Notices {
		t.events.recordError(n.Execution, n.Err)
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
	if t.effects.ready || turn.Yielded {
		t.effects.ready = false
		select {
		case err := <-t.lifetime.cancelRequests: // while it was computing
			t.stop(err)
		default:
		}
		return t.doDueWork()
	}
	if len(t.effects.startedWaits) == 0 {
		t.effects.releaseHeldEmits()
	}
	if err := t.parkIfDue(); err != nil {
		return err
	}
	return t.awaitAnswer()
}

// hasWaitingCaller reports whether a caller waits for the response of the run. The response is
// sent only when all events are on disk, in any order.
func (t *run) hasWaitingCaller() bool { return t.start.HTTP != nil && !t.parked }

// awaitAnswer waits for an answer, a cancellation, or the next due work.
func (t *run) awaitAnswer() error {
	timer := time.NewTimer(t.untilNextDue())
	defer timer.Stop()
	var leaving <-chan struct{}
	if t.parked && t.effects.onlyWaits() {
		leaving = t.rt.lifecycle.closed
	}
	select {
	case <-leaving:
		return ErrClosing
	case a := <-t.effects.answers:
		t.handleAnswer(a)
	case err := <-t.lifetime.cancelRequests:
		t.stop(err)
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	case <-timer.C:
	}
	for more := true; more; {
		select {
		case a := <-t.effects.answers:
			t.handleAnswer(a)
		default:
			more = false
		}
	}
	return t.doDueWork()
}

// doDueWork does the work whose time has come.
func (t *run) doDueWork() error {
	if t.lifetime.isDue(t.world.flushDue) {
		if err := t.flushContexts(); err != nil {
			return err
		}
	}
	if t.lifetime.activeTime >= flushDelay {
		t.events.recordStart() // it may take long
	}
	t.checkTimeouts()
	return nil
}

// handleAnswer passes an answer to the machine.
func (t *run) handleAnswer(a answer) {
	t.lifetime.countActive(t.effects.onlyWaits()) // as it was until now
	t.movedSincePark = true
	t.effects.deliver(a)
}

// untilNextDue returns how long to wait for an answer before other work is due.
func (t *run) untilNextDue() time.Duration {
	wait := t.lifetime.untilTimeout(t.effects.onlyWaits())
	if !t.world.flushDue.IsZero() {
		wait = min(wait, t.world.flushDue.Sub(t.rt.Now()))
	}
	return max(wait, 0)
}

// checkTimeouts stops a run that was active for too long, and ends a stopped one whose finally
// blocks take too long.
func (t *run) checkTimeouts() {
	t.lifetime.countActive(t.effects.onlyWaits())
	switch {
	case t.lifetime.isDue(t.lifetime.stopDeadline):
		t.lifetime.stopDeadline = time.Time{}
		t.recording.stopMachine(t.lifetime.stopReason)
	case t.lifetime.stopReason == nil && t.lifetime.activeTime >= t.settings.MaxActive:
		t.stop(automation.Raise(automation.ExecutionTimeout, "the automation was active for too long", "seconds", t.settings.MaxActive.Seconds()))
	}
}

// stop ends the run. Its finally blocks run for at most stopGrace.
func (t *run) stop(err *automation.Error) {
	if t.lifetime.stopReason == nil {
		t.lifetime.stopReason, t.lifetime.stopDeadline = err, t.rt.Now().Add(stopGrace)
		t.recording.stopMachine(err)
	}
}

// recordStartNow records that the run has started, and waits until that is on disk.
func (t *run) recordStartNow() error {
	if err := t.events.recordStartNow(); err != nil {
		return err
	}
	close(t.handle.started)
	return nil
}

// flushContexts stores what was written to contexts.
func (t *run) flushContexts() error {
	t.world.flushDue = time.Time{}
	changes := t.world.takeChanges()
	if len(changes) == 0 {
		return nil
	}
	if !t.machine.Done() { // else its end is recorded next
		t.events.recordStart()
	}
	return t.turnSlot.without(func() error { return t.rt.Contexts.Append(t.ctx, t.rt.NewID(), changes) })
}

// storeAndUnpark stores everything that is left, and deletes the parked state.
func (t *run) storeAndUnpark() error {
	if err := t.storeRest(); err != nil || !t.parked {
		return err
	}
	return t.rt.Parked.Drop(t.ctx, t.workspaceID(), t.id)
}

func (t *run) storeRest() error {
	changes := t.world.takeChanges()
	if len(changes) == 0 {
		if t.hasWaitingCaller() && !t.events.startRecorded { // it ended before it reached anybody, or wrote anything
			t.secrets.markStored()
		}
		return t.journal.close(t.ctx)
	}
	stored := make(chan error, 1)
	go func() { stored <- t.rt.Contexts.Append(t.ctx, t.rt.NewID(), changes) }() // waited for below
	err := t.journal.close(t.ctx)
	if failed := <-stored; err == nil {
		err = failed
	}
	return err
}

// maxBufferedEvents is the number of buffered events from which on a run waits until they are
// appended.
const maxBufferedEvents = 1000

// flushIfFull appends buffered events once there are many. A run that continues at once
// records its start, since it may take long.
func (t *run) flushIfFull(yielded bool) error {
	buffered := t.journal.buffered()
	if buffered > flushEvents || yielded {
		t.events.recordStart()
	}
	switch {
	case buffered > maxBufferedEvents:
		_, err := t.journal.append(t.ctx)
		return err
	case buffered > flushEvents:
		t.journal.appendInBackground(t.ctx)
	}
	return nil
}

// computeTurn runs the machine as far as possible, or for one turn, in a turn slot.
func (t *run) computeTurn() (machine.Turn, error) {
	if err := t.turnSlot.acquire(); err != nil {
		return machine.Turn{}, err
	}
	defer t.turnSlot.release()
	t.recording.Turn()
	t.world.registryObject = nil
	return t.machine.Run(turnLength), nil
}
