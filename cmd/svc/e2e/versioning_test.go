//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// connect gives a workspace a repository on a Git server, with the id origin.
func (p *person) connect(t *testing.T, workspace string, server *gittest.Server, repo *gittest.Repo) {
	t.Helper()
	p.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+workspace, map[string]any{"repositories": map[string]any{"origin": map[string]any{
		"name": "Origin", "config": map[string]any{"url": repo.URL, "branch": "main", "caBundle": server.CA, "auth": map[string]any{"user": gittest.User, "password": gittest.Password}},
	}}})
}

// pushTo pushes a version to the repository of connect.
func (p *person) pushTo(t *testing.T, workspace, name string) {
	t.Helper()
	p.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+workspace+"/versions", map[string]any{"name": name, "repository": "origin"})
}

// edit changes a file of the repository as another developer does.
func editRemote(repo *gittest.Repo, file, from, to string) {
	clone := repo.Clone()
	text, err := os.ReadFile(filepath.Join(clone.Dir, file))
	if err == nil {
		clone.Write(file, strings.Replace(string(text), from, to, 1))
	}
	clone.Commit("Edit " + file)
	clone.Push("main")
}

// operationEnds waits until the operation that is shown has ended in a state.
func (b *tab) operationEnds(state string) {
	b.t.Helper()
	b.until("an operation", func(context.Context) bool { return strings.Contains(b.where(), "/operations/op_") })
	b.await(`document.querySelector('h1')?.innerText.includes('` + state + `')`)
}

// #47: both changes are shown before they are pushed, the steps as they go, and then it is in sync. #48: what is behind
// is pulled first, and nothing is pushed. Repositories are tested and trusted; versions compared and rolled back to.
func TestVersioning(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Shop", "slug: charge\nname: Charge\ndo: []\n")
	w := "/v2/workspaces/" + id
	server := gitServer(t)
	repo := server.Repo("shop.git")
	sh := newSheet(t, "versioning")
	b := ada.open(t)
	b.visit("w/" + id)
	b.see("heading", "Recent changes")
	b.press("g", "v")
	b.awaitAt("w/" + id + "/versioning")
	b.see("heading", "No repository is connected")
	sh.capture(b, "native only")

	// A repository whose certificate nobody vouches for.
	b.click("link", "Connect a repository")
	b.see("dialog", "New repository")
	b.click("button", "Save and test")
	b.awaitFocus("textbox", "Name")
	b.fill("Name", "Origin")
	b.fill("Address", repo.URL)
	b.choose("Access", "Password or token")
	b.fill("User", gittest.User)
	b.fill("Password or token", gittest.Password)
	sh.capture(b, "new repository")
	require.NotContains(t, b.drafts(), gittest.Password)
	b.click("button", "Save and test")
	b.see("button", "Give the certificate of the authority")
	sh.capture(b, "certificate")
	b.click("button", "Give the certificate of the authority")
	b.awaitFocus("textbox", "Certificate of the authority (PEM)")
	b.fill("Certificate of the authority (PEM)", server.CA)
	b.click("button", "Save and test")
	b.seeText("It answers and is empty.")
	b.nowhereOnPage(gittest.Password)
	sh.capture(b, "repositories")

	// The first push.
	b.press("Shift+P")
	b.see("dialog", "Push to Origin")
	b.seeText("all of the content is sent")
	b.fill("Name", "not a name")
	b.fill("Description", "The <b>first</b> one")
	b.click("button", "Push")
	b.seeText("Letters, digits, _ . and -, up to 63")
	b.fill("Name", "v1.0.0")
	b.click("button", "Push")
	b.operationEnds("Done")
	b.see("heading", "Version v1.0.0 is saved")
	b.see("link", "In sync")
	sh.capture(b, "operation done")
	require.Contains(t, repo.Git("show", "main:automations/charge.yml"), "name: Charge")

	// Two changes.
	ada.rename(t, id, "charge", "Charge card")
	ada.do(t, http.StatusCreated, "POST", w+"/automations", "slug: refund\nname: Refund\ndo: []\n")
	b.click("link", "2 unpushed")
	b.see("cell", "automations/refund")
	b.awaitRow("automations/charge")
	b.seeText("What was changed here is not in main yet")
	b.click("cell", "Changed")
	b.seeText("name: Charge card")
	sh.capture(b, "local changes")
	b.press("Shift+P")
	b.see("dialog", "Push to Origin")
	b.seeText("2 files differ")
	b.await(`[...document.querySelectorAll('dialog input')].some((one) => one.value === 'v1.0.1')`, "the next name is suggested")
	sh.capture(b, "push")
	b.click("button", "Push")
	b.operationEnds("Done")
	b.see("link", "In sync")
	require.Contains(t, repo.Git("show", "main:automations/charge.yml"), "name: Charge card")

	// The remote is ahead: nothing is pushed over it.
	editRemote(repo, "automations/refund.yml", "name: Refund", "name: Refund all")
	sent := len(b.requests("POST " + w + "/versions"))
	b.visit("w/" + id + "/versioning?push=origin")
	b.see("button", "Pull first")
	require.False(t, b.has("button", "Push"))
	sh.capture(b, "behind")
	b.press("Control+Enter")
	b.see("dialog", "Pull from Origin")
	require.Equal(t, sent, len(b.requests("POST "+w+"/versions"))-len(b.requests("POST "+w+"/versions/latest/pull?dryRun")))
	b.seeText("name: Refund all")
	sh.capture(b, "pull")
	b.click("radio", "Discard The content becomes what the repository has. What is replaced stays in the history and can be restored.")
	b.see("button", "Discard and pull")
	b.seeText("What is replaced")
	sh.capture(b, "discard")
	b.click("radio", "Merge Changes that were made here are kept and merged with what comes in.")
	b.click("button", "Pull")
	b.operationEnds("Done")
	b.seeText("This was imported")
	require.Equal(t, "Refund all", ada.do(t, http.StatusOK, "GET", w+"/automations/refund", nil)["name"])

	// Versions.
	b.visit("w/" + id + "/versioning?tab=versions")
	b.awaitRow("v1.0.0")
	b.press("j", "x", "j", "x")
	b.click("button", "Compare two")
	b.see("heading", "What differs from v1.0.0 to v1.0.1")
	b.seeText("name: Charge card")
	sh.capture(b, "versions")
	b.openRowMenu("v1.0.0")
	b.click("menuitem", "Roll back")
	b.see("dialog", "Roll back to v1.0.0?")
	b.see("button", "Restore 2 documents")
	sh.capture(b, "roll back")
	b.click("button", "Restore 2 documents")
	b.gone("dialog", "Roll back to v1.0.0?")
	require.Equal(t, "Charge", ada.do(t, http.StatusOK, "GET", w+"/automations/charge", nil)["name"])
	b.click("button", "Undo")
	b.seeText("Undone")
	require.Equal(t, "Charge card", ada.do(t, http.StatusOK, "GET", w+"/automations/charge", nil)["name"])
	b.openRowMenu("v1.0.0")
	b.click("menuitem", "Delete")
	b.click("button", "Delete the version")
	b.seeText("Version v1.0.0 is deleted")
	b.visit("w/" + id + "/versioning?tab=operations")
	b.see("link", "Pull")
	sh.capture(b, "operations")

	// An archive: what it would do comes first.
	b.visit("w/" + id + "/versioning?tab=archive")
	sh.capture(b, "archive")
	archive := archiveOf(t, "shop.zip", map[string]string{"index.yml": "name: Shop\n", "automations/charge.yml": "slug: charge\nname: From a file\ndo: []\n"})
	b.chooseFile(archive)
	b.see("dialog", "Import shop.zip")
	b.seeText("No file has an error.")
	b.click("checkbox", "Delete what the archive lacks Automations, pages and apps that are not in it are deleted. Else they stay.")
	b.seeText("1 document will be deleted:")
	sh.capture(b, "import")
	b.click("button", "Import")
	b.gone("dialog", "Import shop.zip")
	require.Equal(t, "From a file", ada.do(t, http.StatusOK, "GET", w+"/automations/charge", nil)["name"])
	ada.do(t, http.StatusNotFound, "GET", w+"/automations/refund", nil)
}

