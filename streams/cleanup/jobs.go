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

// deliveryRetention is how long deliveries can be read.
const deliveryRetention = 30 * 24 * time.Hour

// indexParts are the parts of the job that erases events.
func (r *run) indexParts() []part {
	r.out.Expired, r.out.Inactive, r.out.Deleted = &activity.Expired{}, &activity.Inactive{Found: []activity.Idle{}}, &activity.Deleted{Found: []activity.Gone{}}
	return []part{{"expiredEvents", r.eraseExpired}, {"inactiveWorkspaces", r.eraseInactive}, {"deletedWorkspaces", r.eraseDeleted}, {"deliveries", r.eraseDeliveries}, {"knowledge", r.eraseKnowledge}, {"blobs", r.eraseBlobs}}
}

// executionParts are the parts of the job that erases payloads and records.
func (r *run) executionParts() []part {
	r.out.Stripped = &activity.Stripped{}
	return []part{{"executions", r.erasePayloads}, {"recordings", r.eraseRecordings}}
}

// isSelected reports whether the job covers a workspace.
func (r *run) isSelected(workspaceID string) bool {
	return len(r.terms.WorkspaceIDs) == 0 || slices.Contains(r.terms.WorkspaceIDs, workspaceID)
}

// scopes are the workspaces that the job covers; "" stands for all.
func (r *run) scopes() []string {
	if len(r.terms.WorkspaceIDs) == 0 {
		return []string{""}
	}
	return r.terms.WorkspaceIDs
}

// targetsBefore returns a target for each scope: events older than a time.
func (r *run) targetsBefore(ctx context.Context, before time.Time, deliveries bool) (targets []target, err error) {
	below, err := r.Log.Since(ctx, domain.Activity, before)
	for _, scope := range r.scopes() {
		targets = append(targets, target{WorkspaceID: scope, Below: min(below, r.end), Deliveries: deliveries})
	}
	return targets, err
}

// eraseExpired erases events older than the retention, and their payloads.
func (r *run) eraseExpired(ctx context.Context) error {
	if r.terms.Retention < 0 {
		return nil
	}
	before := r.now.Add(-r.terms.Retention)
	text := domain.FormatTime(before)
	r.out.Expired.Before = &text
	targets, err := r.targetsBefore(ctx, before, false)
	if err == nil {
		r.out.Expired.Total, err = r.erase(ctx, targets...)
	}
	if err == nil && r.terms.DryRun {
		r.floor = targets[0].Below
	}
	for _, scope := range r.scopes() {
		if err == nil && !r.terms.DryRun {
			_, _, err = r.Data.Strip(ctx, scope, before, false)
		}
	}
	return err
}

// eraseDeliveries erases the records of deliveries that cannot be read any more.
func (r *run) eraseDeliveries(ctx context.Context) error {
	targets, err := r.targetsBefore(ctx, r.now.Add(-deliveryRetention), true)
	if err == nil {
		_, err = r.erase(ctx, targets...)
	}
	return err
}

// erasePayloads erases the payloads of executions.
func (r *run) erasePayloads(ctx context.Context) error {
	if r.terms.Executions < 0 {
		return nil
	}
	before := r.now.Add(-r.terms.Executions)
	text := domain.FormatTime(before)
	r.out.Stripped.Before = &text
	return r.eachScope(ctx, "executions", func(scope string) error {
		count, size, err := r.Data.Strip(ctx, scope, before, r.terms.DryRun)
		r.out.Count, r.out.FreedBytes = r.out.Count+count, r.out.FreedBytes+size
		return err
	})
}

// eraseRecordings erases expired recordings of runs: each has its own expiry.
func (r *run) eraseRecordings(ctx context.Context) error {
	return r.eachScope(ctx, "recordings", func(scope string) error {
		size, err := r.Data.Expire(ctx, scope, r.terms.DryRun)
		r.out.FreedBytes += size
		return err
	})
}

// eachScope runs a part for each scope. Errors are added to the result; it fails when all scopes fail.
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
		last = r.addError(ctx, part, scope, err)
		failed++
	}
	if failed == len(scopes) {
		return last
	}
	return nil
}

// eraseBatch is how many workspaces one note has.
const eraseBatch = 500

