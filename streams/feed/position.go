package feed

import (
	"context"

	"svc/domain"
	"svc/projections"
)

// Resolve returns a position in both logs for one that may name a place in one of
// them only, such as that of a write: what the other log had by then is before it too.
func (f *Feed) Resolve(ctx context.Context, workspaceID string, at domain.Position) (domain.Position, error) {
	log := domain.State
	if at.State == 0 {
		log = domain.Activity
	}
	other := otherOf(log)
	if at.Of(log) == 0 || at.Of(other) != 0 {
		return at, nil
	}
	events, err := f.store.Reread(ctx, log, []uint64{at.Of(log)})
	if err != nil {
		return at, err
	}
	err = f.models.View(func(r projections.Reader) error {
		var beside uint64
		var err error
		switch {
		case len(events) > 0:
			beside, err = projections.FeedOf(other).Before(r, workspaceID, events[0].At, log == domain.Activity)
		default: // it is erased, or not there yet: the last one before it tells the time
			var e projections.FeedEntry
			if e, err = projections.FeedOf(log).Near(r, workspaceID, at.Of(log)); err == nil {
				beside, err = projections.FeedOf(other).Before(r, workspaceID, e.At, log == domain.Activity)
			}
		}
		at = at.Max(domain.At(other, beside))
		return err
	})
	return at, err
}

// Behind returns the position right before an event: what is up to it is older.
func Behind(e *Event) domain.Position {
	before := e.Seq
	if e.Log == domain.State {
		before.State--
	} else {
		before.Activity--
	}
	return before
}

// BeforeEvent returns the position right before the event with an id.
func (f *Feed) BeforeEvent(ctx context.Context, workspaceID, eventID string) (domain.Position, bool, error) {
	e, ok, err := f.Get(ctx, workspaceID, eventID)
	if err != nil || !ok {
		return domain.Position{}, false, err
	}
	return Behind(e), true, nil
}

// Newest returns how far the logs reach. Nobody was given a position beyond it.
func (f *Feed) Newest(ctx context.Context) (at domain.Position, err error) {
	for _, log := range domain.Logs() {
		info, err := f.store.Info(ctx, log)
		if err != nil {
			return at, err
		}
		at = at.Max(domain.At(log, info.Last))
	}
	return at, nil
}

// Oldest returns the first sequence of the activity that is still there.
func (f *Feed) Oldest(ctx context.Context) (uint64, error) {
	info, err := f.store.Info(ctx, domain.Activity)
	return info.First, err
}