// awaitRow waits for a row of a table by its key.
func (b *tab) awaitRow(key string) {
	b.t.Helper()
	b.await(`document.querySelector('[role=row][data-key="` + key + `"]')`)
}

// #50: a push that runs is the same after a reload, and can be cancelled before it is sent. #52: the key of an SSH
// server is shown before it is trusted. #51: an editor cannot unlock, the owner can, in all tabs.
func TestVersioningWaits(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, ben := s.person(t, "Ada"), s.person(t, "Ben")
	id := ada.workspace(t, "Shop", "slug: charge\nname: Charge\ndo: []\n")
	w := "/v2/workspaces/" + id
	server := gitServer(t)
	repo := server.Repo("shop.git")
	door := gittest.NewSSH(t, server.Dir)
	ada.do(t, http.StatusOK, "PATCH", w, map[string]any{"repositories": map[string]any{
		"silent": map[string]any{"name": "Silent", "config": map[string]any{"url": "https://" + gittest.Silent(t) + "/r.git"}},
		"ssh":    map[string]any{"name": "By SSH", "config": map[string]any{"url": door.URL(repo), "auth": map[string]any{"sshkey": door.Key}}},
	}})
	ada.share(t, id, ben, map[string]any{"role": "editor"})
	sh := newSheet(t, "versioning-waits")
	b := ada.open(t)

	b.visit("w/" + id + "/versioning?tab=repositories&test=ssh")
	b.seeText(door.Fingerprint())
	sh.capture(b, "host key")
	b.click("button", "Trust this")
	b.seeText("It answers and is empty.")
	b.gone("button", "Trust this")

	b.visit("w/" + id + "/versioning?push=silent")
	b.see("dialog", "Push to Silent")
	b.await(`[...document.querySelectorAll('dialog footer button')].pop()?.ariaDisabled !== 'true'`, "the remote was asked")
	b.fill("Name", "v1")
	b.click("button", "Push")
	b.operationEnds("Running")
	b.seeText("Connect")
	at := b.where()
	b.see("button", "Cancel it")
	sh.capture(b, "operation running")
	b.do(chromedp.Reload())
	b.operationEnds("Running")
	require.Equal(t, at, b.where())
	require.Len(t, ada.list(t, w+"/operations"), 1)

	// Somebody else sees the same, and may not cancel it.
	other := ben.open(t)
	other.visit(strings.TrimPrefix(at, "/console/"))
	other.operationEnds("Running")
	require.Equal(t, "You need the right to manage the security of this workspace here.", other.reasonOf("Cancel it"))
	b.click("button", "Cancel it")
	b.operationEnds("Cancelled")
	other.operationEnds("Cancelled")
	b.await(`!document.body.innerText.includes('A push is running')`)
	sh.capture(b, "operation cancelled")

	// The lock by hand.
	b.visit("w/" + id + "/versioning?tab=archive")
	b.fill("Reason", "Release freeze")
	b.click("button", "Lock the workspace")
	b.seeText("Release freeze")
	other.visit("w/" + id + "/versioning")
	other.seeText("Release freeze")
	require.Equal(t, "You need the right to manage the security of this workspace here.", other.reasonOf("Unlock"))
	require.Equal(t, "The workspace is locked: this waits until the lock is gone.", other.reasonOf("Push Shift P"))
	sh.capture(other, "locked")
	second := b.another()
	second.visit("w/" + id + "/automations")
	second.seeText("Release freeze")
	b.click("button", "Unlock")
	b.see("dialog", "Unlock this workspace?")
	b.press("Control+Enter")
	for _, tab := range []*tab{b, second, other} {
		tab.await(`!document.body.innerText.includes('Release freeze')`)
	}

	// Without the right to change; at an earlier moment; in French.
	eve := s.person(t, "Eve")
	ada.share(t, id, eve, map[string]any{"policies": map[string]any{"read": true}})
	reader := eve.open(t)
	for _, view := range []string{"", "?tab=versions", "?tab=operations", "?tab=repositories", "?tab=archive"} {
		reader.visit("w/" + id + "/versioning" + view)
		reader.see("heading", "Versioning")
		reader.awaitLayout()
	}
	reader.visit("w/" + id + "/versioning?tab=repositories")
	reader.see("heading", "By SSH")
	require.Equal(t, "You need the right to change this workspace here.", reader.reasonOf("Push Shift P"))
	sh.capture(reader, "reader")
	for _, asked := range reader.requests("") {
		require.NotEqual(t, int64(http.StatusForbidden), asked.status, "%s %s", asked.method, asked.path)
	}
	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	b.visit("w/" + id + "/versioning?tab=repositories&edit=ssh")
	b.see("dialog", "Modifier By SSH")
	sh.capture(b, "French")
	b.visit(strings.TrimPrefix(at, "/console/"))
	b.operationEnds("Annulée")
	sh.capture(b, "French operation")
	b.visit("w/" + id + "/operations/op_none")
	b.see("heading", "Rien à cette adresse")
}

