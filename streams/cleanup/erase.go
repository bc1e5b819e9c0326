package cleanup

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/subscription"
	"svc/eventstore"
	"svc/projections"
)

// target is what is to be erased: the activity before a sequence.
type target struct {
	WorkspaceID string `json:"workspaceId,omitempty"` // "": of all
	Below       uint64 `json:"below"`
	Deliveries  bool   `json:"deliveries,omitempty"` // records of deliveries only
	Buried      bool   `json:"buried,omitempty"`     // nothing goes on there
}

const (
	// pieceSize is how many events the read models forget at once. It is what a small
	// store can change in one transaction, however long the keys are.
	pieceSize = 100
	// togetherSize is how many workspaces are told of together.
	togetherSize = 100
)

// note says what is being erased, for who comes after a crash.
type note struct {
	ID      string   `json:"id"`
	Targets []target `json:"targets"`
}

// noteSpace is where notes are kept.
const noteSpace = "erasing"

func (n note) key() string { return noteSpace + "/" + n.ID }

// erase erases targets, or counts on a dry run, and returns how many events they had
// for readers.
func (r *run) erase(ctx context.Context, targets ...target) (uint64, error) {
	if len(targets) == 0 || r.terms.DryRun {
		return r.forget(ctx, targets)
	}
	n := note{ID: ulid.Make().String(), Targets: targets}
	body, err := json.Marshal(n)
	if err != nil {
		return 0, err
	}
	if _, err := r.Notes.Put(ctx, n.key(), body); err != nil {
		return 0, err
	}
	return r.carryOut(ctx, n)
}

// carryOut erases what a note says, and then the note.
func (r *run) carryOut(ctx context.Context, n note) (uint64, error) {
	forgotten, err := r.forget(ctx, n.Targets)
	if err != nil {
		return forgotten, err
	}
	for _, t := range n.Targets {
		if err := r.Log.PurgeActivity(ctx, t.WorkspaceID, t.only(), t.Below); err != nil {
			return forgotten, err
		}
	}
	return forgotten, r.Notes.Delete(ctx, n.key())
}

