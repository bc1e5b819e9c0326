//go:build e2e

package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const livePage = `
slug: index
name: Live
onInit: ready
updateOn: page.changed
blocks:
  - {slug: Header, title: 'Page {{title}}'}
  - {slug: KPI, title: Count, n: 41, value: '{{n}}', updateOn: counted}
  - {slug: Button, text: Count one, type: event, value: counted, payload: {$merge: {n: 1}}}
  - slug: BlocksList
    updateOn: ids.changed
    list: [{id: 1}, {id: 2}, {id: 3}]
    blocks: [{slug: RichText, content: 'id {{item.id}}', repeat: {on: '{{list}}'}}]
  - {slug: Button, text: Remove two, type: event, value: ids.changed, payload: {$remove: {list: {id: [2, 3]}}}}
  - slug: BlocksList
    updateOn: letters.changed
    list: [b]
    blocks: [{slug: RichText, content: '{{item}}', repeat: {on: '{{list}}'}}]
  - {slug: Button, text: In front, type: event, value: letters.changed, payload: {$unshift: {list: [a]}}}
  - {slug: Button, text: At the end, type: event, value: letters.changed, payload: {$merge: {list: [c]}}}
  - {slug: RichText, content: '{{user.name}} of {{user.town}}', user: {name: A, town: Ulm}, updateOn: user.changed}
  - {slug: Button, text: Rename, type: event, value: user.changed, payload: {user.name: Z}}
  - slug: Form
    title: Order
    updateOn: form.changed
    onSubmit: {event: save, payload: {k: 1}}
    extra: false
    schema:
      type: object
      required: [name]
      properties:
        first: {type: string, title: First}
        name: {type: string, title: Name}
        k: {type: number, title: K}
        note: {type: string, title: Note, ui:widget: textarea}
        kind: {type: string, title: Kind, enum: [one, two]}
        agree: {type: boolean, title: I agree}
  - {slug: Toast, toastOn: told}
  - {slug: Button, text: Tell one, type: event, value: told, payload: {key: k, content: 'First <b>text</b>', duration: 60000}}
  - {slug: Button, text: Tell two, type: event, value: told, payload: {key: k, content: Second text, duration: 60000}}
  - {slug: Button, text: Tell no more, type: event, value: told, payload: {key: k, closed: true}}
  - slug: DataTable
    title: Orders
    updateRowOn: row.changed
    data: [{id: 1, name: Ada}, {id: 2, name: Bob}]
    columns: [{label: Name, key: name, actions: [{text: 'Open ${name}', type: event, value: row.opened}]}]
    pagination: {event: more, page: 1, itemCount: 50, pageSize: 20}
    bulkActions: [{label: Archive, onSelect: rows.archived}]
  - {slug: TabsView, onChange: tab.chosen, tabs: [{text: One, content: {slug: RichText, content: First panel}}, {text: Two, content: {slug: RichText, content: Second panel}}]}
  - {slug: Modal, title: Details, button: {text: Show details}, openOn: details.wanted, closeOn: details.over, onClose: details.closed, blocks: [{slug: RichText, content: Inside}]}
  - {slug: Button, text: Open by event, type: event, value: details.wanted}
  - {slug: Button, text: Delete, type: event, value: deleted, confirm: {label: 'Delete it?', yesLabel: Do it, noLabel: Keep it}}
  - {slug: BlocksList, open: false, if: '{{open}}', updateOn: help.wanted, blocks: [{slug: RichText, content: Some help, css: ':block{color:rgb(1, 2, 3)}'}]}
  - {slug: Button, text: Help, type: event, value: help.wanted, payload: {open: true}}
`