// A pull that somebody starts locks the workspace for what others have open, and its end unlocks it.
func TestAPullLocksOthers(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, ben := s.person(t, "Ada"), s.person(t, "Ben")
	id := ada.workspace(t, "Shop", "slug: charge\nname: Charge\ndo: []\n")
	w := "/v2/workspaces/" + id
	ada.do(t, http.StatusOK, "PATCH", w, map[string]any{"repositories": map[string]any{
		"silent": map[string]any{"name": "Silent", "config": map[string]any{"url": "https://" + gittest.Silent(t) + "/r.git"}},
	}})
	ada.share(t, id, ben, map[string]any{"role": "owner"})
	other := ben.open(t)
	other.visit("w/" + id + "/automations/charge")
	other.await(`document.querySelector('.editor .host')?.shadowRoot?.querySelector('.cm-content')`, "the editor")
	require.False(t, other.has("StaticText", "Read only"))

	began := time.Now()
	ended := ada.askMeanwhile(t, "POST", w+"/pull", map[string]any{"repository": "silent"})
	other.seeText("A pull is running")
	t.Logf("the other browser knew of it after %s", time.Since(began).Round(time.Millisecond))
	other.see("StaticText", "Read only")

	running := ada.list(t, w+"/operations?limit=1")[0]["id"].(string)
	ada.ask(t, "POST", w+"/operations/"+running+"/cancel", nil)
	require.NotEqual(t, http.StatusOK, (<-ended).StatusCode)
	other.await(`!document.body.innerText.includes('A pull is running')`)
	other.gone("StaticText", "Read only")
}
