package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
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

// partition is a part of all subscriptions, which one node serves.
type partition struct {
	*Webhooks
	number int
	jobs   chan *job     // that are due
	moved  chan struct{} // a cursor is to be saved
	log    *slog.Logger

	mu       sync.Mutex
	workers  map[string]*worker // by subscription
	ctx      context.Context    // of the workers
	recorder *recorder          // of the workers
}

func newPartition(h *Webhooks, number int) *partition {
	log := h.log.With("partition", number)
	return &partition{Webhooks: h, number: number, log: log, jobs: make(chan *job), moved: make(chan struct{}, 1), workers: map[string]*worker{}}
}

// serve runs the partition while this node holds it, until ctx ends.
func (p *partition) serve(ctx context.Context) {
	for ctx.Err() == nil {
		err := p.hold(ctx, "webhooks/"+strconv.Itoa(p.number), p.run)
		if ctx.Err() != nil {
			return
		}
		p.log.WarnContext(ctx, "deliveries stopped and are restarted", "err", err)
		_ = commands.Sleep(ctx, workerPause) // fails only when ctx ends
	}
}

// recordTimeout limits how long a node that stops records what it has done.
const recordTimeout = 5 * time.Second

// run serves the subscriptions of the partition until ctx ends. What was done by then is recorded, unless another
// node may hold the partition already: that node's records count.
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
	parts.Go(func() { p.saveCursors(ctx) })
	p.startWorkers(ctx, recorder)
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), streams.ErrLost) {
		stop()
	}
	ended := p.stopWorkers()
	recorder.finish()
	select {
	case <-recorded:
	case <-time.After(recordTimeout):
	}
	stop()
	parts.Wait()
	for _, w := range ended {
		p.saveCursor(w, true)
	}
	return context.Cause(ctx)
}

// router passes due attempts to the sender. Each message is a goroutine that makes one, and goes on with others of the
// subscription while they are due: a panic ends only its attempt.
func (p *partition) router() (*message.Router, error) {
	log := watermill.NewSlogLoggerWithLevelMapping(p.log, map[slog.Level]slog.Level{
		slog.LevelInfo: slog.LevelDebug, slog.LevelDebug: watermill.LevelTrace,
	})
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: time.Minute}, log)
	if err != nil {
		return nil, err
	}
	router.AddMiddleware(middleware.CorrelationID, middleware.Recoverer)
	router.AddConsumerHandler("webhooks", "due", dueJobs{p.jobs}, func(m *message.Message) error {
		j := m.Context().Value(jobKey{}).(*job)
		limit := p.sender.newTimeLimit(j.sending)
		defer limit.close()
		j.run(m.Context(), limit)
		return nil
	})
	return router, nil
}

// dueJobs adapts the due attempts to a subscriber of a router.
type dueJobs struct{ jobs <-chan *job }

// jobKey is the key of the job in the context of a message.
type jobKey struct{}

// Subscribe implements message.Subscriber.
func (d dueJobs) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	go func() { // ends with ctx, and the router waits for out to be closed
		defer close(out)
		for {
			select {
			case <-ctx.Done():
				return
			case j := <-d.jobs:
				out <- j.message() // the router always receives it
			}
		}
	}()
	return out, nil
}

// Close implements message.Subscriber.
func (dueJobs) Close() error { return nil }

func (j *job) message() *message.Message {
	m := message.NewMessage(j.entry.ID, nil)
	m.SetContext(context.WithValue(j.ctx, jobKey{}, j))
	middleware.SetCorrelationID(j.entry.correlationID, m)
	return m
}

// startWorkers allows workers to start.
func (p *partition) startWorkers(ctx context.Context, r *recorder) {
	p.mu.Lock()
	p.ctx, p.recorder = ctx, r
	p.mu.Unlock()
	streams.Notify(p.changed)
}

// stopWorkers stops the workers, waits for them and returns them.
func (p *partition) stopWorkers() map[string]*worker {
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

// syncWorkers starts workers for subscriptions that have none, and stops those of others. It does nothing while
// another node holds the partition.
func (p *partition) syncWorkers(list []projections.SubscriptionRecord) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil || p.ctx.Err() != nil {
		return
	}
	here := make(map[string]bool, len(list))
	for _, rec := range list {
		here[rec.ID] = true
		if have := p.workers[rec.ID]; have != nil {
			streams.Notify(have.wake)
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
			p.endingWorkers.Go(func() { <-w.done; p.saveOrDeleteCursor(w) })
		}
	}
}

// redeliver passes a requested delivery to its worker, if that is here.
func (p *partition) redeliver(d projections.DeliveryRecord) {
	p.mu.Lock()
	w := p.workers[d.SubscriptionID]
	p.mu.Unlock()
	if w != nil {
		w.redeliver(d)
	}
}

