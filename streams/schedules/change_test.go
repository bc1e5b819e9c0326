package schedules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/domain/workspace"
)

// told is what a test asks of a registration.
type told struct {
	Slug  string
	Crons []string
}

// tells returns the registrations of a workspace from the n-th on, once there are so
// many.
func (h *house) tells(workspaceID string, from, n int) (all []told) {
	h.t.Helper()
	for _, e := range h.registers(workspaceID, n)[from:] {
		all = append(all, told{e.Slug, e.Schedules})
	}
	return all
}

func TestWhatChangesIsRegisteredAgain(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"), doc("idle", `"do":[]`))
	h.first.fire()
	h.registers("w1", 1)
	stream := workspace.Stream("w1")
	h.add(stream, workspace.AutomationUpdated{Entry: doc("tick", `"when":{"schedules":["*/5 * * * *"]},"do":[{"set":{"name":"x","value":1}}]`)})
	require.Equal(t, []told{{"tick", []string{"*/5 * * * *"}}}, h.tells("w1", 1, 2), "the same again")
	renamed := every("tock", "*/5 * * * *")
	renamed.From = "automations/tick"
	h.add(stream, workspace.AutomationUpdated{Entry: renamed})
	require.Equal(t, []told{{"tock", []string{"*/5 * * * *"}}, {"tick", []string{}}}, h.tells("w1", 2, 4))
	h.clock.set(at(5, 0))
	require.Equal(t, []fired{{"tock", "*/5 * * * *", stamp(at(5, 0)), false}}, h.fires("w1", 1))
	h.add(stream, workspace.AutomationUpdated{Entry: doc("tock", `"disabled":true,"when":{"schedules":["*/5 * * * *"]},"do":[]`)})
	require.Equal(t, []told{{"tock", []string{}}}, h.tells("w1", 4, 5))
	h.add(stream, workspace.AutomationCreated{Entry: every("mine", "*/10 * * * *", "*/10 * * * *")})
	require.Equal(t, []told{{"mine", []string{"*/10 * * * *"}}}, h.tells("w1", 5, 6), "twice the same is once")
	h.clock.set(at(10, 0))
	require.Equal(t, fired{"mine", "*/10 * * * *", stamp(at(10, 0)), false}, h.fires("w1", 2)[1])
	h.add(stream, workspace.AutomationDeleted{Slug: "mine"})
	require.Equal(t, []told{{"mine", []string{}}}, h.tells("w1", 6, 7))
	h.add(stream, workspace.AutomationCreated{Entry: every("last", "*/3 * * * *")})
	h.registers("w1", 8)
	h.clock.set(at(12, 0))
	require.Len(t, h.fires("w1", 3), 3)
	cause := h.events("w1", "runtime.schedules.created")[7].Meta
	require.Equal(t, "u1", cause.UserID)
	require.Equal(t, "c1", cause.CorrelationID)
}

func TestADeletedWorkspaceFiresNothingUntilItIsBack(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"))
	h.create("w2", every("tock", "* * * * *"))
	h.first.fire()
	h.registers("w1", 1)
	h.registers("w2", 1)
	h.add(workspace.Stream("w1"), workspace.Deleted{ID: "w1", DeletedAt: time.Now(), RestorableUntil: h.clock.now().Add(time.Hour)})
	h.create("w3", every("later", "0 0 1 1 *")) // who knows of this one knows that w1 is deleted
	h.registers("w3", 1)
	h.clock.set(at(5, 0))
	h.fires("w2", 1)
	h.clock.set(at(6, 0))
	h.fires("w2", 2)
	require.Empty(t, h.firings("w1"))
	require.Len(t, h.registers("w1", 1), 1, "whoever reads a deleted workspace")
	h.add(workspace.Stream("w1"), workspace.Undeleted{ID: "w1"})
	h.registers("w1", 2)
	h.clock.set(at(10, 0))
	require.Equal(t, fired{"tick", "*/5 * * * *", stamp(at(10, 0)), false}, h.fires("w1", 1)[len(h.firings("w1"))-1])
}

func TestAnImportedScheduleThatIsNoneIsToldOnce(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1)
	h.first.fire()
	h.add(workspace.Stream("w1"), workspace.Imported{Switch: workspace.Switch{Entries: []workspace.Entry{
		every("bad", "0 */5 * * * *"), every("mixed", "*/5 * * * *", "nonsense", "@often"), every("good", "*/5 * * * *"),
		doc("off", `"disabled":true,"when":{"schedules":["nonsense"]},"do":[]`),
	}}})
	require.ElementsMatch(t, []told{{"good", []string{"*/5 * * * *"}}, {"mixed", []string{"*/5 * * * *"}}}, h.tells("w1", 0, 2))
	faults := func() (all []activity.Failure) {
		for _, ev := range h.events("w1", "error") {
			f, ok := ev.Data.(activity.Failure)
			require.True(t, ok)
			all = append(all, f)
		}
		return all
	}
	require.Eventually(t, func() bool { return len(faults()) == 3 }, patience, tick)
	require.Equal(t, "InvalidScheduleError", faults()[0].Error)
	require.Equal(t, map[string]any{"automation": "bad", "field": "when.schedules[0]", "schedule": "0 */5 * * * *"}, faults()[0].Details)
	h.clock.set(at(5, 0))
	h.fires("w1", 2)
	h.add(workspace.Stream("w1"), workspace.AutomationUpdated{Entry: every("good", "*/6 * * * *")})
	h.registers("w1", 3)
	h.first.shut()
	h.first.restart()
	h.first.fire()
	h.clock.set(at(6, 0))
	h.fires("w1", 3)
	require.Len(t, faults(), 3)
}

