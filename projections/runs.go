package projections

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
	"svc/domain/feed"
)

// Runs is the read model of runs: the runs, their trees, and the waits of their executions.
// Inputs and outputs of executions are only in the log.
//
//	s{workspace}\0{group}                the events of one message that these rows depend on: see runEvent
//	t{workspace}\0{tree}                 treeRow
//	o{workspace}\0{run}\0{seq}           the tree that started or ended
//	u{workspace}\0{tree}                 nothing: the tree is unfinished
//	w{workspace}\0{wait}                 waitRow, JSON
//	x{workspace}\0{wait}                 condition, JSON, of a wait that cancels triggers
//	v{workspace}\0{run}\0{execution}\0{wait} nothing: a pending wait of the execution
//	h{workspace}\0{run}\0{execution}     number of pending waits of the execution
//	y{workspace}\0{seq}{wait}            PendingWait, JSON, of a pending wait
//	e{workspace}\0{wait}                 sequence of the last event that says that it was fulfilled or expired
//	p{workspace}\0{wait}                 nothing: a pending wait that cancels triggers
//	q{workspace}\0{seq}{wait}            nothing: it cancelled triggers until this sequence
//	r{workspace}\0{run}                  runRow
//	l{workspace}\0{ms}{run}              status; ms is the start of the run
//	a{workspace}\0{automation}\0{ms}{run} the same for one automation
//	n{workspace}\0{automation}\0{status} number of runs; automation "": of all
//
// Most runs have one tree, which was started by neither an event nor a schedule. It is part of the row of its run, and
// has no keys t and o.
//
// All rows depend only on events that are still in the log: a tally is the sum over trees and
// executions, and what an erased event added is subtracted. The oldest events are erased first,
// so the start of a wait is never kept longer than its end. The start of an unfinished tree or
// a pending wait is recorded again before it is erased: see Needed.
type Runs struct{}

// Name implements Projection.
func (Runs) Name() string { return "runs.7" }

// Log implements Projection.
func (Runs) Log() domain.Log { return domain.Activity }

// Apply implements Projection.
func (p Runs) Apply(tx Tx, ev domain.Recorded) error { return p.ApplyGroup(tx, []domain.Recorded{ev}) }

// ApplyGroup implements Grouped.
func (p Runs) ApplyGroup(tx Tx, events []domain.Recorded) error {
	w := runsTx{tx, events[0].Stream.Scope, &runsGroup{}}
	for _, ev := range events {
		if gone, ok := ev.Data.(activity.Dropped); ok {
			w.last = "" // its row may change
			if err := w.storeCounts(); err != nil {
				return err
			}
			if err := p.drop(tx, gone); err != nil {
				return err
			}
			continue
		}
		if err := w.apply(ev); err != nil {
			return err
		}
	}
	return errors.Join(w.storeCounts(), w.putEvents(groupOf(events[0])))
}

// apply changes the rows that an event concerns.
func (w runsTx) apply(ev domain.Recorded) error {
	if run := ev.Meta.CorrelationID; !isIndexable(run) {
		return nil // the event belongs to no run
	}
	switch e := ev.Data.(type) {
	case activity.TreeStarted:
		return w.addFact(startOfTree(ev, e))
	case activity.Executed:
		if err := w.endWaits(ev, e.ExecutionID); err != nil {
			return err
		}
		if e.ParentExecutionID != "" {
			return w.countExecution(ev, e)
		}
		return w.addFact(endOfTree(ev, e))
	case activity.WaitPending:
		return w.startWait(ev, e)
	case activity.WaitKept:
		return w.putWait(ev, activity.WaitPending(e))
	case activity.WaitFulfilled:
		return errors.Join(w.endWait(ev, e.ID), w.recordWaitEnd(ev, e.ID))
	case activity.WaitExpired:
		return errors.Join(w.endWait(ev, e.ID), w.recordWaitEnd(ev, e.ID))
	}
	return nil
}

// runsTx reads and writes the rows of one workspace in a transaction.
type runsTx struct {
	tx          Tx
	workspaceID string
	*runsGroup
}

// runsGroup is what is kept while the events of one message are applied.
type runsGroup struct {
	events  []runEvent        // that are recorded with the next putEvents
	counts  map[counter]int64 // changes of counters, for the next storeCounts
	last    string            // the run that was read or written last
	lastRow runRow
}

// The kinds of events that rows depend on.
const (
	eventOfTree    byte = 'T' // a tree started or ended
	eventOfCall    byte = 'N' // an execution ended that another one called
	eventOfWait    byte = 'P' // a wait started
	eventOfWaitEnd byte = 'E' // a wait ended
)

// runEvent is an event that rows depend on: its kind, and which tree, run or wait it is about. In the row of
// its group it is the distance of its sequence from that of the group, the kind, and the length of the rest.
type runEvent struct {
	seq  uint64
	kind byte
	rest string
}

// recordEvent adds an event to those that rows depend on.
func (w runsTx) recordEvent(seq uint64, kind byte, rest string) {
	w.events = append(w.events, runEvent{seq, kind, rest})
}

// putEvents stores the events that were recorded, which are of one group.
func (w runsTx) putEvents(group uint64) error {
	if len(w.events) == 0 {
		return nil
	}
	key := scopedKey('s', w.workspaceID, seqKey(group))
	row, err := w.tx.getOfMessage(key)
	if err != nil {
		return err
	}
	return w.tx.Set(key, appendRunEvents(row, group, w.events))
}

func appendRunEvents(row []byte, group uint64, events []runEvent) []byte {
	for _, e := range events {
		row = binary.AppendUvarint(append(row, byte(group-e.seq), e.kind), uint64(len(e.rest)))
		row = append(row, e.rest...)
	}
	return row
}

// parseRunEvents returns the events in the row of a group.
func parseRunEvents(group uint64, row []byte) (events []runEvent, err error) {
	for len(row) > 0 {
		if len(row) < 3 {
			return nil, errRunEvents
		}
		e := runEvent{seq: group - uint64(row[0]), kind: row[1]}
		length, n := binary.Uvarint(row[2:])
		if n <= 0 || length > uint64(len(row)-2-n) {
			return nil, errRunEvents
		}
		e.rest, row = string(row[2+n:2+n+int(length)]), row[2+n+int(length):]
		events = append(events, e)
	}
	return events, nil
}

var errRunEvents = errors.New("runs: a row of events is damaged")

// tally is what trees and executions add up to in a run.
type tally struct {
	Trees      int
	Open       int // unfinished trees
	Waiting    int // executions that wait for an event or time
	Failed     int
	Cancelled  int
	Executions int // ended executions
	Recorded   int
	Truncated  int
}

// add adds o to a tally, or subtracts it when by is -1.
func (t tally) add(o tally, by int) tally {
	return tally{
		t.Trees + by*o.Trees, t.Open + by*o.Open, t.Waiting + by*o.Waiting, t.Failed + by*o.Failed, t.Cancelled + by*o.Cancelled,
		t.Executions + by*o.Executions, t.Recorded + by*o.Recorded, t.Truncated + by*o.Truncated,
	}
}

// How much of an execution is in its recording.
const (
	notRecorded = iota
	wholeRecorded
	partRecorded
)

// recordedPartly is the value of "recorded" when the recording was truncated.
const recordedPartly = "truncated"

func recordedState(value any) int {
	switch value {
	case true:
		return wholeRecorded
	case recordedPartly:
		return partRecorded
	}
	return notRecorded
}