// cursors are positions by the id of their subscription.
type cursors struct{ bucket eventstore.Bucket }

// load returns the cursor of a subscription; zero when it has none.
func (c cursors) load(ctx context.Context, id string) (at domain.Position, err error) {
	value, _, err := c.bucket.Get(ctx, id)
	if errors.Is(err, eventstore.ErrNoKey) {
		return at, nil
	}
	if err == nil {
		err = at.UnmarshalText(value)
	}
	if err != nil {
		return at, fmt.Errorf("read the cursor of subscription %s: %w", id, err)
	}
	return at, nil
}

func (c cursors) save(ctx context.Context, id string, at domain.Position) error {
	_, err := c.bucket.Put(ctx, id, []byte(at.Token()))
	return err
}

// saveInterval is how often the cursors of subscriptions are saved while they move.
const saveInterval = 250 * time.Millisecond

// saveCursors saves cursors that moved, until ctx ends.
func (p *partition) saveCursors(ctx context.Context) {
	streams.SaveProgress(ctx, p.moved, saveInterval, func() (unsaved bool) {
		p.mu.Lock()
		list := slices.Collect(maps.Values(p.workers))
		p.mu.Unlock()
		for _, w := range list {
			unsaved = p.saveCursor(w, false) || unsaved
		}
		return unsaved
	})
}

// saveTimeout limits how long saving one cursor may take.
const saveTimeout = 5 * time.Second

// saveCursor saves the cursor of a subscription if that is due. unsaved says that it is to be saved later: until then,
// delivered events would only be read again.
func (p *partition) saveCursor(w *worker, ending bool) (unsaved bool) {
	w.mu.Lock()
	at, due := w.progress.TakeUnsaved(p.now(), ending)
	unsaved = w.progress.IsUnsaved()
	w.mu.Unlock()
	if !due {
		return unsaved
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	if err := p.cursors.save(ctx, w.key.id, at); err != nil {
		w.log.WarnContext(ctx, "the cursor of a subscription could not be saved", "err", err)
		w.mu.Lock()
		w.progress.MarkUnsaved()
		w.mu.Unlock()
		return true
	}
	return false
}

// saveOrDeleteCursor saves the cursor of a subscription that is no longer served, or deletes it with the
// subscription.
func (p *partition) saveOrDeleteCursor(w *worker) {
	_, found, err := p.models.Subscription(w.key.workspaceID, w.key.id)
	if err != nil || found {
		p.saveCursor(w, true)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	if err := p.cursors.bucket.Delete(ctx, w.key.id); err != nil {
		w.log.WarnContext(ctx, "the cursor of a deleted subscription could not be deleted", "err", err)
	}
}

// Limits of concurrent attempts.
const (
	maxPerSubscription = 16  // for one subscription
	maxPerNode         = 256 // on this node
	// subscriptionShare is the part of the free slots that one subscription may have, so that hanging receivers leave
	// some for others.
	subscriptionShare = 8
	// healthyReserve is what those that are not known to do well leave to those that are.
	healthyReserve = maxPerNode / 2
	// workspaceShare is the part of the free slots that the healthy receivers of one workspace may have: all of them
	// may fail at once.
	workspaceShare = 2
)

// bulkhead limits concurrent attempts, so that receivers do not slow each other down.
type bulkhead struct {
	mu      sync.Mutex
	free    int
	used    map[string]int         // by workspace, for healthy receivers
	waiting map[chan struct{}]bool // to be notified when a slot is free
}

func newBulkhead() *bulkhead {
	return &bulkhead{free: maxPerNode, used: map[string]int{}, waiting: map[chan struct{}]bool{}}
}

// acquire acquires a slot for a subscription that holds some already. When there is none, the channel is notified
// as soon as another attempt may succeed.
func (b *bulkhead) acquire(workspaceID string, have int, well bool, again chan struct{}) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := b.free
	if !well {
		free -= healthyReserve
	}
	if free <= 0 || have > free/subscriptionShare || well && b.used[workspaceID] > free/workspaceShare {
		b.waiting[again] = true
		return false
	}
	b.free--
	if well {
		b.used[workspaceID]++
	}
	return true
}

// release releases a slot that was acquired for a healthy receiver or not.
func (b *bulkhead) release(workspaceID string, well bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free++
	if well {
		b.used[workspaceID]--
	}
	if b.used[workspaceID] == 0 {
		delete(b.used, workspaceID)
	}
	for again := range b.waiting {
		streams.Notify(again)
	}
	clear(b.waiting)
}

// cancelWait removes a waiting channel.
func (b *bulkhead) cancelWait(again chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, again)
}
