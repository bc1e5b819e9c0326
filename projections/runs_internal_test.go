package projections

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
			b.record("r1", c.events...)
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
			require.Equal(t, map[RunStatus]int{c.status: 1, "": 1}, b.countRuns(""))
			require.Equal(t, map[RunStatus]int{c.status: 1, "": 1}, b.countRuns(run.Automation))
			b.isWhole()
			b.drop(b.seq)
			require.Empty(t, b.rows(), "nothing is left of what was erased")
		})
	}
}

func TestRunsAreListedAsTheyBegan(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.record("late", done("x1", "pay", endpoint, 20))
	b.record("early", done("x2", "pay", endpoint, 10), done("x3", "mail", byEvent("e1"), 90))
	b.record("last", failing(done("x4", "mail", endpoint, 30), "FetchError"))
	b.record("", done("x5", "pay", endpoint, 1))
	b.record("called only", within(done("x6", "pay", endpoint, 1), "x7"))
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
	require.Equal(t, map[RunStatus]int{RunSucceeded: 2, RunFailed: 1, "": 3}, b.countRuns(""))
	require.Equal(t, map[RunStatus]int{RunFailed: 1, "": 1}, b.countRuns("mail"))
	require.Empty(t, b.countRuns("a\x00b"))
}

func TestUnfinishedTreesAreKnown(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.record("r1", started("x1", "pay", endpoint, 0), started("x2", "mail", byEvent("e1"), 1), pendingWait("p1", "x2", `{}`))
	b.record("r2", started("x3", "pay", endpoint, 2), done("x3", "pay", endpoint, 2), done("x4", "mail", byEvent("e2"), 3))
	tree := UnfinishedTree{
		WorkspaceID: "w1", CorrelationID: "r1", ExecutionID: "x2", Automation: "mail", Trigger: byEvent("e1"), Attempt: 1, Replica: "n1",
		StartedAt: begins.Add(time.Second),
	}
	other := tree
	other.ExecutionID, other.Automation, other.Trigger, other.StartedAt = "x1", "pay", endpoint, begins
	require.Equal(t, []UnfinishedTree{tree, other}, b.unfinished())
	b.view(func(r Reader) error {
		open, err := Runs{}.Open(r, "w1", "r1", 1)
		require.Len(t, open, 1)
		require.Equal(t, "x1", open[0].ExecutionID, "the first that began")
		return err
	})
	b.record("r1", done("x1", "pay", endpoint, 0), activity.WaitExpired{ID: "p1"}, done("x2", "mail", byEvent("e1"), 1))
	require.Empty(t, b.unfinished())
}

// A tree that an event started is begun again under another execution when its node is
// gone: that is one tree.
func TestATreeThatIsBegunAgainIsTheSame(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	attempts, ended := b.ended("e1", "mail")
	require.Zero(t, attempts)
	require.False(t, ended)
	b.record("r1", done("x1", "pay", endpoint, 0), started("x2", "mail", byEvent("e1"), 1))
	b.record("r1", started("x3", "log", byEvent("e1"), 1))
	again := started("x4", "mail", byEvent("e1"), 9)
	again.Attempt, again.Replica = 2, "n2"
	b.record("r1", again)
	attempts, ended = b.ended("e1", "mail")
	require.Equal(t, 2, attempts)
	require.False(t, ended)
	trees := b.unfinished()
	require.Len(t, trees, 2)
	require.Equal(t, "x3", trees[0].ExecutionID)
	require.Equal(t, "x4", trees[1].ExecutionID)
	require.Equal(t, 2, trees[1].Attempt)
	require.Equal(t, "n2", trees[1].Replica)

	b.record("r1", done("x4", "mail", byEvent("e1"), 9), done("x3", "log", byEvent("e1"), 1))
	attempts, ended = b.ended("e1", "mail")
	require.Equal(t, 2, attempts)
	require.True(t, ended)
	require.Equal(t, RunSucceeded, b.run("r1").Status)
	require.Equal(t, 3, b.run("r1").Executions)
	attempts, ended = b.ended("e2", "mail")
	require.Zero(t, attempts)
	require.False(t, ended)
	b.record("r1", done("x5", "mail", activity.Trigger{Type: activity.BySchedule, Value: "@daily", ID: "e2"}, 9))
	attempts, ended = b.ended("e2", "mail")
	require.Equal(t, 1, attempts, "it was over at once")
	require.True(t, ended)
	b.isWhole()
}

