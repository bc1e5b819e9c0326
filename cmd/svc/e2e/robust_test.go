//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/require"
)

// Check 9, the events: those that were recorded while the page had no connection are there
// once it is back, once each and in order.
func TestRestartLosesNoEvent(t *testing.T) {
	t.Parallel()
	s := startService(t)
	ada := s.person(t, "Ada")
	id := ada.workspace(t, "Shop")
	b := ada.open(t)
	b.visit("w/" + id + "/activity?types=tick.*")
	b.await(`document.querySelector('.dot.live')`)
	shown := func() string {
		return strings.Join(eval[[]string](b, `document.body.innerText.match(/tick\.\d+/g) ?? []`), " ")
	}
	for n := range 3 {
		ada.emit(t, id, fmt.Sprintf("tick.%d", n), 0, 1)
	}
	b.until("the first events", func(context.Context) bool { return shown() == "tick.2 tick.1 tick.0" })
	s.stop(t)
	b.seeText("Reconnecting. Last update")
	require.NoError(t, s.start())
	for n := 3; n < 8; n++ { // the page waits some seconds before it tries again
		ada.emit(t, id, fmt.Sprintf("tick.%d", n), 0, 1)
	}
	b.await(`document.querySelector('.dot.live') && !document.body.innerText.includes('Reconnecting')`)
	b.until("all events", func(context.Context) bool { return strings.HasPrefix(shown(), "tick.7 ") })
	ada.emit(t, id, "tick.8", 0, 1)
	b.until("the next event", func(context.Context) bool { return strings.HasPrefix(shown(), "tick.8 ") })
	require.Equal(t, "tick.8 tick.7 tick.6 tick.5 tick.4 tick.3 tick.2 tick.1 tick.0", shown())
}

// Check 11: a pane that throws says so in its place, the others work, and it can be loaded again.
func TestAPaneThatThrows(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada := s.person(t, "Ada")
	id := ada.sample(t)
	sh := newSheet(t, "boundary")
	b := s.open(t).allow("no times today")
	b.signIn(ada)
	// Times cannot be told for a while: panes that show some are faulty then.
	script := call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `{ const format = Intl.RelativeTimeFormat.prototype.format; Intl.RelativeTimeFormat.prototype.format = function (...args) { if (!window.mended) throw new Error('no times today'); return format.apply(this, args) } }`,
	})
	b.visit("w/" + id)
	b.see("button", "Reload pane")
	b.see("link", "Home")
	sh.capture(b, "boundary")
	b.press("Control+k")
	b.awaitFocus("combobox", "Search or do something")
	b.press("Escape")
	eval[bool](b, `window.mended = true`)
	for b.has("button", "Reload pane") {
		b.click("button", "Reload pane")
		b.awaitLayout()
	}
	b.seeText("Recent changes")
	b.await(`document.querySelectorAll('time').length > 0`)
	call(b, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams{Identifier: script.Identifier})
}
