//go:build e2e

package e2e

import (
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

//go:embed testdata/axe.min.js
var axeSource string

//go:embed testdata/page.js
var pageSource string

// outputDir is where pictures go.
func outputDir() string {
	if dir := os.Getenv("SVC_E2E_DIR"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "..", ".cache", "e2e")
}

// look calls a function of testdata/page.js in the page and returns what it found.
func (b *tab) look(function string, args ...string) []string {
	b.t.Helper()
	if function == "violations" && !eval[bool](b, `typeof axe === 'object'`) {
		eval[bool](b, axeSource+`; true`)
	}
	if !eval[bool](b, `typeof svcTest === 'object'`) {
		eval[bool](b, `globalThis.svcTest = `+pageSource+`; true`)
	}
	return eval[[]string](b, fmt.Sprintf(`(async () => (await svcTest.%s(%s)) ?? [])()`, function, strings.Join(args, ", ")))
}

// awaitLayout waits until the page has its shape.
func (b *tab) awaitLayout() {
	b.t.Helper()
	b.look("settled")
}

// checkLayout asserts what holds at every width: nothing to scroll sideways, no text cut
// off, nothing that moves.
func (b *tab) checkLayout(state string) {
	b.t.Helper()
	b.awaitLayout()
	require.Empty(b.t, b.look("sideways"), "%s: the page scrolls sideways", state)
	require.Empty(b.t, b.look("clippedTexts"), "%s: texts are cut off", state)
	require.Empty(b.t, b.look("moving"), "%s: something moves although motion is reduced", state)
}

// checkAccessibility asserts that the page breaks no WCAG 2.0-2.2 A or AA rule that axe knows.
func (b *tab) checkAccessibility(state string) {
	b.t.Helper()
	require.Empty(b.t, b.look("violations"), "%s: accessibility", state)
}

// walkFocus presses Tab through the page, or through the dialog that is open, and returns
// what had the focus, in order. Each stop must show its focus, uncovered and in the window.
func (b *tab) walkFocus() (stops []element) {
	b.t.Helper()
	const most = 150
	seen := map[element]bool{}
	for range most {
		b.press("Tab")
		at := b.focused()
		if eval[bool](b, `[null, document.body, document.documentElement].includes(document.activeElement)`) || seen[at] {
			return stops
		}
		require.Empty(b.t, b.look("focusFaults"), "focus on %s %q", at.Role, at.Name)
		seen[at] = true
		stops = append(stops, at)
	}
	require.Fail(b.t, "the focus does not come back", "%v", stops)
	return nil
}

// variant is how a state is shown.
type variant struct {
	name          string
	scheme        string
	width, height int64
	axe           string // arguments of violations; "-": it is not asked again
}

var variants = []variant{
	{"wide light", "light", 1280, 800, ""},
	{"wide dark", "dark", 1280, 800, `['color-contrast', 'link-in-text-block']`},
	{"narrow dark", "dark", 360, 740, "-"},
	{"narrow light", "light", 360, 740, ""},
}

// sheet is the pictures of all states of a screen, on one sheet.
type sheet struct {
	t      *testing.T
	screen string
	rows   []sheetRow
}

type sheetRow struct {
	state    string
	pictures [][]byte // one for each variant
}

// takesPictures says that somebody may look at the pictures. They take as long as everything else, and the gate only
// checks: CI is set there.
var takesPictures = os.Getenv("CI") == ""

// newSheet begins the contact sheet of a screen. It is written when the test ends, to
// .cache/e2e/{screen}.png, with each picture beside it in a folder of that name.
func newSheet(t *testing.T, screen string) *sheet {
	t.Helper()
	sh := &sheet{t: t, screen: screen}
	t.Cleanup(sh.write)
	return sh
}

// capture checks a state and takes its pictures: light and dark, wide and narrow. The page is
// wide and light when it returns.
func (sh *sheet) capture(b *tab, state string) {
	sh.t.Helper()
	row := sheetRow{state: state}
	for _, v := range variants {
		if !takesPictures && v.axe == "-" {
			continue // its layout is that of the other scheme
		}
		b.prefer(v.scheme)
		b.resize(v.width, v.height)
		name := sh.screen + ", " + state + ", " + v.name
		b.checkLayout(name)
		if v.axe != "-" {
			require.Empty(b.t, b.look("violations", v.axe), "%s: accessibility", name)
		}
		if takesPictures {
			row.pictures = append(row.pictures, b.screenshot())
		}
	}
	b.prefer("light")
	b.resize(1280, 800)
	b.awaitLayout()
	sh.rows = append(sh.rows, row)
}

// write joins the pictures. Chromium draws the sheet.
func (sh *sheet) write() {
	if len(sh.rows) == 0 || !takesPictures {
		return
	}
	dir := filepath.Join(outputDir(), sh.screen)
	require.NoError(sh.t, os.RemoveAll(dir))
	require.NoError(sh.t, os.MkdirAll(dir, 0o755))
	var body strings.Builder
	body.WriteString(`<style>body{font:14px system-ui;margin:16px;background:#777;color:#fff}img{display:block;border:1px solid #000}td{vertical-align:top;padding:6px}h1{font-size:20px}</style>`)
	fmt.Fprintf(&body, `<h1>%s</h1><table>`, html.EscapeString(sh.screen))
	for _, row := range sh.rows {
		fmt.Fprintf(&body, `<tr><td colspan=4><b>%s</b></td></tr><tr>`, html.EscapeString(row.state))
		for i, picture := range row.pictures {
			v := variants[i]
			file := filepath.Join(dir, strings.ReplaceAll(row.state+" "+v.name, " ", "-")+".png")
			require.NoError(sh.t, os.WriteFile(file, picture, 0o644))
			fmt.Fprintf(&body, `<td>%s<img width=%d height=%d src="data:image/png;base64,%s"></td>`, v.name, v.width/2, v.height/2, base64.StdEncoding.EncodeToString(picture))
		}
		body.WriteString(`</tr>`)
	}
	body.WriteString(`</table>`)
	ctx, done := chromedp.NewContext(openBrowser(sh.t))
	defer done()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, drawn(body.String()))
	require.NoError(sh.t, err)
	require.NoError(sh.t, os.WriteFile(filepath.Join(outputDir(), sh.screen+".png"), picture, 0o644))
}

// drawn is a picture of a whole page.
func drawn(markup string) chromedp.Action[[]byte] {
	return func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		frames, err := chromedp.Call(ctx, page.GetFrameTree, struct{}{})
		if err != nil {
			return nil, err
		}
		if _, err := chromedp.EmulateViewport(1760, 900)(ctx, t); err != nil {
			return nil, err
		}
		if _, err := chromedp.Call(ctx, page.SetDocumentContent, page.SetDocumentContentParams{FrameID: frames.FrameTree.Frame.ID, HTML: markup}); err != nil {
			return nil, err
		}
		if _, err := chromedp.Evaluate[bool](`Promise.all([...document.images].map((i) => i.decode())).then(() => true)`, chromedp.EvalAwaitPromise)(ctx, t); err != nil {
			return nil, err
		}
		return chromedp.FullScreenshot(100)(ctx, t)
	}
}
