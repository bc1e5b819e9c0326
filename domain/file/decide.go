package file

import (
	"time"

	"svc/domain"
)

func decide(s State, cmd Command) ([]domain.Event, error) {
	switch c := cmd.(type) {
	case Upload:
		return upload(s, c)
	case Look:
		return nil, s.there(c.Now)
	case Change:
		return change(s, c)
	case Replace:
		return replace(s, c)
	case Delete:
		if err := s.there(c.Now); err != nil {
			return nil, err
		}
		return []domain.Event{Deleted{s.ID, s.Name}}, nil
	case Expire:
		if s.ID == "" || s.Deleted || !s.expiredAt(c.Now) {
			return nil, nil // it was given more time, or somebody was faster
		}
		return []domain.Event{Deleted{s.ID, s.Name}}, nil
	default:
		return nil, domain.Refuse(domain.CodeInternal, "file: unknown command %T", cmd)
	}
}

// there refuses what is asked of a file that is gone.
func (s State) there(now time.Time) error {
	if s.GoneAt(now) {
		return domain.Refuse(domain.CodeNotFound, "there is no such file").With("resource", "file")
	}
	return nil
}

func upload(s State, c Upload) ([]domain.Event, error) {
	if s.ID != "" {
		return nil, nil
	}
	facts := Facts{ID: c.ID, WorkspaceID: c.WorkspaceID, Terms: c.Terms, Content: c.Content, CreatedBy: c.By}
	facts.ExpiresAt = expiry(c.Terms.ExpiresAfter, c.Now)
	share := Share{Sealed: c.Token}
	if len(c.Token) > 0 {
		share.Generation = 1
	}
	if err := facts.validate(); err != nil {
		return nil, err
	}
	return []domain.Event{Uploaded{facts.placed(), share}}, nil
}

func change(s State, c Change) ([]domain.Event, error) {
	if err := s.there(c.Now); err != nil {
		return nil, err
	}
	facts, share := s.Facts, s.Share
	if c.Name != nil {
		facts.Name = *c.Name
	}
	if c.Public != nil {
		facts.Public = *c.Public
	}
	if c.Metadata != nil {
		facts.Metadata = *c.Metadata
	}
	if c.ExpiresAfter != nil {
		facts.ExpiresAfter = *c.ExpiresAfter
		facts.ExpiresAt = expiry(*c.ExpiresAfter, c.Now)
	}
	if c.Share != nil {
		share = Share{Generation: share.Generation + 1, Sealed: c.Share.Sealed}
	}
	return updated(s, facts, share)
}

func replace(s State, c Replace) ([]domain.Event, error) {
	if err := s.there(c.Now); err != nil {
		return nil, err
	}
	facts := s.Facts
	facts.Content = c.Content
	return updated(s, facts, s.Share)
}

// updated records what a file is now, when that is something else than before.
func updated(s State, facts Facts, share Share) ([]domain.Event, error) {
	facts = facts.placed()
	if domain.Same(s.Facts, facts) && domain.Same(s.Share, share) {
		return nil, nil
	}
	if err := facts.validate(); err != nil {
		return nil, err
	}
	return []domain.Event{Updated{facts, share}}, nil
}

// expiry is when a file ends that has so many seconds from now on.
func expiry(after int64, now time.Time) time.Time {
	if after <= 0 || after > maxExpiresAfter {
		return time.Time{}
	}
	return now.Add(time.Duration(after) * time.Second).UTC().Truncate(time.Millisecond)
}

// placed returns the facts with the path that follows from them.
func (f Facts) placed() Facts {
	f.Path = f.WorkspaceID + "/" + f.ID + "." + f.Name
	return f
}

func evolve(s State, ev domain.Event) State {
	switch e := ev.(type) {
	case Uploaded:
		return State{Facts: e.File, Share: e.Share}
	case Updated:
		s.Facts, s.Share = e.File, e.Share
	case Deleted:
		s.Deleted = true
	}
	return s
}
