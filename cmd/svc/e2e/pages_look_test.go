//go:build e2e

package e2e

import (
	_ "embed"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

//go:embed testdata/blocks.yaml
var everyBlock string

// drawnPicture is a picture with a gradient, as the address of an image.
func drawnPicture(t *testing.T, width, height int) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, color.RGBA{uint8(60 + 80*x/width), uint8(120 + 90*y/height), uint8(90 + 40*x/width), 255})
		}
	}
	var b strings.Builder
	w := base64.NewEncoder(base64.StdEncoding, &b)
	require.NoError(t, png.Encode(w, img))
	require.NoError(t, w.Close())
	return "data:image/png;base64," + b.String()
}

// keepPicture keeps a picture of what is visible, or of the whole page, beside those of the console.
func (b *tab) keepPicture(name string, whole bool) {
	b.t.Helper()
	dir := filepath.Join(outputDir(), "pages")
	require.NoError(b.t, os.MkdirAll(dir, 0o755))
	picture := b.screenshot()
	if whole {
		var err error
		picture, err = chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		require.NoError(b.t, err)
	}
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644))
}

// Section 9 of the contract on a page with every block: no violation that axe knows in both schemes, nothing to scroll
// sideways at 320 px and at a zoom of 200 %, everything by keyboard with a visible focus.
func TestPagesWithEveryBlock(t *testing.T) {
	t.Parallel()
	s := sharedService(t).person(t, "Ada").site(t, "Garden shop")
	doc := strings.NewReplacer("{{picture}}", drawnPicture(t, 32, 32), "{{wide}}", drawnPicture(t, 320, 180)).Replace(everyBlock)
	s.page(t, doc)
	s.page(t, "slug: arabic\nname: {ar: متجر}\nblocks: [{slug: Header, title: {ar: متجر}, nav: [{text: {ar: الرئيسية}, type: internal, value: index}]}, {slug: RichText, content: {ar: مرحبا}}, {slug: Collapse, items: [{label: {ar: سؤال}, content: {ar: جواب}}]}]\n")
	b := s.s.open(t)
	b.visitLive(s, "/")

	check := func(state string, variants ...variant) {
		t.Helper()
		for _, v := range variants {
			b.prefer(v.scheme)
			b.resize(v.width, v.height)
			b.checkLayout(state + ", " + v.name)
			if v.axe != "-" {
				require.Empty(t, b.look("violations", v.axe), "%s, %s: accessibility", state, v.name)
			}
			b.keepPicture(state+" "+v.name, state == "blocks")
		}
		b.prefer("light")
		b.resize(1280, 800)
	}
	narrow := variant{"narrow dark", "dark", 320, 640, `['color-contrast', 'target-size', 'link-in-text-block']`}
	wide := variant{"wide light", "light", 1280, 800, ""}
	check("blocks", variant{"wide dark", "dark", 1280, 800, `['color-contrast', 'link-in-text-block']`}, variant{"zoomed light", "light", 640, 400, "-"}, narrow, wide)
	require.NotEmpty(t, b.walkFocus())

	// What opens.
	b.click("button", "Show the calendar")
	b.see("dialog", "Planting calendar")
	check("dialog", narrow, wide)
	b.press("Escape")
	b.click("DisclosureTriangle", "More")
	check("menu", narrow, wide)
	b.click("button", "Danger")
	b.see("dialog", "Really?")
	check("confirm", narrow, wide)
	b.press("Escape")

	// Faults of a form stand at their fields, and the first one has the focus. The browser checks first.
	b.click("button", "Order")
	require.True(t, eval[bool](b, `document.querySelector('[name=name]').matches(':invalid:focus')`))
	b.fill("Name", "A")
	b.fill("E-mail", "nobody")
	eval[bool](b, `(document.querySelectorAll('.svc-form-fields [required], [minlength]').forEach((field) => { field.required = false; field.removeAttribute('minlength'); if (field.type === 'email') field.type = 'text' }), true)`)
	b.click("button", "Order")
	b.seeText("At least 2 characters.")
	b.awaitFocus("textbox", "Name")
	require.Equal(t, "At least 2 characters.", eval[string](b, `document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent`))
	check("faults", narrow, wide)

	for _, state := range []struct{ name, path string }{{"not found", "/nothing"}, {"right to left", "/ar/arabic"}} {
		b.visitPage(s, state.path)
		b.see("main", "")
		check(state.name, narrow, wide)
	}
	require.Equal(t, "rtl", eval[string](b, `getComputedStyle(document.documentElement).direction`))
}
