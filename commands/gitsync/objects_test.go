package gitsync_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/archive"
	"svc/commands/gitsync"
	"svc/commands/gitsync/gittest"
	"svc/domain"
)

// fetched returns a session with everything of a repository's main branch.
func fetched(t testing.TB, server *gittest.Server, repo *gittest.Repo, o gitsync.Options) (*gitsync.Session, string) {
	t.Helper()
	s := open(t, remoteOf(server, repo), o)
	refs, err := s.ListRefs(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Fetch(t.Context(), "refs/heads/main"))
	return s, refs.Branch("main")
}

// entry is a line for git mktree.
type entry struct{ mode, kind, id, name string }

// mktree writes a tree that no work tree could have.
func mktree(t testing.TB, repo *gittest.Repo, entries ...entry) string {
	t.Helper()
	var in strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&in, "%s %s %s\t%s\x00", e.mode, e.kind, e.id, e.name)
	}
	cmd := exec.CommandContext(t.Context(), "git", "-C", repo.Path, "mktree", "--missing", "-z")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

func blob(t testing.TB, repo *gittest.Repo, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "blob")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return repo.Git("hash-object", "-w", file)
}

func commitTree(repo *gittest.Repo, tree string) {
	repo.Git("update-ref", "refs/heads/main", repo.Git("commit-tree", "-m", "x", tree))
}

func TestUnsafeTreesAreRefusedAndAllNamed(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	repo := server.Repo("a.git")
	b := blob(t, repo, "slug: x\n")
	module := strings.Repeat("1", 40)
	inner := mktree(t, repo, entry{"100644", "blob", b, "x.yml"})
	folder := mktree(t, repo,
		entry{"040000", "tree", inner, ".GIT"}, entry{"040000", "tree", inner, ".."}, entry{"100644", "blob", b, "A.yml"},
		entry{"100644", "blob", b, "a.yml"}, entry{"100644", "blob", b, "ok.yml"}, entry{"120000", "blob", b, "link.yml"},
		entry{"160000", "commit", module, "module"}, entry{"120000", "blob", b, "README.md"}, entry{"100644", "blob", b, `b\c.yml`})
	commitTree(repo, mktree(t, repo,
		entry{"100644", "blob", b, "index.yml"}, entry{"040000", "tree", folder, "automations"}, entry{"160000", "commit", module, "pages"},
		entry{"120000", "blob", b, "elsewhere"}, entry{"160000", "commit", module, "vendor"}))
	s, head := fetched(t, server, repo, options())
	_, err := s.Objects().ReadTree(head, "")
	refusal := requireRefusal(t, err, domain.CodeValidation, "unsafe_tree")
	require.Equal(t, []string{
		"automations/../x.yml", "automations/.GIT/x.yml", "automations/A.yml", "automations/a.yml", `automations/b\c.yml`,
		"automations/link.yml", "automations/module", "pages",
	}, refusal.Details["paths"])

	t.Log("the root itself must be a directory")
	_, err = s.Objects().ReadTree(head, "elsewhere")
	requireRefusal(t, err, domain.CodeValidation, "unsafe_tree")
	none, err := s.Objects().ReadTree(head, "nowhere/at/all")
	require.NoError(t, err)
	require.Empty(t, none.Managed)

	t.Log("nothing is written through or over what is not ours")
	for _, p := range []string{"pages/home.yml", "automations/link.yml", "automations/module/x.yml"} {
		_, err = s.Objects().WriteTree(head, "", files(p, "slug: home\n"), nil)
		requireRefusal(t, err, domain.CodeValidation, "unsafe_tree")
	}
	_, err = s.Objects().WriteTree(head, "vendor/x", files("index.yml", "slug: home\n"), nil)
	requireRefusal(t, err, domain.CodeValidation, "unsafe_tree")
}

