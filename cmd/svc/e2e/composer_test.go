//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const shopPage = `
slug: index
name: Shop
blocks:
  - slug: RichText
    content: Welcome to the shop
  - slug: TabsView
    tabs:
      - text: Delivery
        content:
          - slug: RichText
            content: Within two days
  - slug: crm.Contacts
`

// previewed is the text of a block in the preview, "" while there is none.
func previewed(block string) string {
	return `(() => { const frame = [...document.querySelectorAll('iframe')].findLast((one) => getComputedStyle(one).visibility === 'visible'); return frame?.contentDocument?.querySelector('[data-block="` + block + `"]')?.innerText ?? '' })()`
}

// awaitPreview waits until the preview shows a text in a block.
func (b *tab) awaitPreview(block, text string) {
	b.t.Helper()
	quoted, _ := json.Marshal(text)
	b.await(previewed(block)+`.includes(`+string(quoted)+`)`, "block ", block, " of the preview has ", text)
}

// awaitTree waits until the tree of blocks is read out like this.
func (b *tab) awaitTree(items ...string) {
	b.t.Helper()
	want, _ := json.Marshal(items)
	b.await(`JSON.stringify([...document.querySelectorAll('[role=treeitem]')].map((one) => one.getAttribute('aria-label'))) === JSON.stringify(`+string(want)+`)`, "the tree is ", strings.Join(items, " | "))
}

// #32, #33: a block is inserted and moved by keys only; tree, text and preview agree. What is not saved is in the preview and
// not on the page of the visitors.
func TestPagesScreen(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada").site(t, "Shop")
	w := ada.path("")
	sh := newSheet(t, "pages")
	b := ada.open(t)
	b.visit("w/" + ada.id)
	b.see("heading", "Recent changes")
	b.press("g", "p")
	b.awaitAt("w/" + ada.id + "/pages")
	b.see("heading", "No pages yet")
	sh.capture(b, "empty")
	b.click("button", "Begin with an example")
	b.see("dialog", "New page")
	sh.capture(b, "new")
	b.press("Control+Enter")
	b.awaitAt("w/" + ada.id + "/pages/index")
	b.awaitTree("Header, Garden shop", "Hero, Everything for your garden", "Cards", "Footer, Garden shop, Example Street 1")
	b.awaitPreview("1", "Everything for your garden")
	sh.capture(b, "page")

	// By keys: after the last block, then up.
	ada.do(t, http.StatusOK, "PUT", w+"/pages/index", shopPage)
	b.awaitTree("RichText, Welcome to the shop", "TabsView", "RichText, Within two days", "crm.Contacts, unknown")
	b.awaitPreview("0", "Welcome to the shop")
	b.seeText("The app crm is not installed.")
	b.await(`document.querySelector('[role=treeitem]').focus() ?? true`)
	b.press("ArrowDown")
	b.await(`document.activeElement.getAttribute('data-position') === '1'`)
	b.press("n")
	b.see("dialog", "Insert a block")
	b.awaitFocus("combobox", "Search blocks")
	b.write("header")
	b.await(`document.querySelector('[role=option][aria-selected=true] strong')?.textContent === 'Header'`)
	sh.capture(b, "insert")
	b.press("Enter")
	b.awaitTree("RichText, Welcome to the shop", "TabsView", "RichText, Within two days", "Header, Garden shop", "crm.Contacts, unknown")
	b.await(`document.activeElement.getAttribute('data-position') === '2'`, "the focus is on the new block")
	b.press("Alt+ArrowUp")
	b.await(`document.activeElement.getAttribute('data-position') === '1'`)
	b.press("Alt+ArrowUp")
	b.awaitTree("Header, Garden shop", "RichText, Welcome to the shop", "TabsView", "RichText, Within two days", "crm.Contacts, unknown")
	b.await(`document.activeElement.getAttribute('data-position') === '0'`)
	b.awaitPreview("0", "Garden shop")
	b.awaitPreview("1", "Welcome to the shop")
	require.Less(t, strings.Index(b.editorText(), "slug: Header"), strings.Index(b.editorText(), "slug: RichText"), b.editorText())
	b.press("Alt+ArrowDown", "Alt+ArrowRight")
	b.awaitTree("RichText, Welcome to the shop", "Header, Garden shop", "TabsView", "RichText, Within two days", "crm.Contacts, unknown")
	b.press("Alt+ArrowLeft", "Alt+ArrowUp")
	b.awaitTree("Header, Garden shop", "RichText, Welcome to the shop", "TabsView", "RichText, Within two days", "crm.Contacts, unknown")
	sh.capture(b, "moved")

	// A choice holds everywhere: the block is in the address, in the text, and marked in the preview.
	b.await(`document.querySelector('[role=treeitem]').focus() ?? true`)
	b.press("End", "ArrowUp")
	b.await(`location.search.includes('block=2.0')`)
	b.awaitChosenLine("slug: RichText")
	b.await(`document.querySelector('.marked')`)
	b.press("Enter")
	b.awaitFocus("textbox", "Text of Shop")

	// Nothing is saved yet: the visitors have the old page.
	text := b.editorText()
	b.fill("Text of Shop", strings.Replace(text, "title: Garden shop", "title: Seeds and tools", 1))
	began := time.Now()
	b.awaitPreview("0", "Seeds and tools")
	t.Logf("the preview follows the text after %s", time.Since(began))
	ada.do(t, http.StatusOK, "POST", "/v2/pages/"+ada.do(t, http.StatusOK, "GET", w+"/pages/index", nil)["id"].(string)+"/permissions", map[string]any{"target": map[string]any{"public": true}, "permissions": map[string]any{"policies": map[string]any{"read": true}}})
	require.NotContains(t, string((&person{s: ada.s}).ask(t, "GET", "/pages/"+ada.slug+"/", nil).body), "Seeds and tools")
	b.awaitDraft("Seeds and tools")
	b.visit("w/" + ada.id + "/pages/index")
	b.click("button", "Use it")
	b.awaitPreview("0", "Seeds and tools")

	// Text that is no page: the last good preview stays, with the message. The frame runs nothing.
	b.fill("Text of Shop", "slug: index\nname: Shop\nblocks:\n  - slug: 5\n")
	b.seeText("This text cannot be shown.")
	b.awaitPreview("0", "Seeds and tools")
	require.Equal(t, "allow-same-origin", eval[string](b, `document.querySelector('iframe').getAttribute('sandbox')`))
	require.True(t, eval[bool](b, `[...document.querySelectorAll('iframe')].every((one) => one.inert && one.contentDocument.scripts.length === 0)`))
	sh.capture(b, "broken")
	b.fill("Text of Shop", strings.Replace(text, "title: Garden shop", "title: Seeds and tools", 1))
	b.awaitPreview("0", "Seeds and tools")
	b.press("Control+s")
	b.seeText("Saved at")
	require.Contains(t, string((&person{s: ada.s}).ask(t, "GET", "/pages/"+ada.slug+"/", nil).body), "Seeds and tools")

	// By pointer: a click in the preview chooses the block.
	b.click("button", "768")
	b.await(`(() => { const layer = document.querySelector('.layer'), frame = [...document.querySelectorAll('iframe')].findLast((one) => getComputedStyle(one).visibility === 'visible');
		const box = frame.contentDocument.querySelector('[data-block="1"]').getBoundingClientRect(), scale = layer.getBoundingClientRect().width / frame.offsetWidth, at = layer.getBoundingClientRect();
		layer.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX: at.left + (box.left + 5) * scale, clientY: at.top + (box.top + 5) * scale }));
		return location.search.includes('block=1') })()`)

	// Duplicate, wrap, delete by the menu of a block; a copy of the page; delete with Undo.
	b.click("button", "Actions of Header")
	b.click("menuitem", "Duplicate")
	b.click("button", "Actions of TabsView")
	b.click("menuitem", "Wrap in a list")
	b.awaitTree("Header, Seeds and tools", "Header, Seeds and tools", "RichText, Welcome to the shop", "BlocksList", "TabsView", "RichText, Within two days", "crm.Contacts, unknown")
	b.click("button", "Actions of crm.Contacts")
	b.click("menuitem", "Delete")
	b.awaitTree("Header, Seeds and tools", "Header, Seeds and tools", "RichText, Welcome to the shop", "BlocksList", "TabsView", "RichText, Within two days")
	b.press("Control+s")
	b.await(`!document.body.innerText.includes('Unsaved')`)
	b.click("button", "Actions")
	b.click("menuitem", "Duplicate")
	b.awaitAt("w/" + ada.id + "/pages/index-copy")
	b.see("heading", "Copy of Shop")
	b.click("button", "Actions")
	b.click("menuitem", "Delete")
	b.awaitAt("w/" + ada.id + "/pages")
	b.gone("link", "Copy of Shop")
	b.await(`(() => { [...document.querySelectorAll('button')].findLast((one) => one.textContent.trim() === 'Undo').click(); return true })()`, "the deletion is undone")
	b.awaitAt("w/" + ada.id + "/pages/index-copy")
	b.visit("w/" + ada.id + "/pages")
	b.see("link", "Copy of Shop")
	sh.capture(b, "list")
	b.do(navigateTo(b, "w/"+ada.id+"/pages/indx"))
	b.see("heading", "This is not here")
	b.see("link", "index")
}

// #34: a private page becomes public, and its address opens without a session.
func TestSharePage(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, eve := s.person(t, "Ada").site(t, "Shop"), s.person(t, "Eve")
	ada.do(t, http.StatusCreated, "POST", ada.path("/pages"), "slug: offer\nname: Offer\nblocks:\n  - {slug: Header, title: Half price}\n")
	sh := newSheet(t, "share-page")
	b := ada.open(t)
	b.visit("w/" + ada.id + "/pages/offer")
	b.seeText("Private")
	b.click("button", "Share")
	b.see("dialog", "Share this page")
	sh.capture(b, "private")
	address := eval[string](b, `document.querySelector('dialog a.mono').textContent`)
	require.Equal(t, ada.base+"/offer", address)
	visitor := &person{s: s}
	require.Equal(t, http.StatusUnauthorized, visitor.ask(t, "GET", strings.TrimPrefix(address, s.base), nil).StatusCode)
	b.fill("E-mail address", "nobody@example.org")
	b.click("button", "Add")
	b.seeText("Nobody has this address.")
	b.fill("E-mail address", eve.email)
	b.click("button", "Add")
	b.see("button", "Stop sharing with Eve Doe")
	sh.capture(b, "members")
	require.Equal(t, http.StatusOK, eve.ask(t, "GET", strings.TrimPrefix(address, s.base), nil).StatusCode)
	b.await(`(() => { const radio = [...document.querySelectorAll('dialog input[type=radio]')].at(-1); radio.click(); return true })()`)
	b.await(`[...document.querySelectorAll('dialog input[type=radio]')].at(-1).checked && !document.querySelector('dialog input[type=radio]:disabled')`)
	require.Eventually(t, func() bool {
		shown := visitor.ask(t, "GET", strings.TrimPrefix(address, s.base), nil)
		return shown.StatusCode == http.StatusOK && strings.Contains(string(shown.body), "Half price")
	}, patience, 20*time.Millisecond, "the address opens without a session")
	b.seeText("Public")
	sh.capture(b, "public")
	b.click("button", "Stop sharing with Eve Doe")
	b.gone("button", "Stop sharing with Eve Doe")
	b.await(`(() => { document.querySelector('dialog input[type=radio]').click(); return true })()`)
	require.Eventually(t, func() bool {
		return visitor.ask(t, "GET", strings.TrimPrefix(address, s.base), nil).StatusCode == http.StatusUnauthorized
	}, patience, 20*time.Millisecond, "it is private again")
}

// Own blocks: made, changed with a preview, shown by pages under their name, deleted with a way back.
func TestOwnBlocks(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada").site(t, "Shop")
	sh := newSheet(t, "blocks")
	b := ada.open(t)
	b.visit("w/" + ada.id + "/blocks")
	b.see("heading", "No blocks of your own")
	sh.capture(b, "empty")
	b.press("n")
	b.see("dialog", "New block")
	b.fill("Name", "Card")
	b.press("Control+Enter")
	b.awaitAt("w/" + ada.id + "/blocks/Card")
	b.awaitTree("RichText, {{title}}")
	b.awaitPreview("0", "Untitled")
	sh.capture(b, "block")
	b.fill("Text of Card", "description: Shows a greeting\nconfig:\n  title: Hello there\nblocks:\n  - slug: RichText\n    content: '## {{title}}'\n")
	b.awaitPreview("0", "Hello there")
	b.press("Control+s")
	b.seeText("Saved at")
	ada.do(t, http.StatusCreated, "POST", ada.path("/pages"), "slug: index\nname: Shop\nblocks: []\n")
	b.visit("w/" + ada.id + "/pages/index")
	b.seeText("No blocks yet.")
	b.click("button", "Insert")
	b.see("dialog", "Insert a block")
	b.write("greeting")
	b.await(`document.querySelector('[role=option][aria-selected=true] strong')?.textContent === 'Card'`)
	b.press("Enter")
	b.awaitTree("Card")
	b.awaitPreview("0", "Hello there")
	b.visit("w/" + ada.id + "/blocks")
	b.see("link", "Card")
	sh.capture(b, "list")
	b.openRowMenu("Card")
	b.click("menuitem", "Delete")
	b.see("heading", "No blocks of your own")
	b.click("button", "Undo")
	b.see("link", "Card")
}

// The states of pages: for a reader, in a locked workspace, at an earlier moment, in French.
func TestStatesOfPages(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, eve := s.person(t, "Ada").site(t, "Shop"), s.person(t, "Eve")
	id, w := ada.id, ada.path("")
	ada.do(t, http.StatusOK, "PUT", w+"/security", map[string]any{"authorizations": map[string]any{
		"roles": map[string]any{"guest": map[string]any{}}, "rules": []any{map[string]any{"role": "guest", "action": []any{"read"}, "subject": []any{"workspaces", "pages"}}},
	}})
	ada.share(t, id, eve, map[string]any{"role": "guest"})
	ada.do(t, http.StatusCreated, "POST", w+"/pages", shopPage)
	ada.do(t, http.StatusCreated, "PUT", w+"/blocks/Card", "description: Shows a greeting\nblocks:\n  - slug: RichText\n    content: Hello\n")
	screens := []struct{ name, path, shows string }{{"list", "pages", "Shop"}, {"page", "pages/index", "TabsView"}, {"blocks", "blocks", "Card"}, {"block", "blocks/Card", "RichText"}}
	sheets := map[string]*sheet{}
	for _, screen := range screens {
		sheets[screen.name] = newSheet(t, "pages-"+screen.name+"-states")
	}
	guest := eve.open(t)
	for _, screen := range screens {
		guest.visit("w/" + id + "/" + screen.path)
		guest.seeText(screen.shows)
		sheets[screen.name].capture(guest, "reader")
	}
	guest.visit("w/" + id + "/pages/index")
	guest.seeText("TabsView")
	require.Equal(t, "You need the right to change pages here.", guest.reasonOf("Save"))
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
	ada.do(t, http.StatusOK, "DELETE", w+"/writeLock", nil)
	moment := "at=" + time.Now().UTC().Format(time.RFC3339)
	ada.do(t, http.StatusOK, "PUT", w+"/pages/index", "slug: index\nname: Shop\nblocks: []\n")
	ada.do(t, http.StatusOK, "DELETE", w+"/blocks/Card", nil)
	for _, screen := range screens {
		b.visit("w/" + id + "/" + screen.path + "?" + moment)
		b.seeText(screen.shows)
		sheets[screen.name].capture(b, "past")
	}
	ada.do(t, http.StatusOK, "PUT", w+"/pages/index", shopPage)
	ada.do(t, http.StatusCreated, "PUT", w+"/blocks/Card", "blocks:\n  - slug: RichText\n    content: Hello\n")
	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	for _, screen := range screens {
		b.visit("w/" + id + "/" + screen.path)
		b.await(`document.documentElement.lang === 'fr'`)
		b.seeText(screen.shows)
		sheets[screen.name].capture(b, "French")
	}
}