func TestWhatAppsBringFiresInTheirInstances(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1)
	h.create("inner", every("deep", "*/5 * * * *"))
	h.publish("inner", "inner")
	h.create("maker", every("tick", "*/5 * * * *"), doc("hidden", `"private":true,"when":{"schedules":["*/5 * * * *"]},"do":[]`), instance("in", "inner"))
	h.publish("clock", "maker")
	h.first.fire()
	h.add(workspace.Stream("w1"), workspace.Installed{Entry: instance("mine", "clock")})
	require.Equal(t, []told{{"mine.in.deep", []string{"*/5 * * * *"}}, {"mine.tick", []string{"*/5 * * * *"}}}, h.tells("w1", 0, 2))
	h.clock.set(at(5, 0))
	require.ElementsMatch(t, []fired{{"mine.in.deep", "*/5 * * * *", stamp(at(5, 0)), false}, {"mine.tick", "*/5 * * * *", stamp(at(5, 0)), false}}, h.fires("w1", 2))
	ev := h.events("w1", "runtime.schedules.triggered")[0]
	require.NotEmpty(t, ev.Meta.AppInstance)
	require.NotEqual(t, domain.Meta{}, ev.Meta)

	h.add(workspace.Stream("w1"), workspace.InstanceConfigured{Entry: instance("mine", "clock")})
	require.Len(t, h.tells("w1", 2, 4), 2, "configured")
	h.add(workspace.Stream("inner"), workspace.AutomationUpdated{Entry: every("deep", "*/6 * * * *")})
	h.publish("inner", "inner")
	require.Equal(t, []told{{"mine.in.deep", []string{"*/6 * * * *"}}}, h.tells("w1", 4, 5), "of the app in the app")
	h.clock.set(at(6, 0))
	require.Equal(t, fired{"mine.in.deep", "*/6 * * * *", stamp(at(6, 0)), false}, h.fires("w1", 3)[2])
	h.add(workspace.Stream("w1"), workspace.Uninstalled{Slug: "mine"})
	require.Equal(t, []told{{"mine.in.deep", []string{}}, {"mine.tick", []string{}}}, h.tells("w1", 5, 7))
	h.add(workspace.Stream("w1"), workspace.AutomationCreated{Entry: every("own", "* * * * *")})
	h.registers("w1", 8)
	h.clock.set(at(12, 0))
	require.Len(t, h.fires("w1", 4), 4)
}

func TestSchedulesFollowTheClocksOfTheirZone(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	year := time.Now().Year() + 1
	for name, of := range map[string]struct {
		month  time.Month
		wanted []string // of 30 2 * * *, in UTC
	}{
		"an hour that is skipped":  {time.March, []string{"01:00"}},
		"an hour that comes twice": {time.October, []string{"00:30"}},
		"a day with all its hours": {time.June, []string{"00:30"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			h.zone.Store(berlin)
			day := time.Date(year, of.month+1, 0, 0, 0, 0, 0, time.UTC)
			for day.Weekday() != time.Sunday {
				day = day.AddDate(0, 0, -1)
			}
			midnight := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, berlin)
			h.clock.set(midnight)
			h.create("w1", every("night", "30 2 * * *"), every("end", "0 5 * * *"))
			h.first.fire()
			h.registers("w1", 2)
			until := time.Date(day.Year(), day.Month(), day.Day(), 5, 0, 0, 0, berlin)
			for now := midnight; !now.After(until); now = now.Add(30 * time.Minute) {
				h.passes(now)
			}
			require.Eventually(t, func() bool { return len(h.firings("w1")) > len(of.wanted) }, patience, tick)
			var times []string
			for _, f := range h.firings("w1") {
				if f.Automation == "night" {
					at, err := time.Parse(time.RFC3339, f.At)
					require.NoError(t, err)
					times = append(times, at.UTC().Format("15:04"))
				}
			}
			require.Equal(t, of.wanted, times)
		})
	}
}

func TestTheZoneOfSchedulesMayChange(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("noon", "0 12 * * *"))
	h.first.fire()
	h.registers("w1", 1)
	h.passes(at(2, 0))
	h.zone.Store(time.FixedZone("east", 3600)) // where noon is an hour earlier
	h.passes(at(3, 0))
	h.clock.set(at(60, 0))
	require.Equal(t, []fired{{"noon", "0 12 * * *", stamp(at(60, 0)), false}}, h.fires("w1", 1))
	h.passes(at(120, 0))
	require.Len(t, h.firings("w1"), 1)
}

// passes sets the clock and waits until it was looked at.
func (h *house) passes(now time.Time) {
	h.t.Helper()
	before := h.clock.looks.Load()
	h.clock.set(now)
	require.Eventually(h.t, func() bool { return h.clock.looks.Load() > before+1 }, patience, tick)
}
