package runtime

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"svc/commands"
	"svc/commands/contexts"
	"svc/commands/fair"
	"svc/commands/programs"
	"svc/commands/recording"
	"svc/commands/sandbox"
	"svc/commands/throttle"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/redact"
	"svc/domain/automation/value"
	"svc/eventstore"
)

// run is one execution tree that runs on this node.
type run struct {
	rt         *Runtime
	id         string // of its first execution
	process    string // that it began in
	start      Start
	settings   Settings
	ctx        context.Context // ends when the tree does, or is to
	machine    *machine.Machine
	world      *world
	journal    *journal
	redact     *redact.Set
	runSecrets runSecrets
	recorder   *recording.Recorder // nil: nothing is recorded

	programs      map[*machine.Program]*programs.Program
	executions    map[string]*execution         // those that have not ended, by id
	heldEmits     []eventstore.Commit           // events that are recorded together with the wait behind them
	startedWaits  []eventstore.Commit           // that are told once it is kept that the tree stands in them
	raised        map[string]*machine.Execution // those that ended with an error of their own, by id
	startRecorded bool                          // that the tree has begun is on its way to the log
	fault         error                         // of the platform, which the automation is not told of: the tree breaks off

	effectsCtx     context.Context // of what the machine asked for; ends with the tree
	stopEffects    context.CancelFunc
	effectsWG      sync.WaitGroup
	answers        chan answer
	openRequests   int             // requests whose answer has not come
	openWaits      int             // of those, waits
	lastEmitted    domain.Position // of the last event that was emitted, or ended a wait
	waits          map[uint64]*pendingWait
	parkDue        bool // where it stands is to be kept before it goes on waiting
	parked         bool // where it stood once is kept
	movedSincePark bool // it did more than wait then, or since
	ready          bool // the machine was given an answer since its last turn
	handle         *Handle

	flushDue       time.Time // when what was written is to be kept at the latest; zero: nothing was
	activeTime     time.Duration
	activeSince    time.Time // when active was last counted up
	stopReason     *automation.Error
	stopDeadline   time.Time // when a tree that was stopped ends without its last words
	cancelRequests chan *automation.Error
	startCtx       context.Context // ends when the tree is cancelled before it began
	cancelStart    context.CancelCauseFunc

	hasTurnSlot bool          // it holds a lane
	children    chan struct{} // one for each tree that it started by itself and that neither ended nor stands
}

// execution is the state of one execution of the run.
type execution struct {
	trigger   activity.Trigger
	startedAt time.Time
	throttled atomic.Int64 // nanoseconds
	log       sandbox.Log  // lines of its custom code, and errors that ended nothing
}

// answer is the result of a request of the machine.
type answer struct {
	machine.Answer

	id   uint64
	wait bool
	then func(machine.Answer) machine.Answer // in the goroutine of the tree; nil: nothing more is to be done
}

// Bounds of a turn, of how long writes are held back, and of finally blocks of a tree
// that is stopped.
const (
	turnLength  = recording.TurnLength // instructions
	flushDelay  = time.Second
	stopGrace   = 10 * time.Second
	flushEvents = 64 // gathered, after which they are appended

	maxChildren = 100 // trees that a tree started by itself and that run, after which it waits
)

