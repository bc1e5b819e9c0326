package automations_test

import (
	"fmt"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/catalog"
	"svc/eventstore"
)

// What the platform records nobody records in its place, and what it cannot open stops
// nobody.
func TestAutomationsForgeNothing(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `t: [{emit: {event: '{{n}}', payload: '{{p}}'}}]`)
	for _, fact := range catalog.Table() {
		if fact.Name == "error" || fact.Name == "usage" {
			continue
		}
		got := p.RunTest(t, 500, fmt.Sprintf(`{"n":%q,"p":{"workspaceId":%q,"from":0,"to":9007199254740991}}`, fact.Name, p.ID))
		require.Equal(t, "InvalidEventError", got.JSON(t)["details"].(map[string]any)["name"], fact.Name)
	}
	for _, odd := range []string{`{"error":5}`, `{"error":"Oops","message":"bad","details":"a text"}`, `{"message":{}}`} {
		got := p.RunTest(t, 200, `{"n":"error","p":`+odd+`}`)
		told := got.AwaitEvents(t, 1, "error")[0]
		require.JSONEq(t, odd, told.At())
		got.AwaitEvents(t, 1, "runtime.automations.executed")
	}
}

// Whatever a run causes belongs to it, and what that starts is one step deeper.
func TestWhatARunCausesBelongsToIt(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
t: [{set global.x: '{{n}}'}, {set config.n: '{{n}}'}, {createUserTopic: {topic: 'topic {{n}}', userIds: [u1]}}]
hears: {when: {events: [workspaces.configured, events.userTopics.created]}, do: [{emit: {event: heard, payload: {type: '{{type}}', x: '{{global.x}}', run: '{{run.correlationId}}', depth: '{{run.depth}}'}}}]}`)
	got := p.RunTest(t, 200, `{"n":7}`)
	for _, of := range []string{"workspaces.configured", "events.userTopics.created"} {
		caused := got.AwaitEvents(t, 1, of)[0]
		require.Equal(t, "t", caused.Source["automationSlug"], of)
		require.InDelta(t, 1, caused.Source["automationDepth"], 0, of)
	}
	for _, heard := range got.AwaitEvents(t, 2, "heard") {
		require.Equal(t, got.Correlation(), heard.Payload["run"])
		require.InDelta(t, 2, heard.Payload["depth"], 0)
		require.InDelta(t, 7, heard.Payload["x"], 0, "what was written before is seen")
	}
	ids, _ := p.ListRuns(t, "")
	require.Equal(t, []string{got.Correlation()}, ids)

	loop := w.NewWorkspace(t).AddAutomations(t, `
t: [{set config.n: 0}]
loop: {when: {events: [workspaces.configured]}, do: [{set config.n: '{% rand() %}'}]}`)
	again := loop.RunTest(t, 200, `{}`)
	require.Equal(t, "TooManyCallError", again.AwaitEvents(t, 1, "error")[0].Payload["error"], "it does not go on for ever")
}

// What nobody asked for begins a run of its own, that can be found.
func TestAnEventWithoutARunBeginsOne(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `hears: {when: {events: [bare]}, do: [{wait: {oneOf: [{event: go}], timeout: 60}}, {emit: {event: heard}}]}`)
	id := ulid.Make().String()
	_, err := w.Node.Store().Log.Append(t.Context(), eventstore.Commit{
		Stream: domain.StreamID{Scope: p.ID}, Facts: []eventstore.Fact{{ID: id, Event: domain.Unknown{Name: "bare", Body: []byte(`{}`)}}},
	})
	require.NoError(t, err)
	p.AwaitEvents(t, 1, "runtime.waits.pending", "")
	ids, _ := p.ListRuns(t, "")
	require.Equal(t, []string{id}, ids)
	w.Restart(t, nil)
	p.Emit(t, `{"type":"go"}`)
	require.Equal(t, id, p.AwaitEvents(t, 1, "heard", "")[0].Source["correlationId"])
}

// Only those events of the platform start automations that the contract names.
func TestEventsOfThePlatformThatStartNothing(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t)
	p.Do(t, 201, "POST", p.Path+"/automations", `{"slug":"hears","name":"hears","when":{"events":["workspaces.updated","workspaces.*","runtime.runs.*","runtime.schedules.*"]},"do":[{"emit":{"event":"heard","payload":{"type":"{{type}}"}}}]}`)
	p.Do(t, 200, "PATCH", p.Path, `{"name":"Renamed"}`)
	p.Do(t, 200, "PATCH", p.Path, `{"config":{"value":{"k":1}}}`)
	heard := p.AwaitEvents(t, 2, "heard", "") // that it was saved itself, and the config
	require.ElementsMatch(t, []any{"workspaces.automations.created", "workspaces.configured"}, []any{heard[0].Payload["type"], heard[1].Payload["type"]})
}

func TestTheTimeOfAllThrottlesIsTold(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t, "RATE_LIMIT_EMITS=1", "RATE_LIMIT_EMITS_BURST=1")
	p := w.NewWorkspace(t).AddAutomations(t, `t: [{repeat: {until: 3, do: [{emit: {event: e}}]}}]`)
	done := p.RunTest(t, 200, `{}`).AwaitEvents(t, 1, "runtime.automations.executed")[0]
	require.Greater(t, done.Payload["throttled"], 200.0, "of two seconds, less what the emits took")
	require.GreaterOrEqual(t, done.Payload["duration"], done.Payload["throttled"])
}

func TestAnErrorHasTheSourceOfWhoRaisedIt(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
t: [{all: [{a: {}}, {b: {}}]}]
a: [{run: {module: crypto, function: '{{x}}none'}}]
b: [{wait: {timeout: 0.1}}, {run: {module: text, function: '{{x}}none'}}]`)
	got := p.RunTest(t, 500, `{}`)
	told := got.AwaitEvents(t, 1, "error")[0]
	require.Equal(t, "a", told.Source["automationSlug"])
	require.Contains(t, told.Payload["message"], "crypto")
}

func TestWaitsHearOfOtherWaits(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
t: [{runWorkflow: {workflow: other, wait: false}}, {wait: {oneOf: [{event: runtime.waits.*}], timeout: 20, output: w}}, {T: '{{w.type}}'}]
other: [{wait: {timeout: 1}}]`)
	require.Contains(t, []string{`"runtime.waits.pending"`, `"runtime.waits.expired"`}, p.RunTest(t, 200, `{}`).Result(t))
	alone := w.NewWorkspace(t).AddAutomations(t, `t: [{wait: {oneOf: [{event: runtime.waits.*}], timeout: 0.5, output: w}}, {T: '{{w.type}}'}]`)
	require.Equal(t, "absent", alone.RunTest(t, 200, `{}`).Result(t), "it does not hear of itself")
}

// A tree of its own has nobody who waits for an answer.
func TestAChunkOfAnotherRunRaises(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
e: {when: {endpoint: true}, do: [{runWorkflow: {workflow: c, wait: false, parameters: {$http: '{{$http}}'}}}]}
c: [{try: {do: [{set: {name: $http.chunk, value: 1}}], catch: [{emit: {event: caught, payload: {name: '{{$error.error}}'}}}]}}]`)
	caught := p.CallEndpoint(t, 200, "POST", "e", "{}").AwaitEvents(t, 1, "caught")[0]
	require.Equal(t, "InvalidInstructionError", caught.Payload["name"])
}
