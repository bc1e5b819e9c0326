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
	"svc/domain/feed"
	"svc/domain/value"
	"svc/streams"
)

// startedTree is a tree that an event starts.
type startedTree struct {
	event *feed.Event
	start runtime.Start
	run   *runtime.Handle // nil: it was started before, and its status is not known yet
}

// dispatch starts the listeners of an event. It retries after errors: no event is skipped. It fails only when ctx
// ends.
func (s *partition) dispatch(ctx context.Context, e *feed.Event) ([]*startedTree, error) {
	for try := 0; ; try++ {
		list, err := s.startListeners(ctx, e)
		if bad, ok := errors.AsType[*unreadableEventError](err); ok {
			err = s.Runtime.RecordNotStarted(ctx, e, automation.Raise(automation.InvalidEvent, "the event started nothing: "+bad.why.Error()))
		}
		if err == nil {
			return list, nil
		}
		if err := s.backOff(ctx, try, e, err); err != nil {
			return nil, err
		}
	}
}

// triesBeforeNotice is after how many attempts an event in the workspace reports the delay.
const triesBeforeNotice = 5

// backOff waits before the next attempt to start the listeners of an event, longer each time. It fails when ctx ends.
func (s *partition) backOff(ctx context.Context, try int, e *feed.Event, why error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.Log.WarnContext(ctx, "the listeners of an event could not be started; retrying", "workspace", e.Source.WorkspaceID, "event", e.ID, "type", e.Type, "try", try+1, "err", why)
	if try == triesBeforeNotice {
		notice := automation.Raise(automation.InternalFault, "what listens to the event could not be started yet; it is tried again")
		if err := s.Runtime.RecordNotStarted(ctx, e, notice); err != nil {
			s.Log.WarnContext(ctx, "the delay of automations could not be recorded in their workspace", "workspace", e.Source.WorkspaceID, "err", err)
		}
	}
	return commands.Sleep(ctx, streams.RetryPause(try))
}

