package secrets_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
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
	w := nodetest.NewOwnedService(t)
	mine := w.NewWorkspace(t).AddAutomations(t, `guarded: {when: {endpoint: true}, authorizations: {action: sell}, do: [{fetch: {url: '{{global.apiUrl}}/workspaces/{{global.workspaceId}}', outputMode: detailed_response, output: r}}], output: {who: '{{user.email}}', read: '{{r.status}}'}}`)
	evil := w.NewWorkspaceOf(t, w.NewUser(t, "evil")).AddAutomations(t, lure)
	evil.PublishApp(t, "lure")
	home := w.NewWorkspace(t).AddAutomations(t, lure).InstallApp(t, "lure", "a", "")
	victim := func(p nodetest.Workspace) nodetest.Workspace { return p.As(w.Owner) }
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
		{"get", "workspaces/" + mine.ID, denied, denied, denied},
		{"post", "workspaces/" + mine.ID + "/permissions", denied, denied, denied},
		{"get", "workspaces/unknown1", denied, denied, denied},
		{"get", "workspaces/" + home.ID, denied, "[200", denied},
		{"get", "workspaces/" + home.ID + "/security/secrets", denied, "[200", denied},
		{"get", "workspaces/" + home.ID + "/webhooks/who", "owner@", "owner@", "owner@"},
		{"get", "workspaces/" + mine.ID + "/webhooks/guarded", `"read":403`, `"read":403`, `"read":403`},
		{"get", "openapi.json", "[404", "[404", "[404"},
	} {
		body := `{"method":"` + tc.method + `","path":"v2/` + tc.path + `","body":{}}`
		for at, want := range map[string]string{evil.Path + "/webhooks/asks": tc.elsewhere, home.Path + "/webhooks/asks": tc.home, home.Path + "/webhooks/a.asks": tc.in} {
			got := home.Do(t, 200, "POST", at, body)
			require.Contains(t, string(got.Body), want, "%s %s by %s", tc.method, tc.path, at)
		}
	}
	token := string(victim(evil).CallEndpoint(t, 200, "GET", "lends", "").Body)
	outside := mine.As(http.Header{"Authorization": {"Bearer " + token}})
	outside.RequireRefusal(t, 403, denied, "GET", mine.Path, "")
	outside.RequireRefusal(t, 403, denied, "GET", "/v2/workspaces", "")
	got := outside.Do(t, 200, "GET", "/v2/me", "")
	require.Empty(t, got.Header.Get("X-Svc-Csrf-Token"), "the session itself is not lent")
	require.Contains(t, string(outside.CallEndpoint(t, 200, "GET", "guarded", "").Body), `"who":"owner@`)
}

// Rights of administrators are not lent.
func TestNoAdministratorIsLent(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	evil := w.NewWorkspaceOf(t, w.NewUser(t, "evil")).AddAutomations(t, lure)
	root := w.Login(t, "admin@localhost", nodetest.AdminPassword)
	admin := evil.As(nodetest.Bearer(root["token"].(string)))
	admin.Do(t, 200, "GET", "/v2/workspaces/"+evil.ID, "")
	for _, path := range []string{"sys/config", "sys/jwks", "v2/history", "v2/workspaces/" + w.NewWorkspace(t).ID, "v2/workspaces/" + evil.ID, "v2/workspaces/platform"} {
		got := admin.CallEndpoint(t, 200, "POST", "asks", `{"method":"get","path":"`+path+`"}`)
		require.Contains(t, string(got.Body), "[403,", path)
		require.Contains(t, string(got.Body), "_denied", path)
	}
}

// The cookie of a session counts where it is sent from this site.
func TestACookieThatAnotherSiteHadSentIsNone(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `who: {when: {endpoint: true}, do: [], output: {who: '{{user.email}}'}}`)
	token := strings.TrimPrefix(w.Owner.Get("Authorization"), "Bearer ")
	csrf := p.Do(t, 200, "GET", "/v2/me", "").Header.Get("X-Svc-Csrf-Token")
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
		got := p.Service.SendAs(t, tc.method, p.Path+"/webhooks/who", "", h, "")
		require.Equal(t, tc.status, got.StatusCode, "%s: %s", name, got.Body)
		require.Contains(t, string(got.Body), tc.want, name)
	}
	require.Contains(t, string(p.CallEndpoint(t, 200, "GET", "who", "").Body), "owner@", "a bearer token is nobody's cookie")
}

