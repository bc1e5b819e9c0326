package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/oklog/ulid/v2"

	"svc/domain"
	"svc/eventstore"
)

// Log keeps events. It implements eventstore.Store.
type Log struct {
	conn    *connection
	known   [2]atomic.Uint64 // highest sequence seen of STATE, ACTIVITY
	writing [2]writing       // to STATE, ACTIVITY
	extent  *extentQueries   // finds out what other nodes appended
	batches chan struct{}    // held while an atomic batch is sent
	orderMu sync.RWMutex     // held while messages must follow each other; see sendGroup
	packer  *packer

	batcher  *batcher
	payloads *Payloads
	recent   recentEvents
}

var _ eventstore.Store = (*Log)(nil)

func newLog(c *connection) *Log {
	l := &Log{conn: c, payloads: &Payloads{conn: c}, extent: newExtentQueries(), batches: make(chan struct{}, maxBatches)}
	l.packer = newPacker(l)
	l.batcher = &batcher{publish: l.publish}
	return l
}

// loadExtent loads the last sequences of the logs, so that a new reader waits for them.
func (l *Log) loadExtent(ctx context.Context) error {
	for _, log := range domain.Logs() {
		info, err := l.Info(ctx, log)
		if err != nil {
			return err
		}
		l.advanceKnown(log, info.Last)
		if g := l.conn.gate(string(log)); g != nil {
			g.setDurable(l.numbering(log).message(info.Last))
		}
	}
	if !l.conn.Alone() {
		return nil
	}
	return l.packer.loadRecent(ctx)
}

// Durable returns the highest sequence of a log that is known to be durable.
func (l *Log) Durable(log domain.Log) uint64 {
	if g := l.conn.gate(string(log)); g != nil {
		return l.numbering(log).last(g.durable.Load())
	}
	return l.Known().Of(log)
}

// Known returns the last sequences of the logs that this node has seen: what it appended, loaded or
// read itself, and what Refresh found out.
func (l *Log) Known() domain.Position {
	return domain.Position{State: l.known[0].Load(), Activity: l.known[1].Load()}
}

// indexOf returns the place of a log in pairs.
func indexOf(log domain.Log) int {
	if log == domain.Activity {
		return 1
	}
	return 0
}

// writing counts the appends of this process to a log.
type writing struct {
	open     atomic.Int64 // whose events may be stored, and are not known yet
	doubtful atomic.Bool  // the outcome of one was unknown: it may be stored at any time
}

// Last returns the last sequence that a log had when it was called, or a later one. On a single node it mostly knows
// that without asking the broker.
func (l *Log) Last(ctx context.Context, log domain.Log) (uint64, error) {
	if w := &l.writing[indexOf(log)]; l.conn.Alone() && w.open.Load() == 0 && !w.doubtful.Load() {
		return l.Known().Of(log), nil
	}
	info, err := l.Info(ctx, log)
	return info.Last, err
}

func (l *Log) advanceKnown(log domain.Log, seq uint64) {
	k := &l.known[indexOf(log)]
	for have := k.Load(); seq > have; have = k.Load() {
		if k.CompareAndSwap(have, seq) {
			return
		}
	}
}

// Info implements eventstore.Store.
func (l *Log) Info(ctx context.Context, log domain.Log) (eventstore.Info, error) {
	var stream jetstream.Stream
	err := l.conn.retryRead(ctx, func(ctx context.Context) (err error) {
		stream, err = l.conn.js.Stream(ctx, string(log))
		return err
	})
	if err != nil {
		return eventstore.Info{}, fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	i, n := stream.CachedInfo(), l.numbering(log)
	return eventstore.Info{
		Identity: i.Created.UTC().Format(time.RFC3339Nano),
		First:    n.first(max(i.State.FirstSeq, 1)), Last: n.last(i.State.LastSeq), Messages: i.State.Msgs,
	}, nil
}

// extentQueries asks the broker for the last sequences of the logs, to which other nodes append, too.
// It asks one query at a time, and not too often, for all callers that came before it.
type extentQueries struct {
	wake chan struct{}

	mu       sync.Mutex
	pending  *extentQuery // the next query; nil when nobody waits
	failedAt time.Time    // when the broker last did not answer
	err      error        // of that query
}

// extentQuery is one query and its answer for all callers that wait.
type extentQuery struct {
	done chan struct{}
	err  error
}

const (
	extentPeriod  = 5 * time.Millisecond   // between two queries
	extentWait    = time.Second            // for an answer, elections included
	extentAttempt = 250 * time.Millisecond // one attempt of several within that
	extentBackoff = time.Second            // after no answer: calls fail at once meanwhile
)

func newExtentQueries() *extentQueries { return &extentQueries{wake: make(chan struct{}, 1)} }

// Alone reports whether nobody but this process can append to the logs.
func (c *connection) Alone() bool { return c.opts.embedded() && c.opts.Cluster.Listen == "" }

// Refresh makes Known cover every append that any node was acknowledged before the call. It does
// nothing on a single node. It fails with eventstore.ErrUnavailable when the broker does not answer,
// and for a while after that at once: Known is then what this node has seen itself.
func (l *Log) Refresh(ctx context.Context) error {
	if l.conn.Alone() {
		return nil
	}
	q, err := l.extent.join(time.Now())
	if err != nil {
		return err
	}
	select {
	case <-q.done:
		return q.err
	case <-l.conn.closing:
		return fmt.Errorf("%w: the store is closed", eventstore.ErrUnavailable)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *extentQueries) join(now time.Time) (*extentQuery, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil && now.Sub(e.failedAt) < extentBackoff {
		return nil, e.err
	}
	if e.pending == nil {
		e.pending = &extentQuery{done: make(chan struct{})}
		select {
		case e.wake <- struct{}{}:
		default:
		}
	}
	return e.pending, nil
}

// next returns the query to ask now; later callers wait for another one.
func (e *extentQueries) next() *extentQuery {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := e.pending
	e.pending = nil
	return q
}

func (e *extentQueries) finish(q *extentQuery, err error, now time.Time) {
	e.mu.Lock()
	e.err, e.failedAt = err, now
	e.mu.Unlock()
	q.err = err
	close(q.done)
}

// answerExtentQueries asks queries until the store closes.
func (l *Log) answerExtentQueries() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.conn.watchers.Go(func() {
		select {
		case <-l.conn.closing:
			cancel()
		case <-ctx.Done():
		}
	})
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.extent.wake:
			if q := l.extent.next(); q != nil {
				l.extent.finish(q, l.queryExtent(ctx), time.Now())
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(extentPeriod):
		}
	}
}

