package schedules_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/commands/content"
	"svc/commands/programs"
	"svc/domain"
	"svc/domain/activity"
	"svc/domain/automation/redact"
	"svc/domain/document"
	"svc/domain/workspace"
	"svc/eventstore/jetstream"
	"svc/projections"
	"svc/streams"
)

// clocked opens a fixture with a workspace w1, at some minutes past ten.
func clocked(t testing.TB, minute int, entries ...workspace.Entry) (h *fixture, at func(minute, second int) time.Time) {
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
	told := h.awaitScheduled("w1", 1)
	require.Equal(t, []activity.Scheduled{{
		Slug: "tick", Schedules: []string{"*/5 * * * *"}, Details: []activity.NextFiring{{Cron: "*/5 * * * *", Next: domain.FormatTime(at(5, 0))}},
	}}, told)
	require.Empty(t, h.firings("w1"))
	h.clock.set(at(5, 0))
	require.Equal(t, []fired{{"tick", "*/5 * * * *", domain.FormatTime(at(5, 0)), false}}, h.awaitFirings("w1", 1))
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
	require.Equal(t, fired{"tick", "*/5 * * * *", domain.FormatTime(at(10, 0)), false}, h.awaitFirings("w1", 2)[1])
}

func TestWhatWasMissedIsMadeUpForOnce(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *", "0 9 * * *"), every("other", "*/10 * * * *"))
	h.first.fire()
	h.awaitScheduled("w1", 2)
	h.first.stopNode()
	h.clock.set(at(18, 0))
	h.first.restart()
	h.first.fire()
	require.ElementsMatch(t, []fired{
		{"tick", "*/5 * * * *", domain.FormatTime(at(15, 0)), true},
		{"other", "*/10 * * * *", domain.FormatTime(at(10, 0)), true},
	}, h.awaitFirings("w1", 2))
	h.clock.set(at(20, 0))
	all := h.awaitFirings("w1", 4)
	require.ElementsMatch(t, []fired{{"tick", "*/5 * * * *", domain.FormatTime(at(20, 0)), false}, {"other", "*/10 * * * *", domain.FormatTime(at(20, 0)), false}}, all[2:])
	require.Len(t, h.awaitScheduled("w1", 2), 2, "a restart registers nothing again")
}

func TestAScheduleThatIsNewDoesNotFireForTimesBeforeIt(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"))
	h.first.fire()
	h.awaitScheduled("w1", 1)
	h.add(workspace.Stream("w1"), workspace.AutomationUpdated{Entry: every("tick", "*/7 * * * *")})
	require.Equal(t, []string{"*/7 * * * *"}, h.awaitScheduled("w1", 2)[1].Schedules)
	h.clock.set(at(5, 0))
	h.add(workspace.Stream("w1"), workspace.AutomationCreated{Entry: every("also", "* * * * *")})
	h.awaitScheduled("w1", 3)
	h.clock.set(at(7, 0))
	require.ElementsMatch(t, []fired{{"tick", "*/7 * * * *", domain.FormatTime(at(7, 0)), false}, {"also", "* * * * *", domain.FormatTime(at(7, 0)), false}}, h.last2("w1"))
}

