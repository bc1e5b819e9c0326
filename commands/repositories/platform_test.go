package repositories_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync"
	"svc/commands/gitsync/gittest"
	"svc/commands/repositories"
	"svc/domain"
	"svc/domain/workspace"
)

// platform gives the workspace two repositories of an administrator.
func (h *repositoryFixture) platform(dir string) {
	h.Platform = func() []repositories.Repository {
		return []repositories.Repository{
			{ID: "disk", Type: repositories.Filesystem, Mode: repositories.ReadOnly, Platform: true, Dir: dir, Address: "file://" + dir},
			{ID: "main", Type: repositories.Git, Branch: "main", Root: "envs", Platform: true, Remote: gitsync.Remote{URL: "http://10.0.0.1/x", Password: "S3CRET"}},
		}
	}
}

func TestPlatformRepositories(t *testing.T) {
	t.Parallel()
	h := open(t)
	require.Empty(t, h.Platforms())
	h.platform("/srv/x")
	h.save(`{"own":{"name":"Own","config":{"url":"https://example.com/own.git"}}}`)
	state := h.state()
	state.Settings.Slug = "shop"
	var ids []string
	for _, one := range h.List(state) {
		ids = append(ids, one.ID)
	}
	require.Equal(t, []string{"disk", "main", "own"}, ids)
	found, err := h.Find(t.Context(), state, "main")
	require.NoError(t, err)
	require.Equal(t, []any{"envs/shop", true, "S3CRET"}, []any{found.Root, found.Platform, found.Remote.Password})
	found, err = h.Find(t.Context(), state, "disk")
	require.NoError(t, err)
	require.Equal(t, []any{"shop", "/srv/x"}, []any{found.Root, found.Dir})
	require.Error(t, found.CanPush())

	h.save(`{"main":{"name":"Mine","config":{"url":"https://example.com/own.git"}}}`)
	hiding := h.state()
	require.Equal(t, "https://example.com/own.git", h.find("main").Remote.URL, "one's own hides it")
	require.Len(t, h.List(hiding), 2)
	found, err = h.InPlatform("main", "shop")
	require.NoError(t, err)
	require.Equal(t, "http://10.0.0.1/x", found.Remote.URL)

	_, err = h.InPlatform("own", "shop")
	requireRefusal(t, err, domain.CodeNotFound, map[string]any{"repositoryId": "own", "availableRepositories": []string{"disk", "main"}})
	_, err = h.Find(t.Context(), state, "x")
	requireRefusal(t, err, domain.CodeNotFound, map[string]any{"repositoryId": "x", "availableRepositories": []string{"disk", "main", "own"}})
	state.Settings.Slug = "a/b"
	_, err = h.Find(t.Context(), state, "disk")
	requireRefusal(t, err, domain.CodeValidation, map[string]any{"reason": "slug_not_a_directory", "slug": "a/b", "repositoryId": "disk"})
	require.Len(t, h.List(state), 1)
}

func TestGroups(t *testing.T) {
	t.Parallel()
	h := open(t)
	require.Equal(t, []string{}, h.GroupsOf([]string{"core"}))
	require.Equal(t, []string{}, h.GroupNames())
	h.Groups = func() map[string][]string {
		return map[string][]string{"z": {"core", "shared"}, "a": {"addon", "core"}, "none": {}}
	}
	require.Equal(t, []string{"a", "z"}, h.GroupsOf([]string{"other", "core"}))
	require.Equal(t, []string{"z"}, h.GroupsOf([]string{"shared"}))
	require.Equal(t, []string{}, h.GroupsOf(nil))
	require.Equal(t, []string{"a", "none", "z"}, h.GroupNames())
}

// What an administrator chose is reached, whatever workspaces may reach.
func TestTryingPlatformRepositories(t *testing.T) {
	t.Parallel()
	h, dir := open(t), t.TempDir()
	h.platform(dir)
	state := workspace.State{}
	state.Settings.Slug = "shop"
	report, err := h.Test(t.Context(), state, "disk")
	require.NoError(t, err)
	require.Equal(t, repositories.Report{Reachable: true, Empty: true, Branches: []string{}, FinalURL: "file://" + dir}, report)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "shop"), 0o700))
	report, err = h.Test(t.Context(), state, "disk")
	require.NoError(t, err)
	require.True(t, report.TargetExists && !report.Empty)
	require.NoError(t, os.RemoveAll(dir))
	report, err = h.Test(t.Context(), state, "disk")
	require.NoError(t, err)
	require.False(t, report.Reachable)
	require.Equal(t, "remote_unreachable", report.Error.Details["reason"])

	server := gittest.New(t)
	repo := server.Repo("x.git")
	h.Platform = func() []repositories.Repository {
		remote := gitsync.Remote{URL: repo.URL, CABundle: server.CA, User: gittest.User, Password: gittest.Password, Exempt: true}
		return []repositories.Repository{{ID: "main", Type: repositories.Git, Branch: "main", Platform: true, Remote: remote}}
	}
	report, err = h.Test(t.Context(), state, "main")
	require.NoError(t, err)
	require.True(t, report.Reachable && report.Empty)
}
