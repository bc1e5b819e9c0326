package content_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/archive"
)

// ok imports files and returns the result.
func (h *testNode) ok(t *testing.T, id, query string, texts map[string]string) map[string]any {
	t.Helper()
	got := h.importing(t, id, query, files(t, texts))
	require.Less(t, got.status, 300, "%s", got.body)
	require.Equal(t, strings.Contains(query, "dryRun=true"), got.header.Get("X-Svc-Operation-Id") == "", "a dry run is no operation")
	return got.fields(t)
}

func TestAnImportIsMergedIntoWhatIsThere(t *testing.T) {
	h := startNode(t)
	id := h.create(t, `{"name":"Shop","slug":"shop","labels":["aa"],"customDomains":["d.example.org"],"description":"old"}`)
	first := h.ok(t, id, "", map[string]string{
		"index.yml": "name: Shop\nslug: other\nlabels: [bb]\nid: other77\ncustomDomains: [e.example.org]\nrepositories: {x: {name: X}}\n", "pages/home.yml": "name: Home\n",
		"automations/a.yml": "do: []\n", "automations/b.yml": "do: []\nslug: c\n", "agents/x.yml": "name: X\ninstructions: Help\npublished: true\n",
	})
	require.Equal(t, []any{"agents/x", "automations/a", "automations/c", "index", "pages/home"}, first["imported"])
	require.ElementsMatch(t, []string{"slug_mismatch", "invalid_automation", "invalid_automation"}, words(first["warnings"], "err"), "%v", first["warnings"])
	w := first["workspace"].(map[string]any)
	require.Equal(t, []any{id, "shop", []any{"aa", "bb"}, []any{"d.example.org"}, nil, nil}, []any{w["id"], w["slug"], w["labels"], w["customDomains"], w["description"], w["repositories"]})
	require.Contains(t, w["automations"], "c")
	require.Equal(t, w["contentRevision"], first["contentRevision"])
	page := w["pages"].(map[string]any)["home"].(map[string]any)["id"]

	kept := h.ok(t, id, "", map[string]string{"index.yml": "name: Shop\n"})
	require.Equal(t, []any{}, kept["deleted"])
	dry := h.ok(t, id, "?prune=true&dryRun=true", map[string]string{"index.yml": "name: Shop\n", "pages/home.yml": "name: [\n", "automations/a.yml": "name: A\ndo: []\n"})
	require.Equal(t, kept["contentRevision"], dry["contentRevision"])
	pruned := h.ok(t, id, "?prune=true", map[string]string{"index.yml": "name: Shop\n", "pages/home.yml": "name: [\n", "automations/a.yml": "name: A\ndo: []\n"})
	require.Equal(t, []any{"agents/x", "automations/c"}, pruned["deleted"], "a file that failed deletes nothing")
	require.Equal(t, dry["deleted"], pruned["deleted"])
	shown := pruned["workspace"].(map[string]any)
	require.Equal(t, page, shown["pages"].(map[string]any)["home"].(map[string]any)["id"], "a page keeps its id")
	require.Equal(t, []any{"aa", "bb"}, shown["labels"])

	same := h.ok(t, id, "", map[string]string{"index.yml": "name: Shop\n"})
	require.Equal(t, pruned["contentRevision"], same["contentRevision"], "nothing changed")
}

func TestDocumentsThatCannotBeSideBySideAreErrors(t *testing.T) {
	h := startNode(t)
	id := h.create(t, `{"name":"Shop"}`)
	endpoint := func(path string) string { return "name: N\ndo: []\nwhen: {endpoint: " + path + "}\n" }
	h.ok(t, id, "", map[string]string{"index.yml": "name: Shop\n", "automations/a.yml": endpoint("x"), "automations/c.yml": endpoint("y"), "pages/Home.yml": "name: H\n"})
	// a would get the endpoint of c and cannot, so it keeps x, so b cannot have it.
	got := h.ok(t, id, "", map[string]string{"index.yml": "name: Shop\n", "automations/a.yml": endpoint("y"), "automations/b.yml": endpoint("x"), "pages/home.yml": "name: H\n"})
	require.Equal(t, []any{}, got["imported"])
	require.ElementsMatch(t, []string{"endpoint_in_use", "endpoint_in_use", "duplicate_object"}, words(got["errors"], "err"))
	require.ElementsMatch(t, []string{"automations/a.yml", "automations/b.yml", "pages/home.yml"}, words(got["errors"], "filepath"))
	swapped := h.ok(t, id, "?strict=true", map[string]string{"index.yml": "name: Shop\n", "automations/a.yml": endpoint("y"), "automations/c.yml": endpoint("x")})
	require.Equal(t, []any{"automations/a", "automations/c"}, swapped["imported"])
}

