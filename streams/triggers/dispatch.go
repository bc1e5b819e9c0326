package triggers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"svc/commands"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/automation/value"
	"svc/domain/feed"
	"svc/streams"
)

// begun is a tree that an event started.
type begun struct {
	event *feed.Event
	start runtime.Start
	run   *runtime.Handle // nil: it was begun before, and what became of it is not known yet
}

// dispatch starts what listens to an event. What cannot be found out is tried again until
// it can: no event is passed over. It fails only when ctx ends.
func (s *share) dispatch(ctx context.Context, e *feed.Event) ([]*begun, error) {
	for try := 0; ; try++ {
		list, err := s.begin(ctx, e)
		if bad, ok := errors.AsType[*unreadable](err); ok {
			err = s.Runtime.RecordNotStarted(ctx, e, automation.Raise(automation.InvalidEvent, "the event started nothing: "+bad.why.Error()))
		}
		if err == nil {
			return list, nil
		}
		if err := s.linger(ctx, try, e, err); err != nil {
			return nil, err
		}
	}
}

// manyTries is after how many of them the workspace is told that it has to wait.
const manyTries = 5

// linger waits before what an event starts is tried again, the longer the more often that
// was. It fails when ctx ends.
func (s *share) linger(ctx context.Context, try int, e *feed.Event, why error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.Log.WarnContext(ctx, "what an event starts could not be started, and is tried again", "workspace", e.Source.WorkspaceID, "event", e.ID, "type", e.Type, "try", try+1, "err", why)
	if try == manyTries {
		told := automation.Raise(automation.InternalFault, "what listens to the event could not be started yet; it is tried again")
		if err := s.Runtime.RecordNotStarted(ctx, e, told); err != nil {
			s.Log.WarnContext(ctx, "a workspace could not be told that its automations do not start", "workspace", e.Source.WorkspaceID, "err", err)
		}
	}
	return commands.Sleep(ctx, streams.Pause(try))
}