// eraseInactive erases the events of small inactive workspaces, and their payloads.
func (r *run) eraseInactive(ctx context.Context) error {
	if r.terms.MaxEvents < 0 || r.terms.Inactivity < 0 {
		return nil
	}
	ids, err := r.knownWorkspaces(target{})
	if err != nil {
		return err
	}
	gone, err := r.deletedWorkspaces()
	if err != nil {
		return err
	}
	buried := map[string]bool{domain.Platform: true} // erased by another part, or never
	for _, rec := range gone {
		buried[rec.ID] = true
	}
	for _, id := range ids {
		if buried[id] || !r.isSelected(id) {
			continue
		}
		found, ok, err := r.checkIdle(id)
		if err != nil {
			return err
		}
		if ok {
			r.out.Inactive.Found = append(r.out.Inactive.Found, found)
		}
	}
	for some := range slices.Chunk(r.out.Inactive.Found, eraseBatch) {
		var targets []target
		for _, w := range some {
			targets = append(targets, target{WorkspaceID: w.WorkspaceID, Below: r.end})
		}
		n, err := r.erase(ctx, targets...)
		r.out.Inactive.DeletedEvents += n
		for _, t := range targets {
			if err == nil && !r.terms.DryRun {
				_, _, err = r.Data.Strip(ctx, t.WorkspaceID, r.now, false)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkIdle reports whether a workspace has activity, few events and no recent one. Changes of its content count,
// though they are never erased. Errors count as events, but not as recent activity.
func (r *run) checkIdle(workspaceID string) (found activity.Idle, ok bool, err error) {
	count, recorded, last := 0, 0, time.Time{}
	rd := r.Models.Reader()
	defer rd.Close()
	for _, log := range domain.Logs() {
		err := projections.FeedOf(log).List(rd, workspaceID, projections.FeedSelection{}, ^uint64(0), true, func(e projections.FeedEntry) bool {
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
			return found, false, err
		}
	}
	since := r.now.Sub(last)
	if recorded == 0 || count > r.terms.MaxEvents || since <= r.terms.Inactivity {
		return found, false, nil
	}
	return activity.Idle{WorkspaceID: workspaceID, InactivityDays: int(since / (24 * time.Hour)), EventsCount: count}, true, nil
}

// isError reports whether a type is `error`, or the error type of an app instance.
func isError(eventType string) bool {
	return eventType == activity.Failure{}.EventType() || strings.HasSuffix(eventType, "."+activity.Failure{}.EventType())
}

// eraseDeleted erases the rest of workspaces that cannot be restored: their events, their other data, and the key of
// their sealed values.
func (r *run) eraseDeleted(ctx context.Context) error {
	gone, err := r.deletedWorkspaces()
	if err != nil {
		return err
	}
	for _, rec := range gone {
		left, err := r.hasLeftovers(ctx, rec.ID)
		if err == nil && left {
			r.out.Deleted.Found = append(r.out.Deleted.Found, activity.Gone{WorkspaceID: rec.ID, DeletedAt: domain.FormatTime(rec.Deleted.At)})
			err = r.eraseWorkspace(ctx, rec.ID)
		}
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			_ = r.addError(ctx, "deletedWorkspaces", rec.ID, err) // the next run retries it
		}
	}
	return nil
}

// deletedWorkspaces lists the workspaces whose deletion is final.
func (r *run) deletedWorkspaces() (list []projections.Record, err error) {
	rd := r.Models.Reader()
	defer rd.Close()
	err = projections.Workspaces{}.List(rd, true, func(rec projections.Record) bool {
		d := rec.Deleted
		if d != nil && r.isSelected(rec.ID) && !r.now.Before(d.Until) && r.now.Sub(d.At) >= r.terms.DeletionDelay {
			list = append(list, rec)
		}
		return true
	})
	return list, err
}

// hasLeftovers reports whether anything of a workspace is left to erase.
func (r *run) hasLeftovers(ctx context.Context, workspaceID string) (bool, error) {
	p, err := r.nextPiece(target{Below: r.end}, workspaceID, 0)
	if err != nil || p.Stored > 0 {
		return true, err
	}
	return r.Data.HasData(ctx, workspaceID)
}

func (r *run) eraseWorkspace(ctx context.Context, workspaceID string) error {
	n, err := r.erase(ctx, target{WorkspaceID: workspaceID, Below: r.end, Buried: true})
	if r.out.Deleted.DeletedEvents += n; err != nil || r.terms.DryRun {
		return err
	}
	return r.Data.Erase(ctx, workspaceID)
}
