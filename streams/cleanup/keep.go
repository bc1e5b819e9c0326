package cleanup

import (
	"context"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
	"svc/projections"
)

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
