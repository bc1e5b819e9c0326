//go:build e2e

package e2e

import (
	"testing"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/stretchr/testify/require"
)

const plainPage = `
slug: index
name: Plain
blocks:
  - {slug: RichText, content: Content without a script}
  - slug: Form
    title: Order
    onSubmit: {event: save, payload: {k: 1}}
    schema:
      type: object
      required: [name]
      properties:
        age: {type: integer, title: Age}
        name: {type: string, title: Name}
        secret: {type: string, title: Secret, ui:widget: password}
        kind: {type: string, title: Kind, ui:widget: radio, enum: [one, two]}
        agree: {type: boolean, title: I agree}
        help: {title: Help, ui:widget: block, block: {slug: Button, text: Call me, type: event, value: called}}
  - {slug: Button, text: Buy, type: event, value: bought, payload: {k: 1}}
  - {slug: Button, text: Delete, type: event, value: deleted, confirm: {label: 'Delete it?', yesLabel: Do it, noLabel: Keep it}}
  - slug: DataTable
    title: Orders
    initialSort: id
    pagination: {pageSize: 2}
    columns: [{label: Number, key: id}, {label: Customer, key: name, actions: [{text: 'Open ${id}', type: event, value: opened}]}]
    bulkActions: [{label: Archive, onSelect: archived}]
    data: [{id: 1, name: Ada}, {id: 2, name: Bob}, {id: 3, name: Cleo}]
  - {slug: Collapse, items: [{label: More about it, content: Hidden at first}]}
  - {slug: TabsView, tabs: [{text: One, content: {slug: RichText, content: First panel}}, {text: Two, content: {slug: RichText, content: Second panel}}]}
  - {slug: Modal, title: Details, button: {text: Show details}, blocks: [{slug: RichText, content: Inside of it}]}
  - {slug: Signin}
`

// activate uses an element by keyboard. A click as elsewhere needs a script that waits for its place.
func (b *tab) activate(role, name string) {
	b.t.Helper()
	call(b, dom.Focus, dom.FocusParams{BackendNodeID: b.see(role, name).node})
	if role == "checkbox" || role == "radio" {
		b.press("Space")
		return
	}
	b.press("Enter")
}

// Section 9 of the contract without a script, and rows 1, 37 and 41: reading, links, forms, event actions, confirm,
// paging, sorting, Collapse and sign-in work; tabs are headed sections, a Modal is a disclosure.
func TestPagesWithoutScript(t *testing.T) {
	t.Parallel()
	s := sharedService(t).person(t, "Ada").site(t, "Plain pages")
	s.page(t, plainPage)
	b := s.s.open(t)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.visitPage(s, "/")
	b.awaitBlockText("0", "Content without a script")
	require.False(t, eval[bool](b, `document.documentElement.classList.contains('svc-js')`), "no script has run")

	// A required field is empty: the message is at the field, which has the focus, and the other values are there.
	b.fillAs("spinbutton", "Age", "44")
	b.fill("Secret", "hush")
	b.activate("radio", "two")
	b.activate("checkbox", "I agree")
	b.activate("button", "Submit")
	b.seeText("This field is required.")
	b.awaitFocus("textbox", "Name")
	require.Equal(t, []any{"This field is required.", "44", "", "two", true}, eval[[]any](b, `[
		document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent, document.querySelector('[name=age]').value,
		document.querySelector('[name=secret]').value, document.querySelector('[name=kind]:checked').value, document.querySelector('[name=agree]').checked]`))
	require.Empty(t, s.events(t, "save"))
	require.Equal(t, int64(422), b.requests("POST")[0].status)
	b.fill("Name", "A")
	b.press("Enter")
	b.await(`location.href === '`+s.base+`/'`, "back on the page")
	require.Equal(t, map[string]any{"name": "A", "age": 44.0, "kind": "two", "agree": true, "k": 1.0}, s.awaitEvents(t, "save", 1)[0].Payload)

	// Actions, also one inside of a form, and one that asks on a page of its own.
	b.activate("button", "Call me")
	s.awaitEvents(t, "called", 1)
	require.Len(t, s.events(t, "save"), 1, "the form around the button is not sent")
	b.activate("button", "Buy")
	require.Equal(t, map[string]any{"k": 1.0}, s.awaitEvents(t, "bought", 1)[0].Payload)
	for _, answer := range []string{"Keep it", "Do it"} {
		b.await(`location.href === '` + s.base + `/'`)
		b.activate("button", "Delete")
		b.see("heading", "Delete it?")
		require.Empty(t, s.events(t, "deleted"))
		if answer == "Keep it" {
			b.activate("link", answer)
			continue
		}
		b.activate("button", answer)
	}
	s.awaitEvents(t, "deleted", 1)

	// A table: sorted and paged by the server, actions of a row and of several rows.
	cells := func() []string {
		return eval[[]string](b, `[...document.querySelectorAll('tbody tr td:nth-child(2)')].map((cell) => cell.innerText)`)
	}
	b.await(`document.querySelectorAll('tbody tr').length === 2`)
	b.activate("link", "Number")
	b.await(`document.querySelector('th[aria-sort=descending]')`)
	require.Equal(t, []string{"3", "2"}, cells())
	b.activate("link", "2")
	b.await(`document.querySelector('.svc-pagination [aria-current=page]')?.innerText === '2'`)
	require.Equal(t, []string{"1"}, cells())
	b.activate("button", "Open 1")
	require.Equal(t, "Ada", s.awaitEvents(t, "opened", 1)[0].Payload["item"].(map[string]any)["name"])
	b.activate("checkbox", "Select row 3")
	b.activate("button", "Archive")
	require.Equal(t, []any{map[string]any{"id": 1.0, "name": "Ada"}}, s.awaitEvents(t, "archived", 1)[0].Payload["items"])

	// What opens.
	b.see("heading", "One")
	b.seeText("Second panel")
	b.activate("DisclosureTriangle", "More about it")
	b.seeText("Hidden at first")
	b.activate("DisclosureTriangle", "Show details")
	b.seeText("Inside of it")
	b.activate("link", "Sign in")
	b.fill("E-mail address", s.email)
	b.fill("Password", s.password)
	b.press("Enter")
	b.await(`location.href === '` + s.base + `/'`)
}
