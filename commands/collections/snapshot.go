package collections

import (
	"context"
	"errors"
	"fmt"

	"svc/domain"
	"svc/domain/collection"
	"svc/eventstore"
)

// Run replaces logs that have grown by snapshots until ctx ends, which is no error.
func (c *Collections) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-c.grown:
			if err := c.Compact(ctx, id); err != nil && ctx.Err() == nil {
				c.opts.Logger.Warn("a log of collections was not replaced by a snapshot; the next write asks again", "data", id.String(), "err", err)
			}
		}
	}
}

// Compact replaces the log of a namespace by a snapshot, if it is due for one. Writes
// go on while the rows are read; they wait while what was written since is added.
func (c *Collections) Compact(ctx context.Context, id domain.StreamID) error {
	p := &packing{Envelope: c.envelope, id: id, name: c.opts.NewID()}
	var at collection.Mark
	err := c.opts.Rows.View(ctx, id, func(v collection.Source, mark collection.Mark) error {
		if at = mark; !at.Overgrown() {
			return nil
		}
		return collection.Whole(v, pieceSize, func(piece []byte) error { return p.add(ctx, piece) })
	})
	if err != nil || !at.Overgrown() {
		return err
	}
	return c.take(ctx, id, &job{do: func(ctx context.Context) error { return c.snapshot(ctx, p, at.Seq) }})
}

// snapshot adds what was written after a sequence to a packing with everything up to
// there, and puts it in the place of all.
func (c *Collections) snapshot(ctx context.Context, p *packing, last uint64) error {
	err := c.opts.Log.CollectionsSince(ctx, p.id, last, func(e collection.Logged) error {
		if e.Snapshot || e.Previous != last {
			return fmt.Errorf("%w: another snapshot was faster, and may have dropped the parts of this one", eventstore.ErrConflict)
		}
		last = e.Seq
		return c.envelope.Open(ctx, e, func(changes []byte) error { return p.add(ctx, changes) })
	})
	if err != nil {
		return err
	}
	body, err := p.end(ctx)
	if err != nil {
		return err
	}
	seq, err := c.opts.Log.AppendCollections(ctx, p.id, p.name, last, true, body)
	if err != nil {
		return err
	}
	if p.first > 0 {
		seq = p.first
	}
	return c.opts.Log.DropCollectionsParts(ctx, p.id, seq)
}

// packAll returns the body of an entry with everything that v has.
func (c *Collections) packAll(ctx context.Context, id domain.StreamID, v collection.Source) (*packing, []byte, error) {
	p := &packing{Envelope: c.envelope, id: id, name: c.opts.NewID()}
	err := collection.Whole(v, pieceSize, func(piece []byte) error { return p.add(ctx, piece) })
	if err != nil {
		return p, nil, err
	}
	body, err := p.end(ctx)
	return p, body, err
}

// ErrOccupied says that collections cannot be moved to where there are others.
var ErrOccupied = errors.New("collections: there are collections already")

// Move gives the collections of an app instance to the name that it has now. It does
// nothing when there are none, and fails with ErrOccupied when the new name has some.
func (c *Collections) Move(ctx context.Context, workspaceID, app, from, to string) error {
	source, target := StreamOf(workspaceID, app, from), StreamOf(workspaceID, app, to)
	if source == target {
		return nil
	}
	if err := errors.Join(c.refresh(ctx, source), c.refresh(ctx, target)); err != nil {
		return err
	}
	return c.take(ctx, source, &job{do: func(ctx context.Context) error {
		return c.opts.Rows.View(ctx, source, func(v collection.Source, at collection.Mark) error {
			infos, err := v.Infos()
			if err != nil || len(infos) == 0 {
				return err
			}
			if err := c.fill(ctx, target, v); err != nil {
				return err
			}
			dropped := decision{at: at}
			for _, info := range infos {
				dropped.changes = append(dropped.changes, collection.Change{Kind: collection.Dropped, Collection: info.Collection})
			}
			return c.append(ctx, source, dropped)
		})
	}})
}

// fill writes everything that v has to a namespace that is empty.
func (c *Collections) fill(ctx context.Context, id domain.StreamID, v collection.Source) error {
	return c.take(ctx, id, &job{do: func(ctx context.Context) error {
		var at collection.Mark
		err := c.opts.Rows.View(ctx, id, func(have collection.Source, mark collection.Mark) error {
			at = mark
			infos, err := have.Infos()
			if err == nil && len(infos) > 0 {
				err = ErrOccupied
			}
			return err
		})
		if err != nil {
			return err
		}
		p, body, err := c.packAll(ctx, id, v)
		if err != nil {
			return err
		}
		seq, err := c.opts.Log.AppendCollections(ctx, id, p.name, at.Seq, false, body)
		if err != nil {
			return err
		}
		return c.opts.Rows.Reach(ctx, seq)
	}})
}
