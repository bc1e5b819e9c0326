package projections

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
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

	Projections []Projection                // default Table()
	Known       func() domain.Position      // how far the logs reach, as this node knows; default what was applied
	Refresh     func(context.Context) error // makes Known cover what any node has written; default nothing
	Damage      func() error                // what is known to be missing from the logs; default nothing
	Now         func() time.Time            // default time.Now
	Log         *slog.Logger                // default slog.Default
	Metrics     prometheus.Registerer       // default none
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
	if o.Refresh == nil {
		o.Refresh = func(context.Context) error { return nil }
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

	moves map[string]*atomic.Uint64 // starts and ends of changes of a projection of the live generation, by its name

	work  semaphore     // held by a rebuild or a verification
	sweep chan struct{} // asks Run to drop generations that nobody uses

	unfillable atomic.Uint32         // the generation that was refused an event when it was filled
	incomplete atomic.Pointer[Fault] // why read models that are missing are not built
	building   atomic.Pointer[Build] // nil: nothing is being built

	listener atomic.Pointer[Listener] // is called with applied events
	ring     atomic.Pointer[ringRead] // every request asks for it

	withoutListeners workspacesWithoutListeners

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

// New returns the read models in o.DB as they were left. Run builds those that are not there, as after a change of their
// names. When there are none, a generation is begun that is empty.
func New(o Options) (*Models, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Models{
		opts: o, db: o.DB.store(), shape: fingerprint(o.Projections), work: newSemaphore(),
		sweep: make(chan struct{}, 1), claimed: map[uint32]struct{}{}, snapshots: &Snapshots{db: o.DB.store()},
		moves: map[string]*atomic.Uint64{},
	}
	for _, p := range o.Projections {
		m.moves[p.Name()] = &atomic.Uint64{}
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

// load reads the live generation and its checkpoints.
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
	if !found {
		return m.installEmpty()
	}
	gen := m.storedGeneration(stored)
	usable, err := m.loadPositions(gen, gen.shape() == stored.Fingerprint)
	if err != nil {
		return err
	}
	if !usable {
		m.opts.Log.Warn("read models have another shape and are rebuilt", "was", stored.Fingerprint, "is", m.shape)
		return m.installEmpty()
	}
	if len(gen.missing) > 0 {
		m.opts.Log.Warn("some read models have another shape and are rebuilt", "which", namesOf(gen.missing))
	}
	m.live.Store(gen)
	record := gen.record()
	if record.Fingerprint == stored.Fingerprint && maps.Equal(record.Areas, stored.Areas) {
		return nil
	}
	// Before the keys of former read models are deleted: an earlier version would take what is left for complete.
	err = m.db.Update(record.write)
	if record.Fingerprint == stored.Fingerprint && errors.Is(err, ErrNoSpace) {
		return nil // there are none: an earlier version has not listed the areas
	}
	return err
}

// storedGeneration returns the live generation as it was left, with those of the read models that it has.
func (m *Models) storedGeneration(stored live) *generation {
	gen := newGeneration(stored.Generation, m.opts.Projections)
	if stored.Areas == nil && stored.Fingerprint == m.shape { // an earlier version wrote it
		return gen
	}
	for _, p := range m.opts.Projections {
		if num, ok := stored.Areas[p.Name()]; ok {
			gen.areas[p.Name()] = areaOf(num, p)
		} else {
			delete(gen.areas, p.Name())
			gen.missing = append(gen.missing, p)
		}
	}
	return gen
}

// loadPositions reads the checkpoints of gen, and reports whether it is of use: not when something is missing and nothing
// was applied yet, nor when it was left within an event and does not have the same read models any more.
func (m *Models) loadPositions(gen *generation, same bool) (usable bool, err error) {
	usable = len(gen.missing) == 0
	whole := true
	err = m.db.View(func(txn *badger.Txn) error {
		for _, f := range m.logs {
			at, err := readCheckpoint(txn, gen, f.log)
			if err != nil {
				return err
			}
			usable = usable || at.Seq > 0 && len(gen.areas) > 0
			whole = whole && at.Ahead == 0
			f.reset(at.Seq, false)
		}
		return nil
	})
	return usable && (same || whole), err
}

// installEmpty makes an empty generation the live one.
func (m *Models) installEmpty() error {
	gen, err := m.claimGeneration(m.opts.Projections)
	if err != nil {
		return err
	}
	defer m.releaseGeneration(gen)
	return m.install(gen, nil)
}

// install makes gen the live generation, with its logs at the positions of at
// (nil: at their beginning). The caller holds the gates, or is alone.
func (m *Models) install(gen *generation, at map[domain.Log]uint64) error {
	err := m.db.Update(gen.record().write)
	if err != nil {
		return fmt.Errorf("make generation %d live: %w", gen.num, err)
	}
	m.live.Store(gen)
	for _, moves := range m.moves {
		moves.Add(2)
	}
	for _, f := range m.logs {
		f.change(func() { f.reset(at[f.log], at != nil && f.health(0).CaughtUp) })
		f.restart()
	}
	return nil
}

// Reader returns a reader of the live generation as it is now. It reads a consistent snapshot, also
// while the generation is replaced. It must be closed.
func (m *Models) Reader() Reader {
	txn, gen := m.snapshot()
	return Reader{txn, gen}
}

// View calls fn with a Reader, and closes it.
func (m *Models) View(fn func(Reader) error) error {
	r := m.Reader()
	defer r.Close()
	return fn(r)
}

// snapshot opens a read transaction on the live generation. A generation is dropped only after it
// was replaced, so one that is live before and after the start of the transaction is complete.
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

// Moment identifies a period without changes of the read models of a log. The zero Moment
// identifies none.
type Moment uint64

// Moment returns the current moment of the read models of STATE. If it is the same before and
// after some reads, the same reads would return the same result again.
func (m *Models) Moment() Moment {
	return momentAt(&m.logs[slices.Index(domain.Logs(), domain.State)].moves)
}

// Moments tells the current moment of one projection, whatever changes in others. The zero Moments knows none.
type Moments struct{ moves *atomic.Uint64 }

// MomentsOf returns the Moments of a projection.
func (m *Models) MomentsOf(p Projection) Moments { return Moments{m.moves[p.Name()]} }

// Now returns the current moment. If it is the same before and after some reads of the projection, the same reads would
// return the same result again.
func (m Moments) Now() Moment {
	if m.moves == nil {
		return 0
	}
	return momentAt(m.moves)
}

// momentAt returns the moment after so many starts and ends of changes.
func momentAt(moves *atomic.Uint64) Moment {
	now := moves.Load()
	if now%2 == 1 {
		return 0 // a change is in progress
	}
	return Moment(now + 2)
}

// Listener is called with events when they are in the read models, in the order of each log. It
// must not block: the log waits for it.
type Listener func(log domain.Log, events []domain.Recorded)

// SetListener calls tap with all batches from now on.
func (m *Models) SetListener(tap Listener) { m.listener.Store(&tap) }

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

// Projection turns the events of one log into keys and values. Apply must
// depend on the events and on what it stored itself, and on nothing else, so
// that a rebuilt model is byte-equal to the live one.
type Projection interface {
	// Name names the read model and its shape, as in "workspaces.1". A changed
	// shape takes a new number, which is a rebuild of this one at the next start.
	Name() string
	// Log is the one log that Apply sees.
	Log() domain.Log
	// Apply changes the read model by one event. Events it does not know change
	// nothing. An error stops the log; it is not tried again on other events.
	Apply(tx Tx, ev domain.Recorded) error
}

// Grouped is a Projection that applies the events of one message together.
type Grouped interface {
	Projection
	// ApplyGroup changes the read model by events that are stored in one message, or by a part of them: others of
	// that message may have been applied before.
	ApplyGroup(tx Tx, events []domain.Recorded) error
}

// Repeatable is a Projection whose Apply may be repeated after its writes were kept up to
// some key, in the order of keys: the outcome is the same. One event may change more in it
// than fits into one transaction.
type Repeatable interface {
	Projection
	Repeatable()
}

// Rewriting is a Projection with spaces of keys that say what is so now: most of these keys are replaced or deleted by
// later events. A build keeps them in memory, and writes the last value only.
type Rewriting interface {
	Projection
	// Rewritten returns the first byte of the keys of each such space. All keys with that byte are kept: a build does not
	// ask the store for one that it does not have.
	Rewritten() string
}

// Table lists every read model.
func Table() []Projection {
	return []Projection{
		Workspaces{},
		Content{},
		History{},
		Secrets{},
		Versions{},
		Operations{},
		Apps{},
		Files{},
		KBDocuments{},
		KBSources{},
		Sessions{},
		Access{},
		APIKeys{},
		NATSUsers{},
		Users{},
		AccessTokens{},
		Keyring{},
		Subscriptions{},
		Topics{},
		Deliveries{},
		FeedOf(domain.State),
		FeedOf(domain.Activity),
		Usage{},
		Runs{},
		Schedules{},
		Instances{},
		Problems{},
	}
}

// fingerprint names the shape of read models. Its own number is that of the key layout.
func fingerprint(projections []Projection) string {
	h := sha256.New()
	h.Write([]byte("layout.1\n"))
	for _, p := range projections {
		h.Write([]byte(p.Name() + " " + string(p.Log()) + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// metrics are the Prometheus metrics of the read models.
type metrics struct {
	applied *prometheus.CounterVec
	batch   prometheus.Histogram
	seconds prometheus.Histogram
}

// newMetrics registers the metrics of m with r, which may be nil.
func newMetrics(r prometheus.Registerer, m *Models) (*metrics, error) {
	s := &metrics{
		applied: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "projection_applied_total", Help: "Events applied to read models, rebuilds included."}, []string{"log"}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "projection_batch_size", Help: "Events per transaction.", Buckets: []float64{1, 5, 20, 100, maxBatchEvents}}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "projection_apply_seconds", Help: "Duration of one transaction.", Buckets: prometheus.ExponentialBuckets(0.0001, 4, 8)}),
	}
	if r == nil {
		return s, nil
	}
	collectors := []prometheus.Collector{s.applied, s.batch, s.seconds}
	for i, f := range m.logs {
		collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "projection_lag", Help: "Events in the log that are not applied yet.",
			ConstLabels: prometheus.Labels{"log": string(f.log)},
		}, func() float64 { return float64(m.Health().Logs[i].Lag) }))
	}
	for name, count := range map[string]func(*Build) uint64{
		"projection_build_done":  func(b *Build) uint64 { return b.Done },
		"projection_build_total": func(b *Build) uint64 { return b.Total },
	} {
		collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: name, Help: "Messages of the logs in a build of read models; 0 when nothing is being built.",
		}, func() float64 {
			if b := m.building.Load(); b != nil {
				return float64(count(b))
			}
			return 0
		}))
	}
	for _, c := range collectors {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *metrics) observe(log domain.Log, events int, duration time.Duration) {
	s.applied.WithLabelValues(string(log)).Add(float64(events))
	s.batch.Observe(float64(events))
	s.seconds.Observe(duration.Seconds())
}

