//go:build e2e

package e2e

import (
	"archive/zip"
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// hold lets no request to an address of this pattern go out until release. The request that a
// held page makes stays without an answer.
func (b *tab) hold(pattern string) {
	b.t.Helper()
	call(b, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: pattern}}})
}

// release lets requests that were held go on.
func (b *tab) release() {
	b.t.Helper()
	call(b, fetch.Disable, struct{}{})
}

// drop drops files in the middle of the page, and waits until the page has them. Files that come together are dropped together: the
// browser of a busy machine loses a second drop that follows at once.
func (b *tab) drop(files ...string) {
	b.t.Helper()
	eval[bool](b, `(window.dropped = false, addEventListener('drop', () => (window.dropped = true), {capture: true, once: true}), true)`)
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		call(b, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: 640, Y: 400, Data: &input.DragData{Items: []*input.DragDataItem{}, Files: files, DragOperationsMask: 1}})
	}
	b.await(`window.dropped`)
}

// archiveOf writes a zip of files by their names.
func archiveOf(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	w := zip.NewWriter(f)
	for name, text := range files {
		part, err := w.Create(name)
		require.NoError(t, err)
		_, err = part.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return path
}

// A list begins empty, is filled, filtered, and says so when it cannot be read.
func TestWorkspaces(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	sh := newSheet(t, "workspaces")
	b := ada.open(t)
	b.visit("workspaces")
	b.see("button", "Create the sample workspace")
	sh.capture(b, "empty")

	// Created with a name only; the slug is shown while it is typed.
	b.press("n")
	b.awaitFocus("textbox", "Name")
	b.write("L'été à Paris")
	require.Equal(t, "lete-a-paris", b.valueOf("Slug"))
	sh.capture(b, "new")
	b.press("Escape")
	b.gone("dialog", "New workspace")
	b.click("button", "New workspace")
	b.fill("Name", "<b>Shop</b> & more")
	b.press("Enter")
	b.see("heading", "<b>Shop</b> & more")
	made := ada.list(t, "/v2/workspaces")
	require.Len(t, made, 1)
	require.Equal(t, "b-shop-b-more", made[0]["slug"])
	b.awaitAt("w/" + made[0]["id"].(string))

	// A slug that was suggested and is taken gets a number; one that was typed is refused at its field.
	b.visit("workspaces?new")
	b.fill("Name", "b shop b more")
	b.press("Enter")
	b.see("heading", "b shop b more")
	require.Len(t, ada.list(t, "/v2/workspaces?slug=b-shop-b-more-2"), 1)
	b.visit("workspaces?new")
	b.fill("Name", "Other")
	b.fill("Slug", "b-shop-b-more")
	b.press("Enter")
	b.seeText("Another workspace has this slug.")
	b.awaitFocus("textbox", "Slug")
	b.fill("Slug", "Not a slug")
	b.press("Tab")
	b.seeText("Use a to z, 0 to 9 and -")
	b.press("Escape")
	b.awaitAt("workspaces")

	// Somebody else's changes come by themselves.
	id := ada.do(t, http.StatusCreated, "POST", "/v2/workspaces", map[string]any{"name": "Made elsewhere", "labels": []string{"sales", "team:web", "third"}})["id"].(string)
	b.see("link", "Made elsewhere")
	ada.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+id, map[string]any{"name": "Renamed elsewhere"})
	b.see("link", "Renamed elsewhere")
	b.gone("link", "Made elsewhere")
	sh.capture(b, "filled")

	// Filters are in the address.
	b.press("/")
	b.awaitFocus("searchbox", "Find by name, slug or description")
	b.write("renamed")
	b.awaitAt("workspaces?search=renamed")
	b.gone("link", "b shop b more")
	b.see("link", "Renamed elsewhere")
	b.write("zz")
	b.see("heading", "No match")
	sh.capture(b, "no match")
	b.click("button", "Clear filter")
	b.awaitAt("workspaces")
	b.see("link", "b shop b more")

	// Keys of lists.
	b.press("Escape", "j", "j")
	b.until("a row has the focus", func(context.Context) bool { return b.focused().Role == "row" })
	b.press("Enter")
	b.await(`/^\/console\/w\/\w+$/.test(location.pathname)`)

	// A read that takes long shows where things will be; one that fails says so in its place.
	b.visit("profile")
	b.hold("*/v2/workspaces?sort=name*")
	b.visit("workspaces?sort=name")
	b.await(`document.querySelector('[aria-busy] .bar')`)
	sh.capture(b, "loading")
	b.seeText("Still working")
	sh.capture(b, "still working")
	b.click("button", "Cancel")
	b.seeText("Cancelled.")
	b.release()
	b.click("button", "Try again")
	b.see("link", "b shop b more")

	call(b, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: "*://*:*/v2/workspaces?*", Block: true}}})
	b.visit("workspaces?sort=createdAt")
	b.see("button", "Try again")
	sh.capture(b, "error")
	call(b, network.SetBlockedURLs, network.SetBlockedURLsParams{})
	b.click("button", "Try again")
	b.see("link", "b shop b more")

	// In French nothing is left in English.
	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	b.visit("workspaces")
	b.see("heading", "Espaces de travail")
	b.see("button", "Non poussé")
	b.await(`document.documentElement.lang === 'fr'`)
	sh.capture(b, "French")
	b.press("n")
	b.awaitFocus("textbox", "Nom")
	b.write("Boutique")
	b.fill("Identifiant court", "b-shop-b-more")
	b.press("Enter")
	b.seeText("Un autre espace porte cet identifiant.")
	sh.capture(b, "French new")
}

