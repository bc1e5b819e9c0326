package runs_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/activity"
	"svc/eventstore"
)

// ran records events of an execution of a run, and returns their ids.
func ran(t *testing.T, p nodetest.Workspace, run, execution string, events ...domain.Event) (ids []string) {
	t.Helper()
	var commits []eventstore.Commit
	for _, ev := range events {
		ids = append(ids, ulid.Make().String())
		commits = append(commits, eventstore.Commit{
			Stream: domain.StreamID{Scope: p.ID},
			Meta:   domain.Meta{CorrelationID: run, ExecutionID: execution, SessionID: "s1", UserID: "u1", AutomationSlug: "pay"},
			Facts:  []eventstore.Fact{{ID: ids[len(ids)-1], Event: ev}},
		})
	}
	_, err := p.Service.Node.Store().Log.Append(t.Context(), commits...)
	require.NoError(t, err)
	return ids
}

// execution is the end of one that began so many seconds after noon.
func execution(id, parent, slug string, trigger activity.Trigger, second int, more ...func(*activity.Executed)) activity.Executed {
	body, _ := json.Marshal(trigger)
	e := activity.Executed{
		Slug: slug, ExecutionID: id, ParentExecutionID: parent, Trigger: body, StartedAt: timestampAt(second), Duration: 500, Input: json.RawMessage(`{}`), Output: json.RawMessage(`{}`),
	}
	for _, change := range more {
		change(&e)
	}
	return e
}

func timestampAt(second int) string {
	return "2026-03-01T12:00:" + strconv.Itoa(second/10) + strconv.Itoa(second%10) + ".000Z"
}

func withError(name string) func(*activity.Executed) {
	return func(e *activity.Executed) { e.Error = &activity.Failure{Error: name, Message: "no"} }
}

var (
	byEndpoint = activity.Trigger{Type: activity.ByEndpoint, Value: "pay"}
	byCaller   = activity.Trigger{Type: activity.ByAutomation, Value: "pay"}
)

// threeRuns records one that succeeded, one that failed and one that waits.
func threeRuns(t *testing.T, p nodetest.Workspace) (emitted string) {
	t.Helper()
	emitted = ran(t, p, "r1", "x2", domain.Unknown{Name: "paid", Body: json.RawMessage(`{"n":1}`)})[0]
	mailed := activity.Trigger{Type: activity.ByEvent, Value: "paid", ID: emitted}
	ran(t, p, "r1", "x2", execution("x2", "x1", "charge", byCaller, 1, func(e *activity.Executed) { e.Break, e.Throttled = true, 7 }))
	ran(t, p, "r1", "x1", execution("x1", "", "pay", byEndpoint, 0, func(e *activity.Executed) { e.Recorded = true }))
	ran(t, p, "r1", "x3", execution("x3", "", "shop.mail", mailed, 5))
	ran(t, p, "r2", "x4", execution("x4", "", "pay", byEndpoint, 10, withError("FetchError")))
	ran(t, p, "r3", "x5", activity.TreeStarted{ExecutionID: "x5", Automation: "ask", Trigger: byEndpoint, Attempt: 1, StartedAt: timestampAt(20)},
		activity.WaitPending{ID: "p1", ExecutionID: "x5", ExpiresAt: timestampAt(50)})
	return emitted
}

