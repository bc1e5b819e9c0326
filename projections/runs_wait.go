package projections

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
)

// waitRow is what is known of a wait. Of one that is over only what is needed to tell
// which events started nothing else meanwhile is kept.
type waitRow struct {
	Run         string    `json:"run"`
	ExecutionID string    `json:"executionId"`
	Seq         uint64    `json:"seq"` // of its beginning
	At          time.Time `json:"at"`
	EndSeq      uint64    `json:"endSeq,omitempty"`
	EndAt       time.Time `json:"endAt,omitzero"`
	ExpiresAt   int64     `json:"expiresAt"`         // ms
	Cancels     bool      `json:"cancels,omitempty"` // what it is for is kept apart
}

// awaitedKey is where it is kept what a wait is for that keeps events from starting
// anything else. It is never written again: one event may end many waits.
func awaitedKey(workspaceID, id string) []byte { return scoped('x', workspaceID, []byte(id)) }

func waitKey(workspaceID, id string) []byte { return scoped('w', workspaceID, []byte(id)) }

// standingKey names a wait that an execution stands in; without an id it is what the names
// of all of them begin with.
func standingKey(workspaceID, run, executionID, id string) []byte {
	return listed('v', workspaceID, run, []byte(executionID+"\x00"+id))
}

// standsKey is where it is kept in how many waits an execution stands.
func standsKey(workspaceID, run, executionID string) []byte {
	return listed('h', workspaceID, run, []byte(executionID))
}

func cancellingKey(workspaceID, id string) []byte { return scoped('p', workspaceID, []byte(id)) }

func cancelledKey(workspaceID, id string, seq uint64) []byte {
	return scoped('q', workspaceID, append(seqKey(seq), id...))
}

// wait reads a wait; ok is false when there is none.
func (w runsTx) wait(id string) (row waitRow, ok bool, err error) {
	err = getJSON(w.tx, waitKey(w.workspaceID, id), &row)
	return row, row.Seq > 0, err
}

// stand notes that an execution stands in a wait.
func (w runsTx) stand(ev domain.Recorded, e activity.WaitPending) error {
	if !Indexed(e.ID) || !Indexed(e.ExecutionID) {
		return nil
	}
	before, known, err := w.wait(e.ID)
	shown := PendingWait{
		ID: e.ID, CorrelationID: ev.Meta.CorrelationID, Automation: ev.Meta.AutomationSlug, Since: e.Since.UTC(), Until: e.ExpiresAt, Wait: e.Wait,
	}
	if e.Since.IsZero() {
		shown.Since = ev.At.UTC()
	}
	if err == nil && known && before.EndSeq == 0 { // it is said again
		err = w.leave(before, e.ID)
	}
	if err != nil {
		return err
	}
	row := waitRow{
		Run: ev.Meta.CorrelationID, ExecutionID: e.ExecutionID, Seq: ev.Seq, At: ev.At.UTC(), ExpiresAt: millis(e.ExpiresAt),
		Cancels: automation.CancelsTriggers(e.Wait),
	}
	if err := errors.Join(w.note(ev.Seq, ofWait, e.ID), setJSON(w.tx, waitKey(w.workspaceID, e.ID), row)); err != nil {
		return err
	}
	if row.Cancels {
		if err := errors.Join(w.tx.Set(cancellingKey(w.workspaceID, e.ID), nil), w.tx.Set(awaitedKey(w.workspaceID, e.ID), e.Wait)); err != nil {
			return err
		}
	}
	if err := errors.Join(w.tx.Set(standingKey(w.workspaceID, row.Run, row.ExecutionID, e.ID), nil), setJSON(w.tx, pendingKey(w.workspaceID, e.ID, ev.Seq), shown)); err != nil {
		return err
	}
	return w.standing(row, 1)
}

