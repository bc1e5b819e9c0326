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
	slots      *slots
	modelSlots *slots // of work for models, which is mostly waiting
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
	p := &Pipeline{Options: o, shares: streams.Partitions, slots: newSlots(o.Workers), modelSlots: newSlots(o.Workers)}
	if o.Hold == nil {
		p.shares = 1
		p.Hold = func(ctx context.Context, _ string, work func(context.Context) error) error { return work(ctx) }
	}
	return p, nil
}

// Run processes documents until ctx ends.
func (p *Pipeline) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for number := range p.shares {
		all.Go(func() { (&partition{Pipeline: p, number: number}).serve(ctx) })
	}
	all.Wait()
	return nil
}

// slots are what documents are processed in, on this node. While several workspaces wait, one of them has at most half
// of the slots.
type slots struct {
	size int

	mu    sync.Mutex
	free  int
	used  map[string]int // by workspace
	freed map[chan struct{}]bool
}

func newSlots(size int) *slots {
	return &slots{size: size, free: size, used: map[string]int{}, freed: map[chan struct{}]bool{}}
}

// acquire acquires a slot. Alone says that no other workspace waits.
func (s *slots) acquire(workspaceID string, alone bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 || !alone && s.used[workspaceID] >= max(1, s.size/2) {
		return false
	}
	s.free--
	s.used[workspaceID]++
	return true
}

func (s *slots) release(workspaceID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	if s.used[workspaceID]--; s.used[workspaceID] == 0 {
		delete(s.used, workspaceID)
	}
	for ch := range s.freed {
		streams.Notify(ch)
	}
}

func (s *slots) hasFree() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.free > 0
}

// watch tells ch, which has a buffer, when a slot is free.
func (s *slots) watch(ch chan struct{}) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.freed[ch] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.freed, ch)
	}
}

// partition is a part of all workspaces, whose documents one node processes.
type partition struct {
	*Pipeline
	number int

	mu      sync.Mutex
	busy    map[string]bool      // documents that are being processed, by id
	passed  map[string]time.Time // documents that are not looked at until then
	workers sync.WaitGroup

	reindexes map[string]context.CancelCauseFunc // that this node runs, by operation
	ended     chan struct{}                      // tells that one of them has ended
	basesSeen uint64                             // changes of bases up to this sequence were seen
	changed   map[string]time.Time               // workspaces whose bases have changed since then
}

func (p *partition) owns(workspaceID string) bool {
	return p.shares == 1 || streams.PartitionOf(workspaceID, p.shares) == p.number
}

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

// idle is how often the queue is read although nothing has changed.
const idle = 30 * time.Second

// run processes what is due until ctx ends.
func (p *partition) run(ctx context.Context) error {
	if err := p.Fresh(ctx); err != nil {
		return err
	}
	p.busy, p.passed = map[string]bool{}, map[string]time.Time{}
	p.reindexes, p.ended = map[string]context.CancelCauseFunc{}, make(chan struct{}, 1)
	p.basesSeen, p.changed = 0, map[string]time.Time{}
	defer p.workers.Wait()
	moved, stop := p.Models.Watch()
	defer stop()
	freed := make(chan struct{}, 1)
	defer p.slots.watch(freed)()
	defer p.modelSlots.watch(freed)()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		seen := p.Models.Position().State // the queue follows from STATE alone
		next, err := p.startDue(ctx)
		if err == nil {
			err = p.updateReindexes(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		timer.Reset(next)
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-moved:
				again = p.Models.Position().State != seen
			case <-freed:
				again = true
			case <-p.ended:
				again = true
			case <-timer.C:
				again = true
			}
		}
	}
}

// startDue starts what is due while slots are free, and returns how long to wait before the next look.
func (p *partition) startDue(ctx context.Context) (time.Duration, error) {
	if !p.slots.hasFree() && !p.modelSlots.hasFree() {
		return idle, nil
	}
	now := p.Now()
	r := p.Models.Reader()
	due, next, err := projections.KBDocuments{}.Queue(r, now, 2*p.Workers, p.owns)
	r.Close()
	if err != nil {
		return idle, err
	}
	wait := idle
	if !next.IsZero() {
		wait = min(wait, max(time.Millisecond, next.Sub(now)))
	}
	due = p.waiting(due, now)
	for len(due) > 0 {
		started := -1
		for i, j := range due {
			alone := true
			for _, other := range due {
				alone = alone && (other.WorkspaceID == j.WorkspaceID || other.Embed != j.Embed)
			}
			if p.slotsOf(j).acquire(j.WorkspaceID, alone) {
				started = i
				break
			}
		}
		if started < 0 {
			break
		}
		p.start(ctx, due[started])
		due = append(due[:started:started], due[started+1:]...)
	}
	return wait, nil
}

// slotsOf returns the slots that a job is processed in.
func (p *Pipeline) slotsOf(j projections.KBJob) *slots {
	if j.Embed {
		return p.modelSlots
	}
	return p.slots
}

// waiting returns the jobs that nobody works on.
func (p *partition) waiting(due []projections.KBJob, now time.Time) (list []projections.KBJob) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, until := range p.passed {
		if now.After(until) {
			delete(p.passed, id)
		}
	}
	for _, j := range due {
		if _, passed := p.passed[j.ID]; !p.busy[j.ID] && !passed {
			list = append(list, j)
		}
	}
	return list
}

// passTime is how long a document is left alone that could not be begun.
const passTime = 30 * time.Second

// start processes a document in the background. It has a slot.
func (p *partition) start(ctx context.Context, j projections.KBJob) {
	p.mu.Lock()
	p.busy[j.ID] = true
	p.mu.Unlock()
	p.workers.Go(func() {
		defer p.slotsOf(j).release(j.WorkspaceID)
		work := p.process
		if j.Embed {
			work = p.embed
		}
		err := work(ctx, j.KBDocumentRef)
		p.mu.Lock()
		delete(p.busy, j.ID)
		if err != nil {
			p.passed[j.ID] = p.Now().Add(passTime)
		}
		p.mu.Unlock()
		if err != nil && ctx.Err() == nil && !errors.Is(err, errNoBase) {
			p.Log.WarnContext(ctx, "a document could not be processed now", "workspace", j.WorkspaceID, "document", j.ID, "err", err)
		}
	})
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
