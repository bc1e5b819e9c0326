package automations_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestEventsStartAutomations(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	t.Run("patterns", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
many: {when: {events: ['o.*', 'o.a.*', o.a.b]}, do: [], output: '{{type}}'}
one: {when: {events: [o]}, do: [], output: {input: ['{{id}}', '{{type}}', '{{source.workspaceId}}', '{{payload}}', '{{createdAt}}'], depth: '{{run.depth}}'}}
off: {disabled: true, when: {events: ['o.*', o]}, do: []}
closed: {private: true, when: {events: [o]}, do: []}`)
		made, _ := p.Emit(t, `{"type":"o.a.b"},{"type":"o","payload":{"n":1}},{"type":"other"}`)
		ended := p.AwaitEvents(t, 3, nodetest.Executed, "")
		slices.SortFunc(ended, func(a, b nodetest.Event) int { return strings.Compare(a.At("slug"), b.At("slug")) })
		require.Equal(t, []string{`"closed"`, `"many"`, `"one"`}, []string{ended[0].At("slug"), ended[1].At("slug"), ended[2].At("slug")})
		require.Equal(t, `"o.a.b"`, ended[1].At("output"))
		require.JSONEq(t, `{"input":["`+made[1].ID+`","o","`+p.ID+`",{"n":1},"`+made[1].CreatedAt+`"],"depth":1}`, ended[2].At("output"))
		require.Equal(t, p.UserID(t), ended[2].Source["userId"])
		p.AwaitEvents(t, 3, "runtime.interactions.triggered", "payload.trigger.type=event")
		p.RequireRefusal(t, 422, "validation_failed", "POST", p.Path+"/automations", `{"name":"x","do":[],"when":{"events":["a.*.b"]}}`)
	})
	t.Run("executed events start nothing", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
all: {when: {events: ['runtime.*']}, do: [], output: '{{type}}'}
t: []`)
		p.RunTest(t, 200, `{}`)
		p.AwaitEvents(t, 1, "error", "payload.error=TooManyCallError") // what starts it tells that it does
		for _, e := range p.AwaitEvents(t, 21, nodetest.Executed, "") {
			require.Contains(t, map[string]string{`"t"`: `{}`, `"all"`: `"runtime.interactions.triggered"`}[e.At("slug")], e.At("output"))
		}
	})
	t.Run("native events", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
saved: {authorizations: {action: admin}, when: {events: ['workspaces.automations.*']}, do: [], output: ['{{type}}', '{{payload.slug}}', '{{user.id}}']}`)
		p.AddAutomations(t, `x: []`)
		ended := p.AwaitEvents(t, 2, nodetest.Executed, "payload.slug=saved")
		require.Contains(t, []string{ended[0].At("output"), ended[1].At("output")}, `["workspaces.automations.created","x","`+p.UserID(t)+`"]`)
	})
	t.Run("depth", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{repeat: {until: 10, do: [{emit: {event: once}}]}}]
hears: {when: {events: [once]}, do: [], output: '{{run.depth}}'}
loop: {when: {events: [e]}, do: [{emit: {event: e}}]}`)
		for _, e := range p.RunTest(t, 200, `{}`).AwaitEvents(t, 11, nodetest.Executed) {
			require.Contains(t, map[string]string{`"t"`: `{}`, `"hears"`: `2`}[e.At("slug")], e.At("output"))
		}
		p.Emit(t, `{"type":"e"}`)
		refused := p.AwaitEvents(t, 1, "error", "")[0]
		require.Equal(t, "TooManyCallError", refused.Payload["error"])
		require.Equal(t, "20", refused.At("details", "limit"))
		p.AwaitEvents(t, 21, nodetest.Executed, "payload.slug=loop")
		p.AwaitEvents(t, 22, "e", "")
	})
	t.Run("loops of errors end", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `bad: {when: {events: [error, start]}, do: [{nope: {}}]}`)
		p.Emit(t, `{"type":"start"}`)
		p.AwaitEvents(t, 22, "error", "")
		p.AwaitEvents(t, 21, nodetest.Executed, "")
	})
	t.Run("what an emit says", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{emit: {event: e, payload: {a: 1}, target: {userId: u, userTopic: tt}, options: {aggPayload: true}, output: ev}}, {T: ['{{ev.type}}', '{{ev.target}}', '{{ev.source.userId}}']},
  {emit: {event: gone, options: {persist: false}}}, {emit: {event: soon, options: {async: true}}}]
