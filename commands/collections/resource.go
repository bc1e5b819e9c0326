package collections

import (
	"context"
	"encoding/json"
	"errors"

	"svc/commands"
	"svc/domain/activity"
	"svc/domain/collection"
	"svc/domain/value"
	"svc/eventstore"
)

// The methods of this file are for the API: the same calls, on the same log.

// withIDs lets a repeated request find the rows that it has written before.
func (caller Caller) withIDs(ctx context.Context) Caller {
	caller.ids = commands.RepeatableIDs(ctx, "collections/"+caller.WorkspaceID)
	return caller
}

// resultOf performs a call whose result is a T.
func resultOf[T any](ctx context.Context, c *Collections, caller Caller, name string, prepare func(collection.Limits) (*collection.Call, error)) (T, error) {
	result, err := c.doOrUnavailable(ctx, caller, name, prepare)
	made, _ := result.(T)
	return made, err
}

// doOrUnavailable performs a call of a request: a transient error is Unavailable.
func (c *Collections) doOrUnavailable(ctx context.Context, caller Caller, name string, prepare func(collection.Limits) (*collection.Call, error)) (any, error) {
	result, err := c.do(ctx, caller, name, prepare)
	if errors.Is(err, eventstore.ErrUnavailable) {
		err = commands.Refused(err)
	}
	return result, err
}

// Summarise lists the collections of a namespace.
func (c *Collections) Summarise(ctx context.Context, caller Caller) ([]collection.Summary, error) {
	return resultOf[[]collection.Summary](ctx, c, caller, "summarise", func(l collection.Limits) (*collection.Call, error) {
		return collection.Summarise(l), nil
	})
}

// Schema returns the declaration of a collection.
func (c *Collections) Schema(ctx context.Context, caller Caller, t collection.Target) (*value.Object, error) {
	return resultOf[*value.Object](ctx, c, caller, "readSchema", func(l collection.Limits) (*collection.Call, error) {
		return collection.ReadSchema(t, l)
	})
}

// Declare declares or alters a collection as updateSchema does, and records it.
func (c *Collections) Declare(ctx context.Context, caller Caller, appSlug string, params *value.Object) (*value.Object, error) {
	result, err := c.Call(ctx, caller, "updateSchema", params)
	made, _ := result.(*value.Object)
	if err != nil || made == nil {
		return nil, err
	}
	text := func(key string) string { s, _ := params.At(key).(string); return s }
	raw := func(key string) json.RawMessage { return json.RawMessage(value.JSON(made.At(key), "")) }
	schema := text("schema")
	if schema == "" {
		schema = collection.DefaultSchema
	}
	return made, c.opts.Record(ctx, caller.WorkspaceID, activity.CollectionUpdated{
		Collection: text("collection"), OldCollection: text("oldCollection"), Schema: schema, AppSlug: appSlug,
		Properties: raw("properties"), Indexes: raw("indexes"), Uniques: raw("uniques"),
	})
}

// TryDeclare returns the refusal of Declare, and changes nothing.
func (c *Collections) TryDeclare(ctx context.Context, caller Caller, params *value.Object) error {
	id := StreamOf(caller.WorkspaceID, caller.App, caller.Instance)
	if err := c.refresh(ctx, id); err != nil {
		return err
	}
	return c.opts.Rows.View(ctx, id, func(v collection.Source, _ collection.Mark) error {
		_, err := recoverPanic(ctx, c, id, "updateSchema", func() (any, error) {
			call, err := collection.Prepare("updateSchema", params, c.opts.Limits())
			if err != nil {
				return nil, err
			}
			return call.Write(collection.NewDraft(v), c.stamp(&job{userID: caller.UserID}), abandonedCheck(ctx))
		})
		return err
	})
}

// Find returns rows of a collection, and how many meet the query.
func (c *Collections) Find(ctx context.Context, caller Caller, t collection.Target, query any, opts *value.Object) (collection.RowPage, error) {
	return resultOf[collection.RowPage](ctx, c, caller, "findRows", func(l collection.Limits) (*collection.Call, error) {
		return collection.FindRows(t, query, opts, l)
	})
}

// Aggregate returns the result of steps on the rows that match a query.
func (c *Collections) Aggregate(ctx context.Context, caller Caller, t collection.Target, query any, steps []any) ([]any, error) {
	return resultOf[[]any](ctx, c, caller, "aggregateRows", func(l collection.Limits) (*collection.Call, error) {
		return collection.AggregateRows(t, query, steps, l)
	})
}

// Row returns a row.
func (c *Collections) Row(ctx context.Context, caller Caller, t collection.Target, id string) (collection.TaggedRow, error) {
	return resultOf[collection.TaggedRow](ctx, c, caller, "readRow", func(l collection.Limits) (*collection.Call, error) {
		return collection.ReadRow(t, id, l)
	})
}

// Create adds a row.
func (c *Collections) Create(ctx context.Context, caller Caller, t collection.Target, data *value.Object) (collection.TaggedRow, error) {
	return resultOf[collection.TaggedRow](ctx, c, caller.withIDs(ctx), "createRow", func(l collection.Limits) (*collection.Call, error) {
		return collection.CreateRow(t, data, l)
	})
}

