package automations_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestWhatARunRecords(t *testing.T) {
	t.Parallel()
	p := nodetest.SharedService(t).NewWorkspace(t).AddAutomations(t, `
hello: {when: {endpoint: true}, do: [{'set global.count[]': 1}, {emit: {event: greeted, payload: {who: '{{body.who}}'}, output: ev}}, {child: {}}],
  output: {hello: '{{body.who}}', n: '{{global.count.length}}', type: '{{ev.type}}'}}
child: []
listen: {when: {events: [greeted]}, do: [], output: {depth: '{{run.depth}}', trigger: '{{run.trigger}}'}}`)
	got := p.CallEndpoint(t, 200, "POST", "hello", `{"who":"you"}`)
	require.JSONEq(t, `{"hello":"you","n":1,"type":"greeted"}`, string(got.Body))
	ended := got.AwaitEvents(t, 3, nodetest.Executed)
	require.Equal(t, []string{"runtime.interactions.triggered", "runtime.webhooks.triggered"}, nodetest.TypesOf(got.Events(t))[:2])

	byName := map[string]nodetest.Event{}
	for _, e := range ended {
		byName[e.Payload["slug"].(string)] = e
	}
	hello, child, listen := byName["hello"], byName["child"], byName["listen"]
	require.JSONEq(t, `{"type":"endpoint","value":"hello"}`, hello.At("trigger"))
	require.JSONEq(t, `{"hello":"you","n":1,"type":"greeted"}`, hello.At("output"))
	require.JSONEq(t, `{"who":"you"}`, hello.At("payload", "body"))
	require.Empty(t, hello.At("payload", "rawBody"))
	require.Empty(t, hello.At("payload", "$http"))
	require.Empty(t, hello.At("payload", "headers", "authorization"))
	require.Equal(t, "false", hello.At("break"))
	require.NotEmpty(t, hello.At("startedAt"))
	require.Equal(t, "hello", hello.Source["automationSlug"])
	require.InDelta(t, 1, hello.Source["automationDepth"], 0)
	require.Equal(t, hello.At("executionId"), child.At("parentExecutionId"))
	require.JSONEq(t, `{"type":"automation","value":"hello"}`, child.At("trigger"))
	emitted := got.Events(t, "greeted")[0]
	require.JSONEq(t, `{"depth":2,"trigger":{"type":"event","value":"greeted","id":"`+emitted.ID+`"}}`, listen.At("output"))
	require.NotContains(t, emitted.Source, "userId", "emits carry no user")
	require.NotEmpty(t, emitted.Source["sessionId"])
	require.Equal(t, "topic:runtime:emit", emitted.Source["serviceTopic"])
	called := got.Events(t, "runtime.webhooks.triggered")[0]
	require.Equal(t, map[string]any{"automationSlug": "hello", "method": "POST", "endpoint": "hello"}, called.Payload)
}

// An error that nobody catches is told once, by what raised it, however many calls it
// goes through, and to whom called.
func TestAnErrorIsToldOnce(t *testing.T) {
	t.Parallel()
	p := nodetest.SharedService(t).NewWorkspace(t).AddAutomations(t, `
t: {when: {endpoint: true}, do: [{child: {}}]}
child: [{set x: 1}, {try: {do: [{nope: {}}]}}, {grandchild: {}}]
grandchild: [{fetch: {url: '{{x}}'}}]
after: {when: {endpoint: true}, do: []}`)
	for _, got := range []nodetest.Run{p.RunTest(t, 500, `{}`), p.CallEndpoint(t, 500, "POST", "t", "")} {
		ended := got.AwaitEvents(t, 3, nodetest.Executed)
		require.Equal(t, []string{`"grandchild"`, `"child"`, `"t"`}, []string{ended[0].At("slug"), ended[1].At("slug"), ended[2].At("slug")})
		for _, e := range ended {
			require.Equal(t, `"InvalidInstructionError"`, e.At("error", "error"))
		}
		p.CallEndpoint(t, 200, "GET", "after", "") // what is recorded late has its time
		told := got.AwaitEvents(t, 1, "error")[0]
		require.Equal(t, "grandchild", told.Source["automationSlug"])
		require.InDelta(t, 3, told.Source["automationDepth"], 0)
		require.Equal(t, ended[0].At("executionId"), `"`+told.Source["executionId"].(string)+`"`)
		require.Equal(t, `"do[0].fetch"`, told.At("details", "instruction"))
		require.Equal(t, got.Correlation(), got.JSON(t)["requestId"])
	}
	whole := p.RunTest(t, 500, `{}`).JSON(t)["details"].(map[string]any)
	require.Equal(t, "do[0].fetch", whole["instruction"], "tests are told everything")
	short := p.CallEndpoint(t, 500, "POST", "t", "").JSON(t)["details"].(map[string]any)
	require.Equal(t, map[string]any{"name": "InvalidInstructionError", "reason": "automation_failed"}, short)
}
