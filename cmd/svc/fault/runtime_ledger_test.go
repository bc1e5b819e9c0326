//go:build fault

package fault

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
)

// treeRecord is what the log tells of one tree that was triggered.
type treeRecord struct {
	automation       string
	run              string
	expectedTriggers int // how often it is to be told that something triggered it
	interactions     int
	attempts         []int // of its starts, in order
	ends             []activity.Executed
}

// fault is the name of the error that the tree ended with.
func (t *treeRecord) fault() string {
	if t == nil || len(t.ends) == 0 || t.ends[0].Error == nil {
		return ""
	}
	return t.ends[0].Error.Error
}

// workspaceLog is what the log tells of a workspace.
type workspaceLog struct {
	calls      map[string]*treeRecord // trees that no event triggered, by correlation id and automation
	events     map[string]*treeRecord // trees of events, by the id of the event
	executions map[string]int         // how often the end of each is told
	failures   map[string]int         // error events, by execution
	emitted    map[string]map[int]int
	orders     map[int][]string // the ids of events, by number
	byClients  map[string]bool  // the ids of events that no run emitted
}

// readLedger reads the log of a service that is stopped.
func readLedger(t *testing.T, h *fixture) *workspaceLog {
	t.Helper()
	l := &workspaceLog{
		calls: map[string]*treeRecord{}, events: map[string]*treeRecord{}, executions: map[string]int{}, failures: map[string]int{},
		emitted: map[string]map[int]int{}, orders: map[int][]string{}, byClients: map[string]bool{},
	}
	eachEvent(t, h.openLog(t).Log, domain.Activity, func(ev domain.Recorded) {
		if ev.Stream.Scope == h.id {
			l.note(t, ev)
		}
	})
	return l
}

func (l *workspaceLog) note(t *testing.T, ev domain.Recorded) {
	t.Helper()
	run := ev.Meta.CorrelationID
	switch e := ev.Data.(type) {
	case activity.Interaction:
		l.treeOf(run, e.Trigger, e.Automation).interactions++
	case activity.TreeStarted:
		tree := l.treeOf(run, e.Trigger, e.Automation)
		tree.attempts = append(tree.attempts, e.Attempt)
	case activity.Executed:
		l.executions[e.ExecutionID]++
		if e.ParentExecutionID == "" {
			var trigger activity.Trigger
			require.NoError(t, json.Unmarshal(e.Trigger, &trigger))
			tree := l.treeOf(run, trigger, e.Slug)
			tree.ends = append(tree.ends, e)
		}
	case activity.Failure:
		l.failures[ev.Meta.ExecutionID]++
	case domain.Unknown:
		var said struct{ N int }
		require.NoError(t, json.Unmarshal(ev.Body, &said))
		if l.emitted[e.Name] == nil {
			l.emitted[e.Name] = map[int]int{}
		}
		l.emitted[e.Name][said.N]++
		l.byClients[ev.ID] = ev.Meta.ExecutionID == ""
		if e.Name == "order" {
			l.orders[said.N] = append(l.orders[said.N], ev.ID)
		}
	}
}

// treeOf returns the one of a trigger. What a run called or emitted is told of as far as it
// began: the rest belongs to that.
func (l *workspaceLog) treeOf(run string, by activity.Trigger, slug string) *treeRecord {
	all, key, told := l.calls, run+" "+slug, by.Type != activity.ByAutomation
	if by.Type == activity.ByEvent {
		all, key, told = l.events, by.ID, l.byClients[by.ID]
	}
	if all[key] == nil {
		all[key] = &treeRecord{automation: slug, run: run}
		if told {
			all[key].expectedTriggers = 1
		}
	}
	return all[key]
}

// check requires what holds for every tree, whoever was answered what: it is told once
// that something triggered it and once that it ended. Only what an event triggered is
// begun again, and not for ever.
func (l *workspaceLog) check(t *testing.T, maxAttempts int) {
	t.Helper()
	for id, n := range l.executions {
		require.Equal(t, 1, n, "the end of execution %s", id)
	}
	for id, tree := range l.calls {
		tree.check(t, id, 1, l)
		require.True(t, tree.fault() == "" || len(tree.attempts) == 1, "%s began", id)
	}
	for id, tree := range l.events {
		tree.check(t, id, maxAttempts, l)
	}
}

func (t *treeRecord) check(tt *testing.T, id string, maxAttempts int, l *workspaceLog) {
	tt.Helper()
	require.Equal(tt, t.expectedTriggers, t.interactions, "what triggered %s of %s, begun %v", t.automation, id, t.attempts)
	require.Len(tt, t.ends, 1, "the end of %s of %s, begun %v", t.automation, id, t.attempts)
	for i, attempt := range t.attempts {
		require.Equal(tt, i+1, attempt, "%s of %s, begun %v", t.automation, id, t.attempts)
	}
	require.LessOrEqual(tt, len(t.attempts), maxAttempts, "%s of %s", t.automation, id)
	if name := t.fault(); name != "" {
		require.Equal(tt, automation.ExecutionInterrupt, name, "%s: %+v", id, t.ends[0].Error)
		require.Equal(tt, 1, l.failures[t.ends[0].ExecutionID], "the error of %s is told once", id)
	}
}

// interrupted counts the trees that broke off for good, and those that were begun again.
func (l *workspaceLog) interrupted() (brokenOff, again int) {
	for _, all := range []map[string]*treeRecord{l.calls, l.events} {
		for _, tree := range all {
			if tree.fault() != "" {
				brokenOff++
			}
			if len(tree.attempts) > 1 {
				again++
			}
		}
	}
	return brokenOff, again
}
