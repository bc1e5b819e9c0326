package knowledge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/commands"
	"svc/domain"
	"svc/domain/kbdocument"
	chunks "svc/domain/knowledge"
	"svc/domain/operation"
	"svc/projections"
	"svc/streams"
	"svc/streams/search"
)

// errCancelled says that somebody has cancelled an operation.
var errCancelled = errors.New("knowledge: the operation was cancelled")

// reindexWindow is how many documents an operation has in the queue at once: a cancel stops what is not there yet.
const reindexWindow = 200

// updateReindexes starts the operations of the partition that nobody runs, stops those that were cancelled, and begins
// one for each base whose settings have changed.
func (p *partition) updateReindexes(ctx context.Context) error {
	r := p.Models.Reader()
	defer r.Close()
	running, err := projections.Operations{}.Running(r)
	if err != nil {
		return err
	}
	for _, ref := range running {
		if !p.owns(ref.WorkspaceID) {
			continue
		}
		op, ok, err := projections.Operations{}.Get(r, ref.ID)
		if err != nil {
			return err
		}
		if ok && op.Reindex != nil {
			p.runReindex(ctx, op)
		}
	}
	isFirst := !p.basesRead
	p.basesRead = true
	err = projections.KBSources{}.Changed(r, p.basesSeen, func(workspaceID string, seq uint64, at time.Time) bool {
		if p.basesSeen = seq; p.owns(workspaceID) {
			p.changed[workspaceID] = at
		}
		return true
	})
	if err != nil {
		return err
	}
	for workspaceID, at := range p.changed {
		if err := p.updateBases(ctx, r, workspaceID, at); err != nil {
			if ctx.Err() == nil {
				p.Log.WarnContext(ctx, "knowledge bases that have changed could not be read now", "workspace", workspaceID, "err", err)
			}
			continue
		}
		if err := p.retryVectors(ctx, r, workspaceID, isFirst); err != nil {
			return err
		}
		delete(p.changed, workspaceID)
	}
	return nil
}

