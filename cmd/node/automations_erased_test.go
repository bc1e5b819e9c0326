package node_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain"
	"svc/domain/activity"
	"svc/projections"
	"svc/projections/rows"
)

// fullHouse leaves something of every kind in its workspace: contexts, rows, a secret, a
// topic, a schedule, a record of its run; and trees that wait.
const fullHouse = `
t: [{set global.g: kept}, {set user.u: kept}, {set session.s: kept}, {set run.r: kept}, {run: {module: collections, function: create, parameters: {collection: c, data: {id: '1'}}}}, {run: {module: secrets, function: set, parameters: {name: k, value: hidden}}}, {createUserTopic: {topic: news, userIds: [u1]}}, {T: '{{global.g}}'}]
read: {when: {endpoint: true}, do: [{run: {module: collections, function: count, parameters: {collection: c}, output: n}}], output: ['{{n}}', '{{global.g}}']}
waits: {when: {events: [begin]}, do: [{try: {do: [{wait: {oneOf: [{event: go}], timeout: 600}}], finally: [{set global.last: word}, {emit: {event: finally}}]}}, {set global.after: all}, {emit: {event: after}}]}
often: {when: {schedules: ['0 0 1 1 *']}, do: []}`

// dataOf counts what the log has of a workspace, by kind: data that is listed, and
// what was written to the context global.
func (p place) dataOf(t *testing.T) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, kind := range []string{"trees", "recordings", "collections"} {
		ids, err := p.s.node.Store().DataIDs(t.Context(), p.id, kind)
		require.NoError(t, err)
		if len(ids) > 0 {
			found[kind] = len(ids)
		}
	}
	global := domain.StreamID{Scope: p.id, Kind: "contexts", ID: "global."}
	require.NoError(t, p.s.node.Store().SinceData(t.Context(), global, 0, func(uint64, bool, string, []byte) error {
		found["contexts"]++
		return nil
	}))
	return found
}

// endings are how the executions of an automation ended: the names of their errors.
func (p place) endings(t *testing.T, slug string) (names []string) {
	t.Helper()
	for _, ev := range p.s.activityOf(t, p.id) {
		if done, ok := ev.Data.(activity.Executed); ok && done.Slug == slug && done.Error != nil {
			names = append(names, done.Error.Error)
		}
	}
	return names
}

// rowsOf counts the keys of a workspace in the rows that a service keeps in a directory.
func rowsOf(t *testing.T, dir, workspaceID string) (n int) {
	t.Helper()
	db, err := projections.OpenDB(projections.DBOptions{Dir: filepath.Join(dir, "rows")})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	o := rows.Options{Log: struct{ rows.Log }{}, Opener: struct{ rows.Opener }{}} // nothing is followed
	o.DB, o.Commit = db.Apart()
	model, err := rows.New(o)
	require.NoError(t, err)
	require.NoError(t, model.Dump(func(key, _ []byte) error {
		if strings.Contains(string(key), workspaceID) {
			n++
		}
		return nil
	}))
	return n
}

func TestADeletedWorkspaceEndsItsRunsAndIsErasedWithWhatTheyKept(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, "EVENTS_SCHEDULED_DELETION_DAYS=0", "RUN_RECORDING=all")
	gone, other := w.place(t).has(t, fullHouse), w.place(t).has(t, fullHouse)
	for _, p := range []place{gone, other} {
		require.Equal(t, `"kept"`, p.tries(t, 200, `{}`).r(t))
		p.emits(t, `{"type":"begin"}`)
		p.awaits(t, 1, "runtime.waits.pending", "")
		require.Eventually(t, func() bool { return len(p.dataOf(t)) == 4 }, 20*time.Second, 10*time.Millisecond, "%v", p.dataOf(t))
		p.awaits(t, 1, "runtime.schedules.created", "")
	}
	before := other.dataOf(t)

	gone.does(t, 200, "DELETE", gone.path, "")
	require.Eventually(t, func() bool { return len(gone.endings(t, "waits")) == 1 }, 20*time.Second, 10*time.Millisecond, "its trees end")
	require.Equal(t, []string{"ExecutionCancelledError"}, gone.endings(t, "waits"))
	require.Contains(t, w.emitted(t, gone.id), "finally")
	require.NotContains(t, w.emitted(t, gone.id), "after")
	require.Eventually(t, func() bool { return gone.dataOf(t)["trees"] == 0 }, 20*time.Second, 10*time.Millisecond, "nothing stands there any more")
	require.NotZero(t, gone.dataOf(t)["contexts"], "what it may need when it comes back stays")
	require.Empty(t, other.endings(t, "waits"))

	done := w.cleans(t, "indices", `{"retention":-1,"workspaceMaxEvents":-1}`)
	require.Len(t, done.Deleted.Found, 1)
	require.Equal(t, gone.id, done.Deleted.Found[0].WorkspaceID)
	require.Empty(t, gone.dataOf(t))
	holds, err := w.node.Store().HoldsApart(t.Context(), gone.id)
	require.NoError(t, err)
	require.False(t, holds)
	for _, ev := range w.activityOf(t, gone.id) {
		require.Equal(t, "events.dropped", ev.Data.EventType())
	}
	require.Empty(t, w.cleans(t, "indices", "").Deleted.Found, "nothing comes back")
	gone.refuses(t, 404, "resource_not_found", "POST", gone.path+"/webhooks/read", "")

	require.Equal(t, before, other.dataOf(t))
	require.JSONEq(t, `[1,"kept"]`, string(other.calls(t, 200, "POST", "read", "").body))
	other.emits(t, `{"type":"go"}`)
	other.awaits(t, 1, "after", "")
	w.stop(t)
	require.Zero(t, rowsOf(t, w.dir, gone.id))
	require.NotZero(t, rowsOf(t, w.dir, other.id))
}

