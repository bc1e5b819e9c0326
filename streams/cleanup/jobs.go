package cleanup

import (
	"context"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/projections"
)

// deliveriesKept is how long deliveries can be looked at.
const deliveriesKept = 30 * 24 * time.Hour

// indices are the parts of the job that erases events.
func (r *run) indices() []part {
	r.out.Expired, r.out.Inactive, r.out.Deleted = &activity.Expired{}, &activity.Inactive{Found: []activity.Idle{}}, &activity.Deleted{Found: []activity.Gone{}}
	return []part{{"expiredEvents", r.expired}, {"inactiveWorkspaces", r.inactive}, {"deletedWorkspaces", r.deleted}, {"deliveries", r.deliveries}, {"blobs", r.blobs}}
}

// executions are the parts of the job that erases payloads and records.
func (r *run) executions() []part {
	r.out.Stripped = &activity.Stripped{}
	return []part{{"executions", r.strip}, {"recordings", r.recordings}}
}

// selected reports whether the run is about a workspace.
func (r *run) selected(workspaceID string) bool {
	return len(r.terms.WorkspaceIDs) == 0 || slices.Contains(r.terms.WorkspaceIDs, workspaceID)
}

// scopes are the workspaces that the run is about; "" stands for all.
func (r *run) scopes() []string {
	if len(r.terms.WorkspaceIDs) == 0 {
		return []string{""}
	}
	return r.terms.WorkspaceIDs
}

// older returns a target for each scope: what is older than a time.
func (r *run) older(ctx context.Context, before time.Time, deliveries bool) (targets []target, err error) {
	below, err := r.Log.Since(ctx, domain.Activity, before)
	for _, scope := range r.scopes() {
		targets = append(targets, target{WorkspaceID: scope, Below: min(below, r.end), Deliveries: deliveries})
	}
	return targets, err
}

// expired erases what is older than events are kept, and the payloads that belong to it.
func (r *run) expired(ctx context.Context) error {
	if r.terms.Retention < 0 {
		return nil
	}
	before := r.now.Add(-r.terms.Retention)
	text := stamp(before)
	r.out.Expired.Before = &text
	targets, err := r.older(ctx, before, false)
	if err == nil {
		r.out.Expired.Total, err = r.erase(ctx, targets...)
	}
	if err == nil && r.terms.DryRun {
		r.floor = targets[0].Below
	}
	for _, scope := range r.scopes() {
		if err == nil && !r.terms.DryRun {
			_, _, err = r.Apart.Strip(ctx, scope, before, false)
		}
	}
	return err
}

// deliveries erases the records of deliveries that nobody can look at any more.
func (r *run) deliveries(ctx context.Context) error {
	targets, err := r.older(ctx, r.now.Add(-deliveriesKept), true)
	if err == nil {
		_, err = r.erase(ctx, targets...)
	}
	return err
}

// strip erases what executions were given and gave.
func (r *run) strip(ctx context.Context) error {
	if r.terms.Executions < 0 {
		return nil
	}
	before := r.now.Add(-r.terms.Executions)
	text := stamp(before)
	r.out.Stripped.Before = &text
	return r.eachScope(ctx, "executions", func(scope string) error {
		count, size, err := r.Apart.Strip(ctx, scope, before, r.terms.DryRun)
		r.out.Count, r.out.FreedBytes = r.out.Count+count, r.out.FreedBytes+size
		return err
	})
}

// recordings erases the records of runs that have expired: each says itself when.
func (r *run) recordings(ctx context.Context) error {
	return r.eachScope(ctx, "recordings", func(scope string) error {
		size, err := r.Apart.Expire(ctx, scope, r.terms.DryRun)
		r.out.FreedBytes += size
		return err
	})
}

// eachScope does a part for each scope. One that fails is noted; when all of them do,
// that is the error.
func (r *run) eachScope(ctx context.Context, part string, do func(scope string) error) error {
	scopes, failed := r.scopes(), 0
	var last error
	for _, scope := range scopes {
		err := do(scope)
		switch {
		case err == nil:
			continue
		case len(scopes) == 1 || ctx.Err() != nil:
			return err
		}
		last = r.failed(ctx, part, scope, err)
		failed++
	}
	if failed == len(scopes) {
		return last
	}
	return nil
}

// eraseAtOnce is how many workspaces are noted together.
const eraseAtOnce = 500

