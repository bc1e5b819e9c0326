package projections

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"svc/domain"
	"svc/domain/activity"
)

func TestUnfinishedTreesAreKnown(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.happens("r1", started("x1", "pay", endpoint, 0), started("x2", "mail", byEvent("e1"), 1), pendingWait("p1", "x2", `{}`))
	b.happens("r2", started("x3", "pay", endpoint, 2), done("x3", "pay", endpoint, 2), done("x4", "mail", byEvent("e2"), 3))
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
	b.happens("r1", done("x1", "pay", endpoint, 0), activity.WaitExpired{ID: "p1"}, done("x2", "mail", byEvent("e1"), 1))
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
	b.happens("r1", done("x1", "pay", endpoint, 0), started("x2", "mail", byEvent("e1"), 1))
	b.happens("r1", started("x3", "log", byEvent("e1"), 1))
	again := started("x4", "mail", byEvent("e1"), 9)
	again.Attempt, again.Replica = 2, "n2"
	b.happens("r1", again)
	attempts, ended = b.ended("e1", "mail")
	require.Equal(t, 2, attempts)
	require.False(t, ended)
	trees := b.unfinished()
	require.Len(t, trees, 2)
	require.Equal(t, "x3", trees[0].ExecutionID)
	require.Equal(t, "x4", trees[1].ExecutionID)
	require.Equal(t, 2, trees[1].Attempt)
	require.Equal(t, "n2", trees[1].Replica)

	b.happens("r1", done("x4", "mail", byEvent("e1"), 9), done("x3", "log", byEvent("e1"), 1))
	attempts, ended = b.ended("e1", "mail")
	require.Equal(t, 2, attempts)
	require.True(t, ended)
	require.Equal(t, RunSucceeded, b.run("r1").Status)
	require.Equal(t, 3, b.run("r1").Executions)
	attempts, ended = b.ended("e2", "mail")
	require.Zero(t, attempts)
	require.False(t, ended)
	b.happens("r1", done("x5", "mail", activity.Trigger{Type: activity.BySchedule, Value: "@daily", ID: "e2"}, 9))
	attempts, ended = b.ended("e2", "mail")
	require.Equal(t, 1, attempts, "it was over at once")
	require.True(t, ended)
	b.isWhole()
}

// An event that belongs to no run starts a run of its own each time.
func TestATreeThatIsBegunAgainMayBeOfAnotherRun(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.happens("r1", started("x1", "mail", byEvent("e1"), 0))
	b.happens("r2", started("x2", "mail", byEvent("e1"), 9))
	require.Equal(t, []ListedRun{{"r2", RunRunning}}, b.listed(RunsQuery{}))
	require.Equal(t, map[RunStatus]int{RunRunning: 1, "": 1}, b.counts(""))
	b.isWhole()
	b.drops(1)
	b.isWhole()
	b.happens("r2", done("x2", "mail", byEvent("e1"), 9))
	require.Equal(t, RunSucceeded, b.run("r2").Status)
	b.isWhole()
}

func TestWaitsThatKeepEventsFromStartingAnything(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	b.happens("r1", started("x1", "pay", endpoint, 0), pendingWait("plain", "x1", `{"oneOf":[{"event":"a","cancelTriggers":false}]}`))
	begun := b.happens("r1", pendingWait("p1", "x1", cancels))
	b.happens("r1", pendingWait("p2", "x1", cancels), pendingWait("odd", "x1", `{"oneOf":7}`), pendingWait("none", "x1", ``))
	found := b.cancelling(b.seq)
	require.Len(t, found, 2)
	require.Equal(t, CancellingWait{
		ID: "p1", CorrelationID: "r1", ExecutionID: "x1", Seq: begun, At: begins.Add(3 * time.Second), ExpiresAt: begins.Add(600 * time.Second),
		Wait: json.RawMessage(cancels),
	}, found["p1"])
	over := b.happens("r1", activity.WaitFulfilled{ID: "p1"})
	b.happens("r1", activity.WaitExpired{ID: "p1"}, activity.WaitExpired{ID: "nobody's"})
	require.Equal(t, over, b.cancelling(over)["p1"].EndSeq)
	require.Equal(t, begins.Add(time.Duration(over)*time.Second), b.cancelling(over)["p1"].EndAt)
	require.NotContains(t, b.cancelling(over+1), "p1")
	require.Contains(t, b.cancelling(over+1), "p2")
	stopped := b.happens("r1", done("x1", "pay", endpoint, 0))
	require.Equal(t, stopped, b.cancelling(stopped)["p2"].EndSeq, "with the execution that stood in it")
	require.Empty(t, b.cancelling(stopped+1))
	b.isWhole()
	b.drops(begun)
	require.Len(t, b.cancelling(0), 1)
	b.isWhole()
	b.drops(b.seq)
	require.Empty(t, b.rows())
}

func TestWhatIsErasedOfARunIsForgotten(t *testing.T) {
	t.Parallel()
	b := newRunsBench(t)
	first := b.happens("r1", done("x1", "pay", endpoint, 0))
	called := b.happens("r1", within(recordedAs(done("x3", "sub", endpoint, 40), true), "x2"))
	b.happens("r1", done("x2", "mail", byEvent("e1"), 50))
	b.drops(first)
	run := b.run("r1")
	require.Equal(t, "mail", run.Automation)
	require.Equal(t, begins.Add(50*time.Second), run.StartedAt)
	require.Equal(t, 2, run.Executions)
	require.Equal(t, true, run.Recorded)
	require.Empty(t, b.listed(RunsQuery{Automation: "pay"}))
	b.isWhole()
	b.drops(called)
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
			b.happens(name("r"), ev)
		}
		b.isWhole()
		b.drops(b.seq)
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
		b.happens(run,
			activity.TreeStarted{ExecutionID: id, Automation: wait, Trigger: activity.Trigger{Type: activity.ByEvent, ID: trigger}, StartedAt: wait},
			activity.WaitPending{ID: id, ExecutionID: id, ExpiresAt: trigger, Wait: rawOr(wait)},
			activity.Executed{ExecutionID: id, Slug: id, Trigger: json.RawMessage(trigger), StartedAt: trigger, Recorded: trigger},
			activity.Executed{ExecutionID: id, ParentExecutionID: id, Slug: id, Trigger: rawOr(trigger)},
			activity.WaitFulfilled{ID: id})
		b.isWhole()
		b.drops(b.seq)
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
