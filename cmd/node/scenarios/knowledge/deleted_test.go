package knowledge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/gitsync/gittest"
)

// A deleted base is gone at once, with its crawls. Whatever brings its slug back, but a POST, brings its documents back.
// Row 57 of the knowledge contract's conformance list.
func TestDeletedKnowledgeBases(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(site.Close)
	s := nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_PRIVATE=yes", "EGRESS_ALLOW_HOSTS=127.0.0.1", "DOWNLOAD_DELAY=0", "REQUEST_QUEUES_POLLING_INTERVAL=0.2").Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	bases, faq := p.Path+"/knowledgeBases", p.Path+"/knowledgeBases/faq"
	made := p.Do(t, 201, "POST", bases, `{"name":"FAQ","sources":{"site":{"urls":["`+site.URL+`/"],"schedule":"30 3 * * *"}}}`).JSON(t)
	p.Do(t, 201, "POST", faq+"/documents?wait=30", `{"text":"Within thirty days.","key":"refunds"}`)
	requireFound := func(t *testing.T) {
		t.Helper()
		require.Equal(t, []string{"refunds"}, keysOf(search(t, p, "faq", `{"query":"thirty"}`)))
		require.Equal(t, made["id"], p.Do(t, 200, "GET", faq, "").JSON(t)["id"])
		require.Equal(t, true, p.Do(t, 200, "GET", faq+"/documents/key:refunds", "").JSON(t)["searchable"], "also while it is processed again, because the chunking changed")
	}
	requireGone := func(t *testing.T) {
		t.Helper()
		p.RequireRefusal(t, 404, "resource_not_found", "GET", faq+"/documents", "")
		p.RequireRefusal(t, 404, "resource_not_found", "POST", faq+"/search", `{"query":"thirty"}`)
		require.Empty(t, p.Do(t, 200, "POST", bases+"/search", `{"query":"thirty"}`).JSON(t)["results"])
	}
	requireFound(t)

	t.Run("goes at once, and its crawl ends", func(t *testing.T) {
		running := p.Do(t, 202, "POST", faq+"/sources/site/crawl", "").JSON(t)["id"].(string)
		p.Do(t, 200, "DELETE", faq, "")
		requireGone(t)
		require.Equal(t, map[string]any{"slug": "faq", "documents": 1.0}, p.ListEvents(t, "types=workspaces.knowledgeBases.deleted&limit=1").Result.Events[0].Payload)
		require.Equal(t, "cancelled", awaitOperation(t, p, running)["status"])
	})
	t.Run("comes back by an undo", func(t *testing.T) {
		deleted := p.ListEvents(t, "types=workspaces.knowledgeBases.deleted&limit=1").Result.Events[0]
		p.Do(t, 200, "POST", p.Path+"/undo", nodetest.UndoBody(deleted.Seq))
		requireFound(t)
	})
	t.Run("comes back by an import", func(t *testing.T) {
		archive := string(p.Do(t, 200, "GET", p.Path+"/export", "").Body)
		require.NotContains(t, archive, "thirty")
		p.Do(t, 200, "DELETE", faq, "")
		requireGone(t)
		got := s.Upload(t, p.Path+"/import", p.Auth, archive, false)
		require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
		requireFound(t)
		require.Len(t, p.Do(t, 200, "GET", faq+"/crawls", "").List(t), 1, "an import begins no crawl")
	})
	t.Run("keeps its documents when it is renamed", func(t *testing.T) {
		p.Do(t, 200, "PATCH", faq, `{"slug":"questions"}`)
		p.Do(t, 200, "PATCH", bases+"/questions", `{"slug":"faq"}`)
		requireFound(t)
	})
	t.Run("comes back after a pull that deleted it; both sides of a pull are merged by file", func(t *testing.T) {
		server := gittest.New(t)
		repo := server.Repo("faq.git")
		p.Do(t, 200, "PATCH", p.Path, fmt.Sprintf(`{"repositories":{"origin":{"name":"Origin","config":{"url":%q,"caBundle":%q,"auth":{"user":%q,"password":%q}}}}}`, repo.URL, server.CA, gittest.User, gittest.Password))
		const pull = `{"repository":"origin"}`
		p.Do(t, 201, "POST", p.Path+"/versions", `{"name":"v1","repository":"origin"}`)
		dirty := func() any { t.Helper(); return p.Do(t, 200, "GET", p.Path, "").JSON(t)["dirty"] }
		require.Equal(t, false, dirty(), "all of it is in the repository")
		clone := repo.Clone()
		content := repo.Git("show", "main:knowledge/faq.yml")

		clone.Write("knowledge/faq.yml", content+"\nchunking:\n  size: 900\n")
		clone.Commit("smaller passages")
		clone.Push("main")
		p.Do(t, 200, "PATCH", faq, `{"chunking":{"size":1200}}`)
		require.Equal(t, true, dirty())
		p.RequireRefusal(t, 409, "resource_conflict", "POST", p.Path+"/pull", pull)
		files := p.Do(t, 200, "GET", p.Path+"/conflicts", "").JSON(t)["files"].([]any)
		require.Len(t, files, 1)
		require.Equal(t, "knowledge/faq.yml", files[0].(map[string]any)["path"])
		p.Do(t, 200, "POST", p.Path+"/conflicts/resolve", `{"files":{"knowledge/faq.yml":{"use":"theirs"}}}`)
		require.Equal(t, 900.0, p.Do(t, 200, "GET", faq, "").JSON(t)["chunking"].(map[string]any)["size"])

		p.Do(t, 201, "POST", p.Path+"/push", pull)
		clone.Git("pull", "--quiet", "origin", "main")
		clone.Git("rm", "--quiet", "knowledge/faq.yml")
		clone.Commit("no questions")
		clone.Push("main")
		require.Equal(t, []any{"knowledge/faq"}, p.Do(t, 200, "POST", p.Path+"/pull", pull).JSON(t)["deleted"])
		requireGone(t)
		p.Do(t, 200, "POST", p.Path+"/restore", `{"version":"v1"}`)
		require.Eventually(t, func() bool {
			return p.Do(t, 200, "GET", faq+"/documents/key:refunds", "").JSON(t)["status"] == "ready"
		}, time.Minute, 50*time.Millisecond)
		requireFound(t)
	})
	t.Run("made by POST is empty", func(t *testing.T) {
		p.Do(t, 200, "DELETE", faq, "")
		anew := p.Do(t, 201, "POST", bases, `{"name":"FAQ"}`).JSON(t)
		require.NotEqual(t, made["id"], anew["id"])
		require.Empty(t, p.Do(t, 200, "GET", faq+"/documents", "").List(t))
		require.Empty(t, keysOf(search(t, p, "faq", `{"query":"thirty"}`)))
	})
}