// An event that belongs to no run starts a run of its own each time.
func TestATreeThatIsBegunAgainMayBeOfAnotherRun(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.record("r1", started("x1", "mail", byEvent("e1"), 0))
	b.record("r2", started("x2", "mail", byEvent("e1"), 9))
	require.Equal(t, []ListedRun{{"r2", RunRunning}}, b.listed(RunsQuery{}))
	require.Equal(t, map[RunStatus]int{RunRunning: 1, "": 1}, b.countRuns(""))
	b.isWhole()
	b.drop(1)
	b.isWhole()
	b.record("r2", done("x2", "mail", byEvent("e1"), 9))
	require.Equal(t, RunSucceeded, b.run("r2").Status)
	b.isWhole()
}

func TestWaitsThatKeepEventsFromStartingAnything(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.record("r1", started("x1", "pay", endpoint, 0), pendingWait("plain", "x1", `{"oneOf":[{"event":"a","cancelTriggers":false}]}`))
	begun := b.record("r1", pendingWait("p1", "x1", cancels))
	b.record("r1", pendingWait("p2", "x1", cancels), pendingWait("odd", "x1", `{"oneOf":7}`), pendingWait("none", "x1", ``))
	found := b.cancelling(b.seq)
	require.Len(t, found, 2)
	require.Equal(t, cancellingWait{CancellingWait: CancellingWait{Seq: begun, ExpiresAt: begins.Add(600 * time.Second), Wait: json.RawMessage(cancels)}}, found["p1"])
	over := b.record("r1", activity.WaitFulfilled{ID: "p1"})
	b.record("r1", activity.WaitExpired{ID: "p1"}, activity.WaitExpired{ID: "nobody's"})
	require.Equal(t, over, b.cancelling(over)["p1"].end)
	require.NotContains(t, b.cancelling(over+1), "p1")
	require.Contains(t, b.cancelling(over+1), "p2")
	stopped := b.record("r1", done("x1", "pay", endpoint, 0))
	require.Equal(t, stopped, b.cancelling(stopped)["p2"].end, "with the execution that stood in it")
	require.Empty(t, b.cancelling(stopped+1))
	b.isWhole()
	b.drop(begun)
	require.Len(t, b.cancelling(0), 1)
	b.isWhole()
	b.drop(b.seq)
	require.Empty(t, b.rows())
}

func TestTheOnlyTreeOfARunIsInTheRowOfTheRun(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	kinds := func() string {
		kinds := map[byte]bool{}
		for key := range b.rows() {
			kinds[key[0]] = true
		}
		return string(slices.Sorted(maps.Keys(kinds)))
	}
	first := b.record("r1", started("x1", "pay", endpoint, 0))
	require.Equal(t, "alnrsu", kinds())
	var tree UnfinishedTree
	b.view(func(r Reader) error {
		return Runs{}.Unfinished(r, func(t UnfinishedTree) bool { tree = t; return true })
	})
	require.Equal(t, "x1", tree.ExecutionID)
	b.record("r1", started("x2", "mail", endpoint, 1))
	require.Equal(t, "alnorstu", kinds(), "each of two has its own")
	require.Len(t, b.unfinished(), 2)
	b.view(func(r Reader) error {
		now, open, err := Runs{}.Refresh(r, tree)
		require.True(t, open)
		require.Equal(t, tree, now)
		return err
	})
	b.isWhole()
	b.drop(first)
	require.Equal(t, "alnrsu", kinds(), "the other one is the only one now")
	require.Equal(t, "x2", b.unfinished()[0].ExecutionID)
	b.isWhole()
	b.record("r1", done("x2", "mail", endpoint, 1))
	require.Equal(t, "alnrs", kinds())
	require.Empty(t, b.unfinished())
	b.isWhole()
	b.record("r1", done("x3", "mail", byEvent("e1"), 2))
	require.Equal(t, "alnorst", kinds())
	b.drop(b.seq - 1)
	require.Equal(t, "alnorst", kinds(), "a tree that may go on elsewhere is in no row of a run")
	b.isWhole()
}

