package node_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/commands/signing"
)

// lure fetches what its caller asks for, with what it was lent of them.
const lure = `
asks: {when: {endpoint: true}, do: [{fetch: {url: '{% replace({{global.apiUrl}}, "/v2", "") %}/{{body.path}}', method: '{{body.method}}', body: '{{body.body}}', outputMode: detailed_response, output: r}}], output: ['{{r.status}}', '{{r.body}}']}
lends: {when: {endpoint: true}, do: [{auth: {output: a}}], output: '{{a.jwt}}'}
who: {when: {endpoint: true}, do: [], output: '{{user.email}}'}`

// Whoever calls the endpoint of somebody else does not hand over their account: what they
// may do is lent to the workspace of the endpoint, where it is theirs to do.
func TestWhatIsLentOfASession(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	mine := w.place(t).has(t, `guarded: {when: {endpoint: true}, authorizations: {action: sell}, do: [{fetch: {url: '{{global.apiUrl}}/workspaces/{{global.workspaceId}}', outputMode: detailed_response, output: r}}], output: {who: '{{user.email}}', read: '{{r.status}}'}}`)
	evil := w.placeOf(t, w.person(t, "evil")).has(t, lure)
	evil.publishes(t, "lure")
	home := w.place(t).has(t, lure).installs(t, "lure", "a", "")
	victim := func(p place) place { return p.as(w.owner) }
	const denied = "permission_denied"
	for _, tc := range []struct {
		method, path        string
		elsewhere, home, in string // what the answers have: in a workspace of others, in one's own, in an app there
	}{
		{"get", "me", "owner@", "owner@", "owner@"},
		{"get", "workspaces", denied, denied, denied},
		{"post", "workspaces", denied, denied, denied},
		{"get", "apps", denied, denied, denied},
		{"get", "events/stream", denied, denied, denied},
		{"post", "logout", denied, denied, denied},
		{"patch", "user", denied, denied, denied},
		{"get", "user/accessTokens", denied, denied, denied},
		{"get", "workspaces/" + mine.id, denied, denied, denied},
		{"post", "workspaces/" + mine.id + "/permissions", denied, denied, denied},
		{"get", "workspaces/unknown1", denied, denied, denied},
		{"get", "workspaces/" + home.id, denied, "[200", denied},
		{"get", "workspaces/" + home.id + "/security/secrets", denied, "[200", denied},
		{"get", "workspaces/" + home.id + "/webhooks/who", "owner@", "owner@", "owner@"},
		{"get", "workspaces/" + mine.id + "/webhooks/guarded", `"read":403`, `"read":403`, `"read":403`},
		{"get", "openapi.json", "[404", "[404", "[404"},
	} {
		body := `{"method":"` + tc.method + `","path":"v2/` + tc.path + `","body":{}}`
		for at, want := range map[string]string{evil.path + "/webhooks/asks": tc.elsewhere, home.path + "/webhooks/asks": tc.home, home.path + "/webhooks/a.asks": tc.in} {
			got := home.does(t, 200, "POST", at, body)
			require.Contains(t, string(got.body), want, "%s %s by %s", tc.method, tc.path, at)
		}
	}
	token := string(victim(evil).calls(t, 200, "GET", "lends", "").body)
	outside := mine.as(http.Header{"Authorization": {"Bearer " + token}})
	outside.refuses(t, 403, denied, "GET", mine.path, "")
	outside.refuses(t, 403, denied, "GET", "/v2/workspaces", "")
	got := outside.does(t, 200, "GET", "/v2/me", "")
	require.Empty(t, got.Header.Get("X-Svc-Csrf-Token"), "the session itself is not lent")
	require.Contains(t, string(outside.calls(t, 200, "GET", "guarded", "").body), `"who":"owner@`)
}

// Rights of administrators are not lent.
func TestNoAdministratorIsLent(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	evil := w.placeOf(t, w.person(t, "evil")).has(t, lure)
	root := w.login(t, "admin@localhost", adminPassword)
	admin := evil.as(bearer(root["token"].(string)))
	admin.does(t, 200, "GET", "/v2/workspaces/"+evil.id, "")
	for _, path := range []string{"sys/config", "sys/jwks", "v2/history", "v2/workspaces/" + w.place(t).id, "v2/workspaces/" + evil.id, "v2/workspaces/platform"} {
		got := admin.calls(t, 200, "POST", "asks", `{"method":"get","path":"`+path+`"}`)
		require.Contains(t, string(got.body), "[403,", path)
		require.Contains(t, string(got.body), "_denied", path)
	}
}

