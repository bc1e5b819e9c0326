//go:build browser

package oidc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/http/oidc"
)

// chrome is a real browser.
type chrome struct {
	t   *testing.T
	ctx context.Context
	dir string // for pictures: SVC_SCREENSHOTS, or where artifacts go
}

// openChrome starts Chromium, which must be there.
func openChrome(t *testing.T) *chrome {
	t.Helper()
	program, err := exec.LookPath("chromium")
	require.NoError(t, err, "this test needs chromium")
	dir := os.Getenv("SVC_SCREENSHOTS")
	if dir == "" {
		dir = t.ArtifactDir()
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	require.NoError(t, chromedp.Do(ctx))
	ctx, stop = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	return &chrome{t, ctx, dir}
}

func (c *chrome) do(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	require.NoError(c.t, chromedp.Do(c.ctx, steps...))
}

// see goes to a page and waits for an element.
func (c *chrome) see(address string, element chromedp.CSS) {
	c.t.Helper()
	c.do(chromedp.Navigate(address), chromedp.WaitVisible(element))
}

// enter types into a field and sends the form.
func (c *chrome) enter(field chromedp.CSS, text string, next chromedp.CSS) {
	c.t.Helper()
	c.do(chromedp.SendKeys(field, text+"\r"), chromedp.WaitVisible(next))
}

func (c *chrome) eval(expression string) string {
	c.t.Helper()
	text, err := chromedp.Run(c.ctx, chromedp.Evaluate[string](`String(`+expression+`)`))
	require.NoError(c.t, err)
	return text
}

// takeScreenshot takes a picture at a width, light or dark.
func (c *chrome) takeScreenshot(name string, width int64, scheme string) {
	c.t.Helper()
	c.do(chromedp.EmulateViewport(width, 820, chromedp.EmulateScale(2)), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
	picture, err := chromedp.Run(c.ctx, chromedp.FullScreenshot(100))
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(filepath.Join(c.dir, name), picture, 0o644))
}

const focused = "document.activeElement.id"

func TestSigningInWithARealBrowser(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("<h1 id=done>" + r.URL.Query().Get("state") + "</h1>"))
	}))
	t.Cleanup(app.Close)
	h := newFixture(t, func(o *oidc.Options, _ *accounts.Settings) {
		o.External = []oidc.ExternalClient{{ID: "Garden Shop", RedirectURIs: []string{app.URL + "/cb"}}}
		o.HTTP = out(t, false)
		o.Providers = []oidc.Provider{{Slug: "corp", Name: "Example Corp", ClientID: "x", Issuer: "https://corp.example", Scopes: []string{"openid"}}}
	})
	code := h.enrol(adaPass)
	shop := func(scope string) string {
		return h.url + newAuthQuery("Garden Shop", app.URL+"/cb", "scope", scope).path()
	}
	c := openChrome(t)

	c.see(h.url+byConsole().path(), "#login")
	c.takeScreenshot("signin.png", 900, "light")
	c.takeScreenshot("signin-dark.png", 900, "dark")
	c.see(shop("openid email events:read"), "#login")
	c.takeScreenshot("signin-narrow.png", 320, "light")
	require.Equal(t, "320", c.eval("document.documentElement.scrollWidth"), "nothing to scroll sideways")
	c.takeScreenshot("signin-external.png", 900, "light")
	require.Equal(t, "login", c.eval(focused))
	require.Equal(t, "380px", c.eval("getComputedStyle(document.querySelector('main')).maxWidth"), "the policy lets the style through")

	c.do(chromedp.SendKeys(chromedp.CSS("#login"), adaMail))
	c.enter("#password", "wrong password", "[role=alert]")
	c.takeScreenshot("signin-wrong.png", 900, "light")
	c.takeScreenshot("signin-wrong-dark.png", 900, "dark")
	require.Contains(t, c.eval("document.querySelector('[role=alert]').textContent"), "not right")
	require.Equal(t, "password", c.eval(focused), "the address is there already")
	c.enter("#password", adaPass, "#totp")
	c.takeScreenshot("signin-code.png", 900, "light")
	require.Equal(t, "totp", c.eval(focused))
	c.enter("#totp", "000000", "[aria-invalid]")
	require.Equal(t, "problem hint", c.eval("document.querySelector('#totp').getAttribute('aria-describedby')"))
	c.enter("#totp", code(), "#done")
	require.Equal(t, "st-1", c.eval("document.querySelector('#done').textContent"), "the policy lets the form through to the client")

	c.see(shop("openid email settings"), "[name=consent]")
	c.takeScreenshot("signin-consent.png", 900, "light")
	require.Equal(t, "Continue to Garden Shop – svc", c.eval("document.title"))
	c.do(chromedp.Click(chromedp.CSS("[name=consent]")), chromedp.WaitVisible(chromedp.CSS("#done")))
	c.see(h.url+"/oidc/session/end", "h1")
	c.takeScreenshot("signin-out.png", 900, "light")
}