func TestChecksumsGuardWhatWasPushed(t *testing.T) {
	h := startNode(t)
	index, page := "name: Shop\n", "slug: home\nname: Home\n"
	told, err := archive.ImportFile{
		WorkspaceID: "abcdefg", Version: "v7", AppSlug: "Shop app",
		Checksums: map[string]string{"index": archive.Checksum([]byte(index)), "pages/home": archive.Checksum([]byte(page)), "pages/lost": "sha256:0"},
	}.Text()
	require.NoError(t, err)
	good := map[string]string{"index.yml": index, "pages/home.yml": page, archive.ImportPath: string(told)}
	made := h.ok(t, "", "", good)
	require.Equal(t, []any{"abcdefg"}, made["createdWorkspaceIds"], "an id that was never used is kept")
	require.Equal(t, map[string]any{"name": "v7"}, made["version"])
	require.ElementsMatch(t, []string{"checksum_mismatch", "app_publish_failed"}, words(made["errors"], "err"), "no description and photo: %v", made["errors"])

	changed := map[string]string{"index.yml": index, "pages/home.yml": "slug: home\nname: Changed\n", archive.ImportPath: string(told)}
	refused := h.ok(t, "abcdefg", "", changed)
	require.Equal(t, []any{}, refused["imported"])
	require.ElementsMatch(t, []string{"pages/home.yml", "pages/lost.yml", ".import.yml"}, words(refused["errors"], "filepath"))
	forced := h.ok(t, "abcdefg", "?force=true", changed)
	require.Equal(t, []any{"pages/home"}, forced["imported"])
	require.ElementsMatch(t, []string{"checksum_mismatch", "checksum_mismatch"}, words(forced["warnings"], "err"))

	again := h.ok(t, "", "", good)
	require.NotEqual(t, []any{"abcdefg"}, again["createdWorkspaceIds"], "an id is used once")
	h.remove(t, "abcdefg")
	again = h.ok(t, "", "", good)
	require.NotEqual(t, []any{"abcdefg"}, again["createdWorkspaceIds"], "also after it was deleted")
	good["index.yml"] = "name: Shop, by hand\n"
	bad := h.importing(t, "", "", files(t, good))
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	require.Equal(t, "invalid_index", bad.reason(t))
}

func TestANewWorkspaceTakesWhatItMay(t *testing.T) {
	h := startNode(t)
	const secret = "hunter2-hunter2"
	texts := map[string]string{"index.yml": strings.ReplaceAll(`name: Shop
slug: shop
customDomains: [shop.example.org]
repositories:
  git1:
    name: Git
    config:
      url: https://me:SECRET@git.example.org/x.git
      auth: {user: '{{secret.user}}', password: SECRET}
  arc:
    name: Archive
    type: archive
    pull: {exclude: [{path: security}, {path: pages/home}, {path: 'automations/*'}]}
  bad: {type: git}
`, "SECRET", secret), "pages/home.yml": "name: Home\n"}
	made := h.ok(t, "", "", texts)
	w := made["workspace"].(map[string]any)
	id := w["id"].(string)
	require.Equal(t, "shop", w["slug"])
	require.Nil(t, w["customDomains"])
	require.ElementsMatch(t, []string{"credentials_dropped", "invalid_repository"}, words(made["warnings"], "err"), "%v", made["warnings"])
	git := w["repositories"].(map[string]any)["git1"].(map[string]any)["config"].(map[string]any)
	require.Equal(t, map[string]any{"url": "https://git.example.org/x.git", "auth": map[string]any{"user": "{{secret.user}}"}}, git)

	second := h.ok(t, "", "", texts)
	require.Contains(t, words(second["warnings"], "err"), "slug_in_use")
	require.NotEqual(t, "shop", second["workspace"].(map[string]any)["slug"])

	// The first repository of type archive says what archives leave as it is.
	before := h.export(t, id)
	got := h.ok(t, id, "?prune=true", map[string]string{
		"index.yml": "name: Shop\n", "security.yml": "authorizations: {roles: {}, rules: []}\n", "automations/a.yml": "name: A\ndo: []\n", "pages/other.yml": "name: O\n",
	})
	require.Equal(t, []any{"pages/other"}, got["imported"])
	require.Equal(t, []any{}, got["deleted"])
	require.Equal(t, unpack(t, before)["current/security.yml"], unpack(t, h.export(t, id))["current/security.yml"])
}

