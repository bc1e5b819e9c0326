//go:build e2e

package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/llm/fakemodel"
)

// model gives a workspace a language model of its own, which answers as its messages say, and returns it.
func (p *person) model(t *testing.T, id string) *fakemodel.Server {
	t.Helper()
	fake := fakemodel.New()
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	w := "/v2/workspaces/" + id
	p.do(t, http.StatusOK, "PATCH", w+"/security/secrets", map[string]any{"LLM": map[string]any{"value": fakemodel.Key}})
	p.do(t, http.StatusOK, "PATCH", w, map[string]any{"models": map[string]any{
		"providers": map[string]any{"own": map[string]any{"baseUrl": server.URL + "/v1", "apiKey": "{{secret.LLM}}"}},
		"defaults":  map[string]any{"chat": "own/" + fakemodel.ChatModel, "embedding": "own/" + fakemodel.EmbeddingModel},
	}})
	return fake
}

// Agents from the empty list to a conversation: one is made, told what it knows and can do, tried, published and shared. Answers
// come as they are written, with what was called and cited; a call waits for an approval, and a reload loses nothing.
func TestAgents(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, grace := s.person(t, "Ada"), s.person(t, "Grace")
	id := ada.workspace(t, "Shop", "slug: refund\nname: Refund\narguments:\n  id:\n    type: number\ndo: []\noutput: paid <b>{{id}}</b>\n")
	w := "/v2/workspaces/" + id
	ada.share(t, id, grace, map[string]any{"policies": map[string]any{"read": true}})
	ada.do(t, http.StatusCreated, "POST", w+"/knowledgeBases", map[string]any{"name": "FAQ"})
	ada.do(t, http.StatusCreated, "POST", w+"/knowledgeBases/faq/documents?wait=30", map[string]any{"text": "# Refunds\n\nRefunds take thirty days.", "name": "refunds.md"})
	sh := newSheet(t, "agents")
	b := ada.open(t)
	b.visit("w/" + id)
	b.see("heading", "Recent changes")
	b.press("g", "n")
	b.awaitAt("w/" + id + "/agents")
	b.see("heading", "No agents yet")
	sh.capture(b, "empty")
	b.press("n")
	b.awaitFocus("textbox", "Name")
	b.write("Shop helper")
	b.press("Control+Enter")
	b.seeText("This is required.")
	b.fill("Instructions", "You answer customers.")
	sh.capture(b, "new")
	b.press("Control+Enter")
	b.awaitAt("w/" + id + "/agents/shop-helper?tab=settings")

	// Without a model the message is kept, and the way out is named.
	b.click("tab", "Conversation")
	b.see("heading", "Talk to Shop helper")
	b.fill("Message", "How long do refunds take?")
	b.press("Enter")
	b.seeText("No language model is set up here.")
	b.see("link", "Set up a model")
	require.Equal(t, "How long do refunds take?", b.valueOf("Message"))
	sh.capture(b, "no model")
	ada.model(t, id)

	// What it knows and can do; faults stand at their fields.
	b.click("tab", "Settings")
	b.click("button", "Add a knowledge base")
	b.choose("When it looks there", "With each message")
	b.click("button", "Add an automation")
	b.click("checkbox", "Each call waits for an approval")
	b.fillAs("spinbutton", "Messages it remembers", "500")
	b.seeText("From 0 to 200.")
	sh.capture(b, "settings")
	b.fillAs("spinbutton", "Messages it remembers", "10")
	b.press("Control+s")
	b.seeText("Saved at")
	saved := ada.do(t, http.StatusOK, "GET", w+"/agents/shop-helper", nil)
	require.Equal(t, []any{map[string]any{"base": "faq", "when": "always", "access": "caller", "topK": 6.0}}, saved["knowledge"])
	require.Equal(t, []any{map[string]any{"automation": "refund", "approval": "always"}}, saved["tools"])
	require.Equal(t, 10.0, saved["memory"].(map[string]any)["messages"])

	// An answer cites its source, which opens at its passage. Its Markdown is shown, and nothing else of it.
	b.click("tab", "Conversation")
	b.fill("Message", "How long do refunds take?")
	b.press("Enter")
	b.see("link", "Source 1: Refunds")
	b.seeText("tokens read")
	sh.capture(b, "answer")
	b.fill("Message", "say:**Bold** <img src=x onerror=alert(1)> ![p](https://example.org/p.png) [bad](javascript:alert(1)) [good](https://example.org/)")
	b.press("Enter")
	b.await(`document.querySelector('.markdown strong')?.textContent === 'Bold'`)
	require.Equal(t, []string{"https://example.org/p.png", "https://example.org/"}, eval[[]string](b, `[...document.querySelectorAll('.markdown a[target=_blank]')].map((a) => a.href)`))
	require.Equal(t, 0, eval[int](b, `document.querySelectorAll('main img, main [onerror], main a[href^=javascript]').length`))

	// A call waits for the person, also across a reload; one is refused with a reason, one goes on.
	b.fill("Message", `call:refund {"id":3}`)
	b.press("Enter")
	b.see("button", "Approve")
	require.Equal(t, "A call waits for your approval.", b.reasonOf("Send"))
	b.visit(strings.TrimPrefix(b.where(), "/console/"))
	b.see("button", "Approve")
	sh.capture(b, "approval")
	b.click("button", "Refuse…")
	b.fill("Reason", "not today")
	b.press("Enter")
	b.seeText("not today")
	b.gone("button", "Approve")
	b.fill("Message", `call:refund {"id":4}`)
	b.press("Enter")
	b.click("button", "Approve")
	b.seeText("tool said:")
	b.await(`[...document.querySelectorAll('details.call')].at(-1)?.innerText.includes('refund')`)
	eval[bool](b, `[...document.querySelectorAll('details.call')].at(-1).open = true`)
	b.seeText("paid <b>4</b>")
	sh.capture(b, "calls")

	// The work outlives the page: a reload follows it, and Stop ends it.
	b.fill("Message", "slow:600000")
	b.press("Enter")
	b.see("button", "Stop")
	b.visit(strings.TrimPrefix(b.where(), "/console/"))
	b.click("button", "Stop")
	b.seeText("Stopped")

	// Conversations are found, renamed and deleted.
	title := ada.list(t, w+"/agents/shop-helper/conversations")[0]["title"].(string)
	b.click("button", "Actions of "+title)
	b.click("menuitem", "Rename")
	b.fill("Title", "About <b>refunds</b>")
	b.press("Control+Enter")
	b.see("link", "About <b>refunds</b>")
	b.click("button", "Actions of About <b>refunds</b>")
	b.click("menuitem", "Delete")
	b.see("dialog", "Delete the conversation?")
	b.press("Control+Enter")
	b.see("heading", "Talk to Shop helper")
	b.seeText("No conversations yet.")

	// Published, and shared with somebody who may only talk to it; a change is compared before it is published.
	b.click("button", "Publish")
	b.see("dialog", "Publish Shop helper?")
	b.press("Control+Enter")
	b.seeText("The agent is published")
	b.await(`[...document.querySelectorAll(".chip")].some((chip) => chip.innerText.trim() === "Published")`)
	require.Equal(t, "What is published is the same.", b.reasonOf("Publish"))
	b.click("button", "Share")
	b.fill("E-mail address", grace.email)
	b.press("Enter")
	b.see("button", "Stop sharing with Grace Doe")
	sh.capture(b, "share")
	b.click("button", "Close")
	ada.do(t, http.StatusOK, "PATCH", w+"/agents/shop-helper", map[string]any{"instructions": "You answer customers kindly."})
	b.seeText("Changed since it was published")
	b.see("checkbox", "Talk to the draft, not to what is published")
	b.click("button", "Publish")
	b.await(`document.querySelector('dialog .host')?.shadowRoot?.textContent.includes('kindly')`)
	sh.capture(b, "publish")
	b.press("Escape")
	guest := grace.open(t)
	guest.visit("w/" + id + "/agents")
	guest.see("link", "Shop helper")
	sh.capture(guest, "reader's list")
	guest.click("link", "Shop helper")
	guest.see("heading", "Shop helper")
	require.Equal(t, "You need the right to change agents here.", guest.reasonOf("Publish"))

	// Unpublished and deleted, with Undo; in French, too.
	b.click("button", "Actions")
	b.click("menuitem", "Unpublish")
	b.see("dialog", "Unpublish Shop helper?")
	b.press("Control+Enter")
	b.seeText("The agent is no longer published")
	b.click("button", "Actions")
	b.click("menuitem", "Delete")
	b.see("heading", "No agents yet")
	b.click("button", "Undo")
	b.see("heading", "Shop helper")
	b.visit("w/" + id + "/agents")
	b.see("link", "Shop helper")
	sh.capture(b, "list")
	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	b.visit("w/" + id + "/agents/shop-helper?tab=settings")
	b.see("textbox", "Instructions")
	b.seeText("Mémoire et limites")
	sh.capture(b, "French")
}