func TestWhatIsElsewhereIsPreservedByteByByte(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	repo := server.Repo("a.git")
	b := blob(t, repo, "slug: x\n")
	module := strings.Repeat("1", 40)
	// 100664 is a mode that git wrote long ago and go-git would tidy up.
	odd := mktree(t, repo, entry{"100664", "blob", b, "old.yml"}, entry{"100755", "blob", b, "run.yml"})
	tree := mktree(t, repo, entry{"100664", "blob", b, "README"}, entry{"040000", "tree", odd, "automations"},
		entry{"120000", "blob", b, "link"}, entry{"160000", "commit", module, "vendor"}, entry{"040000", "tree", odd, "tools"})
	commitTree(repo, tree)
	s, head := fetched(t, server, repo, options())
	before := repo.Git("ls-tree", "-r", "-t", tree)

	made := save(t, s.Objects(), head, "", files("automations/run.yml", "slug: y\n", "automations/deep/er.yml", "slug: z\n"))
	requireOutcomes(t, push(t, s, gitsync.Update{Name: "refs/heads/main", Old: head, New: made}), gitsync.Accepted)
	require.Equal(t, "A\tautomations/deep/er.yml\nM\tautomations/run.yml", repo.Git("diff-tree", "-r", "--name-status", head, made))
	require.Contains(t, repo.Git("cat-file", "-p", made+":automations"), "100755 blob")
	require.Contains(t, repo.Git("ls-tree", made), "160000 commit "+module)

	back := save(t, s.Objects(), made, "", files("automations/run.yml", "slug: x\n"), "automations/deep/er.yml", "automations/none.yml", "imports/none.yml")
	requireOutcomes(t, push(t, s, gitsync.Update{Name: "refs/heads/main", Old: made, New: back}), gitsync.Accepted)
	require.Equal(t, before, repo.Git("ls-tree", "-r", "-t", back+"^{tree}"))
	require.Equal(t, tree, repo.Git("rev-parse", back+"^{tree}"), "the very same tree, odd modes included")

	t.Log("a tree that loses its last file is the empty one")
	empty, err := s.Objects().WriteTree("", "", nil, []string{"index.yml"})
	require.NoError(t, err)
	require.Equal(t, "4b825dc642cb6eb9a060e54bf8d69288fbee4904", empty)
}

func TestTreesAreBounded(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	small := archive.Usual
	small.TreeBytes = 1 << 20
	for name, tt := range map[string]struct {
		build func(t *testing.T, repo *gittest.Repo) string
		limit string
		path  string
	}{
		"too many files": {func(t *testing.T, repo *gittest.Repo) string {
			b := blob(t, repo, "slug: x\n")
			var all []entry
			for i := range 5001 {
				all = append(all, entry{"100644", "blob", b, fmt.Sprintf("f%04d.yml", i)})
			}
			return mktree(t, repo, entry{"040000", "tree", mktree(t, repo, all...), "automations"})
		}, "files", ""},
		"a huge file": {func(t *testing.T, repo *gittest.Repo) string {
			return mktree(t, repo, entry{"100644", "blob", blob(t, repo, strings.Repeat("x", 1<<20+1)), "index.yml"})
		}, "fileBytes", "index.yml"},
		"too much in all": {func(t *testing.T, repo *gittest.Repo) string {
			b := blob(t, repo, strings.Repeat("x", 600_000))
			return mktree(t, repo, entry{"100644", "blob", b, "index.yml"}, entry{"100644", "blob", b, "security.yml"})
		}, "treeBytes", ""},
		"too deep": {func(t *testing.T, repo *gittest.Repo) string {
			tree := mktree(t, repo, entry{"100644", "blob", blob(t, repo, "x"), "x.yml"})
			for range 40 {
				tree = mktree(t, repo, entry{"040000", "tree", tree, "d"})
			}
			return mktree(t, repo, entry{"040000", "tree", tree, "pages"})
		}, "segments", "pages/" + strings.Repeat("d/", 31)},
		"a bomb of trees": {func(t *testing.T, repo *gittest.Repo) string {
			tree := mktree(t, repo, entry{"100644", "blob", blob(t, repo, "x"), "x.txt"})
			for range 12 {
				var all []entry
				for i := range 10 {
					all = append(all, entry{"040000", "tree", tree, fmt.Sprint(i)})
				}
				tree = mktree(t, repo, all...)
			}
			return mktree(t, repo, entry{"040000", "tree", tree, "pages"})
		}, "entries", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := server.Repo(strings.ReplaceAll(name, " ", "-") + ".git")
			commitTree(repo, tt.build(t, repo))
			o := options()
			o.Cache, o.Limits.Tree = t.TempDir(), &small
			s, head := fetched(t, server, repo, o)
			_, err := s.Objects().ReadTree(head, "")
			refusal := requireRefusal(t, err, domain.CodeValidation, "limit_exceeded")
			require.Equal(t, tt.limit, refusal.Details["limit"])
			if tt.path != "" {
				require.Equal(t, tt.path, refusal.Details["path"])
			}
		})
	}
}

