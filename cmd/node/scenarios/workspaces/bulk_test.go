package workspaces_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// Row 66 of the versioning contract's conformance list, and who may start runs at all.
func TestBulkRunsTakeRights(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newHistoryScenario(t, "WORKSPACES_STORAGE_GIT_PLATFORM_disk_TYPE=filesystem", "WORKSPACES_STORAGE_GIT_PLATFORM_disk_DIRPATH="+dir, "WORKSPACES_STORAGE_GIT_PLATFORM_disk_CHECKS=required", "WORKSPACE_GROUPS=base=web")
	put := func(slug, event string) {
		t.Helper()
		for name, text := range map[string]string{
			"index.yml": "name: " + slug + "\nlabels:\n  - web\n", "automations/charge.yml": fmt.Sprintf("slug: charge\nname: charge\ndo:\n  - emit:\n      event: %s\n", event),
			"security.yml": "authorizations:\n  roles:\n    editor: {}\n    thief: {}\n  rules: []\n", ".import.yml": "version:\n  name: " + event + "\ngroups:\n  - base\n",
		} {
			path := filepath.Join(dir, slug, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	put("shop", "v1")
	put("fresh", "v1")
	const path, all = "/v2/workspaces/platform/versions/latest/pull", `{"repository":"disk"}`
	ask := func(status int, who http.Header, path, body string) map[string]any {
		t.Helper()
		got := p.Call(t, "POST", path, who, body)
		require.Equal(t, status, got.StatusCode, "%s", got.Body)
		return got.JSON(t)
	}

	t.Log("who cannot change the platform workspace starts nothing")
	for _, body := range []string{all, `{"groups":["base"],"dryRun":true}`} {
		ask(403, p.owner, path, body)
		ask(403, p.owner, "/v2/workspaces/platform/versions", body)
		ask(401, nil, path, body)
	}
	stranger := "stranger@example.org"
	p.SignUp(t, stranger)
	for _, email := range []string{stranger, "editor@example.org", "owner@example.org"} {
		p.Must(t, "POST", "/v2/workspaces/platform/permissions", p.super, fmt.Sprintf(`{"target":{"email":%q},"permissions":{"role":"owner"}}`, email))
	}

	t.Log("who may not change one of the targets changes none")
	who := nodetest.Bearer(p.Login(t, stranger, "long enough")["token"].(string))
	for _, body := range []string{all, `{"repository":"disk","dryRun":true}`} {
		denied := ask(403, who, path, body)
		require.Equal(t, "workspace_access_denied", denied["error"])
		require.Equal(t, []any{"shop"}, denied["details"].(map[string]any)["slugs"])
	}
	require.Empty(t, p.slugs("fresh"))

	t.Log("an editor's import leaves the security document as it is")
	before := p.getObject("/security")
	done := ask(200, p.editor, path, all)
	require.Equal(t, []any{1.0, 1.0, 0.0}, []any{done["created"], done["updated"], done["errorsCount"]}, "%v", done)
	require.Equal(t, "security_excluded", done["warnings"].([]any)[0].(map[string]any)["err"])
	require.Equal(t, before, p.getObject("/security"))
	require.Len(t, p.slugs("fresh"), 1, "what is made belongs to who made it")
	require.Equal(t, 403, p.Get(t, "/v2/workspaces/"+p.slugs("fresh")[0], p.owner).StatusCode)

	put("shop", "v2")
	require.Equal(t, 1.0, ask(200, p.super, path, `{"groups":["base"],"repository":"disk","forceReimport":true}`)["updated"].(float64)-1)
	require.Contains(t, p.getObject("/security")["authorizations"].(map[string]any)["roles"], "thief")

	t.Log("a push takes the right to change the platform workspace, and no other")
	pushed := ask(200, who, "/v2/workspaces/platform/versions", `{"groups":["base"],"force":true,"name":"v3"}`)
	require.Equal(t, 2.0, pushed["pushed"])

	t.Log("a workspace whose tests fail is not pushed, the others are")
	require.Equal(t, "required", p.getObject("")["platformRepositories"].(map[string]any)["disk"].(map[string]any)["checks"])
	p.write("POST", "/tests", `{"slug":"charge","automation":"charge","cases":[{"name":"it is said","expect":{"events":[{"type":"never"}]}}]}`)
	pushed = ask(200, who, "/v2/workspaces/platform/versions", `{"groups":["base"],"force":true,"name":"v4"}`)
	require.Equal(t, 1.0, pushed["pushed"], "%v", pushed)
	require.Contains(t, fmt.Sprint(pushed["errors"]), "checks_failed", "%v", pushed)
	key := p.Must(t, "POST", "/v2/workspaces/platform/security/apikeys", p.super, `{"name":"k","rules":[{"action":"update","subject":"workspaces"}]}`)["apiKey"].(string)
	byKey := http.Header{"X-Svc-Api-Key": {key}}
	ask(403, byKey, path, all)
}

// slugs returns the ids of the workspaces with a slug that the editor sees.
func (p *historyScenario) slugs(slug string) (ids []string) {
	p.t.Helper()
	entries, _ := p.list("/v2/workspaces?slug="+slug, p.editor)
	for _, e := range entries {
		ids = append(ids, e["id"].(string))
	}
	return ids
}

// An import of many makes no workspace that uses an app which its owner may not read.
func TestBulkImportInstallsNoHiddenApp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newHistoryScenario(t, "WORKSPACES_STORAGE_GIT_PLATFORM_disk_TYPE=filesystem", "WORKSPACES_STORAGE_GIT_PLATFORM_disk_DIRPATH="+dir)
	p.write("PATCH", "", `{"description":"A shop","photo":"/p.png"}`)
	p.Must(t, "POST", "/v2/apps", p.owner, fmt.Sprintf(`{"workspaceId":%q,"slug":"secret"}`, p.id))
	p.secure(`{"action":"read","subject":"apps","inverted":true}`)
	require.Equal(t, 404, p.Get(t, "/v2/apps/secret", p.editor).StatusCode)
	p.Must(t, "POST", "/v2/workspaces/platform/permissions", p.super, `{"target":{"email":"editor@example.org"},"permissions":{"role":"owner"}}`)
	for name, text := range map[string]string{"index.yml": "name: Fresh\n", "imports/Mail.yml": "slug: Mail\nappSlug: secret\n"} {
		path := filepath.Join(dir, "fresh", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	const path = "/v2/workspaces/platform/versions/latest/pull"
	plan := p.Call(t, "POST", path, p.editor, `{"repository":"disk","dryRun":true}`).JSON(t)
	require.Contains(t, fmt.Sprint(plan["workspaces"]), "app_missing")
	done := p.Call(t, "POST", path, p.editor, `{"repository":"disk"}`).JSON(t)
	require.Contains(t, fmt.Sprint(done["errors"]), "app_missing", "%v", done)
	entries, _ := p.list("/v2/workspaces/"+p.slugs("fresh")[0]+"/apps", p.editor)
	require.Empty(t, entries)
}
