//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Knowledge bases from the empty list to their end: a base is made, documents come by dropping, by typing and fail in plain words,
// what is said about them and their content is changed, settings show faults at their fields, and the deletion says how many go.
func TestKnowledge(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, grace := s.person(t, "Ada"), s.person(t, "Grace")
	id := ada.workspace(t, "Support")
	w := "/v2/workspaces/" + id
	ada.share(t, id, grace, map[string]any{"policies": map[string]any{"read": true}})
	sh := newSheet(t, "knowledge")
	b := ada.open(t)
	b.visit("w/" + id)
	b.see("heading", "Recent changes")
	b.press("g", "k")
	b.awaitAt("w/" + id + "/knowledge")
	b.see("heading", "No knowledge bases yet")
	sh.capture(b, "empty")
	b.press("n")
	b.awaitFocus("textbox", "Name")
	b.write("Support questions")
	b.seeText("Requests and automations call it support-questions.")
	b.press("Enter")
	b.awaitAt("w/" + id + "/knowledge/support-questions")
	b.see("heading", "No documents yet")
	base := w + "/knowledgeBases/support-questions"

	// Files that are dropped are processed before the eyes of the person; one that cannot be read says why and what to do.
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	b.drop(write("delivery.md", "# Delivery\n\nParcels arrive within <b>two</b> days.\n\n## Abroad\n\nWithin a week."), write("nothing.txt", ""))
	b.await(`[...document.querySelectorAll('[role=row][data-key]')].map((row) => row.innerText.replace(/\s+/g, ' ')).sort().every((row, i, all) => all.length === 2 && (row.includes('Ready') || row.includes('Failed')))`)
	b.press("n")
	b.see("dialog", "Add documents")
	b.click("tab", "Text")
	b.fill("Text", "# Refunds\n\nWithin 30 days.")
	// A text that is selected with the pointer leaving the dialog does not close it, and so does not lose it.
	at := eval[[]float64](b, `(() => { const r = document.querySelector('dialog textarea').getBoundingClientRect(); return [r.left + 9, r.top + 9] })()`)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 3, 3, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, 3, 3, chromedp.ButtonLeft))
	require.True(t, eval[bool](b, `document.querySelector('dialog').open`))
	b.fill("Name of the document", "refunds.md")
	b.fill("Tags", "money, policy")
	sh.capture(b, "add")
	b.press("Control+Enter")
	b.see("heading", "Refunds")
	b.seeText("It can be found.")
	b.click("tab", "Passages 1")
	b.seeText("Passage 1")
	sh.capture(b, "document")
	b.press("Escape")
	b.gone("complementary", "Refunds")
	failed := ada.list(t, base+"/documents?status=error")[0]["id"].(string)
	b.visit("w/" + id + "/knowledge/support-questions?doc=" + failed)
	b.seeText("It is empty. Replace its content.")
	sh.capture(b, "failed")

	// What is said about it, and its content.
	refunds := ada.list(t, base+"/documents?tags=money")[0]["id"].(string)
	b.visit("w/" + id + "/knowledge/support-questions?doc=" + refunds)
	b.click("button", "Edit")
	b.fill("Title", "Money <b>back</b>")
	b.fillAs("textbox", "Metadata", `[1]`)
	b.press("Control+Enter")
	b.seeText("A JSON object is wanted here.")
	b.fillAs("textbox", "Metadata", `{"year": 2026}`)
	sh.capture(b, "edit")
	b.press("Control+Enter")
	b.see("heading", "Money <b>back</b>")
	require.Equal(t, map[string]any{"year": 2026.0}, ada.do(t, http.StatusOK, "GET", base+"/documents/"+refunds, nil)["metadata"])
	b.click("button", "Replace content")
	b.await(`document.querySelector('dialog textarea')?.value.includes('30 days')`)
	b.fill("Text", "# Refunds\n\nWithin 14 days.")
	b.press("Control+Enter")
	b.await(`document.querySelector('aside [role=tabpanel]')?.innerText.includes('14 days')`)
	b.click("tab", "Revisions")
	b.see("link", "Download revision 1")

	// A search shows why it found what it found, as text whatever is in the documents; facets narrow it.
	b.click("tab", "Search")
	b.see("heading", "Try a search")
	b.fillAs("searchbox", "Search for", "-parcels")
	b.press("Enter")
	b.seeText("A search needs at least one word that is wanted")
	b.fillAs("searchbox", "Search for", "parcels refunds")
	b.press("Enter")
	b.await(`document.querySelectorAll('ol > li mark').length >= 2`)
	b.seeText("2 documents in")
	require.Equal(t, 0, eval[int](b, `document.querySelectorAll('[role=tabpanel] b').length`))
	sh.capture(b, "search")

	// All documents are processed again; meanwhile they are found as before.
	b.click("button", "Actions")
	b.see("menuitem", "Process all documents again")
	sh.capture(b, "actions")
	b.click("menuitem", "Process all documents again")
	b.seeText("documents are processed again")
	b.seeText("Index is up to date")
	b.click("link", "Delivery")
	b.see("heading", "Delivery")

	// Filters are the address; what is selected goes after asking.
	b.visit("w/" + id + "/knowledge/support-questions")
	b.see("searchbox", "Any of these tags")
	sh.capture(b, "filled")
	b.choose("State", "Failed")
	b.await(`location.search === '?status=error' && document.querySelectorAll('[role=row][data-key]').length === 1`)
	b.press("j", "x")
	b.seeText("1 selected")
	b.click("button", "Delete")
	b.see("dialog", "Delete nothing.txt?")
	b.click("button", "Delete the document")
	b.see("heading", "No match")
	require.Len(t, ada.list(t, base+"/documents"), 2)

	// Settings: a fault stands at its field, another slug leads to it, the text is the same document.
	b.visit("w/" + id + "/knowledge/support-questions?tab=settings")
	b.see("spinbutton", "Characters repeated")
	b.fillAs("spinbutton", "Characters of a passage", "400")
	b.fillAs("spinbutton", "Characters repeated", "300")
	b.fill("Synonyms", "car, auto\nbill")
	b.seeText("At most half of the characters of a passage.")
	b.seeText("A group has 2 to 20 words")
	sh.capture(b, "settings")
	b.fillAs("spinbutton", "Characters repeated", "40")
	b.fill("Synonyms", "car, auto\nbill, invoice")
	b.choose("Language", "French")
	b.fill("Slug", "help")
	b.seeText("that use support-questions no longer find it")
	b.press("Control+s")
	b.awaitAt("w/" + id + "/knowledge/help?tab=settings")
	saved := ada.do(t, http.StatusOK, "GET", w+"/knowledgeBases/help", nil)
	require.Equal(t, map[string]any{"strategy": "structure", "size": 400.0, "overlap": 40.0}, saved["chunking"])
	require.Equal(t, []any{[]any{"car", "auto"}, []any{"bill", "invoice"}}, saved["synonyms"])
	require.Equal(t, "fr", saved["language"])
	b.click("button", "YAML")
	b.await(`document.querySelector('.editor .host')?.shadowRoot?.querySelector('.cm-content')?.innerText.includes('slug: help')`)
	sh.capture(b, "yaml")

	// Who may only read sees what is there; what they may not do says which right is missing.
	reader := grace.open(t)
	reader.visit("w/" + id + "/knowledge/help?tab=settings")
	reader.see("textbox", "Slug")
	require.Equal(t, "You need the right to change knowledge bases here.", reader.reasonOf("Save"))
	reader.visit("w/" + id + "/knowledge/help")
	reader.seeText("You need the right to read documents of knowledge bases here.")
	sh.capture(reader, "reader")

	// The list follows; the deletion names the documents, and Undo brings them back.
	ada.do(t, http.StatusCreated, "POST", w+"/knowledgeBases", map[string]any{"name": "Manuals", "labels": []string{"product"}, "description": "Of all machines"})
	b.visit("w/" + id + "/knowledge")
	b.see("link", "Manuals")
	sh.capture(b, "list")
	b.click("button", "product")
	b.gone("link", "Support questions")
	b.click("button", "product")
	b.openRowMenu("help")
	b.click("menuitem", "Delete")
	b.seeText("2 documents go with it")
	sh.capture(b, "delete")
	b.click("button", "Delete with 2 documents")
	b.gone("link", "Support questions")
	b.click("button", "Undo")
	b.see("link", "Support questions")
	require.Len(t, ada.list(t, w+"/knowledgeBases/help/documents"), 2)

	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	b.visit("w/" + id + "/knowledge/help?doc=" + refunds)
	b.seeText("La recherche le trouve.")
	sh.capture(b, "French")
}
