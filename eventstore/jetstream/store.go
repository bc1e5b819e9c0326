package jetstream

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/singleflight"

	"svc/domain"
	"svc/eventstore"
)

// Store implements eventstore.Store on JetStream.
type Store struct {
	opts    Options
	broker  *broker // nil with an external one
	nc      *nats.Conn
	mail    *mailbox
	js      jetstream.JetStream
	blobs   jetstream.ObjectStore
	metrics metrics

	known   [2]atomic.Uint64   // highest sequence seen of STATE, ACTIVITY
	extent  *extent            // learns what others appended
	looked  atomic.Int64       // when the disk was last looked at
	swept   atomic.Int64       // the hour before which kept counters are erased
	faults  faults             // why appends are refused
	batches chan struct{}      // held while an atomic batch is sent
	order   sync.RWMutex       // held while messages must follow each other; see sendRun
	putting singleflight.Group // blobs on their way, by name
	making  sync.Mutex         // held while a stream is made, or the broker is examined

	mu       sync.RWMutex
	gates    map[string]*gate // by stream; empty when the broker syncs
	epoch    chan struct{}    // closed and replaced when the broker was restarted
	closing  chan struct{}
	closed   sync.Once
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
	s := &Store{opts: o, gates: map[string]*gate{}, epoch: make(chan struct{}), closing: make(chan struct{}), extent: newExtent(), batches: make(chan struct{}, maxBatches)}
	s.metrics = newMetrics(o.Metrics)
	if err := s.open(ctx); err != nil {
		s.abandon()
		return nil, err
	}
	s.watchers.Go(s.watchDisk)
	if !s.Alone() {
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
	if err := s.ensureStreams(ctx); err != nil {
		return err
	}
	return s.openGates()
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

// Durable implements eventstore.Store.
func (s *Store) Durable(log domain.Log) uint64 {
	if g := s.gate(string(log)); g != nil {
		return g.durable.Load()
	}
	return s.Known().Of(log)
}

// Known returns how far the logs reach as far as this node has seen: what it
// appended itself, what its readers were handed or loaded, and what Refresh
// learned.
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
	var stream jetstream.Stream
	err := s.patiently(ctx, func(ctx context.Context) (err error) {
		stream, err = s.js.Stream(ctx, string(log))
		return err
	})
	if err != nil {
		return eventstore.Info{}, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	i := stream.CachedInfo()
	return eventstore.Info{
		Identity: i.Created.UTC().Format(time.RFC3339Nano), Created: i.Created,
		First: max(i.State.FirstSeq, 1), Last: i.State.LastSeq, Messages: i.State.Msgs,
	}, nil
}

// Close makes everything durable and ends the broker. Closing twice does
// nothing more.
func (s *Store) Close(ctx context.Context) (err error) {
	s.closed.Do(func() { err = s.close(ctx) })
	return err
}

func (s *Store) close(ctx context.Context) error {
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