func TestRunsAreShown(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	none, total := p.ListRuns(t, "")
	require.Empty(t, none)
	require.Equal(t, "0", total)
	emitted := threeRuns(t, p)

	t.Run("in a list, the last that began first", func(t *testing.T) {
		for query, want := range map[string][]string{
			"":                                {"r3", "r2", "r1"},
			"automation=pay":                  {"r2", "r1"},
			"automation=shop.mail":            nil,
			"status=failed":                   {"r2"},
			"status=waiting":                  {"r3"},
			"status=running":                  nil,
			"automation=pay&status=succeeded": {"r1"},
			"from=2026-03-01T12:00:10Z":       {"r3", "r2"},
			"to=2026-03-01T13:00:10%2B01:00":  {"r1"},
			"from=2026-03-01&to=2026-03-02":   {"r3", "r2", "r1"},
			"from=2026-03-02":                 nil,
			"from=2026-03-01&status=failed":   {"r2"},
		} {
			ids, total := p.ListRuns(t, query)
			require.Equal(t, want, ids, query)
			require.Equal(t, strconv.Itoa(len(want)), total, query)
		}
		ids, total := p.ListRuns(t, "limit=1&page=1")
		require.Equal(t, []string{"r2"}, ids)
		require.Equal(t, "3", total)
		got := p.Do(t, http.StatusOK, "GET", p.Path+"/runs?limit=2&from=2026-03-01", "")
		require.Equal(t, "3", got.Header.Get("X-Total-Count"))
		require.Contains(t, got.Header.Get("Link"), "page=1")
		var list []json.RawMessage
		require.NoError(t, json.Unmarshal(got.Body, &list))
		require.JSONEq(t, `{"correlationId":"r2","startedAt":"2026-03-01T12:00:10.000Z","duration":500,"status":"failed",
			"trigger":{"type":"endpoint","value":"pay"},"automation":"pay","startedBy":"u1","executions":1,"recorded":false}`, string(list[1]))
	})
	t.Run("one by one, as trees", func(t *testing.T) {
		require.JSONEq(t, `{"correlationId":"r1","startedAt":"2026-03-01T12:00:00.000Z","duration":5500,"status":"succeeded",
			"trigger":{"type":"endpoint","value":"pay"},"automation":"pay","startedBy":"u1","executions":3,"recorded":true,"tree":[
			{"executionId":"x1","slug":"pay","trigger":{"type":"endpoint","value":"pay"},"startedAt":"2026-03-01T12:00:00.000Z","duration":500,"logs":[],"children":[
			{"executionId":"x2","slug":"charge","trigger":{"type":"automation","value":"pay"},"startedAt":"2026-03-01T12:00:01.000Z","duration":500,"throttled":7,"break":true,"logs":[],"children":[
			{"executionId":"x3","slug":"shop.mail","trigger":{"type":"event","value":"paid","id":"`+emitted+`"},"startedAt":"2026-03-01T12:00:05.000Z","duration":500,"logs":[],"children":[]}]}]}]}`,
			string(p.Do(t, http.StatusOK, "GET", p.Path+"/runs/r1", "").Body))
		got := p.Do(t, http.StatusOK, "GET", p.Path+"/runs/r2", "").JSON(t)
		require.Equal(t, map[string]any{"error": "FetchError", "message": "no"}, nodetest.AsMaps(got["tree"])[0]["error"])
	})
	t.Run("while they go on", func(t *testing.T) {
		got := p.Do(t, http.StatusOK, "GET", p.Path+"/runs/r3", "").JSON(t)
		require.Equal(t, "waiting", got["status"])
		require.Greater(t, got["duration"], 0.0)
		require.InDelta(t, 0, got["executions"], 0)
		require.Equal(t, []map[string]any{{
			"executionId": "x5", "slug": "ask", "trigger": map[string]any{"type": "endpoint", "value": "pay"}, "startedAt": timestampAt(20), "logs": []any{}, "children": []any{},
			"until": timestampAt(50),
		}}, nodetest.AsMaps(got["tree"]))
		ran(t, p, "r3", "x5", activity.WaitFulfilled{ID: "p1"})
		require.Equal(t, "running", p.Do(t, http.StatusOK, "GET", p.Path+"/runs/r3", "").JSON(t)["status"])
		ran(t, p, "r3", "x6", execution("x6", "x5", "charge", byCaller, 21))
		got = p.Do(t, http.StatusOK, "GET", p.Path+"/runs/r3", "").JSON(t)
		require.Equal(t, []any{"x6"}, nodetest.Fields(nodetest.AsMaps(nodetest.AsMaps(got["tree"])[0]["children"]), "executionId"), "under what called it and goes on")
		ran(t, p, "r3", "x5", execution("x5", "", "ask", byEndpoint, 20, withError("ExecutionCancelledError")))
		got = p.Do(t, http.StatusOK, "GET", p.Path+"/runs/r3", "").JSON(t)
		require.Equal(t, "cancelled", got["status"])
		require.InDelta(t, 500, got["duration"], 0)
		require.Len(t, got["tree"], 1)
	})
	t.Run("not when there is none", func(t *testing.T) {
		require.Equal(t, map[string]any{"resource": "run", "id": "r9"}, p.RequireRefusal(t, http.StatusNotFound, "resource_not_found", "GET", p.Path+"/runs/r9", ""))
		p.RequireRefusal(t, http.StatusBadRequest, "invalid_parameter", "GET", p.Path+"/runs/a%00b", "")
	})
	t.Run("not of a query that is none", func(t *testing.T) {
		for _, query := range []string{
			"status=done", "status=failed&status=running", "from=yesterday", "to=x", "from=2026-03-02&to=2026-03-01", "from=2026-03-01&to=2026-03-01",
			"page=-1", "limit=0", "limit=101", "automation=a&automation=b", "automation=%FF",
		} {
			p.RequireRefusal(t, http.StatusBadRequest, "invalid_parameter", "GET", p.Path+"/runs?"+query, "")
		}
	})
}

