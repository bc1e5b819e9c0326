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
	b.press("Enter")
	b.awaitAt("w/x/activity?types=error")
	require.Len(t, b.requests("POST /v2/login"), 2)
	require.Empty(t, eval[string](b, `document.cookie`), "no script reads the cookie")
	require.NotContains(t, eval[string](b, `JSON.stringify([{...localStorage}, {...sessionStorage}])`), "eyJ", "no token is stored")
}
