package pages_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The rows of contract/pages.md section 10 and where each is proved. "Row n" stands at the assertion.
//
//	 1, 2, 7, 8, 9   TestAddresses
//	 3, 4            TestHostsOfPages
//	 5, 6, 10        TestWhoMayRead
//	11, 12, 13, 14   TestAutomationsOfPages
//	15, 16, 17, 18   TestTemplates
//	19, 20, 21       TestWhatIsInsertedIsText
//	22, 23           TestScriptsRunOnOwnHostsOnly
//	24, 45           TestWhoMayChange
//	25, 26           TestWhatIsInsertedIsText
//	27, 31, 32, 33   TestLiveUpdates
//	28, 29, 30, 42   TestDataOfEvents
//	34               TestAPageGoesOnAfterARestart
//	35 to 38, 40, 41 TestEventsOfAPage
//	39               TestBlocksOfApps
//	43               TestStylesAreLimitedToTheirPlace
//	44               TestSigningIn
//
// What only a browser can show (onInit once per view, focus, one toast per key) is in cmd/svc/e2e.

func TestTemplates(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[{"slug":"BlocksList","title":"P","o":{"a":1},"empty":"","d":null,"blocks":[
		{"slug":"RichText","content":"hidden by an object","if":"!{{o}}"},
		{"slug":"RichText","content":"shown for nothing","if":"!{{empty}}"},
		{"slug":"RichText","content":"copy {{item.n}}","list":[{"n":1},null,{"n":2}],"repeat":{"on":"{{list}}"},"if":"{{item}}"},
		{"slug":"RichText","content":"date {{d|date:'LL','fr','—'}}."},
		{"slug":"Header","title":"{{title}}"}]}]}`)
	html := s.visitor(t, "").loadPage("/").html
	require.NotContains(t, html, "hidden by an object") // Row 15
	require.Contains(t, html, "shown for nothing")      // Row 15
	require.Equal(t, 2, strings.Count(html, "copy "))   // Row 16
	require.Contains(t, html, "copy 1")
	require.Contains(t, html, "copy 2")
	require.Contains(t, html, `data-block="0.2:2"`, "a copy is named by its entry")
	require.Contains(t, html, "date —.")    // Row 17
	require.Contains(t, html, "<h1>P</h1>") // Row 18
}

func TestWhoMayChange(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	editor := s.As(s.Service.NewUser(t, "editor"))
	s.Do(t, http.StatusOK, "POST", s.Path+"/permissions", fmt.Sprintf(`{"target":{"id":%q},"permissions":{"role":"editor"}}`, editor.UserID(t)))
	editor.RequireRefusal(t, http.StatusForbidden, "permission_denied", "PATCH", s.Path, `{"allowUnsecurePages":true}`) // Row 24
	require.NotEqual(t, true, s.Do(t, http.StatusOK, "GET", s.Path, "").JSON(t)["allowUnsecurePages"])
	s.Do(t, http.StatusOK, "PATCH", s.Path, `{"allowUnsecurePages":true}`)

	s.page(t, true, `{"slug":"about","name":"One","blocks":[{"slug":"Header","title":"One"}]}`)
	stale := s.Do(t, http.StatusOK, "GET", s.Path+"/pages/about", "").Header.Get("Etag")
	editor.Do(t, http.StatusOK, "PATCH", s.Path+"/pages/about", `{"name":"Two"}`)
	details := s.RequireRefusal(t, http.StatusConflict, "resource_conflict", "PATCH", s.Path+"/pages/about", `{"name":"Three"}`, "If-Match", stale) // Row 45
	require.Equal(t, "stale", details["reason"])
	s.Do(t, http.StatusOK, "POST", s.Path+"/writeLock", `{"reason":"pull"}`)
	editor.RequireRefusal(t, http.StatusLocked, "resource_locked", "PATCH", s.Path+"/pages/about", `{"name":"Four"}`) // Row 45
	require.Contains(t, s.visitor(t, "").loadPage("/about").html, "<title>Two</title>", "a locked workspace shows its pages")
}

func TestDataOfEvents(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	button := func(event, payload string) string {
		return fmt.Sprintf(`{"slug":"Button","text":"b","type":"event","value":%q,"payload":%s}`, event, payload)
	}
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[
		{"slug":"RichText","updateOn":"removed","list":[{"id":1},{"id":2},{"id":3}],"content":"ids {{list}}"},
		{"slug":"RichText","updateOn":"added","list":["b"],"content":"texts {{list}}"},
		{"slug":"RichText","updateOn":"named","user":{"name":"A","age":4},"content":"user {{user.name}} {{user.age}}"},
		{"slug":"Toast","toastOn":"told"},`+
		button("removed", `{"$remove":{"list":{"id":[2,3]}}}`)+","+button("added", `{"$unshift":{"list":["a"]}}`)+","+button("added", `{"$merge":{"list":["c"]}}`)+","+
		button("named", `{"user.name":"Z"}`)+","+button("told", `{"content":"one","key":"k"}`)+","+button("told", `{"content":"two","key":"k"}`)+`]}`)
	v := s.visitor(t, "")
	view := v.loadPage("/").view(t)
	live := v.follow(view, "")
	press := func(block string) frame { v.interact(view, block, "action", nil); return live.next() }
	text := func(f frame) string {
		return strings.TrimSpace(regexp.MustCompile(`<[^>]*>|&#34;`).ReplaceAllString(f.html(t), ""))
	}
	require.Equal(t, "ids [{id:1}]", text(press("4"))) // Row 28
	press("5")
	require.Equal(t, "texts [a,b,c]", text(press("6"))) // Row 29
	require.Equal(t, "user Z 4", text(press("7")))      // Row 30
	for _, block := range []string{"8", "9"} {          // Row 42: the browser shows the latest of a key
		told := press(block)
		require.Equal(t, "toast", told.event)
		require.Contains(t, told.data, `"key":"k"`)
	}
}

