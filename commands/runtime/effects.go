package runtime

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"sync"

	"svc/commands"
	"svc/commands/collections"
	"svc/commands/fetch"
	"svc/commands/programs"
	"svc/commands/ratelimit"
	"svc/commands/references"
	"svc/commands/sandbox"
	"svc/commands/throttle"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/hash"
	"svc/domain/automation/machine"
	"svc/domain/automation/text"
	"svc/domain/value"
	"svc/eventstore"
)

// effect is a row of the table of effects: how requests of one kind are performed.
type effect struct {
	perform func(*performer, machine.Request)
	// internal effects reach nobody: nothing is recorded or stored because of them.
	internal bool
	// visible effects are seen by others: what was written to contexts is stored before.
	visible bool
	// unjournaled effects are recorded by others than the journal: the secrets of the run
	// are stored before.
	unjournaled bool
}

// newEffects returns the table of effects, by kind of request.
func newEffects() map[machine.Kind]effect {
	return map[machine.Kind]effect{
		machine.Call:      {perform: (*performer).callProgram, internal: true},
		machine.Throttle:  {perform: (*performer).throttleLoop, internal: true},
		machine.Sleep:     {perform: (*performer).sleep, internal: true},
		machine.Next:      {perform: (*performer).readStream},
		machine.Spawn:     {perform: (*performer).spawnRun, visible: true, unjournaled: true},
		machine.Config:    {perform: (*performer).configure, visible: true, unjournaled: true},
		machine.Chunk:     {perform: (*performer).sendChunk, visible: true},
		machine.Emit:      {perform: (*performer).emit, visible: true},
		machine.Wait:      {perform: (*performer).startWait, visible: true},
		machine.Fetch:     {perform: (*performer).sendFetch, visible: true},
		machine.Topic:     {perform: (*performer).changeTopic, visible: true, unjournaled: true},
		machine.RateLimit: {perform: (*performer).countRateLimit},
		machine.Auth:      {perform: (*performer).issueToken},
		machine.Module:    {perform: (*performer).callModule},
	}
}

// performer performs the requests of a machine. Work that takes time has its own goroutine,
// which sends its answer to the goroutine of the run.
type performer struct {
	*runCore
	executions *executions
	secrets    *runSecrets
	world      *world
	events     *runEvents
	journal    *journal
	recording  *runRecording
	lifetime   *lifetime

	effectsCtx   context.Context // ends with the run; nil until something takes time
	cancelCtx    context.CancelFunc
	effectsWG    sync.WaitGroup
	answers      chan answer   // nil until something takes time
	openRequests int           // whose answer has not come
	openWaits    int           // of those, waits
	ready        bool          // the machine was given an answer since its last turn
	children     chan struct{} // one for each run that it started and that neither ended nor is parked

	waits        map[uint64]*pendingWait
	startedWaits []eventstore.Commit // that are recorded once the run is parked in them
	heldEmits    []eventstore.Commit // events that are recorded together with the wait behind them
	lastEmitted  domain.Position     // of the last event that was emitted, or ended a wait
	parkDue      bool                // the run must be parked before it waits
}

// answersRoom is how many answers may wait for the run.
const answersRoom = 16

// answer is the result of a request of the machine.
type answer struct {
	machine.Answer

	id   uint64
	wait bool
	then func(machine.Answer) machine.Answer // is called in the goroutine of the run; nil: nothing is left to do
}

// context returns a context that ends with the run.
func (t *performer) context() context.Context {
	if t.effectsCtx == nil {
		t.effectsCtx, t.cancelCtx = context.WithCancel(t.ctx)
	}
	return t.effectsCtx
}

// stopEffects ends what takes time.
func (t *performer) stopEffects() {
	if t.cancelCtx != nil {
		t.cancelCtx()
	}
}

// onlyWaits reports whether the run does nothing but wait for events or time.
func (t *performer) onlyWaits() bool { return t.openRequests > 0 && t.openWaits == t.openRequests }

// answerNow answers a request at once.
func (t *performer) answerNow(r machine.Request, a machine.Answer) {
	t.openRequests--
	t.ready = true
	t.recording.answerMachine(r.ID, a)
}

// answerLater answers a request when the work for it is done.
func (t *performer) answerLater(r machine.Request, work func(context.Context) (any, error)) {
	t.answerLaterThen(r, work, nil)
}

