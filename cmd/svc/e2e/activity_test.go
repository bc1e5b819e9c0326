//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const failingHook = `
slug: hook
name: Hook
when:
  endpoint: true
do:
  - emit:
      event: hook.began
      payload:
        step: 1
  - charge: {}
output:
  done: true
`

// emit records events of a type, numbered from first on, 100 at a time.
func (p *person) emit(t *testing.T, workspace, eventType string, first, count int) {
	t.Helper()
	for count > 0 {
		var events []map[string]any
		for range min(count, 100) {
			events = append(events, map[string]any{"type": eventType, "payload": map[string]any{"n": first}})
			first++
		}
		count -= len(events)
		p.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+workspace+"/events", map[string]any{"events": events})
	}
}

// keepFiles lets the page remember the files that it gives to the person; savedFile waits for
// one and returns its text.
func (b *tab) keepFiles() {
	b.t.Helper()
	eval[bool](b, `(() => { if (!window.savedFiles) { window.savedFiles = []; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { window.savedFiles.push(blob); return make.call(URL, blob) } } return true })()`)
}

func (b *tab) savedFile() string {
	b.t.Helper()
	b.await(`window.savedFiles.length > 0`)
	return eval[string](b, `window.savedFiles.shift().text()`)
}

const firstRow = `document.querySelector('[role=row][data-index="0"]')`

// #40: a preset is in the address, and what happens comes on top by itself.
// #41: scrolled down, the list stands still and counts.
// #42: the trace of a failed run has all its events and chooses the first error.
func TestActivity(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada := s.person(t, "Ada")
	id := ada.workspace(t, "Shop <b>one</b>", failingHook)
	sh := newSheet(t, "activity")
	b := s.open(t)
	b.signIn(ada)

	b.visit("w/" + id + "/activity?types=nothing.such")
	b.see("heading", "No match")
	sh.capture(b, "no match")
	b.click("button", "Clear filter")
	b.awaitAt("w/" + id + "/activity")

	b.click("button", "Errors")
	b.awaitAt("w/" + id + "/activity?types=error,*.error,runtime.fetch.failed")
	b.see("button", "Live")
	b.see("heading", "No match")
	ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+id+"/events", map[string]any{"events": []any{map[string]any{"type": "error", "payload": map[string]any{"error": "Broken", "message": "<b>it broke</b>"}}}})
	b.await(firstRow + `?.innerText.includes('<b>it broke</b>')`)
	require.NotContains(t, b.where(), "event=")

	// Enough to scroll in, then some more while scrolled down.
	ada.emit(t, id, "cart.updated", 0, 150)
	b.click("button", "All")
	b.await(firstRow + `?.innerText.includes('{"n":149}')`)
	sh.capture(b, "filled")
	eval[bool](b, `(() => { document.querySelector('[role=table]').scrollTop = 800; return true })()`)
	b.see("button", "Held")
	held := eval[string](b, `document.querySelector('[role=row][data-index="20"]').dataset.key`)
	ada.emit(t, id, "cart.updated", 200, 12)
	b.see("button", "12 new")
	require.Equal(t, held, eval[string](b, `document.querySelector('[role=row][data-index="20"]').dataset.key`))
	require.InDelta(t, 800, eval[float64](b, `document.querySelector('[role=table]').scrollTop`), 1)
	sh.capture(b, "held")
	b.click("button", "12 new")
	b.await(firstRow + `?.innerText.includes('{"n":211}')`)
	b.see("button", "Live")
	b.press("p")
	b.see("button", "Held")
	b.press("p")
	b.see("button", "Live")

	// A failed webhook run, from its chip to its trace.
	failed := ada.ask(t, "POST", "/v2/workspaces/"+id+"/webhooks/hook", map[string]any{"sku": "A-1"})
	correlation := failed.Header.Get("x-correlation-id")
	b.await(`document.querySelector('a[href*="/activity/` + correlation + `"]')`)
	b.click("button", "Webhooks")
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 1`)
	eval[bool](b, `(() => { `+firstRow+`.focus(); return true })()`)
	b.press("Enter")
	b.see("heading", "runtime.webhooks.triggered")
	sh.capture(b, "event")
	b.press("Escape")
	b.gone("heading", "runtime.webhooks.triggered")
	b.press("c")
	b.awaitAt("w/" + id + "/activity/" + correlation)
	b.see("heading", "error")
	b.await(`document.querySelector('[role=treeitem][aria-selected=true]')?.textContent.trim().startsWith('error')`)
	b.await(`[...document.querySelectorAll('[role=treeitem]')].some((item) => item.textContent.trim().startsWith('hookendpoint hook'))`)
	b.await(`[...document.querySelectorAll('[role=treeitem]')].some((item) => item.textContent.trim().startsWith('hook.began'))`)
	sh.capture(b, "trace")
	b.click("tab", "Tree")
	b.await(`document.querySelector('.axis.plain')`)
	b.click("tab", "Table 5")
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 5`)
	b.walkFocus()

	b.visit("w/" + id + "/activity/00000000-0000-0000-0000-000000000000")
	b.see("heading", "No events with this id")
	sh.capture(b, "no trace")
}

// #43: a thousand events a second do not freeze the feed, and it counts them right.
func TestActivityOfManyEvents(t *testing.T) {
	s := sharedService(t)
	ada := s.person(t, "Ada")
	id := ada.workspace(t, "Busy")
	b := s.open(t)
	b.signIn(ada)
	b.visit("w/" + id + "/activity?types=tick")
	b.see("button", "Live")
	eval[bool](b, `(() => { window.longest = 0; new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration) }).observe({ entryTypes: ['longtask'] }); return true })()`)

	const perRound = 10_000
	sent, calm := 0, false
	// Other tests may take the processor from the page: one calm round of three shows what the page does itself.
	for range 3 {
		eval[bool](b, `(() => { window.longest = 0; return true })()`)
		ada.emit(t, id, "tick", sent, perRound)
		sent += perRound
		b.await(fmt.Sprintf(`%s?.innerText.includes('{"n":%d}')`, firstRow, sent-1))
		if calm = eval[float64](b, `window.longest`) <= 200; calm {
			break
		}
	}
	require.True(t, calm, "a task took %v ms", eval[float64](b, `window.longest`))
	require.Equal(t, 2000, eval[int](b, `Number(document.querySelector('[role=table]').getAttribute('aria-rowcount')) - 1`))
	b.seeText(fmt.Sprintf("%d,000 events in the last 24 hours", sent/1000))
	b.seeText("The newest 2,000 are held.")
}

// #44: what is exported is what the filter matches, and how many is said first.
func TestActivityExport(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada := s.person(t, "Ada")
	id := ada.workspace(t, "Export")
	ada.emit(t, id, "order.paid", 0, 120)
	ada.emit(t, id, "order.late", 0, 30)
	sh := newSheet(t, "activity-export")
	b := s.open(t)
	b.signIn(ada)
	b.visit("w/" + id + "/activity?types=order.paid")
	b.keepFiles()
	b.click("button", "Export")
	b.seeText("120 events match the filter.")
	sh.capture(b, "count")
	b.click("button", "Download 120 events")
	b.seeText("120 events saved.")
	lines := strings.Split(strings.TrimSpace(b.savedFile()), "\n")
	require.Len(t, lines, 120)
	for _, line := range lines {
		require.Contains(t, line, `"type":"order.paid"`)
	}
	b.click("radio", "CSV, one row for each event with its payload as JSON")
	b.click("button", "Download 120 events")
	b.await(`window.savedFiles.length > 0`)
	require.Len(t, strings.Split(strings.TrimSpace(b.savedFile()), "\r\n"), 121)
}
