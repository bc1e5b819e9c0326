//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// crawledSite is a site of a few pages. One of them answers when it is let go.
func crawledSite(t *testing.T) (address string, letGo func()) {
	t.Helper()
	open := make(chan struct{})
	letGo = sync.OnceFunc(func() { close(open) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
			return
		}
		texts := map[string]string{
			"/":        `<p>Bicycles <b>and</b> more.</p><a href="/repairs">Repairs</a><a href="/private/staff">Staff</a><a href="/gone">Gone</a><a href="/slow">Slow</a>`,
			"/repairs": "<p>Repairs take two days.</p>", "/slow": "<p>A page that takes its time.</p>",
		}
		if r.URL.Path == "/slow" {
			select {
			case <-open:
			case <-r.Context().Done():
			}
		}
		text, ok := texts[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, "<title>Shop %s</title><main>%s</main>", r.URL.Path, text)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(letGo)
	return server.URL + "/", letGo
}

// Sources from the empty list to their end: one takes an address, is read before the eyes of the person, says what became of each
// page and why; its form shows faults at their fields, and takes credentials as secrets only.
func TestCrawls(t *testing.T) {
	t.Parallel()
	s := sharedService(t)
	ada, grace := s.person(t, "Ada"), s.person(t, "Grace")
	id := ada.workspace(t, "Crawls")
	w := "/v2/workspaces/" + id
	ada.share(t, id, grace, map[string]any{"policies": map[string]any{"read": true}})
	ada.do(t, http.StatusCreated, "POST", w+"/knowledgeBases", map[string]any{"name": "Manual", "slug": "manual"})
	ada.do(t, http.StatusOK, "PATCH", w+"/security/secrets", map[string]any{"SITE": map[string]any{"value": "hidden-value"}})
	site, letGo := crawledSite(t)
	sh := newSheet(t, "sources")
	b := ada.open(t)
	b.visit("w/" + id + "/knowledge/manual?tab=sources")
	b.see("heading", "No sources yet")
	sh.capture(b, "empty")
	b.press("n")
	b.awaitFocus("textbox", "Address")
	b.press("Control+Enter")
	b.seeText("This is required.")
	b.write("ftp://docs.example.com")
	b.press("Enter")
	b.seeText("An address with http or https is wanted")
	sh.capture(b, "new")
	b.fill("Address", site)
	b.fill("Id", "shop")
	b.press("Enter")
	b.see("button", "Read now shop")
	b.seeText("It has not been read yet.")

	// It is read: progress, then what became of each page.
	b.click("button", "Read now shop")
	b.see("progressbar", "")
	b.see("button", "Cancel")
	sh.capture(b, "running")
	letGo()
	b.seeText("5 pages: 3 new, 1 left out, 1 failed")
	b.click("link", "Show pages")
	b.see("heading", "Crawl of shop")
	b.seeText("The site does not allow programs to read it (robots.txt).")
	b.seeText("The site does not have this page.")
	sh.capture(b, "crawl")
	b.choose("Outcome", "Failed (1)")
	b.await(`location.search.includes('outcome=failed') && document.querySelectorAll('aside li').length === 1`)
	b.choose("Outcome", "Removed (0)")
	b.see("heading", "No match")
	b.press("Escape")
	b.gone("heading", "Crawl of shop")

	// The form: faults at their fields, credentials by reference, defaults are not written.
	b.click("link", "shop")
	b.fill("Addresses to begin with", site+"\nnowhere")
	b.fillAs("spinbutton", "Depth", "2")
	b.click("button", "Add a header")
	b.fill("Name", "X-Api-Key")
	b.seeText("Line 2: An address with http or https is wanted")
	b.seeText("Choose a secret of the workspace.")
	b.fill("Addresses to begin with", site)
	b.choose("Secret", "SITE")
	b.choose("When it is read", "Another schedule")
	b.fill("Schedule", "* * * * *")
	b.fill("CSS selector", "main[")
	b.seeText("Not more often than every 1h.")
	b.seeText("This is not a CSS selector.")
	sh.capture(b, "form")
	b.choose("When it is read", "Every day at 3:00")
	b.fill("CSS selector", "main")
	b.fill("Not these addresses", "/gone*\n/slow")
	b.click("checkbox", "PDF")
	b.press("Control+s")
	b.seeText("Saved at")
	require.Subset(t, ada.do(t, http.StatusOK, "GET", w+"/knowledgeBases/manual", nil)["sources"].(map[string]any)["shop"], map[string]any{
		"urls": []any{site}, "schedule": "0 3 * * *", "selector": map[string]any{"css": "main"}, "depth": 2.0, "types": []any{"html", "pdf"},
		"headers": map[string]any{"X-Api-Key": "{{secret.SITE}}"}, "exclude": []any{"/gone*", "/slow"},
	})
	b.click("link", "All sources")
	b.click("button", "Read now shop")
	b.seeText("2 changed, 1 left out, 1 removed")

	// Who may only read sees them; what they may not do says which right is missing.
	reader := grace.open(t)
	reader.visit("w/" + id + "/knowledge/manual?tab=sources")
	reader.see("table", "Crawls")
	require.Equal(t, "You need the right to change knowledge bases here.", reader.reasonOf("New source"))
	sh.capture(reader, "reader")

	// The deletion says how many documents go.
	b.click("button", "Actions of shop")
	b.click("menuitem", "Delete")
	b.seeText("2 documents go with it")
	b.click("button", "Delete the source")
	b.gone("button", "Read now shop")
	b.seeText("There is no source any more.")
	ada.do(t, http.StatusOK, "PATCH", w+"/knowledgeBases/manual", map[string]any{"sources": map[string]any{"shop": map[string]any{"urls": []string{site}}}})
	ada.do(t, http.StatusOK, "PATCH", "/v2/user", map[string]any{"language": "fr"})
	b.visit("w/" + id + "/knowledge/manual?tab=sources&source=shop")
	b.see("textbox", "Adresses de départ")
	sh.capture(b, "French")
}