// answerLaterThen is answerLater; then is called with the answer in the goroutine of the run
// before the machine gets it.
func (t *performer) answerLaterThen(r machine.Request, work func(context.Context) (any, error), then func(machine.Answer) machine.Answer) {
	ctx := t.context()
	perform := func() answer {
		var v any
		err := commands.CatchPanic(func() (err error) {
			v, err = work(ctx)
			return err
		})
		if panicked, ok := errors.AsType[*commands.PanicError](err); ok {
			v = value.Undefined
			t.rt.Log.ErrorContext(ctx, "instruction panicked", "workspace", t.workspaceID(), "instruction", r.Name, "err", panicked)
		}
		return answer{id: r.ID, Answer: machine.Answer{Value: v, Err: err}, wait: r.Kind == machine.Wait, then: then}
	}
	if t.rt.Simulation != nil {
		t.ready = true
		t.deliver(perform())
		return
	}
	if t.answers == nil {
		t.answers = make(chan answer, answersRoom)
	}
	t.effectsWG.Go(func() {
		a := perform()
		select {
		case t.answers <- a:
		case <-ctx.Done():
		}
	})
}

// deliver passes an answer to the machine.
func (t *performer) deliver(a answer) {
	t.openRequests--
	if a.wait {
		t.openWaits--
		t.world.refresh()
	}
	if a.then != nil {
		a.Answer = a.then(a.Answer)
	}
	t.recording.answerMachine(a.id, a.Answer)
}

// answerStubbed answers a call of an automation that a test has a stub for.
func (t *performer) answerStubbed(r machine.Request) bool {
	if t.rt.Simulation == nil {
		return false
	}
	result, ok, err := t.rt.Simulation.Call(r.Slug, r.Params)
	if ok {
		t.answerNow(r, machine.Answer{Value: result, Err: err, Returned: true})
	}
	return ok
}

// callProgram starts another automation in the tree.
func (t *performer) callProgram(r machine.Request) {
	if t.answerStubbed(r) {
		return
	}
	p, err := t.executions.program(r.Execution).Scope.ResolveCall(r.Slug)
	if err == nil {
		err = t.checkCall(p, r.Params)
	}
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	e := &execution{trigger: activity.Trigger{Type: activity.ByAutomation, Value: r.Execution.Program.Slug}, startedAt: t.rt.Now()}
	startCall := func(a machine.Answer) machine.Answer {
		if a.Err == nil {
			a.ExecutionID = t.rt.NewID()
			a.Program = t.executions.add(a.ExecutionID, p, e)
		}
		return a
	}
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		return value.Undefined, t.throttle(ctx, e, throttle.Executions, 1)
	}, startCall)
}

// spawnRun starts another automation in a tree of its own, and continues once its start is on
// disk. It waits for the throttle of the new tree, and while too many of its trees run.
func (t *performer) spawnRun(r machine.Request) {
	if t.answerStubbed(r) {
		return
	}
	p, err := t.executions.program(r.Execution).Scope.ResolveCall(r.Slug)
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	s := t.start
	s.Program, s.Input, s.Depth, s.HTTP, s.Facts, s.Attempt = p, r.Params, r.Execution.Depth+1, nil, nil, 1
	s.Trigger = activity.Trigger{Type: activity.ByAutomation, Value: r.Execution.Program.Slug}
	s.Announce, s.throttlePaid, s.RunSecrets = true, true, t.secrets.list()
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		var err error
		if s.throttled, err = t.rt.Throttles.Wait(ctx, t.workspaceID(), throttle.Executions, 1); err != nil {
			return value.Undefined, err
		}
		select {
		case t.children <- struct{}{}:
			s.onRelease = sync.OnceFunc(func() { <-t.children })
			return value.Undefined, t.launchChild(ctx, s)
		case <-ctx.Done():
			return value.Undefined, context.Cause(ctx)
		}
	}, t.lifetime.breakOffIfInDoubt)
}

// launchChild launches a tree and waits until its start is on disk, or it has ended.
func (t *performer) launchChild(ctx context.Context, s Start) error {
	run := t.rt.Launch(s)
	started := run.Started()
	if t.rt.Simulation != nil {
		started = nil // the order of effects is that of the instructions: it runs to its end first
	}
	select {
	case <-started:
		return nil
	case <-run.Done():
		s.onRelease()
		_, err := run.Outcome()
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sendChunk sends a chunk to the caller of the endpoint, after everything that the run has
// recorded so far is on disk.
func (t *performer) sendChunk(r machine.Request) {
	if t.start.HTTP == nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: errForeignHTTP})
		return
	}
	content := []byte(value.JSON(r.Value, ""))
	t.start.HTTP.markStarted()
	t.answerLater(r, func(ctx context.Context) (any, error) {
		if _, err := t.journal.append(ctx); err != nil {
			return value.Undefined, err
		}
		t.start.HTTP.Send(ctx, content)
		return value.Undefined, nil
	})
}

