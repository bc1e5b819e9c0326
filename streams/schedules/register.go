package schedules

import (
	"cmp"
	"context"

	"svc/commands"
	"svc/domain"
	"svc/projections"
)

// watch registers what changes, until ctx ends. At first it compares all workspaces with
// what is registered of them, whoever wrote that.
func (s *share) watch(ctx context.Context) {
	from := uint64(0)
	for ctx.Err() == nil {
		s.mu.Lock()
		seen := s.seen
		s.mu.Unlock()
		if at := s.Models.Position().State; at > from {
			if err := s.update(ctx, from, seen); err == nil {
				s.mu.Lock()
				s.seen, from = max(at, seen), at
				s.mu.Unlock()
			} else if ctx.Err() == nil {
				s.Log.WarnContext(ctx, "what changed could not be scheduled", "share", s.number, "err", err)
				rest(ctx)
			}
		}
		_ = commands.Sleep(ctx, watchEvery)
	}
}

// change says that something of a workspace changed, at a sequence of the state log.
type change struct {
	workspaceID string
	seq         uint64
}

// update registers the workspaces of the share that changed after a sequence, and those
// with instances of apps that did after another. One that cannot be registered keeps
// none of the others from it.
func (s *share) update(ctx context.Context, after, published uint64) error {
	list, err := s.changes(after, published)
	if err != nil {
		return err
	}
	var failed error
	for _, c := range list {
		if err := s.register(ctx, c); err != nil {
			failed = cmp.Or(failed, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return failed
}

// changes lists what changed: workspaces themselves, and those with instances of apps.
func (s *share) changes(after, published uint64) (list []change, err error) {
	read := projections.Schedules{}
	err = s.Models.View(func(r projections.Reader) error {
		add := func(id string, seq uint64) bool {
			if s.owns(id) {
				list = append(list, change{id, seq})
			}
			return true
		}
		if err := read.Changed(r, after, add); err != nil {
			return err
		}
		var apps []change
		err := read.Republished(r, published, func(slug string, seq uint64) bool {
			apps = append(apps, change{slug, seq})
			return true
		})
		for _, app := range apps {
			users, failed := read.Users(r, app.workspaceID)
			err = cmp.Or(err, failed)
			for _, id := range users {
				add(id, app.seq)
			}
		}
		return err
	})
	return list, err
}

// register registers what a workspace has scheduled, unless that was done since the
// change, and records it.
func (s *share) register(ctx context.Context, c change) error {
	s.mu.Lock()
	old := record{WorkspaceID: c.workspaceID}
	if p := s.plans[c.workspaceID]; p != nil {
		old = p.record
	}
	s.mu.Unlock()
	if old.At >= c.seq {
		return nil
	}
	at := s.Models.Position().State
	house, err := s.Programs.House(ctx, c.workspaceID)
	if err != nil {
		return err
	}
	v := &revision{
		share: s, change: c, old: old, was: old.byName(), now: record{WorkspaceID: c.workspaceID, At: max(at, c.seq)},
		causes: map[uint64]domain.Recorded{},
	}
	if house != nil {
		if err := v.enact(ctx, house); err != nil {
			return err
		}
	}
	body, err := v.now.encode()
	if err == nil {
		_, err = s.Memory.Put(ctx, recordKey(c.workspaceID), body)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrange(v.now)
	return nil
}
