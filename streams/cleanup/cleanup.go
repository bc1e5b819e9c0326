package cleanup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
	"svc/projections"
	"svc/streams"
)

type (
	// Log is the activity log. It is a *jetstream.Log.
	Log interface {
		Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error)
		// Reread returns the events at seqs. One that has been erased is left out.
		Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error)
		// Since returns the sequence before which every event is older than a time.
		Since(ctx context.Context, log domain.Log, at time.Time) (uint64, error)
		// PurgeActivity erases the events before a sequence, of a workspace or of all, of
		// a type or of any. They do not come back.
		PurgeActivity(ctx context.Context, workspaceID, eventType string, below uint64) error
	}
	// Apart is what belongs to workspaces and is no event.
	Apart interface {
		// Strip erases, or counts on a dry run, the payloads of a workspace, or of all,
		// that are older than a time.
		Strip(ctx context.Context, workspaceID string, before time.Time, dry bool) (count, bytes uint64, err error)
		// Expire erases, or measures on a dry run, the records of runs of a workspace, or
		// of all, whose own time is over.
		Expire(ctx context.Context, workspaceID string, dry bool) (bytes uint64, err error)
		Holds(ctx context.Context, workspaceID string) (bool, error)
		// Stands reports whether it is kept where a tree stands, by its first execution.
		Stands(ctx context.Context, workspaceID, treeID string) (bool, error)
		// Erase erases everything, and the key of the workspace.
		Erase(ctx context.Context, workspaceID string) error
	}
	// Notes outlive the process. They are a *jetstream.Bucket.
	Notes interface {
		Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
		Delete(ctx context.Context, key string) error
		// List returns the values of the keys below prefix.
		List(ctx context.Context, prefix string) ([][]byte, error)
	}
)

// Terms say what is old enough. Below zero, Retention, MaxEvents and Executions switch
// their part off.
type Terms struct {
	Retention  time.Duration // of events
	MaxEvents  int           // of a small workspace
	Inactivity time.Duration // of one that nobody uses
	Executions time.Duration // of payloads
	// DeletionDelay is how long the events of a deleted workspace are kept.
	DeletionDelay time.Duration
	// Operations is how long operations are shown after their end.
	Operations   time.Duration
	WorkspaceIDs []string // only these; none: all
	DryRun       bool     // nothing is erased
}

// Jobs are the cleanup jobs. Every field but Now and Logger is required.
type Jobs struct {
	Log   Log
	Apart Apart
	Blobs Blobs
	// BlobOwners names blobs that are in use, besides the read models.
	BlobOwners BlobOwners
	Notes      Notes
	Models     *projections.Models
	Lease      streams.Lease // of all runs: one at a time
	// Record appends an activity event to a workspace.
	Record func(ctx context.Context, workspaceID string, ev domain.Event) error
	Terms  func() Terms
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default
}

// Indices erases the events that are too old, those of small workspaces that nobody
// uses, and those of workspaces that were deleted long ago. A part that fails is told
// in the result; when all of them do, that is the error.
func (j *Jobs) Indices(ctx context.Context, t Terms) (activity.Cleaned, error) {
	return j.alone(ctx, activity.JobIndices, t, (*run).indices)
}

// Executions erases what executions that are too old were given and gave, and records
// of runs whose time is over. It fails as Indices does.
func (j *Jobs) Executions(ctx context.Context, t Terms) (activity.Cleaned, error) {
	return j.alone(ctx, activity.JobExecutions, t, (*run).executions)
}

// alone does a run unless there is one already, on any node.
func (j *Jobs) alone(ctx context.Context, job string, t Terms, parts func(*run) []part) (done activity.Cleaned, err error) {
	err = j.Lease.Attempt(ctx, func(ctx context.Context) error {
		done, err = j.do(ctx, job, t, parts)
		return err
	})
	if errors.Is(err, streams.ErrHeld) {
		return done, j.turnAway(ctx)
	}
	return done, err
}

// run is one run of a job.
type run struct {
	*Jobs
	terms   Terms
	now     time.Time
	end     uint64 // what is before it was there when the run began
	floor   uint64 // what is before it is counted already, on a dry run
	out     activity.Cleaned
	waiting []eventstore.Commit // to be appended together
}

