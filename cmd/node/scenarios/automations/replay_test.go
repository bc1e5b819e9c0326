package automations_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain/value"
)

// Every run of the cases is replayed as it was, with its own documents.
func TestRecordedRunsAreReplayedAsTheyWere(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "RATE_LIMIT_DISABLED=yes", "RUN_RECORDING=all")
	for _, a := range runCases(t, w) {
		t.Run(a.Name(), func(t *testing.T) {
			i := slices.IndexFunc(a.events, func(e nodetest.Event) bool { return e.Type == "runtime.automations.executed" })
			if i < 0 {
				return // it did not begin
			}
			id, _ := a.events[i].Source["workspaceId"].(string)
			r := nodetest.Run{Answer: a.ran, Workspace: nodetest.Workspace{Service: w.Service, Path: "/v2/workspaces/" + id, ID: id, Auth: w.Owner}}
			r.AwaitEnd(t)
			for _, document := range []string{"recorded", "current"} {
				got := r.Replay(t, `{"document":"`+document+`"}`)
				require.Equal(t, "identical", got.Status, "%s %+v %s", document, got, value.JSON(a.docs, ""))
			}
		})
	}
}

func TestAReplayAsksNobody(t *testing.T) {
	t.Parallel()
	w, f := nodetest.NewOwnedService(t), nodetest.NewRemoteServer(t)
	p := w.NewWorkspace(t).AddAutomations(t, `t: [{fetch: {url: '`+f.URL+`/a', output: a}}, {run: {module: code, function: run, parameters: {code: 'return [Date.now(), Math.random(), args.x]', arguments: {x: 5}}, output: c}},
		{set session.n: 1}, {emit: {event: e, payload: {a: '{{a}}'}, output: ev}}, {set r: ['{{a}}', '{% rand() %}', '{{run.date}}', '{{c}}', '{{ev.id}}']}]`)
	r := p.RunRecorded(t, http.StatusOK, `{}`)
	f.Close()
	before := len(p.Service.ActivityTypes(t, p.ID))
	got := r.Replay(t, ``)
	require.Equal(t, "identical", got.Status, "%+v", got)
	require.Equal(t, "recorded", got.Document)
	require.Len(t, got.Executions, 1)
	require.Equal(t, "same", got.Executions[0].Output)
	require.Len(t, f.Requests, 1)
	after := p.Service.ActivityTypes(t, p.ID)
	require.Equal(t, []string{"runtime.runs.replayed"}, after[before:])

	var shown struct {
		Recorded any
		Tree     []struct {
			Effects []struct{ Kind, Instruction, Summary string }
		}
	}
	require.NoError(t, json.Unmarshal(p.Do(t, http.StatusOK, "GET", p.Path+"/runs/"+r.Correlation(), "").Body, &shown))
	require.Equal(t, true, shown.Recorded)
	var kinds []string
	for _, e := range shown.Tree[0].Effects {
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []string{"fetch", "module", "emit", "random", "clock"}, kinds)
	require.Equal(t, "GET "+f.URL+"/a", shown.Tree[0].Effects[0].Summary)

	p.Do(t, http.StatusOK, "PATCH", p.Path+"/automations/t", `{"name":"t","do":[{"fetch":{"url":"`+f.URL+`/b","output":"a"}}]}`)
	got = r.Replay(t, `{"document":"current"}`)
	require.Equal(t, "different", got.Status)
	require.Equal(t, "effect_changed", got.Differences[0].Kind)
	require.Equal(t, "do[0].fetch", got.Differences[0].Instruction)
	require.Contains(t, string(got.Differences[0].Expected), "/a")
	require.Contains(t, string(got.Differences[0].Actual), "/b")
	require.Equal(t, "identical", r.Replay(t, `{"document":"recorded"}`).Status, "the run ended on the document it began with")
}

func TestRunsThatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "RUN_RECORDING_MAX_SIZE=20kb")
	p := w.NewWorkspace(t).AddAutomations(t, `{t: [{conditions: {'{{fail}}': [{nope: {}}], '{{large}}': [{emit: {event: e, payload: {t: '{{large}}'}}}, {nope: {}}], '{{wait}}': [{wait: {timeout: 60}}]}}]}`)
	reason := func(id, body string) any {
		return p.RequireRefusal(t, http.StatusConflict, "resource_conflict", "POST", p.Path+"/runs/"+id+"/replay", body)["reason"]
	}
	well := p.RunTest(t, http.StatusOK, `{}`)
	well.AwaitEnd(t)
	require.Equal(t, "not_recorded", reason(well.Correlation(), `{}`))
	failed := p.RunTest(t, http.StatusInternalServerError, `{"fail":true}`)
	failed.AwaitEnd(t)
	require.Equal(t, "identical", failed.Replay(t, `{}`).Status, "a run that fails is recorded")
	require.Equal(t, "not_recorded", reason(failed.Correlation(), `{"executionId":"other"}`))
	large := p.RunTest(t, http.StatusInternalServerError, `{"large":"`+strings.Repeat("a", 30_000)+`"}`)
	large.AwaitEnd(t)
	require.Equal(t, "truncated", reason(large.Correlation(), `{}`))
	going := p.Do(t, http.StatusAccepted, "POST", p.Path+"/test/t?async=true&record=true", `{"payload":{"wait":true}}`).Header.Get("X-Correlation-Id")
	require.Eventually(t, func() bool { return slices.Contains(p.Service.ActivityTypes(t, p.ID), "runtime.waits.pending") }, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		return p.Send(t, "POST", p.Path+"/runs/"+going+"/replay", `{}`).StatusCode == http.StatusConflict
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, "running", reason(going, `{}`))
	p.RequireRefusal(t, http.StatusNotFound, "resource_not_found", "POST", p.Path+"/runs/nothing/replay", `{}`)
	p.RequireRefusal(t, http.StatusUnprocessableEntity, "validation_failed", "POST", p.Path+"/runs/"+failed.Correlation()+"/replay", `{"document":"other"}`)
	p.RequireRefusal(t, http.StatusBadRequest, "invalid_request", "POST", p.Path+"/runs/"+failed.Correlation()+"/replay", `{"what":1}`)
	stranger := p.As(w.NewUser(t, "stranger"))
	stranger.RequireRefusal(t, http.StatusForbidden, "workspace_access_denied", "POST", p.Path+"/runs/"+failed.Correlation()+"/replay", `{}`)
}

