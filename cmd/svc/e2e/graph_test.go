//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// nodeIs is an expression: a box of the graph whose name contains a text, and that has a mark.
func nodeIs(text, mark string) string {
	return `[...document.querySelectorAll('[data-node]')].some((one) => (one.ariaLabel ?? '').includes(` + "`" + text + "`" + `) && one.classList.contains('` + mark + `'))`
}

// rowIs is an expression: a table has a row of these words.
func rowIs(words string) string {
	return `[...document.querySelectorAll('[role=row]')].some((row) => row.innerText.replace(/\s+/g, ' ').trim() === ` + "`" + words + "`" + `)`
}

// overlappingNodes returns the boxes of the graph that lie on each other.
const overlappingNodes = `(() => {
	const boxes = [...document.querySelectorAll('[data-node]')].map((one) => [one.dataset.node, one.getBoundingClientRect()]);
	return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1).map(([b]) => a + ' ' + b));
})()`

const branchingAutomation = `slug: approve
name: orders/Approve
when:
  endpoint: true
  events: [order.created]
do:
  - set: {name: limit, value: 100}
  - lookup: {order: '{{body.order}}', output: order}
  - conditions:
      '{{order.total}} > {{limit}}':
        - emit: {event: approval.asked, payload: {order: '{{order}}'}}
        - wait: {oneOf: [{event: approval.given}], timeout: 3600, output: answer}
      default:
        - comment: Small orders are approved at once
  - repeat:
      on: '{{order.lines}}'
      do:
        - conditions:
            '{{item.missing}}':
              - break: {scope: repeat}
        - set: {name: 'packed[]', value: '{{item.name}}'}
  - try:
      do:
        - set: {name: parsed, value: '{% json({{order.note}}) %}'}
      catch:
        - set: {name: parsed, value: {}}
  - all:
      - emit: {event: order.approved}
      - set: {name: sent, value: true}
output: {packed: '{{packed}}'}
`

// The graph of an automation: it leads to the lines, follows a run, and is used by keys.
func TestGraphOfAnAutomation(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Shop", branchingAutomation,
		"slug: lookup\nname: Lookup\ndo: []\noutput: {total: 250, note: '{', lines: [{name: pen}, {name: ink}]}\n",
		"slug: ship\nname: Ship\nwhen: {events: ['order.*']}\ndo: []\n",
		"slug: ask\nname: Ask\nwhen: {events: [approval.asked]}\ndo: []\n",
		"slug: shop\nname: Shop\ndo:\n  - emit: {event: order.created}\n")
	sh := newSheet(t, "graph")
	b := ada.open(t)

	b.openAutomation(id, "approve?tab=graph")
	b.see("button", "Endpoint: approve")
	b.see("link", "Automation: ask")
	require.Equal(t, []string{}, eval[[]string](b, overlappingNodes))
	sh.capture(b, "graph")

	// A box leads to its line, and the address keeps it.
	b.click("button", "Step: wait, approval.given")
	b.awaitChosenLine("wait:")
	require.Contains(t, b.where(), "instruction=")

	// Keys: one stop for the whole picture, arrows among the boxes.
	eval[bool](b, `(document.querySelector('[data-node="do[0].set"]').focus(), true)`)
	b.press("ArrowDown")
	b.awaitFocus("button", "Call: lookup, → order")
	b.press("Enter")
	b.awaitChosenLine("lookup:")
	eval[bool](b, `(document.querySelector('[data-node="do[0].set"]').focus(), true)`)
	const width = `document.querySelector('[data-node]').getBoundingClientRect().width`
	before := eval[float64](b, width)
	b.press("-")
	b.await(fmt.Sprintf(`%s < %g`, width, before), "smaller")

	// A run is marked while it waits, and step by step when it is over.
	b.openAutomation(id, "approve?tab=graph")
	b.see("button", "Endpoint: approve")
	b.press("Control+Enter")
	b.await(nodeIs("wait, approval.given", "current"), "the wait is current")
	b.await(nodeIs("set, limit", "done"), "what ran before is done")
	b.await(nodeIs("emit, approval.asked", "done"))
	sh.capture(b, "waiting")
	ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+id+"/events", map[string]any{"events": []any{map[string]any{"type": "approval.given", "payload": map[string]any{}}}})
	b.await(nodeIs("End", "done"), "it is over")
	b.await(nodeIs("set, packed[]", "done"))
	b.await(nodeIs("set, parsed = {% json", "failed"), "the error is at its box")
	b.await(nodeIs("Branch: catch", "done"))
	b.seeText("Succeeded")
	sh.capture(b, "ran")

	// It follows the text, and stays while the text cannot be read.
	b.fill("Text of Approve", "slug: approve\nname: orders/Approve\ndo:\n  - Mail.send: {}\n  - ship: {}\n")
	b.see("button", "Call: ship")
	b.fill("Text of Approve", "slug: approve\ndo: [")
	b.seeText("The text cannot be read as YAML now.")
	require.True(t, b.has("button", "Call: ship"))
	sh.capture(b, "broken")

	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	b.openAutomation(id, "lookup?tab=graph")
	b.see("tab", "Graphe")
	b.see("button", "Appel seulement")
	b.see("button", "Fin, {\"total\":250,\"note\":\"{\",\"lines\":[{\"name\":\"pen\"},{\"name\":\"ink\"}]}")
	b.see("button", "Tout voir")
	sh.capture(b, "french")
}

