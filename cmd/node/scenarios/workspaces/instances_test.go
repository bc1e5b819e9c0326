package workspaces_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// shop makes a workspace of bob's with an instance of the app mail.
func (m *appsScenario) shop(config string) (path string) {
	m.t.Helper()
	id := m.workspace(m.bob, `{"name":"Shop"}`)
	m.Must(m.t, "POST", "/v2/workspaces/"+id+"/apps", m.bob, fmt.Sprintf(`{"appSlug":"mail","slug":"post","config":%s}`, config))
	return "/v2/workspaces/" + id
}

func TestAnAppIsInstalledChangedAndUninstalled(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	m.publish(m.ada, m.mailer(), "mail")
	id := m.workspace(m.bob, `{"name":"Shop"}`)
	path := "/v2/workspaces/" + id

	m.requireRefusal(400, "missing_parameter", "POST", path+"/apps", m.bob, `{}`)
	m.requireRefusal(400, "invalid_request", "POST", path+"/apps", m.bob, `{"appSlug":"mail","nonsense":1}`)
	m.requireRefusal(404, "resource_not_found", "POST", path+"/apps", m.bob, `{"appSlug":"nothing"}`)
	m.requireRefusal(404, "resource_not_found", "POST", path+"/apps", m.bob, `{"appSlug":"mail","appVersion":"v9"}`)
	m.requireRefusal(422, "validation_failed", "POST", path+"/apps", m.bob, `{"appSlug":"mail","slug":"a/b"}`)
	m.requireRefusal(403, "workspace_access_denied", "POST", path+"/apps", m.eve, `{"appSlug":"mail"}`)
	m.requireRefusal(403, "workspace_access_denied", "GET", path+"/apps", m.eve, "")
	dry := m.Must(t, "POST", path+"/apps?dryRun=true", m.bob, `{"appSlug":"nothing"}`)
	require.Contains(t, fmt.Sprint(dry["errors"]), "appSlug")
	require.Empty(t, m.Must(t, "POST", path+"/apps?dryRun=true", m.bob, `{"appSlug":"mail"}`)["errors"])
	require.Empty(t, m.list(path+"/apps", m.bob), "a dry run installs nothing")

	made := m.Call(t, "POST", path+"/apps", m.bob, `{"appSlug":"mail","labels":["bb","aa"],"config":{"sender":"x"},"missing":true,"appName":"Other"}`)
	require.Equal(t, http.StatusCreated, made.StatusCode, "%s", made.Body)
	require.Equal(t, path+"/apps/mail", made.Header.Get("Location"))
	require.NotEmpty(t, made.Header.Get("Etag"))
	got := made.JSON(t)
	require.Equal(t, "Mailer", got["appName"])
	require.Equal(t, "mail", got["slug"])
	require.Equal(t, map[string]any{"sender": "x"}, got["config"])
	m.requireRefusal(409, "resource_already_exists", "POST", path+"/apps", m.bob, `{"appSlug":"mail"}`)
	m.requireRefusal(409, "resource_already_exists", "POST", path+"/apps", m.bob, `{"appSlug":"mail","slug":"MAIL"}`)
	require.Contains(t, fmt.Sprint(m.Must(t, "POST", path+"/apps?dryRun=true", m.bob, `{"appSlug":"mail"}`)["errors"]), "slug")

	m.listsInstance(path)
	whole := m.Get(t, path+"/apps/mail", m.bob)
	tag := whole.Header.Get("Etag")
	require.Equal(t, map[string]any{"sender": "x"}, whole.JSON(t)["config"].(map[string]any)["value"])
	require.Contains(t, whole.JSON(t)["config"], "schema")
	require.Equal(t, http.StatusNotModified, m.Get(t, path+"/apps/mail", nodetest.WithHeader(m.bob, "If-None-Match", tag)).StatusCode)
	m.requireRefusal(404, "resource_not_found", "GET", path+"/apps/other", m.bob, "")

	changed := m.Call(t, "PATCH", path+"/apps/mail", nodetest.WithHeader(m.bob, "If-Match", tag), `{"disabled":true,"labels":null,"slug":"post"}`)
	require.Equal(t, http.StatusOK, changed.StatusCode, "%s", changed.Body)
	require.Equal(t, true, changed.JSON(t)["disabled"])
	require.NotContains(t, changed.JSON(t), "labels")
	require.Equal(t, map[string]any{"sender": "x"}, changed.JSON(t)["config"], "what is not named stays")
	m.requireRefusal(404, "resource_not_found", "GET", path+"/apps/mail", m.bob, "")
	m.requireRefusal(409, "resource_conflict", "PATCH", path+"/apps/post", nodetest.WithHeader(m.bob, "If-Match", tag), `{"disabled":false}`)
	m.requireRefusal(409, "resource_conflict", "DELETE", path+"/apps/post", nodetest.WithHeader(m.bob, "If-Match", tag), "")
	m.requireRefusal(400, "invalid_request", "PATCH", path+"/apps/post", m.bob, `{"nonsense":1}`)
	m.requireRefusal(400, "invalid_request", "PATCH", path+"/apps/post", m.bob, `{"disabled":"yes"}`)
	m.requireRefusal(404, "resource_not_found", "PATCH", path+"/apps/post", m.bob, `{"appVersion":"v9"}`)
	m.requireRefusal(404, "resource_not_found", "PATCH", path+"/apps/other", m.bob, `{}`)
	m.requireRefusal(403, "workspace_access_denied", "PATCH", path+"/apps/post", m.eve, `{}`)
	require.Contains(t, fmt.Sprint(m.Must(t, "PATCH", path+"/apps/post?dryRun=true", m.bob, `{"appVersion":"v9"}`)), "appSlug")

	m.locksInstances(path)
	require.Equal(t, map[string]any{"id": "post", "slug": "post"}, m.Must(t, "DELETE", path+"/apps/post", m.bob, ""))
	m.requireRefusal(404, "resource_not_found", "DELETE", path+"/apps/post", m.bob, "")
	recorded := m.events("workspaces.apps.installed", "workspaces.apps.configured", "workspaces.apps.uninstalled")
	require.Len(t, recorded, 3)
	require.Contains(t, recorded[0], `"slug":"mail"`)
	require.Contains(t, recorded[0], `"emit":["mail.failed","mail.sent"]`)
	require.Contains(t, recorded[1], `"oldSlug":"mail"`)
	require.Equal(t, `workspaces.apps.uninstalled {"slug":"post"}`, recorded[2])
}

