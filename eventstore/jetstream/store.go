// Package jetstream keeps events on NATS JetStream.
//
// By default it runs the broker inside the process, with its files under Options.Dir, and makes
// appends durable in groups, with one fsync for all that wait (gate.go). With Options.URL it uses an
// external broker.
//
// A Store is one connection (connection.go) and its parts: Log, Data, Collections, Payloads, Blobs,
// Counters, Buckets, Broadcast. The table of all streams, and how user text is encoded in subjects,
// is in streams.go.
package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"svc/domain"
)

// Store is one connection to the broker and what is kept there. A consumer holds the part
// that it needs, not the Store.
type Store struct {
	Log         *Log         // events
	Data        *Data        // user data that changes often
	Collections *Collections // rows of automations, a kind of user data
	Payloads    *Payloads    // payload and output of executions
	Blobs       *Blobs       // contents by their SHA-256
	Counters    *Counters    // rate limits
	Buckets     *Buckets     // values by key

	conn *connection
}

// Open starts or reaches the broker, creates or checks the streams, and returns
// a store that is ready for appends.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &connection{
		opts: o, metrics: newMetrics(o.Metrics), gates: map[string]*gate{}, reconnect: make(chan struct{}), closing: make(chan struct{}),
		faults: faults{reported: make(chan struct{}, 1)},
	}
	data, log := &Data{conn: c}, newLog(c)
	s := &Store{
		conn: c, Log: log, Data: data, Collections: &Collections{conn: c, data: data}, Payloads: log.payloads,
		Blobs: &Blobs{conn: c}, Counters: &Counters{conn: c}, Buckets: &Buckets{conn: c},
	}
	if err := s.open(ctx); err != nil {
		c.closeGates()
		if c.nc != nil {
			c.nc.Close()
		}
		if c.broker != nil {
			c.broker.stop()
		}
		return nil, err
	}
	if c.broker != nil {
		c.watchers.Go(s.watchDisk)
	}
	if !s.Alone() {
		c.watchers.Go(s.Log.answerExtentQueries)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	c := s.conn
	if c.opts.embedded() {
		c.broker = &broker{opts: c.opts, token: rand.Text()}
		if err := c.broker.start(); err != nil {
			return err
		}
	}
	if err := c.connect(); err != nil {
		return err
	}
	if err := s.ensureStreams(ctx); err != nil {
		return err
	}
	if !c.opts.embedded() {
		c.warnUnlessSynced(ctx)
	}
	if err := s.Log.loadExtent(ctx); err != nil {
		return err
	}
	if s.Log.checkWatermarks(); c.broker == nil || s.Writable() != nil {
		return nil
	}
	return s.Log.voidIncompleteTails(ctx)
}

// ensureStreams creates or checks the streams, waits for their leaders, and opens the gates.
func (s *Store) ensureStreams(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, brokerStartTimeout)
	defer cancel()
	for _, cfg := range streamTable(s.conn.opts.Replicas) {
		err := s.conn.retryStart(ctx, func(ctx context.Context) error { return s.conn.ensureStream(ctx, cfg) })
		if err != nil {
			return fmt.Errorf("stream %s: %w", cfg.Name, err)
		}
	}
	if err := s.conn.retryStart(ctx, s.Blobs.ensureBlobs); err != nil {
		return fmt.Errorf("object store %s: %w", bucketBlobs, err)
	}
	return s.conn.openGates()
}

// Alone reports whether nobody but this process can append to the logs.
func (s *Store) Alone() bool { return s.conn.Alone() }

// Writable returns nil when appends are possible now, else an error that is
// eventstore.ErrUnavailable and says why.
func (s *Store) Writable() error { return s.conn.Writable() }

// Damage returns an error that is ErrDamaged when acknowledged events are known
// to be missing from the log.
func (s *Store) Damage() error {
	if err := s.Writable(); errors.Is(err, ErrDamaged) {
		return err
	}
	return nil
}

// Close makes everything durable and ends the broker. A second call does nothing.
func (s *Store) Close(ctx context.Context) (err error) {
	c := s.conn
	c.closed.Do(func() {
		close(c.closing)
		c.watchers.Wait()
		c.closeGates()
		c.nc.Close()
		switch {
		case c.broker == nil:
		case c.Writable() != nil:
			c.broker.stop() // after a fault the files may be incomplete
		default:
			err = c.broker.stopClean(ctx)
		}
	})
	return err
}

