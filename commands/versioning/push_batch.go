package versioning

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/commands/gitsync"
	"svc/commands/operations"
	"svc/domain/workspace"
)

// pushBatches sends concurrent pushes to one branch of a platform repository together:
// each builds on the one before, and one request sends all of them. A push that cannot
// be part of a batch is sent alone.
type pushBatches struct {
	mu       sync.Mutex
	byBranch map[workspace.Location]*pushBatch
}

// pushBatch collects the pushes to one branch.
type pushBatch struct {
	expected  int            // have begun, and may still join
	waiting   []*batchedPush // in the order of arrival
	lastSize  int            // of the previous batch
	hasSender bool           // a goroutine runs sendAll
	changed   chan struct{}
}

// The largest batch, and how long it waits for expected pushes.
const (
	maxBatchSize = 16
	batchWait    = 60 * time.Millisecond
)

// batchedPush is one push of a batch. Each channel is used once.
type batchedPush struct {
	p      *push
	build  chan *batchBase // closed: send it alone
	built  chan builtPush
	intend chan struct{} // all have built
	ready  chan bool     // whether its intent is on the log
	result chan batchResult
}

// batchBase is the state of the remote that a push of a batch builds on.
type batchBase struct {
	session *gitsync.Session
	refs    gitsync.Refs
}

// builtPush is the commit that a push of a batch has built, or why it has not.
type builtPush struct {
	intent workspace.Intent
	err    error
}

// batchResult is the result of the request that sent the whole batch.
type batchResult struct {
	unsent  bool // there was no request
	results []gitsync.Result
	err     error
}

// expect announces a push that may join a batch. forget must be called when it has
// joined, or does not join.
func (c *pushBatches) expect(at workspace.Location) (forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue := c.batchFor(at)
	queue.expected++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		queue.expected--
		queue.signal()
	})
}

func (c *pushBatches) batchFor(at workspace.Location) *pushBatch {
	at.Root = ""
	if c.byBranch == nil {
		c.byBranch = map[workspace.Location]*pushBatch{}
	}
	if c.byBranch[at] == nil {
		c.byBranch[at] = &pushBatch{changed: make(chan struct{})}
	}
	return c.byBranch[at]
}

// signal notifies nextBatch.
func (c *pushBatch) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// join adds a push, and starts a sender when there is none.
func (c *pushBatches) join(ctx context.Context, p *push) *batchedPush {
	r := &batchedPush{
		p: p, build: make(chan *batchBase, 1), built: make(chan builtPush, 1), intend: make(chan struct{}, 1), ready: make(chan bool, 1), result: make(chan batchResult, 1),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	queue := c.batchFor(p.location)
	queue.waiting = append(queue.waiting, r)
	queue.signal()
	if !queue.hasSender {
		queue.hasSender = true
		go c.sendAll(context.WithoutCancel(ctx), queue)
	}
	return r
}

// sendAll sends batches until no push waits.
func (c *pushBatches) sendAll(ctx context.Context, queue *pushBatch) {
	for {
		batch := c.nextBatch(queue)
		if batch == nil {
			return
		}
		batch[0].p.v.sendBatch(ctx, batch)
	}
}

// nextBatch waits a moment for expected pushes. It returns nil when no push waits.
func (c *pushBatches) nextBatch(queue *pushBatch) []*batchedPush {
	deadline := time.NewTimer(batchWait)
	defer deadline.Stop()
	for late := false; ; {
		c.mu.Lock()
		n := len(queue.waiting)
		if n == 0 {
			queue.hasSender = false
			c.mu.Unlock()
			return nil
		}
		if late || n >= maxBatchSize || queue.expected == 0 && n >= queue.lastSize {
			batch := queue.waiting[:min(n, maxBatchSize)]
			queue.waiting, queue.lastSize = slices.Clone(queue.waiting[len(batch):]), len(batch)
			c.mu.Unlock()
			return batch
		}
		changed := queue.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-deadline.C:
			late = true
		}
	}
}

// sendBatch lets the pushes build one on top of the other, and sends them in one request.
func (v *Versioning) sendBatch(ctx context.Context, batch []*batchedPush) {
	release, err := batch[0].p.acquireTurn(ctx)
	if err == nil {
		defer release()
	}
	remote, err := v.openBatch(ctx, batch)
	if err != nil {
		for _, r := range batch {
			close(r.build)
		}
		return
	}
	defer remote.Close()
	built, moves := remote.buildBatch(batch)
	result := batchResult{unsent: true}
	if recordIntents(built) && len(built) > 0 {
		result = batchResult{}
		result.results, result.err = remote.Push(ctx, combineMoves(moves, "refs/heads/"+remote.target, remote.refs.Empty()))
	}
	for _, r := range built {
		r.result <- result
	}
}