// begin starts what listens to an event.
func (s *share) begin(ctx context.Context, e *feed.Event) ([]*begun, error) {
	if programs.IsAboutApp(e.Type) { // many workspaces hear of one event
		select {
		case s.hearings <- struct{}{}:
			defer func() { <-s.hearings }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	programSet, err := s.programSet(ctx, e)
	if err != nil || programSet == nil {
		return nil, err
	}
	told, err := s.hearing(programSet, e)
	if err != nil || len(told) == 0 {
		return nil, err
	}
	suppressed, err := s.History.Suppressed(e)
	if err != nil || suppressed {
		return nil, err
	}
	caller, err := s.Caller(ctx, e)
	if err != nil {
		return nil, err
	}
	var list []*begun
	for _, h := range told {
		due, err := s.wanted(ctx, programSet, h, caller)
		if err != nil {
			return nil, err // before anything is started: all of it is tried again
		}
		list = append(list, due...)
	}
	for _, b := range list {
		if b.start.Attempt == 1 {
			b.run = s.Runtime.Launch(b.start)
		}
	}
	return list, nil
}

// wanted returns the trees that are to be started for those who hear of an event.
func (s *share) wanted(ctx context.Context, programSet *programs.ProgramSet, h heard, caller runtime.Caller) (list []*begun, err error) {
	in, err := inputOf(h.event)
	if err != nil {
		return nil, err
	}
	for _, p := range h.by {
		b := &begun{event: h.event, start: s.startOf(programSet, p, h.event, caller)}
		b.start.Input, _ = automation.LocalEvent(p.Scope.Instance, in).(*value.Object)
		due, err := s.due(ctx, b)
		if err != nil {
			return nil, err
		}
		if due {
			list = append(list, b)
		}
	}
	return list, nil
}

// aboutInstances is what the types of native events begin with that are about an app
// instance.
const aboutInstances = "workspaces.apps."

// instanceOf is the app instance that a native event is about.
func instanceOf(e *feed.Event) string {
	if !strings.HasPrefix(e.Type, aboutInstances) {
		return ""
	}
	for _, v := range e.Values("payload.slug") {
		if slug, ok := v.(string); ok {
			return slug
		}
	}
	return ""
}

// emittedByRun reports whether an automation emitted the event.
func emittedByRun(e *feed.Event) bool {
	return e.Source.ServiceTopic == feed.Emitted && e.Source.AutomationSlug != ""
}

// startOf is the tree that an event starts for a listener. What nobody asked for begins a
// run of its own.
func (s *share) startOf(programSet *programs.ProgramSet, p *programs.Program, e *feed.Event, caller runtime.Caller) runtime.Start {
	start := runtime.Start{
		ProgramSet: programSet, Program: p, Caller: caller, CorrelationID: cmp.Or(e.Source.CorrelationID, e.ID), Depth: e.Source.AutomationDepth + 1, Attempt: 1, TriggeredAt: e.At,
		Trigger: activity.Trigger{Type: activity.ByEvent, Value: e.Type, ID: e.ID, AppInstanceSlug: p.Scope.Instance},
		Meta:    domain.Meta{TraceID: e.Source.TraceID, IP: e.Source.IP, SocketID: e.Source.SocketID, Hides: e.Hides},
	}
	if !emittedByRun(e) {
		start.Facts = []domain.Event{activity.Interaction{
			WorkspaceID: programSet.Workspace.ID, AuthenticatedWorkspaceID: caller.WorkspaceID, Automation: p.Name, Trigger: start.Trigger,
			StartedAt: s.Now().UTC().Format(domain.Timestamp),
		}}
	}
	return start
}

// due reports whether a tree is to be started: not when it is over, when its automation
// came after the event, or when an error that tells of too many calls would make another
// one.
func (s *share) due(ctx context.Context, b *begun) (bool, error) {
	if b.start.Depth > s.MaxDepth()+2 && (b.event.Type == "error" || strings.HasSuffix(b.event.Type, ".error")) {
		return false, nil
	}
	if !b.event.Options.Persisted() || !behind(b.event, s.start) {
		return true, nil
	}
	past, err := s.become(ctx, b)
	if err != nil || past.Over {
		return false, err
	}
	if past.Attempts == 0 {
		if listened, err := s.listened(ctx, b); err != nil || !listened {
			return false, err
		}
	}
	streams.Prepare(&b.start, past.Attempts, past.Attempts+1, s.MaxAttempts())
	return true, nil
}

// unreadable says that an event cannot be given to any automation.
type unreadable struct{ why error }

// Error implements error.
func (u *unreadable) Error() string { return "the event cannot be read: " + u.why.Error() }

// inputOf is what an automation is given that an event started.
func inputOf(e *feed.Event) (*value.Object, error) {
	whole, err := value.ParseJSON(string(e.JSON()))
	if err != nil {
		return nil, &unreadable{err}
	}
	in := &value.Object{}
	for _, key := range []string{"id", "type", "source", "payload", "createdAt"} {
		in.Set(key, value.At(whole, key))
	}
	return in, nil
}

// see waits until a tree has ended, or stands where it goes on after a restart. One that
// broke off because of the platform is begun again. It reports whether it is over.
func (s *share) see(ctx context.Context, b *begun) bool {
	return s.trees.See(ctx, &streams.Tree{
		WorkspaceID: b.event.Source.WorkspaceID, CorrelationID: b.start.CorrelationID, EventID: b.event.ID, Automation: b.start.Program.Name,
		Unkept: !b.event.Options.Persisted(), Run: b.run, Attempt: b.start.Attempt,
		Make:   func(context.Context) (runtime.Start, bool, error) { return b.start, true, nil },
		Linger: func(ctx context.Context, try int, why error) error { return s.linger(ctx, try, b.event, why) },
	})
}

// become asks what became of a tree.
func (s *share) become(ctx context.Context, b *begun) (streams.Past, error) {
	return s.History.Begun(ctx, b.event.Source.WorkspaceID, b.start.CorrelationID, b.event.ID, b.start.Program.Name)
}

// mostHearings is in how many workspaces it is looked at once who hears of an app: its
// instances may be everywhere.
const mostHearings = 8

// announce lets the workspaces of the share hear of an event about an app, which is
// recorded on the platform: who publishes the app, and who has instances of it. The caller
// holds the lock.
func (s *share) announce(ctx context.Context, e *feed.Event, at domain.Position) error {
	publisher, users, err := s.Audience(appOf(e))
	if err != nil {
		return err
	}
	all := append(slices.Clone(users), publisher, e.Source.WorkspaceID)
	slices.Sort(all)
	for _, id := range slices.Compact(all) {
		if id == "" || !s.mine(s.number, id) {
			continue
		}
		m := &streams.Mark{At: at}
		s.ledger.Put(m)
		s.join(ctx, s.place(id), &arrival{event: toldIn(e, id, id == publisher), mark: m})
	}
	return nil
}

// toldIn is an event about an app as a workspace is told of it. Who published the app is
// nobody's business but theirs: elsewhere nothing acts for them.
func toldIn(e *feed.Event, workspaceID string, own bool) *feed.Event {
	if workspaceID == e.Source.WorkspaceID {
		return e
	}
	told := &feed.Event{
		ID: e.ID, Type: e.Type, At: e.At, Seq: e.Seq, Log: e.Log, Payload: e.Payload, Source: e.Source, Options: e.Options, Actor: e.Actor, Hides: e.Hides,
	}
	told.Source.WorkspaceID = workspaceID
	if !own {
		m := e.Source.Meta
		told.Actor, told.Source.Meta = nil, domain.Meta{
			CorrelationID: m.CorrelationID, TraceID: m.TraceID, AutomationDepth: m.AutomationDepth, ServiceTopic: m.ServiceTopic, Host: m.Host,
		}
	}
	return told
}

// appOf is the slug of the app that an event is about.
func appOf(e *feed.Event) string {
	for _, path := range []string{"payload.app.slug", "payload.appSlug"} {
		for _, v := range e.Values(path) {
			if slug, ok := v.(string); ok {
				return slug
			}
		}
	}
	return ""
}
