package pages_test

import (
	"bytes"
	"encoding/json"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[{"slug":"RichText","content":"Welcome"}]}`)
	s.page(t, true, `{"slug":"about","name":{"en":"About us","fr":"À propos"},"blocks":[{"slug":"Header","title":{"en":"Hello","fr":"Bonjour"}}]}`)
	s.page(t, true, `{"slug":"fr","name":"Page fr"}`)
	s.page(t, true, `{"slug":"shop/cart","name":"Cart"}`)
	v := s.visitor(t, "")

	home := v.loadPage("/") // Row 1
	require.Contains(t, home.html, "Welcome")
	require.Equal(t, "public, max-age=0, s-maxage=60", home.Header.Get("Cache-Control"))
	require.Empty(t, home.Cookies(), "a page that everybody sees alike needs no session")
	require.NotContains(t, home.html, "data-seq")
	require.Equal(t, http.StatusNotModified, v.as("If-None-Match", home.Header.Get("Etag")).get("/").StatusCode)

	// Row 2
	for from, to := range map[string]string{"/index?a=1": "/?a=1", "/about/": "/about", "/about/?q=%2F": "/about?q=%2F", "": "/", "/en/index": "/en"} {
		got := v.get(from)
		require.Equal(t, http.StatusPermanentRedirect, got.StatusCode, from)
		require.Equal(t, "/pages/shop"+to, got.Header.Get("Location"), from)
	}

	french := v.loadPage("/fr/about") // Row 8
	require.Contains(t, french.html, "<title>À propos</title>")
	require.Contains(t, french.html, `<html lang="fr">`)
	require.Contains(t, french.html, "<h1>Bonjour</h1>")
	require.Equal(t, "fr", french.Header.Get("Content-Language"))
	require.Contains(t, v.loadPage("/fr").html, "<title>Page fr</title>", "a slug wins over a language") // Row 9
	require.Contains(t, v.as("Accept-Language", "fr-CA, en;q=0.5").loadPage("/about").html, "<h1>Bonjour</h1>")
	require.Contains(t, v.loadPage("/about").Header.Values("Vary"), "Accept-Language")
	require.Contains(t, v.loadPage("/shop/cart").html, "<title>Cart</title>")

	for _, path := range []string{"/nothing", "/de/nothing"} {
		lost := v.get(path)
		require.Equal(t, http.StatusNotFound, lost.StatusCode)
		require.Contains(t, lost.html, "Page not found")
		require.NotEmpty(t, lost.Header.Get("X-Correlation-Id"))
	}
	wrong := v.send("DELETE", "/pages/shop/about", nil, "")
	require.Equal(t, http.StatusMethodNotAllowed, wrong.StatusCode)
	require.Contains(t, wrong.html, "<h1>Something went wrong</h1>")
	lost := v.as("Accept", "application/json").get("/nothing") // Row 7
	require.Equal(t, http.StatusNotFound, lost.StatusCode)
	require.Contains(t, lost.html, `"error":"resource_not_found"`)
	require.Contains(t, lost.html, `"requestId"`)
	require.Equal(t, http.StatusNotFound, v.send("GET", "/pages/nobody/", nil, "").StatusCode)

	s.page(t, false, `{"slug":"_404","name":"Lost","blocks":[{"slug":"RichText","content":"We are sorry"}]}`)
	lost = v.get("/nothing")
	require.Equal(t, http.StatusNotFound, lost.StatusCode)
	require.Contains(t, lost.html, "We are sorry")
}

func TestHostsOfPages(t *testing.T) {
	t.Parallel()
	s := newShop(t, "PAGES_HOST=.pages.test")
	s.page(t, true, `{"slug":"about","name":"About","blocks":[{"slug":"Header","title":"Hi","nav":[{"text":"Home","type":"internal","value":"index"}]}]}`)
	got := s.visitor(t, "").get("/about?a=1") // Row 3
	require.Equal(t, http.StatusPermanentRedirect, got.StatusCode)
	require.Equal(t, "http://shop.pages.test:"+s.Service.Port()+"/about?a=1", got.Header.Get("Location"))

	v := s.visitor(t, "shop.pages.test")
	about := v.loadPage("/about")
	require.Contains(t, about.html, `href="/"`)
	require.Contains(t, about.html, `<link rel="canonical" href="http://shop.pages.test:`+s.Service.Port()+`/about">`)
	require.Equal(t, http.StatusNotFound, s.visitor(t, "nobody.pages.test").get("/about").StatusCode)

	require.Equal(t, http.StatusNotFound, v.get("/v2/me").StatusCode, "the API is not served on hosts of pages")
	refused := v.send("POST", "/v2/login", strings.NewReader("{}"), "application/json")
	require.Equal(t, http.StatusMethodNotAllowed, refused.StatusCode)
	require.Equal(t, "GET, HEAD", refused.Header.Get("Allow"))

	s.Do(t, http.StatusOK, "PATCH", s.Path, `{"customDomains":["shop.example.com"]}`)
	own := s.visitor(t, "shop.example.com")
	require.Contains(t, own.loadPage("/about").html, "<h1>Hi</h1>")
	require.Contains(t, own.loadPage("/about").html, `<link rel="canonical" href="http://shop.example.com/about">`)
	other := s.Do(t, http.StatusCreated, "POST", "/v2/workspaces", `{"name":"Other"}`).JSON(t)["id"].(string)
	s.RequireRefusal(t, http.StatusConflict, "resource_already_exists", "PATCH", "/v2/workspaces/"+other, `{"customDomains":["shop.example.com"]}`) // Row 4
}

func TestWhoMayRead(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	id := s.page(t, false, `{"slug":"plan","name":"Plan","blocks":[{"slug":"RichText","content":"top secret"}]}`)
	v := s.visitor(t, "")
	refused := v.get("/plan")
	require.Equal(t, http.StatusUnauthorized, refused.StatusCode)
	require.Equal(t, "Bearer", refused.Header.Get("WWW-Authenticate"))
	require.Contains(t, refused.html, "_svc/signin")
	require.NotContains(t, refused.html, "top secret")
	require.Equal(t, "noindex", refused.Header.Get("X-Robots-Tag"))

	s.page(t, false, `{"slug":"_401","name":"Who","blocks":[{"slug":"RichText","content":"Who are you?"}]}`)
	refused = v.get("/plan") // Row 5
	require.Equal(t, http.StatusUnauthorized, refused.StatusCode)
	require.Contains(t, refused.html, "Who are you?")
	require.NotContains(t, refused.html, "top secret")
	eve := v.as("Authorization", s.Service.NewUser(t, "eve").Get("Authorization"))
	refused = eve.get("/plan") // Row 6
	require.Equal(t, http.StatusForbidden, refused.StatusCode)
	require.Contains(t, refused.html, "Who are you?")
	require.NotContains(t, refused.html, "top secret")

	require.Contains(t, v.as("Authorization", s.Auth.Get("Authorization")).loadPage("/plan").html, "top secret")
	s.Do(t, http.StatusOK, "POST", "/v2/pages/"+id+"/permissions", `{"target":{"public":true},"permissions":{"policies":{"read":true}}}`)
	shared := s.visitor(t, "").loadPage("/plan") // Row 10
	require.Contains(t, shared.html, "top secret")
	require.Empty(t, shared.Cookies())
	require.Contains(t, shared.Header.Get("Cache-Control"), "s-maxage=60")
	require.Len(t, s.awaitEvents(t, "workspaces.pages.permissions.shared", 1), 1)
}

func TestAutomationsOfPages(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.automation(t, `{"slug":"load","name":"load","do":[],"output":{"title":"A {{x}}","n":"{{query.n}}","list":[{"a":1},{"a":2}]}}`)
	s.automation(t, `{"slug":"fails","name":"fails","do":[{"nosuch":{}}]}`)
	s.automation(t, `{"slug":"go","name":"go","do":[],"output":{"redirect":{"url":"/login"}}}`)
	s.automation(t, `{"slug":"bad","name":"bad","do":[],"output":{"redirect":{"url":"javascript:alert(1)"}}}`)
	s.Do(t, http.StatusOK, "PUT", s.Path+"/security", `{"authorizations":{"rules":[{"action":"execute","subject":"automations"},{"action":"create","subject":"events"}]}}`)
	s.page(t, true, `{"slug":"index","name":"Home","automation":"load","blocks":[
		{"slug":"Header","title":"{{title}}"},{"slug":"KPI","title":"n","value":"{{n}}"},
		{"slug":"RichText","content":"row {{item.a}}","repeat":{"on":"{{list}}"}},
		{"slug":"RichText","content":"stored","automation":"fails"}]}`)
	s.page(t, true, `{"slug":"go","name":"Go","automation":"go"}`)
	s.page(t, true, `{"slug":"bad","name":"Bad","automation":"bad"}`)
	v := s.visitor(t, "")
	got := v.loadPage("/?n=7")
	require.Contains(t, got.html, "<h1>A </h1>") // Row 11
	require.Contains(t, got.html, "row 1")
	require.Contains(t, got.html, "row 2")
	require.Contains(t, got.html, "stored") // Row 12
	require.Contains(t, got.html, `<span class="svc-kpi-value">7</span>`)
	require.Equal(t, "private, no-store", got.Header.Get("Cache-Control"))
	require.NotEmpty(t, got.seq(t))
	require.Len(t, got.Cookies(), 1)
	failed := s.awaitEvents(t, "error", 2) // that of the run, and that of the page
	require.Contains(t, failed[1]["payload"].(map[string]any)["message"], "not found")
	require.Equal(t, "page", s.awaitEvents(t, "runtime.interactions.triggered", 2)[0]["payload"].(map[string]any)["trigger"].(map[string]any)["type"])

	gone := v.get("/go") // Row 13
	require.Equal(t, http.StatusFound, gone.StatusCode)
	require.Equal(t, "/login", gone.Header.Get("Location"))
	require.Contains(t, v.loadPage("/bad").html, "<title>Bad</title>") // Row 14
	require.Equal(t, "InvalidRedirect", s.awaitEvents(t, "error", 3)[2]["payload"].(map[string]any)["error"])
}

func TestWhatIsInsertedIsText(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[
		{"slug":"RichText","content":"Hi {{SYSTEM.query.q}}"},
		{"slug":"RichText","content":"<b>a</b><script>x</script>"},
		{"slug":"Action","type":"external","text":"go","value":"javascript:x"},
		{"slug":"RichText","allowUnsecure":true,"content":"<b>b</b><script>evil()</script>"},
		{"slug":"Image","src":"javascript:x","alt":"{{SYSTEM.query.q}}"},
		{"slug":"NoSuch","title":"between"},
		{"slug":"Header","title":"{{SYSTEM.query.q}}"}]}`)
	v := s.visitor(t, "")
	got := v.loadPage("/?q=" + url.QueryEscape(`<img onerror=x>{{SYSTEM.page.slug}}"'`))
	require.Contains(t, got.html, "Hi &lt;img onerror=x&gt;{{SYSTEM.page.slug}}") // Rows 19 and 20
	require.Contains(t, got.html, "<b>a</b>")                                     // Row 21
	require.Contains(t, got.html, "<b>b</b>")
	require.NotContains(t, got.html, "javascript:") // Row 25
	require.NotContains(t, got.html, "evil()")
	require.NotContains(t, got.html, "<img onerror")
	require.Regexp(t, `(?s)<figure.*role="alert".*<header`, got.html) // Row 26
	require.Contains(t, got.Header.Get("Content-Security-Policy"), "script-src 'self';")
	failed := s.awaitEvents(t, "error", 1)[0]["payload"].(map[string]any)
	require.Equal(t, "DisplayBlockError", failed["error"])
	require.Equal(t, "NoSuch", failed["details"].(map[string]any)["kind"])
}

