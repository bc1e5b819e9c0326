package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"svc/domain/collection"
)

// errStale says that the model lacks entries that the log has no more: it is filled
// again.
var errStale = errors.New("rows: entries are missing between the model and the log")

// apply applies entries, all of them or, for whoever reads, none.
func (m *Model) apply(ctx context.Context, entries []collection.Logged) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.newBatch()
	defer func() { b.txn.Discard() }()
	at := m.at
	at.Version = version
	err := b.all(ctx, entries, &at)
	if err == nil {
		err = b.finish(at)
	}
	if err != nil {
		if b.begun { // a part is there: nobody is to see it
			m.advance(m.at.Seq, false)
		}
		return err
	}
	m.at = at
	m.forgetInfos(b)
	return nil
}

// all applies entries that come after a checkpoint, which it moves.
func (b *batch) all(ctx context.Context, entries []collection.Logged, at *checkpoint) error {
	for _, e := range entries {
		if e.Seq <= at.Seq {
			continue
		}
		if err := b.entry(ctx, e); err != nil {
			return fmt.Errorf("apply entry %d of %s: %w", e.Seq, e.Stream, err)
		}
		at.Seq = e.Seq
	}
	return nil
}

func (m *Model) forgetInfos(b *batch) {
	m.progress.Lock()
	defer m.progress.Unlock()
	for space := range b.changed {
		delete(m.infos, space)
	}
}

// entry applies one entry.
func (b *batch) entry(ctx context.Context, e collection.Logged) error {
	space := spaceOf(e.Stream)
	s, err := b.standing(space)
	if err != nil {
		return err
	}
	body, err := collection.ParseEntry(e.Body)
	if err == nil && e.Snapshot && e.Previous == s.Seq && s.Fault == "" {
		s.Seq, s.Logged = e.Seq, body.Size // it says what is known
		return nil
	}
	switch {
	case e.Snapshot || e.Previous == 0:
		if err := b.clear(space); err != nil {
			return err
		}
		*s = standing{}
	case s.Fault != "":
	case e.Previous != s.Seq && !b.m.fresh:
		return errStale
	case e.Previous != s.Seq:
		s.Fault = fmt.Sprintf("the entries between %d and %d are missing from the log", s.Seq, e.Previous)
	}
	if err == nil && s.Fault == "" {
		err = b.open(ctx, space, e)
	}
	if errors.Is(err, collection.ErrGone) || errors.Is(err, collection.ErrUnreadable) {
		s.Fault = err.Error()
		b.m.opts.Logger.Error("collections cannot be read", "data", e.Stream.String(), "seq", e.Seq, "err", err)
		err = b.clear(space)
	}
	s.Seq = e.Seq
	s.Logged += body.Size
	return err
}

// open applies the changes of an entry.
func (b *batch) open(ctx context.Context, space string, e collection.Logged) error {
	return b.m.opts.Opener.Open(ctx, e, func(encoded []byte) error {
		changes, err := collection.DecodeChanges(encoded)
		if err != nil {
			return fmt.Errorf("%w: %w", collection.ErrUnreadable, err)
		}
		for _, c := range changes {
			if err := b.change(space, c); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *batch) change(space string, c collection.Change) error {
	switch c.Kind {
	case collection.Put, collection.Removed:
		return b.put(space, c)
	case collection.Dropped:
		return b.dropCollection(space, c.Collection)
	}
	info, err := b.info(space, c.Collection)
	if err != nil {
		return err
	}
	if info == nil {
		info = &collection.Info{}
	}
	next := info.After(c)
	if c.Kind == collection.Declared {
		if err := b.redeclare(space, info, next); err != nil {
			return err
		}
	}
	return b.setInfo(space, c.Collection, next)
}

func (b *batch) dropCollection(space string, number uint32) error {
	if _, err := b.info(space, number); err != nil {
		return err
	}
	delete(b.counts, string(areaKey(ofStats, space, number)))
	for _, kind := range []byte{ofStats, ofRow, ofUnique, ofIndex} {
		if err := b.drop(areaKey(kind, space, number)); err != nil {
			return err
		}
	}
	return b.setInfo(space, number, nil)
}

// redeclare drops the indexes that are declared no more, and fills those that are
// new. An index whose fields are of another kind now has other keys.
func (b *batch) redeclare(space string, was, is *collection.Info) error {
	var kept []collection.Index
	for _, x := range was.Declaration.All() {
		if i := slices.IndexFunc(is.Declaration.All(), func(y collection.Index) bool { return sameIndex(x, y) }); i >= 0 && was.Declaration.SameKeys(is.Declaration, x) {
			kept = append(kept, x)
			continue
		}
		if err := b.drop(indexKey(space, is.Collection, x)); err != nil {
			return err
		}
	}
	for _, x := range is.Declaration.All() {
		if slices.ContainsFunc(kept, func(y collection.Index) bool { return sameIndex(x, y) }) {
			continue
		}
		if err := b.fill(space, is, x); err != nil {
			return err
		}
	}
	return nil
}

func sameIndex(x, y collection.Index) bool { return x.Name == y.Name && x.Unique == y.Unique }

// fill puts every row into an index.
func (b *batch) fill(space string, info *collection.Info, x collection.Index) error {
	// The rows are read as they are so far: one transaction cannot hold all keys.
	if err := b.flush(); err != nil {
		return err
	}
	v := &view{ctx: context.Background(), txn: b.m.opts.DB.NewTransaction(false), space: space}
	defer v.txn.Discard()
	return v.all(info.Collection, func(id string, stored collection.Row) (bool, error) {
		row, err := stored.Object()
		if err != nil {
			return false, fmt.Errorf("%w: %w", collection.ErrUnreadable, err)
		}
		return true, b.move(space, info, x, id, nil, row)
	})
}
