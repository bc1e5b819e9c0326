package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
	"svc/eventstore"
)

// Options configure Models. The zero value of every field but DB and Store is
// good.
type Options struct {
	DB    *DB              // required
	Store eventstore.Store // required

	Projections []Projection           // default Table()
	Known       func() domain.Position // how far the logs reach, as this node knows; default what was applied
	Damage      func() error           // what is known to be missing from the logs; default nothing
	Now         func() time.Time       // default time.Now
	Log         *slog.Logger           // default slog.Default
	Metrics     prometheus.Registerer  // default none
}

func (o Options) withDefaults() (Options, error) {
	if o.DB == nil || o.Store == nil {
		return o, errors.New("projections: Options.DB and Options.Store are required")
	}
	if o.Projections == nil {
		o.Projections = Table()
	}
	if o.Known == nil {
		o.Known = func() domain.Position { return domain.Position{} }
	}
	if o.Damage == nil {
		o.Damage = func() error { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	return o, nil
}

// Models are the read models of one node. All methods are safe for concurrent
// use.
type Models struct {
	opts      Options
	db        store
	metrics   *metrics
	shape     string
	snapshots *Snapshots

	live atomic.Pointer[generation]
	logs []*follower // in the order of domain.Logs

	work  semaphore     // held by a rebuild or a verification
	sweep chan struct{} // asks Run to drop generations that nobody uses

	tap atomic.Pointer[Tap] // who is told of what was applied

	mu      sync.Mutex
	next    uint32              // number of the next generation
	claimed map[uint32]struct{} // generations that are being built
}

// follower is one log of the live generation.
type follower struct {
	*tracker
	gate semaphore // held while the live generation is written, or replaced

	mu     sync.Mutex
	cancel context.CancelFunc // ends the current attempt
}

// New returns the read models in o.DB as they were left. A generation of
// another shape, or none, is replaced by an empty one, which Run fills.
func New(o Options) (*Models, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Models{
		opts: o, db: o.DB.store(), shape: fingerprint(o.Projections), work: newSemaphore(),
		sweep: make(chan struct{}, 1), claimed: map[uint32]struct{}{}, snapshots: &Snapshots{db: o.DB.store()},
	}
	for _, log := range domain.Logs() {
		m.logs = append(m.logs, &follower{tracker: newTracker(log), gate: newSemaphore()})
	}
	if err := m.load(); err != nil {
		return nil, fmt.Errorf("open read models: %w", err)
	}
	m.metrics, err = newMetrics(o.Metrics, m)
	return m, err
}

// load finds the live generation and where it stands.
func (m *Models) load() error {
	var stored live
	var found bool
	err := m.db.View(func(txn *badger.Txn) error {
		nums, err := generations(txn)
		if err != nil {
			return err
		}
		for _, num := range nums {
			m.next = max(m.next, num)
		}
		stored, found, err = readLive(txn)
		return err
	})
	if err != nil {
		return err
	}
	m.next = max(m.next, stored.Generation) + 1
	if found && stored.Fingerprint == m.shape {
		m.live.Store(newGeneration(stored.Generation, m.opts.Projections))
		return m.loadPositions()
	}
	if found {
		m.opts.Log.Warn("read models have another shape and are rebuilt", "was", stored.Fingerprint, "is", m.shape)
	}
	return m.installEmpty()
}

func (m *Models) loadPositions() error {
	return m.db.View(func(txn *badger.Txn) error {
		for _, f := range m.logs {
			at, err := readCheckpoint(txn, m.live.Load(), f.log)
			if err != nil {
				return err
			}
			f.reset(at.Seq, false)
		}
		return nil
	})
}

// installEmpty makes an empty generation the live one.
func (m *Models) installEmpty() error {
	gen, err := m.claim()
	if err != nil {
		return err
	}
	defer m.disclaim(gen)
	return m.install(gen, nil)
}

// install makes gen the live generation, with its logs at the positions of at
// (nil: at their beginning). The caller holds the gates, or is alone.
func (m *Models) install(gen *generation, at map[domain.Log]uint64) error {
	err := m.db.Update(live{Generation: gen.num, Fingerprint: m.shape}.write)
	if err != nil {
		return fmt.Errorf("make generation %d live: %w", gen.num, err)
	}
	m.live.Store(gen)
	for _, f := range m.logs {
		f.move(func() { f.reset(at[f.log], at != nil && f.health(0).CaughtUp) })
		f.restart()
	}
	return nil
}

// View calls fn with a reader of the live generation as it is now. What fn
// reads is of one moment, also while the generation is replaced.
func (m *Models) View(fn func(Reader) error) error {
	txn, gen := m.snapshot()
	defer txn.Discard()
	return fn(Reader{txn, gen})
}

// snapshot opens a read transaction on the live generation. A generation is
// dropped only after another took its place, so one that was live before and
// after the transaction began is whole in it.
func (m *Models) snapshot() (*badger.Txn, *generation) {
	for {
		gen := m.live.Load()
		txn := m.db.NewTransaction(false)
		if m.live.Load() == gen {
			return txn, gen
		}
		txn.Discard()
	}
}

// Moment names a time during which the read models of a log stood still. The zero
// Moment is no such time.
type Moment uint64

// Moment returns the present moment of the read models of the State log. Who looked
// at them after they had been told a moment, and is told the same one now, would see
// the same again.
func (m *Models) Moment() Moment {
	moves := m.logs[slices.Index(domain.Logs(), domain.State)].moves.Load()
	if moves%2 == 1 {
		return 0 // something is being changed
	}
	return Moment(moves + 2)
}

// Tap is told of events once they are in the read models, log by log and in order.
// It must not block: the log waits for it.
type Tap func(log domain.Log, events []domain.Recorded)

// Tell has tap told from now on; of what it is told first nothing is missing after.
func (m *Models) Tell(tap Tap) { m.tap.Store(&tap) }

// Snapshots returns the aggregate snapshots kept beside the read models.
func (m *Models) Snapshots() *Snapshots { return m.snapshots }

// Position returns how far the logs are applied.
func (m *Models) Position() domain.Position {
	var p domain.Position
	for _, f := range m.logs {
		p = p.Max(domain.At(f.log, f.applied.Load()))
	}
	return p
}

// Reach waits until p is applied. It fails when ctx ends, and with a *Fault when
// a log that has not come so far has stopped.
func (m *Models) Reach(ctx context.Context, p domain.Position) error {
	for _, f := range m.logs {
		if err := f.reach(ctx, p.Of(f.log)); err != nil {
			return err
		}
	}
	return nil
}

// Fresh waits until everything is applied that this node knows to be in the
// logs.
func (m *Models) Fresh(ctx context.Context) error { return m.Reach(ctx, m.opts.Known()) }

// CaughtUp waits until each log has been read to its end once. It fails when ctx
// ends, and with a *Fault when a log stopped before.
func (m *Models) CaughtUp(ctx context.Context) error {
	for _, f := range m.logs {
		if err := f.awaitCaughtUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

// semaphore is a lock that can be waited for with a context.
type semaphore chan struct{}

func newSemaphore() semaphore { return make(semaphore, 1) }

func (s semaphore) acquire(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s semaphore) release() { <-s }
