package automations_test

import (
	"bufio"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
)

// The sample workspace of the console is imported from where it is served. Nothing is wrong
// with it, and each of its automations does what it says.
func TestTheSampleWorkspaceRuns(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	archive := w.Get(t, "/console/sample.zip", nil)
	require.Equal(t, http.StatusOK, archive.StatusCode)
	planned := w.Upload(t, "/v2/workspaces/import?dryRun=true", w.Owner, string(archive.Body), false)
	require.Equal(t, http.StatusOK, planned.StatusCode, "%s", planned.Body)
	imported := w.Upload(t, "/v2/workspaces/import", w.Owner, string(archive.Body), false)
	require.Equal(t, http.StatusCreated, imported.StatusCode, "%s", imported.Body)
	result := imported.JSON(t)
	require.Empty(t, result["errors"])
	require.Empty(t, result["warnings"])
	require.Equal(t, planned.JSON(t)["imported"], result["imported"])
	id := result["workspace"].(map[string]any)["id"].(string)
	p := w.Track(nodetest.Workspace{Service: w.Service, Path: "/v2/workspaces/" + id, ID: id, Auth: w.Owner})

	p.AwaitEvents(t, 1, "workspaces.collections.updated", "")
	schema := p.Do(t, 200, "GET", p.Path+"/collections/expenses/schema", "").JSON(t)
	require.Contains(t, schema["properties"], "amount", "it was declared by the import")

	p.Anonymous().RequireRefusal(t, 400, "invalid_request", "POST", p.Path+"/webhooks/expenses", `{"what":"Pens"}`)
	small := p.Anonymous().Do(t, 200, "POST", p.Path+"/webhooks/expenses", `{"what":"Pens","amount":12}`).JSON(t)
	large := p.Do(t, 200, "POST", p.Path+"/test/submit?record=true", `{"payload":{"body":{"what":"Chair","amount":1200}}}`).JSON(t)
	row := func(made map[string]any) map[string]any {
		return p.Do(t, 200, "GET", p.Path+"/collections/expenses/rows/"+made["id"].(string), "").JSON(t)
	}
	require.Eventually(t, func() bool { return row(small)["status"] == "approved" }, time.Minute, 10*time.Millisecond)

	var waits []map[string]any
	require.Eventually(t, func() bool {
		waits = p.Do(t, 200, "GET", p.Path+"/waits", "").List(t)
		return len(waits) == 1
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, "decide", waits[0]["automation"])
	require.Equal(t, "submitted", row(large)["status"])
	p.Do(t, 200, "POST", p.Path+"/waits/"+waits[0]["id"].(string)+"/answer", `{"event":"expense.refused","payload":{"id":"`+large["id"].(string)+`","by":"me","why":"dear"}}`)
	require.Eventually(t, func() bool { return row(large)["status"] == "refused" }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "me", row(large)["decidedBy"])

	p.Emit(t, `{"type":"expense.entered","payload":{"what":"By the form","amount":3}}`)
	p.AwaitEvents(t, 3, "expense.decided", "")
	require.Len(t, p.Do(t, 200, "POST", p.Path+"/test/list", `{}`).JSON(t)["rows"], 3)
	report := p.Do(t, 200, "POST", p.Path+"/test/report", `{}`)
	require.JSONEq(t, `[{"_id":"approved","expenses":2,"amount":15},{"_id":"refused","expenses":1,"amount":1200}]`, string(report.Body))
	require.Contains(t, p.Do(t, 200, "GET", p.Path+"/contexts/global", "").JSON(t), "report")
	p.Do(t, 200, "POST", p.Path+"/test/declare", `{}`)

	require.Len(t, p.AwaitEvents(t, 1, "error", ""), 1, "the amount that was missing, and nothing else")
	require.Empty(t, p.Do(t, 200, "GET", p.Path+"/problems", "").List(t))
	page := p.Do(t, 200, "GET", p.Path+"/pages/index", "").JSON(t)
	require.Equal(t, false, page["public"], "visitors cannot write to a workspace that nobody looks after")
	slug := result["workspace"].(map[string]any)["slug"].(string)
	p.Do(t, 200, "GET", "/v2/pages/"+slug+"/index", "")
	shown := string(p.Do(t, 200, "GET", "/pages/"+slug+"/", "", "Accept", "text/html").Body)
	for _, text := range []string{"<h1>Expenses</h1>", "By the form", `data-kind="Charts"`, `<th scope="row">approved</th><td>15</td>`, `<th scope="row">refused</th>`, "_svc/events"} {
		require.Contains(t, shown, text)
	}
	require.NotContains(t, shown, `role="alert"`)
	require.Contains(t, string(p.Do(t, 200, "GET", "/pages/"+slug+"/fr", "", "Accept", "text/html").Body), "Montants par statut")
	view := regexp.MustCompile(`data-view="([^"]+)" data-seq="([^"]+)"`).FindStringSubmatch(shown)
	require.NotNil(t, view, shown)
	live := p.Follow(t, "/pages/"+slug+"/_svc/feed?view="+view[1]+"&fromSeq="+view[2])
	p.Do(t, 201, "POST", "/pages/"+slug+"/_svc/events", `{"view":"`+view[1]+`","block":"2","on":"onSubmit","values":{"what":"Live","amount":"20"}}`, "Origin", p.Service.Base)
	lines := bufio.NewScanner(live)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && !strings.Contains(lines.Text(), "35") { // 15 and 20
	}
	require.Contains(t, lines.Text(), "Live", "the page shows what its form was sent, and the new sum")
}

// What the service answers to a browser leads to the console, and the console is the same
// for everybody.
func TestABrowserIsLedToTheConsole(t *testing.T) {
	t.Parallel()
	w := nodetest.SharedService(t)
	led := w.Get(t, "/", http.Header{"Accept": {"text/html,application/xhtml+xml,*/*;q=0.8"}})
	require.Equal(t, "/console/", led.Request.URL.Path)
	require.Contains(t, string(led.Body), `<meta name="svc-upload-max" content="10485760">`)
	require.Contains(t, string(led.Body), `<meta name="svc-api-base" content="">`)
	signedIn := w.Get(t, "/console/workspaces", w.Owner)
	require.Equal(t, string(led.Body), string(signedIn.Body))
	require.Empty(t, signedIn.Header.Get("X-Svc-Session-Id"))
	require.Equal(t, http.StatusNotFound, w.Get(t, "/console/assets/gone.js", nil).StatusCode)

	// So is the reference: what caches may keep tells nobody's session.
	require.NotEmpty(t, w.Get(t, "/v2/me", w.Owner).Header.Get("X-Svc-Session-Id"), "the owner has one")
	page := w.Get(t, "/docs", w.Owner)
	files := append(regexp.MustCompile(`/docs/[\w.]+\.js`).FindAllString(string(page.Body), -1), "/docs", "/openapi.json", "/openapi.yaml")
	require.Len(t, files, 5)
	for _, file := range files {
		got := w.Get(t, file, w.Owner)
		require.Equal(t, http.StatusOK, got.StatusCode, file)
		require.Empty(t, got.Header.Get("X-Svc-Session-Id"), file)
		require.Empty(t, got.Header.Get("X-Svc-Csrf-Token"), file)
	}
}
