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
	"svc/domain/automation/value"
	"svc/eventstore"
	"svc/projections"
	"svc/streams"
)

// firing is a schedule whose time has come.
type firing struct {
	workspaceID string
	automation  string
	cron        string
	at          time.Time
	late        bool

	id            string
	correlationID string
	trace         string
	after         uint64 // its event is behind this sequence of the activity log
	stored        bool   // its event is on the log
}

// lateAfter is how much later than its time something fires that is late although
// somebody looked: the clock was put forward, or the machine slept.
const lateAfter = time.Minute

// handover is how long what another node recorded is left to that: it may not know yet that
// it has lost the share, or this one may not. Whoever has lost it has broken off then what
// nobody knows to have begun.
const handover = 2*streams.Farewell + time.Second

// begin fires a schedule for a time, unless that fired before and is not over. The caller
// holds the lock.
func (s *share) begin(ctx context.Context, e *entry, at, now time.Time) {
	f := &firing{
		workspaceID: e.workspaceID, automation: e.automation, cron: e.times.String(), at: at,
		late: !at.After(s.began) || now.Sub(at) > lateAfter, trace: newTrace(), after: s.Models.Position().Activity,
	}
	f.id = idOf(at, f.workspaceID, f.automation, f.cron)
	f.correlationID = idOf(at, f.workspaceID, f.automation, f.cron, "run")
	if s.open[f.id] != nil {
		return
	}
	s.open[f.id] = f
	s.under.Go(func() { s.settle(f, s.fire(ctx, f)) })
}

// settle forgets a firing that is over. Another one is begun again by whoever has the
// share next.
func (s *share) settle(f *firing, over bool) {
	if !over {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, f.id)
}

// fire records a firing and runs its automation. It reports whether that is over, or
// there was nothing to fire. What another one recorded may have been left to this one.
func (s *share) fire(ctx context.Context, f *firing) (over bool) {
	start, due, err := s.put(ctx, f)
	for err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "a schedule could not be fired", "workspace", f.workspaceID, "automation", f.automation, "err", err)
		rest(ctx)
		_ = s.Fresh(ctx) // it may be on the log all the same; whether it is is asked again
		start, due, err = s.put(ctx, f)
	}
	switch {
	case err != nil:
		return false
	case !due:
		return true
	case start == nil && commands.Sleep(ctx, handover) != nil:
		return false
	}
	return s.follow(ctx, f, start)
}

