//go:build e2e

package e2e

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// inEditor is an expression about the open editor: `view` is its root.
func inEditor(expression string) string {
	return `(() => { const view = [...document.querySelectorAll('.editor .host')].map((e) => e.shadowRoot).find(Boolean); return Boolean(view && (` + expression + `)) })()`
}

// editorText is the text of the open editor, as far as it is drawn.
func (b *tab) editorText() string {
	b.t.Helper()
	return eval[string](b, `[...document.querySelector('.editor .host').shadowRoot.querySelectorAll('.cm-line')].map((line) => line.textContent).join('\n')`)
}

// awaitChosenLine waits until the editor has chosen a line with this text.
func (b *tab) awaitChosenLine(text string) {
	b.t.Helper()
	b.await(inEditor(fmt.Sprintf(`view.querySelector('.cm-chosenLine')?.textContent.includes(%q)`, text)), text)
}

// openAutomation opens the editor of an automation and waits until it can be typed in.
func (b *tab) openAutomation(workspace, slug string) {
	b.t.Helper()
	b.visit("w/" + workspace + "/automations/" + slug)
	b.await(inEditor(`view.querySelector('.cm-content')`))
}

// putCaret puts the caret at the end of a line of the editor.
func (b *tab) putCaret(label string, line int) {
	b.t.Helper()
	b.click("textbox", label)
	b.press("Control+Home")
	for range line - 1 {
		b.press("ArrowDown")
	}
	b.press("End")
}

// share lets another person into a workspace.
func (p *person) share(t *testing.T, workspace string, with *person, permissions map[string]any) {
	t.Helper()
	p.do(t, http.StatusOK, "POST", "/v2/workspaces/"+workspace+"/permissions", map[string]any{"target": map[string]any{"id": with.id}, "permissions": permissions})
}

const nightly = `slug: nightly
name: payments/Nightly
when:
  schedules:
    - '0 9 * * *'
    - '0 10 * * *'
do: []
output:
  said: good night
`

// Checks 3, 22, 23 and 25, and the states of the list and the editor.
func TestAutomationIsWritten(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Shop")
	sh := newSheet(t, "automations")
	b := ada.open(t)

	b.visit("w/" + id + "/automations")
	b.see("heading", "No automations yet")
	sh.capture(b, "empty")
	b.press("n")
	b.see("dialog", "New automation")
	sh.capture(b, "new")
	b.click("radio", "Endpoint Answers an HTTP request and checks what it gets.")
	b.press("Control+Enter")
	b.awaitAt("w/" + id + "/automations/greet")
	b.await(inEditor(`view.querySelector('.cm-content')`))

	// The example runs as it is.
	b.press("Control+Enter")
	b.seeText("Hello Ada")
	b.seeText("Succeeded")
	sh.capture(b, "ran")

	// Check 3.
	ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+id+"/automations", "slug: charge\nname: Charge\ndo: []\n")
	b.visit("w/" + id + "/automations")
	b.see("link", "Charge")
	b.press("/")
	b.awaitFocus("searchbox", "Filter automations")
	b.press("Control+k")
	b.awaitFocus("combobox", "Search or do something")
	b.press("Escape")
	b.awaitFocus("searchbox", "Filter automations")
	b.visit("w/" + id + "/automations?search=nothing%20like%20it")
	b.see("button", "Clear filter")
	sh.capture(b, "no match")
	b.press("Control+k")
	b.awaitFocus("combobox", "Search or do something")
	b.write("chg")
	b.await(`document.querySelector('[role=option][aria-selected=true]')?.innerText.includes('Charge')`)
	b.press("Enter")
	b.awaitAt("w/" + id + "/automations/charge")

	// Check 22: `- fe` becomes a fetch.
	b.await(inEditor(`view.querySelector('.cm-content')`))
	sh.capture(b, "clean")
	b.fill("Text of Charge", "slug: charge\nname: Charge\ndo:\n  ")
	b.write("- fe")
	b.await(inEditor(`view.querySelector('.cm-tooltip-autocomplete [aria-selected]')?.textContent.startsWith('fetch')`))
	b.await(inEditor(`view.querySelector('.cm-completionInfo')?.textContent.length > 10`), "the text beside it")
	b.awaitLayout() // what has only just appeared is not taken by Enter
	b.press("Enter")
	b.await(inEditor(`view.querySelector('.cm-content').textContent.includes('url:')`))
	require.Contains(t, b.editorText(), "  - fetch:\n      url: ")
	b.seeText("Unsaved")
	b.seeText("is required")
	sh.capture(b, "problems")

	// Check 25: saved, run, output and correlation id.
	b.fill("Text of Charge", "slug: charge\nname: Charge\ndo:\n  - set:\n      name: total\n      value: 42\noutput:\n  total: '{{total}}'\n")
	b.press("Control+Enter")
	b.seeText("Succeeded")
	b.await(`[...document.querySelectorAll('.result .value')].some((value) => value.textContent === '42')`)
	run := ada.list(t, "/v2/workspaces/"+id+"/runs?automation=charge")[0]
	b.await(`document.querySelector('.result .id [title="` + run["correlationId"].(string) + `"]')`)
	b.seeText("Saved at")

	// Check 23: the mark stands at its line, the save is refused, the text is kept.
	ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+id+"/automations", nightly)
	b.openAutomation(id, "nightly")
	b.seeText("Next run")
	b.putCaret("Text of Nightly", 7)
	b.press("Shift+Home")
	b.write("- '61 * * * *'")
	b.await(`[...document.querySelectorAll('.problems li button')].some((one) => one.innerText.includes('61') && one.innerText.includes('line 7'))`)
	b.await(inEditor(`[...view.querySelectorAll('.cm-gutter-lint .cm-gutterElement')].some((mark) => mark.querySelector('.cm-lint-marker-error') && Math.abs(mark.getBoundingClientRect().top - view.querySelectorAll('.cm-line')[6].getBoundingClientRect().top) < 4)`), "the mark at line 7")
	b.press("Control+s")
	b.seeText("Not saved, 1 error")
	require.Contains(t, b.editorText(), "61 * * * *")
	sh.capture(b, "refused")
	require.NotContains(t, string(ada.ask(t, "GET", "/v2/workspaces/"+id+"/automations/nightly", nil).body), "61 * *")
	eval[bool](b, `(document.activeElement.blur(), true)`)
	b.press("F8")
	b.awaitChosenLine("61 * * * *")

	// What was typed survives a reload.
	b.awaitDraft("61 * *")
	b.openAutomation(id, "nightly")
	b.see("button", "Use it")
	sh.capture(b, "draft")
	b.click("button", "Use it")
	b.await(inEditor(`view.querySelector('.cm-content').textContent.includes('61 * * * *')`))

	b.visit("w/" + id + "/automations")
	b.see("link", "Nightly")
	b.seeText("payments")
	sh.capture(b, "list")
}

