package runs_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
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
func dataOf(t *testing.T, p nodetest.Workspace) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, kind := range []string{"trees", "recordings", "collections"} {
		ids, err := p.Service.Node.Store().Data.IDs(t.Context(), p.ID, kind)
		require.NoError(t, err)
		if len(ids) > 0 {
			found[kind] = len(ids)
		}
	}
	global := domain.StreamID{Scope: p.ID, Kind: "contexts", ID: "global."}
	require.NoError(t, p.Service.Node.Store().Data.Since(t.Context(), global, 0, func(uint64, bool, string, []byte) error {
		found["contexts"]++
		return nil
	}))
	return found
}

// endings are how the executions of an automation ended: the names of their errors.
func endings(t *testing.T, p nodetest.Workspace, slug string) (names []string) {
	t.Helper()
	for _, ev := range p.Service.Activity(t, p.ID) {
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
	o.DB, o.Commit = db.DirectAccess()
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
	w := nodetest.NewOwnedService(t, "EVENTS_SCHEDULED_DELETION_DAYS=0", "RUN_RECORDING=all")
	gone, other := w.NewWorkspace(t).AddAutomations(t, fullHouse), w.NewWorkspace(t).AddAutomations(t, fullHouse)
	for _, p := range []nodetest.Workspace{gone, other} {
		require.Equal(t, `"kept"`, p.RunTest(t, 200, `{}`).Result(t))
		p.Emit(t, `{"type":"begin"}`)
		p.AwaitEvents(t, 1, "runtime.waits.pending", "")
		require.Eventually(t, func() bool { return len(dataOf(t, p)) == 4 }, time.Minute, 10*time.Millisecond, "%v", dataOf(t, p))
		p.AwaitEvents(t, 1, "runtime.schedules.created", "")
	}
	before := dataOf(t, other)

	gone.Do(t, 200, "DELETE", gone.Path, "")
	require.Eventually(t, func() bool { return len(endings(t, gone, "waits")) == 1 }, time.Minute, 10*time.Millisecond, "its trees end")
	require.Equal(t, []string{"ExecutionCancelledError"}, endings(t, gone, "waits"))
	require.Contains(t, w.EmittedTypes(t, gone.ID), "finally")
	require.NotContains(t, w.EmittedTypes(t, gone.ID), "after")
	require.Eventually(t, func() bool { return dataOf(t, gone)["trees"] == 0 }, time.Minute, 10*time.Millisecond, "nothing stands there any more")
	require.NotZero(t, dataOf(t, gone)["contexts"], "what it may need when it comes back stays")
	require.Empty(t, endings(t, other, "waits"))

	done := w.RunCleanup(t, "indices", `{"retention":-1,"workspaceMaxEvents":-1}`)
	require.Len(t, done.Deleted.Found, 1)
	require.Equal(t, gone.ID, done.Deleted.Found[0].WorkspaceID)
	require.Empty(t, dataOf(t, gone))
	holds, err := w.Node.Store().HasWorkspaceData(t.Context(), gone.ID)
	require.NoError(t, err)
	require.False(t, holds)
	for _, ev := range w.Activity(t, gone.ID) {
		require.Equal(t, "events.dropped", ev.Data.EventType())
	}
	require.Empty(t, w.RunCleanup(t, "indices", "").Deleted.Found, "nothing comes back")
	gone.RequireRefusal(t, 404, "resource_not_found", "POST", gone.Path+"/webhooks/read", "")

	require.Equal(t, before, dataOf(t, other))
	require.JSONEq(t, `[1,"kept"]`, string(other.CallEndpoint(t, 200, "POST", "read", "").Body))
	other.Emit(t, `{"type":"go"}`)
	other.AwaitEvents(t, 1, "after", "")
	w.Stop(t)
	require.Zero(t, rowsOf(t, w.Dir, gone.ID))
	require.NotZero(t, rowsOf(t, w.Dir, other.ID))
}

// A workspace that comes back has what its automations remember; what ran when it was
// deleted does not go on.
func TestAWorkspaceThatComesBackHasItsContexts(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, fullHouse)
	p.RunTest(t, 200, `{}`)
	p.Emit(t, `{"type":"begin"}`)
	p.AwaitEvents(t, 1, "runtime.waits.pending", "")
	p.Do(t, 200, "DELETE", p.Path, "")
	require.Eventually(t, func() bool { return len(endings(t, p, "waits")) == 1 }, time.Minute, 10*time.Millisecond)
	p.Do(t, 200, "POST", p.Path+"/undelete", `{}`)
	require.JSONEq(t, `[1,"kept"]`, string(p.CallEndpoint(t, 200, "POST", "read", "").Body))
	p.Emit(t, `{"type":"go"}`)
	require.Equal(t, []string{"ExecutionCancelledError"}, endings(t, p, "waits"))
}

// A tree whose node went while its workspace was deleted is over, and leaves nothing
// where it stood.
func TestATreeOfADeletedWorkspaceDoesNotGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "EVENTS_SCHEDULED_DELETION_DAYS=30")
	p := w.NewWorkspace(t).AddAutomations(t, fullHouse)
	p.Emit(t, `{"type":"begin"}`)
	p.AwaitEvents(t, 1, "runtime.waits.pending", "")
	require.Eventually(t, func() bool { return dataOf(t, p)["trees"] == 1 }, time.Minute, 10*time.Millisecond)
	deletesAndStops(t, w, p)
	w.Start(t)
	require.Eventually(t, func() bool { return len(endings(t, p, "waits")) == 1 && dataOf(t, p)["trees"] == 0 }, time.Minute, 20*time.Millisecond)
}

// deletesAndStops deletes a workspace and stops before its trees are cancelled, if it is
// quick enough; either way they end.
func deletesAndStops(t *testing.T, w *nodetest.OwnedService, p nodetest.Workspace) {
	t.Helper()
	p.Do(t, 200, "DELETE", p.Path, "")
	w.Stop(t)
}

// A workspace that is deleted at one node ends what runs of it at another, and what that
// one remembers is forgotten with the rest.
func TestADeletedWorkspaceEndsItsRunsOnEveryNode(t *testing.T) {
	t.Parallel()
	one, other := nodetest.StartPair(t, "EVENTS_SCHEDULED_DELETION_DAYS=0")
	at := (&nodetest.OwnedService{Service: one, Owner: nodetest.Bearer(one.SignInAdmin(t))}).NewWorkspace(t).AddAutomations(t, fullHouse+`
slow: {when: {endpoint: true}, do: [{set global.g: kept}, {wait: {timeout: 600}}]}`)
	there := nodetest.Workspace{Service: other, Path: at.Path, ID: at.ID, Auth: at.Auth}
	require.Eventually(t, func() bool { return there.Send(t, "GET", at.Path+"/automations/slow", "").StatusCode == 200 }, time.Minute, 10*time.Millisecond)
	answered := there.CallInBackground(t, t.Context(), "slow")
	require.Eventually(t, func() bool { return dataOf(t, at)["trees"] == 1 }, time.Minute, 10*time.Millisecond)
	at.Do(t, 200, "DELETE", at.Path, "")
	got := <-answered
	require.Equal(t, 409, got.StatusCode, "%s", got.Body)
	require.Equal(t, []string{"ExecutionCancelledError"}, endings(t, at, "slow"))
	require.Len(t, one.RunCleanup(t, "indices", `{"retention":-1,"workspaceMaxEvents":-1}`).Deleted.Found, 1)
	require.Empty(t, dataOf(t, at))
	require.Empty(t, one.RunCleanup(t, "indices", "").Deleted.Found, "nothing comes back")
}