// executionTally returns what an ended execution adds to a tally.
func executionTally(recorded int) tally {
	t := tally{Executions: 1}
	switch recorded {
	case wholeRecorded:
		t.Recorded = 1
	case partRecorded:
		t.Truncated = 1
	}
	return t
}

// countExecution adds an ended execution, which another one called, to its run.
func (w runsTx) countExecution(ev domain.Recorded, e activity.Executed) error {
	as := recordedState(e.Recorded)
	w.recordEvent(ev.Seq, eventOfCall, string(rune(as))+ev.Meta.CorrelationID)
	return w.updateRun(ev.Meta.CorrelationID, func(r *runRow) { r.tally = r.add(executionTally(as), 1) })
}

// drop subtracts what erased events added.
func (p Runs) drop(tx Tx, gone activity.Dropped) error {
	w := runsTx{tx, gone.WorkspaceID, &runsGroup{}}
	again := map[string]bool{}
	touched := activity.Dropped{WorkspaceID: gone.WorkspaceID, From: gone.From, To: lastGroupWith(gone.To)}
	err := eachErased(tx, 's', touched, func(key, value []byte) error {
		group := binary.BigEndian.Uint64(key[len(key)-8:])
		events, err := parseRunEvents(group, value)
		var left []runEvent
		for _, e := range events {
			switch {
			case err != nil:
				return err
			case e.seq < gone.From || e.seq > gone.To:
				left = append(left, e)
			default:
				err = w.dropEvent(e, again)
			}
		}
		switch {
		case err != nil || len(left) == len(events):
			return err
		case len(left) == 0:
			return tx.Delete(key)
		}
		return tx.Set(key, appendRunEvents(nil, group, left))
	})
	for _, run := range slices.Sorted(maps.Keys(again)) {
		if err == nil {
			err = w.refreshRun(run)
		}
	}
	return errors.Join(err, w.storeCounts())
}

// dropEvent subtracts what an erased event added. again gets the runs that must be described anew.
func (w runsTx) dropEvent(e runEvent, again map[string]bool) error {
	switch {
	case e.kind == eventOfTree:
		return w.removeFact(e.rest, e.seq, again)
	case e.kind == eventOfWait:
		return w.deleteWait(e.rest, e.seq)
	case e.kind == eventOfWaitEnd:
		return w.deleteWaitEnd(e.rest, e.seq)
	case e.kind == eventOfCall && len(e.rest) > 1:
		return w.updateRun(e.rest[1:], func(r *runRow) { r.tally = r.add(executionTally(int(e.rest[0])), -1) })
	}
	return fmt.Errorf("runs: event %d has the unknown kind %q", e.seq, e.kind)
}

// parseMillis parses a timestamp of the API as milliseconds; 0 when it is not valid.
func parseMillis(stamp string) int64 {
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return 0
	}
	return max(0, at.UnixMilli())
}

// RunStatus is the status of a run.
type RunStatus string

// The statuses of a run.
const (
	RunRunning   RunStatus = "running"
	RunWaiting   RunStatus = "waiting" // every unfinished tree waits for an event or a time
	RunSucceeded RunStatus = "succeeded"
	RunFailed    RunStatus = "failed" // one of its trees failed
	RunCancelled RunStatus = "cancelled"
)

// RunStatuses lists the statuses of runs.
func RunStatuses() []RunStatus {
	return []RunStatus{RunRunning, RunWaiting, RunSucceeded, RunFailed, RunCancelled}
}

// runRow is the stored row of a run.
type runRow struct {
	tally
	First runBegin // of the first tree; sequence 0 when there is none
	End   runEnd   // of the last tree that ended; sequence 0 when there is none
	Tree  treeRow  // the only tree, when the run owns it; without facts when it has a row of its own
}

// runEnd is when a tree ended.
type runEnd struct {
	Seq uint64
	At  int64 // ms
}

// addFact updates first start and last end of the run with a fact that is newer than both.
func (r *runRow) addFact(f treeFact) {
	if r.First.Seq == 0 {
		r.First = f.runBegin
	}
	if f.Ended == 1 {
		r.End = runEndOf(f)
	}
}

func runEndOf(f treeFact) runEnd { return runEnd{f.Seq, f.StartedAt + f.Duration} }

// status computes the status from the tally.
func (r runRow) status() RunStatus {
	switch {
	case r.Open > 0 && r.Waiting >= r.Open:
		return RunWaiting
	case r.Open > 0:
		return RunRunning
	case r.Failed > 0:
		return RunFailed
	case r.Cancelled > 0:
		return RunCancelled
	}
	return RunSucceeded
}

// exists reports whether the run has a tree.
func (r runRow) exists() bool { return r.First.Seq > 0 && r.Trees > 0 }

// entries returns the keys of the run in the lists of runs.
func (r runRow) entries(workspaceID, run string) (keys [][]byte) {
	if !r.exists() {
		return nil
	}
	timeKey := append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(run)), uint64(r.First.StartedAt)), run...)
	keys = append(make([][]byte, 0, 2), scopedKey('l', workspaceID, timeKey))
	if isIndexable(r.First.Automation) {
		keys = append(keys, listKey('a', workspaceID, r.First.Automation, timeKey))
	}
	return keys
}

// counter counts the runs of an automation, "" for all, that have a status.
type counter struct {
	automation string
	status     RunStatus
}

func runKey(workspaceID, run string) []byte { return scopedKey('r', workspaceID, []byte(run)) }

func runCounterKey(workspaceID, automationSlug string, status RunStatus) []byte {
	return listKey('n', workspaceID, automationSlug, []byte(status))
}

// run reads the row of a run; the zero row when there is none.
func (w runsTx) run(id string) (row runRow, err error) {
	if id == w.last && id != "" {
		return w.lastRow, nil
	}
	value, ok, err := w.tx.Get(runKey(w.workspaceID, id))
	if _, err = decodeRunRow(value, ok, err, id, &row); err == nil {
		w.last, w.lastRow = id, row
	}
	return row, err
}

// updateRun changes a run.
func (w runsTx) updateRun(run string, change func(*runRow)) error {
	old, err := w.run(run)
	if err != nil {
		return err
	}
	now := old
	change(&now)
	if now.tally == (tally{}) {
		now = runRow{}
	}
	if err := w.updateLists(run, old, now); err != nil {
		return err
	}
	w.last, w.lastRow = run, now
	if now.tally == (tally{}) {
		return w.tx.Delete(runKey(w.workspaceID, run))
	}
	return w.tx.Set(runKey(w.workspaceID, run), now.encode())
}

// updateLists updates the lists and counters of runs after a change of one run.
func (w runsTx) updateLists(run string, old, now runRow) error {
	had, has := old.exists(), now.exists()
	same := had && has && old.First.StartedAt == now.First.StartedAt && old.First.Automation == now.First.Automation
	if !had && !has || same && old.status() == now.status() {
		return nil
	}
	if had && !same {
		if err := deleteKeys(w.tx, old.entries(w.workspaceID, run)...); err != nil {
			return err
		}
	}
	if has {
		status := []byte(now.status())
		for _, key := range now.entries(w.workspaceID, run) {
			if err := w.tx.Set(key, status); err != nil {
				return err
			}
		}
	}
	w.count(old, -1)
	w.count(now, 1)
	return nil
}

// count adds a run to its counters, or subtracts it when by is -1, with the next storeCounts.
func (w runsTx) count(r runRow, by int64) {
	if !r.exists() {
		return
	}
	if w.counts == nil {
		w.counts = map[counter]int64{}
	}
	w.counts[counter{"", r.status()}] += by
	if isIndexable(r.First.Automation) {
		w.counts[counter{r.First.Automation, r.status()}] += by
	}
}

