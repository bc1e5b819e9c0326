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
	"svc/domain/kbdocument"
	"svc/eventstore"
	"svc/projections"
	"svc/streams"
)

type (
	// Log is ACTIVITY. It is a *jetstream.Log.
	Log interface {
		Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error)
		// Reread returns the events at seqs, without erased ones.
		Reread(ctx context.Context, log domain.Log, seqs []uint64) ([]domain.Recorded, error)
		// Since returns the sequence before which every event is older than a time.
		Since(ctx context.Context, log domain.Log, at time.Time) (uint64, error)
		// PurgeActivity erases the events before a sequence, of a workspace or of all, of a type or of any. They
		// cannot be restored.
		PurgeActivity(ctx context.Context, workspaceID, eventType string, below uint64) error
	}
	// WorkspaceData is the data of workspaces besides events.
	WorkspaceData interface {
		// Strip erases the payloads of a workspace, or of all, that are older than a time. On a dry run it only
		// counts.
		Strip(ctx context.Context, workspaceID string, before time.Time, dry bool) (count, bytes uint64, err error)
		// Expire erases the expired recordings of runs of a workspace, or of all. On a dry run it only measures.
		Expire(ctx context.Context, workspaceID string, dry bool) (bytes uint64, err error)
		HasData(ctx context.Context, workspaceID string) (bool, error)
		// IsParked reports whether a tree is parked, by its first execution.
		IsParked(ctx context.Context, workspaceID, treeID string) (bool, error)
		// Erase erases everything, and the key of the workspace.
		Erase(ctx context.Context, workspaceID string) error
	}
)

// Terms say what is old enough to be erased. A negative Retention, MaxEvents or Executions switches that part off.
type Terms struct {
	Retention  time.Duration // of events
	MaxEvents  int           // a workspace with more events is not small
	Inactivity time.Duration // of a small workspace
	Executions time.Duration // of the payloads of executions
	// DeletionDelay is how long the events of a deleted workspace are kept, and the documents of a deleted knowledge base.
	DeletionDelay time.Duration
	// Operations is how long operations are shown after their end.
	Operations   time.Duration
	WorkspaceIDs []string // only these; none: all
	DryRun       bool     // nothing is erased
}

// Jobs are the cleanup jobs. Every field but Now and Logger is required.
type Jobs struct {
	Log   Log
	Data  WorkspaceData
	Blobs Blobs
	// BlobOwners names blobs that are in use, besides the read models.
	BlobOwners BlobOwners
	// RemoveDocuments deletes documents of a knowledge base.
	RemoveDocuments func(ctx context.Context, workspaceID string, base kbdocument.Base, ids []string) error
	Notes           eventstore.Bucket // notes that outlive the process
	Models          *projections.Models
	Lease           streams.Lease // so that one job runs at a time
	// Record appends an activity event to a workspace.
	Record func(ctx context.Context, workspaceID string, ev domain.Event) error
	Terms  func() Terms
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default
}

// Indices erases expired events, those of small inactive workspaces, and those of workspaces that were deleted long
// ago. The result names the parts that failed; it fails when all of them did.
func (j *Jobs) Indices(ctx context.Context, t Terms) (activity.Cleaned, error) {
	return j.runExclusive(ctx, activity.JobIndices, t, (*run).indexParts)
}

// Executions erases the expired payloads of executions and expired recordings of runs. It fails as Indices does.
func (j *Jobs) Executions(ctx context.Context, t Terms) (activity.Cleaned, error) {
	return j.runExclusive(ctx, activity.JobExecutions, t, (*run).executionParts)
}

// runExclusive runs a job unless one runs already, on any node.
func (j *Jobs) runExclusive(ctx context.Context, job string, t Terms, parts func(*run) []part) (done activity.Cleaned, err error) {
	err = j.Lease.Attempt(ctx, func(ctx context.Context) error {
		done, err = j.runJob(ctx, job, t, parts)
		return err
	})
	if errors.Is(err, streams.ErrHeld) {
		return done, j.lockedError(ctx)
	}
	return done, err
}

