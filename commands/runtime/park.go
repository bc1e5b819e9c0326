package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/machine"
)

// Parked stores the states of runs that wait. It is a *parked.Parked.
type Parked interface {
	Put(ctx context.Context, workspaceID, treeID string, state []byte) error
	Get(ctx context.Context, workspaceID, treeID string) (state []byte, ok bool, err error)
	Drop(ctx context.Context, workspaceID, treeID string) error
}

// parkedRun is the stored state of a run that waits.
type parkedRun struct {
	Machine []byte           `json:"machine"`
	Ref     string           `json:"ref"` // of its first program
	Trigger activity.Trigger `json:"trigger"`

	Actor      domain.Actor       `json:"actor"`
	ActsItself bool               `json:"itself,omitempty"` // the workspace acts, whoever caused it
	Visitor    bool               `json:"visitor,omitempty"`
	UserID     string             `json:"userId,omitempty"` // as they are switched
	Session    string             `json:"sessionId,omitempty"`
	Secrets    []string           `json:"secrets,omitempty"` // all known ones
	RunSecrets []string           `json:"learned,omitempty"` // of those, the run's
	Active     time.Duration      `json:"active"`
	Emitted    string             `json:"emitted"`
	Attempt    int                `json:"attempt"`
	Depth      int                `json:"depth"`
	Source     string             `json:"source,omitempty"`
	Address    string             `json:"address,omitempty"`
	Run        string             `json:"correlationId"`
	Meta       domain.Meta        `json:"meta"`
	Executions []parkedExecution  `json:"executions"`
	Waits      []parkedWait       `json:"waits"`
	Busy       bool               `json:"busy,omitempty"` // it did more than wait
	Recorded   bool               `json:"record,omitempty"`
	Record     []byte             `json:"recording,omitempty"` // so far
	Unrecorded []unrecordedCommit `json:"untold,omitempty"`
	ParkedAt   time.Time          `json:"keptAt"`
}

// parkedExecution is the stored state of an execution.
type parkedExecution struct {
	ID        string           `json:"id"`
	Trigger   activity.Trigger `json:"trigger"`
	StartedAt time.Time        `json:"startedAt"`
	Throttled time.Duration    `json:"throttled,omitempty"`
	Logs      []string         `json:"logs,omitempty"`
}

// parkedWait is a stored wait.
type parkedWait struct {
	Request uint64 `json:"request"`
	pendingWait
}

// markParked notifies the launcher that any node can resume the run.
func (t *run) markParked() {
	if t.handle != nil {
		t.handle.once.Do(func() { close(t.handle.parked) })
	}
	t.start.release()
}

// parkIfDue stores the state of the run, so that any node can resume it: with each wait that
// begins, and again when what it did beside its waits is done.
func (t *run) parkIfDue() error {
	done := t.parked && t.movedSincePark && t.lifetime.stopReason == nil && t.effects.onlyWaits()
	if !t.effects.parkDue && !done {
		return nil
	}
	if err := t.flushContexts(); err != nil { // so that a resumed run does not write it again
		return err
	}
	t.effects.parkDue, t.movedSincePark = false, !t.effects.onlyWaits()
	state, err := t.machine.Save()
	if raised, ok := errors.AsType[*automation.Error](err); ok {
		t.effects.releaseHeldEmits()
		t.effects.refuseWaits(raised)
		return nil
	}
	if err != nil {
		return err
	}
	begun := append(t.effects.heldEmits, t.effects.startedWaits...) // in one append, so that nothing comes between an event and the wait for its answer
	holding := len(t.effects.heldEmits) > 0
	t.effects.heldEmits, t.effects.startedWaits = nil, nil
	rest, err := t.journal.unrecorded(begun...)
	if err != nil {
		return err
	}
	s := parkedRun{
		Machine: state, Ref: t.machine.Root().Program.Ref, Trigger: t.start.Trigger, Actor: t.start.Caller.Actor, ActsItself: t.start.Caller.Rights == nil, Visitor: t.start.Caller.Visitor,
		UserID: t.world.userID, Session: t.world.sessionID, Secrets: t.secrets.set.Secrets(), RunSecrets: t.secrets.list(), Active: t.lifetime.activeTime,
		Emitted: t.effects.lastEmitted.Token(), Attempt: t.start.Attempt, Depth: t.start.Depth, Source: t.start.SourceWorkspaceID, Address: t.start.Caller.Address, Run: t.start.CorrelationID,
		Meta: t.start.Meta, Recorded: t.start.Record, Record: t.recording.Save(), Busy: t.movedSincePark, Unrecorded: rest, ParkedAt: t.rt.Now(),
	}
	for id, e := range t.executions.open {
		s.Executions = append(s.Executions, parkedExecution{id, e.trigger, e.startedAt, time.Duration(e.throttled.Load()), e.log.Lines()})
	}
	for request, p := range t.effects.waits {
		s.Waits = append(s.Waits, parkedWait{request, *p})
	}
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := t.rt.Parked.Put(t.ctx, t.workspaceID(), t.id, body); err != nil { // before the wait is recorded
		return err
	}
	for _, c := range begun {
		t.journal.add(c.Meta, c.Facts...)
	}
	receipt, err := t.journal.append(t.ctx)
	if err != nil {
		return err
	}
	if holding {
		t.effects.lastEmitted = t.effects.lastEmitted.Max(receipt.Position)
	}
	for _, p := range t.effects.waits {
		p.unrecorded = false
		p.setAfter(receipt.Position)
	}
	t.parked = true
	t.markParked()
	return nil
}