// inactive erases the events of small workspaces that nobody uses, and the payloads
// that belong to them.
func (r *run) inactive(ctx context.Context) error {
	if r.terms.MaxEvents < 0 || r.terms.Inactivity < 0 {
		return nil
	}
	ids, err := r.known(target{})
	if err != nil {
		return err
	}
	gone, err := r.gone()
	if err != nil {
		return err
	}
	buried := map[string]bool{domain.Platform: true} // by another part, or never
	for _, rec := range gone {
		buried[rec.ID] = true
	}
	for _, id := range ids {
		if buried[id] || !r.selected(id) {
			continue
		}
		found, ok, err := r.idle(id)
		if err != nil {
			return err
		}
		if ok {
			r.out.Inactive.Found = append(r.out.Inactive.Found, found)
		}
	}
	for some := range slices.Chunk(r.out.Inactive.Found, eraseAtOnce) {
		var targets []target
		for _, w := range some {
			targets = append(targets, target{WorkspaceID: w.WorkspaceID, Below: r.end})
		}
		n, err := r.erase(ctx, targets...)
		r.out.Inactive.DeletedEvents += n
		for _, t := range targets {
			if err == nil && !r.terms.DryRun {
				_, _, err = r.Apart.Strip(ctx, t.WorkspaceID, r.now, false)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// idle tells whether a workspace has activity, few events and none for long. Changes
// of its content are events too, though they are never erased; errors count as
// events, and not as a sign of life.
func (r *run) idle(workspaceID string) (found activity.Idle, ok bool, err error) {
	count, recorded, last := 0, 0, time.Time{}
	err = r.Models.View(func(rd projections.Reader) error {
		for _, log := range domain.Logs() {
			err := projections.FeedOf(log).List(rd, workspaceID, projections.Among{}, ^uint64(0), true, func(e projections.FeedEntry) bool {
				if log == domain.Activity && e.Seq < r.floor {
					return false
				}
				if count++; log == domain.Activity {
					recorded++
				}
				if !isError(e.Type) && e.At.After(last) {
					last = e.At
				}
				return count <= r.terms.MaxEvents
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	since := r.now.Sub(last)
	if err != nil || recorded == 0 || count > r.terms.MaxEvents || since <= r.terms.Inactivity {
		return found, false, err
	}
	return activity.Idle{WorkspaceID: workspaceID, InactivityDays: int(since / (24 * time.Hour)), EventsCount: count}, true, nil
}

// isError reports whether a type is `error`, or that of an app instance.
func isError(eventType string) bool {
	return eventType == activity.Failure{}.EventType() || strings.HasSuffix(eventType, "."+activity.Failure{}.EventType())
}

// deleted erases what is left of workspaces that cannot come back: their events, what
// is kept apart, and the key that everything sealed of them opens with.
func (r *run) deleted(ctx context.Context) error {
	gone, err := r.gone()
	if err != nil {
		return err
	}
	for _, rec := range gone {
		left, err := r.left(ctx, rec.ID)
		if err == nil && left {
			r.out.Deleted.Found = append(r.out.Deleted.Found, activity.Gone{WorkspaceID: rec.ID, DeletedAt: stamp(rec.Deleted.At)})
			err = r.bury(ctx, rec.ID)
		}
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			_ = r.failed(ctx, "deletedWorkspaces", rec.ID, err) // it is noted, and the next run tries again
		}
	}
	return nil
}

// gone lists the workspaces that were deleted long ago.
func (r *run) gone() (list []projections.Record, err error) {
	err = r.Models.View(func(rd projections.Reader) error {
		return projections.Workspaces{}.List(rd, true, func(rec projections.Record) bool {
			d := rec.Deleted
			if d != nil && r.selected(rec.ID) && !r.now.Before(d.Until) && r.now.Sub(d.At) >= r.terms.DeletionDelay {
				list = append(list, rec)
			}
			return true
		})
	})
	return list, err
}

// left tells whether there is anything of a workspace to erase.
func (r *run) left(ctx context.Context, workspaceID string) (bool, error) {
	p, err := r.piece(target{Below: r.end}, workspaceID, 0)
	if err != nil || p.Known > 0 {
		return true, err
	}
	return r.Apart.Holds(ctx, workspaceID)
}

func (r *run) bury(ctx context.Context, workspaceID string) error {
	n, err := r.erase(ctx, target{WorkspaceID: workspaceID, Below: r.end, Buried: true})
	if r.out.Deleted.DeletedEvents += n; err != nil || r.terms.DryRun {
		return err
	}
	return r.Apart.Erase(ctx, workspaceID)
}