// storeCounts changes the counters.
func (w runsTx) storeCounts() error {
	for of, by := range w.counts {
		if by == 0 {
			continue
		}
		key := runCounterKey(w.workspaceID, of.automation, of.status)
		value, _, err := w.tx.Get(key)
		if err != nil {
			return err
		}
		if err := w.setCount(key, parseCount(value)+by); err != nil {
			return err
		}
	}
	clear(w.counts)
	return nil
}

func (w runsTx) setCount(key []byte, n int64) error {
	if n <= 0 {
		return w.tx.Delete(key)
	}
	return w.tx.Set(key, binary.AppendUvarint(nil, uint64(n)))
}

func parseCount(value []byte) int64 {
	n, _ := binary.Uvarint(value)
	return int64(n)
}

// refreshRun reads first start and last end of a run again, after a fact was removed.
func (w runsTx) refreshRun(run string) error {
	if err := w.joinTree(run); err != nil {
		return err
	}
	first, err := w.findFact(run, false)
	if err != nil {
		return err
	}
	last, err := w.findFact(run, true)
	if err != nil {
		return err
	}
	return w.updateRun(run, func(r *runRow) { r.First, r.End = first.runBegin, runEndOf(last) })
}

// findFact returns the first fact of a run, or with ended the last end of a tree; the zero
// fact when there is none.
func (w runsTx) findFact(run string, ended bool) (f treeFact, err error) {
	if r, err := w.run(run); err != nil || r.Tree.exists() {
		return r.Tree.fact(ended), err
	}
	prefix := listKey('o', w.workspaceID, run, nil)
	var seq uint64
	tree := ""
	err = w.tx.Iterate(Span{Prefix: prefix, Reverse: ended}, func(key, value []byte) (bool, error) {
		if len(value) == 0 || ended && value[0] != factEnd {
			return true, nil
		}
		seq, tree = binary.BigEndian.Uint64(key[len(prefix):]), string(value[1:])
		return false, nil
	})
	if err != nil || tree == "" {
		return f, err
	}
	row, err := w.tree(tree)
	if i := slices.IndexFunc(row.Facts, func(f treeFact) bool { return f.Seq == seq }); i >= 0 {
		f = row.Facts[i]
	}
	return f, err
}

// treeRow is the stored row of a tree. A tree that an event or a schedule started is started
// again after an interruption: it stays the same tree.
type treeRow struct{ Facts []treeFact } // in the order of the log

// treeFact is the start or the end of a tree.
type treeFact struct {
	runBegin
	Run      string
	Attempt  int    // of a start
	Replica  string // of a start
	Ended    int    // 1: this is an end
	Duration int64  // of an end, ms
	Error    string // of an end: the name of the uncaught error
	Recorded int    // of an end: notRecorded, wholeRecorded or partRecorded
}

// runBegin is the start of a tree, and of the run if it is the first tree.
type runBegin struct {
	Seq         uint64 // of the event
	StartedAt   int64  // ms
	ExecutionID string // of the first execution
	Automation  string
	Trigger     activity.Trigger
	Source      domain.Meta // what permissions on events depend on; see sourceOf
}

func startOfTree(ev domain.Recorded, e activity.TreeStarted) treeFact {
	return treeFact{
		runBegin: runBegin{ev.Seq, parseMillis(e.StartedAt), e.ExecutionID, e.Automation, e.Trigger, sourceOf(ev.Meta)},
		Run:      ev.Meta.CorrelationID, Attempt: e.Attempt, Replica: e.Replica,
	}
}

func endOfTree(ev domain.Recorded, e activity.Executed) treeFact {
	f := treeFact{
		runBegin: runBegin{ev.Seq, parseMillis(e.StartedAt), e.ExecutionID, e.Slug, activity.DecodeTrigger(e.Trigger), sourceOf(ev.Meta)},
		Run:      ev.Meta.CorrelationID, Ended: 1, Duration: e.Duration, Recorded: recordedState(e.Recorded),
	}
	if e.Error != nil {
		f.Error = e.Error.Error
	}
	return f
}

// sourceOf returns the metadata of an event that is stored: who caused it.
func sourceOf(m domain.Meta) domain.Meta {
	return domain.Meta{
		UserID: m.UserID, SessionID: m.SessionID, IP: m.IP, SocketID: m.SocketID, AutomationSlug: m.AutomationSlug,
		AutomationDepth: m.AutomationDepth, AppSlug: m.AppSlug, AppInstance: m.AppInstance, AppDepth: m.AppDepth,
	}
}

// treeKey returns the key of the tree of a fact: the event that started it, which stays the
// same when the tree is started again, or else its first execution and its run, which owns it.
func (f treeFact) treeKey() string {
	if f.Trigger.ID != "" && (f.Trigger.Type == activity.ByEvent || f.Trigger.Type == activity.BySchedule) {
		return triggeredKey(f.Trigger.ID, f.Automation)
	}
	return "x" + f.ExecutionID + "\x01" + f.Run
}

// ownerOf returns the run that owns a tree; "" when an event or a schedule started it: then it may be started again in
// another run.
func ownerOf(treeKey string) (run string) {
	if strings.HasPrefix(treeKey, "x") {
		_, run, _ = strings.Cut(treeKey, "\x01")
	}
	return run
}

func triggeredKey(triggerID, automationSlug string) string {
	return "e" + triggerID + "\x01" + automationSlug
}

// exists reports whether there is such a tree.
func (r treeRow) exists() bool { return len(r.Facts) > 0 }

// is reports whether the tree exists and has a key.
func (r treeRow) is(key string) bool { return r.exists() && r.Facts[0].treeKey() == key }

// fact returns the first fact, or with ended the last end; the zero fact when there is none.
func (r treeRow) fact(ended bool) (f treeFact) {
	if !ended && r.exists() {
		return r.Facts[0]
	}
	for _, f := range slices.Backward(r.Facts) {
		if f.Ended == 1 {
			return f
		}
	}
	return f
}

// with returns the tree with one more fact.
func (r treeRow) with(f treeFact) treeRow { return treeRow{append(slices.Clone(r.Facts), f)} }

// without returns the tree without the fact at a sequence.
func (r treeRow) without(seq uint64) treeRow {
	return treeRow{slices.DeleteFunc(slices.Clone(r.Facts), func(f treeFact) bool { return f.Seq == seq })}
}

// run returns the run of the tree. A tree that is started again may move to another run.
func (r treeRow) run() string {
	if len(r.Facts) == 0 {
		return ""
	}
	return r.Facts[len(r.Facts)-1].Run
}

// open reports whether the tree is unfinished. Its start may be recorded again just after it
// has ended, so the end is not necessarily the last fact.
func (r treeRow) open() bool {
	if len(r.Facts) == 0 {
		return false
	}
	last := r.Facts[len(r.Facts)-1].ExecutionID
	return !slices.ContainsFunc(r.Facts, func(f treeFact) bool { return f.Ended == 1 && f.ExecutionID == last })
}