// queryExtent asks the leaders of both logs, and waits while a leader is elected.
func (l *Log) queryExtent(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, extentWait)
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := l.queryExtentOnce(ctx)
		if err == nil {
			return nil
		}
		if !l.conn.waitRetry(ctx, attempt) {
			l.conn.opts.Log.Warn("the broker does not return the last sequences of the logs: reads continue with what this node has seen", "err", err)
			return err
		}
	}
}

// queryExtentOnce makes one attempt, for both logs in parallel.
func (l *Log) queryExtentOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, extentAttempt)
	defer cancel()
	logs := domain.Logs()
	errs := make([]error, len(logs))
	var asked sync.WaitGroup
	for i, log := range logs {
		asked.Go(func() {
			info, err := l.Info(ctx, log)
			l.advanceKnown(log, info.Last)
			errs[i] = err
		})
	}
	asked.Wait()
	return errors.Join(errs...)
}

// purgeWait bounds one purge: the broker reads every block that may have a message to purge.
const purgeWait = 10 * time.Minute

// PurgeActivity erases the activity events before a sequence: of a workspace, or of all when that is
// empty; of one type, or of any. Events in the same message as the one at that sequence stay. That is durable when it returns nil. The last event of the log is
// never erased: it marks how far the log has reached.
func (l *Log) PurgeActivity(ctx context.Context, workspaceID, eventType string, below uint64) error {
	defer l.recent.forget()
	last, err := l.conn.lastSequence(ctx, string(domain.Activity))
	if err != nil {
		return err
	}
	subject := activityRoot + workspaceToken(workspaceID) + ".>"
	if eventType != "" {
		subject = activityRoot + workspaceToken(workspaceID) + "." + typeTokens(eventType)
	}
	return l.conn.purge(ctx, string(domain.Activity), subject, min(l.numbering(domain.Activity).message(below), last))
}

// Since returns the sequence before which every event of a log is older than a time.
func (l *Log) Since(ctx context.Context, log domain.Log, at time.Time) (uint64, error) {
	message, err := l.conn.firstSince(ctx, string(log), rootOf(log)+">", at)
	return l.numbering(log).first(message), err
}

// voidIncompleteTails appends an event to each log that ends in the middle of an atomic batch. Only a
// power cut on a single replica leaves such a batch, and it was never acknowledged. Without a
// following event a reader takes it for a batch that is still being written.
func (l *Log) voidIncompleteTails(ctx context.Context) error {
	for _, log := range domain.Logs() {
		if err := l.voidIncompleteTail(ctx, log); err != nil {
			return fmt.Errorf("end the incomplete tail of %s: %w", log, err)
		}
	}
	return nil
}

func (l *Log) voidIncompleteTail(ctx context.Context, log domain.Log) error {
	last, ok, err := l.conn.getMessage(ctx, string(log), getRequest{LastFor: rootOf(log) + ">"})
	if err != nil || !ok {
		return err
	}
	if _, seq, size := last.batchPosition(); seq == size {
		return nil
	}
	l.conn.opts.Log.Warn("the log ended in an incomplete commit, which is void", "log", log, "last", last.seq)
	commit := eventstore.Commit{
		Stream: domain.StreamID{Scope: domain.Platform},
		Facts:  []eventstore.Fact{{ID: ulid.Make().String(), Event: domain.Sealed{Last: last.seq}}},
	}
	if log == domain.State {
		// An aggregate of its own, so that it changes no other.
		commit.Stream = domain.StreamID{Scope: domain.Platform, Kind: "seal", ID: commit.Facts[0].ID}
	}
	_, err = l.commit(ctx, []eventstore.Commit{commit}) // also while the disk is low
	return err
}
