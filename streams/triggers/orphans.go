package triggers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/commands"
	"svc/commands/programs"
	"svc/commands/runtime"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation/cron"
	"svc/eventstore"
	"svc/streams"
)

// orphanHandler handles trees that nobody runs any more.
type orphanHandler struct {
	*partition

	find func(ctx context.Context, wanted Wanted, visit func(Orphan)) error

	treesMu sync.Mutex
	adopted map[string]*adoptedTree // by first execution
}

// adoptedTree is a tree that is, or was, handled.
type adoptedTree struct {
	running  bool // it runs here
	over     bool // it has ended
	failures int  // how often it could not be resumed
	retryAt  time.Time
	seen     bool // it was found again since the last sweep
}

func newOrphanHandler(s *partition, find func(ctx context.Context, wanted Wanted, visit func(Orphan)) error) *orphanHandler {
	return &orphanHandler{partition: s, find: find, adopted: map[string]*adoptedTree{}}
}

// handleLoop handles orphaned trees until ctx ends.
func (a *orphanHandler) handleLoop(ctx context.Context) {
	for ctx.Err() == nil {
		err := a.find(ctx, a.isWanted, func(o Orphan) {
			if ctx.Err() == nil && a.isWanted(o.ExecutionID) { // only once, although it may be found twice
				a.handleOrphan(ctx, o)
			}
		})
		if err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "orphaned trees could not be searched", "err", err)
		}
		a.forgetEnded()
		_ = commands.Sleep(ctx, a.LookEvery)
	}
}

// isWanted reports whether a tree is to be handled.
func (a *orphanHandler) isWanted(executionID string) bool {
	a.treesMu.Lock()
	defer a.treesMu.Unlock()
	c := a.adopted[executionID]
	if c == nil {
		return true
	}
	c.seen = true
	return !c.running && !c.over && !a.Now().Before(c.retryAt)
}

// updateTree changes the entry of a tree.
func (a *orphanHandler) updateTree(o Orphan, change func(*adoptedTree)) {
	a.treesMu.Lock()
	defer a.treesMu.Unlock()
	c := a.adopted[o.ExecutionID]
	if c == nil {
		c = &adoptedTree{seen: true}
		a.adopted[o.ExecutionID] = c
	}
	change(c)
}

// forgetEnded removes the entries of trees that were not found any more.
func (a *orphanHandler) forgetEnded() {
	a.treesMu.Lock()
	defer a.treesMu.Unlock()
	for id, c := range a.adopted {
		if !c.seen && !c.running {
			delete(a.adopted, id)
		}
		c.seen = false
	}
}

// Orphan is a tree that did not end and that nobody runs any more.
type Orphan struct {
	runtime.BrokenRun

	Attempt   int  // how often it was started
	Parked    bool // its state in a wait is stored: any node can resume it
	OnlyWaits bool // it only waits, and none of its waits has ended
}

// orphanInterval is how often orphaned trees are searched.
const orphanInterval = 15 * time.Second

// maxResuming is how many trees are resumed at once.
const maxResuming = 32

// findOrphans visits the trees of the partition whose node is gone.
func (s *partition) findOrphans(ctx context.Context, wanted Wanted, visit func(Orphan)) error {
	return s.History.Orphans(ctx, func(workspaceID string) bool { return s.isOwn(s.number, workspaceID) }, wanted, visit)
}

// handleOrphan handles a tree that nobody runs any more. A parked tree is resumed here. A tree that an event or a
// schedule started is started again by the partition that reads those, if its trigger still exists. Any other tree
// is recorded as interrupted: its caller is gone with the node. Resuming a tree that only waits does not count as an
// attempt, however often nodes are restarted in the meantime.
func (a *orphanHandler) handleOrphan(ctx context.Context, o Orphan) {
	var err error
	switch {
	case o.Parked && (o.OnlyWaits || o.Attempt < a.MaxAttempts()):
		err = a.resumeTree(ctx, o)
	case !o.Parked && (o.Trigger.Type == activity.ByEvent || o.Trigger.Type == activity.BySchedule):
		var remains bool
		if remains, err = a.isStillTriggered(ctx, o); err == nil && !remains {
			err = a.recordInterrupted(ctx, o)
		}
	default:
		err = a.recordInterrupted(ctx, o)
	}
	if err != nil && ctx.Err() == nil {
		a.logFailure(ctx, o, err)
	}
}

// recordInterrupted records that a tree was interrupted.
func (a *orphanHandler) recordInterrupted(ctx context.Context, o Orphan) error {
	err := a.Runtime.RecordInterrupted(ctx, o.BrokenRun)
	if err == nil {
		a.updateTree(o, func(c *adoptedTree) { c.over = true })
	}
	return err
}

