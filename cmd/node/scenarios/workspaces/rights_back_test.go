package workspaces_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/archive"
	"svc/domain/catalog"
	"svc/eventstore/jetstream"
)

// secure sets the rules of the workspace; those of the editor come first.
func (p *historyScenario) secure(rules ...string) {
	p.t.Helper()
	p.write("PUT", "/security", `{"authorizations":{"roles":{"editor":{}},"rules":[`+strings.Join(rules, ",")+`]}}`)
}

const editing = `{"role":"editor","action":["read","update"],"subject":"workspaces"}`

// changes lists the changes of content.
func (p *historyScenario) changes() []map[string]any {
	p.t.Helper()
	return slices.DeleteFunc(p.history("limit=1000"), func(entry map[string]any) bool { return entry["contentRevision"] == nil })
}

// unchanged runs what must not change any content, nor record that it did.
func (p *historyScenario) unchanged(run func()) {
	p.t.Helper()
	before, content := p.changes(), p.Get(p.t, p.path+"/export", p.owner).Body
	run()
	require.Equal(p.t, before, p.changes())
	require.Equal(p.t, content, p.Get(p.t, p.path+"/export", p.owner).Body)
}

// importFiles imports files besides an index, as the editor.
func (p *historyScenario) importFiles(query string, files map[string]string) nodetest.Answer {
	p.t.Helper()
	if files["index.yml"] == "" {
		files["index.yml"] = "name: Shop\nslug: shop\nlabels: [web]\n"
	}
	return p.Upload(p.t, p.path+"/import"+query, p.editor, nodetest.ZipOf(p.t, files), false)
}

// denied is a refusal that names the right and the document.
func denied(t *testing.T, got nodetest.Answer, action, subject, document string) {
	t.Helper()
	require.Equal(t, http.StatusForbidden, got.StatusCode, "%s", got.Body)
	require.Equal(t, "permission_denied", got.Code(t))
	details := got.JSON(t)["details"].(map[string]any)
	require.Equal(t, []any{action, subject}, []any{details["action"], details["subject"]})
	if document == "" {
		require.NotContains(t, details, "document")
		return
	}
	require.Equal(t, document, details["document"])
}

const (
	anyAutomation = "name: Any\ndo: []\n"
	homePage      = "name: Home\nblocks: []\n"
)