// throttleLoop waits until the rate limits of the workspace allow more iterations.
func (t *performer) throttleLoop(r machine.Request) {
	e := t.executions.open[r.Execution.ID]
	t.answerLater(r, func(ctx context.Context) (any, error) {
		return value.Undefined, t.throttle(ctx, e, throttle.Repeats, r.N)
	})
}

// sleep lets time pass.
func (t *performer) sleep(r machine.Request) {
	if t.rt.Simulation != nil {
		t.rt.Simulation.Sleep(r.Duration)
		t.answerNow(r, machine.Answer{Value: value.Undefined})
		return
	}
	t.answerLater(r, func(ctx context.Context) (any, error) { return value.Undefined, commands.Sleep(ctx, r.Duration) })
}

// Topics are groups of users that events can be addressed to. It is a commands.Topics.
type Topics interface {
	Create(ctx context.Context, workspaceID, topic string, userIDs []string) error
	Join(ctx context.Context, workspaceID, topic string, userIDs []string, create bool) error
}

// RateLimits count what automations do. It is a *ratelimit.Limiter.
type RateLimits interface {
	Consume(ctx context.Context, scope ratelimit.Scope, use ratelimit.Use) (*value.Object, error)
}

// Tokens issues tokens for calls of automations to the platform.
type Tokens interface {
	// Token issues one for the session that a run acts for, or for the workspace. Asked
	// says that the automation itself gets it: it lasts longer.
	Token(ctx context.Context, kind fetch.TokenKind, of Acting, asked bool) (string, error)
	// RoleKey issues one for a role of the workspace that automations may use.
	RoleKey(ctx context.Context, role string, of Acting) (string, error)
}

// Acting says for whom an automation calls the platform.
type Acting struct {
	Caller        *Caller
	WorkspaceID   string
	CorrelationID string
	Depth         int
	App           bool // the automation belongs to an app, which gets no rights of the workspace
}

// IsNarrowed reports whether a token does not give the rights that the session, or the
// workspace, has in the workspace: an app asks for it, or the session itself has fewer.
func (a Acting) IsNarrowed(kind fetch.TokenKind) bool {
	return a.App || kind == fetch.SessionToken && a.Caller.Lent && a.Caller.LentTo != a.WorkspaceID
}

// References resolves references to secrets, which automations pass on without seeing them. It is a
// *references.References.
type References interface {
	Resolve(ctx context.Context, of references.Holder, text string) (resolved string, used []string, err error)
	Call(ctx context.Context, of references.Holder, function string, params *value.Object) (any, error)
}

// changeTopic makes a topic, or adds users to one.
func (t *performer) changeTopic(r machine.Request) {
	name := t.secrets.set.Text(value.Text(r.Params.At("topic"))) // events contain it, and its members
	users := []string{}
	given, listed := r.Params.At("userIds").([]any)
	for _, id := range given {
		users = append(users, t.secrets.set.Text(value.Text(id)))
	}
	join := r.Name == "joinUserTopic"
	if join && !listed && t.world.userID != "" {
		users = append(users, t.world.userID)
	}
	if name == "" || join && len(users) == 0 {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Invalid("expected a topic and a user")})
		return
	}
	create, as := r.Params.At("create") != false, t.commandRequest(r.Execution)
	t.answerLater(r, func(ctx context.Context) (any, error) {
		ctx = commands.WithRequest(ctx, as)
		var err error
		if join {
			err = t.rt.Effects.Topics.Join(ctx, t.workspaceID(), name, users, create)
		} else {
			err = t.rt.Effects.Topics.Create(ctx, t.workspaceID(), name, users)
		}
		return true, toAutomationError(err)
	})
}

// commandRequest returns the request of a command that an execution causes.
func (t *performer) commandRequest(x *machine.Execution) *commands.Request {
	return &commands.Request{Meta: t.events.meta(x)}
}

