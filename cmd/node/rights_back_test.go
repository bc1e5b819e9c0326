package node_test

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

	"svc/commands/archive"
	"svc/domain/catalog"
	"svc/eventstore/jetstream"
)

// secure sets the rules of the workspace; those of the editor come first.
func (p *past) secure(rules ...string) {
	p.t.Helper()
	p.write("PUT", "/security", `{"authorizations":{"roles":{"editor":{}},"rules":[`+strings.Join(rules, ",")+`]}}`)
}

const editing = `{"role":"editor","action":["read","update"],"subject":"workspaces"}`

// changes lists the changes of content.
func (p *past) changes() []map[string]any {
	p.t.Helper()
	return slices.DeleteFunc(p.history("limit=1000"), func(entry map[string]any) bool { return entry["contentRevision"] == nil })
}

// unchanged runs what must not change any content, nor record that it did.
func (p *past) unchanged(run func()) {
	p.t.Helper()
	before, content := p.changes(), p.get(p.t, p.path+"/export", p.owner).body
	run()
	require.Equal(p.t, before, p.changes())
	require.Equal(p.t, content, p.get(p.t, p.path+"/export", p.owner).body)
}

// brings imports files besides an index, as the editor.
func (p *past) brings(query string, files map[string]string) answer {
	p.t.Helper()
	if files["index.yml"] == "" {
		files["index.yml"] = "name: Shop\nslug: shop\nlabels: [web]\n"
	}
	return p.upload(p.t, p.path+"/import"+query, p.editor, zipOf(p.t, files), false)
}

// denied is a refusal that names the right and the document.
func denied(t *testing.T, got answer, action, subject, document string) {
	t.Helper()
	require.Equal(t, http.StatusForbidden, got.StatusCode, "%s", got.body)
	require.Equal(t, "permission_denied", got.code(t))
	details := got.json(t)["details"].(map[string]any)
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
	p := newPast(t)
	p.write("POST", "/automations", automation("charge", "charged"))
	first := p.write("POST", "/automations", automation("vault", "opened"))
	p.write("POST", "/automations", automation("hidden", "hid"))
	p.write("POST", "/pages", `{"slug":"home","name":"Home","blocks":[],"styles":"a{}"}`)
	p.secure(editing,
		`{"role":"editor","action":["create","update","delete"],"subject":"automations","inverted":true,"conditions":{"slug":{"$regex":"^(vault|hidden)"}}}`,
		`{"role":"editor","action":"read","subject":"automations","inverted":true,"conditions":{"slug":"hidden"}}`,
		`{"role":"editor","action":"update","subject":"pages","inverted":true,"fields":["styles"]}`)

	t.Run("an import changes what its caller may change", func(t *testing.T) {
		got := p.brings("", map[string]string{"automations/charge.yml": anyAutomation, "automations/free.yml": anyAutomation, "pages/home.yml": homePage + "styles: a{}\n"})
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
		require.Equal(t, []any{"automations/charge", "automations/free"}, got.json(t)["imported"])
		got = p.brings("", map[string]string{"pages/home.yml": "name: Start\nblocks: []\nstyles: a{}\n"})
		require.Equal(t, []any{"pages/home"}, got.json(t)["imported"])
	})
	t.Run("and is refused whole with anything else", func(t *testing.T) {
		p.unchanged(func() {
			also := "name: Other\ndo: []\n"
			denied(t, p.brings("", map[string]string{"automations/charge.yml": also, "automations/vault.yml": anyAutomation}), "update", "automations", "automations/vault")
			denied(t, p.brings("?dryRun=true", map[string]string{"automations/vault.yml": anyAutomation}), "update", "automations", "automations/vault")
			denied(t, p.brings("", map[string]string{"automations/charge.yml": also, "automations/vault2.yml": anyAutomation}), "create", "automations", "automations/vault2")
			denied(t, p.brings("", map[string]string{"automations/charge.yml": also, "pages/home.yml": "name: Start\nblocks: []\nstyles: b{}\n"}), "update", "pages", "pages/home")
			all := map[string]string{"automations/charge.yml": anyAutomation, "automations/free.yml": anyAutomation, "pages/home.yml": "name: Start\nblocks: []\nstyles: a{}\n"}
			got := p.brings("?prune=true", all)
			denied(t, got, "delete", "automations", "")
			require.NotContains(t, string(got.body), "hidden", "nobody is told of what they may not read")
		})
	})
	t.Run("so does a restoration", func(t *testing.T) {
		p.unchanged(func() {
			denied(t, p.call(t, "POST", p.path+"/restore", p.editor, undo(first)), "delete", "automations", "")
			got := p.call(t, "POST", p.path+"/restore?dryRun=true", p.editor, undo(first))
			require.NotContains(t, string(got.body), "hidden")
		})
		p.back("/restore?dryRun=true", undo(first))
	})
	t.Run("and an undoing", func(t *testing.T) {
		changed := p.write("PATCH", "/automations/vault", automation("vault", "shut"))
		renamed := p.write("PATCH", "/automations/charge", automation("vault-3", "charged"))
		styled := p.write("PATCH", "/pages/home", `{"slug":"home","name":"Start","blocks":[],"styles":"c{}"}`)
		p.unchanged(func() {
			denied(t, p.call(t, "POST", p.path+"/undo", p.editor, undo(changed)), "update", "automations", "automations/vault")
			denied(t, p.call(t, "POST", p.path+"/undo", p.editor, undo(renamed)), "update", "automations", "automations/vault-3")
			denied(t, p.call(t, "POST", p.path+"/undo", p.editor, undo(styled)), "update", "pages", "pages/home")
		})
		p.back("/undo", undo(renamed))
		free := p.write("PATCH", "/automations/charge", automation("charge", "billed"))
		got := p.call(t, "POST", p.path+"/undo", p.editor, undo(free))
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
	})
	t.Run("and an import of many", func(t *testing.T) {
		bulk := zipOf(t, map[string]string{
			archive.BulkName:              `{"workspaceIds":["` + p.id + `"]}`,
			"workspaces/" + p.id + ".zip": zipOf(t, map[string]string{"index.yml": "name: Shop\nslug: shop\n", "automations/vault.yml": anyAutomation}),
		})
		p.unchanged(func() {
			got := p.upload(t, "/v2/workspaces/import", p.editor, bulk, false)
			require.Equal(t, http.StatusCreated, got.StatusCode, "%s", got.body)
			require.Equal(t, "permission_denied", got.json(t)["errors"].([]any)[0].(map[string]any)["err"], "%s", got.body)
		})
	})
}