// Health is the state of the read models.
type Health struct {
	Generation uint32      `json:"generation"`
	Logs       []LogHealth `json:"logs"`
	Missing    []string    `json:"missing,omitempty"` // read models that cannot be read before they are built
	Fault      *Fault      `json:"fault,omitempty"`   // why these are not built
	Build      *Build      `json:"build,omitempty"`   // what is being built, these or others
}

// Build is how far read models are that are being built from the logs.
type Build struct {
	ReadModels []string `json:"readModels"` // their names
	Done       uint64   `json:"done"`       // messages of the logs
	Total      uint64   `json:"total"`
	Elapsed    Duration `json:"elapsed"` // when so many were done
}

// String tells it to people, with the time that is left if it goes on like that.
func (b Build) String() string {
	which := strings.Join(b.ReadModels, ", ")
	if len(b.ReadModels) > maxNamed {
		which = fmt.Sprintf("%d read models", len(b.ReadModels))
	}
	text := fmt.Sprintf("building %s: %d of %d events", which, b.Done, b.Total)
	if b.Done == 0 || b.Total == 0 {
		return text
	}
	left := time.Duration(float64(b.Elapsed) * float64(b.Total-min(b.Done, b.Total)) / float64(b.Done))
	return text + fmt.Sprintf(" (%d %%), about %s left", 100*b.Done/b.Total, max(left, time.Second).Round(time.Second))
}