func TestARecordSurvivesAWaitAndARestart(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `{t: [{set session.a: 1}, {set a: '{{run.date}}'}, {all: [{wait: {oneOf: [{event: go}], timeout: 600, output: w}}, {wait: {timeout: 1}}]}, {set r: ['{{a}}', '{{w.payload}}', '{{session.a}}', '{{run.date}}', '{% rand() %}']}, {nope: {}}]}`)
	id := p.Do(t, http.StatusAccepted, "POST", p.Path+"/test/t?async=true", `{"payload":{}}`).Header.Get("X-Correlation-Id")
	require.Eventually(t, func() bool { return slices.Contains(p.Service.ActivityTypes(t, p.ID), "runtime.waits.pending") }, time.Minute, 10*time.Millisecond)
	p.Service.Stop(t)
	p.Service.Start(t)
	p.Emit(t, `{"type":"go","payload":{"n":7}}`)
	require.Eventually(t, func() bool { return slices.Contains(p.Service.ActivityTypes(t, p.ID), "runtime.automations.executed") }, time.Minute, 20*time.Millisecond)
	r := nodetest.Run{Answer: nodetest.Answer{Response: &http.Response{Header: http.Header{"X-Correlation-Id": {id}}}}, Workspace: p}
	r.AwaitEnd(t)
	require.Equal(t, "identical", r.Replay(t, `{}`).Status)
	require.Equal(t, "identical", r.Replay(t, `{"document":"current"}`).Status)
}

// A replay executes every tree of a run again, so it asks for the right to test each: also
// what another automation triggered.
func TestAReplayAsksForTheRightToTestEachTree(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "RUN_RECORDING=all")
	p := w.NewWorkspace(t).AddAutomations(t, `
open: {labels: [okay], do: [{emit: {event: more}}]}
listens: {when: {events: [more]}, do: []}
hidden: [{emit: {event: again}}]
hears: {labels: [okay], when: {events: [again]}, do: []}`)
	tester := w.NewUser(t, "tester")
	me := w.Must(t, "GET", "/v2/me", tester, "")["id"].(string)
	p.SetSecurity(t, `{"roles":{"tester":{}},"rules":[{"role":"tester","action":"test","subject":"automations","conditions":{"labels":{"$in":["okay"]}}}]}`)
	p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"id":"`+me+`"},"permissions":{"role":"tester"}}`)
	limited := p.As(tester)
	for _, of := range []struct{ begins, allowed, refused string }{{"open", "open", "listens"}, {"hidden", "hears", "hidden"}} {
		r := nodetest.Run{Answer: p.Do(t, 200, "POST", p.Path+"/test/"+of.begins, `{}`), Workspace: p}
		trees := map[string]string{}
		for _, e := range r.AwaitEvents(t, 2, nodetest.Executed) {
			trees[e.Payload["slug"].(string)] = `{"executionId":"` + e.Payload["executionId"].(string) + `"}`
		}
		r.AwaitEnd(t)
		before := replaysIn(p.Service.ActivityTypes(t, p.ID))
		path := p.Path + "/runs/" + r.Correlation() + "/replay"
		limited.RequireRefusal(t, 403, "permission_denied", "POST", path, `{}`)
		limited.RequireRefusal(t, 403, "permission_denied", "POST", path, trees[of.refused])
		require.Equal(t, before, replaysIn(p.Service.ActivityTypes(t, p.ID)), "what is refused is not executed")
		require.Len(t, (nodetest.Run{Answer: r.Answer, Workspace: limited}).Replay(t, trees[of.allowed]).Executions, 1)
		require.Len(t, r.Replay(t, `{}`).Executions, 2)
		require.Equal(t, "identical", r.Replay(t, trees[of.refused]).Status)
		if of.begins == "hidden" {
			limited.RequireRefusal(t, 403, "permission_denied", "POST", path, `{"executionId":"other"}`)
		} else {
			limited.RequireRefusal(t, 409, "resource_conflict", "POST", path, `{"executionId":"other"}`)
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
