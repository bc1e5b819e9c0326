package projections

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation"
)

func TestARunIsWhatItsTreesAre(t *testing.T) {
	t.Parallel()
	first, second := started("x1", "pay", endpoint, 0), started("x2", "mail", byEvent("e1"), 1)
	ended := func(name string) activity.Executed { return failing(done("x1", "pay", endpoint, 0), name) }
	for name, c := range map[string]struct {
		events   []domain.Event
		status   RunStatus
		duration time.Duration
		executed int
		recorded any
	}{
		"one that is over at once":         {[]domain.Event{done("x1", "pay", endpoint, 0)}, RunSucceeded, 3 * time.Second, 1, false},
		"one that began":                   {[]domain.Event{first}, RunRunning, 0, 0, false},
		"one that began and ended":         {[]domain.Event{first, done("x1", "pay", endpoint, 0)}, RunSucceeded, 3 * time.Second, 1, false},
		"one that failed":                  {[]domain.Event{first, ended("FetchError")}, RunFailed, 3 * time.Second, 1, false},
		"one that was cancelled":           {[]domain.Event{first, ended(automation.ExecutionCancelled)}, RunCancelled, 3 * time.Second, 1, false},
		"calls count":                      {[]domain.Event{within(done("x3", "sub", called, 1), "x1"), done("x1", "pay", endpoint, 0)}, RunSucceeded, 3 * time.Second, 2, false},
		"a call that failed was caught":    {[]domain.Event{within(failing(done("x3", "sub", called, 1), "FetchError"), "x1"), done("x1", "pay", endpoint, 0)}, RunSucceeded, 3 * time.Second, 2, false},
		"what it started goes on":          {[]domain.Event{first, done("x1", "pay", endpoint, 0), second}, RunRunning, 3 * time.Second, 1, false},
		"what it started failed":           {[]domain.Event{first, second, failing(done("x2", "mail", byEvent("e1"), 1), "FetchError"), done("x1", "pay", endpoint, 0)}, RunFailed, 3 * time.Second, 2, false},
		"what it started took longer":      {[]domain.Event{done("x1", "pay", endpoint, 0), done("x2", "mail", byEvent("e1"), 60)}, RunSucceeded, 63 * time.Second, 2, false},
		"failed outweighs cancelled":       {[]domain.Event{ended(automation.ExecutionCancelled), failing(done("x2", "mail", byEvent("e1"), 0), "FetchError")}, RunFailed, 3 * time.Second, 2, false},
		"one that waits":                   {[]domain.Event{first, pendingWait("p1", "x1", `{}`)}, RunWaiting, 0, 0, false},
		"one of two that waits":            {[]domain.Event{first, second, pendingWait("p1", "x1", `{}`), pendingWait("p2", "x1", `{}`)}, RunRunning, 0, 0, false},
		"two that wait":                    {[]domain.Event{first, second, pendingWait("p1", "x1", `{}`), pendingWait("p2", "x2", `{}`)}, RunWaiting, 0, 0, false},
		"one whose call waits":             {[]domain.Event{first, pendingWait("p1", "x9", `{}`)}, RunWaiting, 0, 0, false},
		"one that goes on":                 {[]domain.Event{first, pendingWait("p1", "x1", `{}`), activity.WaitFulfilled{ID: "p1"}}, RunRunning, 0, 0, false},
		"one that waited long enough":      {[]domain.Event{first, pendingWait("p1", "x1", `{}`), activity.WaitExpired{ID: "p1"}}, RunRunning, 0, 0, false},
		"one that was cancelled in a wait": {[]domain.Event{first, pendingWait("p1", "x1", `{}`), ended(automation.ExecutionCancelled)}, RunCancelled, 3 * time.Second, 1, false},
		"one that is recorded":             {[]domain.Event{recordedAs(done("x1", "pay", endpoint, 0), true)}, RunSucceeded, 3 * time.Second, 1, true},
		"one that is recorded in part":     {[]domain.Event{recordedAs(done("x2", "mail", byEvent("e1"), 0), true), recordedAs(within(done("x1", "pay", endpoint, 0), "x2"), "truncated")}, RunSucceeded, 3 * time.Second, 2, "truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newRunsBench(t)
			b.happens("r1", c.events...)
			run := b.run("r1")
			require.Equal(t, c.status, run.Status)
			require.Equal(t, c.executed, run.Executions)
			require.Equal(t, c.recorded, run.Recorded)
			require.Equal(t, begins, run.StartedAt)
			if c.duration > 0 {
				require.Equal(t, c.duration, run.EndedAt.Sub(run.StartedAt))
			} else {
				require.Zero(t, run.EndedAt)
			}
			require.Equal(t, []ListedRun{{"r1", c.status}}, b.listed(RunsQuery{}))
			require.Equal(t, []ListedRun{{"r1", c.status}}, b.listed(RunsQuery{Automation: run.Automation}))
			require.Equal(t, map[RunStatus]int{c.status: 1, "": 1}, b.counts(""))
			require.Equal(t, map[RunStatus]int{c.status: 1, "": 1}, b.counts(run.Automation))
			b.isWhole()
			b.drops(b.seq)
			require.Empty(t, b.rows(), "nothing is left of what was erased")
		})
	}
}

func TestRunsAreListedAsTheyBegan(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.happens("late", done("x1", "pay", endpoint, 20))
	b.happens("early", done("x2", "pay", endpoint, 10), done("x3", "mail", byEvent("e1"), 90))
	b.happens("last", failing(done("x4", "mail", endpoint, 30), "FetchError"))
	b.happens("", done("x5", "pay", endpoint, 1))
	b.happens("called only", within(done("x6", "pay", endpoint, 1), "x7"))
	other := b.log[0]
	other.Stream.Scope, other.Seq = "w2", 100
	b.apply(other)
	at := func(second int) time.Time { return begins.Add(time.Duration(second) * time.Second) }
	for name, c := range map[string]struct {
		q    RunsQuery
		want []string
	}{
		"all":                   {RunsQuery{}, []string{"last", "late", "early"}},
		"of an automation":      {RunsQuery{Automation: "pay"}, []string{"late", "early"}},
		"of one it starts with": {RunsQuery{Automation: "mail"}, []string{"last"}},
		"of none":               {RunsQuery{Automation: "pa"}, nil},
		"of a name of no use":   {RunsQuery{Automation: "a\x00b"}, nil},
		"from a time on":        {RunsQuery{From: at(20)}, []string{"last", "late"}},
		"from just after it":    {RunsQuery{From: at(20).Add(1)}, []string{"last"}},
		"before a time":         {RunsQuery{Before: at(20)}, []string{"early"}},
		"before just after it":  {RunsQuery{Before: at(20).Add(1)}, []string{"late", "early"}},
		"between two":           {RunsQuery{Automation: "pay", From: at(11), Before: at(21)}, []string{"late"}},
		"before all times":      {RunsQuery{Before: time.Unix(-1, 0)}, nil},
	} {
		var got []string
		for _, l := range b.listed(c.q) {
			got = append(got, l.CorrelationID)
		}
		require.Equal(t, c.want, got, name)
	}
	require.Equal(t, map[RunStatus]int{RunSucceeded: 2, RunFailed: 1, "": 3}, b.counts(""))
	require.Equal(t, map[RunStatus]int{RunFailed: 1, "": 1}, b.counts("mail"))
	require.Empty(t, b.counts("a\x00b"))
}
