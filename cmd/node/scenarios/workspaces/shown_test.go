package workspaces_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/domain"
	"svc/domain/catalog"
)

// observedWorkspace is a workspace that is looked at again and again while it changes. A node
// keeps what it has shown; a change of nothing is answered by what is put together
// anew, and so tells what a read must show.
type observedWorkspace struct {
	*appsScenario
	path string
	last string // body of the last read
}

func (l *observedWorkspace) read(who http.Header) nodetest.Answer {
	l.t.Helper()
	got := l.Get(l.t, l.path, who)
	require.Equal(l.t, http.StatusOK, got.StatusCode, "%s", got.Body)
	again := l.Get(l.t, l.path, who)
	require.Equal(l.t, string(got.Body), string(again.Body), "nothing happened in between")
	require.Equal(l.t, got.Header.Get("ETag"), again.Header.Get("ETag"))
	return got
}

// after sends what changes the workspace, or something that it shows, and looks.
func (l *observedWorkspace) after(what string, who http.Header, method, path, body string) nodetest.Answer {
	l.t.Helper()
	tag := l.read(l.bob).Header.Get("ETag")
	got := l.Call(l.t, method, path, who, body)
	require.Less(l.t, got.StatusCode, 300, "%s: %s", what, got.Body)
	shown := l.Get(l.t, l.path, l.bob)
	if shown.JSON(l.t)["writeLock"] == nil { // else it takes no change, not even of nothing
		fresh := l.Call(l.t, "PATCH", l.path, l.bob, `{}`)
		require.Equal(l.t, http.StatusOK, fresh.StatusCode, "%s", fresh.Body)
		require.Equal(l.t, string(fresh.Body), string(shown.Body), what)
	}
	require.NotEqual(l.t, l.last, string(shown.Body), "%s shows", what)
	require.NotEqual(l.t, tag, shown.Header.Get("ETag"), what)
	unmoved := l.Get(l.t, l.path, nodetest.WithHeader(l.bob, "If-None-Match", tag))
	require.Equal(l.t, http.StatusOK, unmoved.StatusCode, "%s: who has seen it before sees it", what)
	moved := l.Get(l.t, l.path, nodetest.WithHeader(l.bob, "If-None-Match", shown.Header.Get("ETag")))
	require.Equal(l.t, http.StatusNotModified, moved.StatusCode, what)
	l.last = string(shown.Body)
	return got
}

