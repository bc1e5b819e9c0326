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
)

// Store keeps what came of deliveries. It is a *jetstream.Log.
type Store interface {
	Append(ctx context.Context, commits ...eventstore.Commit) (eventstore.Receipt, error)
}

// record is where a delivery stands, to be kept.
type record struct {
	subscription.Record
	workspaceID string
	kept        func() // called once it is on disk; may be nil
}

// recorder keeps records in the order in which they are added, many with one wait
// for the disk. Adding one never waits.
type recorder struct {
	store Store
	host  domain.Host
	log   *slog.Logger

	mu    sync.Mutex
	queue []record
	ended bool          // nothing is added any more
	ready chan struct{} // holds one token when there may be something in queue
}

// Bounds of one append, of one event in it, of what waits before attempts do too, and
// the wait after an append that failed.
const (
	maxRecords  = 10 * subscription.MaxRecords
	maxBacklog  = 2 * maxRecords
	maxWeight   = 256 << 10
	recordPause = 250 * time.Millisecond
)

func newRecorder(store Store, host domain.Host, log *slog.Logger) *recorder {
	return &recorder{store: store, host: host, log: log, ready: make(chan struct{}, 1)}
}

// add puts records in line.
func (r *recorder) add(records ...record) {
	r.mu.Lock()
	r.queue = append(r.queue, records...)
	r.mu.Unlock()
	notify(r.ready)
}

// full reports whether so much is in line that no more should be done for now.
func (r *recorder) full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) >= maxBacklog
}

// end lets run return when everything in line is kept.
func (r *recorder) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	notify(r.ready)
}

// take returns the next records, at most as many as go into one append. last tells that
// there will be no more.
func (r *recorder) take() (batch []record, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), maxRecords)
	taken := r.queue[:n:n]
	if r.queue = r.queue[n:]; len(r.queue) == 0 {
		r.queue = nil
	}
	return taken, r.ended
}

// run keeps what is added until end or ctx ends. What is not kept then is found out
// again: its events are behind the place of their subscription.
func (r *recorder) run(ctx context.Context) error {
	for {
		batch, last := r.take()
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
		if err := r.keep(ctx, batch); err != nil {
			return err
		}
	}
}

// keep appends a batch, however often that has to be tried.
func (r *recorder) keep(ctx context.Context, batch []record) error {
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
		r.log.WarnContext(ctx, "what came of deliveries could not be recorded yet", "records", len(batch), "err", err)
		if err := commands.Sleep(ctx, recordPause); err != nil {
			return err
		}
	}
	for _, rec := range batch {
		if rec.kept != nil {
			rec.kept()
		}
	}
	return nil
}

// commits returns a batch as it is appended: what is of one workspace in one event, as
// long as that is not too large.
func (r *recorder) commits(batch []record) []eventstore.Commit {
	var commits []eventstore.Commit
	last := map[string]*parcel{} // by workspace
	var order []*parcel
	for _, rec := range batch {
		p := last[rec.workspaceID]
		if p == nil || len(p.records) == subscription.MaxRecords || p.weight+rec.Weight() > maxWeight {
			p = &parcel{workspaceID: rec.workspaceID}
			last[rec.workspaceID] = p
			order = append(order, p)
		}
		p.records, p.weight = append(p.records, rec.Record), p.weight+rec.Weight()
	}
	for _, p := range order {
		commits = append(commits, eventstore.Commit{
			Stream: domain.StreamID{Scope: p.workspaceID}, Meta: domain.Meta{Host: r.host}, Facts: []eventstore.Fact{fact(p.records...)},
		})
	}
	return commits
}

// parcel is what goes into one event.
type parcel struct {
	workspaceID string
	records     []subscription.Record
	weight      int
}

// fact is an event that tells where deliveries stand.
func fact(records ...subscription.Record) eventstore.Fact {
	return eventstore.Fact{ID: ulid.Make().String(), Event: subscription.Attempted{Records: records}}
}

// notify leaves a token where one is waited for, unless there is one already.
func notify(ready chan struct{}) {
	select {
	case ready <- struct{}{}:
	default:
	}
}
