package node

import (
	"context"
	"fmt"
	"path/filepath"

	"svc/commands/collections"
	"svc/domain/collection"
	"svc/projections"
	"svc/projections/rows"
)

// openCollections opens the rows that automations keep.
func (n *Node) openCollections() (*collections.Collections, error) {
	c := n.config()
	db, err := projections.OpenDB(projections.DBOptions{
		Dir: filepath.Join(c.Core.DataDir, "rows"), MemtableMB: c.Core.BadgerMemtable >> 20, BlockCacheMB: c.Core.BadgerBlockCache >> 20, Log: n.log,
	})
	if err != nil {
		return nil, fmt.Errorf("open the rows of collections: %w", err)
	}
	n.closeWith("rows of collections", func(context.Context) error { return db.Close() })
	envelope := &collections.Envelope{Parts: n.store.Collections, Vault: n.places.vault}
	o := rows.Options{Log: n.store.Collections, Opener: envelope, Logger: n.log}
	o.DB, o.Commit = db.DirectAccess()
	model, err := rows.New(o)
	if err != nil {
		return nil, err
	}
	n.running.rows, n.running.rowModel = db, model
	n.work("rows of collections", model.Run)
	n.remembers("collections", model.DropWorkspace)
	made, err := collections.New(collections.Options{
		Log: n.store.Collections, Rows: model, Vault: n.places.vault, Logger: n.log, Record: n.engine.Record,
		Limits: func() collection.Limits {
			r := n.config().Runtime
			return collection.Limits{MaxWrite: r.CollectionsMaxWrite, MaxLimit: r.CollectionsMaxLimit, MaxRowSize: int(r.CollectionsMaxRowSize)}
		},
	})
	if err != nil {
		return nil, err
	}
	n.running.collections = made
	n.work("compaction of collections", made.Run)
	return made, nil
}