func TestRunsAreShownToThoseWhoMayReadTheirEvents(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	threeRuns(t, p)
	key := func(conditions string) nodetest.Workspace {
		made := p.Do(t, 201, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":[{"action":["read"],"subject":"events","conditions":`+conditions+`}]}`).JSON(t)
		return p.As(http.Header{"X-Svc-Api-Key": {made["apiKey"].(string)}})
	}
	editor := p.As(s.NewUser(t, "editor"))
	none, total := editor.ListRuns(t, "")
	require.Empty(t, none, "a stranger may read what they emitted, which is no run")
	require.Equal(t, "0", total)
	p.Do(t, http.StatusOK, "POST", p.Path+"/permissions", `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
	pays, mails, others := key(`{"payload.slug":"pay"}`), key(`{"payload.slug":"shop.mail"}`), key(`{"source.sessionId":"s2"}`)
	for name, c := range map[string]struct {
		who  nodetest.Workspace
		want []string
	}{
		"the owner":                  {p, []string{"r3", "r2", "r1"}},
		"an editor":                  {editor, []string{"r3", "r2", "r1"}},
		"by automation":              {pays, []string{"r2", "r1"}},
		"what began with another":    {mails, nil},
		"of somebody else's session": {others, nil},
	} {
		ids, total := c.who.ListRuns(t, "")
		require.Equal(t, c.want, ids, name)
		require.Equal(t, strconv.Itoa(len(c.want)), total, name)
	}
	ids, total := editor.ListRuns(t, "limit=1&page=1")
	require.Equal(t, []string{"r2"}, ids)
	require.Equal(t, "3", total)

	tree := func(who nodetest.Workspace) []any {
		return nodetest.Fields(nodetest.AsMaps(who.Do(t, http.StatusOK, "GET", p.Path+"/runs/r1", "").JSON(t)["tree"]), "executionId")
	}
	require.Equal(t, []any{"x1"}, tree(editor))
	require.Equal(t, []any{"x1"}, tree(pays))
	require.Equal(t, []any{"x3"}, tree(mails), "what caused it they may not read")
	others.RequireRefusal(t, http.StatusNotFound, "resource_not_found", "GET", p.Path+"/runs/r1", "")
	pays.RequireRefusal(t, http.StatusNotFound, "resource_not_found", "GET", p.Path+"/runs/r3", "")
	p.As(nil).RequireRefusal(t, http.StatusUnauthorized, "missing_token", "GET", "/v2/workspaces/unknown/runs", "")
}

// What the cleanup erases is known no more, also what nobody was ever shown.
func TestErasedRunsAreForgotten(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	threeRuns(t, p)
	_, err := p.Service.Node.Store().Log.Append(t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: p.ID},
		Facts:  []eventstore.Fact{{ID: ulid.Make().String(), Event: activity.Dropped{WorkspaceID: p.ID, To: 1 << 40}}},
	})
	require.NoError(t, err)
	ids, total := p.ListRuns(t, "")
	require.Empty(t, ids)
	require.Equal(t, "0", total)
	p.RequireRefusal(t, http.StatusNotFound, "resource_not_found", "GET", p.Path+"/runs/r1", "")
}
