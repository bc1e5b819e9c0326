//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The budgets of section 6.4 that a browser measures. Those of bytes are checked by make
// web-check. The machine may have other things to do, so that the best of some tries counts: a
// budget fails when it is never met.

// best repeats a measurement until it is within a limit, and fails when it never is.
func best(t *testing.T, what string, limit float64, measure func() float64) {
	t.Helper()
	var all []float64
	for range 12 {
		if all = append(all, measure()); all[len(all)-1] <= limit {
			t.Logf("%s: %.0f ms, %.0f allowed", what, all[len(all)-1], limit)
			return
		}
	}
	require.Fail(t, "over budget: "+what, "%.0f ms allowed, took %.0f", limit, all)
}

// Check 2: with a cold cache the first paint comes within a second, and only what is needed is
// loaded, from here and compressed.
func TestColdStart(t *testing.T) {
	s := sharedService(t)
	best(t, "first paint", 1000, func() float64 {
		b := s.open(t)
		b.do(chromedp.Navigate(s.base + "/console/"))
		b.see("textbox", "E-mail")
		b.await(`performance.getEntriesByName('first-contentful-paint').length === 1`)
		bytes := eval[float64](b, `performance.getEntriesByType('resource').filter((e) => e.name.endsWith('.js')).reduce((sum, e) => sum + e.encodedBodySize, 0)`)
		require.Less(t, bytes, 100_000.0, "bytes of script for the sign-in")
		require.Equal(t, "br", eval[string](b, `fetch(document.querySelector('script[type=module]').src).then((r) => r.headers.get('content-encoding'))`))
		return eval[float64](b, `performance.getEntriesByName('first-contentful-paint')[0].startTime`)
	})
}

// timed is an expression: the time from a click on a link until an expression holds in a
// frame.
func timed(link, until string) string {
	return fmt.Sprintf(`(async () => {
		const from = performance.now();
		document.querySelector(%q).click();
		while (!(%s)) await new Promise(requestAnimationFrame);
		return performance.now() - from;
	})()`, link, until)
}

// A screen that was open before is there within 200 ms, and the editor within 700.
func TestScreensChangeQuickly(t *testing.T) {
	ada := sharedService(t).person(t, "Ada")
	id := ada.sample(t)
	b := ada.open(t)
	title := func(path string) string {
		b.visit(path)
		b.awaitLayout()
		return eval[string](b, `document.querySelector('h1').textContent`)
	}
	const idle = ` && !document.querySelector('main [aria-busy=true]')`
	waits, automations := title("w/"+id+"/waits"), title("w/"+id+"/automations")
	best(t, "route change", 200, func() float64 {
		took := eval[float64](b, timed(`nav a[href$="/waits"]`, fmt.Sprintf(`document.querySelector('h1')?.textContent === %q`, waits)+idle))
		eval[float64](b, timed(`nav a[href$="/automations"]`, fmt.Sprintf(`document.querySelector('h1')?.textContent === %q`, automations)+idle))
		return took
	})
	const editor = `(function find(root) { return root.querySelector('.cm-content') ?? [...root.querySelectorAll('*')].map((e) => e.shadowRoot && find(e.shadowRoot)).find(Boolean) })(document)`
	best(t, "editor ready", 700, func() float64 {
		b.visit("w/" + id + "/automations")
		b.await(`document.querySelector('main a[href$="/automations/submit"]')`)
		return eval[float64](b, timed(`main a[href$="/automations/submit"]`, editor))
	})
}

// watchInteractions notes how long each interaction of a page takes, on a machine four times slower.
func (b *tab) watchInteractions() {
	eval[bool](b, `(() => { window.taken = []; new PerformanceObserver((list) => { for (const e of list.getEntries()) if (e.interactionId) window.taken.push(e.duration) }).observe({ type: 'event', durationThreshold: 16 }); return true })()`)
	call(b, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: 4})
}

// slowest returns what 95 of 100 interactions took at most since the last call.
func (b *tab) slowest() float64 {
	taken := eval[[]float64](b, `window.taken.splice(0)`)
	if len(taken) == 0 { // all were quicker than what is measured
		return 0
	}
	slices.Sort(taken)
	return taken[len(taken)*95/100]
}

// On a machine four times slower, 95 of 100 interactions are answered within 100 ms. What a page
// takes that does nothing with a key is not the console's: on a busy machine that is more than a
// frame.
func TestInteractionsAreQuick(t *testing.T) {
	s := sharedService(t)
	ada := s.person(t, "Ada")
	id := ada.sample(t)
	b := ada.open(t)
	b.visit("w/" + id)
	b.awaitLayout()
	b.watchInteractions()
	empty := s.open(t)
	empty.do(chromedp.Navigate("data:text/html,<h1>Nothing</h1><input autofocus>"))
	empty.watchInteractions()
	const frame = 16.7
	best(t, "95 of 100 interactions", 100, func() float64 {
		empty.write("activity waits submit")
		b.press("Control+k")
		b.awaitFocus("combobox", "Search or do something")
		b.write("activity waits submit")
		b.press("ArrowDown", "ArrowUp", "Escape")
		b.press("?", "Escape")
		b.awaitLayout()
		empty.write("activity waits submit")
		nothing, took := empty.slowest(), b.slowest()
		t.Logf("%.0f ms, and %.0f ms where nothing is done", took, nothing)
		return took - max(nothing-frame, 0)
	})
}

// An hour of live tail holds less than 150 MB. The hour is its events: 14 a second, 50,000 in all,
// of half a kB each, that come through the open feed as fast as they are taken; what a feed keeps
// depends on them and not on the time.
func TestAnHourOfLiveTailIsSmall(t *testing.T) {
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Tail")
	b := ada.open(t)
	b.visit("w/" + id + "/activity?types=tick")
	b.see("button", "Live")
	b.awaitLayout()
	heap := func() float64 {
		call(b, heapprofiler.CollectGarbage, cdp.Empty{})
		return call(b, runtime.GetHeapUsage, cdp.Empty{}).UsedSize / (1 << 20)
	}
	before := heap()
	const events, atOnce = 50_000, 1000
	text := strings.Repeat("half a kB of payload ", 24)
	for first := 0; first < events; first += atOnce {
		batch := make([]map[string]any, 100)
		for round := range atOnce / len(batch) {
			for i := range batch {
				batch[i] = map[string]any{"type": "tick", "payload": map[string]any{"n": first + round*len(batch) + i, "text": text}}
			}
			ada.do(t, http.StatusCreated, "POST", "/v2/workspaces/"+id+"/events", map[string]any{"events": batch})
		}
		// The feed keeps up, so that all of them come through it.
		b.await(fmt.Sprintf(`%s?.innerText.includes('{"n":%d,')`, firstRow, first+atOnce-1))
	}
	b.seeText("50,000 events in the last 24 hours")
	after := heap()
	t.Logf("heap: %.1f MB before, %.1f MB after %d events; 150 MB allowed", before, after, events)
	require.Less(t, after, 150.0, "MB of heap")
	require.Equal(t, 2000, eval[int](b, `Number(document.querySelector('[role=table]').getAttribute('aria-rowcount')) - 1`))
}
