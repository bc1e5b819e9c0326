package gitsync_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync"
	"svc/commands/gitsync/gittest"
	"svc/domain"
)

func TestTheFirstPushIntoAnEmptyRepository(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, repo *gittest.Repo, remote gitsync.Remote) {
		s := open(t, remote, options())
		refs, err := s.ListRefs(t.Context())
		require.NoError(t, err)
		require.True(t, refs.Empty())

		c := save(t, s.Objects(), "", "", files("index.yml", "slug: billing\n", "automations/charge.yml", "slug: charge\n"))
		tag, err := s.Objects().WriteTag("v1", c, gitsync.Signature{Name: "Ada <x>", Email: "ada@example.com", When: noon}, "v1")
		require.NoError(t, err)
		results := push(t, s,
			gitsync.Update{Name: "refs/heads/main", New: c}, gitsync.Update{Name: "refs/heads/svc/billing/main", New: c},
			gitsync.Update{Name: "refs/tags/v1", New: tag})
		requireOutcomes(t, results, gitsync.Accepted, gitsync.Accepted, gitsync.Accepted)

		require.Equal(t, c, repo.ID("refs/heads/main"))
		require.Equal(t, "slug: charge", repo.Git("show", "v1:automations/charge.yml"))
		require.Equal(t, "Ada <ada@example.com> 1740830400 +0000", repo.Git("log", "-1", "--format=%an <%ae> %ad", "--date=raw", "main"))
		require.Contains(t, repo.Git("cat-file", "tag", "v1"), "tagger Ada x <ada@example.com>")
		repo.Git("fsck", "--strict", "--no-dangling")

		refs, err = s.ListRefs(t.Context())
		require.NoError(t, err)
		require.Equal(t, "main", refs.Default)
		require.Equal(t, c, refs.Branch("main"))
		require.Equal(t, tag, refs.Tag("v1"))
	})
}

func TestAFetchBringsTheHistory(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, repo *gittest.Repo, remote gitsync.Remote) {
		clone := repo.Clone()
		clone.Write("index.yml", "slug: billing\n", "README.md", "hello\n")
		first := clone.Commit("first")
		clone.Write("pages/home.yml", "slug: home\n")
		second := clone.Commit("second")
		clone.Push("main")
		o := options()
		o.Cache = t.TempDir()

		s := open(t, remote, o)
		_, err := s.ListRefs(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.Fetch(t.Context(), "refs/heads/main"))
		tree, err := s.Objects().ReadTree(second, "")
		require.NoError(t, err)
		require.Equal(t, files("index.yml", "slug: billing\n", "pages/home.yml", "slug: home\n"), tree.Managed)
		require.Contains(t, tree.Unmanaged, "README.md")
		ok, err := s.Objects().IsAncestor(first, second)
		require.NoError(t, err)
		require.True(t, ok)
		requireRefusal(t, s.Fetch(t.Context(), "refs/heads/none"), domain.CodeNotFound, "ref_not_found")

		// The other developer goes on, then takes a commit back: both times only
		// what is new is fetched, into the cache.
		clone.Write("pages/home.yml", "slug: home\nname: Home\n")
		third := clone.Commit("third")
		clone.Push("main")
		clone.Git("reset", "-q", "--hard", first)
		clone.Write("pages/other.yml", "slug: other\n")
		fourth := clone.Commit("fourth")
		for _, head := range []string{third, fourth} {
			clone.Git("checkout", "-q", head)
			clone.Push("main", "-f")
			again := open(t, remote, o)
			require.True(t, again.Objects().Has(second), "the cache has it")
			refs, err := again.ListRefs(t.Context())
			require.NoError(t, err)
			require.Equal(t, head, refs.Branch("main"))
			require.NoError(t, again.Fetch(t.Context(), "refs/heads/main"))
			require.True(t, again.Objects().Has(head))
			_, err = again.Objects().ReadTree(head, "")
			require.NoError(t, err)
		}

		// A cache that is gone is fetched again, also when it goes under our hands.
		held := open(t, remote, o)
		_, err = held.ListRefs(t.Context())
		require.NoError(t, err)
		require.NoError(t, held.Fetch(t.Context(), fourth))
		require.NoError(t, os.RemoveAll(o.Cache))
		if _, err := held.Objects().ReadTree(fourth, ""); err != nil {
			requireRefusal(t, err, domain.CodeUnavailable, "interrupted")
		}
		clone.Write("pages/fifth.yml", "slug: fifth\n")
		fifth := clone.Commit("fifth")
		clone.Push("main")
		_, err = held.ListRefs(t.Context())
		require.NoError(t, err)
		require.NoError(t, held.Fetch(t.Context(), fifth))
		_, err = held.Objects().ReadTree(fifth, "")
		require.NoError(t, err)
		last := open(t, remote, o)
		_, err = last.ListRefs(t.Context())
		require.NoError(t, err)
		require.NoError(t, last.Fetch(t.Context(), "refs/heads/main"))
		require.True(t, last.Objects().Has(fifth))
	})
}

func TestAPushOnTopOfHistoryKeepsWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, repo *gittest.Repo, remote gitsync.Remote) {
		clone := repo.Clone()
		clone.Write("README.md", "hello\n", "envs/other/index.yml", "slug: other\n", "envs/billing/pages/a.yml", "slug: a\n", "run.sh", "true\n")
		require.NoError(t, os.Chmod(filepath.Join(clone.Dir, "run.sh"), 0o700))
		require.NoError(t, os.Symlink("README.md", filepath.Join(clone.Dir, "link")))
		head := clone.Commit("first")
		clone.Push("main")

		s := open(t, remote, options())
		_, err := s.ListRefs(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.Fetch(t.Context(), "refs/heads/main"))
		c := save(t, s.Objects(), head, "envs/billing", files("index.yml", "slug: billing\n"), "pages/a.yml")
		requireOutcomes(t, push(t, s, gitsync.Update{Name: "refs/heads/main", Old: head, New: c}), gitsync.Accepted)
		repo.Git("fsck", "--strict", "--no-dangling")
		require.Equal(t, "A\tenvs/billing/index.yml\nD\tenvs/billing/pages/a.yml", repo.Git("diff", "--name-status", head, c))
		require.Contains(t, repo.Git("ls-tree", c), "100755 blob")
		require.Contains(t, repo.Git("ls-tree", c), "120000 blob")

		// A branch that goes back to something old, and one that is deleted, need
		// no objects.
		results := push(t, s, gitsync.Update{Name: "refs/heads/main", Old: c, New: head}, gitsync.Update{Name: "refs/heads/x", New: c})
		requireOutcomes(t, results, gitsync.Accepted, gitsync.Accepted)
		requireOutcomes(t, push(t, s, gitsync.Update{Name: "refs/heads/x", Old: c}), gitsync.Accepted)
		require.Equal(t, head, repo.ID("refs/heads/main"))
		require.Empty(t, repo.ID("refs/heads/x"))
	})
}