// execute runs an execution tree until it ends or ctx ends. When it returns without an error,
// all of its events are on the log.
func (r *Runtime) execute(ctx context.Context, s Start, run *Handle) (Outcome, error) {
	defer s.release()
	t, err := r.newRun(ctx, s)
	if err != nil {
		return Outcome{}, err
	}
	defer t.stopEffects()
	t.handle = run
	defer r.runs.add(t)() // before anybody can know of it, and cancel it
	if s.Attempt > 1 {
		if err := t.checkCancelled(s.TriggeredAt); err != nil {
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
	secrets, err := r.Secrets.All(ctx, s.ProgramSet.Workspace.ID)
	if err != nil {
		return nil, err
	}
	known, err := r.Secrets.Redactor(ctx, s.ProgramSet.Workspace.ID)
	if err != nil {
		return nil, err
	}
	t := &run{
		rt: r, id: r.NewID(), process: r.CurrentProcess(), start: s, settings: r.Settings(), ctx: ctx, redact: known.Clone(),
		programs: map[*machine.Program]*programs.Program{}, executions: map[string]*execution{}, waits: map[uint64]*pendingWait{},
		answers: make(chan answer, 16), cancelRequests: make(chan *automation.Error, 1), activeSince: r.Now(), children: make(chan struct{}, maxChildren),
	}
	t.startCtx, t.cancelStart = context.WithCancelCause(ctx)
	effects, cease := context.WithCancel(ctx)
	t.effectsCtx, t.stopEffects = effects, func() { cease(); t.cancelStart(nil) }
	t.journal = &journal{rt: r, workspaceID: s.ProgramSet.Workspace.ID, beforeAppend: t.storeRunSecrets}
	if err := t.loadRunSecrets(ctx); err != nil {
		return nil, err
	}
	t.world = &world{
		t: t, userID: s.Caller.UserID, sessionID: s.Caller.SessionID, secrets: secrets, views: map[contexts.Key]*view{},
	}
	t.recorder = t.newRecorder()
	t.machine = machine.New(t.machineOptions())
	return t, nil
}

// machineOptions returns the options of the machine.
func (t *run) machineOptions() machine.Options {
	s := t.settings
	return machine.Options{
		World: t.machineWorld(), MaxDepth: s.MaxDepth, LocalLimit: s.Sizes["local"], MaxWait: s.MaxWait, Wait: s.Wait,
		Locale: s.Locale, Zone: s.Zone, Zones: time.LoadLocation,
	}
}

func (t *run) workspaceID() string { return t.start.ProgramSet.Workspace.ID }

// program returns the program of an execution, with its scope.
func (t *run) program(x *machine.Execution) *programs.Program { return t.programs[x.Program] }

// addExecution registers a new execution and returns its program for the machine.
func (t *run) addExecution(id string, p *programs.Program, e *execution) *machine.Program {
	t.executions[id] = e
	runs := p.Machine()
	t.programs[runs] = p
	return runs
}

// throttle waits until the rate limits of the workspace allow the execution to proceed.
func (t *run) throttle(ctx context.Context, e *execution, what throttle.What, n int) error {
	waited, err := t.rt.Throttles.Wait(ctx, t.workspaceID(), what, n)
	e.throttled.Add(int64(waited))
	return err
}

// startRoot starts the first execution of the run. It returns why that is refused, or nil.
func (t *run) startRoot() *automation.Error {
	s := &t.start
	if s.Interrupted {
		return automation.Raise(automation.ExecutionInterrupt, "the automation was interrupted too often", "attempts", float64(s.Attempt-1))
	}
	if t.startCtx.Err() != nil {
		return automation.ErrorOf(context.Cause(t.startCtx))
	}
	if s.Depth > t.settings.MaxDepth+1 {
		return automation.Raise(automation.TooManyCalls, "too many automations called each other", "limit", float64(t.settings.MaxDepth))
	}
	if err := t.checkCall(s.Program, s.Input); err != nil {
		return automation.ErrorOf(err)
	}
	e := &execution{trigger: s.Trigger, startedAt: t.rt.Now().Add(-s.throttled)}
	e.throttled.Store(int64(s.throttled))
	if !s.throttlePaid {
		if err := t.throttle(t.startCtx, e, throttle.Executions, 1); err != nil {
			return automation.ErrorOf(err)
		}
	}
	t.machine.Start(t.addExecution(t.id, s.Program, e), t.id, s.Depth, s.Input)
	t.recordInput()
	for _, fact := range s.Facts {
		t.journal.record(t.meta(t.machine.Root()), t.redactFact(fact))
	}
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
	t.programs[x.Program] = t.start.Program
	if t.addInputSecrets(t.start.Program, x.Input) != nil { // what cannot be hidden is not told
		x.Input = &value.Object{}
	}
	t.recorder = nil // nothing happened that could be replayed
	if t.start.Attempt > 1 || t.start.Interrupted || err.Name == automation.ExecutionCancelled {
		t.executions[x.ID] = &execution{trigger: t.start.Trigger, startedAt: t.rt.Now()}
		t.recordEnded(x)
	} else {
		x.ID = ""
	}
	id := t.rt.NewID()
	if event := t.start.Trigger.ID; event != "" {
		id = RefusalID(event, t.start.Program.Name)
	}
	t.recordErrorAs(id, x, err)
	t.runSecrets.markStored()
	return Outcome{Output: value.Undefined, Err: t.redactRaised(err)}, t.journal.close(t.ctx)
}

// runToEnd runs the machine until the run has ended, and stores what is left.
func (t *run) runToEnd() (Outcome, error) {
	root, began := t.machine.Root(), t.rt.Now()
	_, err := recoverPanic(func() (struct{}, error) { return struct{}{}, t.runTurns() })
	t.stopEffects()
	t.effectsWG.Wait()
	if fell, ok := errors.AsType[*commands.PanicError](err); ok {
		return t.recordPanic(root, fell)
	}
	if err != nil {
		return Outcome{}, t.redactError(err)
	}
	if root.Err != nil {
		t.recordUncaught(root)
	}
	out := Outcome{Output: root.Output, Err: t.redactRaised(root.Err), ExecutionID: root.ID, Duration: t.rt.Now().Sub(began)}
	t.storeRecording(root)
	return out, t.redactError(t.storeAndUnpark())
}

// recordPanic records that the run ended because of a panic in its own turn. It is not started
// again: it would panic again.
func (t *run) recordPanic(root *machine.Execution, fell *commands.PanicError) (Outcome, error) {
	t.rt.Log.ErrorContext(t.ctx, "a run fell over", "workspace", t.workspaceID(), "automation", root.Program.Slug, "executionId", t.id, "err", fell)
	failure := automation.ErrorOf(fell)
	out := Outcome{Output: value.Undefined, Err: failure, ExecutionID: t.id}
	e := t.executions[t.id]
	t.releaseHeldEmits()
	if err := errors.Join(t.flushContexts(), t.journal.close(t.ctx)); err != nil || e == nil { // nil: that it ended is recorded
		return out, err
	}
	return out, t.rt.recordBrokenRun(t.ctx, BrokenRun{
		WorkspaceID: t.workspaceID(), CorrelationID: t.start.CorrelationID, ExecutionID: t.id, Automation: root.Program.Slug,
		Trigger: e.trigger, StartedAt: e.startedAt, Depth: t.start.Depth, Instance: root.Program.Instance,
	}, activity.Failure{Error: failure.Name, Message: failure.Message})
}

// runTurns lets the machine take its turns.
func (t *run) runTurns() error {
	for !t.machine.Done() {
		if err := t.runTurn(); err != nil {
			return err
		}
	}
	return nil
}

// Start describes an execution tree to run.
type Start struct {
	ProgramSet *programs.ProgramSet
	Program    *programs.Program
	Trigger    activity.Trigger
	Input      *value.Object
	Caller     Caller

	CorrelationID string
	Depth         int // of its first execution; a trigger starts at 1
	Attempt       int // 1, or more when it was interrupted before
	// TriggeredAt is when what triggered it happened: a run that was cancelled
	// since then is not begun again. It counts from the second attempt on.
	TriggeredAt time.Time
	// Interrupted says that it was so too often: that is recorded, and nothing is run.
	Interrupted bool
	// Meta is of the request that caused it: trace, ip, socket and HTTP.
	Meta domain.Meta
	// SourceWorkspaceID is where it was called from, when that is another workspace.
	SourceWorkspaceID string

	HTTP *HTTP // where $http leads; nil unless an endpoint started it
	// Facts are recorded before anything else of the tree: what triggered it.
	Facts []domain.Event
	// Announce records what triggered the tree before anything is run: who launched it
	// answers when that is on disk.
	Announce bool
	// RunSecrets are the secrets of the run so far, when one of its trees starts this one.
	RunSecrets []string
	// Record keeps everything that is needed to replay the tree, whatever the setting.
	Record bool

	throttlePaid bool          // who started it has waited for its turn, for this long:
	throttled    time.Duration // as that of any execution
	onRelease    func()        // is called when it has ended or stands; nil: nobody wants to know
}

// release notifies the run that started this one that it has ended or is parked.
func (s *Start) release() {
	if s.onRelease != nil {
		s.onRelease()
	}
}

// Outcome is the result of a run.
type Outcome struct {
	Output any               // Undefined when there is none
	Err    *automation.Error // nil unless it failed
	// Origin is the execution that raised Err.
	ExecutionID string
	Duration    time.Duration
}

// runTurn runs the machine as far as possible, starts the effects that it requests, and waits
// until it can continue.
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

// breakOff breaks the run off at the end of its turn because of a platform error. Nil has no
// effect.
func (t *run) breakOff(err error) {
	if t.fault == nil {
		t.fault = err
	}
}

// pollCancel stops the run when it was cancelled while it was computing.
func (t *run) pollCancel() {
	select {
	case err := <-t.cancelRequests:
		t.stop(err)
	default:
	}
}

// hasWaitingCaller reports whether a caller waits for the response of the run. The response is
// sent only when all events are on disk, in any order.
func (t *run) hasWaitingCaller() bool { return t.start.HTTP != nil && !t.parked }

// markParked notifies the launcher that any node can resume the run.
func (t *run) markParked() {
	if t.handle != nil {
		t.handle.once.Do(func() { close(t.handle.parked) })
	}
	t.start.release()
}

// awaitAnswer waits for an answer, a cancellation, or the next due work.
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

// doDueWork does the work whose time has come.
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

// handleAnswer passes an answer to the machine.
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

// untilNextDue returns how long to wait for an answer before other work is due.
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

// onlyWaits reports whether the run does nothing but wait for events or time.
func (t *run) onlyWaits() bool { return t.openRequests > 0 && t.openWaits == t.openRequests }

// countActiveTime adds the time since the last call to the active time, unless the run only
// waited.
func (t *run) countActiveTime() {
	now := t.rt.Now()
	if !t.onlyWaits() {
		t.activeTime += now.Sub(t.activeSince)
	}
	t.activeSince = now
}

// checkTimeouts stops a run that was active for too long, and ends a stopped one whose finally
// blocks take too long.
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

// stop ends the run. Its finally blocks run for at most stopGrace.
func (t *run) stop(err *automation.Error) {
	if t.stopReason == nil {
		t.stopReason, t.stopDeadline = err, t.rt.Now().Add(stopGrace)
		t.stopMachine(err)
	}
}

// scheduleFlush makes written contexts due for storing within flushDelay.
func (t *run) scheduleFlush() {
	if t.flushDue.IsZero() {
		t.flushDue = t.rt.Now().Add(flushDelay)
	}
}

// flushContexts stores what was written to contexts.
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

// recordStart records that the run has started, before it has any visible effect. It does not
// wait for the append.
func (t *run) recordStart() {
	if !t.startRecorded && t.executions[t.id] != nil {
		t.addStartEvent()
		t.journal.appendInBackground(t.ctx)
	}
}

// recordStartNow is recordStart, but waits until the event is on disk.
func (t *run) recordStartNow() error {
	t.addStartEvent()
	if _, err := t.journal.append(t.ctx); err != nil {
		return err
	}
	close(t.handle.started)
	return nil
}

// addStartEvent adds the start event of the run to the journal.
func (t *run) addStartEvent() {
	t.startRecorded = true
	root := t.machine.Root()
	e := t.executions[root.ID]
	t.journal.record(t.meta(root), activity.TreeStarted{
		ExecutionID: root.ID, Automation: root.Program.Slug, Trigger: t.redactTrigger(t.start.Trigger), Attempt: t.start.Attempt,
		Replica: t.process, StartedAt: formatTime(e.startedAt),
	})
}

// recordUncaught records the error that nothing caught, with the execution that raised it as
// its source.
func (t *run) recordUncaught(root *machine.Execution) {
	x := t.raised[root.Origin]
	if x == nil {
		x = root
	}
	t.recordError(x, root.Err)
}

// maxRaised is how many executions that raised an error are remembered.
const maxRaised = 1000

// noteRaised remembers an execution that raised an error.
func (t *run) noteRaised(x *machine.Execution) {
	if t.raised == nil || len(t.raised) >= maxRaised {
		t.raised = map[string]*machine.Execution{}
	}
	t.raised[x.ID] = &machine.Execution{ID: x.ID, Program: x.Program, Depth: x.Depth}
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

// maxBufferedEvents is the number of buffered events from which on a run waits until they are
// appended.
const maxBufferedEvents = 1000

// flushIfFull appends buffered events once there are many. A run that continues at once
// records its start, since it may take long.
func (t *run) flushIfFull(yielded bool) error {
	gathered := t.journal.buffered()
	if gathered > flushEvents || yielded {
		t.recordStart()
	}
	switch {
	case gathered > maxBufferedEvents:
		_, err := t.journal.append(t.ctx)
		return err
	case gathered > flushEvents:
		t.journal.appendInBackground(t.ctx)
	}
	return nil
}

// computeTurn runs the machine as far as possible, or for one turn, in a turn slot.
func (t *run) computeTurn() (machine.Turn, error) {
	if err := t.rt.turnSlots.Enter(t.ctx, t.workspaceID()); err != nil {
		return machine.Turn{}, err
	}
	t.hasTurnSlot = true
	defer func() {
		if t.hasTurnSlot {
			t.hasTurnSlot = false
			t.rt.turnSlots.Leave(t.workspaceID())
		}
	}()
	t.recorder.Turn()
	t.world.registryObject = nil
	return t.machine.Run(turnLength), nil
}

// withoutTurnSlot does work that waits for I/O. Other runs can use the turn slot meanwhile.
func (t *run) withoutTurnSlot(work func() error) error {
	if !t.hasTurnSlot {
		return work()
	}
	t.hasTurnSlot = false
	t.rt.turnSlots.Leave(t.workspaceID())
	err := work()
	if err := t.rt.turnSlots.Enter(t.ctx, t.workspaceID()); err != nil {
		return err
	}
	t.hasTurnSlot = true
	return err
}

// slotsPerCore is how many trees take their turns at once for each core, since a turn may read
// from disk, and workspaceSlotsPerCore how many of them may be those of one workspace.
const (
	slotsPerCore          = 4
	workspaceSlotsPerCore = 3
)

// newTurnSlots returns turn slots for a number of cores. One workspace can keep all cores busy
// and still leaves slots to others: one instruction may compute for seconds.
func newTurnSlots(cores int) *fair.Places {
	return fair.New(slotsPerCore*cores, workspaceSlotsPerCore*cores)
}
