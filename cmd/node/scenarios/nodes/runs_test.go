package nodes_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// cancelledFromAnywhere begins runs on one node, in a wait and in a fetch, and cancels
// them on the other.
func cancelledFromAnywhere(t *testing.T, c *cluster) {
	g := nodetest.NewBlockingServer(t)
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
waits: {when: {events: [waits]}, do: [{try: {do: [{wait: {oneOf: [{event: never}], timeout: 600}}], catch: [{emit: {event: caught}}], finally: [{emit: {event: finally}}]}}, {emit: {event: after}}]}
fetches: {when: {events: [fetches]}, do: [{try: {do: [{fetch: {url: '`+g.URL+`/slow'}}], finally: [{emit: {event: finally}}]}}, {emit: {event: after}}]}`)
	for _, pair := range [][2]nodetest.Workspace{{here, there}, {there, here}} {
		asked, cancels := pair[0], pair[1]
		for _, slug := range []string{"waits", "fetches"} {
			id := asked.Do(t, http.StatusAccepted, "POST", asked.Path+"/test/"+slug+"?async=true", `{"payload":{}}`).Header.Get("X-Correlation-Id")
			got := cancels.Do(t, 200, "POST", cancels.Path+"/runs/"+id+"/cancel", "").JSON(t)
			require.InDelta(t, 1, got["cancelled"], 0, slug)
			r := runOf(cancels, id)
			require.Equal(t, `"ExecutionCancelledError"`, r.AwaitEvents(t, 1, nodetest.Executed)[0].At("error", "error"))
			r.AwaitEvents(t, 1, "finally")
			require.Empty(t, r.Events(t, "caught", "after"))
		}
		made, _ := asked.Emit(t, `{"type":"waits"}`) // it runs on whichever node reads events
		id := made[0].Source["correlationId"].(string)
		runOf(cancels, id).AwaitEvents(t, 1, "runtime.waits.pending")
		cancels.Do(t, 200, "POST", cancels.Path+"/runs/"+id+"/cancel", "")
		require.Equal(t, `"ExecutionCancelledError"`, runOf(asked, id).AwaitEvents(t, 1, nodetest.Executed)[0].At("error", "error"))
		runOf(asked, id).AwaitEnd(t)
		require.Equal(t, "cancelled", asked.Do(t, 200, "GET", asked.Path+"/runs/"+id, "").JSON(t)["status"])
	}
}

// runOf is a run that is known by its correlation id.
func runOf(p nodetest.Workspace, correlationID string) nodetest.Run {
	return nodetest.Run{Answer: nodetest.Answer{Response: &http.Response{Header: http.Header{"X-Correlation-Id": {correlationID}}}}, Workspace: p}
}

func runsShownElsewhere(t *testing.T, c *cluster) {
	f := nodetest.NewRemoteServer(t)
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
t: [{set session.n: 1}, {fetch: {url: '`+f.URL+`/a', output: a}}, {emit: {event: e, output: ev}}, {child: {n: 1, output: c}}, {wait: {oneOf: [{event: runtime.automations.executed, filters: {payload.trigger.id: '{{ev.id}}'}}], output: w}}, {set r: ['{{a}}', '{% rand() %}', '{{run.date}}', '{{c}}', '{{run.n}}']}]
child: {do: [{'set global.n[]': '{{n}}'}], output: '{{global.n.length}}'}
hears: {when: {events: [e]}, do: [{set run.n: 5}]}`)
	for _, pair := range [][2]nodetest.Workspace{{here, there}, {there, here}} {
		ran, shows := pair[0], pair[1]
		got := ran.Do(t, 200, "POST", ran.Path+"/test/t?record=true", `{"payload":{}}`)
		r := nodetest.Run{Answer: got, Workspace: shows}
		r.AwaitEnd(t)
		ids, _ := shows.ListRuns(t, "automation=t")
		require.Contains(t, ids, r.Correlation())
		mine, theirs := ran.Do(t, 200, "GET", ran.Path+"/runs/"+r.Correlation(), ""), shows.Do(t, 200, "GET", shows.Path+"/runs/"+r.Correlation(), "")
		require.JSONEq(t, string(mine.Body), string(theirs.Body))
		var shown struct {
			Executions int
			Recorded   any
			Tree       []struct{ Children []struct{ Slug string } }
		}
		require.NoError(t, json.Unmarshal(theirs.Body, &shown))
		require.Equal(t, 3, shown.Executions)
		require.Equal(t, true, shown.Recorded)
		require.Len(t, shown.Tree[0].Children, 2, "%s", theirs.Body)
		asked := len(f.Requests)
		for _, p := range []nodetest.Workspace{shows, ran} {
			for _, document := range []string{"recorded", "current"} {
				replayed := nodetest.Run{Answer: got, Workspace: p}.Replay(t, `{"document":"`+document+`"}`)
				require.Equal(t, "identical", replayed.Status, "%+v", replayed)
			}
		}
		require.Len(t, f.Requests, asked, "nobody was asked")
	}
}

