//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/stretchr/testify/require"
)

// moveTo moves the pointer.
func (b *tab) moveTo(x, y float64) {
	b.t.Helper()
	call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y})
}

// pointAt moves the pointer over a text of the editor.
func (b *tab) pointAt(text string) {
	b.t.Helper()
	quoted, _ := json.Marshal(text)
	at := eval[[]float64](b, `(() => {
		const walker = document.createTreeWalker(document.querySelector('.editor .host').shadowRoot.querySelector('.cm-content'), NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) {
			const at = walker.currentNode.data.indexOf(`+string(quoted)+`);
			if (at < 0) continue;
			const range = document.createRange();
			range.setStart(walker.currentNode, at);
			range.setEnd(walker.currentNode, at + `+string(quoted)+`.length);
			const box = range.getBoundingClientRect();
			return [box.x + box.width / 2, box.y + box.height / 2];
		}
		return [];
	})()`)
	require.Len(b.t, at, 2, "%s is in the editor", text)
	b.moveTo(1, 1) // what was said about another word may cover this one
	b.await(inEditor(`!view.querySelector('.cm-hover')`))
	b.moveTo(at[0]-2, at[1])
	b.moveTo(at[0], at[1])
}

// chooseFile gives the page a file, as the window of the system does that its button opens.
func (b *tab) chooseFile(file string) {
	b.t.Helper()
	at := call(b, runtime.Evaluate, runtime.EvaluateParams{Expression: `document.querySelector('input[type=file]')`})
	call(b, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{file}, ObjectID: at.Result.ObjectID})
}

// What the editor says about a word, finds in a text and folds.
func TestEditorHelps(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Shop",
		"slug: lookup\nname: Look up\ndescription: Finds a place by its name.\narguments:\n  city: {type: string, required: true, description: Where to look}\ndo: []\n",
		"slug: charge\nname: Charge\narguments:\n  amount: {type: number}\ndo:\n  - lookup: {city: Paris, output: place}\n  - fetch: {url: 'http://127.0.0.1/{{amount}}', headers: {x-token: '{{secret.token}}'}}\n  - set: {name: day, value: '{% upper({{place}}) %}'}\noutput: '{{place}}'\n")
	ada.do(t, http.StatusOK, "PATCH", "/v2/workspaces/"+id+"/security/secrets", map[string]any{"token": map[string]any{"value": "hush-hush-hush", "description": "Of the payment service"}})
	sh := newSheet(t, "editor")
	b := ada.open(t)
	b.openAutomation(id, "charge")
	said := func(word string, texts ...string) {
		t.Helper()
		b.pointAt(word)
		for _, text := range texts {
			b.await(inEditor(fmt.Sprintf(`view.querySelector('.cm-hover')?.textContent.includes(%q)`, text)), word, " says ", text)
		}
	}
	said("validateArguments", "validateArguments")
	said("lookup", "Look up", "Finds a place by its name.", "city *: string", "Where to look")
	said("fetch", "fetch", "url *")
	sh.capture(b, "hover")
	said("token}}", "secret.token", "Of the payment service")
	said("amount}}", "Argument")
	said("upper", "upper(")
	require.NotContains(t, eval[string](b, `document.documentElement.outerHTML + document.querySelector('.editor .host').shadowRoot.innerHTML`), "hush-hush")

	b.moveTo(1, 1)
	b.await(inEditor(`!view.querySelector('.cm-hover')`))

	// Search.
	b.click("textbox", "Text of Charge")
	b.press("Control+f")
	b.awaitFocus("textbox", "Find")
	b.write("place")
	b.press("Enter")
	b.await(inEditor(`view.querySelector('.cm-searchMatch-selected')?.textContent === 'place'`))
	require.Equal(t, 3, eval[int](b, `document.querySelector('.editor .host').shadowRoot.querySelectorAll('.cm-searchMatch').length`))
	sh.capture(b, "search")
	b.fill("Replace", "spot")
	b.click("button", "replace all")
	b.await(inEditor(`view.querySelector('.cm-content').textContent.includes('{{spot}}')`))
	b.press("Escape")
	b.await(inEditor(`!view.querySelector('.cm-search')`))
	b.awaitFocus("textbox", "Text of Charge")
	b.press("Control+z")
	b.await(inEditor(`view.querySelector('.cm-content').textContent.includes('{{place}}')`))

	// Folding, by key and by pointer.
	b.putCaret("Text of Charge", 3)
	b.press("Control+Shift+{")
	b.await(inEditor(`view.querySelector('.cm-foldPlaceholder')`))
	require.NotContains(t, b.editorText(), "amount:")
	sh.capture(b, "folded")
	b.press("Control+Shift+}")
	b.await(inEditor(`!view.querySelector('.cm-foldPlaceholder')`))

	// A comment is not kept, and that is said before it is lost.
	b.putCaret("Text of Charge", 1)
	b.write(" # mine")
	b.seeText("Comments with # are not kept when you save.")
	b.see("link", "Automations")

	// Esc and then Tab leaves the editor.
	b.click("textbox", "Text of Charge")
	b.press("Escape", "Tab")
	b.until("the focus has left the editor", func(context.Context) bool { return b.focused().Name != "Text of Charge" })
}