// #17: only what is not pushed, in the address and after a reload.
func TestUnpushedWorkspaces(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	server := gitServer(t)
	repo := server.Repo("clean.git")
	clean := ada.workspace(t, "Clean")
	ada.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+clean, map[string]any{"repositories": map[string]any{"origin": map[string]any{"name": "Origin", "config": map[string]any{"url": repo.URL, "branch": "main", "caBundle": server.CA, "auth": map[string]any{"user": "alice", "password": gittest.Password}}}}})
	ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+clean+"/push", map[string]any{"repository": map[string]any{"id": "origin"}})
	ada.workspace(t, "Dirty")
	require.Equal(t, false, ada.do(t, http.StatusOK, "GET", "/v2/workspaces/"+clean, nil)["dirty"])

	b := ada.open(t)
	b.visit("workspaces")
	b.see("link", "Clean")
	b.see("link", "Dirty")
	b.press("u")
	b.awaitAt("workspaces?dirty=true")
	b.gone("link", "Clean")
	b.see("link", "Dirty")
	newSheet(t, "workspaces-unpushed").capture(b, "unpushed")
	b.do(chromedp.Reload())
	b.see("link", "Dirty")
	require.False(t, b.has("link", "Clean"))
	require.Equal(t, "true", eval[string](b, `[...document.querySelectorAll('button')].find((e) => e.textContent.includes('Unpushed')).getAttribute('aria-pressed')`))

	// A change makes the clean one come, live.
	ada.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+clean, map[string]any{"description": "Changed"})
	b.see("link", "Clean")
}

// What changes after a screen was read and before its stream is open comes live, too.
func TestChangesBeforeTheStream(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Early", "slug: hello\nname: Hello\ndo:\n  - set: {name: a, value: 1}\n")
	b := ada.open(t)
	// A worker's requests cannot be held: the page follows by itself.
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `delete window.SharedWorker`})
	b.hold("*/events/stream*")
	b.visit("workspaces")
	b.see("link", "Early")
	ada.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+id, map[string]any{"name": "Later"})
	b.release()
	b.see("link", "Later")

	b.hold("*/events/stream*")
	b.openAutomation(id, "hello?tab=runs")
	b.seeText("Not run yet")
	ada.do(t, http.StatusOK, "POST", "/v2/workspaces/"+id+"/test/hello", map[string]any{})
	b.release()
	b.await(`document.querySelectorAll('[role=row].openable').length > 0`, "the run")
}

