package versioning_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// receipts lets a repository write down which refs were moved, in order.
func receipts(r *gittest.Repo) (read func(t *testing.T) []string) {
	file := filepath.Join(r.Path, "receipts")
	r.Hook("post-receive", `while read old new ref; do echo "$ref" >> `+file+`; done`)
	return func(t *testing.T) []string {
		t.Helper()
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Fields(string(text))
	}
}

// commitOf is what a tag points at in the end.
func commitOf(r *gittest.Repo, tag string) string { return r.Git("rev-parse", tag+"^{commit}") }

// count is how many commits a ref has.
func count(r *gittest.Repo, ref string) string { return r.Git("rev-list", "--count", ref) }

func TestPush01EmptyRemote(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	received := receipts(p.repo)
	require.True(t, p.isDirty(), "a new workspace is dirty")

	got := p.do(t, 201, "POST", p.path+"/versions", versionTo("v1", "origin"))
	version := got.json(t)
	head := p.repo.ID("refs/heads/main")
	require.NotEmpty(t, head)
	require.Equal(t, head, p.repo.ID("refs/heads/"+p.own()))
	require.Equal(t, head, commitOf(p.repo, "v1"))
	require.Equal(t, "tag", p.repo.Git("cat-file", "-t", "refs/tags/v1"), "an annotated tag")
	require.Equal(t, "1", count(p.repo, "main"), "a root commit")
	require.Equal(t, []string{"refs/heads/main", "refs/heads/" + p.own(), "refs/tags/v1"}, received(t), "T first")
	require.Contains(t, p.repo.Git("show", "main:automations/charge.yml"), "event: charged")

	require.Equal(t, head, version["commit"])
	require.Equal(t, "v1", version["tag"])
	require.Equal(t, "u1", version["createdBy"])
	require.Equal(t, map[string]any{"id": "origin"}, version["repository"])
	changes := version["changes"].(map[string]any)
	require.Equal(t, []any{"automations/charge.yml", "index.yml", "security.yml"}, changes["files"])
	require.Equal(t, changes["files"], changes["created"])
	require.Empty(t, changes["deleted"])
	require.Equal(t, p.path+"/versions/v1", got.Header.Get("Location"))

	now := p.workspace()
	require.Equal(t, false, now["dirty"])
	require.Equal(t, now["contentRevision"], version["contentRevision"])
	last := now["lastPush"].(map[string]any)
	require.Equal(t, "v1", last["version"])
	require.Equal(t, "origin", last["repositoryId"])
	require.Equal(t, "u1", last["createdBy"])
	require.NotEmpty(t, last["createdAt"])

	op := p.succeeded(got.Header.Get("X-Svc-Operation-Id"))
	require.Equal(t, "push", op["kind"])
	require.Equal(t, "main", op["branch"])
	require.Equal(t, wholePush, p.progress(op["id"].(string)))
	require.Len(t, op["steps"], 5)
	require.EqualValues(t, 100, op["progress"].(map[string]any)["percentage"])
	happened := p.history("workspaces.*ocked,workspaces.versions.published,workspaces.versions.progress")
	require.Equal(t, "workspaces.locked", happened[0])
	require.Equal(t, []string{"workspaces.versions.published", "workspaces.unlocked"}, happened[len(happened)-2:])
	p.requirePasswordHidden()
}

func TestPush02ReadmeOnly(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	clone := p.repo.Clone()
	clone.Write("README.md", "hello  \r\n", ".github/ci.yml", "a: [\n")
	old := clone.Commit("readme")
	clone.Push("main")

	version := p.push("v1")
	require.Equal(t, old, p.repo.Git("rev-parse", "main^"), "the parent is the old head")
	require.Equal(t, version["commit"], p.repo.ID("refs/heads/main"))
	for _, path := range []string{"README.md", ".github/ci.yml"} {
		require.Equal(t, p.repo.Git("rev-parse", old+":"+path), p.repo.Git("rev-parse", "main:"+path), path)
	}
	require.False(t, p.isDirty())
}

