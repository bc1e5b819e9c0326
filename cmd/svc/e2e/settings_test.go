//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The settings of a workspace: a form and a text of one document, of which only what changed is sent, so that an editor
// can save what an editor may. #20 from here: the slug is typed before the workspace goes, and Undo brings it back.
func TestSettingsOfWorkspaces(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, grace := s.person(t, "Ada"), s.person(t, "Grace")
	id := ada.workspace(t, "Corner shop", "slug: charge\nname: Charge\ndo: []\n")
	w := "/v2/workspaces/" + id
	ada.do(t, http.StatusOK, "PATCH", w, map[string]any{
		"repositories": map[string]any{"main": map[string]any{"name": "Main", "type": "git", "config": map[string]any{"url": "https://git.example.org/a.git", "auth": map[string]any{"user": "a", "password": "hunter22"}}}},
		"labels":       []any{"bb", "aa"},
	})
	ada.share(t, id, grace, map[string]any{"role": "editor"})
	sh := newSheet(t, "settings")
	b := s.open(t)
	b.signIn(ada)
	b.visit("w/" + id + "/settings")
	b.see("textbox", "Name")
	sh.capture(b, "form")
	slug := b.valueOf("Slug")

	// What breaks is said before it is saved; a fault stands at its field.
	b.fill("Slug", "Not a slug")
	b.seeText("Addresses with " + slug + " stop working")
	b.click("button", "Save")
	b.await(`document.querySelector('#settings-form [aria-invalid=true]')`)
	b.awaitFocus("textbox", "Slug")
	sh.capture(b, "refused")
	b.fill("Slug", slug+"-2")
	b.fill("Name", "Corner <b>shop</b>")
	b.awaitDraft("Corner <b>shop</b>")
	b.visit("w/" + id + "/settings")
	b.see("button", "Use it")
	sh.capture(b, "draft")
	b.click("button", "Use it")
	b.press("Control+s")
	b.seeText("Saved at")
	b.see("link", "Switch workspace: Corner <b>shop</b>")
	saved := ada.do(t, http.StatusOK, "GET", w, nil)
	require.Equal(t, slug+"-2", saved["slug"])
	require.ElementsMatch(t, []any{"bb", "aa"}, saved["labels"])
	require.Contains(t, saved["repositories"], "main")

	// What is saved is what the form shows, also after a reload.
	b.visit("w/" + id + "/settings")
	require.Equal(t, "Corner <b>shop</b>", b.valueOf("Name"))
	require.Equal(t, slug+"-2", b.valueOf("Slug"))
	b.click("checkbox", "Pages may run scripts of their own")
	b.click("button", "Save")
	b.await(`!document.body.innerText.includes('Unsaved') && document.body.innerText.includes('Saved at')`)
	require.Equal(t, true, ada.do(t, http.StatusOK, "GET", w, nil)["allowUnsecurePages"])

	// Domains are no part of the index: each is saved by itself, and stands there with its DNS line.
	b.fill("New domain", "Not a domain")
	b.press("Enter")
	b.seeText("A domain is a host name with a dot")
	b.awaitFocus("textbox", "New domain")
	b.fill("New domain", "shop.example.org")
	b.awaitDraft("shop.example.org")
	b.press("Enter")
	b.seeText("shop.example.org. A 127.0.0.1")
	require.Empty(t, b.valueOf("New domain"))
	b.fill("New domain", "shop.example.com")
	b.click("button", "Add the domain")
	b.seeText("shop.example.com. A 127.0.0.1")
	sh.capture(b, "domains")
	require.ElementsMatch(t, []any{"shop.example.org", "shop.example.com"}, ada.do(t, http.StatusOK, "GET", w, nil)["customDomains"])
	b.click("button", "Remove shop.example.com")
	b.await(`!document.body.innerText.includes('shop.example.com. A')`)
	b.click("button", "Undo")
	b.seeText("shop.example.com. A 127.0.0.1")
	b.click("button", "Remove shop.example.com")
	b.await(`!document.body.innerText.includes('shop.example.com. A')`)
	b.visit("w/" + id + "/settings")
	b.seeText("shop.example.org. A 127.0.0.1")
	b.await(`document.querySelector('#settings-form input[type=checkbox]').checked`)
	require.False(t, b.has("button", "Use it"), "what was saved is no draft")
	saved = ada.do(t, http.StatusOK, "GET", w, nil)
	require.Equal(t, []any{"shop.example.org"}, saved["customDomains"])
	require.Contains(t, saved["repositories"], "main")

	// A domain that another workspace has is refused at its field.
	other := ada.workspace(t, "Other shop")
	b.visit("w/" + other + "/settings")
	b.fill("New domain", "shop.example.org")
	b.press("Enter")
	b.seeText("Another workspace has this domain.")
	b.visit("w/" + id + "/settings")
	// An editor saves the text although it has parts that only owners may change, as long as those stay.
	editor := s.open(t)
	editor.signIn(grace)
	editor.visit("w/" + id + "/settings")
	editor.seeText("You need the right to manage the security of this workspace here.")
	sh.capture(editor, "editor")
	editor.click("button", "YAML")
	editor.see("textbox", "Text of the index")
	text := editor.editorText()
	require.NotContains(t, text, "hunter22")
	editor.fill("Text of the index", text+"description: Open all night\n")
	editor.click("button", "Save")
	editor.seeText("Saved at")
	sh.capture(editor, "text")
	require.Equal(t, "Open all night", ada.do(t, http.StatusOK, "GET", w, nil)["description"])
	// It arrives where the form is open.
	b.await(`[...document.querySelectorAll('textarea')].some((one) => one.value === 'Open all night')`)
	// A fault in the text stands at its line.
	editor.fill("Text of the index", strings.Replace(editor.editorText(), "labels:\n  - aa\n  - bb", "labels: 7", 1))
	editor.seeText("1 error")
	editor.click("button", "Save")
	editor.seeText("Not saved")
	sh.capture(editor, "problems")

	// The end of it.
	b.click("button", "Duplicate")
	b.see("dialog", "Duplicate Corner <b>shop</b>")
	b.press("Escape")
	b.gone("dialog", "Duplicate Corner <b>shop</b>")
	b.click("button", "Delete workspace")
	b.see("dialog", "Delete Corner <b>shop</b>?")
	sh.capture(b, "delete")
	b.write("something else")
	require.NotEmpty(t, b.reasonOf("Delete workspace"))
	b.fill("Type "+slug+"-2 to confirm", slug+"-2")
	b.press("Control+Enter")
	b.awaitAt("workspaces")
	b.click("button", "Undo")
	b.awaitAt("w/" + id)
	require.Contains(t, ada.do(t, http.StatusOK, "GET", w, nil)["automations"], "charge")
}