func TestWhatIsErasedOfARunIsForgotten(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	first := b.record("r1", done("x1", "pay", endpoint, 0))
	called := b.record("r1", within(recordedAs(done("x3", "sub", endpoint, 40), true), "x2"))
	b.record("r1", done("x2", "mail", byEvent("e1"), 50))
	b.drop(first)
	run := b.run("r1")
	require.Equal(t, "mail", run.Automation)
	require.Equal(t, begins.Add(50*time.Second), run.StartedAt)
	require.Equal(t, 2, run.Executions)
	require.Equal(t, true, run.Recorded)
	require.Empty(t, b.listed(RunsQuery{Automation: "pay"}))
	b.isWhole()
	b.drop(called)
	require.Equal(t, 1, b.run("r1").Executions)
	require.Equal(t, false, b.run("r1").Recorded)
	b.isWhole()
}

// Whatever happened and was erased, the model is that of what is left.
func TestRunsFollowFromWhatIsLeftOfTheLog(t *testing.T) {
	t.Parallel()
	bench := newRunsBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		b := bench.fresh(t)
		few := rapid.IntRange(1, 3)
		name := func(kind string) string { return kind + string(rune('0'+few.Draw(rt, kind))) }
		trigger := func() activity.Trigger {
			if rapid.Bool().Draw(rt, "event") {
				return byEvent(name("e"))
			}
			return endpoint
		}
		for range rapid.IntRange(1, 25).Draw(rt, "events") {
			var ev domain.Event
			switch rapid.IntRange(0, 7).Draw(rt, "what") {
			case 0, 1:
				ev = started(name("x"), name("pay"), trigger(), few.Draw(rt, "second"))
			case 2:
				ev = done(name("x"), name("pay"), trigger(), few.Draw(rt, "second"))
			case 3:
				ev = recordedAs(within(failing(done(name("x"), name("pay"), endpoint, 1), "FetchError"), "x9"), true)
			case 4, 5:
				ev = pendingWait(name("p")+string(rune('a'+b.seq)), name("x"), rapid.SampledFrom([]string{`{}`, cancels}).Draw(rt, "wait"))
			case 6:
				ev = activity.WaitFulfilled{ID: name("p") + string(rune('a'+rapid.Uint64Range(0, b.seq).Draw(rt, "begun")))}
			default:
				ev = activity.Dropped{WorkspaceID: "w1", To: rapid.Uint64Range(0, b.seq).Draw(rt, "to")}
			}
			b.record(name("r"), ev)
		}
		b.isWhole()
		b.drop(b.seq)
		require.Empty(rt, b.rows())
	})
}

func FuzzRunsTakeWhatEventsSay(f *testing.F) {
	f.Add("r1", "x1", `{"type":"event","id":"e1"}`, cancels)
	f.Add("r\x00", "", `null`, `{"oneOf":[null,{"cancelTriggers":1}]}`)
	f.Add("", "x\x00", `[]`, `"`)
	bench := newRunsBench(f)
	f.Fuzz(func(t *testing.T, run, id, trigger, wait string) {
		for _, text := range []*string{&run, &id, &trigger, &wait} {
			*text = strings.ToValidUTF8(*text, "") // the log holds JSON
		}
		b := bench.fresh(t)
		b.record(run,
			activity.TreeStarted{ExecutionID: id, Automation: wait, Trigger: activity.Trigger{Type: activity.ByEvent, ID: trigger}, StartedAt: wait},
			activity.WaitPending{ID: id, ExecutionID: id, ExpiresAt: trigger, Wait: rawOr(wait)},
			activity.Executed{ExecutionID: id, Slug: id, Trigger: json.RawMessage(trigger), StartedAt: trigger, Recorded: trigger},
			activity.Executed{ExecutionID: id, ParentExecutionID: id, Slug: id, Trigger: rawOr(trigger)},
			activity.WaitFulfilled{ID: id})
		b.isWhole()
		b.drop(b.seq)
		require.Empty(t, b.rows())
	})
}

