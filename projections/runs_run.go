package projections

import (
	"encoding/binary"
	"slices"
)

// RunStatus is how a run is.
type RunStatus string

// How a run can be.
const (
	RunRunning   RunStatus = "running"
	RunWaiting   RunStatus = "waiting" // all that runs waits for events or time
	RunSucceeded RunStatus = "succeeded"
	RunFailed    RunStatus = "failed" // one of its trees did
	RunCancelled RunStatus = "cancelled"
)

// RunStatuses lists them.
func RunStatuses() []RunStatus {
	return []RunStatus{RunRunning, RunWaiting, RunSucceeded, RunFailed, RunCancelled}
}

// runRow is what is known of a run.
type runRow struct {
	tally
	First runBegin // of the first tree that is known; its sequence is 0 when none is
	End   runEnd   // of the last tree that ended; the same
}

// runEnd is when a tree ended.
type runEnd struct {
	Seq uint64
	At  int64 // ms
}

// add describes the run by what comes after all that it is described by.
func (r *runRow) add(f treeFact) {
	if r.First.Seq == 0 {
		r.First = f.runBegin
	}
	if f.Ended == 1 {
		r.End = endOf(f)
	}
}

func endOf(f treeFact) runEnd { return runEnd{f.Seq, f.StartedAt + f.Duration} }

// status follows from what the trees are.
func (r runRow) status() RunStatus {
	switch {
	case r.Open > 0 && r.Standing >= r.Open:
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

// known reports whether there is anything to tell of the run.
func (r runRow) known() bool { return r.First.Seq > 0 && r.Trees > 0 }

// entries are the keys of the lists that a run is in, without its status.
func (r runRow) entries(workspaceID, run string) (keys [][]byte) {
	if !r.known() {
		return nil
	}
	place := append(seqKey(uint64(r.First.StartedAt)), run...)
	keys = append(keys, scoped('l', workspaceID, place))
	if Indexed(r.First.Automation) {
		keys = append(keys, listed('a', workspaceID, r.First.Automation, place))
	}
	return keys
}

// counters are the keys of the numbers that a run counts for.
func (r runRow) counters(workspaceID string) (keys [][]byte) {
	if !r.known() {
		return nil
	}
	keys = append(keys, runCounterKey(workspaceID, "", r.status()))
	if Indexed(r.First.Automation) {
		keys = append(keys, runCounterKey(workspaceID, r.First.Automation, r.status()))
	}
	return keys
}

func runKey(workspaceID, run string) []byte { return scoped('r', workspaceID, []byte(run)) }

func runCounterKey(workspaceID, automationSlug string, status RunStatus) []byte {
	return listed('n', workspaceID, automationSlug, []byte(status))
}

// run reads a run; one that there is not has no numbers.
func (w runsTx) run(id string) (row runRow, err error) {
	value, ok, err := w.tx.Get(runKey(w.workspaceID, id))
	_, err = decoded(value, ok, err, &row)
	return row, err
}

// adjust changes a run.
func (w runsTx) adjust(run string, change func(*runRow)) error {
	old, err := w.run(run)
	if err != nil {
		return err
	}
	now := old
	change(&now)
	if now.tally == (tally{}) {
		now = runRow{}
	}
	if err := w.list(run, old, now); err != nil {
		return err
	}
	if now.tally == (tally{}) {
		return w.tx.Delete(runKey(w.workspaceID, run))
	}
	return w.tx.Set(runKey(w.workspaceID, run), now.encode())
}

// list keeps a run in its lists, and in the numbers of those.
func (w runsTx) list(run string, old, now runRow) error {
	was, is := old.entries(w.workspaceID, run), now.entries(w.workspaceID, run)
	same := len(was) == len(is) && len(is) > 0 && string(was[len(was)-1]) == string(is[len(is)-1])
	if len(is) == len(was) && (len(is) == 0 || same && old.status() == now.status()) {
		return nil
	}
	if !same {
		if err := deleteAll(w.tx, was...); err != nil {
			return err
		}
	}
	for _, key := range is {
		if err := w.tx.Set(key, []byte(now.status())); err != nil {
			return err
		}
	}
	return w.recount(old.counters(w.workspaceID), now.counters(w.workspaceID))
}

// recount takes one away from some numbers, and adds one to others.
func (w runsTx) recount(less, more [][]byte) error {
	for _, of := range []struct {
		keys [][]byte
		by   int64
	}{{less, -1}, {more, 1}} {
		for _, key := range of.keys {
			value, _, err := w.tx.Get(key)
			if err != nil {
				return err
			}
			if err := w.setCount(key, countIn(value)+of.by); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w runsTx) setCount(key []byte, n int64) error {
	if n <= 0 {
		return w.tx.Delete(key)
	}
	return w.tx.Set(key, binary.AppendUvarint(nil, uint64(n)))
}

func countIn(value []byte) int64 {
	n, _ := binary.Uvarint(value)
	return int64(n)
}

// describe finds out anew what a run is described by, after something was taken away.
func (w runsTx) describe(run string) error {
	first, err := w.nearest(run, false)
	if err != nil {
		return err
	}
	last, err := w.nearest(run, true)
	if err != nil {
		return err
	}
	return w.adjust(run, func(r *runRow) { r.First, r.End = first.runBegin, endOf(last) })
}

// nearest returns the first fact of a run, or the last that says that a tree ended; the
// zero fact when there is none.
func (w runsTx) nearest(run string, ended bool) (f treeFact, err error) {
	prefix := listed('o', w.workspaceID, run, nil)
	var seq uint64
	tree := ""
	err = w.tx.Iterate(Span{Prefix: prefix, Reverse: ended, Few: true}, func(key, value []byte) (bool, error) {
		if len(value) == 0 || ended && value[0] != ending {
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
