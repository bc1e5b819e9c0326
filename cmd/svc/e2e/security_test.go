//go:build e2e

package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// #38: a later rule that denies decides; Explain names it, says where it comes from and leads to its row. Rows are
// changed by keys and reviewed before they are saved; a role that somebody has cannot go unseen.
func TestSecurityRules(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, grace := s.person(t, "Ada"), s.person(t, "Grace")
	id := ada.workspace(t, "Shop")
	w := "/v2/workspaces/" + id
	ada.do(t, http.StatusOK, "PUT", w+"/security", map[string]any{"authorizations": map[string]any{
		"roles": map[string]any{"clerk": map[string]any{"description": "At the <b>desk</b>"}, "spare": map[string]any{}},
		"rules": []any{
			map[string]any{"role": "clerk", "action": []any{"read", "update"}, "subject": "workspaces"},
			map[string]any{"role": "clerk", "action": "read", "subject": []any{"pages", "files"}, "conditions": map[string]any{"labels": "public"}},
		},
	}})
	ada.share(t, id, grace, map[string]any{"role": "clerk"})
	sh := newSheet(t, "security-rules")
	b := ada.open(t)
	b.visit("w/" + id)
	b.see("heading", "Recent changes")
	b.press("g", "s")
	b.awaitAt("w/" + id + "/security")
	b.click("tab", "Roles and rules")
	b.seeText("clerk may read, change this workspace")
	b.seeText("clerk may read pages, files where labels = public")
	sh.capture(b, "list")

	// A rule by the form, moved to the end of the list by its menu; nothing is saved before the review.
	b.press("n")
	b.see("dialog", "Add a rule")
	b.click("button", "Apply")
	b.seeText("Choose at least one.")
	sh.capture(b, "new rule")
	b.click("checkbox", "clerk")
	b.click("radio", "May not")
	b.click("checkbox", "this workspace")
	b.click("checkbox", "change")
	b.fill("Reason", "Stock-taking")
	b.click("button", "Apply")
	b.gone("dialog", "Add a rule")
	b.seeText("clerk may not change this workspace")
	b.seeText("Unsaved")
	b.awaitDraft("Stock-taking")
	b.click("button", "Actions: clerk may not change this workspace")
	b.click("menuitem", "Move up")
	b.await(`document.querySelectorAll('main ol > li')[1].innerText.includes('may not')`)
	b.click("button", "Actions: clerk may not change this workspace")
	b.click("menuitem", "Move down")
	b.await(`document.querySelectorAll('main ol > li')[2].innerText.includes('may not')`)
	require.Len(t, ada.do(t, http.StatusOK, "GET", w+"/security", nil)["authorizations"].(map[string]any)["rules"], 2)
	b.press("Control+s")
	b.see("dialog", "Review what changes")
	b.seeText("1 rule added")
	sh.capture(b, "review")
	b.click("button", "Save")
	b.gone("dialog", "Review what changes")
	b.seeText("Saved at")
	rules := ada.do(t, http.StatusOK, "GET", w+"/security", nil)["authorizations"].(map[string]any)["rules"].([]any)
	require.Len(t, rules, 3)
	require.Equal(t, true, rules[2].(map[string]any)["inverted"])

	// Explain.
	b.click("tab", "Explain")
	b.see("status", "Answer")
	b.seeText("Allowed")
	b.seeText("Built in for owners")
	b.choose("Person", "Grace Doe")
	b.choose("Does what", "change")
	b.seeText("Denied")
	b.see("link", "Rule 3")
	b.seeText("Stock-taking")
	require.Contains(t, b.where(), "user="+grace.id)
	sh.capture(b, "explain")
	b.click("link", "Rule 3")
	b.await(`document.querySelector('#rule-2[aria-current=true]')`)
	b.seeText("clerk may not change this workspace")

	// A role in use is named with its people, and the server keeps it.
	b.click("button", "Actions: clerk")
	b.click("menuitem", "Delete")
	b.click("button", "Review and save")
	b.seeText("clerk is still the role of Grace Doe")
	sh.capture(b, "role in use")
	b.click("button", "Save")
	b.gone("dialog", "Review what changes")
	b.seeText("Not saved")
	sh.capture(b, "refused")
	require.Contains(t, ada.do(t, http.StatusOK, "GET", w+"/security", nil)["authorizations"].(map[string]any)["roles"], "clerk")

	// Somebody else saves: nothing is overwritten unseen.
	ada.do(t, http.StatusOK, "PUT", w+"/security", map[string]any{"authorizations": map[string]any{"roles": map[string]any{"clerk": map[string]any{}}, "rules": []any{}}})
	b.see("button", "Compare")
	b.click("button", "Take theirs")
	b.click("button", "List")
	b.see("heading", "No rules")
	sh.capture(b, "no rules")
	b.click("button", "Add a role")
	b.fill("Name", "owner")
	b.click("button", "Apply")
	b.seeText("This word is kept by the platform.")
	sh.capture(b, "role")
}