// last2 waits for the firings of the last time, when two fired together.
func (h *fixture) last2(workspaceID string) []fired {
	h.t.Helper()
	var found []fired
	require.Eventually(h.t, func() bool {
		found = nil
		for _, f := range h.firings(workspaceID) {
			if f.At == domain.FormatTime(h.clock.now()) {
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
	h.awaitScheduled("w1", 1)
	for minute := 2; minute <= 6; minute++ {
		h.clock.set(at(minute, 0))
		require.Len(t, h.awaitFirings("w1", minute-1), minute-1)
	}
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 5 }, patience, tick)
	h.first.stopNode()
	second.stopNode()
	require.Len(t, h.firings("w1"), 5)
	require.Len(t, h.executions("w1"), 5)
	require.Len(t, h.awaitScheduled("w1", 1), 1)
}

func TestAClockThatIsPutBackFiresNothingTwice(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"))
	h.first.fire()
	h.awaitScheduled("w1", 1)
	h.clock.set(at(5, 0))
	h.awaitFirings("w1", 1)
	h.clock.set(at(10, 0))
	h.awaitFirings("w1", 2)
	h.clock.set(at(4, 0)) // and what comes again was there before
	require.Never(t, func() bool { return len(h.firings("w1")) > 2 }, 600*time.Millisecond, tick)
	h.clock.set(at(10, 30))
	require.Never(t, func() bool { return len(h.firings("w1")) > 2 }, 600*time.Millisecond, tick)
	h.clock.set(at(15, 0))
	require.Equal(t, fired{"tick", "*/5 * * * *", domain.FormatTime(at(15, 0)), false}, h.awaitFirings("w1", 3)[2])
	h.clock.set(at(59, 0)) // a leap forward
	require.Equal(t, fired{"tick", "*/5 * * * *", domain.FormatTime(at(55, 0)), true}, h.awaitFirings("w1", 4)[3])
	require.Eventually(t, func() bool { return len(h.executions("w1")) == 4 }, patience, tick)
}

// events returns the activity of a workspace of a type, as the log has it.
func (h *fixture) events(workspaceID, eventType string) (all []domain.Recorded) {
	h.t.Helper()
	seqs := h.sequences(workspaceID, eventType)
	if len(seqs) == 0 {
		return nil
	}
	all, err := h.store.Log.Reread(h.t.Context(), domain.Activity, seqs)
	require.NoError(h.t, err)
	return all
}

// sequences returns where the activity of a workspace of a type is.
func (h *fixture) sequences(workspaceID, eventType string) (seqs []uint64) {
	h.t.Helper()
	among := projections.FeedSelection{List: projections.ByType, Text: eventType}
	require.NoError(h.t, h.first.models.View(func(r projections.Reader) error {
		return projections.FeedOf(domain.Activity).List(r, workspaceID, among, 0, false, func(e projections.FeedEntry) bool {
			seqs = append(seqs, e.Seq)
			return true
		})
	}))
	return seqs
}

// fired is what a test asks of a firing.
type fired struct {
	Automation, Cron, At string
	Late                 bool
}

// firings returns what fired in a workspace.
func (h *fixture) firings(workspaceID string) (all []fired) {
	h.t.Helper()
	for _, ev := range h.events(workspaceID, "runtime.schedules.triggered") {
		e, ok := ev.Data.(activity.ScheduleFired)
		require.True(h.t, ok)
		all = append(all, fired{e.Automation, e.Trigger.Value, e.ScheduledAt, e.Late})
	}
	return all
}

// awaitFirings waits until n firings of a workspace are recorded.
func (h *fixture) awaitFirings(workspaceID string, n int) []fired {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return len(h.firings(workspaceID)) >= n }, patience, tick)
	return h.firings(workspaceID)
}

// executions returns the executions of a workspace.
func (h *fixture) executions(workspaceID string) (all []activity.Executed) {
	h.t.Helper()
	for _, ev := range h.events(workspaceID, "runtime.automations.executed") {
		e, ok := ev.Data.(activity.Executed)
		require.True(h.t, ok)
		all = append(all, e)
	}
	return all
}

// awaitScheduled waits until a workspace has so many registrations, and returns them.
func (h *fixture) awaitScheduled(workspaceID string, n int) (all []activity.Scheduled) {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return len(h.sequences(workspaceID, "runtime.schedules.created")) >= n }, patience, tick)
	for _, ev := range h.events(workspaceID, "runtime.schedules.created") {
		e, ok := ev.Data.(activity.Scheduled)
		require.True(h.t, ok)
		all = append(all, e)
	}
	return all
}

// registeredSchedules is what a test asks of a registration.
type registeredSchedules struct {
	Slug  string
	Crons []string
}

// awaitRegistrations returns the registrations of a workspace from the n-th on, once there are so
// many.
func (h *fixture) awaitRegistrations(workspaceID string, from, n int) (all []registeredSchedules) {
	h.t.Helper()
	for _, e := range h.awaitScheduled(workspaceID, n)[from:] {
		all = append(all, registeredSchedules{e.Slug, e.Schedules})
	}
	return all
}

