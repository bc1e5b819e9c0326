package projections

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/activity"
)

// Runs is the read model of what automations did: runs, the trees that they consist
// of, and the waits that these stand in. What executions were given and gave is in the
// log and nowhere else.
//
//	s{workspace}\0{seq}                  an event that counts, and what it is of
//	t{workspace}\0{tree}                 treeRow
//	o{workspace}\0{run}\0{seq}           the tree that began or ended
//	u{workspace}\0{tree}                 nothing: it began and did not end
//	w{workspace}\0{wait}                 waitRow, JSON
//	x{workspace}\0{wait}                 what it is for, JSON, of one that keeps events from starting anything else
//	v{workspace}\0{run}\0{execution}\0{wait} nothing: the execution stands in it
//	h{workspace}\0{run}\0{execution}     in how many waits it stands
//	y{workspace}\0{seq}{wait}            PendingWait, JSON, of one that an execution stands in
//	e{workspace}\0{wait}                 sequence that said last that it was fulfilled or expired
//	p{workspace}\0{wait}                 nothing: events that it is for start nothing else
//	q{workspace}\0{seq}{wait}            nothing: until this sequence they did not
//	r{workspace}\0{run}                  runRow
//	l{workspace}\0{ms}{run}              status; ms is when the run began
//	a{workspace}\0{automation}\0{ms}{run} the same of one automation
//	n{workspace}\0{automation}\0{status} how many runs there are; automation "": of all
//
// Everything follows from the events that are left: a row of numbers is what its trees
// and executions add to it, and what an erased event added is taken away. Events are
// erased from the oldest on, so that the beginning of a wait never outlives its end. How
// something began that is not over is said again before it is erased: see Needed.
type Runs struct{}

// Name implements Projection.
func (Runs) Name() string { return "runs.5" }

// Log implements Projection.
func (Runs) Log() domain.Log { return domain.Activity }

// Apply implements Projection.
func (p Runs) Apply(tx Tx, ev domain.Recorded) error {
	if gone, ok := ev.Data.(activity.Dropped); ok {
		return p.drop(tx, gone)
	}
	w := runsTx{tx, ev.Stream.Scope}
	if run := ev.Meta.CorrelationID; !Indexed(run) {
		return nil // nothing that belongs together
	}
	switch e := ev.Data.(type) {
	case activity.TreeStarted:
		return w.tell(startOfTree(ev, e))
	case activity.Executed:
		if err := w.endWaits(ev, e.ExecutionID); err != nil {
			return err
		}
		if e.ParentExecutionID != "" {
			return w.count(ev, e)
		}
		return w.tell(endOfTree(ev, e))
	case activity.WaitPending:
		return w.stand(ev, e)
	case activity.WaitKept:
		return w.stayOn(ev, activity.WaitPending(e))
	case activity.WaitFulfilled:
		return errors.Join(w.goOn(ev, e.ID), w.noteEnd(ev, e.ID))
	case activity.WaitExpired:
		return errors.Join(w.goOn(ev, e.ID), w.noteEnd(ev, e.ID))
	}
	return nil
}

// runsTx is the rows of one workspace.
type runsTx struct {
	tx          Tx
	workspaceID string
}

// The kinds of events that count.
const (
	ofTree byte = 'T' // it began or ended
	ofCall byte = 'N' // an execution that another one called
	ofWait byte = 'P' // it began
	ofEnd  byte = 'E' // a wait ended
)

// note keeps what the event at a sequence is of.
func (w runsTx) note(seq uint64, kind byte, rest string) error {
	return w.tx.Set(scoped('s', w.workspaceID, seqKey(seq)), append([]byte{kind}, rest...))
}

// tally is what trees and executions add to their run.
type tally struct {
	Trees      int
	Open       int // of those, began and did not end
	Standing   int // executions that wait for an event or time
	Failed     int
	Cancelled  int
	Executions int // that ended
	Recorded   int
	Truncated  int
}

// plus adds to a tally, or takes away when by is -1.
func (t tally) plus(o tally, by int) tally {
	return tally{
		t.Trees + by*o.Trees, t.Open + by*o.Open, t.Standing + by*o.Standing, t.Failed + by*o.Failed, t.Cancelled + by*o.Cancelled,
		t.Executions + by*o.Executions, t.Recorded + by*o.Recorded, t.Truncated + by*o.Truncated,
	}
}

// What is kept of how an execution was recorded.
const (
	notRecorded = iota
	wholeRecorded
	partRecorded
)

// recordedPartly is what an execution says whose record was cut off.
const recordedPartly = "truncated"

func recordedOf(said any) int {
	switch said {
	case true:
		return wholeRecorded
	case recordedPartly:
		return partRecorded
	}
	return notRecorded
}

// executed is what an execution adds that ended.
func executed(recorded int) tally {
	t := tally{Executions: 1}
	switch recorded {
	case wholeRecorded:
		t.Recorded = 1
	case partRecorded:
		t.Truncated = 1
	}
	return t
}

// count adds an execution that another one called.
func (w runsTx) count(ev domain.Recorded, e activity.Executed) error {
	as := recordedOf(e.Recorded)
	return errors.Join(
		w.note(ev.Seq, ofCall, string(rune(as))+ev.Meta.CorrelationID),
		w.adjust(ev.Meta.CorrelationID, func(r *runRow) { r.tally = r.plus(executed(as), 1) }))
}

// drop takes away what erased events added.
func (p Runs) drop(tx Tx, gone activity.Dropped) error {
	w := runsTx{tx, gone.WorkspaceID}
	again := map[string]bool{}
	err := erased(tx, 's', gone, func(key, value []byte) error {
		if len(value) == 0 {
			return fmt.Errorf("runs: %q says nothing", key)
		}
		if err := tx.Delete(key); err != nil {
			return err
		}
		seq := binary.BigEndian.Uint64(key[len(key)-8:])
		switch rest := string(value[1:]); {
		case value[0] == ofTree:
			return w.untell(rest, seq, again)
		case value[0] == ofWait:
			return w.forgetWait(rest, seq)
		case value[0] == ofEnd:
			return w.forgetEnd(rest, seq)
		case value[0] == ofCall && len(rest) > 1:
			return w.adjust(rest[1:], func(r *runRow) { r.tally = r.plus(executed(int(rest[0])), -1) })
		}
		return fmt.Errorf("runs: %q is of nothing", key)
	})
	for _, run := range slices.Sorted(maps.Keys(again)) {
		if err == nil {
			err = w.describe(run)
		}
	}
	return err
}

// millis is a moment of the contract as a number, 0 when it is none.
func millis(stamp string) int64 {
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return 0
	}
	return max(0, at.UnixMilli())
}

func triggerOf(body json.RawMessage) (t activity.Trigger) {
	_ = json.Unmarshal(body, &t) // what is no trigger is of no type
	return t
}
