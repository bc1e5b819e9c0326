//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// greeter publishes an app that greets with its settings, one of which is secret, and returns the slug that it has in
// the catalogue of the service, which all tests share.
func (p *person) greeter(t *testing.T) (workspace, app string) {
	t.Helper()
	workspace = p.do(t, http.StatusCreated, "POST", "/v2/workspaces", map[string]any{
		"name": "Greeter", "description": "Greets whoever comes", "photo": "https://example.org/greeter.png",
		"config": map[string]any{"schema": map[string]any{
			"word":  map[string]any{"type": "string", "title": "Word", "required": true},
			"times": map[string]any{"type": "integer", "title": "Times", "default": 1},
			"key":   map[string]any{"type": "string", "title": "Key", "secret": true, "required": true},
		}},
		"blocks": map[string]any{"Card": map[string]any{"name": "Card", "description": "Shows a greeting", "blocks": []any{}}},
	})["id"].(string)
	p.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+workspace+"/automations", `
slug: greet
name: Greet
description: Says hello
do: [{emit: {event: greeted}}]
output: '{{config.word}} {{config.key}}'
`)
	app = "greeter-" + workspace
	p.do(t, http.StatusCreated, "POST", "/v2/apps", map[string]any{"workspaceId": workspace, "slug": app, "name": "Greeter"})
	return workspace, app
}

const greetGuests = `
slug: guests
name: Guests
do: [{hello.greet: {output: said}}]
output: '{{said}}'
`