func TestWhatChangesIsRegisteredAgain(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"), doc("idle", `"do":[]`))
	h.first.fire()
	h.awaitScheduled("w1", 1)
	stream := workspace.Stream("w1")
	h.add(stream, workspace.AutomationUpdated{Entry: doc("tick", `"when":{"schedules":["*/5 * * * *"]},"do":[{"set":{"name":"x","value":1}}]`)})
	require.Equal(t, []registeredSchedules{{"tick", []string{"*/5 * * * *"}}}, h.awaitRegistrations("w1", 1, 2), "the same again")
	renamed := every("tock", "*/5 * * * *")
	renamed.From = "automations/tick"
	h.add(stream, workspace.AutomationUpdated{Entry: renamed})
	require.Equal(t, []registeredSchedules{{"tock", []string{"*/5 * * * *"}}, {"tick", []string{}}}, h.awaitRegistrations("w1", 2, 4))
	h.clock.set(at(5, 0))
	require.Equal(t, []fired{{"tock", "*/5 * * * *", domain.FormatTime(at(5, 0)), false}}, h.awaitFirings("w1", 1))
	h.add(stream, workspace.AutomationUpdated{Entry: doc("tock", `"disabled":true,"when":{"schedules":["*/5 * * * *"]},"do":[]`)})
	require.Equal(t, []registeredSchedules{{"tock", []string{}}}, h.awaitRegistrations("w1", 4, 5))
	h.add(stream, workspace.AutomationCreated{Entry: every("mine", "*/10 * * * *", "*/10 * * * *")})
	require.Equal(t, []registeredSchedules{{"mine", []string{"*/10 * * * *"}}}, h.awaitRegistrations("w1", 5, 6), "twice the same is once")
	h.clock.set(at(10, 0))
	require.Equal(t, fired{"mine", "*/10 * * * *", domain.FormatTime(at(10, 0)), false}, h.awaitFirings("w1", 2)[1])
	h.add(stream, workspace.AutomationDeleted{Slug: "mine"})
	require.Equal(t, []registeredSchedules{{"mine", []string{}}}, h.awaitRegistrations("w1", 6, 7))
	h.add(stream, workspace.AutomationCreated{Entry: every("last", "*/3 * * * *")})
	h.awaitScheduled("w1", 8)
	h.clock.set(at(12, 0))
	require.Len(t, h.awaitFirings("w1", 3), 3)
	cause := h.events("w1", "runtime.schedules.created")[7].Meta
	require.Equal(t, "u1", cause.UserID)
	require.Equal(t, "c1", cause.CorrelationID)
}

// countedWrites is a bucket that counts what is written to it about schedules.
type countedWrites struct {
	*jetstream.Bucket
	mu    sync.Mutex
	keys  []string
	bytes int
	fail  func(key string) bool // nil: none
}

func (c *countedWrites) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := c.count(key, len(value)); err != nil {
		return 0, err
	}
	return c.Bucket.Put(ctx, key, value)
}

func (c *countedWrites) Delete(ctx context.Context, key string) error {
	if err := c.count(key, 0); err != nil {
		return err
	}
	return c.Bucket.Delete(ctx, key)
}

func (c *countedWrites) count(key string, size int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.HasPrefix(key, "share/") {
		return nil
	}
	c.keys, c.bytes = append(c.keys, key), c.bytes+size
	if c.fail != nil && c.fail(key) {
		return errors.New("the bucket is not there")
	}
	return nil
}

// reset returns how many writes and bytes there were, and begins to count anew.
func (c *countedWrites) reset() (keys, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys, bytes = len(c.keys), c.bytes
	c.keys, c.bytes = nil, 0
	return keys, bytes
}