// run is one run of a job.
type run struct {
	*Jobs
	terms   Terms
	now     time.Time
	end     uint64 // events before it existed when the run began
	floor   uint64 // on a dry run, events before it are counted already
	out     activity.Cleaned
	dropped []eventstore.Commit // to be appended
}

// part is one part of a job.
type part struct {
	name string
	do   func(context.Context) error
}

func (j *Jobs) runJob(ctx context.Context, job string, t Terms, parts func(*run) []part) (activity.Cleaned, error) {
	r := &run{Jobs: j, terms: t, now: j.now(), out: activity.Cleaned{DryRun: t.DryRun, Errors: []activity.Fault{}}}
	r.out.StartedAt = domain.FormatTime(r.now)
	if err := r.recordRunning(ctx, job); err != nil {
		return r.out, err
	}
	if err := r.findEnd(ctx); err != nil {
		return r.out, err
	}
	var errs []error
	todo := parts(r)
	if err := r.resumeErase(ctx); err != nil {
		_ = r.addError(ctx, "resume", "", err) // the parts of this run do not depend on it
	}
	for _, p := range todo {
		err := p.do(ctx)
		if ctx.Err() != nil {
			return r.out, context.Cause(ctx)
		}
		if err != nil {
			errs = append(errs, r.addError(ctx, p.name, "", err))
		}
	}
	r.out.Duration = j.now().Sub(r.now).Milliseconds()
	if len(errs) == len(todo) {
		return r.out, errors.Join(errs...)
	}
	if t.DryRun {
		return r.out, nil
	}
	result := r.out
	result.Job = job
	if err := j.Record(ctx, domain.Platform, result); err != nil {
		return r.out, fmt.Errorf("record the cleanup: %w", err)
	}
	j.logger().InfoContext(ctx, "cleaned up", "job", job, "durationMs", r.out.Duration, "errors", len(r.out.Errors))
	return r.out, nil
}

// modelsTimeout limits how long a run waits for the read models.
const modelsTimeout = time.Minute

// findEnd reads the end of the log, and waits until the read models have reached it.
func (r *run) findEnd(ctx context.Context) (err error) {
	if r.end, err = r.Log.Since(ctx, domain.Activity, farFuture); err != nil {
		return err
	}
	return r.awaitModels(ctx, domain.At(domain.Activity, r.end-1))
}

// farFuture is later than any event.
var farFuture = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func (r *run) awaitModels(ctx context.Context, at domain.Position) error {
	ctx, cancel := context.WithTimeout(ctx, modelsTimeout)
	defer cancel()
	if err := r.Models.Reach(ctx, at); err != nil {
		return fmt.Errorf("the read models are behind: %w", err)
	}
	return nil
}

// addError adds an error to the result, and returns it.
func (r *run) addError(ctx context.Context, part, workspaceID string, err error) error {
	r.logger().ErrorContext(ctx, "a part of the cleanup failed", "part", part, "workspace", workspaceID, "err", err)
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

// running names the job that holds the lease, for the error of the next one.
type running struct {
	Job string `json:"job"`
	By  string `json:"by"` // a user, or the platform itself
	At  string `json:"at"`
}

// runningSpace is the prefix of its key.
const runningSpace = "running"

// recordRunning records that a job holds the lease.
func (r *run) recordRunning(ctx context.Context, job string) error {
	who := cmp.Or(commands.RequestFrom(ctx).Meta.UserID, "internal")
	body, err := json.Marshal(running{Job: job, By: who, At: r.out.StartedAt})
	if err != nil {
		return err
	}
	_, err = r.Notes.Put(ctx, runningSpace+"/now", body)
	return err
}

// lockedError returns the refusal of a job because of another one.
func (j *Jobs) lockedError(ctx context.Context) error {
	refusal := domain.Refuse(domain.CodeLocked, "a cleanup is running").Reason("cleanup")
	notes, err := j.Notes.List(ctx, runningSpace)
	var now running
	if err != nil || len(notes) == 0 || json.Unmarshal(notes[0], &now) != nil {
		return refusal // the refusal is right without the details
	}
	return refusal.With("job", now.Job).With("lockedBy", now.By).With("lockedAt", now.At)
}