// locksInstances holds that nothing is changed of the instance post while its
// workspace is locked.
func (m *appsScenario) locksInstances(path string) {
	t := m.t
	t.Helper()
	m.Must(t, "POST", path+"/writeLock", m.bob, `{"reason":"no changes today"}`)
	for method, at := range map[string]string{"POST": "/apps", "PATCH": "/apps/post", "DELETE": "/apps/post"} {
		m.requireRefusal(423, "resource_locked", method, path+at, m.bob, map[string]string{"POST": `{"appSlug":"mail"}`, "PATCH": `{"disabled":false}`}[method])
	}
	m.requireRefusal(423, "resource_locked", "PATCH", path+"/apps/post/config", m.bob, `{"sender":"y"}`)
	m.Must(t, "DELETE", path+"/writeLock", m.bob, "")
}

// listsInstance holds what is shown of the instance mail.
func (m *appsScenario) listsInstance(path string) {
	t := m.t
	t.Helper()
	listed := m.list(path+"/apps", m.bob)
	require.Len(t, listed, 1)
	require.NotContains(t, listed[0], "config")
	require.NotContains(t, listed[0], "missing")
	require.Equal(t, "/mailer.png", listed[0]["photo"])
	require.Equal(t, []any{"mail.failed", "mail.sent"}, listed[0]["events"].(map[string]any)["emit"])
	require.Equal(t, "mail.sent", listed[0]["events"].(map[string]any)["autocomplete"].([]any)[0].(map[string]any)["event"])
	require.Equal(t, "mail.Inbox", listed[0]["blocks"].([]any)[0].(map[string]any)["slug"])
	require.Equal(t, "send", listed[0]["automations"].([]any)[0].(map[string]any)["slug"])
	require.Equal(t, listed[0], m.Must(t, "GET", path, m.bob, "")["imports"].(map[string]any)["mail"], "a workspace shows the same")
}