// A workspace that comes back has what its automations remember; what ran when it was
// deleted does not go on.
func TestAWorkspaceThatComesBackHasItsContexts(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, fullHouse)
	p.tries(t, 200, `{}`)
	p.emits(t, `{"type":"begin"}`)
	p.awaits(t, 1, "runtime.waits.pending", "")
	p.does(t, 200, "DELETE", p.path, "")
	require.Eventually(t, func() bool { return len(p.endings(t, "waits")) == 1 }, 20*time.Second, 10*time.Millisecond)
	p.does(t, 200, "POST", p.path+"/undelete", `{}`)
	require.JSONEq(t, `[1,"kept"]`, string(p.calls(t, 200, "POST", "read", "").body))
	p.emits(t, `{"type":"go"}`)
	require.Equal(t, []string{"ExecutionCancelledError"}, p.endings(t, "waits"))
}

// A tree whose node went while its workspace was deleted is over, and leaves nothing
// where it stood.
func TestATreeOfADeletedWorkspaceDoesNotGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, "EVENTS_SCHEDULED_DELETION_DAYS=30")
	p := w.place(t).has(t, fullHouse)
	p.emits(t, `{"type":"begin"}`)
	p.awaits(t, 1, "runtime.waits.pending", "")
	require.Eventually(t, func() bool { return p.dataOf(t)["trees"] == 1 }, 20*time.Second, 10*time.Millisecond)
	w.deletesAndStops(t, p)
	w.start(t)
	require.Eventually(t, func() bool { return len(p.endings(t, "waits")) == 1 && p.dataOf(t)["trees"] == 0 }, 30*time.Second, 20*time.Millisecond)
}

// deletesAndStops deletes a workspace and stops before its trees are cancelled, if it is
// quick enough; either way they end.
func (w *workshop) deletesAndStops(t *testing.T, p place) {
	t.Helper()
	p.does(t, 200, "DELETE", p.path, "")
	w.stop(t)
}

// A workspace that is deleted at one node ends what runs of it at another, and what that
// one remembers is forgotten with the rest.
func TestADeletedWorkspaceEndsItsRunsOnEveryNode(t *testing.T) {
	t.Parallel()
	one, other := couple(t, "EVENTS_SCHEDULED_DELETION_DAYS=0")
	at := (&workshop{service: one, owner: bearer(one.admin(t))}).place(t).has(t, fullHouse+`
slow: {when: {endpoint: true}, do: [{set global.g: kept}, {wait: {timeout: 600}}]}`)
	there := place{other, at.path, at.id, at.me}
	require.Eventually(t, func() bool { return there.ask(t, "GET", at.path+"/automations/slow", "").StatusCode == 200 }, 20*time.Second, 10*time.Millisecond)
	answered := there.background(t, t.Context(), "slow")
	require.Eventually(t, func() bool { return at.dataOf(t)["trees"] == 1 }, 20*time.Second, 10*time.Millisecond)
	at.does(t, 200, "DELETE", at.path, "")
	got := <-answered
	require.Equal(t, 409, got.StatusCode, "%s", got.body)
	require.Equal(t, []string{"ExecutionCancelledError"}, at.endings(t, "slow"))
	require.Len(t, one.cleans(t, "indices", `{"retention":-1,"workspaceMaxEvents":-1}`).Deleted.Found, 1)
	require.Empty(t, at.dataOf(t))
	require.Empty(t, one.cleans(t, "indices", "").Deleted.Found, "nothing comes back")
}