// maxNamed is how many read models a message names.
const maxNamed = 5

// LogHealth is the state of the read models of one log.
type LogHealth struct {
	Log      domain.Log `json:"log"`
	Applied  uint64     `json:"applied"`  // the last sequence in the read models
	Lag      uint64     `json:"lag"`      // how far the log is known to be ahead
	CaughtUp bool       `json:"caughtUp"` // whether the log was read to its end since the start
	Fault    *Fault     `json:"fault,omitempty"`
}

// OK reports whether every read model can be read, and every log is caught up and without a fault.
func (h Health) OK() bool {
	for _, l := range h.Logs {
		if l.Fault != nil || !l.CaughtUp {
			return false
		}
	}
	return len(h.Missing) == 0
}

// Health returns the state of the read models.
func (m *Models) Health() Health {
	known, gen := m.opts.Known(), m.live.Load()
	h := Health{Generation: gen.num, Missing: namesOf(gen.missing), Build: m.building.Load()}
	if len(h.Missing) > 0 {
		h.Fault = m.incomplete.Load()
	}
	for _, f := range m.logs {
		h.Logs = append(h.Logs, f.health(known.Of(f.log)))
	}
	return h
}

// tracker has the position of one log of the live generation, and the goroutines that wait for a
// later one.
type tracker struct {
	log     domain.Log
	applied atomic.Uint64
	moves   atomic.Uint64 // starts and ends of changes: it is odd during a change
	head    atomic.Uint64 // the highest sequence that the log was seen to hold

	mu       sync.Mutex
	caught   bool
	fault    *Fault
	waiters  map[*waiter]struct{}
	watchers map[chan struct{}]struct{} // told when applied has changed
}