func TestARegistrationWritesWhatChanged(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1)
	writes := &countedWrites{Bucket: h.memory}
	h.first.bucket = writes
	entries := make([]workspace.Entry, 300)
	for i := range entries {
		entries[i] = every(fmt.Sprintf("tick-%d", i), "0 0 1 1 *")
	}
	h.create("large", entries...)
	h.first.fire()
	h.awaitScheduled("large", 300)
	h.create("w2", every("first", "0 0 1 1 *")) // once this is registered, all of large is stored
	h.awaitScheduled("w2", 1)
	settle := func(n int) { // what follows a registration in the bucket
		require.Eventually(t, func() bool { writes.mu.Lock(); defer writes.mu.Unlock(); return len(writes.keys) >= n }, patience, tick)
	}
	settle(300 + 1 + 2)
	writes.reset()
	for i, change := range []domain.Event{
		workspace.AutomationUpdated{Entry: every("tick-7", "*/5 * * * *")}, workspace.AutomationCreated{Entry: every("new", "*/5 * * * *")},
		workspace.AutomationDeleted{Slug: "tick-8"},
	} {
		h.add(workspace.Stream("large"), change)
		h.awaitScheduled("large", 300+i+1)
		settle(2)
		keys, bytes := writes.reset()
		require.Equal(t, 2, keys, "the automation, and how far the workspace is registered")
		require.Less(t, bytes, 500)
	}
	h.clock.set(at(5, 0))
	h.awaitFirings("large", 2)
	h.first.stopNode()
	h.first.restart()
	h.first.fire()
	h.clock.set(at(10, 0))
	h.awaitFirings("large", 4)
	require.Len(t, h.awaitScheduled("large", 303), 303, "nothing is registered twice")
}

func TestARegistrationThatIsCutOffIsContinued(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"))
	var broken atomic.Bool
	writes := &countedWrites{Bucket: h.memory, fail: func(key string) bool { return broken.Load() && strings.HasPrefix(key, "workspace/") }}
	h.first.bucket = writes
	h.first.fire()
	h.awaitScheduled("w1", 1)
	h.create("w2", every("other", "0 0 1 1 *"))
	h.awaitScheduled("w2", 1)
	broken.Store(true)
	h.add(workspace.Stream("w1"), workspace.AutomationUpdated{Entry: every("tick", "*/3 * * * *")})
	h.add(workspace.Stream("w1"), workspace.AutomationCreated{Entry: every("tock", "*/5 * * * *")})
	require.Eventually(t, func() bool { return len(h.sequences("w1", "runtime.schedules.created")) >= 3 }, patience, tick)
	h.first.stopNode()
	broken.Store(false)
	h.first.restart()
	h.first.fire()
	h.clock.set(at(5, 0))
	names := map[string]bool{}
	for _, f := range h.awaitFirings("w1", 2) {
		names[f.Automation] = true
	}
	require.Equal(t, map[string]bool{"tick": true, "tock": true}, names)
	for _, e := range h.awaitScheduled("w1", 3) {
		require.Len(t, e.Schedules, 1)
	}
}

// Earlier versions kept the schedules of a workspace in one record.
func TestRegistrationsOfEarlierVersionsAreReadOn(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"), every("tock", "*/5 * * * *"))
	seq := h.last[workspace.Stream("w1")]
	var record bytes.Buffer
	z := gzip.NewWriter(&record)
	require.NoError(t, json.NewEncoder(z).Encode(map[string]any{"workspaceId": "w1", "at": seq, "automations": []map[string]any{
		{"name": "tick", "saved": seq, "crons": []map[string]any{{"cron": "*/5 * * * *", "since": 1}}},
		{"name": "tock", "saved": seq, "crons": []map[string]any{{"cron": "*/5 * * * *", "since": 1}}},
	}}))
	require.NoError(t, z.Close())
	_, err := h.memory.Put(t.Context(), fmt.Sprintf("workspace/%d/w1", streams.PartitionOf("w1", streams.Partitions)), record.Bytes())
	require.NoError(t, err)
	h.first.fire()
	h.create("w2", every("other", "0 0 1 1 *"))
	h.awaitScheduled("w2", 1)
	h.clock.set(at(5, 0))
	h.awaitFirings("w1", 2)
	require.Empty(t, h.sequences("w1", "runtime.schedules.created"), "they are registered")
	h.add(workspace.Stream("w1"), workspace.AutomationDeleted{Slug: "tock"})
	require.Equal(t, []registeredSchedules{{"tock", []string{}}}, h.awaitRegistrations("w1", 0, 1))
	h.create("w3", every("another", "0 0 1 1 *")) // once this is registered, all of w1 is stored
	h.awaitScheduled("w3", 1)
	h.first.stopNode()
	h.first.restart()
	h.first.fire()
	h.clock.set(at(10, 0))
	require.Len(t, h.awaitFirings("w1", 3), 3)
	h.clock.set(at(15, 0))
	require.Len(t, h.awaitFirings("w1", 4), 4)
	require.Len(t, h.awaitScheduled("w1", 1), 1)
}

