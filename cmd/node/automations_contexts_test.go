package node_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

func TestContextsOfAutomations(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	t.Run("no update is lost", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{repeat: {until: 100, do: [{'set global.l[]': '{{n}}'}, {'set global[{{n}}]': '{{item}}'}]}}]
read: {when: {endpoint: true}, do: [], output: {l: '{{global.l.length}}', a: '{{global.a}}', b: '{{global.b}}'}}`)
		var g errgroup.Group
		for _, n := range []string{"a", "b"} {
			g.Go(func() error {
				got, err := w.request(t.Context(), http.MethodPost, p.path+"/test/t", p.me, `{"payload":{"n":"`+n+`"}}`)
				if err == nil && got.StatusCode != http.StatusOK {
					err = fmt.Errorf("%s", got.body)
				}
				return err
			})
		}
		require.NoError(t, g.Wait())
		require.JSONEq(t, `{"l":200,"a":99,"b":99}`, string(p.calls(t, 200, "GET", "read", "").body))
	})
	t.Run("who shares what", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
put: {when: {endpoint: true}, do: [{set user.x: '{{body.v}}'}, {set session.x: '{{body.v}}'}, {set global.x: '{{body.v}}'}, {set run.x: '{{body.v}}'}, {set socket.x: '{{body.v}}'}], output: '{{run.x}}'}
get: {when: {endpoint: true}, do: [], output: ['{{user.x}}', '{{session.x}}', '{{global.x}}', '{{run.x}}']}
who: {when: {endpoint: true}, do: [], output: ['{{user.id}}', '{{user.email}}', '{{user.role}}', '{{session.id}}', '{{run.permissions}}']}`)
		nobody, other := p.as(nil), p.as(w.person(t, "other"))
		p.calls(t, 200, "POST", "put", `{"v":"mine"}`)
		require.JSONEq(t, `["mine","mine","mine",null]`, string(p.calls(t, 200, "GET", "get", "").body))
		require.JSONEq(t, `[null,null,"mine",null]`, string(other.calls(t, 200, "GET", "get", "").body))
		require.JSONEq(t, `[null,null,"mine",null]`, string(nobody.calls(t, 200, "GET", "get", "").body))
		again := p.as(bearer(w.login(t, "owner@example.org", "long enough")["token"].(string)))
		require.JSONEq(t, `["mine",null,"mine",null]`, string(again.calls(t, 200, "GET", "get", "").body), "another session of the same user")
		visitor := nobody.calls(t, 200, "GET", "who", "")
		session := visitor.Header.Get("X-Svc-Session-Id")
		require.NotEmpty(t, session)
		require.Contains(t, string(visitor.body), `["`+session+`",null,`, "a visitor is a session")
		require.Contains(t, string(p.calls(t, 200, "GET", "who", "").body), `["`+p.userID(t)+`","owner@example.org","owner",`)
	})
	t.Run("what providers know of who calls", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
who: {when: {endpoint: true, events: [asked]}, do: [{emit: {event: then}}], output: '{{user.authData}}'}
later: {when: {events: [then]}, do: [], output: '{{user.authData}}'}`)
		known := `{"svc":{"email":"owner@example.org","id":"` + p.userID(t) + `"}}`
		require.JSONEq(t, known, string(p.calls(t, 200, "GET", "who", "").body))
		p.emits(t, `{"type":"asked"}`)
		for _, e := range p.awaits(t, 4, executed, "") {
			require.JSONEq(t, known, e.at("output"), "whatever started it")
		}
		require.JSONEq(t, `{}`, string(p.as(nil).calls(t, 200, "GET", "who", "").body), "nobody knows a visitor")
	})
	t.Run("what is too large is not kept", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{set user.x: 1}, {try: {do: [{set user.x: '{{big}}'}], catch: [{T: ['{{$error.error}}', '{{$error.details}}', '{{user.x}}']}]}}]
get: {when: {endpoint: true}, do: [], output: '{{user.x}}'}`)
		r := p.tries(t, 200, `{"big":"`+strings.Repeat("x", 200_000)+`"}`).r(t)
		require.JSONEq(t, `["ContextSizeError",{"context":"user","size":200008,"limit":102400},1]`, r)
		require.Equal(t, "1", string(p.calls(t, 200, "GET", "get", "").body))
	})
	t.Run("an emit comes after what was written before it", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{repeat: {until: 5, do: [{set global.n: '{{item}}'}, {set session.n: '{{item}}'}, {emit: {event: e, payload: {n: '{{item}}'}}}]}}]
hears: {when: {events: [e]}, do: [], output: ['{{payload.n}}', '{{global.n}}', '{{session.n}}']}`)
		for _, e := range p.tries(t, 200, `{}`).awaits(t, 6, executed) {
			if e.at("slug") == `"hears"` {
				seen := e.Payload["output"].([]any)
				require.GreaterOrEqual(t, seen[1], seen[0])
				require.GreaterOrEqual(t, seen[2], seen[0], "the session is the same")
			}
		}
	})
	t.Run("config is content", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{set config.a.b: '{{v}}'}, {T: '{{config}}'}]
get: {when: {endpoint: true}, do: [], output: '{{config}}'}
whole: {when: {endpoint: true}, do: [], output: ['{{$workspace.name}}', '{{$workspace.automations.get.name}}', '{{$workspace.nope}}', '{{global.workspaceName}}']}`)
		require.JSONEq(t, `{"a":{"b":1}}`, p.tries(t, 200, `{"v":1}`).r(t))
		require.JSONEq(t, `{"a":{"b":1}}`, string(p.calls(t, 200, "GET", "get", "").body))
		p.awaits(t, 1, "workspaces.configured", "")
		require.JSONEq(t, `{"a":{"b":1}}`, shownEvent{Payload: p.does(t, 200, "GET", p.path, "").json(t)}.at("config", "value"))
		require.JSONEq(t, `["Workshop","get",null,"Workshop"]`, string(p.calls(t, 200, "GET", "whole", "").body))
	})
	t.Run("ttl", func(t *testing.T) {
		t.Parallel()
		p := w.place(t).has(t, `
t: [{set: {name: global.x, value: 1, ttl: 2}}, {set: {name: global.y, value: 1, ttl: 2}}, {'set r[]': '{{global.x}}'}, {set global.y: 2}, {wait: {timeout: 3}}, {'set r[]': '{{global}}'}]
get: {when: {endpoint: true}, do: [], output: ['{{global.x}}', '{{global.y}}']}`)
		r := p.tries(t, 200, `{}`).r(t)
		require.Contains(t, r, `[1,{"y":2`)
		require.JSONEq(t, `[null,2]`, string(p.calls(t, 200, "GET", "get", "").body))
	})
}