// Rows 27-31, 35, 36, 40 and 42 of the contract, and that everything works by keyboard and keeps its focus.
func TestPagesAreLive(t *testing.T) {
	t.Parallel()
	s := sharedService(t).person(t, "Ada").site(t, "Live pages")
	id := s.page(t, livePage)
	b := s.s.open(t)
	b.visitLive(s, "/?a=1#h")

	// onInit: once, after the feed is open.
	ready := s.awaitEvents(t, "ready", 1)[0]
	require.Equal(t, id, ready.Payload["page"])
	require.Equal(t, "en", ready.Payload["language"])
	require.Equal(t, map[string]any{"a": "1"}, ready.Payload["query"])
	require.Equal(t, "#h", ready.Payload["hash"])
	require.Equal(t, "page.changed", ready.Payload["config"].(map[string]any)["updateOn"])
	session := ready.Source.SessionID
	require.NotEmpty(t, session)

	// The operators, each shown by a patch.
	b.awaitBlockText("1", "Count 41")
	b.click("button", "Count one")
	b.awaitBlockText("1", "Count 42")
	b.awaitFocus("button", "Count one")
	b.awaitBlockText("3", "id 1 id 2 id 3")
	b.click("button", "Remove two")
	b.awaitBlockText("3", "id 1")
	b.click("button", "In front")
	b.awaitBlockText("5", "a b")
	b.click("button", "At the end")
	b.awaitBlockText("5", "a b c")
	b.click("button", "Rename")
	b.awaitBlockText("8", "Z of Ulm")

	// The events of another session change nothing here.
	other := s.s.open(t)
	other.visitLive(s, "/")
	other.click("button", "Count one")
	other.awaitBlockText("1", "Count 42")
	b.click("button", "Count one")
	b.awaitBlockText("1", "Count 43")
	other.awaitBlockText("1", "Count 42")

	// A block that was hidden has its style as soon as it is there.
	eval[bool](b, `(window.svcColors = [], new MutationObserver(() => {
		const p = document.querySelector('[data-block="20.0"]')
		if (p) svcColors.push(getComputedStyle(p).color)
	}).observe(document.getElementById('svc-page'), {subtree: true, childList: true}), true)`)
	b.click("button", "Help")
	b.awaitBlockText("20", "Some help")
	require.Equal(t, "rgb(1, 2, 3)", eval[[]string](b, `svcColors`)[0])

	// A tab of its own: what is sent to the socket of a tab stays in it, what comes from the session reaches both.
	second := b.another()
	second.visitLive(s, "/")
	second.click("button", "Rename")
	second.awaitBlockText("8", "Z of Ulm")
	second.awaitBlockText("1", "Count 41")
	second.do(chromedp.Navigate("about:blank"))

	// A patch of the whole page keeps focus, caret, selection, input that was not sent, and the scroll position.
	b.fill("First", "one")
	b.fill("Note", "A note that\nis not sent")
	b.click("checkbox", "I agree")
	eval[bool](b, `(() => { const kind = document.querySelector('select'); kind.value = 'two'; kind.dispatchEvent(new Event('change', {bubbles: true})); return true })()`)
	b.fill("Name", "Typed here")
	eval[bool](b, `(document.activeElement.setSelectionRange(2, 5), window.scrollTo(0, 300), window.svcNodes = [document.activeElement, document.querySelector('textarea')], true)`)
	scrolled := eval[float64](b, `scrollY`)
	s.emit(t, session, "page.changed", map[string]any{"title": "New"})
	b.awaitBlockText("0", "Page New")
	require.Equal(t, []any{"Typed here", "A note that\nis not sent", "two", true, "one", 2.0, 5.0, true, scrolled}, eval[[]any](b, `[
		document.querySelector('[name=name]').value, document.querySelector('textarea').value, document.querySelector('select').value, document.querySelector('[name=agree]').checked,
		document.querySelector('[name=first]').value, document.activeElement.selectionStart, document.activeElement.selectionEnd,
		document.activeElement === svcNodes[0] && document.querySelector('textarea') === svcNodes[1], scrollY]`))
	b.awaitFocus("textbox", "Name")

	// Even when the fields before the one with the focus go, and others come in front of it.
	s.emit(t, session, "form.changed", map[string]any{"schema": map[string]any{"type": "object", "properties": map[string]any{
		"above": map[string]any{"type": "string", "title": "Above"}, "name": map[string]any{"type": "string", "title": "Name"}, "k": map[string]any{"type": "number", "title": "K"},
	}}})
	b.see("textbox", "Above")
	require.False(t, b.has("textbox", "First"))
	b.awaitFocus("textbox", "Name")
	require.Equal(t, []any{"Typed here", 2.0, 5.0, true}, eval[[]any](b, `[document.activeElement.value, document.activeElement.selectionStart, document.activeElement.selectionEnd, document.activeElement === svcNodes[0]]`))

	// The form: what is configured wins, the visitor is the source, and Enter sends it once.
	b.fill("Name", "A")
	b.fillAs("spinbutton", "K", "2")
	b.press("Enter")
	saved := s.awaitEvents(t, "save", 1)[0]
	require.Equal(t, map[string]any{"name": "A", "k": 1.0}, saved.Payload)
	require.Equal(t, session, saved.Source.SessionID)
	require.NotEmpty(t, saved.Source.SocketID)
	require.Equal(t, "A", b.valueOf("Name"))
	b.await(`!document.querySelector('form[aria-busy]')`)
	b.awaitFocus("spinbutton", "K")

	// Toasts: one for a key, with the latest text, which is text.
	b.click("button", "Tell one")
	b.seeText("First <b>text</b>")
	b.click("button", "Tell two")
	b.seeText("Second text")
	require.Equal(t, []string{"Second text"}, eval[[]string](b, `[...document.querySelectorAll('#svc-toasts p, #svc-alerts p')].map((p) => p.innerText)`))
	b.click("button", "Tell no more")
	b.await(`document.querySelectorAll('#svc-toasts p').length === 0`)
	s.emit(t, session, "told", map[string]any{"type": "error", "content": "It failed"})
	b.await(`document.querySelector('#svc-alerts[aria-live=assertive] p')?.innerText === 'It failed'`)

	// A table: pages by an event, an action of a row, actions of several rows, and a row that changes.
	b.click("button", "2")
	require.Equal(t, 2.0, s.awaitEvents(t, "more", 1)[0].Payload["page"])
	require.Equal(t, "1", eval[string](b, `document.querySelector('.svc-pagination [aria-current=page]').innerText`))
	b.click("button", "Open Bob")
	require.Equal(t, map[string]any{"item": map[string]any{"id": 2.0, "name": "Bob"}}, s.awaitEvents(t, "row.opened", 1)[0].Payload)
	require.Empty(t, s.events(t, "rows.archived"), "an action of a row is not one of several")
	b.click("checkbox", "Select row 1")
	b.click("button", "Archive")
	require.Equal(t, map[string]any{"items": []any{map[string]any{"id": 1.0, "name": "Ada"}}}, s.awaitEvents(t, "rows.archived", 1)[0].Payload)
	s.emit(t, session, "row.changed", map[string]any{"id": 2, "name": "Bea"})
	b.see("button", "Open Bea")

	// Tabs by keyboard.
	b.click("tab", "One")
	b.press("ArrowRight")
	b.awaitFocus("tab", "Two")
	b.seeText("Second panel")
	require.Equal(t, map[string]any{"selected": 1.0}, s.awaitEvents(t, "tab.chosen", 1)[0].Payload)
	require.False(t, eval[bool](b, `document.body.innerText.includes('First panel')`))
	s.emit(t, session, "page.changed", map[string]any{"title": "Newer"})
	b.awaitBlockText("0", "Page Newer")
	b.awaitFocus("tab", "Two")
	b.seeText("Second panel")

	// A dialog takes the focus, keeps it over a patch, and gives it back.
	b.click("button", "Show details")
	b.see("dialog", "Details")
	b.awaitFocus("button", "Close")
	s.emit(t, session, "page.changed", map[string]any{"title": "Newest"})
	b.await(`document.querySelector('h1').textContent === 'Page Newest'`)
	b.awaitFocus("button", "Close")
	for range 4 {
		b.press("Tab")
		require.True(t, eval[bool](b, `document.activeElement === document.body || !!document.activeElement.closest('dialog')`), "the focus stays in the dialog")
	}
	b.press("Escape")
	b.gone("dialog", "Details")
	b.awaitFocus("button", "Show details")
	s.awaitEvents(t, "details.closed", 1)
	b.click("button", "Open by event")
	b.see("dialog", "Details")
	s.emit(t, session, "details.over", map[string]any{})
	b.gone("dialog", "Details")
	s.awaitEvents(t, "details.closed", 2)

	// An action that asks.
	b.click("button", "Delete")
	b.see("dialog", "Delete it?")
	b.awaitFocus("button", "Keep it")
	b.press("Escape")
	b.gone("dialog", "Delete it?")
	b.awaitFocus("button", "Delete")
	b.press("Enter")
	b.click("button", "Do it")
	s.awaitEvents(t, "deleted", 1)
	b.awaitFocus("button", "Delete")

	require.Len(t, s.events(t, "ready"), 3, "once in each tab")
	require.Len(t, s.events(t, "save"), 1)
}

