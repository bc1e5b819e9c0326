//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// rename saves another name of an automation.
func (p *person) rename(t *testing.T, workspace, slug, name string) {
	t.Helper()
	p.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+workspace+"/automations/"+slug, map[string]any{"name": name})
}

// queryOf is the value of a parameter of the address.
func (b *tab) queryOf(name string) string {
	b.t.Helper()
	at, err := url.Parse(b.where())
	require.NoError(b.t, err)
	return at.Query().Get(name)
}

// #53: the arrow keys of the slider go from change to change; the moment, the address and the difference follow, and
// what is opened from there cannot be changed. #54: a restoration is shown before it is made and is a new change; a
// change that a later one took over cannot be undone, and the later one is named.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, ben := s.person(t, "Ada"), s.person(t, "Ben")
	id := ada.workspace(t, "Shop", "slug: charge\nname: Charge 1\ndo: []\n", "slug: refund\nname: Refund\ndo: []\n")
	for _, name := range []string{"Charge 2", "Charge 3", "Charge 4", "Charge 5", "Charge 6"} {
		ada.rename(t, id, "charge", name)
	}
	ada.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+id+"/config", map[string]any{"value": map[string]any{"city": "Lyon"}})
	ada.share(t, id, ben, map[string]any{"role": "editor"})
	w := "/v2/workspaces/" + id
	entries := ada.list(t, w+"/history")
	require.Len(t, entries, 10)

	sh := newSheet(t, "history")
	b := ada.open(t)
	b.visit("w/" + id)
	b.see("heading", "Recent changes")
	b.press("g", "t")
	b.awaitAt("w/" + id + "/history")
	b.see("heading", "Workspace shared")
	b.seeText("10 changes")
	sh.capture(b, "now")

	// The slider. Each step is one change.
	b.tabTo("slider", "Moment")
	for i, entry := range entries[1:4] {
		b.press("ArrowLeft")
		b.until("the address of step", func(context.Context) bool { return b.queryOf("at") == entry["seq"] })
		if i == 1 {
			b.see("heading", "Automation changed")
			b.seeText("Charge 6")
		}
	}
	b.see("heading", "Automation changed")
	b.seeText("name: Charge 5")
	b.seeText("An earlier moment is chosen.")
	require.False(t, eval[bool](b, `document.body.innerText.includes('Charge 6')`), "the difference is that of this change")
	sh.capture(b, "past")
	b.press("Home")
	b.until("the first change", func(context.Context) bool { return b.queryOf("at") == entries[9]["seq"] })
	b.seeText("The workspace begins here")
	b.press("End")
	b.awaitAt("w/" + id + "/history")

	// What is opened at a moment shows it, and cannot be changed.
	b.visit("w/" + id + "/history?at=" + entries[4]["seq"].(string))
	b.see("heading", "Automation changed")
	b.click("button", "Look at this moment")
	b.click("menuitem", "Automations")
	b.see("link", "Charge 4")
	b.click("link", "Charge 4")
	b.see("button", "Save")
	require.Equal(t, "You see an earlier moment.", b.reasonOf("Save"))
	b.click("link", "Restore this")

	// Restore: what it changes comes first, then it is a new change.
	b.see("dialog", "")
	b.seeText("1 automation")
	sh.capture(b, "restore")
	b.click("button", "Restore 2 documents")
	b.gone("dialog", "")
	b.see("heading", "Earlier content restored")
	after := ada.list(t, w+"/history")
	require.Len(t, after, 11)
	require.Equal(t, entries[0]["seq"], after[1]["seq"])
	require.Equal(t, "Charge 4", ada.do(t, http.StatusOK, "GET", w+"/automations/charge", nil)["name"])

	// Undo it: everything is back, and nothing is lost.
	b.press("z")
	b.seeText("12 changes")
	require.Equal(t, "Charge 6", ada.do(t, http.StatusOK, "GET", w+"/automations/charge", nil)["name"])

	// A change that a later one took over.
	b.visit("w/" + id + "/history?at=" + entries[5]["seq"].(string))
	b.seeText("A later change touches the same part")
	require.Equal(t, "A later change touches the same part, so this one cannot be undone.", b.reasonOf("Undo Z"))
	b.await(`[...document.querySelectorAll('button')].some((one) => one.innerText.startsWith('Later: '))`, "the later change is named")
	sh.capture(b, "superseded")

	// Two moments.
	b.press("m")
	b.visit("w/" + id + "/history?at=" + entries[2]["seq"].(string) + "&from=" + b.queryOf("from"))
	b.see("heading", "Automation changed")
	b.press("d")
	b.see("heading", "Between two moments")
	b.seeText("name: Charge 3")
	b.seeText("name: Charge 6")
	sh.capture(b, "compared")
	require.Contains(t, b.where(), "compare")

	// Filters are in the address.
	b.visit("w/" + id + "/history")
	b.choose("Kind of change", "Settings and config")
	b.see("heading", "Config changed")
	b.fillAs("combobox", "Document", "pages/none")
	b.see("heading", "No match")
	sh.capture(b, "no match")
	b.click("button", "Clear filter")
	b.seeText("12 changes")

	// Live: what somebody else does comes on top.
	ben.rename(t, id, "refund", "Refund now")
	b.seeText("13 changes")
	b.seeText("Ben Doe")

	// Locked, and without the right.
	ada.do(t, http.StatusOK, "POST", w+"/writeLock", map[string]any{"reason": "Release freeze"})
	b.seeText("Release freeze")
	require.Equal(t, "The workspace is locked.", b.reasonOf("Undo Z"))
	sh.capture(b, "locked")
	ada.do(t, http.StatusOK, "DELETE", w+"/writeLock", nil)
	eve := s.person(t, "Eve")
	ada.share(t, id, eve, map[string]any{"policies": map[string]any{"read": true}})
	reader := eve.open(t)
	reader.visit("w/" + id + "/history?at=" + entries[3]["seq"].(string))
	reader.see("heading", "Automation changed")
	require.Equal(t, "You need the right to change this workspace here.", reader.reasonOf("Restore this moment"))
	sh.capture(reader, "reader")
	for _, asked := range reader.requests("") {
		require.NotEqual(t, int64(http.StatusForbidden), asked.status, "%s %s", asked.method, asked.path)
	}
	eve.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	reader.visit("w/" + id + "/history?at=" + entries[3]["seq"].(string))
	reader.see("heading", "Automatisation modifiée")
	sh.capture(reader, "French")
}
