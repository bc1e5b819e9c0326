// Package knowledge is the pipeline of documents of knowledge bases: it loads addresses, reads texts out of contents,
// divides them into passages, and records where these are. The queue is a read model: a document that is added waits
// there until its result is on the log, whichever node stops in between. Each partition of the workspaces belongs to one
// node at a time. A result counts only for the attempt that it belongs to.
package knowledge

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/extract"
	documents "svc/commands/knowledge"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/kbdocument"
	chunks "svc/domain/knowledge"
	"svc/projections"
	"svc/streams"
	"svc/streams/site"
)

type (
	// Blobs stores contents, texts and passages by their SHA-256. It is a *jetstream.Blobs.
	Blobs interface {
		Get(ctx context.Context, name string) ([]byte, error)
		Put(ctx context.Context, content []byte) (name string, err error)
	}
	// Extractor reads texts out of files. It is an *extract.Extractor.
	Extractor interface {
		Extract(ctx context.Context, f extract.File) (extract.Document, error)
	}
	// Documents gives the pipeline work. It is a *knowledge.Documents of package commands.
	Documents interface {
		Requeue(ctx context.Context, workspaceID, id string, cmd kbdocument.Reprocess) error
	}
	// Fetcher loads addresses. It is a *site.Fetcher.
	Fetcher interface {
		Fetch(ctx context.Context, address string) (site.Page, error)
	}
)

// Base has the settings of a base that documents are processed by.
type Base struct {
	kbdocument.Base
	chunks.Settings
}

// Options configure a Pipeline. All are required but those with a default.
type Options struct {
	Engine    *commands.Engine
	Models    *projections.Models
	Blobs     Blobs
	Extractor Extractor
	Fetcher   Fetcher
	// FindBase returns a base by its id; ok is false when it was deleted.
	FindBase func(ctx context.Context, workspaceID, baseID string) (b Base, ok bool, err error)
	// Bases returns the bases of a workspace.
	Bases     func(ctx context.Context, workspaceID string) ([]Base, error)
	Documents Documents
	Reindexes documents.Reindexes
	Embedder  Embedder
	// Used records how much of something was used.
	Used    func(ctx context.Context, workspaceID string, u activity.Usage)
	Kept    func() int // how many revisions of a document can be read
	Workers int        // how many documents this node processes at once
	// Fresh waits until the read models contain what any node has written.
	Fresh func(context.Context) error
	// Hold runs work under a lease; nil: there is only one node.
	Hold func(ctx context.Context, name string, work func(context.Context) error) error

	Now func() time.Time // default time.Now
	Log *slog.Logger     // default slog.Default
}

// Pipeline processes documents.
type Pipeline struct {
	Options

	shares     int
	dispatcher *dispatcher

	firstVectors sync.Mutex // held while the first vectors of a set are recorded
}

// New returns a Pipeline. Nothing is processed before Run.
func New(o Options) (*Pipeline, error) {
	if o.Engine == nil || o.Models == nil || o.Blobs == nil || o.Extractor == nil || o.Fetcher == nil || o.FindBase == nil || o.Bases == nil || o.Documents == nil || o.Reindexes.Engine == nil || o.Embedder == nil || o.Used == nil || o.Kept == nil || o.Workers < 1 || o.Fresh == nil {
		return nil, errors.New("knowledge: an option is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &Pipeline{Options: o, shares: streams.Partitions}
	if o.Hold == nil {
		p.shares = 1
		p.Hold = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	}
	p.dispatcher = newDispatcher(p)
	return p, nil
}

// Run processes documents until ctx ends.
func (p *Pipeline) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { p.dispatcher.run(ctx) })
	for number := range p.shares {
		all.Go(func() { (&partition{Pipeline: p, number: number}).serve(ctx) })
	}
	all.Wait()
	return nil
}

// partition is a part of all workspaces, whose documents one node processes.
type partition struct {
	*Pipeline
	number int

	workers sync.WaitGroup

	mu        sync.Mutex
	reindexes map[string]context.CancelCauseFunc // that this node runs, by operation
	ended     chan struct{}                      // tells that one of them has ended
	basesRead bool                               // the bases were looked at
	basesSeen uint64                             // changes of bases up to this sequence were seen
	changed   map[string]time.Time               // workspaces whose bases have changed since then
	numbersAt time.Time                          // when the numbers of bases are recorded next
	modelsAt  map[string]uint64                  // sequences of changes of language models that were seen, by workspace
}

// partitionOf returns the number of the partition of a workspace.
func (p *Pipeline) partitionOf(workspaceID string) int {
	if p.shares == 1 {
		return 0
	}
	return streams.PartitionOf(workspaceID, p.shares)
}

func (p *partition) owns(workspaceID string) bool { return p.partitionOf(workspaceID) == p.number }

// serve processes the partition while this node holds it, until ctx ends.
func (p *partition) serve(ctx context.Context) {
	for ctx.Err() == nil {
		err := p.Hold(ctx, "knowledge/"+strconv.Itoa(p.number), p.run)
		if ctx.Err() != nil {
			return
		}
		p.Log.WarnContext(ctx, "processing documents stopped and is restarted", "partition", p.number, "err", err)
		streams.PauseAfterFault(ctx)
	}
}

// idle is how often everything is looked at although nothing has changed.
const idle = 30 * time.Second

// run has the documents of the partition processed, and processes its bases again, until ctx ends.
func (p *partition) run(ctx context.Context) error {
	if err := p.Fresh(ctx); err != nil {
		return err
	}
	p.reindexes, p.ended = map[string]context.CancelCauseFunc{}, make(chan struct{}, 1)
	p.numbersAt = time.Time{}
	p.basesRead, p.basesSeen, p.changed, p.modelsAt = false, 0, map[string]time.Time{}, map[string]uint64{}
	defer p.workers.Wait()
	defer p.dispatcher.add(ctx, p)()
	moved, stop := p.Models.Watch()
	defer stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		seen := p.Models.Position().State // what is looked at follows from STATE alone
		err := p.updateReindexes(ctx)
		if err == nil {
			err = p.recordNumbers(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		timer.Reset(idle)
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-moved:
				again = p.Models.Position().State != seen
			case <-p.ended:
				again = true
			case <-timer.C:
				again = true
			}
		}
	}
}

// visibleWait bounds the wait for the read models.
const visibleWait = 5 * time.Second

// report executes a command about a job, and waits until the queue has what it changed: the next look at the queue
// must not find what is done. Its events have no caller.
func (p *partition) report(ctx context.Context, ref projections.KBDocumentRef, cmd kbdocument.Command) (commands.Execution[kbdocument.State], error) {
	done, err := commands.Execute(ctx, p.Engine, kbdocument.Decider, kbdocument.Stream(ref.WorkspaceID, ref.ID), cmd)
	if err != nil {
		return done, err
	}
	waiting, cancel := context.WithTimeout(ctx, visibleWait)
	defer cancel()
	_ = p.Models.Reach(waiting, domain.At(domain.State, done.Seq)) // otherwise the log decides again
	return done, nil
}
