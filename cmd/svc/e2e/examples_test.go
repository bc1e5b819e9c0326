//go:build e2e

package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every example of the dialog is made there and runs as it is, with the settings that a new
// installation has: nothing of the outside, no private address but that of the platform.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	s := startService(t, "EGRESS_ALLOW_PRIVATE=no")
	ada := s.person(t, "Ada")
	id := ada.workspace(t, "Shop")
	w := "/v2/workspaces/" + id
	sh := newSheet(t, "examples")
	b := ada.open(t)
	create := func(card, slug string) {
		t.Helper()
		b.visit("w/" + id + "/automations")
		b.press("n")
		b.see("dialog", "New automation")
		b.click("radio", card)
		b.press("Control+Enter")
		b.awaitAt("w/" + id + "/automations/" + slug)
		b.await(inEditor(`view.querySelector('.cm-content')`))
		b.seeText("No problems")
	}
	outputs := func(values ...string) {
		t.Helper()
		for _, value := range values {
			b.await(`[...document.querySelectorAll('.result .value')].some((one) => one.textContent.includes('`+value+`'))`, value)
		}
	}
	rows := func(titles ...string) {
		t.Helper()
		for _, title := range titles {
			b.await(`[...document.querySelectorAll('[role=treeitem] .label')].some((one) => one.innerText.includes('`+title+`'))`, title)
		}
	}

	create("Endpoint Answers an HTTP request and checks what it gets.", "greet")
	b.press("Control+Enter")
	b.seeText("Succeeded")
	outputs("Hello Ada")
	greeted := (&person{s: s}).do(t, http.StatusOK, "POST", w+"/webhooks/greet", map[string]any{"name": "Bob"})
	require.Equal(t, "Hello Bob", greeted["greeting"], "its address answers, too")
	(&person{s: s}).do(t, http.StatusBadRequest, "POST", w+"/webhooks/greet", map[string]any{})

	create("Event Runs when something happened, and emits an event itself. Declares the event order.created.", "on-order")
	b.press("Control+Enter")
	b.seeText("Succeeded")
	outputs("A-17")
	b.click("tab", "Trace")
	rows("on-order", "order.large")
	sh.capture(b, "event")
	b.click("tab", "Runs")
	b.await(`document.querySelectorAll('[role=row].openable').length === 1`)
	ada.do(t, http.StatusCreated, "POST", w+"/events", map[string]any{"events": []any{map[string]any{"type": "order.created", "payload": map[string]any{"id": "B-1", "amount": 5}}}})
	b.await(`document.querySelectorAll('[role=row].openable').length === 2`, "the event runs it, and the list is live")
	b.seeText("Event")
	sh.capture(b, "event runs")

	create("Schedule Runs at 7 on working days.", "morning-report")
	b.await(`/Next run .*7:00/.test(document.body.innerText)`)
	b.press("Control+Enter")
	b.seeText("Succeeded")
	b.await(`[...document.querySelectorAll('.result .value')].some((one) => /\d{4}-\d\d-\d\d/.test(one.textContent))`, "the day")
	b.click("tab", "Trace")
	rows("morning-report", "report.due")
	sh.capture(b, "schedule")

	create("Call with a secret Sends a request with a secret. Makes the secret example_token if it is missing.", "call-a-service")
	b.press("Control+Enter")
	b.seeText("Succeeded")
	outputs("200")
	require.Contains(t, ada.do(t, http.StatusOK, "GET", w+"/security/secrets", nil), "example_token")
	b.click("tab", "Trace")
	rows("call-a-service", "login/providers")
	eval[bool](b, `([...document.querySelectorAll('[role=treeitem]')].find((one) => one.dataset.instruction === 'do[1].fetch').click(), true)`)
	b.awaitChosenLine("fetch:")
	b.seeText("REDACTED")
	sh.capture(b, "secret")

	create("Wait for an answer Asks, and waits up to an hour until somebody answers. Declares the event approval.given.", "ask-for-approval")
	b.press("Control+Enter")
	b.seeText("Waits for approval.given")
	sh.capture(b, "wait")
	run := ada.list(t, w+"/runs?automation=ask-for-approval")[0]["correlationId"].(string)
	answering := b.another()
	answering.visit("w/" + id + "/waits")
	answering.click("button", "Answer")
	answering.see("dialog", "Answer ask-for-approval")
	answering.click("checkbox", "approved")
	answering.click("button", "Emit approval.given")
	b.seeText("Succeeded")
	outputs("true")
	require.Equal(t, "succeeded", ada.do(t, http.StatusOK, "GET", w+"/runs/"+run, nil)["status"])

	// A blank one has no name until somebody gives it one.
	b.visit("w/" + id + "/automations")
	b.press("n")
	b.see("dialog", "New automation")
	b.press("Control+Enter")
	b.seeText("is required")
	b.fill("Name", "money/Refund")
	b.seeText("Its slug is refund.")
	b.press("Control+Enter")
	b.awaitAt("w/" + id + "/automations/refund")
	b.await(inEditor(`view.querySelector('.cm-content')`))
	b.press("Control+Enter")
	b.seeText("Succeeded")
}
