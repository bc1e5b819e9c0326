package schedules

import (
	"context"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/projections"
)

// resume begins again what fired behind a sequence of the activity log and did not
// end.
func (s *share) resume(ctx context.Context, after uint64) error {
	seqs, err := s.firedAfter(after)
	if err != nil || len(seqs) == 0 {
		return err
	}
	events, err := s.Store.Reread(ctx, domain.Activity, seqs)
	if err != nil {
		return err
	}
	for _, ev := range events {
		fired, ok := ev.Data.(activity.ScheduleFired)
		if !ok {
			continue
		}
		attempts, over, err := s.over(ev, fired)
		if err != nil {
			return err
		}
		if over {
			continue
		}
		at, _ := time.Parse(time.RFC3339, fired.ScheduledAt) // for the log alone
		f := &firing{
			workspaceID: ev.Stream.Scope, automation: fired.Automation, cron: fired.Trigger.Value, at: at, late: fired.Late,
			id: ev.ID, correlationID: ev.Meta.CorrelationID, trace: ev.Meta.TraceID, after: ev.Seq - 1, stored: true,
		}
		s.mu.Lock()
		s.open[f] = true
		s.mu.Unlock()
		s.under.Go(func() { s.settle(f, s.again(ctx, f, attempts+1)) })
	}
	return nil
}

// firedAfter returns the sequences of the firings behind one.
func (s *share) firedAfter(after uint64) (seqs []uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	among := projections.Among{List: projections.ByType, Text: activity.ScheduleFired{}.EventType()}
	err = s.Models.View(func(r projections.Reader) error {
		for id := range s.plans {
			err := projections.FeedOf(domain.Activity).List(r, id, among, after+1, false, func(e projections.FeedEntry) bool {
				seqs = append(seqs, e.Seq)
				return true
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return seqs, err
}

// over tells how often the tree of a firing was begun, and whether nothing is to be
// done about it: it ended, or stands where any node goes on with it.
func (s *share) over(ev domain.Recorded, fired activity.ScheduleFired) (attempts int, over bool, err error) {
	err = s.Models.View(func(r projections.Reader) error {
		attempts, over, err = projections.Runs{}.Ended(r, ev.Stream.Scope, ev.ID, fired.Automation)
		if err != nil || over || attempts == 0 {
			return err
		}
		const many = 100 // trees of one run
		trees, err := projections.Runs{}.Open(r, ev.Stream.Scope, ev.Meta.CorrelationID, many)
		for _, t := range trees {
			over = over || t.Trigger.ID == ev.ID && len(t.Waits) > 0
		}
		return err
	})
	return attempts, over, err
}

// again begins a tree that was interrupted. It is over at once when its automation is
// not there any more.
func (s *share) again(ctx context.Context, f *firing, attempt int) (over bool) {
	for ctx.Err() == nil {
		house, program, err := s.find(ctx, f.workspaceID, f.automation)
		switch {
		case err != nil:
			s.Log.WarnContext(ctx, "a schedule could not be begun again", "workspace", f.workspaceID, "automation", f.automation, "err", err)
			rest(ctx)
		case program == nil:
			return true
		default:
			return s.follow(ctx, s.startOf(f, house, program, attempt))
		}
	}
	return false
}
