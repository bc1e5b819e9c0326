package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEventsStartAutomations(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	t.Run("patterns", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
many: {when: {events: ['o.*', 'o.a.*', o.a.b]}, do: [], output: '{{type}}'}
one: {when: {events: [o]}, do: [], output: {input: ['{{id}}', '{{type}}', '{{source.workspaceId}}', '{{payload}}', '{{createdAt}}'], depth: '{{run.depth}}'}}
off: {disabled: true, when: {events: ['o.*', o]}, do: []}
closed: {private: true, when: {events: [o]}, do: []}`)
		made, _ := p.emits(t, `{"type":"o.a.b"},{"type":"o","payload":{"n":1}},{"type":"other"}`)
		ended := p.awaits(t, 3, executed, "")
		slices.SortFunc(ended, func(a, b shownEvent) int { return strings.Compare(a.at("slug"), b.at("slug")) })
		require.Equal(t, []string{`"closed"`, `"many"`, `"one"`}, []string{ended[0].at("slug"), ended[1].at("slug"), ended[2].at("slug")})
		require.Equal(t, `"o.a.b"`, ended[1].at("output"))
		require.JSONEq(t, `{"input":["`+made[1].ID+`","o","`+p.id+`",{"n":1},"`+made[1].CreatedAt+`"],"depth":1}`, ended[2].at("output"))
		require.Equal(t, p.userID(t), ended[2].Source["userId"])
		p.awaits(t, 3, "runtime.interactions.triggered", "payload.trigger.type=event")
		p.refuses(t, 422, "validation_failed", "POST", p.path+"/automations", `{"name":"x","do":[],"when":{"events":["a.*.b"]}}`)
	})
	t.Run("executed events start nothing", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
all: {when: {events: ['runtime.*']}, do: [], output: '{{type}}'}
t: []`)
		p.tries(t, 200, `{}`)
		p.awaits(t, 1, "error", "payload.error=TooManyCallError") // what starts it tells that it does
		for _, e := range p.awaits(t, 21, executed, "") {
			require.Contains(t, map[string]string{`"t"`: `{}`, `"all"`: `"runtime.interactions.triggered"`}[e.at("slug")], e.at("output"))
		}
	})
	t.Run("native events", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
saved: {authorizations: {action: admin}, when: {events: ['workspaces.automations.*']}, do: [], output: ['{{type}}', '{{payload.slug}}', '{{user.id}}']}`)
		p.has(t, `x: []`)
		ended := p.awaits(t, 2, executed, "payload.slug=saved")
		require.Contains(t, []string{ended[0].at("output"), ended[1].at("output")}, `["workspaces.automations.created","x","`+p.userID(t)+`"]`)
	})
	t.Run("depth", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{repeat: {until: 10, do: [{emit: {event: once}}]}}]
hears: {when: {events: [once]}, do: [], output: '{{run.depth}}'}
loop: {when: {events: [e]}, do: [{emit: {event: e}}]}`)
		for _, e := range p.tries(t, 200, `{}`).awaits(t, 11, executed) {
			require.Contains(t, map[string]string{`"t"`: `{}`, `"hears"`: `2`}[e.at("slug")], e.at("output"))
		}
		p.emits(t, `{"type":"e"}`)
		refused := p.awaits(t, 1, "error", "")[0]
		require.Equal(t, "TooManyCallError", refused.Payload["error"])
		require.Equal(t, "20", refused.at("details", "limit"))
		p.awaits(t, 21, executed, "payload.slug=loop")
		p.awaits(t, 22, "e", "")
	})
	t.Run("loops of errors end", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `bad: {when: {events: [error, start]}, do: [{nope: {}}]}`)
		p.emits(t, `{"type":"start"}`)
		p.awaits(t, 22, "error", "")
		p.awaits(t, 21, executed, "")
	})
	t.Run("what an emit says", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{emit: {event: e, payload: {a: 1}, target: {userId: u, userTopic: tt}, options: {aggPayload: true}, output: ev}}, {T: ['{{ev.type}}', '{{ev.target}}', '{{ev.source.userId}}']},
  {emit: {event: gone, options: {persist: false}}}, {emit: {event: soon, options: {async: true}}}]
