package projections_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/catalog"
	"svc/domain/workspace"
	"svc/eventstore"
	"svc/eventstore/jetstream"
	"svc/projections"
)

// Badger leaves two goroutines behind when it does not open.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/dgraph-io/badger/v4.(*DB).monitorCache"),
		goleak.IgnoreTopFunction("github.com/dgraph-io/ristretto/v2/z.(*AllocatorPool).freeupAllocators"))
}

var quiet = slog.New(slog.DiscardHandler)

// patience bounds every wait of a test.
const patience = 3 * time.Minute

func bounded(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	tb.Cleanup(cancel)
	return ctx
}

// openLog opens the real store in dir; it is closed by the returned function or
// with the test, whichever comes first.
func openLog(tb testing.TB, dir string) (store *jetstream.Store, closeIt func()) {
	tb.Helper()
	store, err := jetstream.Open(tb.Context(), jetstream.Options{Dir: dir, Events: catalog.Events(), Log: quiet})
	require.NoError(tb, err)
	var once sync.Once
	closeIt = func() {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			require.NoError(tb, store.Close(ctx))
		})
	}
	tb.Cleanup(closeIt)
	return store, closeIt
}

func openDB(tb testing.TB, dir string) (db *projections.DB, closeIt func()) {
	tb.Helper()
	db, err := projections.OpenDB(projections.DBOptions{Dir: dir, Log: quiet})
	require.NoError(tb, err)
	var once sync.Once
	closeIt = func() { once.Do(func() { require.NoError(tb, db.Close()) }) }
	tb.Cleanup(closeIt)
	return db, closeIt
}

// start makes models and runs them until the returned function or the test ends.
func start(tb testing.TB, o projections.Options) (m *projections.Models, stop func()) {
	tb.Helper()
	if o.Log == nil {
		o.Log = quiet
	}
	m, err := projections.New(o)
	require.NoError(tb, err)
	return m, run(tb, m)
}

// run runs models until the returned function or the test ends.
func run(tb testing.TB, m *projections.Models) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			tb.Error(err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	tb.Cleanup(stop)
	return stop
}

// fixture is a log, a store and the models between them.
type fixture struct {
	*projections.Models
	log  *jetstream.Store
	db   *projections.DB
	told watch

	logDir, dbDir              string
	stop, closeLog, closeStore func()
}

// closeAll closes everything, in order, keeping the files.
func (h *fixture) closeAll() { h.stop(); h.closeStore(); h.closeLog() }

func newFixture(tb testing.TB, ps ...projections.Projection) *fixture {
	tb.Helper()
	dir := tb.TempDir()
	return openFixture(tb, filepath.Join(dir, "log"), filepath.Join(dir, "models"), ps...)
}

func openFixture(tb testing.TB, logDir, dbDir string, ps ...projections.Projection) *fixture {
	tb.Helper()
	h := &fixture{logDir: logDir, dbDir: dbDir, told: make(watch, 1)}
	h.log, h.closeLog = openLog(tb, logDir)
	h.db, h.closeStore = openDB(tb, dbDir)
	h.Models, h.stop = start(tb, projections.Options{DB: h.db, Store: h.log.Log, Projections: ps, Known: h.log.Log.Known, Log: slog.New(h.told)})
	return h
}

// watch is a log handler that rings when a message comes.
type watch chan struct{}

func (watch) Enabled(context.Context, slog.Level) bool { return true }
func (w watch) WithAttrs([]slog.Attr) slog.Handler     { return w }
func (w watch) WithGroup(string) slog.Handler          { return w }

func (w watch) Handle(context.Context, slog.Record) error {
	select {
	case w <- struct{}{}:
	default:
	}
	return nil
}

func create(tb testing.TB, s eventstore.Store, id, name string) eventstore.Receipt {
	return add(tb, s, workspace.Stream(id), 0, workspace.Created{Workspace: snapshot(id, name)})
}

func update(tb testing.TB, s eventstore.Store, id, name string, expected uint64) eventstore.Receipt {
	return add(tb, s, workspace.Stream(id), expected, workspace.Updated{Workspace: snapshot(id, name)})
}

// appendActivity records an event on ACTIVITY.
func appendActivity(tb testing.TB, s eventstore.Store) eventstore.Receipt {
	return add(tb, s, domain.StreamID{Scope: "w1"}, 0, activity.Failure{Error: "internal_error", Message: "oops"})
}

func snapshot(id, name string) workspace.Snapshot {
	return workspace.Snapshot{ID: id, Settings: workspace.Settings{Name: name}}
}