// Check 24: the order of keys is content.
func TestConditionsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Shop", "slug: sorted\nname: Sorted\ndo:\n  - conditions:\n      b: []\n      10: []\n      a: []\n")
	b := ada.open(t)
	b.openAutomation(id, "sorted")
	b.putCaret("Text of Sorted", 2)
	b.write(" out")
	b.press("Control+s")
	b.see("heading", "Sorted out")
	b.seeText("Saved at")
	archive := ada.ask(t, "GET", "/v2/workspaces/"+id+"/export", nil)
	require.Equal(t, http.StatusOK, archive.StatusCode)
	files, err := zip.NewReader(bytes.NewReader(archive.body), int64(len(archive.body)))
	require.NoError(t, err)
	file, err := files.Open("current/automations/sorted.yml")
	require.NoError(t, err)
	text, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Regexp(t, `(?s)name: Sorted out.*b: \[\].*'?10'?: \[\].*a: \[\]`, string(text))
}

// Checks 26 and 27: the trace, and what a replay finds.
func TestRunIsUnderstood(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	sink := webhookSink(t)
	ada := s.person(t, "Ada")
	id := ada.workspace(t, "Shop",
		"slug: lookup\nname: Lookup\narguments:\n  city: {type: string, required: true}\ndo:\n  - wait: {timeout: 0.2}\noutput: {found: '{{city}}'}\n",
		"slug: hears\nname: Hears\nwhen: {events: [charged]}\ndo: []\n",
		fmt.Sprintf("slug: charge\nname: Charge\ndo:\n  - lookup: {city: Paris, output: place}\n  - fetch: {url: '%s/one', output: answer}\n  - emit: {event: charged, payload: {place: '{{place}}'}}\noutput: {place: '{{place.found}}'}\n", sink.url),
		fmt.Sprintf("slug: broken\nname: Broken\ndo:\n  - fetch:\n      url: %s/one\n      output: answer\n  - set: {name: text, value: '{'}\n  - set:\n      name: parsed\n      value: '{%% json({{text}}) %%}'\n", sink.url))
	sh := newSheet(t, "trace")
	b := ada.open(t)

	// Check 26.
	b.openAutomation(id, "charge")
	b.press("Control+Enter")
	b.seeText("Succeeded")
	b.click("tab", "Trace")
	b.await(`['charge', 'lookup', 'GET `+strings.TrimPrefix(sink.url, "http://")+`/one', 'charged', 'hears'].every((title) => [...document.querySelectorAll('[role=treeitem] .label')].some((label) => label.innerText.includes(title)))`, "every row of the trace")
	require.True(t, eval[bool](b, `[...document.querySelectorAll('[role=treeitem] .time')].every((time) => / (ms|s)$/.test(time.textContent))`), "each row has its time")
	require.Equal(t, "hears", eval[string](b, `[...document.querySelectorAll('[role=treeitem]')].find((one) => one.ariaLevel === '3' && one.previousElementSibling.innerText.includes('charged')).querySelector('.label .cut').innerText`), "under its emit")
	b.await(`document.querySelectorAll('[role=treeitem] .idle').length > 0`, "the wait is hatched")
	eval[bool](b, `([...document.querySelectorAll('[role=treeitem]')].find((one) => one.dataset.instruction === 'do[1].fetch').click(), true)`)
	b.awaitChosenLine("fetch:")
	require.Contains(t, b.where(), "node=")
	sh.capture(b, "trace")
	// The keys of the tree move in it.
	eval[bool](b, `(document.querySelector('[role=treeitem][aria-selected=true]').focus(), true)`)
	b.press("ArrowUp")
	b.await(`document.activeElement.matches('[role=treeitem]') && document.activeElement.innerText.includes('300') || document.activeElement.innerText.includes('200')`)
	b.press("Home", "Enter")
	b.await(`document.querySelector('[role=treeitem][aria-selected=true]').innerText.includes('charge')`)

	// Check 27.
	b.openAutomation(id, "broken")
	b.press("Control+Enter")
	b.see("button", "do[2].set")
	b.seeText("InvalidExpressionSyntax")
	sh.capture(b, "failed")
	b.click("button", "do[2].set")
	b.awaitChosenLine("set:")
	b.click("tab", "Trace")
	b.click("button", "Recorded text")
	b.seeText("Identical")
	before := len(sink.received())
	b.fill("Text of Broken", strings.ReplaceAll(b.editorText(), "/one", "/other"))
	b.press("Control+s")
	b.seeText("Saved at")
	b.click("button", "Current text")
	b.seeText("effect_changed")
	b.click("button", "do[0].fetch")
	b.awaitChosenLine("fetch:")
	sh.capture(b, "replay")
	require.Len(t, sink.received(), before, "nothing left")

	// A run that was not recorded says so.
	ada.do(t, http.StatusOK, "POST", "/v2/workspaces/"+id+"/test/lookup", map[string]any{"payload": map[string]any{"city": "Rome"}})
	b.openAutomation(id, "lookup?tab=runs")
	b.await(`document.querySelectorAll('[role=row].openable').length > 0`)
	sh.capture(b, "runs")
	eval[bool](b, `(document.querySelector('[role=row].openable').click(), true)`)
	b.seeText("This run was not recorded.")
}

