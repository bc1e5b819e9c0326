package runtime

import (
	"context"
	"maps"
	"slices"
	"time"

	"svc/commands/programs"
	"svc/commands/recording"
	"svc/domain/automation"
	"svc/domain/automation/machine"
	"svc/domain/value"
)

// Recordings stores the recordings of runs. It is a *recording.Store.
type Recordings interface {
	Put(ctx context.Context, k recording.StoredRecording) error
}

// What is recorded: RUN_RECORDING.
const (
	recordErrors = "errors" // stored only when the run fails
	recordAll    = "all"
)

// runRecording records what a run gets from outside, for replays, and decides whether the
// recording is stored. Its Recorder is nil if nothing is recorded.
type runRecording struct {
	*runCore
	*recording.Recorder
	executions *executions
	secrets    *runSecrets
	world      *world
}

// begin makes a Recorder if the run is to be recorded.
func (r *runRecording) begin() {
	wanted := r.start.Record || r.settings.Recording == recordErrors || r.settings.Recording == recordAll
	if r.rt.Recordings != nil && wanted {
		r.Recorder = recording.NewRecorder(r.settings.MaxRecording)
	}
}

// recordInput records what the run starts with.
func (r *runRecording) recordInput() {
	if r.Recorder == nil {
		return
	}
	s, root := &r.start, r.machine.Root()
	begun := r.executions.open[root.ID]
	r.Start(recording.Start{
		WorkspaceID: r.workspaceID(), CorrelationID: s.CorrelationID, ExecutionID: root.ID, Ref: root.Program.Ref, Slug: root.Program.Slug,
		Revision: s.ProgramSet.Workspace.Revision, Depth: s.Depth, Input: s.Input, At: begun.startedAt,
		UserID: s.Caller.UserID, SessionID: s.Caller.SessionID, SocketID: s.Meta.SocketID,
		MaxDepth: r.settings.MaxDepth, LocalLimit: r.settings.Sizes["local"], MaxWait: r.settings.MaxWait,
		Wait: r.settings.Wait, CodeTimeout: r.settings.CodeTimeout, Locale: r.settings.Locale,
		Complete: func(to *recording.Start) { r.completeStart(to, root, begun) },
	})
	r.recordScope(s.Program)
}

// completeStart sets the computed values that a run started with. It is called when the recording is saved: until then
// the run may have used the contexts of another user, and its first execution may have ended.
func (r *runRecording) completeStart(to *recording.Start, root *machine.Execution, begun *execution) {
	s := &r.start
	w := &world{
		runCore: r.runCore, executions: &executions{programs: r.executions.programs, open: map[string]*execution{root.ID: begun}},
		userID: s.Caller.UserID, sessionID: s.Caller.SessionID,
	}
	to.Trigger = value.NewObject("type", s.Trigger.Type, "value", s.Trigger.Value, "id", optional(s.Trigger.ID))
	to.Run, to.User, to.Keys = w.computedRun(root), w.computedUser(), r.computedKeyNames()
	if to.Zone = "UTC"; r.settings.Zone != nil {
		to.Zone = r.settings.Zone.String()
	}
}

// computedRun returns the computed keys of run, except for the time.
func (w *world) computedRun(root *machine.Execution) *value.Object {
	keys := &value.Object{}
	for _, key := range computedKeys["run"] {
		if key != "date" {
			v, _ := w.runValue(root, key)
			keys.Set(key, v)
		}
	}
	return keys
}

// computedUser returns the computed keys of user.
func (w *world) computedUser() *value.Object {
	keys := &value.Object{}
	for _, key := range computedKeys["user"] {
		v, _ := w.userValue(key)
		keys.Set(key, v)
	}
	return keys
}

// computedKeyNames returns the names of the computed keys of each context, in order.
func (r *runRecording) computedKeyNames() *value.Object {
	all := &value.Object{}
	for _, root := range slices.Sorted(maps.Keys(computedKeys)) {
		names := slices.Clone(computedKeys[root])
		if root == "global" {
			names = append(names, slices.Sorted(maps.Keys(r.settings.GlobalVars))...)
		}
		all.Set(root, value.From(names))
	}
	return all
}

// recordScope records the keys of run that depend on the scope of a program.
func (r *runRecording) recordScope(p *programs.Program) {
	if p == nil {
		return
	}
	scope := p.Scope
	r.Scope(scope.Instance, func() *value.Object {
		return value.NewObject(
			"appSlug", optional(scope.App), "appInstanceSlug", optional(scope.Slug), "appInstanceFullSlug", optional(scope.Instance),
			"parentAppSlug", optional(scope.ParentApp()), recording.LocalNames, true,
		)
	})
}