func add(tb testing.TB, s eventstore.Store, id domain.StreamID, expected uint64, ev domain.Event) eventstore.Receipt {
	tb.Helper()
	r, err := s.Append(context.WithoutCancel(tb.Context()), eventstore.Commit{
		Stream: id, Expected: expected, Meta: domain.Meta{UserID: "u1"},
		Facts: []eventstore.Fact{{ID: ulid.Make().String(), Event: ev}},
	})
	require.NoError(tb, err)
	return r
}

// allocateBlocks creates n workspaces and returns the position of the last.
func allocateBlocks(tb testing.TB, s eventstore.Store, n int) domain.Position {
	tb.Helper()
	var r eventstore.Receipt
	for range n {
		r = create(tb, s, ulid.Make().String(), "filler")
	}
	return r.Position
}

// nameOf returns the name of a workspace as served; "" when there is none.
func nameOf(tb testing.TB, m *projections.Models, id string) string {
	tb.Helper()
	var body struct{ Name string }
	require.NoError(tb, m.View(func(r projections.Reader) error {
		doc, ok, err := projections.Workspaces{}.Get(r, id)
		if err != nil || !ok {
			return err
		}
		return json.Unmarshal(doc.JSON, &body)
	}))
	return body.Name
}

func listKey(tb testing.TB, m *projections.Models) int {
	tb.Helper()
	n := 0
	require.NoError(tb, m.View(func(r projections.Reader) error {
		return projections.Workspaces{}.List(r, false, func(projections.Record) bool { n++; return true })
	}))
	return n
}

// counter counts the events of a log, and fails on what refuse names.
type counter struct {
	name   string
	log    domain.Log
	refuse func(domain.Recorded) error
	pad    int // bytes stored for each event besides
	times  int // how often; default once
}

func (c counter) Name() string    { return c.name }
func (c counter) Log() domain.Log { return c.log }

func (c counter) Apply(tx projections.Tx, ev domain.Recorded) error {
	for i := range max(c.times, min(c.pad, 1)) {
		if err := tx.Set(fmt.Appendf(nil, "pad/%020d/%d", ev.Seq, i), make([]byte, c.pad)); err != nil {
			return err
		}
	}
	if c.refuse != nil {
		if err := c.refuse(ev); err != nil {
			return err
		}
	}
	old, ok, err := tx.Get([]byte("n"))
	if err != nil {
		return err
	}
	n := uint64(1)
	if ok {
		n += binary.BigEndian.Uint64(old)
	}
	return tx.Set([]byte("n"), binary.BigEndian.AppendUint64(nil, n))
}

func (c counter) count(tb testing.TB, m *projections.Models) (n uint64) {
	tb.Helper()
	require.NoError(tb, m.View(func(r projections.Reader) error {
		b, ok, err := r.Get(c, []byte("n"))
		if ok {
			n = binary.BigEndian.Uint64(b)
		}
		return err
	}))
	return n
}

// faulty is the real store with a fault put in.
type faulty struct {
	eventstore.Store
	deliver func(domain.Log, eventstore.Batch) eventstore.Batch
	info    func(domain.Log, eventstore.Info) (eventstore.Info, error)
}

func (f faulty) Subscribe(ctx context.Context, log domain.Log, from uint64, handle func(eventstore.Batch) error) error {
	if f.deliver == nil {
		return f.Store.Subscribe(ctx, log, from, handle)
	}
	return f.Store.Subscribe(ctx, log, from, func(b eventstore.Batch) error { return handle(f.deliver(log, b)) })
}

func (f faulty) Info(ctx context.Context, log domain.Log) (eventstore.Info, error) {
	i, err := f.Store.Info(ctx, log)
	if err == nil && f.info != nil {
		return f.info(log, i)
	}
	return i, err
}

// without returns a delivery that leaves out what lost names.
func without(lost func(domain.Recorded) bool) func(domain.Log, eventstore.Batch) eventstore.Batch {
	return func(_ domain.Log, b eventstore.Batch) eventstore.Batch {
		kept := eventstore.Batch{Pending: b.Pending}
		for _, ev := range b.Events {
			if !lost(ev) {
				kept.Events = append(kept.Events, ev)
			}
		}
		return kept
	}
}

// copyDir copies a directory as it is at this moment: what a crash would leave.
func copyDir(tb testing.TB, from string) string {
	tb.Helper()
	to := filepath.Join(tb.TempDir(), filepath.Base(from))
	require.NoError(tb, os.CopyFS(to, os.DirFS(from)))
	return to
}
