//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An account from nothing to a changed password, by mail: sign-up, confirmation, reset.
func TestSignUpConfirmReset(t *testing.T) {
	t.Parallel()
	mail := mailSink(t)
	s := startService(t, append(mail.settings, "ACCOUNT_VALIDATION_METHOD=email")...)
	sh := newSheet(t, "sign-up")
	b := s.open(t)

	b.visit("sign-in")
	b.click("link", "Create an account")
	b.awaitAt("sign-up")
	sh.capture(b, "empty")
	b.click("button", "Create account")
	b.awaitFocus("textbox", "First name")
	sh.capture(b, "faults")
	b.fill("First name", "Ada")
	b.fill("Last name", "Doe")
	b.fill("E-mail", "ada@example.org")
	b.fill("Password", "short")
	b.press("Enter")
	b.seeText("This password is not accepted here")
	b.fill("Password", "long enough to sign in")
	b.press("Enter")
	b.seeText("Open the link in the mail that we sent you, then sign in.")
	sh.capture(b, "done")

	b.visit("sign-in")
	b.fill("E-mail", "ada@example.org")
	b.fill("Password", "long enough to sign in")
	b.press("Enter")
	b.seeText("This e-mail address is not confirmed yet.")
	sh.capture(b, "not confirmed")

	link := mail.link(t, "ada@example.org", "confirm")
	_, fragment, found := strings.Cut(link, "#")
	require.True(t, found, "the token is in the fragment, which no log sees: %s", link)
	b.visit("confirm#" + fragment)
	b.seeText("The address is confirmed. You can sign in now.")
	require.Equal(t, "/console/confirm", b.where(), "the token has left the address")
	sh.capture(b, "confirmed")

	b.visit("reset")
	b.fill("E-mail", "ada@example.org")
	b.press("Enter")
	b.seeText("If there is an account with this address, a mail is on its way.")
	sh.capture(b, "reset asked")
	_, fragment, _ = strings.Cut(mail.link(t, "ada@example.org", "reset"), "#")
	b.visit("reset#" + fragment)
	b.fill("New password", "another one that is long")
	sh.capture(b, "reset")
	b.press("Enter")
	b.seeText("The password is set.")
	b.visit("reset#" + fragment)
	b.fill("New password", "another one that is long")
	b.press("Enter")
	b.seeText("This link is unknown, was used, or is older than an hour.")
	sh.capture(b, "reset used")

	b.visit("sign-in")
	b.fill("E-mail", "ada@example.org")
	b.fill("Password", "another one that is long")
	b.press("Enter")
	b.awaitAt("workspaces")
}

// Check 16: an identity provider leads back to the address first asked for. The provider is a
// second service, under another host name so that the two do not share cookies.
func TestIdentityProvider(t *testing.T) {
	t.Parallel()
	at, public := fmt.Sprintf("http://127.0.0.1:%d", freePort(t)), fmt.Sprintf("http://localhost:%d", freePort(t))
	there := startServiceAt(t, public, fmt.Sprintf(`OIDC_EXTERNAL_CLIENTS=[{"client_id":"here","redirect_uris":["%s/v2/login/callback"]}]`, at))
	here := startServiceAt(t, at, fmt.Sprintf(`AUTH_PROVIDERS_CONFIG={"providers":{"there":{"type":"oidc","name":"There","domains":["there.test"],"config":{"client_id":"here","issuer":%q,"scopes":"openid email profile"}}}}`, public))

	grace := there.person(t, "Grace")
	b := here.open(t)
	b.allow("request to another host: " + public)
	b.visit("profile?tab=sessions")
	newSheet(t, "sign-in-provider").capture(b, "provider")
	b.click("link", "Continue with There")
	b.await(`location.host === '` + strings.TrimPrefix(public, "http://") + `' && document.querySelector('input[type=password]')`)
	eval[bool](b, `(() => { const [name, word] = [document.querySelector('[name=login]'), document.querySelector('[name=password]')]; name.value = '`+grace.email+`'; word.value = '`+grace.password+`'; word.form.requestSubmit(); return true })()`)
	b.awaitAt("profile?tab=sessions")
	b.seeText("This one")
	b.visit("profile?tab=password")
	b.seeText("You sign in with a provider and have no password here.")
}
