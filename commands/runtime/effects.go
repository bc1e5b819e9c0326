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
	"svc/domain/automation/value"
)

// effect is a row of the table of effects: how requests of one kind are performed.
type effect struct {
	perform func(*run, machine.Request)
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
		machine.Call:      {perform: (*run).callProgram, internal: true},
		machine.Throttle:  {perform: (*run).throttleLoop, internal: true},
		machine.Sleep:     {perform: (*run).sleep, internal: true},
		machine.Next:      {perform: (*run).readStream},
		machine.Spawn:     {perform: (*run).spawnRun, visible: true, unjournaled: true},
		machine.Config:    {perform: (*run).configure, visible: true, unjournaled: true},
		machine.Chunk:     {perform: (*run).sendChunk, visible: true},
		machine.Emit:      {perform: (*run).emit, visible: true},
		machine.Wait:      {perform: (*run).startWait, visible: true},
		machine.Fetch:     {perform: (*run).sendFetch, visible: true},
		machine.Topic:     {perform: (*run).changeTopic, visible: true, unjournaled: true},
		machine.RateLimit: {perform: (*run).countRateLimit},
		machine.Auth:      {perform: (*run).issueToken},
		machine.Module:    {perform: (*run).callModule},
	}
}

// perform begins what a branch of the run waits for. An error is the platform's: the run
// cannot continue.
func (t *run) perform(r machine.Request) error {
	t.recorder.Ask(r, t.rt.Now())
	t.openRequests++
	if r.Kind != machine.Wait && len(t.startedWaits) == 0 {
		t.releaseHeldEmits()
	}
	e, ok := t.rt.effects[r.Kind]
	if !ok {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Invalid("there is no instruction %s", r.Name)})
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
		if err := t.storeRunSecrets(t.ctx); err != nil {
			return err
		}
	}
	if !e.internal {
		t.recordStart()
	}
	e.perform(t, r)
	return nil
}

// answerNow answers a request at once.
func (t *run) answerNow(r machine.Request, a machine.Answer) {
	t.openRequests--
	t.ready = true
	t.answerMachine(r.ID, a)
}

// answerLater answers a request when the work for it is done.
func (t *run) answerLater(r machine.Request, work func(context.Context) (any, error)) {
	t.answerLaterThen(r, work, nil)
}

// answerLaterThen is later, with something to be done in the goroutine of the tree before
// the answer is handed over.
func (t *run) answerLaterThen(r machine.Request, work func(context.Context) (any, error), then func(machine.Answer) machine.Answer) {
	t.effectsWG.Go(func() {
		v, err := recoverPanic(func() (any, error) { return work(t.effectsCtx) })
		if fell, ok := errors.AsType[*commands.PanicError](err); ok {
			v = value.Undefined
			t.rt.Log.ErrorContext(t.effectsCtx, "an instruction fell over", "workspace", t.workspaceID(), "instruction", r.Name, "err", fell)
		}
		select {
		case t.answers <- answer{id: r.ID, Answer: machine.Answer{Value: v, Err: err}, wait: r.Kind == machine.Wait, then: then}:
		case <-t.effectsCtx.Done():
		}
	})
}

// callProgram starts another automation in the tree.
func (t *run) callProgram(r machine.Request) {
	p, err := t.program(r.Execution).Scope.ResolveCall(r.Slug)
	if err == nil {
		err = t.checkCall(p, r.Params)
	}
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	e := &execution{trigger: activity.Trigger{Type: activity.ByAutomation, Value: r.Execution.Program.Slug}, startedAt: t.rt.Now()}
	enter := func(a machine.Answer) machine.Answer {
		if a.Err == nil {
			a.ExecutionID = t.rt.NewID()
			a.Program = t.addExecution(a.ExecutionID, p, e)
		}
		return a
	}
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		return value.Undefined, t.throttle(ctx, e, throttle.Executions, 1)
	}, enter)
}

// spawnRun starts another automation in a tree of its own, and goes on once that it began is
// on disk. This one waits for the turn of the other, and while too many that it started
// run.
func (t *run) spawnRun(r machine.Request) {
	p, err := t.program(r.Execution).Scope.ResolveCall(r.Slug)
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	s := t.start
	s.Program, s.Input, s.Depth, s.HTTP, s.Facts, s.Attempt = p, r.Params, r.Execution.Depth+1, nil, nil, 1
	s.Trigger = activity.Trigger{Type: activity.ByAutomation, Value: r.Execution.Program.Slug}
	s.Announce, s.throttlePaid, s.RunSecrets = true, true, t.runSecrets.list()
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
	}, t.breakOffIfInDoubt)
}