// tally returns what the tree adds to its run.
func (r treeRow) tally() (t tally) {
	if len(r.Facts) == 0 {
		return t
	}
	failure := ""
	for _, f := range r.Facts {
		if f.Ended == 1 {
			t, failure = t.add(executionTally(f.Recorded), 1), f.Error
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

// indexEntry is a key with its value.
type indexEntry struct{ key, value []byte }

// indexes returns the index entries of a tree.
func (r treeRow) indexes(workspaceID, key string) (entries []indexEntry) {
	for _, f := range r.Facts {
		kind := factStart
		if f.Ended == 1 {
			kind = factEnd
		}
		entries = append(entries, indexEntry{listKey('o', workspaceID, r.run(), seqKey(f.Seq)), append([]byte{kind}, key...)})
	}
	return append(entries, r.unfinished(workspaceID, key)...)
}

// unfinished returns the index entry of an unfinished tree.
func (r treeRow) unfinished(workspaceID, key string) []indexEntry {
	if !r.open() {
		return nil
	}
	return []indexEntry{{scopedKey('u', workspaceID, []byte(key)), nil}}
}

// The kind of a fact in the list of its run.
const (
	factStart byte = 'S'
	factEnd   byte = 'E'
)

func treeRowKey(workspaceID, key string) []byte { return scopedKey('t', workspaceID, []byte(key)) }

// tree reads the row of a tree; the zero row when there is none.
func (w runsTx) tree(key string) (row treeRow, err error) {
	value, ok, err := w.tx.Get(treeRowKey(w.workspaceID, key))
	_, err = decodeRow(value, ok, err, &row)
	return row, err
}

// addFact adds a fact to its tree.
func (w runsTx) addFact(f treeFact) error {
	key := f.treeKey()
	owner := ownerOf(key)
	if !isIndexable(strings.TrimSuffix(key, owner)) || owner != "" && owner != f.Run {
		return nil // the platform makes no such key
	}
	run, err := w.run(f.Run)
	if err != nil {
		return err
	}
	w.recordEvent(f.Seq, eventOfTree, key)
	if owner != "" && run.Trees == 0 || run.Tree.is(key) {
		return w.changeOwned(key, run.Tree, run.Tree.with(f), func(r *runRow) { r.addFact(f) })
	}
	if err := w.partTree(f.Run); err != nil {
		return err
	}
	old, err := w.tree(key)
	if err != nil {
		return err
	}
	now := old.with(f)
	if err := w.putTree(key, old, now); err != nil {
		return err
	}
	if old.run() == "" || old.run() == f.Run {
		return w.updateRun(f.Run, func(r *runRow) {
			r.tally = r.add(old.tally(), -1).add(now.tally(), 1)
			r.addFact(f)
		})
	}
	if err := w.moveTree(old, now); err != nil {
		return err
	}
	return errors.Join(w.refreshRun(old.run()), w.refreshRun(f.Run))
}

// removeFact removes an erased fact from its tree, and adds the runs that must be refreshed
// to again.
func (w runsTx) removeFact(key string, seq uint64, again map[string]bool) error {
	if owner := ownerOf(key); owner != "" {
		run, err := w.run(owner)
		if err != nil {
			return err
		}
		if run.Tree.is(key) {
			again[owner] = true
			return w.changeOwned(key, run.Tree, run.Tree.without(seq), func(*runRow) {})
		}
	}
	old, err := w.tree(key)
	if err != nil {
		return err
	}
	now := old.without(seq)
	for _, row := range []treeRow{old, now} {
		if row.run() != "" {
			again[row.run()] = true
		}
	}
	if now.run() != "" && now.run() != old.run() { // where another tree may be the only one
		if err := w.partTree(now.run()); err != nil {
			return err
		}
	}
	if err := w.putTree(key, old, now); err != nil {
		return err
	}
	return w.moveTree(old, now)
}

// changeOwned replaces the tree in the row of its run, and changes the row.
func (w runsTx) changeOwned(key string, old, now treeRow, change func(*runRow)) error {
	if err := w.replaceEntries(old.unfinished(w.workspaceID, key), now.unfinished(w.workspaceID, key)); err != nil {
		return err
	}
	return w.updateRun(ownerOf(key), func(r *runRow) {
		r.tally, r.Tree = r.add(old.tally(), -1).add(now.tally(), 1), now
		change(r)
	})
}

// partTree gives the tree in the row of a run a row of its own, because the run gets another one.
func (w runsTx) partTree(run string) error {
	row, err := w.run(run)
	if err != nil || !row.Tree.exists() {
		return err
	}
	if err := w.putTree(row.Tree.Facts[0].treeKey(), treeRow{}, row.Tree); err != nil {
		return err
	}
	return w.updateRun(run, func(r *runRow) { r.Tree = treeRow{} })
}

// joinTree moves the tree of a run into its row when it is the only one that is left, and the run owns it.
func (w runsTx) joinTree(run string) error {
	row, err := w.run(run)
	if err != nil || row.Trees != 1 || row.Tree.exists() {
		return err
	}
	f, err := w.findFact(run, false)
	if err != nil || f.Seq == 0 {
		return err
	}
	key := f.treeKey()
	if ownerOf(key) == "" {
		return nil
	}
	tree, err := w.tree(key)
	if err != nil {
		return err
	}
	if err := w.putTree(key, tree, treeRow{}); err != nil {
		return err
	}
	if err := w.replaceEntries(nil, tree.unfinished(w.workspaceID, key)); err != nil {
		return err
	}
	return w.updateRun(run, func(r *runRow) { r.Tree = tree })
}

// putTree replaces the row of a tree and its index entries.
func (w runsTx) putTree(key string, old, now treeRow) error {
	if err := w.replaceEntries(old.indexes(w.workspaceID, key), now.indexes(w.workspaceID, key)); err != nil {
		return err
	}
	if len(now.Facts) == 0 {
		return w.tx.Delete(treeRowKey(w.workspaceID, key))
	}
	return w.tx.Set(treeRowKey(w.workspaceID, key), now.encode())
}

// replaceEntries deletes the index entries of a tree as it was, and stores those of what it is.
func (w runsTx) replaceEntries(was, is []indexEntry) error {
	among := func(e indexEntry, others []indexEntry) bool {
		return slices.ContainsFunc(others, func(o indexEntry) bool { return bytes.Equal(o.key, e.key) })
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
	return nil
}

// moveTree subtracts the old tally of a tree from its old run, and adds the new one to its new
// run. The caller refreshes both runs.
func (w runsTx) moveTree(old, now treeRow) error {
	for _, row := range []struct {
		treeRow
		by int
	}{{now, 1}, {old, -1}} { // add first: a run whose tally becomes zero loses its start
		if row.run() == "" {
			continue
		}
		if err := w.updateRun(row.run(), func(r *runRow) { r.tally = r.add(row.tally(), row.by) }); err != nil {
			return err
		}
	}
	return nil
}

// waitRow is the stored row of a wait. An ended wait is stored only if it cancels triggers.
type waitRow struct {
	Run         string    `json:"run"`
	ExecutionID string    `json:"executionId"`
	Seq         uint64    `json:"seq"` // of its start
	At          time.Time `json:"at"`
	EndSeq      uint64    `json:"endSeq,omitempty"`
	EndAt       time.Time `json:"endAt,omitzero"`
	ExpiresAt   int64     `json:"expiresAt"`         // ms
	Cancels     bool      `json:"cancels,omitempty"` // the condition is stored under 'x'
}

// waitConditionKey is the key of the condition of a wait that cancels triggers. It is not part
// of the row, which is written again when the wait ends: one event may end many waits.
func waitConditionKey(workspaceID, id string) []byte { return scopedKey('x', workspaceID, []byte(id)) }

func waitKey(workspaceID, id string) []byte { return scopedKey('w', workspaceID, []byte(id)) }

// executionWaitKey is the key of a pending wait of an execution; with an empty id, the prefix
// of all of them.
func executionWaitKey(workspaceID, run, executionID, id string) []byte {
	return listKey('v', workspaceID, run, []byte(executionID+"\x00"+id))
}

// waitCountKey is the key of the number of pending waits of an execution.
func waitCountKey(workspaceID, run, executionID string) []byte {
	return listKey('h', workspaceID, run, []byte(executionID))
}

func cancellingKey(workspaceID, id string) []byte { return scopedKey('p', workspaceID, []byte(id)) }

func cancelledKey(workspaceID, id string, seq uint64) []byte {
	return scopedKey('q', workspaceID, append(seqKey(seq), id...))
}

// wait reads a wait; ok is false when there is none.
func (w runsTx) wait(id string) (row waitRow, ok bool, err error) {
	err = getJSON(w.tx, waitKey(w.workspaceID, id), &row)
	return row, row.Seq > 0, err
}

// startWait stores a pending wait.
func (w runsTx) startWait(ev domain.Recorded, e activity.WaitPending) error {
	if !isIndexable(e.ID) || !isIndexable(e.ExecutionID) {
		return nil
	}
	before, known, err := w.wait(e.ID)
	wait := PendingWait{
		ID: e.ID, CorrelationID: ev.Meta.CorrelationID, Automation: ev.Meta.AutomationSlug, Since: e.Since.UTC(), Until: e.ExpiresAt, Wait: e.Wait,
	}
	if e.Since.IsZero() {
		wait.Since = ev.At.UTC()
	}
	if err == nil && known && before.EndSeq == 0 { // the start is recorded again
		err = w.removePending(before, e.ID)
	}
	if err != nil {
		return err
	}
	row := waitRow{
		Run: ev.Meta.CorrelationID, ExecutionID: e.ExecutionID, Seq: ev.Seq, At: ev.At.UTC(), ExpiresAt: parseMillis(e.ExpiresAt),
		Cancels: automation.CancelsTriggers(e.Wait),
	}
	w.recordEvent(ev.Seq, eventOfWait, e.ID)
	if err := setJSON(w.tx, waitKey(w.workspaceID, e.ID), row); err != nil {
		return err
	}
	if row.Cancels {
		if err := errors.Join(w.tx.Set(cancellingKey(w.workspaceID, e.ID), nil), w.tx.Set(waitConditionKey(w.workspaceID, e.ID), e.Wait)); err != nil {
			return err
		}
	}
	if err := errors.Join(w.tx.Set(executionWaitKey(w.workspaceID, row.Run, row.ExecutionID, e.ID), nil), setJSON(w.tx, pendingKey(w.workspaceID, e.ID, ev.Seq), wait)); err != nil {
		return err
	}
	return w.changeWaitCount(row, 1)
}

// putWait stores a wait whose start is recorded again because the old event will be erased,
// unless the wait or its run has ended in the meantime.
func (w runsTx) putWait(ev domain.Recorded, e activity.WaitPending) error {
	if !isIndexable(e.ID) {
		return nil
	}
	row, known, err := w.wait(e.ID)
	if err != nil || known && row.EndSeq > 0 {
		return err
	}
	run, err := w.run(ev.Meta.CorrelationID)
	if err != nil || run.Open == 0 {
		return err
	}
	return w.startWait(ev, e)
}

// changeWaitCount changes the number of pending waits of an execution, and with it the number
// of waiting executions of the run.
func (w runsTx) changeWaitCount(row waitRow, by int) error {
	key := waitCountKey(w.workspaceID, row.Run, row.ExecutionID)
	var before int
	err := getJSON(w.tx, key, &before)
	if err != nil {
		return err
	}
	now := before + by
	if now == 0 {
		err = w.tx.Delete(key)
	} else {
		err = setJSON(w.tx, key, now)
	}
	if by = min(now, 1) - min(before, 1); err != nil || by == 0 {
		return err
	}
	return w.updateRun(row.Run, func(r *runRow) { r.Waiting += by })
}

// removePending removes a wait from the pending waits of its execution.
func (w runsTx) removePending(row waitRow, id string) error {
	if err := deleteKeys(w.tx, executionWaitKey(w.workspaceID, row.Run, row.ExecutionID, id), pendingKey(w.workspaceID, id, row.Seq)); err != nil {
		return err
	}
	return w.changeWaitCount(row, -1)
}

// endWait stores the end of a wait.
func (w runsTx) endWait(ev domain.Recorded, id string) error {
	if !isIndexable(id) {
		return nil
	}
	row, ok, err := w.wait(id)
	if err != nil || !ok || row.EndSeq > 0 {
		return err
	}
	if err := w.removePending(row, id); err != nil {
		return err
	}
	if !row.Cancels {
		return w.tx.Delete(waitKey(w.workspaceID, id))
	}
	row.EndSeq, row.EndAt = ev.Seq, ev.At.UTC()
	return errors.Join(
		w.tx.Delete(cancellingKey(w.workspaceID, id)),
		w.tx.Set(cancelledKey(w.workspaceID, id, ev.Seq), nil),
		setJSON(w.tx, waitKey(w.workspaceID, id), row))
}

// endWaits ends the pending waits of an execution that has ended: it was stopped.
func (w runsTx) endWaits(ev domain.Recorded, executionID string) error {
	if !isIndexable(executionID) {
		return nil
	}
	if run, err := w.run(ev.Meta.CorrelationID); err != nil || run.Waiting == 0 {
		return err // no execution of the run waits
	}
	var remaining int
	if err := getJSON(w.tx, waitCountKey(w.workspaceID, ev.Meta.CorrelationID, executionID), &remaining); err != nil || remaining == 0 {
		return err
	}
	var ids []string
	prefix := executionWaitKey(w.workspaceID, ev.Meta.CorrelationID, executionID, "")
	err := w.tx.Iterate(Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		ids = append(ids, string(key[len(prefix):]))
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := w.endWait(ev, id); err != nil {
			return err
		}
	}
	return nil
}

// deleteWait deletes a wait whose start was erased, unless the start was recorded again.
func (w runsTx) deleteWait(id string, seq uint64) error {
	row, ok, err := w.wait(id)
	if err != nil || !ok || row.Seq != seq {
		return err
	}
	if row.EndSeq == 0 {
		if err := w.removePending(row, id); err != nil {
			return err
		}
	}
	return deleteKeys(w.tx, waitKey(w.workspaceID, id), waitConditionKey(w.workspaceID, id), cancellingKey(w.workspaceID, id), cancelledKey(w.workspaceID, id, row.EndSeq))
}

// CancellingWait is a wait that cancels triggers: events that match its condition start no
// automation if they are recorded between its start and its end.
type CancellingWait struct {
	Seq       uint64 // of its start in ACTIVITY
	ExpiresAt time.Time
	Wait      json.RawMessage // as the instruction has it
}

// Waits visits the waits of a workspace that cancel triggers: the pending ones with end 0,
// then those that ended at sequence since or later, until visit returns false.
func (p Runs) Waits(r Reader, workspaceID string, since uint64, visit func(id string, end uint64) (more bool, err error)) error {
	more := true
	prefix := scopedKey('p', workspaceID, nil)
	err := r.Iterate(p, Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (_ bool, err error) {
		more, err = visit(string(key[len(prefix):]), 0)
		return more, err
	})
	if err != nil || !more {
		return err
	}
	prefix = scopedKey('q', workspaceID, nil)
	return r.Iterate(p, Span{Prefix: prefix, From: scopedKey('q', workspaceID, seqKey(since)), KeysOnly: true}, func(key, _ []byte) (bool, error) {
		rest := key[len(prefix):]
		return visit(string(rest[8:]), binary.BigEndian.Uint64(rest))
	})
}

// Cancelling returns a wait that cancels triggers; ok is false when there is none.
func (p Runs) Cancelling(r Reader, workspaceID, id string) (w CancellingWait, ok bool, err error) {
	var row waitRow
	if ok, err = p.read(r, waitKey(workspaceID, id), &row); err != nil || !ok {
		return w, false, err
	}
	wait, _, err := r.Get(p, waitConditionKey(workspaceID, id))
	return CancellingWait{row.Seq, time.UnixMilli(row.ExpiresAt).UTC(), wait}, err == nil, err
}

// Pending reports whether a wait is pending.
func (p Runs) Pending(r Reader, workspaceID, id string) (bool, error) {
	if !isIndexable(id) {
		return false, nil
	}
	var row waitRow
	ok, err := p.read(r, waitKey(workspaceID, id), &row)
	return ok && row.EndSeq == 0, err
}

// read reads a row; ok is false when there is none.
func (p Runs) read(r Reader, key []byte, into any) (ok bool, err error) {
	value, ok, err := r.Get(p, key)
	if err != nil || !ok {
		return false, err
	}
	return true, json.Unmarshal(value, into)
}

// PendingWait is a wait that has not ended.
type PendingWait struct {
	ID            string          `json:"id"`
	CorrelationID string          `json:"correlationId"`
	Automation    string          `json:"automation"`
	Since         time.Time       `json:"since"`
	Until         string          `json:"until"`
	Wait          json.RawMessage `json:"wait,omitempty"` // as the instruction has it
}

func pendingKey(workspaceID, id string, seq uint64) []byte {
	return scopedKey('y', workspaceID, append(seqKey(seq), id...))
}

func endedWaitKey(workspaceID, id string) []byte { return scopedKey('e', workspaceID, []byte(id)) }

// recordWaitEnd stores that a wait has ended, for as long as its last event is in the log.
func (w runsTx) recordWaitEnd(ev domain.Recorded, id string) error {
	if !isIndexable(id) {
		return nil
	}
	w.recordEvent(ev.Seq, eventOfWaitEnd, id)
	return w.tx.Set(endedWaitKey(w.workspaceID, id), seqKey(ev.Seq))
}

// deleteWaitEnd deletes that a wait has ended, unless a later event says so too.
func (w runsTx) deleteWaitEnd(id string, seq uint64) error {
	last, ok, err := w.tx.Get(endedWaitKey(w.workspaceID, id))
	if err != nil || !ok || !bytes.Equal(last, seqKey(seq)) {
		return err
	}
	return w.tx.Delete(endedWaitKey(w.workspaceID, id))
}

// PendingWaits visits the pending waits of a workspace, the oldest first, until visit returns
// false.
func (p Runs) PendingWaits(r Reader, workspaceID string, visit func(PendingWait) (more bool)) error {
	return r.Iterate(p, Span{Prefix: scopedKey('y', workspaceID, nil)}, func(_, value []byte) (bool, error) {
		var wait PendingWait
		if err := json.Unmarshal(value, &wait); err != nil {
			return false, err
		}
		return visit(wait), nil
	})
}

// PendingWait returns a pending wait; ended is true when the wait has ended.
func (p Runs) PendingWait(r Reader, workspaceID, id string) (wait PendingWait, pending, ended bool, err error) {
	if !isIndexable(id) {
		return wait, false, false, nil
	}
	var row waitRow
	ok, err := p.read(r, waitKey(workspaceID, id), &row)
	if err != nil {
		return wait, false, false, err
	}
	if ok && row.EndSeq == 0 {
		pending, err = p.read(r, pendingKey(workspaceID, id, row.Seq), &wait)
		return wait, pending, false, err
	}
	_, ended, err = r.Get(p, endedWaitKey(workspaceID, id))
	return wait, false, ended || ok, err
}

// Needed is an event that unfinished trees need in order to continue.
type Needed struct {
	Seq   uint64
	Trees []UnfinishedTree // at least one of them needs the event
}

// Needed lists the events of a workspace with sequences from one to another, both included,
// that unfinished trees need: the last start of each tree, and the starts of pending waits.
func (p Runs) Needed(r Reader, workspaceID string, from, to uint64) (all []Needed, err error) {
	open := map[string][]UnfinishedTree{} // by run
	prefix := scopedKey('s', workspaceID, nil)
	err = r.Iterate(p, Span{Prefix: prefix, From: scopedKey('s', workspaceID, seqKey(from))}, func(key, value []byte) (bool, error) {
		group := binary.BigEndian.Uint64(key[len(prefix):])
		if group > lastGroupWith(to) {
			return false, nil
		}
		events, err := parseRunEvents(group, value)
		for _, e := range events {
			if err != nil || e.seq < from || e.seq > to {
				continue
			}
			var trees []UnfinishedTree
			if trees, err = p.treesNeeding(r, workspaceID, e.seq, e.kind, e.rest, open); len(trees) > 0 {
				all = append(all, Needed{e.seq, trees})
			}
		}
		return err == nil, err
	})
	return all, err
}

// treesNeeding returns the trees that may need the event at a sequence, which has a kind and is
// about the tree or wait of. An event that was recorded again since then is not needed.
func (p Runs) treesNeeding(r Reader, workspaceID string, seq uint64, kind byte, of string, open map[string][]UnfinishedTree) ([]UnfinishedTree, error) {
	switch kind {
	case eventOfTree:
		t, ok, err := p.openTree(r, workspaceID, of)
		if err != nil || !ok || t.first.Seq != seq {
			return nil, err
		}
		return []UnfinishedTree{t}, nil
	case eventOfWait:
		var row waitRow
		ok, err := p.read(r, waitKey(workspaceID, of), &row)
		if err != nil || !ok || row.EndSeq > 0 || row.Seq != seq {
			return nil, err
		}
		if _, known := open[row.Run]; !known {
			open[row.Run], err = p.Open(r, workspaceID, row.Run, math.MaxInt)
		}
		return open[row.Run], err
	}
	return nil, nil
}

// Rows of runs are read and written with every event of a run, and JSON would dominate the cost.
// A row is the concatenation of its fields: strings and varints.

var errRunsRow = errors.New("a row of runs is damaged")

// rowCodec encodes or decodes the fields of a row, in the order in which they are stored.
type rowCodec struct {
	row     []byte // what is encoded so far, or what is left to decode
	decodes bool
	err     error
}

// usualRow is how long most rows are at most.
const usualRow = 256

func (c *rowCodec) text(v *string) {
	if !c.decodes {
		c.row = append(binary.AppendUvarint(c.row, uint64(len(*v))), *v...)
		return
	}
	length, n := binary.Uvarint(c.row)
	if n <= 0 || uint64(len(c.row)-n) < length {
		c.fail()
		return
	}
	*v, c.row = string(c.row[n:n+int(length)]), c.row[n+int(length):]
}

func (c *rowCodec) uint64(v *uint64) {
	if !c.decodes {
		c.row = binary.AppendUvarint(c.row, *v)
		return
	}
	number, n := binary.Uvarint(c.row)
	if n <= 0 {
		c.fail()
		return
	}
	*v, c.row = number, c.row[n:]
}

func (c *rowCodec) int64(v *int64) {
	if !c.decodes {
		c.row = binary.AppendVarint(c.row, *v)
		return
	}
	number, n := binary.Varint(c.row)
	if n <= 0 {
		c.fail()
		return
	}
	*v, c.row = number, c.row[n:]
}

func (c *rowCodec) int(v *int) {
	number := int64(*v)
	c.int64(&number)
	*v = int(number)
}

// fail says that the row is damaged: nothing more is decoded.
func (c *rowCodec) fail() { c.row, c.err = nil, errRunsRow }

func (t *tally) fields(c *rowCodec) {
	for _, n := range [...]*int{&t.Trees, &t.Open, &t.Waiting, &t.Failed, &t.Cancelled, &t.Executions, &t.Recorded, &t.Truncated} {
		c.int(n)
	}
}

func (b *runBegin) fields(c *rowCodec) {
	c.uint64(&b.Seq)
	c.int64(&b.StartedAt)
	t, s := &b.Trigger, &b.Source
	for _, text := range [...]*string{
		&b.ExecutionID, &b.Automation, &t.Type, &t.Value, &t.ID, &t.AppInstanceSlug, &s.UserID, &s.SessionID, &s.IP, &s.SocketID, &s.AutomationSlug,
	} {
		c.text(text)
	}
	c.int(&s.AutomationDepth)
	c.text(&s.AppSlug)
	c.text(&s.AppInstance)
	c.int(&s.AppDepth)
}

func (f *treeFact) fields(c *rowCodec) {
	f.runBegin.fields(c)
	c.text(&f.Run)
	f.ownFields(c)
}

// ownFields encodes or decodes what a fact has besides its run and its beginning.
func (f *treeFact) ownFields(c *rowCodec) {
	c.int(&f.Attempt)
	c.text(&f.Replica)
	c.int(&f.Ended)
	c.int64(&f.Duration)
	c.text(&f.Error)
	c.int(&f.Recorded)
}

func (r treeRow) encode() []byte {
	c := rowCodec{row: make([]byte, 0, usualRow)}
	for i := range r.Facts {
		r.Facts[i].fields(&c)
	}
	return c.row
}

func (r *treeRow) decode(row []byte) error {
	c := rowCodec{row: row, decodes: true}
	for len(c.row) > 0 {
		var f treeFact
		f.fields(&c)
		r.Facts = append(r.Facts, f)
	}
	return c.err
}

func (r *runRow) fields(c *rowCodec) {
	r.tally.fields(c)
	r.First.fields(c)
	c.uint64(&r.End.Seq)
	c.int64(&r.End.At)
}

// treeFields encodes or decodes a fact of the tree of the run. The beginning of the run is that of its first fact, and
// is stored once.
func (r *runRow) treeFields(c *rowCodec, f *treeFact) {
	apart := 0
	if f.runBegin != r.First {
		apart = 1
	}
	if c.int(&apart); apart == 0 {
		f.runBegin = r.First
	} else {
		f.runBegin.fields(c)
	}
	f.ownFields(c)
}

func (r runRow) encode() []byte {
	c := rowCodec{row: make([]byte, 0, usualRow)}
	r.fields(&c)
	for i := range r.Tree.Facts {
		r.treeFields(&c, &r.Tree.Facts[i])
	}
	return c.row
}

func (r *runRow) decode(row []byte) error {
	c := rowCodec{row: row, decodes: true}
	r.fields(&c)
	for len(c.row) > 0 {
		var f treeFact
		r.treeFields(&c, &f)
		r.Tree.Facts = append(r.Tree.Facts, f)
	}
	return c.err
}

// decodeRunRow is decodeRow for a run. Its row does not repeat its id.
func decodeRunRow(value []byte, found bool, err error, run string, into *runRow) (ok bool, _ error) {
	ok, err = decodeRow(value, found, err, into)
	for i := range into.Tree.Facts {
		into.Tree.Facts[i].Run = run
	}
	return ok, err
}

// decodeRow decodes a row that a Get returned; ok is false when there is none.
func decodeRow(value []byte, found bool, err error, into interface{ decode(row []byte) error }) (ok bool, _ error) {
	if err != nil || !found {
		return false, err
	}
	return true, into.decode(value)
}

// Run is everything that one trigger started, under one correlation id.
type Run struct {
	WorkspaceID   string
	CorrelationID string
	StartedAt     time.Time
	EndedAt       time.Time // end of the last tree; zero: no tree has ended
	Status        RunStatus
	Trigger       activity.Trigger // of the first tree
	Automation    string           // of the first tree
	Executions    int              // that ended
	Recorded      any              // true, false, or "truncated"
	StartedBy     string           // who caused the first tree: a user id or key:{id}; "": a visitor or the platform

	first runBegin
}

// HasEnded reports whether all trees of the run have ended.
func (r Run) HasEnded() bool { return r.Status != RunRunning && r.Status != RunWaiting }

// Event returns the event that decides who may see the run, which may have no event yet: the
// end of its first execution, without input and output.
func (r Run) Event() *feed.Event {
	return r.first.event(r.WorkspaceID, r.CorrelationID)
}

func (b runBegin) event(workspaceID, run string) *feed.Event {
	body, err := json.Marshal(struct {
		Slug        string           `json:"slug"`
		ExecutionID string           `json:"executionId"`
		Trigger     activity.Trigger `json:"trigger"`
	}{b.Automation, b.ExecutionID, b.Trigger})
	if err != nil {
		body = nil // cannot happen: the fields are strings
	}
	source := b.Source
	source.CorrelationID, source.ExecutionID = run, b.ExecutionID
	return feed.Of(domain.Recorded{
		Log: domain.Activity, Stream: domain.StreamID{Scope: workspaceID}, Seq: b.Seq, At: time.UnixMilli(b.StartedAt).UTC(),
		Meta: source, Data: activity.Executed{}, Body: body,
	}, domain.At(domain.Activity, b.Seq), body)
}

func (r runRow) toRun(workspaceID, run string) Run {
	result := Run{
		WorkspaceID: workspaceID, CorrelationID: run, Status: r.status(), Executions: r.Executions, Recorded: r.Recorded > 0,
		StartedAt: time.UnixMilli(r.First.StartedAt).UTC(), Trigger: r.First.Trigger, Automation: r.First.Automation,
		first: r.First,
	}
	if by := r.First.Source; !isVisitor(by) {
		result.StartedBy = by.UserID
	}
	if r.Truncated > 0 {
		result.Recorded = recordedPartly
	}
	if r.End.Seq > 0 {
		result.EndedAt = time.UnixMilli(r.End.At).UTC()
	}
	return result
}

// isVisitor reports whether the user id of an event is that of a visitor: it is the id of the
// session. An automation may have set another session since then, but the user id is still a
// UUID, and ids of users are not.
func isVisitor(m domain.Meta) bool {
	return m.UserID == m.SessionID || uuid.Validate(m.UserID) == nil
}

// Get returns a run.
func (p Runs) Get(r Reader, workspaceID, correlationID string) (run Run, ok bool, err error) {
	if !isIndexable(correlationID) {
		return run, false, nil
	}
	row, err := p.runRow(r, workspaceID, correlationID)
	if err != nil || !row.exists() {
		return run, false, err
	}
	return row.toRun(workspaceID, correlationID), true, nil
}

// RunsQuery says which runs of a workspace are listed.
type RunsQuery struct {
	Automation string    // of the first tree; "": any
	From       time.Time // runs that started at this time or later
	Before     time.Time // runs that started earlier; zero: no limit
}

// ListedRun is an entry of a list of runs.
type ListedRun struct {
	CorrelationID string
	Status        RunStatus
}

// List visits the runs of a workspace, the newest first, until visit returns false.
func (p Runs) List(r Reader, workspaceID string, q RunsQuery, visit func(ListedRun) (more bool)) error {
	prefix := scopedKey('l', workspaceID, nil)
	if q.Automation != "" {
		if !isIndexable(q.Automation) {
			return nil
		}
		prefix = listKey('a', workspaceID, q.Automation, nil)
	}
	span := Span{Prefix: prefix, Reverse: true}
	if !q.Before.IsZero() {
		span.From = append(append([]byte(nil), prefix...), seqKey(uint64(max(0, ceilMillis(q.Before))))...)
	}
	return r.Iterate(p, span, func(key, value []byte) (bool, error) {
		rest := key[len(prefix):]
		if at := int64(binary.BigEndian.Uint64(rest)); !q.From.IsZero() && at < ceilMillis(q.From) {
			return false, nil
		}
		return visit(ListedRun{string(rest[8:]), RunStatus(value)}), nil
	})
}

// ceilMillis is the first millisecond that is not before a time.
func ceilMillis(at time.Time) int64 { return at.Add(time.Millisecond - 1).UnixMilli() }

// Count returns the number of runs of a workspace whose first tree executes an automation, ""
// for any, and that have a status, "" for any.
func (p Runs) Count(r Reader, workspaceID, automationSlug string, status RunStatus) (n int, err error) {
	if automationSlug != "" && !isIndexable(automationSlug) {
		return 0, nil
	}
	statuses := RunStatuses()
	if status != "" {
		statuses = []RunStatus{status}
	}
	for _, s := range statuses {
		value, _, err := r.Get(p, runCounterKey(workspaceID, automationSlug, s))
		if err != nil {
			return n, err
		}
		n += int(parseCount(value))
	}
	return n, nil
}

// UnfinishedTree is a tree that has started and not ended.
type UnfinishedTree struct {
	WorkspaceID   string
	CorrelationID string
	ExecutionID   string // first execution of the last attempt
	Automation    string
	Trigger       activity.Trigger
	Attempt       int    // how often it was started
	Replica       string // the node that started it last
	StartedAt     time.Time

	first runBegin
}

// Event is Run.Event for the tree.
func (t UnfinishedTree) Event() *feed.Event { return t.first.event(t.WorkspaceID, t.CorrelationID) }

// Unfinished visits the unfinished trees of all workspaces, until visit returns false.
func (p Runs) Unfinished(r Reader, visit func(UnfinishedTree) (more bool)) error {
	return p.UnfinishedIn(r, func(string) bool { return true }, visit)
}

// UnfinishedIn is Unfinished for the wanted workspaces. It reads nothing of the others.
func (p Runs) UnfinishedIn(r Reader, wanted func(workspaceID string) bool, visit func(UnfinishedTree) (more bool)) error {
	return r.Iterate(p, Span{Prefix: []byte{'u'}, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		workspaceID, tree, _ := strings.Cut(string(key[1:]), "\x00")
		if !wanted(workspaceID) {
			return true, nil
		}
		t, ok, err := p.openTree(r, workspaceID, tree)
		return err == nil && (!ok || visit(t)), err
	})
}

// Refresh reads a tree again; open is false when it has ended.
func (p Runs) Refresh(r Reader, t UnfinishedTree) (now UnfinishedTree, open bool, err error) {
	return p.openTree(r, t.WorkspaceID, treeFact{runBegin: t.first, Run: t.CorrelationID}.treeKey())
}

// Triggered returns the tree that an event or a schedule started for an automation; open
// is false when there is none, or it ended.
func (p Runs) Triggered(r Reader, workspaceID, triggerID, automationSlug string) (t UnfinishedTree, open bool, err error) {
	key := triggeredKey(triggerID, automationSlug)
	if !isIndexable(key) {
		return t, false, nil
	}
	return p.openTree(r, workspaceID, key)
}

// Open lists the unfinished trees among the first trees of a run, in the order of their start;
// it looks at no more than most trees.
func (p Runs) Open(r Reader, workspaceID, correlationID string, most int) (trees []UnfinishedTree, err error) {
	row, err := p.runRow(r, workspaceID, correlationID)
	if err != nil {
		return nil, err
	}
	if row.Tree.open() && most > 0 {
		return []UnfinishedTree{row.Tree.unfinishedTree(workspaceID)}, nil
	}
	var keys []string
	seen := map[string]bool{}
	prefix := listKey('o', workspaceID, correlationID, nil)
	err = r.Iterate(p, Span{Prefix: prefix}, func(_, value []byte) (bool, error) {
		if len(value) > 1 && value[0] == factStart && !seen[string(value[1:])] {
			seen[string(value[1:])] = true
			keys = append(keys, string(value[1:]))
		}
		return len(keys) < most, nil
	})
	for _, key := range keys {
		if err != nil {
			break
		}
		var t UnfinishedTree
		var ok bool
		if t, ok, err = p.openTree(r, workspaceID, key); ok {
			trees = append(trees, t)
		}
	}
	return trees, err
}

// openTree reads a tree; ok is false when there is none, or it ended.
func (p Runs) openTree(r Reader, workspaceID, key string) (t UnfinishedTree, ok bool, err error) {
	if owner := ownerOf(key); owner != "" {
		run, err := p.runRow(r, workspaceID, owner)
		if err != nil || run.Tree.is(key) {
			return run.Tree.unfinishedTree(workspaceID), run.Tree.open(), err
		}
	}
	row, err := p.tree(r, workspaceID, key)
	return row.unfinishedTree(workspaceID), err == nil && row.open(), err
}

// unfinishedTree returns the tree as its last fact has it; the zero value when it has none.
func (r treeRow) unfinishedTree(workspaceID string) UnfinishedTree {
	if !r.exists() {
		return UnfinishedTree{}
	}
	f := r.Facts[len(r.Facts)-1]
	return UnfinishedTree{
		WorkspaceID: workspaceID, CorrelationID: f.Run, ExecutionID: f.ExecutionID, Automation: f.Automation, Trigger: f.Trigger,
		Attempt: r.attempts(), Replica: f.Replica, StartedAt: time.UnixMilli(f.StartedAt).UTC(), first: f.runBegin,
	}
}

// tree reads the row of a tree; the zero row when there is none.
func (p Runs) tree(r Reader, workspaceID, key string) (row treeRow, err error) {
	value, ok, err := r.Get(p, treeRowKey(workspaceID, key))
	_, err = decodeRow(value, ok, err, &row)
	return row, err
}

// runRow reads the row of a run; the zero row when there is none.
func (p Runs) runRow(r Reader, workspaceID, run string) (row runRow, err error) {
	value, ok, err := r.Get(p, runKey(workspaceID, run))
	_, err = decodeRunRow(value, ok, err, run, &row)
	return row, err
}

// attempts returns how often a tree was started.
func (r treeRow) attempts() (n int) {
	for _, f := range r.Facts {
		n = max(n, f.Attempt, 1)
	}
	return n
}

// Ended returns how often the tree that an event or a schedule starts for an automation was
// started, and whether it has ended.
func (p Runs) Ended(r Reader, workspaceID, triggerID, automationSlug string) (attempts int, ended bool, err error) {
	key := triggeredKey(triggerID, automationSlug)
	if !isIndexable(key) {
		return 0, false, nil
	}
	row, err := p.tree(r, workspaceID, key)
	for _, f := range row.Facts {
		ended = ended || f.Ended == 1
	}
	return row.attempts(), ended, err
}

// maxKeyText is the maximal length of a text in a key.
const maxKeyText = 512

// isIndexable reports whether a text can be part of a key: it is not empty or too long, and has
// no NUL, which ends a text in a key.
func isIndexable(text string) bool {
	return text != "" && len(text) <= maxKeyText && strings.IndexByte(text, 0) < 0
}

func listKey(space byte, workspaceID, text string, rest []byte) []byte {
	b := make([]byte, 0, 3+len(workspaceID)+len(text)+len(rest))
	b = append(append(append(b, space), workspaceID...), 0)
	return append(append(append(b, text...), 0), rest...)
}