// waiter is woken when seq is applied, or when something else changed that may
// end its wait.
type waiter struct {
	seq uint64
	ch  chan struct{}
}

// maxSeq is never reached: a waiter for it waits for another change.
const maxSeq = math.MaxUint64

func newTracker(log domain.Log) *tracker {
	return &tracker{log: log, waiters: map[*waiter]struct{}{}, watchers: map[chan struct{}]struct{}{}}
}

// change changes what the read models show of the log.
func (t *tracker) change(do func()) {
	t.moves.Add(1)
	defer t.moves.Add(1)
	do()
}

// advance records that seq is applied, and that pending events follow in the log.
func (t *tracker) advance(seq, pending uint64) {
	t.head.Store(max(t.head.Load(), seq+pending))
	if t.applied.Load() == seq {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.applied.Store(seq)
	t.wake(seq)
}

// clearFault records that the log is followed, so an earlier fault is over; and whether nothing is
// pending.
func (t *tracker) clearFault(caughtUp bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault == nil && t.caught == (t.caught || caughtUp) {
		return
	}
	t.caught, t.fault = t.caught || caughtUp, nil
	t.wake(maxSeq)
}

// setFault records a fault and notifies all waiters.
func (t *tracker) setFault(f *Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault = f
	t.wake(maxSeq)
}

// reset sets the position to seq, without a fault.
func (t *tracker) reset(seq uint64, caught bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault, t.caught = nil, caught
	t.applied.Store(seq)
	t.head.Store(seq)
	t.wake(maxSeq)
}

// notify wakes all waiters, for something else than the position.
func (t *tracker) notify() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wake(maxSeq)
}

func (t *tracker) wake(seq uint64) {
	for ch := range t.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	for w := range t.waiters {
		if w.seq <= seq {
			delete(t.waiters, w)
			close(w.ch)
		}
	}
}

