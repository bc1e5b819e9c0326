package triggers

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"svc/commands/programs"
	"svc/domain"
	"svc/domain/automation"
	"svc/domain/feed"
	"svc/streams"
	live "svc/streams/feed"
)

// partition is a part of all workspaces, which one node processes.
type partition struct {
	*Triggers

	number int

	moved chan struct{} // the cursor is to be saved

	mu         sync.Mutex
	progress   streams.ProgressTracker
	start      domain.Position // events up to it may have started something before
	workspaces map[string]*workspaceQueue
	open       int            // of all workspaces
	workers    sync.WaitGroup // goroutines to wait for
}

func newPartition(t *Triggers, number int) *partition {
	return &partition{Triggers: t, number: number, moved: make(chan struct{}, 1)}
}

// isAtOrBefore reports whether an event is at or before a position.
func isAtOrBefore(e *feed.Event, at domain.Position) bool { return e.Number() <= at.Of(e.Log) }

// How often the cursor of a partition is saved, and how long that may take.
const (
	saveInterval = 250 * time.Millisecond
	saveTimeout  = 2 * time.Second
)

// serve processes the partition while this node holds it, until ctx ends.
func (s *partition) serve(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.Hold(ctx, "triggers/"+strconv.Itoa(s.number), s.run)
		if ctx.Err() != nil {
			return
		}
		s.Log.WarnContext(ctx, "starting automations stopped and is restarted", "partition", s.number, "err", err)
		streams.PauseAfterFault(ctx)
	}
}

// run reads the feed from the cursor on, until ctx ends.
func (s *partition) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	after, err := s.load(ctx)
	if err != nil {
		return err
	}
	var parts sync.WaitGroup
	parts.Go(func() { streams.SaveProgress(ctx, s.moved, saveInterval, func() bool { return s.saveCursor(false) }) })
	parts.Go(func() { newOrphanHandler(s, s.findOrphans).handleLoop(ctx) })
	err = s.Feed.Follow(ctx, live.Following{After: after, Need: live.Logged}, func(d live.Delivery) error { return s.receive(ctx, d) })
	cancel(err)
	parts.Wait()
	s.workers.Wait()
	s.saveCursor(true)
	return err
}