// Members: people by address, roles, everyone. One's own access is warned about, the last owner stays.
func TestMembers(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, grace := s.person(t, "Ada"), s.person(t, "Grace")
	id := ada.workspace(t, "Shop")
	w := "/v2/workspaces/" + id
	sh := newSheet(t, "security-members")
	b := ada.open(t)
	b.visit("w/" + id + "/security")
	b.await(firstRow)
	b.press("n")
	b.see("dialog", "Add a member")
	b.fill("E-mail", "nobody@example.org")
	b.press("Enter")
	b.seeText("Nobody has an account with this address.")
	b.awaitFocus("textbox", "E-mail")
	sh.capture(b, "unknown person")
	b.fill("E-mail", grace.email)
	b.click("button", "Give access")
	b.gone("dialog", "Add a member")
	b.seeText("Grace Doe")
	other := grace.open(t)
	other.visit("w/" + id)
	other.see("heading", "Recent changes")
	sh.capture(b, "filled")

	// Who else has it open sees the change without asking for it.
	ada.do(t, http.StatusOK, "POST", w+"/permissions", map[string]any{"target": map[string]any{"public": true}, "permissions": map[string]any{"policies": map[string]any{"read": true}}})
	b.await(`document.querySelector('[data-key="*"]')`)
	b.openRowMenu("*")
	b.click("menuitem", "Remove access")
	b.click("button", "Remove access")
	b.await(`!document.querySelector('[data-key="*"]')`)

	// One's own access.
	b.openRowMenu(ada.id)
	b.click("menuitem", "Change")
	b.seeText("This is your own access.")
	b.choose("Role", "editor")
	b.click("button", "Change my own access")
	b.seeText("A workspace keeps at least one owner.")
	sh.capture(b, "last owner")
	b.press("Escape")
	b.fillAs("searchbox", "Filter members", "grace")
	b.await(`document.querySelectorAll('[role=row][data-index]').length === 1`)
	b.fillAs("searchbox", "Filter members", "nobody like this")
	b.see("heading", "No match")
	sh.capture(b, "no match")
}

// #39: the value of a new API key is shown once; afterwards its last four characters are. A key can be given what
// its maker holds, and no more.
func TestAPIKeys(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada := s.person(t, "Ada")
	id := ada.workspace(t, "Shop")
	w := "/v2/workspaces/" + id
	sh := newSheet(t, "security-keys")
	b := ada.open(t)
	b.visit("w/" + id + "/security?tab=keys")
	b.see("heading", "No API keys yet")
	sh.capture(b, "empty")
	b.press("n")
	b.see("dialog", "New API key")
	b.click("button", "Create")
	b.seeText("Choose at least one.")
	sh.capture(b, "new")
	b.fill("Name", "Stock <b>program</b>")
	eval[bool](b, `(() => { [...document.querySelectorAll('dialog fieldset')].find((one) => one.querySelector('legend').textContent === 'events').querySelectorAll('input').forEach((one) => one.click()); return true })()`)
	b.click("button", "Create")
	b.see("dialog", "The key is made")
	value := eval[string](b, `document.querySelector('dialog[open] code').textContent`)
	require.NotEmpty(t, value)
	b.press("Escape")
	b.see("dialog", "The key is made")
	sh.capture(b, "value once")
	req, err := http.NewRequest("GET", s.base+w+"/events?limit=1", nil)
	require.NoError(t, err)
	req.Header.Set("x-svc-api-key", value)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_ = res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode, "the key works")
	b.click("button", "I have copied it")
	b.gone("dialog", "The key is made")
	b.nowhereOnPage(value)
	b.visit("w/" + id + "/security?tab=keys")
	b.await(firstRow)
	b.seeText("…" + value[len(value)-4:])
	b.nowhereOnPage(value)
	sh.capture(b, "filled")

	key := ada.list(t, w+"/security/apikeys")[0]["id"].(string)
	b.openRowMenu(key)
	b.click("menuitem", "Disable")
	b.seeText("Disabled")
	b.openRowMenu(key)
	b.click("menuitem", "Edit")
	b.see("dialog", "Edit Stock <b>program</b>")
	b.fill("Name", "Stock program")
	b.click("button", "Save")
	b.gone("dialog", "Edit Stock <b>program</b>")
	changed := ada.list(t, w+"/security/apikeys")[0]
	require.Equal(t, "Stock program", changed["name"])
	require.Equal(t, true, changed["disabled"])
	b.openRowMenu(key)
	b.click("menuitem", "Delete")
	b.see("dialog", "Delete Stock program?")
	b.click("button", "Delete the key")
	b.see("heading", "No API keys yet")
}
