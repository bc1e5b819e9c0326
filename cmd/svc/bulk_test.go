package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newPlatform starts a service with a platform repository in a directory, and three
// workspaces of the group base.
func newPlatform(t *testing.T) (d *remoteUser, dir string) {
	t.Helper()
	dir = t.TempDir()
	d = newRemoteUser(t, "WORKSPACE_GROUPS=base=core", "WORKSPACES_STORAGE_GIT_PLATFORM_main_TYPE=filesystem", "WORKSPACES_STORAGE_GIT_PLATFORM_main_DIRPATH="+dir).signIn(t)
	for _, slug := range []string{"billing", "mailer", "stock"} {
		d.workspace(t, slug, `,"labels":["core"]`)
	}
	return d, dir
}

func TestBulkPushAndImport(t *testing.T) {
	d, dir := newPlatform(t)
	got := d.run(t, "bulk", "push", "--group", "base", "--dry-run")
	require.Zero(t, got.code, got.err)
	require.Equal(t, `WORKSPACE  STATUS     TIME  NOTES
billing    candidate  -
mailer     candidate  -
stock      candidate  -

3 workspaces of repository main; nothing was changed
`, got.out)
	require.Empty(t, got.err)

	d.must(t, "lock", "stock")
	got = d.run(t, "bulk", "push", "--group", "base", "--name", "v1", "--description", "First")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `^op_\w+ of repository main: 3 workspaces, 2 to do\n1/2  pushed  billing  \S+.*\n2/2  pushed  mailer  \S+.*\n$`, got.err)
	require.Regexp(t, `(?m)^stock +inProgress +-$`, got.out)
	require.Regexp(t, `\nv1 to main: 2 pushed, 0 already pushed, 1 in progress, 0 in conflict, 0 failed, in .+\n$`, got.out)
	require.FileExists(t, filepath.Join(dir, "billing", ".import.yml"))

	d.must(t, "unlock", "stock")
	got = d.run(t, "bulk", "push", "--group", "base", "--repository", "main", "--force", "--json")
	require.Zero(t, got.code, got.err)
	require.Empty(t, got.err)
	var completed map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.out), &completed))
	require.EqualValues(t, 3, completed["pushed"])
	id := completed["operationId"].(string)
	got = d.run(t, "follow", "platform", id)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "3/3  pushed  stock")
	require.Contains(t, got.out, ": 3 pushed, ")

	t.Log("an import where nothing is new, and one of everything")
	got = d.run(t, "bulk", "import", "--repository", "main")
	require.Zero(t, got.code, got.err)
	require.Regexp(t, `from main: \d created, \d updated, \d skipped, 0 failed; \d+ files? imported, 0 deleted, in `, got.out)
	got = d.run(t, "bulk", "import", "--group", "base", "--force-reimport")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "from main: 0 created, 3 updated, 0 skipped, 0 failed; ")
	require.Regexp(t, `(?m)^[123]/3  imported  mailer  `, got.err)

	t.Log("one that fails stops none of the others")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mailer", "index.yml"), []byte("name: [\n"), 0o600))
	got = d.run(t, "bulk", "import", "--group", "base", "--force-reimport", "--dry-run")
	require.Equal(t, 1, got.code, got.out)
	require.Regexp(t, `(?m)^mailer +error +- +mailer: index.yml: `, got.out)
	require.Contains(t, got.out, "3 workspaces of repository main; nothing was changed\n")
	got = d.run(t, "bulk", "import", "--group", "base", "--force-reimport")
	require.Equal(t, 1, got.code, got.err)
	require.Regexp(t, `(?m)^[123]/3  error  mailer  .*\n      error: \S`, got.err)
	require.Contains(t, got.err, "svc: 1 workspace could not be done\n")
	require.Contains(t, got.out, "from main: 0 created, 2 updated, 0 skipped, 1 failed; ")
	require.Regexp(t, `(?m)^mailer +error +\S.* {2}\S`, got.out)
}

func TestBulkRunsThatAreRefused(t *testing.T) {
	d, _ := newPlatform(t)
	unknown := d.requireFailure(t, 1, "bulk", "push", "--group", "base,extra")
	require.Contains(t, unknown, "(validation_failed")
	require.Contains(t, unknown, "extra")
	require.Contains(t, unknown, "base", "the known ones are named")
	require.Equal(t, "svc: there is no platform repository origin; there are: main\n", d.requireFailure(t, 1, "bulk", "import", "--repository", "origin"))

	d.must(t, "lock", "platform", "--reason", "stock taking")
	locked := d.requireFailure(t, 1, "bulk", "push", "--group", "base")
	require.Contains(t, locked, "(resource_locked, stock taking)")
	require.Contains(t, locked, "svc: locked by you since ")
	d.must(t, "unlock", "platform")

	d.call(t, "POST", "/signup", "", `{"email":"eve@example.org","password":"long enough","firstName":"Eve","lastName":"E"}`)
	require.Zero(t, d.types(t, "long enough\n", "login", "--profile", "eve", "--url", d.url(), "--email", "eve@example.org").code)
	require.Contains(t, d.requireFailure(t, 1, "bulk", "push", "--group", "base", "--profile", "eve"), "(workspace_access_denied)")
	require.Contains(t, d.requireFailure(t, 1, "bulk", "import", "--repository", "main", "--profile", "eve"), "(workspace_access_denied)")
}

// A run that is cut off at every turn is told without a gap or a repetition.
func TestABulkRunOverABadLine(t *testing.T) {
	d, _ := newPlatform(t)
	for i := range 9 {
		d.workspace(t, fmt.Sprintf("w%d", i), `,"labels":["core"]`)
	}
	cut := newCutter(t, d.url(), 2500)
	d.env = []string{"SVC_URL=" + cut.URL, "SVC_TOKEN=" + d.profiles(t)["default"].Token}
	got := d.run(t, "bulk", "push", "--group", "base", "--name", "v1")
	require.Zero(t, got.code, got.err)
	require.GreaterOrEqual(t, cut.resumed.Load(), int32(1))
	d.env = nil
	whole := d.run(t, "follow", "platform", d.ids(t, "/workspaces/platform/operations")[0])
	require.Equal(t, whole, got, "neither a gap nor a repetition")
	require.Contains(t, got.err, "12/12  pushed  w8")
}

func TestARunThatWasStopped(t *testing.T) {
	var out strings.Builder
	r := &remote{environment: environment{out: &out}}
	err := r.printBulkResult([]byte(`{"operationId":"op_1","repositoryId":"main","name":"v1","pushed":1,"errorsCount":1,"cancelled":true,"duration":1500,"workspaces":[
		{"slug":"billing","status":"pushed","duration":900,"errors":[]},
		{"slug":"mailer","status":"error","reason":"cancelled","errors":[{"msg":"one"},{"msg":"two"}]}]}`))
	require.EqualError(t, err, "the run was cancelled before it was done")
	require.Equal(t, `WORKSPACE  STATUS  TIME    NOTES
billing    pushed  900 ms
mailer     error   -       one (and 1 more)

v1 to main: 1 pushed, 0 already pushed, 0 in progress, 0 in conflict, 1 failed, in 1.5s
`, out.String())
	require.ErrorContains(t, r.printBulkResult([]byte(`[]`)), "none that this svc understands")
}
