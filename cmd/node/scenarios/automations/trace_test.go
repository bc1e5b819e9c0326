package automations_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// What left an execution has its place in time, and names the execution or the event that
// came of it: so a trace hangs what was called and what was triggered under its cause.
func TestTheEffectsOfARunHaveTheirPlaceInItsTrace(t *testing.T) {
	t.Parallel()
	p := nodetest.SharedService(t).NewWorkspace(t).AddAutomations(t, `
outer: {do: [{repeat: {on: [1, 2], do: [{inner: {}}]}}, {wait: {timeout: 0.05}}, {emit: {event: made}}]}
inner: {do: []}
hears: {when: {events: [made]}, do: []}`)
	ran := p.Do(t, http.StatusOK, "POST", p.Path+"/test/outer?record=true", `{}`)
	var run map[string]any
	require.Eventually(t, func() bool {
		run = p.Do(t, http.StatusOK, "GET", p.Path+"/runs/"+ran.Header.Get("X-Correlation-Id"), "").JSON(t)
		return run["executions"] == 4.0
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, p.UserID(t), run["startedBy"])
	outer := nodetest.AsMaps(run["tree"])[0]
	children, effects := nodetest.AsMaps(outer["children"]), nodetest.AsMaps(outer["effects"])
	require.Equal(t, []any{"call", "call", "wait", "emit"}, nodetest.Fields(effects, "kind"))
	require.Equal(t, []any{[]any{0.0}, []any{1.0}, nil, nil}, nodetest.Fields(effects, "iteration"))
	require.Equal(t, []any{"inner", "inner", "hears"}, nodetest.Fields(children, "slug"))
	require.Equal(t, []any{children[0]["executionId"], children[1]["executionId"]}, nodetest.Fields(effects[:2], "executionId"))
	require.Equal(t, children[2]["trigger"].(map[string]any)["id"], effects[3]["eventId"])
	last := outer["startedAt"].(string)
	for _, e := range effects {
		require.GreaterOrEqual(t, e["at"], last, "%v", e)
		last = e["at"].(string)
	}
	require.Greater(t, effects[3]["at"], effects[2]["at"], "the wait took its time")
}

// A recorded run tells what it began with and what it returned, whole and without secrets: the
// event of an execution leaves out what is large.
func TestARecordedRunTellsItsInputAndOutput(t *testing.T) {
	t.Parallel()
	p := nodetest.SharedService(t).NewWorkspace(t).AddAutomations(t, `
echo:
  arguments: {token: {type: string, secret: true}, n: {type: integer}}
  do: [{repeat: {until: 2000, do: [{set: {name: 'list[]', value: 'item {{$index}}'}}]}}]
  output: {said: '{{token}}', n: '{{n}}', list: '{{list}}'}`)
	ran := p.Do(t, http.StatusOK, "POST", p.Path+"/test/echo?record=true", `{"payload": {"token": "hush-hush-hush", "n": 3}}`)
	answer := p.Do(t, http.StatusOK, "GET", p.Path+"/runs/"+ran.Header.Get("X-Correlation-Id"), "")
	require.NotContains(t, string(answer.Body), "hush-hush-hush")
	first := nodetest.AsMaps(answer.JSON(t)["tree"])[0]
	require.Equal(t, map[string]any{"token": "REDACTED", "n": 3.0}, first["input"])
	output := first["output"].(map[string]any)
	require.Equal(t, []any{"REDACTED", 3.0}, []any{output["said"], output["n"]})
	require.Len(t, output["list"], 2000)
}

// Who caused a run is told of users and of API keys. A visitor is nobody in particular: the id
// that was drawn for a call names no one, and is not told as if it did.
func TestRunsTellWhoCausedThem(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
quick: {when: {endpoint: true}, do: []}
other: {when: {endpoint: true}, do: [{set: {name: session.id, value: chosen}}]}
stays: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: never}], timeout: 600}}]}`)
	made := p.Do(t, http.StatusCreated, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":[{"action":"read","subject":"automations"}]}`).JSON(t)
	guest := p.As(w.NewUser(t, "guest"))
	visitors := map[string]nodetest.Workspace{"user": p, "guest": guest, "key": p.As(http.Header{"X-Svc-Api-Key": {made["apiKey"].(string)}}), "nobody": p.Anonymous()}
	ids := map[string]any{"user": p.UserID(t), "guest": guest.UserID(t), "key": "key:" + made["id"].(string), "nobody": nil}
	for who, as := range visitors {
		for _, endpoint := range []string{"quick", "other"} {
			ran := as.CallEndpoint(t, http.StatusOK, "POST", endpoint, `{}`)
			run := p.Do(t, http.StatusOK, "GET", p.Path+"/runs/"+ran.Correlation(), "").JSON(t)
			require.Equal(t, ids[who], run["startedBy"], "%s of %s", endpoint, who)
		}
		as.CallInBackground(t, t.Context(), "stays")
	}
	var waits []map[string]any
	require.Eventually(t, func() bool {
		waits = p.Do(t, http.StatusOK, "GET", p.Path+"/waits", "").List(t)
		return len(waits) == len(visitors)
	}, time.Minute, 10*time.Millisecond)
	all := slices.Collect(maps.Values(ids))
	require.ElementsMatch(t, all, nodetest.Fields(waits, "startedBy"))
	require.ElementsMatch(t, all, nodetest.Fields(p.Do(t, http.StatusOK, "GET", p.Path+"/runs?automation=stays", "").List(t), "startedBy"))
	for _, one := range waits {
		p.Do(t, http.StatusOK, "POST", p.Path+"/runs/"+one["correlationId"].(string)+"/cancel", "")
	}
}
