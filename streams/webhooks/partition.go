package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"svc/commands"
	"svc/domain"
	"svc/eventstore"
	"svc/projections"
	"svc/streams"
)

// partition is a share of all subscriptions, which one node looks after.
type partition struct {
	*Webhooks
	number int
	jobs   chan *job // that are due
	log    *slog.Logger

	mu       sync.Mutex
	workers  map[string]*worker // by subscription
	ctx      context.Context    // of the workers
	recorder *recorder          // of the workers
}

func newPartition(h *Webhooks, number int) *partition {
	log := h.log.With("partition", number)
	return &partition{Webhooks: h, number: number, log: log, jobs: make(chan *job), workers: map[string]*worker{}}
}

// serve runs the partition whenever it is this node's, until ctx ends.
func (p *partition) serve(ctx context.Context) {
	for ctx.Err() == nil {
		err := p.hold(ctx, "webhooks/"+strconv.Itoa(p.number), p.run)
		if ctx.Err() != nil {
			return
		}
		p.log.WarnContext(ctx, "deliveries stopped and are begun again", "err", err)
		_ = commands.Sleep(ctx, workerPause) // it fails when ctx ends, and then that is all
	}
}

// keepWait bounds how long a node that stops goes on recording what it has done.
const keepWait = 5 * time.Second

// run looks after the subscriptions of the partition until ctx ends. What was done by
// then is recorded, unless the partition is another node's already: that one knows
// better how its deliveries stand.
func (p *partition) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	router, err := p.router()
	if err != nil {
		return err
	}
	recording, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	recorder, recorded := newRecorder(p.store, p.host, p.log), make(chan struct{})
	var parts sync.WaitGroup
	parts.Go(func() { cancel(router.Run(ctx)) })
	parts.Go(func() { defer close(recorded); cancel(recorder.run(recording)) })
	parts.Go(func() { p.savePlaces(ctx) })
	p.open(ctx, recorder)
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), streams.ErrLost) {
		stop()
	}
	ended := p.close()
	recorder.end()
	select {
	case <-recorded:
	case <-time.After(keepWait):
	}
	stop()
	parts.Wait()
	for _, w := range ended {
		p.savePlace(w, true)
	}
	return context.Cause(ctx)
}

// router passes what is due to the sender: each in a goroutine of its own, and so
// that a panic ends nothing but its attempt.
func (p *partition) router() (*message.Router, error) {
	log := watermill.NewSlogLoggerWithLevelMapping(p.log, map[slog.Level]slog.Level{
		slog.LevelInfo: slog.LevelDebug, slog.LevelDebug: watermill.LevelTrace,
	})
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: time.Minute}, log)
	if err != nil {
		return nil, err
	}
	router.AddMiddleware(middleware.CorrelationID, middleware.Recoverer)
	router.AddConsumerHandler("webhooks", "due", due{p.jobs}, func(m *message.Message) error {
		if j, ok := m.Context().Value(jobKey{}).(*job); ok {
			j.run(m.Context())
		}
		return nil
	})
	return router, nil
}

// due is the deliveries that are due as a subscriber of a router.
type due struct{ jobs <-chan *job }

// jobKey is where the context of a message has its job.
type jobKey struct{}

// Subscribe implements message.Subscriber.
func (d due) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	go func() { // ends with ctx, and the router waits for out to be closed
		defer close(out)
		for {
			select {
			case <-ctx.Done():
				return
			case j := <-d.jobs:
				out <- j.message() // the router takes it in any case
			}
		}
	}()
	return out, nil
}

// Close implements message.Subscriber.
func (due) Close() error { return nil }

func (j *job) message() *message.Message {
	m := message.NewMessage(j.entry.ID, nil)
	m.SetContext(context.WithValue(j.ctx, jobKey{}, j))
	middleware.SetCorrelationID(j.entry.correlationID, m)
	return m
}

// open lets workers begin.
func (p *partition) open(ctx context.Context, r *recorder) {
	p.mu.Lock()
	p.ctx, p.recorder = ctx, r
	p.mu.Unlock()
	notify(p.changed)
}

// close ends the workers, waits for them and returns them.
func (p *partition) close() map[string]*worker {
	p.mu.Lock()
	p.ctx = nil
	ending := p.workers
	p.workers = map[string]*worker{}
	p.mu.Unlock()
	for _, w := range ending {
		w.stop()
	}
	for _, w := range ending {
		<-w.done
	}
	return ending
}

// tend begins workers for subscriptions that have none, and ends those of others. It
// does nothing while the partition is somebody else's.
func (p *partition) tend(list []projections.SubscriptionRecord) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil || p.ctx.Err() != nil {
		return
	}
	here := make(map[string]bool, len(list))
	for _, rec := range list {
		here[rec.ID] = true
		if have := p.workers[rec.ID]; have != nil {
			notify(have.wake)
			continue
		}
		w := newWorker(p, rec)
		var ctx context.Context
		ctx, w.stop = context.WithCancel(p.ctx)
		p.workers[rec.ID] = w
		go w.run(ctx) // close waits for it
	}
	for id, w := range p.workers {
		if !here[id] {
			w.stop()
			delete(p.workers, id)
			p.ending.Go(func() { <-w.done; p.leave(w) })
		}
	}
}