// ParkedWaits returns the waits of a stored state, and whether the run only waited. It returns
// nothing for a state that cannot be read.
func ParkedWaits(state []byte) (waits []string, only bool) {
	var s struct {
		Busy  bool `json:"busy"`
		Waits []struct {
			ID string `json:"id"`
		} `json:"waits"`
	}
	if json.Unmarshal(state, &s) != nil {
		return nil, false
	}
	for _, w := range s.Waits {
		waits = append(waits, w.ID)
	}
	return waits, !s.Busy && len(waits) > 0
}

// ErrNotParked says that a run has no stored state any more.
var ErrNotParked = errors.New("runtime: the run is not parked")

// Resume continues a parked run, or one that was parked once and was interrupted: then attempt
// is one more. It has started once the log says that it continues here, and does nothing
// before. Identify returns whom it acts for.
func (r *Runtime) Resume(workspaceID, treeID string, attempt int, programSet *programs.ProgramSet, identify func(context.Context, domain.Actor) (Caller, error)) *Handle {
	return r.launch(func(ctx context.Context, run *Handle) (Outcome, error) {
		body, ok, err := r.Parked.Get(ctx, workspaceID, treeID)
		if err != nil {
			return Outcome{}, err
		}
		if !ok {
			return Outcome{}, ErrNotParked
		}
		var s parkedRun
		if err := json.Unmarshal(body, &s); err != nil {
			return Outcome{}, err
		}
		var caller Caller
		if !s.ActsItself {
			if caller, err = identify(ctx, s.Actor); err != nil {
				return Outcome{}, err
			}
		}
		s.Attempt = attempt
		return r.resumeRun(ctx, run, programSet, s, caller)
	}, func() []any { return []any{"workspace", workspaceID, "executionId", treeID} })
}

// resumeRun restores a run and runs it.
func (r *Runtime) resumeRun(ctx context.Context, run *Handle, programSet *programs.ProgramSet, s parkedRun, caller Caller) (Outcome, error) {
	root, err := programSet.FindByRef(ctx, s.Ref)
	if err != nil {
		return Outcome{}, err
	}
	caller.Actor, caller.Visitor, caller.Address = s.Actor, s.Visitor, s.Address
	t, err := r.newRun(ctx, Start{
		ProgramSet: programSet, Program: root, Trigger: s.Trigger, Caller: caller, CorrelationID: s.Run, Depth: s.Depth, Attempt: s.Attempt,
		Meta: s.Meta, SourceWorkspaceID: s.Source, HTTP: &HTTP{Send: func(context.Context, []byte) {}}, Record: s.Recorded,
	})
	if err != nil {
		return Outcome{}, err
	}
	defer t.effects.stopEffects()
	t.handle = run
	requests, err := t.restore(ctx, s)
	if err != nil {
		return Outcome{}, err
	}
	if err := t.recording.restore(s.Record); err != nil {
		return Outcome{}, err
	}
	defer r.runs.add(t)()
	if err := t.lifetime.checkCancelled(t.executions.open[t.id].startedAt); err != nil {
		return Outcome{}, err
	}
	if err := t.recordUnrecorded(s); err != nil {
		return Outcome{}, err
	}
	t.parked, t.movedSincePark = true, s.Busy
	if err := t.recordStartNow(); err != nil { // it continues here
		return Outcome{}, err
	}
	for _, q := range requests {
		if err := t.resumeRequest(q); err != nil {
			return Outcome{}, err
		}
	}
	t.markParked()
	return t.runToEnd()
}

// restore sets the state of a run.
func (t *run) restore(ctx context.Context, s parkedRun) ([]machine.Request, error) {
	t.secrets.set.Add(s.Secrets...)
	t.secrets.addKnown(s.RunSecrets...)
	t.world.userID, t.world.sessionID, t.lifetime.activeTime = s.UserID, s.Session, s.Active
	if err := t.effects.lastEmitted.UnmarshalText([]byte(s.Emitted)); err != nil {
		return nil, err
	}
	for _, e := range s.Executions {
		t.executions.open[e.ID] = &execution{trigger: e.Trigger, startedAt: e.StartedAt}
		t.executions.open[e.ID].throttled.Store(int64(e.Throttled))
		t.executions.open[e.ID].log.Add(e.Logs...)
	}
	for _, w := range s.Waits {
		w.resumed = true
		t.effects.waits[w.Request] = &w.pendingWait
	}
	var requests []machine.Request
	var err error
	t.machine, requests, err = machine.Restore(s.Machine, t.machineOptions(), func(ref string) (*machine.Program, error) {
		p, err := t.start.ProgramSet.FindByRef(ctx, ref)
		if err != nil {
			return nil, err
		}
		t.executions.programs[p.Machine()] = p
		return p.Machine(), nil
	})
	if err != nil {
		return nil, err
	}
	t.id = t.machine.Root().ID
	if t.executions.open[t.id] == nil {
		return nil, errors.New("runtime: the state of a run lacks its first execution")
	}
	return requests, nil
}

// resumeRequest continues a request of a restored run: a wait continues, anything else begins
// again.
func (t *run) resumeRequest(r machine.Request) error {
	p := t.effects.waits[r.ID]
	if r.Kind != machine.Wait || p == nil {
		return t.perform(r)
	}
	options, err := t.effects.awaitedEvents(r)
	if err != nil {
		return err
	}
	t.effects.openRequests++
	t.effects.awaitEvent(r, p, options)
	return nil
}