// #35: an app with a secret setting is installed from the catalogue. A later change of another setting keeps the
// secret, which is nowhere on the page. It is pinned, disabled, renamed, and uninstalled with a way back.
func TestApps(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, bea := s.person(t, "Ada"), s.person(t, "Bea")
	home, app := bea.greeter(t)
	id := ada.workspace(t, "Shop", greetGuests)
	w := "/v2/workspaces/" + id
	says := func() string {
		return strings.Trim(string(ada.ask(t, "POST", w+"/test/guests", map[string]any{"payload": map[string]any{}}).body), "\"\n")
	}
	sh := newSheet(t, "apps")
	b := ada.open(t)
	b.visit("w/" + id)
	b.see("heading", "Recent changes")
	b.press("g", "i")
	b.awaitAt("w/" + id + "/apps")
	b.see("heading", "No app is installed")
	sh.capture(b, "empty")

	// By keys to the catalogue.
	b.press("n")
	b.see("searchbox", "Search the catalogue")
	b.press("/")
	b.awaitFocus("searchbox", "Search the catalogue")
	b.write("nothing is like this")
	b.see("heading", "No match")
	b.click("button", "Clear filter")
	b.fillAs("searchbox", "Search the catalogue", app)
	b.see("link", "Greeter")
	sh.capture(b, "catalogue")
	b.click("link", "Greeter")
	b.see("heading", "What it adds")
	b.seeText("Greets whoever comes")
	b.fill("Install it as", "hello")
	b.click("button", "Install")
	b.awaitFocus("textbox", "Key")
	b.seeText("This is required.")
	sh.capture(b, "install")
	b.fill("Word", "Bonjour")
	b.fill("Key", "s3cr3t-key")
	b.awaitDraft("Bonjour")
	require.NotContains(t, b.drafts(), "s3cr3t")
	b.click("button", "Install")
	b.awaitAt("w/" + id + "/apps/hello")
	b.see("heading", "hello")
	b.seeText("A value is set.")
	b.nowhereOnPage("s3cr3t")
	sh.capture(b, "instance")
	require.Equal(t, "Bonjour s3cr3t-key", says())

	// Another setting is changed: the secret stays, and is in no answer.
	b.fill("Word", "Salut")
	b.seeText("Unsaved")
	b.awaitDraft("Salut")
	b.visit("w/" + id + "/apps/hello")
	b.click("button", "Use it")
	b.press("Control+s")
	b.see("button", "Undo")
	b.await(`!document.body.innerText.includes('Unsaved')`)
	require.Equal(t, "Salut s3cr3t-key", says())
	b.nowhereOnPage("s3cr3t")
	for _, path := range []string{"", "/apps", "/apps/hello", "/apps/hello/config", "/history", "/events?limit=100&types=workspaces.*"} {
		require.NotContains(t, string(ada.ask(t, "GET", w+path, nil).body), "s3cr3t", path)
	}

	// What the server refuses stands at its field, and nothing is lost.
	b.fillAs("spinbutton", "Times", "2.5")
	b.press("Control+s")
	b.seeText("A whole number is wanted here.")
	b.awaitFocus("spinbutton", "Times")
	b.fillAs("spinbutton", "Times", "3")

	// Somebody else saves meanwhile.
	ada.do(t, http.StatusOK, "PATCH", w+"/apps/hello/config", map[string]any{"times": 5})
	b.see("button", "Compare")
	require.Equal(t, "Decide about the change of somebody else first.", b.reasonOf("Save"))
	b.click("button", "Compare")
	b.see("dialog", "Compare")
	sh.capture(b, "compare")
	b.click("button", "Keep mine")
	b.gone("dialog", "Compare")
	b.click("button", "Save")
	b.await(`!document.body.innerText.includes('Unsaved')`)
	require.Equal(t, "Salut s3cr3t-key", says())
	require.EqualValues(t, 3, ada.do(t, http.StatusOK, "GET", w+"/apps/hello/config", nil)["times"])

	// It is replaced when it is typed anew, and removed when that is wanted.
	b.fill("Key", "s3cr3t-two")
	b.click("button", "Save")
	b.seeText("A value is set.")
	b.await(`!document.body.innerText.includes('Unsaved')`)
	require.Equal(t, "Salut s3cr3t-two", says())
	b.click("button", "Remove it")
	b.seeText("The value is removed when you save.")
	b.click("button", "Keep it")
	b.await(`!document.body.innerText.includes('Unsaved')`)

	// Versions: pinned, it stays as it is.
	first := bea.do(t, http.StatusOK, "GET", "/v2/apps/"+app, nil)["versions"].([]any)[0].(map[string]any)["name"].(string)
	b.choose("Version", first)
	b.seeText("hello stays at " + first)
	bea.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+home+"/automations/greet", map[string]any{"output": "Version two"})
	bea.do(t, http.StatusOK, "POST", "/v2/apps", map[string]any{"workspaceId": home})
	require.Equal(t, "Salut s3cr3t-two", says())
	b.visit("w/" + id + "/apps/hello")
	b.await(`[...document.querySelectorAll('select option')].some((one) => /The newest \(.+ now\)/.test(one.textContent))`)
	b.await(`[...document.querySelectorAll('select')].some((one) => one.value !== '')`)
	b.choose("Version", eval[string](b, `[...document.querySelectorAll('select option')].find((one) => one.value === '').textContent.trim()`))
	b.seeText("hello follows the newest version")
	require.Equal(t, "Version two", says())

	// Disabled, and enabled where it says so.
	b.click("button", "Actions")
	b.click("menuitem", "Disable")
	b.seeText("what it adds cannot be called")
	sh.capture(b, "disabled")
	b.click("button", "Enable")
	b.await(`!document.body.innerText.includes('what it adds cannot be called')`)

	// Another name.
	b.click("button", "Actions")
	b.click("menuitem", "Rename")
	b.see("dialog", "Rename hello")
	b.fill("Name", "hi")
	sh.capture(b, "rename")
	b.press("Control+Enter")
	b.awaitAt("w/" + id + "/apps/hi")
	b.see("heading", "hi")

	// Taken back by its publisher, it is missing; uninstalled, it comes back by Undo.
	bea.do(t, http.StatusOK, "DELETE", "/v2/apps/"+app, nil)
	b.visit("w/" + id + "/apps/hi")
	b.seeText("is not there any more")
	sh.capture(b, "missing")
	b.visit("w/" + id + "/apps")
	b.seeText("Missing")
	sh.capture(b, "installed")
	b.openRowMenu("hi")
	b.click("menuitem", "Uninstall")
	b.see("heading", "No app is installed")
	b.click("button", "Undo")
	b.see("link", "hi")
	b.fillAs("searchbox", "Filter apps", "zzz")
	b.see("heading", "No match")
	b.do(navigateTo(b, "w/"+id+"/apps/hii"))
	b.see("heading", "This is not here")
	b.see("link", "hi")
}