func TestRulesBindImportsAndRestorations(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t)
	p.write("POST", "/automations", automation("charge", "charged"))
	first := p.write("POST", "/automations", automation("vault", "opened"))
	p.write("POST", "/automations", automation("hidden", "hid"))
	p.write("POST", "/pages", `{"slug":"home","name":"Home","blocks":[],"styles":"a{}"}`)
	p.secure(editing,
		`{"role":"editor","action":["create","update","delete"],"subject":"automations","inverted":true,"conditions":{"slug":{"$regex":"^(vault|hidden)"}}}`,
		`{"role":"editor","action":"read","subject":"automations","inverted":true,"conditions":{"slug":"hidden"}}`,
		`{"role":"editor","action":"update","subject":"pages","inverted":true,"fields":["styles"]}`)

	t.Run("an import changes what its caller may change", func(t *testing.T) {
		got := p.importFiles("", map[string]string{"automations/charge.yml": anyAutomation, "automations/free.yml": anyAutomation, "pages/home.yml": homePage + "styles: a{}\n"})
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
		require.Equal(t, []any{"automations/charge", "automations/free"}, got.JSON(t)["imported"])
		got = p.importFiles("", map[string]string{"pages/home.yml": "name: Start\nblocks: []\nstyles: a{}\n"})
		require.Equal(t, []any{"pages/home"}, got.JSON(t)["imported"])
	})
	t.Run("and is refused whole with anything else", func(t *testing.T) {
		p.unchanged(func() {
			also := "name: Other\ndo: []\n"
			denied(t, p.importFiles("", map[string]string{"automations/charge.yml": also, "automations/vault.yml": anyAutomation}), "update", "automations", "automations/vault")
			denied(t, p.importFiles("?dryRun=true", map[string]string{"automations/vault.yml": anyAutomation}), "update", "automations", "automations/vault")
			denied(t, p.importFiles("", map[string]string{"automations/charge.yml": also, "automations/vault2.yml": anyAutomation}), "create", "automations", "automations/vault2")
			denied(t, p.importFiles("", map[string]string{"automations/charge.yml": also, "pages/home.yml": "name: Start\nblocks: []\nstyles: b{}\n"}), "update", "pages", "pages/home")
			all := map[string]string{"automations/charge.yml": anyAutomation, "automations/free.yml": anyAutomation, "pages/home.yml": "name: Start\nblocks: []\nstyles: a{}\n"}
			got := p.importFiles("?prune=true", all)
			denied(t, got, "delete", "automations", "")
			require.NotContains(t, string(got.Body), "hidden", "nobody is told of what they may not read")
		})
	})
	t.Run("so does a restoration", func(t *testing.T) {
		p.unchanged(func() {
			denied(t, p.Call(t, "POST", p.path+"/restore", p.editor, nodetest.UndoBody(first)), "delete", "automations", "")
			got := p.Call(t, "POST", p.path+"/restore?dryRun=true", p.editor, nodetest.UndoBody(first))
			require.NotContains(t, string(got.Body), "hidden")
		})
		p.back("/restore?dryRun=true", nodetest.UndoBody(first))
	})
	t.Run("and an undoing", func(t *testing.T) {
		changed := p.write("PATCH", "/automations/vault", automation("vault", "shut"))
		renamed := p.write("PATCH", "/automations/charge", automation("vault-3", "charged"))
		styled := p.write("PATCH", "/pages/home", `{"slug":"home","name":"Start","blocks":[],"styles":"c{}"}`)
		p.unchanged(func() {
			denied(t, p.Call(t, "POST", p.path+"/undo", p.editor, nodetest.UndoBody(changed)), "update", "automations", "automations/vault")
			denied(t, p.Call(t, "POST", p.path+"/undo", p.editor, nodetest.UndoBody(renamed)), "update", "automations", "automations/vault-3")
			denied(t, p.Call(t, "POST", p.path+"/undo", p.editor, nodetest.UndoBody(styled)), "update", "pages", "pages/home")
		})
		p.back("/undo", nodetest.UndoBody(renamed))
		free := p.write("PATCH", "/automations/charge", automation("charge", "billed"))
		got := p.Call(t, "POST", p.path+"/undo", p.editor, nodetest.UndoBody(free))
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
	})
	t.Run("and an import of many", func(t *testing.T) {
		bulk := nodetest.ZipOf(t, map[string]string{
			archive.BulkName:              `{"workspaceIds":["` + p.id + `"]}`,
			"workspaces/" + p.id + ".zip": nodetest.ZipOf(t, map[string]string{"index.yml": "name: Shop\nslug: shop\n", "automations/vault.yml": anyAutomation}),
		})
		p.unchanged(func() {
			got := p.Upload(t, "/v2/workspaces/import", p.editor, bulk, false)
			require.Equal(t, http.StatusCreated, got.StatusCode, "%s", got.Body)
			require.Equal(t, "permission_denied", got.JSON(t)["errors"].([]any)[0].(map[string]any)["err"], "%s", got.Body)
		})
	})
}