func TestPush03BranchMissing(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	clone := p.repo.Clone()
	clone.Write("README.md", "hello\n")
	old := clone.Commit("readme")
	clone.Push("main")
	p.do(t, 200, "PATCH", p.path, strings.ReplaceAll(p.repositoryWith(`"branch":"release/1",`), "Origin", "Release"))

	version := p.push("v1")
	require.Equal(t, version["commit"], p.repo.ID("refs/heads/release/1"))
	require.Equal(t, version["commit"], p.repo.ID("refs/heads/svc/"+p.slug+"/release/1"))
	require.Equal(t, old, p.repo.Git("rev-parse", "release/1^"))
	require.Equal(t, "hello", p.repo.Git("show", "release/1:README.md"))
	require.Equal(t, old, p.repo.ID("refs/heads/main"), "the default branch stays")
}

func TestPush04IntermediateMissing(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.push("v1")
	p.repo.Git("update-ref", "-d", "refs/heads/"+p.own())
	p.automation("charge", "charged")
	version := p.push("v2")
	require.Equal(t, version["commit"], p.repo.ID("refs/heads/main"))
	require.Equal(t, version["commit"], p.repo.ID("refs/heads/"+p.own()))
	require.Equal(t, "2", count(p.repo, "main"))
}

func TestPush09NothingChanged(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.automation("charge", "charged")
	first := p.push("v1")
	received := receipts(p.repo)
	version := p.push("v2")
	require.Equal(t, first["commit"], version["commit"])
	require.Equal(t, "1", count(p.repo, "main"), "no commit")
	require.Equal(t, first["commit"], commitOf(p.repo, "v2"))
	require.Equal(t, []string{"refs/tags/v2"}, received(t))
	changes := version["changes"].(map[string]any)
	require.Empty(t, changes["files"])
	require.Equal(t, map[string]any{"changes": 0.0, "insertions": 0.0, "deletions": 0.0}, changes["summary"])
	require.False(t, p.isDirty())
	require.Equal(t, "v2", p.workspace()["lastPush"].(map[string]any)["version"])

	p.automation("charge", "charged twice")
	p.push("v3")
	require.Equal(t, "2", count(p.repo, "main"))
}

func TestPush10TagTaken(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	clone := p.repo.Clone()
	clone.Write("README.md", "hello\n")
	clone.Commit("readme")
	clone.Push("main")
	clone.Git("tag", "v1")
	clone.Git("push", "-q", "origin", "v1")
	before := p.repo.Git("for-each-ref")

	got := p.ok(409, "POST", "/versions", versionTo("v1", "origin"))
	require.Equal(t, "resource_already_exists", got["error"])
	require.Equal(t, before, p.repo.Git("for-each-ref"), "nothing was sent")
	require.True(t, p.isDirty())
	p.requirePushFailure("", "checkout")
	p.push("v2")
}

func TestPushIntoADirectoryOfAnEmptyRemote(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	p.do(t, 200, "PATCH", p.path, p.repositoryWith(`"dirpath":"envs/shop",`))
	p.automation("charge", "charged")
	version := p.push("v1")
	require.Equal(t, "envs/shop/v1", version["tag"])
	require.Equal(t, version["commit"], commitOf(p.repo, "refs/tags/envs/shop/v1"))
	require.Equal(t, []string{"envs/shop/automations/charge.yml", "envs/shop/index.yml", "envs/shop/security.yml"},
		strings.Fields(p.repo.Git("ls-tree", "-r", "--name-only", "main")))
	require.Equal(t, []any{"automations/charge.yml", "index.yml", "security.yml"}, version["changes"].(map[string]any)["files"])
}

func TestPushAfterTheBranchWasDeleted(t *testing.T) {
	t.Parallel()
	p := newGitWorkspace(t, shared(t))
	clone := p.repo.Clone()
	clone.Write("README.md", "hello\n")
	clone.Commit("readme")
	clone.Push("main")
	first := p.push("v1")
	p.repo.Git("update-ref", "-d", "refs/heads/main")
	p.automation("charge", "charged")
	version := p.push("v2")
	require.Equal(t, version["commit"], p.repo.ID("refs/heads/main"))
	require.Equal(t, first["commit"], p.repo.Git("rev-parse", "main^"), "the own branch has what is left of it")
	require.Equal(t, "hello", p.repo.Git("show", "main:README.md"))
	require.False(t, p.isDirty())
}