// A base with a source and a published agent go to another service in one archive: the same bytes come out of it, without
// documents. The schedule holds there, and nothing is read before it fires. Row 56 of the knowledge contract's conformance
// list.
func TestKnowledgeElsewhere(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(site.Close)
	start := func() nodetest.Workspace {
		return nodetest.NewOwnedWorkspace(t, nodetest.NewServiceWithAccounts(t, "EGRESS_ALLOW_HOSTS=127.0.0.1", "CRAWLER_MIN_PERIOD=1m", "REQUEST_QUEUES_POLLING_INTERVAL=0.2").Start(t))
	}
	from, to := start(), start()
	from.Do(t, 201, "POST", from.Path+"/knowledgeBases", `{"name":"FAQ","sources":{"site":{"urls":["`+site.URL+`/"],"schedule":"* * * * *","exclude":["/search*"]}}}`)
	from.Do(t, 201, "POST", from.Path+"/knowledgeBases/faq/documents?wait=30", `{"text":"Within thirty days."}`)
	from.Do(t, 201, "POST", from.Path+"/agents", `{"name":"Helper","instructions":"You help.","knowledge":[{"base":"faq"}]}`)
	from.Do(t, 200, "POST", from.Path+"/agents/helper/publish", "")
	archive := from.Do(t, 200, "GET", from.Path+"/export", "").Body
	require.Contains(t, unzip(t, archive), "knowledge/faq.yml")
	require.Contains(t, unzip(t, archive)["agents/helper.yml"], "published: true")

	imported := time.Now()
	got := to.Service.Upload(t, to.Path+"/import", to.Auth, string(archive), false)
	require.Equal(t, http.StatusOK, got.StatusCode, "%s", got.Body)
	require.Equal(t, unzip(t, archive), unzip(t, to.Do(t, 200, "GET", to.Path+"/export", "").Body))
	require.Equal(t, archive, to.Do(t, 200, "GET", to.Path+"/export", "").Body)
	require.Empty(t, to.Do(t, 200, "GET", to.Path+"/knowledgeBases/faq/documents", "").List(t))
	published := to.Do(t, 200, "GET", to.Path+"/agents/helper", "").JSON(t)["published"].(map[string]any)
	require.Equal(t, []any{1.0, true}, []any{published["number"], published["current"]})

	var crawls []map[string]any
	require.Eventually(t, func() bool {
		crawls = to.Do(t, 200, "GET", to.Path+"/knowledgeBases/faq/crawls", "").List(t)
		return len(crawls) > 0
	}, 3*time.Minute, 100*time.Millisecond, "the schedule fires every minute")
	require.Len(t, crawls, 1)
	require.Equal(t, []any{"schedule", "site"}, []any{crawls[0]["trigger"], crawls[0]["sourceId"]})
	began, err := time.Parse(time.RFC3339, crawls[0]["startedAt"].(string))
	require.NoError(t, err)
	require.False(t, began.Before(imported.Truncate(time.Minute).Add(time.Minute)), "%s, imported %s", began, imported)
}