// Rows 32, 33 and 34: what happens while the feed is not open is applied once and in order, and a page that is open
// goes on after a restart. Row 39: the events of blocks of an app.
func TestPagesKeepUp(t *testing.T) {
	t.Parallel()
	service := startService(t, "PAGES_HOST=.localhost")
	s := service.person(t, "Ada").site(t, "keepers")
	s.automation(t, "slug: load\nname: Load\ndo: []\noutput: {loaded: 'yes'}\n")
	log := `{slug: KPI, title: Count, n: 41, value: '{{n}}', log: '', description: '{{log}}', updateOn: counted, onInit: ready}`
	buttons := `{slug: Button, text: Who am I, type: event, value: asked}`
	form := `{slug: Form, onSubmit: saved, schema: {type: object, properties: {name: {type: string, title: Name}}}}`
	s.page(t, "slug: with\nname: With an automation\nautomation: load\nblocks: ["+log+", "+buttons+", {slug: RichText, content: 'loaded {{loaded}}'}, "+form+"]\n")
	s.page(t, "slug: without\nname: Without\nblocks: ["+log+", "+buttons+", "+form+"]\n")
	change := func(to, letter string) {
		t.Helper()
		s.emit(t, to, "counted", map[string]any{"$merge": map[string]any{"n": 1, "log": letter}})
	}

	line := service.newCuttableProxy(t)
	s.base = s.base[:strings.LastIndexByte(s.base, ':')+1] + line.port

	// Between HTML and feed.
	b := s.s.open(t).allow(s.base) // which is another address than that of the service
	b.visitLive(s, "/with")
	b.awaitBlockText("2", "loaded yes")
	session := b.sessionOf(s, "Who am I", "asked")
	b.hold("*/_svc/feed*")
	b.visitPage(s, "/with")
	b.awaitBlockText("0", "Count 41")
	change(session, "a")
	require.False(t, eval[bool](b, `'connected' in document.getElementById('svc-page').dataset`))
	b.release()
	b.awaitBlockText("0", "Count 42 a")
	change(session, "b")
	b.awaitBlockText("0", "Count 43 ab")

	// The feed is cut.
	b.visitLive(s, "/without")
	b.fill("Name", "typed before")
	change(session, "a")
	b.awaitBlockText("0", "Count 42 a")
	inits := len(s.awaitEvents(t, "ready", 3))
	line.cut(true)
	b.await(`!('connected' in document.getElementById('svc-page').dataset)`)
	change(session, "b")
	change(session, "c")
	line.cut(false)
	b.awaitBlockText("0", "Count 44 abc")
	b.awaitFocus("textbox", "Name")

	// The service is restarted.
	b.allow("Failed to load resource")
	service.stop(t)
	b.await(`!('connected' in document.getElementById('svc-page').dataset)`)
	require.NoError(t, service.start())
	s.signIn(t)
	change(session, "d")
	b.awaitBlockText("0", "Count 45 abcd")
	b.awaitFocus("textbox", "Name")
	require.Equal(t, "typed before", b.valueOf("Name"))
	require.Len(t, s.events(t, "ready"), inits, "a reconnection is no new view")

	// Blocks of an app: what they emit and listen to has the name of the instance.
	app := s.person.site(t, "crm app")
	app.do(t, http.StatusCreated, "PUT", app.path("/blocks/Panel"), map[string]any{"name": "Panel", "blocks": []any{
		map[string]any{"slug": "Button", "text": "Open", "type": "event", "value": "open"},
		map[string]any{"slug": "RichText", "content": "state {{state}}", "state": "old", "updateOn": "changed"},
	}})
	app.do(t, http.StatusOK, "PATCH", app.path(""), map[string]any{"description": "An app", "photo": "https://example.com/a.png"})
	app.do(t, http.StatusCreated, "POST", "/v2/apps", map[string]any{"workspaceId": app.id, "slug": "crmapp"})
	s.do(t, http.StatusCreated, "POST", s.path("/apps"), map[string]any{"appSlug": "crmapp", "slug": "crm"})
	s.page(t, "slug: crm\nname: CRM\nblocks: [{slug: crm.Panel}]\n")
	b.visitLive(s, "/crm")
	b.click("button", "Open")
	require.Equal(t, session, s.awaitEvents(t, "crm.open", 1)[0].Source.SessionID)
	s.emit(t, session, "crm.changed", map[string]any{"state": "new"})
	b.awaitBlockText("0.1", "state new")

	// A view that is gone: the page is loaded again, and what was typed stays. Its record is that of the view, or of the
	// tab where the view follows from the address.
	for path, parameter := range map[string]string{"/with": "view", "/without": "socket"} {
		b.visitLive(s, path)
		change(session, "a")
		b.awaitBlockText("0", "Count 42 a")
		b.fill("Name", "typed before")
		inits := len(s.events(t, "ready"))
		line.cut(true)
		b.await(`!('connected' in document.getElementById('svc-page').dataset)`)
		lost := regexp.MustCompile(parameter + `=[^&]*`)
		if parameter == "view" {
			lost = regexp.MustCompile(`view=` + eval[string](b, `document.getElementById('svc-page').dataset.view`))
		}
		stop := b.changeRequests("*/_svc/feed*", func(address string) string { return lost.ReplaceAllString(address, parameter+"=unknown") })
		line.cut(false)
		b.awaitBlockText("0", "Count 41")
		b.awaitLive()
		require.Equal(t, "typed before", b.valueOf("Name"))
		b.awaitFocus("textbox", "Name")
		s.awaitEvents(t, "ready", inits+1) // of the new view
		change(session, "b")
		b.awaitBlockText("0", "Count 42 b")
		stop()
	}

	// So is a form whose view is gone, before it is sent again.
	eval[bool](b, `(document.querySelector('.svc-form-fields [name="svc:view"]').value = 'unknown', true)`)
	b.click("button", "Submit")
	require.Equal(t, "typed before", s.awaitEvents(t, "saved", 1)[0].Payload["name"])
}