func TestBlocksOfApps(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	app := shop{Workspace: s.Workspace}
	app.ID = s.Do(t, http.StatusCreated, "POST", "/v2/workspaces", `{"name":"CRM","slug":"crm-app"}`).JSON(t)["id"].(string)
	app.Path = "/v2/workspaces/" + app.ID
	app.Do(t, http.StatusCreated, "PUT", app.Path+"/blocks/Opener", `{"name":"Opener","config":{"label":"Open","n":0},"css":":block{color:red}","blocks":[
		{"slug":"Button","text":"{{label}}","type":"event","value":"open"},{"slug":"KPI","title":"n","n":0,"value":"{{n}}","updateOn":"opened"}]}`)
	app.automation(t, `{"slug":"count","name":"count","when":{"events":["open"]},"do":[{"emit":{"event":"opened","payload":{"$merge":{"n":1}}}}]}`)
	app.automation(t, `{"slug":"fill","name":"fill","do":[],"output":{"label":"Filled"}}`)
	app.PublishApp(t, "crm-app")
	s.InstallApp(t, "crm-app", "crm", "")
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[
		{"slug":"crm.Opener","label":"Mine"},
		{"slug":"Button","appInstance":"crm","text":"Direct","type":"event","value":"direct"},
		{"slug":"crm.Opener","automation":"fill"},
		{"slug":"crm.NoSuch"},{"slug":"gone.Opener"}]}`)
	v := s.visitor(t, "")
	page := v.loadPage("/")
	require.Contains(t, page.html, ">Mine<")
	require.Contains(t, page.html, ">Filled<", "the automation of a block of an instance is that of the instance")
	require.Equal(t, 2, strings.Count(page.html, `role="alert"`))
	view := page.view(t)
	live := v.follow(view, page.seq(t))
	v.interact(view, "0.0", "action", nil)
	require.Len(t, s.awaitEvents(t, "crm.open", 1), 1) // Row 39
	require.Empty(t, s.events(t, "open"))
	require.Contains(t, live.next().html(t), ">1<", "opened of the instance is awaited as crm.opened")
	v.interact(view, "1", "action", nil)
	s.awaitEvents(t, "crm.direct", 1)

	app.Do(t, http.StatusOK, "DELETE", "/v2/apps/crm-app", "")
	require.Contains(t, v.loadPage("/").html, ">Mine<", "an instance keeps the blocks of an app that is published no more, as its automations")
	s.Do(t, http.StatusOK, "PATCH", s.Path+"/apps/crm", `{"disabled":true}`)
	require.Equal(t, 4, strings.Count(v.loadPage("/").html, `role="alert"`), "blocks of an instance that is not in use are unknown")
}

func TestBlocksOfAppsInApps(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	newApp := func(slug string) shop {
		app := shop{Workspace: s.Workspace}
		app.ID = s.Do(t, http.StatusCreated, "POST", "/v2/workspaces", fmt.Sprintf(`{"name":%q,"slug":%q}`, slug, slug)).JSON(t)["id"].(string)
		app.Path = "/v2/workspaces/" + app.ID
		return app
	}
	inner := newApp("mail-app")
	inner.Do(t, http.StatusCreated, "PUT", inner.Path+"/blocks/Inbox", `{"name":"Inbox","css":":block{color:red}","automation":"load","blocks":[
		{"slug":"RichText","content":"{{text}}"},{"slug":"Button","text":"Fetch","type":"event","value":"fetch"}]}`)
	inner.automation(t, `{"slug":"load","name":"load","do":[],"output":{"text":"Two letters"}}`)
	inner.PublishApp(t, "mail-app")
	outer := newApp("crm-app")
	outer.InstallApp(t, "mail-app", "mail", "")
	outer.Do(t, http.StatusCreated, "PUT", outer.Path+"/blocks/Desk", `{"name":"Desk","blocks":[{"slug":"Header","title":"Desk"},{"slug":"mail.Inbox"}]}`)
	outer.PublishApp(t, "crm-app")
	s.InstallApp(t, "crm-app", "crm", "")
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[{"slug":"crm.Desk"},{"slug":"crm.mail.Inbox"},{"slug":"Inbox","appInstance":"crm.mail"},{"slug":"crm.none.Inbox"}]}`)
	v := s.visitor(t, "")
	page := v.loadPage("/")
	require.Contains(t, page.html, "<h1>Desk</h1>")
	require.Equal(t, 3, strings.Count(page.html, "Two letters"), page.html)
	require.Equal(t, 1, strings.Count(page.html, `role="alert"`))
	for i, block := range []string{"0.1.1", "1.1", "2.1"} {
		v.interact(page.view(t), block, "action", nil)
		s.awaitEvents(t, "crm.mail.fetch", i+1)
	}
}