// started launches a tree and waits until that it began is on disk, or it is over already.
func (t *run) launchChild(ctx context.Context, s Start) error {
	run := t.rt.Launch(s)
	select {
	case <-run.Started():
		return nil
	case <-run.Done():
		s.onRelease()
		_, err := run.Outcome()
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sendChunk sends something to who called the endpoint. Everything that the tree did so
// far is on disk before.
func (t *run) sendChunk(r machine.Request) {
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
func (t *run) throttleLoop(r machine.Request) {
	e := t.executions[r.Execution.ID]
	t.answerLater(r, func(ctx context.Context) (any, error) {
		return value.Undefined, t.throttle(ctx, e, throttle.Repeats, r.N)
	})
}

// sleep lets time pass.
func (t *run) sleep(r machine.Request) {
	t.answerLater(r, func(ctx context.Context) (any, error) { return value.Undefined, commands.Sleep(ctx, r.Duration) })
}

// Topics are what users receive events through. It is a commands.Topics.
type Topics interface {
	Create(ctx context.Context, workspaceID, topic string, userIDs []string) error
	Join(ctx context.Context, workspaceID, topic string, userIDs []string, create bool) error
}

// RateLimits count for automations. It is a *ratelimit.Limiter.
type RateLimits interface {
	Take(ctx context.Context, scope ratelimit.Scope, use ratelimit.Use) (*value.Object, error)
}

// Tokens are what automations call the platform with.
type Tokens interface {
	// Token makes one of the session that a run acts for, or of the workspace. Asked
	// says that the automation gets it to see: it lasts longer.
	Token(ctx context.Context, kind fetch.TokenKind, of Acting, asked bool) (string, error)
	// RoleKey makes one for a role of the workspace that automations may take.
	RoleKey(ctx context.Context, role string, of Acting) (string, error)
}

// Acting says for whom an automation calls the platform.
type Acting struct {
	Caller        *Caller
	WorkspaceID   string
	CorrelationID string
	Depth         int
	App           bool // it is one of an app: what the workspace gives is not for it
}

// IsNarrowed reports whether what the session, or the workspace, may do in the workspace is
// not lent with a token: an app asks, or the session itself was lent with less.
func (a Acting) IsNarrowed(kind fetch.TokenKind) bool {
	return a.App || kind == fetch.SessionToken && a.Caller.Lent && a.Caller.LentTo != a.WorkspaceID
}

// References are secrets that automations pass on without seeing them. It is a
// *references.References.
type References interface {
	Resolve(ctx context.Context, of references.Holder, text string) (resolved string, used []string, err error)
	Call(ctx context.Context, of references.Holder, function string, params *value.Object) (any, error)
}

// changeTopic makes a topic, or adds users to one.
func (t *run) changeTopic(r machine.Request) {
	name := t.redact.Text(value.Text(r.Params.At("topic"))) // it is in events, and so are its members
	users := []string{}
	given, listed := r.Params.At("userIds").([]any)
	for _, id := range given {
		users = append(users, t.redact.Text(value.Text(id)))
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

// commandRequest is who asks the platform to record something for an execution.
func (t *run) commandRequest(x *machine.Execution) *commands.Request {
	return &commands.Request{Meta: t.meta(x)}
}

// toAutomationError turns a refusal of the platform into what an instruction raises.
func toAutomationError(err error) error {
	if refused, ok := errors.AsType[*domain.Error](err); ok {
		if refused.Code == domain.CodeLocked {
			return automation.Raise(automation.ResourceLocked, refused.Message)
		}
		return automation.Invalid("%s", refused.Message)
	}
	return err
}

// countRateLimit counts, over all nodes. What break asks for is for the machine to do.
func (t *run) countRateLimit(r machine.Request) {
	use, err := ratelimit.Read(r.Params)
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	use.Break = false
	scope := ratelimit.Scope{WorkspaceID: t.workspaceID(), Instance: r.Execution.Program.Instance}
	t.answerLater(r, func(ctx context.Context) (any, error) {
		got, err := t.rt.Effects.RateLimits.Take(ctx, scope, use)
		if err != nil {
			return value.Undefined, err
		}
		return got, nil
	})
}

// issueToken makes a token for calls to the platform.
func (t *run) issueToken(r machine.Request) {
	kind := fetch.SessionToken
	if r.Params.At("workspace") == true {
		kind = fetch.WorkspaceToken
	}
	of := t.actingFor(r.Execution)
	t.answerLaterThen(r, func(ctx context.Context) (any, error) { return t.rt.Effects.Tokens.Token(ctx, kind, of, true) }, func(a machine.Answer) machine.Answer {
		jwt, _ := a.Value.(string)
		if a.Err == nil {
			a.Err = t.addSecrets(jwt)
		}
		if a.Value = value.Undefined; a.Err == nil {
			a.Value = value.NewObject("jwt", jwt)
		}
		return a
	})
}

func (t *run) actingFor(x *machine.Execution) Acting {
	return Acting{
		Caller: &t.start.Caller, WorkspaceID: t.workspaceID(), CorrelationID: t.start.CorrelationID, Depth: x.Depth, App: x.Program.Instance != "",
	}
}

// tokenIssuer makes tokens for an execution.
func (t *run) tokenIssuer(x *machine.Execution) func(context.Context, fetch.TokenKind) (string, error) {
	of := t.actingFor(x)
	return func(ctx context.Context, kind fetch.TokenKind) (string, error) {
		return t.rt.Effects.Tokens.Token(ctx, kind, of, false)
	}
}

// roleKeyIssuer makes keys of roles for an execution. Roles are the workspace's: apps know none.
func (t *run) roleKeyIssuer(x *machine.Execution) func(context.Context, string) (string, error) {
	of := t.actingFor(x)
	if x.Program.Instance != "" {
		return nil
	}
	return func(ctx context.Context, role string) (string, error) {
		key, err := t.rt.Effects.Tokens.RoleKey(ctx, role, of)
		return key, toAutomationError(err)
	}
}

func (t *run) referenceHolder(x *machine.Execution) references.Holder {
	return references.Holder{WorkspaceID: t.workspaceID(), Instance: x.Program.Instance, UserID: t.start.Caller.UserID}
}

// referenceResolver replaces references to secrets in what is sent.
func (t *run) referenceResolver(x *machine.Execution) func(context.Context, string) (string, error) {
	of := t.referenceHolder(x)
	return func(ctx context.Context, text string) (string, error) {
		resolved, used, err := t.rt.Effects.References.Resolve(ctx, of, text)
		if full := t.addSecrets(used...); err == nil {
			err = full
		}
		return resolved, err
	}
}

// errConfigReference says that a value would not stay as it is in the config.
var errConfigReference = automation.Invalid("config cannot be set to a text that refers to config or secrets")

// configure writes to the stored configuration. What stands there is read as a template
// when it is loaded, and values never are: one that would be is refused.
func (t *run) configure(r machine.Request) {
	scope := t.program(r.Execution).Scope
	if programs.ContainsReference(r.Write.Op.Value) {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: errConfigReference})
		return
	}
	as := t.commandRequest(r.Execution)
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		return value.Undefined, toAutomationError(t.rt.Effects.Configure(commands.WithRequest(ctx, as), scope, r.Write.Op, t.redact))
	}, func(a machine.Answer) machine.Answer {
		if a.Err == nil {
			a.Err = t.world.applyConfig(scope, r.Write.Op)
		}
		return a
	})
}

// callModule calls a function of a module. What an error of it does is for the machine to
// say.
func (t *run) callModule(r machine.Request) {
	name, function := value.Text(r.Params.At("module")), value.Text(r.Params.At("function"))
	params, _ := r.Params.At("parameters").(*value.Object)
	if params == nil {
		params = &value.Object{}
	}
	switch name {
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
	case "code":
		t.runCode(r, function, params)
	default:
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Invalid("there is no module %s", name)})
	}
}

