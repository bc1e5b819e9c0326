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
	"svc/domain/automation/value"
)

// Recordings keeps the records of runs. It is a *recording.Store.
type Recordings interface {
	Put(ctx context.Context, k recording.Kept) error
}

// What is recorded: RUN_RECORDING.
const (
	recordErrors = "errors" // kept only when the tree fails
	recordAll    = "all"
)

// newRecorder returns what notes what happens to the tree; nil when nothing is to be.
func (t *run) newRecorder() *recording.Recorder {
	wanted := t.start.Record || t.settings.Recording == recordErrors || t.settings.Recording == recordAll
	if t.rt.Recordings == nil || !wanted {
		return nil
	}
	return recording.NewRecorder(t.settings.MaxRecording)
}

// machineWorld is the world that the machine asks: one that notes what it says, when that
// is to be recorded.
func (t *run) machineWorld() machine.World {
	if t.recorder == nil {
		return t.world
	}
	return recordedWorld{t.world}
}

// recordInput notes what the tree starts with.
func (t *run) recordInput() {
	if t.recorder == nil {
		return
	}
	s, root, zone := &t.start, t.machine.Root(), "UTC"
	if t.settings.Zone != nil {
		zone = t.settings.Zone.String()
	}
	t.recorder.Start(recording.Start{
		WorkspaceID: t.workspaceID(), CorrelationID: s.CorrelationID, ExecutionID: root.ID, Ref: root.Program.Ref, Slug: root.Program.Slug,
		Revision: s.ProgramSet.Workspace.Revision, Depth: s.Depth, Input: s.Input, At: t.executions[root.ID].startedAt,
		Trigger: value.NewObject("type", s.Trigger.Type, "value", s.Trigger.Value, "id", optional(s.Trigger.ID)),
		UserID:  s.Caller.UserID, SessionID: s.Caller.SessionID, SocketID: s.Meta.SocketID, Run: t.computedRun(root), User: t.computedUser(),
		Keys: t.computedKeyNames(), MaxDepth: t.settings.MaxDepth, LocalLimit: t.settings.Sizes["local"], MaxWait: t.settings.MaxWait,
		Wait: t.settings.Wait, CodeTimeout: t.settings.CodeTimeout, Locale: t.settings.Locale, Zone: zone,
	})
	t.recordScope(s.Program)
}

// computedRun is what the platform says of the run, but for the time.
func (t *run) computedRun(root *machine.Execution) *value.Object {
	said := &value.Object{}
	for _, key := range computedKeys["run"] {
		if key != "date" {
			v, _ := t.world.runValue(root, key)
			said.Set(key, v)
		}
	}
	return said
}

func (t *run) computedUser() *value.Object {
	said := &value.Object{}
	for _, key := range computedKeys["user"] {
		v, _ := t.world.userValue(key)
		said.Set(key, v)
	}
	return said
}

// computedKeyNames are the names of what the platform says in each context, in order.
func (t *run) computedKeyNames() *value.Object {
	all := &value.Object{}
	for _, root := range slices.Sorted(maps.Keys(computedKeys)) {
		names := slices.Clone(computedKeys[root])
		if root == "global" {
			names = append(names, slices.Sorted(maps.Keys(t.settings.GlobalVars))...)
		}
		all.Set(root, value.From(names))
	}
	return all
}

// recordScope notes what run says of the place of a program.
func (t *run) recordScope(p *programs.Program) {
	if p == nil {
		return
	}
	scope := p.Scope
	t.recorder.Place(scope.Instance, func() *value.Object {
		return value.NewObject(
			"appSlug", optional(scope.App), "appInstanceSlug", optional(scope.Slug), "appInstanceFullSlug", optional(scope.Instance),
			"parentAppSlug", optional(scope.ParentApp()), recording.LocalNames, true,
		)
	})
}

// answerMachine gives the machine what came of a request.
func (t *run) answerMachine(id uint64, a machine.Answer) {
	if t.recorder != nil {
		t.recorder.Answer(id, a, t.rt.Now())
		t.recordScope(t.programs[a.Program])
	}
	t.machine.Answer(id, a)
}

// stopMachine stops the machine.
func (t *run) stopMachine(err *automation.Error) {
	t.recorder.Stop(err)
	t.machine.Stop(err)
}