// waitsForWhatComes records an event on one node, and then waits for one like it on the
// other.
func waitsForWhatComes(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: e}], timeout: 0.3, output: w}}], output: {n: '{{w.payload.n}}'}}`)
	for range 5 {
		here.Emit(t, `{"type":"e","payload":{"n":1}}`)
		require.JSONEq(t, `{}`, string(there.CallEndpoint(t, 200, "POST", "t", "").Body), "it was there before")
	}
}

func answersFromElsewhere(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
t: {when: {endpoint: true}, do: [{emit: {event: ask, output: ev}}, {wait: {oneOf: [{event: answer, filters: {payload.to: '{{ev.id}}'}}], timeout: 20, output: w}}], output: ['{{w.payload.n}}', '{{global.n}}', '{{run.n}}']}
answers: {when: {events: [ask]}, do: [{set global.n: 7}, {set run.n: 8}, {emit: {event: answer, payload: {to: '{{id}}', n: 6}}}]}`)
	for _, p := range []nodetest.Workspace{here, there, here, there} {
		require.JSONEq(t, `[6,7,8]`, string(p.CallEndpoint(t, 200, "POST", "t", "").Body), "what was written before the answer is seen")
	}
}

func suppressedElsewhere(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: e, filters: {payload.n: 2}, cancelTriggers: true}], timeout: 20, output: w}}], output: '{{w.payload.n}}'}
hears: {when: {events: [e]}, do: [], output: '{{payload.n}}'}`)
	for i, p := range []nodetest.Workspace{here, there} {
		answered := p.CallInBackground(t, t.Context(), "t")
		here.AwaitEvents(t, i+1, "runtime.waits.pending", "")
		here.Emit(t, `{"type":"e","payload":{"n":1}},{"type":"e","payload":{"n":2}}`)
		got := <-answered
		require.Equal(t, "2", string(got.Body))
		here.Emit(t, `{"type":"e","payload":{"n":3}}`)
		for _, e := range here.AwaitEvents(t, 2*(i+1), nodetest.Executed, "payload.slug=hears") {
			require.NotEqual(t, "2", e.At("output"), "it was for the wait")
		}
	}
}

func passingEventsStart(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
t: {when: {endpoint: true}, do: [{emit: {event: gone, payload: {n: '{{body.n}}'}, options: {persist: false}}}]}
hears: {when: {events: [gone]}, do: [], output: '{{payload.n}}'}`)
	here.CallEndpoint(t, 200, "POST", "t", `{"n":1}`)
	there.CallEndpoint(t, 200, "POST", "t", `{"n":2}`)
	heard := here.AwaitEvents(t, 2, nodetest.Executed, "payload.slug=hears")
	require.ElementsMatch(t, []string{"1", "2"}, []string{heard[0].At("output"), heard[1].At("output")})
}

func configElsewhere(t *testing.T, c *cluster) {
	here, there := c.newWorkspace(t)
	here.AddAutomations(t, `
put: {when: {endpoint: true}, do: [{set config.k: '{{body.k}}'}, {run: {module: secrets, function: set, parameters: {name: s, value: 'v{{body.k}}'}, output: r}}], output: '{{config.k}}'}
get: {when: {endpoint: true}, do: [{run: {module: secrets, function: get, parameters: {name: s}, output: s}}], output: ['{{config.k}}', '{% {{s}} exists %}']}`)
	writer, reader := here, there
	for i := range 6 {
		k := string(rune('a' + i))
		require.Equal(t, k, string(writer.CallEndpoint(t, 200, "POST", "put", `{"k":"`+k+`"}`).Body))
		require.JSONEq(t, `["`+k+`",true]`, string(reader.CallEndpoint(t, 200, "POST", "get", "").Body))
		writer, reader = reader, writer
	}
}
