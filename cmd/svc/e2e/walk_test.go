//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/require"
)

// walk is the sequence of pictures of docs/console.md.
type walk struct {
	b     *tab
	dir   string
	count int
}

// takePicture takes the next picture.
func (w *walk) takePicture(name string) {
	w.b.t.Helper()
	w.count++
	w.b.savePicture(filepath.Join(w.dir, fmt.Sprintf("%d-%s.webp", w.count, name)))
}

// savePicture writes a picture of the page: small, because it is kept with the documents.
func (b *tab) savePicture(file string) {
	b.t.Helper()
	b.awaitLayout()
	quality := int64(82)
	got := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
	require.NoError(b.t, os.WriteFile(file, got.Data, 0o644))
}

// tabTo presses Tab until an element has the focus. In the editor Tab indents: Esc leaves it.
func (b *tab) tabTo(role, name string) {
	b.t.Helper()
	for range 60 {
		at := b.focused()
		if at.Role == role && at.Name == name {
			return
		}
		if strings.HasPrefix(at.Name, "Text of ") {
			b.press("Escape")
		}
		b.press("Tab")
	}
	require.Fail(b.t, "Tab does not reach it", "%s %q\n%s", role, name, b.outline())
}

// The walk of docs/console.md, and #5: somebody who has just started the service for the first
// time signs in, makes a workspace and an automation, runs it and sees its trace. Keys only.
// SVC_WALK_DIR is where the pictures go that are kept.
func TestWalk(t *testing.T) {
	t.Parallel()
	s := startService(t, "ADMIN_PASSWORD=")
	printed := regexp.MustCompile(`admin@localhost\s+password:\s+(\S+)`).FindStringSubmatch(s.logTail())
	require.Len(t, printed, 2, "the first start shows the password: %s", s.logTail())
	dir := os.Getenv("SVC_WALK_DIR")
	if dir == "" {
		dir = filepath.Join(outputDir(), "walk")
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))

	b := s.open(t)
	b.resize(1120, 700)
	w := &walk{b: b, dir: dir}
	began := time.Now()

	b.visit("")
	b.awaitFocus("textbox", "E-mail")
	b.write("admin@localhost")
	b.press("Tab")
	b.write(printed[1])
	w.takePicture("sign-in")
	b.press("Enter")

	b.see("heading", "Begin with a workspace")
	w.takePicture("workspaces")
	b.press("n")
	b.awaitFocus("textbox", "Name")
	b.write("Web shop")
	w.takePicture("new-workspace")
	b.press("Enter")

	b.see("heading", "Web shop")
	b.see("heading", "First steps")
	w.takePicture("home")
	b.press("n")
	b.see("dialog", "New automation")
	b.awaitFocus("textbox", "Name")
	b.press("Tab", "ArrowDown")
	b.until("the example is chosen", func(context.Context) bool { return b.focused().Role == "radio" })
	w.takePicture("new-automation")
	b.press("Control+Enter")
	b.await(`document.querySelector('.editor .host')?.shadowRoot?.querySelector('.cm-content')`, "the editor")
	b.see("tab", "Run")
	w.takePicture("editor")
	b.press("Control+Enter")
	b.seeText("Succeeded")
	b.seeText("Hello Ada")
	w.takePicture("output")

	b.tabTo("tab", "Run")
	b.press("ArrowRight", "ArrowRight") // past the graph
	b.awaitFocus("tab", "Trace")
	b.await(`document.querySelector('[role=tabpanel] [role=tree], [role=tabpanel] [role=treegrid], [role=tabpanel] ol')`, "the trace")
	w.takePicture("trace")

	b.press("Escape", "g", "h")
	b.see("heading", "Web shop")
	b.await(`document.querySelector('[data-step=automation][data-done=true]') && document.querySelector('[data-step=run][data-done=true]')`, "both steps are ticked")
	w.takePicture("ticked")
	t.Logf("from the sign-in to the trace and back home: %s", time.Since(began))
}
