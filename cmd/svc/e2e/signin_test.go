//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada := s.person(t, "Ada")
	sh := newSheet(t, "sign-in")
	b := s.open(t)

	b.visit("w/x/activity?types=error")
	b.see("textbox", "E-mail")
	sh.capture(b, "plain")
	b.fill("E-mail", ada.email)
	b.fill("Password", "not the password")
	b.press("Enter")
	b.seeText("E-mail or password is not right.")
	b.awaitFocus("textbox", "Password")
	sh.capture(b, "wrong")
	b.fill("Password", ada.password)
	b.press("Enter")
	b.awaitAt("w/x/activity?types=error")
	require.Len(t, b.requests("POST /v2/login"), 2)
}