func TestScriptsRunOnOwnHostsOnly(t *testing.T) {
	t.Parallel()
	const doc = `{"slug":"index","name":"Home","blocks":[
		{"slug":"RichText","allowUnsecure":true,"content":"<b>b</b><script>mine('{{SYSTEM.query.q}}')</script>"},
		{"slug":"BlocksList","updateOn":"changed","blocks":[]},
		{"slug":"Button","text":"Change","type":"event","value":"changed","payload":{"allowUnsecure":true,"content":"<script>evil()</script>","blocks":[
			{"slug":"RichText","allowUnsecure":true,"content":"<i>new</i><script>evil()</script>"},
			{"slug":"BlocksList","blocks":[{"slug":"RichText","allowScripts":true,"content":"<script>evil()</script>"},{"slug":"Button","type":"script","text":"Run","value":"evil()"}]}]}}]}`
	path := newShop(t)
	path.Do(t, http.StatusOK, "PATCH", path.Path, `{"allowUnsecurePages":true}`)
	path.page(t, true, doc)
	shared := path.visitor(t, "").loadPage("/") // Row 22: no own origin
	require.Contains(t, shared.html, "<b>b</b>")
	require.NotContains(t, shared.html, "mine(")
	require.Contains(t, shared.Header.Get("Content-Security-Policy"), "script-src 'self';")

	s := newShop(t, "PAGES_HOST=.pages.test")
	s.page(t, true, doc)
	v := s.visitor(t, "shop.pages.test")
	require.NotContains(t, v.loadPage("/").html, "mine(")
	s.Do(t, http.StatusOK, "PATCH", s.Path, `{"allowUnsecurePages":true}`)
	got := v.loadPage("/?q=" + url.QueryEscape("</script>"))
	require.Contains(t, got.html, "<script>mine('&lt;/script&gt;')</script>") // Row 22: on its own sub-domain
	require.Contains(t, got.Header.Get("Content-Security-Policy"), "script-src 'self' 'unsafe-inline' https:;")
	view := got.view(t)
	live := v.follow(view, "")
	v.interact(view, "2", "action", nil)
	changed := live.next().html(t) // Row 23
	require.Contains(t, changed, "<i>new</i>")
	require.NotContains(t, changed, "evil")
}

