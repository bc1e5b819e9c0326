package versioning_test

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/archive"
	"svc/commands/gitsync/gittest"
	"svc/domain/document"
)

// parseImportFile reads an import file, whose checksums must be those of the files beside it.
func parseImportFile(t *testing.T, text string, read func(path string) string) archive.ImportFile {
	t.Helper()
	file, err := archive.ReadImportFile([]byte(text), document.FileLimits)
	require.NoError(t, err, text)
	for place, sum := range file.Checksums {
		require.Equal(t, archive.Checksum([]byte(read(place+".yml"))), sum, place)
	}
	return file
}

func TestAPushToAPlatformRepositoryTellsWhatItIs(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	app := e.workspace("mailer", "unrelated")
	e.do(t, 201, "POST", "/v2/apps", fmt.Sprintf(`{"workspaceId":%q,"slug":"Mailer"}`, app.id))
	p := e.workspace("billing", "more", "addon", "other")
	p.automation("charge", "charged")
	p.ok(201, "POST", "/apps", `{"slug":"Mail","appSlug":"Mailer"}`)
	p.pushTo("main", "v1")

	first := e.main.ID("refs/heads/main")
	require.NotEmpty(t, e.main.ID("refs/tags/envs/billing/v1"))
	file := parseImportFile(t, e.readFileOnMain("envs/billing/.import.yml"), func(name string) string { return e.readFileOnMain("envs/billing/" + name) })
	require.Len(t, file.Checksums, 4)
	file.Checksums = nil
	require.Equal(t, archive.ImportFile{WorkspaceID: p.id, Version: "v1", Groups: []string{"base", "extra"}, DependsOn: []string{"app/Mailer"}}, file)
	require.False(t, p.isDirty())
	require.Equal(t, "main", p.workspace()["lastPush"].(map[string]any)["repositoryId"])

	version := p.pushTo("main", "v2")
	require.NotEqual(t, first, e.main.ID("refs/heads/main"), "there is always something to commit")
	require.Equal(t, []any{".import.yml"}, version["changes"].(map[string]any)["files"])
	require.Equal(t, wholePush, p.progress(p.lastOperation()["id"].(string)))

	app.pushTo("main", "v1")
	file = parseImportFile(t, e.readFileOnMain("envs/mailer/.import.yml"), func(name string) string { return e.readFileOnMain("envs/mailer/" + name) })
	require.Equal(t, []any{"Mailer", "Shop", []string(nil), []string(nil)}, []any{file.AppSlug, file.AppName, file.DependsOn, file.Groups})
	e.do(t, 200, "DELETE", "/v2/apps/Mailer", "")
	e.do(t, 201, "POST", "/v2/apps", fmt.Sprintf(`{"workspaceId":%q,"slug":"Mailer"}`, p.id))
	p.pushTo("disk", "v3")
	require.Empty(t, parseImportFile(t, e.onDisk("billing/.import.yml"), func(name string) string { return e.onDisk("billing/" + name) }).DependsOn, "the own app is none")
	p.requirePasswordHidden()
	require.NotContains(t, e.log.String(), gittest.Password)
}

// The import file of the other side never stands in the way, and names the version
// that was pulled. A workspace's own repository has none.
func TestTheImportFileNeverConflicts(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	p := e.workspace("billing")
	p.automation("charge", "charged")
	p.pushTo("main", "v1")
	clone := e.main.Clone()
	clone.Write("envs/billing/automations/refund.yml", file("refund", "refunded"), "envs/billing/.import.yml", "version:\n  name: by-hand\n")
	clone.Commit("refunds")
	clone.Push("main")
	p.requireRefusal(409, "not_up_to_date", "POST", "/push", `{"repository":"main"}`)
	p.automation("charge", "charged twice")
	p.ok(200, "POST", "/pull", `{"repository":"main"}`)
	require.Equal(t, []any{"refunded", "charged twice"}, []any{p.emittedEvent("refund"), p.emittedEvent("charge")})
	require.Equal(t, "by-hand", p.workspace()["lastPull"].(map[string]any)["version"])
	p.pushTo("main", "v2")
	require.Equal(t, "v2", parseImportFile(t, e.readFileOnMain("envs/billing/.import.yml"), func(name string) string { return e.readFileOnMain("envs/billing/" + name) }).Version)
	require.Equal(t, "clean", p.ok(200, "GET", "/status?refresh=true&repository=main", "")["state"])
	clone.Git("pull", "-q", "origin", "main")
	clone.Write("envs/billing/.import.yml", "version:\n  name: by-hand-again\n", "envs/other/x.txt", "x")
	clone.Commit("only the import file")
	clone.Push("main")
	p.pushTo("main", "v3")

	own := newGitWorkspace(t, shared(t))
	own.push("v1")
	require.NotContains(t, own.repo.Git("ls-tree", "-r", "--name-only", "main"), ".import.yml")
}