// #18: somebody who has nothing gets a workspace that works.
func TestSampleWorkspace(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	b := ada.open(t)
	b.visit("workspaces")
	b.click("button", "Create the sample workspace")
	b.see("heading", "Expenses (sample)")
	made := ada.list(t, "/v2/workspaces")
	require.Len(t, made, 1)
	id := made[0]["id"].(string)
	b.awaitAt("w/" + id)
	b.await(`document.querySelector('[data-step=automation][data-done=true]') && document.querySelector('[data-step=page][data-done=true]')`)
	b.await(`document.querySelector('[data-step=run][data-done=false] a[href$="/automations/submit"]')`, "what to do next: run what can be called")
	require.Empty(t, ada.list(t, "/v2/workspaces/"+id+"/problems"))

	// Its automation runs, and the home screen tells at once.
	runs := func(n string) {
		t.Helper()
		b.await(`[...document.querySelectorAll('.tile')].some((e) => /^Runs, 24 h\s+`+n+`\b/.test(e.innerText))`, n, " runs")
	}
	runs("1") // what it does when it is imported
	ran := ada.do(t, http.StatusOK, "POST", "/v2/workspaces/"+id+"/webhooks/expenses", map[string]any{"what": "Train", "amount": 12})
	require.Equal(t, "submitted", ran["status"])
	runs("2")
	b.await(`document.querySelector('[data-step=run][data-done=true]')`)

	// Its page is there for those who may see it.
	page := ada.do(t, http.StatusOK, "GET", "/v2/pages/"+made[0]["slug"].(string)+"/index", nil)
	require.Equal(t, id, page["workspaceId"])
}

// #19: an archive with a bad file: the plan names file and line, the rest is imported.
func TestImportOfAnArchive(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	sh := newSheet(t, "workspaces-import")
	b := ada.open(t)
	b.visit("workspaces")
	b.see("button", "Create the sample workspace")
	b.drop(archiveOf(t, "shop.zip", map[string]string{
		"index.yml":              "name: Dropped shop\nslug: dropped-shop\n",
		"automations/charge.yml": "slug: charge\nname: Charge\nwhen:\n  endpoint: true\ndo: []\noutput: charged\n",
		"automations/bad.yml":    "slug: bad\nname: Bad\ndo:\n  - set: {name: x\n",
		"automations/late.yml":   "slug: late\nname: Late\nwhen:\n  schedules:\n    - not a time\ndo: []\n",
	}))
	b.see("dialog", "Import shop.zip")
	b.see("heading", "1 error")
	b.seeText("automations/bad.yml")
	b.seeText("line 4")
	b.seeText("automations/late.yml")
	sh.capture(b, "plan")
	require.Empty(t, ada.list(t, "/v2/workspaces"), "a plan changes nothing")
	b.press("Control+Enter")
	b.see("heading", "This was imported")
	sh.capture(b, "done")
	b.click("button", "Open")
	b.see("heading", "Dropped shop")
	made := ada.list(t, "/v2/workspaces")
	require.Len(t, made, 1)
	slugs := []any{}
	for _, automation := range ada.list(t, "/v2/workspaces/"+made[0]["id"].(string)+"/automations") {
		slugs = append(slugs, automation["slug"])
	}
	require.ElementsMatch(t, []any{"charge", "late"}, slugs)

	// What is no archive is said to be none.
	b.visit("workspaces")
	b.see("link", "Dropped shop")
	nothing := filepath.Join(t.TempDir(), "holiday.zip")
	require.NoError(t, os.WriteFile(nothing, []byte("no zip"), 0o600))
	b.drop(nothing)
	b.see("dialog", "Import holiday.zip")
	b.seeText("This is not a zip archive.")
	sh.capture(b, "refused")
	b.press("Escape")
	b.gone("dialog", "Import holiday.zip")
}

