package versioning_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// as asks the service as somebody, with headers: name, value, name, value.
func (p *gitWorkspace) as(user, method, path, body string, headers ...string) (answer, error) {
	r, err := http.NewRequest(method, p.base+p.path+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+user)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return answer{got, text}, err
}

func TestPush13KilledAfterTheRemoteAccepted(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, newFixture(t))
	d := p.useProxy()
	p.push("v1")
	p.automation("charge", "charged")
	accepted := make(chan struct{})
	d.once(isReceivePack, func(_ http.ResponseWriter, r *http.Request, pass http.Handler) {
		pass.ServeHTTP(discarded{http.Header{}}, r)
		close(accepted)
		<-r.Context().Done() // the answer never leaves
	})
	id := p.started("v2")
	select {
	case <-accepted:
	case <-time.After(time.Minute):
		require.FailNow(t, "nothing was sent")
	}
	p.kill()
	require.NoError(t, p.start())
	require.Eventually(t, func() bool { return p.workspace()["writeLock"] == nil }, time.Minute, 100*time.Millisecond)
	op := p.succeeded(id)
	require.EqualValues(t, 1, op["resumed"])
	require.Equal(t, "v2", op["result"].(map[string]any)["name"])
	require.False(t, p.isDirty())
	require.Equal(t, "2", count(p.repo, "main"), "one commit each")
	require.Len(t, p.history("workspaces.versions.published"), 2)
	require.Equal(t, "v2", p.workspace()["lastPush"].(map[string]any)["version"])
	p.push("v3")
}

// discarded is an answer that nobody reads.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d discarded) WriteHeader(int)             {}

func TestPush19Commit(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	mail := p.slug + "@example.org"
	made := p.do(t, 201, "POST", "/v2/signup", fmt.Sprintf(`{"email":%q,"password":"Long-enough-4711","firstName":"Ada","lastName":"<Byron>"}`, mail)).json(t)
	push := func(user, body string) (map[string]any, string) {
		got, err := p.as(user, "POST", "/push", body)
		require.NoError(t, err)
		require.Equal(t, 201, got.StatusCode, "%s", got.body)
		return got.json(t), got.Header.Get("X-Svc-Operation-Id")
	}
	user := made["id"].(string)
	version, op := push(user, `{"name":"v1","description":{"fr":"Rembourser","en":"Retry failed charges\n\nTwice."},"repository":"origin"}`)
	show := func(format, ref string) string { return p.repo.Git("log", "-1", "--format="+format, ref) }
	require.Equal(t, "Ada Byron <"+mail+">", show("%an <%ae>", "main"))
	require.Equal(t, "svc", show("%cn", "main"))
	require.Regexp(t, "^noreply@", show("%ce", "main"))
	require.Equal(t, show("%at", "main"), show("%ct", "main"))
	require.Equal(t, "+0000", show("%ad", "main")[len(show("%ad", "main"))-5:], "UTC")
	when, err := time.Parse(time.RFC3339, version["createdAt"].(string))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(when.Unix()), show("%at", "main"))
	revision := fmt.Sprintf("%.0f", version["contentRevision"])
	trailers := fmt.Sprintf("Svc-Workspace: %s\nSvc-Version: v1\nSvc-Operation: %s\nSvc-Revision: %s", p.id, op, revision)
	require.Equal(t, "Retry failed charges\n\nTwice.\n\n"+trailers, show("%B", "main"))
	require.Equal(t, trailers, strings.TrimSpace(show("%(trailers:only)", "main")), "git takes them for trailers")
	require.Contains(t, p.repo.Git("cat-file", "tag", "v1"), "tagger Ada Byron <"+mail+">")
	require.Equal(t, user, version["createdBy"])
	require.Equal(t, "Retry failed charges\n\nTwice.", version["description"].(map[string]any)["en"])

	p.automation("charge", "charged")
	push("u-unknown", `{"name":"v2","repository":"origin"}`)
	require.Regexp(t, `^u-unknown <u-unknown@users\.noreply\..+>$`, show("%an <%ae>", "main"))
	require.Equal(t, "Version v2 of "+p.slug, show("%s", "main"))

	var list []map[string]any
	require.NoError(t, json.Unmarshal(p.do(t, 200, "GET", p.path+"/versions", "").body, &list))
	require.Equal(t, "v2", list[0]["name"], "the newest first")
	require.Equal(t, "v1", list[1]["name"])
	require.Equal(t, version["commit"], list[1]["commit"])
	require.Equal(t, version["changes"], list[1]["changes"])
}

