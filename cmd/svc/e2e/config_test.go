//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const mailer = `
slug: mailer
name: Mailer
do:
  - fetch: {url: 'http://127.0.0.1:1/{{config.currency}}', headers: {key: '{{secret.smtp}}'}}
`

// choose chooses an option of a select by its label.
func (b *tab) choose(label, option string) {
	b.t.Helper()
	b.see("combobox", label)
	named, _ := json.Marshal(label)
	wanted, _ := json.Marshal(option)
	b.await(`(() => {
		const field = [...document.querySelectorAll('select')].find((one) => [...(one.labels ?? [])].some((label) => label.textContent.replace(/ \*$/, '').trim() === ` + string(named) + `) || one.getAttribute('aria-label') === ` + string(named) + `);
		const chosen = [...(field?.options ?? [])].find((one) => one.textContent.trim() === ` + string(wanted) + `);
		if (!chosen) return false;
		field.value = chosen.value;
		field.dispatchEvent(new Event('input', { bubbles: true }));
		field.dispatchEvent(new Event('change', { bubbles: true }));
		return true;
	})()`)
}

// nowhereOnPage asserts that a text is neither in the page nor in its fields.
func (b *tab) nowhereOnPage(text string) {
	b.t.Helper()
	quoted, _ := json.Marshal(text)
	require.False(b.t, eval[bool](b, `document.documentElement.outerHTML.includes(`+string(quoted)+`) || [...document.querySelectorAll('input, textarea')].some((one) => one.value.includes(`+string(quoted)+`))`))
}

// #37: a declared secret without a value is shown as missing until it is set, and its value is in no
// later answer and nowhere on the page. The form and the text are views of one document.
func TestConfig(t *testing.T) {
	t.Parallel()
	ada := sharedService(t).person(t, "Ada")
	id := ada.workspace(t, "Shop", mailer)
	w := "/v2/workspaces/" + id
	sh := newSheet(t, "config")
	b := ada.open(t)
	b.visit("w/" + id)
	b.see("heading", "Recent changes")
	b.press("g", "c")
	b.awaitAt("w/" + id + "/config")
	b.see("heading", "No config yet")
	sh.capture(b, "empty")

	// The example is typed in, not saved; it survives a reload.
	b.click("button", "Begin with an example")
	b.see("textbox", "Text of the config")
	b.seeText("Unsaved")
	sh.capture(b, "text")
	b.awaitDraft("payment_key")
	b.visit("w/" + id + "/config")
	b.click("button", "Use it")
	b.see("combobox", "Currency")
	b.press("Control+s")
	b.seeText("Saved at")
	b.see("link", "payment_key is missing")
	b.see("tab", "Secrets, 2 missing")
	sh.capture(b, "form")

	// A change of one field leaves the rest of the text as it was.
	b.choose("Currency", "USD")
	b.seeText("Unsaved")
	b.choose("Currency", "EUR")
	b.gone("button", "Unsaved")
	b.await(`!document.body.innerText.includes('Unsaved')`, "what is as it was is not unsaved")
	b.choose("Currency", "USD")
	b.click("button", "Save")
	b.await(`!document.body.innerText.includes('Unsaved') && document.body.innerText.includes('Saved at')`)
	config := ada.do(t, http.StatusOK, "GET", w+"/config", nil)
	require.Equal(t, map[string]any{"currency": "USD", "paymentKey": "{{secret.payment_key}}"}, config["value"])

	// A part that is taken out of the text is removed; a fault stands at its line and nothing is lost.
	b.click("button", "YAML")
	b.see("textbox", "Text of the config")
	b.typeConfig("schema:\n  currency:\n    type: nonsense\nvalue:\n  currency: [1\n")
	b.seeText("1 error")
	sh.capture(b, "problems")
	b.click("button", "Form")
	b.seeText("there is no form of it")
	b.click("button", "Show the text")
	b.typeConfig("value:\n  currency: USD\n  '10': ten\n  limit: 3\n")
	b.click("button", "Save")
	b.await(`!document.body.innerText.includes('Unsaved') && document.body.innerText.includes('Saved at')`)
	config = ada.do(t, http.StatusOK, "GET", w+"/config", nil)
	require.NotContains(t, config, "schema")
	require.Len(t, config["value"], 3)

	// Somebody else saves meanwhile: what was typed stays and is compared.
	b.typeConfig("value:\n  currency: CHF\n")
	ada.do(t, http.StatusOK, "PATCH", w, map[string]any{"description": "Another part of the workspace"})
	ada.do(t, http.StatusOK, "PATCH", w+"/config", map[string]any{"value": map[string]any{"currency": "GBP"}})
	b.see("button", "Compare")
	sh.capture(b, "stale")
	b.click("button", "Take theirs")
	b.await(`!document.body.innerText.includes('Unsaved')`)

	// The secret.
	ada.do(t, http.StatusOK, "PATCH", w+"/config", map[string]any{"schema": map[string]any{"key": map[string]any{"type": "string", "title": "Key", "secret": true}}, "value": map[string]any{"key": "{{secret.payment_key}}"}})
	b.click("button", "Form")
	b.click("link", "payment_key is missing")
	b.see("dialog", "Set payment_key")
	sh.capture(b, "set")
	b.click("button", "Save the value")
	b.seeText("This is required.")
	b.awaitFocus("textbox", "Value")
	b.fill("Value", "s3cr3t-line-1\ns3cr3t-line-2")
	b.click("button", "Save the value")
	b.gone("dialog", "Set payment_key")
	b.see("tab", "Secrets, 1 missing")
	b.seeText("payment_key is set")
	b.nowhereOnPage("s3cr3t")
	sh.capture(b, "secrets")
	for _, path := range []string{"", "/config", "/security/secrets", "/events?limit=100", "/history", "/problems"} {
		require.NotContains(t, string(ada.ask(t, "GET", w+path, nil).body), "s3cr3t", path)
	}
	require.NotContains(t, b.drafts(), "s3cr3t")

	// A new one by keys, declared for other environments; then the declaration goes, and comes back by Undo.
	b.press("n")
	b.see("dialog", "New secret")
	b.fill("Name", "not a name")
	b.press("Control+Enter")
	b.seeText("Letters, digits, _ . and - are allowed.")
	b.fill("Name", "crm_token")
	b.fill("Description", "<b>From</b> the CRM")
	sh.capture(b, "new")
	b.click("button", "Declare without a value")
	b.gone("dialog", "New secret")
	b.see("tab", "Secrets, 2 missing")
	require.Contains(t, ada.do(t, http.StatusOK, "GET", w, nil)["secrets"].(map[string]any)["schema"], "crm_token")
	b.openRowMenu("crm_token")
	b.click("menuitem", "Remove the declaration")
	b.see("tab", "Secrets, 1 missing")
	b.click("button", "Undo")
	b.see("tab", "Secrets, 2 missing")

	// Deleting asks, for there is no way back.
	b.openRowMenu("payment_key")
	b.click("menuitem", "Delete")
	b.see("dialog", "Delete payment_key?")
	sh.capture(b, "delete")
	b.click("button", "Delete the secret")
	b.see("tab", "Secrets, 3 missing")
	b.fillAs("searchbox", "Filter secrets", "nothing like it")
	b.see("heading", "No match")
	sh.capture(b, "no match")

	// Problems lead to the secret that they miss.
	b.visit("w/" + id + "/waits?tab=problems")
	b.click("link", "Set smtp")
	b.see("dialog", "Set smtp")
}

// typeConfig replaces the text of the config in its editor.
func (b *tab) typeConfig(text string) {
	b.t.Helper()
	b.fill("Text of the config", text)
}

// openRowMenu opens the menu of the row of a table that has this key.
func (b *tab) openRowMenu(key string) {
	b.t.Helper()
	quoted, _ := json.Marshal(`[role=row][data-key="` + key + `"]`)
	b.await(`(() => { const button = document.querySelector(` + string(quoted) + `)?.querySelector('button[aria-haspopup], button[popovertarget]'); button?.focus(); return document.activeElement === button && button })()`)
	b.press("Enter")
	b.await(`document.querySelector('[role=menu]:popover-open, [role=menu]')`)
}

// The states that every screen has, for those that govern a workspace. Who may not read something is told which right is
// missing, and nothing is asked for that would be refused.
func TestStatesOfGoverningWorkspaces(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, eve := s.person(t, "Ada"), s.person(t, "Eve")
	id := ada.workspace(t, "Shop", mailer)
	w := "/v2/workspaces/" + id
	ada.do(t, http.StatusOK, "PATCH", w+"/config", map[string]any{"schema": map[string]any{"city": map[string]any{"type": "string", "title": "City"}}, "value": map[string]any{"city": "Lyon"}})
	ada.do(t, http.StatusOK, "PUT", w+"/security", map[string]any{"authorizations": map[string]any{
		"roles": map[string]any{"guest": map[string]any{}}, "rules": []any{map[string]any{"role": "guest", "action": []any{"read"}, "subject": []any{"workspaces"}}},
	}})
	ada.share(t, id, eve, map[string]any{"role": "guest"})
	ada.do(t, http.StatusCreated, "POST", w+"/security/apikeys", map[string]any{"name": "Stock", "rules": []any{map[string]any{"action": "read", "subject": "events"}}})
	ada.do(t, http.StatusCreated, "POST", w+"/subscriptions", map[string]any{"url": "http://127.0.0.1:9/hook", "types": []any{"order.*"}, "description": "Ledger"})
	ada.uploadFile(t, id, "hello.txt", []byte("Hello"))
	screens := []struct{ name, path, shows, right string }{
		{"config", "config", "City", ""},
		{"secrets", "config?tab=secrets", "smtp", "read secrets"},
		{"members", "security", "Eve Doe", "manage the sharing of this workspace"},
		{"rules", "security?tab=rules", "guest", ""},
		{"keys", "security?tab=keys", "Stock", "manage the sharing of this workspace"},
		{"files", "files", "hello.txt", "read files"},
		{"settings", "settings", "YAML", "change this workspace"},
		{"webhooks", "webhooks", "Ledger", "manage the security of this workspace"},
		{"explain", "security?tab=explain", "Eve Doe", "manage the security of this workspace"},
	}
	sheets := map[string]*sheet{}
	for _, screen := range screens {
		sheets[screen.name] = newSheet(t, screen.name+"-states")
	}
	address := func(path string) string { return "w/" + id + "/" + path }

	guest := eve.open(t)
	for _, screen := range screens {
		guest.visit(address(screen.path))
		if screen.right != "" {
			guest.seeText("You need the right to " + screen.right + " here.")
		} else {
			guest.seeText(screen.shows)
		}
		sheets[screen.name].capture(guest, "reader")
	}
	for _, asked := range guest.requests("") {
		require.NotEqual(t, int64(http.StatusForbidden), asked.status, "%s %s", asked.method, asked.path)
	}

	b := ada.open(t)
	ada.do(t, http.StatusOK, "POST", w+"/writeLock", map[string]any{"reason": "Release freeze"})
	for _, screen := range screens {
		b.visit(address(screen.path))
		b.seeText("Release freeze")
		b.seeText(screen.shows)
		sheets[screen.name].capture(b, "locked")
	}
	b.visit(address("config"))
	b.await(`document.querySelector('main form input')?.readOnly`)
	require.Equal(t, "The workspace is locked.", b.reasonOf("Save"))
	ada.do(t, http.StatusOK, "DELETE", w+"/writeLock", nil)

	moment := "at=" + time.Now().UTC().Format(time.RFC3339)
	ada.do(t, http.StatusOK, "PATCH", w+"/config", map[string]any{"value": map[string]any{"city": "Lille"}})
	b.visit(address("config?" + moment))
	b.await(`document.querySelector('main form input')?.value === 'Lyon'`)
	sheets["config"].capture(b, "past")

	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	for _, screen := range screens {
		b.visit(address(screen.path))
		b.await(`document.documentElement.lang === 'fr'`)
		b.seeText(screen.shows)
		sheets[screen.name].capture(b, "French")
	}
}