// emittedEvent notes what an execution came to, and returns what its event says: nil unless
// it is the first of the tree, and its record is kept.
func (t *run) recordResult(x *machine.Execution) any {
	t.recorder.Ended(x)
	if x.Parent != nil || !t.isRecordingStored(x) {
		return nil
	}
	t.recorder.Secrets(t.redact.Secrets())
	if t.recorder.Truncated() {
		return "truncated"
	}
	return true
}

// isRecordingStored reports whether the record of a tree that came to its end is kept.
func (t *run) isRecordingStored(root *machine.Execution) bool {
	return t.recorder != nil && (t.start.Record || t.settings.Recording == recordAll || root.Err != nil)
}

// storeRecording keeps what was recorded. A run is not the worse for a record that could
// not be kept.
func (t *run) storeRecording(root *machine.Execution) {
	if !t.isRecordingStored(root) || t.recorder.Truncated() {
		return
	}
	err := t.rt.Recordings.Put(t.ctx, recording.Kept{
		WorkspaceID: t.workspaceID(), CorrelationID: t.start.CorrelationID, ExecutionID: root.ID,
		Expires: t.rt.Now().Add(t.settings.RecordingKept), Body: t.recorder.Save(),
	})
	if err != nil {
		t.rt.Log.ErrorContext(t.ctx, "the record of a run was not kept", "workspace", t.workspaceID(), "executionId", root.ID, "err", err)
	}
}

// restoreRecorder goes on with the record of a tree that stood in a wait. One that was not
// recorded until then is not.
func (t *run) restoreRecorder(saved []byte) error {
	if len(saved) == 0 {
		t.recorder = nil
	}
	return t.recorder.Load(saved)
}

// recordedWorld is a world that notes what it says.
type recordedWorld struct{ *world }

// Now implements machine.World.
func (w recordedWorld) Now() time.Time {
	now := w.world.Now()
	x, at := w.t.machine.CurrentPlace()
	w.t.recorder.Clock(x, at, now)
	return now
}

// Random implements machine.World.
func (w recordedWorld) Random(n int) []byte {
	drawn := w.world.Random(n)
	x, at := w.t.machine.CurrentPlace()
	w.t.recorder.Random(x, at, drawn)
	return drawn
}

// Read implements machine.World.
func (w recordedWorld) Read(x *machine.Execution, keys []string) (any, error) {
	rest := keys[len(keys):]
	if keys[0] == "run" && len(keys) > 2 && keys[1] == "date" { // it is noted whole
		keys, rest = keys[:2], keys[2:]
	}
	v, err := w.world.Read(x, keys)
	if err != nil {
		_, at := w.t.machine.CurrentPlace()
		w.t.recorder.Refused(x, at, recording.Reading(keys), err)
		return v, err
	}
	w.recordRead(x, keys, v)
	return value.Walk(v, rest...), nil
}

// recordRead records a value that was read, unless the context that it is in was recorded.
func (w recordedWorld) recordRead(x *machine.Execution, keys []string, v any) {
	r := w.t.recorder
	switch keys[0] {
	case "run":
		if len(keys) == 1 {
			v = value.At(v, "date")
		} else if keys[1] != "date" {
			return
		}
		_, at := w.t.machine.CurrentPlace()
		r.Date(x, at, v)
	case "secret":
		if len(keys) > 1 && x.Program.Instance == "" {
			if whole, ok := w.secrets[keys[1]]; ok {
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

// recordGlobal records what the platform says in global.
func (w recordedWorld) recordGlobal(keys []string, v any) {
	says := func(key string) bool {
		_, ok := w.t.settings.GlobalVars[key]
		return ok || slices.Contains(computedKeys["global"], key)
	}
	if len(keys) > 1 {
		if says(keys[1]) {
			w.t.recorder.First("", keys, v)
		}
		return
	}
	all, _ := v.(*value.Object)
	for _, key := range all.Keys() {
		if says(key) {
			w.t.recorder.First("", []string{"global", key}, all.At(key))
		}
	}
}

// Write implements machine.World.
func (w recordedWorld) Write(x *machine.Execution, wr machine.Write) error {
	err := w.world.Write(x, wr)
	if err != nil {
		_, at := w.t.machine.CurrentPlace()
		w.t.recorder.Refused(x, at, recording.Writing(wr), err)
	}
	return err
}