func TestAnInstanceFollowsItsAppOrKeepsItsVersion(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	id := m.mailer()
	first := m.publish(m.ada, id, "mail")["versions"].([]any)[0].(map[string]any)["name"].(string)
	path := m.shop(`{}`)
	m.Must(t, "POST", path+"/apps", m.bob, fmt.Sprintf(`{"appSlug":"mail","slug":"pinned","appVersion":%q}`, first))
	automations := func(slug string) int {
		t.Helper()
		return len(m.Must(t, "GET", path+"/apps/"+slug, m.bob, "")["automations"].([]any))
	}
	tag := m.Get(t, path+"/apps/post", m.bob).Header.Get("Etag")
	m.automation(m.ada, id, `{"slug":"more","name":"More","do":[]}`)
	require.Equal(t, 1, automations("post"), "what is not published is nobody's business")
	m.publish(m.ada, id, "mail")
	require.Equal(t, 2, automations("post"))
	require.Equal(t, 1, automations("pinned"))
	require.NotEqual(t, tag, m.Get(t, path+"/apps/post", m.bob).Header.Get("Etag"), "what it shows has changed")
	m.Must(t, "PATCH", path+"/apps/post", nodetest.WithHeader(m.bob, "If-Match", tag), fmt.Sprintf(`{"appVersion":%q}`, first)) // the document has not
	m.Must(t, "PATCH", path+"/apps/pinned", m.bob, `{"appVersion":null}`)
	require.Equal(t, 1, automations("post"))
	require.Equal(t, 2, automations("pinned"))
	require.Len(t, m.Must(t, "GET", "/v2/apps/mail?version="+first, m.bob, "")["automations"], 1)

	missing := func(want bool) {
		t.Helper()
		for _, item := range m.list(path+"/apps", m.bob) {
			require.Equal(t, want, item["missing"] == true, "%v", item)
		}
	}
	missing(false)
	m.Must(t, "DELETE", "/v2/workspaces/"+id, m.ada, "")
	missing(true)
	require.Equal(t, "mail", m.list("/v2/apps", m.bob)[0]["slug"], "the app of a deleted workspace stays")
	m.requireRefusal(404, "resource_not_found", "POST", path+"/apps", m.bob, `{"appSlug":"mail"}`)
	m.requireRefusal(403, "workspace_access_denied", "POST", "/v2/apps", m.ada, fmt.Sprintf(`{"workspaceId":%q}`, id))
	m.Must(t, "POST", "/v2/workspaces/"+id+"/undelete", m.ada, "")
	missing(false)
	m.Must(t, "DELETE", "/v2/apps/mail", m.ada, "")
	missing(true)
	require.Empty(t, m.Must(t, "GET", path+"/apps/post", m.bob, "")["automations"])
	require.Equal(t, true, m.Must(t, "PATCH", path+"/apps/post", m.bob, `{"disabled":true}`)["disabled"], "it can still be changed")
	m.publish(m.ada, id, "mail")
	for _, item := range m.list(path+"/apps", m.bob) {
		require.Equal(t, item["slug"] == "post", item["missing"] == true, "its version is known no more: %v", item)
	}
}

func TestAnAppCannotContainItself(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	ids := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		ids[name] = m.workspace(m.ada, fmt.Sprintf(`{"name":%q,"description":"d","photo":"/p.png"}`, name))
		m.publish(m.ada, ids[name], name)
	}
	install := func(into, slug string) (string, string) {
		return "/v2/workspaces/" + ids[into] + "/apps", fmt.Sprintf(`{"appSlug":%q}`, slug)
	}
	path, body := install("a", "a")
	m.requireRefusal(422, "validation_failed", "POST", path, m.ada, body)
	path, body = install("a", "b")
	m.Must(t, "POST", path, m.ada, body)
	m.publish(m.ada, ids["a"], "a") // a has b
	path, body = install("c", "a")
	m.Must(t, "POST", path, m.ada, body)
	m.publish(m.ada, ids["c"], "c") // c has a has b
	path, body = install("b", "c")
	m.requireRefusal(422, "validation_failed", "POST", path, m.ada, body)
	require.NotEmpty(t, m.Must(t, "POST", path+"?dryRun=true", m.ada, body)["errors"])

	// Two that install each other before either is published have made no ring
	// yet; the one that would close it is not published.
	x := m.workspace(m.ada, `{"name":"x","description":"d","photo":"/p.png"}`)
	y := m.workspace(m.ada, `{"name":"y","description":"d","photo":"/p.png"}`)
	m.publish(m.ada, x, "x")
	m.publish(m.ada, y, "y")
	m.Must(t, "POST", "/v2/workspaces/"+x+"/apps", m.ada, `{"appSlug":"y"}`)
	m.Must(t, "POST", "/v2/workspaces/"+y+"/apps", m.ada, `{"appSlug":"x"}`)
	m.publish(m.ada, x, "x")
	m.requireRefusal(422, "validation_failed", "POST", "/v2/apps", m.ada, fmt.Sprintf(`{"workspaceId":%q}`, y))
}