// The cookie of a session counts where it is sent from this site.
func TestACookieThatAnotherSiteHadSentIsNone(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, `who: {when: {endpoint: true}, do: [], output: {who: '{{user.email}}'}}`)
	token := strings.TrimPrefix(w.owner.Get("Authorization"), "Bearer ")
	csrf := p.does(t, 200, "GET", "/v2/me", "").Header.Get("X-Svc-Csrf-Token")
	for name, tc := range map[string]struct {
		method string
		more   http.Header
		status int
		want   string
	}{
		"the same origin":              {"GET", http.Header{"Sec-Fetch-Site": {"same-origin"}}, 200, `"who":"owner@`},
		"the same site":                {"GET", http.Header{"Sec-Fetch-Site": {"same-site"}}, 200, `"who":"owner@`},
		"the address bar":              {"GET", http.Header{"Sec-Fetch-Site": {"none"}}, 200, `"who":"owner@`},
		"another site":                 {"GET", http.Header{"Sec-Fetch-Site": {"cross-site"}}, 200, `{}`},
		"nobody knows":                 {"GET", nil, 200, `{}`},
		"a made-up site":               {"GET", http.Header{"Sec-Fetch-Site": {"mine"}}, 200, `{}`},
		"the token is shown":           {"GET", http.Header{"X-Svc-Csrf-Token": {csrf}}, 200, `"who":"owner@`},
		"another token is shown":       {"GET", http.Header{"X-Svc-Csrf-Token": {"x"}}, 200, `{}`},
		"a write needs the token":      {"POST", http.Header{"Sec-Fetch-Site": {"same-origin"}}, 401, `"csrf"`},
		"a write that shows the token": {"POST", http.Header{"X-Svc-Csrf-Token": {csrf}}, 200, `"who":"owner@`},
	} {
		h := http.Header{"Cookie": {"access-token=" + token}}
		for key, values := range tc.more {
			h[key] = values
		}
		got := p.s.sendAs(t, tc.method, p.path+"/webhooks/who", "", h, "")
		require.Equal(t, tc.status, got.StatusCode, "%s: %s", name, got.body)
		require.Contains(t, string(got.body), tc.want, name)
	}
	require.Contains(t, string(p.calls(t, 200, "GET", "who", "").body), "owner@", "a bearer token is nobody's cookie")
}

// What an event starts has no more rights than who emitted it, and no fewer.
func TestAnEmitKeepsWhatItsCallerShowed(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, `
emits: {when: {endpoint: true}, do: [{emit: {event: later}}]}
guarded: {when: {events: [later, direct]}, authorizations: {action: sell}, do: [{fetch: {url: '{{global.apiUrl}}/me', output: me}}], output: {scopes: '{{run.scopes}}', me: '{{me.scopes}}', acts: '{{me.email}}'}}
native: {when: {events: [workspaces.pages.created]}, do: [{emit: {event: told}}]}
hears: {when: {events: [told]}, authorizations: {action: sell}, do: [{fetch: {url: '{{global.apiUrl}}/me', output: me}}], output: '{{me.error}}'}`)
	key := func(rules string) place {
		made := p.does(t, 201, "POST", p.path+"/security/apikeys", `{"name":"k","rules":`+rules+`}`).json(t)
		return p.as(http.Header{"X-Svc-Api-Key": {made["apiKey"].(string)}})
	}
	allowed := key(`[{"action":"execute","subject":"automations"},{"action":"create","subject":"events"}]`)
	got := run{allowed.does(t, 200, "GET", p.path+"/webhooks/emits", ""), p}
	require.Equal(t, "200", statusOf(got.awaits(t, 2, executed)), "a key keeps its rights over an emit")
	refused := run{key(`[{"action":"read","subject":"files"}]`).does(t, 200, "GET", p.path+"/webhooks/emits", ""), p}
	require.Equal(t, "ForbiddenError", refused.awaits(t, 1, "error")[0].Payload["error"])
	made, _ := allowed.emits(t, `{"type":"direct"}`)
	ended := p.awaits(t, 1, executed, "payload.trigger.id="+made[0].ID)[0]
	require.Equal(t, "guarded", ended.Payload["slug"])

	me := p.does(t, 200, "GET", "/v2/me", "").json(t)
	narrow, err := w.node.Keys().Sign(t.Context(), signing.Claims{
		Subject: me["id"].(string), SessionID: me["sessionId"].(string), IssuedAt: time.Now(), ExpiresAt: time.Now().Add(time.Minute), Scope: "webhooks workspaces:read",
	})
	require.NoError(t, err)
	got = run{p.as(bearer(narrow)).does(t, 200, "GET", p.path+"/webhooks/emits", ""), p}
	for _, e := range got.awaits(t, 2, executed) {
		if e.Payload["slug"] == "guarded" {
			require.JSONEq(t, `["webhooks","workspaces:read"]`, e.at("output", "scopes"))
			require.JSONEq(t, `["webhooks","workspaces:read"]`, e.at("output", "me"))
			require.Contains(t, e.at("output", "acts"), "owner@")
		}
	}
	p.does(t, 201, "POST", p.path+"/pages", `{"name":"Page"}`)
	heard := p.awaits(t, 1, executed, "payload.slug=hears")[0]
	require.JSONEq(t, `"missing_token"`, heard.at("output"), "what the workspace emits by itself acts for nobody")
}

