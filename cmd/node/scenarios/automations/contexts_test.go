package automations_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"svc/cmd/node/nodetest"
)

func TestContextsOfAutomations(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	t.Run("no update is lost", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{repeat: {until: 100, do: [{'set global.l[]': '{{n}}'}, {'set global[{{n}}]': '{{item}}'}]}}]
read: {when: {endpoint: true}, do: [], output: {l: '{{global.l.length}}', a: '{{global.a}}', b: '{{global.b}}'}}`)
		var g errgroup.Group
		for _, n := range []string{"a", "b"} {
			g.Go(func() error {
				got, err := w.Request(t.Context(), http.MethodPost, p.Path+"/test/t", p.Auth, `{"payload":{"n":"`+n+`"}}`)
				if err == nil && got.StatusCode != http.StatusOK {
					err = fmt.Errorf("%s", got.Body)
				}
				return err
			})
		}
		require.NoError(t, g.Wait())
		require.JSONEq(t, `{"l":200,"a":99,"b":99}`, string(p.CallEndpoint(t, 200, "GET", "read", "").Body))
	})
	t.Run("who shares what", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
put: {when: {endpoint: true}, do: [{set user.x: '{{body.v}}'}, {set session.x: '{{body.v}}'}, {set global.x: '{{body.v}}'}, {set run.x: '{{body.v}}'}, {set socket.x: '{{body.v}}'}], output: '{{run.x}}'}
get: {when: {endpoint: true}, do: [], output: ['{{user.x}}', '{{session.x}}', '{{global.x}}', '{{run.x}}']}
who: {when: {endpoint: true}, do: [], output: ['{{user.id}}', '{{user.email}}', '{{user.role}}', '{{session.id}}', '{{run.permissions}}']}`)
		nobody, other := p.As(nil), p.As(w.NewUser(t, "other"))
		p.CallEndpoint(t, 200, "POST", "put", `{"v":"mine"}`)
		require.JSONEq(t, `["mine","mine","mine",null]`, string(p.CallEndpoint(t, 200, "GET", "get", "").Body))
		require.JSONEq(t, `[null,null,"mine",null]`, string(other.CallEndpoint(t, 200, "GET", "get", "").Body))
		require.JSONEq(t, `[null,null,"mine",null]`, string(nobody.CallEndpoint(t, 200, "GET", "get", "").Body))
		again := p.As(nodetest.Bearer(w.Login(t, "owner@example.org", "long enough")["token"].(string)))
		require.JSONEq(t, `["mine",null,"mine",null]`, string(again.CallEndpoint(t, 200, "GET", "get", "").Body), "another session of the same user")
		visitor := nobody.CallEndpoint(t, 200, "GET", "who", "")
		session := visitor.Header.Get("X-Svc-Session-Id")
		require.NotEmpty(t, session)
		require.Contains(t, string(visitor.Body), `["`+session+`",null,`, "a visitor is a session")
		require.Contains(t, string(p.CallEndpoint(t, 200, "GET", "who", "").Body), `["`+p.UserID(t)+`","owner@example.org","owner",`)
	})
	t.Run("what providers know of who calls", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
who: {when: {endpoint: true, events: [asked]}, do: [{emit: {event: then}}], output: '{{user.authData}}'}
later: {when: {events: [then]}, do: [], output: '{{user.authData}}'}`)
		known := `{"svc":{"email":"owner@example.org","id":"` + p.UserID(t) + `"}}`
		require.JSONEq(t, known, string(p.CallEndpoint(t, 200, "GET", "who", "").Body))
		p.Emit(t, `{"type":"asked"}`)
		for _, e := range p.AwaitEvents(t, 4, nodetest.Executed, "") {
			require.JSONEq(t, known, e.At("output"), "whatever started it")
		}
		require.JSONEq(t, `{}`, string(p.As(nil).CallEndpoint(t, 200, "GET", "who", "").Body), "nobody knows a visitor")
	})
	t.Run("what is too large is not kept", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{set user.x: 1}, {try: {do: [{set user.x: '{{big}}'}], catch: [{T: ['{{$error.error}}', '{{$error.details}}', '{{user.x}}']}]}}]
get: {when: {endpoint: true}, do: [], output: '{{user.x}}'}`)
		r := p.RunTest(t, 200, `{"big":"`+strings.Repeat("x", 200_000)+`"}`).Result(t)
		require.JSONEq(t, `["ContextSizeError",{"context":"user","size":200008,"limit":102400},1]`, r)
		require.Equal(t, "1", string(p.CallEndpoint(t, 200, "GET", "get", "").Body))
	})
	t.Run("an emit comes after what was written before it", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{repeat: {until: 5, do: [{set global.n: '{{item}}'}, {set session.n: '{{item}}'}, {emit: {event: e, payload: {n: '{{item}}'}}}]}}]
hears: {when: {events: [e]}, do: [], output: ['{{payload.n}}', '{{global.n}}', '{{session.n}}']}`)
		for _, e := range p.RunTest(t, 200, `{}`).AwaitEvents(t, 6, nodetest.Executed) {
			if e.At("slug") == `"hears"` {
				seen := e.Payload["output"].([]any)
				require.GreaterOrEqual(t, seen[1], seen[0])
				require.GreaterOrEqual(t, seen[2], seen[0], "the session is the same")
			}
		}
	})
	t.Run("config is content", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{set config.a.b: '{{v}}'}, {T: '{{config}}'}]
get: {when: {endpoint: true}, do: [], output: '{{config}}'}
whole: {when: {endpoint: true}, do: [], output: ['{{$workspace.name}}', '{{$workspace.automations.get.name}}', '{{$workspace.nope}}', '{{global.workspaceName}}']}`)
		require.JSONEq(t, `{"a":{"b":1}}`, p.RunTest(t, 200, `{"v":1}`).Result(t))
		require.JSONEq(t, `{"a":{"b":1}}`, string(p.CallEndpoint(t, 200, "GET", "get", "").Body))
		p.AwaitEvents(t, 1, "workspaces.configured", "")
		require.JSONEq(t, `{"a":{"b":1}}`, nodetest.Event{Payload: p.Do(t, 200, "GET", p.Path, "").JSON(t)}.At("config", "value"))
		require.JSONEq(t, `["Workshop","get",null,"Workshop"]`, string(p.CallEndpoint(t, 200, "GET", "whole", "").Body))
	})
	t.Run("ttl", func(t *testing.T) {
		t.Parallel()
		p := w.NewWorkspace(t).AddAutomations(t, `
t: [{set: {name: global.x, value: 1, ttl: 2}}, {set: {name: global.y, value: 1, ttl: 2}}, {'set r[]': '{{global.x}}'}, {set global.y: 2}, {wait: {timeout: 3}}, {'set r[]': '{{global}}'}]
get: {when: {endpoint: true}, do: [], output: ['{{global.x}}', '{{global.y}}']}`)
		r := p.RunTest(t, 200, `{}`).Result(t)
		require.Contains(t, r, `[1,{"y":2`)
		require.JSONEq(t, `[null,2]`, string(p.CallEndpoint(t, 200, "GET", "get", "").Body))
	})
}
