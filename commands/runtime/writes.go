package runtime

import (
	"fmt"
	"slices"
	"time"

	"svc/commands/contexts"
	"svc/domain/automation"
	"svc/domain/automation/expr"
	"svc/domain/automation/machine"
	"svc/domain/automation/value"
	"svc/domain/automation/variable"
)

// Bounds of what a tree holds in memory: bytes that it wrote before they are kept,
// contexts that it looks at before those are read again, and writes that are looked at for
// one that another takes the place of.
const (
	maxWriteBytes = 1 << 20
	maxViews      = 64
	maxLookBack   = 32
)

// Write implements machine.World.
func (w *world) Write(_ *machine.Execution, wr machine.Write) error {
	switch {
	case wr.Context == "$http":
		return w.t.start.HTTP.write(wr.Op, w.t.settings.KeepAlive)
	case wr.Switch:
		return w.switchTo(wr.Context, wr.Op.Value)
	case w.isOperatorVariable(wr):
		return automation.Invalid("%s cannot be written", expr.Member(wr.Context, wr.Op.Path[0].Key))
	}
	v, err := w.view(wr.Context)
	if err != nil {
		return err
	}
	next, grown, err := variable.Change(v.value, wr.Op)
	if err != nil {
		return err
	}
	changed, ok := next.(*value.Object)
	if !ok {
		if changed = (&value.Object{}); !value.IsUndefined(next) {
			return automation.Invalid("%s is an object", wr.Context)
		}
	}
	if size := v.size + grown; grown > 0 && size > v.limit {
		return automation.Raise(automation.ContextTooLarge, fmt.Sprintf("the context %s would have %d bytes; it may have %d", wr.Context, size, v.limit),
			"context", wr.Context, "size", float64(size), "limit", float64(v.limit))
	}
	v.value, v.size = changed, v.size+grown
	write := contexts.Write{Op: wr.Op}
	if wr.TTL > 0 {
		write.Until = w.Now().Add(wr.TTL)
	}
	w.addWrite(v, write)
	if w.writtenBytes > maxWriteBytes {
		w.t.breakOff(w.t.flushContexts()) // what was written before is in it: nobody may go on without
		return nil
	}
	w.t.scheduleFlush()
	return nil
}

// isOperatorVariable reports whether a write is to a variable that the operator gives, or below
// one.
func (w *world) isOperatorVariable(wr machine.Write) bool {
	if wr.Context != "global" || len(wr.Op.Path) == 0 {
		return false
	}
	_, given := w.t.settings.GlobalVars[wr.Op.Path[0].Key]
	return given
}

// addWrite notes a write that is to be kept.
func (w *world) addWrite(v *view, write contexts.Write) {
	if len(v.writes) == 0 && v.until.IsZero() {
		w.written = append(w.written, v)
	}
	w.writtenBytes += opBytes(write.Op)
	if before := findReplaceable(v.writes, write.Op); before != nil {
		w.writtenBytes -= opBytes(before.Op)
		*before = write
		return
	}
	v.writes = append(v.writes, write)
}

// opBytes is how many bytes an operation takes, roughly.
func opBytes(op variable.Op) int {
	if text, ok := op.Value.(string); ok {
		return len(text)
	}
	return variable.Size(op.Value)
}

// findReplaceable returns the write whose place another one takes: it sets the same variable, and
// nothing in between has to do with that. Nil: there is none.
func findReplaceable(writes []contexts.Write, op variable.Op) *contexts.Write {
	for i := len(writes) - 1; i >= 0 && i >= len(writes)-maxLookBack && setsValue(op); i-- {
		before := &writes[i]
		switch {
		case !setsValue(before.Op):
			return nil // what goes may move what is beside it
		case slices.Equal(before.Op.Path, op.Path) && before.Op.Kind == variable.Replace:
			return before
		case isWithinPath(before.Op.Path, op.Path), isWithinPath(op.Path, before.Op.Path):
			return nil
		}
	}
	return nil
}

// setsValue reports whether an operation puts a value somewhere, and takes none away.
func setsValue(op variable.Op) bool {
	return op.Kind == variable.Replace && !value.IsUndefined(op.Value)
}

// isWithinPath reports whether a path leads to what root leads to, or into it.
func isWithinPath(path, root []expr.Step) bool {
	return len(path) >= len(root) && slices.EqualFunc(path[:len(root)], root, func(a, b expr.Step) bool { return a.Key == b.Key })
}

// extendRun sees to it that the context of the run is there after a wait, with what others
// write to it meanwhile. That lasts as long as a short wait by itself.
func (w *world) extendRun(d time.Duration) error {
	v := w.views[w.key("run")]
	if v == nil {
		loaded, err := w.load(w.key("run"))
		if err != nil {
			return err
		}
		v = &view{key: w.key("run"), limit: w.t.settings.Sizes["run"], value: loaded}
	}
	if v.value.Len() == 0 && d <= w.t.settings.RunExpires {
		return nil
	}
	if len(v.writes) == 0 && v.until.IsZero() {
		w.written = append(w.written, v)
	}
	v.until = w.Now().Add(d + w.t.settings.RunExpires)
	return nil
}

// takeChanges returns what was written since it was last taken, to be kept.
func (w *world) takeChanges() (changes []contexts.Change) {
	now := w.Now()
	for _, v := range w.written {
		c := contexts.Change{Key: v.key, Writes: v.writes, Limit: v.limit}
		if c.Expires, c.Lifetime = w.lifetime(v.key, now); v.until.After(c.Expires) {
			c.Expires = v.until
		}
		changes = append(changes, c)
		v.writes, v.until = nil, time.Time{}
	}
	w.written, w.writtenBytes = nil, 0
	return changes
}

// lifetime is when a context that is written now goes unless it is written again. Whoever
// writes to the session of somebody else decides nothing about how long it lasts.
func (w *world) lifetime(key contexts.Key, now time.Time) (time.Time, contexts.Lifetime) {
	s := w.t.settings
	switch key.Kind {
	case "run":
		return now.Add(s.RunExpires), contexts.Extends
	case "socket":
		return now.Add(s.SocketExpires), contexts.Moves
	case "session":
		if w.isCallerSession(key.ID) {
			return now.Add(s.SessionExpires), contexts.Extends // it is over by then
		}
		return now.Add(s.VisitorExpires), contexts.Extends
	}
	return time.Time{}, contexts.Moves
}

// isCallerSession reports whether a session is that of the caller, who signed in. What a visitor
// starts knows a visitor by the user that is called as the session.
func (w *world) isCallerSession(sessionID string) bool {
	c := &w.t.start.Caller
	return !c.Visitor && c.UserID != "" && c.UserID != c.SessionID && sessionID == firstOf(c.SessionID, c.UserID)
}

// markUnstored lets contexts be read again, so that what others wrote is seen. Those with
// writes of the tree itself that are not kept yet stay as they are.
func (w *world) refresh() {
	for key, v := range w.views {
		if len(v.writes) == 0 {
			delete(w.views, key)
		}
	}
}

// limitViews lets contexts be read again when there are many: a tree may switch to any number
// of users.
func (w *world) limitViews() {
	if len(w.views) > maxViews {
		w.refresh()
	}
}