// toAutomationError turns a refusal of the platform into an error of an automation.
func toAutomationError(err error) error {
	if refused, ok := errors.AsType[*domain.Error](err); ok {
		if refused.Code == domain.CodeLocked {
			return automation.Raise(automation.ResourceLocked, refused.Message)
		}
		return automation.Invalid("%s", refused.Message)
	}
	return err
}

// countRateLimit counts on all nodes. The machine handles break.
func (t *performer) countRateLimit(r machine.Request) {
	use, err := ratelimit.Read(r.Params)
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	use.Break = false
	scope := ratelimit.Scope{WorkspaceID: t.workspaceID(), Instance: r.Execution.Program.Instance}
	t.answerLater(r, func(ctx context.Context) (any, error) {
		got, err := t.rt.Effects.RateLimits.Consume(ctx, scope, use)
		if err != nil {
			return value.Undefined, err
		}
		return got, nil
	})
}

// issueToken issues a token for calls to the platform.
func (t *performer) issueToken(r machine.Request) {
	kind := fetch.SessionToken
	if r.Params.At("workspace") == true {
		kind = fetch.WorkspaceToken
	}
	of := t.actingFor(r.Execution)
	t.answerLaterThen(r, func(ctx context.Context) (any, error) { return t.rt.Effects.Tokens.Token(ctx, kind, of, true) }, func(a machine.Answer) machine.Answer {
		jwt, _ := a.Value.(string)
		if a.Err == nil {
			a.Err = t.secrets.add(jwt)
		}
		if a.Value = value.Undefined; a.Err == nil {
			a.Value = value.NewObject("jwt", jwt)
		}
		return a
	})
}

func (t *performer) actingFor(x *machine.Execution) Acting {
	return Acting{
		Caller: &t.start.Caller, WorkspaceID: t.workspaceID(), CorrelationID: t.start.CorrelationID, Depth: x.Depth, App: x.Program.Instance != "",
	}
}

// tokenIssuer returns the function that issues tokens for an execution.
func (t *performer) tokenIssuer(x *machine.Execution) func(context.Context, fetch.TokenKind) (string, error) {
	of := t.actingFor(x)
	return func(ctx context.Context, kind fetch.TokenKind) (string, error) {
		return t.rt.Effects.Tokens.Token(ctx, kind, of, false)
	}
}

// roleKeyIssuer returns the function that issues keys of roles for an execution; nil for an
// app, which has no roles of the workspace.
func (t *performer) roleKeyIssuer(x *machine.Execution) func(context.Context, string) (string, error) {
	of := t.actingFor(x)
	if x.Program.Instance != "" {
		return nil
	}
	return func(ctx context.Context, role string) (string, error) {
		key, err := t.rt.Effects.Tokens.RoleKey(ctx, role, of)
		return key, toAutomationError(err)
	}
}

func (t *performer) referenceHolder(x *machine.Execution) references.Holder {
	return references.Holder{WorkspaceID: t.workspaceID(), Instance: x.Program.Instance, UserID: t.start.Caller.UserID}
}

// referenceResolver returns the function that resolves references to secrets in a request.
func (t *performer) referenceResolver(x *machine.Execution) func(context.Context, string) (string, error) {
	of := t.referenceHolder(x)
	return func(ctx context.Context, text string) (string, error) {
		resolved, used, err := t.rt.Effects.References.Resolve(ctx, of, text)
		if full := t.secrets.add(used...); err == nil {
			err = full
		}
		return resolved, err
	}
}

// errConfigReference says that a value would be read as a template in the config.
var errConfigReference = automation.Invalid("config cannot be set to a text that refers to config or secrets")

// configure writes to the stored config. Texts of the config are templates, but values of
// automations never are: a value that would be read as one is refused.
func (t *performer) configure(r machine.Request) {
	scope := t.executions.program(r.Execution).Scope
	if programs.ContainsReference(r.Write.Op.Value) {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: errConfigReference})
		return
	}
	as := t.commandRequest(r.Execution)
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		return value.Undefined, toAutomationError(t.rt.Effects.Configure(commands.WithRequest(ctx, as), scope, r.Write.Op, t.secrets.set))
	}, func(a machine.Answer) machine.Answer {
		if a.Err == nil {
			a.Err = t.world.applyConfig(scope, r.Write.Op)
		}
		return a
	})
}