// Questions to a knowledge base: without a model the way out is named; answers come with their sources, which open at the
// passage; what no passage fits is said to be no answer. Models are chosen and tested in the settings.
func TestAsk(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Support")
	base := "/v2/workspaces/" + id + "/knowledgeBases"
	ada.do(t, http.StatusCreated, "POST", base, map[string]any{"name": "FAQ", "chunking": map[string]any{"size": 200, "overlap": 0}})
	ada.do(t, http.StatusCreated, "POST", base+"/faq/documents?wait=30", map[string]any{"name": "rules.md", "text": "# Rules\n\n" + strings.Repeat("Parcels arrive within two days, and abroad within a week of working days.\n\n", 60) + "## Refunds\n\nRefunds take thirty days."})
	sh := newSheet(t, "ask")
	b := ada.open(t)
	b.visit("w/" + id + "/knowledge/faq?tab=ask")
	b.see("heading", "Ask a question")
	b.click("button", "Ask")
	b.seeText("This is required.")
	b.fill("Question", "How long do refunds take?")
	b.press("Enter")
	b.seeText("No language model is set up here.")
	sh.capture(b, "no model")
	ada.model(t, id)
	b.click("button", "Try again")
	b.see("link", "Source 1: Rules")
	b.seeText("Cites its sources")
	b.click("button", "Begin anew")
	b.gone("link", "Source 1: Rules")
	b.fill("Question", "zebra")
	b.press("Enter")
	b.seeText("No passage fits, so that no model was asked")
	b.fill("Question", "How long do refunds take?")
	b.press("Enter")
	b.see("link", "Source 1: Rules")
	sh.capture(b, "answers")
	b.fill("Question", "Refunds slow:600000")
	b.press("Enter")
	b.seeText("The model answers from 1 document")
	b.click("button", "Stop")
	b.seeText("Stopped")

	// The source is far down in its document: it is shown and marked.
	b.click("link", "Source 1: Rules")
	b.await(`(() => { const one = document.querySelector('li[aria-current=true]'); return one?.innerText.includes('thirty days') && one.getBoundingClientRect().top < innerHeight && one.getBoundingClientRect().bottom > 0 })()`)
	require.True(t, b.has("button", "Show all from the first"))
	sh.capture(b, "passage")

	// The models of the base, by name, with what a test says.
	b.visit("w/" + id + "/knowledge/faq?tab=settings")
	b.see("combobox", "Model of vectors")
	b.await(`[...document.querySelector('datalist').options].map((one) => one.value).join() === 'own/` + fakemodel.EmbeddingModel + `'`)
	b.fillAs("combobox", "Model of vectors", "own/"+fakemodel.EmbeddingModel)
	b.click("button", "Test the model")
	b.seeText("with 64 dimensions")
	b.fillAs("combobox", "Model of vectors", "nope")
	b.click("button", "Test the model")
	b.seeText("there is no model nope")
	b.fillAs("combobox", "Model of vectors", "own/"+fakemodel.EmbeddingModel)
	sh.capture(b, "models")
	b.press("Control+s")
	b.seeText("Saved at")
	b.seeText("Vectors are ready")
	require.Equal(t, "own/"+fakemodel.EmbeddingModel, ada.do(t, http.StatusOK, "GET", base+"/faq", nil)["embedding"].(map[string]any)["model"])

	// A search by words and by meaning shows what each says, with digits that differ, and how results are ranked can be changed.
	b.visit("w/" + id + "/knowledge/faq?tab=search&q=refunds&meaning=0")
	b.await(`/Score 0\.01\d+ · Words [\d.]+ · Meaning 0\.\d+/.test(document.querySelector('[role=tabpanel] ol > li')?.innerText)`)
	b.fillAs("spinbutton", "Meaning", "200")
	b.press("Tab")
	b.seeText("From 0 to 100.")
	b.fillAs("spinbutton", "Meaning", "")
	b.fillAs("spinbutton", "Least similarity", "0.1")
	b.press("Tab")
	b.choose("Misspelt words", "No")
	b.await(`location.search.includes('least=0.1') && location.search.includes('fuzzy=no') && /Score 0\.03\d+ · Words/.test(document.querySelector('[role=tabpanel] ol > li')?.innerText)`)
	sh.capture(b, "search")
	b.fillAs("searchbox", "Search for", "refnuds")
	b.choose("Mode", "Words")
	b.click("button", "Search")
	b.see("heading", "Nothing found")
	b.choose("Misspelt words", "Yes")
	b.await(`document.querySelectorAll('ol > li mark').length > 0`)
}