func TestStylesAreLimitedToTheirPlace(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, true, `{"slug":"index","name":"Home","styles":"body{margin:0} p{color:blue} @import url(https://evil.example/x.css); a{background:url(javascript:x)} i{background:url(https://a.example/b.png)}",
		"blocks":[{"slug":"RichText","content":"x","css":":block p{color:red} :block{border:0} @keyframes spin{to{opacity:0}} :block b{animation:spin 1s}"}]}`)
	v := s.visitor(t, "")
	got := v.loadPage("/")
	var css string
	for _, part := range strings.Split(got.html, `<link rel="stylesheet" href="`)[1:] {
		path, _, _ := strings.Cut(part, `"`)
		if strings.Contains(path, "/style-") {
			file := v.send("GET", path, nil, "")
			require.Equal(t, http.StatusOK, file.StatusCode)
			require.Contains(t, file.Header.Get("Cache-Control"), "immutable")
			css += file.html
		}
	}
	require.Contains(t, css, "#svc-page{margin:0;}")
	require.Contains(t, css, "#svc-page p{color:blue;}")
	require.Contains(t, css, "https://a.example/b.png")
	require.NotContains(t, css, "evil.example")
	require.NotContains(t, css, "javascript")
	require.Regexp(t, `\.svc-css-[0-9a-f]{12} p\{color:red;\}`, css) // Row 43
	require.Regexp(t, `@keyframes spin-[0-9a-f]+\{to\{opacity:0;\}\}`, css)
	require.Regexp(t, `class="svc-rich-text svc-css-[0-9a-f]{12}"`, got.html)
}