func TestTopicsAndSockets(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.automation(t, `{"slug":"none","name":"none","do":[],"output":{"x":1}}`)
	s.automation(t, `{"slug":"join","name":"join","when":{"events":["join"]},"do":[{"joinUserTopic":{"topic":"news"}},{"emit":{"event":"joined","payload":{"n":"in"}}}]}`)
	s.automation(t, `{"slug":"here","name":"here","when":{"events":["here"]},"do":[{"emit":{"event":"shown","payload":{"n":"here"},"target":{"currentSocket":true}}},{"emit":{"event":"shown","payload":{"n":"all"}}}]}`)
	s.page(t, true, `{"slug":"index","name":"Home","automation":"none","blocks":[
		{"slug":"RichText","content":"n={{n}}","n":"","updateOn":"shown"},
		{"slug":"RichText","content":"n={{n}}","n":"","updateOn":"joined"},
		{"slug":"Button","text":"Join","type":"event","value":"join"},
		{"slug":"Button","text":"Here","type":"event","value":"here"}]}`)
	text := func(f frame) string {
		return strings.TrimSpace(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(f.html(t), ""))
	}
	ann, bob := s.visitor(t, ""), s.visitor(t, "")
	annView, bobView := ann.loadPage("/"), bob.loadPage("/")
	annLive, bobLive := ann.follow(annView.view(t), annView.seq(t)), bob.follow(bobView.view(t), bobView.seq(t))
	ann.interact(annView.view(t), "2", "action", nil)
	require.Equal(t, "n=in", text(annLive.next()))
	s.Emit(t, `{"type":"shown","payload":{"n":"to sales"},"target":{"userTopic":"sales"}},{"type":"shown","payload":{"n":"to news"},"target":{"userTopic":"news"}},{"type":"shown","payload":{"n":"to nobody"}}`)
	require.Equal(t, "n=to news", text(annLive.next()), "only what is sent to a topic that the visitor has joined")

	other := ann.as()
	other.socket = "tab2"
	tab := other.follow(annView.view(t), annView.seq(t))
	require.Equal(t, "n=in", text(tab.next()))
	require.Equal(t, "n=to news", text(tab.next()))
	ann.interact(annView.view(t), "3", "action", nil)
	require.Equal(t, "n=here", text(annLive.next()), "the tab that acted")
	require.Equal(t, "n=all", text(annLive.next()))
	require.Equal(t, "n=all", text(tab.next()), "an event with a socket reaches that tab only")

	bob.interact(bobView.view(t), "3", "action", nil)
	require.Equal(t, "n=here", text(bobLive.next()), "nothing of the others came before")
}