// Publishing says what is missing and what others will see; publishing again makes a version; taking it back asks.
func TestPublish(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Stock", greetGuests, "slug: inner\nname: Inner\nprivate: true\ndo: []\n")
	ada.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+id+"/config", map[string]any{"schema": map[string]any{"limit": map[string]any{"type": "number", "title": "Most at once"}}, "value": map[string]any{"limit": 3}})
	sh := newSheet(t, "publish")
	b := ada.open(t)
	b.visit("w/" + id + "/apps?tab=publish")
	b.see("heading", "What is still needed")
	b.seeText("Most at once")
	b.await(`!document.querySelector('main').innerText.includes('inner')`, "private automations are not shown")
	require.Equal(t, "What is still needed", b.reasonOf("Publish"))
	sh.capture(b, "needed")
	b.fill("Description", "Counts what is in stock")
	b.fill("Address of the photo", "not a picture")
	b.click("button", "Save in the workspace")
	b.await(`document.querySelector('main [aria-invalid="true"]')?.value === 'not a picture'`, "refused at its field, and kept")
	b.fill("Address of the photo", "https://example.org/stock.png")
	b.click("button", "Save in the workspace")
	b.gone("heading", "What is still needed")
	app := fmt.Sprintf("stock-%s", id)
	b.fill("Name in the catalogue", app)
	b.click("button", "Publish")
	b.seeText("This workspace is published as " + app)
	b.seeText("Newest")
	sh.capture(b, "published")
	b.click("button", "Publish")
	b.seeText("This is the newest version already.")
	ada.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+id, map[string]any{"description": "Counts better"})
	b.click("button", "Publish")
	b.await(`document.querySelectorAll('main ol li').length === 2`, "two versions")
	b.click("button", "Take it back")
	b.see("dialog", "Take "+app+" back?")
	sh.capture(b, "take back")
	b.press("Control+Enter")
	b.see("textbox", "Name in the catalogue")
	require.Equal(t, http.StatusNotFound, ada.ask(t, "GET", "/v2/apps/"+app, nil).StatusCode)
}

// The states of the apps: for a reader, in a locked workspace, at an earlier moment, in French.
func TestStatesOfApps(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, eve := s.person(t, "Ada"), s.person(t, "Eve")
	_, app := ada.greeter(t)
	id := ada.workspace(t, "Shop")
	w := "/v2/workspaces/" + id
	ada.do(t, http.StatusOK, "PUT", w+"/security", map[string]any{"authorizations": map[string]any{
		"roles": map[string]any{"guest": map[string]any{}}, "rules": []any{map[string]any{"role": "guest", "action": []any{"read"}, "subject": []any{"workspaces"}}},
	}})
	ada.share(t, id, eve, map[string]any{"role": "guest"})
	ada.do(t, http.StatusCreated, "POST", w+"/apps", map[string]any{"appSlug": app, "slug": "hello", "config": map[string]any{"word": "Ciao", "key": "s3cr3t"}})
	screens := []struct{ name, path, shows string }{
		{"installed", "apps", "hello"}, {"instance", "apps/hello", "Greeter"}, {"catalogue", "apps?tab=catalogue&search=" + app + "&app=" + app, "Greets whoever comes"}, {"publishing", "apps?tab=publish", "Shop"},
	}
	sheets := map[string]*sheet{}
	for _, screen := range screens {
		sheets[screen.name] = newSheet(t, "apps-"+screen.name+"-states")
	}
	guest := eve.open(t)
	for _, screen := range screens {
		guest.visit("w/" + id + "/" + screen.path)
		guest.seeText(screen.shows)
		sheets[screen.name].capture(guest, "reader")
	}
	guest.visit("w/" + id + "/apps/hello")
	guest.see("heading", "Settings")
	require.Equal(t, "You need the right to change this workspace here.", guest.reasonOf("Save"))
	for _, asked := range guest.requests("") {
		require.NotEqual(t, int64(http.StatusForbidden), asked.status, "%s %s", asked.method, asked.path)
	}

	b := ada.open(t)
	ada.do(t, http.StatusOK, "POST", w+"/writeLock", map[string]any{"reason": "Release freeze"})
	for _, screen := range screens {
		b.visit("w/" + id + "/" + screen.path)
		b.seeText("Release freeze")
		b.seeText(screen.shows)
		sheets[screen.name].capture(b, "locked")
	}
	require.Equal(t, "The workspace is locked.", b.reasonOf("Publish"))
	ada.do(t, http.StatusOK, "DELETE", w+"/writeLock", nil)

	moment := "at=" + time.Now().UTC().Format(time.RFC3339)
	ada.do(t, http.StatusOK, "PATCH", w+"/apps/hello/config", map[string]any{"word": "Servus"})
	b.visit("w/" + id + "/apps/hello?" + moment)
	b.await(`[...document.querySelectorAll('main form input')].some((one) => one.value === 'Ciao')`)
	sheets["instance"].capture(b, "past")
	b.visit("w/" + id + "/apps?" + moment)
	b.see("link", "hello")
	sheets["installed"].capture(b, "past")

	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	for _, screen := range screens {
		b.visit("w/" + id + "/" + screen.path)
		b.await(`document.documentElement.lang === 'fr'`)
		b.seeText(screen.shows)
		sheets[screen.name].capture(b, "French")
	}
}