hears: {when: {events: [gone]}, do: [], output: 1}`)
		got := p.RunTest(t, 200, `{}`)
		require.JSONEq(t, `["e",{"userId":"u","userTopic":"tt"},null]`, got.Result(t))
		got.AwaitEvents(t, 2, nodetest.Executed)
		require.Empty(t, got.Events(t, "gone"), "it is not kept")
		e := got.Events(t, "e")[0]
		require.Equal(t, true, e.Options["aggPayload"])
		require.InDelta(t, 1, e.Source["automationDepth"], 0)
		require.Equal(t, "t", e.Source["automationSlug"])
		got.AwaitEvents(t, 1, "soon")
	})
}

func TestWaitsOfAutomations(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	t.Run("the answer to an emit is not missed", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{emit: {event: e, output: ev}}, {repeat: {until: 300, do: [{set x: '{{item}}'}]}}, {wait: {oneOf: [{event: runtime.automations.executed, filters: {payload.trigger.id: '{{ev.id}}'}}], output: w}}, {T: '{{run.foo}}'}]
hears: {when: {events: [e]}, do: [{'set run.foo[]': bar}]}`)
		for range 3 {
			require.JSONEq(t, `["bar"]`, p.RunTest(t, 200, `{}`).Result(t))
		}
	})
	t.Run("filters, and triggers that are cancelled", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: {when: {events: [begin]}, do: [{wait: {oneOf: [{event: e, filters: {payload.n: '2'}, cancelTriggers: true}], output: w}}, {emit: {event: done, payload: {n: '{{w.payload.n}}', type: '{{w.type}}'}}}]}
hears: {when: {events: [e]}, do: [], output: '{{payload.n}}'}`)
		p.Emit(t, `{"type":"begin"}`)
		pending := p.AwaitEvents(t, 1, "runtime.waits.pending", "")[0]
		require.JSONEq(t, `{"oneOf":[{"event":"e","filters":{"payload.n":"2"},"cancelTriggers":true}]}`, pending.At("wait"))
		made, _ := p.Emit(t, `{"type":"e","payload":{"n":1}},{"type":"e","payload":{"n":2}}`)
		done := p.AwaitEvents(t, 1, "done", "")[0]
		require.JSONEq(t, `{"n":2,"type":"e"}`, done.At())
		fulfilled := p.AwaitEvents(t, 1, "runtime.waits.fulfilled", "")[0]
		require.Equal(t, fmt.Sprintf(`{"event":{"id":%q,"type":"e"},"id":%s}`, made[1].ID, pending.At("id")), fulfilled.At())
		p.Emit(t, `{"type":"e","payload":{"n":3}}`)
		heard := p.AwaitEvents(t, 2, nodetest.Executed, "payload.slug=hears")
		require.ElementsMatch(t, []string{"1", "3"}, []string{heard[0].At("output"), heard[1].At("output")}, "the second was for the wait")
	})
	t.Run("an answer that comes at once starts nothing else", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{repeat: {until: 30, do: [{emit: {event: ask.it, payload: {n: '{{item}}'}, output: ev}}, {comment: quick}, {set m: '{{item}}'}, {wait: {oneOf: [{event: 'ask.*', filters: {payload.n: '{{m}}', payload.to: '{{ev.id}}'}, cancelTriggers: true}], timeout: 20, output: a}}, {'set r[]': '{{a.payload.n}}'}]}}]
answers: {when: {events: [ask.it]}, do: [{emit: {event: ask.answered, payload: {n: '{{payload.n}}', to: '{{id}}'}}}]}
side: {when: {events: [ask.answered]}, do: []}`)
		got := p.RunTest(t, 200, `{}`)
		var n []int
		require.NoError(t, json.Unmarshal([]byte(got.Result(t)), &n))
		require.Len(t, n, 30)
		require.Len(t, got.Events(t, "ask.it"), 30)
		p.Emit(t, `{"type":"ask.answered","payload":{"n":99}}`) // the log is in order: what the others start has begun by now
		ran := p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=side")
		require.Equal(t, "99", ran[0].At("payload", "payload", "n"))
		require.Empty(t, got.Events(t, "error"))
	})
	t.Run("events before a wait that does not come are recorded", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{try: {do: [{emit: {event: e, payload: {n: 1}}}, {wait: {oneOf: [{event: never, cancelTriggers: true}], timeout: '{% 0 - 1 %}'}}], catch: [{emit: {event: e, payload: {n: 2}, output: ev}}, {set x: '{% json("{") %}'}, {wait: {oneOf: [{event: never, cancelTriggers: true}]}}]}}]`)
		got := p.RunTest(t, 500, `{}`)
		require.Equal(t, []string{"1", "2"}, []string{got.Events(t, "e")[0].At("n"), got.Events(t, "e")[1].At("n")})
	})
	t.Run("time passes", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `t: [{T: d}, {wait: {oneOf: [{event: never}], timeout: 1, output: r}}]`)
		got := p.RunTest(t, 200, `{}`)
		require.Equal(t, `"d"`, got.Result(t))
		require.Empty(t, got.Events(t, "error"))
		require.Equal(t, got.Events(t, "runtime.waits.pending")[0].At("id"), got.Events(t, "runtime.waits.expired")[0].At("id"))
	})
	t.Run("one event fulfils many waits, each wait once", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: {when: {events: [begin]}, do: [{all: [{wait: {oneOf: [{event: 'go.*'}], output: a}}, {wait: {oneOf: [{event: no}, {event: go.on}], output: b}}]}, {wait: {oneOf: [{event: go.on}], timeout: 10, output: c}}, {emit: {event: done, payload: {a: '{{a.id}}', b: '{{b.id}}', c: '{{c.id}}'}}}]}`)
		p.Emit(t, `{"type":"begin"}`)
		p.AwaitEvents(t, 2, "runtime.waits.pending", "")
		first, _ := p.Emit(t, `{"type":"go.on"}`)
		p.AwaitEvents(t, 3, "runtime.waits.pending", "")
		second, _ := p.Emit(t, `{"type":"go.on"}`)
		done := p.AwaitEvents(t, 1, "done", "")[0]
		require.JSONEq(t, fmt.Sprintf(`{"a":%q,"b":%q,"c":%q}`, first[0].ID, first[0].ID, second[0].ID), done.At())
	})
}