// A run with a file, a run that is stopped, and runs that cannot be replayed.
func TestRunIsFollowed(t *testing.T) {
	t.Parallel()
	s := startService(t, "RUN_RECORDING_MAX_SIZE=20kb")
	ada := s.person(t, "Ada")
	id := ada.workspace(t, "Shop",
		"slug: receive\nname: Receive\nwhen: {endpoint: true}\ndo: []\noutput: {name: '{{body.file.originalname}}', size: '{{body.file.size}}', type: '{{body.file.mimetype}}'}\n",
		"slug: stay\nname: Stay\ndo:\n  - emit: {event: begun, payload: {by: stay}}\n  - wait: {oneOf: [{event: never.comes}], timeout: 3600}\n",
		"slug: large\nname: Large\ndo:\n  - repeat:\n      until: 3000\n      do:\n        - set: {name: 'list[]', value: 'item {{$index}} of a list that is long'}\noutput: '{{list}}'\n",
		"slug: quiet\nname: Quiet\ndo: []\n")
	sh := newSheet(t, "run")
	b := ada.open(t)
	dir := t.TempDir()
	small, large := filepath.Join(dir, "notes.txt"), filepath.Join(dir, "film.bin")
	require.NoError(t, os.WriteFile(small, []byte("twelve bytes"), 0o600))
	require.NoError(t, os.WriteFile(large, make([]byte, 600_000), 0o600))

	b.openAutomation(id, "receive")
	b.see("button", "Add a file")
	b.chooseFile(large)
	b.seeText("are allowed.")
	sh.capture(b, "file too large")
	b.chooseFile(small)
	b.seeText("notes.txt as body.file")
	b.press("Control+Enter")
	b.seeText("Succeeded")
	b.await(`['notes.txt', '12', 'text/plain'].every((value) => [...document.querySelectorAll('.result .value')].some((one) => one.textContent.includes(value)))`, "what the automation got")
	sh.capture(b, "file")

	// A run goes on, and is stopped.
	b.openAutomation(id, "stay")
	b.press("Control+Enter")
	b.seeText("Waits for never.comes")
	sh.capture(b, "running")
	b.click("tab", "Trace")
	b.await(`document.querySelector('[role=treeitem] .idle')`, "the wait is hatched while it lasts")
	b.seeText("It can be replayed once it is over.")
	sh.capture(b, "running trace")
	b.click("tab", "Run")
	b.click("button", "Cancel the run")
	b.seeText("Cancelled")
	b.gone("button", "Cancel the run")
	run := ada.list(t, "/v2/workspaces/"+id+"/runs?automation=stay")[0]
	require.Equal(t, "cancelled", run["status"])

	// What was too large to be recorded, and what was not to be.
	b.openAutomation(id, "large")
	b.press("Control+Enter")
	b.seeText("Succeeded")
	b.click("tab", "Trace")
	b.seeText("The run was too large to be recorded.")
	require.False(t, b.has("button", "Recorded text"))
	sh.capture(b, "truncated")
	ada.do(t, http.StatusOK, "POST", "/v2/workspaces/"+id+"/test/quiet", map[string]any{"payload": map[string]any{}})
	b.openAutomation(id, "quiet?tab=runs")
	b.await(`document.querySelectorAll('[role=row].openable').length > 0`)
	eval[bool](b, `(document.querySelector('[role=row].openable').click(), true)`)
	b.seeText("RUN_RECORDING=all records every run.")
	sh.capture(b, "not recorded")
}