// Check 28: the second of two savers sees both texts, and nothing is overwritten unseen.
func TestTwoPeopleEditOneAutomation(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, bob := s.person(t, "Ada"), s.person(t, "Bob")
	id := ada.workspace(t, "Shop", "slug: shared\nname: Shared\ndo: []\noutput:\n  a: 1\n  b: 2\n")
	ada.share(t, id, bob, map[string]any{"role": "editor"})
	sh := newSheet(t, "stale")
	mine, theirs := s.open(t), s.open(t)
	mine.signIn(ada)
	theirs.signIn(bob)
	mine.openAutomation(id, "shared")
	theirs.openAutomation(id, "shared")

	theirs.fill("Text of Shared", "slug: shared\nname: Shared\ndo: []\noutput:\n  a: bob\n  b: 2\n")
	mine.fill("Text of Shared", "slug: shared\nname: Shared\ndo: []\noutput:\n  a: 1\n  b: ada\n")
	theirs.press("Control+s")
	theirs.seeText("Saved at")
	mine.see("button", "Compare")
	sh.capture(mine, "bar")
	mine.press("Control+s")
	mine.see("dialog", "Compare Shared")
	mine.seeText("Not saved")
	mine.await(`document.querySelector('dialog .host')?.shadowRoot?.textContent.includes('a: bob') && document.querySelector('dialog .host').shadowRoot.textContent.includes('b: ada')`, "both texts")
	sh.capture(mine, "three-way")
	mine.click("tab", "What they changed")
	mine.await(`document.querySelector('dialog .host')?.shadowRoot?.textContent.includes('a: 1')`, "what both began from")
	require.Contains(t, string(ada.ask(t, "GET", "/v2/workspaces/"+id+"/automations/shared", nil).body), "bob", "the first text is still stored")
	mine.click("button", "Save mine")
	mine.gone("dialog", "Compare Shared")
	mine.seeText("Saved at")
	require.Contains(t, string(ada.ask(t, "GET", "/v2/workspaces/"+id+"/automations/shared", nil).body), "ada")
	theirs.await(inEditor(`view.querySelector('.cm-content').textContent.includes('b: ada')`), "what nobody changed follows by itself")
}