// Row 44: a visitor signs in to the end, has a session of its own, and is not sent to another host.
func TestVisitorsSignIn(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{"below the API": nil, "on a host of its own": {"PAGES_HOST=.localhost"}} {
		t.Run(name, func(t *testing.T) {
			service := sharedService(t)
			if env != nil {
				service = startService(t, env...)
			}
			s := service.person(t, "Ada").site(t, "signin"+strings.ReplaceAll(name, " ", ""))
			s.page(t, "slug: index\nname: Home\nblocks: [{slug: Signin, redirect: 'https://evil.example'}, {slug: RichText, content: 'signed in {{SYSTEM.userIsSignedIn}}'}, {slug: Button, text: Who, type: event, value: asked}]\n")
			s.do(t, http.StatusCreated, "POST", s.path("/pages"), "slug: plan\nname: Plan\nblocks: [{slug: RichText, content: The plan}]\n")
			b := service.open(t)
			b.visitPage(s, "/")
			b.awaitBlockText("1", "signed in false")
			anonymous := b.sessionOf(s, "Who", "asked")
			before := b.cookie(s.base+"/", "access-token")
			require.NotEmpty(t, before)
			b.click("link", "Sign in")
			b.fill("E-mail address", s.email)
			b.fill("Password", s.password)
			b.press("Enter")
			b.await(`location.href === '` + s.base + `/'`)
			b.awaitBlockText("1", "signed in true")
			require.NotEqual(t, anonymous, b.sessionOf(s, "Who", "asked"))
			require.NotEqual(t, before, b.cookie(s.base+"/", "access-token"))
			require.Equal(t, s.person.id, s.events(t, "asked")[1].Source.UserID)

			// From a page that needs it, and back to it.
			guest := service.open(t)
			guest.visitPage(s, "/plan")
			guest.see("heading", "Sign in")
			guest.click("link", "Sign in")
			guest.fill("E-mail address", s.email)
			guest.fill("Password", s.password)
			guest.press("Enter")
			guest.await(`location.href === '` + s.base + `/plan'`)
			guest.awaitBlockText("0", "The plan")
			require.Empty(t, eval[string](guest, `document.cookie`), "no script reads the cookie")

			// A script of another origin cannot sign anybody out; a form of the page can.
			b.do(chromedp.Navigate(s.base + "/"))
			eval[bool](b, `(() => { const form = document.createElement('form'); form.method = 'post'; form.action = '`+strings.TrimPrefix(s.base, service.base)+`/_svc/signout'; document.body.append(form); form.submit(); return true })()`)
			b.awaitBlockText("1", "signed in false")
		})
	}
}