// #20: deleted by typing its slug, and brought back.
func TestDeleteWorkspace(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	sh := newSheet(t, "workspaces-delete")
	id := ada.workspace(t, "Doomed", "slug: charge\nname: Charge\ndo: []\n")
	slug := ada.do(t, http.StatusOK, "GET", "/v2/workspaces/"+id, nil)["slug"].(string)
	b := ada.open(t)
	remove := func() {
		t.Helper()
		b.click("button", "Actions")
		b.click("menuitem", "Delete…")
		b.awaitFocus("textbox", "Type "+slug+" to confirm")
	}
	b.visit("workspaces")
	b.see("link", "Doomed")
	remove()
	b.write("not it")
	b.press("Enter")
	b.seeText("It has 1 automation, 0 pages and 0 apps.")
	require.Equal(t, "true", eval[string](b, `[...document.querySelectorAll('dialog button')].find((e) => e.textContent.includes('Delete workspace')).getAttribute('aria-disabled')`))
	sh.capture(b, "confirm")
	b.click("button", "Delete workspace")
	require.Empty(t, b.requests("DELETE /v2/workspaces"))
	b.fill("Type "+slug+" to confirm", slug)
	b.click("button", "Delete workspace")
	b.seeText("Doomed is deleted")
	b.gone("link", "Doomed")
	require.Empty(t, ada.list(t, "/v2/workspaces"))
	b.click("button", "Undo")
	b.see("link", "Doomed")
	back := ada.do(t, http.StatusOK, "GET", "/v2/workspaces/"+id, nil)
	require.Contains(t, back["automations"], "charge")
	require.Equal(t, slug, back["slug"])

	// Without Undo it is among the deleted ones.
	remove()
	b.write(slug)
	b.press("Enter")
	b.seeText("Doomed is deleted")
	b.visit("workspaces?deleted=true")
	b.seeText("Can be restored until")
	sh.capture(b, "deleted")
	// Its slug is in use meanwhile: it comes back under another one.
	ada.do(t, http.StatusCreated, "POST", "/v2/workspaces", map[string]any{"name": "Successor", "slug": slug})
	b.click("button", "Actions")
	b.click("menuitem", "Restore")
	b.see("dialog", "Restore Doomed")
	require.Equal(t, slug+"-2", b.valueOf("Slug"))
	b.press("Enter")
	b.see("heading", "Nothing was deleted")
	require.Contains(t, ada.do(t, http.StatusOK, "GET", "/v2/workspaces/"+id, nil)["automations"], "charge")

	// A copy, and the archive.
	b.visit("workspaces?search=doomed")
	b.see("link", "Doomed")
	b.click("button", "Actions")
	b.click("menuitem", "Duplicate…")
	b.awaitFocus("textbox", "Name")
	require.Equal(t, "Copy of Doomed", b.valueOf("Name"))
	b.press("Enter")
	b.see("heading", "Copy of Doomed")
	require.Len(t, ada.list(t, "/v2/workspaces?slug=copy-of-doomed"), 1)
	b.visit("workspaces?search=copy")
	b.see("link", "Copy of Doomed")
	call(b, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: cdpbrowser.SetDownloadBehaviorBehaviorDeny})
	b.click("button", "Actions")
	b.click("menuitem", "Export as archive")
	b.until("the archive is fetched", func(context.Context) bool {
		asked := b.requests("GET /v2/workspaces/")
		for _, r := range asked {
			if strings.HasSuffix(r.path, "/export") {
				return r.status == http.StatusOK
			}
		}
		return false
	})
}

// #21: what one browser starts, the other shows.
func TestLockInAnotherBrowser(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, ben := s.person(t, "Ada"), s.person(t, "Ben")
	// A remote that does not answer until it is told to: the pull holds its lock.
	done := make(chan struct{})
	remote := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		}
		http.Error(w, "gone", http.StatusNotFound)
	}))
	t.Cleanup(remote.Close)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: remote.Certificate().Raw}))
	id := ada.workspace(t, "Shared shop")
	ada.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+id, map[string]any{"repositories": map[string]any{"origin": map[string]any{"name": "Origin", "config": map[string]any{"url": remote.URL + "/shop.git", "branch": "main", "caBundle": authority}}}})
	ada.do(t, http.StatusOK, "POST", "/v2/workspaces/"+id+"/permissions", map[string]any{"target": map[string]any{"email": ben.email}, "permissions": map[string]any{"role": "editor"}})

	list, home := s.open(t), s.open(t)
	list.signIn(ben)
	list.visit("workspaces")
	list.see("link", "Shared shop")
	require.False(t, list.has("StaticText", "Locked"))
	home.signIn(ben)
	home.visit("w/" + id)
	home.see("heading", "Shared shop")
	home.seeText("No push, pull or import is running.")

	b := ada.open(t)
	b.visit("w/" + id)
	b.see("heading", "Shared shop")
	started := eval[int](b, fmt.Sprintf(`fetch('/v2/me').then((me) => fetch('/v2/workspaces/%s/pull?timeout=0', {method: 'POST', headers: {'Content-Type': 'application/json', 'Idempotency-Key': 'pull-1', 'x-svc-csrf-token': me.headers.get('x-svc-csrf-token')}, body: JSON.stringify({repository: {id: 'origin'}})})).then((r) => r.status)`, id))
	require.Equal(t, http.StatusAccepted, started)
	list.see("StaticText", "Locked")
	home.seeText("A pull is running")
	home.see("progressbar", "Pull")
	newSheet(t, "home-locked").capture(home, "locked by pull")
	close(done)
	list.gone("StaticText", "Locked")
	home.seeText("No push, pull or import is running.")
}