// Visitors without a cookie are counted by the session that they get, and not by the address that they share.
func TestManyVisitorsAtOneAddress(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[{"slug":"KPI","title":"n","n":1,"value":"{{n}}","updateOn":"counted"}]}`)
	var last *visitor
	var view string
	for range 60 {
		last = s.visitor(t, "")
		view = last.loadPage("/").view(t)
		last.follow(view, "")
	}
	for range 19 {
		last.follow(view, "")
	}
	require.Equal(t, http.StatusTooManyRequests, last.as("Accept", "application/json").get("/_svc/feed?view="+view).StatusCode, "a session may have 20 feeds")
}

func TestDocumentationOfApps(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, false, `{"slug":"_doc","name":"How to","blocks":[{"slug":"RichText","content":"First edition"}]}`)
	v := s.visitor(t, "")
	require.Equal(t, http.StatusUnauthorized, v.get("/_doc").StatusCode, "before the app is published it is a page as any other")
	s.PublishApp(t, "shop-app")
	published := v.loadPage("/_doc")
	require.Contains(t, published.html, "First edition")
	require.Equal(t, "public, max-age=0, s-maxage=60", published.Header.Get("Cache-Control"))
	s.Do(t, http.StatusOK, "PATCH", s.Path+"/pages/_doc", `{"blocks":[{"slug":"RichText","content":"Second edition"},{"slug":"KPI","title":"n","n":1,"value":"{{n}}","updateOn":"counted"},{"slug":"Button","text":"+","type":"event","value":"counted","payload":{"$merge":{"n":1}}}]}`)
	require.Contains(t, v.loadPage("/_doc").html, "First edition", "it is shown in its last published form")
	require.NotContains(t, v.loadPage("/_doc").html, "Second edition")
	s.Do(t, http.StatusOK, "POST", "/v2/apps", fmt.Sprintf(`{"workspaceId":%q}`, s.ID))
	second := v.loadPage("/_doc")
	require.Contains(t, second.html, "Second edition")
	view := second.view(t)
	live := v.follow(view, "")
	v.interact(view, "2", "action", nil)
	require.Contains(t, live.next().html(t), ">2<", "it is as live as other pages")
	require.Contains(t, string(s.Anonymous().Do(t, http.StatusOK, "GET", "/v2/pages/shop/_doc", "").Body), "Second edition")
	s.Do(t, http.StatusOK, "DELETE", s.Path+"/pages/_doc", "")
	require.Contains(t, v.loadPage("/_doc").html, "Second edition", "until the app is published without it")
	s.Do(t, http.StatusOK, "DELETE", "/v2/apps/shop-app", "")
	require.Equal(t, http.StatusNotFound, v.get("/_doc").StatusCode)
}

func TestCachedPages(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.Do(t, http.StatusCreated, "PUT", s.Path+"/blocks/Note", `{"name":"Note","blocks":[{"slug":"RichText","content":"Note one"}]}`)
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[{"slug":"Header","title":{"en":"Hello","fr":"Bonjour"}},{"slug":"Note"}]}`)
	s.page(t, true, `{"slug":"who","name":"Who","blocks":[{"slug":"RichText","content":"in","if":"{{SYSTEM.userIsSignedIn}}"}]}`)
	v := s.visitor(t, "")
	first := v.loadPage("/")
	tag := first.Header.Get("Etag")
	require.Regexp(t, `^W/"[0-9a-f]+"$`, tag)
	require.Equal(t, "public, max-age=0, s-maxage=60", first.Header.Get("Cache-Control"))
	require.Equal(t, tag, v.loadPage("/").Header.Get("Etag"), "the same page has the same tag")
	known := v.as("If-None-Match", `"other", `+tag)
	same := known.get("/")
	require.Equal(t, http.StatusNotModified, same.StatusCode)
	require.Empty(t, same.html)
	require.Equal(t, tag, same.Header.Get("Etag"))
	require.Equal(t, "public, max-age=0, s-maxage=60", same.Header.Get("Cache-Control"))
	require.Contains(t, same.Header.Values("Vary"), "Accept-Language")
	require.Empty(t, same.Cookies())
	require.Equal(t, http.StatusNotModified, known.send(http.MethodHead, v.base+"/", nil, "").StatusCode)
	require.Equal(t, http.StatusOK, known.as("Accept-Language", "fr").get("/").StatusCode, "another language is another page")

	s.Do(t, http.StatusOK, "PUT", s.Path+"/blocks/Note", `{"name":"Note","blocks":[{"slug":"RichText","content":"Note two"}]}`)
	changed := known.get("/")
	require.Equal(t, http.StatusOK, changed.StatusCode, "a saved change shows on the next request")
	require.Contains(t, changed.html, "Note two")
	s.Do(t, http.StatusOK, "PATCH", s.Path+"/pages/index", `{"blocks":[{"slug":"Header","title":"Changed"}]}`)
	next := v.as("If-None-Match", changed.Header.Get("Etag")).get("/")
	require.Equal(t, http.StatusOK, next.StatusCode)
	require.Contains(t, next.html, "<h1>Changed</h1>")

	own := v.loadPage("/who")
	require.Equal(t, "private, no-store", own.Header.Get("Cache-Control"), "a page that depends on who is signed in")
	require.Empty(t, own.Header.Get("Etag"))
	require.Len(t, own.Cookies(), 1)
}