hears: {when: {events: [gone]}, do: [], output: 1}`)
		got := p.tries(t, 200, `{}`)
		require.JSONEq(t, `["e",{"userId":"u","userTopic":"tt"},null]`, got.r(t))
		got.awaits(t, 2, executed)
		require.Empty(t, got.events(t, "gone"), "it is not kept")
		e := got.events(t, "e")[0]
		require.Equal(t, true, e.Options["aggPayload"])
		require.InDelta(t, 1, e.Source["automationDepth"], 0)
		require.Equal(t, "t", e.Source["automationSlug"])
		got.awaits(t, 1, "soon")
	})
}

func TestWaitsOfAutomations(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	t.Run("the answer to an emit is not missed", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{emit: {event: e, output: ev}}, {repeat: {until: 300, do: [{set x: '{{item}}'}]}}, {wait: {oneOf: [{event: runtime.automations.executed, filters: {payload.trigger.id: '{{ev.id}}'}}], output: w}}, {T: '{{run.foo}}'}]
hears: {when: {events: [e]}, do: [{'set run.foo[]': bar}]}`)
		for range 3 {
			require.JSONEq(t, `["bar"]`, p.tries(t, 200, `{}`).r(t))
		}
	})
	t.Run("filters, and triggers that are cancelled", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: {when: {events: [begin]}, do: [{wait: {oneOf: [{event: e, filters: {payload.n: '2'}, cancelTriggers: true}], output: w}}, {emit: {event: done, payload: {n: '{{w.payload.n}}', type: '{{w.type}}'}}}]}
hears: {when: {events: [e]}, do: [], output: '{{payload.n}}'}`)
		p.emits(t, `{"type":"begin"}`)
		pending := p.awaits(t, 1, "runtime.waits.pending", "")[0]
		require.JSONEq(t, `{"oneOf":[{"event":"e","filters":{"payload.n":"2"},"cancelTriggers":true}]}`, pending.at("wait"))
		made, _ := p.emits(t, `{"type":"e","payload":{"n":1}},{"type":"e","payload":{"n":2}}`)
		done := p.awaits(t, 1, "done", "")[0]
		require.JSONEq(t, `{"n":2,"type":"e"}`, done.at())
		fulfilled := p.awaits(t, 1, "runtime.waits.fulfilled", "")[0]
		require.Equal(t, fmt.Sprintf(`{"event":{"id":%q,"type":"e"},"id":%s}`, made[1].ID, pending.at("id")), fulfilled.at())
		p.emits(t, `{"type":"e","payload":{"n":3}}`)
		heard := p.awaits(t, 2, executed, "payload.slug=hears")
		require.ElementsMatch(t, []string{"1", "3"}, []string{heard[0].at("output"), heard[1].at("output")}, "the second was for the wait")
	})
	t.Run("time passes", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `t: [{T: d}, {wait: {oneOf: [{event: never}], timeout: 1, output: r}}]`)
		got := p.tries(t, 200, `{}`)
		require.Equal(t, `"d"`, got.r(t))
		require.Empty(t, got.events(t, "error"))
		require.Equal(t, got.events(t, "runtime.waits.pending")[0].at("id"), got.events(t, "runtime.waits.expired")[0].at("id"))
	})
	t.Run("one event fulfils many waits, each wait once", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: {when: {events: [begin]}, do: [{all: [{wait: {oneOf: [{event: 'go.*'}], output: a}}, {wait: {oneOf: [{event: no}, {event: go.on}], output: b}}]}, {wait: {oneOf: [{event: go.on}], timeout: 10, output: c}}, {emit: {event: done, payload: {a: '{{a.id}}', b: '{{b.id}}', c: '{{c.id}}'}}}]}`)
		p.emits(t, `{"type":"begin"}`)
		p.awaits(t, 2, "runtime.waits.pending", "")
		first, _ := p.emits(t, `{"type":"go.on"}`)
		p.awaits(t, 3, "runtime.waits.pending", "")
		second, _ := p.emits(t, `{"type":"go.on"}`)
		done := p.awaits(t, 1, "done", "")[0]
		require.JSONEq(t, fmt.Sprintf(`{"a":%q,"b":%q,"c":%q}`, first[0].ID, first[0].ID, second[0].ID), done.at())
	})
}