func TestRulesForFieldsBindImportsAndRestorations(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.secure(`{"role":"editor","action":"read","subject":"workspaces"}`, `{"role":"editor","action":"update","subject":"workspaces","fields":["automations","description"]}`)
	named := p.write("PATCH", "", `{"name":"Web shop"}`)
	told := p.write("PATCH", "", `{"description":"Sells"}`)
	p.unchanged(func() {
		denied(t, p.brings("", map[string]string{"index.yml": "name: Mine\nslug: shop\ndescription: Sells\nlabels: [web]\n"}), "update", "workspaces", "index")
		index := "name: Web shop\nslug: shop\ndescription: Sells\nlabels: [web]\n"
		denied(t, p.brings("", map[string]string{"index.yml": index, "pages/home.yml": homePage}), "create", "pages", "pages/home")
		denied(t, p.brings("", map[string]string{"index.yml": index, "imports/crm.yml": "appSlug: crm\n"}), "update", "workspaces", "imports/crm")
		denied(t, p.brings("", map[string]string{"index.yml": index + "blocks: {Hero: {name: Hero}}\n"}), "update", "workspaces", "index")
		denied(t, p.call(t, "POST", p.path+"/undo", p.editor, undo(named)), "update", "workspaces", "index")
	})
	got := p.brings("", map[string]string{"index.yml": "name: Web shop\nslug: shop\ndescription: Sells more\nlabels: [web]\n", "automations/charge.yml": anyAutomation})
	require.Equal(t, []any{"automations/charge", "index"}, got.json(t)["imported"], "%s", got.body)
	last := p.history("types=workspaces.imported")[0]["seq"].(string)
	require.Equal(t, http.StatusOK, p.call(t, "POST", p.path+"/undo", p.editor, undo(last)).StatusCode)
	got = p.call(t, "POST", p.path+"/undo", p.editor, undo(told))
	require.Contains(t, []int{http.StatusOK, http.StatusConflict}, got.StatusCode, "%s", got.body)
	require.Equal(t, "Web shop", p.shown("")["name"], fmt.Sprint(p.history("")))
}