func TestRefusedUpdates(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, repo *gittest.Repo, remote gitsync.Remote) {
		s := open(t, remote, options())
		a := save(t, s.Objects(), "", "", files("index.yml", "slug: a\n"))
		b := save(t, s.Objects(), a, "", files("index.yml", "slug: b\n"))
		main := gitsync.Update{Name: "refs/heads/main", New: a}
		requireOutcomes(t, push(t, s, main), gitsync.Accepted)

		t.Log("a stale id, an existing tag: nothing is changed")
		requireOutcomes(t, push(t, s, main), gitsync.Refused)
		results := push(t, s, gitsync.Update{Name: "refs/heads/main", Old: b, New: b}, gitsync.Update{Name: "refs/heads/y", New: b})
		requireOutcomes(t, results, gitsync.Refused, gitsync.Refused)
		requireOutcomes(t, push(t, s, gitsync.Update{Name: "refs/tags/v1", New: a}), gitsync.Accepted)
		requireOutcomes(t, push(t, s, gitsync.Update{Name: "refs/tags/v1", New: b}), gitsync.Refused)
		requireOutcomes(t, push(t, s, gitsync.Update{Name: "refs/heads/gone", Old: a, New: b}), gitsync.Refused)
		require.Equal(t, a, repo.ID("refs/heads/main"))
		require.Empty(t, repo.ID("refs/heads/y"))

		_, err := s.Push(t.Context(), []gitsync.Update{{Name: "refs/heads/a b\n", New: a}})
		requireRefusal(t, err, domain.CodeValidation, "invalid_ref")

		t.Log("a hook protects the branch; its words are cleaned and cut")
		repo.Hook("update", `[ "$1" != refs/heads/main ] || { printf 'no \033[31mway\033[0m '`+remote.Password+`; head -c 900 /dev/zero | tr '\0' x; exit 1; } >&2`)
		results = push(t, s, gitsync.Update{Name: "refs/heads/main", Old: a, New: b}, gitsync.Update{Name: "refs/heads/z", New: b})
		requireOutcomes(t, results, gitsync.Refused, gitsync.Refused)
		require.Contains(t, results[0].Text, "no way")
		require.Len(t, results[0].Text, 500)
		if remote.Password != "" {
			require.NotContains(t, results[0].Text, remote.Password)
		}
		require.Empty(t, repo.ID("refs/heads/z"), "all or nothing")
		repo.Git("config", "receive.advertiseAtomic", "false")
		results = push(t, s, gitsync.Update{Name: "refs/heads/z", New: b}, gitsync.Update{Name: "refs/heads/main", Old: a, New: b})
		requireOutcomes(t, results, gitsync.Accepted, gitsync.Refused)
		require.Equal(t, b, repo.ID("refs/heads/z"))

		t.Log("the ref moves after it was advertised: the server holds the old id against it")
		repo.Hook("update", "true")
		repo.Hook("pre-receive", "unset GIT_QUARANTINE_PATH; git update-ref refs/heads/main "+b)
		c := save(t, s.Objects(), b, "", files("index.yml", "slug: c\n"))
		requireOutcomes(t, push(t, s, gitsync.Update{Name: "refs/heads/main", Old: a, New: c}), gitsync.Refused)
		require.Equal(t, b, repo.ID("refs/heads/main"))

		repo.Hook("pre-receive", "echo branch is protected >&2; exit 1")
		results = push(t, s, gitsync.Update{Name: "refs/heads/main", Old: b, New: c})
		requireOutcomes(t, results, gitsync.Refused)
		require.Contains(t, results[0].Text, "branch is protected")
	})
}

func TestADamagedAnswerIsFetchedIntoAFreshStore(t *testing.T) {
	t.Parallel()
	server := gittest.New(t)
	repo := server.Repo("billing.git")
	clone := repo.Clone()
	clone.Write("index.yml", "slug: a\n")
	clone.Commit("first")
	clone.Push("main")
	o := options()
	o.Cache = t.TempDir()
	s := open(t, remoteOf(server, repo), o)
	_, err := s.ListRefs(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Fetch(t.Context(), "refs/heads/main"))

	// A host that answers fetches on top of others with something of its own.
	server.Garble(func(body string) bool { return strings.Contains(body, "have ") })
	clone.Write("index.yml", "slug: b\n")
	second := clone.Commit("second")
	clone.Push("main")
	_, err = s.ListRefs(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Fetch(t.Context(), "refs/heads/main"))
	tree, err := s.Objects().ReadTree(second, "")
	require.NoError(t, err)
	require.Equal(t, files("index.yml", "slug: b\n"), tree.Managed)

	server.Garble(func(string) bool { return true })
	clone.Write("index.yml", "slug: c\n")
	clone.Commit("third")
	clone.Push("main")
	_, err = s.ListRefs(t.Context())
	require.NoError(t, err)
	requireRefusal(t, s.Fetch(t.Context(), "refs/heads/main"), domain.CodeUnavailable, "remote_protocol_error")
}