// isStillTriggered reports whether the trigger of a tree still starts its automation.
func (a *orphanHandler) isStillTriggered(ctx context.Context, o Orphan) (bool, error) {
	if err := a.Saved(ctx); err != nil {
		return true, err
	}
	programSet, err := a.programSetOfTree(ctx, o.WorkspaceID, o.Trigger)
	if err != nil || programSet == nil {
		return false, err
	}
	if o.Trigger.Type == activity.ByEvent { // an event that is not stored is not read again
		recordedOn := o.WorkspaceID
		if programs.IsAboutApp(o.Trigger.Value) {
			recordedOn = domain.Platform
		}
		if _, found, err := a.Feed.Get(ctx, recordedOn, o.Trigger.ID); err != nil || !found {
			return false, err
		}
	}
	return isTriggeredBy(programSet, o.Automation, o.Trigger), nil
}

// isTriggeredBy reports whether a trigger starts an automation of a program set.
func isTriggeredBy(programSet *programs.ProgramSet, name string, by activity.Trigger) bool {
	if by.Type == activity.BySchedule {
		p := programSet.ScheduledProgram(name)
		return p != nil && slices.ContainsFunc(p.When.Schedules, func(c *cron.Schedule) bool { return c.String() == by.Value })
	}
	if strings.HasPrefix(by.Value, instanceEventPrefix) || programs.IsAboutApp(by.Value) {
		return true // the instance or app is not known here
	}
	return slices.ContainsFunc(programSet.Listeners(programs.Event{Type: by.Value}), func(p *programs.Program) bool { return p.Name == name })
}

// resumeTree resumes a tree and watches it.
func (a *orphanHandler) resumeTree(ctx context.Context, o Orphan) error {
	programSet, err := a.programSetOfTree(ctx, o.WorkspaceID, o.Trigger)
	if err != nil {
		return err
	}
	if programSet == nil {
		return a.recordInterrupted(ctx, o)
	}
	select {
	case a.resuming <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	attempt := o.Attempt
	if !o.OnlyWaits {
		attempt++
	}
	run := a.Runtime.Resume(o.WorkspaceID, o.ExecutionID, attempt, programSet, func(ctx context.Context, actor domain.Actor) (runtime.Caller, error) {
		return a.Identify(ctx, o.WorkspaceID, actor)
	})
	a.updateTree(o, func(c *adoptedTree) { c.running = true })
	a.workers.Go(func() {
		a.awaitReady(ctx, run)
		a.watchTree(ctx, o, run)
	})
	return nil
}

// readyTimeout limits how long a resumed tree counts as being resumed.
const readyTimeout = 5 * time.Second

// awaitReady waits until a tree runs or is parked.
func (a *orphanHandler) awaitReady(ctx context.Context, run *runtime.Handle) {
	defer func() { <-a.resuming }()
	patience := time.NewTimer(readyTimeout)
	defer patience.Stop()
	select {
	case <-run.Parked():
	case <-run.Done():
	case <-patience.C:
	case <-ctx.Done():
	}
}

// releaseTree interrupts a tree that has not recorded anything here: the next holder of the partition resumes it.
func (a *orphanHandler) releaseTree(o Orphan, run *runtime.Handle) {
	if run.HasStarted() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), streams.ShutdownGrace)
	defer cancel()
	if !run.BreakOff(ctx) {
		a.Log.WarnContext(ctx, "a tree goes on although its share was given up", "workspace", o.WorkspaceID, "executionId", o.ExecutionID)
	}
}

// watchTree retries a tree that cannot be resumed, or records it as interrupted.
func (a *orphanHandler) watchTree(ctx context.Context, o Orphan, run *runtime.Handle) {
	select {
	case <-run.Done():
	case <-ctx.Done():
		a.releaseTree(o, run)
		return // it continues, here or elsewhere
	}
	_, err := run.Outcome()
	failures := 0
	a.updateTree(o, func(c *adoptedTree) {
		c.running, c.over = false, err == nil
		if err != nil && !isTransient(err) {
			c.failures++
		}
		failures, c.retryAt = c.failures, a.Now().Add(a.LookEvery)
	})
	if err == nil {
		return
	}
	if failures >= a.MaxAttempts() || errors.Is(err, runtime.ErrNotParked) {
		err = errors.Join(err, a.recordInterrupted(ctx, o))
	}
	a.logFailure(ctx, o, err)
}

// isTransient reports whether an error comes from the state of this node or of the log. Such an error does not count
// for the tree: it is retried without limit.
func isTransient(err error) bool {
	return errors.Is(err, runtime.ErrClosing) || errors.Is(err, eventstore.ErrUnavailable) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (a *orphanHandler) logFailure(ctx context.Context, o Orphan, err error) {
	a.Log.WarnContext(ctx, "an orphaned tree could not be resumed", "workspace", o.WorkspaceID, "executionId", o.ExecutionID, "err", err)
}
