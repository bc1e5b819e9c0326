//go:build e2e

package e2e

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Home tells how a workspace is, live, and each number opens what is behind it.
func TestHome(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, ben := s.person(t, "Ada"), s.person(t, "Ben")
	id := ada.workspace(t, "Shop")
	path := "/v2/workspaces/" + id
	sh := newSheet(t, "home")
	b := ada.open(t)
	shows := func(tile, value string) {
		t.Helper()
		b.await(`[...document.querySelectorAll('.tile')].some((e) => new RegExp('^`+tile+`\\s+`+value+`').test(e.innerText))`, tile, " ", value)
	}

	b.visit("w/" + id)
	b.see("heading", "First steps")
	shows("Runs, 24 h", "0")
	b.seeText("0 of 4")
	sh.capture(b, "new")

	// A step opens the screen where it is done, and ticks itself off.
	b.click("link", "New page")
	b.awaitAt("w/" + id + "/pages?new")
	b.visit("w/" + id)
	b.see("link", "Connect")
	ada.do(t, http.StatusCreated, "POST", path+"/pages", "slug: index\nname: Welcome\nblocks:\n  - slug: Header\n    title: Welcome\n")
	b.await(`document.querySelector('[data-step=page][data-done=true]')`)

	// What others do shows by itself: a step is ticked, the change is listed, the run and its error are counted.
	ada.do(t, http.StatusCreated, "POST", path+"/automations", `slug: charge
name: Charge
when:
  endpoint: true
do:
  - conditions:
      '{{body.fail}}':
        - run: {module: code, function: run, parameters: {code: "throw new Error('<b>The card</b> was refused')"}, onError: throw}
      default: []
output: charged
`)
	b.await(`document.querySelector('[data-step=automation][data-done=true]')`)
	b.see("link", "charge")
	require.Equal(t, http.StatusOK, ada.ask(t, "POST", path+"/webhooks/charge", map[string]any{"fail": false}).StatusCode)
	b.await(`document.querySelector('[data-step=run][data-done=true]')`)
	shows("Runs, 24 h", "1")
	shows("Duration p95", "[\\\\d.]+ ms")
	require.Equal(t, http.StatusInternalServerError, ada.ask(t, "POST", path+"/webhooks/charge", map[string]any{"fail": true}).StatusCode)
	shows("Errors, 24 h", "[1-9]")
	b.seeText("Error: <b>The card</b> was refused")
	sh.capture(b, "filled")

	// Each number opens its screen, filtered.
	b.await(`[...document.querySelectorAll('a.tile')].some((e) => e.getAttribute('href').endsWith('/w/` + id + `/activity?types=error,*.error,runtime.fetch.failed&period=24h'))`)
	b.await(`[...document.querySelectorAll('a.tile')].some((e) => e.getAttribute('href').endsWith('/w/` + id + `/activity?types=runtime.interactions.triggered&period=24h'))`)

	// An earlier moment: what was there then, and nothing of what came later. Before its beginning there is nothing.
	at := ada.list(t, path+"/history?limit=1")[0]["at"].(string)
	ada.do(t, http.StatusOK, "PATCH", path, map[string]any{"name": "Shop of today"})
	b.see("heading", "Shop of today")
	b.visit("w/" + id + "?at=" + at)
	b.see("heading", "Shop")
	b.seeText("Nothing can be changed here.")
	b.await(`[...document.querySelectorAll('.tile')].some((e) => /^Automations\s+1/.test(e.innerText))`)
	b.see("link", "charge") // the last change that had been made
	b.gone("StaticText", "Settings changed")
	require.False(t, b.has("heading", "First steps"))
	require.False(t, b.has("link", "New automation"))
	sh.capture(b, "past")
	b.visit("w/" + id + "?at=2020-01-02T03:04:05Z")
	b.see("heading", "It did not exist then")
	sh.capture(b, "before it was made")
	b.visit("w/" + id + "/activity?at=" + at)
	b.seeText("This screen has no earlier states")
	b.click("button", "Back to now")
	b.awaitAt("w/" + id + "/activity")
	ada.do(t, http.StatusOK, "PATCH", path, map[string]any{"name": "Shop"})
	b.visit("w/" + id)
	b.see("heading", "Shop")

	// Put away, with Undo; and for good.
	b.click("button", "Put away")
	b.gone("heading", "First steps")
	b.click("button", "Undo")
	b.see("heading", "First steps")
	b.click("button", "Put away")
	b.gone("heading", "First steps")
	b.see("button", "Undo") // it is saved
	b.visit("w/" + id)
	shows("Runs, 24 h", "2")
	require.False(t, b.has("heading", "First steps"))
	b.press("n")
	b.awaitAt("w/" + id + "/automations?new")

	// Somebody who may read the workspace only gets neither numbers nor steps, and causes no refusal.
	ada.do(t, http.StatusOK, "POST", path+"/permissions", map[string]any{"target": map[string]any{"id": ben.id}, "permissions": map[string]any{"policies": map[string]any{"read": true}}})
	other := ben.open(t)
	other.visit("w/" + id)
	other.see("heading", "Recent changes")
	other.see("heading", "Shop")
	other.seeText("No repository")
	require.False(t, other.has("heading", "First steps"))
	can := ben.do(t, http.StatusOK, "GET", path, nil)["can"].(map[string]any)
	for screen, subject := range map[string]string{"Automations": "automations", "Activity": "events", "Waits": "events", "Data": "collections"} {
		actions, _ := can[subject].([]any)
		require.Equal(t, slices.Contains(actions, any("read")), other.has("link", screen), "what may not be read is not in the menu: %s", screen)
	}
	require.False(t, other.has("link", "Data"), "the test is of somebody who may not read everything")
	sh.capture(other, "reader")
	for _, r := range other.requests("GET /v2/workspaces/" + id) {
		require.NotEqual(t, int64(http.StatusForbidden), r.status, "%s", r.path)
	}
	require.Empty(t, other.requests("POST "+path+"/search"))

	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	b.visit("w/" + id)
	b.see("heading", "Changements récents")
	b.seeText("Automatisation créée")
	sh.capture(b, "French")
	b.visit("w/" + id + "?at=" + at)
	b.seeText("Rien ne peut être modifié ici.")
	sh.capture(b, "past French")
}

// Check 14 for what counts on the home screen: a limit that is used up is told with a countdown,
// and what it held back comes by itself.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := startService(t, "DISABLE_RATE_LIMIT=no", "RATE_LIMIT_SEARCH_EVENTS=20")
	ada := s.admin(t)
	id := ada.workspace(t, "Shop")
	b := ada.open(t)
	b.visit("profile")
	for ada.ask(t, "GET", "/v2/workspaces/"+id+"/events?limit=1", nil).StatusCode == http.StatusOK {
	}
	b.visit("w/" + id)
	b.seeText("The server is busy. It is asked again in")
	b.see("heading", "Recent changes")
	newSheet(t, "busy").capture(b, "busy")
	b.await(`!document.body.innerText.includes('The server is busy') && [...document.querySelectorAll('.tile')].some((e) => /^Runs, 24 h\s+0/.test(e.innerText))`)
}