// What an event starts has no more rights than who emitted it, and no fewer.
func TestAnEmitKeepsWhatItsCallerShowed(t *testing.T) {
	t.Parallel()
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
emits: {when: {endpoint: true}, do: [{emit: {event: later}}]}
guarded: {when: {events: [later, direct]}, authorizations: {action: sell}, do: [{fetch: {url: '{{global.apiUrl}}/me', output: me}}], output: {scopes: '{{run.scopes}}', me: '{{me.scopes}}', acts: '{{me.email}}'}}
native: {when: {events: [workspaces.pages.created]}, do: [{emit: {event: told}}]}
hears: {when: {events: [told]}, authorizations: {action: sell}, do: [{fetch: {url: '{{global.apiUrl}}/me', output: me}}], output: '{{me.error}}'}`)
	key := func(rules string) nodetest.Workspace {
		made := p.Do(t, 201, "POST", p.Path+"/security/apikeys", `{"name":"k","rules":`+rules+`}`).JSON(t)
		return p.As(http.Header{"X-Svc-Api-Key": {made["apiKey"].(string)}})
	}
	allowed := key(`[{"action":"execute","subject":"automations"},{"action":"create","subject":"events"}]`)
	got := nodetest.Run{Answer: allowed.Do(t, 200, "GET", p.Path+"/webhooks/emits", ""), Workspace: p}
	require.Equal(t, "200", statusOf(got.AwaitEvents(t, 2, nodetest.Executed)), "a key keeps its rights over an emit")
	refused := nodetest.Run{Answer: key(`[{"action":"read","subject":"files"}]`).Do(t, 200, "GET", p.Path+"/webhooks/emits", ""), Workspace: p}
	require.Equal(t, "ForbiddenError", refused.AwaitEvents(t, 1, "error")[0].Payload["error"])
	made, _ := allowed.Emit(t, `{"type":"direct"}`)
	ended := p.AwaitEvents(t, 1, nodetest.Executed, "payload.trigger.id="+made[0].ID)[0]
	require.Equal(t, "guarded", ended.Payload["slug"])

	me := p.Do(t, 200, "GET", "/v2/me", "").JSON(t)
	narrow, err := w.Node.Keys().Sign(t.Context(), signing.Claims{
		Subject: me["id"].(string), SessionID: me["sessionId"].(string), IssuedAt: time.Now(), ExpiresAt: time.Now().Add(time.Minute), Scope: "webhooks workspaces:read",
	})
	require.NoError(t, err)
	got = nodetest.Run{Answer: p.As(nodetest.Bearer(narrow)).Do(t, 200, "GET", p.Path+"/webhooks/emits", ""), Workspace: p}
	for _, e := range got.AwaitEvents(t, 2, nodetest.Executed) {
		if e.Payload["slug"] == "guarded" {
			require.JSONEq(t, `["webhooks","workspaces:read"]`, e.At("output", "scopes"))
			require.JSONEq(t, `["webhooks","workspaces:read"]`, e.At("output", "me"))
			require.Contains(t, e.At("output", "acts"), "owner@")
		}
	}
	p.Do(t, 201, "POST", p.Path+"/pages", `{"name":"Page"}`)
	heard := p.AwaitEvents(t, 1, nodetest.Executed, "payload.slug=hears")[0]
	require.JSONEq(t, `"missing_token"`, heard.At("output"), "what the workspace emits by itself acts for nobody")
}

func statusOf(ended []nodetest.Event) string {
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
	w := nodetest.NewOwnedService(t)
	p := w.NewWorkspace(t).AddAutomations(t, `
open: {labels: [okay], do: [{wait: {timeout: 300}}]}
hidden: [{wait: {timeout: 300}}]
mixed: {labels: [okay], do: [{emit: {event: more}}, {wait: {timeout: 300}}]}
listens: {when: {events: [more]}, do: [{wait: {timeout: 300}}]}
failed: [{nope: {}}]`)
	tester := w.NewUser(t, "tester")
	me := w.Must(t, "GET", "/v2/me", tester, "")["id"].(string)
	p.SetSecurity(t, `{"roles":{"tester":{}},"rules":[{"role":"tester","action":"test","subject":"automations","conditions":{"labels":{"$in":["okay"]}}}]}`)
	p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"id":"`+me+`"},"permissions":{"role":"tester"}}`)
	limited := p.As(tester)
	begin := func(slug string) string {
		id := p.Do(t, 202, "POST", p.Path+"/test/"+slug+"?async=true", `{}`).JSON(t)["correlationId"].(string)
		p.AwaitEvents(t, 1, "runtime.waits.pending", "source.correlationId="+id)
		return p.Path + "/runs/" + id
	}
	hidden, open := begin("hidden"), begin("open")
	limited.RequireRefusal(t, 403, "permission_denied", "POST", hidden+"/cancel", "")
	require.InDelta(t, 1, limited.Do(t, 200, "POST", open+"/cancel", "").JSON(t)["cancelled"], 0)
	p.Do(t, 200, "DELETE", p.Path+"/automations/hidden", "")
	limited.RequireRefusal(t, 403, "permission_denied", "POST", hidden+"/cancel", "")
	limited.RequireRefusal(t, 403, "permission_denied", "POST", hidden+"/replay", `{}`)
	require.InDelta(t, 1, p.Do(t, 200, "POST", hidden+"/cancel", "").JSON(t)["cancelled"], 0)

	both := p.Do(t, 202, "POST", p.Path+"/test/mixed?async=true", `{}`).JSON(t)["correlationId"].(string)
	p.AwaitEvents(t, 2, "runtime.waits.pending", "source.correlationId="+both)
	mixed := p.Path + "/runs/" + both
	limited.RequireRefusal(t, 403, "permission_denied", "POST", mixed+"/cancel", "")
	require.InDelta(t, 2, p.Do(t, 200, "POST", mixed+"/cancel", "").JSON(t)["cancelled"], 0)

	got := nodetest.Run{Answer: p.Send(t, "POST", p.Path+"/test/failed", `{}`), Workspace: p}
	got.AwaitEvents(t, 1, nodetest.Executed)
	path := p.Path + "/runs/" + got.Correlation() + "/replay"
	limited.RequireRefusal(t, 403, "permission_denied", "POST", path, `{}`)
	p.Do(t, 200, "DELETE", p.Path+"/automations/failed", "")
	limited.RequireRefusal(t, 403, "permission_denied", "POST", path, `{}`)
	require.Equal(t, "identical", p.Do(t, 200, "POST", path, `{}`).JSON(t)["status"])
}