func TestADeletedWorkspaceFiresNothingUntilItIsBack(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1, every("tick", "*/5 * * * *"))
	h.create("w2", every("tock", "* * * * *"))
	h.first.fire()
	h.awaitScheduled("w1", 1)
	h.awaitScheduled("w2", 1)
	h.add(workspace.Stream("w1"), workspace.Deleted{ID: "w1", DeletedAt: time.Now(), RestorableUntil: h.clock.now().Add(time.Hour)})
	h.create("w3", every("later", "0 0 1 1 *")) // who knows of this one knows that w1 is deleted
	h.awaitScheduled("w3", 1)
	h.clock.set(at(5, 0))
	h.awaitFirings("w2", 1)
	h.clock.set(at(6, 0))
	h.awaitFirings("w2", 2)
	require.Empty(t, h.firings("w1"))
	require.Len(t, h.awaitScheduled("w1", 1), 1, "whoever reads a deleted workspace")
	h.add(workspace.Stream("w1"), workspace.Undeleted{ID: "w1"})
	h.awaitScheduled("w1", 2)
	h.clock.set(at(10, 0))
	require.Eventually(t, func() bool {
		return slices.Contains(h.firings("w1"), fired{"tick", "*/5 * * * *", domain.FormatTime(at(10, 0)), false})
	}, patience, tick)
}

