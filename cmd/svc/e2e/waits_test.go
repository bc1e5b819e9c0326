//go:build e2e

package e2e

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const approval = `
slug: approval
name: Approval
when:
  endpoint: true
do:
  - wait:
      oneOf:
        - event: approval.given
          filters:
            payload.order: '{{body.order}}'
      timeout: 86400
      output: answer
  - emit:
      event: approval.done
      payload: '{{answer.payload}}'
output: '{{answer.payload}}'
`

// #65: an answer lets the run go on, its trace shows it and the row is gone.
// #66: a name that does not exist is a problem with its line and the nearest name, and mending it removes the row.
func TestWaitsAndProblems(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Approvals")
	sh := newSheet(t, "waits")
	b := ada.open(t)
	b.visit("w/" + id + "/waits")
	b.see("heading", "Nothing waits")
	sh.capture(b, "empty")
	b.click("tab", "Problems 0")
	b.see("heading", "No problems")
	sh.capture(b, "no problems")
	b.click("tab", "Waits 0")

	ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+id+"/automations", approval)
	answered := map[string]<-chan answer{}
	for _, order := range []int{7, 8} {
		answered[strconv.Itoa(order)] = ada.askMeanwhile(t, "POST", "/v2/workspaces/"+id+"/webhooks/approval", map[string]any{"order": order})
	}
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 2`)
	b.seeText("payload.order = 7")
	sh.capture(b, "filled")

	b.await(`document.querySelector('[role=row][data-index="0"]')`)
	first := eval[string](b, `document.querySelector('[role=row][data-index="0"]').innerText`)
	order := "8"
	if strings.Contains(first, "payload.order = 7") {
		order = "7"
	}
	eval[bool](b, `(() => { document.querySelector('[role=row][data-index="0"]').focus(); return true })()`)
	b.press("Enter")
	b.see("dialog", "Answer approval")
	b.seeText("Answering emits the event approval.given.")
	require.Contains(t, b.valueOf("Payload"), `"order": `+order)
	sh.capture(b, "answer")
	b.fill("Payload", `{"order": `+order+`, "by": "Ada"}`)
	b.click("button", "Emit approval.given")
	b.gone("dialog", "Answer approval")
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 1`)
	got := <-answered[order]
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.body)
	require.Contains(t, string(got.body), `"by":"Ada"`)

	b.visit("w/" + id + "/activity/" + got.Header.Get("x-correlation-id"))
	b.seeText("Waits for approval.given")
	b.seeText("approval.done")

	// The other run is cancelled.
	b.visit("w/" + id + "/waits")
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 1`)
	b.click("button", "Actions")
	b.click("menuitem", "Cancel the run")
	b.see("dialog", "Cancel the run of approval?")
	sh.capture(b, "cancel")
	b.click("button", "Cancel the run")
	b.see("heading", "Nothing waits")
	<-answered[map[string]string{"7": "8", "8": "7"}[order]]

	// A misspelt name, saved and mended in the editor while the problems are looked at.
	ada.do(t, http.StatusOK, "DELETE", "/v2/workspaces/"+id+"/automations/approval", nil)
	ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+id+"/automations", "slug: shout\nname: Shout\ndo: []\n")
	b.visit("w/" + id + "/waits?tab=problems")
	b.see("heading", "No problems")
	editor := b.another()
	editor.openAutomation(id, "shout")
	editor.fill("Text of Shout", "slug: shout\nname: Shout\nvalidateArguments: true\ndo:\n  - emti:\n      event: shouted\n")
	editor.seeText("1 warning")
	editor.press("Control+s")
	editor.seeText("Saved at")
	b.seeText("emti")
	b.seeText("emit")
	b.see("link", "Open line 5")
	sh.capture(b, "problems")
	b.click("link", "Open line 5")
	b.awaitChosenLine("emti:")
	b.visit("w/" + id + "/waits?tab=problems")
	b.see("link", "Open line 5")
	editor.fill("Text of Shout", "slug: shout\nname: Shout\nvalidateArguments: true\ndo:\n  - emit:\n      event: shouted\n")
	editor.press("Control+s")
	editor.seeText("No problems")
	b.gone("link", "Open line 5")
	b.see("heading", "No problems")
}