func TestRulesForFieldsBindImportsAndRestorations(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t)
	p.secure(`{"role":"editor","action":"read","subject":"workspaces"}`, `{"role":"editor","action":"update","subject":"workspaces","fields":["automations","description"]}`)
	named := p.write("PATCH", "", `{"name":"Web shop"}`)
	told := p.write("PATCH", "", `{"description":"Sells"}`)
	p.unchanged(func() {
		denied(t, p.importFiles("", map[string]string{"index.yml": "name: Mine\nslug: shop\ndescription: Sells\nlabels: [web]\n"}), "update", "workspaces", "index")
		index := "name: Web shop\nslug: shop\ndescription: Sells\nlabels: [web]\n"
		denied(t, p.importFiles("", map[string]string{"index.yml": index, "pages/home.yml": homePage}), "create", "pages", "pages/home")
		denied(t, p.importFiles("", map[string]string{"index.yml": index, "imports/crm.yml": "appSlug: crm\n"}), "update", "workspaces", "imports/crm")
		denied(t, p.importFiles("", map[string]string{"index.yml": index + "blocks: {Hero: {name: Hero}}\n"}), "update", "workspaces", "index")
		denied(t, p.Call(t, "POST", p.path+"/undo", p.editor, nodetest.UndoBody(named)), "update", "workspaces", "index")
	})
	got := p.importFiles("", map[string]string{"index.yml": "name: Web shop\nslug: shop\ndescription: Sells more\nlabels: [web]\n", "automations/charge.yml": anyAutomation})
	require.Equal(t, []any{"automations/charge", "index"}, got.JSON(t)["imported"], "%s", got.Body)
	last := p.history("types=workspaces.imported")[0]["seq"].(string)
	require.Equal(t, http.StatusOK, p.Call(t, "POST", p.path+"/undo", p.editor, nodetest.UndoBody(last)).StatusCode)
	got = p.Call(t, "POST", p.path+"/undo", p.editor, nodetest.UndoBody(told))
	require.Contains(t, []int{http.StatusOK, http.StatusConflict}, got.StatusCode, "%s", got.Body)
	require.Equal(t, "Web shop", p.getObject("")["name"], fmt.Sprint(p.history("")))
}

