package rows_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/catalog"
	"svc/domain/collection"
	"svc/domain/value"
	"svc/eventstore/jetstream"
	"svc/projections/rows"
)

const patience = time.Minute

var quiet = slog.New(slog.DiscardHandler)

// clear reads entries that are not sealed. One that is just a word says what is wrong
// with it.
type clear struct{}

func (clear) Open(_ context.Context, e collection.Logged, visit func([]byte) error) error {
	entry, err := collection.ParseEntry(e.Body)
	if err != nil {
		return err
	}
	switch string(entry.Sealed) {
	case "gone":
		return collection.ErrGone
	case "broken":
		return collection.ErrUnreadable
	}
	return visit(entry.Sealed)
}

// followerFixture is a log and a model that follows it.
type followerFixture struct {
	*testing.T
	store *jetstream.Store
	model *rows.Model
	db    *badger.DB
	last  map[domain.StreamID]uint64
}

func open(t *testing.T) *followerFixture {
	t.Helper()
	store, err := jetstream.Open(t.Context(), jetstream.Options{Dir: filepath.Join(t.TempDir(), "log"), Events: catalog.Events(), Log: quiet})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	d := &followerFixture{T: t, store: store, last: map[domain.StreamID]uint64{}}
	d.model, d.db = d.follow(t.TempDir())
	return d
}

// follow opens another model of the log.
func (d *followerFixture) follow(dir string) (*rows.Model, *badger.DB) {
	d.Helper()
	db, err := badger.Open(badger.DefaultOptions(dir).WithLogger(nil).WithMemTableSize(8 << 20))
	require.NoError(d, err)
	model, err := rows.New(rows.Options{DB: db, Log: d.store.Collections, Opener: clear{}, Logger: quiet})
	require.NoError(d, err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = model.Run(ctx) })
	d.Cleanup(func() {
		stop()
		running.Wait()
		require.NoError(d, db.Close())
	})
	return model, db
}

// append adds an entry and waits until the model has it.
func (d *followerFixture) append(id domain.StreamID, snapshot bool, body []byte) {
	d.Helper()
	seq, err := d.store.Collections.Append(d.Context(), id, time.Now().String(), d.last[id], snapshot, collection.Entry{Sealed: body}.Append(nil))
	require.NoError(d, err)
	d.last[id] = seq
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	require.NoError(d, d.model.Reach(ctx, seq))
}

// made is a collection with some rows, encoded.
func made(ids ...string) []byte {
	b := collection.AppendChange(nil, collection.Change{Kind: collection.Created, Collection: 1, Schema: "default", Name: "c"})
	return append(b, put(ids...)...)
}

func put(ids ...string) (b []byte) {
	for _, id := range ids {
		row := collection.AppendValue(nil, value.NewObject("id", id))
		b = collection.AppendChange(b, collection.Change{Kind: collection.Put, Collection: 1, RowID: id, Row: row})
	}
	return b
}

// ids returns the rows of a namespace.
func (d *followerFixture) ids(id domain.StreamID) (ids []string, err error) {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	err = d.model.View(ctx, id, func(v collection.Source, _ collection.Mark) error {
		return v.Rows(1, nil, nil, func(id string, _ collection.Row) (bool, error) {
			ids = append(ids, id)
			return true, nil
		})
	})
	return ids, err
}

func (d *followerFixture) requireRows(id domain.StreamID, want ...string) {
	d.Helper()
	got, err := d.ids(id)
	require.NoError(d, err)
	require.Equal(d, want, got)
}

func dump(t *testing.T, m *rows.Model) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, m.Dump(func(key, value []byte) error {
		all[string(key)] = string(value)
		return nil
	}))
	return all
}

var one, other = collection.Stream("w1", "workspace"), collection.Stream("w2", "workspace")

