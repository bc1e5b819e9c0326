//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Checks 3 and 4: the palette gives the focus back, and single keys can be switched off.
func TestKeys(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	sh := newSheet(t, "shell")
	b := ada.open(t)

	b.visit("profile")
	// The first stop leads past the menu.
	b.press("Tab")
	b.awaitFocus("link", "Skip to content")
	b.press("Enter")
	b.await(`document.activeElement === document.querySelector('main')`)
	b.press("?")
	b.see("dialog", "Keyboard shortcuts")
	sh.capture(b, "shortcuts")
	b.press("Escape")
	b.gone("dialog", "Keyboard shortcuts")

	b.fill("Last name", "King")
	b.press("Control+k")
	b.awaitFocus("combobox", "Search or do something")
	b.write("drk")
	sh.capture(b, "palette")
	b.press("Escape")
	b.awaitFocus("textbox", "Last name")
	b.press("Control+k")
	b.awaitFocus("combobox", "Search or do something")
	b.write("drk")
	b.see("option", "Dark scheme Action")
	b.press("Enter")
	b.await(`document.documentElement.dataset.scheme === 'dark'`)
	require.Equal(t, "King", b.valueOf("Last name"))

	b.click("checkbox", "Keys without a modifier For example g a for automations, n for new, / for the filter.")
	b.await(`!document.querySelector('input[type=checkbox]').checked`)
	eval[bool](b, `(document.activeElement.blur(), true)`)
	b.press("?")
	b.press("Control+k")
	b.awaitFocus("combobox", "Search or do something")
	require.False(t, b.has("dialog", "Keyboard shortcuts"))
	id := ada.workspace(t, "Shop")
	b.visit("w/" + id)
	b.see("heading", "Recent changes")
	b.press("g", "a")
	b.press("Control+k")
	b.awaitFocus("combobox", "Search or do something")
	require.Equal(t, "/console/w/"+id, b.where())
}

// Check 8 for what the shell and the profile show.
func TestFrench(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	sh := newSheet(t, "french")
	b := ada.open(t)
	b.visit("profile")
	eval[bool](b, `(() => { const choice = document.querySelector('select'); choice.value = 'fr'; choice.dispatchEvent(new Event('change', { bubbles: true })); return true })()`)
	b.await(`document.documentElement.lang === 'fr'`)
	b.see("heading", "Profil")
	sh.capture(b, "profile")
	// What the server refuses is said in French at its field; its own words are in the details.
	b.fill("Prénom", strings.Repeat("a", 101))
	b.press("Enter")
	b.seeText("Au plus 100 caractères.")
	b.awaitFocus("textbox", "Prénom")
	require.False(t, eval[bool](b, `document.querySelector('main').innerText.includes('must be at most')`))
	sh.capture(b, "refused")
	b.click("DisclosureTriangle", "Ce que dit le serveur")
	b.seeText("must be at most 100 characters")
	b.visit("profile?tab=tokens&new")
	b.see("dialog", "Nouveau jeton d’accès")
	sh.capture(b, "new token")
	b.visit("profile?tab=secondStep")
	b.see("button", "Activer")
	sh.capture(b, "second step")
	b.visit("profile?tab=password")
	sh.capture(b, "password")
	b.visit("profile?tab=account")
	sh.capture(b, "account")
	b.visit("profile?tab=sessions")
	b.seeText("Celle-ci")
	sh.capture(b, "sessions")
	b.press("?")
	b.see("dialog", "Raccourcis clavier")
	sh.capture(b, "shortcuts")
	b.press("Escape")

	// The account remembers it, for every browser.
	other := ada.open(t)
	other.visit("profile")
	other.await(`document.documentElement.lang === 'fr'`)
	require.Equal(t, "fr", ada.do(t, 200, "GET", "/v2/me", nil)["language"])
}