// stayOn notes that an execution still stands in a wait whose beginning is about to be
// erased, unless the wait or its run has just ended.
func (w runsTx) stayOn(ev domain.Recorded, e activity.WaitPending) error {
	if !Indexed(e.ID) {
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
	return w.stand(ev, e)
}

// standing changes in how many waits an execution stands, and how many executions of the
// run stand in any.
func (w runsTx) standing(row waitRow, by int) error {
	key := standsKey(w.workspaceID, row.Run, row.ExecutionID)
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
	return w.adjust(row.Run, func(r *runRow) { r.Standing += by })
}

// leave notes that an execution does not stand in a wait any more.
func (w runsTx) leave(row waitRow, id string) error {
	if err := deleteAll(w.tx, standingKey(w.workspaceID, row.Run, row.ExecutionID, id), pendingKey(w.workspaceID, id, row.Seq)); err != nil {
		return err
	}
	return w.standing(row, -1)
}

// goOn notes that a wait is over.
func (w runsTx) goOn(ev domain.Recorded, id string) error {
	if !Indexed(id) {
		return nil
	}
	row, ok, err := w.wait(id)
	if err != nil || !ok || row.EndSeq > 0 {
		return err
	}
	if err := w.leave(row, id); err != nil {
		return err
	}
	if !row.Cancels {
		return deleteAll(w.tx, waitKey(w.workspaceID, id), scoped('s', w.workspaceID, seqKey(row.Seq)))
	}
	row.EndSeq, row.EndAt = ev.Seq, ev.At.UTC()
	return errors.Join(
		w.tx.Delete(cancellingKey(w.workspaceID, id)),
		w.tx.Set(cancelledKey(w.workspaceID, id, ev.Seq), nil),
		setJSON(w.tx, waitKey(w.workspaceID, id), row))
}

// endWaits notes that the waits are over that an execution stood in which ended: it was
// stopped.
func (w runsTx) endWaits(ev domain.Recorded, executionID string) error {
	if !Indexed(executionID) {
		return nil
	}
	var stands int
	if err := getJSON(w.tx, standsKey(w.workspaceID, ev.Meta.CorrelationID, executionID), &stands); err != nil || stands == 0 {
		return err
	}
	var ids []string
	prefix := standingKey(w.workspaceID, ev.Meta.CorrelationID, executionID, "")
	err := w.tx.Iterate(Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (bool, error) {
		ids = append(ids, string(key[len(prefix):]))
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := w.goOn(ev, id); err != nil {
			return err
		}
	}
	return nil
}

// forgetWait forgets a wait whose beginning was erased, unless that was said again.
func (w runsTx) forgetWait(id string, seq uint64) error {
	row, ok, err := w.wait(id)
	if err != nil || !ok || row.Seq != seq {
		return err
	}
	if row.EndSeq == 0 {
		if err := w.leave(row, id); err != nil {
			return err
		}
	}
	return deleteAll(w.tx, waitKey(w.workspaceID, id), awaitedKey(w.workspaceID, id), cancellingKey(w.workspaceID, id), cancelledKey(w.workspaceID, id, row.EndSeq))
}

// CancellingWait is a wait that keeps the events that it is for from starting anything
// else: those that were recorded after it began, and not after it ended.
type CancellingWait struct {
	ID            string
	CorrelationID string
	ExecutionID   string
	Seq           uint64 // of its beginning in the activity log
	At            time.Time
	EndSeq        uint64 // 0: it is not over
	EndAt         time.Time
	ExpiresAt     time.Time
	Wait          json.RawMessage // as the instruction has it
}

// Waits visits the waits of a workspace that keep events from starting anything else
// and are not over, and those that ended at a sequence or after, with where they ended,
// until visit returns false.
func (p Runs) Waits(r Reader, workspaceID string, since uint64, visit func(id string, end uint64) (more bool, err error)) error {
	more := true
	prefix := scoped('p', workspaceID, nil)
	err := r.Iterate(p, Span{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) (_ bool, err error) {
		more, err = visit(string(key[len(prefix):]), 0)
		return more, err
	})
	if err != nil || !more {
		return err
	}
	prefix = scoped('q', workspaceID, nil)
	return r.Iterate(p, Span{Prefix: prefix, From: scoped('q', workspaceID, seqKey(since)), KeysOnly: true}, func(key, _ []byte) (bool, error) {
		rest := key[len(prefix):]
		return visit(string(rest[8:]), binary.BigEndian.Uint64(rest))
	})
}

// Cancelling returns one of them; ok is false when there is none.
func (p Runs) Cancelling(r Reader, workspaceID, id string) (w CancellingWait, ok bool, err error) {
	var row waitRow
	if ok, err = p.read(r, waitKey(workspaceID, id), &row); err != nil || !ok {
		return w, false, err
	}
	wait, _, err := r.Get(p, awaitedKey(workspaceID, id))
	return CancellingWait{
		id, row.Run, row.ExecutionID, row.Seq, row.At, row.EndSeq, row.EndAt, time.UnixMilli(row.ExpiresAt).UTC(), wait,
	}, err == nil, err
}

// Pending reports whether an execution stands in a wait.
func (p Runs) Pending(r Reader, workspaceID, id string) (bool, error) {
	if !Indexed(id) {
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

// PendingWait is a wait that an execution stands in.
type PendingWait struct {
	ID            string          `json:"id"`
	CorrelationID string          `json:"correlationId"`
	Automation    string          `json:"automation"`
	Since         time.Time       `json:"since"`
	Until         string          `json:"until"`
	Wait          json.RawMessage `json:"wait,omitempty"` // as the instruction has it
}

func pendingKey(workspaceID, id string, seq uint64) []byte {
	return scoped('y', workspaceID, append(seqKey(seq), id...))
}

func endedWaitKey(workspaceID, id string) []byte { return scoped('e', workspaceID, []byte(id)) }

// noteEnd remembers, as long as its last event is kept, that there was a wait.
func (w runsTx) noteEnd(ev domain.Recorded, id string) error {
	if !Indexed(id) {
		return nil
	}
	return errors.Join(w.note(ev.Seq, ofEnd, id), w.tx.Set(endedWaitKey(w.workspaceID, id), seqKey(ev.Seq)))
}

// forgetEnd forgets that there was a wait, unless an event that is kept says so, too.
func (w runsTx) forgetEnd(id string, seq uint64) error {
	last, ok, err := w.tx.Get(endedWaitKey(w.workspaceID, id))
	if err != nil || !ok || !bytes.Equal(last, seqKey(seq)) {
		return err
	}
	return w.tx.Delete(endedWaitKey(w.workspaceID, id))
}

// PendingWaits visits the waits of a workspace that executions stand in, the oldest first,
// until visit returns false.
func (p Runs) PendingWaits(r Reader, workspaceID string, visit func(PendingWait) (more bool)) error {
	return r.Iterate(p, Span{Prefix: scoped('y', workspaceID, nil)}, func(_, value []byte) (bool, error) {
		var wait PendingWait
		if err := json.Unmarshal(value, &wait); err != nil {
			return false, err
		}
		return visit(wait), nil
	})
}

// PendingWait returns a wait that an execution stands in; ended is true when there was one.
func (p Runs) PendingWait(r Reader, workspaceID, id string) (wait PendingWait, pending, ended bool, err error) {
	if !Indexed(id) {
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
