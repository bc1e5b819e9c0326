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

// Plan says when the jobs run by themselves.
type Plan struct {
	Enabled             bool
	Indices, Executions string // five-field schedules
	Zone                *time.Location
}

// Schedule runs the jobs in time, on one of all nodes. A run that was missed is made up
// for, once.
type Schedule struct {
	Jobs   *Jobs
	Memory Memory
	Plan   func() Plan
}

// Memory knows when a job ran last. It is a *jetstream.Bucket.
type Memory interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
}

// lookPeriod is how often a Schedule looks whether something is due.
const lookPeriod = 30 * time.Second

// Run does its work until ctx ends. What fails is logged, and tried again.
func (s Schedule) Run(ctx context.Context) error {
	for {
		if err := s.Look(ctx); err != nil && ctx.Err() == nil {
			s.Jobs.logger().ErrorContext(ctx, "a cleanup that is due was not done", "err", err)
		}
		if commands.Sleep(ctx, lookPeriod) != nil {
			return nil
		}
	}
}

// Look runs what is due.
func (s Schedule) Look(ctx context.Context) error {
	plan := s.Plan()
	if !plan.Enabled {
		return nil
	}
	return errors.Join(
		s.look(ctx, activity.JobIndices, plan.Indices, plan.Zone, (*run).indices),
		s.look(ctx, activity.JobExecutions, plan.Executions, plan.Zone, (*run).executions))
}

// look runs a job when it is due. Whether it is is asked again under the lease: another
// node may have been faster.
func (s Schedule) look(ctx context.Context, job, schedule string, zone *time.Location, parts func(*run) []part) error {
	times, err := cron.Parse(schedule)
	if err != nil {
		return err
	}
	if due, err := s.due(ctx, job, times, zone); err != nil || !due {
		return err
	}
	err = s.Jobs.Lease.Attempt(ctx, func(ctx context.Context) error {
		if due, err := s.due(ctx, job, times, zone); err != nil || !due {
			return err
		}
		cause := &commands.Request{Meta: domain.Meta{CorrelationID: uuid.NewString()}}
		if _, err := s.Jobs.do(commands.WithRequest(ctx, cause), job, s.Jobs.Terms(), parts); err != nil {
			return err
		}
		return s.ran(ctx, job)
	})
	if errors.Is(err, streams.ErrHeld) {
		return nil // it will be due again, unless what runs is this very job
	}
	return err
}

// due reports whether a time of the job has passed since it ran last. A job that never
// ran waits for its first time from now on.
func (s Schedule) due(ctx context.Context, job string, times *cron.Schedule, zone *time.Location) (bool, error) {
	value, _, err := s.Memory.Get(ctx, lastKey(job))
	if errors.Is(err, eventstore.ErrNoKey) {
		return false, s.ran(ctx, job)
	}
	if err != nil {
		return false, err
	}
	last, err := time.Parse(time.RFC3339Nano, string(value))
	if err != nil {
		return true, nil // what does not tell is written anew by the run
	}
	next, ok := times.Next(last, zone)
	return ok && !s.Jobs.now().Before(next), nil
}

// ran notes that a job has run.
func (s Schedule) ran(ctx context.Context, job string) error {
	_, err := s.Memory.Put(ctx, lastKey(job), []byte(s.Jobs.now().UTC().Format(time.RFC3339Nano)))
	return err
}

func lastKey(job string) string { return "last/" + job }