func TestConcurrentChangesOfAConfigAreAllKept(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	m.publish(m.ada, m.mailer(), "mail")
	path := m.shop(`{}`)
	var asking sync.WaitGroup
	for i := range 20 {
		asking.Go(func() {
			got, err := m.Request(t.Context(), "PATCH", path+"/apps/post/config", m.bob, fmt.Sprintf(`{"key%d":%d}`, i, i))
			if err != nil || got.StatusCode != http.StatusOK {
				t.Errorf("%v: %s", err, got.Body)
			}
		})
	}
	asking.Wait()
	require.Len(t, m.Must(t, "GET", path+"/apps/post/config", m.bob, ""), 20)
}

func TestAnInstanceIsReadAndWrittenAsYAMLAndAtAnEarlierMoment(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	m.publish(m.ada, m.mailer(), "mail")
	path := m.shop(`{"sender":"x"}`)
	before := m.Must(t, "GET", path, m.bob, "")["contentRevision"]
	send := func(method, at, body string) nodetest.Answer {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, m.Base+path+at, strings.NewReader(body))
		require.NoError(t, err)
		req.Header = nodetest.WithHeader(nodetest.WithHeader(m.bob, "Content-Type", "application/yaml"), "Accept", "application/yaml")
		res, err := m.Client.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		got, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return nodetest.Answer{Response: res, Body: got}
	}
	made := send("POST", "/apps", "# by hand\nappSlug: mail\nslug: other\n")
	require.Equal(t, http.StatusCreated, made.StatusCode, "%s", made.Body)
	require.Equal(t, "slug: other\nappSlug: mail\n", string(made.Body))
	changed := send("PATCH", "/apps/post", "appSlug: mail\nconfig: {sender: me}\n")
	require.Equal(t, "slug: post\nappSlug: mail\nconfig:\n  sender: me\n", string(changed.Body))
	wrong := send("PATCH", "/apps/post", "labels: []\ndisabled: maybe\n")
	require.Equal(t, http.StatusBadRequest, wrong.StatusCode)
	require.Contains(t, string(wrong.Body), `"line":2`)
	require.Contains(t, string(send("PATCH", "/apps/post?dryRun=true", "labels: []\ndisabled: maybe\n").Body), `"line":2`)
	require.Contains(t, string(send("POST", "/apps?dryRun=true", "slug: third\nappSlug: nothing\n").Body), `"line":2`)

	past := m.Must(t, "GET", fmt.Sprintf("%s/apps/post?atSeq=%.0f", path, before), m.bob, "")
	require.Equal(t, map[string]any{"sender": "x"}, past["config"].(map[string]any)["value"])
	require.Equal(t, map[string]any{"sender": "x"}, m.Must(t, "GET", fmt.Sprintf("%s/apps/post/config?atSeq=%.0f", path, before), m.bob, ""))
	m.requireRefusal(404, "resource_not_found", "GET", fmt.Sprintf("%s/apps/other?atSeq=%.0f", path, before), m.bob, "")
}

