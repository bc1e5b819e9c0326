package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"svc/domain"
	"svc/eventstore"
)

// Store implements eventstore.Store on JetStream.
type Store struct {
	opts    Options
	broker  *broker // nil with an external one
	nc      *nats.Conn
	js      jetstream.JetStream
	blobs   jetstream.ObjectStore
	metrics metrics

	known  [2]atomic.Uint64 // highest sequence seen of STATE, ACTIVITY
	extent *extent          // learns what others appended

	mu       sync.RWMutex
	gates    map[string]*gate // by stream; empty when the broker syncs
	stopped  error            // why appends are refused; nil when they are not
	epoch    chan struct{}    // closed and replaced when the broker was restarted
	closing  chan struct{}
	watchers sync.WaitGroup
}

var _ eventstore.Store = (*Store)(nil)

// Open starts or reaches the broker, creates or checks the streams, and returns
// a store that is ready for appends.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{opts: o, gates: map[string]*gate{}, epoch: make(chan struct{}), closing: make(chan struct{}), extent: newExtent()}
	s.metrics = newMetrics(o.Metrics)
	if err := s.open(ctx); err != nil {
		s.abandon()
		return nil, err
	}
	s.watchers.Go(s.watchDisk)
	if !s.alone() {
		s.watchers.Go(s.watchExtent)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if s.opts.embedded() {
		s.broker = &broker{opts: s.opts, token: rand.Text()}
		if err := s.broker.start(); err != nil {
			return err
		}
	}
	if err := s.connect(); err != nil {
		return err
	}
	if err := s.ensure(ctx); err != nil {
		return err
	}
	if !s.opts.embedded() {
		s.warnUnlessSynced(ctx)
	}
	if err := s.learnExtent(ctx); err != nil {
		return err
	}
	if s.checkWatermarks(); s.broker == nil || s.Writable() != nil {
		return nil
	}
	return s.sealTails(ctx)
}

// ensure waits for streams that exist, have a leader, and are gated.
func (s *Store) ensure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, brokerStartTimeout)
	defer cancel()
	for wait := firstTry; ; wait = min(2*wait, lastTry) {
		err := s.tryStreams(ctx, wait)
		if err == nil {
			return s.openGates()
		}
		if !transient(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the broker does not serve its streams: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Bounds of one attempt: a stream without a leader yet does not answer, and is
// asked again soon; a slow broker is given more time.
const firstTry, lastTry = 500 * time.Millisecond, 8 * time.Second

// tryStreams makes one attempt.
func (s *Store) tryStreams(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return s.ensureStreams(ctx)
}

// learnExtent notes how far the logs reach, so that a fresh reader waits for it.
func (s *Store) learnExtent(ctx context.Context) error {
	for _, log := range domain.Logs() {
		info, err := s.Info(ctx, log)
		if err != nil {
			return err
		}
		s.saw(log, info.Last)
		if g := s.gate(string(log)); g != nil {
			g.advance(info.Last)
		}
	}
	return nil
}

// openGates gates every stream of the embedded broker that is kept on disk.
func (s *Store) openGates() error {
	if !s.opts.grouped() {
		return nil
	}
	names := []string{string(domain.State), string(domain.Activity), streamData, streamPayloads, "OBJ_" + bucketBlobs}
	for _, name := range names {
		if err := s.openGate(name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) openGate(stream string) error {
	dir := filepath.Join(s.opts.Dir, "jetstream", "$G", "streams", stream, "msgs")
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("the embedded broker keeps %s elsewhere than expected: %w", stream, err)
	}
	var mark *watermark
	if log := domain.Log(stream); slices.Contains(domain.Logs(), log) {
		var err error
		if mark, err = openWatermark(watermarkPath(s.opts.Dir, log)); err != nil {
			return err
		}
	}
	g, err := openGate(dir, filepath.Dir(filepath.Clean(s.opts.Dir)), mark, s.metrics.gateBatch, func(err error) { s.fail(err) })
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.gates[stream]; old != nil {
		g.advance(old.durable.Load())
		old.close()
	}
	s.gates[stream] = g
	return nil
}

func (s *Store) gate(stream string) *gate {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.gates[stream]
}

// durably runs write, which stores something on stream and returns its last
// sequence, and waits until that is on disk.
func (s *Store) durably(ctx context.Context, stream string, write func() (uint64, error)) error {
	g := s.gate(stream)
	if g == nil {
		_, err := write()
		return err
	}
	g.enter()
	seq, err := write()
	if err != nil {
		g.leave()
		return err
	}
	if err := g.wait(ctx, seq); err != nil {
		return fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return nil
}

// Durable implements eventstore.Store.
func (s *Store) Durable(log domain.Log) uint64 {
	if g := s.gate(string(log)); g != nil {
		return g.durable.Load()
	}
	return s.Known().Of(log)
}

// Known returns how far the logs reach as far as this node has seen: what it
// appended itself, what its readers were handed, and what Refresh learned.
func (s *Store) Known() domain.Position {
	return domain.Position{State: s.known[0].Load(), Activity: s.known[1].Load()}
}

func (s *Store) saw(log domain.Log, seq uint64) {
	k := &s.known[0]
	if log == domain.Activity {
		k = &s.known[1]
	}
	for have := k.Load(); seq > have; have = k.Load() {
		if k.CompareAndSwap(have, seq) {
			return
		}
	}
}

// Info implements eventstore.Store.
func (s *Store) Info(ctx context.Context, log domain.Log) (eventstore.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.MaxWait)
	defer cancel()
	stream, err := s.js.Stream(ctx, string(log))
	if err != nil {
		return eventstore.Info{}, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	i := stream.CachedInfo()
	return eventstore.Info{
		Identity: i.Created.UTC().Format(time.RFC3339Nano), Created: i.Created,
		First: max(i.State.FirstSeq, 1), Last: i.State.LastSeq, Messages: i.State.Msgs,
	}, nil
}

// Close makes everything durable and ends the broker.
func (s *Store) Close(ctx context.Context) error {
	close(s.closing)
	s.watchers.Wait()
	s.closeGates()
	s.nc.Close()
	if s.broker == nil {
		return nil
	}
	if s.Writable() != nil {
		s.broker.stop() // stopped by a fault: the files are not vouched for
		return nil
	}
	return s.broker.stopClean(ctx)
}

// abandon undoes a failed Open.
func (s *Store) abandon() {
	s.closeGates()
	if s.nc != nil {
		s.nc.Close()
	}
	if s.broker != nil {
		s.broker.stop()
	}
}

func (s *Store) closeGates() {
	s.mu.Lock()
	gates := s.gates
	s.gates = map[string]*gate{}
	s.mu.Unlock()
	for _, g := range gates {
		g.close()
	}
}

// transient reports whether an error of the broker may pass by itself.
func transient(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Code == 503
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrConnectionReconnecting) ||
		errors.Is(err, nats.ErrReconnectBufExceeded)
}