func TestAReadShowsEveryChangeAtOnce(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	mailer := m.mailer()
	m.publish(m.ada, mailer, "mail")
	id := m.workspace(m.bob, `{"name":"Shop","slug":"shop"}`)
	l := &observedWorkspace{appsScenario: m, path: "/v2/workspaces/" + id}
	own := func(what, method, path, body string) nodetest.Answer {
		t.Helper()
		return l.after(what, m.bob, method, l.path+path, body)
	}
	own("a name", "PATCH", "", `{"name":"Store","labels":["sales"]}`)
	own("a config", "PATCH", "/config", `{"schema":{"a":{"type":"string"}}}`)
	own("event types", "PATCH", "", `{"events":{"types":{"paid":{"schema":{}}}}}`)
	own("a block", "PUT", "/blocks/Hero", `{"url":"https://example.org/hero.js"}`)
	own("a new automation", "POST", "/automations", automation("charge", "charged"))
	changed := own("a changed automation", "PATCH", "/automations/charge", automation("charge", "taken"))
	own("a renamed automation", "PATCH", "/automations/charge", automation("bill", "taken"))
	own("no automation", "DELETE", "/automations/bill", "")
	page := own("a new page", "POST", "/pages", `{"slug":"home","name":"Home","blocks":[]}`).JSON(t)["id"].(string)
	own("a changed page", "PATCH", "/pages/home", `{"slug":"home","name":"House","blocks":[]}`)
	share := "/v2/pages/" + page + "/permissions"
	l.after("a public page", m.bob, "POST", share, `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
	l.after("a private page", m.bob, "DELETE", share+"/*", "")
	own("no page", "DELETE", "/pages/home", "")
	own("a knowledge base", "POST", "/knowledgeBases", `{"name":"FAQ"}`)
	own("a renamed knowledge base", "PATCH", "/knowledgeBases/faq", `{"slug":"help"}`)
	own("no knowledge base", "DELETE", "/knowledgeBases/help", "")
	own("an agent", "POST", "/agents", `{"name":"Helper","instructions":"Help."}`)
	own("a published agent", "POST", "/agents/helper/publish", "")
	own("a changed agent", "PATCH", "/agents/helper", `{"name":"Aide"}`)
	own("an agent that is not published", "POST", "/agents/helper/unpublish", "")
	own("a public agent", "POST", "/agents/helper/permissions", `{"target":{"public":true},"permissions":{"policies":{"execute":true}}}`)
	own("a private agent", "DELETE", "/agents/helper/permissions/*", "")
	own("no agent", "DELETE", "/agents/helper", "")
	own("a test suite", "POST", "/tests", `{"slug":"hello","automation":"hello","cases":[]}`)
	own("a renamed test suite", "PATCH", "/tests/hello", `{"slug":"hello-more"}`)
	own("no test suite", "DELETE", "/tests/hello-more", "")
	own("a lock", "POST", "/writeLock", `{"reason":"audit"}`)
	own("no lock", "DELETE", "/writeLock", "")
	own("what was before", "POST", "/restore", fmt.Sprintf(`{"seq":%q}`, changed.Header.Get("X-Svc-Seq")))

	own("an app", "POST", "/apps", `{"slug":"letters","appSlug":"mail"}`)
	own("its config", "PATCH", "/apps/letters/config", `{"sender":"me@example.org"}`)
	own("an instance that is off", "PATCH", "/apps/letters", `{"disabled":true}`)
	m.automation(m.ada, mailer, automation("fresh", "freshened"))
	l.after("another edition of its app", m.ada, "POST", "/v2/apps", fmt.Sprintf(`{"workspaceId":%q,"slug":"mail","name":"Post"}`, mailer))
	l.after("the app's workspace is gone", m.ada, "DELETE", "/v2/workspaces/"+mailer, "")
	l.after("it is back", m.ada, "POST", "/v2/workspaces/"+mailer+"/undelete", "")
	l.after("the app is gone", m.ada, "DELETE", "/v2/apps/mail", "")
	own("no app", "DELETE", "/apps/letters", "")

	got := m.Upload(t, l.path+"/import", m.bob, nodetest.ZipOf(t, map[string]string{"index.yml": "name: Brought\nslug: shop\n"}), false)
	require.Less(t, got.StatusCode, 300, "%s", got.Body)
	require.Contains(t, string(l.read(m.bob).Body), "Brought")
	require.Equal(t, string(m.Call(t, "PATCH", l.path, m.bob, `{}`).Body), string(l.read(m.bob).Body))

	l.readAsEve(id)
	l.covers(id)
}

// readAsEve reads the workspace as eve, whose rights change.
func (l *observedWorkspace) readAsEve(id string) {
	t, eve := l.t, l.Get(l.t, "/v2/me", l.eve).JSON(l.t)["id"].(string)
	own := func(method, path, body string) {
		t.Helper()
		got := l.Call(t, method, l.path+path, l.bob, body)
		require.Less(t, got.StatusCode, 300, "%s", got.Body)
	}
	grant := func(permissions string) {
		t.Helper()
		own("POST", "/permissions", fmt.Sprintf(`{"target":{"id":%q},"permissions":%s}`, eve, permissions))
	}
	may := func(subject string) any { return l.read(l.eve).JSON(t)["can"].(map[string]any)[subject] }
	in := func(folder string) any { return l.read(l.eve).JSON(t)[folder] }

	l.requireRefusal(403, "workspace_access_denied", "GET", l.path, l.eve, "")
	grant(`{"policies":{"read":true}}`)
	require.NotContains(t, may("workspaces"), "update")
	tag := l.read(l.eve).Header.Get("ETag")
	grant(`{"policies":{"read":true,"update":true}}`)
	require.Contains(t, may("workspaces"), "update")
	require.Equal(t, http.StatusOK, l.Get(t, l.path, nodetest.WithHeader(l.eve, "If-None-Match", tag)).StatusCode, "her rights are others")

	own("POST", "/automations", automation("vault", "opened"))
	grant(`{"role":"editor"}`)
	require.Contains(t, in("automations"), "vault")
	own("PUT", "/security", `{"authorizations":{"roles":{"editor":{}},"rules":[
		{"role":"editor","action":["read","update"],"subject":"workspaces"},
		{"role":"editor","action":"read","subject":"automations","inverted":true,"conditions":{"labels":"secret"}},
		{"role":"editor","action":"read","subject":"pages","inverted":true}]}}`)
	require.Contains(t, in("automations"), "vault")
	own("PATCH", "/automations/vault", strings.Replace(automation("vault", "opened"), "{", `{"labels":["secret"],`, 1))
	require.NotContains(t, in("automations"), "vault", "its labels keep it from her now")
	own("PATCH", "/security/secrets", `{"pin":{"value":"1234"}}`)

	own("DELETE", "/permissions/"+eve, "")
	l.requireRefusal(403, "workspace_access_denied", "GET", l.path, l.eve, "")
	require.Contains(t, l.Get(t, l.path, l.admin).JSON(t)["can"].(map[string]any)["workspaces"], "delete")
	own("DELETE", "", "")
	require.Equal(t, http.StatusNotFound, l.Get(t, l.path, l.bob).StatusCode)
	own("POST", "/undelete", "")
	require.Equal(t, http.StatusOK, l.Get(t, l.path, l.bob).StatusCode)

	account := l.Get(t, "/v2/me", l.bob).JSON(t)["id"].(string)
	l.read(l.bob)
	l.Must(t, "PATCH", "/v2/users/"+account, l.admin, `{"status":"deactivated"}`)
	l.requireRefusal(401, "invalid_token", "GET", l.path, l.bob, "")
}

// covers holds the list of what was done to the workspace against the catalogue.
func (l *observedWorkspace) covers(id string) {
	unseen := []string{ // a read of the workspace shows nothing of them, or they take Git
		"workspaces.duplicated", "workspaces.staged", "workspaces.versions.", "workspaces.files.", "workspaces.operations.", "workspaces.bulk",
		"workspaces.subscriptions.", "workspaces.collections.", "workspaces.knowledgeBases.permissions.",
	}
	var done []string
	l.Stop(l.t)
	for _, ev := range nodetest.StoredEvents(l.t, l.Dir, domain.State) {
		if ev.Stream.Scope == id {
			done = append(done, ev.Data.EventType())
		}
	}
	for _, fact := range catalog.Table() {
		other := slices.ContainsFunc(unseen, func(prefix string) bool { return strings.HasPrefix(fact.Name, prefix) })
		if strings.HasPrefix(fact.Name, "workspaces.") && !other {
			require.Contains(l.t, done, fact.Name, "a new event of workspaces: does a read show it?")
		}
	}
}