func TestRepositoryOfAPush(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	p := e.workspace("billing")
	details := p.ok(404, "POST", "/push", `{"repository":"nowhere"}`)["details"].(map[string]any)
	require.Equal(t, []any{"archive", "disk", "main"}, details["availableRepositories"])
	p.requireRefusal(403, "repository_read_only", "POST", "/push", `{"repository":"archive"}`)
	p.requireRefusal(404, "remote_empty", "POST", "/pull", `{"repository":"archive"}`)

	shown := p.workspace()["platformRepositories"].(map[string]any)
	groups := []any{"base", "extra"}
	require.Equal(t, map[string]any{
		"main":    map[string]any{"name": "main", "type": "git", "mode": "read-write", "config": map[string]any{"url": e.main.URL, "branch": "main", "dirpath": "envs"}, "groups": groups},
		"disk":    map[string]any{"name": "The disk", "type": "filesystem", "mode": "read-write", "config": map[string]any{"dirpath": e.disk}, "groups": groups},
		"archive": map[string]any{"name": "archive", "type": "filesystem", "mode": "read-only", "config": map[string]any{"dirpath": e.disk}, "groups": groups},
	}, shown)
	for id, exists := range map[string]bool{"main": false, "disk": false} {
		test := p.ok(200, "POST", "/repositories/"+id+"/test", "")
		require.Equal(t, []any{true, true, exists}, []any{test["reachable"], test["empty"], test["targetBranchExists"]}, "%v", test)
	}
	p.pushTo("disk", "v1")
	require.Equal(t, true, p.ok(200, "POST", "/repositories/disk/test", "")["targetBranchExists"])

	p.ok(200, "PATCH", "", `{"repositories":{"main":{"name":"Mine","config":{"url":"https://127.0.0.1/mine.git"}}}}`)
	require.NotContains(t, p.workspace()["platformRepositories"], "main", "it is hidden")
	p.ok(200, "PATCH", "", `{"platformRepositories":{"x":{"name":"ignored"}}}`)
	require.NotContains(t, p.workspace()["platformRepositories"], "x")
	p.requireRefusal(422, "remote_address_forbidden", "POST", "/push?timeout=10", `{"repository":{"id":"main"}}`)

	deep := e.workspace("a/b")
	deep.requireRefusal(422, "slug_not_a_directory", "POST", "/push", `{"repository":"main"}`)
	deep.requireRefusal(422, "slug_not_a_directory", "POST", "/pull", `{"repository":"disk"}`)
	require.Empty(t, deep.ok(200, "GET", "/status", "")["repositories"])
}

func TestARenamedWorkspaceTakesItsDirectoryAlong(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	p := e.workspace("billing")
	p.automation("charge", "charged")
	for _, repository := range []string{"main", "disk"} {
		p.pushTo(repository, repository+"-1")
	}
	clone := e.main.Clone()
	clone.Write("envs/billing/README.md", "read me")
	clone.Commit("a README")
	clone.Push("main")
	p.rename("payments")
	p.pushTo("main", "main-2")
	require.Equal(t, "envs/billing/README.md", e.main.Git("ls-tree", "-r", "--name-only", "main", "envs/billing"), "what is not managed stays")
	require.NotEmpty(t, e.readFileOnMain("envs/payments/automations/charge.yml"))
	require.Equal(t, 1, strings.Count(e.main.Git("log", "--format=%s", "main"), "main-2"), "in one commit")
	p.pushTo("disk", "disk-2")
	require.Equal(t, []string{"payments"}, e.inDisk())
	require.False(t, p.isDirty())

	e.put("payments/automations/charge.yml", file("charge", "by hand"))
	clone.Git("pull", "-q", "origin", "main")
	clone.Write("envs/payments/automations/charge.yml", file("charge", "by hand"))
	clone.Commit("by hand")
	clone.Push("main")
	p.rename("money")
	for repository, root := range map[string]string{"main": "envs/payments", "disk": "payments"} {
		details := p.requireRefusal(409, "not_up_to_date", "POST", "/push", `{"repository":"`+repository+`"}`)
		require.Equal(t, root, details["path"])
		require.EqualValues(t, 1, details["behind"])
	}
	require.Equal(t, []string{"payments"}, e.inDisk(), "nothing was changed")

	next := e.workspace("payments") // somebody else has the directory now
	next.ok(200, "POST", "/pull", `{"repository":"disk","discardLocalChanges":true}`)
	next.pushTo("disk", "n1")
	next.ok(200, "POST", "/pull", `{"repository":"main","discardLocalChanges":true}`)
	next.pushTo("main", "n2")
	for _, repository := range []string{"main", "disk"} {
		p.pushTo(repository, repository+"-3")
	}
	require.Equal(t, []string{"money", "payments"}, e.inDisk())
	require.NotEmpty(t, e.readFileOnMain("envs/payments/index.yml"))
}

// Workspaces of one repository share its branch: none of them loses.
func TestManyWorkspacesPushToOneBranchAtOnce(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	var all []*gitWorkspace
	for i := range 8 {
		all = append(all, e.workspace(fmt.Sprintf("w-%d", i)))
	}
	var pushing sync.WaitGroup
	answers := make([]answer, len(all))
	for i, p := range all {
		pushing.Go(func() { answers[i], _ = p.ask("POST", p.path+"/versions?timeout=60", versionTo("v1", "main")) })
	}
	pushing.Wait()
	for i, p := range all {
		require.Equal(t, 201, answers[i].StatusCode, "%s", answers[i].body)
		require.NotEmpty(t, e.readFileOnMain(path.Join("envs", p.slug, "index.yml")))
		require.NotEmpty(t, e.main.ID("refs/tags/envs/"+p.slug+"/v1"))
	}
	require.Equal(t, strconv.Itoa(len(all)), e.main.Git("rev-list", "--count", "main"))
}
