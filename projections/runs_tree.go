package projections

import (
	"bytes"
	"errors"
	"slices"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
)

// treeRow is what is known of a tree. One that an event or a schedule started and that
// was interrupted is begun again: that is still the same tree.
type treeRow struct{ Facts []treeFact } // in the order of the log

// treeFact says that a tree began, or ended.
type treeFact struct {
	runBegin
	Run      string
	Attempt  int    // of a beginning
	Replica  string // of a beginning
	Ended    int    // 1: it is an end
	Duration int64  // of an end, ms
	Error    string // of an end: the name of what nobody caught
	Recorded int    // of an end: one of the constants
}

// runBegin is how a tree, and with it a run, began.
type runBegin struct {
	Seq         uint64 // of the event that says so
	StartedAt   int64  // ms
	ExecutionID string // of the first execution
	Automation  string
	Trigger     activity.Trigger
	Source      domain.Meta // what rights on events look at, without what is known besides
}

func startOfTree(ev domain.Recorded, e activity.TreeStarted) treeFact {
	return treeFact{
		runBegin: runBegin{ev.Seq, millis(e.StartedAt), e.ExecutionID, e.Automation, e.Trigger, sourceOf(ev.Meta)},
		Run:      ev.Meta.CorrelationID, Attempt: e.Attempt, Replica: e.Replica,
	}
}

func endOfTree(ev domain.Recorded, e activity.Executed) treeFact {
	f := treeFact{
		runBegin: runBegin{ev.Seq, millis(e.StartedAt), e.ExecutionID, e.Slug, triggerOf(e.Trigger), sourceOf(ev.Meta)},
		Run:      ev.Meta.CorrelationID, Ended: 1, Duration: e.Duration, Recorded: recordedOf(e.Recorded),
	}
	if e.Error != nil {
		f.Error = e.Error.Error
	}
	return f
}

// sourceOf is what is kept of who caused an event.
func sourceOf(m domain.Meta) domain.Meta {
	return domain.Meta{
		UserID: m.UserID, SessionID: m.SessionID, IP: m.IP, SocketID: m.SocketID, AutomationSlug: m.AutomationSlug,
		AutomationDepth: m.AutomationDepth, AppSlug: m.AppSlug, AppInstance: m.AppInstance, AppDepth: m.AppDepth,
	}
}

// treeKey names the tree that a fact is of: by the event that started it, so that it is
// the same when it is begun again, or else by its first execution.
func (f treeFact) treeKey() string {
	if f.Trigger.ID != "" && (f.Trigger.Type == activity.ByEvent || f.Trigger.Type == activity.BySchedule) {
		return triggeredKey(f.Trigger.ID, f.Automation)
	}
	return "x" + f.ExecutionID
}

func triggeredKey(triggerID, automationSlug string) string {
	return "e" + triggerID + "\x01" + automationSlug
}

// run is the run that the tree belongs to: one that is begun again may be of another.
func (r treeRow) run() string {
	if len(r.Facts) == 0 {
		return ""
	}
	return r.Facts[len(r.Facts)-1].Run
}

// open reports whether the tree began and did not end. How it began may be said again when
// it has just ended.
func (r treeRow) open() bool {
	if len(r.Facts) == 0 {
		return false
	}
	last := r.Facts[len(r.Facts)-1].ExecutionID
	return !slices.ContainsFunc(r.Facts, func(f treeFact) bool { return f.Ended == 1 && f.ExecutionID == last })
}

// tally is what the tree adds to its run.
func (r treeRow) tally() (t tally) {
	if len(r.Facts) == 0 {
		return t
	}
	failure := ""
	for _, f := range r.Facts {
		if f.Ended == 1 {
			t, failure = t.plus(executed(f.Recorded), 1), f.Error
		}
	}
	t.Trees = 1
	switch {
	case r.open():
		t.Open = 1
	case failure == automation.ExecutionCancelled:
		t.Cancelled = 1
	case failure != "":
		t.Failed = 1
	}
	return t
}

