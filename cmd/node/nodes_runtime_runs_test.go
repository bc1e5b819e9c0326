package node_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// cancelledFromAnywhere begins runs on one node, in a wait and in a fetch, and cancels
// them on the other.
func cancelledFromAnywhere(t *testing.T, c *cluster) {
	g := newGate(t)
	here, there := c.place(t)
	here.has(t, `
waits: {when: {events: [waits]}, do: [{try: {do: [{wait: {oneOf: [{event: never}], timeout: 600}}], catch: [{emit: {event: caught}}], finally: [{emit: {event: finally}}]}}, {emit: {event: after}}]}
fetches: {when: {events: [fetches]}, do: [{try: {do: [{fetch: {url: '`+g.URL+`/slow'}}], finally: [{emit: {event: finally}}]}}, {emit: {event: after}}]}`)
	for _, pair := range [][2]place{{here, there}, {there, here}} {
		asked, cancels := pair[0], pair[1]
		for _, slug := range []string{"waits", "fetches"} {
			id := asked.does(t, http.StatusAccepted, "POST", asked.path+"/test/"+slug+"?async=true", `{"payload":{}}`).Header.Get("X-Correlation-Id")
			got := cancels.does(t, 200, "POST", cancels.path+"/runs/"+id+"/cancel", "").json(t)
			require.InDelta(t, 1, got["cancelled"], 0, slug)
			r := runOf(cancels, id)
			require.Equal(t, `"ExecutionCancelledError"`, r.awaits(t, 1, executed)[0].at("error", "error"))
			r.awaits(t, 1, "finally")
			require.Empty(t, r.events(t, "caught", "after"))
		}
		made, _ := asked.emits(t, `{"type":"waits"}`) // it runs on whichever node reads events
		id := made[0].Source["correlationId"].(string)
		runOf(cancels, id).awaits(t, 1, "runtime.waits.pending")
		cancels.does(t, 200, "POST", cancels.path+"/runs/"+id+"/cancel", "")
		require.Equal(t, `"ExecutionCancelledError"`, runOf(asked, id).awaits(t, 1, executed)[0].at("error", "error"))
		runOf(asked, id).ended(t)
		require.Equal(t, "cancelled", asked.does(t, 200, "GET", asked.path+"/runs/"+id, "").json(t)["status"])
	}
}

// runOf is a run that is known by its correlation id.
func runOf(p place, correlationID string) run {
	return run{answer{Response: &http.Response{Header: http.Header{"X-Correlation-Id": {correlationID}}}}, p}
}

func runsShownElsewhere(t *testing.T, c *cluster) {
	f := newFar(t)
	here, there := c.place(t)
	here.has(t, `
t: [{set session.n: 1}, {fetch: {url: '`+f.URL+`/a', output: a}}, {emit: {event: e, output: ev}}, {child: {n: 1, output: c}}, {wait: {oneOf: [{event: runtime.automations.executed, filters: {payload.trigger.id: '{{ev.id}}'}}], output: w}}, {set r: ['{{a}}', '{% rand() %}', '{{run.date}}', '{{c}}', '{{run.n}}']}]
child: {do: [{'set global.n[]': '{{n}}'}], output: '{{global.n.length}}'}
hears: {when: {events: [e]}, do: [{set run.n: 5}]}`)
	for _, pair := range [][2]place{{here, there}, {there, here}} {
		ran, shows := pair[0], pair[1]
		got := ran.does(t, 200, "POST", ran.path+"/test/t?record=true", `{"payload":{}}`)
		r := run{got, shows}
		r.ended(t)
		ids, _ := shows.runs(t, "automation=t")
		require.Contains(t, ids, r.correlation())
		mine, theirs := ran.does(t, 200, "GET", ran.path+"/runs/"+r.correlation(), ""), shows.does(t, 200, "GET", shows.path+"/runs/"+r.correlation(), "")
		require.JSONEq(t, string(mine.body), string(theirs.body))
		var shown struct {
			Executions int
			Recorded   any
			Tree       []struct{ Children []struct{ Slug string } }
		}
		require.NoError(t, json.Unmarshal(theirs.body, &shown))
		require.Equal(t, 3, shown.Executions)
		require.Equal(t, true, shown.Recorded)
		require.Len(t, shown.Tree[0].Children, 2, "%s", theirs.body)
		asked := len(f.asked)
		for _, p := range []place{shows, ran} {
			for _, document := range []string{"recorded", "current"} {
				replayed := run{got, p}.replays(t, `{"document":"`+document+`"}`)
				require.Equal(t, "identical", replayed.Status, "%+v", replayed)
			}
		}
		require.Len(t, f.asked, asked, "nobody was asked")
	}
}

