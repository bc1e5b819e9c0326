//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	quickRun = "slug: quick\nname: Quick\nwhen: {endpoint: true}\ndo: [{wait: {timeout: 0.02}}]\noutput: done\n"
	badRun   = "slug: bad\nname: Bad\ndo: [{set: {name: text, value: '{'}}, {set: {name: parsed, value: '{% json({{text}}) %}'}}]\n"
)

// awaitCount waits until a search finds n events of a type.
func (p *person) awaitCount(t *testing.T, workspace, kind string, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		found := p.do(t, http.StatusOK, "POST", "/v2/workspaces/"+workspace+"/search", map[string]any{"query": map[string]any{"term": map[string]any{"type": kind}}, "limit": 0})
		return found["size"] == float64(n)
	}, patience, 20*time.Millisecond, "%d events %s", n, kind)
}

// #55: the numbers are those of the API, charts are tables too, and a bar opens Activity there.
func TestObservability(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Shop", quickRun, badRun)
	w := "/v2/workspaces/" + id
	sh := newSheet(t, "observability")
	b := ada.open(t)
	b.visit("w/" + id)
	b.see("heading", "Recent changes")
	b.press("g", "o")
	b.awaitAt("w/" + id + "/observability")
	b.see("heading", "Nothing ran in this period")
	sh.capture(b, "empty")

	for range 3 {
		require.Equal(t, http.StatusOK, ada.ask(t, "GET", w+"/webhooks/quick", nil).StatusCode)
	}
	for range 2 {
		require.NotEqual(t, http.StatusOK, ada.ask(t, "POST", w+"/test/bad", map[string]any{"payload": map[string]any{}}).StatusCode)
	}
	ada.awaitCount(t, id, "runtime.automations.executed", 5)
	b.visit("w/" + id + "/observability?period=1h")
	number := func(name string) string {
		return `document.querySelector('[data-number=` + name + `] strong')?.textContent`
	}
	b.await(number("errors")+` === '40%'`, "two of five failed")
	b.await(number("people") + ` === '1'`)
	b.await(number("runs") + ` === '0.08'`)
	b.seeText("5 runs and 2 errors in this period.")
	asked := ada.do(t, http.StatusOK, "POST", w+"/search", map[string]any{
		"query": map[string]any{"term": map[string]any{"type": "runtime.automations.executed"}}, "limit": 0,
		"aggs": map[string]any{"d": map[string]any{"percentiles": map[string]any{"field": "payload.duration", "percents": []any{50}}}},
	})
	p50 := asked["aggs"].(map[string]any)["d"].(map[string]any)["values"].(map[string]any)["50.0"].(float64)
	b.await(fmt.Sprintf(`%s === '%.0f ms'`, number("p50"), p50), "the median is that of the API")
	b.see("link", "bad")
	sh.capture(b, "filled")

	// The same as a table.
	b.click("button", "Table")
	b.await(`[...document.querySelectorAll('figure table tbody tr')].reduce((sum, row) => sum + Number(row.cells[1].textContent), 0) === 5`, "the table has all runs")
	sh.capture(b, "table")
	b.click("button", "Table")

	// By keys to the bar, and on to Activity.
	b.await(`(() => { const plot = document.querySelector('[role=slider]'); plot.focus(); return document.activeElement === plot })()`)
	b.press("End")
	b.await(`document.querySelector('.chosen')`)
	for range 5 { // the runs may be in an earlier minute
		if eval[bool](b, `!/Runs 0, Errors 0/.test(document.querySelector('[role=slider]').getAttribute('aria-valuetext'))`) {
			break
		}
		b.press("ArrowLeft")
	}
	b.press("Enter")
	b.await(`location.pathname.endsWith('/activity') && location.search.includes('afterDate=') && location.search.includes('beforeDate=')`)
	b.seeText("runtime.interactions.triggered")

	// A period of one's own: nothing ran then.
	b.visit("w/" + id + "/observability?afterDate=2020-01-01T00:00:00Z&beforeDate=2020-01-02T00:00:00Z")
	b.see("heading", "Nothing ran in this period")
	b.await(`document.querySelectorAll('input[type=datetime-local]').length === 2`)
	sh.capture(b, "own period")
	b.click("button", "1 hour")
	b.await(number("errors") + ` === '40%'`)
}

// Without the right to statistics the screen is not in the menu; in a locked workspace and in French it shows the same.
func TestStatesOfObservability(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, eve := s.person(t, "Ada"), s.person(t, "Eve")
	id := ada.workspace(t, "Shop", badRun)
	w := "/v2/workspaces/" + id
	ada.do(t, http.StatusOK, "PUT", w+"/security", map[string]any{"authorizations": map[string]any{
		"roles": map[string]any{"guest": map[string]any{}}, "rules": []any{map[string]any{"role": "guest", "action": []any{"read"}, "subject": []any{"workspaces"}}},
	}})
	ada.share(t, id, eve, map[string]any{"role": "guest"})
	ada.ask(t, "POST", w+"/test/bad", map[string]any{"payload": map[string]any{}})
	ada.awaitCount(t, id, "runtime.automations.executed", 1)
	sh := newSheet(t, "observability-states")
	guest := eve.open(t)
	guest.visit("w/" + id + "/observability")
	guest.seeText("You need the right to see statistics of this workspace here.")
	require.False(t, guest.has("link", "Observability"))
	sh.capture(guest, "forbidden")

	b := ada.open(t)
	ada.do(t, http.StatusOK, "POST", w+"/writeLock", map[string]any{"reason": "Release freeze"})
	b.visit("w/" + id + "/observability")
	b.seeText("Release freeze")
	b.see("link", "bad")
	sh.capture(b, "locked")
	ada.do(t, http.StatusOK, "DELETE", w+"/writeLock", nil)
	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	b.visit("w/" + id + "/observability")
	b.await(`document.documentElement.lang === 'fr'`)
	b.see("link", "bad")
	sh.capture(b, "French")
}