// load reads the cursor of the partition.
func (s *partition) load(ctx context.Context) (domain.Position, error) {
	if err := s.Fresh(ctx); err != nil {
		return domain.Position{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start, s.workspaces, s.open, s.progress = s.Position(), map[string]*workspaceQueue{}, 0, streams.ProgressTracker{Moved: s.moved}
	var err error
	s.progress.At, err = s.initCursor(ctx, s.number)
	return s.progress.At, err
}

// receive queues the events of the feed. It waits for no workspace: each one has a goroutine.
func (s *partition) receive(ctx context.Context, d live.Delivery) error {
	if err := s.awaitSaved(ctx, d.Events); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // the next holder reads them again
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range d.Events {
		switch {
		case !s.mayStart(e) || s.isUnheard(e):
		case programs.IsAboutApp(e.Type):
			if err := s.enqueueAppEvent(ctx, e, d.Positions[i]); err != nil {
				return err
			}
		default:
			s.enqueue(ctx, e, d.Positions[i])
		}
	}
	s.progress.Add(&streams.ProgressMark{At: d.At, Done: true})
	return nil
}

// mayStart reports whether an event may start something in a workspace of the partition.
func (s *partition) mayStart(e *feed.Event) bool {
	return automation.Triggering(e.Type) && (s.isOwn(s.number, e.Source.WorkspaceID) || programs.IsAboutApp(e.Type))
}

// isUnheard reports whether an event starts nothing because it is one of the platform, and its workspace listens to none
// of those: every change is one, and every run. If that is not known, the event is queued and it is asked again.
func (s *partition) isUnheard(e *feed.Event) bool {
	if !automation.Native(e.Type) || programs.IsAboutApp(e.Type) {
		return false
	}
	may, err := s.MayListen(e.Source.WorkspaceID)
	return err == nil && !may
}

// awaitSaved waits until the read models contain what was saved before events that may start something: a listener
// may have been saved on another node just before.
func (s *partition) awaitSaved(ctx context.Context, events []*feed.Event) error {
	for slices.ContainsFunc(events, s.mayStart) {
		err := s.Saved(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.Log.WarnContext(ctx, "the read models of workspaces are not up to date yet", "partition", s.number, "err", err)
		streams.PauseAfterFault(ctx)
	}
	return nil
}

// saveCursor saves the cursor if that is due. unsaved says that it is to be saved later.
func (s *partition) saveCursor(ending bool) (unsaved bool) {
	s.mu.Lock()
	at, due := s.progress.TakeUnsaved(s.Now(), ending)
	unsaved = s.progress.IsUnsaved()
	s.mu.Unlock()
	if !due {
		return unsaved
	}
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	if _, err := s.Cursors.Put(ctx, streams.PartitionKey(s.shares, s.number), []byte(at.Token())); err != nil {
		s.Log.WarnContext(ctx, "the cursor of triggers could not be saved", "err", err)
		s.mu.Lock()
		s.progress.MarkUnsaved()
		s.mu.Unlock()
		return true
	}
	return false
}

// workspaceQueue is the queue of a workspace. Its events are processed one after the other, in a goroutine of its
// own: no other workspace waits for it.
type workspaceQueue struct {
	id         string
	waiting    []*queuedEvent // events to be processed
	busy       bool           // a goroutine processes them
	open       int            // queued events, and trees that are not done
	freed      chan struct{}
	backlog    *backlog        // set while the workspace is read separately
	caughtUpTo domain.Position // up to which it was read separately
}

// queuedEvent is an event in the queue of its workspace.
type queuedEvent struct {
	event   *feed.Event
	mark    *streams.ProgressMark // its position in the feed; nil: it was read for the backlog
	backlog *backlog
	left    int // trees that are not done
}

// How much a workspace may have open before it is read separately, at its own pace. The lower limit applies while the
// partition as a whole is busy.
const (
	maxOpenPerWorkspace = 200
	maxOpenWhenBusy     = 10
	maxOpenPerPartition = 5_000
)

// maxOpen is how much one workspace may have open. The caller holds the lock.
func (s *partition) maxOpen() int {
	if s.open >= maxOpenPerPartition {
		return maxOpenWhenBusy
	}
	return maxOpenPerWorkspace
}

// queueOf returns the queue of a workspace. The caller holds the lock.
func (s *partition) queueOf(id string) *workspaceQueue {
	p := s.workspaces[id]
	if p == nil {
		p = &workspaceQueue{id: id, freed: make(chan struct{}, 1)}
		s.workspaces[id] = p
	}
	return p
}

// enqueue queues an event, unless its workspace is read separately. The caller holds the lock.
func (s *partition) enqueue(ctx context.Context, e *feed.Event, at domain.Position) {
	p := s.queueOf(e.Source.WorkspaceID)
	past := !p.caughtUpTo.IsZero() && isAtOrBefore(e, p.caughtUpTo)
	if at.Max(p.caughtUpTo) == at {
		p.caughtUpTo = domain.Position{} // the partition has caught up with it
	}
	switch {
	case p.backlog != nil:
		if e.Options.Persisted() {
			p.backlog.skippedTo = p.backlog.skippedTo.Max(domain.At(e.Log, e.Number()))
		}
	case past:
		s.dropIfIdle(p)
	case p.open < s.maxOpen():
		m := &streams.ProgressMark{At: at}
		s.progress.Add(m)
		s.addToQueue(ctx, p, &queuedEvent{event: e, mark: m})
	case !e.Options.Persisted():
		s.Log.WarnContext(ctx, "an event that is not stored starts nothing: its workspace has too much open", "workspace", p.id, "type", e.Type)
	default:
		m := &streams.ProgressMark{At: at, HasEffects: true}
		s.progress.Add(m)
		l := &backlog{mark: m}
		p.backlog = l
		s.workers.Go(func() { s.catchUp(ctx, p, l, live.PositionBefore(e)) })
	}
}

// addToQueue appends an event to a queue. The caller holds the lock.
func (s *partition) addToQueue(ctx context.Context, p *workspaceQueue, a *queuedEvent) {
	p.waiting = append(p.waiting, a)
	if a.backlog != nil {
		a.backlog.open++
	}
	s.countOpen(p, 1)
	if !p.busy {
		p.busy = true
		s.workers.Go(func() { s.processQueue(ctx, p) })
	}
}

// processQueue processes the events of a workspace until none is left, or ctx ends: the next holder reads the rest
// again.
func (s *partition) processQueue(ctx context.Context, p *workspaceQueue) {
	for {
		a := s.nextEvent(p)
		if a == nil {
			return
		}
		begun, err := s.dispatch(ctx, a.event)
		if err != nil {
			return
		}
		s.awaitTrees(ctx, p, a, begun)
	}
}

// nextEvent removes the first event of a queue; nil when there is none.
func (s *partition) nextEvent(p *workspaceQueue) *queuedEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(p.waiting) == 0 {
		p.busy = false
		s.dropIfIdle(p)
		return nil
	}
	a := p.waiting[0]
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
	return a
}

// awaitTrees waits for the trees that an event started.
func (s *partition) awaitTrees(ctx context.Context, p *workspaceQueue, a *queuedEvent, list []*startedTree) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.countOpen(p, len(list)-1)
	if a.left = len(list); a.left == 0 {
		s.markDone(a)
	} else if a.mark != nil {
		a.mark.HasEffects = true
	}
	for _, b := range list {
		s.workers.Go(func() { s.treeEnded(p, a, s.awaitTree(ctx, b)) })
	}
}

// treeEnded records that nobody waits for a tree any more: it is done, or the partition is lost and its next holder
// continues.
func (s *partition) treeEnded(p *workspaceQueue, a *queuedEvent, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.countOpen(p, -1)
	s.dropIfIdle(p)
	if !over {
		return
	}
	if a.left--; a.left == 0 {
		s.markDone(a)
	}
}

// markDone records that everything that an event started is done. The caller holds the lock.
func (s *partition) markDone(a *queuedEvent) {
	if a.backlog == nil {
		s.progress.MarkDone(a.mark)
		return
	}
	if a.backlog.open--; a.backlog.rejoined && a.backlog.open == 0 {
		s.progress.MarkDone(a.backlog.mark)
	}
}

// countOpen changes how much a workspace has open. The caller holds the lock.
func (s *partition) countOpen(p *workspaceQueue, n int) {
	p.open += n
	s.open += n
	select {
	case p.freed <- struct{}{}:
	default:
	}
}

// dropIfIdle removes the queue of a workspace that has nothing open. The caller holds the lock.
func (s *partition) dropIfIdle(p *workspaceQueue) {
	if p.open == 0 && !p.busy && p.backlog == nil && p.caughtUpTo.IsZero() && s.workspaces[p.id] == p {
		delete(s.workspaces, p.id)
	}
}

// backlog is a workspace that is read separately, at its own pace.
type backlog struct {
	mark      *streams.ProgressMark // the position in the feed where it fell behind
	skippedTo domain.Position       // up to which the partition has skipped its events
	open      int                   // events that were read separately and are not done
	rejoined  bool                  // it is read with the partition again
}

// errCaughtUp ends reading a workspace separately.
var errCaughtUp = errors.New("the workspace has caught up")

// How often it is checked whether a workspace has caught up, and whether its queue has room.
const (
	rejoinInterval   = 50 * time.Millisecond
	capacityInterval = 100 * time.Millisecond
)

// catchUp reads a workspace separately, at its own pace, until it has read everything that the partition has skipped.
func (s *partition) catchUp(ctx context.Context, p *workspaceQueue, l *backlog, after domain.Position) {
	for ctx.Err() == nil {
		err := s.Feed.Follow(ctx, live.Following{
			WorkspaceID: p.id, After: after, Need: live.Logged,
			TickEvery: rejoinInterval, Tick: func() error { return s.rejoin(p, l, after) },
		}, func(d live.Delivery) error {
			if err := s.awaitSaved(ctx, d.Events); err != nil {
				return err
			}
			for _, e := range d.Events {
				if !s.mayStart(e) {
					continue
				}
				if err := s.waitForCapacity(ctx, p); err != nil {
					return err
				}
				s.mu.Lock()
				s.addToQueue(ctx, p, &queuedEvent{event: e, backlog: l})
				s.mu.Unlock()
			}
			after = d.At
			return nil
		})
		if errors.Is(err, errCaughtUp) {
			return
		}
		streams.PauseAfterFault(ctx)
	}
}

// waitForCapacity waits until the queue of the workspace has room.
func (s *partition) waitForCapacity(ctx context.Context, p *workspaceQueue) error {
	for {
		s.mu.Lock()
		full := p.open >= s.maxOpen()
		s.mu.Unlock()
		if !full {
			return nil
		}
		look := time.NewTimer(capacityInterval)
		select {
		case <-ctx.Done():
			look.Stop()
			return context.Cause(ctx)
		case <-p.freed:
			look.Stop()
		case <-look.C:
		}
	}
}

// rejoin returns a workspace to the partition once everything was read that the partition has skipped. The partition
// skips the events that were read here already. The mark where the workspace fell behind is done when these events
// are done.
func (s *partition) rejoin(p *workspaceQueue, l *backlog, at domain.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.Max(l.skippedTo) != at || p.open > s.maxOpen()/2 {
		return nil
	}
	p.backlog, p.caughtUpTo, l.rejoined = nil, at, true
	if l.open == 0 {
		s.progress.MarkDone(l.mark)
	}
	s.dropIfIdle(p)
	return errCaughtUp
}
