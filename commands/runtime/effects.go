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
func (t *tree) perform(r machine.Request) error {
	t.recorder.Ask(r, t.rt.Now())
	t.asked++
	if r.Kind != machine.Wait && len(t.begunWaits) == 0 {
		t.releaseHeldEmits()
	}
	switch r.Kind {
	case machine.Call:
		t.call(r)
		return nil
	case machine.Throttle:
		e := t.executions[r.Execution.ID]
		t.later(r, func(ctx context.Context) (any, error) {
			return value.Undefined, t.throttle(ctx, e, throttle.Repeats, r.N)
		})
		return nil
	case machine.Sleep:
		t.later(r, func(ctx context.Context) (any, error) { return value.Undefined, sleep(ctx, r.Duration) })
		return nil
	case machine.Emit, machine.Wait, machine.Chunk, machine.Spawn, machine.Fetch, machine.Topic, machine.Config: // what others see comes after what was written
		if err := t.linger(r); err != nil {
			return err
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	if r.Kind == machine.Config || r.Kind == machine.Topic || r.Kind == machine.Spawn { // what tells of them does not pass the journal
		if err := t.keepLearned(t.ctx); err != nil {
			return err
		}
	}
	t.announce()
	t.effect(r)
	return nil
}

// linger lets the context of the run outlive a wait.
func (t *tree) linger(r machine.Request) error {
	if r.Kind != machine.Wait {
		return nil
	}
	return t.world.linger(r.Duration)
}

// effect begins something that reaches outside.
func (t *tree) effect(r machine.Request) {
	switch r.Kind {
	case machine.Spawn:
		t.spawn(r)
	case machine.Emit:
		t.emit(r)
	case machine.Wait:
		t.wait(r)
	case machine.Fetch:
		t.fetch(r)
	case machine.Next:
		t.next(r)
	case machine.Module:
		t.module(r)
	case machine.Chunk:
		t.chunk(r)
	case machine.Topic:
		t.topic(r)
	case machine.RateLimit:
		t.rateLimit(r)
	case machine.Auth:
		t.auth(r)
	case machine.Config:
		t.configure(r)
	default:
		t.now(r, machine.Answer{Value: value.Undefined, Err: automation.Invalid("there is no instruction %s", r.Name)})
	}
}

// now answers a request at once.
func (t *tree) now(r machine.Request, a machine.Answer) {
	t.asked--
	t.ready = true
	t.hand(r.ID, a)
}

// later answers a request when the work for it is done.
func (t *tree) later(r machine.Request, work func(context.Context) (any, error)) {
	t.laterThen(r, work, nil)
}

// laterThen is later, with something to be done in the goroutine of the tree before
// the answer is handed over.
func (t *tree) laterThen(r machine.Request, work func(context.Context) (any, error), then func(machine.Answer) machine.Answer) {
	t.working.Go(func() {
		v, err := caught(func() (any, error) { return work(t.effects) })
		if fell, ok := errors.AsType[*commands.Fallen](err); ok {
			v = value.Undefined
			t.rt.Log.ErrorContext(t.effects, "an instruction fell over", "workspace", t.workspaceID(), "instruction", r.Name, "err", fell)
		}
		select {
		case t.answers <- answer{id: r.ID, Answer: machine.Answer{Value: v, Err: err}, wait: r.Kind == machine.Wait, then: then}:
		case <-t.effects.Done():
		}
	})
}

// call starts another automation in the tree.
func (t *tree) call(r machine.Request) {
	p, err := t.program(r.Execution).Place.Call(r.Slug)
	if err == nil {
		err = t.admit(p, r.Params)
	}
	if err != nil {
		t.now(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	e := &execution{trigger: activity.Trigger{Type: activity.ByAutomation, Value: r.Execution.Program.Slug}, startedAt: t.rt.Now()}
	enter := func(a machine.Answer) machine.Answer {
		if a.Err == nil {
			a.ExecutionID = t.rt.NewID()
			a.Program = t.enter(a.ExecutionID, p, e)
		}
		return a
	}
	t.laterThen(r, func(ctx context.Context) (any, error) {
		return value.Undefined, t.throttle(ctx, e, throttle.Executions, 1)
	}, enter)
}

// spawn starts another automation in a tree of its own, and goes on once that it began is
// on disk. This one waits for the turn of the other, and while too many that it started
// run.
func (t *tree) spawn(r machine.Request) {
	p, err := t.program(r.Execution).Place.Call(r.Slug)
	if err != nil {
		t.now(r, machine.Answer{Value: value.Undefined, Err: err})
		return
	}
	s := t.start
	s.Program, s.Input, s.Depth, s.HTTP, s.Facts, s.Attempt = p, r.Params, r.Execution.Depth+1, nil, nil, 1
	s.Trigger = activity.Trigger{Type: activity.ByAutomation, Value: r.Execution.Program.Slug}
	s.Announce, s.paid, s.Hidden = true, true, t.learned.secrets()
	t.laterThen(r, func(ctx context.Context) (any, error) {
		var err error
		if s.throttled, err = t.rt.Throttles.Wait(ctx, t.workspaceID(), throttle.Executions, 1); err != nil {
			return value.Undefined, err
		}
		select {
		case t.children <- struct{}{}:
			s.released = sync.OnceFunc(func() { <-t.children })
			return value.Undefined, t.begun(ctx, s)
		case <-ctx.Done():
			return value.Undefined, context.Cause(ctx)
		}
	}, t.unlessInDoubt)
}

// begun launches a tree and waits until that it began is on disk, or it is over already.
func (t *tree) begun(ctx context.Context, s Start) error {
	run := t.rt.Launch(s)
	select {
	case <-run.Began():
		return nil
	case <-run.Done():
		s.released()
		_, err := run.Outcome()
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// chunk sends something to who called the endpoint. Everything that the tree did so
// far is on disk before.
func (t *tree) chunk(r machine.Request) {
	if t.start.HTTP == nil {
		t.now(r, machine.Answer{Value: value.Undefined, Err: errForeignHTTP})
		return
	}
	content := []byte(value.JSON(r.Value, ""))
	t.start.HTTP.begin()
	t.later(r, func(ctx context.Context) (any, error) {
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