// openBatch fetches what the remote has, once for all pushes.
func (v *Versioning) openBatch(ctx context.Context, batch []*batchedPush) (*remote, error) {
	r, err := v.connect(batch[0].p.repo, batch[0].p.state.Settings.Slug)
	if err != nil {
		return nil, err
	}
	if err = r.listRefs(ctx); err == nil {
		var heads []string
		for _, b := range batch {
			heads = append(heads, r.refs.Branch(b.p.own))
		}
		err = r.fetch(ctx, heads...)
	}
	if err != nil {
		r.Close()
	}
	return r, err
}

// buildBatch lets each push build on the one before. A push that fails is left out.
func (r *remote) buildBatch(batch []*batchedPush) (built []*batchedPush, moves [][]workspace.Move) {
	head := r.head()
	for _, one := range batch {
		mine := gitsync.Refs{IDs: maps.Clone(r.refs.IDs), Default: r.refs.Default}
		if head != "" {
			mine.IDs["refs/heads/"+r.target] = head
		}
		one.build <- &batchBase{r.Session, mine}
		if b := <-one.built; b.err == nil {
			built, moves, head = append(built, one), append(moves, b.intent.Moves), b.intent.Commit
		}
	}
	return built, moves
}

// recordIntents lets all pushes record their intents, and reports whether all did: each
// commit is part of the ones after it.
func recordIntents(batch []*batchedPush) bool {
	for _, r := range batch {
		r.intend <- struct{}{}
	}
	all := true
	for _, r := range batch {
		all = <-r.ready && all
	}
	return all
}

// combineMoves returns the moves of many pushes as one update: T moves once.
func combineMoves(all [][]workspace.Move, target string, empty bool) []gitsync.Update {
	var branches, tags []gitsync.Update
	var trunk *gitsync.Update
	for _, moves := range all {
		for _, m := range moves {
			switch {
			case m.Name == target && trunk == nil:
				first := gitsync.Update(m)
				trunk = &first
			case m.Name == target:
				trunk.New = m.New
			case strings.HasPrefix(m.Name, "refs/tags/"):
				tags = append(tags, gitsync.Update(m))
			default:
				branches = append(branches, gitsync.Update(m))
			}
		}
	}
	if trunk == nil {
		return append(branches, tags...)
	}
	if empty { // hosts make the first branch the default
		return append(append([]gitsync.Update{*trunk}, branches...), tags...)
	}
	return append(append(branches, *trunk), tags...)
}

// sendInBatch prepares and sends a push as part of a batch. alone is true when the batch
// could not be opened: then nothing was sent.
func (p *push) sendInBatch(ctx context.Context) (intent workspace.Intent, result outcome, alone bool, err error) {
	r := p.v.batches.join(ctx, p)
	defer r.abandon()
	p.joinBatch()
	base, ok := <-r.build
	if !ok {
		return intent, raced, true, nil
	}
	own := p.Session
	p.Session, p.refs, p.fetched = base.session, base.refs, true
	intent, err = p.prepare(ctx)
	p.Session, p.fetched = own, false
	r.built <- builtPush{intent, err}
	if err != nil {
		return intent, raced, false, err
	}
	<-r.intend
	result, err = p.send(ctx, intent, noTurn, func(ctx context.Context, intent workspace.Intent) (outcome, error) {
		r.ready <- true
		return p.batchOutcome(ctx, intent, <-r.result)
	})
	return intent, result, false, err
}

// abandon ensures that the sender does not wait for this push.
func (r *batchedPush) abandon() {
	select {
	case r.built <- builtPush{err: errLeftBatch}:
	default:
	}
	select {
	case r.ready <- false:
	default:
	}
}

var errLeftBatch = errors.New("versioning: a push has left its batch")

// batchOutcome returns the outcome of one push of a batch.
func (p *push) batchOutcome(ctx context.Context, intent workspace.Intent, result batchResult) (outcome, error) {
	if result.unsent {
		return raced, nil
	}
	if result.err == nil && isAccepted(result.results, intent.Moves, p.target) {
		p.warnRefused(intent, result.results)
		return sent, nil
	}
	state, err := p.findOutcome(ctx, intent, result.err != nil || hasUnknown(result.results), result.err)
	switch {
	case err != nil && ctx.Err() != nil:
		return raced, errors.Join(operations.ErrUnsettled, err)
	case err != nil:
		return raced, err
	case state == unsent:
		return raced, nil
	}
	return state.outcome(), nil
}

// noTurn is takeTurn for a push that has its turn already.
func noTurn(context.Context) (func(), error) { return func() {}, nil }