// callModule calls a function of a module. The machine handles onError.
func (t *performer) callModule(r machine.Request) {
	name, function := value.Text(r.Params.At("module")), value.Text(r.Params.At("function"))
	params, _ := r.Params.At("parameters").(*value.Object)
	if params == nil {
		params = &value.Object{}
	}
	switch name {
	case "agents":
		t.callWorkspaceModule(r, t.rt.Effects.Agents, "agents", function, params)
	case "text":
		v, err := text.Call(function, params)
		t.answerNow(r, machine.Answer{Value: v, Err: err})
	case "crypto":
		v, err := hash.Call(function, params, t.world.Random)
		t.answerNow(r, machine.Answer{Value: v, Err: err})
	case "secrets":
		of := t.referenceHolder(r.Execution)
		t.answerLater(r, func(ctx context.Context) (any, error) { return t.rt.Effects.References.Call(ctx, of, function, params) })
	case "collections":
		t.callCollections(r, function, params)
	case "knowledge":
		t.callWorkspaceModule(r, t.rt.Effects.Knowledge, "knowledgeBases", function, params)
	case "code":
		t.runCode(r, function, params)
	default:
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Invalid("there is no module %s", name)})
	}
}

// Collections stores rows. It is a *collections.Collections.
type Collections interface {
	Call(ctx context.Context, of collections.Caller, function string, params *value.Object) (any, error)
}

// callCollections reads or writes rows, and records declarations.
func (t *performer) callCollections(r machine.Request, function string, params *value.Object) {
	scope := t.executions.program(r.Execution).Scope
	of := collections.Caller{WorkspaceID: t.workspaceID(), App: scope.Namespace.App, Instance: scope.Namespace.Instance, UserID: t.world.userID}
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		return t.rt.Effects.Rows.Call(ctx, of, function, params)
	}, func(a machine.Answer) machine.Answer {
		result, ok := a.Value.(*value.Object)
		if a.Err == nil && ok && function == "updateSchema" {
			t.journal.record(t.events.meta(r.Execution), t.events.limit(activity.CollectionUpdated{
				Collection: t.secrets.set.Text(value.Text(result.At("collection"))), OldCollection: t.secrets.set.Text(value.Text(params.At("oldCollection"))),
				Schema: cmp.Or(t.secrets.set.Text(value.Text(params.At("schema"))), "default"), AppSlug: scope.App,
				Properties: t.secrets.redactJSON(result.At("properties")), Indexes: t.secrets.redactJSON(result.At("indexes")), Uniques: t.secrets.redactJSON(result.At("uniques")),
			}))
		}
		return a
	})
}

// Code runs the code of authors. It is a *sandbox.Sandbox.
type Code interface {
	Run(ctx context.Context, job sandbox.Job) (sandbox.Result, error)
}

// runCode runs JavaScript: that of the instruction, or a function of the config.
func (t *performer) runCode(r machine.Request, function string, params *value.Object) {
	job, err := t.codeJob(r, function, params)
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	var logs []string
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		result, err := t.rt.Effects.Code.Run(ctx, job)
		logs = result.Logs
		return result.Value, err
	}, func(a machine.Answer) machine.Answer {
		t.recording.Console(r.ID, logs)
		t.executions.addLog(r.Execution, logs...)
		return a
	})
}

// codeJob reads the code to be run, and gives it a clock and a seed. With the same clock and
// seed a replay gets the same result.
func (t *performer) codeJob(r machine.Request, function string, params *value.Object) (job sandbox.Job, err error) {
	switch function {
	case "run":
		job, err = sandbox.ReadJob(params, t.settings.CodeTimeout)
	case "call":
		job, err = t.configFunction(r, params)
	default:
		err = automation.Invalid("module code has no function %s", function)
	}
	job.WorkspaceID = t.workspaceID()
	job.Undefined = append(job.Undefined, r.Omitted("parameters", "arguments")...)
	job.Clock, job.Seed = t.world.Now(), int64(binary.LittleEndian.Uint64(t.world.Random(8))) //nolint:gosec // any number will do
	t.recording.Code(r.ID, job.Clock, job.Seed)
	return job, err
}

// configFunction reads a call of a function that the config has.
func (t *performer) configFunction(r machine.Request, params *value.Object) (sandbox.Job, error) {
	name := value.Text(params.At("name"))
	function, err := t.world.readConfig(t.executions.program(r.Execution).Scope, []string{"functions", name})
	if err != nil {
		return sandbox.Job{}, err
	}
	f, err := sandbox.FunctionAt(value.NewObject(name, function), name, t.settings.CodeTimeout)
	if err != nil {
		return sandbox.Job{}, err
	}
	return f.Called(params, r.Execution.Input)
}