// ask passes a delivery that somebody asked for to its worker, if that is here.
func (p *partition) ask(d projections.DeliveryRecord) {
	p.mu.Lock()
	w := p.workers[d.SubscriptionID]
	p.mu.Unlock()
	if w != nil {
		w.ask(d)
	}
}

// Cursors keeps the places of subscriptions in the feed. It is a *jetstream.Bucket.
type Cursors interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Delete(ctx context.Context, key string) error
}

// cursors are places by the id of their subscription.
type cursors struct{ bucket Cursors }

// load returns the place of a subscription; zero when it has none.
func (c cursors) load(ctx context.Context, id string) (at domain.Position, err error) {
	value, _, err := c.bucket.Get(ctx, id)
	if errors.Is(err, eventstore.ErrNoKey) {
		return at, nil
	}
	if err == nil {
		err = at.UnmarshalText(value)
	}
	if err != nil {
		return at, fmt.Errorf("read the place of subscription %s: %w", id, err)
	}
	return at, nil
}

func (c cursors) save(ctx context.Context, id string, at domain.Position) error {
	_, err := c.bucket.Put(ctx, id, []byte(at.Token()))
	return err
}

// saveEvery is how often the places of subscriptions are saved while they move.
const saveEvery = 250 * time.Millisecond

// savePlaces saves places that moved until ctx ends.
func (p *partition) savePlaces(ctx context.Context) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.mu.Lock()
		list := make([]*worker, 0, len(p.workers))
		for _, w := range p.workers {
			list = append(list, w)
		}
		p.mu.Unlock()
		for _, w := range list {
			p.savePlace(w, false)
		}
	}
}

// saveWait bounds how long one place may take to be saved.
const saveWait = 5 * time.Second

// savePlace saves the place of a subscription if it moved. One that is not saved
// costs another look at what was delivered, and no more.
func (p *partition) savePlace(w *worker, ending bool) {
	w.mu.Lock()
	at, moved := w.ledger.Unsaved(p.now(), ending)
	w.mu.Unlock()
	if !moved {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveWait)
	defer cancel()
	if err := p.cursors.save(ctx, w.key.id, at); err != nil {
		w.log.WarnContext(ctx, "the place of a subscription could not be saved", "err", err)
		w.mu.Lock()
		w.ledger.Again()
		w.mu.Unlock()
	}
}

// leave saves the place of a subscription that is no longer served, or forgets it with
// the subscription.
func (p *partition) leave(w *worker) {
	there := true
	err := p.models.View(func(r projections.Reader) (err error) {
		_, there, err = projections.Subscriptions{}.Get(r, w.key.workspaceID, w.key.id)
		return err
	})
	if err != nil || there {
		p.savePlace(w, true)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveWait)
	defer cancel()
	if err := p.cursors.bucket.Delete(ctx, w.key.id); err != nil {
		w.log.WarnContext(ctx, "the place of a subscription that is deleted could not be forgotten", "err", err)
	}
}

// Bounds of what is under way at once.
const (
	mostOfOne  = 16  // for one subscription
	mostOfNode = 256 // on this node
	// share is the part of what is free that one subscription may have: those that hang
	// leave something to those that come.
	share = 8
	// spare is what those that are not known to do well leave to those that are.
	spare = mostOfNode / 2
	// ofWorkspace is the part of what is free that one workspace may have for those that
	// do well: all of them may cease to at once.
	ofWorkspace = 2
)

// bulkhead keeps receivers from slowing each other down.
type bulkhead struct {
	mu      sync.Mutex
	free    int
	held    map[string]int         // by workspace, for those that do well
	waiting map[chan struct{}]bool // to be notified when something is free
}

func newBulkhead() *bulkhead {
	return &bulkhead{free: mostOfNode, held: map[string]int{}, waiting: map[chan struct{}]bool{}}
}

// take takes a place for a subscription that has some already, of a receiver that is
// known to do well or not. When it may not, the channel is notified as soon as it may be
// worth asking again.
func (b *bulkhead) take(workspaceID string, have int, well bool, again chan struct{}) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := b.free
	if !well {
		free -= spare
	}
	if free <= 0 || have > free/share || well && b.held[workspaceID] > free/ofWorkspace {
		b.waiting[again] = true
		return false
	}
	b.free--
	if well {
		b.held[workspaceID]++
	}
	return true
}

// give gives a place back that was taken for a receiver that was known to do well or not.
func (b *bulkhead) give(workspaceID string, well bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free++
	if well {
		b.held[workspaceID]--
	}
	if b.held[workspaceID] == 0 {
		delete(b.held, workspaceID)
	}
	for again := range b.waiting {
		notify(again)
	}
	clear(b.waiting)
}

// leave forgets somebody who waits.
func (b *bulkhead) leave(again chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, again)
}