// startListeners starts the listeners of an event.
func (s *partition) startListeners(ctx context.Context, e *feed.Event) ([]*startedTree, error) {
	if programs.IsAboutApp(e.Type) { // many workspaces listen to one event
		select {
		case s.appLookups <- struct{}{}:
			defer func() { <-s.appLookups }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if automation.Native(e.Type) { // every change is one: programs are not compiled for those that nobody listens to
		if may, err := s.MayListen(e.Source.WorkspaceID); err != nil || !may {
			return nil, err
		}
	}
	programSet, err := s.programSet(ctx, e)
	if err != nil || programSet == nil {
		return nil, err
	}
	listeners, err := s.listenersTo(programSet, e)
	if err != nil || len(listeners) == 0 {
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
	var list []*startedTree
	for _, h := range listeners {
		due, err := s.treesToStart(ctx, programSet, h, caller)
		if err != nil {
			return nil, err // nothing is started yet: all of it is retried
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

// treesToStart returns the trees to start for the listeners of an event.
func (s *partition) treesToStart(ctx context.Context, programSet *programs.ProgramSet, h listening, caller runtime.Caller) (list []*startedTree, err error) {
	in, err := eventInput(h.event)
	if err != nil {
		return nil, err
	}
	for _, p := range h.by {
		b := &startedTree{event: h.event, start: s.newStart(programSet, p, h.event, caller)}
		b.start.Input, _ = automation.LocalEvent(p.Scope.Instance, in).(*value.Object)
		due, err := s.isDue(ctx, b)
		if err != nil {
			return nil, err
		}
		if due {
			list = append(list, b)
		}
	}
	return list, nil
}

// instanceEventPrefix is the prefix of the types of native events about an app instance.
const instanceEventPrefix = "workspaces.apps."

// instanceOf returns the app instance that a native event is about.
func instanceOf(e *feed.Event) string {
	if !strings.HasPrefix(e.Type, instanceEventPrefix) {
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

// newStart returns the tree that an event starts for a listener. An event without a correlation id starts a run of
// its own.
func (s *partition) newStart(programSet *programs.ProgramSet, p *programs.Program, e *feed.Event, caller runtime.Caller) runtime.Start {
	start := runtime.Start{
		ProgramSet: programSet, Program: p, Caller: caller, CorrelationID: cmp.Or(e.Source.CorrelationID, e.ID), Depth: e.Source.AutomationDepth + 1, Attempt: 1, TriggeredAt: e.At,
		Trigger: activity.Trigger{Type: activity.ByEvent, Value: e.Type, ID: e.ID, AppInstanceSlug: p.Scope.Instance},
		Meta:    domain.Meta{TraceID: e.Source.TraceID, IP: e.Source.IP, SocketID: e.Source.SocketID, Hides: e.Hides},
	}
	if !emittedByRun(e) {
		start.Facts = []domain.Event{activity.Interaction{
			WorkspaceID: programSet.Workspace.ID, AuthenticatedWorkspaceID: caller.WorkspaceID, Automation: p.Name, Trigger: start.Trigger,
			StartedAt: domain.FormatTime(s.Now()),
		}}
	}
	return start
}

// isDue reports whether a tree is to be started: not when it is done, when its automation was saved after the event,
// or when an error about too many nested calls would cause another one.
func (s *partition) isDue(ctx context.Context, b *startedTree) (bool, error) {
	if b.start.Depth > s.MaxDepth()+2 && (b.event.Type == "error" || strings.HasSuffix(b.event.Type, ".error")) {
		return false, nil
	}
	if !b.event.Options.Persisted() || !isAtOrBefore(b.event, s.start) {
		return true, nil
	}
	past, err := s.treeStatus(ctx, b)
	if err != nil || past.Done {
		return false, err
	}
	if past.Attempts == 0 {
		if listened, err := s.wasListening(ctx, b); err != nil || !listened {
			return false, err
		}
	}
	streams.PrepareAttempt(&b.start, past.Attempts, past.Attempts+1, s.MaxAttempts())
	return true, nil
}

// unreadableEventError says that an event cannot be the input of an automation.
type unreadableEventError struct{ why error }

// Error implements error.
func (u *unreadableEventError) Error() string { return "the event cannot be read: " + u.why.Error() }

// eventInput returns the input of an automation that an event starts.
func eventInput(e *feed.Event) (*value.Object, error) {
	whole, err := value.ParseJSON(string(e.JSON()))
	if err != nil {
		return nil, &unreadableEventError{err}
	}
	in := &value.Object{}
	for _, key := range []string{"id", "type", "source", "payload", "createdAt"} {
		in.Set(key, value.At(whole, key))
	}
	return in, nil
}

// awaitTree waits until a tree has ended or is parked. A tree that was interrupted by the platform
// is started again. It reports whether the tree is done.
func (s *partition) awaitTree(ctx context.Context, b *startedTree) bool {
	return s.trees.AwaitEnd(ctx, &streams.Tree{
		WorkspaceID: b.event.Source.WorkspaceID, CorrelationID: b.start.CorrelationID, EventID: b.event.ID, Automation: b.start.Program.Name,
		Transient: !b.event.Options.Persisted(), Run: b.run, Attempt: b.start.Attempt,
		NewStart: func(context.Context) (runtime.Start, bool, error) { return b.start, true, nil },
		BackOff:  func(ctx context.Context, try int, why error) error { return s.backOff(ctx, try, b.event, why) },
	})
}

// treeStatus reads the status of a tree.
func (s *partition) treeStatus(ctx context.Context, b *startedTree) (streams.TreeStatus, error) {
	return s.History.Begun(ctx, b.event.Source.WorkspaceID, b.start.CorrelationID, b.event.ID, b.start.Program.Name)
}

// maxAppLookups is in how many workspaces listeners to an app event are looked up at once: instances of an app may be
// everywhere.
const maxAppLookups = 8

// enqueueAppEvent queues an event about an app, which is recorded on the platform, for the workspaces of the
// partition that publish the app or have instances of it. The caller holds the lock.
func (s *partition) enqueueAppEvent(ctx context.Context, e *feed.Event, at domain.Position) error {
	publisher, users, err := s.Audience(appOf(e))
	if err != nil {
		return err
	}
	all := append(slices.Clone(users), publisher, e.Source.WorkspaceID)
	slices.Sort(all)
	for _, id := range slices.Compact(all) {
		if id == "" || !s.isOwn(s.number, id) {
			continue
		}
		m := &streams.ProgressMark{At: at}
		s.progress.Add(m)
		s.addToQueue(ctx, s.queueOf(id), &queuedEvent{event: eventInWorkspace(e, id, id == publisher), mark: m})
	}
	return nil
}

// eventInWorkspace returns an event about an app as another workspace sees it. Only the publisher sees who published
// the app: elsewhere nothing acts for that user.
func eventInWorkspace(e *feed.Event, workspaceID string, own bool) *feed.Event {
	if workspaceID == e.Source.WorkspaceID {
		return e
	}
	seen := &feed.Event{
		ID: e.ID, Type: e.Type, At: e.At, Seq: e.Seq, Log: e.Log, Payload: e.Payload, Source: e.Source, Options: e.Options, Actor: e.Actor, Hides: e.Hides,
	}
	seen.Source.WorkspaceID = workspaceID
	if !own {
		m := e.Source.Meta
		seen.Actor, seen.Source.Meta = nil, domain.Meta{
			CorrelationID: m.CorrelationID, TraceID: m.TraceID, AutomationDepth: m.AutomationDepth, ServiceTopic: m.ServiceTopic, Host: m.Host,
		}
	}
	return seen
}

// appOf returns the slug of the app that an event is about.
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