// The states around the screen: French, forbidden, an earlier moment, without a connection.
func TestAutomationsInEveryState(t *testing.T) {
	t.Parallel()
	s := startService(t)
	ada, eve := s.person(t, "Ada"), s.person(t, "Eve")
	id := ada.workspace(t, "Shop", "slug: charge\nname: payments/Charge\ndo: []\noutput: {said: first}\n")
	w := "/v2/workspaces/" + id
	sh := newSheet(t, "automations-states")
	b := ada.open(t)

	// An earlier moment: the text and the list of then, and nothing can be written.
	first := ada.ask(t, "GET", w+"/history?limit=1", nil)
	var changes []struct{ Seq, At string }
	require.NoError(t, json.Unmarshal(first.body, &changes))
	ada.do(t, http.StatusOK, "PUT", w+"/automations/charge", "slug: charge\nname: payments/Charge\ndo: []\noutput: {said: second}\n")
	ada.do(t, http.StatusCreated, "POST", w+"/automations", "slug: refund\nname: Refund\ndo: []\n")
	b.visit("w/" + id + "/automations?at=" + changes[0].Seq)
	b.seeText("You see an earlier state. Nothing can be changed here.")
	b.see("link", "Charge")
	b.await(`![...document.querySelectorAll('a')].some((link) => link.innerText === 'Refund')`, "what came later is not there")
	sh.capture(b, "past list")
	b.openAutomation(id, "charge?at="+changes[0].Seq)
	b.await(inEditor(`view.querySelector('.cm-content').textContent.includes('said: first')`))
	b.seeText("Read only")
	b.click("textbox", "Text of Charge")
	b.write("x")
	b.press("Control+s", "Control+Enter")
	require.NotContains(t, b.editorText(), "x\n")
	require.Equal(t, "You see an earlier moment.", b.reasonOf("Save"))
	require.Equal(t, "You see an earlier moment.", b.reasonOf("Run"))
	sh.capture(b, "past")
	b.click("button", "Back to now")
	b.await(inEditor(`view.querySelector('.cm-content').textContent.includes('said: second')`))
	require.Empty(t, b.requests("POST "+w+"/test"))

	// Both texts of a change.
	b.visit("w/" + id + "/automations/charge?tab=history")
	b.seeText("Changed")
	eval[bool](b, `([...document.querySelectorAll('.entry')].find((one) => one.innerText.includes('Changed')).click(), true)`)
	b.await(`document.querySelector('.diff .host')?.shadowRoot?.textContent.includes('said: first')`)
	require.Empty(t, eval[[]string](b, `[...document.querySelector('.diff .host').shadowRoot.querySelectorAll('.cm-line, .cm-deletedLine')].filter((line) => {
		const sign = getComputedStyle(line, '::before').content;
		return sign !== 'none' && parseFloat(getComputedStyle(line).paddingLeft) < 16;
	}).map((line) => line.textContent)`), "a sign never stands over the text")
	sh.capture(b, "changed")

	// French.
	ada.do(t, http.StatusOK, "POST", w+"/test/charge?record=true", map[string]any{"payload": map[string]any{}})
	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	b.visit("w/" + id + "/automations")
	b.see("button", "Nouvelle automatisation")
	b.seeText("Réussie")
	sh.capture(b, "french list")
	b.press("n")
	b.see("dialog", "Nouvelle automatisation")
	sh.capture(b, "french new")
	b.openAutomation(id, "charge")
	b.press("Control+Enter")
	b.seeText("Réussie")
	sh.capture(b, "french run")
	b.click("tab", "Déroulé")
	b.see("button", "Texte enregistré")
	sh.capture(b, "french trace")
	b.click("tab", "Exécutions")
	b.await(`document.querySelectorAll('[role=row].openable').length > 1`)
	sh.capture(b, "french runs")
	b.click("textbox", "Texte de Charge")
	b.press("Control+f")
	b.awaitFocus("textbox", "Chercher")
	sh.capture(b, "french search")
	b.press("Escape")
	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "en"})

	// Somebody who may see the workspace and no automation.
	ada.do(t, http.StatusOK, "PUT", w+"/security", map[string]any{"authorizations": map[string]any{
		"roles": map[string]any{"editor": map[string]any{}, "guest": map[string]any{}},
		"rules": []any{map[string]any{"role": "guest", "action": "read", "subject": "workspaces"}, map[string]any{"role": "guest", "action": "read", "subject": "automations", "inverted": true}},
	}})
	ada.share(t, id, eve, map[string]any{"role": "guest"})
	other := eve.open(t)
	for _, path := range []string{"/automations", "/automations/charge"} {
		other.visit("w/" + id + path)
		other.see("heading", "You need the right to read automations here.")
		require.Equal(t, 0, eval[int](other, `document.querySelectorAll('nav[aria-label=Menu] a[href$="/automations"]').length`), "it is not in the menu")
	}
	sh.capture(other, "forbidden")
	for _, r := range other.requests("") {
		require.NotEqual(t, int64(http.StatusForbidden), r.status, "%s %s", r.method, r.path)
	}

	// Without a connection reading goes on, and a save says that it did not work.
	b.openAutomation(id, "charge")
	s.stop(t)
	b.seeText("Reconnecting. Last update")
	b.putCaret("Text of Charge", 2)
	b.write(" later")
	b.press("Control+s")
	b.await(`document.querySelector('.document-screen [role=alert]')`, "the save says that it did not work")
	require.Contains(t, b.editorText(), "Charge later")
	sh.capture(b, "reconnecting")
	require.NoError(t, s.start())
	b.await(`!document.body.innerText.includes('Reconnecting.')`)
	b.press("Control+s")
	b.seeText("Saved at")
	require.Contains(t, string(ada.ask(t, "GET", w+"/automations/charge", nil).body), "Charge later")
}

