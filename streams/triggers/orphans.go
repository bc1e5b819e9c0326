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

// adopter takes care of trees that nobody runs any more.
type adopter struct {
	*share

	find func(ctx context.Context, wanted Wanted, visit func(Orphan)) error

	guard sync.Mutex
	wards map[string]*ward // by first execution
}

// ward is a tree that is, or was, taken care of.
type ward struct {
	under    bool // it goes on here
	over     bool // it has ended
	failures int  // how often it could not go on
	again    time.Time
	seen     bool // nobody has read of its end yet
}

func newAdopter(s *share, find func(ctx context.Context, wanted Wanted, visit func(Orphan)) error) *adopter {
	return &adopter{share: s, find: find, wards: map[string]*ward{}}
}

// adopt takes care of trees until ctx ends.
func (a *adopter) adopt(ctx context.Context) {
	for ctx.Err() == nil {
		err := a.find(ctx, a.wants, func(o Orphan) {
			if ctx.Err() == nil && a.wants(o.ExecutionID) { // once, however often it is found
				a.care(ctx, o)
			}
		})
		if err != nil && ctx.Err() == nil {
			a.Log.WarnContext(ctx, "trees that nobody runs any more could not be looked for", "err", err)
		}
		a.sweep()
		_ = commands.Sleep(ctx, a.LookEvery)
	}
}

// wants reports whether a tree is to be taken care of.
func (a *adopter) wants(executionID string) bool {
	a.guard.Lock()
	defer a.guard.Unlock()
	c := a.wards[executionID]
	if c == nil {
		return true
	}
	c.seen = true
	return !c.under && !c.over && !a.Now().Before(c.again)
}

// note changes what is known of a tree.
func (a *adopter) note(o Orphan, change func(*ward)) {
	a.guard.Lock()
	defer a.guard.Unlock()
	c := a.wards[o.ExecutionID]
	if c == nil {
		c = &ward{seen: true}
		a.wards[o.ExecutionID] = c
	}
	change(c)
}

// sweep forgets the trees whose end was read.
func (a *adopter) sweep() {
	a.guard.Lock()
	defer a.guard.Unlock()
	for id, c := range a.wards {
		if !c.seen && !c.under {
			delete(a.wards, id)
		}
		c.seen = false
	}
}

// Orphan is a tree that began and did not end, and that nobody runs any more.
type Orphan struct {
	runtime.BrokenRun

	Attempt int  // how often it was begun
	Stands  bool // where it stood in a wait is kept: any node can go on with it
	Waits   bool // it did nothing else, and none of its waits is over
}

// lookEvery is how often trees are looked for that nobody runs any more.
const lookEvery = 15 * time.Second

// mostResuming is how many trees are made ready to go on at once.
const mostResuming = 32

// orphans visits the trees of the share whose node is gone.
func (s *share) orphans(ctx context.Context, wanted Wanted, visit func(Orphan)) error {
	return s.History.Orphans(ctx, func(workspaceID string) bool { return s.mine(s.number, workspaceID) }, wanted, visit)
}

// care takes care of a tree that nobody runs any more: what stood in a wait goes on here;
// what an event or a schedule started is begun again by who reads those, if it still can
// be; of everything else who started it has gone with the node, and it is recorded as
// interrupted. To go on with one that does nothing but wait is no attempt, however often
// nodes come and go meanwhile.
func (a *adopter) care(ctx context.Context, o Orphan) {
	var err error
	switch {
	case o.Stands && (o.Waits || o.Attempt < a.MaxAttempts()):
		err = a.resume(ctx, o)
	case !o.Stands && (o.Trigger.Type == activity.ByEvent || o.Trigger.Type == activity.BySchedule):
		var remains bool
		if remains, err = a.remains(ctx, o); err == nil && !remains {
			err = a.interrupt(ctx, o)
		}
	default:
		err = a.interrupt(ctx, o)
	}
	if err != nil && ctx.Err() == nil {
		a.warn(ctx, o, err)
	}
}

// interrupt records that a tree was interrupted.
func (a *adopter) interrupt(ctx context.Context, o Orphan) error {
	err := a.Runtime.RecordInterrupted(ctx, o.BrokenRun)
	if err == nil {
		a.note(o, func(c *ward) { c.over = true })
	}
	return err
}

