package triggers

import (
	"context"
	"errors"
	"time"

	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/activity"
)

// Orphan is a tree that began and did not end, on a node that is gone.
type Orphan struct {
	runtime.Broken

	Attempt int  // how often it was begun
	Stands  bool // where it stood in a wait is kept: any node can go on with it
}

// lookEvery is how often trees are looked for whose node is gone.
const lookEvery = 15 * time.Second

// adopt takes care of trees whose node is gone, until ctx ends: what stood in a wait goes
// on here; what an event or a schedule started is begun again by who reads those; what
// somebody else started, who has gone with the node, is recorded as interrupted.
func (s *share) adopt(ctx context.Context) {
	taken := map[string]bool{}
	for ctx.Err() == nil {
		err := s.History.Orphans(ctx, func(o Orphan) {
			if s.mine(s.number, o.WorkspaceID) && !taken[o.ExecutionID] {
				taken[o.ExecutionID] = s.care(ctx, o)
			}
		})
		if err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "trees whose node is gone could not be looked for", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// care takes care of one, and reports whether that is done.
func (s *share) care(ctx context.Context, o Orphan) bool {
	var err error
	switch {
	case o.Stands && o.Attempt <= s.MaxAttempts():
		err = s.resume(ctx, o)
	case !o.Stands && (o.Trigger.Type == activity.ByEvent || o.Trigger.Type == activity.BySchedule):
		return true
	default:
		err = s.Runtime.Interrupted(ctx, o.Broken)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "a tree whose node is gone could not be taken care of", "workspace", o.WorkspaceID, "executionId", o.ExecutionID, "err", err)
	}
	return err == nil
}

// resume goes on with a tree, for as long as it takes.
func (s *share) resume(ctx context.Context, o Orphan) error {
	house, err := s.Programs.House(ctx, o.WorkspaceID)
	if err != nil {
		return err
	}
	if house == nil {
		return s.Runtime.Interrupted(ctx, o.Broken)
	}
	run := s.Runtime.Resume(o.WorkspaceID, o.ExecutionID, house, func(ctx context.Context, a domain.Actor) (runtime.Caller, error) {
		return s.Identify(ctx, o.WorkspaceID, a)
	})
	s.under.Go(func() {
		<-run.Done()
		if _, err := run.Outcome(); errors.Is(err, runtime.ErrGone) {
			if err := s.Runtime.Interrupted(ctx, o.Broken); err != nil {
				s.Log.WarnContext(ctx, "that a tree was interrupted could not be recorded", "err", err)
			}
		}
	})
	return nil
}