func TestNobodyMakesAPagePublicByGoingBack(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.write("POST", "/pages", `{"slug":"home","name":"Home","blocks":[]}`)
	shares := "/v2/pages/" + p.shown("/pages/home")["id"].(string) + "/permissions"
	share := func() string {
		got := p.call(t, "POST", shares, p.owner, `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
		return got.Header.Get("X-Svc-Seq")
	}
	public := share()
	closed := p.call(t, "DELETE", shares+"/*", p.owner, "").Header.Get("X-Svc-Seq")
	left := func(got answer, documents ...any) {
		t.Helper()
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
		require.Equal(t, documents, got.json(t)["imported"].([]any), "%s", got.body)
		require.Contains(t, string(mustJSON(t, got.json(t)["warnings"])), "security_excluded")
	}

	p.unchanged(func() {
		left(p.call(t, "POST", p.path+"/undo", p.editor, undo(closed)), []any{}...)
		left(p.call(t, "POST", p.path+"/restore", p.editor, undo(public)), []any{}...)
	})
	left(p.brings("", map[string]string{"pages/home.yml": homePage + "public: true\n"}), []any{}...)
	left(p.brings("", map[string]string{"pages/home.yml": "name: Start\nblocks: []\npublic: true\n", "pages/more.yml": homePage + "public: true\n"}), "pages/home", "pages/more")
	for _, slug := range []string{"home", "more"} {
		require.Equal(t, false, p.shown("/pages/" + slug)["public"])
		require.Equal(t, http.StatusUnauthorized, p.get(t, "/v2/pages/shop/"+slug, nil).StatusCode)
	}

	share()
	left(p.brings("", map[string]string{"pages/home.yml": homePage}), "pages/home")
	require.Equal(t, true, p.shown("/pages/home")["public"], "nor does anybody take it from its visitors")
	renamed := p.write("PATCH", "/pages/home", `{"slug":"start","name":"Home","blocks":[]}`)
	got := p.call(t, "POST", p.path+"/undo", p.editor, undo(renamed))
	require.Equal(t, []any{"pages/home"}, got.json(t)["imported"], "%s", got.body)
	require.Equal(t, true, p.shown("/pages/home")["public"])

	p.secure(editing, `{"role":"editor","action":["read","manage_permissions"],"subject":"pages"}`)
	got = p.brings("", map[string]string{"pages/home.yml": homePage})
	require.Empty(t, got.json(t)["warnings"], "who manages shares does, %s", got.body)
	require.Equal(t, false, p.shown("/pages/home")["public"])
}

func TestAnExportHasWhatItsCallerMayRead(t *testing.T) {
	t.Parallel()
	p := newPast(t)
	p.write("POST", "/automations", automation("charge", "charged"))
	p.write("POST", "/automations", automation("hidden", "hid-this"))
	p.write("POST", "/pages", `{"slug":"home","name":"Home","blocks":[]}`)
	p.secure(editing, `{"role":"editor","action":"read","subject":"automations","inverted":true,"conditions":{"slug":"hidden"}}`)
	files := func(path string, who http.Header) []string {
		t.Helper()
		got := p.get(t, path, who)
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
		return unzipped(t, got.body)
	}
	some := []string{"automations/charge.yml", "index.yml", "pages/home.yml", "security.yml"}
	require.Equal(t, some, files(p.path+"/export", p.editor))
	require.Equal(t, some, files(p.path+"/versions/current/export", p.editor))
	require.Contains(t, files(p.path+"/export", p.owner), "automations/hidden.yml")

	many := p.call(t, "POST", "/v2/workspaces/export", p.editor, `{}`)
	require.Equal(t, http.StatusOK, many.StatusCode, "%s", many.body)
	bulk, err := archive.ReadBulk(many.body, archive.Usual)
	require.NoError(t, err)
	require.Equal(t, some, unzipped(t, bulk.Archives[p.id]))
}

// unzipped lists the documents of an archive.
func unzipped(t *testing.T, data []byte) (names []string) {
	t.Helper()
	tree, err := archive.Unzip(data, archive.Usual)
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
	p := newPast(t)
	p.secure(editing, `{"role":"editor","action":"create","subject":"automations","inverted":true,"conditions":{"slug":"vault"}}`)
	body := `{"slug":"vault","name":"Large","description":"` + strings.Repeat("x", 300<<10) + `","do":[]}`
	sum := sha256.Sum256([]byte(body))
	name := hex.EncodeToString(sum[:])
	file := "name: Large\ndescription: " + strings.Repeat("x", 300<<10) + "\ndo: []\n"
	denied(t, p.brings("", map[string]string{"automations/vault.yml": file}), "create", "automations", "automations/vault")
	dry := p.upload(t, p.path+"/import?dryRun=true", p.owner, zipOf(t, map[string]string{"index.yml": "name: Shop\n", "automations/vault.yml": file}), false)
	require.Equal(t, []any{"automations/vault"}, dry.json(t)["imported"], "%s", dry.body)
	p.stop(t)
	require.False(t, hasBlob(t, p.dir, name))
	p.start(t)
	done := p.upload(t, p.path+"/import", p.owner, zipOf(t, map[string]string{"index.yml": "name: Shop\n", "automations/vault.yml": file}), false)
	require.Equal(t, http.StatusOK, done.StatusCode, "%s", done.body)
	require.Equal(t, "Large", p.shown("/automations/vault")["name"])
	p.stop(t)
	require.True(t, hasBlob(t, p.dir, name), "which is how this test knows its name")
}

// hasBlob reports whether a content is kept in a data directory that nobody uses.
func hasBlob(t *testing.T, dir, name string) bool {
	t.Helper()
	store, err := jetstream.Open(t.Context(), jetstream.Options{Dir: filepath.Join(dir, "log"), Events: catalog.Events(), Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close(context.Background())) }()
	_, err = store.GetBlob(t.Context(), name)
	if !errors.Is(err, jetstream.ErrNoBlob) {
		require.NoError(t, err)
	}
	return err == nil
}