// What was hidden, or is of an event, has its style when it appears.
func TestStylesOfBlocksThatAppear(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Do(t, http.StatusCreated, "PUT", s.Path+"/blocks/Note", `{"name":"Note","css":":block{color:blue}","blocks":[{"slug":"RichText","content":"{{text}}"}]}`)
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[
		{"slug":"BlocksList","on":false,"if":"{{on}}","updateOn":"shown","blocks":[{"slug":"RichText","content":"x","css":":block{color:red}"}]},
		{"slug":"BlocksList","updateOn":"noted","blocks":[]},
		{"slug":"RichText","content":"y","css":":block{color:green}"},
		{"slug":"Button","text":"Show","type":"event","value":"shown","payload":{"on":true}},
		{"slug":"Button","text":"Note","type":"event","value":"noted","payload":{"blocks":[{"slug":"Note","text":"n"}]}},
		{"slug":"Button","text":"Hide","type":"event","value":"shown","payload":{"on":false}}]}`)
	v := s.visitor(t, "")
	page := v.loadPage("/")
	view := page.view(t)
	live := v.follow(view, "")
	load := func(f frame) (css string) {
		t.Helper()
		var patch struct{ Styles []string }
		require.NoError(t, json.Unmarshal([]byte(f.data), &patch))
		for _, path := range patch.Styles {
			file := v.send("GET", path, nil, "")
			require.Equal(t, http.StatusOK, file.StatusCode)
			css += file.html
		}
		return css
	}
	require.Equal(t, 1, strings.Count(page.html, "svc-css-"), "nothing of what is hidden")
	v.interact(view, "3", "action", nil)
	shown := live.next()
	require.Contains(t, shown.html(t), `class="svc-rich-text svc-css-`)
	require.Regexp(t, `^\.svc-css-[0-9a-f]{12}\{color:red;\}$`, load(shown), "only what the page was not shown with")
	v.interact(view, "4", "action", nil)
	require.Contains(t, load(live.next()), "color:blue", "the style of a kind is that of the workspace, also when an event adds a block of it")
	v.interact(view, "5", "action", nil)
	hidden := live.next()
	require.Contains(t, hidden.html(t), "hidden")
	require.NotContains(t, load(hidden), "color:red")
}

