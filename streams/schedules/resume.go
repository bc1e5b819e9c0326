package schedules

import (
	"cmp"
	"context"
	"time"

	"svc/domain"
	"svc/domain/activity"
	"svc/projections"
	"svc/streams"
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
		past, err := s.Begun(ctx, ev.Stream.Scope, ev.Meta.CorrelationID, ev.ID, fired.Automation)
		if err != nil {
			return err
		}
		if past.Over {
			continue
		}
		at, _ := time.Parse(time.RFC3339, fired.ScheduledAt)
		f := &firing{
			workspaceID: ev.Stream.Scope, automation: fired.Automation, cron: fired.Trigger.Value, at: at, late: fired.Late,
			id: ev.ID, correlationID: ev.Meta.CorrelationID, trace: ev.Meta.TraceID, after: ev.Seq - 1, stored: true,
		}
		s.mu.Lock()
		s.open[f] = true
		s.mu.Unlock()
		s.under.Go(func() { s.settle(f, s.again(ctx, f)) })
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

// again begins a tree that was interrupted, as soon as no node that is there runs it. It is
// over at once when its automation is not there any more.
func (s *share) again(ctx context.Context, f *firing) (over bool) {
	for ctx.Err() == nil {
		past, err := s.past(ctx, f)
		house, program, missing := s.find(ctx, f.workspaceID, f.automation)
		switch err = cmp.Or(err, missing); {
		case err != nil:
			s.Log.WarnContext(ctx, "a schedule could not be begun again", "workspace", f.workspaceID, "automation", f.automation, "err", err)
			rest(ctx)
		case past.Over || program == nil:
			return true
		case past.Running:
			rest(ctx)
		default:
			return s.follow(ctx, s.startOf(f, house, program, past.Attempts+1))
		}
	}
	return false
}

// past finds out what became of the tree of a firing.
func (s *share) past(ctx context.Context, f *firing) (streams.Past, error) {
	return streams.Surely(ctx, s.Fresh, func() (streams.Past, error) {
		return s.Begun(ctx, f.workspaceID, f.correlationID, f.id, f.automation)
	})
}
