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

// Parked keeps where trees stand that wait. It is a *parked.Parked.
type Parked interface {
	Put(ctx context.Context, workspaceID, treeID string, state []byte) error
	Get(ctx context.Context, workspaceID, treeID string) (state []byte, ok bool, err error)
	Drop(ctx context.Context, workspaceID, treeID string) error
}

// parkedRun is a tree that waits, as it is kept.
type parkedRun struct {
	Machine []byte           `json:"machine"`
	Ref     string           `json:"ref"` // of its first program
	Trigger activity.Trigger `json:"trigger"`

	Actor      domain.Actor       `json:"actor"`
	ActsItself bool               `json:"itself,omitempty"` // the workspace acts, whoever caused that
	Visitor    bool               `json:"visitor,omitempty"`
	UserID     string             `json:"userId,omitempty"` // as they are switched
	Session    string             `json:"sessionId,omitempty"`
	Secrets    []string           `json:"secrets,omitempty"` // all that were known
	RunSecrets []string           `json:"learned,omitempty"` // of those, the run's own
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
	Busy       bool               `json:"busy,omitempty"` // it does more than wait
	Recorded   bool               `json:"record,omitempty"`
	Record     []byte             `json:"recording,omitempty"` // so far
	Unrecorded []unrecordedCommit `json:"untold,omitempty"`
	ParkedAt   time.Time          `json:"keptAt"`
}

// parkedExecution is an execution, as it is kept.
type parkedExecution struct {
	ID        string           `json:"id"`
	Trigger   activity.Trigger `json:"trigger"`
	StartedAt time.Time        `json:"startedAt"`
	Throttled time.Duration    `json:"throttled,omitempty"`
	Logs      []string         `json:"logs,omitempty"`
}

// parkedWait is a wait, as it is kept.
type parkedWait struct {
	Request uint64 `json:"request"`
	pendingWait
}

// parkIfDue writes down where the tree stands, so that any node can go on with it: with each
// wait that begins, and again when what it did beside its waits is done.
func (t *run) parkIfDue() error {
	done := t.parked && t.movedSincePark && t.stopReason == nil && t.onlyWaits()
	if !t.parkDue && !done {
		return nil
	}
	if err := t.flushContexts(); err != nil { // what was done is not done again
		return err
	}
	t.parkDue, t.movedSincePark = false, !t.onlyWaits()
	state, err := t.machine.Save()
	if raised, ok := errors.AsType[*automation.Error](err); ok {
		t.releaseHeldEmits()
		t.refuseWaits(raised)
		return nil
	}
	if err != nil {
		return err
	}
	begun := append(t.heldEmits, t.startedWaits...) // at once, so that nothing comes between an event and the wait for its answer
	holding := len(t.heldEmits) > 0
	t.heldEmits, t.startedWaits = nil, nil
	rest, err := t.journal.unrecorded(begun...)
	if err != nil {
		return err
	}
	s := parkedRun{
		Machine: state, Ref: t.machine.Root().Program.Ref, Trigger: t.start.Trigger, Actor: t.start.Caller.Actor, ActsItself: t.start.Caller.Rights == nil, Visitor: t.start.Caller.Visitor,
		UserID: t.world.userID, Session: t.world.sessionID, Secrets: t.redact.Secrets(), RunSecrets: t.runSecrets.list(), Active: t.activeTime,
		Emitted: t.lastEmitted.Token(), Attempt: t.start.Attempt, Depth: t.start.Depth, Source: t.start.SourceWorkspaceID, Address: t.start.Caller.Address, Run: t.start.CorrelationID,
		Meta: t.start.Meta, Recorded: t.start.Record, Record: t.recorder.Save(), Busy: t.movedSincePark, Unrecorded: rest, ParkedAt: t.rt.Now(),
	}
	for id, e := range t.executions {
		s.Executions = append(s.Executions, parkedExecution{id, e.trigger, e.startedAt, time.Duration(e.throttled.Load()), e.log.Lines()})
	}
	for request, p := range t.waits {
		s.Waits = append(s.Waits, parkedWait{request, *p})
	}
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := t.rt.Parked.Put(t.ctx, t.workspaceID(), t.id, body); err != nil { // a wait that is told of stands
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
		t.lastEmitted = t.lastEmitted.Max(receipt.Position)
	}
	for _, p := range t.waits {
		p.unrecorded = false
		p.setAfter(receipt.Position)
	}
	t.parked = true
	t.markParked()
	return nil
}

