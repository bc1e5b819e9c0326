//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/stretchr/testify/require"
)

const raiseTotal = `
slug: raise
name: Raise
when:
  endpoint: true
do:
  - run:
      module: collections
      function: updateOne
      parameters:
        collection: orders
        query:
          customer: customer 7
        update:
          total: 700
`

// #63: a filter on two columns shows and exports exactly what matches, also after an edit.
// #64: a row that an automation changed while its form was open is compared before it is saved.
func TestData(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Orders", raiseTotal)
	sh := newSheet(t, "data")
	b := ada.open(t)
	b.visit("w/" + id + "/data")
	b.see("heading", "No data yet")
	sh.capture(b, "empty")

	collection := "/v2/workspaces/" + id + "/collections/orders"
	ada.do(t, http.StatusOK, "PUT", collection+"/schema", map[string]any{"properties": map[string]any{
		"customer": map[string]any{"type": "string", "required": true}, "city": map[string]any{"type": "string"}, "total": map[string]any{"type": "integer"}, "paid": map[string]any{"type": "boolean"},
	}})
	var orders []map[string]any
	cities := []string{"Lyon", "Paris", "Nice", "Lille"}
	for i := range 10_000 {
		orders = append(orders, map[string]any{"customer": fmt.Sprintf("customer %d", i), "city": cities[i%4], "total": i % 100, "paid": i%2 == 0})
	}
	ada.do(t, http.StatusOK, "POST", collection+"/import", orders)

	b.visit("w/" + id + "/data/orders")
	b.seeText("1–50 of 10,000 rows")
	sh.capture(b, "filled")

	// Lyon: every fourth; of those the totals of 96 and more: one in a hundred.
	b.fillAs("searchbox", "Filter by city", "=Lyon")
	b.seeText("1–50 of 2,500 rows")
	b.fillAs("searchbox", "Filter by total", ">= 96")
	b.seeText("1–50 of 100 rows")
	b.await(`[...document.querySelectorAll('[role=row][data-index]')].every((row) => row.innerText.includes('Lyon') && row.innerText.includes('96'))`)
	require.Contains(t, b.where(), "f.city=")

	eval[bool](b, `(() => { `+firstRow+`.focus(); return true })()`)
	b.press("e")
	b.see("heading", "Row")
	sh.capture(b, "row")
	b.fillAs("spinbutton", "total", "5")
	b.click("button", "Save")
	b.seeText("1–50 of 99 rows")

	b.keepFiles()
	b.click("button", "Export")
	b.click("menuitem", "JSON lines, 99 rows")
	exported := strings.Split(strings.TrimSpace(b.savedFile()), "\n")
	require.Len(t, exported, 99)
	for _, line := range exported {
		require.Contains(t, line, `"city":"Lyon"`)
	}

	// A row that an automation changes while its form is open.
	b.visit("w/" + id + "/data/orders?f.customer=%3Dcustomer%207")
	b.seeText("1–1 of 1 row")
	eval[bool](b, `(() => { `+firstRow+`.focus(); return true })()`)
	b.press("Enter")
	b.see("heading", "Row")
	b.fillAs("spinbutton", "total", "8")
	ada.do(t, http.StatusOK, "POST", "/v2/workspaces/"+id+"/webhooks/raise", map[string]any{})
	b.click("button", "Save")
	// The save was refused, which opens the comparison, or the change was seen before it, which offers it.
	b.await(`document.querySelector('dialog[open]') || [...document.querySelectorAll('button')].some((button) => button.textContent.trim() === 'Compare')`)
	if !b.has("dialog", "Compare") {
		b.click("button", "Compare")
	}
	b.see("dialog", "Compare")
	b.seeText("700")
	sh.capture(b, "stale")
	rows := ada.list(t, collection+`/rows?query={"customer":"customer%207"}`)
	require.EqualValues(t, 700, rows[0]["total"], "nothing is overwritten unseen")
	b.click("button", "Keep mine")
	b.gone("dialog", "Compare")
	b.click("button", "Save")
	b.seeText("Saved")
	rows = ada.list(t, collection+`/rows?query={"customer":"customer%207"}`)
	require.EqualValues(t, 8, rows[0]["total"])

	// Another row by the form, and the other tabs.
	b.press("Escape")
	b.press("n")
	b.see("heading", "New row")
	b.click("button", "Save")
	b.seeText("This is required.")
	b.fillAs("textbox", "customer", "new <b>one</b>")
	b.click("button", "Save")
	b.see("heading", "Row")
	b.click("tab", "Schema")
	b.see("textbox", "Declaration")
	b.click("button", "Try it")
	b.seeText("Every row fits this declaration.")
	sh.capture(b, "schema")
	b.click("tab", "Contexts")
	b.see("heading", "Nothing is set")
	sh.capture(b, "contexts")
}