// reach waits until seq is applied. It fails when ctx ends or the log stops.
func (t *tracker) reach(ctx context.Context, seq uint64) error {
	if t.applied.Load() >= seq {
		return nil
	}
	return t.wait(ctx, seq, func() bool { return t.applied.Load() >= seq })
}

// awaitCaughtUp waits until the log was read to its end once.
func (t *tracker) awaitCaughtUp(ctx context.Context) error {
	return t.wait(ctx, maxSeq, func() bool { return t.caught })
}

func (t *tracker) wait(ctx context.Context, seq uint64, done func() bool) error {
	for {
		w, err := t.addWaiter(seq, done)
		if err != nil || w == nil {
			return err
		}
		select {
		case <-w.ch:
		case <-ctx.Done():
			t.removeWaiter(w)
			return fmt.Errorf("wait for %s at %d: %w", t.log, t.applied.Load(), context.Cause(ctx))
		}
	}
}

// addWaiter returns a waiter, or nil when there is nothing to wait for.
func (t *tracker) addWaiter(seq uint64, done func() bool) (*waiter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if done() {
		return nil, nil
	}
	if t.fault.stops() {
		return nil, t.fault
	}
	w := &waiter{seq: seq, ch: make(chan struct{})}
	t.waiters[w] = struct{}{}
	return w, nil
}

// watch tells ch, which has a buffer, when the position has changed.
func (t *tracker) watch(ch chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watchers[ch] = struct{}{}
}

func (t *tracker) unwatch(ch chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watchers, ch)
}

func (t *tracker) removeWaiter(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiters, w)
}

// health returns the state of the log, which is known to reach known.
func (t *tracker) health(known uint64) LogHealth {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := LogHealth{Log: t.log, Applied: t.applied.Load(), CaughtUp: t.caught, Fault: t.fault}
	if head := max(known, t.head.Load()); head > h.Applied {
		h.Lag = head - h.Applied
	}
	return h
}

// FaultKind says what stopped a log.
type FaultKind string

const (
	// FaultApply is a projection that refused an event.
	FaultApply FaultKind = "apply"
	// FaultGap is a range of sequences that STATE should hold and does not.
	FaultGap FaultKind = "gap"
	// FaultUnknown is an event on STATE of a type this version does not know.
	FaultUnknown FaultKind = "unknown"
	// FaultStore is a log or a store that does not answer. It is the one fault
	// that is tried again and can pass.
	FaultStore FaultKind = "store"
)

// Fault is why a log is not followed any further.
type Fault struct {
	Kind       FaultKind  `json:"kind"`
	Log        domain.Log `json:"log"`
	Projection string     `json:"projection,omitempty"`
	From       uint64     `json:"from"` // the first sequence concerned
	To         uint64     `json:"to"`   // the last one
	Message    string     `json:"message"`
	Err        error      `json:"-"`
}

// Error implements error.
func (f *Fault) Error() string {
	at := fmt.Sprintf("%s %d", f.Log, f.From)
	if f.To != f.From {
		at = fmt.Sprintf("%s-%d", at, f.To)
	}
	if f.Projection != "" {
		at = f.Projection + " at " + at
	}
	return fmt.Sprintf("projections: %s: %s: %s", f.Kind, at, f.Message)
}

// Unwrap returns the cause, if any.
func (f *Fault) Unwrap() error { return f.Err }

// stops reports whether the fault ends following until a rebuild or a restart.
func (f *Fault) stops() bool { return f != nil && f.Kind != FaultStore }

func newGapFault(log domain.Log, from, to uint64) *Fault {
	return &Fault{Kind: FaultGap, Log: log, From: from, To: to,
		Message: fmt.Sprintf("%d events are missing from the log", to-from+1)}
}

// Duration is a time.Duration that JSON shows in milliseconds, as the API does.
type Duration time.Duration

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, time.Duration(d).Milliseconds(), 10), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(text []byte) error {
	ms, err := strconv.ParseInt(string(text), 10, 64)
	*d = Duration(time.Duration(ms) * time.Millisecond)
	return err
}

// String implements fmt.Stringer.
func (d Duration) String() string { return time.Duration(d).Round(time.Millisecond).String() }
