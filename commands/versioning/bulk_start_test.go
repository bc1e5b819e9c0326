package versioning_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// groupOf is the import file of a workspace in a group.
func groupOf(name string) string { return "version:\n  name: v1\ngroups:\n  - " + name + "\n" }

// listImports returns the imports of many that there were, the newest first.
func (e *platformFixture) listImports() []map[string]any {
	e.t.Helper()
	return e.do(e.t, 200, "GET", platformPath+"/operations?kind=bulkImport", "").list(e.t)
}

// imported waits until so many imports have ended, and returns them.
func (e *platformFixture) imported(count int) (list []map[string]any) {
	e.t.Helper()
	require.Eventually(e.t, func() bool {
		list = e.listImports()
		return len(list) == count && list[0]["endedAt"] != nil
	}, time.Minute, 50*time.Millisecond)
	return list
}

// Part of row 73 of the conformance list.
func TestGroupsAreImportedAtStart(t *testing.T) {
	t.Parallel()
	e, env := prepareEstate(t)
	e.writeFiles(source("first", groupOf("one"))...)
	e.writeFiles(source("second", groupOf("two"))...)
	e.writeFiles(source("never", groupOf("three"))...)
	e.fixture = newFixture(t, append(env, "STARTUP_IMPORT_REPOSITORY=disk", "STARTUP_IMPORT_GROUPS=one,two", "STARTUP_IMPORT_PAUSE_SECONDS=0")...)
	list := e.imported(2)
	require.Equal(t, []any{"two"}, list[0]["result"].(map[string]any)["groups"])
	require.Equal(t, 1.0, list[1]["result"].(map[string]any)["created"])
	require.Empty(t, list[0]["createdBy"], "the platform did it")
	require.Equal(t, "charged by second", e.found("second").emittedEvent("charge"))
	require.Empty(t, e.do(t, 200, "GET", "/v2/workspaces?slug=never", "").list(t))

	e.kill()
	require.NoError(t, e.start())
	again := e.imported(4)
	require.Equal(t, []any{1.0, 0.0}, []any{again[0]["result"].(map[string]any)["skipped"], again[0]["result"].(map[string]any)["created"]})
}

func TestAGroupWithErrorsAtStartEndsTheImport(t *testing.T) {
	t.Parallel()
	e, env := prepareEstate(t)
	e.writeFiles("first/index.yml", "name: [", "first/.import.yml", groupOf("one"))
	e.writeFiles(source("second", groupOf("two"))...)
	e.fixture = newFixture(t, append(env, "STARTUP_IMPORT_REPOSITORY=disk", "STARTUP_IMPORT_GROUPS=one,two", "STARTUP_IMPORT_PAUSE_SECONDS=0")...)
	require.Equal(t, 1.0, e.imported(1)[0]["result"].(map[string]any)["errorsCount"])
	e.awaitLogged(t, "the groups after it were left out")
	require.Len(t, e.listImports(), 1)
}

// A repository that cannot be reached does not keep the service from starting.
func TestAnUnreachableRepositoryAtStart(t *testing.T) {
	t.Parallel()
	e, env := prepareEstate(t)
	e.fixture = newFixture(t, append(env, "STARTUP_IMPORT_REPOSITORY=main", "STARTUP_IMPORT_GROUPS=one")...)
	require.Equal(t, "failed", e.imported(1)[0]["status"])
	e.awaitLogged(t, "the import at start failed")
	e.workspace("billing")
}

// A directory that was lost can be pushed again.
func TestALostDirectoryIsPushedAgain(t *testing.T) {
	t.Parallel()
	e := newPlatformFixture(t)
	p := e.workspace("billing", "core")
	p.automation("charge", "charged")
	p.pushTo("disk", "v1")
	require.NoError(t, os.RemoveAll(filepath.Join(e.disk, "billing")))
	p.pushTo("disk", "v2")
	require.Contains(t, e.onDisk("billing/automations/charge.yml"), "charged")
}

// awaitLogged waits until the service says something.
func (h *fixture) awaitLogged(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(h.log.String(), text) }, time.Minute, 50*time.Millisecond)
}
