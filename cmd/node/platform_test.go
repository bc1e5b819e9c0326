package node_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/cmd/node/nodetest"
	"svc/commands/gitsync/gittest"
	"svc/domain"
)

// platformSettings are those of a git repository, main, and of a directory, disk.
func platformSettings(t *testing.T, url, ca, disk string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, []byte(ca), 0o600))
	const prefix = "WORKSPACES_STORAGE_GIT_PLATFORM_"
	return []string{
		prefix + "main_URL=" + url, prefix + "main_CA_FILE=" + file, prefix + "main_AUTH_USER=" + gittest.User, prefix + "main_AUTH_PASSWORD=" + gittest.Password,
		prefix + "disk_TYPE=filesystem", prefix + "disk_DIRPATH=" + disk, "WORKSPACE_GROUPS=base=core",
	}
}

// The repositories of the platform serve every workspace; their credentials are
// nowhere in clear: not in an event, an answer, a log line or a file.
func TestPlatformRepositories(t *testing.T) {
	t.Parallel()
	server, disk := gittest.New(t), t.TempDir()
	repo := server.Repo("envs.git")
	s := nodetest.NewServiceWithAccounts(t, platformSettings(t, repo.URL, server.CA, disk)...).Start(t)
	p := nodetest.NewOwnedWorkspace(t, s)
	slug, _ := p.Do(t, 200, "GET", p.Path, "").JSON(t)["slug"].(string)
	var shown []byte
	does := func(status int, method, path, body string) nodetest.Answer {
		t.Helper()
		got := p.Do(t, status, method, p.Path+path, body)
		shown = append(shown, got.Body...)
		return got
	}
	all := does(200, "GET", "", "").JSON(t)["platformRepositories"].(map[string]any)
	require.Len(t, all, 2)
	require.Equal(t, map[string]any{"url": repo.URL, "branch": "main"}, all["main"].(map[string]any)["config"])
	require.Equal(t, []any{"base"}, all["disk"].(map[string]any)["groups"])
	for _, id := range []string{"main", "disk"} {
		require.Equal(t, true, does(200, "POST", "/repositories/"+id+"/test", "").JSON(t)["reachable"], "the rules for addresses are those of workspaces")
		does(201, "POST", "/versions", `{"name":"`+id+`-1","repository":{"id":"`+id+`"}}`)
		does(200, "POST", "/pull", `{"repository":"`+id+`"}`)
	}
	require.FileExists(t, filepath.Join(disk, slug, ".import.yml"))
	require.Contains(t, repo.Git("show", "main:"+slug+"/.import.yml"), p.ID)
	for _, path := range []string{"/status?refresh=true", "/operations", "/history?limit=200", "/versions"} {
		does(200, "GET", path, "")
	}

	t.Log("tests run with the content that is pushed, not with what is saved meanwhile")
	does(201, "POST", "/automations", `{"slug":"charge","name":"Charge","do":[{"emit":{"event":"charged"}}]}`)
	does(201, "POST", "/tests", `{"slug":"charge","automation":"charge","cases":[{"name":"it is said","expect":{"events":[{"type":"charged"}]}}]}`)
	good := s.Node.ChecksOfNow(p.ID)
	does(200, "PATCH", "/automations/charge", `{"do":[]}`)
	broken := s.Node.ChecksOfNow(p.ID)
	does(200, "PATCH", "/tests/charge", `{"cases":[]}`)
	failed, err := good(t.Context())
	require.NoError(t, err)
	require.Empty(t, failed)
	failed, err = broken(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"charge: it is said"}, failed)

	editor := p.As(s.NewUser(t, "editor"))
	p.Do(t, 200, "POST", p.Path+"/permissions", `{"target":{"email":"editor@example.org"},"permissions":{"role":"editor"}}`)
	editor.RequireRefusal(t, 403, "permission_denied", "POST", p.Path+"/repositories/main/test", "")
	editor.Do(t, 201, "POST", p.Path+"/versions", `{"name":"e1","repository":{"id":"disk"}}`)
	s.Stop(t)

	types := map[string]int{}
	for _, log := range domain.Logs() {
		for _, ev := range nodetest.StoredEvents(t, s.Dir, log) {
			whole, err := json.Marshal(ev)
			require.NoError(t, err)
			require.NotContains(t, string(whole), gittest.Password)
			types[ev.Data.EventType()]++
		}
	}
	require.Equal(t, []int{3, 3, 2}, []int{types["workspaces.versions.intended"], types["workspaces.versions.published"], types["workspaces.imported"]})
	require.NotContains(t, string(shown), gittest.Password)
	require.NotContains(t, s.Log.String(), gittest.Password)
	nodetest.RequireNoSecret(t, s.Dir, gittest.Password)
	nodetest.RequireNoSecret(t, disk, gittest.Password)
}

// A file that the settings name and that is not there stops the start.
func TestAPlatformRepositoryWithoutItsFiles(t *testing.T) {
	t.Parallel()
	settings := platformSettings(t, "https://git.example.com/x.git", "", t.TempDir())
	for fault, setting := range map[string]string{
		"no-such-file":         "CA_FILE=" + filepath.Join(t.TempDir(), "no-such-file"),
		"is empty":             "NAME=Main", // the file for CA_FILE is
		"holds no certificate": "CA_FILE=" + nonsense(t),
	} {
		s := nodetest.NewService(t, append(settings, "WORKSPACES_STORAGE_GIT_PLATFORM_main_"+setting)...)
		err := s.TryOpen(t)
		require.ErrorContains(t, err, "platform repository main")
		require.ErrorContains(t, err, fault)
		require.NotContains(t, err.Error(), gittest.Password)
	}
}

func nonsense(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, os.WriteFile(file, []byte("nonsense\n"), 0o600))
	return file
}
