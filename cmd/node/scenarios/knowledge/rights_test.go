package knowledge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

func TestRightsOnDocuments(t *testing.T) {
	t.Parallel()
	s := nodetest.NewServiceWithAccounts(t, "KNOWLEDGE_MAX_DOCUMENTS=4").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	nobody, stranger := p.As(nil), p.As(s.NewUser(t, "stranger"))
	base := p.Path + "/knowledgeBases"
	p.Do(t, 201, "POST", base, `{"name":"FAQ","slug":"faq"}`)
	p.Do(t, 201, "POST", base, `{"name":"Other","slug":"other"}`)
	all := base + "/faq/documents"
	hr := p.Do(t, 201, "POST", all, `{"text":"salaries","name":"hr","key":"hr","tags":["hr"]}`).JSON(t)["id"].(string)
	it := p.Do(t, 201, "POST", all, `{"text":"servers","name":"it","key":"it","tags":["it"]}`).JSON(t)["id"].(string)

	nobody.RequireRefusal(t, 401, "missing_token", "GET", all, "")
	stranger.RequireRefusal(t, 403, "workspace_access_denied", "GET", all, "")
	stranger.RequireRefusal(t, 403, "workspace_access_denied", "POST", all, `{"text":"x"}`)
	p.Do(t, 200, "PUT", p.Path+"/security", `{"authorizations":{"roles":{"hr":{},"editor":{}},"rules":[{"role":"hr","action":"read","subject":"workspaces"},`+
		`{"role":"hr","action":["create","read","update"],"subject":"documents","conditions":{"tags":"hr","knowledgeBase":"faq"}}]}}`)
	p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"email":"stranger@example.org"},"permissions":{"role":"hr"}}`)

	require.Equal(t, []any{"hr"}, nodetest.Fields(stranger.Do(t, 200, "GET", all, "").List(t), "name"))
	require.Equal(t, "1", stranger.Do(t, 200, "GET", all, "").Header.Get("X-Total-Count"))
	stranger.RequireRefusal(t, 403, "permission_denied", "GET", base+"/other/documents", "")
	for _, path := range []string{"", "/content", "/text", "/chunks", "/revisions"} {
		stranger.RequireRefusal(t, 403, "permission_denied", "GET", all+"/"+it+path, "")
	}
	stranger.Do(t, 200, "GET", all+"/key:hr/content", "")
	stranger.RequireRefusal(t, 403, "permission_denied", "POST", all, `{"text":"x","tags":["it"]}`)
	stranger.RequireRefusal(t, 403, "permission_denied", "POST", all, `{"text":"mine now","key":"it","tags":["hr"]}`)
	stranger.RequireRefusal(t, 403, "permission_denied", "PATCH", all+"/"+hr, `{"tags":["it"]}`)
	stranger.Do(t, 200, "PATCH", all+"/"+hr, `{"tags":["hr","new"]}`)
	stranger.Do(t, 201, "POST", all, `{"text":"x","tags":["hr"]}`)
	stranger.RequireRefusal(t, 403, "permission_denied", "DELETE", all+"/"+hr, "")
	require.Equal(t, "servers", string(p.Do(t, 200, "GET", all+"/"+it+"/content", "").Body))

	t.Run("a base has a limit", func(t *testing.T) {
		p.Do(t, 201, "POST", all, `{"text":"the fourth"}`)
		require.Equal(t, "limit_exceeded", p.RequireRefusal(t, 422, "validation_failed", "POST", all, `{"text":"the fifth"}`)["reason"])
		p.Do(t, 200, "POST", all, `{"text":"servers and more","key":"it"}`)
	})
	t.Run("the write lock does not concern documents", func(t *testing.T) {
		p.Do(t, 200, "POST", p.Path+"/writeLock", `{}`)
		p.RequireRefusal(t, 423, "resource_locked", "PATCH", base+"/faq", `{"name":"x"}`)
		p.Do(t, 200, "PATCH", all+"/"+it, `{"title":"Servers"}`)
		p.Do(t, 201, "POST", base+"/other/documents", `{"text":"more"}`)
		p.Do(t, 200, "POST", base+"/faq/search", `{"query":"servers"}`)
		p.Do(t, 200, "DELETE", p.Path+"/writeLock", "")
	})
	t.Run("documents return with their base", func(t *testing.T) {
		p.Do(t, 200, "DELETE", base+"/faq", "")
		p.RequireRefusal(t, 404, "resource_not_found", "GET", all, "")
		deleted := p.ListEvents(t, "types=workspaces.knowledgeBases.deleted&limit=1").Result.Events[0]
		p.Do(t, 200, "POST", p.Path+"/undo", nodetest.UndoBody(deleted.Seq))
		require.Equal(t, "4", p.Do(t, 200, "GET", all, "").Header.Get("X-Total-Count"))
		p.Do(t, 200, "DELETE", base+"/faq", "")
		p.Do(t, 201, "POST", base, `{"name":"FAQ","slug":"faq"}`)
		require.Equal(t, "0", p.Do(t, 200, "GET", all, "").Header.Get("X-Total-Count"), "a new base is empty")
	})
}

func TestDocumentsOfAddresses(t *testing.T) {
	t.Parallel()
	var visits atomic.Int64
	slow := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /private\nAllow: /private/open\n")
		case "/page":
			w.Header().Set("Content-Type", "text/html; charset=windows-1252")
			fmt.Fprintf(w, "<html><title>Caf\xe9</title><body><p>Visit %d of the caf\xe9</p></body></html>", min(visits.Add(1), 2))
		case "//page":
			fmt.Fprint(w, "Another page")
		case "/inside":
			http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusFound)
		case "/slow":
			<-slow
			fmt.Fprint(w, "At last")
		case "/private/secret":
			t.Error("robots.txt excludes it")
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	answerSlow := sync.OnceFunc(func() { close(slow) })
	defer answerSlow()
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_HOSTS="+site.Listener.Addr().String(), "KNOWLEDGE_WORKERS=1").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	p.Do(t, 201, "POST", p.Path+"/knowledgeBases", `{"name":"FAQ","slug":"faq"}`)
	all := p.Path + "/knowledgeBases/faq/documents"
	post := func(status int, path string) map[string]any {
		return p.Do(t, status, "POST", all+"?wait=30", fmt.Sprintf(`{"url":%q}`, site.URL+path)).JSON(t)
	}

	first := post(201, "/page?utm_source=x#top")
	require.Equal(t, "ready", first["status"], first)
	require.Equal(t, "Café", first["title"])
	require.Equal(t, site.URL+"/page", first["url"])
	require.Equal(t, "url", first["source"])
	require.NotContains(t, first, "unchanged")
	second := post(200, "/page")
	require.Equal(t, first["id"], second["id"])
	require.Equal(t, 2.0, second["revision"], "the page had another content")
	third := post(200, "/page")
	require.Equal(t, 2.0, third["revision"])
	require.Equal(t, second["textHash"], third["textHash"])
	require.NotEqual(t, second["checkedAt"], third["checkedAt"])
	require.Equal(t, []any{nil, true}, []any{second["unchanged"], third["unchanged"]})
	other := post(201, "/a/..//page")
	require.Equal(t, []any{site.URL + "//page", "ready"}, []any{other["url"], other["status"]})
	require.Equal(t, "Another page", string(p.Do(t, 200, "GET", all+"/"+other["id"].(string)+"/text", "").Body))

	for path, reason := range map[string]string{"/private/secret": "robots_disallowed", "/missing": "fetch_failed", "/inside": "address_forbidden"} {
		got := post(201, path)
		require.Equal(t, "error", got["status"], path)
		require.Equal(t, reason, got["error"].(map[string]any)["reason"], path)
	}
	forbidden := p.Do(t, 201, "POST", all+"?wait=30", `{"url":"http://169.254.169.254/latest/meta-data"}`).JSON(t)
	require.Equal(t, "address_forbidden", forbidden["error"].(map[string]any)["reason"])
	failed := eventsOf(t, p, "knowledge.documents.failed")
	require.Len(t, failed, 4)
	require.Equal(t, 1.0, failed[0].Payload["attempts"])

	t.Log("the former text is found until the new one is ready")
	keyed := p.Do(t, 201, "POST", all+"?wait=30", `{"text":"alpha stands here","key":"k"}`).JSON(t)
	require.Equal(t, "ready", keyed["status"])
	last := p.Do(t, 201, "POST", all, fmt.Sprintf(`{"url":%q}`, site.URL+"/slow")).JSON(t)["id"].(string)
	status := func(id string) any { t.Helper(); return p.Do(t, 200, "GET", all+"/"+id, "").JSON(t)["status"] }
	require.Eventually(t, func() bool { return status(last) == "processing" }, time.Minute, 10*time.Millisecond)
	waiting := p.Do(t, 200, "POST", all, `{"text":"omega stands here","key":"k"}`).JSON(t) // behind the slow page
	require.Equal(t, []any{"pending", true, 2.0}, []any{waiting["status"], waiting["searchable"], waiting["revision"]})
	for range 3 {
		require.Equal(t, keyed["id"], search(t, p, "faq", `{"query":"alpha"}`).Results[0].Document.ID)
		require.Empty(t, search(t, p, "faq", `{"query":"omega","fuzzy":false}`).Results)
	}
	require.Equal(t, "pending", status(keyed["id"].(string)))
	answerSlow()
	require.Eventually(t, func() bool { return status(keyed["id"].(string)) == "ready" }, time.Minute, 10*time.Millisecond)
	require.Equal(t, keyed["id"], search(t, p, "faq", `{"query":"omega"}`).Results[0].Document.ID)
	require.Empty(t, search(t, p, "faq", `{"query":"alpha","fuzzy":false}`).Results)
	require.Equal(t, "alpha stands here", string(p.Do(t, 200, "GET", all+"/key:k/content?revision=1", "").Body))

	upload := postFiles(t, p, p.Path+"/files", nil, "notes.md", "---\ntitle: Notes\ntags: [a]\n---\nSome notes")
	require.Equal(t, 201, upload.StatusCode, "%s", upload.Body)
	file := eventsOf(t, p, "workspaces.files.uploaded")[0].Payload["file"].(map[string]any)["id"].(string)
	made := p.Do(t, 201, "POST", all+"?wait=30", fmt.Sprintf(`{"fileId":%q}`, file)).JSON(t)
	require.Equal(t, []any{"ready", "Notes", "notes.md", "file"}, []any{made["status"], made["title"], made["name"], made["source"]})
	require.Equal(t, []any{"a"}, made["tags"])
	require.Equal(t, true, p.Do(t, 200, "POST", all, fmt.Sprintf(`{"fileId":%q}`, file)).JSON(t)["unchanged"])
	require.Eventually(t, func() bool {
		return p.Do(t, 200, "GET", all+"?status=pending", "").Header.Get("X-Total-Count") == "0"
	}, time.Minute, 20*time.Millisecond)
}