// Until the workspace is read nobody knows what the caller may do: nothing is offered, nothing
// is said to be missing, and nothing is tried.
func TestRightsAreAwaited(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, eve := s.person(t, "Ada"), s.person(t, "Eve")
	id := ada.workspace(t, "Shop", "slug: seen\nname: Seen\ndo: []\n")
	ada.share(t, id, eve, map[string]any{"policies": map[string]any{"read": true}})
	b := eve.open(t)
	b.hold("*/v2/workspaces/" + id)
	b.do(navigateTo(b, "w/"+id+"/automations"))
	b.see("link", "Automations")
	b.press("n")
	b.awaitLayout()
	require.Equal(t, "/console/w/"+id+"/automations", b.where())
	require.False(t, b.has("dialog", "New automation"))
	require.False(t, b.has("button", "New automation"), "nothing is offered before the rights are known")
	b.release()
	b.see("button", "New automation")
	require.Contains(t, b.reasonOf("New automation"), "create automations")
	b.visit("w/" + id + "/automations/seen")
	b.await(inEditor(`view.querySelector('.cm-content').textContent.includes('name: Seen')`))
	b.seeText("Read only")
	require.Contains(t, b.reasonOf("Save"), "change automations")
	for _, path := range []string{"", "/automations", "/activity", "/data", "/waits", "/automations/seen?tab=runs", "/automations/seen?tab=history"} {
		b.visit("w/" + id + path)
		b.awaitLayout()
	}
	for _, r := range b.requests("") {
		require.NotEqual(t, int64(http.StatusForbidden), r.status, "%s %s", r.method, r.path)
	}
}
