//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	cdpio "github.com/chromedp/cdproto/io"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
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
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Shop <b>one</b>", failingHook)
	sh := newSheet(t, "activity")
	b := ada.open(t)

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
	b.click("link", correlation[:6]+"…")
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

	// The same by its key.
	b.visit("w/" + id + "/activity?types=runtime.webhooks.triggered")
	b.await(firstRow)
	eval[bool](b, `(() => { `+firstRow+`.focus(); return true })()`)
	b.press("c")
	b.awaitAt("w/" + id + "/activity/" + correlation)

	b.visit("w/" + id + "/activity/00000000-0000-0000-0000-000000000000")
	b.see("heading", "No events with this id")
	sh.capture(b, "no trace")
}

// The histogram chooses a period by pointer and by keys, filters are added, named and opened again,
// and all of it is the address.
func TestActivityFilters(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Filters")
	ada.emit(t, id, "order.paid", 0, 30)
	ada.emit(t, id, "order.late", 0, 5)
	sh := newSheet(t, "activity-filters")
	b := ada.open(t)
	feed := "w/" + id + "/activity"
	b.visit(feed + "?types=order.*")
	b.seeText("35 events in the last 24 hours")

	// By keys: the last bar has what happened now; three more before it make a period.
	b.press("Tab")
	call(b, dom.Focus, dom.FocusParams{BackendNodeID: b.see("slider", "Events over time").node})
	b.press("End", "Shift+ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowLeft")
	b.await(`document.querySelectorAll('.histogram .bar.chosen').length === 4`)
	sh.capture(b, "bars chosen")
	b.press("Escape")
	b.await(`document.querySelectorAll('.histogram .bar.chosen').length === 0`)
	b.press("End", "Shift+ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowLeft", "Enter")
	b.await(`/afterDate=.*beforeDate=/.test(location.search)`)
	b.seeText("35 events in this period")
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 35`)
	chosen := b.where()
	sh.capture(b, "period")
	require.Empty(t, eval[string](b, `new URLSearchParams(location.search).get('period') ?? ''`))

	// By pointer: from the first bar to a third of the way there is nothing.
	b.visit(feed + "?types=order.*&period=15m")
	b.seeText("35 events in the last 15 minutes")
	box := eval[[]float64](b, `(() => { const r = document.querySelector('.histogram .plot').getBoundingClientRect(); return [r.left, r.top + r.height / 2, r.width] })()`)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, box[0]+2, box[1], chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box[0]+box[2]/3, box[1], chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, box[0]+box[2]/3, box[1], chromedp.ButtonLeft))
	b.see("heading", "No match")
	b.await(`/afterDate=.*beforeDate=/.test(location.search)`)
	b.see("button", "Past period")

	// Back and a pasted link give the same view.
	b.visit(strings.TrimPrefix(chosen, "/console/"))
	b.seeText("35 events in this period")

	// A filter by a field, by the dialog and by words.
	b.visit(feed)
	b.click("button", "Add filter")
	b.see("dialog", "Add filter")
	b.click("combobox", "Filter by")
	b.press("End", "Enter")
	b.fillAs("combobox", "Field", "payload")
	b.fillAs("combobox", "Value", "7")
	b.press("Control+Enter")
	b.seeText("A path with a dot is wanted here, such as payload.status.")
	sh.capture(b, "add filter")
	b.fillAs("combobox", "Field", "payload.n")
	b.press("Control+Enter")
	b.awaitAt("w/" + id + "/activity?payload.n=7")
	b.awaitFocus("button", "Add filter")
	b.await(`document.querySelector('.bar')`)
	b.press("/")
	b.awaitFocus("searchbox", "Filter events by words")
	b.write("type:order.paid")
	b.press("Enter")
	b.awaitAt("w/" + id + "/activity?types=order.paid&payload.n=7")
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 1`)

	// It gets a name, is opened again by it, and is forgotten.
	b.click("button", "Named filters")
	b.click("menuitem", "Name this filter…")
	b.see("dialog", "Name this filter…")
	b.press("Control+Enter")
	b.seeText("This is required.")
	b.fill("Name", "Seven <b>paid</b>")
	sh.capture(b, "name")
	b.press("Control+Enter")
	b.gone("dialog", "Name this filter…")
	b.visit(feed)
	b.click("button", "Named filters")
	b.see("menuitemradio", "Seven <b>paid</b>")
	sh.capture(b, "named")
	b.click("menuitemradio", "Seven <b>paid</b>")
	b.awaitAt("w/" + id + "/activity?types=order.paid&payload.n=7")
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 1`)
	b.click("button", "Named filters")
	b.click("menuitem", "Manage named filters…")
	b.see("dialog", "Named filters")
	sh.capture(b, "manage")
	b.click("button", "Delete the named filter Seven <b>paid</b>")
	b.gone("dialog", "Named filters")
	b.click("button", "Remove the filter payload.n: 7")
	b.awaitAt("w/" + id + "/activity?types=order.paid")
	b.click("button", "Clear filter")
	b.awaitAt(feed)
}

// What is typed where the focus was before a dialog is never lost: neither right after Esc closed
// the palette, nor when Esc comes before it is there.
func TestTypingGoesOnAfterDialogs(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Typing", failingHook)
	for _, at := range []string{"w/" + id + "/activity", "w/" + id + "/automations", "workspaces"} {
		b := ada.open(t)
		b.visit(at)
		b.await(`document.querySelector('input[type=search]')`)
		typed := ""
		for round := range 6 {
			eval[bool](b, `(document.querySelector('input[type=search]').focus(), true)`)
			b.write("a")
			b.press("Control+k")
			if round%2 == 1 {
				b.awaitFocus("combobox", "Search or do something")
				b.write("x")
			}
			b.press("Escape")
			b.write("b")
			typed += "ab"
			b.await(`!document.querySelector('dialog[open]')`)
			require.Equal(t, typed, eval[string](b, `document.querySelector('input[type=search]').value`), "%s, round %d", at, round)
		}
	}

	// A dialog that is closed by its button gives the focus back as one that is closed by Esc.
	b := ada.open(t)
	b.visit("w/" + id + "/activity")
	for _, close := range []func(){func() { b.press("Escape") }, func() { b.click("button", "Close") }} {
		call(b, dom.Focus, dom.FocusParams{BackendNodeID: b.see("button", "Export").node})
		b.press("Enter")
		b.see("dialog", "Export events")
		close()
		b.gone("dialog", "Export events")
		b.awaitFocus("button", "Export")
	}
	call(b, dom.Focus, dom.FocusParams{BackendNodeID: b.see("button", "Add filter").node})
	b.press("Enter")
	b.see("dialog", "Add filter")
	b.click("button", "Cancel")
	b.gone("dialog", "Add filter")
	b.awaitFocus("button", "Add filter")
}

// A position that expired starts the list anew and marks the gap; a payload that was cut or erased
// says so and by which setting.
func TestActivityThatIsNotWhole(t *testing.T) {
	t.Parallel()
	const key = "q8Zt3Lw0Vb7Yx2Nc5Rk9Hs4Jd6Fg1PmUe7Ta"
	s := startService(t, "INTERNAL_API_KEY="+key, "BROKER_EMIT_EXECUTED_AUTOMATION_MAXLEN=600")
	ada := s.person(t, "Ada")
	id := ada.workspace(t, "Not whole", "slug: large\nname: Large\nwhen:\n  endpoint: true\ndo: []\noutput: '{{body}}'\n")
	clean := func(job string, body any) {
		t.Helper()
		content, err := json.Marshal(body)
		require.NoError(t, err)
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.base+"/sys/cleanup/"+job, bytes.NewReader(content))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("x-svc-api-key", key)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		said, _ := io.ReadAll(res.Body)
		require.Equal(t, http.StatusOK, res.StatusCode, "%s", said)
	}
	sh := newSheet(t, "activity-not-whole")
	b := ada.open(t)

	ada.do(t, http.StatusOK, "POST", "/v2/workspaces/"+id+"/webhooks/large", map[string]any{"text": strings.Repeat("long ", 400)})
	b.visit("w/" + id + "/activity?types=runtime.automations.executed")
	b.await(firstRow)
	eval[bool](b, `(() => { `+firstRow+`.focus(); return true })()`)
	b.press("Enter")
	b.seeText("The payload was cut when the event was recorded")
	b.seeText("BROKER_EMIT_EXECUTED_AUTOMATION_MAXLEN")
	sh.capture(b, "truncated")

	ada.do(t, http.StatusOK, "POST", "/v2/workspaces/"+id+"/webhooks/large", map[string]any{"text": "short"})
	clean("executions", map[string]any{"automationExecutedExpiration": "0ms"})
	b.visit("w/" + id + "/activity?types=runtime.automations.executed")
	b.await(firstRow)
	eval[bool](b, `(() => { `+firstRow+`.focus(); return true })()`)
	b.press("Enter")
	b.seeText("Payload and output of executions are erased by the cleanup")
	b.seeText("EVENTS_CLEANUP_AUTOMATION_EXECUTED_EXPIRATION")
	sh.capture(b, "stripped")

	// The stream is cut off, meanwhile events come and go.
	b.visit("w/" + id + "/activity")
	b.see("button", "Live")
	ada.emit(t, id, "order.paid", 0, 3)
	b.await(firstRow + `?.innerText.includes('{"n":2}')`)
	call(b, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: "*://*:*/v2/workspaces/*/events/stream*", Block: true}}})
	s.stop(t)
	b.see("button", "Reconnecting")
	b.seeText("Reconnecting. Last update")
	sh.capture(b, "reconnecting")
	require.NoError(t, s.start())
	ada.emit(t, id, "order.lost", 0, 3)
	clean("indices", map[string]any{"retention": 0, "workspaceMaxEvents": -1})
	ada.emit(t, id, "order.paid", 10, 3)
	call(b, network.SetBlockedURLs, network.SetBlockedURLsParams{})
	b.seeText("Events may be missing here")
	b.seeText("The live position had expired")
	b.see("button", "Live")
	b.await(`['{"n":12}', '{"n":11}', '{"n":10}', 'Events may be missing here', 'workspaces.created'].every((text, i, all) => { const rows = [...document.querySelectorAll('[role=row][data-index]')].map((row) => row.innerText); const at = (one) => rows.findIndex((row) => row.includes(one)); return at(text) >= 0 && (i === 0 || at(all[i - 1]) < at(text)) })`, "the gap in its place")
	b.await(`!document.body.innerText.includes('Reconnecting')`)
	sh.capture(b, "gap")
	ada.emit(t, id, "order.paid", 20, 1)
	b.await(firstRow + `?.innerText.includes('{"n":20}')`)
	require.Equal(t, 1, eval[int](b, `[...document.querySelectorAll('[role=row][data-index]')].filter((row) => row.innerText.includes('Events may be missing')).length`))
	require.NotEmpty(t, b.requests("GET /v2/workspaces/"+id+"/events/stream"))
}

// #43: a thousand events a second for ten seconds do not freeze the feed, and it counts them
// right. The service, the browser and whatever else runs share two cores, so that a task of the
// page may take long because it waits for one of them. What counts is the time that the thread of
// the page itself worked in its longest task, which the browser traces; what passed meanwhile is
// logged beside it.
func TestActivityOfManyEvents(t *testing.T) {
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Busy")
	b := ada.open(t)
	b.visit("w/" + id + "/activity?types=tick")
	b.see("button", "Live")
	b.awaitLayout()

	const perSecond, seconds, total = 1000, 10, 10_000
	trace := b.traceTasks()
	began := time.Now()
	ada.emitPaced(t, id, "tick", perSecond, seconds)
	took := time.Since(began)
	b.await(fmt.Sprintf(`document.querySelector('.histogram')?.innerText.includes('%s events')`, "10,000"))
	held := `Number(document.querySelector('[role=table]').getAttribute('aria-rowcount')) - 1`
	b.await(held + ` === 2000`)
	b.seeText("10,000 events in the last 24 hours")
	b.seeText("The newest 2,000 are held.")
	worked, passed := trace()
	t.Logf("%d events in %.1f s; the longest task worked %.0f ms, in which %.0f ms passed", total, took.Seconds(), worked, passed)
	require.Less(t, worked, 1000.0, "ms of work in one task: the page froze")
	require.Positive(t, worked, "tasks were traced")

	// The server has as many, and the page shows the newest of them, in order and each once.
	counted := ada.do(t, http.StatusOK, "POST", "/v2/workspaces/"+id+"/search", map[string]any{"query": map[string]any{"match_all": map[string]any{}}, "limit": 0, "track_total_hits": true, "filter": map[string]any{"types": "tick"}})
	require.EqualValues(t, total, counted["size"])
	newest := ada.do(t, http.StatusOK, "GET", "/v2/workspaces/"+id+"/events?types=tick&limit=20", nil)["result"].(map[string]any)["events"].([]any)
	for i, event := range newest {
		require.Equal(t, event.(map[string]any)["id"], eval[string](b, fmt.Sprintf(`document.querySelector('[role=row][data-index="%d"]').dataset.key`, i)))
	}
	require.LessOrEqual(t, eval[int](b, `document.querySelectorAll('[role=row][data-index]').length`), 100, "rows that are drawn")

	// The trace finds a task that works too long.
	trace = b.traceTasks()
	eval[bool](b, `new Promise((done) => setTimeout(() => { const until = performance.now() + 1500; while (performance.now() < until); setTimeout(() => done(true)) }))`)
	worked, _ = trace()
	require.Greater(t, worked, 200.0)
}

// emitPaced emits so many events a second for some seconds, in ten requests a second that do not
// wait for each other.
func (p *person) emitPaced(t *testing.T, workspace, eventType string, perSecond, seconds int) {
	t.Helper()
	every := time.NewTicker(100 * time.Millisecond)
	defer every.Stop()
	answers := make(chan string, 10*seconds)
	for round := range 10 * seconds {
		events := make([]map[string]any, perSecond/10)
		for i := range events {
			events[i] = map[string]any{"type": eventType, "payload": map[string]any{"n": round*len(events) + i}}
		}
		go func() {
			got, err := p.send(t.Context(), "POST", "/v2/workspaces/"+workspace+"/events", map[string]any{"events": events})
			switch {
			case err != nil:
				answers <- err.Error()
			case got.StatusCode != http.StatusCreated:
				answers <- string(got.body)
			default:
				answers <- ""
			}
		}()
		<-every.C
	}
	for range 10 * seconds {
		require.Empty(t, <-answers)
	}
}

// traceTasks begins to trace what the thread of the page does, and returns how to end that: with
// the longest task, as milliseconds that the thread worked and that passed.
func (b *tab) traceTasks() func() (worked, passed float64) {
	b.t.Helper()
	completed := chromedp.Events(b.ctx, tracing.TracingComplete)
	call(b, tracing.Start, tracing.StartParams{
		TransferMode: tracing.StartTransferModeReturnAsStream,
		TraceConfig:  &tracing.TraceConfig{IncludedCategories: []string{"toplevel", "__metadata"}, ExcludedCategories: []string{"*"}},
	})
	return func() (worked, passed float64) {
		b.t.Helper()
		call(b, tracing.End, cdp.Empty{})
		var trace struct {
			TraceEvents []struct {
				Name, Ph  string
				Pid, Tid  int
				Dur, Tdur float64 // microseconds that passed, and that the thread worked
				Args      struct{ Name string }
			}
		}
		for done, err := range completed {
			require.NoError(b.t, err)
			require.False(b.t, done.DataLossOccurred, "the trace is whole")
			require.NoError(b.t, json.Unmarshal(b.readStream(done.Stream), &trace))
			break
		}
		type thread struct{ pid, tid int }
		pages := map[thread]bool{}
		for _, e := range trace.TraceEvents {
			if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
				pages[thread{e.Pid, e.Tid}] = true
			}
		}
		for _, e := range trace.TraceEvents {
			if pages[thread{e.Pid, e.Tid}] && e.Ph == "X" {
				worked, passed = max(worked, e.Tdur/1000), max(passed, e.Dur/1000)
			}
		}
		return worked, passed
	}
}

// readStream reads what the browser hands over in parts.
func (b *tab) readStream(handle cdpio.StreamHandle) (content []byte) {
	b.t.Helper()
	for {
		part := call(b, cdpio.Read, cdpio.ReadParams{Handle: handle})
		if content = append(content, part.Data...); part.EOF {
			return content
		}
	}
}

// #44: what is exported is what the filter matches, and how many is said first.
func TestActivityExport(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Export")
	ada.emit(t, id, "order.paid", 0, 120)
	ada.emit(t, id, "order.late", 0, 30)
	sh := newSheet(t, "activity-export")
	b := ada.open(t)
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
