package runtime

import (
	"context"
	"errors"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/throttle"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
)

// perform begins what a branch of the tree waits for. An error is the platform's: the
// tree cannot go on.
func (t *run) perform(r machine.Request) error {
	t.recorder.Ask(r, t.rt.Now())
	t.openRequests++
	if r.Kind != machine.Wait && len(t.startedWaits) == 0 {
		t.releaseHeldEmits()
	}
	switch r.Kind {
	case machine.Call:
		t.callProgram(r)
		return nil
	case machine.Throttle:
		e := t.executions[r.Execution.ID]
		t.answerLater(r, func(ctx context.Context) (any, error) {
			return value.Undefined, t.throttle(ctx, e, throttle.Repeats, r.N)
		})
		return nil
	case machine.Sleep:
		t.answerLater(r, func(ctx context.Context) (any, error) { return value.Undefined, sleep(ctx, r.Duration) })
		return nil
	case machine.Emit, machine.Wait, machine.Chunk, machine.Spawn, machine.Fetch, machine.Topic, machine.Config: // what others see comes after what was written
		if err := t.extendRunContext(r); err != nil {
			return err
		}
		if err := t.flushContexts(); err != nil {
			return err
		}
	}
	if r.Kind == machine.Config || r.Kind == machine.Topic || r.Kind == machine.Spawn { // what tells of them does not pass the journal
		if err := t.storeRunSecrets(t.ctx); err != nil {
			return err
		}
	}
	t.recordStart()
	t.startEffect(r)
	return nil
}

// extendRun lets the context of the run outlive a wait.
func (t *run) extendRunContext(r machine.Request) error {
	if r.Kind != machine.Wait {
		return nil
	}
	return t.world.extendRun(r.Duration)
}

// startEffect begins something that reaches outside.
func (t *run) startEffect(r machine.Request) {
	switch r.Kind {
	case machine.Spawn:
		t.spawnRun(r)
	case machine.Emit:
		t.emit(r)
	case machine.Wait:
		t.startWait(r)
	case machine.Fetch:
		t.sendFetch(r)
	case machine.Next:
		t.readStream(r)
	case machine.Module:
		t.callModule(r)
	case machine.Chunk:
		t.sendChunk(r)
	case machine.Topic:
		t.changeTopic(r)
	case machine.RateLimit:
		t.countRateLimit(r)
	case machine.Auth:
		t.issueToken(r)
	case machine.Config:
		t.configure(r)
	default:
		t.answerNow(r, machine.Answer{Value: value.Undefined, Err: automation.Invalid("there is no instruction %s", r.Name)})
	}
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

// sleep lets time pass.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