// part is one of the things that a run does.
type part struct {
	name string
	do   func(context.Context) error
}

func (j *Jobs) do(ctx context.Context, job string, t Terms, parts func(*run) []part) (activity.Cleaned, error) {
	r := &run{Jobs: j, terms: t, now: j.now(), out: activity.Cleaned{DryRun: t.DryRun, Errors: []activity.Fault{}}}
	r.out.StartedAt = stamp(r.now)
	if err := r.enter(ctx, job); err != nil {
		return r.out, err
	}
	if err := r.begin(ctx); err != nil {
		return r.out, err
	}
	var errs []error
	todo := parts(r)
	if err := r.resume(ctx); err != nil {
		_ = r.failed(ctx, "resume", "", err) // what runs now is none of it
	}
	for _, p := range todo {
		err := p.do(ctx)
		if ctx.Err() != nil {
			return r.out, context.Cause(ctx)
		}
		if err != nil {
			errs = append(errs, r.failed(ctx, p.name, "", err))
		}
	}
	r.out.Duration = j.now().Sub(r.now).Milliseconds()
	if len(errs) == len(todo) {
		return r.out, errors.Join(errs...)
	}
	if t.DryRun {
		return r.out, nil
	}
	told := r.out
	told.Job = job
	if err := j.Record(ctx, domain.Platform, told); err != nil {
		return r.out, fmt.Errorf("record the cleanup: %w", err)
	}
	j.logger().InfoContext(ctx, "cleaned up", "job", job, "durationMs", r.out.Duration, "errors", len(r.out.Errors))
	return r.out, nil
}

// patience bounds how long a run waits for the read models.
const patience = time.Minute

// begin finds out where the log ends, and waits until the read models are there.
func (r *run) begin(ctx context.Context) (err error) {
	if r.end, err = r.Log.Since(ctx, domain.Activity, farAway); err != nil {
		return err
	}
	return r.reach(ctx, domain.At(domain.Activity, r.end-1))
}

// farAway is later than any event.
var farAway = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func (r *run) reach(ctx context.Context, at domain.Position) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := r.Models.Reach(ctx, at); err != nil {
		return fmt.Errorf("the read models are behind: %w", err)
	}
	return nil
}

// failed notes what was not done, and returns it.
func (r *run) failed(ctx context.Context, part, workspaceID string, err error) error {
	r.logger().ErrorContext(ctx, "a part of the cleanup was not done", "part", part, "workspace", workspaceID, "err", err)
	r.out.Errors = append(r.out.Errors, activity.Fault{Part: part, WorkspaceID: workspaceID, Message: err.Error()})
	return fmt.Errorf("%s: %w", part, err)
}

func (j *Jobs) now() time.Time {
	if j.Now == nil {
		return time.Now()
	}
	return j.Now()
}

func (j *Jobs) logger() *slog.Logger {
	if j.Logger == nil {
		return slog.Default()
	}
	return j.Logger
}

func stamp(t time.Time) string { return t.UTC().Format(domain.Timestamp) }

// running says which run has the lease, for who is turned away.
type running struct {
	Job string `json:"job"`
	By  string `json:"by"` // a user, or the platform itself
	At  string `json:"at"`
}

// runningSpace is where that is kept: there is one at a time.
const runningSpace = "running"

// enter notes that a run has the lease.
func (r *run) enter(ctx context.Context, job string) error {
	who := cmp.Or(commands.RequestFrom(ctx).Meta.UserID, "internal")
	body, err := json.Marshal(running{Job: job, By: who, At: r.out.StartedAt})
	if err != nil {
		return err
	}
	_, err = r.Notes.Put(ctx, runningSpace+"/now", body)
	return err
}

// turnAway refuses a run because of another.
func (j *Jobs) turnAway(ctx context.Context) error {
	refusal := domain.Refuse(domain.CodeLocked, "a cleanup is running").Reason("cleanup")
	notes, err := j.Notes.List(ctx, runningSpace)
	var now running
	if err != nil || len(notes) == 0 || json.Unmarshal(notes[0], &now) != nil {
		return refusal // who it is matters less than that it is
	}
	return refusal.With("job", now.Job).With("lockedBy", now.By).With("lockedAt", now.At)
}
