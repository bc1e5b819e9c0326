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

// target is a range to erase: the activity before a sequence.
type target struct {
	WorkspaceID string `json:"workspaceId,omitempty"` // "": of all
	Below       uint64 `json:"below"`
	Deliveries  bool   `json:"deliveries,omitempty"` // only records of deliveries
	Buried      bool   `json:"buried,omitempty"`     // the workspace is deleted: nothing runs there
}

const (
	// pieceSize is how many events are dropped from the read models at once. It fits into one transaction of a small
	// store, however long the keys are.
	pieceSize = 100
	// appendBatch is how many events are appended at once.
	appendBatch = 100
)

// eraseNote says what is being erased, so that it is resumed after a crash.
type eraseNote struct {
	ID      string   `json:"id"`
	Targets []target `json:"targets"`
}

// noteSpace is the prefix of the keys of notes.
const noteSpace = "erasing"

func (n eraseNote) key() string { return noteSpace + "/" + n.ID }

// erase erases targets, or only counts on a dry run, and returns how many visible events they had.
func (r *run) erase(ctx context.Context, targets ...target) (uint64, error) {
	if len(targets) == 0 || r.terms.DryRun {
		return r.dropFromModels(ctx, targets)
	}
	n := eraseNote{ID: ulid.Make().String(), Targets: targets}
	body, err := json.Marshal(n)
	if err != nil {
		return 0, err
	}
	if _, err := r.Notes.Put(ctx, n.key(), body); err != nil {
		return 0, err
	}
	return r.eraseNoted(ctx, n)
}

// eraseNoted erases the targets of a note, and then the note.
func (r *run) eraseNoted(ctx context.Context, n eraseNote) (uint64, error) {
	forgotten, err := r.dropFromModels(ctx, n.Targets)
	if err != nil {
		return forgotten, err
	}
	for _, t := range n.Targets {
		if err := r.Log.PurgeActivity(ctx, t.WorkspaceID, t.eventType(), t.Below); err != nil {
			return forgotten, err
		}
	}
	return forgotten, r.Notes.Delete(ctx, n.key())
}