func TestBadPages(t *testing.T) {
	t.Parallel()
	s := newShop(t, "PAGES_AUTOMATION_TIMEOUT_MS=300")
	many := `[` + strings.TrimSuffix(strings.Repeat("0,", 100_000), ",") + `]`
	s.automation(t, `{"slug":"many","name":"many","do":[],"output":{"list":`+many+`}}`)
	s.automation(t, `{"slug":"hangs","name":"hangs","do":[{"wait":{"oneOf":[{"event":"never"}],"timeout":3600}}],"output":{"text":"late"}}`)
	s.automation(t, `{"slug":"fails","name":"fails","do":[{"nosuch":{}}]}`)
	s.automation(t, `{"slug":"huge","name":"huge","do":[],"output":{"text":"`+strings.Repeat("0123456789abcdef", 60_000)+`"}}`)
	s.automation(t, `{"slug":"text","name":"text","do":[],"output":"no object"}`)
	s.automation(t, `{"slug":"secret","name":"secret","authorizations":{"action":"look"},"do":[],"output":{"text":"not for you"}}`)
	v := s.visitor(t, "")

	blocks := func(n int) string {
		return strings.TrimSuffix(strings.Repeat(`{"slug":"RichText","content":"line"},`, n), ",")
	}
	s.RequireRefusal(t, http.StatusUnprocessableEntity, "validation_failed", "POST", s.Path+"/pages", `{"slug":"large","name":"Large","blocks":[`+blocks(2001)+`]}`)
	s.page(t, true, `{"slug":"large","name":"Large","blocks":[`+blocks(2000)+`]}`)
	require.Equal(t, 2000, strings.Count(v.loadPage("/large").html, "<p>line</p>"))

	s.page(t, true, `{"slug":"many","name":"Many","automation":"many","blocks":[
		{"slug":"RichText","content":"copy {{$index}}.","repeat":{"on":"{{list}}"}},{"slug":"Header","title":"The rest"}]}`)
	copies := v.loadPage("/many").html
	require.Equal(t, 1000, strings.Count(copies, "copy "))
	require.Contains(t, copies, "99,000")
	require.Contains(t, copies, "<h1>The rest</h1>")

	// One list of 10^6 entries is more than a view may have, or takes too long: what is stored is shown.
	double := strings.Repeat(`,{"set":{"name":"l","value":"{{l}}","type":"merge"}}`, 10)
	s.automation(t, `{"slug":"million","name":"million","do":[{"set":{"name":"l","value":[`+strings.TrimSuffix(strings.Repeat("0,", 1000), ",")+`]}}`+double+`],"output":{"list":"{{l}}"}}`)
	s.page(t, true, `{"slug":"million","name":"Million","automation":"million","blocks":[
		{"slug":"RichText","content":"copy {{$index}}.","repeat":{"on":"{{list}}"}},{"slug":"Header","title":"The rest"}]}`)
	million := v.loadPage("/million")
	require.NotContains(t, million.html, "copy ")
	require.Contains(t, million.html, "<h1>The rest</h1>")
	refused := s.awaitSome(t, "error")
	require.Contains(t, []any{"ViewTooLarge", "PageAutomationError"}, refused[len(refused)-1]["payload"].(map[string]any)["error"])

	nested := `{"slug":"RichText","content":"x{{$index}}"}`
	for range 3 { // 10^6 copies by repeats in repeats
		nested = `{"slug":"BlocksList","repeat":{"on":"{{list}}"},"blocks":[` + nested + `]}`
	}
	s.page(t, true, `{"slug":"nested","name":"Nested","blocks":[{"slug":"Header","title":"First"},{"slug":"BlocksList","list":[`+strings.TrimSuffix(strings.Repeat("0,", 100), ",")+`],"blocks":[`+nested+`]}]}`)
	start := v.loadPage("/nested")
	require.Less(t, len(start.html), 16<<20)
	require.LessOrEqual(t, strings.Count(start.html, `data-kind="RichText"`), 20_000)

	s.page(t, true, `{"slug":"slow","name":"Slow","blocks":[{"slug":"RichText","content":"kept {{text}}","text":"stored","automation":"hangs"},{"slug":"Header","title":"The rest"}]}`)
	slow := v.loadPage("/slow")
	require.Contains(t, slow.html, "kept stored")
	require.Contains(t, slow.html, "<h1>The rest</h1>")
	found := false
	for _, e := range s.awaitSome(t, "error") {
		payload := e["payload"].(map[string]any)
		found = found || payload["error"] == "PageAutomationError" && strings.Contains(payload["message"].(string), "longer than 300ms")
	}
	require.True(t, found, "a time-out emits error")

	s.page(t, true, `{"slug":"mixed","name":"Mixed","blocks":[
		{"slug":"RichText","content":"a {{text}}","text":"stored","automation":"fails"},
		{"slug":"RichText","content":"b {{text}}","text":"stored","automation":"nosuch"},
		{"slug":"RichText","content":"c {{text}}","text":"stored","automation":"text"},
		{"slug":"RichText","content":"d {{text}}","text":"stored","automation":"secret"},
		{"slug":"RichText","content":"e {{text}}","automation":"huge"},
		{"slug":"RichText","content":"f {{text}}","text":"stored","automation":"huge"},
		{"slug":"Header","title":"The rest"}]}`)
	mixed := v.loadPage("/mixed")
	for _, kept := range []string{"a stored", "b stored", "c stored", "e 0123456789", "f stored", "<h1>The rest</h1>"} {
		require.Contains(t, mixed.html, kept)
	}
	require.NotContains(t, mixed.html, "d stored", "a block whose automation is forbidden is left out")
	require.NotContains(t, mixed.html, "not for you")
	v.follow(mixed.view(t), mixed.seq(t)) // a view of almost 1 MB is kept
	s.page(t, true, `{"slug":"forbidden","name":"Forbidden","automation":"secret","blocks":[{"slug":"Header","title":"No"}]}`)
	forbidden := v.get("/forbidden")
	require.Equal(t, http.StatusUnauthorized, forbidden.StatusCode, "nobody is signed in")
	require.NotContains(t, forbidden.html, "<h1>No</h1>")
	eve := v.as("Authorization", s.Service.NewUser(t, "eve").Get("Authorization"))
	require.Equal(t, http.StatusForbidden, eve.get("/forbidden").StatusCode)
}

