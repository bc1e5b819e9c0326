//go:build e2e

package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// #49: every file is decided, by a choice or by hand, before Resolve is active; then the result is imported and the
// workspace free, in every browser. #21: a pull that one browser starts locks the others.
func TestConflicts(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, ben := s.person(t, "Ada"), s.person(t, "Ben")
	id := ada.workspace(t, "Shop", "slug: charge\nname: Charge\ndescription: Takes money\ndo: []\n", "slug: refund\nname: Refund\ndo: []\n", "slug: audit\nname: Audit\ndo: []\n")
	w := "/v2/workspaces/" + id
	server := gitServer(t)
	repo := server.Repo("shop.git")
	ada.connect(t, id, server, repo)
	ada.share(t, id, ben, map[string]any{"role": "editor"})
	ada.pushTo(t, id, "v1")
	editRemote(repo, "automations/charge.yml", "name: Charge", "name: Charge there")
	editRemote(repo, "automations/refund.yml", "name: Refund", "name: Refund there")
	ada.rename(t, id, "charge", "Charge here")
	ada.do(t, http.StatusOK, "DELETE", w+"/automations/refund", nil)

	sh := newSheet(t, "conflicts")
	other := ben.open(t)
	other.visit("w/" + id + "/automations")
	other.see("link", "Charge here")
	b := ada.open(t)
	b.visit("w/" + id + "/conflicts")
	b.see("heading", "No conflict")
	sh.capture(b, "none")
	b.visit("w/" + id + "/versioning?pull=origin")
	b.seeText("2 files changed on both sides")
	sh.capture(b, "expected")
	b.click("button", "Pull")
	b.operationEnds("Conflict")
	other.seeText("A merge has conflicts")
	sh.capture(b, "operation")
	b.click("link", "Resolve")
	b.awaitAt("w/" + id + "/conflicts")
	b.seeText("0 of 2 decided")
	b.seeText("Changed here and in main.")
	require.Equal(t, "2 files are not decided yet.", b.reasonOf("Resolve"))
	sh.capture(b, "open")

	// One file, by keys; then it is edited, with what the server says about it.
	b.press("1")
	b.seeText("1 of 2 decided")
	require.Equal(t, "1 file is not decided yet.", b.reasonOf("Resolve"))
	b.click("button", "Take theirs for difference 1")
	b.see("textbox", "Result of automations/charge.yml")
	b.fill("Result of automations/charge.yml", "slug: charge\nname: Charge both\nwhen: {schedules: [nonsense]}\ndo: []\n")
	b.seeText("1 error")
	sh.capture(b, "edited")
	b.fill("Result of automations/charge.yml", "slug: charge\nname: Charge both\ndescription: Takes money\ndo: []\n")
	b.await(`!document.body.innerText.includes('1 error')`)
	b.awaitDraft("Charge both")

	// Choices outlive the page.
	b.visit("w/" + id + "/conflicts?file=automations/refund.yml")
	b.seeText("1 of 2 decided")
	b.seeText("Deleted here, changed in main.")
	b.press("2")
	b.seeText("2 of 2 decided")
	sh.capture(b, "decided")
	b.click("button", "Resolve")
	b.see("dialog", "Resolve 2 files?")
	sh.capture(b, "summary")
	b.press("Control+Enter")
	b.operationEnds("Done")
	b.await(`!document.body.innerText.includes('A merge has conflicts')`)
	other.await(`!document.body.innerText.includes('A merge has conflicts')`)
	other.see("link", "Charge both")
	other.see("link", "Refund there")
	require.NotContains(t, b.drafts(), "Charge both")

	// Without the right to change.
	eve := s.person(t, "Eve")
	ada.share(t, id, eve, map[string]any{"policies": map[string]any{"read": true}})
	reader := eve.open(t)
	reader.visit("w/" + id + "/conflicts")
	reader.seeText("You need the right to change this workspace here.")
	sh.capture(reader, "reader")

	// Again, in French.
	ada.pushTo(t, id, "v2")
	editRemote(repo, "automations/audit.yml", "name: Audit", "name: Audit there")
	ada.rename(t, id, "audit", "Audit here")
	ada.do(t, http.StatusConflict, "POST", w+"/pull", map[string]any{"repository": "origin"})
	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	b.visit("w/" + id + "/conflicts")
	b.seeText("0 sur 1 décidés")
	sh.capture(b, "French")
}
