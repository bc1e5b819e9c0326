package versioning_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"svc/commands/gitsync/gittest"
)

// platformFixture is a service whose administrator has given every workspace two
// repositories: main, a git one with the directory envs, and disk, a directory. It
// may reach nothing inside but those.
type platformFixture struct {
	*fixture
	t    *testing.T
	main *gittest.Repo
	disk string
}

func newPlatformFixture(t *testing.T, env ...string) *platformFixture {
	t.Helper()
	e, given := prepareEstate(t)
	e.fixture = newFixture(t, append(given, env...)...)
	return e
}

// prepareEstate makes the repositories, and returns the settings of a service that
// has them.
func prepareEstate(t *testing.T) (e *platformFixture, env []string) {
	t.Helper()
	server := gittest.New(t)
	e = &platformFixture{t: t, main: server.Repo("envs.git"), disk: t.TempDir()}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, []byte(server.CA), 0o600))
	const prefix = "WORKSPACES_STORAGE_GIT_PLATFORM_"
	return e, []string{
		"EGRESS_ALLOW_PRIVATE=no",
		prefix + "main_URL=" + e.main.URL, prefix + "main_DIRPATH=envs", prefix + "main_CA_FILE=" + ca,
		prefix + "main_AUTH_USER=" + gittest.User, prefix + "main_AUTH_PASSWORD=" + gittest.Password,
		prefix + "disk_TYPE=filesystem", prefix + "disk_NAME=The disk", prefix + "disk_DIRPATH=" + e.disk,
		prefix + "archive_TYPE=filesystem", prefix + "archive_MODE=read-only", prefix + "archive_DIRPATH=" + e.disk,
		"WORKSPACE_GROUPS=base=core+shared,extra=addon", "WORKSPACES_GROUP_base_LABELS=more",
	}
}

// workspace makes one with a slug and labels.
func (e *platformFixture) workspace(slug string, labels ...string) *gitWorkspace {
	e.t.Helper()
	list := `[]`
	if len(labels) > 0 {
		list = `["` + strings.Join(labels, `","`) + `"]`
	}
	made := e.do(e.t, 201, "POST", "/v2/workspaces", fmt.Sprintf(`{"name":"Shop","slug":%q,"labels":%s,"description":"A shop","photo":"/p.png"}`, slug, list)).json(e.t)
	p := &gitWorkspace{fixture: e.fixture, t: e.t, id: made["id"].(string), slug: slug, repo: e.main}
	p.path = "/v2/workspaces/" + p.id
	return p
}

// rename gives a workspace another slug.
func (p *gitWorkspace) rename(slug string) {
	p.t.Helper()
	p.ok(200, "PATCH", "", fmt.Sprintf(`{"slug":%q}`, slug))
	p.slug = slug
}

// pushTo pushes a version to a repository.
func (p *gitWorkspace) pushTo(repository, name string) map[string]any {
	p.t.Helper()
	return p.ok(201, "POST", "/versions", versionTo(name, repository))
}

// readFileOnMain returns a file on main, "" when it is not there.
func (e *platformFixture) readFileOnMain(path string) string {
	e.t.Helper()
	if !slices.Contains(strings.Fields(e.main.Git("ls-tree", "-r", "--name-only", "main")), path) {
		return ""
	}
	return e.main.Git("show", "main:"+path) + "\n"
}

// onDisk returns a file of the directory, "" when it is not there.
func (e *platformFixture) onDisk(path string) string {
	e.t.Helper()
	text, err := os.ReadFile(filepath.Join(e.disk, path))
	if !os.IsNotExist(err) {
		require.NoError(e.t, err)
	}
	return string(text)
}

// put writes a file into the directory by hand.
func (e *platformFixture) put(path, text string) {
	e.t.Helper()
	path = filepath.Join(e.disk, path)
	require.NoError(e.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(e.t, os.WriteFile(path, []byte(text), 0o644))
}

// inDisk lists what is in the directory, the lock left out.
func (e *platformFixture) inDisk() (names []string) {
	e.t.Helper()
	entries, err := os.ReadDir(e.disk)
	require.NoError(e.t, err)
	for _, entry := range entries {
		if entry.Name() != ".svc-lock" {
			names = append(names, entry.Name())
		}
	}
	return names
}

// list returns the items of an answer that is a list.
func (a answer) list(t *testing.T) (items []map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.body, &items), "%s", a.body)
	return items
}