// resume carries out what runs that were broken off have left.
func (r *run) resume(ctx context.Context) error {
	if r.terms.DryRun {
		return nil
	}
	left, err := r.Notes.List(ctx, noteSpace)
	if err != nil {
		return err
	}
	for _, body := range left {
		var n note
		if err := json.Unmarshal(body, &n); err != nil {
			return fmt.Errorf("read what was being erased: %w", err)
		}
		if _, err := r.carryOut(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// only is the type of the events that are erased, "" for any.
func (t target) only() string {
	if t.Deliveries {
		return subscription.Attempted{}.EventType()
	}
	return ""
}

// forget makes the read models forget targets, and returns how many events those had
// for readers. On a dry run it only counts.
func (r *run) forget(ctx context.Context, targets []target) (n uint64, err error) {
	for _, t := range targets {
		ids := []string{t.WorkspaceID}
		if t.WorkspaceID == "" {
			if ids, err = r.known(t); err != nil {
				return n, err
			}
		}
		for _, id := range ids {
			shown, err := r.forgetOne(ctx, t, id)
			if n += shown; err != nil {
				return n, err
			}
		}
	}
	return n, r.tell(ctx)
}

// forgetOne makes the read models forget a target of one workspace, piece by piece.
func (r *run) forgetOne(ctx context.Context, t target, workspaceID string) (n uint64, err error) {
	for from := r.floor; from < t.Below; {
		p, err := r.piece(t, workspaceID, from)
		if err != nil || p.Known == 0 {
			return n, err
		}
		n += uint64(p.Shown)
		gone := activity.Dropped{WorkspaceID: workspaceID, From: from, To: p.To}
		if err := r.keep(ctx, t, gone); err != nil {
			return n, err
		}
		if err := r.drop(ctx, t, gone); err != nil {
			return n, err
		}
		from = p.To + 1
	}
	return n, nil
}

func (t target) erasable() projections.Erasable {
	return projections.Erasable{Deliveries: t.Deliveries}
}

// known lists the workspaces that the read models know something of.
func (r *run) known(t target) (ids []string, err error) {
	err = r.Models.View(func(rd projections.Reader) error {
		ids, err = t.erasable().Workspaces(rd)
		return err
	})
	return ids, err
}

func (r *run) piece(t target, workspaceID string, from uint64) (p projections.Piece, err error) {
	err = r.Models.View(func(rd projections.Reader) error {
		p, err = t.erasable().Piece(rd, workspaceID, from, t.Below, pieceSize)
		return err
	})
	return p, err
}

// drop tells the read models of one piece, with others.
func (r *run) drop(ctx context.Context, t target, gone activity.Dropped) error {
	if r.terms.DryRun {
		return nil
	}
	var ev domain.Event = gone
	if t.Deliveries {
		ev = activity.DeliveriesDropped(gone)
	}
	r.waiting = append(r.waiting, eventstore.Commit{
		Stream: domain.StreamID{Scope: gone.WorkspaceID}, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: ev}},
	})
	if len(r.waiting) < togetherSize {
		return nil
	}
	return r.tell(ctx)
}

// tell appends what is to be forgotten, and waits until it is forgotten here.
func (r *run) tell(ctx context.Context) error {
	if len(r.waiting) == 0 {
		return nil
	}
	receipt, err := r.Log.Append(ctx, r.waiting...)
	if err != nil {
		return err
	}
	r.waiting = nil
	return r.reach(ctx, receipt.Position)
}

const (
	// runsFor is longer than a tree runs that never stood in a wait: an older one that did
	// not end was broken off.
	runsFor = 31 * 24 * time.Hour
	// keptAtOnce is how many events are said again together: what a wait is for may be long.
	keptAtOnce = 20
)

// keep says again what trees need that are not over, of what is about to be forgotten: a
// wait may last longer than events are kept. A workspace that is buried needs nothing.
func (r *run) keep(ctx context.Context, t target, gone activity.Dropped) error {
	if r.terms.DryRun || t.Deliveries || t.Buried {
		return nil
	}
	seqs, err := r.needed(ctx, gone)
	if err != nil || len(seqs) == 0 {
		return err
	}
	events, err := r.Log.Reread(ctx, domain.Activity, seqs)
	for some := range slices.Chunk(events, keptAtOnce) {
		if err == nil {
			_, err = r.Log.Append(ctx, again(some)...)
		}
	}
	return err
}

// needed lists where it is said what trees need that go on.
func (r *run) needed(ctx context.Context, gone activity.Dropped) (seqs []uint64, err error) {
	var all []projections.Needed
	err = r.Models.View(func(rd projections.Reader) (err error) {
		all, err = projections.Runs{}.Needed(rd, gone.WorkspaceID, gone.From, gone.To)
		return err
	})
	asked := map[string]bool{} // whether a tree goes on, by its first execution
	for _, n := range all {
		on := false
		for i := 0; i < len(n.Trees) && !on && err == nil; i++ {
			on, err = r.goesOn(ctx, n.Trees[i], asked)
		}
		if on {
			seqs = append(seqs, n.Seq)
		}
	}
	return seqs, err
}

// goesOn reports whether a tree may go on: it may run yet, or stands in a wait.
func (r *run) goesOn(ctx context.Context, t projections.UnfinishedTree, asked map[string]bool) (on bool, err error) {
	if on, known := asked[t.ExecutionID]; known {
		return on, nil
	}
	if on = r.now.Sub(t.StartedAt) < runsFor; !on {
		on, err = r.Apart.Stands(ctx, t.WorkspaceID, t.ExecutionID)
	}
	asked[t.ExecutionID] = on
	return on, err
}

// again is what events say, as it is said before they are erased: nobody is shown that.
func again(events []domain.Recorded) (commits []eventstore.Commit) {
	for _, ev := range events {
		said := ev.Data
		if wait, ok := said.(activity.WaitPending); ok {
			wait.Since = ev.At.UTC()
			said = activity.WaitKept(wait)
		}
		commits = append(commits, eventstore.Commit{Stream: ev.Stream, Meta: ev.Meta, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: said}}})
	}
	return commits
}
