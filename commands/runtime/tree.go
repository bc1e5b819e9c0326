package runtime

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"svc/commands"
	"svc/commands/contexts"
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

// run is one under way.
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

// execution is what the runner knows of one.
type execution struct {
	trigger   activity.Trigger
	startedAt time.Time
	throttled atomic.Int64 // nanoseconds
	log       sandbox.Log  // lines of its custom code, and errors that ended nothing
}

// answer is what came of a request.
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

// execute runs a tree to its end, or until ctx ends. What it did is on the log when it
// returns without an error.
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

// newRun makes a tree ready.
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

// machineOptions are what the machine runs with.
func (t *run) machineOptions() machine.Options {
	s := t.settings
	return machine.Options{
		World: t.machineWorld(), MaxDepth: s.MaxDepth, LocalLimit: s.Sizes["local"], MaxWait: s.MaxWait, Wait: s.Wait,
		Locale: s.Locale, Zone: s.Zone, Zones: time.LoadLocation,
	}
}

func (t *run) workspaceID() string { return t.start.ProgramSet.Workspace.ID }

// program returns the program that an execution runs, in its place.
func (t *run) program(x *machine.Execution) *programs.Program { return t.programs[x.Program] }

// addExecution notes an execution that begins, and returns its program as the machine runs it.
func (t *run) addExecution(id string, p *programs.Program, e *execution) *machine.Program {
	t.executions[id] = e
	runs := p.Machine()
	t.programs[runs] = p
	return runs
}

// throttle waits until an execution may do something.
func (t *run) throttle(ctx context.Context, e *execution, what throttle.What, n int) error {
	waited, err := t.rt.Throttles.Wait(ctx, t.workspaceID(), what, n)
	e.throttled.Add(int64(waited))
	return err
}

// markStarted starts the first execution of the tree. It returns why that is refused, nil
// when it is not.
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

// RefusalID is the id of the event that tells that something did not start an automation:
// whoever finds that out again tells the same.
func RefusalID(triggerID, automation string) string {
	return deriveID(triggerID, "refused "+automation)
}

// recordRefusal records that the tree did not begin, and why. One that was begun before, or
// cancelled, is over with that: nobody begins it again.
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

// runToEnd lets the machine take its turns until the tree has ended, and keeps what is
// left.
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

// recordPanic records that the tree ended because of a fault of ours in its own turn: begun
// again it would only meet it again.
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
