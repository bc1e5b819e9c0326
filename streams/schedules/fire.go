package schedules

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/commands"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation/cron"
	"svc/domain/value"
	"svc/eventstore"
	"svc/projections"
	"svc/streams"
)

// firing is a schedule whose time is due.
type firing struct {
	workspaceID string
	automation  string
	cron        string
	at          time.Time
	late        bool

	id            string
	correlationID string
	trace         string
	after         uint64 // its event is after this sequence of the activity log
	stored        bool   // its event is on the log
}

// lateThreshold is the delay from which on a firing counts as late although a node was running: the clock was put
// forward, or the machine slept.
const lateThreshold = time.Minute

// takeoverWait is how long a firing that another node recorded is left to that node: one of the two may not know yet
// that it has lost the partition. After that time the loser has interrupted trees that are not on the log.
const takeoverWait = 2*streams.ShutdownGrace + time.Second

// startFiring fires a schedule for a time, unless that firing is still open. The caller holds the lock.
func (s *partition) startFiring(ctx context.Context, e *entry, at, now time.Time) {
	f := &firing{
		workspaceID: e.workspaceID, automation: e.automation, cron: e.times.String(), at: at,
		late: !at.After(s.acquiredAt) || now.Sub(at) > lateThreshold, trace: newTrace(), after: s.Models.Position().Activity,
	}
	f.id = deriveID(at, f.workspaceID, f.automation, f.cron)
	f.correlationID = deriveID(at, f.workspaceID, f.automation, f.cron, "run")
	if s.openFirings[f.id] != nil {
		return
	}
	s.openFirings[f.id] = f
	s.workers.Go(func() { s.finishFiring(f, s.fire(ctx, f)) })
}

// finishFiring removes a firing that is done. Any other is started again by the next holder of the partition.
func (s *partition) finishFiring(f *firing, over bool) {
	if !over {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.openFirings, f.id)
}

// fire records a firing and runs its automation. It reports whether that is done, or there was nothing to fire. A
// firing that another node recorded may have to be continued here.
func (s *partition) fire(ctx context.Context, f *firing) (over bool) {
	start, due, err := s.recordFiring(ctx, f)
	for err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "a schedule could not be fired", "workspace", f.workspaceID, "automation", f.automation, "err", err)
		streams.PauseAfterFault(ctx)
		_ = s.Fresh(ctx) // it may be on the log nevertheless, which recordFiring checks
		start, due, err = s.recordFiring(ctx, f)
	}
	switch {
	case err != nil:
		return false
	case !due:
		return true
	case start == nil && commands.Sleep(ctx, takeoverWait) != nil:
		return false
	}
	return s.awaitTree(ctx, f, start)
}

