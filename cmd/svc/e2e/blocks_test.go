//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/require"
)

// blockSection is a block in docs/pages.md: its heading, its picture and its YAML.
var blockSection = regexp.MustCompile("(?s)### (\\w+)\n\n!\\[\\w+\\]\\(pages/([\\w-]+\\.png)\\)\n\n```yaml\n(.*?)```")

// pictureWidth is that of the pictures of blocks.
const pictureWidth = 720

// The pictures of docs/pages.md: each block as its YAML there makes it. SVC_BLOCKS_DIR is where those go that are kept.
func TestBlockPictures(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/pages.md")
	require.NoError(t, err)
	dir := os.Getenv("SVC_BLOCKS_DIR")
	if dir == "" {
		dir = filepath.Join(outputDir(), "blocks")
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	s := sharedService(t).person(t, "Ada").site(t, "Pictures")
	b := s.s.open(t)
	b.prefer("light")
	picture := strings.NewReplacer("https://example.org/bed.png", drawnPicture(t, 320, 120))
	for _, section := range blockSection.FindAllStringSubmatch(string(text), -1) {
		kind, file, block := section[1], section[2], strings.TrimSpace(picture.Replace(section[3]))
		s.page(t, fmt.Sprintf("slug: %s\nname: %s\nblocks:\n  - %s\n", kind, kind, strings.ReplaceAll(block, "\n", "\n    ")))
		b.resize(pictureWidth, 900)
		b.visitPage(s, "/"+kind)
		b.await(`document.querySelector('#svc-page > *')`, kind)
		height := eval[int](b, `Math.ceil(document.querySelector('#svc-page').lastElementChild.getBoundingClientRect().bottom) + 16`)
		switch kind { // what lies over the page
		case "Modal":
			height = 320
			b.resize(pictureWidth, 320)
			b.click("button", "Show the calendar")
			b.see("dialog", "Planting calendar")
		case "Toast":
			height = 200
			b.resize(pictureWidth, 200)
			b.awaitLive()
			b.click("button", "Save")
			b.seeText("Your order is saved.")
		}
		b.awaitLayout()
		got := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{
			Format: page.CaptureScreenshotFormatPng, Clip: &page.Viewport{Width: pictureWidth, Height: float64(height), Scale: 1},
		})
		require.Less(t, len(got.Data), 60<<10, "%s: pictures of documents are small", kind)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), got.Data, 0o644))
	}
}
