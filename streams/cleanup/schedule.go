package cleanup

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"svc/commands"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation/cron"
	"svc/eventstore"
	"svc/streams"
)

// Plan says when the jobs run.
type Plan struct {
	Enabled             bool
	Indices, Executions string // five-field schedules
	Zone                *time.Location
}

// Schedule runs the jobs at their times, on one of all nodes. A missed run is made up for once.
type Schedule struct {
	Jobs     *Jobs
	RunTimes eventstore.Bucket
	Plan     func() Plan
}

// checkInterval is how often a Schedule checks whether a job is due.
const checkInterval = 30 * time.Second

// Run runs jobs until ctx ends. Errors are logged, and the job is retried.
func (s Schedule) Run(ctx context.Context) error {
	for {
		if err := s.RunDue(ctx); err != nil && ctx.Err() == nil {
			s.Jobs.logger().ErrorContext(ctx, "a cleanup that is due failed", "err", err)
		}
		if commands.Sleep(ctx, checkInterval) != nil {
			return nil
		}
	}
}

// RunDue runs the jobs that are due.
func (s Schedule) RunDue(ctx context.Context) error {
	plan := s.Plan()
	if !plan.Enabled {
		return nil
	}
	return errors.Join(
		s.runIfDue(ctx, activity.JobIndices, plan.Indices, plan.Zone, (*run).indexParts),
		s.runIfDue(ctx, activity.JobExecutions, plan.Executions, plan.Zone, (*run).executionParts))
}

// runIfDue runs a job when it is due. It checks again under the lease: another node may have been faster.
func (s Schedule) runIfDue(ctx context.Context, job, schedule string, zone *time.Location, parts func(*run) []part) error {
	times, err := cron.Parse(schedule)
	if err != nil {
		return err
	}
	if due, err := s.isDue(ctx, job, times, zone); err != nil || !due {
		return err
	}
	err = s.Jobs.Lease.Attempt(ctx, func(ctx context.Context) error {
		if due, err := s.isDue(ctx, job, times, zone); err != nil || !due {
			return err
		}
		cause := &commands.Request{Meta: domain.Meta{CorrelationID: uuid.NewString()}}
		if _, err := s.Jobs.runJob(commands.WithRequest(ctx, cause), job, s.Jobs.Terms(), parts); err != nil {
			return err
		}
		return s.recordRun(ctx, job)
	})
	if errors.Is(err, streams.ErrHeld) {
		return nil // it stays due, unless this very job is running
	}
	return err
}

// isDue reports whether a time of the job has passed since its last run. A job that never ran waits for its next
// time.
func (s Schedule) isDue(ctx context.Context, job string, times *cron.Schedule, zone *time.Location) (bool, error) {
	value, _, err := s.RunTimes.Get(ctx, lastKey(job))
	if errors.Is(err, eventstore.ErrNoKey) {
		return false, s.recordRun(ctx, job)
	}
	if err != nil {
		return false, err
	}
	last, err := time.Parse(time.RFC3339Nano, string(value))
	if err != nil {
		return true, nil // the run replaces a damaged value
	}
	next, ok := times.Next(last, zone)
	return ok && !s.Jobs.now().Before(next), nil
}

// recordRun records that a job has run.
func (s Schedule) recordRun(ctx context.Context, job string) error {
	_, err := s.RunTimes.Put(ctx, lastKey(job), []byte(s.Jobs.now().UTC().Format(time.RFC3339Nano)))
	return err
}

func lastKey(job string) string { return "last/" + job }