// resumeErase erases what interrupted runs have left.
func (r *run) resumeErase(ctx context.Context) error {
	if r.terms.DryRun {
		return nil
	}
	left, err := r.Notes.List(ctx, noteSpace)
	if err != nil {
		return err
	}
	for _, body := range left {
		var n eraseNote
		if err := json.Unmarshal(body, &n); err != nil {
			return fmt.Errorf("read what was being erased: %w", err)
		}
		if _, err := r.eraseNoted(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// eventType is the type of the erased events, "" for any.
func (t target) eventType() string {
	if t.Deliveries {
		return subscription.Attempted{}.EventType()
	}
	return ""
}

// dropFromModels drops targets from the read models, and returns how many visible events they had. On a dry run it
// only counts.
func (r *run) dropFromModels(ctx context.Context, targets []target) (n uint64, err error) {
	for _, t := range targets {
		ids := []string{t.WorkspaceID}
		if t.WorkspaceID == "" {
			if ids, err = r.knownWorkspaces(t); err != nil {
				return n, err
			}
		}
		for _, id := range ids {
			visible, err := r.dropWorkspace(ctx, t, id)
			if n += visible; err != nil {
				return n, err
			}
		}
	}
	return n, r.appendDropped(ctx)
}

// dropWorkspace drops a target of one workspace from the read models, piece by piece.
func (r *run) dropWorkspace(ctx context.Context, t target, workspaceID string) (n uint64, err error) {
	for from := r.floor; from < t.Below; {
		p, err := r.nextPiece(t, workspaceID, from)
		if err != nil || p.Stored == 0 {
			return n, err
		}
		n += uint64(p.Visible)
		gone := activity.Dropped{WorkspaceID: workspaceID, From: from, To: p.To}
		if err := r.repeatNeeded(ctx, t, gone); err != nil {
			return n, err
		}
		if err := r.addDropped(ctx, t, gone); err != nil {
			return n, err
		}
		from = p.To + 1
	}
	return n, nil
}

func (t target) erasable() projections.Erasable {
	return projections.Erasable{Deliveries: t.Deliveries}
}

// knownWorkspaces lists the workspaces that have data in the read models.
func (r *run) knownWorkspaces(t target) ([]string, error) {
	rd := r.Models.Reader()
	defer rd.Close()
	return t.erasable().Workspaces(rd)
}

func (r *run) nextPiece(t target, workspaceID string, from uint64) (projections.Piece, error) {
	rd := r.Models.Reader()
	defer rd.Close()
	return t.erasable().Piece(rd, workspaceID, from, t.Below, pieceSize)
}

// addDropped adds the event that drops one piece from the read models.
func (r *run) addDropped(ctx context.Context, t target, gone activity.Dropped) error {
	if r.terms.DryRun {
		return nil
	}
	var ev domain.Event = gone
	if t.Deliveries {
		ev = activity.DeliveriesDropped(gone)
	}
	r.dropped = append(r.dropped, eventstore.Commit{
		Stream: domain.StreamID{Scope: gone.WorkspaceID}, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: ev}},
	})
	if len(r.dropped) < appendBatch {
		return nil
	}
	return r.appendDropped(ctx)
}

// appendDropped appends the added events, and waits until they are applied here.
func (r *run) appendDropped(ctx context.Context) error {
	if len(r.dropped) == 0 {
		return nil
	}
	receipt, err := r.Log.Append(ctx, r.dropped...)
	if err != nil {
		return err
	}
	r.dropped = nil
	return r.awaitModels(ctx, receipt.Position)
}

const (
	// maxRunTime is longer than any tree runs that is not parked: an older one that did not end was interrupted.
	maxRunTime = 31 * 24 * time.Hour
	// repeatBatch is how many events are repeated in one append: the condition of a wait may be long.
	repeatBatch = 20
)

// repeatNeeded repeats the events that unfinished trees need, before they are dropped: a wait may last longer than
// the retention of events. A deleted workspace needs none.
func (r *run) repeatNeeded(ctx context.Context, t target, gone activity.Dropped) error {
	if r.terms.DryRun || t.Deliveries || t.Buried {
		return nil
	}
	seqs, err := r.neededSeqs(ctx, gone)
	if err != nil || len(seqs) == 0 {
		return err
	}
	events, err := r.Log.Reread(ctx, domain.Activity, seqs)
	for some := range slices.Chunk(events, repeatBatch) {
		if err == nil {
			_, err = r.Log.Append(ctx, repeatCommits(some)...)
		}
	}
	return err
}

// neededSeqs lists the sequences of the events that unfinished trees need.
func (r *run) neededSeqs(ctx context.Context, gone activity.Dropped) (seqs []uint64, err error) {
	rd := r.Models.Reader()
	all, err := projections.Runs{}.Needed(rd, gone.WorkspaceID, gone.From, gone.To)
	rd.Close()
	asked := map[string]bool{} // whether a tree may continue, by its first execution
	for _, n := range all {
		on := false
		for i := 0; i < len(n.Trees) && !on && err == nil; i++ {
			on, err = r.mayContinue(ctx, n.Trees[i], asked)
		}
		if on {
			seqs = append(seqs, n.Seq)
		}
	}
	return seqs, err
}

// mayContinue reports whether a tree may continue: it may still run, or is parked.
func (r *run) mayContinue(ctx context.Context, t projections.UnfinishedTree, asked map[string]bool) (on bool, err error) {
	if on, known := asked[t.ExecutionID]; known {
		return on, nil
	}
	if on = r.now.Sub(t.StartedAt) < maxRunTime; !on {
		on, err = r.Data.IsParked(ctx, t.WorkspaceID, t.ExecutionID)
	}
	asked[t.ExecutionID] = on
	return on, err
}

// repeatCommits returns commits that repeat events before they are erased. They are not visible.
func repeatCommits(events []domain.Recorded) (commits []eventstore.Commit) {
	for _, ev := range events {
		data := ev.Data
		if wait, ok := data.(activity.WaitPending); ok {
			wait.Since = ev.At.UTC()
			data = activity.WaitKept(wait)
		}
		commits = append(commits, eventstore.Commit{Stream: ev.Stream, Meta: ev.Meta, Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: data}}})
	}
	return commits
}
