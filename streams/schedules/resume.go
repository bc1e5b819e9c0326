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
		s.open[f.id] = f
		s.mu.Unlock()
		s.under.Go(func() { s.settle(f, s.follow(ctx, f, nil)) })
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
