//go:build e2e

package e2e

import (
	"net/http"
	"testing"
)

// A suite is made, fails with what is expected and what came, is mended and saved. The tab of an automation runs its cases
// with unsaved text, and compares that with recorded runs, which cases are made of. A push that requires tests names those
// that fail.
func TestTestsOfAutomations(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Shop", "slug: charge\nname: Charge\narguments:\n  amount:\n    type: number\ndo:\n  - emit:\n      event: charged\n      payload:\n        amount: '{{amount}}'\noutput:\n  paid: '{{amount}}'\n")
	w := "/v2/workspaces/" + id
	sh := newSheet(t, "tests")
	b := ada.open(t)
	b.visit("w/" + id + "/tests")
	b.see("heading", "No tests yet")
	sh.capture(b, "empty")
	b.press("n")
	b.see("dialog", "New suite")
	b.click("button", "Create")
	b.awaitAt("w/" + id + "/tests/charge")
	b.seeText("it succeeds")
	b.seeText("Not run")
	b.fill("Text of charge", "slug: charge\nname: charge\nautomation: charge\ncases:\n  - name: it is paid\n    input:\n      amount: 7\n    expect:\n      output:\n        paid: 8\n      events:\n        - type: charged\n  - name: it ends\n    input: {}\n")
	b.press("Control+Enter")
	b.seeText("1 failed, 1 passed")
	b.seeText("output.paid")
	b.seeText("has another value")
	sh.capture(b, "failed")
	b.press("Control+s")
	b.seeText("Saved at")

	ada.connect(t, id, gitServer(t), gitServer(t).Repo("shop.git"))
	b.visit("w/" + id + "/versioning?tab=repositories&edit=origin")
	b.see("dialog", "Edit Origin")
	b.click("checkbox", "Require tests Nothing is pushed there unless all tests of the workspace pass.")
	b.press("Control+Enter")
	b.gone("dialog", "Edit Origin")
	b.visit("w/" + id + "/versioning?push=")
	b.choose("Repository", "Origin")
	b.see("dialog", "Push to Origin")
	b.click("button", "Push")
	b.operationEnds("Failed")
	b.seeText("charge: it is paid")
	sh.capture(b, "push refused")
	b.click("link", "Open the tests")
	b.click("button", "Run all")
	b.seeText("1 failed, 1 passed")
	sh.capture(b, "results")
	ada.do(t, http.StatusOK, "PATCH", w+"/tests/charge", map[string]any{"cases": []any{map[string]any{"name": "it is paid", "input": map[string]any{"amount": 7}, "expect": map[string]any{"output": map[string]any{"paid": 7}}}}})
	b.click("button", "Run all")
	b.seeText("1 case passed")

	for _, amount := range []int{3, 5} {
		ada.do(t, http.StatusOK, "POST", w+"/test/charge?record=true", map[string]any{"payload": map[string]any{"amount": amount}})
	}
	b.visit("w/" + id + "/automations/charge?tab=tests")
	b.click("button", "Run all")
	b.seeText("1 case passed")
	b.fill("Text of Charge", "slug: charge\nname: Charge\ndo:\n  - emit:\n      event: paid\noutput:\n  paid: 7\n")
	b.seeText("With your unsaved text")
	b.click("button", "Compare")
	b.seeText("2 runs different")
	sh.capture(b, "draft")
	b.click("button", "Cases of runs")
	b.see("dialog", "New suite")
	b.click("button", "Make cases")
	b.seeText("2 cases:")
	sh.capture(b, "cases of runs")
	b.click("button", "Create")
	b.awaitAt("w/" + id + "/tests/charge-runs")
	b.click("button", "Run")
	b.seeText("2 cases passed")
}
