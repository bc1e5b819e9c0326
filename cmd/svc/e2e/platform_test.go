//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// #56: who is no super admin does not see it in the menu, and nothing is asked for. #59: a key is revoked by typing its
// name. #60: a dry run counts and erases nothing.
func TestPlatform(t *testing.T) {
	t.Parallel()
	s := startService(t)
	ada := s.person(t, "Ada")
	b := ada.open(t)
	b.visit("platform/users")
	b.see("heading", "Only for super admins")
	require.False(t, b.has("link", "Platform"))
	for _, asked := range b.requests("") {
		require.False(t, strings.Contains(asked.path, "/v2/users?") || strings.HasPrefix(asked.path, "/sys/"), asked.path)
	}

	sh := newSheet(t, "platform")
	sh.capture(b, "forbidden")
	admin := s.admin(t)
	a := admin.open(t)
	a.visit("platform/users")
	a.await(rowsWith("Ada Doe") + ` === 1`)
	sh.capture(a, "users")
	a.press("n")
	a.see("dialog", "Invite somebody")
	a.fill("E-mail", "grace@example.org")
	a.press("Control+Enter")
	a.seeText("It is needed: this platform does not send mail.")
	sh.capture(a, "invite")
	a.fill("First password", "long enough to sign in")
	a.press("Control+Enter")
	a.await(rowsWith("grace@example.org") + ` === 1`)
	a.openRowMenu(ada.id)
	a.click("menuitem", "Deactivate")
	a.await(rowsWith("Deactivated") + ` === 1`)
	require.Equal(t, http.StatusUnauthorized, ada.ask(t, "GET", "/v2/me", nil).StatusCode)
	a.click("button", "Undo")
	a.await(rowsWith("Deactivated") + ` === 0`)

	a.visit("platform/readiness")
	a.seeText("Everything works.")
	sh.capture(a, "readiness")
	a.visit("platform/settings?changed=true")
	a.seeText("UPLOADS_FORBIDDEN_MIMETYPES")
	require.NotContains(t, eval[string](a, `document.body.innerText`), adminPassword)
	sh.capture(a, "settings")

	a.visit("platform/cleanup")
	a.see("heading", "No cleanup has run yet")
	a.click("button", "Try it")
	a.seeText("Nothing was erased.")
	sh.capture(a, "cleanup")

	// The history of all workspaces, and from there the moment in one of them.
	shop := admin.workspace(t, "Shop", "slug: charge\nname: Charge\ndo: []\n")
	a.visit("platform/history")
	a.await(rowsWith("charge") + ` === 1`)
	a.await(rowsWith("Shop") + ` > 1`)
	sh.capture(a, "history")
	a.choose("Kind of change", "Accounts and sessions")
	a.await(rowsWith("charge") + ` === 0`)
	a.visit("platform/history?of=" + shop)
	a.await(rowsWith("Shop") + ` === ` + rowsWith(""))
	admin.rename(t, shop, "charge", "Charge card")
	a.await(rowsWith("charge") + ` === 2`)
	sh.capture(a, "history of one")

	a.visit("platform/keys")
	a.await(rowsWith("Signs") + ` === 1`)
	sh.capture(a, "keys")
	var signing string
	for _, key := range admin.list(t, "/sys/jwks") {
		if key["state"] == "signing" {
			signing = key["kid"].(string)
		}
	}
	a.openRowMenu(signing)
	a.click("menuitem", "Revoke")
	a.see("dialog", "Revoke this key?")
	a.fill("Type "+signing+" to confirm", "something else")
	require.NotEmpty(t, a.reasonOf("Revoke"))
	sh.capture(a, "revoke")
	a.fill("Type "+signing+" to confirm", signing)
	a.press("Control+Enter")
	a.gone("dialog", "Revoke this key?")
	require.Equal(t, http.StatusUnauthorized, admin.ask(t, "GET", "/v2/me", nil).StatusCode, "old tokens are refused")
}
