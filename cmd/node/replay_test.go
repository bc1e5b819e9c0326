package node_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/domain/automation/value"
)

// replay is what replaying a run came to.
type replay struct {
	CorrelationID, Document, Status string
	Executions                      []struct{ ExecutionID, Slug, Status, Output string }
	Differences                     []struct {
		ExecutionID, Instruction, Kind string
		Iteration                      []int
		Expected, Actual               json.RawMessage
	}
}

// replays replays a run.
func (r run) replays(t *testing.T, body string) (got replay) {
	t.Helper()
	a := r.p.does(t, http.StatusOK, "POST", r.p.path+"/runs/"+r.correlation()+"/replay", body)
	require.NoError(t, json.Unmarshal(a.body, &got))
	require.Equal(t, r.correlation(), got.CorrelationID)
	return got
}

// ended waits until a run is over for the read models.
func (r run) ended(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, err := r.p.s.request(t.Context(), http.MethodGet, r.p.path+"/runs/"+r.correlation(), r.p.me, "")
		return err == nil && got.StatusCode == http.StatusOK && !strings.Contains(string(got.body), `"status":"running"`)
	}, 20*time.Second, 10*time.Millisecond)
}

// Every run of the cases is replayed as it was, with its own documents.
func TestRecordedRunsAreReplayedAsTheyWere(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, "RATE_LIMIT_DISABLED=yes", "RUN_RECORDING=all")
	for _, a := range w.carryOut(t) {
		t.Run(a.Name(), func(t *testing.T) {
			i := slices.IndexFunc(a.events, func(e shownEvent) bool { return e.Type == "runtime.automations.executed" })
			if i < 0 {
				return // it did not begin
			}
			id, _ := a.events[i].Source["workspaceId"].(string)
			r := run{a.ran, place{w.service, "/v2/workspaces/" + id, id, w.owner}}
			r.ended(t)
			for _, document := range []string{"recorded", "current"} {
				got := r.replays(t, `{"document":"`+document+`"}`)
				require.Equal(t, "identical", got.Status, "%s %+v %s", document, got, value.JSON(a.docs, ""))
			}
		})
	}
}

// records runs automation t with record=true.
func (p place) records(t *testing.T, status int, payload string) run {
	t.Helper()
	r := run{p.does(t, status, "POST", p.path+"/test/t?record=true", `{"payload":`+payload+`}`), p}
	r.ended(t)
	return r
}

func TestAReplayAsksNobody(t *testing.T) {
	t.Parallel()
	w, f := newWorkshop(t), newFar(t)
	p := w.place(t).has(t, `t: [{fetch: {url: '`+f.URL+`/a', output: a}}, {run: {module: code, function: run, parameters: {code: 'return [Date.now(), Math.random(), args.x]', arguments: {x: 5}}, output: c}},
		{set session.n: 1}, {emit: {event: e, payload: {a: '{{a}}'}, output: ev}}, {set r: ['{{a}}', '{% rand() %}', '{{run.date}}', '{{c}}', '{{ev.id}}']}]`)
	r := p.records(t, http.StatusOK, `{}`)
	f.Close()
	before := len(p.s.typesOf(t, p.id))
	got := r.replays(t, ``)
	require.Equal(t, "identical", got.Status, "%+v", got)
	require.Equal(t, "recorded", got.Document)
	require.Len(t, got.Executions, 1)
	require.Equal(t, "same", got.Executions[0].Output)
	require.Len(t, f.asked, 1)
	after := p.s.typesOf(t, p.id)
	require.Equal(t, []string{"runtime.runs.replayed"}, after[before:])

	var shown struct {
		Recorded any
		Tree     []struct {
			Effects []struct{ Kind, Instruction, Summary string }
		}
	}
	require.NoError(t, json.Unmarshal(p.does(t, http.StatusOK, "GET", p.path+"/runs/"+r.correlation(), "").body, &shown))
	require.Equal(t, true, shown.Recorded)
	var kinds []string
	for _, e := range shown.Tree[0].Effects {
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []string{"fetch", "module", "emit", "random", "clock"}, kinds)
	require.Equal(t, "GET "+f.URL+"/a", shown.Tree[0].Effects[0].Summary)

	p.does(t, http.StatusOK, "PATCH", p.path+"/automations/t", `{"name":"t","do":[{"fetch":{"url":"`+f.URL+`/b","output":"a"}}]}`)
	got = r.replays(t, `{"document":"current"}`)
	require.Equal(t, "different", got.Status)
	require.Equal(t, "effect_changed", got.Differences[0].Kind)
	require.Equal(t, "do[0].fetch", got.Differences[0].Instruction)
	require.Contains(t, string(got.Differences[0].Expected), "/a")
	require.Contains(t, string(got.Differences[0].Actual), "/b")
	require.Equal(t, "identical", r.replays(t, `{"document":"recorded"}`).Status, "the run ended on the document it began with")
}

func TestRunsThatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, "RUN_RECORDING_MAX_SIZE=20kb")
	p := w.place(t).has(t, `{t: [{conditions: {'{{fail}}': [{nope: {}}], '{{large}}': [{emit: {event: e, payload: {t: '{{large}}'}}}, {nope: {}}], '{{wait}}': [{wait: {timeout: 60}}]}}]}`)
	reason := func(id, body string) any {
		return p.refuses(t, http.StatusConflict, "resource_conflict", "POST", p.path+"/runs/"+id+"/replay", body)["reason"]
	}
	well := p.tries(t, http.StatusOK, `{}`)
	well.ended(t)
	require.Equal(t, "not_recorded", reason(well.correlation(), `{}`))
	failed := p.tries(t, http.StatusBadRequest, `{"fail":true}`)
	failed.ended(t)
	require.Equal(t, "identical", failed.replays(t, `{}`).Status, "a run that fails is recorded")
	require.Equal(t, "not_recorded", reason(failed.correlation(), `{"executionId":"other"}`))
	large := p.tries(t, http.StatusBadRequest, `{"large":"`+strings.Repeat("a", 30_000)+`"}`)
	large.ended(t)
	require.Equal(t, "truncated", reason(large.correlation(), `{}`))
	going := p.does(t, http.StatusAccepted, "POST", p.path+"/test/t?async=true&record=true", `{"payload":{"wait":true}}`).Header.Get("X-Correlation-Id")
	require.Eventually(t, func() bool { return slices.Contains(p.s.typesOf(t, p.id), "runtime.waits.pending") }, 10*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		return p.ask(t, "POST", p.path+"/runs/"+going+"/replay", `{}`).StatusCode == http.StatusConflict
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, "running", reason(going, `{}`))
	p.refuses(t, http.StatusNotFound, "resource_not_found", "POST", p.path+"/runs/nothing/replay", `{}`)
	p.refuses(t, http.StatusUnprocessableEntity, "validation_failed", "POST", p.path+"/runs/"+failed.correlation()+"/replay", `{"document":"other"}`)
	p.refuses(t, http.StatusBadRequest, "invalid_request", "POST", p.path+"/runs/"+failed.correlation()+"/replay", `{"what":1}`)
	stranger := p.as(w.person(t, "stranger"))
	stranger.refuses(t, http.StatusForbidden, "workspace_access_denied", "POST", p.path+"/runs/"+failed.correlation()+"/replay", `{}`)
}

func TestARecordSurvivesAWaitAndARestart(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, `{t: [{set session.a: 1}, {set a: '{{run.date}}'}, {all: [{wait: {oneOf: [{event: go}], timeout: 600, output: w}}, {wait: {timeout: 1}}]}, {set r: ['{{a}}', '{{w.payload}}', '{{session.a}}', '{{run.date}}', '{% rand() %}']}, {nope: {}}]}`)
	id := p.does(t, http.StatusAccepted, "POST", p.path+"/test/t?async=true", `{"payload":{}}`).Header.Get("X-Correlation-Id")
	require.Eventually(t, func() bool { return slices.Contains(p.s.typesOf(t, p.id), "runtime.waits.pending") }, 10*time.Second, 10*time.Millisecond)
	p.s.stop(t)
	p.s.start(t)
	p.emits(t, `{"type":"go","payload":{"n":7}}`)
	require.Eventually(t, func() bool { return slices.Contains(p.s.typesOf(t, p.id), "runtime.automations.executed") }, 20*time.Second, 20*time.Millisecond)
	r := run{answer{Response: &http.Response{Header: http.Header{"X-Correlation-Id": {id}}}}, p}
	r.ended(t)
	require.Equal(t, "identical", r.replays(t, `{}`).Status)
	require.Equal(t, "identical", r.replays(t, `{"document":"current"}`).Status)
}

// A replay executes every tree of a run again, so it asks for the right to test each: also
// what another automation triggered.
func TestAReplayAsksForTheRightToTestEachTree(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, "RUN_RECORDING=all")
	p := w.place(t).has(t, `
open: {labels: [okay], do: [{emit: {event: more}}]}
listens: {when: {events: [more]}, do: []}
hidden: [{emit: {event: again}}]
hears: {labels: [okay], when: {events: [again]}, do: []}`)
	tester := w.person(t, "tester")
	me := w.must(t, "GET", "/v2/me", tester, "")["id"].(string)
	p.secure(t, `{"roles":{"tester":{}},"rules":[{"role":"tester","action":"test","subject":"automations","conditions":{"labels":{"$in":["okay"]}}}]}`)
	p.does(t, 200, "POST", p.path+"/permissions", `{"target":{"id":"`+me+`"},"permissions":{"role":"tester"}}`)
	limited := p.as(tester)
	for _, of := range []struct{ begins, allowed, refused string }{{"open", "open", "listens"}, {"hidden", "hears", "hidden"}} {
		r := run{p.does(t, 200, "POST", p.path+"/test/"+of.begins, `{}`), p}
		trees := map[string]string{}
		for _, e := range r.awaits(t, 2, executed) {
			trees[e.Payload["slug"].(string)] = `{"executionId":"` + e.Payload["executionId"].(string) + `"}`
		}
		r.ended(t)
		before := replaysIn(p.s.typesOf(t, p.id))
		path := p.path + "/runs/" + r.correlation() + "/replay"
		limited.refuses(t, 403, "permission_denied", "POST", path, `{}`)
		limited.refuses(t, 403, "permission_denied", "POST", path, trees[of.refused])
		require.Equal(t, before, replaysIn(p.s.typesOf(t, p.id)), "what is refused is not executed")
		require.Len(t, (run{r.answer, limited}).replays(t, trees[of.allowed]).Executions, 1)
		require.Len(t, r.replays(t, `{}`).Executions, 2)
		require.Equal(t, "identical", r.replays(t, trees[of.refused]).Status)
		if of.begins == "hidden" {
			limited.refuses(t, 403, "permission_denied", "POST", path, `{"executionId":"other"}`)
		} else {
			limited.refuses(t, 409, "resource_conflict", "POST", path, `{"executionId":"other"}`)
		}
	}
}

// replaysIn is how many replays there were.
func replaysIn(types []string) (n int) {
	for _, name := range types {
		if name == "runtime.runs.replayed" {
			n++
		}
	}
	return n
}