// awaitSome waits until there is an event of a type, and returns all.
func (s shop) awaitSome(t *testing.T, kind string) (all []map[string]any) {
	t.Helper()
	require.Eventually(t, func() bool {
		all = s.events(t, kind)
		return len(all) > 0
	}, patience, 20*time.Millisecond, kind)
	return all
}

func TestForeignOrigins(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.page(t, true, `{"slug":"index","name":"Home","blocks":[{"slug":"Button","text":"Buy","type":"event","value":"bought"}]}`)
	v := s.visitor(t, "")
	view := v.loadPage("/").view(t)
	body, err := json.Marshal(map[string]string{"view": view, "block": "0", "on": "action"})
	require.NoError(t, err)
	form := url.Values{"svc:view": {view}, "svc:block": {"0"}, "svc:on": {"action"}}.Encode()
	for _, header := range [][2]string{
		{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin", "http://shop.pages.test"}, {"Origin", v.origin + ".evil.example"},
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
	} {
		foreign := v.as(header[0], header[1], "Accept", "application/json")
		for _, got := range []answer{
			foreign.send("POST", v.base+"/_svc/events", strings.NewReader(string(body)), "application/json"),
			foreign.send("POST", v.base+"/_svc/events", strings.NewReader(form), "application/x-www-form-urlencoded"),
			foreign.send("POST", v.base+"/_svc/signout", nil, ""),
		} {
			require.Equal(t, http.StatusForbidden, got.StatusCode, header)
			require.Contains(t, got.html, `"error":"permission_denied"`)
			require.Empty(t, got.Cookies())
		}
	}
	require.Empty(t, s.events(t, "bought"))
}