// Check 29: deleted and back, and the history has both.
func TestAutomationIsDeletedAndRestored(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Shop", "slug: gone\nname: Gone\nwhen: {endpoint: true}\ndo: []\n")
	b := ada.open(t)
	b.openAutomation(id, "gone")
	b.click("button", "Actions")
	b.click("menuitem", "Delete")
	b.awaitAt("w/" + id + "/automations")
	require.Equal(t, http.StatusNotFound, ada.ask(t, "GET", "/v2/workspaces/"+id+"/automations/gone", nil).StatusCode)
	b.click("button", "Undo")
	b.awaitAt("w/" + id + "/automations/gone")
	b.await(inEditor(`view.querySelector('.cm-content').textContent.includes('name: Gone')`))
	b.click("tab", "History")
	b.seeText("Deleted")
	b.seeText("Restored")
	b.seeText("Created")
	eval[bool](b, `([...document.querySelectorAll('.entry')].find((one) => one.innerText.includes('Deleted')).click(), true)`)
	b.await(`document.querySelector('.diff .host')?.shadowRoot?.textContent.includes('name: Gone')`)
	newSheet(t, "automation-history").capture(b, "deleted")

	// Renaming warns of the address; disabling says so in Run.
	b.click("button", "Actions")
	b.click("menuitem", "Rename")
	b.fill("Slug", "back")
	b.seeText("will answer 404")
	b.press("Control+Enter")
	b.awaitAt("w/" + id + "/automations/back")
	b.await(inEditor(`view.querySelector('.cm-content').textContent.includes('slug: back')`))
	b.click("button", "Actions")
	b.click("menuitem", "Disable")
	b.seeText("Disabled: nothing starts it but a run from here.")
	b.click("button", "Actions")
	b.click("menuitem", "Duplicate")
	b.see("dialog", "Duplicate back")
	b.press("Control+Enter")
	b.awaitAt("w/" + id + "/automations/back-copy")
	b.see("heading", "Gone copy")
}

// Check 30: who may only read sees why, and nothing is tried that would be refused.
func TestReaderOpensAnAutomation(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, eve := s.person(t, "Ada"), s.person(t, "Eve")
	id := ada.workspace(t, "Shop", "slug: seen\nname: Seen\nwhen: {endpoint: true}\ndo: []\n")
	ada.share(t, id, eve, map[string]any{"policies": map[string]any{"read": true}})
	b := eve.open(t)
	b.visit("w/" + id + "/automations")
	b.see("link", "Seen")
	b.openAutomation(id, "seen")
	b.see("button", "Save")
	require.True(t, eval[bool](b, `(() => { const save = [...document.querySelectorAll('button')].find((one) => one.innerText.trim() === 'Save'); return save.ariaDisabled === 'true' && /change automations/.test(document.getElementById(save.getAttribute('aria-describedby')).textContent) })()`), "Save is inactive and names the right")
	b.click("textbox", "Text of Seen")
	b.press("Control+s")
	b.write("x")
	require.NotContains(t, b.editorText(), "x\n")
	newSheet(t, "automation-reader").capture(b, "reader")
	for _, r := range b.requests("") {
		require.NotEqual(t, int64(http.StatusForbidden), r.status, "%s %s", r.method, r.path)
	}
}

// Check 31: a push lets editing go on, a pull does not.
func TestEditorUnderALock(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	silent := gittest.Silent(t)
	sh := newSheet(t, "locked")
	origin := map[string]any{"id": "origin"}
	for _, held := range []struct {
		operation, path, banner string
		body                    map[string]any
	}{
		{"push", "/versions", "A push is running", map[string]any{"name": "v1", "repository": origin}},
		{"pull", "/versions/latest/pull", "A pull is running", map[string]any{"repository": origin}},
	} {
		id := ada.workspace(t, "Shop", "slug: locked\nname: Locked\ndo: []\n")
		ada.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+id, map[string]any{"repositories": map[string]any{"origin": map[string]any{
			"name": "Origin", "type": "git", "config": map[string]any{"url": "https://" + silent + "/r.git", "branch": "main"},
		}}})
		b := ada.open(t)
		b.openAutomation(id, "locked")
		ada.do(t, http.StatusAccepted, "POST", "/v2/workspaces/"+id+held.path+"?timeout=0", held.body)
		b.seeText(held.banner)
		b.putCaret("Text of Locked", 2)
		b.write(" up")
		if held.operation == "push" {
			b.await(inEditor(`view.querySelector('.cm-content').textContent.includes('name: Locked up')`))
			b.press("Control+s")
			b.seeText("Saved at")
			continue
		}
		require.NotContains(t, b.editorText(), "Locked up")
		sh.capture(b, "pull")
	}
}
