package api

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"svc/domain/access"
	"svc/domain/activity"
	"svc/projections"
	"svc/streams/feed"
)

// maxRunEvents is how many events of a run are looked at.
const maxRunEvents = 20_000

// runTree is the executions of a run that somebody may read.
type runTree struct {
	all     []*shownExecution
	byID    map[string]*shownExecution
	emitter map[string]string // by event, the execution that caused it
	waits   map[string]*openWait
	ended   map[string]bool // waits that came to their end
	cut     bool            // the run has more events
}

// runTree puts together what a run consists of: what its events tell that the caller may
// read, and what has not ended.
func (d Deps) runTree(ctx context.Context, rights *access.Rights, run projections.Run, open []projections.UnfinishedTree) (*runTree, error) {
	t := &runTree{byID: map[string]*shownExecution{}, emitter: map[string]string{}, waits: map[string]*openWait{}, ended: map[string]bool{}}
	may, seen := readable(rights), 0
	rng := feed.Range{
		WorkspaceID: run.WorkspaceID,
		Filter:      &feed.Filter{Paths: []feed.PathFilter{{Path: "source.correlationId", Any: []string{run.CorrelationID}}}},
	}
	if rights.Always(mayReadEvents.Action, mayReadEvents.Subject) { // otherwise rules look at the rest, too
		rng.Need = feed.Logged
	}
	err := d.Feed.Walk(ctx, rng, func(e *feed.Event) (bool, error) {
		if seen++; seen > maxRunEvents {
			t.cut = true
			return false, nil
		}
		if !may(e) {
			return true, nil
		}
		return true, t.take(e)
	})
	for _, tree := range open {
		if t.byID[tree.ExecutionID] == nil && may(tree.Event()) {
			t.add(&shownExecution{
				ExecutionID: tree.ExecutionID, Slug: tree.Automation, Trigger: tree.Trigger, StartedAt: stampOf(tree.StartedAt), began: tree.StartedAt,
			})
		}
	}
	if err != nil {
		return t, err
	}
	t.addWaits()
	return t, d.addLogs(ctx, run.WorkspaceID, t)
}

// openWait is a wait that began.
type openWait struct {
	activity.WaitPending
	slug string // of the automation that waits
	at   string // when that began
}

// noteWait notes that a wait began or ended.
func (t *runTree) noteWait(e *feed.Event) error {
	var wait openWait
	if err := json.Unmarshal(e.Payload, &wait.WaitPending); err != nil {
		return err
	}
	if e.Type != wait.EventType() {
		t.ended[wait.ID] = true
		return nil
	}
	wait.slug, wait.at = e.Source.AutomationSlug, e.CreatedAt()
	t.waits[wait.ID] = &wait
	return nil
}

// addWaits adds to the executions what they wait for. Of one that another called, and that has
// not ended, nothing is known yet but that: it stands at the top, since its wait began.
func (t *runTree) addWaits() {
	ids := slices.Sorted(maps.Keys(t.waits))
	for _, id := range ids {
		wait := t.waits[id]
		x := t.byID[wait.ExecutionID]
		if t.ended[id] || x != nil && x.Duration != nil { // or else its execution was stopped
			continue
		}
		if x == nil {
			x = &shownExecution{ExecutionID: wait.ExecutionID, Slug: wait.slug, Trigger: activity.Trigger{Type: activity.ByAutomation}, StartedAt: wait.at}
			t.add(x)
		}
		var asked struct {
			OneOf []awaitedEvent `json:"oneOf"`
		}
		_ = json.Unmarshal(wait.Wait, &asked) // what is no list of events is a sleep
		x.WaitsFor = append(x.WaitsFor, asked.OneOf...)
		if x.Until == "" || wait.ExpiresAt < x.Until {
			x.Until = wait.ExpiresAt
		}
	}
}

// maxLogged is how many executions of a run are shown with what they logged.
const maxLogged = 1000

// addLogs adds to the executions what they logged.
func (d Deps) addLogs(ctx context.Context, workspaceID string, t *runTree) error {
	read := 0
	for _, x := range t.all {
		if !x.logged {
			continue
		}
		if read++; read > maxLogged {
			t.cut = true
			return nil
		}
		lines, err := d.Feed.Logs(ctx, workspaceID, x.event)
		if err != nil {
			return err
		}
		x.Logs = append(x.Logs, lines...)
	}
	return nil
}

// take notes what an event says of the run.
func (t *runTree) take(e *feed.Event) error {
	if e.Source.ExecutionID != "" {
		t.emitter[e.ID] = e.Source.ExecutionID
	}
	switch e.Type {
	case activity.WaitPending{}.EventType(), activity.WaitFulfilled{}.EventType(), activity.WaitExpired{}.EventType():
		return t.noteWait(e)
	case activity.Executed{}.EventType():
	default:
		return nil
	}
	var ended activity.Executed
	if err := json.Unmarshal(e.Payload, &ended); err != nil {
		return err
	}
	x := &shownExecution{
		ExecutionID: ended.ExecutionID, Slug: ended.Slug, StartedAt: ended.StartedAt, Duration: &ended.Duration, Throttled: ended.Throttled,
		Break: ended.Break, Error: ended.Error, parent: ended.ParentExecutionID, logged: ended.Logged, event: e.ID,
	}
	_ = json.Unmarshal(ended.Trigger, &x.Trigger)          // none is one of no type
	x.began, _ = time.Parse(time.RFC3339, ended.StartedAt) // no time is the first
	t.add(x)
	if !x.logged { // the whole event has what it logged
		var whole struct {
			Logs []string `json:"logs"`
		}
		_ = json.Unmarshal(e.Payload, &whole) // as above
		x.Logs = append(x.Logs, whole.Logs...)
	}
	return nil
}

func (t *runTree) add(x *shownExecution) {
	x.Children, x.Logs = []*shownExecution{}, []string{}
	t.all = append(t.all, x)
	t.byID[x.ExecutionID] = x
}

// grown returns the executions that nothing else in the tree caused, each with what it
// caused.
func (t *runTree) grown() []*shownExecution {
	slices.SortStableFunc(t.all, func(a, b *shownExecution) int { return a.began.Compare(b.began) })
	top := []*shownExecution{}
	for _, x := range t.all {
		if cause := t.cause(x); cause != nil {
			cause.Children = append(cause.Children, x)
		} else {
			top = append(top, x)
		}
	}
	return top
}

// maxRunDepth is how deep executions are shown within each other.
const maxRunDepth = 1000

// cause returns the execution under which another is shown; nil when there is none.
func (t *runTree) cause(x *shownExecution) *shownExecution {
	cause := t.above(x)
	for up, steps := cause, 0; up != nil; steps++ { // what is damaged must not become a circle
		if up == x || steps > maxRunDepth {
			return nil
		}
		up = t.above(up)
	}
	return cause
}

// above returns the execution that called another, or emitted the event that started
// it; nil when it is not known.
func (t *runTree) above(x *shownExecution) *shownExecution {
	if x.parent == "" && x.Trigger.Type == activity.ByEvent {
		return t.byID[t.emitter[x.Trigger.ID]]
	}
	return t.byID[x.parent]
}