// Collections keep rows. It is a *collections.Collections.
type Collections interface {
	Call(ctx context.Context, of collections.Caller, function string, params *value.Object) (any, error)
}

// callCollections reads or writes rows. That one was declared is recorded.
func (t *run) callCollections(r machine.Request, function string, params *value.Object) {
	scope := t.program(r.Execution).Scope
	of := collections.Caller{WorkspaceID: t.workspaceID(), App: scope.Namespace.App, Instance: scope.Namespace.Instance, UserID: t.world.userID}
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		return t.rt.Effects.Rows.Call(ctx, of, function, params)
	}, func(a machine.Answer) machine.Answer {
		made, ok := a.Value.(*value.Object)
		if a.Err == nil && ok && function == "updateSchema" {
			t.journal.record(t.meta(r.Execution), t.limitEvent(activity.CollectionUpdated{
				Collection: t.redact.Text(value.Text(made.At("collection"))), OldCollection: t.redact.Text(value.Text(params.At("oldCollection"))),
				Schema: cmp.Or(t.redact.Text(value.Text(params.At("schema"))), "default"), AppSlug: scope.App,
				Properties: t.redactJSON(made.At("properties")), Indexes: t.redactJSON(made.At("indexes")), Uniques: t.redactJSON(made.At("uniques")),
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
func (t *run) runCode(r machine.Request, function string, params *value.Object) {
	job, err := t.codeJob(r, function, params)
	if err != nil {
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	var said []string
	t.answerLaterThen(r, func(ctx context.Context) (any, error) {
		result, err := t.rt.Effects.Code.Run(ctx, job)
		said = result.Logs
		return result.Value, err
	}, func(a machine.Answer) machine.Answer {
		t.recorder.Console(r.ID, said)
		t.addLog(r.Execution, said...)
		return a
	})
}

// codeJob reads what is to be run. Its clock is that of now, its chance is drawn here: with
// both the same comes out again.
func (t *run) codeJob(r machine.Request, function string, params *value.Object) (job sandbox.Job, err error) {
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
	t.recorder.Code(r.ID, job.Clock, job.Seed)
	return job, err
}

// configFunction reads a call of a function that the config has.
func (t *run) configFunction(r machine.Request, params *value.Object) (sandbox.Job, error) {
	name := value.Text(params.At("name"))
	function, err := t.world.readConfig(t.program(r.Execution).Scope, []string{"functions", name})
	if err != nil {
		return sandbox.Job{}, err
	}
	f, err := sandbox.FunctionAt(value.NewObject(name, function), name, t.settings.CodeTimeout)
	if err != nil {
		return sandbox.Job{}, err
	}
	return f.Called(params, r.Execution.Input)
}