func TestAnEntryThatCannotBeReadConcernsItsNamespaceOnly(t *testing.T) {
	for _, fault := range []string{"broken", "gone", "\xff"} {
		d := open(t)
		d.append(one, false, made("a"))
		d.append(other, false, made("b"))
		d.append(one, false, []byte(fault))
		d.append(one, false, put("c"))
		_, err := d.ids(one)
		require.Error(t, err)
		d.append(other, false, put("d"))
		d.requireRows(other, "b", "d")
		d.append(one, true, made("x"))
		d.requireRows(one, "x")
		d.append(one, false, put("y"))
		d.requireRows(one, "x", "y")
	}
}

func TestASnapshotOfWhatIsKnownChangesNothing(t *testing.T) {
	d := open(t)
	d.append(one, false, made("a"))
	d.append(one, true, []byte("broken"))
	d.requireRows(one, "a")
}

func TestARowOfNoCollectionIsAFault(t *testing.T) {
	d := open(t)
	d.append(one, false, put("a"))
	_, err := d.ids(one)
	require.ErrorContains(t, err, "cannot be read")
}

func TestANamespaceThatWasErasedBeginsAnew(t *testing.T) {
	d := open(t)
	d.append(one, false, made("a", "b"))
	d.append(other, false, made("z"))
	require.NoError(t, d.store.EraseWorkspaceData(t.Context(), "w1"))
	d.last[one] = 0
	d.append(one, false, made("c"))
	d.requireRows(one, "c")
	fresh, _ := d.follow(t.TempDir())
	require.NoError(t, fresh.Reach(t.Context(), d.last[one]))
	require.Equal(t, dump(t, fresh), dump(t, d.model))
}

func TestAModelThatLacksEntriesIsBuiltAgain(t *testing.T) {
	d := open(t)
	d.append(one, false, made("a"))
	d.append(other, false, made("z"))
	want := dump(t, d.model)
	// The model forgets a namespace, as if it had missed what the log says of it.
	require.NoError(t, d.model.DropWorkspace("w1"))
	require.Less(t, len(dump(t, d.model)), len(want))
	d.append(one, false, put("b"))
	d.requireRows(one, "a", "b")
	d.requireRows(other, "z")
}

func TestWhatTheLogLacksIsAFaultOfTheNamespace(t *testing.T) {
	d := open(t)
	d.append(one, false, made("a"))
	d.append(other, false, made("z"))
	middle := d.last[one]
	d.append(one, false, put("b"))
	d.append(one, false, put("c"))
	require.NoError(t, d.store.Data.Drop(t.Context(), one, middle+2))
	d.model, _ = d.follow(t.TempDir())
	_, err := d.ids(one)
	require.ErrorContains(t, err, "missing")
	d.requireRows(other, "z")
}

func TestErasedNamespacesAreForgotten(t *testing.T) {
	d := open(t)
	d.append(one, false, made("a"))
	d.append(other, false, made("z"))
	require.NoError(t, d.model.DropErased(t.Context()))
	d.requireRows(one, "a")
	require.NoError(t, d.store.EraseWorkspaceData(t.Context(), "w1"))
	require.NoError(t, d.model.DropErased(t.Context()))
	d.requireRows(one)
	d.requireRows(other, "z")
	for key := range maps.Keys(dump(t, d.model)) {
		require.NotContains(t, key, "w1.")
	}
}

func TestAModelOfAnotherVersionIsBuiltAgain(t *testing.T) {
	d := open(t)
	d.append(one, false, made("a"))
	want := dump(t, d.model)
	dir := t.TempDir()
	db, err := badger.Open(badger.DefaultOptions(dir).WithLogger(nil).WithMemTableSize(8 << 20))
	require.NoError(t, err)
	require.NoError(t, db.Update(func(txn *badger.Txn) error {
		return errors.Join(txn.Set([]byte("c"), []byte(`{"version":99,"identity":"x","seq":1}`)), txn.Set([]byte("rjunk"), nil))
	}))
	require.NoError(t, db.Close())
	again, _ := d.follow(dir)
	require.NoError(t, again.Reach(t.Context(), d.last[one]))
	require.Equal(t, want, dump(t, again))
}