// A file is tried before it is imported, with what is wrong by line; a row that an automation
// changes flashes once; an export is in the order that is shown.
func TestDataImport(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Import", raiseTotal)
	collection := "/v2/workspaces/" + id + "/collections/orders"
	ada.do(t, http.StatusOK, "PUT", collection+"/schema", map[string]any{"properties": map[string]any{
		"customer": map[string]any{"type": "string", "required": true}, "total": map[string]any{"type": "integer"},
	}})
	sh := newSheet(t, "data-import")
	b := ada.open(t)
	b.visit("w/" + id + "/data/orders")
	b.see("heading", "No rows yet")
	sh.capture(b, "no rows")
	b.click("button", "Import")
	b.see("dialog", "Import into orders")

	file := filepath.Join(t.TempDir(), "orders.csv")
	var table strings.Builder
	table.WriteString("customer,total\n")
	for i := range 120 {
		fmt.Fprintf(&table, "customer %d,%d\n", i, i)
	}
	table.WriteString("<b>wrong</b>,many\n,3\n")
	require.NoError(t, os.WriteFile(file, []byte(table.String()), 0o600))
	choose := func() {
		t.Helper()
		node := eval[bool](b, `(() => { window.fileField = document.querySelector('dialog[open] input[type=file]'); return !!window.fileField })()`)
		require.True(t, node)
		got := call(b, runtime.Evaluate, runtime.EvaluateParams{Expression: `window.fileField`})
		call(b, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{file}, ObjectID: got.Result.ObjectID})
	}
	choose()
	b.seeText("120 to add, 0 to change. 2 lines are at fault and are left out.")
	b.seeText("line 122")
	b.seeText("line 123")
	b.seeText(`expected integer, got "many"`)
	sh.capture(b, "dry run")
	require.Equal(t, "0", ada.ask(t, "GET", collection+"/rows?limit=1", nil).Header.Get("x-total-count"), "a dry run writes nothing")
	b.click("button", "Import 120 rows")
	b.seeText("1–50 of 120 rows")
	require.Equal(t, "120", ada.ask(t, "GET", collection+"/rows?limit=1", nil).Header.Get("x-total-count"))
	b.press("Escape")
	b.gone("dialog", "Import into orders")

	// An automation changes one row: it flashes, the others do not, and then it is over.
	b.visit("w/" + id + "/data/orders?sort=customer&f.customer=customer%207")
	b.await(`document.querySelectorAll('[role=row][data-index]').length > 1`)
	eval[bool](b, `(() => { window.flashed = new Set(); new MutationObserver((all) => { for (const one of all) if (one.target.classList?.contains('changed')) window.flashed.add(one.target.dataset.key) }).observe(document.querySelector('main'), { subtree: true, attributes: true, attributeFilter: ['class'] }); return true })()`)
	ada.do(t, http.StatusOK, "POST", "/v2/workspaces/"+id+"/webhooks/raise", map[string]any{})
	b.await(`[...document.querySelectorAll('[role=row][data-index]')].some((row) => row.innerText.includes('700'))`)
	b.await(`window.flashed.size === 1 && document.querySelector('[data-key="' + [...window.flashed][0] + '"]').innerText.includes('700')`)
	b.await(`document.querySelectorAll('[role=row].changed').length === 0`)

	// All rows in the order that is shown.
	b.visit("w/" + id + "/data/orders?sort=-total")
	b.seeText("1–50 of 120 rows")
	b.keepFiles()
	b.click("button", "Export")
	b.click("menuitem", "JSON lines, 120 rows")
	exported := strings.Split(strings.TrimSpace(b.savedFile()), "\n")
	require.Len(t, exported, 120)
	require.Contains(t, exported[0], `"total":700`)
	require.Contains(t, exported[1], `"total":119`)
	require.Contains(t, exported[119], `"total":0`)

	// A declaration that rows do not fit says so before it is saved.
	b.visit("w/" + id + "/data/orders?tab=schema")
	b.see("textbox", "Declaration")
	b.fill("Declaration", `{"properties": {"customer": {"type": "integer"}}}`)
	b.click("button", "Try it")
	b.seeText("customer")
	b.await(`[...document.querySelectorAll('main li')].some((item) => item.innerText.includes('customer'))`)
	sh.capture(b, "would refuse")
	require.Contains(t, ada.ask(t, "GET", collection+"/schema", nil).Header.Get("Content-Type"), "json")
}
