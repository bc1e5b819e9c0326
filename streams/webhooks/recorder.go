package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/commands"
	"svc/domain"
	"svc/domain/subscription"
	"svc/eventstore"
	"svc/streams"
)

// Store stores the results of deliveries. It is a *jetstream.Log.
type Store interface {
	Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error)
}

// record is the state of a delivery, to be stored.
type record struct {
	subscription.Record
	workspaceID string
	worker      *worker
	mark        *streams.ProgressMark // of worker: done once the record is on disk; may be nil
}

// recorder keeps records in the order in which they are added, many with one wait
// for the disk. Adding one never waits.
type recorder struct {
	store Store
	host  domain.Host
	log   *slog.Logger

	appended time.Time // when the last append began; for run alone
	spare    []record  // what the last batch was in, for the next ones; for run alone

	mu    sync.Mutex
	queue []record
	ended bool          // nothing is added any more
	ready chan struct{} // holds one token when there may be something in queue
	hurry chan struct{} // holds one token when nothing should be waited for
}

// Bounds of one append, of one event in it, of what waits before attempts do too, and
// the wait after an append that failed.
const (
	maxRecords  = 10 * subscription.MaxRecords
	maxBacklog  = 2 * maxRecords
	maxWeight   = 256 << 10
	recordPause = 250 * time.Millisecond
)

// gatherTime is the least time between two appends. Under load fewer and larger appends cost the log and its readers
// much less; a single record is not delayed.
const gatherTime = 10 * time.Millisecond

func newRecorder(store Store, host domain.Host, log *slog.Logger) *recorder {
	return &recorder{store: store, host: host, log: log, ready: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
}

// add queues a record.
func (r *recorder) add(rec record) {
	r.mu.Lock()
	r.queue = append(r.queue, rec)
	isLong := len(r.queue) >= maxRecords
	r.mu.Unlock()
	streams.Notify(r.ready)
	if isLong {
		streams.Notify(r.hurry)
	}
}

// full reports whether the queue is so long that no attempt should start.
func (r *recorder) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) >= maxBacklog
}

// finish lets run return when all queued records are stored.
func (r *recorder) finish() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	streams.Notify(r.ready)
	streams.Notify(r.hurry)
}

// nextBatch returns the next records, at most as many as one append holds. last says that no more will come.
func (r *recorder) nextBatch() (batch []record, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), maxRecords)
	if n == 0 { // nobody needs the memory now
		r.queue, r.spare = nil, nil
		return nil, r.ended
	}
	queued := r.queue[:n:n]
	if r.queue = r.queue[n:]; len(r.queue) == 0 {
		r.queue, r.spare = r.spare, nil
	}
	return queued, r.ended
}

// run stores records until finish is called or ctx ends. Events of records that are not stored then are read again:
// they are after the cursor of their subscription.
func (r *recorder) run(ctx context.Context) error {
	for {
		if err := r.gather(ctx); err != nil {
			return err
		}
		batch, last := r.nextBatch()
		if len(batch) == 0 {
			if last {
				return nil
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-r.ready:
			}
			continue
		}
		if err := r.appendBatch(ctx, batch); err != nil {
			return err
		}
	}
}

// gather waits for others of the same moment to be added, unless the queue is long enough or nothing more will come.
func (r *recorder) gather(ctx context.Context) error {
	for {
		wait := gatherTime - time.Since(r.appended)
		r.mu.Lock()
		enough := r.ended || len(r.queue) >= maxRecords || len(r.queue) == 0
		r.mu.Unlock()
		if enough || wait <= 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-r.hurry:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// appendBatch appends a batch, and retries while the log is unavailable.
func (r *recorder) appendBatch(ctx context.Context, batch []record) error {
	r.appended = time.Now()
	commits := r.commits(batch)
	for {
		_, err := r.store.Append(ctx, commits...)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(err, eventstore.ErrUnavailable) {
			return err
		}
		r.log.WarnContext(ctx, "the results of deliveries could not be recorded yet", "records", len(batch), "err", err)
		if err := commands.Sleep(ctx, recordPause); err != nil {
			return err
		}
	}
	markStored(batch)
	clear(batch)
	r.spare = batch[:0]
	return nil
}

// markStored marks the events of stored records as processed, all of a worker at once.
func markStored(batch []record) {
	marks := map[*worker][]*streams.ProgressMark{}
	for i := range batch {
		if rec := &batch[i]; rec.mark != nil {
			marks[rec.worker] = append(marks[rec.worker], rec.mark)
		}
	}
	for w, list := range marks {
		w.markDone(list)
	}
}

// commits returns the commits of a batch: the records of one workspace are one event, as long as that is not too
// large.
func (r *recorder) commits(batch []record) []eventstore.Commit {
	var commits []eventstore.Commit
	last := map[string]*eventBatch{} // by workspace
	var order []*eventBatch
	for i := range batch {
		rec := &batch[i]
		p := last[rec.workspaceID]
		if p == nil || len(p.records) == subscription.MaxRecords || p.weight+rec.Weight() > maxWeight {
			p = &eventBatch{workspaceID: rec.workspaceID}
			if i == 0 || p.workspaceID == batch[i-1].workspaceID { // most batches are of one workspace
				p.records = make([]subscription.Record, 0, min(len(batch)-i, subscription.MaxRecords))
			}
			last[rec.workspaceID] = p
			order = append(order, p)
		}
		p.records, p.weight = append(p.records, rec.Record), p.weight+rec.Weight()
	}
	for _, p := range order {
		keepLastHealth(p.records)
		commits = append(commits, eventstore.Commit{
			Stream: domain.StreamID{Scope: p.workspaceID}, Meta: domain.Meta{Host: r.host}, Facts: []eventstore.Fact{attemptedFact(p.records...)},
		})
	}
	return commits
}

// keepLastHealth removes the health of each receiver from all records of an event but the last one that has it: who reads the
// event takes no other.
func keepLastHealth(records []subscription.Record) {
	kept := map[string]bool{}
	for i := len(records) - 1; i >= 0; i-- {
		rec := &records[i]
		if rec.Health == nil {
			continue
		}
		id := rec.Delivery.SubscriptionID
		if kept[id] {
			rec.Health = nil
		}
		kept[id] = true
	}
}

// eventBatch holds the records of one event.
type eventBatch struct {
	workspaceID string
	records     []subscription.Record
	weight      int
}

// attemptedFact returns the event with the state of deliveries.
func attemptedFact(records ...subscription.Record) eventstore.Fact {
	return eventstore.Fact{ID: ulid.Make().String(), Event: subscription.Attempted{Records: records}}
}