// Change merges fields into a row whose tag match accepts; nil accepts all.
func (c *Collections) Change(ctx context.Context, caller Caller, t collection.Target, id string, patch *value.Object, match func(tag string) error) (collection.TaggedRow, error) {
	return resultOf[collection.TaggedRow](ctx, c, caller, "changeRow", func(l collection.Limits) (*collection.Call, error) {
		return collection.ChangeRow(t, id, patch, match, l)
	})
}

// Remove deletes a row whose tag match accepts; nil accepts all.
func (c *Collections) Remove(ctx context.Context, caller Caller, t collection.Target, id string, match func(tag string) error) error {
	_, err := c.doOrUnavailable(ctx, caller, "removeRow", func(l collection.Limits) (*collection.Call, error) {
		return collection.RemoveRow(t, id, match, l)
	})
	return err
}

// Drop deletes a collection and its rows.
func (c *Collections) Drop(ctx context.Context, caller Caller, t collection.Target) error {
	_, err := c.doOrUnavailable(ctx, caller, "removeCollection", func(l collection.Limits) (*collection.Call, error) {
		return collection.RemoveCollection(t, l)
	})
	return err
}

// Export visits all rows that meet a query, as they are at one moment.
func (c *Collections) Export(ctx context.Context, caller Caller, t collection.Target, x collection.Export) error {
	_, err := c.doOrUnavailable(ctx, caller, "exportRows", func(l collection.Limits) (*collection.Call, error) {
		return collection.ExportRows(t, x, l)
	})
	return err
}

// TextReader returns how the texts of a table are read as fields of a collection.
func (c *Collections) TextReader(ctx context.Context, caller Caller, t collection.Target) (collection.TextReader, error) {
	return resultOf[collection.TextReader](ctx, c, caller, "textReader", func(l collection.Limits) (*collection.Call, error) {
		return collection.ReadTexts(t, l)
	})
}

// Source returns the rows of a file one after the other; ok is false at its end. A fault is a line
// that is no row.
type Source func() (item collection.ImportItem, fault *collection.ImportFault, ok bool, err error)

// Import is an import of rows.
type Import struct {
	Target     collection.Target
	Next       Source
	OnConflict []string // fields that rows are found by; nil: all rows are new
	DryRun     bool     // tell what would become of them, and change nothing
}

// maxDryRun is how many bytes of rows a dry run holds in memory.
const maxDryRun = 64 << 20

// batchBytes is how many bytes of rows an import writes at once.
const batchBytes = 4 << 20

// Import writes the rows of a file in batches, each as a whole or not at all. Invalid lines are left
// out and reported. When it fails, the batches before are written: result counts them.
func (c *Collections) Import(ctx context.Context, caller Caller, in Import) (result collection.ImportResult, err error) {
	caller = caller.withIDs(ctx)
	write := func(items []collection.ImportItem) (collection.ImportResult, error) {
		return resultOf[collection.ImportResult](ctx, c, caller, "importRows", func(l collection.Limits) (*collection.Call, error) {
			return collection.ImportRows(in.Target, items, in.OnConflict, l)
		})
	}
	if !in.DryRun {
		return c.importAll(in.Next, write)
	}
	id := StreamOf(caller.WorkspaceID, caller.App, caller.Instance)
	if err := c.refresh(ctx, id); err != nil {
		return result, err
	}
	err = c.opts.Rows.View(ctx, id, func(v collection.Source, _ collection.Mark) error {
		draft := collection.NewDraft(v)
		result, err = c.importAll(in.Next, func(items []collection.ImportItem) (collection.ImportResult, error) {
			return recoverPanic(ctx, c, id, "importRows", func() (made collection.ImportResult, err error) {
				call, err := collection.ImportRows(in.Target, items, in.OnConflict, c.opts.Limits())
				if err != nil {
					return made, err
				}
				own := collection.NewDraft(draft)
				done, err := call.Write(own, c.stamp(&job{userID: caller.UserID}), abandonedCheck(ctx))
				made, _ = done.(collection.ImportResult)
				if draft.AddDraft(own); err == nil && draft.Size() > maxDryRun {
					err = collection.Refuse(collection.TooLarge, "a dry run takes at most %d MB of new rows: try a part of the file", maxDryRun>>20)
				}
				return made, err
			})
		})
		return err
	})
	return result, err
}

// importAll reads rows in batches and writes them.
func (c *Collections) importAll(next Source, write func([]collection.ImportItem) (collection.ImportResult, error)) (sum collection.ImportResult, err error) {
	most := c.opts.Limits().WithDefaults().MaxWrite
	var batch []collection.ImportItem
	size, dropped := 0, &value.Object{}
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		done, err := write(batch)
		if err != nil {
			return err
		}
		sum.Inserted, sum.Updated, sum.Unchanged = sum.Inserted+done.Inserted, sum.Updated+done.Updated, sum.Unchanged+done.Unchanged
		sum.Refuse(done.Faults...)
		sum.Refused += done.Refused - len(done.Faults)
		for _, field := range done.Dropped {
			dropped.Set(field, true)
		}
		sum.Dropped = dropped.Keys()
		batch, size = nil, 0
		return nil
	}
	for {
		item, fault, ok, err := next()
		if err == nil && !ok {
			return sum, flush()
		}
		if err == nil && fault != nil {
			sum.Refuse(*fault)
			continue
		}
		if err != nil {
			return sum, err
		}
		batch = append(batch, item)
		size += collection.Weight(item.Data)
		if len(batch) == most || size > batchBytes {
			if err := flush(); err != nil {
				return sum, err
			}
		}
	}
}
