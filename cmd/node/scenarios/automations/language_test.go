package automations_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

const executed = "runtime.automations.executed"

// shownRun is a run as it is answered, as far as these tests look at it.
type shownRun struct {
	Status string
	Tree   []shownExecution
	Chunks []any
}

type shownExecution struct {
	Slug     string
	Logs     []string
	WaitsFor []map[string]any
	Until    string
	Steps    []struct {
		Instruction, Error, At string
		Iteration              []int
		Input, Result          any
		Duration               int
	}
	Children []shownExecution
}

func runOf(t *testing.T, r nodetest.Run) (run shownRun, body string) {
	t.Helper()
	got := r.Workspace.Do(t, http.StatusOK, "GET", r.Workspace.Path+"/runs/"+r.Correlation(), "")
	require.NoError(t, json.Unmarshal(got.Body, &run), "%s", got.Body)
	return run, string(got.Body)
}

// What people write in other places runs here, and whoever looks at the run sees what it did.
func TestRealDocumentsRun(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)

	t.Run("$http of a test", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: {when: {events: [go], endpoint: true}, do: [{set $http: {status: 203, headers: {x-kind: k, set-cookie: c}}}, {set $http.chunk: {i: 1}}, {child: {$http: '{{$http}}'}}], output: {done: true}}
child: [{set $http.chunk: last}]
late: [{set $http.chunk: 1}, {set $http.status: 201}]
strict: {arguments: {a: {type: string}}, do: [{set $http.status: 201}], output: '{{a}}'}
twice: {when: {events: [go]}, do: [{set $http.status: 500}, {child: {}}, {set $http.chunk: 2}], output: {ended: yes}}`)
		got := nodetest.Run{Answer: p.Do(t, 203, "POST", p.Path+"/test/t?record=true", `{}`), Workspace: p}
		require.JSONEq(t, `{"done":true}`, string(got.Body), "the output alone")
		require.Equal(t, []string{"k", ""}, []string{got.Header.Get("X-Kind"), got.Header.Get("Set-Cookie")})
		run, _ := runOf(t, got)
		require.Equal(t, []any{map[string]any{"i": 1.0}, "last"}, run.Chunks)
		require.Equal(t, "identical", got.Replay(t, ``).Status)
		require.NotContains(t, got.Events(t, executed)[1].At("payload"), "$http")
		p.Do(t, 201, "POST", p.Path+"/test/strict", `{"payload":{"a":"x"}}`)
		late := p.Send(t, "POST", p.Path+"/test/late", `{}`)
		require.Equal(t, "InvalidInstructionError", late.JSON(t)["details"].(map[string]any)["name"])

		p.Emit(t, `{"type":"go"}`)
		p.AwaitEvents(t, 1, executed, "payload.slug=twice")
		p.AwaitEvents(t, 1, executed, "payload.slug=t&payload.trigger.type=event")
		executions := map[any]bool{}
		for _, e := range p.AwaitEvents(t, 5, "error", "payload.error=InvalidInstructionError") {
			executions[e.Source["executionId"]] = true
		}
		require.Len(t, executions, 5, "one of late, and of each execution that the event started: t, twice, and what both call")
		ended := p.AwaitEvents(t, 1, executed, "payload.slug=twice")[0]
		require.JSONEq(t, `{"ended":"yes"}`, ended.At("output"), "nothing failed")
		require.Contains(t, ended.At("logs"), "InvalidInstructionError: $http is ignored")
	})
	t.Run("logs", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t)
		p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"hunter2-secret"}}`)
		p.AddAutomations(t, `
t: [{run: {module: code, function: run, parameters: {code: 'console.log("first", k); return new URL("https://h/?q=" + (x === undefined)).search', arguments: {k: '{{secret.k}}', x: '{{missing}}'}}, output: r}}, {child: {}}, {wait: {timeout: 0.2}},
  {run: {module: code, function: run, parameters: {code: 'console.warn("second"); return 1', arguments: {}}}}, {run: {module: crypto, function: base64Decode, parameters: {data: '!'}, onError: emit}}]
child: [{run: {module: code, function: run, parameters: {code: 'for (let i = 0; i < 3000; i++) console.log("line " + i)'}}}]
fails: [{run: {module: code, function: run, parameters: {code: 'console.log("before"); throw new Error("no")'}}}]
big: [{run: {module: code, function: run, parameters: {code: 'console.log("of a large one"); return "x".repeat(20000)'}, output: r}}]`)
		got := p.RunTest(t, 200, `{}`)
		require.Equal(t, `"?q=true"`, got.Result(t))
		run, body := runOf(t, got)
		require.Len(t, run.Tree, 1)
		require.Equal(t, []string{"first REDACTED", "second", "InvalidInstructionError: data is not base64 (do[4].run)"}, run.Tree[0].Logs)
		require.NotContains(t, body, "hunter2-secret")
		child := run.Tree[0].Children[0]
		size := len(strings.Join(child.Logs, "\n"))
		require.Greater(t, size, 9_900)
		require.LessOrEqual(t, size, 10_000)
		require.JSONEq(t, `["first REDACTED","second","InvalidInstructionError: data is not base64 (do[4].run)"]`, p.AwaitEvents(t, 1, executed, "payload.slug=t")[0].At("logs"))
		failed := nodetest.Run{Answer: p.Send(t, "POST", p.Path+"/test/fails", `{}`), Workspace: p}
		require.Equal(t, []any{"before"}, failed.JSON(t)["details"].(map[string]any)["logs"])
		run, _ = runOf(t, failed)
		require.Equal(t, []string{"before"}, run.Tree[0].Logs)
		large := nodetest.Run{Answer: p.Do(t, 200, "POST", p.Path+"/test/big", `{}`), Workspace: p}
		run, _ = runOf(t, large)
		require.Equal(t, []string{"of a large one"}, run.Tree[0].Logs, "although its output is too large to be kept")
		require.Equal(t, "true", large.Events(t, executed)[0].At("truncated"))
	})
	t.Run("steps of a recorded run", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t)
		p.Do(t, 200, "PATCH", p.Path+"/security/secrets", `{"k":{"value":"hunter2-secret"}}`)
		p.AddAutomations(t, `
t: [{set a: {k: 'x {{secret.k}}', long: '{{long}}'}}, {conditions: {'{{n}} > 5': [], default: [{comment: c}]}}, {repeat: {on: 2, do: [{child: {n: '{{item}}', output: 'r[{{item}}]'}}]}}, {set at: '{% now() %}'}, {set next: '{% dateAdd(now(), 1, "day").iso %}'}, {wait: {timeout: 0.2}},
  {run: {module: code, function: run, parameters: {code: 'return new Date().toLocaleDateString("fr") + Math.random() + Buffer.from("x").toString("hex")'}, output: c}}, {try: {do: [{nope: {}}]}}, {emit: {event: e, payload: {a: '{{a}}'}}}]
child: {do: [], output: '{{n}}'}`)
		got := p.RunRecorded(t, 200, `{"long":"`+strings.Repeat("y", 5000)+`","n":1}`)
		run, body := runOf(t, got)
		root := run.Tree[0]
		var paths []string
		for _, s := range root.Steps {
			paths = append(paths, s.Instruction)
		}
		require.Equal(t, []string{
			"do[0].set", "do[1].conditions", "do[2].repeat", "do[2].repeat.do[0].child", "do[2].repeat.do[0].child", "do[3].set", "do[4].set", "do[5].wait",
			"do[6].run", "do[7].try", "do[7].try.do[0].nope", "do[8].emit",
		}, paths)
		first := root.Steps[0].Input.(map[string]any)
		require.Equal(t, "a", first["name"])
		require.Equal(t, "x REDACTED", first["value"].(map[string]any)["k"])
		long := first["value"].(map[string]any)["long"].(string)
		require.Less(t, len(long), 2100)
		require.True(t, strings.HasSuffix(long, "…"))
		require.Equal(t, "default", root.Steps[1].Result)
		require.Equal(t, []any{[]int{1}, map[string]any{"n": 1.0}, 1.0}, []any{root.Steps[4].Iteration, root.Steps[4].Input, root.Steps[4].Result})
		require.GreaterOrEqual(t, root.Steps[7].Duration, 199, "both ends are cut to milliseconds")
		require.Contains(t, root.Steps[10].Error, "ObjectNotFoundError: ")
		require.Equal(t, "e", root.Steps[11].Result.(map[string]any)["type"])
		at, err := time.Parse(time.RFC3339, root.Steps[11].At)
		require.NoError(t, err)
		began, err := time.Parse(time.RFC3339, root.Steps[0].At)
		require.NoError(t, err)
		require.GreaterOrEqual(t, at.Sub(began), 200*time.Millisecond)
		require.NotContains(t, body, "hunter2-secret")
		for _, document := range []string{`{}`, `{"document":"current"}`} {
			require.Equal(t, "identical", got.Replay(t, document).Status)
		}
		run, _ = runOf(t, p.RunTest(t, 200, `{"n":1}`))
		require.Empty(t, run.Tree[0].Steps, "it was not recorded")
	})
	t.Run("what a run waits for", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: {when: {events: [begin]}, do: [{child: {}}]}
child: [{wait: {oneOf: [{event: approved, filters: {payload.n: 1}}, {event: refused}], timeout: 600, output: w}}]`)
		p.Emit(t, `{"type":"begin"}`)
		pending := p.AwaitEvents(t, 1, "runtime.waits.pending", "")[0]
		r := nodetest.Run{Answer: nodetest.Answer{Response: &http.Response{Header: http.Header{"X-Correlation-Id": {pending.Source["correlationId"].(string)}}}}, Workspace: p}
		waits := func() (found []shownExecution) {
			run, _ := runOf(t, r)
			for _, x := range run.Tree {
				if x.Until != "" {
					found = append(found, x)
				}
			}
			return found
		}
		require.Eventually(t, func() bool { return len(waits()) == 1 }, time.Minute, 10*time.Millisecond)
		x := waits()[0]
		require.Equal(t, "child", x.Slug)
		require.Equal(t, []map[string]any{{"event": "approved", "filters": map[string]any{"payload.n": 1.0}}, {"event": "refused"}}, x.WaitsFor)
		until, err := time.Parse(time.RFC3339, x.Until)
		require.NoError(t, err)
		require.Greater(t, time.Until(until), 5*time.Minute)
		p.Emit(t, `{"type":"refused"}`)
		p.AwaitEvents(t, 1, executed, "payload.slug=t")
		require.Empty(t, waits())
	})
}