// updateBases begins to process the bases of a workspace again whose documents were processed with other settings.
func (p *partition) updateBases(ctx context.Context, r projections.Reader, workspaceID string, changed time.Time) error {
	bases, err := p.Bases(ctx, workspaceID)
	if err != nil {
		return err
	}
	for _, b := range bases {
		outdated, err := projections.KBDocuments{}.CountOutdated(r, workspaceID, b.ID, b.Settings)
		if err != nil {
			return err
		}
		if outdated == 0 {
			continue
		}
		if cancelled, err := wasCancelled(r, workspaceID, b.ID, changed); err != nil || cancelled {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := p.Reindexes.Update(ctx, workspaceID, operation.ReindexAbout{BaseID: b.ID, KnowledgeBase: b.Slug, Documents: outdated}); err != nil {
			return err
		}
	}
	return nil
}

// wasCancelled reports whether somebody has cancelled the last operation that processed a base again, after its settings
// changed. One that began with other rules of chunking was not about those of now.
func wasCancelled(r projections.Reader, workspaceID, baseID string, changed time.Time) (cancelled bool, err error) {
	err = projections.Operations{}.List(r, workspaceID, func(op operation.State) bool {
		if op.Reindex == nil || op.Reindex.BaseID != baseID {
			return op.CreatedAt.After(changed)
		}
		cancelled = op.Status == operation.Cancelled && op.CreatedAt.After(changed) && op.Reindex.Rules == chunks.ChunkingVersion
		return false
	})
	return cancelled, err
}

// runReindex runs an operation in the background, or stops it when it was cancelled.
func (p *partition) runReindex(ctx context.Context, op operation.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cancel, active := p.reindexes[op.ID]
	switch {
	case active && op.CancelRequested:
		cancel(errCancelled)
		return
	case active:
		return
	}
	working, cancel := context.WithCancelCause(ctx)
	p.reindexes[op.ID] = cancel
	p.workers.Go(func() {
		defer cancel(nil)
		err := p.reindex(working, op)
		if err != nil && ctx.Err() == nil {
			p.Log.WarnContext(ctx, "a knowledge base could not be processed again now", "workspace", op.WorkspaceID, "operation", op.ID, "err", err)
			streams.PauseAfterFault(ctx)
		}
		p.mu.Lock()
		delete(p.reindexes, op.ID)
		p.mu.Unlock()
		streams.Notify(p.ended)
	})
}

// reindex runs an operation to its end. An error says that it is tried again.
func (p *partition) reindex(ctx context.Context, op operation.State) error {
	ctx = commands.WithDepth(ctx, op.Depth)
	x := &reindex{partition: p, id: op.ID, workspaceID: op.WorkspaceID, about: op.Reindex.ReindexAbout, epoch: op.Epoch, begun: domain.FormatTime(op.CreatedAt)}
	if op.Count != nil && op.Count.Current > 0 { // another runner began it
		x.epoch++
		if _, err := p.Reindexes.Execute(ctx, op.WorkspaceID, op.ID, operation.Resume{Epoch: x.epoch}); err != nil {
			return err
		}
	}
	err := errCancelled
	if !op.CancelRequested {
		err = x.run(ctx)
	}
	if errors.Is(context.Cause(ctx), errCancelled) {
		err = errCancelled
	}
	end := operation.EndReindex{Epoch: x.epoch, Status: operation.Succeeded, Ready: x.ready, Failed: x.failed}
	switch {
	case errors.Is(err, errCancelled):
		end.Status = operation.Cancelled
	case errors.Is(err, errNoBase):
		end.Status = operation.Failed
		end.Failure = operation.FailureOf(domain.Refuse(domain.CodeNotFound, "the knowledge base was deleted").With("resource", "knowledgeBase").With("id", x.about.KnowledgeBase))
	case err != nil:
		return err
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	end.Now = p.Now().UTC()
	_, err = p.Reindexes.Execute(ending, op.WorkspaceID, op.ID, end)
	return err
}

// reindex is one operation. Which documents it has processed is in their records, so that another node can go on.
type reindex struct {
	*partition
	id, workspaceID string
	about           operation.ReindexAbout
	filter          *kbdocument.Filter
	epoch           uint64
	begun           string

	base          Base            // as it was when the documents were visited last
	waiting       map[string]bool // documents that are in the queue
	again         bool            // one that has left the queue is to be processed once more
	ready, failed int
	told          time.Time // when progress was recorded last
}

// run visits the documents of the base until all of them are processed with its settings.
func (x *reindex) run(ctx context.Context) (err error) {
	if len(x.about.Filters) > 0 {
		if x.filter, err = kbdocument.ParseFilter("filters", x.about.Filters); err != nil {
			return err
		}
	}
	for {
		base, ok, err := x.FindBase(ctx, x.workspaceID, x.about.BaseID)
		switch {
		case err != nil:
			return err
		case !ok:
			return errNoBase
		case !x.again && base == x.base:
			return nil
		}
		x.base = base
		if err := x.visitAll(ctx); err != nil {
			return err
		}
	}
}

// visitAll visits each document once.
func (x *reindex) visitAll(ctx context.Context) error {
	x.waiting, x.ready, x.failed, x.again = map[string]bool{}, 0, 0, false
	for after, more := "", true; more; {
		var todo []string
		var err error
		if todo, after, more, err = x.next(after); err != nil {
			return err
		}
		for _, id := range todo {
			err := x.Documents.Requeue(ctx, x.workspaceID, id, kbdocument.Reprocess{Extract: x.about.Extract, Bulk: true, Operation: x.id})
			if err != nil {
				return err
			}
			x.waiting[id] = true
		}
		limit := reindexWindow / 2
		if !more {
			limit = 0
		}
		if err := x.await(ctx, limit); err != nil {
			return err
		}
	}
	return x.report(ctx, true)
}

// next returns the documents that are to be processed, of those after an id, as many as there is room for in the queue.
func (x *reindex) next(after string) (todo []string, last string, more bool, err error) {
	r := x.Models.Reader()
	defer r.Close()
	last = after
	err = projections.KBDocuments{}.ListFrom(r, x.workspaceID, x.about.BaseID, after, func(d projections.KBDocument) bool {
		if d.ID <= after {
			return true
		}
		if more = len(todo)+len(x.waiting) >= reindexWindow; more {
			return false
		}
		last = d.ID
		switch {
		case d.GoneAt(x.Now()):
		case d.Job != nil || d.Embedding != nil && d.Operation == x.id:
			x.waiting[d.ID] = true // it has the settings of now, or is visited again
		case x.wants(d):
			todo = append(todo, d.ID)
		case d.Operation == x.id:
			x.count(d)
		}
		return true
	})
	return todo, last, more, err
}

// wants reports whether a document is to be processed.
func (x *reindex) wants(d projections.KBDocument) bool {
	if x.about.Outdated || d.Operation == x.id {
		return d.Fault == nil && d.IsOutdated(x.base.Settings)
	}
	return d.CreatedAt <= x.begun && (x.filter == nil || x.filter.Matches(search.Fields(x.base.Slug, d)))
}

// count counts a document that was processed.
func (x *reindex) count(d projections.KBDocument) {
	if d.Fault != nil || d.VectorStatus(x.base.VectorSet()) == "error" {
		x.failed++
	} else {
		x.ready++
	}
}

// await waits until at most limit documents are in the queue.
func (x *reindex) await(ctx context.Context, limit int) error {
	moved, stop := x.Models.Watch()
	defer stop()
	for {
		if err := x.look(); err != nil {
			return err
		}
		if err := x.report(ctx, false); err != nil {
			return err
		}
		if len(x.waiting) <= limit {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-moved:
		}
		if err := commands.Sleep(ctx, reindexPause); err != nil {
			return err
		}
	}
}

// reindexPause is the least time between two looks at the documents in the queue.
const reindexPause = 50 * time.Millisecond

// look counts the documents that have left the queue.
func (x *reindex) look() error {
	r := x.Models.Reader()
	defer r.Close()
	for id := range x.waiting {
		d, ok, err := projections.KBDocuments{}.Get(r, x.workspaceID, x.about.BaseID, id, x.Now())
		if err != nil {
			return err
		}
		isBusy := ok && (d.Job != nil || d.Embedding != nil && d.Operation == x.id)
		isLate := isBusy && isLate(d)
		if isBusy && !isLate {
			continue
		}
		delete(x.waiting, id)
		switch {
		case !ok:
		case isLate && d.Operation == x.id:
			x.failed++
		case isLate:
		case x.wants(d):
			x.again = true
		case d.Operation == x.id:
			x.count(d)
		}
	}
	return nil
}

// isLate reports whether an attempt at a document has failed and is repeated later.
func isLate(d projections.KBDocument) bool {
	if d.Job != nil {
		return d.Job.Attempts > 0 && d.Job.Begun.IsZero()
	}
	return d.Embedding != nil && d.Embedding.Attempts > 0
}

// reportInterval is the least time between two records of progress.
const reportInterval = time.Second

// report records how far the operation is.
func (x *reindex) report(ctx context.Context, now bool) error {
	if at := x.Now(); now || at.Sub(x.told) >= reportInterval {
		x.told = at
		done := x.ready + x.failed
		count := operation.Count{Current: done, Total: max(x.about.Documents, done+len(x.waiting))}
		if _, err := x.Reindexes.Execute(ctx, x.workspaceID, x.id, operation.Advance{Epoch: x.epoch, Count: count}); err != nil {
			return fmt.Errorf("record the progress of operation %s: %w", x.id, err)
		}
	}
	return nil
}
