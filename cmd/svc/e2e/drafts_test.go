//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// drafts is every draft of this browser, as text.
func (b *tab) drafts() string {
	return eval[string](b, `new Promise((done) => { const open = indexedDB.open('svc-console'); open.onsuccess = () => { const all = open.result.transaction('drafts').objectStore('drafts').getAll(); all.onsuccess = () => { open.result.close(); done(all.result.map((one) => one.text).join('\n')) } } })`)
}

// awaitDraft waits until a draft holds a text.
func (b *tab) awaitDraft(text string) {
	b.t.Helper()
	b.until("a draft of "+text, func(context.Context) bool { return strings.Contains(b.drafts(), text) })
}

const greetSecretly = `
slug: greet
name: Greet
arguments:
  name:
    type: string
  token:
    type: string
    secret: true
do: []
output: 'Hello {{name}}'
`

// What is typed into a form survives a reload and is offered again, without what is marked secret.
func TestDraftsOfForms(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Drafts", approval, greetSecretly)
	collection := "/v2/workspaces/" + id + "/collections/orders"
	ada.do(t, http.StatusOK, "PUT", collection+"/schema", map[string]any{"properties": map[string]any{
		"customer": map[string]any{"type": "string", "required": true}, "total": map[string]any{"type": "integer"},
	}})
	row := ada.do(t, http.StatusCreated, "POST", collection+"/rows", map[string]any{"customer": "Grace", "total": 1})["id"].(string)
	sh := newSheet(t, "drafts")
	b := ada.open(t)

	// A new row.
	b.visit("w/" + id + "/data/orders?new=1")
	b.see("heading", "New row")
	b.fillAs("textbox", "customer", "Ada Lovelace")
	b.awaitDraft("Ada Lovelace")
	b.visit("w/" + id + "/data/orders?new=1")
	b.see("button", "Use it")
	sh.capture(b, "new row")
	b.click("button", "Use it")
	b.await(`[...document.querySelectorAll('input')].some((one) => one.value === 'Ada Lovelace')`)
	b.click("button", "Save")
	b.see("heading", "Row")
	b.until("no draft of a row that is saved", func(context.Context) bool { return !strings.Contains(b.drafts(), "Ada Lovelace") })

	// A stored row that somebody else saves before the draft is used: it is compared.
	b.visit("w/" + id + "/data/orders?row=" + row)
	b.see("heading", "Row")
	b.fillAs("spinbutton", "total", "41")
	b.awaitDraft("41")
	b.visit("w/" + id + "/activity")
	ada.do(t, http.StatusOK, "PATCH", collection+"/rows/"+row, map[string]any{"customer": "Grace Hopper"})
	b.visit("w/" + id + "/data/orders?row=" + row)
	b.click("button", "Use it")
	b.click("button", "Compare")
	b.see("dialog", "Compare")
	sh.capture(b, "compared row")
	b.click("button", "Keep mine")
	b.gone("dialog", "Compare")
	b.click("button", "Save")
	b.seeText("Saved")
	stored := ada.do(t, http.StatusOK, "GET", collection+"/rows/"+row, nil)
	require.Equal(t, "Grace Hopper", stored["customer"])
	require.EqualValues(t, 41, stored["total"])

	// A declaration that is no JSON yet.
	b.visit("w/" + id + "/data/orders?tab=schema")
	b.fill("Declaration", `{"properties": {"paid": `)
	b.awaitDraft("paid")
	b.visit("w/" + id + "/data/orders?tab=schema")
	b.click("button", "Use it")
	require.Equal(t, `{"properties": {"paid": `, b.valueOf("Declaration"))

	// The answer of a wait.
	answered := ada.askMeanwhile(t, "POST", "/v2/workspaces/"+id+"/webhooks/approval", map[string]any{"order": 7})
	b.visit("w/" + id + "/waits")
	b.click("button", "Answer")
	b.see("dialog", "Answer approval")
	b.fill("Payload", `{"order": 7, "by": "Ada K."}`)
	b.awaitDraft("Ada K.")
	b.visit("w/" + id + "/waits")
	b.click("button", "Answer")
	b.see("button", "Use it")
	sh.capture(b, "answer")
	b.click("button", "Use it")
	require.Contains(t, b.valueOf("Payload"), "Ada K.")
	b.click("button", "Emit approval.given")
	got := <-answered
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
	require.Contains(t, string(got.body), "Ada K.")
	b.until("no draft of an answer that is sent", func(context.Context) bool { return !strings.Contains(b.drafts(), "Ada K.") })

	// The input of a run, without the argument that is marked secret.
	b.openAutomation(id, "greet")
	b.click("tab", "Run")
	b.fill("name", "Countess 1852")
	b.fill("token", "s3cr3t-t0ken")
	b.awaitDraft("Countess 1852")
	require.NotContains(t, b.drafts(), "s3cr3t")
	b.openAutomation(id, "greet")
	b.click("tab", "Run")
	b.click("button", "Use it")
	require.Equal(t, "Countess 1852", b.valueOf("name"))
	require.Empty(t, b.valueOf("token"))
}
