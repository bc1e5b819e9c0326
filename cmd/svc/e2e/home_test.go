//go:build e2e

package e2e

import (
	"net/http"
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
	b := s.open(t)
	b.signIn(ada)
	shows := func(tile, value string) {
		t.Helper()
		b.await(`[...document.querySelectorAll('.tile')].some((e) => new RegExp('^`+tile+`\\s+`+value+`').test(e.innerText))`, tile, " ", value)
	}

	b.visit("w/" + id)
	b.see("heading", "First steps")
	shows("Runs, 24 h", "0")
	b.seeText("0 of 4")
	sh.capture(b, "new")

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

	// Put away, with Undo; and for good.
	b.click("button", "Put away")
	b.gone("heading", "First steps")
	b.click("button", "Undo")
	b.see("heading", "First steps")
	b.click("button", "Put away")
	b.gone("heading", "First steps")
	b.visit("w/" + id)
	shows("Runs, 24 h", "2")
	require.False(t, b.has("heading", "First steps"))
	b.press("n")
	b.awaitAt("w/" + id + "/automations?new")

	// Somebody who may read the workspace only gets neither numbers nor steps, and causes no refusal.
	ada.do(t, http.StatusOK, "POST", path+"/permissions", map[string]any{"target": map[string]any{"id": ben.id}, "permissions": map[string]any{"policies": map[string]any{"read": true}}})
	other := s.open(t)
	other.signIn(ben)
	other.visit("w/" + id)
	other.see("heading", "Recent changes")
	other.see("heading", "Shop")
	other.seeText("No repository")
	require.False(t, other.has("heading", "First steps"))
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
}