// indexed is a key with its value.
type indexed struct{ key, value []byte }

// indexes are the keys by which a tree is found, with their values.
func (r treeRow) indexes(workspaceID, key string) (entries []indexed) {
	for _, f := range r.Facts {
		kind := beginning
		if f.Ended == 1 {
			kind = ending
		}
		entries = append(entries, indexed{listed('o', workspaceID, r.run(), seqKey(f.Seq)), append([]byte{kind}, key...)})
	}
	if r.open() {
		entries = append(entries, indexed{scoped('u', workspaceID, []byte(key)), nil})
	}
	return entries
}

// What a fact says, in the list of its run.
const (
	beginning byte = 'S'
	ending    byte = 'E'
)

func treeRowKey(workspaceID, key string) []byte { return scoped('t', workspaceID, []byte(key)) }

// tree reads a tree; one that there is not has no facts.
func (w runsTx) tree(key string) (row treeRow, err error) {
	value, ok, err := w.tx.Get(treeRowKey(w.workspaceID, key))
	_, err = decoded(value, ok, err, &row)
	return row, err
}

// tell adds a fact to its tree.
func (w runsTx) tell(f treeFact) error {
	key := f.treeKey()
	if !Indexed(key) {
		return nil // none that the platform has made
	}
	old, err := w.tree(key)
	if err != nil {
		return err
	}
	now := treeRow{Facts: append(slices.Clone(old.Facts), f)}
	if err := errors.Join(w.note(f.Seq, ofTree, key), w.replace(key, old, now)); err != nil {
		return err
	}
	if old.run() == "" || old.run() == f.Run {
		return w.adjust(f.Run, func(r *runRow) {
			r.tally = r.plus(old.tally(), -1).plus(now.tally(), 1)
			r.add(f)
		})
	}
	if err := w.move(old, now); err != nil {
		return err
	}
	return errors.Join(w.describe(old.run()), w.describe(f.Run))
}

// untell takes an erased fact away from its tree, and notes the runs that are to be
// described again.
func (w runsTx) untell(key string, seq uint64, again map[string]bool) error {
	old, err := w.tree(key)
	if err != nil {
		return err
	}
	now := treeRow{Facts: slices.DeleteFunc(slices.Clone(old.Facts), func(f treeFact) bool { return f.Seq == seq })}
	for _, row := range []treeRow{old, now} {
		if row.run() != "" {
			again[row.run()] = true
		}
	}
	if err := w.replace(key, old, now); err != nil {
		return err
	}
	return w.move(old, now)
}

// replace keeps a tree in the place of what it was.
func (w runsTx) replace(key string, old, now treeRow) error {
	was, is := old.indexes(w.workspaceID, key), now.indexes(w.workspaceID, key)
	among := func(e indexed, others []indexed) bool {
		return slices.ContainsFunc(others, func(o indexed) bool { return bytes.Equal(o.key, e.key) })
	}
	for _, e := range was {
		if among(e, is) {
			continue
		}
		if err := w.tx.Delete(e.key); err != nil {
			return err
		}
	}
	for _, e := range is {
		if among(e, was) {
			continue
		}
		if err := w.tx.Set(e.key, e.value); err != nil {
			return err
		}
	}
	if len(now.Facts) == 0 {
		return w.tx.Delete(treeRowKey(w.workspaceID, key))
	}
	return w.tx.Set(treeRowKey(w.workspaceID, key), now.encode())
}

// move takes what a tree added away from its run, and adds what it is now to the run
// that it belongs to. How those are described is up to the caller.
func (w runsTx) move(old, now treeRow) error {
	for _, row := range []struct {
		treeRow
		by int
	}{{now, 1}, {old, -1}} { // in this order: a run that nothing is left of forgets when it began
		if row.run() == "" {
			continue
		}
		if err := w.adjust(row.run(), func(r *runRow) { r.tally = r.plus(row.tally(), row.by) }); err != nil {
			return err
		}
	}
	return nil
}