// rawOr is text that is JSON, or nothing: the log holds nothing else.
func rawOr(text string) json.RawMessage {
	if !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// isPending reports whether something stands in a wait.
func (b *runsBench) isPending(wait string) (stands bool) {
	b.t.Helper()
	b.view(func(r Reader) (err error) {
		stands, err = Runs{}.Pending(r, "w1", wait)
		return err
	})
	return stands
}

// However many trees of one run wait, each is found with the same work.
func TestATreeIsFoundWithoutLookingAtTheOthersOfItsRun(t *testing.T) { // allocations are counted: by itself
	work := func(n int, find func(b *runsBench)) float64 {
		b := newRunsBench(t)
		for i := range n {
			id := fmt.Sprintf("x%05d", i)
			b.record("r1", started(id, "pay", byEvent(id), 0), pendingWait("p"+id, id, `{}`))
		}
		least := math.Inf(1) // the store may be busy with something of its own meanwhile
		for range 10 {
			least = min(least, testing.AllocsPerRun(3, func() { find(b) }))
		}
		return least
	}
	every := func(b *runsBench) { require.NotEmpty(t, b.unfinished()) }
	require.Less(t, work(1000, every), 6*work(250, every), "of four times as many")
	one := func(b *runsBench) {
		b.view(func(r Reader) error {
			tree, open, err := Runs{}.Triggered(r, "w1", "x00007", "pay")
			require.True(t, open)
			require.Equal(t, "x00007", tree.ExecutionID)
			return err
		})
	}
	require.Less(t, work(1000, one), 1.5*work(250, one))
}

func TestOnlyTreesOfWorkspacesThatAreWantedAreRead(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.record("r1", started("x1", "pay", endpoint, 0))
	for workspace, found := range map[string]int{"w1": 1, "w2": 0} {
		b.view(func(r Reader) error {
			n := 0
			defer func() { require.Equal(t, found, n) }()
			return Runs{}.UnfinishedIn(r, func(id string) bool { return id == workspace }, func(UnfinishedTree) bool { n++; return true })
		})
	}
}

func TestATreeIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.record("r1", started("x1", "pay", endpoint, 0), started("x2", "mail", byEvent("e1"), 1))
	var trees []UnfinishedTree
	b.view(func(r Reader) error {
		return Runs{}.Unfinished(r, func(tree UnfinishedTree) bool { trees = append(trees, tree); return true })
	})
	require.Len(t, trees, 2)
	again := started("x3", "mail", byEvent("e1"), 9)
	again.Attempt, again.Replica = 2, "n2"
	b.record("r1", again, done("x1", "pay", endpoint, 0))
	b.view(func(r Reader) error {
		mail, open, err := Runs{}.Refresh(r, trees[0])
		require.NoError(t, err)
		require.True(t, open)
		require.Equal(t, []any{"x3", "n2", 2}, []any{mail.ExecutionID, mail.Replica, mail.Attempt})
		_, open, err = Runs{}.Refresh(r, trees[1])
		require.False(t, open)
		return err
	})
}

// Whether a tree stands in its waits says nothing of the others of its run.
func TestAWaitIsPendingUntilItIsOver(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.record("r1", started("x1", "pay", endpoint, 0), pendingWait("p1", "x1", `{}`), pendingWait("p2", "x1", cancels))
	b.record("r1", started("x2", "mail", byEvent("e1"), 1), pendingWait("p3", "x2", cancels))
	require.Equal(t, []bool{true, true, true, false}, []bool{b.isPending("p1"), b.isPending("p2"), b.isPending("p3"), b.isPending("p4")})
	b.record("r1", activity.WaitFulfilled{ID: "p1"}, activity.WaitExpired{ID: "p2"})
	require.Equal(t, []bool{false, false, true}, []bool{b.isPending("p1"), b.isPending("p2"), b.isPending("p3")})
	b.record("r1", done("x2", "mail", byEvent("e1"), 1))
	require.False(t, b.isPending("p3"), "with the execution that stood in it")
}