func TestEventsOfAPage(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, true, `{"slug":"index","name":"Home","onInit":{"event":"ready","payload":{"p":1}},"blocks":[
		{"slug":"Button","text":"Buy","type":"event","value":"bought","payload":{"k":1}},
		{"slug":"Button","text":"Off","type":"event","value":"never","disabled":true},
		{"slug":"Button","text":"Delete","type":"event","value":"deleted","confirm":{"label":"Really?","yesLabel":"Do it"}},
		{"slug":"Form","onSubmit":{"event":"save","payload":{"k":1}},"schema":{"type":"object","required":["name"],"properties":{"name":{"type":"string","title":"Name"},"k":{"type":"number"},"age":{"type":"integer"},"secret":{"type":"string","ui:widget":"password"}}}},
		{"slug":"DataTable","title":"T","data":[{"id":1}],"pagination":{"event":"more","itemCount":50,"pageSize":20}}]}`)
	v := s.visitor(t, "")
	view := v.loadPage("/").view(t)
	got := v.emit(view, "0", "action", map[string]any{"k": 5, "x": 1})
	require.Equal(t, http.StatusCreated, got.StatusCode, got.html)
	bought := s.awaitEvents(t, "bought", 1)[0]
	require.Equal(t, map[string]any{"k": 1.0}, bought["payload"])
	require.NotEmpty(t, bought["source"].(map[string]any)["sessionId"])
	require.Equal(t, "tab1", bought["source"].(map[string]any)["socketId"])
	require.Len(t, got.Cookies(), 1, "an anonymous session begins with the first interaction")

	for name, c := range map[string]struct {
		view, block, on string
		status          int
	}{
		"no such block": {view, "9", "action", http.StatusNotFound}, "no such hook": {view, "0", "onSubmit", http.StatusNotFound},
		"disabled": {view, "1", "action", http.StatusConflict}, "no such view": {"s.bm9wZQ", "0", "action", http.StatusNotFound},
	} {
		require.Equal(t, c.status, v.emit(c.view, c.block, c.on, nil).StatusCode, name)
	}

	got = v.emit(view, "3", "onSubmit", map[string]any{"name": "A", "k": 2, "age": "30", "undeclared": true})
	require.Equal(t, http.StatusCreated, got.StatusCode, got.html)
	saved := s.awaitEvents(t, "save", 1)[0] // Row 36
	require.Equal(t, map[string]any{"name": "A", "k": 1.0, "age": 30.0}, saved["payload"])
	require.Equal(t, bought["source"].(map[string]any)["sessionId"], saved["source"].(map[string]any)["sessionId"])
	got = v.emit(view, "3", "onSubmit", map[string]any{"age": "x"})
	require.Equal(t, http.StatusUnprocessableEntity, got.StatusCode)
	require.Contains(t, got.html, `"field":"name"`)
	require.Contains(t, got.html, `"field":"age"`)

	form := url.Values{"svc:view": {view}, "svc:block": {"3"}, "svc:on": {"onSubmit"}, "name": {""}, "age": {"44"}, "secret": {"hush"}}
	faulty := v.submit(form) // Row 37
	require.Equal(t, http.StatusUnprocessableEntity, faulty.StatusCode)
	require.Contains(t, faulty.html, "This field is required.")
	require.Contains(t, faulty.html, `value="44"`)
	require.NotContains(t, faulty.html, "hush")
	form.Set("name", "B")
	sent := v.submit(form)
	require.Equal(t, http.StatusSeeOther, sent.StatusCode, sent.html)
	require.Equal(t, "/pages/shop/", sent.Header.Get("Location"))
	s.awaitEvents(t, "save", 2)

	for name, header := range map[string][2]string{"origin": {"Origin", "https://evil.example"}, "site": {"Sec-Fetch-Site", "cross-site"}} {
		foreign := v.as(header[0], header[1], "Accept", "application/json").send("POST", v.base+"/_svc/events", strings.NewReader(form.Encode()), "application/x-www-form-urlencoded")
		require.Equal(t, http.StatusForbidden, foreign.StatusCode, name) // Row 38
		require.Contains(t, foreign.html, "permission_denied")
	}
	require.Len(t, s.events(t, "save"), 2)

	// Row 41
	asked := v.submit(url.Values{"svc:view": {view}, "svc:block": {"2"}, "svc:on": {"action"}, "svc:ask": {"1"}})
	require.Equal(t, http.StatusOK, asked.StatusCode)
	require.Contains(t, asked.html, "Really?")
	require.Contains(t, asked.html, "Do it")
	require.Empty(t, s.events(t, "deleted"))
	require.Equal(t, http.StatusSeeOther, v.submit(url.Values{"svc:view": {view}, "svc:block": {"2"}, "svc:on": {"action"}}).StatusCode)
	s.awaitEvents(t, "deleted", 1)

	v.interact(view, "4", "pagination", map[string]any{"page": 2})
	require.Equal(t, 2.0, s.awaitEvents(t, "more", 1)[0]["payload"].(map[string]any)["page"]) // Row 40
	require.Contains(t, v.loadPage("/").html, `value="pagination:3"`)
	v.interact(view, "4", "pagination:3", nil)
	require.Equal(t, 3.0, s.awaitEvents(t, "more", 2)[1]["payload"].(map[string]any)["page"])

	view = v.loadPage("/?a=1").view(t)
	v.interact(view, "", "onInit", map[string]any{"hash": "#h"})
	ready := s.awaitEvents(t, "ready", 1)[0]["payload"].(map[string]any) // Row 35
	require.Equal(t, "#h", ready["hash"])
	require.Equal(t, map[string]any{"a": "1"}, ready["query"])
	require.Equal(t, "en", ready["language"])
	require.Equal(t, 1.0, ready["p"])
	require.NotEmpty(t, ready["page"])
	require.Contains(t, ready, "config")

	require.Equal(t, http.StatusRequestEntityTooLarge, v.emit(view, "3", "onSubmit", map[string]any{"name": strings.Repeat("x", 100_001)}).StatusCode)
}