// The map of a workspace: what is connected, one with its neighbours, the same as a list, and
// five hundred automations.
func TestMapOfAWorkspace(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	sh := newSheet(t, "map")
	b := ada.open(t)

	empty := ada.workspace(t, "Empty")
	b.visit("w/" + empty + "/map")
	b.see("heading", "Nothing to show yet")
	sh.capture(b, "empty")

	id := ada.workspace(t, "Shop", branchingAutomation,
		"slug: lookup\nname: Lookup\ndo: []\n",
		"slug: ship\nname: Ship\nwhen: {events: ['order.*']}\ndo:\n  - emit: {event: order.shipped}\n",
		"slug: ask\nname: Ask\nwhen: {events: [approval.asked]}\ndo:\n  - lookup: {}\n",
		"slug: shop\nname: Shop\ndo:\n  - emit: {event: order.created}\n  - emit: {event: order.paid}\n",
		"slug: alone\nname: Alone\ndo: []\n")
	ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+id+"/pages", "slug: orders\nname: Orders\nautomation: lookup\nupdateOn: order.shipped\nblocks: []\n")
	b.visit("w/" + id)
	b.click("link", "Map")
	b.awaitAt("w/" + id + "/map")
	b.see("link", "Automation: Ship, ship")
	b.see("link", "Page: Orders, orders")
	require.Equal(t, []string{}, eval[[]string](b, overlappingNodes))
	sh.capture(b, "picture")

	// One with its neighbours: they are what it is connected to, and nothing else.
	b.click("link", "Show Ask with its neighbours")
	b.gone("link", "Automation: Shop, shop")
	b.see("link", "Automation: Lookup, lookup")
	b.seeText("Only Ask and its neighbours are shown.")
	require.Contains(t, b.where(), "focus=automations")
	sh.capture(b, "focus")

	// The same as a list.
	b.click("tab", "Connections 2")
	b.await(rowIs("Automation Ask calls Automation Lookup"))
	b.click("button", "Show everything")
	b.await(rowIs("Automation Shop emits for order.created, order.paid Automation Ship"))
	b.await(rowIs("Page Orders runs Automation Lookup"))
	b.await(rowIs("Automation Ship emits for order.shipped Page Orders"))
	sh.capture(b, "list")
	b.press("/")
	b.awaitFocus("searchbox", "Search documents and events")
	b.write("approval")
	b.await(rowIs("Automation orders/Approve emits for approval.asked Automation Ask"))
	b.await(`!` + rowIs("Page Orders runs Automation Lookup"))
	b.visit("w/" + id + "/map?search=nothing%20like%20it")
	b.see("button", "Clear filter")
	sh.capture(b, "no match")

	// It is live, and a box opens its document.
	b.visit("w/" + id + "/map?focus=automations/alone")
	b.see("link", "Automation: Alone, alone")
	ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+id+"/automations", "slug: caller\nname: Caller\ndo:\n  - alone: {}\n")
	b.see("link", "Automation: Caller, caller")
	b.click("link", "Automation: Caller, caller")
	b.awaitAt("w/" + id + "/automations/caller")

	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	b.visit("w/" + id + "/map")
	b.see("heading", "Carte")
	b.see("link", "Automatisation : Ask, ask")
	b.see("link", "Montrer Ask avec ses voisins")
	sh.capture(b, "french")
}

// A map of five hundred automations is drawn, zoomed, moved and searched.
func TestMapOfManyAutomations(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	files := map[string]string{"index.yml": "name: Many\n"}
	for i := range 500 {
		// Chains of ten by events, of which fifty call one: some are ends, some are called by many.
		files[fmt.Sprintf("automations/job-%03d.yml", i)] = fmt.Sprintf("slug: job-%03d\nname: Job %03d\nwhen: {events: [step.%d]}\ndo:\n  - emit: {event: step.%d}\n  - job-%03d: {}\n", i, i, i, i+1+990*(i%10/9), i-i%50)
	}
	archive, err := os.ReadFile(archiveOf(t, "many.zip", files))
	require.NoError(t, err)
	id := ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/import", archive)["workspace"].(map[string]any)["id"].(string)
	b := ada.open(t)
	b.visit("w/" + id + "/map")
	b.seeText("500 documents")
	b.await(`document.querySelectorAll('[data-node]').length === 500`, "every box")
	require.Equal(t, []string{}, eval[[]string](b, overlappingNodes))
	b.click("button", "Fit")
	b.await(`document.querySelector('[role=group] .sheet').offsetWidth <= document.querySelector('[role=group] .sheet').parentElement.clientWidth + 1`, "all of it")
	b.checkLayout("many, as a whole")
	b.checkAccessibility("many, as a whole")
	require.NotEmpty(t, b.screenshot())
	b.fillAs("searchbox", "Search documents and events", "job 257")
	b.await(`document.querySelectorAll('[data-node]').length === 4`, "found, with its neighbours")
	b.see("link", "Automation: Job 257, job-257")
	b.visit("w/" + id + "/map?search=job-250")
	b.see("link", "Automation: Job 250, job-250")
	b.click("tab", "Connections 51")
	b.await(rowIs("Automation Job 251 calls Automation Job 250"))
}