// Probe publishes one message to the probe stream and waits for its
// acknowledgement, and asks whether the replicas of STATE are in quorum.
func (s *Store) Probe(ctx context.Context) error {
	if err := s.Writable(); err != nil {
		return err
	}
	c := s.conn
	if _, err := c.sendOne(ctx, &nats.Msg{Subject: "svc.probe." + token(c.opts.Name), Data: []byte("probe")}); err != nil {
		return err
	}
	stream, err := c.js.Stream(ctx, string(domain.State))
	if err != nil {
		return err
	}
	cluster := stream.CachedInfo().Cluster
	if cluster == nil || c.opts.Replicas == 1 {
		return nil
	}
	current := 1 // the leader
	for _, peer := range cluster.Replicas {
		if peer.Current && !peer.Offline {
			current++
		}
	}
	if cluster.Leader == "" || current <= c.opts.Replicas/2 {
		return fmt.Errorf("%d of %d replicas are current", current, c.opts.Replicas)
	}
	return nil
}

// workspaceStreams are the streams, besides the logs, with messages of workspaces.
var workspaceStreams = map[string]string{streamPayloads: payloadsRoot, streamData: dataRoot}

// HasWorkspaceData reports whether a workspace has payloads or user data.
func (s *Store) HasWorkspaceData(ctx context.Context, workspaceID string) (bool, error) {
	for stream, root := range workspaceStreams {
		_, ok, err := s.conn.getMessage(ctx, stream, getRequest{Seq: 1, NextFor: root + token(workspaceID) + ".>"})
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// EraseWorkspaceData erases the payloads and the user data of a workspace.
func (s *Store) EraseWorkspaceData(ctx context.Context, workspaceID string) error {
	for stream, root := range workspaceStreams {
		if err := s.conn.purge(ctx, stream, root+token(workspaceID)+".>", ^uint64(0)); err != nil {
			return fmt.Errorf("erase %s of workspace %s: %w", stream, workspaceID, err)
		}
	}
	return nil
}

// Sync says how an append on the embedded broker becomes durable.
type Sync string

const (
	// SyncGroup fsyncs once for all appends that wait. The default.
	SyncGroup Sync = "group"
	// SyncAlways lets the broker fsync after every message.
	SyncAlways Sync = "always"
	// SyncNever acknowledges what is only in the page cache. Benchmarks and the power-loss test
	// compare with it; no setting selects it.
	SyncNever Sync = "never"
)

// Options configure a Store. Events and one of Dir and URL are required.
type Options struct {
	Events domain.Registry // decodes events

	Dir     string // where the embedded broker keeps its files
	Sync    Sync   // default SyncGroup
	Cluster Cluster
	MaxSize int64 // cap of the embedded store in bytes; default 80 % of the disk

	URL       []string    // an external broker instead of the embedded one
	CredsFile string      // NATS credentials for it
	TLS       *tls.Config // client TLS for it

	Name     string        // names the node to the broker; default "svc"
	Replicas int           // default 1
	MaxWait  time.Duration // bound on one exchange with the broker; default 2s
	MinFree  func() int64  // bytes below which appends are refused; default none

	Now     func() time.Time      // default time.Now
	Log     *slog.Logger          // default slog.Default
	Metrics prometheus.Registerer // default none
}

// Cluster joins embedded brokers of several nodes. The zero value does not.
type Cluster struct {
	Name   string
	Listen string // host:port; set = clustered
	Routes []*url.URL
	Secret string      // authenticates the nodes to each other; the same on all of them
	TLS    *tls.Config // for routes that leave the host
}

func (o Options) withDefaults() (Options, error) {
	if o.Events == nil {
		return o, errors.New("jetstream: Options.Events is required")
	}
	if (o.Dir == "") == (len(o.URL) == 0) {
		return o, errors.New("jetstream: give either Options.Dir or Options.URL")
	}
	o.Sync = cmp.Or(o.Sync, SyncGroup)
	o.Name = cmp.Or(o.Name, "svc")
	o.Replicas = cmp.Or(o.Replicas, 1)
	o.MaxWait = cmp.Or(o.MaxWait, 2*time.Second)
	if o.MinFree == nil {
		o.MinFree = func() int64 { return 0 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o, nil
}

// embedded reports whether the broker runs in this process.
func (o Options) embedded() bool { return o.Dir != "" }

// grouped reports whether this process makes appends durable with gates. In a cluster the brokers
// sync in groups themselves.
func (o Options) grouped() bool {
	return o.embedded() && o.Sync == SyncGroup && o.Cluster.Listen == ""
}

// brokerSyncs reports whether the embedded broker fsyncs by itself.
func (o Options) brokerSyncs() bool {
	return o.Sync == SyncAlways || o.Sync == SyncGroup && o.Cluster.Listen != ""
}

// errDiskLow says that less space is free than Options.MinFree.
var errDiskLow = errors.New("the disk is low")

const (
	diskPeriod   = 250 * time.Millisecond
	healthPeriod = time.Second
	minFreeBytes = 1 << 20 // needed in any case
	maxReopenGap = 5 * time.Second
)

// watchDisk refuses appends while the disk is low, and reopens the embedded broker after a fault once
// there is space: a stream that failed to write stays unusable until then. While appends are possible it
// looks once a second: each append looks at the disk itself. It also has the gates look for rewritten blocks.
func (s *Store) watchDisk() {
	if s.conn.broker == nil {
		return
	}
	timer := time.NewTimer(diskPeriod)
	defer timer.Stop()
	var checked time.Time // when the health of the broker was last checked
	var next time.Time    // the broker is not reopened before
	gap := 2 * diskPeriod // grows while reopening does not help
	for {
		select {
		case <-s.conn.closing:
			return
		case <-timer.C:
		case <-s.conn.faults.reported:
		}
		s.conn.noticeRewrites()
		hasSpace := s.conn.checkDisk()
		if time.Since(checked) >= healthPeriod-diskPeriod {
			s.conn.checkHealth()
			checked = time.Now()
		}
		switch broken := s.conn.faults.brokenCount(); {
		case broken == 0 && time.Now().After(next):
			gap = 2 * diskPeriod
		case broken > 0 && hasSpace && time.Now().After(next):
			s.reopen(broken)
			next, gap = time.Now().Add(gap), min(2*gap, maxReopenGap)
		}
		if s.Writable() == nil {
			timer.Reset(untilNextSecond())
		} else {
			timer.Reset(diskPeriod)
		}
	}
}

// untilNextSecond returns how long it is until watchDisk looks again: together with other work of every second, so that
// an idle process wakes up once for all of it.
func untilNextSecond() time.Duration {
	return time.Second - time.Duration(time.Now().UnixNano())%time.Second
}

// maxDiskCheckAge is how old the last check of the disk may be at an append.
const maxDiskCheckAge = 20 * time.Millisecond

// checkDiskIfStale checks the disk unless that was done a moment ago: it can fill up between two ticks
// of watchDisk, and the read models could not apply what is appended then.
func (c *connection) checkDiskIfStale() {
	if c.broker == nil {
		return
	}
	last, now := c.diskCheckedAt.Load(), time.Now().UnixNano()
	if now-last >= int64(maxDiskCheckAge) && c.diskCheckedAt.CompareAndSwap(last, now) {
		c.checkDisk()
	}
}

// checkDisk sets or clears the low-disk fault, and reports whether there is space.
func (c *connection) checkDisk() (hasSpace bool) {
	least := max(c.opts.MinFree(), minFreeBytes)
	free, _, err := diskSpace(c.opts.Dir)
	switch {
	case err != nil:
		err = fmt.Errorf("the data directory cannot be examined: %w", err)
	case free < least:
		err = fmt.Errorf("%w: %d MB free, DISK_MIN_FREE_MB asks for %d", errDiskLow, free>>20, c.opts.MinFree()>>20)
	}
	switch changed := c.faults.setLow(err); {
	case changed && err != nil:
		c.opts.Log.Error("writes are refused until there is space", "err", err)
	case changed:
		c.opts.Log.Info("there is space on the disk again", "freeBytes", free)
	}
	return err == nil
}

// checkHealth asks the broker for streams that could not write, which publishers do not learn. It does
// not ask in a cluster, where an election counts as a fault, nor while a stream is created, which
// counts as one that could not be recovered.
func (c *connection) checkHealth() {
	if c.opts.Cluster.Listen != "" || c.faults.brokenCount() > 0 || !c.streamsMu.TryLock() {
		return
	}
	defer c.streamsMu.Unlock()
	if err := errors.Join(c.broker.health(), c.gateFault()); err != nil {
		c.reportWriteFailure(err)
	}
}

// reopen stops the embedded broker, drops the page cache of its files, and starts it again on what is
// on disk. No acknowledged append is missing there: it was fsynced before.
func (s *Store) reopen(broken uint64) {
	s.conn.opts.Log.Warn("reopening the log after a failed write")
	s.conn.broker.stop()
	s.conn.broker.dropCaches()
	ctx, cancel := context.WithTimeout(context.Background(), brokerStartTimeout)
	defer cancel()
	err := s.conn.broker.start()
	if err == nil {
		err = s.ensureStreams(ctx)
	}
	if err == nil {
		err = s.Log.checkNotShorter(ctx)
	}
	if err != nil {
		s.conn.opts.Log.Error("the log could not be reopened, trying again", "err", err)
		return
	}
	if !s.conn.faults.clearBroken(broken) || s.conn.Writable() != nil {
		return
	}
	if err := s.Log.voidIncompleteTails(ctx); err != nil {
		s.conn.reportWriteFailure(err)
		return
	}
	s.conn.opts.Log.Info("the log is open again, writes are possible")
}

// checkNotShorter sets the damage fault when a reopened log ends before what was durable.
func (l *Log) checkNotShorter(ctx context.Context) error {
	for _, log := range domain.Logs() {
		info, err := l.Info(ctx, log)
		if err != nil {
			return err
		}
		if was := l.Durable(log); info.Last < was {
			l.conn.faults.setDamaged(l.truncationError(log, info.Last, was))
		}
	}
	return nil
}