func TestLiveUpdates(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Do(t, http.StatusOK, "PUT", s.Path+"/security", `{"authorizations":{"rules":[{"action":"execute","subject":"automations"},{"action":"create","subject":"events"}]}}`)
	s.automation(t, `{"slug":"none","name":"none","do":[],"output":{"x":1}}`)
	s.page(t, true, `{"slug":"index","name":"Home","automation":"none","blocks":[
		{"slug":"KPI","title":"Count","n":41,"value":"{{n}}","updateOn":"counted"},
		{"slug":"Button","text":"Count","type":"event","value":"counted","payload":{"$merge":{"n":1}}},
		{"slug":"Toast","toastOn":"told"},
		{"slug":"Button","text":"Tell","type":"event","value":"told","payload":{"content":"<b>hi</b>","key":"k"}},
		{"slug":"RichText","content":"{{text}}","text":"old","updateOn":"written"},
		{"slug":"Button","text":"Write","type":"event","value":"written","payload":{"allowUnsecure":true,"text":"<i>new</i><script>x</script>"}}]}`)
	v := s.visitor(t, "")
	page := v.loadPage("/")
	view := page.view(t)
	v.interact(view, "1", "action", nil) // between HTML and feed
	live := v.follow(view, page.seq(t))
	first := live.next() // Row 32
	require.Equal(t, "patch", first.event)
	require.Contains(t, first.html(t), `<span class="svc-kpi-value">42</span>`) // Row 27
	v.interact(view, "1", "action", nil)
	second := live.next()
	require.Contains(t, second.html(t), ">43<")

	stranger := s.visitor(t, "")
	other := stranger.loadPage("/").view(t)
	stranger.interact(other, "1", "action", nil) // Row 31: the next frame is another one
	require.Equal(t, http.StatusForbidden, stranger.emit(view, "1", "action", nil).StatusCode, "a view belongs to its session")

	v.interact(view, "3", "action", nil)
	told := live.next()
	require.Equal(t, "toast", told.event)
	require.JSONEq(t, `{"content":"<b>hi</b>","type":"info","duration":5000,"key":"k"}`, told.data)
	v.interact(view, "5", "action", nil)
	written := live.next().html(t)
	require.Contains(t, written, "<i>new</i>")
	require.NotContains(t, written, "script")

	live.body.Close()
	v.interact(view, "1", "action", nil)
	v.interact(view, "1", "action", nil)
	again := v.follow(view, second.id)
	seen := []string{}
	for len(seen) < 4 {
		seen = append(seen, again.next().event)
	}
	// Row 33
	require.Equal(t, []string{"toast", "patch", "patch", "patch"}, seen, "what came after the position is sent once, in order")
}

func TestAPageGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[
		{"slug":"KPI","title":"Count","n":1,"value":"{{n}}","updateOn":"counted"},
		{"slug":"Button","text":"Count","type":"event","value":"counted","payload":{"$merge":{"n":1}}}]}`)
	v := s.visitor(t, "")
	view := v.loadPage("/").view(t)
	live := v.follow(view, "")
	v.interact(view, "1", "action", nil)
	first := live.next()
	require.Contains(t, first.html(t), ">2<")
	live.body.Close()
	s.Service.Stop(t)
	s.Service.Start(t)
	v = v.moved(s)
	again := v.follow(view, first.id)
	v.interact(view, "1", "action", nil)
	require.Contains(t, again.next().html(t), ">3<") // Row 34
}

// moved returns the visitor of a service that has another port.
func (v *visitor) moved(s shop) *visitor {
	next := s.visitor(v.t, "")
	old, err := url.Parse(v.origin)
	require.NoError(v.t, err)
	now, err := url.Parse(next.origin)
	require.NoError(v.t, err)
	next.client.Jar.SetCookies(now, v.client.Jar.Cookies(old))
	return next
}

func TestUploads(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[
		{"slug":"Form","onSubmit":"sent","schema":{"type":"object","properties":{"note":{"type":"string"},"photo":{"type":"string","ui:widget":"upload"},"second":{"type":"string","ui:widget":"upload"}}}},
		{"slug":"Button","text":"Add","type":"upload","value":"added"}]}`)
	v := s.visitor(t, "")
	view := v.loadPage("/").view(t)
	send := func(block, on string, files ...string) answer { // field and content of each
		t.Helper()
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		for name, text := range map[string]string{"svc:view": view, "svc:block": block, "svc:on": on, "note": "n"} {
			require.NoError(t, form.WriteField(name, text))
		}
		for i := 0; i < len(files); i += 2 {
			part, err := form.CreateFormFile(files[i], "a.txt")
			require.NoError(t, err)
			_, err = io.WriteString(part, files[i+1])
			require.NoError(t, err)
		}
		require.NoError(t, form.Close())
		return v.as("Origin", v.origin).send("POST", v.base+"/_svc/events", &body, form.FormDataContentType())
	}
	plain := v
	v = v.as("Accept", "application/json")
	got := send("0", "onSubmit", "photo", "some text")
	require.Equal(t, http.StatusCreated, got.StatusCode, got.html)
	sent := s.awaitEvents(t, "sent", 1)[0]["payload"].(map[string]any)
	photo := sent["photo"].(map[string]any)
	require.Equal(t, "a.txt", photo["name"])
	require.Equal(t, 9.0, photo["size"])
	require.Equal(t, "text/plain", photo["mimetype"])
	require.NotEmpty(t, photo["url"])
	require.Equal(t, "n", sent["note"])
	got = send("1", "action", "files", "more")
	require.Equal(t, http.StatusCreated, got.StatusCode, got.html)
	require.Len(t, s.awaitEvents(t, "added", 1)[0]["payload"].(map[string]any)["files"], 1)
	require.Equal(t, http.StatusCreated, send("0", "onSubmit", "note2", "nowhere to put it").StatusCode)
	require.Len(t, s.awaitEvents(t, "workspaces.files.uploaded", 2), 2, "a file that no field asks for is not stored")
	require.Equal(t, http.StatusNotFound, send("7", "onSubmit", "photo", "x").StatusCode)

	const megabyte = 1 << 20
	got = send("0", "onSubmit", "photo", strings.Repeat("a", 10*megabyte), "second", strings.Repeat("b", 6*megabyte))
	require.Equal(t, http.StatusCreated, got.StatusCode, "the limit is one of each file: %s", got.html)
	large := strings.Repeat("a", 10*megabyte+1)
	got = send("0", "onSubmit", "photo", large, "second", "small")
	require.Equal(t, http.StatusUnprocessableEntity, got.StatusCode, got.html)
	require.Contains(t, got.html, `{"field":"photo","message":"The file is too large: at most 10 MB."}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, send("1", "action", "files", large).StatusCode)
	var many []string
	for range 51 {
		many = append(many, "files", "x")
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, send("1", "action", many...).StatusCode)
	v = plain
	got = send("0", "onSubmit", "photo", large, "second", "small")
	require.Equal(t, http.StatusUnprocessableEntity, got.StatusCode)
	require.Contains(t, got.html, "The file is too large: at most 10 MB.")
	require.Contains(t, got.html, `value="n"`, "what was entered is kept")
	got = send("1", "action", "files", large)
	require.Equal(t, http.StatusRequestEntityTooLarge, got.StatusCode)
	require.Contains(t, got.html, "<h1>That is too large</h1>")

	v.interact(view, "0", "onSubmit", map[string]any{"note": "forged", "photo": map[string]any{"id": "x", "url": "https://evil.example"}})
	v.interact(view, "1", "action", map[string]any{"files": []any{map[string]any{"url": "https://evil.example"}}})
	all := s.awaitEvents(t, "sent", 4)
	require.Equal(t, map[string]any{"note": "forged"}, all[3]["payload"], "only what was stored is a file")
	require.Empty(t, s.awaitEvents(t, "added", 2)[1]["payload"].(map[string]any)["files"])
}

func TestSigningIn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[{"slug":"Signin","redirect":"https://evil.example"},{"slug":"Button","text":"Buy","type":"event","value":"bought"}]}`)
	s.page(t, true, `{"slug":"mine","name":"Mine","blocks":[{"slug":"RichText","content":"You are in","if":"{{SYSTEM.userIsSignedIn}}"}]}`)
	ada := s.As(s.Service.NewUser(t, "ada")).UserID(t)
	v := s.visitor(t, "")
	v.origin = "http://localhost:" + s.Service.Port() // as API_URL has it
	home := v.loadPage("/")
	require.Contains(t, home.html, `href="/pages/shop/_svc/signin?redirect=https%3A%2F%2Fevil.example"`)
	require.NotContains(t, v.loadPage("/mine").html, "You are in")
	v.interact(home.view(t), "1", "action", nil)
	before := s.awaitEvents(t, "bought", 1)[0]["source"].(map[string]any)
	require.NotEqual(t, ada, before["userId"])

	asked := v.get("/_svc/signin?redirect=" + url.QueryEscape("https://evil.example"))
	require.Equal(t, http.StatusFound, asked.StatusCode)
	to, err := url.Parse(asked.Header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "/oidc/auth", to.Path)
	require.Equal(t, "workspace-"+s.ID, to.Query().Get("client_id"))
	require.Equal(t, "S256", to.Query().Get("code_challenge_method"))
	require.True(t, strings.HasSuffix(to.Query().Get("redirect_uri"), "/pages/shop/_svc/callback"))
	require.Contains(t, v.redirected(v.get("/_svc/signin?up=1")).html, "<h1>Create an account</h1>", "in another tab")
	form := v.redirected(asked)
	require.Equal(t, http.StatusOK, form.StatusCode, form.html)
	action := regexp.MustCompile(`<form[^>]* action="([^"]+/login)"`).FindStringSubmatch(form.html)
	require.NotNil(t, action, form.html)
	target, err := form.Request.URL.Parse(html.UnescapeString(action[1]))
	require.NoError(t, err)
	signedIn := v.as("Origin", v.origin).send("POST", target.RequestURI(), strings.NewReader(url.Values{"login": {"ada@example.org"}, "password": {"long enough"}}.Encode()), "application/x-www-form-urlencoded")
	var finished *url.URL // where the provider sent the visitor back to
	back := v.redirected(signedIn, func(to *url.URL) {
		if strings.HasSuffix(to.Path, "/_svc/callback") {
			finished = to
		}
	})
	require.Equal(t, http.StatusOK, back.StatusCode, back.html)
	require.Equal(t, "/pages/shop/", back.Request.URL.Path) // Row 44

	require.Contains(t, v.loadPage("/mine").html, "You are in")
	v.interact(v.loadPage("/").view(t), "1", "action", nil)
	after := s.awaitEvents(t, "bought", 2)[1]["source"].(map[string]any)
	require.Equal(t, ada, after["userId"])
	require.NotEqual(t, before["sessionId"], after["sessionId"]) // Row 44

	again := v.send("GET", finished.RequestURI(), nil, "")
	require.Equal(t, http.StatusBadRequest, again.StatusCode)
	require.Contains(t, again.html, "<h1>This sign-in has expired</h1>")
	require.Contains(t, again.html, `href="/pages/shop/_svc/signin?redirect=%2Fpages%2Fshop%2F"`, "the way to sign in again")
	lost := "/_svc/callback?state=" + strings.Repeat("x", 43) + "&code=y"
	expired := v.as("Accept-Language", "fr").get(lost)
	require.Equal(t, http.StatusBadRequest, expired.StatusCode)
	require.Contains(t, expired.html, "<h1>Cette connexion a expiré</h1>")
	require.Contains(t, expired.html, `href="/pages/shop/_svc/signin"`)
	require.Contains(t, v.as("Accept", "application/json").get(lost).html, `"error":"invalid_request"`)
	out := v.as("Origin", v.origin).send("POST", v.base+"/_svc/signout", nil, "")
	require.Equal(t, http.StatusSeeOther, out.StatusCode)
	require.Equal(t, "/pages/shop/", out.Header.Get("Location"))
	require.NotContains(t, v.loadPage("/mine").html, "You are in")
}