func TestFetchesAreBounded(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	repo := server.Repo("a.git")
	clone := repo.Clone()
	clone.Write("big.bin", noise(1, 300_000))
	head := clone.Commit("big")
	clone.Push("main")
	clone.Push("other")
	o := options()
	o.Cache, o.Limits.FetchBytes = t.TempDir(), 100_000
	s := open(t, remoteOf(server, repo), o)
	_, err := s.ListRefs(t.Context())
	require.NoError(t, err)
	refusal := requireRefusal(t, s.Fetch(t.Context(), head), domain.CodeValidation, "limit_exceeded")
	require.Equal(t, "fetchBytes", refusal.Details["limit"])
	left, err := filepath.Glob(filepath.Join(o.Cache, "*", "*", "objects", "pack", "*"))
	require.NoError(t, err)
	require.Empty(t, left)

	o.Limits.Refs = 1
	requireRefusal(t, list(t, remoteOf(server, repo), o), domain.CodeValidation, "limit_exceeded")
}

func TestHistoryAndDifferences(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	repo := server.Repo("a.git")
	clone := repo.Clone()
	clone.Write("envs/a/index.yml", "slug: a\n", "envs/a/pages/home.yml", lines(3, "x"), "envs/b/index.yml", "slug: b\n")
	first := clone.Commit("first")
	clone.Write("envs/b/index.yml", "slug: b\nname: B\n")
	clone.Commit("elsewhere")
	clone.Git("checkout", "-q", "-b", "side")
	clone.Write("envs/a/index.yml", "slug: a\nname: A\n")
	side := clone.Commit("side")
	clone.Git("checkout", "-q", "main")
	clone.Write("envs/a/pages/new.yml", lines(2, "new"))
	clone.Git("rm", "-q", "envs/a/pages/home.yml")
	clone.Commit("main")
	clone.Git("merge", "-q", "--no-edit", "side")
	clone.Git("tag", "-a", "-m", "v1", "v1")
	clone.Git("push", "-q", "origin", "v1")
	clone.Push("main")

	s, head := fetched(t, server, repo, options())
	require.NoError(t, s.Fetch(t.Context(), "refs/tags/v1"))
	o := s.Objects()
	count := func(since, root string) int {
		n, err := o.CountCommits(since, head, root)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, repo.Git("rev-list", "--count", first+".."+head, "--", "envs/a"), strconv.Itoa(count(first, "envs/a")))
	require.Equal(t, 3, count(first, "envs/a"), "two commits and their merge")
	require.Equal(t, 1, count(first, "envs/b"))
	require.Equal(t, 4, count("", "envs/a"), "all, when the base is not known")
	require.Equal(t, 4, count(strings.Repeat("9", 40), "envs/a"))
	require.Zero(t, count(head, ""))
	for _, tt := range []struct {
		a, b string
		want bool
	}{{first, head, true}, {side, head, true}, {head, first, false}, {head, head, true}, {"", head, false}, {strings.Repeat("9", 40), head, false}} {
		got, err := o.IsAncestor(tt.a, tt.b)
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}

	refs, err := s.ListRefs(t.Context())
	require.NoError(t, err)
	d, err := o.Diff(first, refs.Tag("v1"), "envs/a")
	require.NoError(t, err)
	require.Equal(t, gitsync.Changes{
		Files: []string{"index.yml", "pages/home.yml", "pages/new.yml"}, Created: []string{"pages/new.yml"}, Deleted: []string{"pages/home.yml"},
		Insertions: map[string]int{"index.yml": 1, "pages/home.yml": 0, "pages/new.yml": 2},
		Deletions:  map[string]int{"index.yml": 0, "pages/home.yml": 3, "pages/new.yml": 0},
		Summary:    gitsync.Summary{Changes: 3, Insertions: 3, Deletions: 3},
	}, d)

	got, err := o.Resolve(side[:8], head)
	require.NoError(t, err)
	require.Equal(t, side, got)
	_, err = o.Resolve("0000000", head)
	requireRefusal(t, err, domain.CodeNotFound, "commit_not_found")
	_, err = o.ReadTree(strings.Repeat("9", 40), "")
	requireRefusal(t, err, domain.CodeNotFound, "object_not_found")

	c, err := o.ReadCommit(refs.Tag("v1"))
	require.NoError(t, err)
	require.Equal(t, head, c.ID)
	require.Len(t, c.Parents, 2)
	require.Equal(t, "other@example.com", c.Author.Email)
	require.Equal(t, save(t, o, head, "", files("index.yml", "a: b\n")), save(t, o, head, "", files("index.yml", "a: b\n")), "same inputs, same id")
}