// Check 9, the bar: it comes when the server is gone and goes when it is back; a write that
// got no answer is sent again with the same key.
func TestReconnecting(t *testing.T) {
	t.Parallel()
	s := startService(t)
	ada := s.person(t, "Ada")
	id := ada.workspace(t, "Shop")
	sh := newSheet(t, "reconnecting")
	b := ada.open(t)
	b.visit("profile")
	b.await(`document.querySelector('.dot.live')`)
	list, home := b.another(), b.another()
	list.visit("workspaces")
	list.await(`document.querySelector('.dot.live')`)
	home.visit("w/" + id)
	home.see("heading", "Recent changes")
	home.await(`document.querySelector('.dot.live')`)
	s.stop(t)
	for name, page := range map[string]*tab{"profile": b, "workspaces": list, "home": home} {
		page.seeText("Reconnecting. Last update")
		sh.capture(page, name)
	}
	list.see("link", "Shop") // reading goes on
	b.fill("First name", "Augusta")
	b.press("Enter")
	b.seeText("No answer yet.")
	require.NoError(t, s.start())
	b.await(`document.querySelector('.dot.live') && !document.body.innerText.includes('Reconnecting')`)
	b.seeText("Saved")
	require.Equal(t, "Augusta", ada.do(t, 200, "GET", "/v2/me", nil)["firstName"])
}

// Check 10, the notice: a chunk that does not load leads to a reload.
func TestMissingChunk(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	b := ada.open(t)
	b.visit("workspaces")
	b.allow("Failed to fetch dynamically imported module")
	call(b, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: "*://*:*/console/assets/Profile-*", Block: true}}})
	b.click("link", "Profile")
	b.see("button", "Reload")
	newSheet(t, "missing-chunk").capture(b, "missing")
	call(b, network.SetBlockedURLs, network.SetBlockedURLsParams{})
	b.click("button", "Reload")
	b.see("heading", "Profile")
}

// What stands around every screen of a workspace: its lock, a past moment, no access, a
// deleted workspace, and the drawer of narrow windows.
func TestWorkspaceFrame(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, eve := s.person(t, "Ada"), s.person(t, "Eve")
	id := ada.workspace(t, "Shop <b>")
	sh := newSheet(t, "frame")
	b := ada.open(t)

	b.visit("w/slug:" + ada.do(t, 200, "GET", "/v2/workspaces/"+id, nil)["slug"].(string) + "?x=1")
	b.awaitAt("w/" + id + "?x=1")
	b.await(`document.querySelector('.dot.live')`)
	ada.do(t, 200, "POST", "/v2/workspaces/"+id+"/writeLock", map[string]any{"reason": "Release <b>freeze</b>"})
	b.seeText("Release <b>freeze</b>")
	sh.capture(b, "locked")
	b.click("button", "Unlock")
	b.see("dialog", "Unlock this workspace?")
	sh.capture(b, "unlock")
	b.press("Control+Enter")
	b.await(`!document.body.innerText.includes('Release')`)
	require.Nil(t, ada.do(t, 200, "GET", "/v2/workspaces/"+id, nil)["writeLock"])

	b.visit("w/" + id + "?at=2026-01-02T03:04:05Z")
	b.seeText("Nothing can be changed here.")
	sh.capture(b, "past")
	b.click("button", "Back to now")
	b.awaitAt("w/" + id)

	b.resize(360, 740)
	b.click("button", "Open the menu")
	b.see("dialog", "Menu")
	b.checkLayout("drawer")
	b.checkAccessibility("drawer")
	b.press("Escape")
	b.awaitFocus("button", "Open the menu")
	b.resize(1280, 800)

	other := eve.open(t)
	other.do(navigateTo(other, "w/"+id))
	other.seeText("No access to this workspace")
	sh.capture(other, "no access")

	ada.do(t, 200, "DELETE", "/v2/workspaces/"+id, nil)
	b.do(navigateTo(b, "w/"+id))
	b.seeText("This workspace was deleted")
	sh.capture(b, "deleted")
	b.click("button", "Restore")
	b.see("navigation", "Menu")
	b.await(`!document.body.innerText.includes('was deleted')`)
	require.Equal(t, "Shop <b>", ada.do(t, 200, "GET", "/v2/workspaces/"+id, nil)["name"])

	b.do(navigateTo(b, "nothing/here"))
	b.seeText("This is not here")
	sh.capture(b, "not found")
}

// navigateTo goes to an address below /console/ that may have no heading.
func navigateTo(b *tab, path string) chromedp.Action[chromedp.Void] {
	return chromedp.Navigate(b.s.base + "/console/" + path)
}
