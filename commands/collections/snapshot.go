package collections

import (
	"context"
	"fmt"

	"svc/domain"
	"svc/domain/collection"
	"svc/eventstore"
)

// Run replaces long logs by snapshots until ctx ends, which is no error.
func (c *Collections) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-c.due:
			if err := c.Compact(ctx, id); err != nil && ctx.Err() == nil {
				c.opts.Logger.Warn("a log of collections was not replaced by a snapshot; the next write asks again", "data", id.String(), "err", err)
			}
		}
	}
}

// Compact replaces the log of a namespace by a snapshot, if it is due. Writes continue while the rows
// are read; they wait while later entries are added.
func (c *Collections) Compact(ctx context.Context, id domain.StreamID) error {
	p := &entryPacker{Envelope: c.envelope, id: id, name: c.opts.NewID()}
	var at collection.Mark
	err := c.opts.Rows.View(ctx, id, func(v collection.Source, mark collection.Mark) error {
		if at = mark; !at.NeedsSnapshot() {
			return nil
		}
		return collection.SnapshotChanges(v, pieceSize, func(piece []byte) error { return p.addPiece(ctx, piece) })
	})
	if err != nil || !at.NeedsSnapshot() {
		return err
	}
	return c.enqueue(ctx, id, &job{do: func(ctx context.Context) error { return c.snapshot(ctx, p, at.Seq) }})
}

// snapshot adds the entries after a sequence to a packer with everything up to there, and replaces
// the log by it.
func (c *Collections) snapshot(ctx context.Context, p *entryPacker, last uint64) error {
	err := c.opts.Log.Since(ctx, p.id, last, func(e collection.Logged) error {
		if e.Snapshot || e.Previous != last {
			return fmt.Errorf("%w: another snapshot was faster, and may have dropped the parts of this one", eventstore.ErrConflict)
		}
		last = e.Seq
		return c.envelope.Open(ctx, e, func(changes []byte) error { return p.addPiece(ctx, changes) })
	})
	if err != nil {
		return err
	}
	body, err := p.end(ctx)
	if err != nil {
		return err
	}
	seq, err := c.opts.Log.Append(ctx, p.id, p.name, last, true, body)
	if err != nil {
		return err
	}
	if p.first > 0 {
		seq = p.first
	}
	return c.opts.Log.DropParts(ctx, p.id, seq)
}