// remains reports whether the automation of a tree is still started by what started it.
func (a *adopter) remains(ctx context.Context, o Orphan) (bool, error) {
	if err := a.Saved(ctx); err != nil {
		return true, err
	}
	programSet, err := a.houseOf(ctx, o.WorkspaceID, o.Trigger)
	if err != nil || programSet == nil {
		return false, err
	}
	if o.Trigger.Type == activity.ByEvent { // one that is not kept comes to nobody again
		recordedOn := o.WorkspaceID
		if programs.IsAboutApp(o.Trigger.Value) {
			recordedOn = domain.Platform
		}
		if _, kept, err := a.Feed.Get(ctx, recordedOn, o.Trigger.ID); err != nil || !kept {
			return false, err
		}
	}
	return started(programSet, o.Automation, o.Trigger), nil
}

// started reports whether a trigger starts an automation of a program set.
func started(programSet *programs.ProgramSet, name string, by activity.Trigger) bool {
	if by.Type == activity.BySchedule {
		return slices.ContainsFunc(programSet.Scheduled(), func(p *programs.Program) bool {
			return p.Name == name && slices.ContainsFunc(p.When.Schedules, func(c *cron.Schedule) bool { return c.String() == by.Value })
		})
	}
	if strings.HasPrefix(by.Value, aboutInstances) || programs.IsAboutApp(by.Value) {
		return true // of which instance or app it tells is not known here
	}
	return slices.ContainsFunc(programSet.Listeners(programs.Event{Type: by.Value}), func(p *programs.Program) bool { return p.Name == name })
}

// resume goes on with a tree, for as long as it takes.
func (a *adopter) resume(ctx context.Context, o Orphan) error {
	programSet, err := a.houseOf(ctx, o.WorkspaceID, o.Trigger)
	if err != nil {
		return err
	}
	if programSet == nil {
		return a.interrupt(ctx, o)
	}
	select {
	case a.resuming <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	attempt := o.Attempt
	if !o.Waits {
		attempt++
	}
	run := a.Runtime.Resume(o.WorkspaceID, o.ExecutionID, attempt, programSet, func(ctx context.Context, actor domain.Actor) (runtime.Caller, error) {
		return a.Identify(ctx, o.WorkspaceID, actor)
	})
	a.note(o, func(c *ward) { c.under = true })
	a.under.Go(func() {
		a.ready(ctx, run)
		a.watch(ctx, o, run)
	})
	return nil
}

// readyWithin is for how long a tree that is made ready to go on counts as that at most.
const readyWithin = 5 * time.Second

// ready waits until a tree goes on.
func (a *adopter) ready(ctx context.Context, run *runtime.Handle) {
	defer func() { <-a.resuming }()
	patience := time.NewTimer(readyWithin)
	defer patience.Stop()
	select {
	case <-run.Parked():
	case <-run.Done():
	case <-patience.C:
	case <-ctx.Done():
	}
}

// letGo breaks a tree off that the log does not tell to go on here: whoever takes the share
// over goes on with it.
func (a *adopter) letGo(o Orphan, run *runtime.Handle) {
	if run.HasStarted() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), streams.Farewell)
	defer cancel()
	if !run.BreakOff(ctx) {
		a.Log.WarnContext(ctx, "a tree goes on although its share was given up", "workspace", o.WorkspaceID, "executionId", o.ExecutionID)
	}
}

// watch sees to it that a tree which cannot go on is tried again, or recorded as
// interrupted.
func (a *adopter) watch(ctx context.Context, o Orphan, run *runtime.Handle) {
	select {
	case <-run.Done():
	case <-ctx.Done():
		a.letGo(o, run)
		return // it goes on, here or elsewhere
	}
	_, err := run.Outcome()
	failures := 0
	a.note(o, func(c *ward) {
		c.under, c.over = false, err == nil
		if err != nil && !passing(err) {
			c.failures++
		}
		failures, c.again = c.failures, a.Now().Add(a.LookEvery)
	})
	if err == nil {
		return
	}
	if failures >= a.MaxAttempts() || errors.Is(err, runtime.ErrNotParked) {
		err = errors.Join(err, a.interrupt(ctx, o))
	}
	a.warn(ctx, o, err)
}

// passing reports whether something failed because of the state of this node or of the
// log: that is no fault of the tree, and it is tried again however often it takes.
func passing(err error) bool {
	return errors.Is(err, runtime.ErrClosing) || errors.Is(err, eventstore.ErrUnavailable) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (a *adopter) warn(ctx context.Context, o Orphan, err error) {
	a.Log.WarnContext(ctx, "a tree that nobody runs could not go on", "workspace", o.WorkspaceID, "executionId", o.ExecutionID, "err", err)
}