func TestManyWorkspacesTravelTogether(t *testing.T) {
	h := startNode(t)
	lib := h.ok(t, "", "", map[string]string{"index.yml": "name: Lib\nslug: lib\ndescription: D\nphoto: /p.png\n", ".import.yml": "app: {slug: Lib app}\n"})
	require.Equal(t, []any{"Lib app"}, lib["publishedApps"], "%v", lib)
	user := h.ok(t, "", "", map[string]string{"index.yml": "name: User\nslug: aaa\nlabels: [mine]\n", "imports/L.yml": "appSlug: Lib app\n"})
	require.Empty(t, user["warnings"])
	ids := []string{lib["createdWorkspaceIds"].([]any)[0].(string), user["createdWorkspaceIds"].([]any)[0].(string)}

	ask := func(body string) []byte {
		got := h.call(t, "POST", "/v2/workspaces/export", "application/json", body)
		require.Equal(t, http.StatusOK, got.status, "%s", got.body)
		return got.body
	}
	alone := unpack(t, ask(`{"workspaces":{"query":{"labels":["mine"]}}}`))
	require.Equal(t, `{"workspaceIds":["`+ids[1]+`"],"publishApps":[]}`+"\n", alone["bulkExport.json"])
	require.Len(t, unpack(t, ask(`{"workspaces":{"query":{"slug":"aaa,lib"},"pagination":{"page":1,"limit":1}}}`)), 2)
	both := ask(`{"workspaces":{"query":{"labels":"mine"}},"includeApps":true}`)
	require.Equal(t, both, ask(`{"workspaces":{"query":{"labels":"mine"}},"includeApps":true}`))
	require.Equal(t, `{"workspaceIds":["`+ids[0]+`","`+ids[1]+`"],"publishApps":[{"workspaceId":"`+ids[0]+`","slug":"Lib app","name":"Lib"}]}`+"\n", unpack(t, both)["bulkExport.json"], "the app comes first")

	updated := h.importing(t, "", "", both).fields(t)
	require.Equal(t, []any{ids[0], ids[1]}, updated["updatedWorkspaceIds"], "%v", updated)
	require.Nil(t, updated["createdWorkspaceIds"])
	require.Equal(t, []any{}, updated["imported"])
	require.Equal(t, []any{}, updated["errors"])

	there := startNode(t) // another platform
	dry := there.importing(t, "", "?dryRun=true", both)
	require.Equal(t, http.StatusOK, dry.status, "%s", dry.body)
	made := there.importing(t, "", "", both)
	require.Equal(t, http.StatusCreated, made.status, "%s", made.body)
	result := made.fields(t)
	require.Equal(t, []any{ids[0], ids[1]}, result["createdWorkspaceIds"])
	require.Equal(t, []any{"Lib app"}, result["publishedApps"], "%s", made.body)
	require.Equal(t, []any{}, result["warnings"], "the app was there before its instance")
	require.Equal(t, []any{ids[0] + "/index", ids[1] + "/imports/L", ids[1] + "/index"}, result["imported"])
	for _, id := range ids {
		require.Equal(t, h.export(t, id), there.export(t, id))
	}
	broken := pack(t, entry{name: "bulkExport.json", text: []byte(`{"workspaceIds":["aaaaaaa","bbbbbbb"]}`)},
		entry{name: "workspaces/aaaaaaa.zip", text: files(t, map[string]string{"pages/x.yml": "name: x\n"})},
		entry{name: "workspaces/bbbbbbb.zip", text: files(t, map[string]string{"index.yml": "name: B\n"})})
	strict := there.importing(t, "", "?strict=true", broken)
	require.Equal(t, http.StatusUnprocessableEntity, strict.status, "%s", strict.body)
	require.Equal(t, http.StatusNotFound, there.call(t, "GET", "/v2/workspaces/bbbbbbb", "", "").status, "nothing applied")
	some := there.importing(t, "", "", broken).fields(t)
	require.Equal(t, []string{"missing_index"}, words(some["errors"], "err"))
	require.Equal(t, []any{"bbbbbbb"}, some["createdWorkspaceIds"])
}

// Whoever bases an import on an older content than there is gets a refusal, and nothing is lost.
func TestAnImportCanBeBasedOnARevision(t *testing.T) {
	h := startNode(t)
	id := h.create(t, `{"name":"Shop","slug":"shop"}`)
	first := h.ok(t, id, "", map[string]string{"index.yml": "name: Shop\n", "automations/a.yml": "name: First\ndo: []\n"})
	seen := strconv.Itoa(int(first["contentRevision"].(float64)))
	second := h.ok(t, id, "?ifRevision="+seen, map[string]string{"index.yml": "name: Shop\n", "automations/a.yml": "name: Second\ndo: []\n"})
	require.NotEqual(t, first["contentRevision"], second["contentRevision"])

	late := h.importing(t, id, "?ifRevision="+seen, files(t, map[string]string{"index.yml": "name: Shop\n", "automations/a.yml": "name: Late\ndo: []\n"}))
	require.Equal(t, http.StatusConflict, late.status, "%s", late.body)
	details := late.fields(t)["details"].(map[string]any)
	require.Equal(t, "stale", details["reason"])
	require.Equal(t, second["contentRevision"], details["contentRevision"])
	require.Equal(t, http.StatusBadRequest, h.importing(t, id, "?ifRevision=first", files(t, map[string]string{"index.yml": "name: Shop\n"})).status)

	unchanged := h.ok(t, id, "?ifRevision="+strconv.Itoa(int(second["contentRevision"].(float64))), map[string]string{"index.yml": "name: Shop\n"})
	require.Equal(t, second["contentRevision"], unchanged["contentRevision"])
	shown := unchanged["workspace"].(map[string]any)["automations"].(map[string]any)["a"].(map[string]any)
	require.Equal(t, "Second", shown["name"])
}
