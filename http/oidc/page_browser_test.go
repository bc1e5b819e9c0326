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

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"svc/commands/accounts"
	"svc/http/oidc"
)

// camera photographs pages into SVC_SCREENSHOTS, or where artifacts go.
type camera struct {
	t   *testing.T
	dir string
}

func newCamera(t *testing.T) camera {
	dir := os.Getenv("SVC_SCREENSHOTS")
	if dir == "" {
		dir = t.ArtifactDir()
	}
	return camera{t, dir}
}

func (c camera) shot(name string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var picture []byte
		if err := chromedp.FullScreenshot(&picture, 100).Do(ctx); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(c.dir, name), picture, 0o644)
	})
}

// openBrowser starts Chromium, which must be there.
func openBrowser(t *testing.T) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	require.NoError(t, err, "this test needs chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	return ctx
}

func colours(scheme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
}

func width(n int64) chromedp.Action { return emulation.SetDeviceMetricsOverride(n, 800, 2, false) }

func TestSigningInWithARealBrowser(t *testing.T) {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("<h1 id=done>" + r.URL.Query().Get("state") + "</h1>"))
	}))
	t.Cleanup(app.Close)
	h := newHouse(t, func(o *oidc.Options, _ *accounts.Settings) {
		o.External = []oidc.ExternalClient{{ID: "Garden Shop", RedirectURIs: []string{app.URL + "/cb"}}}
		o.HTTP = out(t, false)
		o.Providers = []oidc.Provider{{Slug: "corp", Name: "Example Corp", ClientID: "x", Issuer: "https://corp.example", Scopes: []string{"openid"}}}
	})
	code := h.enrol(adaPass)
	ctx, pictures := openBrowser(t), newCamera(t)
	a := newAsk("Garden Shop", app.URL+"/cb", "scope", "openid email events:read")

	var focused, alert string
	var wide int
	require.NoError(t, chromedp.Run(ctx, width(900), colours("light"),
		chromedp.Navigate(h.url+byConsole().path()), chromedp.WaitVisible("#login"), pictures.shot("signin.png"),
		colours("dark"), pictures.shot("signin-dark.png"), colours("light"),
		chromedp.Navigate(h.url+a.path()), chromedp.WaitVisible("#login"), pictures.shot("signin-external.png"),
		width(320), pictures.shot("signin-narrow.png"), chromedp.Evaluate("document.documentElement.scrollWidth", &wide), width(900),
		chromedp.Evaluate("document.activeElement.id", &focused),
		chromedp.SendKeys("#login", adaMail), chromedp.SendKeys("#password", "wrong password\r"),
		chromedp.WaitVisible("[role=alert]"), chromedp.Text("[role=alert]", &alert), pictures.shot("signin-wrong.png"),
	))
	require.Equal(t, "login", focused)
	require.LessOrEqual(t, wide, 320, "nothing to scroll sideways")
	require.Contains(t, alert, "not right")

	var invalid, state, styled string
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Evaluate("document.activeElement.id", &focused),
		chromedp.Evaluate("getComputedStyle(document.querySelector('main')).maxWidth", &styled),
		chromedp.SendKeys("#password", adaPass+"\r"),
		chromedp.WaitVisible("#totp"), pictures.shot("signin-code.png"),
		chromedp.SendKeys("#totp", "000000\r"),
		chromedp.WaitVisible("[aria-invalid]"), chromedp.AttributeValue("#totp", "aria-describedby", &invalid, nil),
		chromedp.SendKeys("#totp", code()+"\r"),
		chromedp.WaitVisible("#done"), chromedp.Text("#done", &state),
	))
	require.Equal(t, "password", focused, "the address is there already")
	require.Equal(t, "380px", styled, "the policy lets the style through")
	require.Equal(t, "problem hint", invalid)
	require.Equal(t, "st-1", state, "and the form through to the client")

	var title string
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Navigate(h.url+newAsk("Garden Shop", app.URL+"/cb", "scope", "openid email settings").path()),
		chromedp.WaitVisible("[name=consent]"), chromedp.Title(&title), pictures.shot("signin-consent.png"),
		chromedp.Click("[name=consent]"), chromedp.WaitVisible("#done"),
		chromedp.Navigate(h.url+"/oidc/session/end"), chromedp.WaitVisible("h1"), pictures.shot("signin-out.png"),
	))
	require.Equal(t, "Continue to Garden Shop – svc", title)
}
