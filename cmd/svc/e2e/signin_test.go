//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Check 1: a deep link without a session leads to the sign-in, and after it to exactly that
// address. The keyboard is enough.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada := s.person(t, "Ada")
	sh := newSheet(t, "sign-in")
	b := s.open(t)

	b.visit("w/x/activity?types=error")
	b.awaitFocus("textbox", "E-mail")
	sh.capture(b, "plain")
	// What is missing is said at its field, and the first one has the focus.
	b.click("button", "Sign in")
	b.seeText("This is required.")
	b.awaitFocus("textbox", "E-mail")
	require.Empty(t, b.requests("POST /v2/login"), "nothing was sent")
	b.click("DisclosureTriangle", "Where is my first password?")
	b.seeText("printed once in the terminal of the first start")
	sh.capture(b, "missing")
	b.click("DisclosureTriangle", "Where is my first password?")
	b.fill("E-mail", "")
	b.write(ada.email)
	b.press("Tab")
	b.awaitFocus("textbox", "Password")
	b.write("not the password")
	b.press("Enter")
	b.seeText("E-mail or password is not right.")
	b.awaitFocus("textbox", "Password")
	sh.capture(b, "wrong")
	b.walkFocus()
	b.fill("Password", ada.password)
	b.click("button", "Show")
	b.await(`document.querySelector('input[autocomplete=current-password]').type === 'text'`)
	b.click("button", "Français")
	b.see("heading", "Connexion à svc")
	sh.capture(b, "French")
	require.Equal(t, ada.password, b.valueOf("Mot de passe"), "another language keeps what was typed")
	b.click("button", "English")
	b.awaitFocus("button", "English")
	b.see("textbox", "Password")
	eval[bool](b, `(document.querySelector('input[autocomplete=current-password]').focus(), true)`)
	b.press("Enter")
	b.awaitAt("w/x/activity?types=error")
	require.Len(t, b.requests("POST /v2/login"), 2)

	// Only addresses of the console are gone to after the sign-in.
	for _, elsewhere := range []string{"//elsewhere.example/", "https://elsewhere.example/", "/%5Celsewhere.example"} {
		b.visit("sign-in?next=" + elsewhere)
		b.await(`location.origin === '`+s.base+`' && location.pathname.startsWith('/console/') && !location.pathname.includes('sign-in')`, "away from the sign-in, and here")
	}
	require.Empty(t, eval[string](b, `document.cookie`), "no script reads the cookie")
	require.NotContains(t, eval[string](b, `JSON.stringify([{...localStorage}, {...sessionStorage}])`), "eyJ", "no token is stored")
}