// answerMachine records the answer of a request and passes it to the machine.
func (r *runRecording) answerMachine(id uint64, a machine.Answer) {
	if r.Recorder != nil {
		r.Answer(id, a, r.rt.Now())
		r.recordScope(r.executions.programs[a.Program])
	}
	r.machine.Answer(id, a)
}

// stopMachine records that the machine is stopped, and stops it.
func (r *runRecording) stopMachine(err *automation.Error) {
	r.Stop(err)
	r.machine.Stop(err)
}

// recordResult records the result of an execution, and returns what its event says about the
// recording: nil unless it is the first of the run, and the recording is stored.
func (r *runRecording) recordResult(x *machine.Execution) any {
	if x.Parent == nil && !r.isStored(x) {
		return nil
	}
	if r.Ended(x); x.Parent != nil {
		return nil
	}
	r.Secrets(r.secrets.set.Secrets())
	if r.Truncated() {
		return "truncated"
	}
	return true
}

// isStored reports whether the recording of a run that has ended is stored.
func (r *runRecording) isStored(root *machine.Execution) bool {
	return r.Recorder != nil && (r.start.Record || r.settings.Recording == recordAll || root.Err != nil)
}

// store stores the recording. A failure is logged: the run itself is complete without it.
func (r *runRecording) store(root *machine.Execution) {
	if !r.isStored(root) || r.Truncated() {
		return
	}
	err := r.rt.Recordings.Put(r.ctx, recording.StoredRecording{
		WorkspaceID: r.workspaceID(), CorrelationID: r.start.CorrelationID, ExecutionID: root.ID,
		Expires: r.rt.Now().Add(r.settings.RecordingRetention), Body: r.Save(),
	})
	if err != nil {
		r.rt.Log.ErrorContext(r.ctx, "recording of a run was not stored", "workspace", r.workspaceID(), "executionId", root.ID, "err", err)
	}
}

// restore continues the recording of a parked run. A run that was not recorded before is not
// recorded now.
func (r *runRecording) restore(saved []byte) error {
	if len(saved) == 0 {
		r.Recorder = nil
	}
	return r.Load(saved)
}

// recordedWorld is a world that records what it returns.
type recordedWorld struct{ *world }

// Now implements machine.World.
func (w recordedWorld) Now() time.Time {
	now := w.world.Now()
	x, at := w.machine.CurrentLocation()
	w.recording.Clock(x, at, now)
	return now
}

// Random implements machine.World.
func (w recordedWorld) Random(n int) []byte {
	drawn := w.world.Random(n)
	x, at := w.machine.CurrentLocation()
	w.recording.Random(x, at, drawn)
	return drawn
}

// Read implements machine.World.
func (w recordedWorld) Read(x *machine.Execution, keys []string) (any, error) {
	rest := keys[len(keys):]
	if keys[0] == "run" && len(keys) > 2 && keys[1] == "date" { // it is recorded whole
		keys, rest = keys[:2], keys[2:]
	}
	v, err := w.world.Read(x, keys)
	if err != nil {
		_, at := w.machine.CurrentLocation()
		w.recording.Refused(x, at, recording.Reading(keys), err)
		return v, err
	}
	w.recordRead(x, keys, v)
	return value.Walk(v, rest...), nil
}

// recordRead records a value that was read, unless the context that it is in was recorded.
func (w recordedWorld) recordRead(x *machine.Execution, keys []string, v any) {
	r := w.recording
	switch keys[0] {
	case "run":
		if len(keys) == 1 {
			v = value.At(v, "date")
		} else if keys[1] != "date" {
			return
		}
		_, at := w.machine.CurrentLocation()
		r.Date(x, at, v)
	case "secret":
		if len(keys) > 1 && x.Program.Instance == "" {
			if whole, ok := w.secretValues[keys[1]]; ok {
				keys, v = keys[:2], whole
			}
			r.First("", keys, v)
		}
	case "$workspace":
		r.First(x.Program.Instance, keys, v)
	case "global":
		w.recordGlobal(keys, v)
	}
}

// recordGlobal records the computed keys of global.
func (w recordedWorld) recordGlobal(keys []string, v any) {
	isComputed := func(key string) bool {
		_, ok := w.settings.GlobalVars[key]
		return ok || slices.Contains(computedKeys["global"], key)
	}
	if len(keys) > 1 {
		if isComputed(keys[1]) {
			w.recording.First("", keys, v)
		}
		return
	}
	all, _ := v.(*value.Object)
	for _, key := range all.Keys() {
		if isComputed(key) {
			w.recording.First("", []string{"global", key}, all.At(key))
		}
	}
}

// Write implements machine.World.
func (w recordedWorld) Write(x *machine.Execution, wr machine.Write) error {
	err := w.world.Write(x, wr)
	if err != nil {
		_, at := w.machine.CurrentLocation()
		w.recording.Refused(x, at, recording.Writing(wr), err)
	}
	return err
}