// put puts the event of a firing on the log, and returns the tree that it starts: nil when
// another one had put it there. It is not due when the automation does not have the
// schedule any more.
func (s *share) put(ctx context.Context, f *firing) (start *runtime.Start, due bool, err error) {
	select {
	case s.appending <- struct{}{}:
		defer func() { <-s.appending }()
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	programSet, program, err := s.find(ctx, f.workspaceID, f.automation)
	if err != nil || program == nil || !has(program.When.Schedules, f.cron) {
		return nil, false, err
	}
	first := s.startOf(f, programSet, program)
	seq, known, err := s.known(f.workspaceID, f.id)
	if err == nil && !known {
		seq, err = s.append(ctx, f.workspaceID, s.metaOf(f, program), f.id, activity.ScheduleFired{
			Interaction: s.interaction(f, first.Trigger), ScheduledAt: stamp(f.at), Late: f.late,
		})
	}
	if err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	f.stored, f.after = true, min(f.after, seq-1)
	s.mu.Unlock()
	// The log drops a second event with the same id: whose it kept tells the trace.
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

// append puts one event on the log, and returns where it is.
func (s *share) append(ctx context.Context, workspaceID string, meta domain.Meta, id string, ev domain.Event) (seq uint64, err error) {
	receipt, err := s.Store.Append(ctx, eventstore.Commit{
		Stream: domain.StreamID{Scope: workspaceID}, Meta: meta, Facts: []eventstore.Fact{{ID: id, Event: ev}},
	})
	if err != nil {
		return 0, err
	}
	return receipt.Seqs[0], nil
}

// known reports whether an event is on the log, as far as this node knows. For what
// comes from elsewhere at the same time the log itself looks.
func (s *share) known(workspaceID, id string) (seq uint64, known bool, err error) {
	err = s.Models.View(func(r projections.Reader) error {
		seq, known, err = projections.FeedOf(domain.Activity).ByID(r, workspaceID, id)
		return err
	})
	return seq, known, err
}

// finding is what a program set has scheduled, by name.
type finding struct {
	programSet *programs.ProgramSet
	programs   map[string]*programs.Program
}

// find returns the automation of a name that has schedules, nil when there is none any
// more.
func (s *share) find(ctx context.Context, workspaceID, name string) (*programs.ProgramSet, *programs.Program, error) {
	programSet, err := s.Programs.ProgramSet(ctx, workspaceID)
	if err != nil || programSet == nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.plans[workspaceID]
	if p == nil {
		return programSet, nil, nil
	}
	if p.found.programSet != programSet {
		p.found = finding{programSet, map[string]*programs.Program{}}
		for _, program := range programSet.Scheduled() {
			p.found.programs[program.Name] = program
		}
	}
	return programSet, p.found.programs[name], nil
}

func has(list []*cron.Schedule, text string) bool {
	for _, c := range list {
		if c.String() == text {
			return true
		}
	}
	return false
}

// startOf is the tree that a firing starts. The workspace itself acts.
func (s *share) startOf(f *firing, programSet *programs.ProgramSet, p *programs.Program) runtime.Start {
	start := runtime.Start{
		ProgramSet: programSet, Program: p, Input: &value.Object{}, CorrelationID: f.correlationID, Depth: 1, Attempt: 1, TriggeredAt: f.at,
		Trigger: activity.Trigger{Type: activity.BySchedule, Value: f.cron, ID: f.id, AppInstanceSlug: p.Scope.Instance},
		Caller:  runtime.Caller{Actor: domain.Actor{SessionID: f.correlationID, WorkspaceID: f.workspaceID}},
		Meta:    domain.Meta{TraceID: f.trace},
	}
	start.Facts = []domain.Event{s.interaction(f, start.Trigger)}
	return start
}

func (s *share) interaction(f *firing, trigger activity.Trigger) activity.Interaction {
	return activity.Interaction{WorkspaceID: f.workspaceID, Automation: f.automation, Trigger: trigger, StartedAt: stamp(s.Now())}
}

// metaOf is the source of the event of a firing.
func (s *share) metaOf(f *firing, p *programs.Program) domain.Meta {
	return domain.Meta{
		SessionID: f.correlationID, CorrelationID: f.correlationID, TraceID: f.trace, AutomationSlug: f.automation,
		AppSlug: p.Scope.App, AppInstance: p.Scope.Instance, AppDepth: p.Scope.Depth(), Host: s.Host,
	}
}

func stamp(t time.Time) string { return t.UTC().Format(domain.Timestamp) }

// follow sees the tree of a firing to its end, and begins it again when it breaks off
// because of the platform. Start is how it begins; nil: what became of it is to be found
// out first. It reports whether it is over, or stands where any node goes on with it.
func (s *share) follow(ctx context.Context, f *firing, start *runtime.Start) (over bool) {
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return false // whoever has the share next begins it
	}
	t := &streams.Tree{
		WorkspaceID: f.workspaceID, CorrelationID: f.correlationID, EventID: f.id, Automation: f.automation,
		Make:   func(ctx context.Context) (runtime.Start, bool, error) { return s.make(ctx, f) },
		Linger: func(ctx context.Context, try int, why error) error { return s.linger(ctx, f, try, why) },
	}
	if start != nil {
		t.Run, t.Attempt = s.Runtime.Launch(*start), start.Attempt
	}
	return s.trees.See(ctx, t)
}

// make returns the tree that a firing starts now; ok is false when its automation is not
// there any more.
func (s *share) make(ctx context.Context, f *firing) (start runtime.Start, ok bool, err error) {
	programSet, program, err := s.find(ctx, f.workspaceID, f.automation)
	if err != nil || program == nil {
		return start, false, err
	}
	return s.startOf(f, programSet, program), true, nil
}

// linger waits before a tree is begun again, the longer the more often that was. It fails
// when ctx ends.
func (s *share) linger(ctx context.Context, f *firing, try int, why error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.Log.WarnContext(ctx, "what a schedule started broke off, and is begun again", "workspace", f.workspaceID, "automation", f.automation, "try", try+1, "err", why)
	return commands.Sleep(ctx, streams.Pause(try))
}

// idOf derives an id from what it is of: the same for everybody who derives it. Its
// time is at.
func idOf(at time.Time, of ...string) string {
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