// ParkedWaits tells of a state that is kept in which waits its tree stood, and whether it did
// nothing else. Of one that nobody can read it is not known.
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

// ErrNotParked says that a tree does not stand anywhere any more.
var ErrNotParked = errors.New("runtime: the tree does not stand in a wait")

// Resume goes on with a tree that stands in a wait, or once stood there and was interrupted:
// that makes attempt one more. It has begun once it is on the log that it goes on here, and
// does nothing before. Identify returns whom it acts for.
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
	}, "workspace", workspaceID, "executionId", treeID)
}

// resumed puts a tree together as it stood, and runs it.
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
	defer t.stopEffects()
	t.handle = run
	requests, err := t.restore(ctx, s)
	if err != nil {
		return Outcome{}, err
	}
	if err := t.restoreRecorder(s.Record); err != nil {
		return Outcome{}, err
	}
	defer r.runs.add(t)()
	if err := t.checkCancelled(t.executions[t.id].startedAt); err != nil {
		return Outcome{}, err
	}
	if err := t.recordUnrecorded(s); err != nil {
		return Outcome{}, err
	}
	t.parked, t.movedSincePark = true, s.Busy
	if err := t.recordStartNow(); err != nil { // it goes on here
		return Outcome{}, err
	}
	for _, q := range requests {
		if err := t.resumeRequest(q); err != nil {
			return Outcome{}, err
		}
	}
	t.markParked() // as it did
	return t.runToEnd()
}

// restore brings a tree to where it stood.
func (t *run) restore(ctx context.Context, s parkedRun) ([]machine.Request, error) {
	t.redact.Add(s.Secrets...)
	t.addKnownSecrets(s.RunSecrets...)
	t.world.userID, t.world.sessionID, t.activeTime = s.UserID, s.Session, s.Active
	if err := t.lastEmitted.UnmarshalText([]byte(s.Emitted)); err != nil {
		return nil, err
	}
	for _, e := range s.Executions {
		t.executions[e.ID] = &execution{trigger: e.Trigger, startedAt: e.StartedAt}
		t.executions[e.ID].throttled.Store(int64(e.Throttled))
		t.executions[e.ID].log.Add(e.Logs...)
	}
	for _, w := range s.Waits {
		w.resumed = true
		t.waits[w.Request] = &w.pendingWait
	}
	var requests []machine.Request
	var err error
	t.machine, requests, err = machine.Restore(s.Machine, t.machineOptions(), func(ref string) (*machine.Program, error) {
		p, err := t.start.ProgramSet.FindByRef(ctx, ref)
		if err != nil {
			return nil, err
		}
		t.programs[p.Machine()] = p
		return p.Machine(), nil
	})
	if err != nil {
		return nil, err
	}
	t.id = t.machine.Root().ID
	if t.executions[t.id] == nil {
		return nil, errors.New("runtime: a state of a tree without its first execution")
	}
	return requests, nil
}

// resumeRequest asks for what a tree waited for when it was written down: a wait goes on,
// anything else begins again.
func (t *run) resumeRequest(r machine.Request) error {
	p := t.waits[r.ID]
	if r.Kind != machine.Wait || p == nil {
		return t.perform(r)
	}
	options, err := t.awaitedEvents(r)
	if err != nil {
		return err
	}
	t.openRequests++
	t.awaitEvent(r, p, options)
	return nil
}