func TestAnImportedScheduleThatIsNoneIsToldOnce(t *testing.T) {
	t.Parallel()
	h, at := clocked(t, 1)
	h.first.fire()
	h.add(workspace.Stream("w1"), workspace.Imported{Switch: workspace.Switch{Entries: []workspace.Entry{
		every("bad", "0 */5 * * * *"), every("mixed", "*/5 * * * *", "nonsense", "@often"), every("good", "*/5 * * * *"),
		doc("off", `"disabled":true,"when":{"schedules":["nonsense"]},"do":[]`),
	}}})
	require.ElementsMatch(t, []registeredSchedules{{"good", []string{"*/5 * * * *"}}, {"mixed", []string{"*/5 * * * *"}}}, h.awaitRegistrations("w1", 0, 2))
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
	h.awaitFirings("w1", 2)
	h.add(workspace.Stream("w1"), workspace.AutomationUpdated{Entry: every("good", "*/6 * * * *")})
	h.awaitScheduled("w1", 3)
	h.first.stopNode()
	h.first.restart()
	h.first.fire()
	h.clock.set(at(6, 0))
	h.awaitFirings("w1", 3)
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
	require.Equal(t, []registeredSchedules{{"mine.in.deep", []string{"*/5 * * * *"}}, {"mine.tick", []string{"*/5 * * * *"}}}, h.awaitRegistrations("w1", 0, 2))
	h.clock.set(at(5, 0))
	require.ElementsMatch(t, []fired{{"mine.in.deep", "*/5 * * * *", domain.FormatTime(at(5, 0)), false}, {"mine.tick", "*/5 * * * *", domain.FormatTime(at(5, 0)), false}}, h.awaitFirings("w1", 2))
	ev := h.events("w1", "runtime.schedules.triggered")[0]
	require.NotEmpty(t, ev.Meta.AppInstance)
	require.NotEqual(t, domain.Meta{}, ev.Meta)

	h.add(workspace.Stream("w1"), workspace.InstanceConfigured{Entry: instance("mine", "clock")})
	require.Len(t, h.awaitRegistrations("w1", 2, 4), 2, "configured")
	h.add(workspace.Stream("inner"), workspace.AutomationUpdated{Entry: every("deep", "*/6 * * * *")})
	h.publish("inner", "inner")
	require.Equal(t, []registeredSchedules{{"mine.in.deep", []string{"*/6 * * * *"}}}, h.awaitRegistrations("w1", 4, 5), "of the app in the app")
	h.clock.set(at(6, 0))
	require.Equal(t, fired{"mine.in.deep", "*/6 * * * *", domain.FormatTime(at(6, 0)), false}, h.awaitFirings("w1", 3)[2])
	h.add(workspace.Stream("w1"), workspace.Uninstalled{Slug: "mine"})
	require.Equal(t, []registeredSchedules{{"mine.in.deep", []string{}}, {"mine.tick", []string{}}}, h.awaitRegistrations("w1", 5, 7))
	h.add(workspace.Stream("w1"), workspace.AutomationCreated{Entry: every("own", "* * * * *")})
	h.awaitScheduled("w1", 8)
	h.clock.set(at(12, 0))
	require.Len(t, h.awaitFirings("w1", 4), 4)
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
			h.awaitScheduled("w1", 2)
			until := time.Date(day.Year(), day.Month(), day.Day(), 5, 0, 0, 0, berlin)
			for now := midnight; !now.After(until); now = now.Add(30 * time.Minute) {
				h.setClock(now)
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
	h.awaitScheduled("w1", 1)
	h.setClock(at(2, 0))
	h.zone.Store(time.FixedZone("east", 3600)) // where noon is an hour earlier
	h.setClock(at(3, 0))
	h.clock.set(at(60, 0))
	require.Equal(t, []fired{{"noon", "0 12 * * *", domain.FormatTime(at(60, 0)), false}}, h.awaitFirings("w1", 1))
	h.setClock(at(120, 0))
	require.Len(t, h.firings("w1"), 1)
}

// setClock sets the clock and waits until the node has read it.
func (h *fixture) setClock(now time.Time) {
	h.t.Helper()
	before := h.clock.looks.Load()
	h.clock.set(now)
	require.Eventually(h.t, func() bool { return h.clock.looks.Load() > before+1 }, patience, tick)
}

// contents finds documents in the read models.
type contents struct{ models *projections.Models }

func (c contents) Moment() uint64 { return c.models.Position().State }

func (c contents) Workspace(id string) (w programs.Workspace, ok bool, err error) {
	err = c.models.View(func(r projections.Reader) error {
		rec, found, err := projections.Workspaces{}.Record(r, id)
		ok = found && rec.Deleted == nil
		w = programs.Workspace{ID: id, Slug: rec.Meta.Slug, Name: rec.Meta.Name, Revision: rec.Dynamic.ContentRevision}
		return err
	})
	return w, ok, err
}

func (c contents) Changes(_ context.Context, id string, after, until uint64) (refs map[string]content.Ref, known bool, err error) {
	refs = map[string]content.Ref{}
	err = c.models.View(func(r projections.Reader) error {
		var changed projections.Manifest
		changed, known, err = projections.History{}.ChangedSince(r, id, after, until)
		for path, ref := range changed {
			refs[path] = content.Ref(ref)
		}
		return err
	})
	return refs, known, err
}

func (c contents) Edition(slug, version string) (workspaceID string, revision uint64, err error) {
	err = c.models.View(func(r projections.Reader) error {
		a, found, err := projections.Apps{}.RunningVersion(r, slug, version)
		workspaceID, revision = a.WorkspaceID, found
		return err
	})
	return workspaceID, revision, err
}

func (c contents) At(_ context.Context, workspaceID string, seq uint64) (refs map[string]content.Ref, err error) {
	err = c.models.View(func(r projections.Reader) error {
		manifest, err := projections.History{}.ManifestAt(r, workspaceID, seq)
		refs = map[string]content.Ref{}
		for path, ref := range manifest {
			refs[path] = content.Ref(ref)
		}
		return err
	})
	return refs, err
}

func (c contents) Document(_ context.Context, workspaceID string, ref content.Ref) (*document.Map, error) {
	doc := document.MapOf()
	return doc, c.models.View(func(r projections.Reader) error {
		body, ok, err := projections.Content{}.Body(r, workspaceID, ref.Hash)
		if err != nil || !ok {
			return fmt.Errorf("document %s: %w", ref.Hash, err)
		}
		return doc.UnmarshalJSON(body)
	})
}

// noSecrets are those of workspaces that have none, and know of no other.
type noSecrets struct{}

func (noSecrets) All(context.Context, string) (map[string]string, error) { return nil, nil }

func (noSecrets) Known(context.Context, string) ([]programs.Workspace, error) { return nil, nil }

func (noSecrets) Open(context.Context, string) (map[string]string, *redact.Set, error) {
	return nil, redact.New(), nil
}

// many opens a fixture with workspaces that have a thousand schedules each. The ones with
// a number below due are every five minutes, the others once a day, later.
func many(t testing.TB, workspaces, due int) (h *fixture, at func(minute, second int) time.Time) {
	t.Helper()
	h, at = clocked(t, 1)
	for w := range workspaces {
		entries := make([]workspace.Entry, 1000)
		for i := range entries {
			entries[i] = every(fmt.Sprintf("tick-%d", i), strconv.Itoa(i%60)+" "+strconv.Itoa(12+i%12)+" * * *")
			if i < due {
				entries[i] = every(fmt.Sprintf("tick-%d", i), "*/5 * * * *")
			}
		}
		id := fmt.Sprintf("many-%d", w)
		h.create(id, entries...)
	}
	h.first.fire()
	for w := range workspaces {
		h.awaitScheduled(fmt.Sprintf("many-%d", w), 1000)
	}
	return h, at
}

// total is how many events of a type the workspaces have.
func (h *fixture) total(workspaces int, eventType string) (n int) {
	for w := range workspaces {
		n += len(h.sequences(fmt.Sprintf("many-%d", w), eventType))
	}
	return n
}

func TestThousandsOfSchedulesWaitForTheirTime(t *testing.T) {
	t.Parallel()
	began := time.Now()
	const workspaces, due = 10 / slowdown, 3
	h, at := many(t, workspaces, due)
	t.Logf("%d schedules were registered in %s", workspaces*1000, time.Since(began))
	h.clock.set(at(5, 0))
	began = time.Now()
	require.Eventually(t, func() bool { return h.total(workspaces, "runtime.schedules.triggered") == workspaces*due }, patience, tick)
	t.Logf("%d fired within %s", workspaces*due, time.Since(began))

	h.first.stopNode()
	h.clock.set(at(7, 0))
	h.first.restart()
	began = time.Now()
	h.first.fire()
	h.clock.set(at(10, 0))
	require.Eventually(t, func() bool { return h.total(workspaces, "runtime.schedules.triggered") == 2*workspaces*due }, patience, tick)
	t.Logf("a restart and %d firings took %s", workspaces*due, time.Since(began))
	require.Equal(t, 1000*workspaces, h.total(workspaces, "runtime.schedules.created"))
}

func BenchmarkManySchedulesAtOnce(b *testing.B) {
	const workspaces, due = 10, 1000
	h, at := many(b, workspaces, due)
	var firing time.Duration
	b.ResetTimer()
	for i := range b.N {
		began, wanted := time.Now(), (i+1)*workspaces*due
		h.clock.set(at(5*(i+1), 0))
		require.Eventually(b, func() bool { return h.total(workspaces, "runtime.schedules.triggered") == wanted }, time.Minute, 100*time.Millisecond)
		firing += time.Since(began)
		require.Eventually(b, func() bool { return h.total(workspaces, "runtime.automations.executed") == wanted }, time.Minute, 100*time.Millisecond)
	}
	b.ReportMetric(firing.Seconds()/float64(b.N), "s/10k-firings")
}

// BenchmarkASaveAmongManySchedules measures what it costs to register one of a thousand automations again.
func BenchmarkASaveAmongManySchedules(b *testing.B) {
	h, _ := many(b, 1, 0)
	registered := 1000
	b.ReportAllocs()
	for b.Loop() {
		h.add(workspace.Stream("many-0"), workspace.AutomationUpdated{Entry: every("tick-7", fmt.Sprintf("%d 12 * * *", registered%60))})
		registered++
		require.Eventually(b, func() bool { return len(h.sequences("many-0", "runtime.schedules.created")) >= registered }, patience, tick)
	}
}
