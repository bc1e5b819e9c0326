//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The checks find what they are for: a check that finds nothing in a bad page proves nothing
// about a good one.
func TestTheChecksFindFaults(t *testing.T) {
	t.Parallel()
	b := sharedService(t).open(t).allow("http://elsewhere.example")
	show := func(body string) {
		t.Helper()
		b.do(chromedp.Navigate("data:text/html," + url.PathEscape(`<!doctype html><html lang=en><title>x</title><main>`+body+`</main>`)))
	}
	show(`<h1>Fine</h1><p>This is as it should be.</p><button style="outline-offset:2px">Go on</button><p style="width:60px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap">Cut on purpose</p>`)
	for _, check := range []string{"sideways", "clippedTexts", "moving", "violations"} {
		require.Empty(t, b.look(check), check)
	}
	require.Equal(t, []element{{Role: "button", Name: "Go on"}}, withoutNodes(b.walkFocus()))

	show(`<div style="width:3000px">wide</div>`)
	require.NotEmpty(t, b.look("sideways"))
	show(`<p style="width:40px;height:20px;overflow:hidden;white-space:nowrap">This is cut off</p>`)
	require.Len(t, b.look("clippedTexts"), 1)
	show(`<style>@keyframes a{to{width:10px}}</style><p style="animation:a 60s infinite">It moves</p>`)
	require.NotEmpty(t, b.look("moving"))
	show(`<img src="data:,"><p style="color:#bbb">Hardly legible</p>`)
	found := strings.Join(b.look("violations"), "\n")
	require.Contains(t, found, "image-alt")
	require.Contains(t, found, "color-contrast")
	show(`<button style="outline:none">No ring</button>`)
	b.press("Tab")
	require.Contains(t, strings.Join(b.look("focusFaults"), "\n"), "has no visible focus")
	show(`<div style="position:fixed;inset:0;background:#fff;z-index:2"></div><button>Covered</button>`)
	b.press("Tab")
	require.Contains(t, strings.Join(b.look("focusFaults"), "\n"), "is covered")
	show(`<img alt="" src="http://elsewhere.example/pixel.png">`)
	b.until("a request to elsewhere", func(context.Context) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.refused > 0
	})
}

func withoutNodes(list []element) (plain []element) {
	for _, e := range list {
		plain = append(plain, element{Role: e.Role, Name: e.Name})
	}
	return plain
}

// The world around the service answers.
func TestTheOutsideAnswers(t *testing.T) {
	t.Parallel()
	k := webhookSink(t)
	k.answer(http.StatusTeapot)
	res, err := http.Post(k.url, "application/json", strings.NewReader(`{"a":1}`))
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusTeapot, res.StatusCode)
	require.Equal(t, `{"a":1}`, k.received()[0].body)
	require.NotEmpty(t, gitServer(t).URL)
}
