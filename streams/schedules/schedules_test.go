package schedules_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/domain/activity"
	"svc/domain/workspace"
)

// clocked opens a house with a workspace w1, at some minutes past ten.
func clocked(t testing.TB, minute int, entries ...workspace.Entry) (h *house, at func(minute, second int) time.Time) {
	t.Helper()
	h = open(t)
	base := h.clock.now().Add(10 * time.Hour)
	at = func(minute, second int) time.Time {
		return base.Add(time.Duration(minute)*time.Minute + time.Duration(second)*time.Second)
	}
	h.clock.set(at(minute, 0))
	h.create("w1", entries...)
	return h, at
}

func TestAScheduleFiresWhenItsTimeComes(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, doc("tick", `"when":{"schedules":["*/5 * * * *"]},"do":[{"set":{"name":"x","value":"{{run.trigger.type}}"}}],"output":{"x":"{{x}}","session":"{{session.id}}"}`))
	h.first.fire()
	told := h.registers("w1", 1)
	require.Equal(t, []activity.Scheduled{{
		Slug: "tick", Schedules: []string{"*/5 * * * *"}, Details: []activity.NextFiring{{Cron: "*/5 * * * *", Next: stamp(at(5, 0))}},
	}}, told)
	require.Empty(t, h.firings("w1"))
	h.clock.set(at(5, 0))
	require.Equal(t, []fired{{"tick", "*/5 * * * *", stamp(at(5, 0)), false}}, h.fires("w1", 1))
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 1 }, patience, tick)

	ev, done := h.events("w1", "runtime.schedules.triggered")[0], h.events("w1", "runtime.automations.executed")[0]
	id, err := ulid.Parse(ev.ID)
	require.NoError(t, err)
	require.Equal(t, at(5, 0), ulid.Time(id.Time()).UTC())
	require.NotEmpty(t, ev.Meta.CorrelationID)
	require.Equal(t, ev.Meta.CorrelationID, ev.Meta.SessionID)
	require.Empty(t, ev.Meta.UserID)
	require.Equal(t, ev.Meta.CorrelationID, done.Meta.CorrelationID)
	require.Equal(t, ev.Meta.SessionID, done.Meta.SessionID)
	require.Equal(t, 1, done.Meta.AutomationDepth)
	var trigger activity.Trigger
	require.NoError(t, json.Unmarshal(h.executions("w1")[0].Trigger, &trigger))
	require.Equal(t, activity.Trigger{Type: activity.BySchedule, Value: "*/5 * * * *", ID: ev.ID}, trigger)
	require.Len(t, h.events("w1", "runtime.interactions.triggered"), 1)

	h.clock.set(at(10, 0))
	require.Equal(t, fired{"tick", "*/5 * * * *", stamp(at(10, 0)), false}, h.fires("w1", 2)[1])
}

func TestWhatWasMissedIsMadeUpForOnce(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *", "0 9 * * *"), every("other", "*/10 * * * *"))
	h.first.fire()
	h.registers("w1", 2)
	h.first.shut()
	h.clock.set(at(18, 0))
	h.first.restart()
	h.first.fire()
	require.ElementsMatch(t, []fired{
		{"tick", "*/5 * * * *", stamp(at(15, 0)), true},
		{"other", "*/10 * * * *", stamp(at(10, 0)), true},
	}, h.fires("w1", 2))
	h.clock.set(at(20, 0))
	all := h.fires("w1", 4)
	require.ElementsMatch(t, []fired{{"tick", "*/5 * * * *", stamp(at(20, 0)), false}, {"other", "*/10 * * * *", stamp(at(20, 0)), false}}, all[2:])
	require.Len(t, h.registers("w1", 2), 2, "a restart registers nothing again")
}

func TestAScheduleThatIsNewDoesNotFireForTimesBeforeIt(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"))
	h.first.fire()
	h.registers("w1", 1)
	h.add(workspace.Stream("w1"), workspace.AutomationUpdated{Entry: every("tick", "*/7 * * * *")})
	require.Equal(t, []string{"*/7 * * * *"}, h.registers("w1", 2)[1].Schedules)
	h.clock.set(at(5, 0))
	h.add(workspace.Stream("w1"), workspace.AutomationCreated{Entry: every("also", "* * * * *")})
	h.registers("w1", 3)
	h.clock.set(at(7, 0))
	require.ElementsMatch(t, []fired{{"tick", "*/7 * * * *", stamp(at(7, 0)), false}, {"also", "* * * * *", stamp(at(7, 0)), false}}, h.last2("w1"))
}

// last2 waits for the firings of the last time, when two fired together.
func (h *house) last2(workspaceID string) []fired {
	h.t.Helper()
	var found []fired
	require.Eventually(h.t, func() bool {
		found = nil
		for _, f := range h.firings(workspaceID) {
			if f.At == stamp(h.clock.now()) {
				found = append(found, f)
			}
		}
		return len(found) == 2
	}, patience, tick)
	return found
}

func TestEachTimeFiresOnceHoweverManyNodesLook(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "* * * * *"))
	second := h.node()
	h.first.fire() // neither knows of the other
	second.fire()
	h.registers("w1", 1)
	for minute := 2; minute <= 6; minute++ {
		h.clock.set(at(minute, 0))
		require.Len(t, h.fires("w1", minute-1), minute-1)
	}
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 5 }, patience, tick)
	h.first.shut()
	second.shut()
	require.Len(t, h.firings("w1"), 5)
	require.Len(t, h.executions("w1"), 5)
	require.Len(t, h.registers("w1", 1), 1)
}

func TestAClockThatIsPutBackFiresNothingTwice(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"))
	h.first.fire()
	h.registers("w1", 1)
	h.clock.set(at(5, 0))
	h.fires("w1", 1)
	h.clock.set(at(10, 0))
	h.fires("w1", 2)
	h.clock.set(at(4, 0)) // and what comes again was there before
	require.Never(t, func() bool { return len(h.firings("w1")) > 2 }, 600*time.Millisecond, tick)
	h.clock.set(at(10, 30))
	require.Never(t, func() bool { return len(h.firings("w1")) > 2 }, 600*time.Millisecond, tick)
	h.clock.set(at(15, 0))
	require.Equal(t, fired{"tick", "*/5 * * * *", stamp(at(15, 0)), false}, h.fires("w1", 3)[2])
	h.clock.set(at(59, 0)) // a leap forward
	require.Equal(t, fired{"tick", "*/5 * * * *", stamp(at(55, 0)), true}, h.fires("w1", 4)[3])
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 4 }, patience, tick)
}