func TestPushNames(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	for _, bad := range []string{"current", "latest", ".a", "a.", "a..b", "a.lock", "a/b", "a b", strings.Repeat("a", 64)} {
		got := p.ok(422, "POST", "/versions", versionTo(bad, "origin"))
		require.Equal(t, "validation_failed", got["error"], bad)
	}
	require.Empty(t, p.repo.Git("for-each-ref"))
	p.push("v1")
	for _, repository := range []string{`,"repository":"origin"`, ""} {
		got := p.ok(409, "POST", "/versions", `{"name":"v1"`+repository+`}`)
		require.Equal(t, "resource_already_exists", got["error"])
	}
	made := p.ok(201, "POST", "/versions", toOrigin)
	require.Regexp(t, `^\d{8}-\d{6}-[A-Za-z0-9]{6}$`, made["name"])

	got := p.ok(404, "POST", "/push", `{"repository":"elsewhere"}`)
	require.Equal(t, "resource_not_found", got["error"])
	details := got["details"].(map[string]any)
	require.Equal(t, "elsewhere", details["repositoryId"])
	require.Equal(t, []any{"origin"}, details["availableRepositories"])
	for _, body := range []string{`{"repository":{}}`, `{"repository":7}`, `{"nam":"v2"}`, `{"name":7}`, `[]`} {
		got := p.ok(400, "POST", "/push", body)
		require.Equal(t, "invalid_request", got["error"], body)
	}
	require.Equal(t, "invalid_parameter", p.ok(400, "POST", "/push?timeout=soon", toOrigin)["error"])

	for _, name := range []string{"latest", "current"} {
		require.Equal(t, "invalid_parameter", p.ok(400, "DELETE", "/versions/"+name, "")["error"])
	}
	require.Equal(t, "resource_not_found", p.ok(404, "DELETE", "/versions/none", "")["error"])
	require.Equal(t, "v1", p.ok(200, "DELETE", "/versions/v1", "")["id"])
	require.NotEmpty(t, p.repo.ID("refs/tags/v1"), "the tag stays")
	require.Equal(t, []string{"workspaces.versions.deleted"}, p.history("workspaces.versions.deleted"))
	require.Nil(t, p.workspace()["writeLock"])
}

func TestPushByAllItsNames(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	for i, path := range []string{p.path + "/versions", p.path + "/push", "/workspaces/" + p.id + "/versions", "/workspaces/" + p.id + "/push"} {
		name := fmt.Sprintf("v%d", i)
		got := p.do(t, 201, "POST", path, `{"name":"`+name+`","createdAt":"2001-01-01T00:00:00Z","repository":{"id":"origin"}}`)
		require.Equal(t, name, got.json(t)["name"])
		require.NotContains(t, got.json(t)["createdAt"], "2001")
		require.True(t, strings.HasSuffix(got.Header.Get("Location"), "/workspaces/"+p.id+"/versions/"+name), got.Header.Get("Location"))
		require.NotEmpty(t, got.Header.Get("X-Svc-Operation-Id"))
	}
}

func TestPushTwiceWithTheSameKey(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	var answers []answer
	for range 2 {
		got, err := p.as("u1", "POST", "/versions?timeout=0", toOrigin, "Idempotency-Key", "push-"+p.slug)
		require.NoError(t, err)
		require.Equal(t, 202, got.StatusCode, "%s", got.body)
		answers = append(answers, got)
	}
	id := answers[0].Header.Get("X-Svc-Operation-Id")
	require.NotEmpty(t, id)
	require.Equal(t, id, answers[1].json(t)["operationId"])
	p.succeeded(id)
	require.Len(t, p.history("workspaces.versions.published"), 1)
	require.Equal(t, "1", count(p.repo, "main"))
}
