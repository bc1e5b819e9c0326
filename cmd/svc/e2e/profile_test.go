//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Check 61, and what else one does with one's own account.
func TestProfile(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada := s.person(t, "Ada")
	sh := newSheet(t, "profile")
	b := ada.open(t)

	b.visit("profile")
	sh.capture(b, "you")
	require.NotEmpty(t, b.walkFocus())
	b.fill("First name", `<img src=x onerror="alert(1)">`)
	b.press("Enter")
	b.seeText("Saved")
	require.Equal(t, `<img src=x onerror="alert(1)">`, ada.do(t, http.StatusOK, "GET", "/v2/me", nil)["firstName"])

	b.visit("profile?tab=tokens")
	b.seeText("No access token yet")
	sh.capture(b, "no token")
	b.press("n")
	b.awaitFocus("textbox", "Name")
	sh.capture(b, "new token")
	b.press("Enter")
	b.seeText("This is required.")
	b.write("deploy <b>script</b>")
	b.press("Enter")
	b.see("dialog", "Your new access token")
	value := eval[string](b, `document.querySelector('dialog code').textContent`)
	require.True(t, strings.HasPrefix(value, "at:"))
	sh.capture(b, "value once")
	b.press("Escape")
	b.see("dialog", "Your new access token")
	b.click("button", "I have copied it")
	b.gone("dialog", "Your new access token")
	b.seeText("deploy <b>script</b>")
	b.visit("profile?tab=tokens")
	b.seeText("deploy <b>script</b>")
	sh.capture(b, "tokens")
	require.NotContains(t, eval[string](b, `document.documentElement.outerHTML`), value)

	script := &person{s: s, token: value}
	script.do(t, http.StatusOK, "GET", "/v2/me", nil)
	b.click("button", "Actions")
	b.click("menuitem", "Delete “deploy <b>script</b>”")
	b.see("dialog", "Delete this access token?")
	sh.capture(b, "delete token")
	b.click("button", "Delete")
	b.seeText("No access token yet")
	require.Equal(t, http.StatusUnauthorized, script.ask(t, "GET", "/v2/me", nil).StatusCode)

	b.visit("profile?tab=password")
	sh.capture(b, "password")
	b.fill("Current password", "not this one")
	b.fill("New password", "long enough for the next time")
	b.press("Enter")
	b.seeText("The current password is not right.")
	b.fill("Current password", ada.password)
	b.press("Enter")
	b.seeText("The password is changed.")

	b.visit("profile?tab=account")
	sh.capture(b, "account")
	b.click("button", "Delete account")
	sh.capture(b, "delete account")
	b.fill("Current password", "long enough for the next time")
	b.click("button", "Delete my account")
	b.awaitAt("sign-in")
}

// Check 62: a session that is ended elsewhere brings that browser to the sign-in.
func TestEndedSession(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada := s.person(t, "Ada")
	first, second := s.open(t), s.open(t)
	first.signIn(ada)
	second.signIn(ada)
	sh := newSheet(t, "sessions")

	// Check 13: what was typed is still there after the sign-in in the dialog.
	second.visit("profile")
	second.await(`document.querySelector('.dot.live')`)
	second.fill("First name", "Augusta")

	first.visit("profile?tab=sessions")
	first.seeText("This one")
	sh.capture(first, "sessions")
	first.click("button", "End all others")
	second.see("dialog", "Your session has ended")
	sh.capture(second, "ended")
	second.fill("Password", ada.password)
	second.press("Enter")
	second.gone("dialog", "Your session has ended")
	require.Equal(t, "Augusta", second.valueOf("First name"))
	second.click("button", "Save")
	second.seeText("Saved")
	second.await(`document.querySelector('.dot.live')`)

	// A second tab of the same browser comes back by itself.
	tab := second.another()
	tab.visit("profile")
	tab.await(`document.querySelector('.dot.live')`)
	first.visit("profile?tab=sessions")
	first.seeText("This one")
	first.click("button", "End all others")
	second.see("dialog", "Your session has ended")
	tab.see("dialog", "Your session has ended")
	tab.fill("Password", ada.password)
	tab.press("Enter")
	tab.gone("dialog", "Your session has ended")
	second.gone("dialog", "Your session has ended")
}