func TestAHiddenAppIsNotInstalled(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	mailer := m.mailer()
	m.publish(m.ada, mailer, "mail")
	open := m.workspace(m.ada, `{"name":"Open","description":"For all","photo":"/open.png"}`)
	m.publish(m.ada, open, "open")
	path := m.shop(`{}`)
	id := m.workspace(m.bob, `{"name":"New"}`)
	fresh := "/v2/workspaces/" + id
	m.Must(t, "POST", fresh+"/apps", m.bob, `{"appSlug":"open"}`)
	m.Must(t, "POST", fresh+"/apps", m.bob, `{"appSlug":"mail"}`)
	gone := m.Call(t, "DELETE", fresh+"/apps/mail", m.bob, "").Header.Get("X-Svc-Seq")
	m.Must(t, "PUT", "/v2/workspaces/"+mailer+"/security", m.ada, `{"authorizations":{"roles":{"editor":{}},"rules":[{"action":"read","subject":"apps","inverted":true}]}}`)

	asRead := m.requireRefusal(404, "resource_not_found", "GET", "/v2/apps/mail", m.bob, "")
	require.Equal(t, asRead, m.requireRefusal(404, "resource_not_found", "POST", fresh+"/apps", m.bob, `{"appSlug":"mail"}`))
	require.Equal(t, asRead, m.requireRefusal(404, "resource_not_found", "PATCH", fresh+"/apps/open", m.bob, `{"appSlug":"mail"}`))
	require.Contains(t, fmt.Sprint(m.Must(t, "POST", fresh+"/apps?dryRun=true", m.bob, `{"appSlug":"mail"}`)["errors"]), "appSlug")
	files := nodetest.ZipOf(t, map[string]string{"index.yml": "name: New\n", "imports/post.yml": "appSlug: mail\n", "imports/none.yml": "appSlug: nothing\n"})
	for _, to := range []string{fresh + "/import", "/v2/workspaces/import"} {
		got := m.Upload(t, to, m.bob, files, false).JSON(t)
		require.Contains(t, got["imported"], "imports/none", "what is not there yet can be waited for")
		require.NotContains(t, got["imported"], "imports/post")
		require.Contains(t, fmt.Sprint(got["errors"]), "app_missing")
	}
	undone := m.Call(t, "POST", fresh+"/undo", m.bob, fmt.Sprintf(`{"seq":%q}`, gone)).JSON(t)
	require.Empty(t, undone["imported"])
	require.Contains(t, fmt.Sprint(undone["errors"]), "app_missing")
	require.Len(t, m.list(fresh+"/apps", m.bob), 2)

	m.Must(t, "PATCH", path+"/apps/post", m.bob, `{"labels":["old"]}`)
	m.Must(t, "POST", "/v2/workspaces/"+open+"/apps", m.ada, `{"appSlug":"mail"}`)
	for _, told := range m.events("workspaces.apps.installed") {
		require.NotContains(t, told, `"`+id+`","appSlug":"mail","slug":"post"`)
	}
}

func TestAPageIsNotShownWithAllThatSomebodyInstalled(t *testing.T) {
	t.Parallel()
	m := newAppsScenario(t)
	id := m.workspace(m.ada, `{"name":"Large","description":"Large","photo":"/l.png"}`)
	m.Must(t, "PUT", "/v2/workspaces/"+id+"/blocks/Wide", m.ada, `{"name":"Wide","config":{"text":"`+strings.Repeat("x", 300<<10)+`"}}`)
	m.publish(m.ada, id, "large")
	path := "/v2/workspaces/" + m.workspace(m.bob, `{"name":"Shop"}`)
	m.Must(t, "POST", path+"/pages", m.bob, `{"slug":"home","name":"Home"}`)
	for i := range 20 {
		m.Must(t, "POST", path+"/apps", m.bob, fmt.Sprintf(`{"appSlug":"large","slug":"i%02d"}`, i))
	}
	got := m.Get(t, path+"/pages/home", m.bob)
	require.Less(t, len(got.Body), 5<<20)
	kits := got.JSON(t)["appInstances"].([]any)
	require.Len(t, kits, 21)
	require.Contains(t, kits[1].(map[string]any)["blocks"], "Wide")
	require.Empty(t, kits[20].(map[string]any)["blocks"])
	m.Must(t, "DELETE", "/v2/workspaces/"+id, m.ada, "")
	require.Len(t, m.Get(t, path+"/pages/home", m.bob).JSON(t)["appInstances"], 1, "of a workspace that is gone there are no blocks")
}
