//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"
)

// codeOf is the code that an authenticator app shows at a time for a secret as text.
func codeOf(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), at)
	require.NoError(t, err)
	return code
}

// Check 15: the second step is enrolled by its secret as text; then a wrong and a right code.
func TestSecondStep(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada := s.person(t, "Ada")
	sh := newSheet(t, "second-step")
	b := ada.open(t)

	b.visit("profile?tab=secondStep")
	sh.capture(b, "off")
	b.click("button", "Switch on")
	b.fill("Password", ada.password)
	b.press("Enter")
	b.see("image", "QR code with the secret")
	sh.capture(b, "enrol")
	secret := eval[string](b, `document.querySelector('code').textContent`)
	b.awaitFocus("textbox", "Code")
	b.write("000000")
	b.seeText("The code is not right")
	b.write(codeOf(t, secret, time.Now()))
	b.seeText("The second step is on: a sign-in with your password also wants a code.")
	sh.capture(b, "on")

	other := s.open(t)
	other.visit("profile?tab=sessions")
	other.fill("E-mail", ada.email)
	other.fill("Password", ada.password)
	other.press("Enter")
	other.awaitFocus("textbox", "Code")
	sh.capture(other, "code")
	other.write("111111")
	other.seeText("The code is not right")
	other.awaitFocus("textbox", "Code")
	sh.capture(other, "wrong code")
	other.write(codeOf(t, secret, time.Now().Add(30*time.Second))) // the code of before works once
	other.awaitAt("profile?tab=sessions")
	other.seeText("With code")

	b.click("button", "Switch off")
	b.fill("Current password", "not this one")
	b.press("Enter")
	b.seeText("The current password is not right.")
	sh.capture(b, "switch off")
	b.fill("Current password", ada.password)
	b.press("Control+Enter")
	b.seeText("The second step is off.")
}

// A platform that wants the second step of everybody leads there from the sign-in.
func TestForcedSecondStep(t *testing.T) {
	t.Parallel()
	s := startService(t, "MFA_FORCE_LOCAL=yes")
	sh := newSheet(t, "forced-second-step")
	b := s.open(t)
	b.visit("profile?tab=password")
	b.fill("E-mail", "admin@localhost")
	b.fill("Password", adminPassword)
	b.press("Enter")
	b.see("image", "QR code with the secret")
	sh.capture(b, "forced")
	b.awaitFocus("textbox", "Code")
	b.write(codeOf(t, eval[string](b, `document.querySelector('code').textContent`), time.Now()))
	b.awaitAt("profile?tab=password")
	b.see("button", "Change password")
}