func TestNobodyMakesAPagePublicByGoingBack(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t)
	p.write("POST", "/pages", `{"slug":"home","name":"Home","blocks":[]}`)
	shares := "/v2/pages/" + p.getObject("/pages/home")["id"].(string) + "/permissions"
	share := func() string {
		got := p.Call(t, "POST", shares, p.owner, `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
		return got.Header.Get("X-Svc-Seq")
	}
	public := share()
	closed := p.Call(t, "DELETE", shares+"/*", p.owner, "").Header.Get("X-Svc-Seq")
	left := func(got nodetest.Answer, documents ...any) {
		t.Helper()
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
		require.Equal(t, documents, got.JSON(t)["imported"].([]any), "%s", got.Body)
		require.Contains(t, string(mustJSON(t, got.JSON(t)["warnings"])), "security_excluded")
	}

	p.unchanged(func() {
		left(p.Call(t, "POST", p.path+"/undo", p.editor, nodetest.UndoBody(closed)), []any{}...)
		left(p.Call(t, "POST", p.path+"/restore", p.editor, nodetest.UndoBody(public)), []any{}...)
	})
	left(p.importFiles("", map[string]string{"pages/home.yml": homePage + "public: true\n"}), []any{}...)
	left(p.importFiles("", map[string]string{"pages/home.yml": "name: Start\nblocks: []\npublic: true\n", "pages/more.yml": homePage + "public: true\n"}), "pages/home", "pages/more")
	for _, slug := range []string{"home", "more"} {
		require.Equal(t, false, p.getObject("/pages/" + slug)["public"])
		require.Equal(t, http.StatusUnauthorized, p.Get(t, "/v2/pages/shop/"+slug, nil).StatusCode)
	}

	share()
	left(p.importFiles("", map[string]string{"pages/home.yml": homePage}), "pages/home")
	require.Equal(t, true, p.getObject("/pages/home")["public"], "nor does anybody take it from its visitors")
	renamed := p.write("PATCH", "/pages/home", `{"slug":"start","name":"Home","blocks":[]}`)
	got := p.Call(t, "POST", p.path+"/undo", p.editor, nodetest.UndoBody(renamed))
	require.Equal(t, []any{"pages/home"}, got.JSON(t)["imported"], "%s", got.Body)
	require.Equal(t, true, p.getObject("/pages/home")["public"])

	p.secure(editing, `{"role":"editor","action":["read","manage_permissions"],"subject":"pages"}`)
	got = p.importFiles("", map[string]string{"pages/home.yml": homePage})
	require.Empty(t, got.JSON(t)["warnings"], "who manages shares does, %s", got.Body)
	require.Equal(t, false, p.getObject("/pages/home")["public"])
}

func TestAnExportHasWhatItsCallerMayRead(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t)
	p.write("POST", "/automations", automation("charge", "charged"))
	p.write("POST", "/automations", automation("hidden", "hid-this"))
	p.write("POST", "/pages", `{"slug":"home","name":"Home","blocks":[]}`)
	p.secure(editing, `{"role":"editor","action":"read","subject":"automations","inverted":true,"conditions":{"slug":"hidden"}}`)
	files := func(path string, who http.Header) []string {
		t.Helper()
		got := p.Get(t, path, who)
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
		return unzipped(t, got.Body)
	}
	some := []string{"automations/charge.yml", "index.yml", "pages/home.yml", "security.yml"}
	require.Equal(t, some, files(p.path+"/export", p.editor))
	require.Equal(t, some, files(p.path+"/versions/current/export", p.editor))
	require.Contains(t, files(p.path+"/export", p.owner), "automations/hidden.yml")

	many := p.Call(t, "POST", "/v2/workspaces/export", p.editor, `{}`)
	require.Equal(t, http.StatusOK, many.StatusCode, "%s", many.Body)
	bulk, err := archive.ReadBulk(many.Body, archive.Usual)
	require.NoError(t, err)
	require.Equal(t, some, unzipped(t, bulk.Archives[p.id]))
}

// unzipped lists the documents of an archive.
func unzipped(t *testing.T, data []byte) (names []string) {
	t.Helper()
	tree, _, err := archive.Unzip(data, archive.Usual)
	require.NoError(t, err)
	for name := range tree {
		if !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestWhatIsRefusedLeavesNoBlob(t *testing.T) {
	t.Parallel()
	p := newHistoryScenario(t)
	p.secure(editing, `{"role":"editor","action":"create","subject":"automations","inverted":true,"conditions":{"slug":"vault"}}`)
	body := `{"slug":"vault","name":"Large","description":"` + strings.Repeat("x", 300<<10) + `","do":[]}`
	sum := sha256.Sum256([]byte(body))
	name := hex.EncodeToString(sum[:])
	file := "name: Large\ndescription: " + strings.Repeat("x", 300<<10) + "\ndo: []\n"
	denied(t, p.importFiles("", map[string]string{"automations/vault.yml": file}), "create", "automations", "automations/vault")
	dry := p.Upload(t, p.path+"/import?dryRun=true", p.owner, nodetest.ZipOf(t, map[string]string{"index.yml": "name: Shop\n", "automations/vault.yml": file}), false)
	require.Equal(t, []any{"automations/vault"}, dry.JSON(t)["imported"], "%s", dry.Body)
	p.Stop(t)
	require.False(t, hasBlob(t, p.Dir, name))
	p.Start(t)
	done := p.Upload(t, p.path+"/import", p.owner, nodetest.ZipOf(t, map[string]string{"index.yml": "name: Shop\n", "automations/vault.yml": file}), false)
	require.Equal(t, http.StatusOK, done.StatusCode, "%s", done.Body)
	require.Equal(t, "Large", p.getObject("/automations/vault")["name"])
	p.Stop(t)
	require.True(t, hasBlob(t, p.Dir, name), "which is how this test knows its name")
}

// hasBlob reports whether a content is kept in a data directory that nobody uses.
func hasBlob(t *testing.T, dir, name string) bool {
	t.Helper()
	store, err := jetstream.Open(t.Context(), jetstream.Options{Dir: filepath.Join(dir, "log"), Events: catalog.Events(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close(context.Background())) }()
	_, err = store.Blobs.Get(t.Context(), name)
	if !errors.Is(err, jetstream.ErrNoBlob) {
		require.NoError(t, err)
	}
	return err == nil
}