// redirected follows the redirects of an answer.
func (v *visitor) redirected(got answer, visit ...func(to *url.URL)) answer {
	v.t.Helper()
	for range 10 {
		location := got.Header.Get("Location")
		if location == "" {
			return got
		}
		to, err := got.Request.URL.Parse(location)
		require.NoError(v.t, err)
		for _, see := range visit {
			see(to)
		}
		got = v.send(http.MethodGet, to.RequestURI(), nil, "")
	}
	require.Fail(v.t, "it redirects for ever", got.Request.URL)
	return got
}

// The HTML of public pages is kept for a while, but never longer than what it was made of.
func TestASavedChangeShowsAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Do(t, http.StatusCreated, "PUT", s.Path+"/blocks/Note", `{"name":"Note","blocks":[{"slug":"RichText","content":"first note"}]}`)
	id := s.page(t, true, `{"slug":"index","name":{"en":"Home","fr":"Accueil"},"blocks":[{"slug":"Note"},{"slug":"RichText","content":"q {{SYSTEM.query.q}}"}]}`)
	v := s.visitor(t, "")
	first := v.loadPage("/")
	require.Contains(t, first.html, "first note")
	require.Equal(t, first.html, v.loadPage("/").html)
	require.Equal(t, first.Header.Get("Etag"), v.loadPage("/").Header.Get("Etag"))
	require.Contains(t, v.loadPage("/?q=1").html, "q 1")
	require.Contains(t, v.as("Accept-Language", "fr").loadPage("/").html, "<title>Accueil</title>")
	s.Do(t, http.StatusOK, "PUT", s.Path+"/blocks/Note", `{"name":"Note","blocks":[{"slug":"RichText","content":"second note"}]}`)
	require.Contains(t, v.loadPage("/").html, "second note")
	s.Do(t, http.StatusOK, "PATCH", s.Path+"/pages/index", `{"name":"Start"}`)
	require.Contains(t, v.loadPage("/").html, "<title>Start</title>")
	s.Do(t, http.StatusOK, "DELETE", "/v2/pages/"+id+"/permissions/*", "")
	require.Equal(t, http.StatusUnauthorized, v.get("/").StatusCode)
}