// recordFiring appends the event of a firing, and returns the tree that it starts: nil when another node had appended
// it. It is not due when the automation does not have the schedule any more.
func (s *partition) recordFiring(ctx context.Context, f *firing) (start *runtime.Start, due bool, err error) {
	select {
	case s.appending <- struct{}{}:
		defer func() { <-s.appending }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	programSet, program, err := s.findProgram(ctx, f.workspaceID, f.automation)
	if err != nil || program == nil || !hasSchedule(program.When.Schedules, f.cron) {
		return nil, false, err
	}
	first := s.newStart(f, programSet, program)
	seq, known, err := s.findEvent(f.workspaceID, f.id)
	if err == nil && !known {
		seq, err = s.appendEvent(ctx, f.workspaceID, s.firingMeta(f, program), f.id, activity.ScheduleFired{
			Interaction: s.interaction(f, first.Trigger), ScheduledAt: domain.FormatTime(f.at), Late: f.late,
		})
	}
	if err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	f.stored, f.after = true, min(f.after, seq-1)
	s.mu.Unlock()
	// The log drops a second event with the same id: the trace id says whose it kept.
	stored, ok, err := s.Store.Read(ctx, domain.Activity, seq)
	if err != nil || !ok {
		return nil, false, err
	}
	if stored.Meta.TraceID != f.trace {
		f.trace = stored.Meta.TraceID
		return nil, true, nil
	}
	return &first, true, nil
}

// appendEvent appends one event, and returns its sequence.
func (s *partition) appendEvent(ctx context.Context, workspaceID string, meta domain.Meta, id string, ev domain.Event) (seq uint64, err error) {
	receipt, err := s.Store.Append(ctx, eventstore.Commit{
		Stream: domain.StreamID{Scope: workspaceID}, Meta: meta, Facts: []eventstore.Fact{{ID: id, Event: ev}},
	})
	if err != nil {
		return 0, err
	}
	return receipt.Seqs[0], nil
}

// findEvent reports whether an event is on the log, as far as this node knows. The log itself drops duplicates that
// are appended at the same time.
func (s *partition) findEvent(workspaceID, id string) (seq uint64, known bool, err error) {
	r := s.Models.Reader()
	defer r.Close()
	seq, _, known, err = projections.FeedOf(domain.Activity).ByID(r, workspaceID, id)
	return seq, known, err
}

// findProgram returns the scheduled automation with a name, nil when there is none any more.
func (s *partition) findProgram(ctx context.Context, workspaceID, name string) (*programs.ProgramSet, *programs.Program, error) {
	programSet, err := s.Programs.ProgramSet(ctx, workspaceID)
	if err != nil || programSet == nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workspaces[workspaceID] == nil {
		return programSet, nil, nil
	}
	return programSet, programSet.ScheduledProgram(name), nil
}

func hasSchedule(list []*cron.Schedule, text string) bool {
	for _, c := range list {
		if c.String() == text {
			return true
		}
	}
	return false
}

// newStart returns the tree that a firing starts. The workspace itself is the caller.
func (s *partition) newStart(f *firing, programSet *programs.ProgramSet, p *programs.Program) runtime.Start {
	start := runtime.Start{
		ProgramSet: programSet, Program: p, Input: &value.Object{}, CorrelationID: f.correlationID, Depth: 1, Attempt: 1, TriggeredAt: f.at,
		Trigger: activity.Trigger{Type: activity.BySchedule, Value: f.cron, ID: f.id, AppInstanceSlug: p.Scope.Instance},
		Caller:  runtime.Caller{Actor: domain.Actor{SessionID: f.correlationID, WorkspaceID: f.workspaceID}},
		Meta:    domain.Meta{TraceID: f.trace},
	}
	start.Facts = []domain.Event{s.interaction(f, start.Trigger)}
	return start
}

func (s *partition) interaction(f *firing, trigger activity.Trigger) activity.Interaction {
	return activity.Interaction{WorkspaceID: f.workspaceID, Automation: f.automation, Trigger: trigger, StartedAt: domain.FormatTime(s.Now())}
}

// firingMeta returns the metadata of the event of a firing.
func (s *partition) firingMeta(f *firing, p *programs.Program) domain.Meta {
	return domain.Meta{
		SessionID: f.correlationID, CorrelationID: f.correlationID, TraceID: f.trace, AutomationSlug: f.automation,
		AppSlug: p.Scope.App, AppInstance: p.Scope.Instance, AppDepth: p.Scope.Depth(), Host: s.Host,
	}
}

// awaitTree waits for the tree of a firing, and starts it again when the platform interrupts it. Start is how it
// starts; nil: its status is read first. It reports whether the tree ended or is parked.
func (s *partition) awaitTree(ctx context.Context, f *firing, start *runtime.Start) (over bool) {
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return false // the next holder of the partition starts it
	}
	t := &streams.Tree{
		WorkspaceID: f.workspaceID, CorrelationID: f.correlationID, EventID: f.id, Automation: f.automation,
		NewStart: func(ctx context.Context) (runtime.Start, bool, error) { return s.restartOf(ctx, f) },
		BackOff:  func(ctx context.Context, try int, why error) error { return s.backOff(ctx, f, try, why) },
	}
	if start != nil {
		t.Run, t.Attempt = s.Runtime.Launch(*start), start.Attempt
	}
	return s.trees.AwaitEnd(ctx, t)
}

// restartOf returns the tree that a firing starts now; ok is false when its automation does not exist any more.
func (s *partition) restartOf(ctx context.Context, f *firing) (start runtime.Start, ok bool, err error) {
	programSet, program, err := s.findProgram(ctx, f.workspaceID, f.automation)
	if err != nil || program == nil {
		return start, false, err
	}
	return s.newStart(f, programSet, program), true, nil
}

// backOff waits before a tree is started again, longer each time. It fails when ctx ends.
func (s *partition) backOff(ctx context.Context, f *firing, try int, why error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.Log.WarnContext(ctx, "the tree of a schedule was interrupted; it is started again", "workspace", f.workspaceID, "automation", f.automation, "try", try+1, "err", why)
	return commands.Sleep(ctx, streams.RetryPause(try))
}

// deriveID derives an id with the time at from texts: every node derives the same.
func deriveID(at time.Time, of ...string) string {
	h := sha256.New()
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	h.Write(ms[:])
	h.Write([]byte(strings.Join(of, "\x00")))
	id := ulid.ULID(h.Sum(nil)[:16])
	_ = id.SetTime(uint64(max(0, at.UnixMilli()))) // fails only for times in ten thousand years
	return id.String()
}

// newTrace returns a trace id that nothing else has.
func newTrace() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(id[:])
}