func statusOf(ended []shownEvent) string {
	for _, e := range ended {
		if _, failed := e.Payload["error"]; failed {
			text, _ := json.Marshal(e.Payload["error"]) // JSON it was
			return string(text)
		}
	}
	return "200"
}

// Cancelling and replaying ask for the right to test what ran.
func TestWhoMayCancelAndReplay(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	p := w.place(t).has(t, `
open: {labels: [okay], do: [{wait: {timeout: 300}}]}
hidden: [{wait: {timeout: 300}}]
mixed: {labels: [okay], do: [{emit: {event: more}}, {wait: {timeout: 300}}]}
listens: {when: {events: [more]}, do: [{wait: {timeout: 300}}]}
failed: [{nope: {}}]`)
	tester := w.person(t, "tester")
	me := w.must(t, "GET", "/v2/me", tester, "")["id"].(string)
	p.secure(t, `{"roles":{"tester":{}},"rules":[{"role":"tester","action":"test","subject":"automations","conditions":{"labels":{"$in":["okay"]}}}]}`)
	p.does(t, 200, "POST", p.path+"/permissions", `{"target":{"id":"`+me+`"},"permissions":{"role":"tester"}}`)
	limited := p.as(tester)
	begin := func(slug string) string {
		id := p.does(t, 202, "POST", p.path+"/test/"+slug+"?async=true", `{}`).json(t)["correlationId"].(string)
		p.awaits(t, 1, "runtime.waits.pending", "source.correlationId="+id)
		return p.path + "/runs/" + id
	}
	hidden, open := begin("hidden"), begin("open")
	limited.refuses(t, 403, "permission_denied", "POST", hidden+"/cancel", "")
	require.InDelta(t, 1, limited.does(t, 200, "POST", open+"/cancel", "").json(t)["cancelled"], 0)
	p.does(t, 200, "DELETE", p.path+"/automations/hidden", "")
	limited.refuses(t, 403, "permission_denied", "POST", hidden+"/cancel", "")
	limited.refuses(t, 403, "permission_denied", "POST", hidden+"/replay", `{}`)
	require.InDelta(t, 1, p.does(t, 200, "POST", hidden+"/cancel", "").json(t)["cancelled"], 0)

	both := p.does(t, 202, "POST", p.path+"/test/mixed?async=true", `{}`).json(t)["correlationId"].(string)
	p.awaits(t, 2, "runtime.waits.pending", "source.correlationId="+both)
	mixed := p.path + "/runs/" + both
	limited.refuses(t, 403, "permission_denied", "POST", mixed+"/cancel", "")
	require.InDelta(t, 2, p.does(t, 200, "POST", mixed+"/cancel", "").json(t)["cancelled"], 0)

	got := run{p.ask(t, "POST", p.path+"/test/failed", `{}`), p}
	got.awaits(t, 1, executed)
	path := p.path + "/runs/" + got.correlation() + "/replay"
	limited.refuses(t, 403, "permission_denied", "POST", path, `{}`)
	p.does(t, 200, "DELETE", p.path+"/automations/failed", "")
	limited.refuses(t, 403, "permission_denied", "POST", path, `{}`)
	require.Equal(t, "identical", p.does(t, 200, "POST", path, `{}`).json(t)["status"])
}