// waitsForWhatComes records an event on one node, and then waits for one like it on the
// other.
func waitsForWhatComes(t *testing.T, c *cluster) {
	here, there := c.place(t)
	here.has(t, `t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: e}], timeout: 0.3, output: w}}], output: {n: '{{w.payload.n}}'}}`)
	for range 5 {
		here.emits(t, `{"type":"e","payload":{"n":1}}`)
		require.JSONEq(t, `{}`, string(there.calls(t, 200, "POST", "t", "").body), "it was there before")
	}
}

func answersFromElsewhere(t *testing.T, c *cluster) {
	here, there := c.place(t)
	here.has(t, `
t: {when: {endpoint: true}, do: [{emit: {event: ask, output: ev}}, {wait: {oneOf: [{event: answer, filters: {payload.to: '{{ev.id}}'}}], timeout: 20, output: w}}], output: ['{{w.payload.n}}', '{{global.n}}', '{{run.n}}']}
answers: {when: {events: [ask]}, do: [{set global.n: 7}, {set run.n: 8}, {emit: {event: answer, payload: {to: '{{id}}', n: 6}}}]}`)
	for _, p := range []place{here, there, here, there} {
		require.JSONEq(t, `[6,7,8]`, string(p.calls(t, 200, "POST", "t", "").body), "what was written before the answer is seen")
	}
}

func suppressedElsewhere(t *testing.T, c *cluster) {
	here, there := c.place(t)
	here.has(t, `
t: {when: {endpoint: true}, do: [{wait: {oneOf: [{event: e, filters: {payload.n: 2}, cancelTriggers: true}], timeout: 20, output: w}}], output: '{{w.payload.n}}'}
hears: {when: {events: [e]}, do: [], output: '{{payload.n}}'}`)
	for i, p := range []place{here, there} {
		answered := p.background(t, t.Context(), "t")
		here.awaits(t, i+1, "runtime.waits.pending", "")
		here.emits(t, `{"type":"e","payload":{"n":1}},{"type":"e","payload":{"n":2}}`)
		got := <-answered
		require.Equal(t, "2", string(got.body))
		here.emits(t, `{"type":"e","payload":{"n":3}}`)
		for _, e := range here.awaits(t, 2*(i+1), executed, "payload.slug=hears") {
			require.NotEqual(t, "2", e.at("output"), "it was for the wait")
		}
	}
}

func passingEventsStart(t *testing.T, c *cluster) {
	here, there := c.place(t)
	here.has(t, `
t: {when: {endpoint: true}, do: [{emit: {event: gone, payload: {n: '{{body.n}}'}, options: {persist: false}}}]}
hears: {when: {events: [gone]}, do: [], output: '{{payload.n}}'}`)
	here.calls(t, 200, "POST", "t", `{"n":1}`)
	there.calls(t, 200, "POST", "t", `{"n":2}`)
	heard := here.awaits(t, 2, executed, "payload.slug=hears")
	require.ElementsMatch(t, []string{"1", "2"}, []string{heard[0].at("output"), heard[1].at("output")})
}

func configElsewhere(t *testing.T, c *cluster) {
	here, there := c.place(t)
	here.has(t, `
put: {when: {endpoint: true}, do: [{set config.k: '{{body.k}}'}, {run: {module: secrets, function: set, parameters: {name: s, value: 'v{{body.k}}'}, output: r}}], output: '{{config.k}}'}
get: {when: {endpoint: true}, do: [{run: {module: secrets, function: get, parameters: {name: s}, output: s}}], output: ['{{config.k}}', '{% {{s}} exists %}']}`)
	writer, reader := here, there
	for i := range 6 {
		k := string(rune('a' + i))
		require.Equal(t, k, string(writer.calls(t, 200, "POST", "put", `{"k":"`+k+`"}`).body))
		require.JSONEq(t, `["`+k+`",true]`, string(reader.calls(t, 200, "POST", "get", "").body))
		writer, reader = reader, writer
	}
}
